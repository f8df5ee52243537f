"""The WGSL functions alone, on plain `wgpu`. Expected values are NumPy's or Python's, in float64 where it is finer."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from tests.backend.table import ROWS
from tests.backend.wgpu.raw import evaluate, gpu, is_software
from tinyburn.backend.wgpu.kernel import functions, source_of, wgsl_text

Array = np.ndarray[Any, Any]

LARGEST_ON_A_GPU = 25  # ulp, which is 3e-6: WGSL leaves a GPU more freedom in a division than lavapipe takes
SMALLEST = 2.0**-126  # of the normal numbers
INT_MIN = -(2**31)

SPECIAL = np.array(
    [
        0.0,
        1.0,
        0.5,
        2.0,
        2.5,
        3.0,
        1e-30,
        1e30,
        2.0**24 - 1,
        2.0**24,
        SMALLEST,
        np.finfo("float32").max,
        np.inf,
        np.nan,
    ],
    "float32",
)
SPECIAL = np.concatenate([SPECIAL, -SPECIAL])


def call(name: str, *operands: Array, dtype: str = "float32") -> Array:
    return evaluate(source_of([name]), f"{name}({', '.join('ab'[: len(operands)])})", *operands, dtype=dtype)


def some_of(first: float, last: float) -> Array:
    """Numbers over all exponents between two positive ones: every 4001st float32."""
    ends = np.array([first, last], "float32").view("uint32")
    return np.arange(ends[0], ends[1], 4001, dtype="uint32").view("float32")


def any_bits(rng: np.random.Generator, count: int) -> Array:
    """Any 32 bits as a float32, but no denormal, which a GPU may take for 0."""
    values = rng.integers(0, 2**32, count, dtype="uint32").view("float32")
    return np.where(np.abs(values) < SMALLEST, np.float32(0), values)


def both(values: Array) -> Array:
    return np.concatenate([values, -values])


POSITIVE = some_of(SMALLEST, 3.4e38)
ERF = np.vectorize(math.erf)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def gelu(x: Array) -> Array:
    return x * (1 + ERF(x / math.sqrt(2))) / 2


def grid(first: float, last: float) -> Array:
    return np.linspace(first, last, 100_001).astype("float32")


def powers(bases: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Exponents such that the results are spread over all of float32."""
    logs = rng.uniform(-87, 88.5, bases.size)
    return bases, (logs / np.log(bases.astype("float64"))).astype("float32")


def cases() -> dict[tuple[str, str], tuple[Any, tuple[Array, ...]]]:
    """By function and range, as in the table of functions.wgsl: the reference and the operands.

    A function of one number that is computed everywhere needs no row here: its reference is that of the operation.
    """
    rng = np.random.default_rng(3)
    wide, near = np.exp(rng.uniform(-80, 80, 300_000)), 1 + rng.uniform(-0.3, 0.42, 300_000)
    bases = rng.uniform(-100, 100, 300_000).astype("float32")
    dividends = np.nan_to_num(any_bits(rng, 300_000))
    legs = (
        np.concatenate([np.nan_to_num(any_bits(rng, 200_000)), near.astype("float32")]),
        np.concatenate([np.nan_to_num(any_bits(rng, 200_000)), rng.normal(size=near.size).astype("float32")]),
    )
    divisors = np.concatenate([any_bits(rng, 200_000), dividends[200_000:] / np.float32(7)])
    anywhere = np.concatenate([both(POSITIVE), grid(-100, 100), grid(-10, 10)])
    not_below_87 = np.concatenate([POSITIVE, -some_of(SMALLEST, 87), grid(-87, 100), grid(-10, 10)])
    references = {f"{row.name}_of": row.reference for row in ROWS if len(row.args) == 1}
    whole = {
        key: (references[key[0]], (anywhere,))
        for key in stated()
        if key[1] == "all normal numbers" and key[0] in references
    }
    return whole | {
        ("exp_of", "-87 to 88.7"): (np.exp, (np.concatenate([grid(-87, 88.7), grid(-1, 1)]),)),
        ("log_of", "all normal positive numbers"): (np.log, (np.concatenate([POSITIVE, grid(0.5, 2)]),)),
        ("log1p_of", "-1 to all normal positive numbers"): (
            np.log1p,
            (np.concatenate([POSITIVE, -some_of(SMALLEST, 1), grid(-0.9999, 2)]),),
        ),
        ("sqrt_of", "all normal positive numbers"): (np.sqrt, (POSITIVE,)),
        ("erf_of", "all normal numbers"): (ERF, (np.concatenate([both(some_of(SMALLEST, 100)), grid(-5, 5)]),)),
        ("sigmoid_of", "-87 to all normal positive numbers"): (sigmoid, (not_below_87,)),
        ("silu_of", "-87 to all normal positive numbers"): (lambda x: x * sigmoid(x), (not_below_87,)),
        ("gelu_of", "all normal positive numbers"): (gelu, (np.concatenate([POSITIVE, grid(0, 10)]),)),
        ("power", "results from 1e-38 to 3e38"): (np.power, powers(wide.astype("float32"), rng)),
        ("power", "a near 1, results from 1e-38 to 3e38"): (np.power, powers(near.astype("float32"), rng)),
        ("power", "whole exponents from -8 to 8"): (
            np.power,
            (bases, rng.integers(-8, 9, bases.size).astype("float32")),
        ),
        ("remainder_of", "all normal numbers"): (np.remainder, (dividends, divisors)),
        ("log2_of", "all normal positive numbers"): (np.log2, (np.concatenate([POSITIVE, grid(0.5, 2)]),)),
        ("log10_of", "all normal positive numbers"): (np.log10, (np.concatenate([POSITIVE, grid(0.5, 2)]),)),
        ("tan_of", "-1.5 to 1.5"): (np.tan, (np.concatenate([both(some_of(SMALLEST, 1.5)), grid(-1.5, 1.5)]),)),
        ("atan2_of", "all normal numbers"): (np.arctan2, legs),
        ("hypot_of", "all normal numbers"): (np.hypot, legs),
    }


def stated() -> dict[tuple[str, str], int]:
    """The rows of the table in the first lines of functions.wgsl."""
    rows = re.findall(r"^// (\w+)  +(.+?)  +(\d+)$", wgsl_text("functions"), re.MULTILINE)
    return {(name, over): int(ulp) for name, over, ulp in rows}


CASES = cases()


def test_the_table_has_every_measurement() -> None:
    assert set(stated()) == set(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}: {case[1]}")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_largest_error(case: tuple[str, str]) -> None:
    reference, operands = CASES[case]
    limit = stated()[case] if is_software_here() else LARGEST_ON_A_GPU
    true = reference(*[x.astype("float64") for x in operands])
    if case[0] == "remainder_of":  # what is exact needs no finer reference, and the last sum is rounded in float32
        true = reference(*operands).astype("float64")
    counted = np.isfinite(true) & (np.abs(true) < np.finfo("float32").max) & (np.abs(true) >= SMALLEST)
    got = call(case[0], *operands)[counted].astype("float64")
    size = np.ones(got.size) if case[0] in ("sin_of", "cos_of") else np.abs(true[counted])
    errors = np.abs(got - true[counted]) / np.spacing(size.astype("float32"))
    assert counted.sum() > 10_000
    assert errors.max() <= limit


def is_software_here() -> bool:
    gpu()  # skips the test if there is none
    return is_software()


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("exp_of", np.exp),
        ("log_of", np.log),
        ("log1p_of", np.log1p),
        ("sqrt_of", np.sqrt),
        ("sin_of", np.sin),
        ("cos_of", np.cos),
        ("tanh_of", np.tanh),
        ("asin_of", np.arcsin),
        ("acos_of", np.arccos),
        ("asinh_of", np.arcsinh),
        ("acosh_of", np.arccosh),
        ("atanh_of", np.arctanh),
        ("log2_of", np.log2),
        ("log10_of", np.log10),
        ("atan2_of", np.arctan2),
        ("hypot_of", np.hypot),
        ("erf_of", ERF),
        ("sign_of", np.sign),
        ("power", np.power),
        ("remainder_of", np.remainder),
        ("maximum", np.maximum),
        ("minimum", np.minimum),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_zeros_infinities_nan_and_extremes(name: str, reference: Any) -> None:
    operands = [SPECIAL]
    if isinstance(reference, np.ufunc) and reference.nin == 2:
        operands = [np.repeat(SPECIAL, SPECIAL.size), np.tile(SPECIAL, SPECIAL.size)]
    got = call(name, *operands)
    true = reference(*operands)
    true = np.where(np.abs(true) < SMALLEST, 0, true)
    got = np.where(np.abs(got) < SMALLEST, 0, got)
    np.testing.assert_allclose(got, true.astype("float32"), rtol=3e-6)


@pytest.mark.parametrize(
    ("name", "reference"), [("power", np.power), ("remainder_of", np.remainder), ("maximum", np.maximum)]
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_any_bits(name: str, reference: Any, rng: np.random.Generator) -> None:
    a, b = any_bits(rng, 200_000), any_bits(rng, 200_000)
    true = reference(a, b)
    ok = np.isnan(true) | (np.abs(true) >= SMALLEST) | (true == 0)
    np.testing.assert_allclose(call(name, a, b)[ok], true[ok], rtol=3e-6)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_zero_has_the_sign_that_numpy_gives_it() -> None:
    a, b = (
        np.array([-0.0, 0.0, -6.0, 6.0, -0.0, -0.0], "float32"),
        np.array([3.0, 2.0, 2.0, -3.0, -3.0, -2.0], "float32"),
    )
    for name, reference in (("remainder_of", np.remainder), ("power", np.power), ("atan2_of", np.arctan2)):
        np.testing.assert_array_equal(np.signbit(call(name, a, b)), np.signbit(reference(a, b)))


def test_an_overflow_and_an_underflow() -> None:
    got = call("exp_of", np.array([88.8, 1e30, -104, -1e30], "float32"))
    np.testing.assert_array_equal(got, [np.inf, np.inf, 0, 0])
    got = call("power", np.array([10, 10, -10, 1.5], "float32"), np.array([39, -46, 39, 1e30], "float32"))
    np.testing.assert_array_equal(got, [np.inf, 0, -np.inf, np.inf])


def test_a_denormal_is_right_or_0() -> None:
    tiny = np.array([1e-40, 3e-42, 1e-45], "float32")
    got = call("log_of", tiny)
    np.testing.assert_allclose(got, np.where(got == -np.inf, got, np.log(tiny.astype("float64"))), rtol=3e-6)
    got = call("exp_of", np.array([-90, -95], "float32"))
    np.testing.assert_allclose(got, np.where(got == 0, got, np.exp([-90.0, -95.0])), rtol=1e-3)


def test_whole_powers_of_whole_numbers_are_whole() -> None:
    bases, exponents = np.meshgrid(np.arange(-8, 9), np.arange(0, 9))
    got = call("power", bases.astype("float32"), exponents.astype("float32"))
    np.testing.assert_array_equal(got, (bases**exponents).reshape(-1))
    exponents = np.arange(-126, 128)
    twos = np.ldexp(np.float32(1), exponents)  # NumPy's own exp2 is not exact in float32
    np.testing.assert_array_equal(call("power", np.array([2], "float32"), exponents.astype("float32")), twos)


@pytest.mark.parametrize(("name", "reference"), [("equal", np.equal), ("less", np.less), ("less_equal", np.less_equal)])
def test_comparisons(name: str, reference: Any) -> None:
    a, b = np.repeat(SPECIAL, SPECIAL.size), np.tile(SPECIAL, SPECIAL.size)
    got = evaluate(source_of([name]), f"u32({name}(a, b))", a, b, dtype="uint32")
    np.testing.assert_array_equal(got, reference(a, b))


def test_nan_and_inf_of_every_kind(rng: np.random.Generator) -> None:
    signalling = np.array([0x7F800001, 0xFF800001, 0x7FFFFFFF], "uint32").view("float32")
    values = np.concatenate([SPECIAL, signalling, any_bits(rng, 100_000)])
    for name, reference in (("is_nan", np.isnan), ("is_inf", np.isinf)):
        got = evaluate(source_of([name]), f"u32({name}(a))", values, dtype="uint32")
        np.testing.assert_array_equal(got, reference(values))


def test_nothing_times_anything_is_nothing() -> None:
    a, b = np.repeat(SPECIAL, SPECIAL.size), np.tile(SPECIAL, SPECIAL.size)
    got = call("multiply_no_nan", a, b)
    with np.errstate(all="ignore"):
        true = np.where(a == 0, np.float32(0), a * b)
    kept = ~((np.abs(true) < SMALLEST) & (true != 0))
    np.testing.assert_array_equal(got[kept], true[kept])


def test_whole_numbers(rng: np.random.Generator) -> None:
    edges = np.array([INT_MIN, INT_MIN + 1, -7, -2, -1, 0, 1, 2, 3, 7, 2**31 - 1], "int32")
    bits = rng.integers(INT_MIN, 2**31, (2, 10_000), dtype="int32")
    a = np.concatenate([np.repeat(edges, edges.size), bits[0]])
    b = np.concatenate([np.tile(edges, edges.size), bits[1]])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(call("remainder_int", a, b, dtype="int32"), np.remainder(a, b))
    exponents = b & 0x7FFFFFFF
    np.testing.assert_array_equal(call("power_int", a, exponents, dtype="int32"), np.power(a, exponents))


def test_a_negative_power_of_a_whole_number_has_no_fraction() -> None:
    a, n = np.array([1, -1, -1, 2, -3, 0, 1], "int32"), np.array([-5, -5, -4, -1, -2, -1, INT_MIN], "int32")
    np.testing.assert_array_equal(call("power_int", a, n, dtype="int32"), [1, -1, 1, 0, 0, 0, 1])


def test_no_literal_is_infinite_or_nan() -> None:
    code = "\n".join(line.split("//")[0] for line in source_of(functions()).splitlines())
    literals = re.findall(r"(?<!\w)\d+\.\d*(?:e-?\d+)?|(?<!\w)\d+e-?\d+", code)
    assert len(literals) > 100
    assert all(abs(np.float32(literal)) < np.inf for literal in literals)
    assert not re.search(r"\b(inf|nan|infinity)\b", code, re.IGNORECASE)
    assert not re.search(r"bitcast<f32>\(\d", code)  # the compiler would work it out


def test_source_of_has_what_is_called_once_and_in_order() -> None:
    assert re.findall(r"^fn (\w+)", source_of(["log1p_of", "log_of"]), re.MULTILINE) == [
        *("is_nan", "is_inf", "nan_from", "inf_from"),
        *("split_exponent", "atanh_rest", "log_near_one", "log_of", "log1p_of"),
    ]
    assert source_of([]) == ""
    with pytest.raises(KeyError):
        source_of(["no_such_function"])


def test_every_function_compiles_alone() -> None:
    for name in functions():
        gpu().create_shader_module(code=source_of([name]))
