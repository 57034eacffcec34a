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
    QC_DEFINE(sum_per_task, "offsets"_a, "values"_a, "unit"_a, "sums"_a);
}
}  // namespace quietcrowd
