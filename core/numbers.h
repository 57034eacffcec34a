// Answers that are numbers: reading the tasks of a partition, and the sums over a task's answers that
// methods share. Sums are of whole units, so that the order of the answers changes no bit.
#pragma once
#include "array.h"
#include "functions.h"

namespace quietcrowd {
// The results of a last pass for each task; empty arrays in other passes.
struct NumberEstimates {
    Array<double> truths;
    Array<double> standard_errors;
    Array<double> spreads;  // root mean square of the answers' distances from the truth
};

struct NumberTask {
    i64 start, count;  // of its rows in the partition
    const u32* workers;
    const double* values;
    double known;  // the truth if known, otherwise NaN
};

namespace QC_VARIANT {
constexpr double LEAST_SPREAD = 1e-12;  // answers that differ by no more of the range count as all equal
constexpr double LARGEST_UNIT = 1125899906842624.0;  // 2^50: to_integer takes numbers up to 1 in units of it
constexpr double TWO_TO_61 = 2305843009213693952.0;
constexpr i64 ROWS_AT_ONCE = 4096;

constexpr i64 SHORT = 16;  // answers of a task below which vectors cost more than they save

// Keeps a compiler from making a loop a loop over vectors.
QC_FN void stay_scalar() {
#if defined(__GNUC__) && !defined(__CUDACC__)
    __asm__ volatile("");
#endif
}

QC_FN bool is_nan(double x) { return x != x; }

// As to_signed(rint(x)), for any number.
QC_FN i64 to_nearest(double x) { return to_signed(std::rint(x)); }

// Rejects a partition or estimates of inconsistent sizes, and offsets that fall or leave the rows.
inline void check_numbers(const NumberPartition& p, const NumberEstimates& e) {
    check_sizes(p);
    check_offsets(p.offsets, p.workers.size(), 0, p.tasks());
    require(e.standard_errors.size() == e.truths.size() && e.spreads.size() == e.truths.size() &&
                (e.truths.size() == 0 || e.truths.size() == p.tasks()),
            "estimates must be one per task, or none");
}

// How many answers a task has at most; of offsets that are checked.
inline i64 longest_of(Array<const i64> offsets) {
    i64 longest = 0;
    for (i64 t = 0; t < offsets.size() - 1; t++) longest = greater_of(longest, offsets[t + 1] - offsets[t]);
    return longest;
}

// Calls each(place of the task, task) for all tasks of a partition with checked offsets. Worker
// codes are checked here, those of some tasks at once: they are then still in the cache.
template <class Each> QC_FN void for_tasks(const NumberPartition& p, i64 workers, Each each) {
    for (i64 first = 0, end; first < p.tasks(); first = end) {
        const i64 start = p.offsets[first];
        end = first + 1;
        while (end < p.tasks() && p.offsets[end + 1] - start <= ROWS_AT_ONCE) end++;
        check_workers(p.workers.data + start, p.offsets[end] - start, workers, first);
        for (i64 t = first; t < end; t++) {
            const i64 row = p.offsets[t];
            each(t, NumberTask{row, p.offsets[t + 1] - row, p.workers.data + row, p.values.data + row, p.known[t]});
        }
    }
}

// Adds the squared errors of a task's answers to their workers; returns their sum.
QC_FN i64 add_squared(const NumberTask& task, double truth, double unit, i64* squared) {
    i64 total = 0;
    for (i64 i = 0; i < task.count; i++) {
        const double error = task.values[i] - truth;
        const i64 credit = to_integer(error * error * unit);
        Plain::add_to(squared + task.workers[i], credit);
        total = add(total, credit);
    }
    return total;
}

// From a sum of squares in units; 0 of none.
QC_FN double root_mean_square(i64 squares, double unit, i64 count) {
    return std::sqrt((double)squares / unit / (double)greater_of<i64>(count, 1));
}

struct WeightedMean {
    double mean;
    i64 total;  // of the weights, in units
};

// The mean of a task's answers, with weights of workers; 0 without any.
QC_FN WeightedMean weighted_mean_of(const NumberTask& task, const double* weights, double unit) {
    i64 total = 0, weighted = 0;
    const auto add_answer = [&](i64 i) {
        const double weight = weights[task.workers[i]] * unit;
        total = add(total, to_integer(weight));
        weighted = add(weighted, to_integer(weight * task.values[i]));
    };
    if (task.count < SHORT)
        for (i64 i = 0; i < task.count; i++) {
            stay_scalar();
            add_answer(i);
        }
    else
        for (i64 i = 0; i < task.count; i++) add_answer(i);
    return {total > 0 ? (double)weighted / (double)total : 0.0, total};
}

// That of a weighted mean of independent answers of unknown variances; NaN of fewer than two.
QC_FN double standard_error_of(const NumberTask& task, const double* weights, double unit, WeightedMean found) {
    if (task.count < 2) return NAN;
    require(found.total != 0, "all weights are 0 in a task whose first answer has place", task.start);
    i64 moved = 0;
    for (i64 i = 0; i < task.count; i++) {
        const double part = weights[task.workers[i]] * (task.values[i] - found.mean);
        moved = add(moved, to_integer(part * part * unit));
    }
    const double count = (double)task.count;
    return std::sqrt((double)moved * unit * count / (double)(task.count - 1)) / (double)found.total;
}

// The standard deviation of a task's answers, with its known truth if there is one.
QC_FN double spread_of(const NumberTask& task) {
    const double unit = lesser_of(LARGEST_UNIT, TWO_TO_61 / (double)(task.count + 2)), known = task.known;
    const double* values = task.values;
    i64 count = task.count, total = 0;
    for (i64 i = 0; i < task.count; i++) total = add(total, to_integer(values[i] * unit));
    if (!is_nan(known)) {
        count++;
        total = add(total, to_integer(known * unit));
    }
    if (count == 0) return 0.0;
    const double mean = (double)total / unit / (double)count;
    double farthest = is_nan(known) ? 0.0 : std::fabs(known - mean);
    for (i64 i = 0; i < task.count; i++) farthest = greater_of(std::fabs(values[i] - mean), farthest);
    if (farthest == 0.0) return 0.0;
    i64 squared = 0;  // of distances in units of the farthest: squares keep their digits
    for (i64 i = 0; i < task.count; i++) {
        const double part = (values[i] - mean) / farthest;
        squared = add(squared, to_integer(part * part * unit));
    }
    if (!is_nan(known)) {
        const double part = (known - mean) / farthest;
        squared = add(squared, to_integer(part * part * unit));
    }
    return std::sqrt((double)squared / unit / (double)count) * farthest;
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
