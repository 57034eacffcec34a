// Log densities of a report of a number given each bin of the truth, in units of 1 / TABLE_ONE, and
// statistics of workers.
//
// A report has a place: that of the log density given the first bin among the columns of the
// distributions of errors; those given the next bins follow. The term of the ends of the
// range is at another place, its ratio. Workers with many reports have a row of a table: the mean
// over their distributions at all columns, and a tally of expected answers there. The information of others' reports is
// worked out report by report; log densities are the same to the bit.
#pragma once
#include <cmath>

#include "binned_arguments.h"
#include "vector_math.h"

namespace quietcrowd {
namespace QC_VARIANT {
constexpr double TABLE_ONE = 4194304.0;  // 2^22: log densities lie within 500 of 0
constexpr int BLOCK = 32;                // number of bins that are credited at a time

// (double)x: a loop over it becomes vector code even if the processor has no such instruction.
QC_FN double to_double(i64 x) {
#if defined(__SSE2__) && !defined(__AVX512DQ__)
    const u64 bits = (u64)x;
    const double high = number_of((i64)((bits ^ ((u64)1 << 63)) >> 32 | 0x4530000000000000ULL));  // 2^84
    const double low = number_of((i64)((bits & 0xFFFFFFFFULL) | (u64)WHOLE_BITS));
    return (high - number_of(0x4530000080100000LL)) + low;  // less 2^84 + 2^63 + 2^52
#else
    return (double)x;
#endif
}

template <int W> struct Reals {  // W numbers side by side
    double x[W];
    static QC_FN Reals load(const double* from) {
        Reals a;
        for (int i = 0; i < W; i++) a.x[i] = from[i];
        return a;
    }
    static QC_FN Reals times(Reals a, Reals b) {
        for (int i = 0; i < W; i++) a.x[i] *= b.x[i];
        return a;
    }
    static QC_FN Reals plus(Reals a, double share, Reals b) {
        for (int i = 0; i < W; i++) a.x[i] += share * b.x[i];
        return a;
    }
};

// Fills in the mean log density at `BLOCK` columns from one on.
QC_FN void blend_block(const double* beliefs, const double* distributions, i64 count, i64 step, double* QC_RESTRICT mean) {
    constexpr int W = 4, N = BLOCK / W;
    Reals<W> total[N] = {};
    for (i64 distribution = 0; distribution < count; distribution++) {
        const double belief = beliefs[distribution] * TABLE_ONE;
        for (int i = 0; i < N; i++)
            total[i] = Reals<W>::plus(total[i], belief, Reals<W>::load(distributions + distribution * step + W * i));
    }
    for (int i = 0; i < N; i++)
        for (int k = 0; k < W; k++) mean[W * i + k] = total[i].x[k];
}

// Adds the log density at some columns given each bin.
QC_APART inline void add_blended(const WorkerDistributions& distributions, i64 worker, i64 place, i64 bins, i64* QC_RESTRICT row) {
    const double* beliefs = distributions.beliefs[worker].data;
    for (i64 b = 0; b < bins; b += BLOCK) {
        double mean[BLOCK];
        blend_block(beliefs, distributions.by_distribution.data + place + b, distributions.distributions(), distributions.columns(), mean);
        for (int i = 0; i < BLOCK; i++) row[b + i] = add(row[b + i], to_integer(mean[i]));
    }
}
QC_FN void add_table(const i32* QC_RESTRICT from, i64 bins, i64* QC_RESTRICT row) {
    for (i64 b = 0; b < bins; b++) row[b] = add(row[b], from[b]);
}

// Adds a report's log density given each bin; `at` is the place of its first column in the table, or negative.
QC_FN void add_report(const WorkerDistributions& distributions, i64 worker, i64 at, i64 place, i64 ratio, i64 bins, i64* row) {
    if (at < 0) {
        add_blended(distributions, worker, place, bins, row);
        if (ratio >= 0) add_blended(distributions, worker, ratio, bins, row);
        return;
    }
    add_table(distributions.table.data + at, bins, row);
    if (ratio >= 0) add_table(distributions.table.data + at + (ratio - place), bins, row);
}

// Makes log densities of an answer those of a report that may replace a missing answer; `missing` is the log
// density of that, with its odds.
QC_APART inline void mix(double missing, i64 bins, i64* QC_RESTRICT row) {
    for (i64 b = 0; b < bins; b++) {
        const double apart = to_double(row[b]) / TABLE_ONE - missing;
        const double density = greater_of(0.0, apart) + missing + log_of(1.0 + exp_minus(std::fabs(apart)));
        row[b] = to_integer(density * TABLE_ONE);
    }
}

// Adds a truth's posterior, in units, to the columns of a report; whole blocks from bin to bin.
QC_FN void credit(const i64* QC_RESTRICT counts, i64 first, i64 last, i64* QC_RESTRICT columns) {
    const i64 end = (last + BLOCK - 1) / BLOCK * BLOCK;
    for (i64 b = first / BLOCK * BLOCK; b < end; b++) columns[b] = add(columns[b], counts[b]);
}

// Adds to the sums of W distributions the terms of `row` at each of `count` places in turn.
template <int W, class Row> QC_FN void sum_part(i64 distribution, i64 count, double* sums, Row row) {
    Reals<W> total = Reals<W>::load(sums + distribution);
    for (i64 i = 0; i < count; i++) {
        QC_PREFETCH(sums + distribution);  // keeps GCC from adding up several places at once, with many shuffles
        total = row(total, i, distribution);
    }
    for (int k = 0; k < W; k++) sums[distribution + k] = total.x[k];
}
template <class Row> QC_FN void sum_distributions(i64 distributions, i64 count, double* sums, Row row) {
    i64 distribution = 0;
    for (; distribution + 16 <= distributions; distribution += 16) sum_part<16>(distribution, count, sums, row);
    for (; distribution + 4 <= distributions; distribution += 4) sum_part<4>(distribution, count, sums, row);
    for (; distribution < distributions; distribution++) sum_part<1>(distribution, count, sums, row);
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
