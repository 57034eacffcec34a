// The evidence of labels on their workers, and of workers on the crowd.
#include "../label_crowd.h"

#include "../label_kernels.h"

namespace quietcrowd {
namespace QC_VARIANT {
static void check_distributions(const Crowd& crowd, Array<const double, 4> logs, Array<const double, 3> constant_logs,
                        const CrowdSums& sums, Array<i64, 4> reports) {
    for (int d = 0; d < 4; d++) {
        require(logs.shape[d] >= 1 && logs.shape[d] <= 65536, "distributions must have 1 to 65,536 entries in each dimension");
        require(crowd.distributions.shape[d] == logs.shape[d], "logarithms must have the shape of the distributions");
        require(reports.size() == 0 || reports.shape[d] == logs.shape[d], "expected reports must have the shape of the distributions");
    }
    const i64 of_constants[3] = {logs.shape[0], logs.shape[1], logs.shape[3]};
    for (int d = 0; d < 3; d++)
        require(crowd.constant_distributions.shape[d] == of_constants[d] && constant_logs.shape[d] == of_constants[d],
                "distributions of constant answers must be one per channel, label and report");
    require(crowd.channels.size() == logs.shape[0], "probabilities of channels must be one per channel");
    check_crowd(crowd.communities, crowd.constants, crowd.accuracies, logs.shape[1], logs.shape[2], sums);
}

// Fills in the logarithms of the evidence for each community, and for constant answers.
template <int B>
static void log_chances(CrowdBlock<B>& block, const Crowd& crowd, Array<const double, 3> constant_logs, double* given) {
    for (i64 i = 0; i < block.reports * B; i++) given[i] = 0.0;
    for (i64 label = 0; label < block.labels; label++) {
        const double* QC_RESTRICT records = block.record(label, 0);
        for (i64 i = 0; i < block.reports * B; i++) given[i] += records[i];
    }
    for (i64 channel = 0; channel < block.channels; channel++) {
        for (i64 community = 0; community < block.communities; community++)
            block.log_community(channel, community, log_of_any(crowd.channels[channel] * crowd.communities[community]));
        for (i64 label = 0; label < block.labels; label++) {
            double* row = block.chance(channel, block.communities + label);
            fill<B>(row, log_of_any(crowd.channels[channel] * crowd.constants[label]));
            add_rows<B>(row, given, block.reports, constant_logs[channel][label].data);
        }
    }
}

// Fills in the expected values of numbers of the distributions, at [label, report, worker].
template <int B>
QC_APART static void expect(const CrowdBlock<B>& block, Array<const double, 4> numbers,
                            Array<const double, 3> of_constants, double* expected) {
    const i64 reports = block.reports;
    for (i64 i = 0; i < reports * B; i++) expected[i] = 0.0;
    for (i64 channel = 0; channel < block.channels; channel++)
        for (i64 report = 0; report < reports; report++)
            add_rows<B>(expected + report * B, block.chance(channel, block.communities), block.labels,
                        of_constants[channel].data + report, reports);
    for (i64 label = block.labels - 1; label >= 0; label--) {  // the others begin with the first
        double* rows = expected + label * reports * B;
        if (label)
            for (i64 i = 0; i < reports * B; i++) rows[i] = expected[i];
        for (i64 channel = 0; channel < block.channels; channel++)
            for (i64 report = 0; report < reports; report++)
                add_rows<B>(rows + report * B, block.likely_at(channel, label), block.places,
                            numbers[channel][label].data + report, reports);
    }
}

template <int B> QC_APART static void count_reports(const CrowdBlock<B>& block, double unit, Array<i64, 4> expected) {
    i64* to = expected.data;
    for (i64 channel = 0; channel < block.channels; channel++)
        for (i64 label = 0; label < block.labels; label++)
            for (i64 place = 0; place < block.places; place++)
                for (i64 report = 0; report < block.reports; report++)
                    Plain::add_to(to++, sum_of<B>(block.likely_at(channel, label) + place * B,
                                                  block.record(label, report), unit));
}

i64 weigh_workers(Array<const i64> members, Array<const i64> counts, double count_unit, const Crowd& crowd,
                  Array<const double, 4> logs, Array<const double, 3> constant_logs, double one, double worker_unit,
                  double report_unit, double evidence_unit, Array<i32> log_odds, Array<i32> votes,
                  Array<double> constancy, const CrowdSums& sums, Array<i64, 4> reports) {
    constexpr int B = WORKERS_ABREAST;
    check_distributions(crowd, logs, constant_logs, sums, reports);
    const i64 cells = logs.shape[1] * logs.shape[3];
    require(counts.size() % cells == 0 && counts.size() / cells == constancy.size() && log_odds.size() == counts.size() &&
                votes.size() == counts.size(),
            "counts, log-odds and votes must be one per worker, report and label");
    CrowdBlock<B> block(logs.shape[0], logs.shape[1], logs.shape[2], logs.shape[3], crowd.communities.size());
    Room<double> given(block.reports * B), odds(cells * B), means(cells * B);
    i64 climbed = 0;
    for (i64 first = 0; first < members.size(); first += B) {
        const int used = (int)lesser_of<i64>(B, members.size() - first);
        const auto worker_at = [&](int lane) { return members[first + lane]; };
        for (int lane = 0; lane < used; lane++)
            require(worker_at(lane) >= 0 && worker_at(lane) < constancy.size(), "there is no such member, at place",
                    first + lane);
        block.read_records(used, worker_at, counts.data, 1.0 / count_unit);
        block.weigh_accuracies(logs.data, block.places * block.reports, crowd.accuracies);
        log_chances(block, crowd, constant_logs, given);
        block.normalize();
        block.expect_accuracies(crowd.accuracies, worker_unit, sums.accuracies);
        expect(block, logs, constant_logs, odds);
        expect(block, crowd.distributions, crowd.constant_distributions, means);
        block.count_kinds(worker_unit, sums);
        if (reports.size()) count_reports(block, report_unit, reports);
        for (i64 i = 0; i < cells * B; i++) means[i] = log_of(means[i]);
        block.write_rows(worker_at, odds, one, log_odds.data);
        block.write_rows(worker_at, means, one, votes.data);
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
