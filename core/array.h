// NumPy's arrays for kernels: contiguous, with their sizes; and checks of their contents.
#pragma once
#include <cstdlib>
#include <new>
#include "portable.h"

namespace quietcrowd {
// A[i] of an array of several dimensions is the array at place i of the first.
template <class T, int N = 1> struct Array {
    T* data;
    i64 shape[N];

    QC_FN i64 size() const {
        i64 all = 1;
        for (int i = 0; i < N; i++) all *= shape[i];
        return all;
    }
    QC_FN Array<T, N - 1> operator[](i64 i) const {
        Array<T, N - 1> part{data, {}};
        i64 step = 1;
        for (int d = 1; d < N; d++) step *= part.shape[d - 1] = shape[d];
        part.data += i * step;
        return part;
    }
};

template <class T> struct Array<T, 1> {
    T* data;
    i64 shape[1];

    QC_FN i64 size() const { return shape[0]; }
    QC_FN T& operator[](i64 i) const { return data[i]; }
};

// Codes of labels or reports: 1, 2 or 4 bytes each, unsigned.
template <class Void> struct Codes {
    Void* data;
    i64 count;
    int width;
};

// A task's answers are the rows offsets[task] to offsets[task + 1].
struct LabelPartition {
    Array<const i64> offsets;
    Array<const u32> workers;
    Codes<const void> values;
    Array<const u64> draws;   // a hash of each task's id
    Array<const i32> known;   // the true label if known, otherwise -1

    QC_FN i64 tasks() const { return offsets.size() - 1; }
};

struct NumberPartition {
    Array<const i64> offsets;
    Array<const u32> workers;
    Array<const double> values;
    Array<const double> known;  // the truth if known, otherwise NaN

    QC_FN i64 tasks() const { return offsets.size() - 1; }
};

// Thrown by a kernel; Python raises ValueError. The output is then undefined.
struct Refused {
    const char* text;
    i64 place;  // of a task or of an entry, or -1
};

namespace QC_VARIANT {
[[noreturn]] QC_APART inline void refuse(const char* text, i64 place = -1) {
    throw Refused{text, place};
}
QC_FN void require(bool holds, const char* text, i64 place = -1) {
    if (QC_UNLIKELY(!holds)) refuse(text, place);
}

// Memory of a kernel, all zero at first unless `blank` is false, at a multiple of 64 bytes.
template <class T> struct Room {
    explicit Room(i64 count, bool blank = true) : memory(nullptr), data(nullptr), count(count) {
        if (count < 0 || (u64)count > ((u64)1 << 48) / sizeof(T)) throw std::bad_alloc();
        const size_t bytes = (size_t)count * sizeof(T) + 64;
        memory = blank ? std::calloc(bytes, 1) : std::malloc(bytes);
        if (!memory) throw std::bad_alloc();
        data = (T*)(((size_t)memory + 63) / 64 * 64);
    }
    ~Room() { std::free(memory); }
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    QC_FN T& operator[](i64 i) const { return data[i]; }
    QC_FN operator T*() const { return data; }

    void* memory;
    T* data;
    i64 count;
};

QC_FN u32 read(const Codes<const void>& codes, i64 i) {
    if (codes.width == 1) return ((const u8*)codes.data)[i];
    if (codes.width == 2) return ((const u16*)codes.data)[i];
    return ((const u32*)codes.data)[i];
}
QC_FN void write(const Codes<void>& codes, i64 i, u32 code) {
    if (codes.width == 1) ((u8*)codes.data)[i] = (u8)code;
    else if (codes.width == 2) ((u16*)codes.data)[i] = (u16)code;
    else ((u32*)codes.data)[i] = code;
}

// Rejects arrays of a partition whose lengths do not fit each other.
inline void check_sizes(const LabelPartition& p) {
    require(p.offsets.size() >= 1, "offsets must have one entry more than there are tasks");
    require(p.workers.size() == p.values.count, "worker codes and values must be as many");
    require(p.draws.size() == p.tasks() && p.known.size() == p.tasks(),
            "draws and known truths must be one per task");
}
inline void check_sizes(const NumberPartition& p) {
    require(p.offsets.size() >= 1, "offsets must have one entry more than there are tasks");
    require(p.workers.size() == p.values.size(), "worker codes and values must be as many");
    require(p.known.size() == p.tasks(), "known truths must be one per task");
}

// Rejects offsets of the tasks from `first` on that fall, or leave the rows.
QC_FN void check_offsets(Array<const i64> offsets, i64 rows, i64 first, i64 count) {
    for (i64 t = first; t < first + count; t++)
        if (QC_UNLIKELY(offsets[t] < 0 || offsets[t + 1] < offsets[t] || offsets[t + 1] > rows))
            refuse("offsets fall or leave the rows, at or after task", t);
}

// Rejects codes that are no worker's.
QC_FN void check_workers(const u32* QC_RESTRICT workers, i64 rows, i64 count, i64 task) {
    u32 most = 0;
    for (i64 i = 0; i < rows; i++) most = most > workers[i] ? most : workers[i];
    require(rows == 0 || most < count, "a worker code is out of range, at or after task", task);
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
