// How Python calls a kernel: without the interpreter's lock, and with rounding as IEEE has it.
#pragma once
#include "arrays.h"

#if defined(__SSE2__) || defined(_M_X64)
#include <immintrin.h>
#endif

namespace quietcrowd {
extern const Table* chosen;  // the kernels for this processor

// Another library may have made the processor treat tiny numbers as 0: not while a kernel runs.
class PlainArithmetic {
#if defined(__SSE2__) || defined(_M_X64)
    using Control = unsigned;
    static Control get() { return _mm_getcsr(); }
    static void set(Control x) { _mm_setcsr(x); }
    static constexpr Control PLAIN = 0x1F80;
#elif defined(__aarch64__) && defined(__GNUC__)
    using Control = u64;
    static Control get() {
        Control x;
        __asm__ volatile("mrs %0, fpcr" : "=r"(x));
        return x;
    }
    static void set(Control x) { __asm__ volatile("msr fpcr, %0" : : "r"(x)); }
    static constexpr Control PLAIN = 0;
#else
    using Control = int;
    static Control get() { return 0; }
    static void set(Control) {}
    static constexpr Control PLAIN = 0;
#endif
    Control before = get();

public:
    PlainArithmetic() { set(PLAIN); }
    ~PlainArithmetic() { set(before); }
    PlainArithmetic(const PlainArithmetic&) = delete;
    PlainArithmetic& operator=(const PlainArithmetic&) = delete;
};

template <auto group, auto kernel, class F> struct Caller;
template <auto group, auto kernel, class R, class... A> struct Caller<group, kernel, R (*)(A...)> {
    static R call(A... arguments) {
        nanobind::gil_scoped_release released;
        PlainArithmetic plain;
        return ((*chosen).*group.*kernel)(arguments...);
    }
};
template <class S, class F> F pointee(F S::*);

// The function for Python that calls a kernel of a group of the table.
template <auto group, auto kernel> constexpr auto call = &Caller<group, kernel, decltype(pointee(kernel))>::call;
}  // namespace quietcrowd
