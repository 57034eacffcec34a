// From histograms of the workers' reports to the distribution of their accuracies, and to
// that of each worker. Terms are rounded to whole numbers before they are added over workers: no order
// of workers changes a bit.
#include "../label_kernels.h"

#include <memory>
#include <vector>

#include "../functions.h"

namespace quietcrowd {
namespace QC_VARIANT {
constexpr double EVIDENCE_ONE = 1048576.0, COUNT_ONE = 4294967296.0;
constexpr int GRID = 64;           // how many accuracies are distinguished at a time
constexpr int FEWEST_PLACES = 24;  // if fewer places of the grid than this are possible, a finer one follows
constexpr int MOST_LOOKS = 5, MOST_HALVINGS = 10, STARTS = 8;
constexpr double LARGEST_PART = 0.8125;  // of a grid, that it is filled with: (FEWEST_PLACES + 2) / GRID * 2
constexpr double NEVER = 25.0;  // no accuracy is possible with a log-likelihood this far below the best
constexpr double PI = 3.141592653589793;
constexpr int LANES = 16, LAWS = 8;  // places of a grid, and distributions, that are done at once

static i64 padded(i64 count, i64 lanes) { return (count + lanes - 1) / lanes * lanes; }

// A worker's likelihood at each place of a grid, over its greatest. The channels are mixed with their
// weights. Rows of `logs`, one per node, are `stride` apart, a multiple of LANES.
struct Likelihood {
    Likelihood(Array<const double> log_weights, i64 places, i64 grid)
        : log_weights(log_weights), places(places), grid(grid), stride(padded(grid, LANES)),
          at_places(log_weights.size() * stride), likelihood(stride), counts(places), nodes(places) {}

    // Returns the logarithm of the greatest.
    QC_APART double fill(Array<const i64, 2> histograms, const double* logs) {
        double lanes[LANES];
        for (int i = 0; i < LANES; i++) lanes[i] = -INFINITY;
        const i64 channels = log_weights.size();
        for (i64 channel = 0; channel < channels; channel++) {
            const i64* histogram = histograms[channel].data;
            double* QC_RESTRICT to = at_places + channel * stride;
            const double base = (double)histogram[places] / REPORT_ONE + log_weights[channel];
            i64 filled = 0;
            for (i64 place = 0; place < places; place++) {
                counts[filled] = (double)histogram[place] / REPORT_ONE;
                nodes[filled] = place;
                filled += histogram[place] != 0;
            }
            for (i64 start = 0; start < stride; start += LANES) {
                double sums[LANES];
                for (int i = 0; i < LANES; i++) sums[i] = base;
                for (i64 n = 0; n < filled; n++) {
                    const double count = counts[n];
                    const double* QC_RESTRICT from = logs + nodes[n] * stride + start;
                    for (int i = 0; i < LANES; i++) sums[i] += count * from[i];
                }
                for (int i = 0; i < LANES; i++) to[start + i] = sums[i];
            }
            i64 at = 0;
            for (; at + LANES <= grid; at += LANES)
                for (int i = 0; i < LANES; i++) lanes[i] = to[at + i] > lanes[i] ? to[at + i] : lanes[i];
            for (; at < grid; at++) lanes[0] = greater_of(to[at], lanes[0]);
        }
        double most = -INFINITY;
        for (int i = 0; i < LANES; i++) most = greater_of(lanes[i], most);
        double* QC_RESTRICT found = likelihood;
        for (i64 at = 0; at < grid; at++) found[at] = 0.0;
        for (i64 channel = 0; channel < channels; channel++) {
            const double* QC_RESTRICT from = at_places + channel * stride;
            for (i64 at = 0; at < grid; at++) found[at] += exp_minus(most - from[at]);
        }
        return most;
    }

    const Array<const double> log_weights;
    const i64 places, grid, stride;
    Room<double> at_places, likelihood, counts;
    Room<i64> nodes;
};

// Copies rows, which are then `stride` apart.
static void copy_rows(Array<const double, 2> rows, i64 stride, double* to) {
    for (i64 row = 0; row < rows.shape[0]; row++)
        for (i64 i = 0; i < rows.shape[1]; i++) to[row * stride + i] = rows[row][i];
}

static void check_sizes(Array<const i64, 3> histograms, Array<const double> log_weights, i64 places) {
    require(histograms.shape[1] == log_weights.size(), "weights must be one per channel");
    require(histograms.shape[2] == places + 1, "histograms must have one place more than there are nodes");
}

static void fill_logs(double odds, const double* QC_RESTRICT accuracies, i64 count, double* QC_RESTRICT logs) {
    for (i64 at = 0; at < count; at++) logs[at] = log_of((1.0 - accuracies[at]) + accuracies[at] * odds);
}

void fill_report_logs(Array<const double> nodes, Array<const double> accuracies, Array<double, 2> logs) {
    require(logs.shape[0] == nodes.size() && logs.shape[1] == accuracies.size(),
            "logarithms must be one per node and accuracy");
    for (i64 place = 0; place < nodes.size(); place++)
        fill_logs(exp_of(nodes[place]), accuracies.data, accuracies.size(), logs[place].data);
}

void add_evidences(Array<const i64, 3> histograms, Array<const double, 2> logs, Array<const double> log_weights,
                   Array<const double, 2> crowds, Array<i64> sums) {
    const i64 places = logs.shape[0], grid = logs.shape[1], distributions = crowds.shape[0], step = padded(distributions, LAWS);
    check_sizes(histograms, log_weights, places);
    require(crowds.shape[1] == grid, "probabilities must be one per distribution and place of the grid");
    require(sums.size() == distributions, "sums must be one per distribution");
    Likelihood worker(log_weights, places, grid);
    Room<double> rows(places * worker.stride), columns(grid * step), totals(step);
    copy_rows(logs, worker.stride, rows);
    for (i64 distribution = 0; distribution < distributions; distribution++)
        for (i64 at = 0; at < grid; at++) columns[at * step + distribution] = crowds[distribution][at];
    for (i64 w = 0; w < histograms.shape[0]; w++) {
        const double most = worker.fill(histograms[w], rows);
        const double* QC_RESTRICT likelihood = worker.likelihood;
        for (i64 start = 0; start < step; start += LAWS) {
            double total[LAWS] = {};
            const double* QC_RESTRICT from = columns + start;
            for (i64 at = 0; at < grid; at++)
                for (int i = 0; i < LAWS; i++) total[i] += from[at * step + i] * likelihood[at];
            for (int i = 0; i < LAWS; i++) totals[start + i] = total[i];
        }
        const double* QC_RESTRICT total = totals;
        i64* QC_RESTRICT to = sums.data;
        for (i64 distribution = 0; distribution < distributions; distribution++) {
            const double evidence = most + log_of(1e-300 > total[distribution] ? 1e-300 : total[distribution]);
            to[distribution] = add(to[distribution], to_integer(evidence * EVIDENCE_ONE));
        }
    }
}

void add_crowd_counts(Array<const i64, 3> histograms, Array<const double, 2> logs, Array<const double> log_weights,
                      Array<const double> crowd, Array<i64> sums) {
    const i64 places = logs.shape[0], grid = logs.shape[1];
    check_sizes(histograms, log_weights, places);
    require(crowd.size() == grid && sums.size() == grid, "probabilities and sums must be one per place of the grid");
    Likelihood worker(log_weights, places, grid);
    Room<double> rows(places * worker.stride), masses(grid);
    copy_rows(logs, worker.stride, rows);
    for (i64 w = 0; w < histograms.shape[0]; w++) {
        worker.fill(histograms[w], rows);
        const double* QC_RESTRICT likelihood = worker.likelihood;
        const double* QC_RESTRICT prior = crowd.data;
        double* QC_RESTRICT mass = masses;
        i64* QC_RESTRICT to = sums.data;
        for (i64 at = 0; at < grid; at++) mass[at] = prior[at] * likelihood[at];
        double total = 0.0;
        for (i64 at = 0; at < grid; at++) total += mass[at];
        for (i64 at = 0; at < grid; at++) to[at] = add(to[at], to_integer(mass[at] / total * COUNT_ONE));
    }
}

static i64 to_nearest(double x) { return to_signed(std::rint(x)); }

// The density of a distribution at an angle, between the middles of the whole range's grid.
QC_FN double density_at(const double* crowd, double angle) {
    const double at = angle / PI * GRID - 0.5;
    const i64 place = lesser_of<i64>(greater_of<i64>(to_signed(std::floor(at)), 0), GRID - 2);
    double above = at - (double)place;
    above = 0.0 > above ? 0.0 : above;
    above = 1.0 < above ? 1.0 : above;
    return crowd[place] * (1.0 - above) + crowd[place + 1] * above;
}

// A grid of even steps between two angles, where an angle t is the accuracy sin(t/2)^2.
struct Look {
    // Of the distribution `crowd`, from an angle on.
    Look(double low, double length, const double* crowd, const double* odds, i64 places)
        : low(low), step(length / GRID), logs(places * GRID) {
        for (int at = 0; at <= GRID; at++) edges[at] = one_minus_cos(low + length * at / GRID) / 2.0;
        for (int at = 0; at < GRID; at++) middles[at] = one_minus_cos(low + length * (at + 0.5) / GRID) / 2.0;
        for (int at = 0; at < GRID; at++) density[at] = density_at(crowd, low + step * (at + 0.5));
        for (i64 place = 0; place < places; place++) fill_logs(odds[place], middles, GRID, logs + place * GRID);
    }

    const double low, step;
    double edges[GRID + 1], middles[GRID], density[GRID];
    Room<double> logs;
};

// Grids that workers share: of the whole range, of half of it and so on, beginning at multiples of 1 / STARTS of
// their length. They are filled when they are needed.
struct Looks {
    Looks(Array<const double> nodes, const double* crowd) : places(nodes.size()), crowd(crowd), odds(places) {
        for (i64 place = 0; place < places; place++) odds[place] = exp_of(nodes[place]);
        for (int halved = 0; halved <= MOST_HALVINGS; halved++) looks[halved].resize((size_t)last_start(halved) + 1);
    }

    static double length(int halved) { return PI / (double)((i64)1 << halved); }
    static i64 last_start(int halved) { return STARTS * (((i64)1 << halved) - 1); }

    // The finest grid, halved at least so often, that contains all between two angles, with a margin.
    const Look& around(double low, double high, int& halved) {
        while (halved < MOST_HALVINGS && high - low <= LARGEST_PART * length(halved + 1)) halved++;
        const double whole = length(halved), start = ((low + high) / 2.0 - whole / 2.0) / whole * STARTS;
        const i64 place = lesser_of(greater_of<i64>(to_nearest(start), 0), last_start(halved));
        std::unique_ptr<Look>& look = looks[halved][(size_t)place];
        if (!look) look.reset(new Look((double)place * (whole / STARTS), whole, crowd, odds, places));
        return *look;
    }

    const i64 places;
    const double* crowd;
    Room<double> odds;
    std::vector<std::unique_ptr<Look>> looks[MOST_HALVINGS + 1];
};

// The accuracy below which this part of the mass lies. Mass is even between edges.
static double quantile(const double* edges, const double* masses, double left) {
    for (int at = 0; at < GRID; at++) {
        if (left <= masses[at] && masses[at] > 0.0)
            return edges[at] + (edges[at + 1] - edges[at]) * left / masses[at];
        left -= masses[at];
    }
    return edges[GRID];
}

void estimate_accuracies(Array<const i64, 3> histograms, Array<const double> nodes, Array<const double> log_weights,
                         Array<const double> crowd, double tail, Array<double, 2> found) {
    const i64 places = nodes.size(), workers = histograms.shape[0];
    check_sizes(histograms, log_weights, places);
    require(crowd.size() == GRID, "there must be 64 probabilities of accuracies");
    require((found.shape[0] == 3 || found.shape[0] == 4) && found.shape[1] == workers, "there must be room for three or four numbers per worker");
    Likelihood worker(log_weights, places, GRID);
    Looks looks(nodes, crowd.data);
    double* masses = worker.likelihood;
    const double never = exp_minus(NEVER);
    for (i64 w = 0; w < workers; w++) {
        int halved = 0;
        const Look* look = &looks.around(0.0, PI, halved);
        for (int count = 1;; count++) {
            worker.fill(histograms[w], look->logs);
            const double step = look->step;
            int first = GRID, last = 0;
            for (int at = 0; at < GRID; at++) masses[at] *= look->density[at];
            double most = masses[0];
            for (int at = 1; at < GRID; at++) most = masses[at] > most || masses[at] != masses[at] ? masses[at] : most;
            const double least = most * never;
            for (int at = 0; at < GRID; at++)
                if (masses[at] > least) {
                    first = lesser_of(first, at);
                    last = at;
                }
            if (last - first + 1 >= FEWEST_PLACES || count == MOST_LOOKS) break;
            look = &looks.around(look->low + step * greater_of(first - 1, 0), look->low + step * lesser_of(last + 2, GRID), halved);
        }
        double total = 0.0, weighted = 0.0;
        for (int at = 0; at < GRID; at++) total += masses[at];
        for (int at = 0; at < GRID; at++) weighted += masses[at] * look->middles[at];
        found[0][w] = weighted / total;
        found[1][w] = quantile(look->edges, masses, tail * total);
        found[2][w] = quantile(look->edges, masses, (1.0 - tail) * total);
        if (found.shape[0] == 4) found[3][w] = quantile(look->edges, masses, 0.5 * total);
    }
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
