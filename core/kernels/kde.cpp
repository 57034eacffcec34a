// Kernel densities of claims.
#include "../kde.h"

#include "../synthesis_kernels.h"

namespace quietcrowd {
namespace QC_VARIANT {
void kernel_densities(bool gaussian, Array<const double> differences, Array<const double> bandwidths,
                      Array<double> found) {
    const i64 count = found.size();
    require(differences.size() == count && bandwidths.size() == count, "arrays must be of one length");
    for_kernel(gaussian, [&](auto kernel) {
        using Kernel = decltype(kernel);
        for (i64 i = 0; i < count; i++) found[i] = Kernel::density(differences[i], bandwidths[i]);
    });
}

void feature_inners(bool gaussian, Array<const double> differences, Array<const double> bandwidths,
                    Array<double> found) {
    const i64 count = found.size();
    require(differences.size() == count && bandwidths.size() == count, "arrays must be of one length");
    for_kernel(gaussian, [&](auto kernel) {
        using Kernel = decltype(kernel);
        for (i64 i = 0; i < count; i++) found[i] = Kernel::inner(differences[i], bandwidths[i]);
    });
}

void kernel_overlaps(bool gaussian, Array<const double> differences, Array<const double> firsts,
                     Array<const double> seconds, Array<double> found) {
    const i64 count = found.size();
    require(differences.size() == count && firsts.size() == count && seconds.size() == count,
            "arrays must be of one length");
    for_kernel(gaussian, [&](auto kernel) {
        using Overlap = typename decltype(kernel)::Overlap;
        for (i64 i = 0; i < count; i++) found[i] = Overlap(firsts[i], seconds[i])(differences[i]);
    });
}

static void check(const Densities& densities, i64 first, i64 end) {
    require(densities.offsets.size() >= 1, "offsets must have one entry more than there are tasks");
    require(densities.weights.size() == densities.points.size(), "points and weights must be as many");
    require(densities.bandwidths.size() == densities.tasks(), "bandwidths must be one per task");
    require(0 <= first && first <= end && end <= densities.tasks(), "the run leaves the tasks");
    check_offsets(densities.offsets, densities.points.size(), first, end - first);
}

void claim_distances(bool gaussian, const Densities& densities, Array<double> distances) {
    check(densities, 0, densities.tasks());
    require(distances.size() == densities.points.size(), "distances must be one per row");
    for_kernel(gaussian, [&](auto kernel) {
        using Kernel = decltype(kernel);
        for (i64 task = 0; task < densities.tasks(); task++) {
            const i64 start = densities.offsets[task], end = densities.offsets[task + 1];
            const double bandwidth = densities.bandwidths[task], square = Kernel::norm(bandwidth);
            fill_distances<Kernel>(densities.points.data + start, densities.weights.data + start, end - start,
                                   bandwidth, distances.data + start);
            for (i64 row = start; row < end; row++) distances[row] *= square;
        }
    });
}

struct Density {  // of one task
    const double *points, *weights;
    i64 count;
    double bandwidth;

    QC_FN Density(const Densities& all, i64 task)
        : points(all.points.data + all.offsets[task]),
          weights(all.weights.data + all.offsets[task]),
          count(all.offsets[task + 1] - all.offsets[task]),
          bandwidth(all.bandwidths[task]) {}
};

// The integral of the product of two densities.
template <class Kernel> static double product(const Density& one, const Density& other) {
    const typename Kernel::Overlap overlap(one.bandwidth, other.bandwidth);
    double total = 0.0;
    for (i64 i = 0; i < one.count; i++) {
        double row = 0.0;
        for (i64 j = 0; j < other.count; j++) row += other.weights[j] * overlap(one.points[i] - other.points[j]);
        total += one.weights[i] * row;
    }
    return total;
}

template <class Kernel> static double square(const Density& one) {
    const typename Kernel::Overlap overlap(one.bandwidth, one.bandwidth);
    double twice = 0.0, once = 0.0;
    for (i64 i = 0; i < one.count; i++) {
        double row = 0.0;
        for (i64 j = 0; j < i; j++) row += one.weights[j] * overlap(one.points[i] - one.points[j]);
        twice += one.weights[i] * row;
        once += one.weights[i] * one.weights[i];
    }
    return 2.0 * twice + once * overlap(0.0);
}

void squared_errors(bool gaussian, i64 first, i64 end, const Densities& densities, const Densities& others,
                    Array<double> errors) {
    check(densities, first, end);
    check(others, first, end);
    require(others.tasks() == densities.tasks() && errors.size() == densities.tasks(),
            "errors and both densities must be of the same tasks");
    for_kernel(gaussian, [&](auto kernel) {
        using Kernel = decltype(kernel);
        for (i64 task = first; task < end; task++) {
            const Density one(densities, task), other(others, task);
            if (one.count == 0 || other.count == 0) {
                errors[task] = NAN;
                continue;
            }
            const double squares = square<Kernel>(one) + square<Kernel>(other);
            const double error = squares - 2.0 * product<Kernel>(one, other);
            errors[task] = 0.0 > error ? 0.0 : error;
        }
    });
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
