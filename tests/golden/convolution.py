"""Makes convolution.json: what PyTorch gives for layers that convolve and pool, and for their first derivatives.

Run by hand, in an environment with PyTorch 2.13, from the project's folder: ``python -m tests.golden.convolution``.
The gradients are those of the sum of the result times weights, so that no two places can be exchanged unseen.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.golden.files import Values, numbers, write

FILE = Path(__file__).with_name("convolution.json")
DTYPES = ("float32", "float64")


class Case(NamedTuple):
    """One layer and its input.

    Attributes:
        layer: the name of PyTorch's class, which is ours too.
        shape: of the input.
        settings: the config's arguments; ``padding`` has a number for each dim, or is ``same``.
        dtypes: float64 alone for most, so that the file stays small.
    """

    layer: str
    shape: tuple[int, ...]
    settings: dict[str, Any]
    dtypes: tuple[str, ...] = ("float64",)

    @property
    def id(self) -> str:
        given = ", ".join(f"{name}={value}" for name, value in self.settings.items())
        return f"{self.layer}({given}) of {self.shape}"


def conv(layer: str, shape: tuple[int, ...], channels: tuple[int, int], size: Any, **settings: Any) -> Case:
    dtypes = settings.pop("dtypes", ("float64",))
    return Case(layer, shape, {"channels": channels, "kernel_size": size, **settings}, dtypes)


CASES = [
    conv("Conv1d", (2, 2, 7), (2, 3), 3, dtypes=DTYPES),
    conv("Conv1d", (2, 1, 9), (1, 2), 2, stride=2, padding=1, dilation=3),
    conv("Conv1d", (1, 3, 4), (3, 2), 1, bias=False),
    conv("Conv1d", (2, 2, 5), (2, 2), 4, padding="same"),
    conv("Conv2d", (2, 2, 5, 6), (2, 3), (3, 2), dtypes=DTYPES),
    conv("Conv2d", (1, 1, 6, 5), (1, 2), (5, 5), padding=(2, 2)),
    conv("Conv2d", (2, 3, 5, 5), (3, 2), (1, 1)),
    conv("Conv2d", (1, 2, 5, 4), (2, 2), (1, 1), stride=(2, 3)),
    conv("Conv2d", (2, 2, 7, 6), (2, 2), (3, 2), stride=(2, 3), padding=(1, 1), dilation=(2, 1)),
    conv("Conv2d", (1, 2, 6, 7), (2, 2), (2, 3), padding="same", dilation=(1, 2)),
    conv("Conv2d", (1, 4, 4, 5), (4, 6), (2, 3), groups=2, padding=(1, 0)),
    conv("Conv2d", (2, 3, 5, 5), (3, 3), (3, 3), groups=3, padding=(1, 1), dtypes=DTYPES),
    conv("Conv2d", (1, 2, 4, 4), (2, 4), (3, 3), groups=2, stride=(2, 2), padding=(1, 1)),
    conv("Conv2d", (1, 1, 3, 3), (1, 1), (3, 3), padding=(3, 4)),
    conv("Conv2d", (0, 2, 4, 4), (2, 3), (2, 2)),
    conv("Conv3d", (1, 2, 3, 4, 3), (2, 2), (2, 3, 2)),
    conv("Conv3d", (2, 2, 4, 3, 3), (2, 2), (2, 2, 1), stride=(2, 1, 2), padding=(1, 0, 1), groups=2),
    conv("Conv3d", (1, 1, 4, 3, 5), (1, 2), (2, 1, 2), dilation=(2, 1, 3)),
    conv("ConvTranspose1d", (2, 2, 4), (2, 3), 3, dtypes=DTYPES),
    conv("ConvTranspose1d", (1, 2, 3), (2, 2), 3, stride=3, padding=1, padding_out=2, dilation=2),
    conv("ConvTranspose1d", (1, 2, 3), (2, 2), 1, stride=2, bias=False),
    conv("ConvTranspose2d", (2, 2, 3, 4), (2, 3), (3, 2), dtypes=DTYPES),
    conv("ConvTranspose2d", (1, 4, 3, 2), (4, 2), (2, 3), stride=(2, 3), padding=(1, 0), padding_out=(1, 2), groups=2),
    conv("ConvTranspose2d", (1, 3, 3, 3), (3, 3), (3, 3), padding=(1, 1), groups=3),
    conv("ConvTranspose2d", (0, 2, 3, 3), (2, 2), (2, 2), stride=(2, 2)),
    conv("ConvTranspose3d", (1, 2, 2, 3, 2), (2, 2), (2, 2, 3), stride=(2, 1, 1), padding=(0, 1, 1)),
    Case("MaxPool1d", (2, 2, 7), {"kernel_size": 3}, DTYPES),
    Case("MaxPool1d", (1, 2, 8), {"kernel_size": 3, "stride": 2, "padding": 1, "dilation": 2}),
    Case("MaxPool2d", (2, 2, 6, 4), {"kernel_size": (2, 2)}, DTYPES),
    Case("MaxPool2d", (1, 2, 7, 6), {"kernel_size": (3, 2), "stride": (2, 1), "padding": (1, 1), "dilation": (1, 2)}),
    Case("MaxPool2d", (0, 2, 4, 4), {"kernel_size": (2, 2)}),
    Case("AvgPool1d", (2, 2, 7), {"kernel_size": 3, "stride": 2, "padding": 1}, DTYPES),
    Case("AvgPool1d", (2, 2, 6), {"kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": False}),
    Case("AvgPool2d", (2, 2, 6, 4), {"kernel_size": (2, 2)}, DTYPES),
    Case("AvgPool2d", (1, 2, 7, 6), {"kernel_size": (3, 2), "stride": (2, 1), "padding": (1, 1)}),
    Case(
        "AvgPool2d",
        (1, 2, 5, 6),
        {"kernel_size": (3, 2), "stride": (2, 2), "padding": (1, 1), "count_include_pad": False},
    ),
    Case("AdaptiveAvgPool1d", (2, 2, 7), {"output_size": 3}),
    Case("AdaptiveAvgPool2d", (1, 2, 7, 6), {"output_size": (3, 2)}, DTYPES),
    Case("AdaptiveAvgPool2d", (1, 2, 3, 2), {"output_size": (4, 5)}),
    Case("AdaptiveAvgPool2d", (2, 3, 5, 4), {"output_size": (1, 1)}),
]


def wave(shape: tuple[int, ...], dtype: str, phase: float = 0.3) -> Values:
    """Numbers of both signs, no two of them alike."""
    count = np.arange(np.prod(shape, dtype=int))
    return np.asarray((1.5 * np.sin(1.7 * count + phase) + 0.001 * count).reshape(shape).astype(dtype))


def weights(shape: tuple[int, ...], dtype: str) -> Values:
    """A weight for each element of a result."""
    return np.linspace(0.5, 1.5, int(np.prod(shape))).reshape(shape).astype(dtype)


def parameters(case: Case, dtype: str) -> list[Values]:
    """Weight and bias, as Burn, PyTorch and we store them; none for a pool."""
    if "channels" not in case.settings:
        return []
    channels_in, channels_out = case.settings["channels"]
    groups, size = case.settings.get("groups", 1), case.settings["kernel_size"]
    sizes = size if isinstance(size, tuple) else (size,)
    rows, columns = (channels_in, channels_out) if "Transpose" in case.layer else (channels_out, channels_in)
    weight = wave((rows, columns // groups, *sizes), dtype, 0.9)
    return [weight, wave((channels_out,), dtype, 2.0)] if case.settings.get("bias", True) else [weight]


def _theirs(case: Case, dtype: str) -> Any:
    """PyTorch's layer, with these parameters."""
    import torch  # type: ignore[import-not-found]  # only the benchmarks' environment has it

    names = {"padding_out": "output_padding"}
    settings = {names.get(name, name): value for name, value in case.settings.items() if name != "channels"}
    layer = getattr(torch.nn, case.layer)(*case.settings.get("channels", ()), **settings).to(getattr(torch, dtype))
    with torch.no_grad():
        for mine, theirs in zip(parameters(case, dtype), layer.parameters(), strict=True):
            theirs.copy_(torch.from_numpy(mine))
    return layer


def _made(case: Case, dtype: str) -> dict[str, Any]:
    import torch

    layer, x = _theirs(case, dtype), torch.tensor(wave(case.shape, dtype), requires_grad=True)
    result = layer(x)
    (result * torch.tensor(weights(tuple(result.shape), dtype))).sum().backward()
    gradients = [leaf.grad for leaf in (x, *layer.parameters())]
    return {
        "shape": list(result.shape),
        "value": numbers(result.detach().numpy()),
        "gradients": [numbers(gradient.numpy()) for gradient in gradients],
    }


def main() -> None:
    """Writes the file."""
    made = {f"{case.id} {dtype}": _made(case, dtype) for case in CASES for dtype in case.dtypes}
    write(FILE, made)


if __name__ == "__main__":
    main()
