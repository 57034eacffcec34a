// The posterior of a truth on bins, one task after another, and the statistics of its reports.
#pragma once
#include "number_kernels.h"
#include "number_support.h"

namespace quietcrowd {
namespace QC_VARIANT {
constexpr double FARTHEST = 1800.0;      // the largest squared distance in variances
constexpr int PARTS = 8;                 // of a bin, in which the posterior is interpolated
constexpr double LARGEST_SPREAD = 5.0;  // variance of a truth of which the others of a task say nothing, in squared ranges

// The largest, -infinity of none; NaN is left out. Several maxima side by side become vector code.
inline double largest_of(const double* QC_RESTRICT x, i64 bins) {
    double most[BLOCK];
    for (int i = 0; i < BLOCK; i++) most[i] = -INFINITY;
    for (i64 b = 0; b < bins; b += BLOCK)
        for (int i = 0; i < BLOCK; i++) most[i] = greater_of(x[b + i], most[i]);
    for (int i = 1; i < BLOCK; i++) most[0] = greater_of(most[i], most[0]);
    return most[0];
}

// The truth of one task after another.
struct BinnedTruth {
    BinnedTruth(const BinnedPriors& priors, const WorkerDistributions& distributions, bool interpolates)
        : bins(priors.logs.shape[1]), interpolates(interpolates), priors(priors), distributions(distributions), numbers((3 + PARTS) * bins + distributions.distributions()), integers(4 * bins) {
        posterior = numbers;
        shares = numbers + bins;
        without = numbers + 2 * bins;
        of_parts = numbers + 3 * bins;
        of_distributions = of_parts + PARTS * bins;
        sums = integers;
        row = integers + bins;
        counts = integers + 2 * bins;
        rest = integers + 3 * bins;
        log_prior = priors.logs.data;
    }

    QC_FN void begin(i64 task) {
        if (priors.logs.shape[0] > 1) log_prior = priors.logs[task].data;
    }

    QC_FN void fill_row(i64 worker, i64 at, i64 place, i64 ratio) {
        i64* QC_RESTRICT to = row;
        for (i64 b = 0, n = bins; b < n; b++) to[b] = 0;
        add_report(distributions, worker, at, place, ratio, bins, to);
    }

    // Fills in the sums of the log densities of a task's reports given each bin; `at` are their places in the table.
    QC_APART void add_up(const NumberTask& task, const BinnedReports& reports, const i64* at, Cap capped) {
        const i64 n = bins;
        i64* QC_RESTRICT to = sums;
        for (i64 b = 0; b < n; b++) to[b] = 0;
        const bool filling = reports.missing.size() > 0;
        for (i64 i = 0; i < task.count; i++) {
            const i64 report = task.start + i, place = reports.places[report], ratio = reports.ratios[report];
            const bool less = i == capped.report && capped.factor < 1.0;
            if (!filling && !less) {
                add_report(distributions, task.workers[i], at[i], place, ratio, n, to);
                continue;
            }
            fill_row(task.workers[i], at[i], place, ratio);
            if (filling) mix(reports.missing[report], n, row);
            const double factor = less ? capped.factor : 1.0;
            i64* QC_RESTRICT from = row;
            if (less)
                for (i64 b = 0; b < n; b++) from[b] = to_integer(to_double(from[b]) * factor);
            for (i64 b = 0; b < n; b++) to[b] = add(to[b], from[b]);
        }
    }

    QC_APART void copy_messages(double* QC_RESTRICT to) const {
        const i64* QC_RESTRICT from = sums;
        for (i64 b = 0, n = bins; b < n; b++) to[b] = to_double(from[b]) / TABLE_ONE;
    }

    // Turns the sums into a posterior; returns the log evidence of the task.
    QC_APART double normalise() {
        const i64 n = bins;
        double* QC_RESTRICT found = posterior;
        const double largest = fill_logs(sums, found);
        const double total = fill_shares(largest, found);
        const double share = 1.0 / total;
        for (i64 b = 0; b < n; b++) found[b] *= share;
        return largest + log_of_any(total);
    }
    // From whole sums to log densities with the prior; returns the largest.
    QC_FN double fill_logs(const i64* QC_RESTRICT from, double* QC_RESTRICT to) const {
        const double* QC_RESTRICT logs = log_prior;
        const i64 n = bins;
        for (i64 b = 0; b < n; b++) to[b] = to_double(from[b]) / TABLE_ONE + logs[b];
        return largest_of(to, n);
    }
    // From logarithms to shares of the largest; returns their sum.
    QC_FN double fill_shares(double largest, double* QC_RESTRICT to) const {
        const i64 n = bins;
        for (i64 b = 0; b < n; b++) to[b] = exp_minus(largest - to[b]);
        double total = 0.0;
        for (i64 b = 0; b < n; b++) total += to[b];
        return total;
    }

    // Fills in the posterior of a truth that is known to be `known`, in bins; returns its part of the evidence.
    QC_APART double pin(double known) {
        const i64 last = bins - 1;
        known = lesser_of((double)last, greater_of(0.0, known));
        const i64 lower = lesser_of(last - 1, to_signed(known));
        for (i64 b = 0; b <= last; b++) posterior[b] = 0.0;
        posterior[lower] = (double)(lower + 1) - known;
        posterior[lower + 1] = known - (double)lower;
        double evidence = 0.0;
        for (i64 b = lower; b < lower + 2; b++)
            evidence += posterior[b] * ((double)sums[b] / TABLE_ONE + log_prior[b]);
        return evidence;
    }

    // Adds the log evidence of the task with each of several priors; a known truth is part of it.
    QC_APART void try_priors(bool known, double unit, i64* tried) {
        const i64 n = bins, count = priors.candidates.shape[0];
        const i64* QC_RESTRICT from = sums;
        double* QC_RESTRICT likely = shares;
        i64 largest = from[0];
        for (i64 b = 0; b < n; b++) largest = greater_of(largest, from[b]);
        for (i64 b = 0; b < n; b++) likely[b] = exp_minus(to_double(subtract(largest, from[b])) / TABLE_ONE);
        for (i64 first = 0; first < count; first += 4) {
            const i64 some = lesser_of<i64>(count - first, 4);
            const double* rows[4];
            for (i64 i = 0; i < 4; i++) rows[i] = priors.candidates[first + lesser_of(i, some - 1)].data;
            double totals[4] = {};  // at a time: each waits only for its additions
            for (i64 b = 0; b < n; b++)
                for (int i = 0; i < 4; i++) totals[i] += likely[b] * rows[i][b];
            for (i64 i = 0; i < some; i++) {
                const double evidence = known ? known_evidence(rows[i])
                                              : log_of_any(greater_of(1e-300, totals[i])) + (double)largest / TABLE_ONE;
                tried[first + i] = add(tried[first + i], to_nearest(evidence * unit));
            }
        }
    }
    QC_FN double known_evidence(const double* prior) const {
        double evidence = 0.0;
        for (i64 b = 0; b < bins; b++)
            if (posterior[b] > 0.0) evidence += posterior[b] * ((double)sums[b] / TABLE_ONE + log_of_any(prior[b]));
        return evidence;
    }

    // Fills in the posterior in units, and finds the bins that it lies in: from `first` to `last`.
    QC_APART void reach(double unit) {
        const i64 n = bins;
        const double* QC_RESTRICT found = posterior;
        i64* QC_RESTRICT to = counts;
        for (i64 b = 0; b < n; b++) to[b] = found[b] > LEAST_PART ? to_integer(found[b] * unit) : 0;
        for (first = 0; first < n && !(found[first] > LEAST_PART);) first++;
        for (last = first < n ? n : 0; last > first && !(found[last - 1] > LEAST_PART);) last--;
    }
    QC_FN void count_truth(double unit, i64* QC_RESTRICT truths) const {
        const double* QC_RESTRICT found = posterior;
        for (i64 b = 0, n = bins; b < n; b++)
            truths[b] = add(truths[b], found[b] > LEAST_PART ? to_integer(found[b] * unit) : 0);
    }

    // Fills in the probability of each bin together with that of an answer; returns their sum.
    QC_APART i64 answered(double missing, double unit) {
        const i64 n = bins;
        const double* QC_RESTRICT found = posterior;
        const i64* QC_RESTRICT from = row;
        double* QC_RESTRICT parts = shares;
        i64* QC_RESTRICT to = counts;
        for (i64 b = 0; b < n; b++) {
            const double apart = to_double(from[b]) / TABLE_ONE - missing;
            const double small = exp_minus(std::fabs(apart));
            parts[b] = (apart > 0.0 ? 1.0 : small) / (1.0 + small);
        }
        i64 total = 0;
        for (i64 b = 0; b < n; b++) {
            to[b] = to_integer(found[b] * parts[b] * unit);
            total = add(total, to[b]);
        }
        return total;
    }

    // Adds the statistics of a worker's errors; log densities count for `part` in its evidence.
    QC_FN void tell(i64 worker, i64 at, i64 place, i64 ratio, double part, const BinnedUnits& units, const BinnedTally& tally) {
        if (at < 0) {
            tell_distributions(place, ratio, part, units, tally.evidence[worker].data);
            return;
        }
        credit(counts, first, last, tally.residuals.data + at);
        if (ratio >= 0) credit(counts, first, last, tally.residuals.data + at + (ratio - place));
    }
    // Adds the expected log density of a report under each distribution.
    QC_APART void tell_distributions(i64 place, i64 ratio, double part, const BinnedUnits& units, i64* QC_RESTRICT evidence) {
        const i64 many = distributions.distributions(), start = first, end = last;
        const double* one = distributions.by_column.data + place * many;
        const double* other = distributions.by_column.data + greater_of<i64>(ratio, 0) * many;
        const i64* QC_RESTRICT from = counts;
        double* QC_RESTRICT parts = shares;
        for (i64 b = start; b < end; b++) parts[b] = to_double(from[b]) / units.residual;
        for (i64 distribution = 0; distribution < many; distribution++) of_distributions[distribution] = 0.0;
        if (ratio >= 0)
            sum_distributions(many, end - start, of_distributions, [&](auto total, i64 i, i64 distribution) {
                using Part = decltype(total);
                total = Part::plus(total, parts[start + i], Part::load(one + (start + i) * many + distribution));
                return Part::plus(total, parts[start + i], Part::load(other + (start + i) * many + distribution));
            });
        else
            sum_distributions(many, end - start, of_distributions, [&](auto total, i64 i, i64 distribution) {
                using Part = decltype(total);
                return Part::plus(total, parts[start + i], Part::load(one + (start + i) * many + distribution));
            });
        for (i64 distribution = 0; distribution < many; distribution++)
            evidence[distribution] = add(evidence[distribution], to_nearest(of_distributions[distribution] * (part * units.likely)));
    }

    // Adds the log density of a report's distance, in bins, from what the others of the task say, all taken as normal.
    QC_APART void tell_distance(double report, double precision, bool known, Array<const double> variances, double unit,
                                i64* QC_RESTRICT evidence) {
        const double last = (double)(bins - 1);
        const double others = greater_of(1.0 / variance - precision, 1.0 / (LARGEST_SPREAD * last * last));
        const double middle = known ? mean : mean + precision * (mean - report) / others;
        const double apart = report - lesser_of(last, greater_of(0.0, middle)), unsure = known ? 0.0 : 1.0 / others;
        const i64 many = variances.size();
        for (i64 distribution = 0; distribution < many; distribution++) {
            const double total = variances[distribution] + unsure;
            of_distributions[distribution] = -0.5 * (log_of(total) + lesser_of(apart * apart / total, FARTHEST));
        }
        for (i64 distribution = 0; distribution < many; distribution++)
            evidence[distribution] = add(evidence[distribution], to_nearest(of_distributions[distribution] * unit));
    }

    // Fills in a posterior without the report in `row`, up to a factor; returns its sum.
    QC_APART double leave_out(bool known) {
        const i64 n = bins;
        const i64* QC_RESTRICT from = sums;
        const i64* QC_RESTRICT less = row;
        const double* QC_RESTRICT found = posterior;
        double* QC_RESTRICT to = without;
        if (known) {
            for (i64 b = 0; b < n; b++) to[b] = found[b];
            return 1.0;
        }
        i64* QC_RESTRICT left = rest;
        for (i64 b = 0; b < n; b++) left[b] = subtract(from[b], less[b]);
        return fill_shares(fill_logs(left, to), to);
    }

    // Fills in the posterior of parts of bins, if asked for: its logarithm is a parabola through a bin and its neighbours.
    QC_APART void interpolate() {
        if (!interpolates) return;
        double* QC_RESTRICT logs = shares;
        fill_logs(sums, logs);
        for (i64 b = 0; b < bins; b++) {
            const double before = b > 0 ? logs[b - 1] : 2.0 * logs[0] - logs[1];
            const double after = b < bins - 1 ? logs[b + 1] : 2.0 * logs[b] - logs[b - 1];
            const double slope = 0.5 * (after - before), bend = 0.5 * (after - 2.0 * logs[b] + before);
            for (int i = 0; i < PARTS; i++) {
                const double apart = ((double)i + 0.5) / (double)PARTS - 0.5;
                of_parts[PARTS * b + i] = logs[b] + apart * (slope + apart * bend);
            }
        }
        const double largest = largest_of(of_parts, PARTS * bins);
        double total = 0.0;
        for (i64 i = 0; i < PARTS * bins; i++) total += of_parts[i] = exp_minus(largest - of_parts[i]);
        for (i64 i = 0; i < PARTS * bins; i++) of_parts[i] /= total;
    }

    // A quantile in bins, the probability of a bin, or of a part of one, being spread evenly over it.
    QC_FN double quantile(double level) const {
        const double* from = interpolates ? of_parts : posterior;
        const i64 parts = interpolates ? PARTS : 1, count = parts * bins;
        const double width = 1.0 / (double)parts;
        double below = 0.0;
        for (i64 i = 0; i < count; i++) {
            if (below + from[i] >= level) return (double)i * width - 0.5 + (level - below) / from[i] * width;
            below += from[i];
        }
        return (double)bins - 0.5;
    }
    // The same as values are scaled, within the range.
    QC_APART double place(double level, double moved, Array<const double> ends, double shift, double scale) const {
        const double step = (ends[1] - ends[0]) / (double)(bins - 1);
        const double found = shift + scale * (ends[0] + step * (quantile(level) + moved));
        return lesser_of(ends[1], greater_of(ends[0], found));
    }
    // Fills in the mean and the variance of the posterior, in bins.
    QC_APART void find_moments() {
        double square = 0.0;
        mean = 0.0;
        for (i64 b = 0; b < bins; b++) mean += posterior[b] * (double)b;
        for (i64 b = 0; b < bins; b++) square += posterior[b] * (((double)b - mean) * ((double)b - mean));
        variance = square + 1.0 / 12.0;
    }

    const i64 bins;
    const bool interpolates;
    const BinnedPriors& priors;
    const WorkerDistributions& distributions;
    Room<double> numbers;
    Room<i64> integers;
    double *posterior, *shares, *without, *of_parts, *of_distributions;
    i64 *sums, *row, *counts, *rest;
    const double* log_prior;
    i64 first = 0, last = 0;
    double mean = 0.0, variance = 0.0;
};
}  // namespace QC_VARIANT
}  // namespace quietcrowd
