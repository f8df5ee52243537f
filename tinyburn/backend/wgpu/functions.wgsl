// The functions that the kernels compute with.
//
// WGSL has its own `exp`, `sin` or `pow`, but says little about them. A sine may be wrong from the fourth digit on, a
// power of a negative number is undefined, and a compiler may assume that NaN and infinity never occur. So these are
// ours: the same on every GPU, right for NaN and infinity, and exact enough to be compared with NumPy.
//
// They stay clear of three traps:
//
// - NaN and infinity are told and made by their bits, in whole numbers. A compiler has no rules to "simplify" those.
// - A compiler may reorder a sum of floats. Where the order matters, a step is taken in whole numbers or on bits.
// - A GPU may take a denormal (a number closer to 0 than 1.2e-38) for 0. No function relies on them.
//
// Each function has a comment with its formula: mostly a Taylor series or a continued fraction, so that no coefficient
// comes from a table. A kernel gets the functions that it calls, and a blank line ends a function: none may have one
// inside.
//
// A test compares them with float64 and finds these largest errors on Mesa's lavapipe, in units in the last place
// (ulp) of a float32, rounded up. For a sine and a cosine the unit is that of 1, for all others that of the result.
//
// function      over                                       ulp
// exp_of        -87 to 88.7                                2
// log_of        all normal positive numbers                2
// log1p_of      -1 to all normal positive numbers          3
// log2_of       all normal positive numbers                4
// log10_of      all normal positive numbers                4
// sqrt_of       all normal positive numbers                1
// sin_of        all normal numbers                         1
// cos_of        all normal numbers                         1
// sinh_of       all normal numbers                         3
// cosh_of       all normal numbers                         3
// tanh_of       all normal numbers                         2
// tan_of        -1.5 to 1.5                                4
// atan2_of      all normal numbers                         3
// asin_of       all normal numbers                         4
// acos_of       all normal numbers                         4
// asinh_of      all normal numbers                         3
// acosh_of      all normal numbers                         4
// atanh_of      all normal numbers                         4
// hypot_of      all normal numbers                         2
// erf_of        all normal numbers                         6
// sigmoid_of    -87 to all normal positive numbers         3
// silu_of       -87 to all normal positive numbers         3
// gelu_of       all normal positive numbers                3
// softplus_of   all normal numbers                         4
// power         results from 1e-38 to 3e38                 7
// power         a near 1, results from 1e-38 to 3e38       7
// power         whole exponents from -8 to 8               6
// remainder_of  all normal numbers                         0

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

// Whether x is 0 or -0. By the bits, or a compiler might drop a test that guards against inf or NaN.
fn is_zero(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) == 0u;
}

// a * b, but 0 wherever a is 0, also against inf or NaN.
fn multiply_no_nan(a: f32, b: f32) -> f32 {
    if (is_zero(a)) { return 0.0; }
    return a * b;
}

// a where out, the result of a relu, is above 0, else 0. NaN where out is NaN, unless a is 0.
fn relu_backward_of(a: f32, out: f32) -> f32 {
    if (is_zero(a)) { return 0.0; }
    return multiply_no_nan(sign_of(out), a);
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

// e^x / 2 for x >= 0. Where e^x overflows and its half does not, it is e^(x - 1) times e / 2.
fn half_exp(x: f32) -> f32 {
    if (x > 89.5) { return inf_from(x); }
    if (x > 88.0) { return exp_of(x - 1.0) * 1.3591409; }
    return exp_of(x) * 0.5;
}

// (e^x - e^-x) / 2. Near 0 the difference would lose digits: there by Taylor, x + x^3/3! + x^5/5! + ... + x^9/9!.
// From 9 on, e^-x is too small to matter.
fn sinh_of(x: f32) -> f32 {
    if (is_nan(x)) { return x; }
    let q = x * x;
    if (abs(x) < 1.0) { return x * (1.0 + q / 6.0 * (1.0 + q / 20.0 * (1.0 + q / 42.0 * (1.0 + q / 72.0)))); }
    let half = half_exp(abs(x));
    let value = select(half, half - 0.25 / half, abs(x) < 9.0);
    return select(value, -value, x < 0.0);
}

// (e^x + e^-x) / 2. From 9 on, e^-x is too small to matter.
fn cosh_of(x: f32) -> f32 {
    if (is_nan(x)) { return x; }
    let half = half_exp(abs(x));
    return select(half, half + 0.25 / half, abs(x) < 9.0);
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

// log(e^a + e^b), from the larger one. NaN if either is NaN.
fn log_add_exp(a: f32, b: f32) -> f32 {
    let larger = maximum(a, b);
    if (is_nan(larger) || is_inf(larger)) { return larger; }
    return larger + log1p_of(exp_of(min(a, b) - larger));
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
    let start = (bits >> 23u) - 118u;  // e + 32, where the digits start in their table
    let word = start >> 5u;
    let shift = start & 31u;
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

// sin x / cos x. Where the cosine is nearly 0, so are its digits: near pi / 2 they are those of a part of a turn.
fn tan_of(x: f32) -> f32 {
    if (is_nan(x) || is_inf(x)) { return nan_from(x); }
    return sin_of(x) / cos_of(x);
}

// The angle of the point (x, y), from -pi to pi. In the first octant it is atan(q) with q <= 1, the shorter leg over the
// longer one; beyond tan(pi / 8) it is counted from pi / 4, where the tangent is (q - 1) / (q + 1). For the rest by
// Taylor: t - t^3/3 + ... - t^19/19. The other octants are mirrored into the first, by the signs of zeros too.
fn atan2_of(y: f32, x: f32) -> f32 {
    if (is_nan(x) || is_nan(y)) { return nan_from(x); }
    let longer = max(abs(x), abs(y));
    let shorter = min(abs(x), abs(y));
    var q = 1.0;
    if (!is_inf(shorter)) { q = 0.0; }
    if (!is_inf(longer) && longer > 0.0) { q = shorter / longer; }
    let t = select(q, (q - 1.0) / (q + 1.0), q > 0.41421356);
    let s = t * t;
    let high = 1.0 / 11.0 - s * (1.0 / 13.0 - s * (1.0 / 15.0 - s * (1.0 / 17.0 - s * (1.0 / 19.0))));
    let rest = t * s * (1.0 / 3.0 - s * (0.2 - s * (1.0 / 7.0 - s * (1.0 / 9.0 - s * high))));
    var angle = select(t - rest, 0.78539816 + (t - rest), q > 0.41421356);
    if (abs(y) > abs(x)) { angle = 1.5707964 - angle; }
    if ((bitcast<u32>(x) & 0x80000000u) != 0u) { angle = 3.1415927 - angle; }
    return bitcast<f32>(bitcast<u32>(angle) | (bitcast<u32>(y) & 0x80000000u));
}

// The angle whose sine is x, on the unit circle. As a product, 1 - x^2 keeps its digits near 1.
fn asin_of(x: f32) -> f32 {
    return atan2_of(x, sqrt_of((1.0 - x) * (1.0 + x)));
}

// The angle whose cosine is x, in the same way.
fn acos_of(x: f32) -> f32 {
    return atan2_of(sqrt_of((1.0 - x) * (1.0 + x)), x);
}

// log(t + sqrt(t^2 + 1)) for the size t of x. In these two parts nothing overflows and a small t keeps its digits: with
// r = 1 / t it is log(1 + t) + log(1 + 1 / (r + sqrt(r^2 + 1)) / (r + 1)). The second part is 0 for a very small t.
fn asinh_of(x: f32) -> f32 {
    if (is_nan(x) || is_inf(x)) { return x; }
    let size = abs(x);
    var value = log1p_of(size);
    if (size > 1e-9) {
        let r = 1.0 / size;
        value += log1p_of(1.0 / (r + sqrt_of(r * r + 1.0)) / (r + 1.0));
    }
    return select(value, -value, x < 0.0);
}

// 2 asinh(sqrt((x - 1) / 2)).
fn acosh_of(x: f32) -> f32 {
    return 2.0 * asinh_of(sqrt_of(0.5 * (x - 1.0)));
}

// log(1 + 2 t / (1 - t)) / 2 for the size t of x.
fn atanh_of(x: f32) -> f32 {
    if (is_nan(x) || abs(x) > 1.0) { return nan_from(x); }
    if (abs(x) == 1.0) { return inf_from(x); }
    let value = 0.5 * log1p_of(2.0 * abs(x) / (1.0 - abs(x)));
    return select(value, -value, x < 0.0);
}

// The logarithm to base 2. With x = m 2^k it is k + log(m) / ln(2).
fn log2_of(x: f32) -> f32 {
    if (is_nan(x)) { return x; }
    if (x == 0.0) { return inf_from(-1.0); }
    if (x < 0.0) { return nan_from(x); }
    if (is_inf(x)) { return x; }
    let split = split_exponent(x);
    return split.y + log_near_one(split.x - 1.0) * 1.442695;
}

// The logarithm to base 10, log(x) / ln(10).
fn log10_of(x: f32) -> f32 {
    let value = log_of(x);
    if (is_nan(value) || is_inf(value)) { return value; }
    return value * 0.4342945;
}

// sqrt(a^2 + b^2), by the longer leg, so that no square overflows. An infinite leg is longer than NaN.
fn hypot_of(a: f32, b: f32) -> f32 {
    if (is_inf(a) || is_inf(b)) { return inf_from(1.0); }
    if (is_nan(a) || is_nan(b)) { return nan_from(a); }
    let longer = max(abs(a), abs(b));
    if (longer == 0.0) { return 0.0; }
    let q = min(abs(a), abs(b)) / longer;
    return longer * sqrt_of(1.0 + q * q);
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

// 1 / (1 + e^-x). Where the exponential overflows, 1 over infinity is 0; that is said here and not left to a compiler.
fn sigmoid_of(x: f32) -> f32 {
    if (is_nan(x)) { return x; }
    let e = exp_of(-x);
    if (is_inf(e)) { return 0.0; }
    return 1.0 / (e + 1.0);
}

// x times a share from 0 to 1 that x itself has led to: 0 for -inf, and infinity times 0 is NaN.
fn times_share(x: f32, share: f32) -> f32 {
    if (is_nan(x)) { return x; }
    if (is_inf(x)) { return select(nan_from(x), x, x > 0.0); }
    return x * share;
}

// x / (1 + e^-x).
fn silu_of(x: f32) -> f32 {
    return times_share(x, sigmoid_of(x));
}

// The derivative of silu, s (1 + x (1 - s)) with s = sigmoid(x). At both infinities it is infinity times 0.
fn silu_slope(x: f32) -> f32 {
    if (is_nan(x) || is_inf(x)) { return nan_from(x); }
    let s = sigmoid_of(x);
    return s * (x * (1.0 - s) + 1.0);
}

// The share of the bell curve that lies below x: (1 + erf(x / sqrt(2))) / 2.
fn share_below(x: f32) -> f32 {
    return (erf_of(x * 0.70710678) + 1.0) * 0.5;
}

// x times the share of the bell curve that lies below it.
fn gelu_of(x: f32) -> f32 {
    return times_share(x, share_below(x));
}

// The derivative of gelu: the share below x, and x times the height e^(-x^2 / 2) / sqrt(2 pi) of the bell curve there.
// At both infinities that is infinity times 0.
fn gelu_slope(x: f32) -> f32 {
    if (is_nan(x) || is_inf(x)) { return nan_from(x); }
    return share_below(x) + x * (exp_of(x * x * -0.5) * 0.39894228);
}

// log(1 + e^x) = max(x, 0) + log(1 + e^-|x|), where no exponential overflows.
fn softplus_of(x: f32) -> f32 {
    if (is_nan(x) || is_inf(x)) { return maximum(x, 0.0); }
    return max(x, 0.0) + log1p_of(exp_of(-abs(x)));
}

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

// x without its last two binary digits, where these are 0 or do not matter. A compiler cannot see through a change of
// the bits, so it does not reorder the sum that makes x.
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

// A number without its fraction; beyond int32 the nearest number there, and 0 for NaN, as in every backend.
fn to_int(x: f32) -> i32 {
    if (is_nan(x)) { return 0; }
    if (abs(x) >= 2147483648.0) { return select(-2147483648, 2147483647, x > 0.0); }
    return i32(x);
}
