// The kernels of methods for numbers; see label_kernels.h. All numbers are scaled to -1/2..1/2.
#pragma once
#include "binned_arguments.h"
#include "numbers.h"

#define QC_NUMBER_KERNELS(KERNEL)   \
    KERNEL(infer_means)             \
    KERNEL(infer_medians)           \
    KERNEL(infer_least_losses)      \
    KERNEL(sum_per_task)            \
    KERNEL(evaluate_normal_laplace) \
    KERNEL(evaluate_information)    \
    KERNEL(infer_by_mixture)        \
    KERNEL(fill_exp_minus)          \
    KERNEL(fill_log)                \
    KERNEL(fill_functions)          \
    KERNEL(fill_integers)           \
    KERNEL(fill_fraction_tails)     \
    KERNEL(infer_gaussian)          \
    KERNEL(infer_densities)         \
    KERNEL(blend_distributions)              \
    KERNEL(weigh_distributions)              \
    KERNEL(infer_by_bins)

namespace quietcrowd {
namespace QC_VARIANT {
// Takes the weighted mean of each task's answers for its truth, and tallies how far the answers are.
//   weights      per worker: above 0 and at most 1
//   low, high    bounds of the truths
//   weight_unit  representation of 1.0 in sums over a task's answers
//   error_unit   the same in sums over a worker's
//   squared      per worker, to which squared errors are added
//   estimates    filled unless empty; the standard error is that of a weighted mean of independent
//                answers of unknown variances
void infer_means(const NumberPartition& partition, Array<const double> weights, double low, double high,
                 double weight_unit, double error_unit, Array<i64> squared, const NumberEstimates& estimates);

// The same with the median, which has no standard error: NaN.
void infer_medians(const NumberPartition& partition, double error_unit, Array<i64> squared,
                   const NumberEstimates& estimates);

// Makes the answer with the least loss each task's truth, and tallies the workers' losses.
//   absolute   whether an error costs its amount, and the truth is the weighted median, which has no
//              standard error; or its square, and the truth is the weighted mean
//   power      0, 1 or 2: losses are divided by the standard deviation of the task's answers to this
//              power; if the answers do not differ, there is no loss. A known truth counts as one answer
//              more, so that a loss is at most twice the number of answers
//   loss_unit  representation of 1.0 in sums of a worker's losses
//   losses     per worker, to which losses are added
void infer_least_losses(const NumberPartition& partition, Array<const double> weights, bool absolute, int power,
                        double weight_unit, double error_unit, double loss_unit, Array<i64> squared,
                        Array<i64> losses, const NumberEstimates& estimates);

// GTM: finds the posterior of each task's truth, and tallies expected squared errors. Answers are
// standardised: to the mean and the standard deviation of those of the task that are no outliers.
//   precision_unit  the precision of a worker is this times its weight
//   cut             an outlier is farther from the median than this many standard deviations
//   square_unit     representation of 1.0 in sums of expected squared errors
//   squared, kept   per worker, to which expected squared errors are added, of standardised answers
//                   that are no outliers, and their number
//   evidence        one number, to which the log prior of the truths and the entropy of their posteriors
//                   are added, in units of 2^-24
//   errors          per worker, to which squared errors are added, of all answers as they are
void infer_gaussian(const NumberPartition& partition, Array<const double> weights, double precision_unit,
                    double prior_mean, double prior_precision, double cut, double weight_unit, double square_unit,
                    double error_unit, Array<i64> squared, Array<i64> kept, Array<i64> evidence, Array<i64> errors,
                    const NumberEstimates& estimates);

// KDEm: tallies how far each claim is from its task's density.
//   at_mode  whether the truth is the mode of the density, which has no standard error; or its mean
//   squared  per worker, to which squared errors are added if there are estimates to be filled
//   losses   per worker, to which squared residuals over the number of claims are added: at most 2 each
void infer_densities(const NumberPartition& partition, Array<const double> weights, bool at_mode, double weight_unit,
                     double error_unit, double loss_unit, Array<i64> squared, Array<i64> losses,
                     const NumberEstimates& estimates);

// Fills in the sum of each task's values, in units.
void sum_per_task(Array<const i64> offsets, Array<const double> values, double unit, Array<i64> sums);

// Fills in the log density, the score, the posterior mean and mean square of the normal part, and the curvature,
// a row each, of errors that are normal with standard deviation sigmas[i] and Laplace with scale scales[i]. Both
// are finite and at least 0, and not both 0.
void evaluate_normal_laplace(Array<const double> errors, Array<const double> sigmas, Array<const double> scales,
                             Array<double, 2> values);

// Fills in the Fisher information of such an error about its mean.
void evaluate_information(Array<const double> sigmas, Array<const double> scales, Array<double> information);

// Finds each task's most likely truth, and tallies statistics of the workers. Each answer is the
// truth, a normal error of its worker and Laplace noise together.
//   sigmas      per worker: standard deviation of its errors, in units of the scale; above 0
//   weights     per worker, weight of its log likelihood, above 0 and at most 1
//   scale       of the noise; above 0
//   prior_mean, prior_precision  of the truths; with a precision of 0 there is no prior
//   low, high   bounds of the truths
//   rest        a truth is found when it moves by less than this many standard errors
//   weight_unit, error_unit, square_unit, evidence_unit, truth_unit
//               representation of 1.0: in sums over a task, in squared, in sums, in evidence, in truth_sums
//   squared     per worker, to which squared errors are added; or empty, if there are no estimates
//   sums        [worker, 2], to which are added: expected squares of the worker's errors, and squares of the
//               scores of ln(sigma^2)
//   evidence    to its one place are added the log densities of errors in units of the scale and, with a prior,
//               minus half the logarithms of the truths' precisions
//   truth_sums  to its three places are added: the truths, their squares with their posterior variances, and
//               their number; without tasks that have neither an answer nor a known truth
void infer_by_mixture(const NumberPartition& partition, Array<const double> sigmas, Array<const double> weights,
                      double scale, double prior_mean, double prior_precision, double low, double high, double rest,
                      double weight_unit, double error_unit, double square_unit, double evidence_unit,
                      double truth_unit, Array<i64> squared, Array<i64, 2> sums, Array<i64> evidence,
                      Array<i64> truth_sums, const NumberEstimates& estimates);

// Fill in exp_minus, log_of, those of functions.h in five rows (exp_of, log_of_any, one_minus_exp_minus,
// one_minus_cos, length_of with 1), to_integer, and fraction_tails of pairs of points: for tests.
void fill_exp_minus(Array<const double> numbers, Array<double> values);
void fill_log(Array<const double> numbers, Array<double> values);
void fill_functions(Array<const double> numbers, Array<double, 2> values);
void fill_integers(Array<const double> numbers, Array<i64> values);
void fill_fraction_tails(Array<const double> points, Array<const double> others, Array<double> tails,
                         Array<double> other_tails);

// Fills in each worker's mean log density at every column, in units.
//   beliefs  [worker, distribution]
//   distributions     [distribution, column]: log densities
//   table    [worker, column]
void blend_distributions(Array<const double, 2> beliefs, Array<const double, 2> distributions, Array<i32, 2> table);

// Fills in the expected log density of each worker's answers under each distribution.
//   residuals  [worker, column]: expected answers, in units
//   distributions       [column, distribution]: log densities
//   evidence   [worker, distribution]
void weigh_distributions(Array<const i64, 2> residuals, double unit, Array<const double, 2> distributions, Array<double, 2> evidence);

// Finds the posterior of each task's truth on bins, and tallies its statistics.
//   densities  [column, distribution]: of reports under each distribution of errors, if support is computed
//   weights    [worker, part]: weight of its reports, above 0 and at most 1
//   borne      [worker, part]: their guaranteed weight; empty if no report is capped
//   levels     of the quantiles to be filled in
//   ends       first and last bin, scaled as the values are
//   messages   [task, bin]: log density of the reports, without the prior; filled unless empty
//   quantiles  [task, level]: filled unless empty, scaled; a known truth is all of its quantiles
//   estimates  filled unless empty
void infer_by_bins(const NumberPartition& partition, const BinnedReports& reports, const BinnedPriors& priors,
                   const WorkerDistributions& distributions, const BinnedDistances& distances,
                   const BinnedMap& map, Array<const double, 2> densities, Array<const double, 2> weights, Array<const double, 2> borne,
                   Array<const double> levels, Array<const double> ends,
                   const BinnedUnits& units, const BinnedTally& tally, Array<double, 2> messages, Array<double, 2> quantiles,
                   const NumberEstimates& estimates);
}  // namespace QC_VARIANT

struct NumberKernels {
#define QC_MEMBER(name) decltype(&QC_VARIANT::name) name;
    QC_NUMBER_KERNELS(QC_MEMBER)
#undef QC_MEMBER
};
}  // namespace quietcrowd
