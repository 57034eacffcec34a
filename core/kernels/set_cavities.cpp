// The evidence of sets of labels on their workers' accuracies: given the posterior of a task without the worker's
// set, that set is as likely as w c + (1 - w) b, up to one factor. Votes are those of the last pass of
// infer_sets.
#include "../label_kernels.h"

#include <cmath>

namespace quietcrowd {
namespace QC_VARIANT {
constexpr double FINE = 1099511627776.0;  // 2^40: representation of 1.0 in sums of shares
constexpr i64 MOST_ROWS_AT_ONCE = 256;    // a task with more is processed separately

// Fills in how probable each label is by all votes except a set's.
static void infer_without(const i64* QC_RESTRICT sums, const i64* QC_RESTRICT own, Array<const double> log_priors,
                          double* QC_RESTRICT shares) {
    const i64 labels = log_priors.size();
    const double* QC_RESTRICT priors = log_priors.data;
    double best = -INFINITY, total = 0.0;
    for (i64 l = 0; l < labels; l++) shares[l] = (double)subtract(sums[l], own[l]) / SET_VOTE_ONE + priors[l];
    for (i64 l = 0; l < labels; l++) best = shares[l] > best ? shares[l] : best;
    for (i64 l = 0; l < labels; l++) shares[l] = to_whole(exp_minus(best - shares[l]) * FINE);
    for (i64 l = 0; l < labels; l++) total += shares[l];
    for (i64 l = 0; l < labels; l++) shares[l] /= total;
}

// Some tasks, and how probable their sets are.
struct SetCavities {
    SetCavities(const SetPartition& p, const SetSigns& signs, const SetWorkers& workers,
                Array<const double> log_priors, i64 longest)
        : p(p), workers(workers), log_priors(log_priors), sets(signs, longest), labels(sets.labels),
          votes(longest * labels), sums(labels), shares(labels), right(longest), wrong(longest) {}

    // Fills in the probabilities of a task's sets, at places from `at` on.
    QC_APART void infer(i64 task, i64 at) {
        const i64 start = p.offsets[task], rows = p.offsets[task + 1] - start;
        sets.read(p.values.data + start, rows, task);
        for (int l = 0; l < labels; l++) sums[l] = 0;
        for (i64 row = 0; row < rows; row++) {
            i64* QC_RESTRICT own = votes + row * labels;
            i64* QC_RESTRICT total = sums;
            expect_votes(sets, row, workers, p.workers[start + row], own);
            for (int l = 0; l < labels; l++) total[l] = add(total[l], own[l]);
        }
        const double gain = sets.signs.gain;
        for (i64 row = 0; row < rows; row++) {
            const i32* codes = sets.codes + row * sets.members;
            if (p.known[task] < 0) infer_without(sums, votes + row * labels, log_priors, shares);
            else
                for (int l = 0; l < labels; l++) shares[l] = l == p.known[task] ? 1.0 : 0.0;
            double inside = 0.0;
            for (int i = 0; i < sets.members; i++) inside += to_whole(shares[codes[i]] * FINE);
            inside = 1.0 < inside / FINE ? 1.0 : inside / FINE;
            right[at + row] = 1.0 + gain * inside;
            wrong[at + row] = 1.0 + gain * (((double)sets.members - inside) / (double)(labels - 1));
        }
    }

    const SetPartition& p;
    const SetWorkers& workers;
    const Array<const double> log_priors;
    SetRows sets;
    const int labels;
    Room<i64> votes, sums;
    Room<double> shares, right, wrong;
};

void set_cavities(const SetPartition& partition, const SetSigns& signs, const SetWorkers& workers,
                  Array<const double> log_priors, Array<const double> nodes, i64 first_worker,
                  Array<i64, 4> histograms) {
    const i64 crowd_size = workers.skills.shape[0], tasks = partition.tasks();
    check_sets(partition, signs, workers, log_priors.size(), crowd_size);
    require(histograms.shape[2] >= 1, "histograms must have a channel");
    const ReportHistograms told(nodes, first_worker, histograms);
    i64 longest = MOST_ROWS_AT_ONCE;
    for (i64 t = 0; t < tasks; t++) longest = greater_of(longest, partition.offsets[t + 1] - partition.offsets[t]);
    SetCavities cavities(partition, signs, workers, log_priors, longest);
    Room<double> right(longest), wrong(longest);
    for (i64 first = 0; first < tasks;) {
        const i64 start = partition.offsets[first];
        i64 task = first;
        do {
            const i64 row = partition.offsets[task], rows = partition.offsets[task + 1] - row;
            check_workers(partition.workers.data + row, rows, crowd_size, task);
            cavities.infer(task, row - start);
            task++;
        } while (task < tasks && partition.offsets[task + 1] - start <= MOST_ROWS_AT_ONCE);
        const i64 rows = partition.offsets[task] - start;
        for (i64 crowd = 0; crowd < histograms.shape[1]; crowd++) {
            for (i64 row = 0; row < rows; row++) right[row] = cavities.right[row];
            for (i64 row = 0; row < rows; row++) wrong[row] = cavities.wrong[row];
            told.add_reports(right, wrong, partition.workers.data + start, rows, crowd, 0);
        }
        first = task;
    }
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
