"""Scans on a GPU by NVIDIA: a running sum, product, maximum and so on along one dim, in the memory of the result alone.

As on `Wgpu`: each thread scans a chunk of a line, where it lies; the last elements of the chunks are a shorter line,
which is scanned in the same way; then each element takes in what stands at the end of the chunk before its own.
"""

from __future__ import annotations

from functools import cache

from tinyburn.backend.interface import Array

from .kernels import PLACES, WIDE, CudaKernel, compiled

CHUNK = 64
"""Elements that one thread scans."""

SCANS = {
    "cumsum": "T(before + value)",
    "cumprod": "T(before * value)",
    "cummax": "before > value || before != before ? before : value",
    "cummin": "before < value || before != before ? before : value",
    "logcumsumexp": "log_add_exp(before, value)",
}
"""How an element takes in what stands before it; NaN equals nothing, not even itself."""

_LOG_ADD_EXP = """
// log(e^a + e^b), from the larger one.
template <typename T> __device__ T log_add_exp(T a, T b) {
    typedef typename Wide<T>::type W;
    W x = a, y = b;
    if (x != x || y != y) return T(x + y);
    W larger = x > y ? x : y, smaller = x > y ? y : x;
    return isinf(larger) ? T(larger) : T(larger + log1p(exp(smaller - larger)));
}
"""

STEPS = {
    "chunks": f"""
    ptrdiff_t at[y.ndim], first = i / lines * {CHUNK}, size = y.shape()[dim];
    ptrdiff_t after = first + {CHUNK} < size ? first + {CHUNK} : size;
    find_indices(i % lines, y.shape(), y.ndim, dim, at);
    at[dim] = first;
    T before = y[at];
    for (ptrdiff_t k = first + 1; k < after; ++k) {{
        at[dim] = k;
        T value = y[at];
        before = JOINED;
        y[at] = before;
    }}
""",
    "carries": f"""
    ptrdiff_t at[y.ndim], place = i / lines + {CHUNK};
    if (place % {CHUNK} != {CHUNK - 1}) {{  // what stands last in a chunk is done
        find_indices(i % lines, y.shape(), y.ndim, dim, at);
        at[dim] = place / {CHUNK} * {CHUNK} - 1;
        T before = y[at];
        at[dim] = place;
        T value = y[at];
        y[at] = JOINED;
    }}
""",
}
"""What a thread does: it scans a chunk, or it takes into one element what stands at the end of the chunk before."""


@cache
def scan_kernel(name: str, step: str) -> CudaKernel:
    """One of the steps, for a scan."""
    before = PLACES + WIDE + (_LOG_ADD_EXP if name == "logcumsumexp" else "")
    return CudaKernel("int32 dim, int64 lines", "raw T y", STEPS[step].replace("JOINED", SCANS[name]), before)


def scan(name: str, a: Array, dim: int) -> Array:
    """A running value along a dim."""
    out = a.copy()
    if out.size:
        _scan(name, out, dim)
    return out


def _scan(name: str, out: Array, dim: int) -> None:
    """Scans a dim of an array where it lies."""
    size, lines = out.shape[dim], out.size // out.shape[dim]
    compiled(f"{name}_chunks", scan_kernel(name, "chunks"))(dim, lines, out, size=lines * -(-size // CHUNK))
    if size > CHUNK:
        ends = out[tuple([slice(CHUNK - 1, None, CHUNK) if axis == dim else slice(None) for axis in range(out.ndim)])]
        _scan(name, ends, dim)
        compiled(f"{name}_carries", scan_kernel(name, "carries"))(dim, lines, out, size=lines * (size - CHUNK))
