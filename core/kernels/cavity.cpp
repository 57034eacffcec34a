// The evidence of reports on their workers' accuracies, given the other reports on the truths. Some
// tasks are done at once, in loops over their reports. All sums are of whole numbers: no order of rows,
// tasks or labels changes a bit.
#include "../label_kernels.h"

#include <cmath>

namespace quietcrowd {
namespace QC_VARIANT {
constexpr double VOTE_ONE = 16777216.0;  // representation of log-odds of 1: enough for 10^10 votes of 12
constexpr i64 MOST_TASKS = 64, MOST_CELLS = 262144;  // maximum number of tasks, and of reports times labels, at once

// Representation of 1.0, so that shares of this many labels add up without rounding.
static double unit_of_shares(i64 labels) { return labels <= 256 ? 17592186044416.0 : 4294967296.0; }

// Some tasks, and their reports. `next` moves on to the tasks that follow.
struct CavityBlock {
    CavityBlock(const LabelPartition& p, i64 labels, i64 kinds, i64 workers)
        : p(p), labels(labels), kinds(kinds), workers(workers) {
        check_sizes(p);
        check_offsets(p.offsets, p.workers.size(), 0, p.tasks());
        i64 longest = 1;
        for (i64 t = 0; t < p.tasks(); t++) longest = greater_of(longest, p.offsets[t + 1] - p.offsets[t]);
        most_tasks = greater_of<i64>(1, lesser_of(MOST_TASKS, MOST_CELLS / longest / labels));
        for (i64 t = 0; t < p.tasks(); t += most_tasks)
            most_rows = greater_of(most_rows, p.offsets[lesser_of(t + most_tasks, p.tasks())] - p.offsets[t]);
    }

    bool next(u32* QC_RESTRICT reports) {
        first += tasks;
        tasks = lesser_of(p.tasks() - first, most_tasks);
        if (tasks == 0) return false;
        offsets = p.offsets.data + first;
        known = p.known.data + first;
        codes = p.workers.data + offsets[0];
        rows = offsets[tasks] - offsets[0];
        for (i64 t = 0; t < tasks; t++)
            require(known[t] < labels, "a known truth is no label, at or after task", first);
        check_workers(codes, rows, workers, first);
        u32 wrong = 0;
        for (i64 row = 0; row < rows; row++) {
            reports[row] = read(p.values, offsets[0] + row);
            wrong |= (u32)(reports[row] >= (u32)kinds);
        }
        require(!wrong, "a value is out of range, at or after task", first);
        return true;
    }

    const LabelPartition& p;
    const i64 labels, kinds, workers;  // kinds of reports
    i64 most_tasks = 1, most_rows = 0, first = 0, tasks = 0, rows = 0;
    const i64* offsets = nullptr;
    const i32* known = nullptr;
    const u32* codes = nullptr;
};

template <int N, int M>
static void check_sizes(const CavityVotes<N>& votes, const ReportDistributions<M>& distributions, i64 labels, i64 kinds,
                        i64 workers, Array<i64, 4> histograms) {
    require(labels >= 1 && labels <= 65536, "there must be 1 to 65,536 labels");
    require(votes.trust.size() == workers && distributions.answering.size() == workers, "arrays must have one entry per worker");
    const i64 channels = distributions.right.shape[0];
    require(kinds >= 1 && distributions.silent.shape[0] == channels && distributions.silent.shape[1] == kinds,
            "probabilities without an answer must be one per channel and report");
    require(histograms.shape[1] == votes.crowd.shape[0] && histograms.shape[2] == channels,
            "histograms must be one per worker, crowd and channel");
}

// A worker's vote, clipped.
QC_FN double cut(double odds, double most) {
    odds = -most > odds ? -most : odds;
    return most < odds ? most : odds;
}

// Fills in trust of each report's worker, and how often it answers.
static void read_workers(const CavityBlock& block, const double* QC_RESTRICT trust,
                         const double* QC_RESTRICT answering, double* QC_RESTRICT trusted,
                         double* QC_RESTRICT answered) {
    for (i64 row = 0; row < block.rows; row++) {
        trusted[row] = trust[block.codes[row]];
        answered[row] = answering[block.codes[row]];
    }
}

// Makes the probabilities of reports that answers are behind those of all reports.
static void add_silent(const CavityBlock& block, const u32* QC_RESTRICT reports, const double* QC_RESTRICT answered,
                       const double* QC_RESTRICT silence, double* QC_RESTRICT right, double* QC_RESTRICT wrong) {
    for (i64 row = 0; row < block.rows; row++) {
        const double share = answered[row], silent = (1.0 - share) * silence[reports[row]];
        right[row] = share * right[row] + silent;
        wrong[row] = share * wrong[row] + silent;
    }
}

// Buffers of numbers per task, or at place [label * tasks + task].
struct TaskVotes {
    TaskVotes(i64 labels, i64 tasks) 
        : sums(labels * tasks), odds(labels * tasks), shares(labels * tasks), best(tasks), total(tasks) {}
    Room<i64> sums;
    Room<double> odds, shares, best, total;
};

// Fills in how probable it is, without each report, that its label is true. `added` is the term of each report
// adds to its label, in units; `rest` is a buffer.
static void fill_coin_cavities(const CavityBlock& block, const u32* QC_RESTRICT reports, const i64* QC_RESTRICT added,
                               const double* QC_RESTRICT log_priors, TaskVotes& votes, double* QC_RESTRICT truth,
                               double* QC_RESTRICT rest) {
    const i64 labels = block.labels, tasks = block.tasks;
    const double fine = unit_of_shares(labels);
    i64* QC_RESTRICT sums = votes.sums;
    double* QC_RESTRICT odds = votes.odds;
    double* QC_RESTRICT shares = votes.shares;
    double* QC_RESTRICT best = votes.best;
    double* QC_RESTRICT total = votes.total;
    for (i64 i = 0; i < labels * tasks; i++) sums[i] = 0;
    for (i64 t = 0; t < tasks; t++) {
        const i64 start = block.offsets[t] - block.offsets[0], end = block.offsets[t + 1] - block.offsets[0];
        for (i64 row = start; row < end; row++) Plain::add_to(sums + reports[row] * tasks + t, added[row]);
        best[t] = -INFINITY;
        total[t] = 0.0;
    }
    for (i64 l = 0; l < labels; l++)
        for (i64 t = 0; t < tasks; t++) {
            const double of_label = (double)sums[l * tasks + t] / VOTE_ONE + log_priors[l];
            odds[l * tasks + t] = of_label;
            best[t] = of_label > best[t] ? of_label : best[t];
        }
    for (i64 l = 0; l < labels; l++)
        for (i64 t = 0; t < tasks; t++) {
            const double share = to_whole(exp_minus(best[t] - odds[l * tasks + t]) * fine);
            shares[l * tasks + t] = share;
            total[t] += share;
        }
    for (i64 t = 0; t < tasks; t++) {
        const i64 start = block.offsets[t] - block.offsets[0], end = block.offsets[t + 1] - block.offsets[0];
        for (i64 row = start; row < end; row++) {
            const i64 place = reports[row] * tasks + t;
            truth[row] = best[t] - odds[place] + (double)added[row] / VOTE_ONE;
            rest[row] = total[t] - shares[place];
        }
    }
    for (i64 row = 0; row < block.rows; row++) {
        const double below = exp_minus(std::fabs(truth[row]));
        const double without = (truth[row] > 0.0 ? below : 1.0 / below) * fine;
        truth[row] = without / (rest[row] + without);
    }
    for (i64 t = 0; t < block.tasks; t++)
        if (block.known[t] >= 0)
            for (i64 row = block.offsets[t] - block.offsets[0]; row < block.offsets[t + 1] - block.offsets[0]; row++)
                truth[row] = reports[row] == (u32)block.known[t] ? 1.0 : 0.0;
}

void coin_cavities(const LabelPartition& partition, const CavityVotes<1>& votes, const ReportDistributions<2>& distributions,
                   i64 first_worker, Array<i64, 4> histograms) {
    const i64 labels = votes.log_priors.size(), workers = votes.coins.size();
    check_sizes(votes, distributions, labels, labels, workers, histograms);
    require(votes.tables.size() == 0, "votes must be one per worker");
    require(distributions.right.shape[1] == 2, "there must be two probabilities per channel");
    const ReportHistograms found(distributions.nodes, first_worker, histograms);
    CavityBlock block(partition, labels, labels, workers);
    const i64 most = block.most_rows;
    Room<u32> reports(most);
    Room<i64> added(most);
    Room<double> memory(6 * most);
    TaskVotes of_tasks(labels, block.most_tasks);
    double* QC_RESTRICT trusted = memory;
    double* QC_RESTRICT answered = memory + most;
    double* QC_RESTRICT mine = memory + 2 * most;
    double* QC_RESTRICT truth = memory + 3 * most;
    double* QC_RESTRICT right = memory + 4 * most;
    double* QC_RESTRICT wrong = memory + 5 * most;
    const double others = 1.0 / (double)greater_of<i64>(labels - 1, 1);
    while (block.next(reports)) {
        const i64 rows = block.rows;
        read_workers(block, votes.trust.data, distributions.answering.data, trusted, answered);
        for (i64 row = 0; row < rows; row++)
            mine[row] = trusted[row] * cut((double)votes.coins[block.codes[row]] * votes.nats, votes.most);
        for (i64 crowd = 0; crowd < votes.crowd.size(); crowd++) {
            const double of_crowd = votes.crowd[crowd];
            i64* QC_RESTRICT to = added;
            for (i64 row = 0; row < rows; row++)
                to[row] = to_integer((mine[row] + (1.0 - trusted[row]) * of_crowd) * VOTE_ONE);
            fill_coin_cavities(block, reports, added, votes.log_priors.data, of_tasks, truth, right);
            for (i64 channel = 0; channel < distributions.right.shape[0]; channel++) {
                const double keep = distributions.right[channel][0], other = distributions.right[channel][1];
                for (i64 row = 0; row < rows; row++) {
                    const double spread = (1.0 - truth[row]) * others;
                    right[row] = other + truth[row] * (keep - other);
                    wrong[row] = other + spread * (keep - other);
                }
                add_silent(block, reports, answered, distributions.silent[channel].data, right, wrong);
                found.add_reports(right, wrong, block.codes, rows, crowd, channel);
            }
        }
    }
}

// Fills in the term of each worker's record in each label by its report, times its trust: at place
// [label * stride + row].
static void fill_own_votes(const CavityBlock& block, const CavityVotes<3>& votes, const u32* QC_RESTRICT reports,
                           const double* QC_RESTRICT trusted, i64 stride, double* QC_RESTRICT mine) {
    const i64 labels = block.labels;
    if (votes.coins.size()) {
        for (i64 l = 0; l < labels; l++)
            for (i64 row = 0; row < block.rows; row++) mine[l * stride + row] = 0.0;
        for (i64 row = 0; row < block.rows; row++)
            mine[reports[row] * stride + row] =
                cut((double)votes.coins[block.codes[row]] * votes.nats, votes.most) * trusted[row];
        return;
    }
    const double nats = votes.nats, lowest = -votes.most;
    for (i64 row = 0; row < block.rows; row++) {
        const i32* QC_RESTRICT own = votes.tables.data + ((u64)block.codes[row] * block.kinds + reports[row]) * labels;
        i32 highest = own[0];
        for (i64 l = 1; l < labels; l++) highest = greater_of(highest, own[l]);
        for (i64 l = 0; l < labels; l++) {
            const double below = ((double)own[l] - (double)highest) * nats;
            mine[l * stride + row] = (lowest > below ? lowest : below) * trusted[row];
        }
    }
}

// Fills in how probable each label is without each report, at place [label * stride + row]. `added` is
// the term of each report in each label, in units; `best` and `total` are buffers.
static void fill_table_cavities(const CavityBlock& block, const i64* QC_RESTRICT added,
                                const double* QC_RESTRICT log_priors, i64 stride, double* QC_RESTRICT best,
                                double* QC_RESTRICT total, double* QC_RESTRICT shares) {
    const i64 labels = block.labels, rows = block.rows;
    const double fine = unit_of_shares(labels);
    for (i64 row = 0; row < rows; row++) {
        best[row] = -INFINITY;
        total[row] = 0.0;
    }
    for (i64 l = 0; l < labels; l++) {
        const i64* QC_RESTRICT adds = added + l * stride;
        double* QC_RESTRICT to = shares + l * stride;
        const double prior = log_priors[l];
        for (i64 t = 0; t < block.tasks; t++) {
            const i64 start = block.offsets[t] - block.offsets[0], end = block.offsets[t + 1] - block.offsets[0];
            i64 sum = 0;
            for (i64 row = start; row < end; row++) sum = add(sum, adds[row]);
            for (i64 row = start; row < end; row++) to[row] = (double)subtract(sum, adds[row]);
        }
        for (i64 row = 0; row < rows; row++) {
            to[row] = to[row] / VOTE_ONE + prior;
            best[row] = to[row] > best[row] ? to[row] : best[row];
        }
    }
    for (i64 l = 0; l < labels; l++) {
        double* QC_RESTRICT to = shares + l * stride;
        for (i64 row = 0; row < rows; row++) {
            to[row] = to_whole(exp_minus(best[row] - to[row]) * fine);
            total[row] += to[row];
        }
    }
    for (i64 l = 0; l < labels; l++) {
        double* QC_RESTRICT to = shares + l * stride;
        for (i64 row = 0; row < rows; row++) to[row] /= total[row];
    }
}

// Fills in the probability of each report, mixed over truths; the distribution is at [truth, report].
static void mix(const CavityBlock& block, const double* QC_RESTRICT distribution, const double* QC_RESTRICT shares, i64 stride,
                const u32* QC_RESTRICT reports, double* QC_RESTRICT mixed) {
    const i64 labels = block.labels;
    const double fine = unit_of_shares(labels);
    for (i64 row = 0; row < block.rows; row++) mixed[row] = 0.0;
    for (i64 l = 0; l < labels; l++) {
        const double* QC_RESTRICT of = distribution + l * block.kinds;
        const double* QC_RESTRICT share = shares + l * stride;
        for (i64 row = 0; row < block.rows; row++) mixed[row] += to_whole(share[row] * of[reports[row]] * fine);
    }
    for (i64 row = 0; row < block.rows; row++) mixed[row] /= fine;
}

void table_cavities(const LabelPartition& partition, const CavityVotes<3>& votes, const ReportDistributions<3>& distributions,
                    i64 first_worker, Array<i64, 4> histograms) {
    const i64 labels = votes.log_priors.size(), kinds = distributions.right.shape[2], workers = votes.trust.size();
    check_sizes(votes, distributions, labels, kinds, workers, histograms);
    const i64 cells = kinds * labels, of_tables = votes.tables.size();
    require((votes.coins.size() == workers && of_tables == 0 && kinds == labels) ||
                (votes.coins.size() == 0 && of_tables % cells == 0 && of_tables / cells == workers),
            "votes must be one per worker, or one per worker, report and truth");
    const Array<const double, 3> of_labels[] = {votes.crowd, distributions.right, distributions.wrong};
    for (const Array<const double, 3>& tables : of_labels)
        require(tables.shape[1] == labels && tables.shape[2] == kinds,
                "tables must have one entry per truth and report");
    require(distributions.wrong.shape[0] == distributions.right.shape[0], "tables must be one per channel");
    const ReportHistograms found(distributions.nodes, first_worker, histograms);
    CavityBlock block(partition, labels, kinds, workers);
    const i64 most = block.most_rows;
    Room<u32> reports(most);
    Room<i64> added(labels * most);
    Room<double> memory(4 * most), own(labels * most), shares(labels * most);
    double* QC_RESTRICT trusted = memory;
    double* QC_RESTRICT answered = memory + most;
    double* QC_RESTRICT right = memory + 2 * most;
    double* QC_RESTRICT wrong = memory + 3 * most;
    while (block.next(reports)) {
        const i64 rows = block.rows;
        read_workers(block, votes.trust.data, distributions.answering.data, trusted, answered);
        fill_own_votes(block, votes, reports, trusted, most, own);
        for (i64 crowd = 0; crowd < votes.crowd.shape[0]; crowd++) {
            for (i64 l = 0; l < labels; l++) {
                const double* QC_RESTRICT of_crowd = votes.crowd[crowd][l].data;
                const double* QC_RESTRICT mine = own + l * most;
                const u32* QC_RESTRICT given = reports;
                i64* QC_RESTRICT to = added + l * most;
                for (i64 row = 0; row < rows; row++)
                    to[row] = to_integer((mine[row] + (1.0 - trusted[row]) * of_crowd[given[row]]) * VOTE_ONE);
            }
            fill_table_cavities(block, added, votes.log_priors.data, most, right, wrong, shares);
            make_known_certain(block.offsets, block.known, block.tasks, labels, most, shares);
            for (i64 channel = 0; channel < distributions.right.shape[0]; channel++) {
                mix(block, distributions.right[channel].data, shares, most, reports, right);
                mix(block, distributions.wrong[channel].data, shares, most, reports, wrong);
                add_silent(block, reports, answered, distributions.silent[channel].data, right, wrong);
                found.add_reports(right, wrong, block.codes, rows, crowd, channel);
            }
        }
    }
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
