// The kernels of PrisCrowd; see label_kernels.h. Claims are sorted by task: those of a task are the rows
// offsets[task] to offsets[task + 1] - 1. `gaussian` selects the kernel of the densities, otherwise it
// is Epanechnikov's. Bandwidths are in the unit of the values, above 0. Kernels that take `first` and
// `end` use and fill only the entries of the tasks from first up to end - 1.
#pragma once
#include "array.h"

#define QC_SYNTHESIS_KERNELS(KERNEL) \
    KERNEL(kernel_densities)         \
    KERNEL(feature_inners)           \
    KERNEL(kernel_overlaps)          \
    KERNEL(claim_distances)          \
    KERNEL(squared_errors)           \
    KERNEL(hampel_psis)              \
    KERNEL(hampel_losses)            \
    KERNEL(tally_distances)          \
    KERNEL(weigh_locally)            \
    KERNEL(fill_seed_edges)          \
    KERNEL(make_attempts)

namespace quietcrowd {
// One density per task.
struct Densities {
    Array<const i64> offsets;
    Array<const double> points;
    Array<const double> weights;     // per row, with the sum 1 in each task
    Array<const double> bandwidths;  // per task

    QC_FN i64 tasks() const { return offsets.size() - 1; }
};

// Thresholds of Hampel's loss, or the quantiles that they are: ascending, at least 0.
struct Hampel {
    double first, second, third;
};

// Claims on the grids of their tasks.
struct GridClaims {
    Array<const i64> offsets;
    Array<const i64> places;      // per claim, in steps of the grid
    Array<const u64> seed_edges;  // see fill_seed_edges
    Array<const double> lifts;    // per task: added to falls before they are rounded down to buckets
};

namespace QC_VARIANT {
// The kernel as a density, at each difference from its center.
void kernel_densities(bool gaussian, Array<const double> differences, Array<const double> bandwidths,
                      Array<double> found);

// The inner product of two kernels of one bandwidth, in the space in which distances are measured.
void feature_inners(bool gaussian, Array<const double> differences, Array<const double> bandwidths,
                    Array<double> found);

// The integral of the product of two kernels of the given bandwidths.
void kernel_overlaps(bool gaussian, Array<const double> differences, Array<const double> firsts,
                     Array<const double> seconds, Array<double> found);

// Fills in the squared distance of each claim's kernel from the density of its task.
void claim_distances(bool gaussian, const Densities& densities, Array<double> distances);

// Fills in, per task, the integral of the squared difference of two densities; NaN if one has no points.
void squared_errors(bool gaussian, i64 first, i64 end, const Densities& densities, const Densities& others,
                    Array<double> errors);

// The derivative of Hampel's loss, and the loss, at residuals of at least 0.
void hampel_psis(Array<const double> residuals, const Hampel& thresholds, Array<double> found);
void hampel_losses(Array<const double> residuals, const Hampel& thresholds, Array<double> found);

// Adds the claims' squared distances from the densities of their tasks to their workers.
//   worker_weights  per worker; the weights of a task's claims are proportional to them, or equal if
//                   they are all 0
//   unit            representation of 1.0 in sums of distances, which are at most 2 each
//   tally           per worker, to which is added
void tally_distances(bool gaussian, i64 first, i64 end, Array<const i64> offsets, Array<const u32> worker_codes,
                     Array<const double> values, Array<const double> bandwidths, Array<const double> worker_weights,
                     double unit, Array<i64> tally);

// Fills in the weights of each task's claims, by iteratively reweighted least squares.
//   quantiles  of a task's residuals under equal weights, 0 to 1: the thresholds of the loss
//   max_iterations, tolerance
//              a task is done when its weights change by no more than this part of the largest
//   printed    whether weights are proportional to the loss, as printed, and not to psi(r) / r
//   weights    per row
void weigh_locally(bool gaussian, i64 first, i64 end, Array<const i64> offsets, Array<const double> values,
                   Array<const double> bandwidths, const Hampel& quantiles, i64 max_iterations, double tolerance,
                   bool printed, Array<double> weights);

// Fills in, per claim, how many words choose it or a claim of its task before it.
//   weights  per claim, at least 0, with the sum 1 in each task that has claims
//   least    per task: the weight that each of its claims has in any case
//   total    the sum of a task's weights
//   edges    per claim. The weight beyond the least weights is assigned by rounding the sums of
//            `weights` of one task only: no other task's claims influence it.
void fill_seed_edges(Array<const i64> offsets, Array<const double> weights, Array<const i64> least, i64 total,
                     Array<u64> edges);

// Makes attempts: choose a claim, blur it, test the candidate.
//   claims      seed edges are for words of 32 bits
//   blur_edges  per step from -reach to reach: how many words of 63 bits choose it or one below it
//   falls       per step 0, 1, 2, ... reach: by how many powers of gamma it is less likely than none
//   passes      with 0, 1, 2, ... claims in its bucket a candidate passes below this word of 63 bits
//   tasks       the task of each attempt; one without claims is invalid
//   words       three per attempt: uniform words of 64 bits for the claim, the step and the test
//   candidates  per attempt, in steps of the grid
//   passed      per attempt
void make_attempts(const GridClaims& claims, Array<const u64> blur_edges, Array<const double> falls,
                   Array<const u64> passes, Array<const i64> tasks, Array<const u64, 2> words,
                   Array<i64> candidates, Array<bool> passed);
}  // namespace QC_VARIANT

struct SynthesisKernels {
#define QC_MEMBER(name) decltype(&QC_VARIANT::name) name;
    QC_SYNTHESIS_KERNELS(QC_MEMBER)
#undef QC_MEMBER
};
}  // namespace quietcrowd
