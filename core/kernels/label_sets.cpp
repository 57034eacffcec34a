// The sweep of NoiseAware for sets of labels: posteriors of the tasks from reports. A report determines
// only the place of its v for each truth: it counts for the two nodes next to it, in proportion. All
// that is added over reports or labels is rounded to whole numbers first.
#include "../label_kernels.h"
#include "../noisy_labels.h"

namespace quietcrowd {
namespace QC_VARIANT {
constexpr int TASKS = 16;  // maximum number of tasks at once, and roughly of reports times labels
constexpr i64 MOST_CELLS = 1 << 13;

// A block of tasks and their sets.
struct SetBlock {
    SetBlock(const SetPartition& p, const SetSigns& signs, const SetWorkers& workers, Array<const double> constancy,
             Array<const double> log_priors, i64 crowd, i64 most)
        : p(p), workers(workers), crowd(crowd), constancy(constancy), log_priors(log_priors), nodes(signs.nodes), rows(signs, most),
          labels(rows.labels), logs(most * labels), parts(most * labels), below(most * labels), sums(2 * (i64)labels),
          memory(3 * (i64)labels * TASKS), echo(labels) {
        beliefs.votes = memory;
        beliefs.shares = memory + (i64)labels * TASKS;
        beliefs.credit = (i64*)(memory + 2 * (i64)labels * TASKS);
    }

    QC_FN const i64* offsets() const { return p.offsets.data + first; }
    QC_FN const i32* known() const { return p.known.data + first; }
    QC_FN u32 worker(i64 row) const { return p.workers[offsets()[0] + row]; }

    // Takes the next tasks, from task `start` on; false at the end.
    QC_FN bool take(i64 start) {
        first = start;
        if (first >= p.tasks()) return false;
        count = (int)lesser_of<i64>(p.tasks() - first, TASKS);
        while (count > 1 && offsets()[count] - offsets()[0] > MOST_CELLS / labels) count--;
        any_known = false;
        for (int t = 0; t < count; t++) any_known |= known()[t] >= 0;
        read();
        return true;
    }

    QC_APART void read() {
        const i64 start = offsets()[0], size = offsets()[count] - start;
        check_workers(p.workers.data + start, size, crowd, first);
        rows.read(p.values.data + start, size, first);
        const double epsilon = rows.signs.epsilon, twice = 2.0 * epsilon, last = (double)(nodes - 1);
        const double per_step = (double)(nodes - 1) / twice;
        const i32 last_below = (i32)nodes - 2;
        const u8* QC_RESTRICT held = rows.held;
        const double* QC_RESTRICT bases = rows.bases;
        double* QC_RESTRICT log_bases = logs;
        double* QC_RESTRICT part = parts;
        i32* QC_RESTRICT node = below;
        for (i64 i = 0; i < size * labels; i++) log_bases[i] = log_of(bases[i]);
        for (i64 i = 0; i < size * labels; i++) {
            const double place = ((held[i] ? twice : epsilon) - log_bases[i]) * per_step;
            const double inside = place > 0.0 ? (place < last ? place : last) : 0.0;  // also NaN is inside
            const i32 low = (i32)inside;
            node[i] = low < last_below ? low : last_below;
            part[i] = inside - (double)node[i];
        }
    }

    // Calls each(task in the block, row in the block) for all rows, and end(task) after a task's last.
    template <class Each, class End> QC_FN void for_rows(Each each, End end) {
        for (int t = 0; t < count; t++) {
            for (i64 row = offsets()[t] - offsets()[0]; row < offsets()[t + 1] - offsets()[0]; row++) each(t, row);
            end(t);
        }
    }

    // Fills in each task's log-odds from its sums, which become 0 again.
    QC_FN void take_sums(int t, double* votes) {
        for (int l = 0; l < labels; l++) {
            votes[l * TASKS + t] = (double)sums[l] / SET_VOTE_ONE + log_priors[l];
            sums[l] = 0;
        }
    }

    // Fills in the log-odds of labels while the crowd is learned.
    QC_APART void vote() {
        const double without = log_of(workers.constant_base);
        const double more = log_of(workers.constant_base + workers.constant_gain) - without;
        for (i64 i = 0; i < (i64)labels * TASKS; i++) beliefs.votes[i] = 0.0;
        for_rows(
            [&](int, i64 row) {
                const i64 who = worker(row);
                const i32* table = workers.log_odds.data + who * nodes * labels;
                const i32* constants = workers.constants.data + who * labels;
                const double honest = 1.0 - constancy[who];
                i64 own = 0;
                for (int i = 0; i < rows.members; i++) own += constants[rows.codes[row * rows.members + i]];
                const double steady = constancy[who] * without + (double)own / SHARE_ONE * more;
                const double* QC_RESTRICT log_bases = logs + row * labels;
                const double* QC_RESTRICT part = parts + row * labels;
                const i32* QC_RESTRICT node = below + row * labels;
                i64* QC_RESTRICT total = sums;
                for (int l = 0; l < labels; l++) {
                    const i32* at = table + (i64)node[l] * labels + l;
                    const double low = (double)at[0], step = (double)at[labels] - low;
                    const double told = (low + part[l] * step) * workers.nats;
                    total[l] = add(total[l], to_integer((told + honest * log_bases[l] + steady) * SET_VOTE_ONE));
                }
            },
            [&](int t) { take_sums(t, beliefs.votes); });
    }

    // Fills in those that a last pass takes.
    QC_APART void vote_expected() {
        i64* QC_RESTRICT own = sums + labels;
        i64* QC_RESTRICT total = sums;
        for (i64 i = 0; i < (i64)labels * TASKS; i++) echo.votes[i] = 0.0;
        for_rows(
            [&](int, i64 row) {
                expect_votes(rows, row, workers, worker(row), own);
                for (int l = 0; l < labels; l++) total[l] = add(total[l], own[l]);
            },
            [&](int t) { take_sums(t, echo.votes); });
    }

    // Adds the probabilities of each task's labels to the records of workers with a report.
    QC_APART void credit(const SetSums& to) {
        for_rows(
            [&](int t, i64 row) {
                const i64 who = worker(row);
                for (int i = 0; i < rows.members; i++)
                    Plain::add_to(to.held.data + who * labels + rows.codes[row * rows.members + i], 1);
                i64* counts = to.counts.data + who * nodes * labels;
                i64 told = 0;
                for (int l = 0; l < labels; l++) {
                    const i64 share = beliefs.credit[l * TASKS + t], cell = row * labels + l;
                    const i64 above = to_integer((double)share * parts[cell]);
                    i64* at = counts + (i64)below[cell] * labels + l;
                    Plain::add_to(at, subtract(share, above));
                    Plain::add_to(at + labels, above);
                    told = add(told, to_integer((double)share * logs[cell]));
                }
                Plain::add_to(&to.bases[who], told);
            },
            [](int) {});
    }

    // Adds how probable it is that answers were wrong, over b. The slope of ln(1 + w (exp(v) - 1)) is how
    // probable it is that the answer was right.
    QC_APART void count_mistakes(double unit, i64* mistaken) {
        const double step = 2.0 * rows.signs.epsilon / (double)(nodes - 1);
        for_rows(
            [&](int t, i64 row) {
                const i64 who = worker(row);
                const i32* table = workers.log_odds.data + who * nodes * labels;
                const double honest = 1.0 - constancy[who];
                for (int l = 0; l < labels; l++) {
                    const i64 cell = row * labels + l;
                    const i32* at = table + (i64)below[cell] * labels + l;
                    const double right = ((double)at[labels] - (double)at[0]) * workers.nats / step;
                    const double rest = 0.0 > honest - right ? 0.0 : honest - right;
                    const i64 added = to_integer(rest * beliefs.shares[l * TASKS + t] / rows.bases[cell] * unit);
                    Plain::add_to(mistaken + (i64)l * labels + l, added);
                    for (int i = 0; i < rows.members; i++) {
                        const i32 code = rows.codes[row * rows.members + i];
                        if (code != l) Plain::add_to(mistaken + (i64)code * labels + l, added);
                    }
                }
            },
            [](int) {});
    }

    // Fills in the estimates, and credits the workers with a set that contains them.
    QC_APART void settle(const LabelEstimates& estimates, i64 one, u64 seed, i64* agreed) {
        for (int t = 0; t < count; t++) {
            if (offsets()[t] == offsets()[t + 1] && known()[t] < 0) continue;
            const int truth = estimate(beliefs, labels, t, known()[t], p.draws[first + t], seed, estimates,
                                       first + t, count_best(beliefs, labels, t));
            for (i64 row = offsets()[t] - offsets()[0]; row < offsets()[t + 1] - offsets()[0]; row++)
                if (rows.held[row * labels + truth]) Plain::add_to(agreed + worker(row), one);
        }
    }

    const SetPartition& p;
    const SetWorkers& workers;
    const i64 crowd;  // workers of the partition
    const Array<const double> constancy, log_priors;
    const i64 nodes;
    SetRows rows;
    const int labels;
    Room<double> logs, parts;  // ln b, and how far v is above the node below it, in steps
    Room<i32> below;           // that node
    Room<i64> sums;
    Room<double> memory;
    Echo<TASKS> echo;
    Beliefs<TASKS> beliefs;
    i64 first = 0;
    int count = 0;
    bool any_known = false;
};

static void check_sums(const SetSums& sums, i64 workers, i64 nodes, i64 labels) {
    require(sums.counts.shape[0] == workers && sums.counts.shape[1] == nodes && sums.counts.shape[2] == labels,
            "counts must be one per worker, node and label");
    require(sums.bases.size() == workers, "bases must be one per worker");
    require(sums.held.shape[0] == workers && sums.held.shape[1] == labels, "held must be one per worker and label");
    require(sums.mistaken.shape[0] == labels && sums.mistaken.shape[1] == labels,
            "mistaken must be one per answer and truth");
    require(sums.classes.size() == labels, "classes must be one per label");
}

i64 infer_sets(const SetPartition& partition, const SetSigns& signs, const SetWorkers& workers,
               Array<const double> constancy, Array<const double> log_priors, bool mistakes, const TruthMap& map,
               double unit, double mistake_unit, double told_unit,
               Array<const i64> even, u64 seed, const SetSums& sums, const LabelEstimates& estimates,
               Array<double, 2> posterior) {
    const i64 labels = log_priors.size(), size = sums.agreed.size(), nodes = signs.nodes;
    const bool last = estimates.truths.count > 0;
    check_sets(partition, signs, workers, labels, size);
    check_estimates(estimates, partition.tasks(), labels, even.size());
    check_posterior(posterior, partition.tasks(), labels);
    require(nodes >= 2 && nodes <= 65536, "there must be 2 to 65,536 nodes");
    require(workers.log_odds.shape[0] >= size && workers.log_odds.shape[1] == nodes &&
                workers.log_odds.shape[2] == labels,
            "log-odds must be one per worker, node and label");
    require(constancy.size() >= size, "constancy must be one per worker");
    check_sums(sums, size, nodes, labels);
    check_map(map, sums.told, labels);
    i64 most = MOST_CELLS / labels;
    for (i64 t = 0; t < partition.tasks(); t++)
        most = greater_of(most, partition.offsets[t + 1] - partition.offsets[t]);
    SetBlock block(partition, signs, workers, constancy, log_priors, size, most);
    i64 entropy = 0;
    for (i64 first = 0; block.take(first); first += block.count) {
        Beliefs<TASKS>& beliefs = block.beliefs;
        const i32* known = block.known();
        block.vote();
        if (last || block.any_known) {
            block.vote_expected();
            block.echo.take_twice((int)labels, beliefs.votes);
        }
        if (last) correct<0>(beliefs, (int)labels, block.echo, known, block.count);
        else believe_apart<0>(beliefs, (int)labels, known, block.count);
        leave_out<0>(beliefs, (int)labels, block.offsets(), known, block.count);
        entropy = add(entropy, to_units<0, TASKS, Plain>(beliefs, (int)labels, unit, sums.classes.data));
        block.credit(sums);
        if (mistakes) block.count_mistakes(mistake_unit, sums.mistaken.data);
        if (block.any_known && sums.told.straight.shape[0])
            compare((int)labels, block.offsets(), block.echo, known, block.count, map, told_unit, sums.told);
        if (!last) continue;
        map_truths<0>(beliefs, (int)labels, map, block.echo, known, block.count);
        block.settle(estimates, even[1], seed, sums.agreed.data);
        if (posterior.shape[0]) copy_shares(beliefs, first, block.count, posterior);
    }
    return entropy;
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
