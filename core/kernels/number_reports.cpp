// Tables of the state and the statistics of workers with many reports of numbers.
#include "../number_kernels.h"
#include "../number_reports.h"

namespace quietcrowd {
namespace QC_VARIANT {
constexpr i64 COLUMNS = 64;  // this many at a time, for all workers: their distributions stay in the cache

void blend_distributions(Array<const double, 2> beliefs, Array<const double, 2> distributions, Array<i32, 2> table) {
    const i64 workers = beliefs.shape[0], count = beliefs.shape[1], columns = distributions.shape[1];
    require(distributions.shape[0] == count, "distributions must be as many as beliefs of a worker");
    require(table.shape[0] == workers && table.shape[1] == columns, "the table must be of workers by columns");
    for (i64 first = 0; first < columns; first += COLUMNS)
        for (i64 worker = 0; worker < workers; worker++) {
            const double* of_distributions = beliefs[worker].data;
            const i64 end = lesser_of(first + COLUMNS, columns);
            i32* QC_RESTRICT row = table[worker].data;
            i64 column = first;
            for (; column + BLOCK <= end; column += BLOCK) {
                double mean[BLOCK];
                blend_block(of_distributions, distributions.data + column, count, columns, mean);
                for (int i = 0; i < BLOCK; i++) row[column + i] = (i32)to_integer(mean[i]);
            }
            for (; column < end; column++) {
                double mean = 0.0;
                for (i64 distribution = 0; distribution < count; distribution++) mean += of_distributions[distribution] * TABLE_ONE * distributions[distribution][column];
                row[column] = (i32)to_integer(mean);
            }
        }
}

void weigh_distributions(Array<const i64, 2> residuals, double unit, Array<const double, 2> distributions, Array<double, 2> evidence) {
    const i64 workers = residuals.shape[0], columns = residuals.shape[1], many = distributions.shape[1];
    require(distributions.shape[0] == columns, "distributions and residuals must have the same columns");
    require(evidence.shape[0] == workers && evidence.shape[1] == many, "evidence must be of workers by distributions");
    double counts[COLUMNS];
    const double* rows[COLUMNS];
    for (i64 i = 0; i < evidence.size(); i++) evidence.data[i] = 0.0;
    for (i64 first = 0; first < columns; first += COLUMNS)
        for (i64 worker = 0; worker < workers; worker++) {
            const i64* units = residuals[worker].data;
            i64 told = 0;
            for (i64 column = first; column < lesser_of(first + COLUMNS, columns); column++)
                if (units[column] != 0) {
                    counts[told] = (double)units[column] / unit;
                    rows[told++] = distributions[column].data;
                }
            sum_distributions(many, told, evidence[worker].data, [&](auto sums, i64 i, i64 distribution) {
                return decltype(sums)::plus(sums, counts[i], decltype(sums)::load(rows[i] + distribution));
            });
        }
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
