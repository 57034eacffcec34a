// Tables of the state and the statistics of workers with many reports of numbers.
#include "../number_kernels.h"
#include "../number_reports.h"

namespace quietcrowd {
namespace QC_VARIANT {
void blend_laws(Array<const double, 2> beliefs, Array<const double, 2> laws, Array<i32, 2> table) {
    const i64 workers = beliefs.shape[0], count = beliefs.shape[1], columns = laws.shape[1];
    require(laws.shape[0] == count, "laws must be as many as beliefs of a worker");
    require(table.shape[0] == workers && table.shape[1] == columns, "the table must be of workers by columns");
    for (i64 worker = 0; worker < workers; worker++) {
        const double* of_laws = beliefs[worker].data;
        i32* QC_RESTRICT row = table[worker].data;
        i64 column = 0;
        for (; column + BLOCK <= columns; column += BLOCK) {
            double mean[BLOCK];
            blend_block(of_laws, laws.data + column, count, columns, mean);
            for (int i = 0; i < BLOCK; i++) row[column + i] = (i32)to_integer(mean[i]);
        }
        for (; column < columns; column++) {
            double mean = 0.0;
            for (i64 law = 0; law < count; law++) mean += of_laws[law] * TABLE_ONE * laws[law][column];
            row[column] = (i32)to_integer(mean);
        }
    }
}

constexpr i64 COLUMNS = 64;  // this many at a time: their distributions stay in the cache

void weigh_laws(Array<const i64, 2> residuals, double unit, Array<const double, 2> laws, Array<double, 2> evidence) {
    const i64 workers = residuals.shape[0], columns = residuals.shape[1], many = laws.shape[1];
    require(laws.shape[0] == columns, "laws and residuals must have the same columns");
    require(evidence.shape[0] == workers && evidence.shape[1] == many, "evidence must be of workers by laws");
    double counts[COLUMNS];
    const double* rows[COLUMNS];
    for (i64 i = 0; i < evidence.size(); i++) evidence.data[i] = 0.0;
    for (i64 worker = 0; worker < workers; worker++)
        for (i64 first = 0; first < columns; first += COLUMNS) {
            const i64* units = residuals[worker].data;
            i64 told = 0;
            for (i64 column = first; column < lesser_of(first + COLUMNS, columns); column++)
                if (units[column] != 0) {
                    counts[told] = (double)units[column] / unit;
                    rows[told++] = laws[column].data;
                }
            sum_laws(many, told, evidence[worker].data, [&](auto sums, i64 i, i64 law) {
                return decltype(sums)::plus(sums, counts[i], decltype(sums)::load(rows[i] + law));
            });
        }
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
