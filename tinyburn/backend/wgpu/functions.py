"""The functions that the kernels compute with, in WGSL.

WGSL has its own `exp`, `sin` or `pow`, but says little about them. A sine may be wrong from the fourth digit on, a
power of a negative number is undefined, and a compiler may assume that NaN and infinity never occur. So these are
ours: the same on every GPU, right for NaN and infinity, and exact enough to be compared with NumPy.

They stay clear of three traps:

- NaN and infinity are told and made by their bits, in whole numbers. A compiler has no rules to "simplify" those.
- A compiler may reorder a sum of floats. Where the order matters, a step is taken in whole numbers or on bits.
- A GPU may take a denormal (a number closer to 0 than 1.2e-38) for 0. No function relies on them.

Each function has a comment with its formula: mostly a Taylor series or a continued fraction, so that no coefficient
comes from a table. `POWERS` has those for roots, powers and remainders.

A test compares them with float64 and finds these largest errors on Mesa's lavapipe, in units in the last place (ulp)
of a float32, rounded up. For a sine and a cosine the unit is that of 1, for all others that of the result.

============  =========================================  ===
function      over                                       ulp
============  =========================================  ===
exp_of        -87 to 88.7                                2
log_of        all normal positive numbers                2
log1p_of      -1 to all normal positive numbers          3
sqrt_of       all normal positive numbers                1
sin_of        all normal numbers                         1
cos_of        all normal numbers                         1
tanh_of       all normal numbers                         2
erf_of        all normal numbers                         6
power         results from 1e-38 to 3e38                 7
power         a near 1, results from 1e-38 to 3e38       7
power         whole exponents from -8 to 8               6
remainder_of  all normal numbers                         0
============  =========================================  ===
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .powers import POWERS

_TEXT = """
// Whether x is NaN: all bits of the exponent are set, and one more.
fn is_nan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

// Whether x is inf or -inf: all bits of the exponent are set, and no more.
fn is_inf(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u;
}

// NaN. It is made of the bits of a run-time value, since WGSL has no way to write it.
fn nan_from(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) | 0x7fc00000u);
}

// Infinity with the sign of x.
fn inf_from(x: f32) -> f32 {
    return bitcast<f32>((bitcast<u32>(x) & 0x80000000u) | 0x7f800000u);
}

// a == b. NaN equals nothing.
fn equal(a: f32, b: f32) -> bool {
    return !is_nan(a) && !is_nan(b) && a == b;
}

// a < b. False if either is NaN.
fn less(a: f32, b: f32) -> bool {
    return !is_nan(a) && !is_nan(b) && a < b;
}

// a <= b. False if either is NaN.
fn less_equal(a: f32, b: f32) -> bool {
    return !is_nan(a) && !is_nan(b) && a <= b;
}

// The larger one; NaN if either is NaN.
fn maximum(a: f32, b: f32) -> f32 {
    if (is_nan(a)) { return a; }
    if (is_nan(b)) { return b; }
    return max(a, b);
}

// The smaller one; NaN if either is NaN.
fn minimum(a: f32, b: f32) -> f32 {
    if (is_nan(a)) { return a; }
    if (is_nan(b)) { return b; }
    return min(a, b);
}

// -1, 0 or 1; NaN stays NaN.
fn sign_of(x: f32) -> f32 {
    if (is_nan(x)) { return x; }
    return sign(x);
}

// a * b, but 0 wherever a is 0, also against inf or NaN. By the bits, or a compiler might drop the test.
fn multiply_no_nan(a: f32, b: f32) -> f32 {
    if ((bitcast<u32>(a) & 0x7fffffffu) == 0u) { return 0.0; }
    return a * b;
}

// x 2^k for a normal x > 0: adds k to the exponent's bits, so that only the steps to inf and to 0 can round.
fn scale(x: f32, k: i32) -> f32 {
    let bits = bitcast<u32>(x);
    let exponent = i32(bits >> 23u) + k;
    if (exponent > 254) { return inf_from(x); }
    if (exponent < -24) { return 0.0; }
    if (exponent < 1) { return bitcast<f32>(bits + (u32(k + 32) << 23u)) * 0x1p-32; }
    return bitcast<f32>(bits + (u32(k) << 23u));
}

// m and k of x = m 2^k, for x > 0. Here m lies between sqrt(1/2) and sqrt(2), whose bits are 0x3f3504f3.
fn split_exponent(x: f32) -> vec2<f32> {
    var bits = bitcast<u32>(x);
    var k = 0;
    if (bits < 0x00800000u) {  // a denormal is a whole number of 2^-149
        bits = bitcast<u32>(f32(bits));
        k = -149;
    }
    let shift = (i32(bits) - 0x3f3504f3) >> 23u;
    return vec2<f32>(bitcast<f32>(bits - (u32(shift) << 23u)), f32(k + shift));
}

// e^r for |r| <= ln(2) / 2, by Taylor: 1 + r + r^2/2! + ... + r^7/7!.
fn exp_near_zero(r: f32) -> f32 {
    let high = 1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5040.0)));
    return 1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * high)));
}

// e^x. With x = k ln(2) + r it is 2^k e^r. The difference r = x - k ln(2) would lose digits as a float. So it is
// taken in whole units of 2^-23, where ln(2) is 5814540 units; the part of a unit that is missing comes last.
fn exp_of(x: f32) -> f32 {
    if (is_nan(x)) { return x; }
    let limited = clamp(x, -105.0, 89.0);  // what lies beyond gives 0 or inf, as these two do
    let k = round(limited * 1.442695);
    let units = i32(round(limited * 0x1p23)) - i32(k) * 5814540;
    let r = f32(units) * 0x1p-23 + k * 1.9046543e-9;
    return scale(exp_near_zero(select(r, x, k == 0.0)), i32(k));
}

// The sum s + s^3/3 + s^5/5 + ... without its first term, for |s| <= 0.172. The whole sum is atanh(s).
fn atanh_rest(s: f32) -> f32 {
    let q = s * s;
    return s * q * (1.0 / 3.0 + q * (0.2 + q * (1.0 / 7.0 + q * (1.0 / 9.0 + q * (1.0 / 11.0)))));
}

// log(1 + d) for -0.293 <= d <= 0.415: it equals 2 atanh(d / (2 + d)).
fn log_near_one(d: f32) -> f32 {
    let s = d / (2.0 + d);
    return 2.0 * (s + atanh_rest(s));
}

// The natural logarithm. With x = m 2^k it is k ln(2) + log(m).
fn log_of(x: f32) -> f32 {
    if (is_nan(x)) { return x; }
    if (x == 0.0) { return inf_from(-1.0); }
    if (x < 0.0) { return nan_from(x); }
    if (is_inf(x)) { return x; }
    let split = split_exponent(x);
    return split.y * 0.6931472 + log_near_one(split.x - 1.0);
}

// log(1 + x). Near 0 the sum 1 + x would lose the digits of x, so it is not taken there.
fn log1p_of(x: f32) -> f32 {
    if (is_nan(x)) { return x; }
    if (x > -0.29 && x < 0.41) { return log_near_one(x); }
    return log_of(1.0 + x);
}

// The upper 32 bits of a product of two whole numbers, in four products of halves.
fn multiply_high(a: u32, b: u32) -> u32 {
    let low = (a & 0xffffu) * (b & 0xffffu);
    let first = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
    let second = (a & 0xffffu) * (b >> 16u) + (first & 0xffffu);
    return (a >> 16u) * (b >> 16u) + (first >> 16u) + (second >> 16u);
}

// The binary digits of 1 / (2 pi), 32 at a time, after a word of zeros.
fn digits_of_turn(word: u32) -> u32 {
    switch (word) {
        case 1u: { return 0x28be60dbu; }
        case 2u: { return 0x9391054au; }
        case 3u: { return 0x7f09d5f4u; }
        case 4u: { return 0x7d4d3770u; }
        case 5u: { return 0x36d8a566u; }
        case 6u: { return 0x4f10e410u; }
        default: { return 0u; }
    }
}

// The angle x >= 0.5 in turns, x / (2 pi), without the whole turns and in units of 2^-32. As x = m 2^e with whole m
// and e, only 64 digits of 1 / (2 pi) matter: those before give whole turns, those after are too small.
fn turn_of(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    let m = (bits & 0x7fffffu) | 0x800000u;
    let place = (bits >> 23u) - 118u;  // e + 32, where the digits start in their table
    let word = place >> 5u;
    let shift = place & 31u;
    let next = digits_of_turn(word + 1u);
    let high = (digits_of_turn(word) << shift) | ((next >> 1u) >> (31u - shift));
    let low = (next << shift) | ((digits_of_turn(word + 2u) >> 1u) >> (31u - shift));
    return m * high + multiply_high(m, low);
}

// The sine of r for |r| <= pi / 4, by Taylor: r - r^3/3! + ... + r^9/9!.
fn sin_near_zero(r: f32) -> f32 {
    let q = r * r;
    return r * (1.0 + q * (-1.0 / 6.0 + q * (1.0 / 120.0 + q * (-1.0 / 5040.0 + q * (1.0 / 362880.0)))));
}

// The cosine of r for |r| <= pi / 4, by Taylor: 1 - r^2/2! + ... - r^10/10!.
fn cos_near_zero(r: f32) -> f32 {
    let q = r * r;
    let high = 1.0 / 24.0 + q * (-1.0 / 720.0 + q * (1.0 / 40320.0 - q * (1.0 / 3628800.0)));
    return 1.0 + q * (-0.5 + q * high);
}

// The sine of a part of a turn, in units of 2^-32. Counted from the nearest quarter turn, the angle is at most pi / 4.
fn sin_of_turn(turn: u32) -> f32 {
    let quarter = (turn + 0x20000000u) >> 30u;
    let r = f32(i32(turn - (quarter << 30u))) * 1.4629181e-9;  // 2 pi / 2^32
    let value = select(sin_near_zero(r), cos_near_zero(r), (quarter & 1u) == 1u);
    return select(value, -value, (quarter & 2u) == 2u);
}

// The cosine of a part of a turn: the sine of a quarter turn more.
fn cos_of_turn(turn: u32) -> f32 {
    return sin_of_turn(turn + 0x40000000u);
}

// The sine of any x, in radians.
fn sin_of(x: f32) -> f32 {
    if (is_nan(x) || is_inf(x)) { return nan_from(x); }
    if (abs(x) < 0.78) { return sin_near_zero(x); }
    let value = sin_of_turn(turn_of(abs(x)));
    return select(value, -value, x < 0.0);
}

// The cosine of any x, in radians.
fn cos_of(x: f32) -> f32 {
    if (is_nan(x) || is_inf(x)) { return nan_from(x); }
    if (abs(x) < 0.78) { return cos_near_zero(x); }
    return cos_of_turn(turn_of(abs(x)));
}

// The hyperbolic tangent. Near 0 by Lambert's fraction x / (1 + x^2 / (3 + x^2 / (5 + ...))), so that small results
// are exact too; else 1 - 2 / (e^2x + 1).
fn tanh_of(x: f32) -> f32 {
    if (is_nan(x)) { return x; }
    let q = x * x;
    if (abs(x) < 0.6) { return x / (1.0 + q / (3.0 + q / (5.0 + q / (7.0 + q / 9.0)))); }
    let value = 1.0 - 2.0 / (exp_of(2.0 * min(abs(x), 10.0)) + 1.0);
    return select(value, -value, x < 0.0);
}

// The error function, by 7.1.6 and 7.1.14 of Abramowitz and Stegun's Handbook of Mathematical Functions.
// Near 0: 2 x e^(-x^2) / sqrt(pi) * (1 + y/3 (1 + y/5 (1 + ...))) with y = 2 x^2, where all terms are positive.
// Else: 1 - e^(-x^2) / sqrt(pi) / (x + 1/2 / (x + 2/2 / (x + 3/2 / (x + ...)))).
fn erf_of(x: f32) -> f32 {
    if (is_nan(x)) { return x; }
    let size = min(abs(x), 4.0);  // from 4 on, the result rounds to 1
    let bell = exp_of(-size * size);
    if (size < 2.0) {
        var sum = 1.0;
        for (var n = 41.0; n > 2.0; n -= 2.0) { sum = 1.0 + 2.0 * x * x / n * sum; }
        return 1.1283792 * x * bell * sum;
    }
    var fraction = size;
    for (var n = 8.0; n > 0.0; n -= 1.0) { fraction = size + 0.5 * n / fraction; }
    let value = 1.0 - 0.56418958 * bell / fraction;
    return select(value, -value, x < 0.0);
}
"""


def _split(text: str) -> dict[str, str]:
    """The functions of a WGSL text, with the comment above each, by their names."""
    return {re.findall(r"^fn (\w+)", block, re.MULTILINE)[0]: block for block in text.strip().split("\n\n")}


FUNCTIONS: dict[str, str] = _split(_TEXT) | _split(POWERS)


def source_of(names: Iterable[str]) -> str:
    """The WGSL of some functions and of all that they call, each once and in the order of `FUNCTIONS`.

    Raises KeyError for a name that is not in `FUNCTIONS`.
    """
    needed: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting += [called for called in re.findall(r"(\w+)\(", FUNCTIONS[name]) if called in FUNCTIONS]
    return "".join(f"{source}\n\n" for name, source in FUNCTIONS.items() if name in needed)
