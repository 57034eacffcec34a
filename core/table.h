// All kernels of one instruction set.
#pragma once
#include "label_kernels.h"
#include "number_kernels.h"
#include "synthesis_kernels.h"

#define QC_JOIN_NAMES(a, b) a##b
#define QC_JOIN(a, b) QC_JOIN_NAMES(a, b)

namespace quietcrowd {
struct Table {
    LabelKernels labels;
    NumberKernels numbers;
    SynthesisKernels synthesis;
};
extern const Table table_of_baseline, table_of_x86_64_v3, table_of_x86_64_v4;
}  // namespace quietcrowd
