// Differences of compilers and devices. The same headers are compiled for CPUs (GCC, Clang,
// clang-cl, MSVC) and for GPUs (nvcc, NVRTC).
//
// A kernel is compiled once for each instruction set, with QC_VARIANT its name. All code lies in a
// namespace of that name: the linker must not merge a function compiled for one set with that of
// another. For the same reason no function template of the C++ library is used on simple types.
#pragma once

#if defined(__FAST_MATH__) || defined(_M_FP_FAST)
#error "quietcrowd needs exact IEEE arithmetic: compile without -ffast-math or /fp:fast"
#endif

#if !defined(__CUDACC__)
#include <string.h>
#endif

#if defined(__CUDACC__)
#define QC_FN __device__ __forceinline__
#elif defined(_MSC_VER) && !defined(__clang__)
#define QC_FN __forceinline
#else
#define QC_FN inline __attribute__((always_inline))
#endif

// Large, and called once a block: a copy in every caller would only make the program larger.
#if defined(__GNUC__)
#define QC_APART __attribute__((noinline))
#else
#define QC_APART
#endif

#if defined(__GNUC__) && !defined(__CUDACC__)
#define QC_PREFETCH(address) __builtin_prefetch(address)
#define QC_UNLIKELY(x) __builtin_expect(!!(x), 0)
#else
#define QC_PREFETCH(address) ((void)0)
#define QC_UNLIKELY(x) (x)
#endif

#if defined(_MSC_VER)
#define QC_RESTRICT __restrict
#else
#define QC_RESTRICT __restrict__
#endif

#if !defined(QC_VARIANT)
#define QC_VARIANT baseline
#endif

namespace quietcrowd {
using i32 = int;
using i64 = long long;
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
static_assert(sizeof(i32) == 4 && sizeof(i64) == 8 && sizeof(u16) == 2, "unusual integers");

namespace QC_VARIANT {
QC_FN i64 bits_of(double x) {
#if defined(__CUDACC__)
    return __double_as_longlong(x);
#else
    i64 bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
#endif
}

QC_FN double number_of(i64 bits) {
#if defined(__CUDACC__)
    return __longlong_as_double(bits);
#else
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
#endif
}

// Sums, differences and products that wrap: the overflow of a signed integer is undefined.
QC_FN i64 add(i64 a, i64 b) { return (i64)((u64)a + (u64)b); }
QC_FN i64 subtract(i64 a, i64 b) { return (i64)((u64)a - (u64)b); }
QC_FN i64 multiply(i64 a, i64 b) { return (i64)((u64)a * (u64)b); }

template <class T> QC_FN T greater_of(T a, T b) { return a > b ? a : b; }
template <class T> QC_FN T lesser_of(T a, T b) { return a < b ? a : b; }

// Addition to a tally: simple if each thread has one, atomic on a device.
struct Plain {
    static QC_FN void add_to(i64* total, i64 x) { *total = add(*total, x); }
};
#if defined(__CUDACC__)
struct Atomic {
    static QC_FN void add_to(i64* total, i64 x) {
        if (x) atomicAdd((u64*)total, (u64)x);
    }
};
#endif
}  // namespace QC_VARIANT
}  // namespace quietcrowd
