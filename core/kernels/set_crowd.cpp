// The evidence of sets of labels on workers, and of workers on the crowd. The place of a set among the nodes
// does not depend on its labels, so that one distribution serves all truths. For a worker with a
// constant label it counts the sets that contain the label.
#include "../label_crowd.h"
#include "../label_kernels.h"

namespace quietcrowd {
namespace QC_VARIANT {
// Fills in the expected logarithms at the nodes, and the expected accuracies, per label.
template <int B>
QC_APART static void expect(const CrowdBlock<B>& block, const double* logs, const double* grid, double* odds,
                            double* skills) {
    for (i64 label = 0; label < block.labels; label++) {
        const double* rows = block.likely_at(0, label);
        for (i64 node = 0; node < block.reports; node++) {
            double* row = odds + (label * block.reports + node) * B;
            fill<B>(row, 0.0);
            add_rows<B>(row, rows, block.places, logs + node, block.reports);
        }
        double total[B];
        double* QC_RESTRICT skill = skills + label * B;
        fill<B>(skill, 0.0);
        fill<B>(total, 0.0);
        add_rows<B>(skill, rows, block.places, grid);
        for (i64 place = 0; place < block.places; place++)
            for (int i = 0; i < B; i++) total[i] += rows[place * B + i];
        for (int i = 0; i < B; i++) skill[i] /= total[i] < 1e-300 ? 1e-300 : total[i];
    }
}

i64 weigh_set_workers(Array<const i64, 3> counts, Array<const i64, 2> held, Array<const i64> answers,
                      Array<const i64> bases, double count_unit, Array<const double> communities,
                      Array<const double> constants, Array<const double, 3> accuracies, Array<const double, 2> logs,
                      Array<const double> grid, double with_label, double without, double one, double share_one,
                      double worker_unit, double evidence_unit, Array<i32, 3> log_odds, Array<i32, 2> skills,
                      Array<i32, 2> steady, Array<double> constancy, const CrowdSums& sums) {
    constexpr int B = WORKERS_ABREAST;
    const i64 workers = counts.shape[0], nodes = counts.shape[1], labels = counts.shape[2], places = grid.size();
    require(labels >= 1 && labels <= 65536 && nodes >= 1 && nodes <= 65536 && places >= 1 && places <= 65536,
            "there must be 1 to 65,536 labels, nodes and accuracies");
    require(logs.shape[0] == places && logs.shape[1] == nodes, "logarithms must be one per accuracy and node");
    check_crowd(communities, constants, accuracies, labels, places, sums);
    require(answers.size() == workers && bases.size() == workers && constancy.size() == workers,
            "answers, bases and constancy must be one per worker");
    require(log_odds.shape[0] == workers && log_odds.shape[1] == nodes && log_odds.shape[2] == labels,
            "log-odds must have the shape of the counts");
    const i64* shapes[3] = {held.shape, skills.shape, steady.shape};
    for (const i64* shape : shapes)
        require(shape[0] == workers && shape[1] == labels, "there must be one number per worker and label");
    CrowdBlock<B> block(1, labels, places, nodes, communities.size());
    Room<double> odds(labels * nodes * B), expected(labels * B);
    i64 climbed = 0;
    for (i64 first = 0; first < workers; first += B) {
        const int used = (int)lesser_of<i64>(B, workers - first);
        const auto worker_at = [&](int lane) { return first + lane; };
        block.read_records(used, worker_at, counts.data, 1.0 / count_unit);
        block.weigh_accuracies({logs.data, 0, 0, nodes, 1}, accuracies, 0, block.reports);
        for (i64 community = 0; community < block.communities; community++)
            block.log_community(0, community, log_of_any(communities[community]));
        for (i64 label = 0; label < labels; label++) {
            // less the sets' likelihoods of wrong answers, which all other chances omit
            double* row = block.chance(0, block.communities + label);
            fill<B>(row, log_of_any(constants[label]));
            for (int lane = 0; lane < used; lane++) {
                const i64 worker = first + lane, there = held[worker][label];
                row[lane] += (double)there * with_label + (double)subtract(answers[worker], there) * without -
                             (double)bases[worker] / count_unit;
            }
        }
        block.normalize();
        block.expect_accuracies(accuracies, worker_unit, sums.accuracies);
        expect(block, logs.data, grid.data, odds, expected);
        block.count_kinds(worker_unit, sums);
        block.write_rows(worker_at, odds, one, log_odds.data);
        for (int lane = 0; lane < used; lane++) {
            const i64 worker = first + lane;
            const double evidence = block.best[lane] + (double)bases[worker] / count_unit;
            climbed = add(climbed, to_integer(evidence * evidence_unit));
            i64 total = 0;
            for (i64 label = 0; label < labels; label++) {
                const i32 constant = (i32)to_integer(block.chance(0, block.communities + label)[lane] * share_one);
                skills[worker][label] = (i32)to_integer(expected[label * B + lane] * share_one);
                steady[worker][label] = constant;
                total += constant;
            }
            constancy[worker] = (double)total / share_one;
        }
    }
    return climbed;
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
