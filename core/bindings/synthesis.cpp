#include "call.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace quietcrowd {
#define QC_DEFINE(name, ...) m.def(#name, call<&Table::synthesis, &SynthesisKernels::name>, __VA_ARGS__)

void define_synthesis(nb::module_& m) {
    QC_DEFINE(kernel_densities, "gaussian"_a, "differences"_a, "bandwidths"_a, "found"_a);
    QC_DEFINE(feature_inners, "gaussian"_a, "differences"_a, "bandwidths"_a, "found"_a);
    QC_DEFINE(kernel_overlaps, "gaussian"_a, "differences"_a, "firsts"_a, "seconds"_a, "found"_a);
    QC_DEFINE(claim_distances, "gaussian"_a, "densities"_a, "distances"_a);
    QC_DEFINE(squared_errors, "gaussian"_a, "first"_a, "end"_a, "densities"_a, "others"_a, "errors"_a);
    QC_DEFINE(hampel_psis, "residuals"_a, "thresholds"_a, "found"_a);
    QC_DEFINE(hampel_losses, "residuals"_a, "thresholds"_a, "found"_a);
    QC_DEFINE(tally_distances, "gaussian"_a, "first"_a, "end"_a, "offsets"_a, "worker_codes"_a, "values"_a,
              "bandwidths"_a, "worker_weights"_a, "unit"_a, "tally"_a);
    QC_DEFINE(weigh_locally, "gaussian"_a, "first"_a, "end"_a, "offsets"_a, "values"_a, "bandwidths"_a, "quantiles"_a,
              "max_iterations"_a, "tolerance"_a, "printed"_a, "weights"_a);
    QC_DEFINE(fill_seed_edges, "offsets"_a, "weights"_a, "least"_a, "total"_a, "edges"_a);
    QC_DEFINE(make_attempts, "claims"_a, "blur_edges"_a, "falls"_a, "passes"_a, "tasks"_a, "words"_a, "candidates"_a,
              "passed"_a);
}
}  // namespace quietcrowd
