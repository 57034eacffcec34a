// The kernels of methods for numbers; see label_kernels.h. All numbers are scaled to -1/2..1/2.
#pragma once
#include "numbers.h"

#define QC_NUMBER_KERNELS(KERNEL) \
    KERNEL(infer_means)           \
    KERNEL(infer_medians)         \
    KERNEL(infer_least_losses)    \
    KERNEL(sum_per_task)

namespace quietcrowd {
namespace QC_VARIANT {
// Takes the weighted mean of each task's answers for its truth, and tallies how far the answers are.
//   weights      per worker: above 0 and at most 1
//   low, high    bounds of the truths
//   weight_unit  what 1.0 is stored as in sums over a task's answers
//   error_unit   the same in sums over a worker's
//   squared      per worker, to which squared errors are added
//   estimates    filled unless empty; the standard error is that of a weighted mean of independent
//                answers of unknown variances
void infer_means(const NumberPartition& partition, Array<const double> weights, double low, double high,
                 double weight_unit, double error_unit, Array<i64> squared, const NumberEstimates& estimates);

// The same with the median, which has no standard error: NaN.
void infer_medians(const NumberPartition& partition, double error_unit, Array<i64> squared,
                   const NumberEstimates& estimates);

// Takes the answer that costs the workers least for each task's truth, and tallies what it costs them.
//   absolute   whether an error costs its amount, and the truth is the weighted median, which has no
//              standard error; or its square, and the truth is the weighted mean
//   power      0, 1 or 2: losses are divided by the standard deviation of the task's answers to this
//              power; if the answers do not differ, there is no loss. A known truth counts as one answer
//              more, so that a loss is at most twice the number of answers
//   loss_unit  what 1.0 is stored as in sums of a worker's losses
//   losses     per worker, to which losses are added
void infer_least_losses(const NumberPartition& partition, Array<const double> weights, bool absolute, int power,
                        double weight_unit, double error_unit, double loss_unit, Array<i64> squared,
                        Array<i64> losses, const NumberEstimates& estimates);

// Fills in the sum of each task's values, in units.
void sum_per_task(Array<const i64> offsets, Array<const double> values, double unit, Array<i64> sums);
}  // namespace QC_VARIANT

struct NumberKernels {
#define QC_MEMBER(name) decltype(&QC_VARIANT::name) name;
    QC_NUMBER_KERNELS(QC_MEMBER)
#undef QC_MEMBER
};
}  // namespace quietcrowd
