// The kernels of PrisCrowd; see label_kernels.h.
#pragma once
#include "array.h"

#define QC_SYNTHESIS_KERNELS(KERNEL)

namespace quietcrowd {
namespace QC_VARIANT {
}  // namespace QC_VARIANT

struct SynthesisKernels {
#define QC_MEMBER(name) decltype(&QC_VARIANT::name) name;
    QC_SYNTHESIS_KERNELS(QC_MEMBER)
#undef QC_MEMBER
};
}  // namespace quietcrowd
