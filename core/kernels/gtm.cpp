// GTM: posteriors of standardised truths, and expected squared errors.
#include "../number_kernels.h"
#include "../ranking.h"

namespace quietcrowd {
namespace QC_VARIANT {
constexpr double FARTHEST = 64.0;        // standardised truths are cut at this: a known one can be so far off
constexpr double ROBUST_SCALE = 1.4826;  // standard deviations in a median absolute deviation, of a Gaussian
constexpr double EVIDENCE_ONE = 16777216.0;

struct Standard {
    double mean, spread;
};

// Marks the answers of a task that are no outliers. A known truth counts for the spread, so that no
// error is much more than one.
static Standard standardise(const NumberTask& task, double cut, Ranking& ranking, bool* kept) {
    const double *values = task.values, known = task.known;
    ranking.rank(values, task.count);
    const double median = median_of(ranking.ranked, task.count);
    const double farthest = cut * ROBUST_SCALE * deviation_of(ranking.ranked, task.count);
    const double unit = TWO_TO_61 / (double)(task.count + 2);
    i64 count = 0, total = 0, squared = 0;
    for (i64 i = 0; i < task.count; i++) {
        kept[i] = farthest == 0.0 || std::fabs(values[i] - median) <= farthest;
        if (!kept[i]) continue;
        count++;
        total = add(total, to_nearest(values[i] * unit));
    }
    const double mean = (double)total / unit / (double)greater_of<i64>(count, 1);
    double largest = is_nan(known) ? 0.0 : std::fabs(known - mean);
    for (i64 i = 0; i < task.count; i++)
        if (kept[i]) {
            const double distance = std::fabs(values[i] - mean);
            largest = greater_of(distance, largest);
        }
    if (largest == 0.0) return {mean, 0.0};
    for (i64 i = 0; i < task.count; i++)
        if (kept[i]) {
            const double part = (values[i] - mean) / largest;
            squared = add(squared, to_nearest(part * part * unit));
        }
    if (!is_nan(known)) {
        const double part = (known - mean) / largest;
        count++;
        squared = add(squared, to_nearest(part * part * unit));
    }
    return {mean, std::sqrt((double)squared / unit / (double)greater_of<i64>(count, 1)) * largest};
}

void infer_gaussian(const NumberPartition& partition, Array<const double> weights, double precision_unit,
                    double prior_mean, double prior_precision, double cut, double weight_unit, double square_unit,
                    double error_unit, Array<i64> squared, Array<i64> kept, Array<i64> evidence, Array<i64> errors,
                    const NumberEstimates& estimates) {
    check_numbers(partition, estimates);
    const i64 workers = weights.size();
    require(squared.size() == workers && kept.size() == workers && errors.size() == workers,
            "sums and weights must be one per worker");
    require(evidence.size() == 1, "the evidence must be one number");
    require(error_unit != 0.0 && weight_unit != 0.0, "units must not be 0");
    const i64 longest = longest_of(partition.offsets);
    Ranking ranking(longest);
    Room<bool> inliers(longest);
    for_tasks(partition, workers, [&](i64 place, const NumberTask& task) {
        const bool known = !is_nan(task.known);
        const Standard standard = standardise(task, cut, ranking, inliers);
        const double centre = standard.mean, scale = standard.spread > LEAST_SPREAD ? standard.spread : 1.0;
        i64 total = 0, weighted = 0;
        for (i64 i = 0; i < task.count; i++)
            if (inliers[i]) {
                const double weight = weights[task.workers[i]] * weight_unit;
                total = add(total, to_nearest(weight));
                weighted = add(weighted, to_nearest(weight * (task.values[i] - centre) / scale));
            }
        const double precision = prior_precision + precision_unit * (double)total / weight_unit;
        const double pulled = prior_precision * prior_mean + precision_unit * (double)weighted / weight_unit;
        require(precision != 0.0, "a truth has precision 0, of task", place);
        double mean = pulled / precision, variance = 1.0 / precision;
        if (known) {
            mean = lesser_of(FARTHEST, greater_of(-FARTHEST, (task.known - centre) / scale));
            variance = 0.0;
        } else {
            const double off = mean - prior_mean, surprise = (off * off + variance) * prior_precision;
            const double found = (log_of_any(variance * prior_precision) + 1.0 - surprise) / 2.0;
            evidence[0] = add(evidence[0], to_nearest(found * EVIDENCE_ONE));
        }
        for (i64 i = 0; i < task.count; i++)
            if (inliers[i]) {
                double error = (task.values[i] - centre) / scale - mean;
                error = lesser_of(2.0 * FARTHEST, greater_of(-2.0 * FARTHEST, error));
                Plain::add_to(&squared[task.workers[i]], to_nearest((error * error + variance) * square_unit));
                Plain::add_to(&kept[task.workers[i]], 1);
            }
        const double truth = known ? task.known : centre + scale * mean;
        const i64 missed = add_squared(task, truth, error_unit, errors.data);
        if (estimates.truths.size() == 0) return;
        estimates.truths[place] = truth;
        estimates.spreads[place] = root_mean_square(missed, error_unit, task.count);
        estimates.standard_errors[place] = scale * std::sqrt(variance);
    });
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
