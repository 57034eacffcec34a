// The distribution of normal errors under Laplace noise, in the user's units.
#include "../normal_laplace.h"

#include "../number_kernels.h"

namespace quietcrowd {
namespace QC_VARIANT {
constexpr double LEAST = 1e-50;  // sigma or b below this part of the other counts as 0
constexpr double LOG_ROOT_2_PI = 0.9189385332046727;
constexpr double LOG_OF_2 = 0.6931471805599453;
constexpr double STEP = 0.25;  // distance of the points over which a normal mean is taken, in standard deviations
constexpr int POINTS = 37;     // from 0 to 9 standard deviations

void evaluate_normal_laplace(Array<const double> errors, Array<const double> sigmas, Array<const double> scales,
                             Array<double, 2> values) {
    const i64 count = errors.size();
    require(sigmas.size() == count && scales.size() == count, "sigmas and scales must be as many as errors");
    require(values.shape[0] == 5 && values.shape[1] == count, "values must have 5 rows, each as long as errors");
    double* rows[5];
    for (int row = 0; row < 5; row++) rows[row] = values[row].data;
    const auto fill = [&](i64 i, double log_density, double score, double mean, double second, double curvature) {
        rows[0][i] = log_density;
        rows[1][i] = score;
        rows[2][i] = mean;
        rows[3][i] = second;
        rows[4][i] = curvature;
    };
    for (i64 i = 0; i < count; i++) {
        const double e = errors[i], sigma = sigmas[i], b = scales[i];
        if (std::isnan(e)) {
            fill(i, NAN, NAN, NAN, NAN, NAN);
        } else if (b < LEAST * sigma) {
            const double z = e / sigma;
            fill(i, -0.5 * (z * z) - log_of_any(sigma) - LOG_ROOT_2_PI, -e / sigma / sigma, e, e * e,
                 1.0 / sigma / sigma);
        } else if (sigma < LEAST * b) {
            const double sign = e > 0.0 ? 1.0 : e < 0.0 ? -1.0 : e;
            fill(i, -std::fabs(e) / b - LOG_OF_2 - log_of_any(b), -sign / b, 0.0, 0.0,
                 e == 0.0 ? INFINITY : 0.0);
        } else {
            const double x = e / b, s = sigma / b, inverse_s = b / sigma;
            const Moments m = moments(x, s, inverse_s);
            fill(i, m.log_density - log_of_any(b), -m.t / b, m.mean * b, m.second * b * b,
                 bend(x, s, inverse_s).curvature / b / b);
        }
    }
}

void evaluate_information(Array<const double> sigmas, Array<const double> scales, Array<double> information) {
    const i64 count = sigmas.size();
    require(scales.size() == count && information.size() == count,
            "scales and information must be as many as sigmas");
    double weights[POINTS], excess[POINTS], all = 0.0;
    for (int point = 0; point < POINTS; point++) {
        const double z = STEP * point;
        all += weights[point] = exp_minus(0.5 * z * z) * (point ? 1.0 : 0.5);
    }
    for (i64 i = 0; i < count; i++) {
        const double sigma = sigmas[i], b = scales[i];
        if (b < LEAST * sigma) {
            information[i] = 1.0 / sigma / sigma;
        } else if (sigma < LEAST * b) {
            information[i] = 1.0 / b / b;
        } else {  // the normal mean of the excess of the hazards
            const double s = sigma / b, inverse_s = b / sigma;
            for (int point = 0; point < POINTS; point++)
                excess[point] = halves_of(STEP * point * s, s, inverse_s).excess;
            double total = 0.0;
            for (int point = 0; point < POINTS; point++) total += weights[point] * excess[point];
            information[i] = total / all / b / b;
        }
    }
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
