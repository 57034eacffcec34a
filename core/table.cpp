// The kernels of one instruction set, for the module to choose from.
#include "table.h"

namespace quietcrowd {
#define QC_ENTRY(name) QC_VARIANT::name,
const Table QC_JOIN(table_of_, QC_VARIANT) = {
    {QC_LABEL_KERNELS(QC_ENTRY)}, {QC_NUMBER_KERNELS(QC_ENTRY)}, {QC_SYNTHESIS_KERNELS(QC_ENTRY)}};
}  // namespace quietcrowd
