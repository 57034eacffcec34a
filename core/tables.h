// Rows of int32 tables, one per worker and answer, added up over the answers of a task; and credit
// added to rows of int64 tables. Integers: the order of the answers changes no bit.
#pragma once
#include "portable.h"

namespace quietcrowd {
namespace QC_VARIANT {
constexpr int AHEAD = 24;  // answers that a row is fetched in advance

template <int W> struct Lanes {  // W integers of 64 bits, that wrap
    u64 x[W];
    static QC_FN Lanes widened(const i32* from) {
        Lanes a;
        for (int i = 0; i < W; i++) a.x[i] = (u64)(i64)from[i];
        return a;
    }
    static QC_FN Lanes load(const i64* from) {
        Lanes a;
        for (int i = 0; i < W; i++) a.x[i] = (u64)from[i];
        return a;
    }
    static QC_FN void store(i64* to, Lanes a) {
        for (int i = 0; i < W; i++) to[i] = (i64)a.x[i];
    }
    static QC_FN Lanes plus(Lanes a, Lanes b) {
        for (int i = 0; i < W; i++) a.x[i] += b.x[i];
        return a;
    }
};

// From every `step`-th place: in registers, as a vector load would wait for narrower stores before it.
template <int W> QC_FN Lanes<W> spread(const i64* from, int step) {
    Lanes<W> a;
    for (int i = 0; i < W; i++) a.x[i] = (u64)from[i * step];
    return a;
}

// Adds up W N labels of every answer's row, in registers. `records` goes on for AHEAD places.
template <int W, int N>
QC_FN void gather_part(const u32* records, i64 rows, const i32* table, int labels, bool more, i64* sums) {
    Lanes<W> total[N] = {};
    if (QC_UNLIKELY(more)) for (int i = 0; i < N; i++) total[i] = Lanes<W>::load(sums + W * i);
    for (i64 row = 0; row < rows; row++) {
        const i32* from = table + (u64)records[row] * labels;
        const i32* later = table + (u64)records[row + AHEAD] * labels;
        QC_PREFETCH(later);
        if (W * N >= 16) QC_PREFETCH(later + W * N - 1);
        for (int i = 0; i < N; i++) total[i] = Lanes<W>::plus(total[i], Lanes<W>::widened(from + W * i));
    }
    for (int i = 0; i < N; i++) Lanes<W>::store(sums + W * i, total[i]);
}

template <int W, int N>
QC_FN void scatter_part(const u32* records, i64 rows, const i64* credit, int step, int labels, i64* table) {
    Lanes<W> share[N];
    for (int i = 0; i < N; i++) share[i] = spread<W>(credit + W * i * step, step);
    for (i64 row = 0; row < rows; row++) {
        i64* to = table + (u64)records[row] * labels;
        const i64* later = table + (u64)records[row + AHEAD] * labels;
        for (int i = 0; i < W * N; i += 8) QC_PREFETCH(later + i);
        if (W * N >= 8) QC_PREFETCH(later + W * N - 1);
        for (int i = 0; i < N; i++) Lanes<W>::store(to + W * i, Lanes<W>::plus(Lanes<W>::load(to + W * i), share[i]));
    }
}

// `many` labels are done 16, 8, 4, 2 and 1 at a time; the compiler removes steps that K does not need.
#define QC_PARTS(PART, ...)                                            \
    const int labels = K ? K : many;                                   \
    int l = 0;                                                         \
    for (; l + 16 <= labels; l += 16) PART<4, 4>(__VA_ARGS__);         \
    if (l + 8 <= labels) { PART<4, 2>(__VA_ARGS__); l += 8; }          \
    if (l + 4 <= labels) { PART<4, 1>(__VA_ARGS__); l += 4; }          \
    if (l + 2 <= labels) { PART<2, 1>(__VA_ARGS__); l += 2; }          \
    if (l < labels) PART<1, 1>(__VA_ARGS__)

template <int K>
QC_FN void gather(const u32* records, i64 rows, const i32* table, int many, bool more, i64* sums) {
    QC_PARTS(gather_part, records, rows, table + l, labels, more, sums + l);
}
template <int K>
QC_FN void scatter(const u32* records, i64 rows, const i64* credit, int step, int many, i64* table) {
    QC_PARTS(scatter_part, records, rows, credit + l * step, step, labels, table + l);
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
