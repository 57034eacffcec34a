// Functions of vector_math.h and functions.h for whole arrays: for tests, and for research/docs/theory/normal-laplace.md.
#include "../functions.h"
#include "../number_kernels.h"

namespace quietcrowd {
namespace QC_VARIANT {
template <class T, class F> QC_FN void fill(Array<const double> numbers, Array<T> values, F f) {
    require(values.size() == numbers.size(), "values must be as many as numbers");
    const double* QC_RESTRICT from = numbers.data;
    T* QC_RESTRICT to = values.data;
    for (i64 i = 0; i < numbers.size(); i++) to[i] = f(from[i]);
}

void fill_exp_minus(Array<const double> numbers, Array<double> values) {
    fill(numbers, values, [](double x) { return exp_minus(x); });
}

void fill_log(Array<const double> numbers, Array<double> values) {
    fill(numbers, values, [](double x) { return log_of(x); });
}

void fill_functions(Array<const double> numbers, Array<double, 2> values) {
    require(values.shape[0] == 5, "values must have 5 rows");
    fill(numbers, values[0], [](double x) { return exp_of(x); });
    fill(numbers, values[1], [](double x) { return log_of_any(x); });
    fill(numbers, values[2], [](double x) { return one_minus_exp_minus(x); });
    fill(numbers, values[3], [](double x) { return one_minus_cos(x); });
    fill(numbers, values[4], [](double x) { return length_of(x, 1.0); });
}

void fill_integers(Array<const double> numbers, Array<i64> values) {
    fill(numbers, values, [](double x) { return to_integer(x); });
}

void fill_fraction_tails(Array<const double> points, Array<const double> others, Array<double> tails,
                         Array<double> other_tails) {
    const i64 count = points.size();
    require(others.size() == count && tails.size() == count && other_tails.size() == count,
            "other points and tails must be as many as points");
    const double *QC_RESTRICT x = points.data, *QC_RESTRICT other = others.data;
    double *QC_RESTRICT tail = tails.data, *QC_RESTRICT other_tail = other_tails.data;
    for (i64 i = 0; i < count; i++) {
        const Tails pair = fraction_tails(x[i], other[i]);
        tail[i] = pair.first;
        other_tail[i] = pair.second;
    }
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
