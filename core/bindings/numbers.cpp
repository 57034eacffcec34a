#include "call.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace quietcrowd {
#define QC_DEFINE(name, ...) m.def(#name, call<&Table::numbers, &NumberKernels::name>, __VA_ARGS__)

void define_numbers(nb::module_&) {
}
}  // namespace quietcrowd
