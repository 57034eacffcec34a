// The kernels of methods for numbers; see label_kernels.h.
#pragma once
#include "array.h"

#define QC_NUMBER_KERNELS(KERNEL)

namespace quietcrowd {
namespace QC_VARIANT {
}  // namespace QC_VARIANT

struct NumberKernels {
#define QC_MEMBER(name) decltype(&QC_VARIANT::name) name;
    QC_NUMBER_KERNELS(QC_MEMBER)
#undef QC_MEMBER
};
}  // namespace quietcrowd
