// Truths from numbers with normal errors and Laplace noise of a known scale b; see research/docs/theory/moon.md.
#include "../normal_laplace.h"

#include "../number_kernels.h"
#include "../numbers.h"

namespace quietcrowd {
namespace QC_VARIANT {
constexpr int MOST_STEPS = 40;
constexpr int ROUGH_STEPS = 2;  // with simple scores, before steps with the exact ones, which cost ten times as much
constexpr i64 LANES = 4;

// One over the variance of the noise. The curvature at no error is about one over the variance of a report if
// the worker's errors outweigh the noise, and more than this if they do not.
constexpr double PLAIN = 0.5;
constexpr double LEAST_CURVATURE = 0.05;          // of a report: as a part of that at no error, or of PLAIN
constexpr double LARGEST_CURVATURE = 1048576.0;   // and as a multiple of the largest such number on the task
constexpr double LARGEST_SCORE = 16.0;            // a report's score of ln(variance) is cut at this

struct Worker {
    double sigma, inverse, peak, weight;  // of a worker's errors in units of b; 1 / sigma; the curvature at no error
};

// A task's reports in units of b, and the values above of their workers. Behind the last one there are reports of
// weight 0, up to a multiple of LANES, so that no loop ends with single reports.
struct Reports {
    i64 count, padded;
    double *values, *sigmas, *inverses, *peaks, *weights;
};

struct Units {
    double weight, error, square, evidence, truth;
};

QC_FN double clip(double x, double low, double high) { return lesser_of(high, greater_of(low, x)); }

// Nearly the truth: a mean weighted by about one over the reports' variances, then steps with scores that are
// straight, of the slope `peaks` at 0, and cut at 1.
static double rough_start(const Reports& r, double largest, double unit) {
    const double *QC_RESTRICT values = r.values, *QC_RESTRICT peaks = r.peaks, *QC_RESTRICT weights = r.weights;
    const i64 padded = r.padded & ~(LANES - 1);
    double farthest = 1.0;
    for (i64 i = 0; i < r.count; i++) farthest = greater_of(std::fabs(values[i]), farthest);
    const double share = unit / LARGEST_CURVATURE / largest, inverse = 1.0 / farthest;
    i64 total = 0, weighted = 0;
    for (i64 i = 0; i < padded; i++) {
        const double weight = weights[i] * lesser_of(PLAIN, peaks[i]) * (unit / largest);
        total = add(total, to_integer(weight));
        weighted = add(weighted, to_integer(weight * (values[i] * inverse)));
    }
    double truth = total > 0 ? (double)weighted / (double)total * farthest : 0.0;
    for (int step = 0; step < ROUGH_STEPS; step++) {
        i64 slope = 0, curvature = 0;
        for (i64 i = 0; i < padded; i++) {
            const double score = (values[i] - truth) * peaks[i];
            slope = add(slope, to_integer(weights[i] * clip(score, -1.0, 1.0) * unit));
            const double cut = LEAST_CURVATURE * lesser_of(PLAIN, peaks[i]);
            const double curved = std::fabs(score) < 1.0 ? peaks[i] : cut;
            curvature = add(curvature, to_integer(weights[i] * lesser_of(unit, curved * share)));
        }
        if (curvature <= 0) break;
        truth += ((double)slope / unit) / ((double)curvature / share);
    }
    return truth;
}

// Slope and curvature of a task's weighted log likelihood, in units of b.
static Bend slope_at(double truth, const Reports& r, double largest, double unit) {
    const double *QC_RESTRICT values = r.values, *QC_RESTRICT sigmas = r.sigmas, *QC_RESTRICT inverses = r.inverses;
    const double *QC_RESTRICT peaks = r.peaks, *QC_RESTRICT weights = r.weights;
    const i64 padded = r.padded & ~(LANES - 1);
    const double share = unit / LARGEST_CURVATURE / largest;
    i64 slope = 0, curvature = 0;
    for (i64 i = 0; i < padded; i++) {
        const Bend at = bend(values[i] - truth, sigmas[i], inverses[i]);
        slope = add(slope, to_integer(weights[i] * at.t * unit));
        const double curved = greater_of(LEAST_CURVATURE * lesser_of(PLAIN, peaks[i]), at.curvature) * share;
        curvature = add(curvature, to_integer(weights[i] * lesser_of(unit, curved)));
    }
    return {(double)slope / unit, (double)curvature / share};
}

// The bounds, a normal prior and the required precision of a task's truth, in units of b.
struct Limits {
    double prior_mean, prior_precision, low, high, rest;
};

struct Peak {
    double truth, curvature;  // of the log posterior: there, or a step before
};

// The truth of the largest log posterior between the bounds. The likelihood is log-concave: Newton steps, cut
// at 1, stay between the points that are known to be too low and too high, until one is less than `rest`
// standard errors.
static Peak maximize_posterior(const Reports& r, const Limits& limits, double unit) {
    double largest = 0.0;
    for (i64 i = 0; i < r.count; i++) largest = greater_of(lesser_of(PLAIN, r.peaks[i]), largest);
    double truth = clip(rough_start(r, largest, unit), limits.low, limits.high), curvature = 0.0;
    double too_low = -INFINITY, too_high = INFINITY;
    for (int step = 0; step < MOST_STEPS; step++) {
        const Bend at = slope_at(truth, r, largest, unit);
        const double slope = at.t + limits.prior_precision * (limits.prior_mean - truth);
        curvature = at.curvature + limits.prior_precision;
        (slope > 0.0 ? too_low : too_high) = truth;
        double next = clip(truth + clip(slope / curvature, -1.0, 1.0), limits.low, limits.high);
        if (!(too_low < next && next < too_high))
            next = too_low > -INFINITY && too_high < INFINITY ? (too_low + too_high) / 2.0 : truth;
        const double moved = std::fabs(next - truth);
        truth = next;
        if (moved * moved * curvature <= limits.rest * limits.rest) break;
    }
    return {truth, curvature};
}

// The statistics of a task's reports about their workers.
struct Findings {
    i64 *own, *information, *evidence;
};

static void assess_workers(double truth, const Reports& r, double scale, const Units& units, const Findings& found) {
    const double *QC_RESTRICT values = r.values, *QC_RESTRICT sigmas = r.sigmas, *QC_RESTRICT inverses = r.inverses;
    i64 *QC_RESTRICT own = found.own, *QC_RESTRICT information = found.information;
    i64* QC_RESTRICT evidence = found.evidence;
    const i64 padded = r.padded & ~(LANES - 1);
    const double square = units.square, square_scale = scale * scale * square, evidence_unit = units.evidence;
    for (i64 i = 0; i < padded; i++) {
        const double inverse = inverses[i];
        const Moments m = moments(values[i] - truth, sigmas[i], inverse);
        evidence[i] = to_integer(m.log_density * evidence_unit);
        own[i] = to_integer(lesser_of(4.0 * square, m.second * square_scale));
        const double score = lesser_of(LARGEST_SCORE, (m.second * inverse * inverse - 1.0) * 0.5);
        information[i] = to_integer(score * score * square);
    }
}

void infer_by_mixture(const NumberPartition& partition, Array<const double> sigmas, Array<const double> weights,
                      double scale, double prior_mean, double prior_precision, double low, double high, double rest,
                      double weight_unit, double error_unit, double square_unit, double evidence_unit,
                      double truth_unit, Array<i64> squared, Array<i64, 2> sums, Array<i64> evidence,
                      Array<i64> truth_sums, const NumberEstimates& estimates) {
    const i64 workers = sigmas.size();
    check_numbers(partition, estimates);
    require(weights.size() == workers && sums.shape[0] == workers && sums.shape[1] == 2,
            "weights and pairs of sums must be one per worker");
    require(squared.size() == workers || squared.size() == 0, "squared errors must be one per worker, or none");
    require(evidence.size() == 1 && truth_sums.size() == 3, "there must be 1 evidence and 3 sums of truths");
    const Units units{weight_unit, error_unit, square_unit, evidence_unit, truth_unit};
    const double per_scale = 1.0 / scale;
    const Limits limits{prior_mean * per_scale, prior_precision * scale * scale, low * per_scale, high * per_scale,
                        rest};
    const double widest = (high - low) / std::sqrt(12.0);  // the standard error of a uniform number between the bounds

    Room<Worker> known_workers(workers);
    Worker* QC_RESTRICT distribution = known_workers;
    for (i64 w = 0; w < workers; w++) {
        const double sigma = sigmas[w], inverse = 1.0 / sigma;
        distribution[w] = {sigma, inverse, bend(0.0, sigma, inverse).curvature, weights[w]};
    }
    const i64 longest = (longest_of(partition.offsets) + LANES - 1) / LANES * LANES;
    Room<double> numbers(5 * longest);
    Room<i64> integers(3 * longest);
    double* QC_RESTRICT start = numbers;
    Reports r{0, 0, start, start + longest, start + 2 * longest, start + 3 * longest, start + 4 * longest};
    const Findings found{integers, integers + longest, integers + 2 * longest};

    for_tasks(partition, workers, [&](i64 t, const NumberTask& task) {
        r.count = task.count;
        r.padded = (task.count + LANES - 1) / LANES * LANES;
        for (i64 i = 0; i < r.padded; i++) {
            const Worker of = i < r.count ? distribution[task.workers[i]] : Worker{1.0, 1.0, 0.0, 0.0};
            r.values[i] = i < r.count ? task.values[i] * per_scale : 0.0;
            r.sigmas[i] = of.sigma;
            r.inverses[i] = of.inverse;
            r.peaks[i] = of.peak;
            r.weights[i] = of.weight;
        }
        const bool known = !is_nan(task.known);
        const Peak peak = known          ? Peak{task.known * per_scale, INFINITY}
                          : !task.count ? Peak{clip(0.0, limits.low, limits.high), 0.0}
                                         : maximize_posterior(r, limits, weight_unit);
        if (peak.curvature > 0.0) {
            const double middle = peak.truth * scale, spread = lesser_of(1.0, scale * scale / peak.curvature);
            truth_sums[0] = add(truth_sums[0], to_nearest(middle * truth_unit));
            truth_sums[1] = add(truth_sums[1], to_nearest((middle * middle + spread) * truth_unit));
            truth_sums[2] = add(truth_sums[2], 1);
            if (prior_precision > 0.0 && !known)
                evidence[0] = subtract(evidence[0], to_nearest(log_of_any(peak.curvature) / 2.0 * evidence_unit));
        }
        assess_workers(peak.truth, r, scale, units, found);
        for (i64 i = 0; i < task.count; i++) {
            i64* sum = sums[task.workers[i]].data;
            Plain::add_to(sum, found.own[i]);
            Plain::add_to(sum + 1, found.information[i]);
            evidence[0] = add(evidence[0], found.evidence[i]);
        }
        const double truth = known ? task.known : peak.truth * scale;
        const i64 missed = squared.size() ? add_squared(task, truth, error_unit, squared.data) : 0;
        if (!estimates.truths.size()) return;
        estimates.truths[t] = truth;
        estimates.spreads[t] = root_mean_square(missed, error_unit, task.count);
        estimates.standard_errors[t] =
            peak.curvature > 0.0 ? lesser_of(widest, scale / std::sqrt(peak.curvature)) : NAN;
    });
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
