"""Roots, powers, remainders and whole numbers, in WGSL. The rules for all functions are told where their table is."""

from __future__ import annotations

POWERS = """
// The square root. WGSL only says what it is for a positive number.
fn sqrt_of(x: f32) -> f32 {
    if (is_nan(x) || x == 0.0) { return x; }
    if (x < 0.0) { return nan_from(x); }
    if (is_inf(x)) { return x; }
    return sqrt(x);
}

// The first 12 of 24 binary digits. The product of two such numbers is exact.
fn first_digits(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) & 0xfffff000u);
}

// x without its last two binary digits, for places where these are 0 or do not matter. A compiler cannot see through
// a change of the bits, so it does not reorder the sum that makes x.
fn settled(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) & 0xfffffffcu);
}

// a^b = 2^(b log2(a)) for a > 0, both finite. The whole part of b log2(a) takes up digits that its fraction needs.
// So log2(a) = k + top + low has 30 binary digits. Its products with b are exact, and lose their whole part one by
// one.
fn power_by_log(a: f32, b: f32) -> f32 {
    let split = split_exponent(a);
    let k = split.y;
    // log2(m) is 2 / ln(2) * atanh(s), where d = s (2 + d). The rest of that equation for the first digits of s
    // gives the others.
    let d = split.x - 1.0;
    let s = d / (2.0 + d);
    let s_top = first_digits(s);
    let d_top = first_digits(d);
    let s_low = (settled(settled(d - 2.0 * s_top) - s_top * d_top) - s_top * (d - d_top)) / (2.0 + d);
    let product = s_top * 2.8847656;  // 2 / ln(2) to 12 binary digits; what is missing is 2.1641901e-4 of it
    let top = first_digits(product);
    let low = settled(product - top) + 2.8853901 * (s_low + atanh_rest(s) + 2.1641901e-4 * s_top);
    if (b * (k + top) > 130.0) { return inf_from(1.0); }
    if (b * (k + top) < -155.0) { return 0.0; }
    let b_top = first_digits(b);
    let terms = vec4<f32>(b_top * k, (b - b_top) * k, b_top * top, (b - b_top) * top);
    let wholes = round(terms);
    let parts = vec4<i32>(round((terms - wholes) * 0x1p26));  // in units of 2^-26
    let sum = parts.x + parts.y + parts.z + parts.w + i32(round(b * low * 0x1p26));
    let whole = (sum + 0x2000000) >> 26u;
    let part = f32(sum - (whole << 26u)) * 0x1p-26;
    return scale(exp_near_zero(part * 0.6931472), whole + i32(wholes.x + wholes.y + wholes.z + wholes.w));
}

// a^b for a >= 0, no NaN. A small whole exponent multiplies, so that the square of a whole number is whole.
fn power_of_positive(a: f32, b: f32) -> f32 {
    if (a == 1.0) { return 1.0; }
    if (a == 0.0 || is_inf(a) || is_inf(b)) { return select(0.0, inf_from(1.0), (a > 1.0) == (b > 0.0)); }
    if (abs(b) <= 8.0 && floor(b) == b) {
        var product = 1.0;
        for (var n = abs(b); n > 0.0; n -= 1.0) { product *= a; }
        if (b > 0.0) { return product; }
        if (product > 1e-37 && product < 1e37) { return 1.0 / product; }
    }
    return power_by_log(a, b);
}

// a^b as in C and NumPy: 1 if a is 1 or b is 0, even against NaN; a negative number has only whole powers.
fn power(a: f32, b: f32) -> f32 {
    if (equal(a, 1.0) || equal(b, 0.0)) { return 1.0; }
    if (is_nan(a)) { return a; }
    if (is_nan(b)) { return b; }
    let whole = abs(b) >= 0x1p23 || floor(b) == b;  // from there on, a float32 has no digits after the point
    if (a < 0.0 && !is_inf(a) && !whole) { return nan_from(a); }
    let odd = whole && abs(b) < 0x1p24 && (i32(b) & 1) == 1;  // from there on, all are even
    let size = power_of_positive(abs(a), b);
    return select(size, -size, odd && (bitcast<u32>(a) >> 31u) == 1u);
}

// The whole m and e of x = m 2^(e - 150), for x >= 0.
fn split_whole(x: f32) -> vec2<u32> {
    let bits = bitcast<u32>(x);
    if (bits < 0x00800000u) { return vec2<u32>(bits, 1u); }
    return vec2<u32>((bits & 0x7fffffu) | 0x800000u, bits >> 23u);
}

// What is left of a >= 0 after taking b > 0 from it as often as possible. It is exact: a long division of whole
// numbers, 8 binary digits a step.
fn remainder_of_positive(a: f32, b: f32) -> f32 {
    if (a < b) { return a; }
    let dividend = split_whole(a);
    let divisor = split_whole(b);
    var rest = dividend.x % divisor.x;
    for (var digits = dividend.y - divisor.y; digits > 0u; digits -= min(digits, 8u)) {
        rest = (rest << min(digits, 8u)) % divisor.x;
    }
    if (rest == 0u) { return 0.0; }
    return scale(f32(rest), i32(divisor.y) - 150);
}

// The remainder of a / b, with the sign of b; NaN if b is 0.
fn remainder_of(a: f32, b: f32) -> f32 {
    if (is_nan(a)) { return a; }
    if (is_nan(b)) { return b; }
    if (is_inf(a) || b == 0.0) { return nan_from(a); }
    let size = remainder_of_positive(abs(a), abs(b));
    if (size == 0.0) { return bitcast<f32>(bitcast<u32>(b) & 0x80000000u); }
    let rest = select(size, -size, a < 0.0);
    return select(rest, rest + b, (a < 0.0) != (b < 0.0));
}

// a^n by repeated squaring, modulo 2^32 as in NumPy. A negative power is 1 / a^-n without its fraction.
fn power_int(a: i32, n: i32) -> i32 {
    if (n < 0 && (a < -1 || a > 1 || a == 0)) { return 0; }
    var product = 1;
    var square = a;
    for (var left = u32(abs(n)); left > 0u; left >>= 1u) {
        if ((left & 1u) == 1u) { product *= square; }
        square *= square;
    }
    return product;
}

// The remainder of a / b, with the sign of b; 0 if b is 0, as in NumPy.
fn remainder_int(a: i32, b: i32) -> i32 {
    if (b == 0 || b == -1) { return 0; }
    let rest = a - (a / b) * b;  // WGSL's % is not asked: some drivers get it wrong for negative numbers
    return select(rest, rest + b, rest != 0 && (rest < 0) != (b < 0));
}

// A number without its fraction. NaN, and what int32 cannot hold, gives the smallest number, as NumPy does it on most
// machines; WGSL would leave NaN open.
fn to_int(x: f32) -> i32 {
    if (is_nan(x) || abs(x) >= 2147483648.0) { return -2147483648; }
    return i32(x);
}
"""
