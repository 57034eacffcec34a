// Workers whose accuracies lie on a grid: B of them side by side, so that vector registers hold
// several. No bit of a worker depends on its neighbors, and sums over workers are rounded to
// whole units first.
//
// Channels are those that one worker may have; places are those of accuracies on the grid; kinds are
// the communities of workers, then the labels that a worker may always give.
#pragma once
#include "array.h"
#include "functions.h"

namespace quietcrowd {
// The state of all workers. The distribution of reports at a place is a mixture of parts: reports of right
// answers, then those of wrong ones; a place has only one part of wrong ones.
struct Crowd {
    Array<const double, 4> parts;                   // [part, channel, report, label]
    Array<const double, 2> mixture;                 // [part, place]: weight of the part
    Array<const double, 3> constant_distributions;  // [channel, label, report]: of a worker with this constant label
    Array<const double> channels;          // probabilities
    Array<const double> communities;
    Array<const double> constants;         // per label: that a worker always gives it
    Array<const double, 3> accuracies;     // [community, label, place]
};

// Sums over workers, in units: how many are expected, in the shapes of `Crowd`.
struct CrowdSums {
    Array<i64> communities, constants;
    Array<i64, 3> accuracies;
};

namespace QC_VARIANT {
constexpr int WORKERS_ABREAST = 32;

// Numbers of reports, with the steps from one channel, label, place or report to the next; a step is 0
// where all have the same numbers.
struct ReportTable {
    QC_FN const double* at(i64 channel, i64 label, i64 place) const {
        return data + channel * by_channel + label * by_label + place * by_place;
    }

    const double* data;
    i64 by_channel, by_label, by_place, by_report;
};

// Adds some rows, each times its weight, to another, in their order.
template <int B>
QC_FN void add_rows(double* QC_RESTRICT total, const double* QC_RESTRICT rows, i64 count,
                    const double* QC_RESTRICT weights, i64 step = 1) {
    for (i64 r = 0; r < count; r++)
        for (int i = 0; i < B; i++) total[i] += rows[r * B + i] * weights[r * step];
}

template <int B> QC_FN void fill(double* QC_RESTRICT row, double x) {
    for (int i = 0; i < B; i++) row[i] = x;
}
template <int B> QC_FN void raise_to(double* QC_RESTRICT best, const double* QC_RESTRICT row) {
    for (int i = 0; i < B; i++) best[i] = row[i] > best[i] ? row[i] : best[i];
}
// Replaces logarithms by their exponentials, divided by the greatest.
template <int B> QC_FN void exponentiate(double* QC_RESTRICT row, const double* QC_RESTRICT best) {
    for (int i = 0; i < B; i++) row[i] = exp_minus(best[i] - row[i]);
}
// The sum of the products of two rows, each rounded to whole units.
template <int B> QC_FN i64 sum_of(const double* QC_RESTRICT row, const double* QC_RESTRICT other, double unit) {
    u64 total = 0;
    for (int i = 0; i < B; i++) total += (u64)to_integer(row[i] * other[i] * unit);
    return (i64)total;
}
template <int B> QC_FN i64 sum_of(const double* QC_RESTRICT row, double unit) {
    u64 total = 0;
    for (int i = 0; i < B; i++) total += (u64)to_integer(row[i] * unit);
    return (i64)total;
}

// Rejects arrays of states and sums that do not fit each other.
inline void check_crowd(Array<const double> communities, Array<const double> constants,
                        Array<const double, 3> accuracies, i64 labels, i64 places, const CrowdSums& sums) {
    require(communities.size() >= 1 && communities.size() <= 65536, "there must be 1 to 65,536 communities");
    require(constants.size() == labels && sums.constants.size() == labels, "constant answers must be one per label");
    require(sums.communities.size() == communities.size(), "communities must be one per probability");
    const i64 shape[3] = {communities.size(), labels, places};
    for (int d = 0; d < 3; d++)
        require(accuracies.shape[d] == shape[d] && sums.accuracies.shape[d] == shape[d],
                "accuracies must be one per community, label and place");
}

// Some workers side by side.
template <int B> struct CrowdBlock {
    CrowdBlock(i64 channels, i64 labels, i64 places, i64 reports, i64 communities, bool with_records = true)
        : channels(channels), labels(labels), places(places), reports(reports), communities(communities),
          kinds(communities + labels), records(with_records ? labels * reports * B : 0), likely(channels * labels * places * B),
          evidence(channels * communities * labels * B), offsets(channels * B), chances(channels * kinds * B),
          factors(communities * B) {}

    QC_FN double* record(i64 label, i64 report) const { return records + (label * reports + report) * B; }
    QC_FN double* likely_at(i64 channel, i64 label) const { return likely + (channel * labels + label) * places * B; }
    QC_FN double* chance(i64 channel, i64 kind) const { return chances + (channel * kinds + kind) * B; }
    QC_FN double* evidence_of(i64 channel, i64 community, i64 label) const {
        return evidence + ((channel * communities + community) * labels + label) * B;
    }

    // Takes workers' expected reports, from place (worker reports + report) labels on one per label.
    // `worker_at(i)` is the i-th of them, in range; behind the last all is 0.
    template <class WorkerAt> QC_FN void read_records(int many, WorkerAt worker_at, const i64* counts, double inverse) {
        used = many;
        for (i64 i = 0; i < labels * reports * B; i++) records[i] = 0.0;
        for (i64 report = 0; report < reports; report++)  // one report of all: each row of numbers stays in the cache
            for (int lane = 0; lane < used; lane++) {
                const i64* from = counts + (worker_at(lane) * reports + report) * labels;
                for (i64 label = 0; label < labels; label++) record(label, report)[lane] = (double)from[label] * inverse;
            }
    }

    // Fills in the likelihoods of accuracies, up to a factor, and each community's evidence. No worker has given
    // a report before the first or after the last of these.
    QC_APART void weigh_accuracies(const ReportTable& logs, Array<const double, 3> accuracies, i64 first, i64 count) {
        fill_offsets();
        for (i64 channel = 0; channel < channels; channel++)
            for (i64 label = 0; label < labels; label++) {
                double* rows = likely_at(channel, label);
                for (i64 place = 0; place < places; place++) {
                    fill<B>(rows + place * B, 0.0);
                    add_rows<B>(rows + place * B, record(label, first), count, logs.at(channel, label, place) + first * logs.by_report, logs.by_report);
                }
                compare_accuracies(channel, label, accuracies);
            }
    }
    QC_FN void fill_offsets() {
        for (i64 i = 0; i < channels * B; i++) offsets[i] = 0.0;
    }

    // Turns log-likelihoods of a label's accuracies into likelihoods, up to a factor, and adds the logarithm
    // of the factor to the offsets.
    QC_FN void compare_accuracies(i64 channel, i64 label, Array<const double, 3> accuracies) {
        double *rows = likely_at(channel, label), *offset = offsets + channel * B, greatest[B];
        fill<B>(greatest, -INFINITY);
        for (i64 place = 0; place < places; place++) raise_to<B>(greatest, rows + place * B);
        for (int i = 0; i < B; i++) offset[i] += greatest[i];
        for (i64 place = 0; place < places; place++) exponentiate<B>(rows + place * B, greatest);
        for (i64 community = 0; community < communities; community++) {
            double* row = evidence_of(channel, community, label);
            fill<B>(row, 0.0);
            add_rows<B>(row, rows, places, accuracies[community][label].data);
        }
    }

    // Fills in the logarithm of the evidence for a community, given that of its prior probability.
    QC_FN void log_community(i64 channel, i64 community, double log_prior) {
        double* QC_RESTRICT row = chance(channel, community);
        const double* QC_RESTRICT offset = offsets + channel * B;
        for (int i = 0; i < B; i++) row[i] = log_prior + offset[i];
        for (i64 label = 0; label < labels; label++) {
            const double* QC_RESTRICT part = evidence_of(channel, community, label);
            for (int i = 0; i < B; i++) row[i] += log_of(part[i]);
        }
    }

    // Turns logarithms of chances into probabilities, 0 behind the workers, and keeps those of their sums.
    QC_APART void normalize() {
        double total[B];
        fill<B>(best, -INFINITY);
        fill<B>(total, 0.0);
        for (i64 k = 0; k < channels * kinds; k++) raise_to<B>(best, chances + k * B);
        for (i64 k = 0; k < channels * kinds; k++) {
            double* QC_RESTRICT row = chances + k * B;
            exponentiate<B>(row, best);
            for (int i = 0; i < B; i++) total[i] += row[i];
        }
        for (int i = 0; i < B; i++) {
            best[i] += log_of(total[i]);
            total[i] = i < used ? 1.0 / total[i] : 0.0;
        }
        for (i64 k = 0; k < channels * kinds; k++) {
            double* QC_RESTRICT row = chances + k * B;
            for (int i = 0; i < B; i++) row[i] *= total[i];
        }
    }

    // Turns likelihoods of accuracies into probabilities, and adds them up.
    QC_APART void expect_accuracies(Array<const double, 3> accuracies, double unit, Array<i64, 3> sums) {
        const i64 next = labels * places;  // community
        for (i64 channel = 0; channel < channels; channel++)
            for (i64 label = 0; label < labels; label++) {
                for (i64 community = 0; community < communities; community++) {
                    double* QC_RESTRICT factor = factors + community * B;
                    const double* QC_RESTRICT part = chance(channel, community);
                    const double* QC_RESTRICT whole = evidence_of(channel, community, label);
                    for (int i = 0; i < B; i++) factor[i] = part[i] / whole[i];
                }
                for (i64 place = 0; place < places; place++) {
                    double* QC_RESTRICT row = likely_at(channel, label) + place * B;
                    const double* weights = accuracies.data + label * places + place;
                    i64* expected = sums.data + label * places + place;
                    double part[B];
                    fill<B>(part, 0.0);
                    add_rows<B>(part, factors, communities, weights, next);
                    for (i64 community = 0; community < communities; community++)
                        Plain::add_to(expected + community * next,
                                      sum_of<B>(factors + community * B, row, weights[community * next] * unit));
                    for (int i = 0; i < B; i++) row[i] *= part[i];
                }
            }
    }

    // Adds the expected workers of each community, and of each constant answer.
    QC_FN void count_kinds(double unit, const CrowdSums& sums) {
        for (i64 channel = 0; channel < channels; channel++) {
            for (i64 community = 0; community < communities; community++)
                Plain::add_to(&sums.communities[community], sum_of<B>(chance(channel, community), unit));
            for (i64 label = 0; label < labels; label++)
                Plain::add_to(&sums.constants[label], sum_of<B>(chance(channel, communities + label), unit));
        }
    }

    // Writes numbers at [label, report, worker] to the places that the workers' records have in counts.
    template <class WorkerAt>
    QC_FN void write_rows(WorkerAt worker_at, const double* numbers, double one, i32* written) {
        for (i64 report = 0; report < reports; report++)
            for (int lane = 0; lane < used; lane++) {
                i32* to = written + (worker_at(lane) * reports + report) * labels;
                for (i64 label = 0; label < labels; label++)
                    to[label] = (i32)to_integer(numbers[(label * reports + report) * B + lane] * one);
            }
    }

    const i64 channels, labels, places, reports, communities, kinds;
    Room<double> records, likely, evidence, offsets, chances, factors;
    double best[B];
    int used = 0;
};
}  // namespace QC_VARIANT
}  // namespace quietcrowd
