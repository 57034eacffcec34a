// The evidence of each report of a number on its worker, given all other reports of the truth.
#pragma once
#include "number_reports.h"
#include "numbers.h"

namespace quietcrowd {
namespace QC_VARIANT {
constexpr double LARGEST_SHARE = 0.5;  // the largest part of a report in a task's weight, unless others confirm it
constexpr double LEAST_DENSITY = 1e-290;  // no report's density is less: no distribution is ever excluded
constexpr double LEAST_PART = 1e-14;      // bins of less probability count nothing for workers

// One report of a task at most counts less: it may have the larger of LARGEST_SHARE and 2 / n of the
// weight of n reports, or the part that others confirm.
struct Cap {
    i64 report;     // its place among the task's, or -1
    double factor;  // by which it counts, at most 1
};
QC_APART inline Cap cap(i64 reports, const double* weights, const double* borne) {
    const double share = greater_of(2.0 / (double)greater_of<i64>(reports, 1), LARGEST_SHARE);
    if (share >= 1.0) return {-1, 1.0};
    i64 place = 0;
    for (i64 i = 0; i < reports; i++)
        if (weights[i] > weights[place]) place = i;
    double others = 0.0;
    for (i64 i = 0; i < reports; i++)
        if (i != place) others += weights[i];
    const double most = greater_of(share / (1.0 - share) * others, borne[place]);
    return {place, lesser_of(most / weights[place], 1.0)};
}

// Adds the log density of a report under each distribution of its worker's errors.
//   without    per bin: the posterior of the truth without the report, times `total`, its sum
//   densities  [column, distribution]: of reports
//   filled     density of a report without an answer, times the odds of that; 0 if there is an answer
//   unit       representation of 1.0 in `supported`
//   likely     per distribution: memory
QC_APART inline void support(const double* without, i64 bins, double total, Array<const double, 2> densities,
                             i64 place, i64 ratio, double filled, double unit, double* likely,
                             i64* QC_RESTRICT supported) {
    const i64 distributions = densities.shape[1];
    const double* first = densities.data + place * distributions;
    const double* added = densities.data + greater_of<i64>(ratio, 0) * distributions;
    for (i64 distribution = 0; distribution < distributions; distribution++) likely[distribution] = 0.0;
    if (ratio >= 0)
        sum_distributions(distributions, bins, likely, [&](auto sums, i64 b, i64 distribution) {
            using Part = decltype(sums);
            if (!(without[b] > LEAST_PART)) return sums;
            return Part::plus(sums, without[b],
                              Part::times(Part::load(first + b * distributions + distribution), Part::load(added + b * distributions + distribution)));
        });
    else
        sum_distributions(distributions, bins, likely, [&](auto sums, i64 b, i64 distribution) {
            using Part = decltype(sums);
            if (!(without[b] > LEAST_PART)) return sums;
            return Part::plus(sums, without[b], Part::load(first + b * distributions + distribution));
        });
    for (i64 distribution = 0; distribution < distributions; distribution++) {
        const double density = greater_of(LEAST_DENSITY, likely[distribution] / total + filled);
        supported[distribution] = add(supported[distribution], to_nearest(log_of_any(density) * unit));
    }
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
