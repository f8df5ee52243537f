"""Fourier transforms, the windows that go with them, and the mel scale.

A transform is a product with a matrix: it is differentiable, and the same on every backend. It takes the square of the
length where a fast one takes its logarithm, which matters from some thousands on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from tinyburn.base.errors import OnnxError
from tinyburn.onnx.graph import Run
from tinyburn.onnx.protos import dtype_of
from tinyburn.onnx.table import operator
from tinyburn.onnx.values import AnyTensor, Value, host
from tinyburn.tensor import Tensor

from .creation import check_elements

Numbers: TypeAlias = np.ndarray[Any, Any]


# Transforms


@operator("DFT", 17, numbers=[1])
def dft_17(
    x: Value, length: Value | None = None, *, axis: int = 1, inverse: int = 0, onesided: int = 0, run: Run
) -> Value:
    """Before version 20 the dim was an attribute."""
    return _dft(x, length, axis, inverse, onesided, run)


@operator("DFT", 20, numbers=[1, 2])
def dft(
    x: Value,
    length: Value | None = None,
    axis: Value | None = None,
    *,
    inverse: int = 0,
    onesided: int = 0,
    run: Run,
) -> Value:
    """The discrete Fourier transform along a dim. In the last dim stand the real part and the imaginary part, if any.

    With ``onesided`` the transform of real numbers is its first half, which has all; and so is what goes back.
    """
    return _dft(x, length, -2 if axis is None else axis.number("the axis of DFT"), inverse, onesided, run)


def _dft(x: Value, length: Value | None, axis: int, inverse: int, onesided: int, run: Run) -> Value:
    dim = axis % x.rank
    given = x.shape[dim]
    size = 2 * (given - 1) if inverse and onesided else given
    size = size if length is None else length.number("the dft_length of DFT")
    parts = x.shape[-1]
    if dim == x.rank - 1 or parts > 2:
        raise OnnxError("DFT", f"the axis is {axis} of the shape {x.shape}, whose last dim is for 1 or 2 parts")
    order = [at for at in range(x.rank - 1) if at != dim] + [dim]
    moved = x.tensor.permute(*order, x.rank - 1)
    check_elements("the matrix of DFT", (given * parts, size * 2), run)
    result = _transformed(moved, _matrix(given, size, parts, inverse, onesided))
    back = [order.index(at) for at in range(x.rank - 1)]
    return Value(result.permute(*back, x.rank - 1))


def _matrix(given: int, size: int, parts: int, inverse: int, onesided: int) -> Numbers:
    """What becomes of each real part and each imaginary part: ``(given, parts, results, parts)``."""
    function: Callable[..., Numbers] = np.fft.ifft if inverse else np.fft.fft
    units: Numbers = np.eye(given)
    if inverse and onesided:
        return np.stack([np.fft.irfft(units * part, size) for part in (1, 1j)][:parts], 1)[..., np.newaxis]
    found = np.stack([function(units * part, size) for part in (1, 1j)][:parts], 1)
    if onesided:
        found = found[..., : size // 2 + 1]
    return np.stack([np.real(found), np.imag(found)], -1)


def _transformed(x: AnyTensor, matrix: Numbers) -> AnyTensor:
    """The product of ``(…, given, parts)`` with a matrix of all parts."""
    given, parts, results, parts_out = matrix.shape
    flat = Tensor.from_data(matrix.reshape(given * parts, results * parts_out), x.device, x.dtype)
    rows = x.reshape((-1, given * parts)) @ flat
    return rows.reshape((*x.shape[:-2], results, parts_out))


@operator("STFT", 17, numbers=[1, 3])
def stft(
    x: Value, step: Value, window: Value | None = None, length: Value | None = None, *, onesided: int = 1, run: Run
) -> Value:
    """`DFT` of one part of a signal after another, each times a window."""
    if length is not None:
        size = length.number("the frame_length of STFT")
    else:
        size = x.shape[1] if window is None else window.shape[0]
    apart = step.number("the frame_step of STFT")
    frames = x.tensor.unfold(1, size, apart).swap_dims(2, 3)
    if window is not None:
        frames = frames * window.tensor.reshape((1, 1, size, 1))
    parts = x.shape[2]
    check_elements("the matrix of STFT", (size * parts, size * 2), run)
    return Value(_transformed(frames, _matrix(size, size, parts, 0, onesided if parts == 1 else 0)))


# Windows


def _window(name: str, weights: tuple[float, ...]) -> None:
    """A sum of cosines that is small at both ends."""

    @operator(name, 17, numbers=[0])
    def row(size: Value, *, periodic: int = 1, output_datatype: int = 1, run: Run) -> Value:
        count = size.number(f"the size of {name}")
        check_elements(name, (count,), run)
        angles = np.arange(count) * (2 * np.pi / max(count if periodic else count - 1, 1))
        terms = [weight * np.cos(times * angles) for times, weight in enumerate(weights)]
        return host(np.sum(terms, 0).astype(dtype_of(output_datatype)))


_window("HannWindow", (0.5, -0.5))
_window("HammingWindow", (25 / 46, -21 / 46))
_window("BlackmanWindow", (0.42, -0.5, 0.08))


# The mel scale


@operator("MelWeightMatrix", 17, numbers=range(5))
def mel_weight_matrix(
    bins: Value, length: Value, rate: Value, low: Value, high: Value, *, output_datatype: int = 1, run: Run
) -> Value:
    """Triangles of height 1 over the frequencies of a transform, evenly spaced on the mel scale: how pitches sound.

    Each column weighs the frequencies of one triangle.
    """
    given = (bins, length, rate, low, high)
    count, size, samples, first, last = (each.number("an input of MelWeightMatrix") for each in given)
    rows = size // 2 + 1
    check_elements("MelWeightMatrix", (rows, count), run)
    mels = _mel(first) + np.arange(count + 2) * ((_mel(last) - _mel(first)) / (count + 2))
    corners = np.floor((size + 1) * _hertz(mels) / samples)
    places = np.arange(rows)[:, np.newaxis]
    start, middle, end = corners[:-2], corners[1:-1], corners[2:]
    rises = np.where(middle > start, (places - start) / np.maximum(middle - start, 1), places == middle)
    falls = (end - places) / np.maximum(end - middle, 1)
    inside = (places >= start) & (places < np.maximum(end, middle + 1))
    result = np.where(inside, np.where(places <= middle, rises, falls), 0.0)
    return host(result.astype(dtype_of(output_datatype)))


def _mel(hertz: Any) -> Any:
    return 2595 * np.log10(1 + hertz / 700)


def _hertz(mel: Any) -> Any:
    return 700 * (10 ** (mel / 2595) - 1)
