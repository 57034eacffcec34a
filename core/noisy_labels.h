// Shared parts of the sweeps of NoiseAware. They begin with votes by the expectations of workers, their
// reports on the task itself included: the last pass takes this echo out.
#pragma once
#include "array.h"
#include "posteriors.h"

namespace quietcrowd {
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

// Multiplies log-odds by a factor, and fills in the probabilities again.
template <int K, int B>
QC_FN void sharpen(Beliefs<B>& b, int many, double factor, const i32* known, int count) {
    for (int i = 0; i < (K ? K : many) * B; i++) b.votes[i] *= factor;
    believe_apart<K>(b, many, known, count);
}

// Adds the log-probabilities that reports give known truths, at each temperature. The votes change.
template <int B>
QC_APART void compare(int labels, const i64* offsets, const Echo<B>& echo, const i32* known, int count,
                      Array<const double> temperatures, double unit, i64* calibration) {
    for (int t = 0; t < count; t++) {
        const i32 truth = known[t];
        if (truth < 0 || offsets[t] == offsets[t + 1]) continue;
        double* votes = echo.votes + t;
        votes[truth * B] -= echo.twice[truth * B + t];
        double best = votes[0];
        for (int l = 1; l < labels; l++) best = votes[l * B] > best ? votes[l * B] : best;
        for (i64 i = 0; i < temperatures.size(); i++) {
            double total = 0.0;
            for (int l = 0; l < labels; l++) total += exp_minus((best - votes[l * B]) * temperatures[i]);
            const double log_share = (votes[truth * B] - best) * temperatures[i] - log_of(total);
            Plain::add_to(calibration + i, to_integer((log_share < -1e3 ? -1e3 : log_share) * unit));
        }
    }
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
