// The module quietcrowd._core: it picks the kernels for this processor when it is imported.
#if defined(QC_X86_VARIANTS)
#include <cpuid.h>
#endif

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "call.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace quietcrowd {
const Table* chosen = &table_of_baseline;
static std::string name_of_chosen = "baseline";

void define_labels(nb::module_& m);
void define_numbers(nb::module_& m);
void define_synthesis(nb::module_& m);

#if defined(QC_X86_VARIANTS)
static bool has_bit_of_c(unsigned leaf, int bit) {
    unsigned a, b, c, d;
    return __get_cpuid(leaf, &a, &b, &c, &d) && (c >> bit & 1u);
}
#endif

static std::vector<std::string> supported() {  // best last
    std::vector<std::string> names{"baseline"};
#if defined(QC_X86_VARIANTS)
    // By feature, as Clang knows the names of levels from version 18 on only; the last three are
    // movbe, f16c and lzcnt, which it does not know by name.
    __builtin_cpu_init();
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") &&
                    has_bit_of_c(1, 22) && has_bit_of_c(1, 29) && has_bit_of_c(0x80000001u, 5);
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
#if defined(QC_X86_64_V3)
    if (v3) names.push_back("x86-64-v3");
#endif
#if defined(QC_X86_64_V4)
    if (v4) names.push_back("x86-64-v4");
#endif
#endif
    return names;
}

static void choose(const std::string& name) {
    bool known = false;
    for (const std::string& other : supported()) known |= other == name;
    if (!known) throw std::invalid_argument("this processor has no instructions " + name);
    chosen = &table_of_baseline;
#if defined(QC_X86_64_V3)
    if (name == "x86-64-v3") chosen = &table_of_x86_64_v3;
#endif
#if defined(QC_X86_64_V4)
    if (name == "x86-64-v4") chosen = &table_of_x86_64_v4;
#endif
    name_of_chosen = name;
}
}  // namespace quietcrowd

NB_MODULE(_core, m) {
    using namespace quietcrowd;
    choose(supported().back());
    m.doc() = "The compiled kernels. What they take is described in core/*_kernels.h.";
    nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
        try {
            std::rethrow_exception(thrown);
        } catch (const Refused& refused) {
            if (refused.place < 0) PyErr_SetString(PyExc_ValueError, refused.text);
            else PyErr_Format(PyExc_ValueError, "%s %lld", refused.text, refused.place);
        }
    });
    m.def("instruction_sets", &supported, "Return the names to choose from, the best last.");
    m.def("instruction_set", [] { return name_of_chosen; }, "Return the name of the one in use.");
    m.def("choose", &choose, "name"_a, "Call its kernels from now on, in all threads: for tests.");
    define_labels(m);
    define_numbers(m);
    define_synthesis(m);
}
