// Means, medians and least losses: truths that are numbers, and how far answers are from them.
#include "../number_kernels.h"
#include "../ranking.h"

namespace quietcrowd {
namespace QC_VARIANT {
void infer_means(const NumberPartition& partition, Array<const double> weights, double low, double high,
                 double weight_unit, double error_unit, Array<i64> squared, const NumberEstimates& estimates) {
    check_numbers(partition, estimates);
    require(squared.size() == weights.size(), "squared errors and weights must be one per worker");
    require(error_unit != 0.0, "units must not be 0");
    for_tasks(partition, weights.size(), [&](i64 place, const NumberTask& task) {
        const bool known = !is_nan(task.known);
        WeightedMean found{0.0, 0};
        if (!known) found = weighted_mean_of(task, weights.data, weight_unit);
        const double truth = known ? task.known : lesser_of(high, greater_of(low, found.mean));
        const i64 errors = add_squared(task, truth, error_unit, squared.data);
        if (estimates.truths.size() == 0) return;
        estimates.truths[place] = truth;
        estimates.spreads[place] = root_mean_square(errors, error_unit, task.count);
        estimates.standard_errors[place] =
            known ? 0.0 : standard_error_of(task, weights.data, weight_unit, found);
    });
}

void infer_medians(const NumberPartition& partition, double error_unit, Array<i64> squared,
                   const NumberEstimates& estimates) {
    check_numbers(partition, estimates);
    require(error_unit != 0.0, "units must not be 0");
    Ranking ranking(longest_of(partition.offsets));
    for_tasks(partition, squared.size(), [&](i64 place, const NumberTask& task) {
        const bool known = !is_nan(task.known);
        if (!known) ranking.rank(task.values, task.count);
        const double truth = known ? task.known : median_of(ranking.ranked, task.count);
        const i64 errors = add_squared(task, truth, error_unit, squared.data);
        if (estimates.truths.size() == 0) return;
        estimates.truths[place] = truth;
        estimates.spreads[place] = root_mean_square(errors, error_unit, task.count);
        estimates.standard_errors[place] = known ? 0.0 : NAN;
    });
}

// The smallest answer with half of all weight at or below it; 0 of none.
static double weighted_median_of(const NumberTask& task, const double* weights, double unit, Ranking& ranking) {
    i64 total = 0, below = 0;
    for (i64 i = 0; i < task.count; i++) total = add(total, to_integer(weights[task.workers[i]] * unit));
    ranking.rank(task.values, task.count);
    for (i64 rank = 0; rank < task.count; rank++) {
        below = add(below, to_integer(weights[task.workers[ranking.places[rank]]] * unit));
        if (multiply(2, below) >= total) return ranking.ranked[rank];
    }
    return 0.0;
}

void infer_least_losses(const NumberPartition& partition, Array<const double> weights, bool absolute, int power,
                        double weight_unit, double error_unit, double loss_unit, Array<i64> squared,
                        Array<i64> losses, const NumberEstimates& estimates) {
    check_numbers(partition, estimates);
    require(squared.size() == weights.size() && losses.size() == weights.size(),
            "squared errors, losses and weights must be one per worker");
    require(power >= 0 && power <= 2, "the power must be 0, 1 or 2");
    require(error_unit != 0.0, "units must not be 0");
    Ranking ranking(absolute ? longest_of(partition.offsets) : 0);
    for_tasks(partition, weights.size(), [&](i64 place, const NumberTask& task) {
        const bool known = !is_nan(task.known);
        WeightedMean found{task.known, 0};
        if (!known && absolute) found.mean = weighted_median_of(task, weights.data, weight_unit, ranking);
        else if (!known) found = weighted_mean_of(task, weights.data, weight_unit);
        const double truth = found.mean, spread = power ? spread_of(task) : 1.0;
        const double divisor = power == 2 ? spread * spread : spread;
        const double price = spread > LEAST_SPREAD ? loss_unit / divisor : 0.0;
        for (i64 i = 0; i < task.count; i++) {
            const double error = std::fabs(task.values[i] - truth);
            Plain::add_to(&losses[task.workers[i]], to_nearest((absolute ? error : error * error) * price));
        }
        const i64 errors = add_squared(task, truth, error_unit, squared.data);
        if (estimates.truths.size() == 0) return;
        estimates.truths[place] = truth;
        estimates.spreads[place] = root_mean_square(errors, error_unit, task.count);
        estimates.standard_errors[place] = known      ? 0.0
                                           : absolute ? NAN
                                                      : standard_error_of(task, weights.data, weight_unit, found);
    });
}

void sum_per_task(Array<const i64> offsets, Array<const double> values, double unit, Array<i64> sums) {
    require(offsets.size() == sums.size() + 1, "offsets must have one entry more than there are sums");
    check_offsets(offsets, values.size(), 0, sums.size());
    for (i64 task = 0; task < sums.size(); task++) {
        i64 sum = 0;
        for (i64 row = offsets[task]; row < offsets[task + 1]; row++) sum = add(sum, to_integer(values[row] * unit));
        sums[task] = sum;
    }
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
