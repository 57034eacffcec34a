#include "call.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace quietcrowd {
#define QC_DEFINE(name, ...) m.def(#name, call<&Table::labels, &LabelKernels::name>, __VA_ARGS__)

void define_labels(nb::module_& m) {
    QC_DEFINE(hash_texts, "ends"_a, "payload"_a, "hashes"_a);
    QC_DEFINE(vote, "partition"_a, "weights"_a, "even"_a, "nats"_a, "seed"_a, "agreed"_a, "estimates"_a);
    QC_DEFINE(infer_by_confusion, "partition"_a, "log_odds"_a, "nats"_a, "log_priors"_a, "unit"_a, "even"_a, "seed"_a,
              "counts"_a, "classes"_a, "agreed"_a, "estimates"_a);
    QC_DEFINE(learn_confusions, "counts"_a, "labels"_a, "added"_a, "added_right"_a, "least"_a, "one"_a, "unit"_a,
              "log_odds"_a);
    QC_DEFINE(learn_coins, "right_counts"_a, "answers"_a, "one_answer"_a, "others"_a, "added_wrong"_a, "added_right"_a,
              "least"_a, "one"_a, "unit"_a, "log_odds"_a);
    QC_DEFINE(infer_noisy_labels, "partition"_a, "reports"_a, "log_odds"_a, "votes"_a, "nats"_a, "log_priors"_a,
              "truth_map"_a, "unit"_a, "told_unit"_a, "even"_a, "seed"_a, "counts"_a, "classes"_a, "told"_a, "agreed"_a,
              "messages"_a, "apparent"_a, "estimates"_a, "posterior"_a);
    QC_DEFINE(coin_cavities, "partition"_a, "votes"_a, "distributions"_a, "first_worker"_a, "histograms"_a);
    QC_DEFINE(table_cavities, "partition"_a, "votes"_a, "distributions"_a, "first_worker"_a, "histograms"_a);
    QC_DEFINE(set_cavities, "partition"_a, "signs"_a, "workers"_a, "log_priors"_a, "nodes"_a, "first_worker"_a,
              "histograms"_a);
    QC_DEFINE(infer_sets, "partition"_a, "signs"_a, "workers"_a, "constancy"_a, "log_priors"_a, "mistakes"_a,
              "truth_map"_a, "unit"_a, "mistake_unit"_a, "told_unit"_a, "even"_a, "seed"_a, "sums"_a,
              "estimates"_a, "posterior"_a);
    QC_DEFINE(fill_report_logs, "nodes"_a, "accuracies"_a, "logs"_a);
    QC_DEFINE(add_evidences, "histograms"_a, "logs"_a, "log_weights"_a, "crowds"_a, "sums"_a);
    QC_DEFINE(add_crowd_counts, "histograms"_a, "logs"_a, "log_weights"_a, "crowd"_a, "sums"_a);
    QC_DEFINE(estimate_accuracies, "histograms"_a, "nodes"_a, "log_weights"_a, "crowd"_a, "tail"_a, "found"_a);
    QC_DEFINE(weigh_workers, "members"_a, "counts"_a, "count_unit"_a, "crowd"_a, "one"_a, "worker_unit"_a,
              "report_unit"_a, "evidence_unit"_a, "all_rows"_a, "log_odds"_a, "votes"_a, "constancy"_a, "sums"_a, "mistaken"_a);
    QC_DEFINE(bound_votes, "votes"_a, "most"_a);
    QC_DEFINE(weigh_set_workers, "counts"_a, "held"_a, "answers"_a, "bases"_a, "count_unit"_a, "communities"_a,
              "constants"_a, "accuracies"_a, "logs"_a, "grid"_a, "with_label"_a, "without"_a, "one"_a, "share_one"_a,
              "worker_unit"_a, "evidence_unit"_a, "log_odds"_a, "skills"_a, "steady"_a, "constancy"_a, "sums"_a);
    QC_DEFINE(infer_with_easiness, "partition"_a, "abilities"_a, "unit"_a, "rest_unit"_a, "even"_a, "seed"_a, "pulls"_a,
              "bends"_a, "agreed"_a, "estimates"_a, "easiness"_a);
}
}  // namespace quietcrowd
