"""The kernels that CuPy lacks, in CUDA C++.

A kernel is a function that the GPU runs once for each element, in thousands of threads. CuPy writes the loop and the
types around these few lines and compiles them at the first call: ``T`` becomes float, double and so on, operands are
broadcast, and the result is a new row-major buffer, unless one is handed over as the last argument. A number may stand
in for an operand that is not ``raw``.

``raw`` operands are not read element by element: the kernel picks its own elements, and ``i`` counts what it does.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

from .find import cp


class CudaKernel(NamedTuple):
    """What goes in, what comes out, and what one thread does; ``before`` has the functions that this calls."""

    inputs: str
    output: str
    code: str
    before: str = ""


ROOT_HALF = math.sqrt(0.5)
PEAK = 1 / math.sqrt(2 * math.pi)
"""The height of the bell curve at 0."""

PLACES = """
// Where an index points. One outside wraps around: nobody looks at indices on their way, and memory must stay safe.
__device__ ptrdiff_t wrapped(ptrdiff_t index, ptrdiff_t size) {
    if (0 <= index && index < size) return index;
    index %= size;
    return index < 0 ? index + size : index;
}

// The index of element number i in each dim of an array; the dim `skipped` is left out.
__device__ void find_indices(ptrdiff_t i, const ptrdiff_t* shape, int rank, int skipped, ptrdiff_t* at) {
    for (int dim = rank - 1; dim >= 0; --dim) {
        if (dim == skipped) continue;
        at[dim] = i % shape[dim];
        i /= shape[dim];
    }
}
"""

WIDE = """
// The type to compute in: for float16 it is float, and each other type itself.
template <typename T> struct Wide { typedef T type; };
template <> struct Wide<float16> { typedef float type; };
"""


def _curve(inputs: str, code: str) -> CudaKernel:
    """A kernel of formulas in the type ``W``."""
    return CudaKernel(inputs, "T y", f"typedef Wide<T>::type W; {code}", WIDE)


def _slope(of: str, code: str) -> CudaKernel:
    """``a`` times the slope ``d`` that the code finds from ``v``, the value of one tensor; 0 where ``a`` is 0."""
    return _curve(f"T a, T {of}", f"W v = {of}; {code} y = a == T(0) ? T(0) : T(W(a) * d);")


KERNELS: dict[str, CudaKernel] = {
    "erf": CudaKernel("T a", "T y", "y = erf(a);"),
    "multiply_no_nan": CudaKernel("T a, T b", "T y", "y = a == T(0) ? T(0) : T(a * b);"),
    "scaled_mul": CudaKernel("T a, T b, T scale", "T y", "y = a == T(0) ? T(0) : T(a * b * scale);"),
    # Where `out` is not above 0 it is 0, or NaN, which must not be lost, unless the gradient is 0.
    "relu_backward": CudaKernel("T a, T out", "T y", "y = out > T(0) || a == T(0) ? a : out == T(0) ? T(0) : out;"),
    "clamp": CudaKernel(
        "T a, T low, T high", "T y", "T raised = a < low ? low : a; y = raised > high ? high : raised;"
    ),
    "leaky_relu": CudaKernel("T a, T slope", "T y", "y = a < T(0) ? T(a * slope) : a;"),
    "fmod": _curve("T a, T b", "y = T(fmod(W(a), W(b)));"),
    "sigmoid": _curve("T a", "y = T(W(1) / (W(1) + exp(-W(a))));"),
    "silu": _curve("T a", "y = T(W(a) / (W(1) + exp(-W(a))));"),
    "gelu": _curve("T a", f"y = T(W(a) * W(0.5) * (W(1) + erf(W(a) * W({ROOT_HALF!r}))));"),
    "softplus": _curve("T a", "W v = a; y = T((v > W(0) ? v : W(0)) + log1p(exp(-fabs(v))));"),
    "tanh_backward": _slope("out", "W d = W(1) - v * v;"),
    "sigmoid_backward": _slope("out", "W d = v * (W(1) - v);"),
    "clamp_backward": CudaKernel("T a, T b, T low, T high", "T y", "y = b < low || b > high ? T(0) : a;"),
    "extreme_backward": CudaKernel(
        "T a, T b, T out", "T y", "y = b == out ? a : out != out && a != T(0) ? out : T(0);"
    ),
    "leaky_relu_backward": CudaKernel("T a, T b, T slope", "T y", "y = b < T(0) ? T(a * slope) : a;"),
    "silu_backward": _slope("b", "W s = W(1) / (W(1) + exp(-v)); W d = s * (v * (W(1) - s) + W(1));"),
    "gelu_backward": _slope(
        "b",
        f"W share = W(0.5) * (W(1) + erf(v * W({ROOT_HALF!r})));W d = share + v * W({PEAK!r}) * exp(W(-0.5) * v * v);",
    ),
    "softplus_backward": _slope("b", "W d = W(1) / (W(1) + exp(-v));"),
    "squared_difference": CudaKernel("T a, T b", "T y", "T difference = a - b; y = difference * difference;"),
    "squared_difference_backward": CudaKernel(
        "T a, T b, T out", "T y", "y = a == T(0) ? T(0) : T(a * (b - out) * T(2));"
    ),
    "add_scaled": CudaKernel("T a, T b, T scale", "T y", "y = T(a + b * scale);"),
    "weighted_sum": CudaKernel("T a, T b, T first, T second", "T y", "y = T(a * first + b * second);"),
    "weighted_square_sum": CudaKernel("T a, T b, T first, T second", "T y", "y = T(a * first + b * second * b);"),
    "adaptive_sum": _curve(
        "T a, T b, T c, T first, T second, T epsilon",
        "y = T(W(a) * W(first) + W(b) * W(second) / (sqrt(W(c)) + W(epsilon)));",
    ),
    # A float to an Int dtype: its bounds as floats, then its own, which stand for all that is beyond.
    "to_int": CudaKernel(
        "T a, T below, T above, I least, I most",
        "I y",
        "y = a != a ? I(0) : a <= below ? least : a >= above ? most : I(a);",
    ),
    "mask_where": CudaKernel("T a, bool mask, T b", "T y", "y = mask ? b : a;"),
    "gather": CudaKernel(
        "raw T a, raw I indices, int32 dim",
        "raw T y",
        """
        ptrdiff_t at[a.ndim];
        find_indices(i, indices.shape(), a.ndim, -1, at);
        at[dim] = wrapped(indices[at], a.shape()[dim]);
        y[i] = a[at];
        """,
        PLACES,
    ),
    # Each thread owns one element of the result, and adds up what the windows that it lies in have for it.
    "add_windows": CudaKernel(
        "raw T a, int32 dim, int64 step, int64 dilation",
        "raw T y",
        """
        ptrdiff_t at[a.ndim], total_rank = a.ndim - 1;
        find_indices(i, y.shape(), total_rank, -1, at);
        ptrdiff_t place = at[dim];
        T total = T(0);
        for (ptrdiff_t k = 0; k < a.shape()[total_rank] && k * dilation <= place; ++k) {
            ptrdiff_t window = (place - k * dilation) / step;
            if (window < a.shape()[dim] && window * step == place - k * dilation) {
                at[dim] = window;
                at[total_rank] = k;
                total += a[at];
            }
        }
        y[i] = total;
        """,
        PLACES,
    ),
    # Two threads that add to one number would disturb each other, and atomics add in another order in each run, so
    # that the last bits differ. Here each thread owns a part of the result: one line along `dim`, from `first` to
    # before `last`. It reads all indices of its line, and adds, in their order, what falls into its part. Neighbours
    # in a block have neighbouring lines, so they read neighbouring bytes, which the GPU fetches together.
    "scatter": CudaKernel(
        "raw T b, raw I indices, int32 dim, int64 lines, int64 part",
        "raw T y",
        """
        ptrdiff_t at[b.ndim], size = y.shape()[dim];
        find_indices(i % lines, b.shape(), b.ndim, dim, at);
        ptrdiff_t first = i / lines * part, last = first + part < size ? first + part : size;
        for (ptrdiff_t k = 0; k < b.shape()[dim]; ++k) {
            at[dim] = k;
            ptrdiff_t target = wrapped(indices[at], size);
            if (first <= target && target < last) {
                T value = b[at];
                at[dim] = target;
                y[at] += value;
            }
        }
        """,
        PLACES,
    ),
}


def kernel(name: str) -> Any:
    """A row of the table as a function of CuPy arrays."""
    return compiled(name, KERNELS[name])


@cache
def compiled(name: str, row: CudaKernel) -> Any:
    """A row as a function of CuPy arrays. CUDA's compiler runs at the first call with each set of types."""
    return cp.ElementwiseKernel(row.inputs, row.output, row.code, f"tinyburn_{name}", preamble=row.before)
