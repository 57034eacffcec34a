// exp, log and others of single numbers. They use only the operations of vector_math.h, and so have the
// same bits on every machine, which those of the C library do not.
#pragma once
#include "vector_math.h"

#include <cmath>

namespace quietcrowd {
namespace QC_VARIANT {
// e^x, to 5e-16 relatively; 0 below -708, infinite above 709.78.
QC_FN double exp_of(double x) {
    if (!(x > 0.0)) return exp_minus(-x);
    if (x > 709.78271289338397) return INFINITY;
    const double whole = to_whole(x * PER_LOG_2);
    const double power = exp_series(x - whole * LOG_2 - whole * LOG_2_REST);
    return power * number_of((i64)((u64)(1022 + (i64)whole) << 52)) * 2.0;
}

// 1 - e^-x for x >= 0, to 3e-16 relatively.
QC_FN double one_minus_exp_minus(double x) {
    if (x > 0.4) return 1.0 - exp_minus(x);
    double sum = 0.0;  // of (-x)^n / (n + 1)! from the smallest term on
    for (int n = 14; n > 0; n--) sum = (1.0 + sum) * (-x / (n + 1));
    return x * (1.0 + sum);
}

// The natural logarithm, to 3e-16 relatively or absolutely; minus infinity of 0, NaN of less.
QC_FN double log_of_any(double x) {
    if (x == 0.0) return -INFINITY;
    if (!(x > 0.0)) return NAN;
    if (x > 1e300) return x == INFINITY ? x : log_of(x * 0x1p-64) + 64.0 * (LOG_2 + LOG_2_REST);
    if (x < 1e-300) return log_of(x * 0x1p128) - 128.0 * (LOG_2 + LOG_2_REST);
    return log_of(x);
}

// The square root of a^2 + b^2, without overflow.
QC_FN double length_of(double a, double b) {
    a = std::fabs(a);
    b = std::fabs(b);
    const double most = greater_of(a, b), ratio = most > 0.0 && most < INFINITY ? lesser_of(a, b) / most : 0.0;
    return most * std::sqrt(1.0 + ratio * ratio);
}

// 1 - cos(x) for 0 <= x <= 4, to 1e-15: 2 sin^2(x / 2).
QC_FN double one_minus_cos(double x) {
    const double half = x / 2.0, square = half * half;
    double sum = 0.0;
    for (int n = 25; n > 1; n -= 2) sum = (1.0 + sum) * (-square / (n * (n - 1)));
    const double sine = half * (1.0 + sum);
    return 2.0 * sine * sine;
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
