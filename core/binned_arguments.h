// Arguments of kernels that infer the posteriors of numbers on bins; see number_reports.h.
#pragma once
#include "array.h"

namespace quietcrowd {
struct WorkerDistributions {
    Array<const double, 2> beliefs;    // [worker, distribution]: probability of each distribution of a worker's errors
    Array<const double, 2> by_distribution;     // [distribution, column]: log densities
    Array<const double, 2> by_column;  // [column, distribution]: the same
    Array<const i64> rows;             // per worker: its row of the table and of the tally, -1 without; or, per worker and part,
                                       // how far these columns lie behind those of the distributions, below -2^61 without
    Array<const i32, 2> table;         // [row, column]: mean log density, in units; or one row of all

    QC_FN i64 workers() const { return beliefs.shape[0]; }
    QC_FN i64 distributions() const { return by_column.shape[1]; }
    QC_FN i64 columns() const { return by_column.shape[0]; }
};

// Reports of numbers on bins, and known truths. Places and ratios are columns of the distributions: that of the
// log density given the first bin, and of the term to be added, -1 if there is no term.
struct BinnedReports {
    Array<const i64> places, ratios;  // per report
    Array<const double> cut;      // per report: the rest after rounding to bins, in bins; empty if places are exact,
                                  // and the posterior is then interpolated
    Array<const double> missing;  // per report: log density where there is no answer; empty if all are answers
    Array<const double> known;    // per task: the known truth in bins, or NaN
    Array<const i64> parts;       // per report: which mechanism it is of; empty if there is one

    QC_FN i64 part(i64 report) const { return parts.size() ? parts[report] : 0; }
};

// Evidence of a worker's size of errors by the distance of its reports from what the others of a task say.
struct BinnedDistances {
    Array<const double, 2> variances;  // [part, distribution]: of a report, in squared bins
    double precision;                  // of a report of weight 1, in bins
    Array<const double> share;         // per part: weight of this evidence; the log densities have the rest
};

// From the apparent truth z, on which the reports agree, to the truth: shift + scale * z, scaled as values are.
struct BinnedMap {
    double shift, scale;
    Array<double, 2> apparent;  // [task, 2]: median and variance of z where the truth is known, filled unless empty
};

struct BinnedPriors {
    Array<const double, 2> logs;        // [task, bin]: log-prior of each truth; one row if all have the same
    Array<const double, 2> candidates;  // [prior, bin]: others, with tallied evidence
};

// Representation of 1.0.
struct BinnedUnits {
    double residual;  // in residuals and answered
    double truth;     // in truths
    double likely;    // in evidence, supported, likely and tried
    double task;      // in sums over a task
    double error;     // in squared
};

// To all of these is added.
struct BinnedTally {
    Array<i64, 2> residuals;  // [row, column]: expected answers, of workers with a row
    Array<i64> truths;        // per bin: posteriors
    Array<i64> answered;      // per worker: expected answers; empty if all reports are answers
    Array<i64, 2> evidence;   // [worker, distribution]: expected log density of the answers of workers without a row,
                              // and the evidence by distances of all
    Array<i64, 2> supported;  // [worker, distribution]: log density of reports given all others of a task, or empty
    Array<i64> likely;        // one: log evidence
    Array<i64> tried;         // per candidate: log evidence with it
    Array<i64> squared;       // per worker: squared errors, if there are estimates
};
}  // namespace quietcrowd
