// The evidence of labels on their workers, and of workers on the crowd.
#include "../label_crowd.h"

#include "../label_kernels.h"

namespace quietcrowd {
namespace QC_VARIANT {
constexpr int B = WORKERS_ABREAST;
constexpr i64 LABELS_ABREAST = 16;  // with more labels, labels are side by side, and absent reports are skipped
constexpr double LEAST = 1e-27;     // probability of a report
constexpr double NEGLIGIBLE = 1e-60;  // a chance so small changes no bit of a probability of at least LEAST

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
          plain(many && are_answers(crowd)),
          block(crowd.parts.shape[1], crowd.parts.shape[3], crowd.mixture.shape[1], crowd.parts.shape[2],
                crowd.communities.size(), !many),
          cells(block.labels * block.reports), row_size(block.places * block.labels), of_parts(plain ? (parts - 1) * block.labels : 0),
          logs(plain ? 0 : block.channels * block.reports * row_size, false), constant_logs(block.channels * cells), ready(block.reports),
          given(block.reports * B), odds(many ? 0 : cells * B), means(many ? 0 : cells * B), likely(many ? block.channels * row_size : 0),
          hit_logs(plain ? row_size : 0), miss_logs(plain ? block.places : 0), part_logs(of_parts * block.reports, false),
          hits(plain ? block.labels : 0), misses(hits.count), told(of_parts), wrongly(of_parts), wrong_logs(hits.count),
          right_logs(hits.count), mixed(many ? B * block.channels * parts * block.labels : 0), shares(many ? block.labels : row_size), row(block.labels),
          wrong(block.labels), always(many ? block.reports * B : 0), always_log(always.count) {
        for (i64 i = 0; i < block.channels * cells; i++)
            constant_logs[i] = log_of(at_least(crowd.constant_distributions.data[i]));
        for (i64 report = 0; !many && report < block.reports; report++) fill_logs(report);
        for (i64 place = 0; plain && place < block.places; place++) {
            miss_logs[place] = log_of(at_least(crowd.mixture[wrong_part(place)][place]));
            for (i64 label = 0; label < block.labels; label++)
                hit_logs[place * block.labels + label] = log_of(at_least(crowd.parts[0][0][label][label] * crowd.mixture[0][place]));
        }
    }

    // Whether reports are answers without noise: right ones have the label of the truth, and wrong ones do not.
    static QC_FN bool are_answers(const Crowd& crowd) {
        const i64 labels = crowd.parts.shape[3];
        if (crowd.parts.shape[0] == 1 || crowd.parts.shape[1] != 1 || crowd.parts.shape[2] != labels) return false;
        for (i64 p = 0; p < crowd.parts.shape[0]; p++)
            for (i64 report = 0; report < labels; report++)
                for (i64 label = 0; label < labels; label++)
                    if ((report == label) == (p > 0) && crowd.parts[p][0][report][label] != 0.0) return false;
        return true;
    }
    // The part of the wrong answers at a place.
    QC_FN i64 wrong_part(i64 place) const {
        i64 p = 1;
        while (p < parts - 1 && crowd.mixture[p][place] == 0.0) p++;
        return p;
    }
    QC_FN double* part_logs_of(i64 p, i64 report) const { return part_logs + ((p - 1) * block.reports + report) * block.labels; }

    // Fills in the logarithms of the probabilities of a report, unless they are there.
    QC_FN void fill_logs(i64 report) {
        if (ready[report]) return;
        ready[report] = 1;
        for (i64 p = 1; plain && p < parts; p++)
            for (i64 label = 0; label < block.labels; label++)
                part_logs_of(p, report)[label] = log_of(at_least(crowd.parts[p][0][report][label]));
        if (plain) return;
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
            for (i64 label = 0; label < block.labels; label++) {
                const double* QC_RESTRICT records = block.record(label, 0);
                for (i64 i = 0; i < block.reports * B; i++) given[i] += records[i];
            }
            find_given();
            block.weigh_accuracies({logs, block.reports * row_size, 1, block.labels, row_size}, crowd.accuracies, first, end - first);
        }
        for (i64 channel = 0; channel < block.channels; channel++) {
            for (i64 community = 0; community < block.communities; community++)
                block.log_community(channel, community, log_of_any(crowd.channels[channel] * crowd.communities[community]));
            for (i64 label = 0; label < block.labels; label++) {
                double* chance = block.chance(channel, block.communities + label);
                fill<B>(chance, log_of_any(crowd.channels[channel] * crowd.constants[label]));
                add_rows<B>(chance, given + first * B, end - first, constant_logs_of(channel, label) + first);
            }
        }
        block.normalize();
    }
    // Finds the first report and the last one that workers of the block have given.
    QC_FN void find_given() {
        const auto absent = [&](i64 report) {
            bool none = true;
            for (int i = 0; i < B; i++) none &= given[report * B + i] == 0.0;
            return none;
        };
        for (first = 0, end = block.reports; first < end && absent(first);) first++;
        while (end > first && absent(end - 1)) end--;
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
                    if (plain) {
                        count_answer(report);
                        continue;
                    }
                    for (i64 channel = 0; channel < block.channels; channel++)
                        for (i64 place = 0; place < block.places; place++)
                            add_products(likely + channel * size + place * labels, row, logs_of(channel, report) + place * labels);
                }
            if (plain) weigh_answers();
            for (i64 channel = 0; channel < block.channels; channel++)
                for (i64 label = 0; label < labels; label++)
                    for (i64 place = 0; place < block.places; place++)
                        block.likely_at(channel, label)[place * B + lane] = likely[channel * size + place * labels + label];
        }
        for (i64 channel = 0; channel < block.channels; channel++)
            for (i64 label = 0; label < labels; label++) block.compare_accuracies(channel, label, crowd.accuracies);
    }
    // Adds the answers in the row: right ones, wrong ones, and the log-probabilities of those under each part.
    QC_FN void count_answer(i64 report) {
        hits[report] = row[report];
        row[report] = 0.0;
        for (i64 label = 0; label < block.labels; label++) misses[label] += row[label];
        for (i64 p = 1; p < parts; p++) add_products(told + (p - 1) * block.labels, row, part_logs_of(p, report));
    }
    // Fills in a worker's log-likelihoods from these sums, and clears them: the probability of a wrong answer is a
    // product of a factor of the place and one of the label.
    QC_FN void weigh_answers() {
        const i64 labels = block.labels;
        for (i64 place = 0; place < block.places; place++) {
            double* QC_RESTRICT to = likely + place * labels;
            const double* QC_RESTRICT hit = hit_logs + place * labels;
            const double* QC_RESTRICT of_part = told + (wrong_part(place) - 1) * labels;
            const double *QC_RESTRICT right = hits, *QC_RESTRICT others = misses, miss = miss_logs[place];
            for (i64 label = 0; label < labels; label++) to[label] = right[label] * hit[label] + others[label] * miss + of_part[label];
        }
        for (i64 label = 0; label < labels; label++) hits[label] = misses[label] = 0.0;
        for (i64 i = 0; i < (parts - 1) * labels; i++) told[i] = 0.0;
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

    // Fills in the workers' tables. No sweep reads the rows of a report that a worker has not given: its log-odds
    // are its votes; unless `all_rows`, many labels leave them out.
    template <class WorkerAt> QC_APART void fill_tables(WorkerAt worker_at, double one, bool all_rows, i32* log_odds, i32* votes) {
        if (many) {
            count_constant_answers();
            for (int lane = 0; lane < block.used; lane++) {
                read_chances(lane);
                if (plain) expect_answers();
                for (i64 report = 0; report < block.reports; report++)
                    if (given[report * B + lane] != 0.0)
                        fill_log_odds(lane, report, one, log_odds + (worker_at(lane) * block.reports + report) * block.labels);
            }
            for (i64 report = 0; report < block.reports; report++)
                for (int lane = 0; lane < block.used; lane++) {
                    const bool absent = given[report * B + lane] == 0.0;
                    if (absent && !all_rows) continue;
                    const i64 first = (worker_at(lane) * block.reports + report) * block.labels;
                    fill_votes(lane, report, one, votes + first);
                    if (absent)
                        for (i64 label = 0; label < block.labels; label++) log_odds[first + label] = votes[first + label];
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
                for (i64 report = first; report < end; report++)
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
    // Fills in what constant answers add to each report, at [worker, report].
    QC_FN void count_constant_answers() {
        for (i64 i = 0; i < block.reports * B; i++) always[i] = always_log[i] = 0.0;
        for (int lane = 0; lane < block.used; lane++)
            for (i64 channel = 0; channel < block.channels; channel++)
                for (i64 label = 0; label < block.labels; label++) {
                    const double chance = block.chance(channel, block.communities + label)[lane];
                    if (chance < NEGLIGIBLE) continue;
                    add_times(always + lane * block.reports, crowd.constant_distributions[channel][label].data, chance, block.reports);
                    add_times(always_log + lane * block.reports, constant_logs_of(channel, label), chance, block.reports);
                }
    }
    // Reads the probabilities of one worker of the block: its accuracies at [channel, place, label], and the parts of
    // its reports.
    QC_FN void read_chances(int lane) {
        const i64 labels = block.labels;
        read_accuracies(lane);
        double* QC_RESTRICT to = mixed_of(lane);
        for (i64 i = 0; i < block.channels * parts * labels; i++) to[i] = 0.0;
        for (i64 channel = 0; channel < block.channels; channel++)
            for (i64 p = 0; p < parts; p++)
                for (i64 place = 0; place < block.places; place++)
                    add_times(to + (channel * parts + p) * labels, likely + channel * row_size + place * labels,
                              crowd.mixture[p][place], labels);
    }
    // Fills in, for each label, how probable wrong answers of each part are, and mean log-probabilities.
    QC_FN void expect_answers() {
        const i64 labels = block.labels;
        for (i64 i = 0; i < (parts - 1) * labels; i++) wrongly[i] = 0.0;
        for (i64 label = 0; label < labels; label++) wrong_logs[label] = right_logs[label] = 0.0;
        for (i64 place = 0; place < block.places; place++) {
            const double* QC_RESTRICT at = likely + place * labels;
            if (crowd.mixture[wrong_part(place)][place] != 0.0) add_times(wrongly + (wrong_part(place) - 1) * labels, at, 1.0, labels);
            add_times(wrong_logs, at, miss_logs[place], labels);
            add_products(right_logs, at, hit_logs + place * labels);
        }
    }
    QC_FN double* mixed_of(int lane) const { return mixed + lane * block.channels * parts * block.labels; }
    QC_FN void read_accuracies(int lane) {
        for (i64 channel = 0; channel < block.channels; channel++)
            for (i64 label = 0; label < block.labels; label++)
                for (i64 place = 0; place < block.places; place++)
                    likely[channel * row_size + place * block.labels + label] =
                        block.likely_at(channel, label)[place * B + lane];
    }
    static QC_FN void add_times(double* QC_RESTRICT to, const double* QC_RESTRICT x, double factor, i64 count) {
        for (i64 i = 0; i < count; i++) to[i] += x[i] * factor;
    }
    QC_FN void fill_votes(int lane, i64 report, double one, i32* QC_RESTRICT votes) {
        const i64 labels = block.labels;
        double* QC_RESTRICT to = row;
        for (i64 label = 0; label < labels; label++) to[label] = always[lane * block.reports + report];
        if (plain) to[report] += mixed_of(lane)[report] * crowd.parts[0][0][report][report];
        for (i64 channel = 0; channel < block.channels; channel++)
            for (i64 p = plain ? 1 : 0; p < parts; p++)
                add_products(to, mixed_of(lane) + (channel * parts + p) * labels, crowd.parts[p][channel][report].data);
        for (i64 label = 0; label < labels; label++) votes[label] = (i32)to_integer(log_of(at_least(to[label])) * one);
    }
    QC_FN void fill_log_odds(int lane, i64 report, double one, i32* QC_RESTRICT log_odds) {
        const i64 labels = block.labels;
        double* QC_RESTRICT to = row;
        const double constant = always_log[lane * block.reports + report];
        for (i64 label = 0; label < labels; label++) to[label] = constant;
        if (plain) {
            add_times(to, wrong_logs, 1.0, labels);
            for (i64 p = 1; p < parts; p++) add_products(to, wrongly + (p - 1) * labels, part_logs_of(p, report));
            to[report] = constant + right_logs[report];
        }
        for (i64 channel = 0; !plain && channel < block.channels; channel++)
            for (i64 place = 0; place < block.places; place++)
                add_products(to, likely + channel * row_size + place * labels, logs_of(channel, report) + place * labels);
        for (i64 label = 0; label < labels; label++) log_odds[label] = (i32)to_integer(to[label] * one);
    }

    // Adds the expected reports that are wrong answers.
    template <class WorkerAt>
    QC_APART void count_mistakes(WorkerAt worker_at, const i64* counts, double inverse, double unit) {
        for (int lane = 0; many && lane < block.used; lane++) {
            read_accuracies(lane);
            if (plain) expect_answers();
            for (i64 report = 0; report < block.reports; report++)
                if (given[report * B + lane] != 0.0) {
                    read_record(counts + (worker_at(lane) * block.reports + report) * block.labels, inverse);
                    count_mistakes_of(report, unit);
                }
        }
        for (i64 which = 0; !many && which < parts - 1; which++)
            for (i64 channel = 0; channel < block.channels; channel++)
                for (i64 report = first; report < end; report++) {
                    for (i64 place = 0; place < block.places; place++) share_mistakes(which, channel, report, place, shares + place * block.labels);
                    for (i64 label = 0; label < block.labels; label++) {
                        double mistakes[B];
                        fill<B>(mistakes, 0.0);
                        add_rows<B>(mistakes, block.likely_at(channel, label), block.places, shares + label, block.labels);
                        Plain::add_to(&mistaken[which][channel][report][label], sum_of<B>(mistakes, block.record(label, report), unit));
                    }
                }
    }
    QC_FN void count_mistakes_of(i64 report, double unit) {
        for (i64 which = 0; which < parts - 1; which++)
            for (i64 channel = 0; channel < block.channels; channel++) {
                for (i64 label = 0; label < block.labels; label++) wrong[label] = plain ? wrongly[which * block.labels + label] : 0.0;
                if (plain) wrong[report] = 0.0;
                for (i64 place = 0; !plain && place < block.places; place++)
                    if (share_mistakes(which, channel, report, place, shares))
                        add_products(wrong, likely + channel * row_size + place * block.labels, shares);
                i64* QC_RESTRICT to = mistaken[which][channel][report].data;
                for (i64 label = 0; label < block.labels; label++)
                    to[label] = add(to[label], to_integer(wrong[label] * row[label] * unit));
            }
    }
    // Fills in, for each label, how much of the probability of a report is of a part of wrong answers.
    QC_FN bool share_mistakes(i64 which, i64 channel, i64 report, i64 place, double* QC_RESTRICT to) const {
        const double weight = crowd.mixture[1 + which][place];
        for (i64 label = 0; label < block.labels; label++) to[label] = 0.0;
        if (weight == 0.0) return false;
        mix(channel, report, place, to);
        const double* QC_RESTRICT part = crowd.parts[1 + which][channel][report].data;
        for (i64 label = 0; label < block.labels; label++) to[label] = weight * part[label] / at_least(to[label]);
        return true;
    }

    const Crowd& crowd;
    const Array<i64, 4> mistaken;
    const i64 parts;
    const bool many, plain;  // plain: many labels, and reports are answers without noise
    CrowdBlock<B> block;
    const i64 cells, row_size, of_parts;
    i64 first = 0, end = block.reports;  // of the reports that a block of workers has given; of all if there are many labels
    Room<double> logs, constant_logs;  // at [channel, report, place, label], and as in the crowd
    Room<u8> ready;                    // per report: whether its logarithms are there
    Room<double> given, odds, means, likely;
    Room<double> hit_logs, miss_logs, part_logs;  // of answers without noise: at [place, label], [place] and [part, report, label]
    Room<double> hits, misses, told;              // of one worker's answers: at [label], [label] and [part, label]
    Room<double> wrongly, wrong_logs, right_logs; // at [part, label], [label] and [label]
    Room<double> mixed, shares, row, wrong, always, always_log;
};

i64 weigh_workers(Array<const i64> members, Array<const i64> counts, double count_unit, const Crowd& crowd, double one,
                  double worker_unit, double report_unit, double evidence_unit, bool all_rows, Array<i32> log_odds,
                  Array<i32> votes, Array<double> constancy, const CrowdSums& sums, Array<i64, 4> mistaken) {
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
        all.fill_tables(worker_at, one, all_rows, log_odds.data, votes.data);
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
