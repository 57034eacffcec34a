// Which label wins a tie: a hash of the seed and the task.
#pragma once
#include "portable.h"

namespace quietcrowd {
namespace QC_VARIANT {
QC_FN u64 scramble(u64 word) {  // the last steps of splitmix64
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9ULL;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBULL;
    return word ^ (word >> 31);
}

// One of the `tied` labels with the vote `best`; votes are `step` apart.
template <class Votes>
QC_FN int pick_tied(const Votes* votes, int labels, int step, Votes best, int tied, u64 draw, u64 seed) {
    u64 left = ((scramble(draw ^ scramble(seed)) >> 32) * (u64)tied) >> 32;
    for (int label = 0; label < labels; label++)
        if (votes[label * step] == best && left-- == 0) return label;
    return 0;
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
