// exp, log and rounding from additions, multiplications, divisions and bits only: the same bits on
// every machine, and loops over them become vector code.
#pragma once
#include "portable.h"

namespace quietcrowd {
namespace QC_VARIANT {
constexpr double ROUNDER = 6755399441055744.0;         // 1.5 * 2^52
constexpr i64 ROUNDER_BITS = 0x4338000000000000LL;
constexpr i64 ONE_BITS = 0x3FF0000000000000LL;
constexpr i64 ROOT_HALF_BITS = 0x3FE6A09E667F3BCDLL;   // sqrt(1/2)
constexpr i64 WHOLE_BITS = 0x4330000000000000LL;       // 2^52
constexpr double WHOLE = 4503599627370496.0;
constexpr double PER_LOG_2 = 1.4426950408889634;       // 1 / ln 2
constexpr double LOG_2 = 6.93147180369123816490e-01;   // its first 33 bits
constexpr double LOG_2_REST = 1.90821492927058770002e-10;
constexpr double SMALLEST = 708.0;

// The nearest integer to a number within 2^51 of 0.
QC_FN i64 to_integer(double x) { return subtract(bits_of(x + ROUNDER), ROUNDER_BITS); }
QC_FN double to_whole(double x) { return x + ROUNDER - ROUNDER; }

// Towards 0, as a cast does; the largest or smallest if there is no such integer, and for NaN the
// smallest: as on x86-64; C++ does not define it.
QC_FN i64 to_signed(double x) {
    return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? (i64)x : (i64)((u64)1 << 63);
}

// e^r for r from -ln(2) / 2 to ln(2) / 2, by its Taylor series.
QC_FN double exp_series(double r) {
    const double r2 = r * r, r4 = r2 * r2;
    return (1.0 + r + r2 * (1.0 / 2 + r * (1.0 / 6))) +
           r4 * (1.0 / 24 + r * (1.0 / 120) + r2 * (1.0 / 720 + r * (1.0 / 5040))) +
           r4 * r4 *
               (1.0 / 40320 + r * (1.0 / 362880) + r2 * (1.0 / 3628800 + r * (1.0 / 39916800)) +
                r4 * (1.0 / 479001600));
}

// exp(-x) for x >= 0, to 5e-16; 0 above 708.
QC_FN double exp_minus(double x) {
    const double most = x > SMALLEST ? SMALLEST : x;
    const double shifted = most * PER_LOG_2 + ROUNDER, whole = shifted - ROUNDER;
    const double series = exp_series(whole * LOG_2 - most + whole * LOG_2_REST);
    const u64 exponent = (u64)(1023 + ROUNDER_BITS) - (u64)bits_of(shifted);
    return x > SMALLEST ? 0.0 : series * number_of((i64)(exponent << 52));
}

// ln x for x from 1e-300 to 1e300, to 2e-16.
QC_FN double log_of(double x) {
    const u64 bits = (u64)bits_of(x);
    const u64 raised = (bits - (u64)ROOT_HALF_BITS + (u64)ONE_BITS) >> 52;
    const double m = number_of((i64)(bits - ((raised - 1023) << 52)));
    const double k = number_of((i64)(raised | (u64)WHOLE_BITS)) - (WHOLE + 1023.0);
    const double f = (m - 1.0) / (m + 1.0), f2 = f * f, f4 = f2 * f2;
    const double series =
        (1.0 / 3 + f2 * (1.0 / 5)) +
        f4 * ((1.0 / 7 + f2 * (1.0 / 9)) +
              f4 * ((1.0 / 11 + f2 * (1.0 / 13)) +
                    f4 * ((1.0 / 15 + f2 * (1.0 / 17)) + f4 * (1.0 / 19))));
    return k * LOG_2 + (2.0 * f + (2.0 * f * f2 * series + k * LOG_2_REST));
}

// The scaled complementary error function exp(x^2) erfc(x) is read off its continued fraction,
// pi^(-1/2) / (x + (1/2) / (x + g(x))), g(x) = 1 / (x + (3/2) / (x + 2 / (x + ...))). With y = FOLD / (FOLD + x)
// and w = 2y - 1, g / y is a ratio of polynomials: exact at 21 Chebyshev points of 0 <= y <= 1, and within
// 5e-16 elsewhere. See research/docs/theory/normal-laplace.md.
constexpr double FOLD = 3.0;

QC_FN double polynomial(const double* a, double w) {  // of degree 10, the constant first
    const double w2 = w * w, w4 = w2 * w2;
    return ((a[0] + a[1] * w) + w2 * (a[2] + a[3] * w)) +
           w4 * (((a[4] + a[5] * w) + w2 * (a[6] + a[7] * w)) + w4 * ((a[8] + a[9] * w) + w2 * a[10]));
}
QC_FN double tail_top(double y) {
    constexpr double a[] = {0.5842821746889257,   0.5578826169031943,    0.9415385813524615,   0.5897725816308902,
                            0.48069665552661295,  0.19619686424695426,   0.0909655801736513,   0.0221120778425384,
                            0.005387324957278211, 0.0005920820292921461, 4.438896485991884e-05};
    return y * polynomial(a, 2.0 * y - 1.0);
}
QC_FN double tail_bottom(double y) {
    constexpr double a[] = {1.0,                  0.38446669790733073,    1.3043389899250617,    0.3501632022199596,
                            0.620048698945577,    0.10643628016906671,    0.12709002394770114,   0.011525066535361197,
                            0.010278437014635313, 0.00031038682992426907, 0.00022093286142876284};
    return polynomial(a, 2.0 * y - 1.0);
}

// g at two points from 0 to 1e150, to 1e-14, for two divisions. NaN gives NaN.
struct Tails {
    double first, second;
};
QC_FN Tails fraction_tails(double x, double other) {
    const double first = FOLD + x, second = FOLD + other, share = FOLD / (first * second);
    const double y = share * second, other_y = share * first;
    const double top = tail_top(y), bottom = tail_bottom(y);
    const double other_top = tail_top(other_y), other_bottom = tail_bottom(other_y);
    const double inverse = 1.0 / (bottom * other_bottom);
    return {top * other_bottom * inverse, other_top * bottom * inverse};
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
