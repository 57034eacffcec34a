// The kernels of densities, and distances of claims from the density of their task; the formulas are
// derived in research/docs/theory/crowd-densities.md.
#pragma once
#include "array.h"
#include "functions.h"

namespace quietcrowd {
namespace QC_VARIANT {
constexpr double NORMAL = 0.3989422804014327;  // 1 / sqrt(2 pi)
constexpr double NODE = 0.7745966692414834;    // sqrt(3/5): a node of the three-point Gauss-Legendre rule
constexpr double FARTHEST = 9.0;  // this many bandwidths away, a Gaussian kernel is below 2^-58 of its peak

// Both kernels have
//   density   the value at a difference from the center; its integral is 1
//   norm      the squared length of a kernel in the space in which distances are measured
//   inner     the inner product of two kernels of one bandwidth in that space
//   gap       1 - inner / norm, without cancellation if the difference is small
//   Overlap   the integral of the product of two densities of given bandwidths, by their difference
struct Gaussian {
    static QC_FN double density(double difference, double bandwidth) {
        const double ratio = difference / bandwidth;
        return NORMAL / bandwidth * exp_minus(0.5 * ratio * ratio);
    }
    static QC_FN double norm(double bandwidth) { return NORMAL / bandwidth; }
    static QC_FN double inner(double difference, double bandwidth) { return density(difference, bandwidth); }
    static QC_FN double gap(double difference, double bandwidth) {
        const double ratio = std::fabs(difference / bandwidth);
        return ratio < FARTHEST ? one_minus_exp_minus(0.5 * ratio * ratio) : 1.0;
    }
    struct Overlap {
        double width;

        QC_FN Overlap(double first, double second) : width(length_of(first, second)) {}
        QC_FN double operator()(double difference) const { return density(difference, width); }
    };
};

struct Epanechnikov {
    static QC_FN double density(double difference, double bandwidth) {
        const double ratio = difference / bandwidth;
        return std::fabs(ratio) < 1.0 ? 0.75 / bandwidth * (1.0 - ratio * ratio) : 0.0;
    }
    static QC_FN double norm(double bandwidth) { return 0.6 / bandwidth; }
    static QC_FN double inner(double difference, double bandwidth) {
        const double ratio = std::fabs(difference / bandwidth), left = 2.0 - ratio;
        if (ratio >= 2.0) return 0.0;
        return 3.0 / 160.0 / bandwidth * (left * (left * left)) * (ratio * (ratio + 6.0) + 4.0);
    }
    static QC_FN double gap(double difference, double bandwidth) {
        const double ratio = std::fabs(difference / bandwidth);
        const double near = ratio * ratio * (40.0 + ratio * (ratio * ratio - 20.0)) / 32.0;
        return ratio >= 2.0 ? 1.0 : near;
    }
    struct Overlap {  // if they overlap, a polynomial of degree 4: three nodes are exact
        double first, second;

        QC_FN Overlap(double first, double second) : first(first), second(second) {}
        QC_FN double operator()(double difference) const {
            const double low = greater_of(difference - second, -first);
            const double high = lesser_of(difference + second, first);
            if (low >= high) return 0.0;
            const double middle = low + (high - low) / 2.0, half = (high - low) / 2.0;
            double total = 0.0;
            total += at(middle + half * -NODE, difference, 5.0 / 9.0);
            total += at(middle + half * 0.0, difference, 8.0 / 9.0);
            total += at(middle + half * NODE, difference, 5.0 / 9.0);
            return 0.5625 * total * (half / first) / second;
        }
        QC_FN double at(double point, double difference, double weight) const {
            const double left = point / first, right = (point - difference) / second;
            return weight * (1.0 - left * left) * (1.0 - right * right);
        }
    };
};

// Calls f with the kernel.
template <class F> QC_FN auto for_kernel(bool gaussian, F f) { return gaussian ? f(Gaussian{}) : f(Epanechnikov{}); }

constexpr int GAPS = 64;  // this many are computed at once

// Fills in the squared distance of each claim's kernel from the mean of a task's kernels, in squared
// lengths of a kernel: 0 to 2. With shares a that sum to 1 it is 2 gap a - a' gap a, so a small
// distance is no difference of large numbers.
template <class Kernel>
void fill_distances(const double* QC_RESTRICT claims, const double* QC_RESTRICT shares, i64 count, double bandwidth,
                    double* QC_RESTRICT distances) {
    double gaps[GAPS];
    for (i64 i = 0; i < count; i++) distances[i] = 0.0;
    for (i64 place = 0; place < count; place++) {
        const double claim = claims[place], share = shares[place];
        double own = distances[place];
        for (i64 other = place + 1; other < count; other += GAPS) {
            const int room = (int)lesser_of<i64>(GAPS, count - other);
            const double *QC_RESTRICT at = claims + other, *QC_RESTRICT weights = shares + other;
            double* QC_RESTRICT sums = distances + other;
            for (int i = 0; i < room; i++) gaps[i] = Kernel::gap(claim - at[i], bandwidth);
            for (int i = 0; i < room; i++) sums[i] += share * gaps[i];
            for (int i = 0; i < room; i++) own += weights[i] * gaps[i];
        }
        distances[place] = own;
    }
    double mean = 0.0;
    for (i64 i = 0; i < count; i++) mean += shares[i] * distances[i];
    for (i64 i = 0; i < count; i++) {
        const double distance = 2.0 * distances[i] - mean;
        distances[i] = 0.0 > distance ? 0.0 : distance;
    }
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
