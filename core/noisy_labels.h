// Shared parts of the sweeps of NoiseAware. They begin with votes by the expectations of workers, their
// reports on the task itself included: the last pass takes this echo out.
#pragma once
#include "array.h"
#include "posteriors.h"

namespace quietcrowd {
// From the apparent truth to the truth: research/docs/theory/shared-errors.md.
struct TruthMap {
    Array<const double> slopes;      // factors of log-odds
    Array<const double, 2> weights;  // at [without and with the tilt, slope]; without rows the map changes nothing
    double floor;                    // added to every probability
    Array<const double> tilt;        // added to each label's log-odds; may be empty
    double slope, chance;            // where the pull is measured: the slope, and the chance of a shared error
};

// What known truths tell of the map; empty arrays if it is not learned.
struct KnownSums {
    Array<i64, 2> straight;   // at [slope, bin of log-odds]: known truths
    Array<i64, 2> tilted;     // the same with the tilt
    Array<i64> pull;          // the derivative of their log-probabilities by the tilt, in units
    Array<i64, 2> curvature;  // and the second one, negative
};

namespace QC_VARIANT {
constexpr int ROUNDS = 3;  // times that the last pass takes the echo out

// Arrays of a block of tasks, at place [label * B + task].
template <int B> struct Echo {
    explicit Echo(int labels)
        : memory(3 * (i64)labels * B), votes(memory), twice(votes + (i64)labels * B), damped(twice + (i64)labels * B) {}

    // Fills in the term subtracted from each label's log-odds, times its probability; `learnt` are the
    // log-odds while the crowd is learned.
    QC_FN void take_twice(int labels, const double* QC_RESTRICT learnt) {
        for (int i = 0; i < labels * B; i++) twice[i] = 2.0 * (votes[i] - learnt[i]);
    }

    Room<double> memory;
    double *votes, *twice, *damped;  // votes: log-odds of the last pass
};

// A separate function: sweeps call it more than once.
template <int K, int B>
QC_APART void believe_apart(Beliefs<B>& b, int many, const i32* known, int count) {
    believe<K>(b, many, known, count);
}

// Fills in log-odds and probabilities without the echo.
template <int K, int B>
QC_APART void correct(Beliefs<B>& b, int many, const Echo<B>& echo, const i32* known, int count) {
    const int cells = (K ? K : many) * B;
    double* QC_RESTRICT votes = b.votes;
    const double* QC_RESTRICT shares = b.shares;
    const double* QC_RESTRICT final = echo.votes;
    const double* QC_RESTRICT twice = echo.twice;
    double* QC_RESTRICT damped = echo.damped;
    for (int i = 0; i < cells; i++) votes[i] = final[i];
    believe_apart<K>(b, many, known, count);
    for (int i = 0; i < cells; i++) damped[i] = shares[i];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < cells; i++) votes[i] = final[i] - damped[i] * twice[i];
        believe_apart<K>(b, many, known, count);
        if (round < ROUNDS - 1)
            for (int i = 0; i < cells; i++) damped[i] = (damped[i] + shares[i]) / 2.0;
    }
}

// Replaces probabilities of the apparent truth by those of the truth; the log-odds of `b` are read, and
// those of `echo` overwritten. Ties follow the log-odds unless the map has a tilt.
template <int K, int B>
QC_APART void map_truths(Beliefs<B>& b, int many, const TruthMap& map, const Echo<B>& echo, const i32* known, int count) {
    const int labels = K ? K : many, cells = labels * B;
    double* QC_RESTRICT votes = b.votes;
    double* QC_RESTRICT shares = b.shares;
    double* QC_RESTRICT apparent = echo.votes;
    double* QC_RESTRICT mapped = echo.twice;
    for (int i = 0; i < cells; i++) { apparent[i] = votes[i]; mapped[i] = map.floor; }
    for (i64 tilted = 0; tilted < map.weights.shape[0]; tilted++)
        for (i64 s = 0; s < map.slopes.size(); s++) {
            const double slope = map.slopes[s], weight = map.weights[tilted][s];
            for (int l = 0; l < labels; l++)
                for (int t = 0; t < B; t++)
                    votes[l * B + t] = slope * apparent[l * B + t] + (tilted ? map.tilt[l] : 0.0);
            believe_apart<K>(b, many, known, count);
            for (int i = 0; i < cells; i++) mapped[i] += weight * shares[i];
        }
    for (int i = 0; i < cells; i++) votes[i] = apparent[i];
    believe_apart<K>(b, many, known, count);
    if (map.weights.shape[0] == 0) return;
    const bool moved = map.weights.shape[0] > 1;
    for (int t = 0; t < count; t++) {
        if (known[t] >= 0) continue;
        for (int l = 0; l < labels; l++) shares[l * B + t] = mapped[l * B + t];
        if (!moved) continue;
        b.best[t] = shares[t];
        for (int l = 0; l < labels; l++) {
            votes[l * B + t] = shares[l * B + t];
            b.best[t] = votes[l * B + t] > b.best[t] ? votes[l * B + t] : b.best[t];
        }
    }
}

// The place of log-odds in a histogram: bins of 1/8 from -16 to 16.
QC_FN i64 log_odds_bin(double log_odds, i64 bins) {
    const double place = (log_odds + 16.0) * 8.0;
    return place <= 0.0 ? 0 : place >= (double)bins - 1.0 ? bins - 1 : (i64)place;
}

// The probabilities of a task's labels at a slope, with a tilt or none, up to the factor that is returned.
// `known` gets the log-odds of the known truth.
template <int B>
QC_FN double known_shares(int labels, const double* votes, double slope, const double* tilt, i32 truth, double* shares,
                          double& known) {
    double best = -INFINITY, rest = 0.0;
    for (int l = 0; l < labels; l++) {
        shares[l] = slope * votes[l * B] + (tilt ? tilt[l] : 0.0);
        best = shares[l] > best ? shares[l] : best;
    }
    const double own = shares[truth] - best;
    for (int l = 0; l < labels; l++) {
        shares[l] = exp_minus(best - shares[l]);
        if (l != truth) rest += shares[l];
    }
    known = own - log_of(rest > 1e-300 ? rest : 1e-300);
    return 1.0 / (rest + shares[truth]);
}

// Counts the log-odds that reports give known truths, at each slope. The votes change.
template <int B>
QC_APART void compare(int labels, const i64* offsets, const Echo<B>& echo, const i32* known, int count,
                      const TruthMap& map, double unit, const KnownSums& sums) {
    const double* tilt = map.tilt.size() ? map.tilt.data : nullptr;
    double* shares = echo.damped;
    const i64 bins = sums.straight.shape[1];
    const double floor = map.chance / (labels > 1 ? labels - 1 : 1), kept = 1.0 - map.chance - floor;
    for (int t = 0; t < count; t++) {
        const i32 truth = known[t];
        if (truth < 0 || offsets[t] == offsets[t + 1]) continue;
        double *votes = echo.votes + t, odds = 0.0;
        votes[truth * B] -= echo.twice[truth * B + t];
        for (i64 s = 0; s < map.slopes.size(); s++) {
            known_shares<B>(labels, votes, map.slopes[s], nullptr, truth, shares, odds);
            Plain::add_to(&sums.straight[s][log_odds_bin(odds, bins)], 1);
            if (!tilt) continue;
            known_shares<B>(labels, votes, map.slopes[s], tilt, truth, shares, odds);
            Plain::add_to(&sums.tilted[s][log_odds_bin(odds, bins)], 1);
        }
        if (!tilt) continue;
        const double factor = known_shares<B>(labels, votes, map.slope, tilt, truth, shares, odds);
        for (int l = 0; l < labels; l++) shares[l] *= factor;
        const double told = kept * shares[truth] / (kept * shares[truth] + floor);
        for (int l = 0; l < labels; l++) {
            Plain::add_to(&sums.pull[l], to_integer(told * ((l == truth ? 1.0 : 0.0) - shares[l]) * unit));
            for (int m = 0; m < labels; m++)
                Plain::add_to(&sums.curvature[l][m],
                              to_integer(told * ((l == m ? shares[l] : 0.0) - shares[l] * shares[m]) * unit));
        }
    }
}

// Rejects a map or sums that do not fit the labels.
inline void check_map(const TruthMap& map, const KnownSums& sums, i64 labels) {
    const i64 slopes = map.slopes.size(), tilts = map.tilt.size();
    require(map.weights.shape[0] <= 1 + (tilts > 0), "there must be one row of weights, or two with a tilt");
    require(map.weights.shape[0] == 0 || map.weights.shape[1] == slopes, "weights must be one per slope");
    require(tilts == 0 || tilts == labels, "the tilt must be one per label, or none");
    require(sums.straight.shape[0] == 0 || (sums.straight.shape[0] == slopes && sums.straight.shape[1] >= 2),
            "histograms must be one per slope, or none");
    const i64 both = sums.straight.shape[0] && tilts;
    require(sums.tilted.shape[0] == (both ? slopes : 0) && (!both || sums.tilted.shape[1] == sums.straight.shape[1]),
            "histograms with a tilt must be like those without");
    require(!both || (sums.pull.size() == labels && sums.curvature.shape[0] == labels && sums.curvature.shape[1] == labels),
            "the pull must be one per label, and the curvature one per pair");
}

inline void check_posterior(Array<double, 2> posterior, i64 tasks, i64 labels) {
    require(posterior.shape[0] == 0 || (posterior.shape[0] == tasks && posterior.shape[1] == labels),
            "posteriors must be one per task and label, or none");
}

// Copies probabilities to places [task, label].
template <int B>
QC_FN void copy_shares(const Beliefs<B>& b, i64 first, int count, Array<double, 2> posterior) {
    for (int t = 0; t < count; t++)
        for (i64 l = 0; l < posterior.shape[1]; l++) posterior[first + t][l] = b.shares[l * B + t];
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
