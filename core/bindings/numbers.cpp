#include "call.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace quietcrowd {
#define QC_DEFINE(name, ...) m.def(#name, call<&Table::numbers, &NumberKernels::name>, __VA_ARGS__)

void define_numbers(nb::module_& m) {
    QC_DEFINE(infer_means, "partition"_a, "weights"_a, "low"_a, "high"_a, "weight_unit"_a, "error_unit"_a, "squared"_a,
              "estimates"_a);
    QC_DEFINE(infer_medians, "partition"_a, "error_unit"_a, "squared"_a, "estimates"_a);
    QC_DEFINE(infer_least_losses, "partition"_a, "weights"_a, "absolute"_a, "power"_a, "weight_unit"_a, "error_unit"_a,
              "loss_unit"_a, "squared"_a, "losses"_a, "estimates"_a);
    QC_DEFINE(infer_gaussian, "partition"_a, "weights"_a, "precision_unit"_a, "prior_mean"_a, "prior_precision"_a,
              "cut"_a, "weight_unit"_a, "square_unit"_a, "error_unit"_a, "squared"_a, "kept"_a, "evidence"_a,
              "errors"_a, "estimates"_a);
    QC_DEFINE(infer_densities, "partition"_a, "weights"_a, "at_mode"_a, "weight_unit"_a, "error_unit"_a,
              "loss_unit"_a, "squared"_a, "losses"_a, "estimates"_a);
    QC_DEFINE(sum_per_task, "offsets"_a, "values"_a, "unit"_a, "sums"_a);
    QC_DEFINE(evaluate_normal_laplace, "errors"_a, "sigmas"_a, "scales"_a, "values"_a);
    QC_DEFINE(evaluate_information, "sigmas"_a, "scales"_a, "information"_a);
    QC_DEFINE(infer_by_mixture, "partition"_a, "sigmas"_a, "weights"_a, "scale"_a, "prior_mean"_a, "prior_precision"_a,
              "low"_a, "high"_a, "rest"_a, "weight_unit"_a, "error_unit"_a, "square_unit"_a, "evidence_unit"_a,
              "truth_unit"_a, "squared"_a, "sums"_a, "evidence"_a, "truth_sums"_a, "estimates"_a);
    QC_DEFINE(fill_exp_minus, "numbers"_a, "values"_a);
    QC_DEFINE(fill_log, "numbers"_a, "values"_a);
    QC_DEFINE(fill_functions, "numbers"_a, "values"_a);
    QC_DEFINE(fill_integers, "numbers"_a, "values"_a);
    QC_DEFINE(fill_fraction_tails, "points"_a, "others"_a, "tails"_a, "other_tails"_a);
    QC_DEFINE(blend_distributions, "beliefs"_a, "distributions"_a, "table"_a);
    QC_DEFINE(weigh_distributions, "residuals"_a, "unit"_a, "distributions"_a, "evidence"_a);
    QC_DEFINE(infer_by_bins, "partition"_a, "reports"_a, "priors"_a, "distributions"_a, "distances"_a, "line"_a, "densities"_a, "weights"_a,
              "borne"_a, "levels"_a, "ends"_a, "units"_a, "tally"_a, "messages"_a, "quantiles"_a, "estimates"_a);
}
}  // namespace quietcrowd
