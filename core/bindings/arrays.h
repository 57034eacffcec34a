// From Python's arrays and tuples to the arguments of kernels. An array is never converted: a kernel would
// read or fill a copy.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include "../table.h"

namespace nanobind::detail {
// The name of an array in stubs: only its type, since sizes are checked when a kernel is called.
template <class T> constexpr auto array_name() {
    using Plain = std::remove_const_t<T>;
    if constexpr (std::is_same_v<Plain, bool>) return const_name("numpy.typing.NDArray[numpy.bool_]");
    else if constexpr (std::is_same_v<Plain, double>) return const_name("numpy.typing.NDArray[numpy.float64]");
    else if constexpr (std::is_same_v<Plain, quietcrowd::i32>) return const_name("numpy.typing.NDArray[numpy.int32]");
    else if constexpr (std::is_same_v<Plain, quietcrowd::i64>) return const_name("numpy.typing.NDArray[numpy.int64]");
    else if constexpr (std::is_same_v<Plain, quietcrowd::u8>) return const_name("numpy.typing.NDArray[numpy.uint8]");
    else if constexpr (std::is_same_v<Plain, quietcrowd::u16>) return const_name("numpy.typing.NDArray[numpy.uint16]");
    else if constexpr (std::is_same_v<Plain, quietcrowd::u32>) return const_name("numpy.typing.NDArray[numpy.uint32]");
    else return const_name("numpy.typing.NDArray[numpy.uint64]");
}

template <class T, int N> struct type_caster<quietcrowd::Array<T, N>> {
    using View = ndarray<T, numpy, ndim<N>, c_contig, device::cpu>;
    using Caster = make_caster<View>;
    using Argument = quietcrowd::Array<T, N>;
    NB_TYPE_CASTER(Argument, array_name<T>())

    bool from_python(handle source, uint32_t flags, cleanup_list* cleanup) noexcept {
        if (!caster.from_python(source, flags & ~(uint32_t)cast_flags::convert, cleanup)) return false;
        value.data = caster.value.data();
        for (int d = 0; d < N; d++) value.shape[d] = (quietcrowd::i64)caster.value.shape(d);
        return true;
    }
    Caster caster;
};

template <class Void> struct type_caster<quietcrowd::Codes<Void>> {
    template <class T> using Of = quietcrowd::Array<std::conditional_t<std::is_const_v<Void>, const T, T>>;
    using Narrow = make_caster<Of<quietcrowd::u8>>;
    using Middle = make_caster<Of<quietcrowd::u16>>;
    using Wide = make_caster<Of<quietcrowd::u32>>;
    NB_TYPE_CASTER(quietcrowd::Codes<Void>, const_name("numpy.typing.NDArray[typing.Any]"))

    bool from_python(handle source, uint32_t flags, cleanup_list* cleanup) noexcept {
        return take(narrow, source, flags, cleanup) || take(middle, source, flags, cleanup) || take(wide, source, flags, cleanup);
    }
    template <class Caster> bool take(Caster& caster, handle source, uint32_t flags, cleanup_list* cleanup) noexcept {
        if (!caster.from_python(source, flags, cleanup)) return false;
        value = {caster.value.data, caster.value.size(), (int)sizeof(*caster.value.data)};
        return true;
    }
    Narrow narrow;
    Middle middle;
    Wide wide;
};

// A struct of kernels' arguments from a tuple of its fields.
template <class S, class... Fields> struct struct_caster {
    using Tuple = std::tuple<Fields...>;
    using Caster = make_caster<Tuple>;
    NB_TYPE_CASTER(S, const_name("tuple[typing.Any, ...]"))

    bool from_python(handle source, uint32_t flags, cleanup_list* cleanup) noexcept {
        if (!caster.from_python(source, flags, cleanup)) return false;
        value = std::apply([](auto... fields) { return S{fields...}; }, caster.operator cast_t<Tuple>());
        return true;
    }
    Caster caster;
};

using quietcrowd::Array;
using quietcrowd::Codes;
template <> struct type_caster<quietcrowd::LabelPartition>
    : struct_caster<quietcrowd::LabelPartition, Array<const quietcrowd::i64>, Array<const quietcrowd::u32>, Codes<const void>,
                    Array<const quietcrowd::u64>, Array<const quietcrowd::i32>> {};
template <> struct type_caster<quietcrowd::NumberPartition>
    : struct_caster<quietcrowd::NumberPartition, Array<const quietcrowd::i64>, Array<const quietcrowd::u32>,
                    Array<const double>, Array<const double>> {};
template <> struct type_caster<quietcrowd::Densities>
    : struct_caster<quietcrowd::Densities, Array<const quietcrowd::i64>, Array<const double>, Array<const double>,
                    Array<const double>> {};
template <> struct type_caster<quietcrowd::Hampel> : struct_caster<quietcrowd::Hampel, double, double, double> {};
template <> struct type_caster<quietcrowd::GridClaims>
    : struct_caster<quietcrowd::GridClaims, Array<const quietcrowd::i64>, Array<const quietcrowd::i64>,
                    Array<const quietcrowd::u64>, Array<const double>> {};
template <> struct type_caster<quietcrowd::LabelEstimates>
    : struct_caster<quietcrowd::LabelEstimates, Codes<void>, Array<double>, Array<bool>> {};
template <> struct type_caster<quietcrowd::NumberEstimates>
    : struct_caster<quietcrowd::NumberEstimates, Array<double>, Array<double>, Array<double>> {};
template <int N> struct type_caster<quietcrowd::CavityVotes<N>>
    : struct_caster<quietcrowd::CavityVotes<N>, Array<const quietcrowd::i64>, Array<const quietcrowd::i32>, double, double,
                    Array<const double>, Array<const double, N>, Array<const double>> {};
template <int N> struct type_caster<quietcrowd::ReportDistributions<N>>
    : struct_caster<quietcrowd::ReportDistributions<N>, Array<const double, N>, Array<const double, N>, Array<const double, 2>,
                    Array<const double>, Array<const double>> {};
template <> struct type_caster<quietcrowd::SetPartition>
    : struct_caster<quietcrowd::SetPartition, Array<const quietcrowd::i64>, Array<const quietcrowd::u32>,
                    Array<const quietcrowd::i64>, Array<const quietcrowd::u64>, Array<const quietcrowd::i32>> {};
template <> struct type_caster<quietcrowd::SetSigns>
    : struct_caster<quietcrowd::SetSigns, Array<const quietcrowd::i64, 2>, double, double, Array<const quietcrowd::i64, 2>,
                    quietcrowd::i64> {};
template <> struct type_caster<quietcrowd::SetWorkers>
    : struct_caster<quietcrowd::SetWorkers, Array<const quietcrowd::i32, 3>, double, Array<const quietcrowd::i32, 2>,
                    Array<const quietcrowd::i32, 2>, double, double> {};
template <> struct type_caster<quietcrowd::TruthMap>
    : struct_caster<quietcrowd::TruthMap, Array<const double>, Array<const double, 2>, double, Array<const double>, double,
                    double> {};
template <> struct type_caster<quietcrowd::KnownSums>
    : struct_caster<quietcrowd::KnownSums, Array<quietcrowd::i64, 2>, Array<quietcrowd::i64, 2>, Array<quietcrowd::i64>,
                    Array<quietcrowd::i64, 2>> {};
template <> struct type_caster<quietcrowd::SetSums>
    : struct_caster<quietcrowd::SetSums, Array<quietcrowd::i64, 3>, Array<quietcrowd::i64>, Array<quietcrowd::i64, 2>,
                    Array<quietcrowd::i64, 2>, Array<quietcrowd::i64>, quietcrowd::KnownSums, Array<quietcrowd::i64>> {};
template <> struct type_caster<quietcrowd::WorkerDistributions>
    : struct_caster<quietcrowd::WorkerDistributions, Array<const double, 2>, Array<const double, 2>, Array<const double, 2>,
                    Array<const quietcrowd::i64>, Array<const quietcrowd::i32, 2>> {};
template <> struct type_caster<quietcrowd::BinnedReports>
    : struct_caster<quietcrowd::BinnedReports, Array<const quietcrowd::i64>, Array<const quietcrowd::i64>,
                    Array<const double>, Array<const double>, Array<const double>, Array<const quietcrowd::i64>> {};
template <> struct type_caster<quietcrowd::BinnedDistances>
    : struct_caster<quietcrowd::BinnedDistances, Array<const double, 2>, double, Array<const double>> {};
template <> struct type_caster<quietcrowd::BinnedMap>
    : struct_caster<quietcrowd::BinnedMap, double, double, Array<double, 2>> {};
template <> struct type_caster<quietcrowd::BinnedPriors>
    : struct_caster<quietcrowd::BinnedPriors, Array<const double, 2>, Array<const double, 2>> {};
template <> struct type_caster<quietcrowd::BinnedUnits>
    : struct_caster<quietcrowd::BinnedUnits, double, double, double, double, double> {};
template <> struct type_caster<quietcrowd::BinnedTally>
    : struct_caster<quietcrowd::BinnedTally, Array<quietcrowd::i64, 2>, Array<quietcrowd::i64>, Array<quietcrowd::i64>,
                    Array<quietcrowd::i64, 2>, Array<quietcrowd::i64, 2>, Array<quietcrowd::i64>,
                    Array<quietcrowd::i64>, Array<quietcrowd::i64>> {};
template <> struct type_caster<quietcrowd::Crowd>
    : struct_caster<quietcrowd::Crowd, Array<const double, 4>, Array<const double, 2>, Array<const double, 3>,
                    Array<const double>, Array<const double>, Array<const double>, Array<const double, 3>> {};
template <> struct type_caster<quietcrowd::CrowdSums>
    : struct_caster<quietcrowd::CrowdSums, Array<quietcrowd::i64>, Array<quietcrowd::i64>, Array<quietcrowd::i64, 3>> {};
}  // namespace nanobind::detail
