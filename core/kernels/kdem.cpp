// KDEm: kernel density estimates of each task, and residuals in their space.
//
// A task's claims are sorted and equal ones are put together; their weights add as integers. From there
// on sums run over distinct values from the smallest to the largest, so that the order of the rows
// changes no bit.
#include "../density.h"
#include "../number_kernels.h"
#include "../ranking.h"

namespace quietcrowd {
namespace QC_VARIANT {
constexpr double LEAST_BANDWIDTH = 1e-10;  // at least this part of the standard deviation of a task's claims

// A known truth counts as one claim more; `room` is for one claim more than the task has.
static double bandwidth_of(const double* ranked, const NumberTask& task, double spread, double* room) {
    double deviation;
    if (is_nan(task.known)) {
        deviation = deviation_of(ranked, task.count);
    } else {
        i64 rank = task.count;
        for (; rank > 0 && ranked[rank - 1] > task.known; rank--) room[rank] = ranked[rank - 1];
        room[rank] = task.known;
        for (i64 i = 0; i < rank; i++) room[i] = ranked[i];
        deviation = deviation_of(room, task.count + 1);
    }
    return spread > LEAST_SPREAD ? greater_of(LEAST_BANDWIDTH * spread, deviation) : (double)INFINITY;
}

void infer_densities(const NumberPartition& partition, Array<const double> weights, bool at_mode, double weight_unit,
                     double error_unit, double loss_unit, Array<i64> squared, Array<i64> losses,
                     const NumberEstimates& estimates) {
    check_numbers(partition, estimates);
    require(squared.size() == weights.size() && losses.size() == weights.size(),
            "squared errors, losses and weights must be one per worker");
    const i64 longest = longest_of(partition.offsets);
    Ranking ranking(longest);
    Density density(longest);
    Room<double> room(longest + 1);
    for_tasks(partition, weights.size(), [&](i64 place, const NumberTask& task) {
        const bool known = !is_nan(task.known);
        ranking.rank(task.values, task.count);
        const double spread = spread_of(task), bandwidth = bandwidth_of(ranking.ranked, task, spread, room);
        const double price = loss_unit / (double)greater_of<i64>(task.count, 1);
        if (known) {
            for (i64 i = 0; i < task.count; i++) {
                const double loss = 2.0 * shortfall((task.values[i] - task.known) / bandwidth);
                Plain::add_to(&losses[task.workers[i]], to_nearest(loss * price));
            }
        } else {
            density.gather(task, ranking, weights.data, weight_unit, bandwidth);
            const double mean = density.fill_shortfalls();
            for (i64 i = 0; i < task.count; i++) {
                const double loss = greater_of(0.0, 2.0 * density.shortfalls[density.point_of[i]] - mean);
                Plain::add_to(&losses[task.workers[i]], to_nearest(loss * price));
            }
        }
        if (estimates.truths.size() == 0) return;
        double truth = task.known, standard_error = known ? 0.0 : NAN;
        if (!known && density.count == 0) {
            truth = 0.0;
        } else if (!known && at_mode) {
            truth = density.mode();
        } else if (!known) {
            const WeightedMean found = weighted_mean_of(task, weights.data, weight_unit);
            truth = lesser_of(density.points[density.count - 1], greater_of(density.points[0], found.mean));
            standard_error = standard_error_of(task, weights.data, weight_unit, found);
        }
        const i64 errors = add_squared(task, truth, error_unit, squared.data);
        estimates.truths[place] = truth;
        estimates.standard_errors[place] = standard_error;
        estimates.spreads[place] = root_mean_square(errors, error_unit, task.count);
    });
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
