// From log-odds to probabilities of labels. B tasks are side by side: many on a CPU, so that vector
// registers hold several, and one per thread on a GPU. No task's bits depend on B.
// K is the number of labels if the compiler knows it, or 0.
#pragma once
#include "vector_math.h"

namespace quietcrowd {
namespace QC_VARIANT {
constexpr double NO_VOTE = -64.0;  // log-odds of a label without votes: probability 2e-28

template <int B>
struct Beliefs {  // place [label * B + task]
    double *votes, *shares;
    i64* credit;
    double best[B], rest[B];
};

QC_FN double unit_for(int labels) {  // this many shares of at most 1 add up exactly in a double
    double unit = 1125899906842624.0;
    while (unit * labels > WHOLE) unit /= 2.0;
    return unit;
}

template <int K, int B>
QC_FN void believe(Beliefs<B>& b, int many, const i32* known, int count) {
    const int labels = K ? K : many;
    double* QC_RESTRICT votes = b.votes;
    double* QC_RESTRICT shares = b.shares;
    const double unit = unit_for(labels);
    for (int p = 0; p < B; p++) { b.best[p] = votes[p]; b.rest[p] = 0.0; }
    for (int l = 1; l < labels; l++)
        for (int p = 0; p < B; p++) {
            const double vote = votes[l * B + p];
            b.best[p] = vote > b.best[p] ? vote : b.best[p];
        }
    for (int l = 0; l < labels; l++)
        for (int p = 0; p < B; p++) {
            const double share = exp_minus(b.best[p] - votes[l * B + p]);
            shares[l * B + p] = share;
            b.rest[p] += to_whole(share * unit);
        }
    double factor[B];
    for (int p = 0; p < B; p++) { factor[p] = unit / b.rest[p]; b.rest[p] = log_of(b.rest[p] / unit); }
    for (int l = 0; l < labels; l++)
        for (int p = 0; p < B; p++) shares[l * B + p] *= factor[p];
    for (int p = 0; p < count; p++)
        if (QC_UNLIKELY(known[p] >= 0)) {
            for (int l = 0; l < labels; l++) shares[l * B + p] = l == known[p] ? 1.0 : 0.0;
            b.best[p] = votes[known[p] * B + p];
            b.rest[p] = 0.0;
        }
}

// A task with neither an answer nor a known truth has no probabilities.
template <int K, int B>
QC_FN void leave_out(Beliefs<B>& b, int many, const i64* offsets, const i32* known, int count) {
    const int labels = K ? K : many;
    for (int p = 0; p < count; p++)
        if (QC_UNLIKELY(offsets[p] == offsets[p + 1] && known[p] < 0))
            for (int l = 0; l < labels; l++) b.shares[l * B + p] = 0.0;
    for (int p = count; p < B; p++)
        for (int l = 0; l < labels; l++) b.shares[l * B + p] = 0.0;
}

// Fills in credit in units, adds it to the classes, and returns the sum of the entropies.
template <int K, int B, class Adder>
QC_FN i64 to_units(Beliefs<B>& b, int many, double unit, i64* classes) {
    const int labels = K ? K : many;
    const double* QC_RESTRICT votes = b.votes;
    const double* QC_RESTRICT shares = b.shares;
    i64* QC_RESTRICT credit = b.credit;
    u64 entropy = 0;
    for (int l = 0; l < labels; l++) {
        u64 total = 0;
        for (int p = 0; p < B; p++) {
            const double share = shares[l * B + p] * unit;
            const i64 units = to_integer(share);
            credit[l * B + p] = units;
            total += (u64)units;
            entropy += (u64)to_integer(share * (b.rest[p] + (b.best[p] - votes[l * B + p])));
        }
        Adder::add_to(classes + l, (i64)total);
    }
    return (i64)entropy;
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
