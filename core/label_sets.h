// Reports that are sets of labels. Given the truth a set is, up to one factor for all truths, as likely
// as b (1 + w (exp(v) - 1)) from a worker who is right with probability w: b is its likelihood if the
// answer was wrong, and v the log-ratio of the two. See research/docs/theory/subset-selection.md.
#pragma once
#include "array.h"
#include "noisy_labels.h"
#include "vector_math.h"

namespace quietcrowd {
struct SetPartition {
    Array<const i64> offsets;
    Array<const u32> workers;
    Array<const i64> values;  // numbers of sets
    Array<const u64> draws;
    Array<const i32> known;

    QC_FN i64 tasks() const { return offsets.size() - 1; }
};

// How a set speaks for its answer.
struct SetSigns {
    Array<const i64, 2> binomials;  // shape (members, labels): report_domains.binomials
    double gain;                    // ratio of likelihoods with and without the answer, less 1
    double epsilon;                 // the logarithm of 1 more than that
    Array<const i64, 2> mistakes;   // at [answer, truth]: how probable an answer is that is wrong, in 2^-30
    i64 nodes;                      // they lie evenly from -epsilon to epsilon
};

// Expectations of the workers; there may be more than in a partition.
struct SetWorkers {
    Array<const i32, 3> log_odds;   // at [worker, node, label]: expected ln(1 + w (exp(v) - 1)), in units of
    double nats;                    // nats; 0 of a worker with a constant label
    Array<const i32, 2> skills;     // at [worker, label]: w of another worker, in 2^-30
    Array<const i32, 2> constants;  // at [worker, label]: probability that it always gives the label, alike
    double constant_base;           // likelihood of a set from a worker with a constant label,
    double constant_gain;           // and its increase if the set contains that label
};

// Sums of a sweep.
struct SetSums {
    Array<i64, 3> counts;    // at [worker, node, label]: expected reports by truth and node
    Array<i64> bases;        // per worker: expected ln b
    Array<i64, 2> held;      // at [worker, label]: sets that contain the label
    Array<i64, 2> mistaken;  // at [answer, truth]: expected P(wrong) / b of sets that contain the answer; on the
                             // diagonal, of all sets
    Array<i64> classes;      // per label: expected tasks
    KnownSums told;
    Array<i64> agreed;       // per worker: sets that contain the estimate, in units of even[1]
};

namespace QC_VARIANT {
constexpr double SHARE_ONE = 1073741824.0;  // 2^30: representation of a probability of 1
constexpr double SET_VOTE_ONE = 4294967296.0;   // 2^32: representation of log-odds of 1 in sums

// Sets that were read, and their statistics; places [row * members + i] and [row * labels + label].
struct SetRows {
    SetRows(const SetSigns& signs, i64 most)
        : signs(signs), members((int)signs.binomials.shape[0]), labels((int)signs.binomials.shape[1]),
          codes(most * members), held(most * labels), bases(most * labels), totals(labels) {}

    // Reads sets; `task` is the first with these reports.
    QC_FN void read(const i64* values, i64 rows, i64 task) {
        for (i64 row = 0; row < rows; row++) {
            i32* QC_RESTRICT own = codes + row * members;
            u8* QC_RESTRICT holds = held + row * labels;
            double* QC_RESTRICT base = bases + row * labels;
            i64* QC_RESTRICT total = totals;
            require(read_set(values[row], own), "a value is no set, at or after task", task);
            for (int l = 0; l < labels; l++) { holds[l] = 0; total[l] = 0; }
            for (int i = 0; i < members; i++) {
                const i64* QC_RESTRICT mistakes = signs.mistakes.data + (i64)own[i] * labels;
                holds[own[i]] = 1;
                for (int l = 0; l < labels; l++) total[l] = add(total[l], mistakes[l]);
            }
            for (int l = 0; l < labels; l++) base[l] = 1.0 + signs.gain * ((double)total[l] / SHARE_ONE);
        }
    }

    // Fills in the codes of a set's labels, ascending, given its number; false if it is invalid.
    QC_FN bool read_set(i64 rank, i32* own) const {
        i64 left = rank;
        int code = labels - 1;
        for (int i = members - 1; i >= 0; i--) {
            const i64* row = signs.binomials.data + (i64)i * labels;
            while (code >= 0 && row[code] > left) code--;
            if (code < 0) return false;
            own[i] = code;
            left = subtract(left, row[code--]);
        }
        return left == 0;
    }

    const SetSigns& signs;
    const int members, labels;
    Room<i32> codes;
    Room<u8> held;
    Room<double> bases;  // b
    Room<i64> totals;
};

// Fills in the logarithms of the expected likelihoods of a set, in units of 1 / SET_VOTE_ONE.
QC_FN void expect_votes(const SetRows& sets, i64 row, const SetWorkers& workers, i64 worker, i64* QC_RESTRICT votes) {
    const int labels = sets.labels;
    const i32* QC_RESTRICT constants = workers.constants.data + worker * labels;
    const i32* QC_RESTRICT skills = workers.skills.data + worker * labels;
    const i32* QC_RESTRICT codes = sets.codes + row * sets.members;
    const u8* QC_RESTRICT held = sets.held + row * labels;
    const double* QC_RESTRICT bases = sets.bases + row * labels;
    i64 constant = 0, own = 0;
    for (int l = 0; l < labels; l++) constant += constants[l];
    for (int i = 0; i < sets.members; i++) own += constants[codes[i]];
    const double ratio = sets.signs.gain + 1.0, honest = 1.0 - (double)constant / SHARE_ONE;
    const double steady = (double)constant * workers.constant_base + (double)own * workers.constant_gain;
    const double always = steady / SHARE_ONE;
    for (int l = 0; l < labels; l++) {
        const double skill = (double)skills[l] / SHARE_ONE, right = held[l] ? ratio : 1.0;
        const double likely = bases[l] + skill * (right - bases[l]);
        votes[l] = to_integer(log_of(honest * likely + always) * SET_VOTE_ONE);
    }
}

// Rejects arrays that do not fit each other.
inline void check_sets(const SetPartition& p, const SetSigns& signs, const SetWorkers& who, i64 labels, i64 workers) {
    require(p.offsets.size() >= 1, "offsets must have one entry more than there are tasks");
    require(p.workers.size() == p.values.size(), "worker codes and values must be as many");
    require(p.draws.size() == p.tasks() && p.known.size() == p.tasks(), "draws and known truths must be one per task");
    require(labels >= 1 && labels <= 65536, "there must be 1 to 65,536 labels");
    require(signs.binomials.shape[1] == labels && signs.binomials.shape[0] <= labels,
            "binomials must be one per member and label");
    require(signs.mistakes.shape[0] == labels && signs.mistakes.shape[1] == labels,
            "mistakes must be one per answer and truth");
    require(who.skills.shape[0] >= workers && who.skills.shape[1] == labels && who.constants.shape[0] >= workers &&
                who.constants.shape[1] == labels,
            "skills and constants must be one per worker and label");
    check_offsets(p.offsets, p.workers.size(), 0, p.tasks());
    for (i64 t = 0; t < p.tasks(); t++) require(p.known[t] < labels, "a known truth is no label, at task", t);
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
