// A model of numbers on bins: truths' posteriors, and statistics of workers. Log densities of a
// task's reports are added in whole numbers; a report's statistics of its worker are rounded once, and
// added in whole numbers. So neither order nor partition changes a bit.
#include "../binned_truth.h"

namespace quietcrowd {
namespace QC_VARIANT {
// The weighted mean of the rests of a task's reports after rounding, in bins.
static double rounded_off(const NumberTask& task, Array<const double> cut, const double* weights, double unit) {
    if (!cut.size()) return 0.0;
    i64 total = 0, weight = 0;
    for (i64 i = 0; i < task.count; i++) {
        const double share = weights[i] * unit;
        weight = add(weight, to_integer(share));
        total = add(total, to_integer(share * cut[task.start + i]));
    }
    return weight > 0 ? (double)total / (double)weight : 0.0;
}

static void check_distributions(const WorkerDistributions& distributions, i64 parts, const BinnedTally& tally) {
    const i64 workers = distributions.workers(), many = distributions.distributions(), columns = distributions.columns(), rows = distributions.table.shape[0];
    require(distributions.beliefs.shape[1] == many, "beliefs must be of workers by distributions");
    require(distributions.by_distribution.shape[0] == many && distributions.by_distribution.shape[1] == columns, "distributions must be the same by distribution and by column");
    const bool by_part = distributions.rows.size() > workers;
    require(distributions.rows.size() == workers * (by_part ? parts : 1), "rows must be one per worker, or one per worker and part");
    require(by_part ? rows == 1 : distributions.table.shape[1] == columns, "the table must be of rows by columns, or one row");
    for (i64 worker = 0; !by_part && worker < workers; worker++)
        require(distributions.rows[worker] < rows, "there is no such row of the table, of worker", worker);
    require(tally.residuals.shape[0] == rows && tally.residuals.shape[1] == distributions.table.shape[1], "residuals must be of rows by columns");
    require(tally.evidence.shape[0] == workers && tally.evidence.shape[1] == many, "evidence must be of workers by distributions");
    require(tally.supported.shape[0] == 0 || (tally.supported.shape[0] == workers && tally.supported.shape[1] == many),
            "support must be of workers by distributions, or empty");
}

static void check_reports(const NumberPartition& p, const BinnedReports& reports, const BinnedPriors& priors,
                          const WorkerDistributions& distributions, const BinnedTally& tally) {
    const i64 rows = p.values.size(), bins = priors.logs.shape[1];
    require(bins > 0 && bins % BLOCK == 0, "bins must be a multiple of 32");
    require(priors.logs.shape[0] == 1 || priors.logs.shape[0] == p.tasks(), "priors must be one for all tasks, or one per task");
    require(priors.candidates.shape[1] == bins || priors.candidates.shape[0] == 0, "candidates must be of priors by bins");
    require(reports.places.size() == rows && reports.ratios.size() == rows && (reports.cut.size() == rows || reports.cut.size() == 0),
            "places, ratios and what was cut must be as many as reports, or nothing is cut");
    require(reports.missing.size() == 0 || reports.missing.size() == rows, "missing must be one per report, or empty");
    require(reports.known.size() == p.tasks(), "known truths must be one per task");
    require(tally.truths.size() == bins && tally.likely.size() == 1 && tally.tried.size() == priors.candidates.shape[0],
            "tallies must be one per bin, one and one per candidate");
    require(reports.missing.size() == 0 || tally.answered.size() == distributions.workers(), "answered must be one per worker");
    require(tally.squared.size() == distributions.workers(), "squared errors must be one per worker");
}

// Rejects reports of a task that lie outside of the columns, and a known truth in no bin.
static void check_places(const BinnedReports& reports, const NumberTask& task, i64 most, i64 place) {
    for (i64 i = task.start; i < task.start + task.count; i++)
        if (QC_UNLIKELY(reports.places[i] < 0 || reports.places[i] > most || reports.ratios[i] > most))
            refuse("a report lies outside of the distributions' columns, of task", place);
    require(is_nan(task.known) || !is_nan(reports.known[place]), "a known truth lies in no bin, of task", place);
}

// Fills in the place of each report of a task in the table, or a negative number.
static void find_places(const WorkerDistributions& distributions, const BinnedReports& reports, const NumberTask& task, i64 parts,
                        i64 bins, i64* places) {
    const bool by_part = distributions.rows.size() > distributions.workers();
    const i64 most = distributions.table.size() - bins;
    for (i64 i = 0; i < task.count; i++) {
        const i64 report = task.start + i, worker = task.workers[i], place = reports.places[report], ratio = reports.ratios[report];
        const i64 row = distributions.rows[by_part ? worker * parts + reports.part(report) : worker];
        const i64 at = by_part ? add(row, place) : row < 0 ? row : row * distributions.columns() + place;
        const i64 other = ratio < 0 ? at : add(at, ratio - place);
        if (QC_UNLIKELY(at >= 0 && (at > most || other < 0 || other > most)))
            refuse("there is no such place in the table, of a report of the task whose first has place", task.start);
        places[i] = at;
    }
}

void infer_by_bins(const NumberPartition& partition, const BinnedReports& reports, const BinnedPriors& priors,
                   const WorkerDistributions& distributions, const BinnedDistances& distances,
                   const BinnedMap& map, Array<const double, 2> densities, Array<const double, 2> weights, Array<const double, 2> borne,
                   Array<const double> levels, Array<const double> ends,
                   const BinnedUnits& units, const BinnedTally& tally, Array<double, 2> messages, Array<double, 2> quantiles,
                   const NumberEstimates& estimates) {
    check_numbers(partition, estimates);
    const i64 parts = weights.shape[1];
    check_distributions(distributions, parts, tally);
    check_reports(partition, reports, priors, distributions, tally);
    const i64 bins = priors.logs.shape[1], workers = distributions.workers(), most = distributions.columns() - bins;
    bool measuring = false;
    for (i64 part = 0; part < distances.share.size(); part++) measuring |= distances.share[part] > 0.0;
    const bool filling = reports.missing.size() > 0, supporting = tally.supported.shape[0] > 0;
    const bool fills_quantiles = quantiles.shape[0] > 0, fills_messages = messages.shape[0] > 0, last = estimates.truths.size() > 0;
    require(!supporting || (densities.shape[0] == distributions.columns() && densities.shape[1] == distributions.distributions()),
            "densities must be of columns by distributions");
    require(distances.variances.shape[0] == parts && distances.variances.shape[1] == distributions.distributions() &&
                distances.share.size() == parts,
            "variances must be of parts by distributions, and shares of parts");
    require(parts == 1 || reports.parts.size() == partition.values.size(), "parts must be one per report");
    for (i64 report = 0; report < reports.parts.size(); report++)
        require(reports.parts[report] >= 0 && reports.parts[report] < parts, "there is no such part, of report", report);
    require(map.apparent.shape[0] == 0 || (map.apparent.shape[0] == partition.tasks() && map.apparent.shape[1] == 2),
            "apparent truths must be of tasks by two, or empty");
    require(weights.shape[0] == workers &&
                (borne.shape[0] == 0 || (borne.shape[0] == workers && borne.shape[1] == parts)),
            "weights and what is borne out must be of workers by parts");
    require(ends.size() == 2, "there must be two ends");
    require(!fills_quantiles || (quantiles.shape[0] == partition.tasks() && quantiles.shape[1] == levels.size()),
            "quantiles must be of tasks by levels, or empty");
    require(!fills_messages || (messages.shape[0] == partition.tasks() && messages.shape[1] == bins),
            "messages must be of tasks by bins, or empty");
    const bool predicted = priors.logs.shape[0] > 1;
    const double step = (ends[1] - ends[0]) / (double)(bins - 1);
    BinnedTruth truth(priors, distributions, reports.cut.size() < partition.values.size());
    const i64 longest = longest_of(partition.offsets);
    Room<double> of_reports(2 * longest);
    Room<i64> at(longest);
    double *mine = of_reports, *proven = of_reports + longest;
    for_tasks(partition, workers, [&](i64 t, const NumberTask& task) {
        check_places(reports, task, most, t);
        for (i64 i = 0; i < task.count; i++) {
            const i64 part = reports.part(task.start + i);
            mine[i] = weights[task.workers[i]][part];
            if (borne.shape[0]) proven[i] = borne[task.workers[i]][part];
        }
        const bool known = !is_nan(task.known), supports = supporting && task.count > 1;
        Cap capped{-1, 1.0};
        if (borne.shape[0]) capped = cap(task.count, mine, proven);
        find_places(distributions, reports, task, parts, bins, at);
        truth.begin(t);
        truth.add_up(task, reports, at, capped);
        if (fills_messages) truth.copy_messages(messages[t].data);
        if (known && task.count && map.apparent.shape[0]) {
            truth.normalise();
            truth.find_moments();
            truth.interpolate();
            map.apparent[t][0] = truth.place(0.5, rounded_off(task, reports.cut, mine, units.task), ends, 0.0, 1.0);
            map.apparent[t][1] = truth.variance * (step * step);
        }
        const double found = known ? truth.pin(reports.known[t]) : truth.normalise();
        truth.reach(units.residual);
        if (task.count) {
            tally.likely[0] = add(tally.likely[0], to_nearest(found * units.likely));
            if (tally.tried.size()) truth.try_priors(known, units.likely, tally.tried.data);
            truth.count_truth(units.truth, tally.truths.data);
        }
        if (last || measuring) truth.find_moments();
        for (i64 i = 0; i < task.count; i++) {
            const i64 worker = task.workers[i], report = task.start + i;
            const i64 place = reports.places[report], ratio = reports.ratios[report], part = reports.part(report);
            const double share = distances.share[part];
            if (filling || supports) truth.fill_row(worker, at[i], place, ratio);
            double answered = 1.0;
            if (filling) {
                const i64 count = truth.answered(reports.missing[report], units.residual);
                Plain::add_to(&tally.answered[worker], count);
                answered = (double)count / units.residual;
            }
            truth.tell(worker, at[i], place, ratio, 1.0 - share, units, tally);
            if (share > 0.0 && (known || predicted || task.count > 1))
                truth.tell_distance((task.values[i] - ends[0]) / step, mine[i] * distances.precision, known, distances.variances[part],
                                    share * answered * units.likely, tally.evidence[worker].data);
            if (!supports) continue;
            if (filling) mix(reports.missing[report], bins, truth.row);
            const double total = truth.leave_out(known), filled = filling ? exp_of(reports.missing[report]) : 0.0;
            support(truth.without, bins, total, densities, place, ratio, filled, units.likely, truth.of_distributions,
                    tally.supported[worker].data);
        }
        double moved = 0.0;
        if (!known && (last || fills_quantiles)) {
            truth.interpolate();
            moved = rounded_off(task, reports.cut, mine, units.task);
        }
        if (fills_quantiles)
            for (i64 i = 0; i < levels.size(); i++)
                quantiles[t][i] = known ? task.known : truth.place(levels[i], moved, ends, map.shift, map.scale);
        if (!last) return;
        const double middle = known ? task.known : truth.place(0.5, moved, ends, map.shift, map.scale);
        const double error = std::sqrt(truth.variance) * (ends[1] - ends[0]) / (double)(bins - 1);
        const i64 missed = add_squared(task, middle, units.error, tally.squared.data);
        estimates.truths[t] = middle;
        estimates.standard_errors[t] = known ? 0.0 : error;
        estimates.spreads[t] = root_mean_square(missed, units.error, task.count);
    });
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
