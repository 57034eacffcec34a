// The evidence of labels on their workers, and of workers on the crowd.
#include "../label_crowd.h"

#include "../label_kernels.h"

namespace quietcrowd {
namespace QC_VARIANT {
constexpr int B = WORKERS_ABREAST;
constexpr i64 LABELS_ABREAST = 16;  // with more labels, labels are side by side, and absent reports are skipped
constexpr double LEAST = 1e-27;     // probability of a report

static void check_crowd_of_labels(const Crowd& crowd, const CrowdSums& sums, Array<i64, 4> mistaken) {
    for (int d = 0; d < 4; d++)
        require(crowd.parts.shape[d] >= 1 && crowd.parts.shape[d] <= 65536, "parts must have 1 to 65,536 entries in each dimension");
    const i64 parts = crowd.parts.shape[0], channels = crowd.parts.shape[1], reports = crowd.parts.shape[2], labels = crowd.parts.shape[3];
    const i64 of_mistakes[4] = {parts - 1, channels, reports, labels}, of_constants[3] = {channels, labels, reports};
    const i64 places = crowd.mixture.shape[1];
    require(crowd.mixture.shape[0] == parts && places >= 1 && places <= 65536, "the mixture must be one per part and place");
    for (int d = 0; d < 4; d++)
        require(mistaken.size() == 0 || mistaken.shape[d] == of_mistakes[d],
                "mistaken reports must be one per part of wrong answers, channel, report and label");
    for (int d = 0; d < 3; d++)
        require(crowd.constant_distributions.shape[d] == of_constants[d],
                "distributions of constant answers must be one per channel, label and report");
    require(crowd.channels.size() == channels, "probabilities of channels must be one per channel");
    check_crowd(crowd.communities, crowd.constants, crowd.accuracies, labels, places, sums);
}

QC_FN double at_least(double x) { return x < LEAST ? LEAST : x; }

// Weighs a block of workers, and fills in their tables.
struct LabelCrowd {
    LabelCrowd(const Crowd& crowd, Array<i64, 4> mistaken)
        : crowd(crowd), mistaken(mistaken), parts(crowd.parts.shape[0]), many(crowd.parts.shape[3] > LABELS_ABREAST),
          block(crowd.parts.shape[1], crowd.parts.shape[3], crowd.mixture.shape[1], crowd.parts.shape[2],
                crowd.communities.size(), !many),
          cells(block.labels * block.reports), row_size(block.places * block.labels), logs(block.channels * block.reports * row_size, false),
          constant_logs(block.channels * cells), ready(block.reports), given(block.reports * B), odds(many ? 0 : cells * B),
          means(many ? 0 : cells * B), likely(many ? block.channels * row_size : 0), mixed(many ? block.channels * parts * block.labels : 0),
          shares(block.labels), row(block.labels), always(greater_of(block.labels, block.reports)), always_log(block.reports) {
        for (i64 i = 0; i < block.channels * cells; i++)
            constant_logs[i] = log_of(at_least(crowd.constant_distributions.data[i]));
        for (i64 report = 0; !many && report < block.reports; report++) fill_logs(report);
    }

    // Fills in the logarithms of the probabilities of a report, unless they are there.
    QC_FN void fill_logs(i64 report) {
        if (ready[report]) return;
        ready[report] = 1;
        for (i64 channel = 0; channel < block.channels; channel++)
            for (i64 place = 0; place < block.places; place++) {
                double* QC_RESTRICT to = logs_of(channel, report) + place * block.labels;
                mix(channel, report, place, to);
                for (i64 label = 0; label < block.labels; label++) to[label] = log_of(at_least(to[label]));
            }
    }
    // Fills in the probability of a report at a place, for each label.
    QC_FN void mix(i64 channel, i64 report, i64 place, double* QC_RESTRICT to) const {
        for (i64 label = 0; label < block.labels; label++) to[label] = 0.0;
        for (i64 p = 0; p < parts; p++)
            if (crowd.mixture[p][place] != 0.0)
                add_times(to, crowd.parts[p][channel][report].data, crowd.mixture[p][place], block.labels);
    }
    QC_FN double* logs_of(i64 channel, i64 report) const { return logs + (channel * block.reports + report) * row_size; }
    QC_FN const double* constant_logs_of(i64 channel, i64 label) const {
        return constant_logs + (channel * block.labels + label) * block.reports;
    }

    template <class WorkerAt> QC_APART void weigh(int used, WorkerAt worker_at, const i64* counts, double inverse) {
        for (i64 i = 0; i < block.reports * B; i++) given[i] = 0.0;
        if (many) {
            block.used = used;
            weigh_each(worker_at, counts, inverse);
        } else {
            block.read_records(used, worker_at, counts, inverse);
            block.weigh_accuracies({logs, block.reports * row_size, 1, block.labels, row_size}, crowd.accuracies);
            for (i64 label = 0; label < block.labels; label++) {
                const double* QC_RESTRICT records = block.record(label, 0);
                for (i64 i = 0; i < block.reports * B; i++) given[i] += records[i];
            }
        }
        for (i64 channel = 0; channel < block.channels; channel++) {
            for (i64 community = 0; community < block.communities; community++)
                block.log_community(channel, community, log_of_any(crowd.channels[channel] * crowd.communities[community]));
            for (i64 label = 0; label < block.labels; label++) {
                double* chance = block.chance(channel, block.communities + label);
                fill<B>(chance, log_of_any(crowd.channels[channel] * crowd.constants[label]));
                add_rows<B>(chance, given, block.reports, constant_logs_of(channel, label));
            }
        }
        block.normalize();
    }

    // Worker after worker, all labels side by side.
    template <class WorkerAt> QC_FN void weigh_each(WorkerAt worker_at, const i64* counts, double inverse) {
        const i64 labels = block.labels, size = row_size;
        block.fill_offsets();
        for (int lane = 0; lane < B; lane++) {
            for (i64 i = 0; i < block.channels * size; i++) likely[i] = 0.0;
            if (lane < block.used)
                for (i64 report = 0; report < block.reports; report++) {
                    if (!read_record(counts + (worker_at(lane) * block.reports + report) * labels, inverse)) continue;
                    fill_logs(report);
                    for (i64 label = 0; label < labels; label++) given[report * B + lane] += row[label];
                    for (i64 channel = 0; channel < block.channels; channel++)
                        for (i64 place = 0; place < block.places; place++)
                            add_products(likely + channel * size + place * labels, row, logs_of(channel, report) + place * labels);
                }
            for (i64 channel = 0; channel < block.channels; channel++)
                for (i64 place = 0; place < block.places; place++)
                    for (i64 label = 0; label < labels; label++)
                        block.likely_at(channel, label)[place * B + lane] = likely[channel * size + place * labels + label];
        }
        for (i64 channel = 0; channel < block.channels; channel++)
            for (i64 label = 0; label < labels; label++) block.compare_accuracies(channel, label, crowd.accuracies);
    }
    // Reads a worker's expected reports of one kind for each label into the row, and returns whether there are any.
    QC_FN bool read_record(const i64* QC_RESTRICT from, double inverse) {
        i64 any = 0;
        for (i64 label = 0; label < block.labels; label++) any |= from[label];
        if (any == 0) return false;
        double* QC_RESTRICT to = row;
        for (i64 label = 0; label < block.labels; label++) to[label] = (double)from[label] * inverse;
        return true;
    }
    QC_FN void add_products(double* QC_RESTRICT to, const double* QC_RESTRICT x, const double* QC_RESTRICT y) const {
        for (i64 label = 0; label < block.labels; label++) to[label] += x[label] * y[label];
    }

    // Fills in the workers' tables. No sweep reads the log-odds of a report that a worker has not
    // given: they are its votes.
    template <class WorkerAt> QC_APART void fill_tables(WorkerAt worker_at, double one, i32* log_odds, i32* votes) {
        if (many) {
            for (int lane = 0; lane < block.used; lane++) {
                read_chances(lane);
                const i64 first = worker_at(lane) * cells;
                for (i64 report = 0; report < block.reports; report++)
                    fill_row(report, given[report * B + lane] != 0.0, one, log_odds + first + report * block.labels,
                             votes + first + report * block.labels);
            }
            return;
        }
        expect(crowd.constant_distributions.data, means);
        for (i64 label = 0; label < block.labels; label++)
            for (i64 channel = 0; channel < block.channels; channel++)
                for (i64 p = 0; p < parts; p++) {
                    double weight[B];
                    fill<B>(weight, 0.0);
                    add_rows<B>(weight, block.likely_at(channel, label), block.places, crowd.mixture[p].data);
                    for (i64 report = 0; report < block.reports; report++)
                        add_rows<B>(means + (label * block.reports + report) * B, weight, 1, crowd.parts[p][channel][report].data + label);
                }
        for (i64 i = 0; i < cells * B; i++) means[i] = log_of(at_least(means[i]));
        expect(constant_logs, odds);
        for (i64 label = 0; label < block.labels; label++) {
            double* QC_RESTRICT to = odds + label * block.reports * B;
            for (i64 channel = 0; channel < block.channels; channel++)
                for (i64 report = 0; report < block.reports; report++)
                    add_rows<B>(to + report * B, block.likely_at(channel, label), block.places,
                                logs_of(channel, report) + label, block.labels);
            const double* QC_RESTRICT instead = means + label * block.reports * B;
            for (i64 i = 0; i < block.reports * B; i++) to[i] = given[i] != 0.0 ? to[i] : instead[i];
        }
        block.write_rows(worker_at, odds, one, log_odds);
        block.write_rows(worker_at, means, one, votes);
    }
    // Fills in expected numbers of constant answers at [label, report, worker], the same for all labels.
    QC_FN void expect(const double* numbers, double* expected) const {
        for (i64 i = 0; i < block.reports * B; i++) expected[i] = 0.0;
        for (i64 channel = 0; channel < block.channels; channel++)
            for (i64 report = 0; report < block.reports; report++)
                add_rows<B>(expected + report * B, block.chance(channel, block.communities), block.labels,
                            numbers + channel * cells + report, block.reports);
        for (i64 i = block.reports * B; i < cells * B; i++) expected[i] = expected[i - block.reports * B];
    }
    // Reads the probabilities of one worker of the block: its accuracies at [channel, place, label], the parts of
    // its reports, and what constant answers add to each report.
    QC_FN void read_chances(int lane) {
        const i64 labels = block.labels;
        read_accuracies(lane);
        for (i64 i = 0; i < block.channels * parts * labels; i++) mixed[i] = 0.0;
        for (i64 report = 0; report < block.reports; report++) always[report] = always_log[report] = 0.0;
        for (i64 channel = 0; channel < block.channels; channel++) {
            for (i64 p = 0; p < parts; p++)
                for (i64 place = 0; place < block.places; place++)
                    add_times(mixed + (channel * parts + p) * labels, likely + channel * row_size + place * labels,
                              crowd.mixture[p][place], labels);
            for (i64 label = 0; label < labels; label++) {
                const double chance = block.chance(channel, block.communities + label)[lane];
                add_times(always, crowd.constant_distributions[channel][label].data, chance, block.reports);
                add_times(always_log, constant_logs_of(channel, label), chance, block.reports);
            }
        }
    }
    QC_FN void read_accuracies(int lane) {
        for (i64 channel = 0; channel < block.channels; channel++)
            for (i64 place = 0; place < block.places; place++)
                for (i64 label = 0; label < block.labels; label++)
                    likely[channel * row_size + place * block.labels + label] =
                        block.likely_at(channel, label)[place * B + lane];
    }
    static QC_FN void add_times(double* QC_RESTRICT to, const double* QC_RESTRICT x, double factor, i64 count) {
        for (i64 i = 0; i < count; i++) to[i] += x[i] * factor;
    }
    QC_FN void fill_row(i64 report, bool was_given, double one, i32* QC_RESTRICT log_odds, i32* QC_RESTRICT votes) {
        const i64 labels = block.labels;
        double* QC_RESTRICT to = row;
        for (i64 label = 0; label < labels; label++) to[label] = always[report];
        for (i64 channel = 0; channel < block.channels; channel++)
            for (i64 p = 0; p < parts; p++)
                add_products(to, mixed + (channel * parts + p) * labels, crowd.parts[p][channel][report].data);
        for (i64 label = 0; label < labels; label++)
            votes[label] = log_odds[label] = (i32)to_integer(log_of(at_least(to[label])) * one);
        if (!was_given) return;
        for (i64 label = 0; label < labels; label++) to[label] = always_log[report];
        for (i64 channel = 0; channel < block.channels; channel++)
            for (i64 place = 0; place < block.places; place++)
                add_products(to, likely + channel * row_size + place * labels, logs_of(channel, report) + place * labels);
        for (i64 label = 0; label < labels; label++) log_odds[label] = (i32)to_integer(to[label] * one);
    }

    // Adds the expected reports that are wrong answers.
    template <class WorkerAt>
    QC_APART void count_mistakes(WorkerAt worker_at, const i64* counts, double inverse, double unit) {
        for (int lane = 0; many && lane < block.used; lane++) {
            read_accuracies(lane);
            for (i64 report = 0; report < block.reports; report++)
                if (read_record(counts + (worker_at(lane) * block.reports + report) * block.labels, inverse))
                    count_mistakes_of(report, unit);
        }
        for (i64 which = 0; !many && which < parts - 1; which++)
            for (i64 channel = 0; channel < block.channels; channel++)
                for (i64 report = 0; report < block.reports; report++) {
                    double* wrong = odds;
                    for (i64 i = 0; i < block.labels * B; i++) wrong[i] = 0.0;
                    for (i64 place = 0; place < block.places; place++)
                        if (share_mistakes(which, channel, report, place))
                            for (i64 label = 0; label < block.labels; label++)
                                add_rows<B>(wrong + label * B, block.likely_at(channel, label) + place * B, 1, shares + label);
                    for (i64 label = 0; label < block.labels; label++)
                        Plain::add_to(&mistaken[which][channel][report][label],
                                      sum_of<B>(wrong + label * B, block.record(label, report), unit));
                }
    }
    QC_FN void count_mistakes_of(i64 report, double unit) {
        double* QC_RESTRICT wrong = always;
        for (i64 which = 0; which < parts - 1; which++)
            for (i64 channel = 0; channel < block.channels; channel++) {
                for (i64 label = 0; label < block.labels; label++) wrong[label] = 0.0;
                for (i64 place = 0; place < block.places; place++)
                    if (share_mistakes(which, channel, report, place))
                        add_products(wrong, likely + channel * row_size + place * block.labels, shares);
                i64* QC_RESTRICT to = mistaken[which][channel][report].data;
                for (i64 label = 0; label < block.labels; label++)
                    to[label] = add(to[label], to_integer(wrong[label] * row[label] * unit));
            }
    }
    // Fills in, for each label, how much of the probability of a report is of a part of wrong answers.
    QC_FN bool share_mistakes(i64 which, i64 channel, i64 report, i64 place) {
        const double weight = crowd.mixture[1 + which][place];
        if (weight == 0.0) return false;
        mix(channel, report, place, shares);
        const double* QC_RESTRICT part = crowd.parts[1 + which][channel][report].data;
        double* QC_RESTRICT to = shares;
        for (i64 label = 0; label < block.labels; label++) to[label] = weight * part[label] / at_least(to[label]);
        return true;
    }

    const Crowd& crowd;
    const Array<i64, 4> mistaken;
    const i64 parts;
    const bool many;
    CrowdBlock<B> block;
    const i64 cells, row_size;
    Room<double> logs, constant_logs;  // at [channel, report, place, label], and as in the crowd
    Room<u8> ready;                    // per report: whether its logarithms are there
    Room<double> given, odds, means, likely, mixed, shares, row, always, always_log;
};

i64 weigh_workers(Array<const i64> members, Array<const i64> counts, double count_unit, const Crowd& crowd, double one,
                  double worker_unit, double report_unit, double evidence_unit, Array<i32> log_odds, Array<i32> votes,
                  Array<double> constancy, const CrowdSums& sums, Array<i64, 4> mistaken) {
    check_crowd_of_labels(crowd, sums, mistaken);
    const i64 cells = crowd.parts.shape[2] * crowd.parts.shape[3];
    require(counts.size() % cells == 0 && counts.size() / cells == constancy.size() && log_odds.size() == counts.size() &&
                votes.size() == counts.size(),
            "counts, log-odds and votes must be one per worker, report and label");
    LabelCrowd all(crowd, mistaken);
    CrowdBlock<B>& block = all.block;
    const double inverse = 1.0 / count_unit;
    i64 climbed = 0;
    for (i64 first = 0; first < members.size(); first += B) {
        const int used = (int)lesser_of<i64>(B, members.size() - first);
        const auto worker_at = [&](int lane) { return members[first + lane]; };
        for (int lane = 0; lane < used; lane++)
            require(worker_at(lane) >= 0 && worker_at(lane) < constancy.size(), "there is no such member, at place",
                    first + lane);
        all.weigh(used, worker_at, counts.data, inverse);
        block.expect_accuracies(crowd.accuracies, worker_unit, sums.accuracies);
        if (mistaken.size()) {
            all.count_mistakes(worker_at, counts.data, inverse, report_unit);
            continue;
        }
        all.fill_tables(worker_at, one, log_odds.data, votes.data);
        block.count_kinds(worker_unit, sums);
        for (int lane = 0; lane < used; lane++) {
            climbed = add(climbed, to_integer(block.best[lane] * evidence_unit));
            double constant = 0.0;
            for (i64 channel = 0; channel < block.channels; channel++)
                for (i64 label = 0; label < block.labels; label++)
                    constant += block.chance(channel, block.communities + label)[lane];
            constancy[worker_at(lane)] = constant;
        }
    }
    return climbed;
}

void bound_votes(Array<i32, 3> votes, Array<const double> most) {
    require(most.size() == votes.shape[0], "bounds must be one per worker");
    require(votes.shape[2] >= 1, "there must be a label");
    const i64 reports = votes.shape[1], labels = votes.shape[2];
    for (i64 worker = 0; worker < votes.shape[0]; worker++) {
        require(most[worker] >= 0.0, "a bound is below 0, of worker", worker);
        for (i64 report = 0; report < reports; report++) {
            i32* row = votes.data + (worker * reports + report) * labels;
            i32 low = row[0], high = row[0];
            for (i64 label = 1; label < labels; label++) {
                low = lesser_of(low, row[label]);
                high = greater_of(high, row[label]);
            }
            const double apart = (double)high - (double)low;
            if (!(apart > most[worker])) continue;
            const double factor = most[worker] / apart;
            for (i64 label = 0; label < labels; label++)
                row[label] = (i32)(low + to_signed(std::floor((double)((i64)row[label] - low) * factor)));
        }
    }
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
