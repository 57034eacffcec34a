// The evidence of a report on its worker's accuracy, given the posterior of its task without that report.
// A report is as likely as b (1 + w (exp(v) - 1)) if its worker is right with probability w: v is the
// logarithm of c / b, where c is the report's probability if the worker is right, and b if it is wrong.
// So a histogram of v, and the sum of the logarithms of b, contain everything. A v between two nodes counts
// for both, in proportion. Derivation: research/docs/theory/workers-quality.md.
#pragma once
#include "array.h"
#include "vector_math.h"

namespace quietcrowd {
// The term of a report in the log-odds of the labels, under each of the assumed crowds: trust of its
// worker times the worker's vote, and 1 - trust times the vote of a worker of the crowd.
//   coins      per worker: log-odds of the label that it gives against any other, in units of nats;
//              empty if there are tables
//   tables     from place (worker labels + report) labels on, the log-likelihoods of the report for each
//              truth, in units of nats; empty if there are coins
//   most       no vote of a worker is larger, in absolute value
//   trust      per worker, from 0 to 1
//   crowd      N = 1: per crowd, log-odds of the label that it gives; N = 3: log-likelihoods at
//              [crowd, truth, report]
//   log_priors per label
template <int N> struct CavityVotes {
    Array<const i64> coins;
    Array<const i32> tables;
    double nats, most;
    Array<const double> trust;
    Array<const double, N> crowd;
    Array<const double> log_priors;
};

// How likely a report is under each of several channels.
//   right     N = 3: P(report | truth) at [channel, truth, report] if the answer is right; N = 2: at
//             [channel], the probabilities that a report is the truth, and that it is one other label
//   wrong     N = 3: the same if the answer is wrong; N = 2: not used
//   silent    P(report) at [channel, report] if the worker gave no answer
//   answering per worker: the fraction of its reports that result from a real answer
//   nodes     points at which v is counted, ascending
template <int N> struct ReportDistributions {
    Array<const double, N> right, wrong;
    Array<const double, 2> silent;
    Array<const double> answering, nodes;
};

namespace QC_VARIANT {
constexpr double REPORT_ONE = 1073741824.0;  // representation of a report, and of a log-probability of 1
constexpr double LEAST_PROBABILITY = 1e-11;

// Histograms at [worker, crowd, channel, node], which are added to. One more place than there are nodes
// contains the sum of the logarithms of b.
struct ReportHistograms {
    ReportHistograms(Array<const double> nodes, i64 first_worker, Array<i64, 4> cells)
        : nodes(nodes), first_worker(first_worker), cells(cells) {
        const i64 last = nodes.size() - 1;
        require(last >= 1, "there must be two nodes or more");
        bool rising = nodes[0] >= -1e100 && nodes[last] >= 1e-100 && nodes[last] <= 1e100;
        for (i64 i = 0; i < last; i++) rising &= nodes[i] < nodes[i + 1];
        require(rising, "nodes must be finite numbers, each greater than the one before and the last positive");
        require(cells.shape[3] == nodes.size() + 1, "histograms must have one place more than there are nodes");
        i64 place = 0;
        for (int step = 0; step <= STEPS; step++) {
            const double v = nodes[last] * (2.0 * step / STEPS - 1.0);
            while (place < last - 1 && nodes[place + 1] <= v) place++;
            lookup[step] = place;
        }
    }

    // Adds reports, given their probabilities, to the histograms of their workers; skips workers without
    // one. Overwrites the probabilities.
    QC_APART void add_reports(double* QC_RESTRICT right, double* QC_RESTRICT wrong, const u32* QC_RESTRICT workers,
                              i64 rows, i64 crowd, i64 channel) const {
        const double* QC_RESTRICT at = nodes.data;
        const i64 last = nodes.size() - 1, places = nodes.size() + 1;
        const i64 per_worker = cells.shape[1] * cells.shape[2] * places;
        const double span = at[last], per_step = STEPS / (2.0 * span);
        i64* QC_RESTRICT first = cells.data + (crowd * cells.shape[2] + channel) * places;
        for (i64 row = 0; row < rows; row++) {
            const double low = log_of(wrong[row] > LEAST_PROBABILITY ? wrong[row] : LEAST_PROBABILITY);
            double v = log_of(right[row] > LEAST_PROBABILITY ? right[row] : LEAST_PROBABILITY) - low;
            wrong[row] = low + (v > span ? v - span : 0.0);
            v = v > span ? span : v;
            right[row] = v > -span ? v : -span;
        }
        for (i64 row = 0; row < rows; row++) {
            const u64 worker = (u64)workers[row] - (u64)first_worker;  // huge for one before the first
            if (worker >= (u64)cells.shape[0]) continue;
            const double v = right[row];
            i64 place = lookup[(int)((v + span) * per_step)];
            while (place < last - 1 && at[place + 1] <= v) place++;
            double above = (v - at[place]) / (at[place + 1] - at[place]);
            above = 0.0 > above ? 0.0 : above;
            above = 1.0 < above ? 1.0 : above;
            const i64 part = to_integer(above * REPORT_ONE);
            i64* to = first + worker * per_worker;
            Plain::add_to(to + place, (i64)REPORT_ONE - part);
            Plain::add_to(to + place + 1, part);
            Plain::add_to(to + last + 1, to_integer(wrong[row] * REPORT_ONE));
        }
    }

    static constexpr int STEPS = 256;  // even steps from -span to span, at which the search for v begins
    const Array<const double> nodes;
    const i64 first_worker;
    const Array<i64, 4> cells;
    i64 lookup[STEPS + 1];  // the last node at or below the start of each step
};

// Makes the known label of each task certain, at place [label * stride + row] of the probabilities that
// each report of the task is inferred without. Rows of task t are offsets[t] - offsets[0] and so on.
inline void make_known_certain(const i64* offsets, const i32* known, i64 tasks, i64 labels, i64 stride,
                               double* shares) {
    for (i64 t = 0; t < tasks; t++) {
        if (known[t] < 0) continue;
        for (i64 l = 0; l < labels; l++)
            for (i64 row = offsets[t] - offsets[0]; row < offsets[t + 1] - offsets[0]; row++)
                shares[l * stride + row] = l == known[t] ? 1.0 : 0.0;
    }
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
