// The distribution of e = G + L: a worker's normal error of standard deviation sigma, and Laplace noise of
// density exp(-|l|/b) / 2b. All is in units of b, s being sigma / b: x = e / b lies anywhere, s from 1e-50 to
// 1e50. NaN gives NaN. See research/docs/theory/normal-laplace.md.
#pragma once
#include "functions.h"

namespace quietcrowd {
namespace QC_VARIANT {
constexpr double FAR_OUT = 40.0;  // sigma beyond sigma^2/b: the half of the density with L < 0 is below 10^-340
constexpr double ROOT_2 = 1.4142135623730951, ROOT_8 = 2.8284271247461903, ROOT_HALF = 0.7071067811865476;
constexpr double ROOT_4_PI = 3.5449077018110318, ROOT_16_PI = 7.0898154036220635;

// The two halves of the density at an error of at least 0. The near one is that with noise of the error's sign.
// With eta(v) = 1 / (sqrt(pi) erfcx(v)), near and far half are to each other as 1 / eta(near) to 1 / eta(far).
// Both are fractions, so that one division does for all.
struct Halves {
    double near, q;              // near = (s - size/s) / sqrt(2); q = exp(-near^2) if near < 0, else 1
    double near_top, far_top;    // numerators of eta(near) / q and eta(far), far = (s + size/s) / sqrt(2)
    double near_tail, far_tail;  // tails of the continued fractions of erfcx, at abs(near) and far
    double share;                // the inverse product of the denominators, over eta(near) + eta(far)
    double t;                    // the posterior mean of the sign of the noise
    double excess;               // 1 - sqrt(2) s / (eta(near) + eta(far)), without cancellation
};
QC_FN Halves halves_of(double size, double s, double inverse_s) {
    Halves h;
    const double z = lesser_of(s + FAR_OUT, size * inverse_s);
    const double near = (s - z) * ROOT_HALF, far = (s + z) * ROOT_HALF;
    const double decay = exp_minus(near * near), beyond = std::fabs(near);
    const Tails tails = fraction_tails(beyond, far);
    const double near_bottom = beyond + tails.first, far_bottom = far + tails.second;
    h.near = near;
    h.near_tail = tails.first;
    h.far_tail = tails.second;
    h.near_top = beyond * near_bottom + 0.5;
    h.far_top = far * far_bottom + 0.5;
    h.q = near < 0.0 ? decay : 1.0;
    const double inner = ROOT_4_PI * h.near_top - h.q * near_bottom;
    const double bottom = near < 0.0 ? inner : near_bottom;
    const double minor = h.q * h.near_top * far_bottom;
    h.share = 1.0 / (minor + h.far_top * bottom);
    const double lead = ROOT_2 * z * (near_bottom * far_bottom - 0.5) + 0.5 * (tails.first - tails.second);
    const double beyond_edge = 1.0 - 2.0 * minor * h.share, within = lead * h.share;
    h.t = near < 0.0 ? beyond_edge : within;
    const double outer = minor + (beyond * far_bottom + 0.5) * bottom, middle = 0.5 * (near_bottom + far_bottom);
    h.excess = (near < 0.0 ? outer : middle) * h.share;
    return h;
}

// Derivatives for a step of Newton's method.
struct Bend {
    double t;          // minus d log density / dx; odd in x
    double curvature;  // minus the second derivative, at least 0; even in x
};
QC_FN Bend bend(double x, double s, double inverse_s) {
    const Halves h = halves_of(std::fabs(x), s, inverse_s);
    return {std::copysign(h.t, x), ROOT_8 * inverse_s * h.q * h.near_top * h.far_top * h.share * h.excess};
}

// The worker's part in an error, as far as it is known.
struct Moments {
    double t;            // as above
    double mean;         // posterior mean of G
    double second;       // posterior mean of G^2
    double log_density;  // of x
};
QC_FN Moments moments(double x, double s, double inverse_s) {
    const double size = std::fabs(x);
    const Halves h = halves_of(size, s, inverse_s);
    const double square = s * s, plain = h.near_top * h.far_top * h.share;
    const double ratio = ROOT_8 * inverse_s * h.q * plain;  // the normal density of x over its density
    const double mean = square * h.t, noise = ROOT_HALF * (h.far_top - h.near_top) * h.share;
    const double spread = (h.far_top * h.near_tail + h.near_top * h.far_tail) * h.share - noise * noise;
    const double outer = square + square * square * (1.0 - ratio), inner = mean * mean + square * spread;
    const double z = size * inverse_s, far_exponent = 0.5 * square - size, near_exponent = -0.5 * z * z;
    const double exponent = h.near < 0.0 ? far_exponent : near_exponent;
    return {std::copysign(h.t, x), std::copysign(mean, x), h.near < 0.0 ? outer : inner,
            exponent - log_of(ROOT_16_PI * plain)};
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
