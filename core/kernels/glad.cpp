// GLAD: the easiness and the posterior of each task, and statistics of the workers. Sums over rows
// and over labels are of whole numbers, so that no order of additions matters.
#include "../label_kernels.h"

#include "../functions.h"

namespace quietcrowd {
namespace QC_VARIANT {
constexpr double PRIOR_EASE = 1.0;                    // mean of the normal prior of log-easiness; variance 1
constexpr double LEAST_EASE = -4.0, MOST_EASE = 6.0;  // log-easiness stays in this range
constexpr double MOST_BETA = 403.4287934927351;       // exp(MOST_EASE)
constexpr double UNIT = 4294967296.0, NATS = 1.0 / UNIT;
constexpr double FINE = 17592186044416.0;  // 2^44
constexpr double CLOSE = 1e-4;
constexpr double SMALL = 1e-6;
constexpr int MOST_STEPS = 60;

// A block of at most B tasks. Arrays by label and task are at place [label * B + task].
template <int B> struct GladBlock {
    GladBlock(const LabelPartition& p, i64 labels, i64 workers, i64 most_rows)
        : block(p, (int)labels, (int)labels, workers), labels(labels), spread(log_of_any((double)greater_of<i64>(labels - 1, 1))),
          memory(2 * labels * B), added(labels), numbers(3 * most_rows), integers(2 * most_rows), sums(memory),
          counts(sums + labels * B), alphas(numbers), row_betas(alphas + most_rows), leans(row_betas + most_rows),
          first(integers), second(first + most_rows) {}

    // Takes the next tasks: the sum of the abilities of workers with a label, and their number.
    QC_FN bool take(i64 start, const i64* abilities) {
        if (!block.take(start)) return false;
        rows = block.offsets()[block.count] - block.offsets()[0];
        for (i64 i = 0; i < labels * B; i++) counts[i] = 0.0;
        block.for_rows([&](int t, i64 at, i64 row, i64 length, bool more) {
            if (!more)
                for (i64 l = 0; l < labels; l++) added[l] = 0;
            const u32* codes = block.p.workers.data + row;
            double* to = alphas + (row - block.offsets()[0]);
            for (i64 i = 0; i < length; i++) {
                const i64 ability = abilities[codes[i]];
                const u32 answer = block.answers[at + i];
                Plain::add_to(added + answer, ability);
                counts[answer * B + t] += 1.0;
                to[i] = (double)ability * NATS;
            }
            for (i64 l = 0; l < labels; l++) sums[l * B + t] = (double)added[l] * NATS;
        });
        return true;
    }

    // Fills in easiness, also of each row's task, and the posteriors, given log-easiness. A label's
    // log-odds are `beta (sum of abilities) + count ln(labels - 1)`.
    QC_APART void believe_at_ease() {
        for (int t = 0; t < B; t++) betas[t] = MOST_BETA * exp_minus(MOST_EASE - eases[t]);
        for (int t = 0; t < block.count; t++) {
            const double beta = betas[t];
            for (i64 row = row_of(t); row < row_of(t + 1); row++) row_betas[row] = beta;
        }
        double* QC_RESTRICT votes = block.beliefs.votes;
        for (i64 l = 0; l < labels; l++)
            for (int t = 0; t < B; t++) votes[l * B + t] = sums[l * B + t] * betas[t] + counts[l * B + t] * spread;
        believe<0>(block.beliefs, (int)labels, block.known(), block.count);
    }

    // Fills in mean and variance of the sums of abilities over the labels.
    QC_APART void expect() {
        double scales[B];
        const double* QC_RESTRICT shares = block.beliefs.shares;
        for (int t = 0; t < B; t++) {
            scales[t] = NATS;
            means[t] = variances[t] = 0.0;
        }
        for (i64 l = 0; l < labels; l++)
            for (int t = 0; t < B; t++) {
                const double size = std::fabs(sums[l * B + t]);
                scales[t] = size > scales[t] ? size : scales[t];
            }
        for (i64 l = 0; l < labels; l++)
            for (int t = 0; t < B; t++) {
                const double part = sums[l * B + t] / scales[t];
                means[t] += to_whole(shares[l * B + t] * part * FINE);
            }
        for (i64 l = 0; l < labels; l++)
            for (int t = 0; t < B; t++) {
                const double off = sums[l * B + t] / scales[t] - means[t] * (1.0 / FINE);
                variances[t] += to_whole(shares[l * B + t] * off * off * FINE);
            }
        for (int t = 0; t < B; t++) {
            const double scale = scales[t] * (1.0 / FINE);
            means[t] *= scale;
            variances[t] *= scale * scales[t];
        }
    }

    // Fills in the first two derivatives, by beta, of each task's sum of softplus(ability beta).
    QC_APART void pull() {
        const double* QC_RESTRICT of_rows = row_betas;
        const double* QC_RESTRICT abilities = alphas;
        i64* QC_RESTRICT slopes = first;
        i64* QC_RESTRICT curves = second;
        const i64 count = rows;
        for (i64 row = 0; row < count; row++) {
            const double alpha = abilities[row], x = alpha * of_rows[row];
            const double t = exp_minus(std::fabs(x)), high = 1.0 / (1.0 + t);
            slopes[row] = to_integer(alpha * (x >= 0.0 ? high : t * high) * UNIT);
            curves[row] = to_integer(alpha * alpha * t * high * high * UNIT);
        }
        for (int t = 0; t < block.count; t++) {
            i64 total = 0, bent = 0;
            for (i64 row = row_of(t); row < row_of(t + 1); row++) {
                total = add(total, slopes[row]);
                bent = add(bent, curves[row]);
            }
            pulls[t] = (double)total / UNIT;
            bends[t] = (double)bent / UNIT;
        }
    }

    // Moves the log-easiness of each task that has not converged yet; returns the longest move.
    QC_APART double step() {
        for (int t = 0; t < B; t++) {
            const double beta = betas[t], at = eases[t], last = moved[t];
            const double rise = beta * (means[t] - pulls[t]);
            const double slope = rise - (at - PRIOR_EASE);
            const double bend = rise + beta * beta * (variances[t] - bends[t]) - 1.0;
            const double bottom = slope > 0.0 ? at : low[t], top = slope > 0.0 ? high[t] : at;
            double target = at - slope / bend;
            const bool inside = (bend < 0.0) & (bottom <= target) & (target <= top);
            const bool halve = !inside | (std::fabs(target - at) > before[t] / 2.0);
            target = halve ? (bottom + top) / 2.0 : target;
            const bool moves = last >= CLOSE;
            low[t] = moves ? bottom : low[t];
            high[t] = moves ? top : high[t];
            before[t] = moves ? last : before[t];
            eases[t] = moves ? target : at;
            move[t] = moves ? std::fabs(target - at) : 0.0;
            moved[t] = moves ? move[t] : last;
        }
        double longest = 0.0;
        for (int t = 0; t < B; t++) longest = move[t] > longest ? move[t] : longest;
        return longest;
    }

    // Finds the log-easiness at which each task's log-posterior has no slope: Newton's method from the
    // prior mean towards the side that rises, within a bracket that is halved if a step leaves it or is
    // longer than half the step before the last. A task that has converged stays while others move.
    QC_FN void ease() {
        for (int t = 0; t < B; t++) {
            low[t] = LEAST_EASE;
            high[t] = MOST_EASE;
            before[t] = MOST_EASE - LEAST_EASE;
            moved[t] = t < block.count ? MOST_EASE - LEAST_EASE : 0.0;
            eases[t] = PRIOR_EASE;
        }
        for (int i = 0; i < MOST_STEPS; i++) {
            believe_at_ease();
            expect();
            pull();
            if (step() < CLOSE) break;
        }
        believe_at_ease();
    }

    // The sum of the logarithms of the tasks' normalizers, and of their priors.
    QC_FN i64 add_priors(double flat, double rest_unit) const {
        i64 rest = 0;
        for (int t = 0; t < block.count; t++) {
            const double off = eases[t] - PRIOR_EASE;
            const double evidence = block.beliefs.best[t] + block.beliefs.rest[t] - flat - off * off / 2.0;
            rest = add(rest, to_signed(std::nearbyint(evidence * rest_unit)));
        }
        return rest;
    }

    // Fills in slope and curvature of the bound by each answer; returns the rest of all.
    QC_APART i64 bound(double unit, double rest_unit) {
        block.for_rows([&](int t, i64 at, i64 row, i64 length, bool) {
            double* to = leans + (row - block.offsets()[0]);
            const double* shares = block.beliefs.shares + t;
            for (i64 i = 0; i < length; i++) to[i] = shares[(i64)block.answers[at + i] * B] - 0.5;
        });
        const double* QC_RESTRICT of_rows = row_betas;
        const double* QC_RESTRICT abilities = alphas;
        const double* QC_RESTRICT leaning = leans;
        i64* QC_RESTRICT slopes = first;
        i64* QC_RESTRICT curves = second;
        const double unlike = spread;
        const i64 count = rows;
        u64 rest = 0;
        for (i64 row = 0; row < count; row++) {
            const double beta = of_rows[row], x = abilities[row] * beta, lean = leaning[row], size = std::fabs(x);
            const double t = exp_minus(size);
            const double curve = size > SMALL ? (0.5 - t / (1.0 + t)) / (2.0 * size) : 0.125;
            slopes[row] = to_integer(lean * beta * unit);
            curves[row] = to_integer(2.0 * curve * beta * beta * unit);
            const double softplus = (x > 0.0 ? x : 0.0) + log_of(1.0 + t);
            rest += (u64)to_integer(((curve * x - lean) * x - softplus - unlike) * rest_unit);
        }
        return (i64)rest;
    }

    // Adds slope and curvature of the bound by each answer to those of its worker.
    QC_FN void credit(i64* to_pulls, i64* to_bends) const {
        const u32* codes = block.p.workers.data + block.offsets()[0];
        for (i64 row = 0; row < rows; row++) {
            Plain::add_to(to_pulls + codes[row], first[row]);
            Plain::add_to(to_bends + codes[row], second[row]);
        }
    }

    QC_FN i64 row_of(int t) const { return block.offsets()[t] - block.offsets()[0]; }

    LabelBlock<0, B> block;
    const i64 labels;
    const double spread;
    Room<double> memory;
    Room<i64> added;
    Room<double> numbers;
    Room<i64> integers;
    double *sums, *counts, *alphas, *row_betas, *leans;
    i64 *first, *second, rows = 0;
    double eases[B], betas[B], means[B], variances[B], pulls[B] = {}, bends[B] = {};
    double low[B], high[B], before[B], moved[B], move[B];
};

template <int B>
static i64 infer(const LabelPartition& partition, Array<const i64> abilities, i64 labels, i64 most_rows, double unit,
                 double rest_unit, Array<const i64> even, u64 seed, i64* pulls, i64* bends, i64* agreed,
                 const LabelEstimates& estimates, double* easiness) {
    const double flat = log_of_any((double)labels);
    GladBlock<B> tasks(partition, labels, abilities.size(), most_rows);
    i64 rest = 0;
    for (i64 first = 0; tasks.take(first, abilities.data); first = tasks.block.next()) {
        tasks.ease();
        rest = add(rest, tasks.add_priors(flat, rest_unit));
        rest = add(rest, tasks.bound(unit, rest_unit));
        tasks.credit(pulls, bends);
        if (estimates.truths.count == 0) continue;
        for (int t = 0; t < tasks.block.count; t++) easiness[first + t] = tasks.betas[t];
        tasks.block.settle(estimates, even, seed, agreed);
    }
    return rest;
}

i64 infer_with_easiness(const LabelPartition& partition, Array<const i64> abilities, double unit, double rest_unit,
                        Array<const i64> even, u64 seed, Array<i64> pulls, Array<i64> bends, Array<i64> agreed,
                        const LabelEstimates& estimates, Array<double> easiness) {
    const i64 labels = even.size() - 1, workers = abilities.size();
    check_tables(partition, labels, labels, workers, estimates, even.size());
    require(pulls.size() == workers && bends.size() == workers && agreed.size() == workers,
            "pulls, bends and agreements must be one per worker");
    require(easiness.size() == estimates.truths.count, "easiness must be one per estimate");
    check_offsets(partition.offsets, partition.workers.size(), 0, partition.tasks());
    i64 most_rows = MOST_ROWS;  // a longer task is the only one in its block
    for (i64 t = 0; t < partition.tasks(); t++)
        most_rows = greater_of(most_rows, partition.offsets[t + 1] - partition.offsets[t]);
    const auto run = labels <= 32 ? &infer<64> : &infer<8>;
    return run(partition, abilities, labels, most_rows, unit, rest_unit, even, seed, pulls.data, bends.data, agreed.data,
               estimates, easiness.data);
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
