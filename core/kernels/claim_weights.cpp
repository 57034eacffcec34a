// Global and local weights of claims.
#include "../kde.h"

#include "../synthesis_kernels.h"
#include "../vector_math.h"

namespace quietcrowd {
namespace QC_VARIANT {
constexpr double TIED = 1e-9;  // a residual no more than this part above the first threshold does not exceed it

static QC_FN double psi(double residual, const Hampel& at) {
    const double falling = at.first * ((at.third - residual) / (at.third - at.second));
    return residual <= at.first ? residual : residual < at.second ? at.first : residual < at.third ? falling : 0.0;
}

static QC_FN double loss(double residual, const Hampel& at) {
    const double most = 0.5 * at.first * (at.second + at.third - at.first);
    const double part = (at.third - residual) / (at.third - at.second);
    const double flattening = most - 0.5 * at.first * (at.third - residual) * part;
    if (residual <= at.first) return 0.5 * residual * residual;
    if (residual < at.second) return at.first * (residual - 0.5 * at.first);
    return residual < at.third ? flattening : most;
}

void hampel_psis(Array<const double> residuals, const Hampel& thresholds, Array<double> found) {
    require(found.size() == residuals.size(), "arrays must be of one length");
    const Hampel at = thresholds;
    const double* QC_RESTRICT given = residuals.data;
    double* QC_RESTRICT filled = found.data;
    for (i64 i = 0; i < residuals.size(); i++) filled[i] = psi(given[i], at);
}

void hampel_losses(Array<const double> residuals, const Hampel& thresholds, Array<double> found) {
    require(found.size() == residuals.size(), "arrays must be of one length");
    const Hampel at = thresholds;
    const double* QC_RESTRICT given = residuals.data;
    double* QC_RESTRICT filled = found.data;
    for (i64 i = 0; i < residuals.size(); i++) filled[i] = loss(given[i], at);
}

// Rejects a run of tasks that its arrays do not have; returns the most claims of a task.
static i64 check(i64 first, i64 end, Array<const i64> offsets, i64 rows, i64 bandwidths) {
    const i64 tasks = offsets.size() - 1;
    require(tasks >= 0, "offsets must have one entry more than there are tasks");
    require(bandwidths == tasks, "bandwidths must be one per task");
    require(0 <= first && first <= end && end <= tasks, "the run leaves the tasks");
    check_offsets(offsets, rows, first, end - first);
    i64 longest = 0;
    for (i64 task = first; task < end; task++) longest = greater_of(longest, offsets[task + 1] - offsets[task]);
    return longest;
}

// Divides weights by their sum, or makes them equal if all are 0.
static void scale(double* weights, i64 count) {
    double total = 0.0;
    for (i64 i = 0; i < count; i++) total += weights[i];
    for (i64 i = 0; i < count; i++) weights[i] = total > 0.0 ? weights[i] / total : 1.0 / (double)count;
}

void tally_distances(bool gaussian, i64 first, i64 end, Array<const i64> offsets, Array<const u32> worker_codes,
                     Array<const double> values, Array<const double> bandwidths, Array<const double> worker_weights,
                     double unit, Array<i64> tally) {
    const i64 longest = check(first, end, offsets, values.size(), bandwidths.size());
    require(worker_codes.size() == values.size(), "worker codes and values must be as many");
    require(worker_weights.size() == tally.size(), "weights and sums must be one per worker");
    Room<double> shares(longest), distances(longest);
    for_kernel(gaussian, [&](auto kernel) {
        for (i64 task = first; task < end; task++) {
            const i64 start = offsets[task], count = offsets[task + 1] - start;
            const u32* workers = worker_codes.data + start;
            check_workers(workers, count, tally.size(), task);
            for (i64 i = 0; i < count; i++) shares[i] = worker_weights[workers[i]];
            scale(shares, count);
            fill_distances<decltype(kernel)>(values.data + start, shares, count, bandwidths[task], distances);
            for (i64 i = 0; i < count; i++)
                Plain::add_to(&tally[workers[i]], to_signed(std::nearbyint(distances[i] * unit)));
        }
    });
}

// Sorts by insertion: it takes less time than the distances from which the numbers result.
static void rank(const double* numbers, double* ranked, i64 count) {
    for (i64 i = 0; i < count; i++) {
        i64 place = i;
        for (; place > 0 && ranked[place - 1] > numbers[i]; place--) ranked[place] = ranked[place - 1];
        ranked[place] = numbers[i];
    }
}

// A quantile of ascending numbers, interpolated linearly.
static double quantile(const double* ranked, i64 count, double part) {
    const double place = part * (double)(count - 1);
    const i64 below = (i64)place, above = lesser_of(below + 1, count - 1);
    return ranked[below] + (place - (double)below) * (ranked[above] - ranked[below]);
}

// Replaces weights by those of the residuals; returns the largest change divided by the largest weight.
// The residuals are overwritten.
static double reweigh(double* residuals, const Hampel& thresholds, bool printed, double* weights, i64 count) {
    for (i64 i = 0; i < count; i++) {
        const double residual = residuals[i];
        if (printed) {
            residuals[i] = loss(residual, thresholds);
            continue;
        }
        const double slope = residual <= thresholds.first * (1.0 + TIED) ? residual : psi(residual, thresholds);
        residuals[i] = residual > 0.0 ? slope / residual : 1.0;
    }
    scale(residuals, count);
    double change = 0.0, largest = 0.0;
    for (i64 i = 0; i < count; i++) {
        const double moved = std::fabs(residuals[i] - weights[i]);
        change = moved > change ? moved : change;
        largest = residuals[i] > largest ? residuals[i] : largest;
        weights[i] = residuals[i];
    }
    return change / largest;
}

static bool all_equal(const double* numbers, i64 count) {
    bool equal = true;
    for (i64 i = 0; i < count; i++) equal &= numbers[i] == numbers[0];
    return equal;
}

void weigh_locally(bool gaussian, i64 first, i64 end, Array<const i64> offsets, Array<const double> values,
                   Array<const double> bandwidths, const Hampel& quantiles, i64 max_iterations, double tolerance,
                   bool printed, Array<double> weights) {
    const i64 longest = check(first, end, offsets, values.size(), bandwidths.size());
    require(weights.size() == values.size(), "values and weights must be as many");
    const double parts[] = {quantiles.first, quantiles.second, quantiles.third};
    for (double part : parts) require(part >= 0.0 && part <= 1.0, "quantiles must be 0 to 1");
    Room<double> residuals(longest), ranked(longest);
    for_kernel(gaussian, [&](auto kernel) {
        for (i64 task = first; task < end; task++) {
            const i64 start = offsets[task], count = offsets[task + 1] - start;
            const double* claims = values.data + start;
            double* shares = weights.data + start;
            for (i64 i = 0; i < count; i++) shares[i] = 1.0 / (double)count;
            if (count <= 2 || all_equal(claims, count)) continue;
            Hampel thresholds{};
            for (i64 iteration = 0; iteration < max_iterations; iteration++) {
                fill_distances<decltype(kernel)>(claims, shares, count, bandwidths[task], residuals);
                for (i64 i = 0; i < count; i++) residuals[i] = std::sqrt(residuals[i]);
                if (iteration == 0) {
                    rank(residuals, ranked, count);
                    thresholds = {quantile(ranked, count, quantiles.first), quantile(ranked, count, quantiles.second),
                                  quantile(ranked, count, quantiles.third)};
                }
                if (reweigh(residuals, thresholds, printed, shares, count) <= tolerance) break;
            }
        }
    });
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
