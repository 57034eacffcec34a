// The kernels of methods for labels. Sizes of arrays are checked when a kernel begins,
// their contents before use; both throw `Refused`.
#pragma once
#include "cavity.h"
#include "label_block.h"
#include "label_crowd.h"
#include "label_sets.h"

#define QC_LABEL_KERNELS(KERNEL) \
    KERNEL(hash_texts)           \
    KERNEL(vote)                 \
    KERNEL(infer_by_confusion)   \
    KERNEL(learn_confusions)     \
    KERNEL(learn_coins)          \
    KERNEL(infer_noisy_labels)   \
    KERNEL(infer_sets)           \
    KERNEL(coin_cavities)        \
    KERNEL(table_cavities)       \
    KERNEL(set_cavities)         \
    KERNEL(fill_report_logs)     \
    KERNEL(add_evidences)        \
    KERNEL(add_crowd_counts)     \
    KERNEL(estimate_accuracies)  \
    KERNEL(weigh_workers)        \
    KERNEL(bound_votes)          \
    KERNEL(weigh_set_workers)    \
    KERNEL(infer_with_easiness)

namespace quietcrowd {
namespace QC_VARIANT {
// Hashes each of the texts payload[ends[i]] to payload[ends[i + 1] - 1] to 64 bits: FNV-1a, then mixed.
void hash_texts(Array<const i64> ends, Array<const u8> payload, Array<u64> hashes);

// Weighted voting.
//   weights   per worker: the weight of a vote
//   even      credit of an answer if i labels tie, at place i
//   nats      how much log-odds a vote of 1 is, or 0 if votes are mere counts
//   agreed    per worker, to which the credits are added
//   estimates filled unless empty; confidence is the share of the softmax of the votes, or of the votes
void vote(const LabelPartition& partition, Array<const i64> weights, Array<const i64> even, double nats,
          u64 seed, Array<i64> agreed, const LabelEstimates& estimates);

// A sweep of Dawid-Skene: posteriors of the tasks, and expected answers of the workers. Returns the
// sum of the entropies in units.
//   log_odds   from place (worker labels + answer) labels on the log-likelihoods of the answer for each
//              truth, in units of nats; one-coin: at place `worker` the log-odds of its answer against
//              any other; empty in the first pass, which takes shares of votes instead
//   log_priors per label
//   unit       representation of a probability of 1
//   even       credit of an answer if i labels tie, at place i
//   counts     as long as log_odds: expected answers are added; one-coin: expected right answers
//   classes    per label, to which probabilities are added
//   agreed     per worker, to which agreements are added if there are estimates
//   estimates  filled unless empty
i64 infer_by_confusion(const LabelPartition& partition, Array<const i32> log_odds, double nats,
                       Array<const double> log_priors, double unit, Array<const i64> even, u64 seed,
                       Array<i64> counts, Array<i64> classes, Array<i64> agreed,
                       const LabelEstimates& estimates);

// Fills in the log-probabilities of all workers' answers. Returns the sum of the counts, with the
// added, times their log-probabilities.
//   counts             expected answers at [worker, answer, truth]
//   added, added_right the terms of a count of wrong, and of right answers, in the same units
//   least              no count is less
//   one                representation of 1.0 in log_odds
//   unit               representation of 1 of a count times 1.0 in the result
i64 learn_confusions(Array<const i64> counts, i64 labels, i64 added, i64 added_right, i64 least, double one,
                     double unit, Array<i32> log_odds);

// Fills in the log-odds of the label that a worker gives against each other one; otherwise as above.
//   right_counts  per worker: expected right answers
//   answers       per worker: how many it gave
//   one_answer    one of them in units of right_counts
//   others        how many labels are wrong; each is as likely
i64 learn_coins(Array<const i64> right_counts, Array<const i64> answers, double one_answer, i64 others,
                i64 added_wrong, i64 added_right, i64 least, double one, double unit, Array<i32> log_odds);

// A sweep of NoiseAware for labels. Returns the sum of the entropies in units. It is the last pass if
// there are estimates.
//   reports         how many kinds of reports there are
//   log_odds, votes from place (worker reports + report) labels on the term of a report in each label's
//                   log-odds while the crowd is learned, and in the last pass, in units of nats; there may
//                   be more workers in them
//   log_priors      per label
//   map             from the apparent truth to the truth, for estimates
//   unit, told_unit representation of a probability, and a log-probability, of 1
//   even            credit of an answer if i labels tie, at place i
//   counts          expected reports, from place (worker reports + report) labels on one per truth
//   classes         expected tasks of each label
//   told            what the known truths tell of the map
//   agreed          per worker, to which agreements are added in the last pass; a report that is no label
//                   agrees with none
//   messages        added to the log-odds at [task, label], unless empty
//   apparent        probabilities of the apparent truths at [task, label], filled unless empty
//   estimates       filled unless empty
//   posterior       probabilities at [task, label], filled in the last pass unless empty
i64 infer_noisy_labels(const LabelPartition& partition, i64 reports, Array<const i32> log_odds, Array<const i32> votes,
                       double nats, Array<const double> log_priors, const TruthMap& map, double unit, double told_unit,
                       Array<const i64> even, u64 seed, Array<i64> counts, Array<i64> classes, const KnownSums& told,
                       Array<i64> agreed, Array<const double, 2> messages, Array<double, 2> apparent,
                       const LabelEstimates& estimates, Array<double, 2> posterior);

// The same for sets of labels.
//   constancy    per worker: probability that it always gives one label
//   mistakes     whether to fill in sums.mistaken
//   mistake_unit representation of 1 there
i64 infer_sets(const SetPartition& partition, const SetSigns& signs, const SetWorkers& workers,
               Array<const double> constancy, Array<const double> log_priors, bool mistakes, const TruthMap& map,
               double unit, double mistake_unit, double told_unit,
               Array<const i64> even, u64 seed, const SetSums& sums, const LabelEstimates& estimates,
               Array<double, 2> posterior);

// Adds the evidence of reports on their workers if all labels are alike: one log-odds per worker.
//   first_worker  the worker of the first histogram
//   histograms    as in `ReportHistograms`, of that worker and the next ones; others are skipped
void coin_cavities(const LabelPartition& partition, const CavityVotes<1>& votes, const ReportDistributions<2>& distributions,
                   i64 first_worker, Array<i64, 4> histograms);

// The same by tables.
void table_cavities(const LabelPartition& partition, const CavityVotes<3>& votes, const ReportDistributions<3>& distributions,
                    i64 first_worker, Array<i64, 4> histograms);

// The same for sets of labels.
//   log_priors  per label
//   nodes       points at which the log-ratio of c and b is counted
//   histograms  of one channel; all assumed crowds get the same
void set_cavities(const SetPartition& partition, const SetSigns& signs, const SetWorkers& workers,
                  Array<const double> log_priors, Array<const double> nodes, i64 first_worker,
                  Array<i64, 4> histograms);

// Fills in ln(1 + w (exp(v) - 1)) at place [v, w]: nodes v, accuracies w.
void fill_report_logs(Array<const double> nodes, Array<const double> accuracies, Array<double, 2> logs);

// Adds the log-probabilities of the reports of all workers under distributions of their accuracies.
//   histograms  at [worker, channel, node]: `ReportHistograms` under one assumed crowd
//   logs        output of `fill_report_logs` for the accuracies of a grid
//   log_weights per channel
//   crowds      the probability of each accuracy at [distribution, place of the grid]
//   sums        per distribution, in units of 2^-20
void add_evidences(Array<const i64, 3> histograms, Array<const double, 2> logs, Array<const double> log_weights,
                   Array<const double, 2> crowds, Array<i64> sums);

// Adds how many workers are expected at each accuracy under one distribution.
//   crowd  the probability of each accuracy
//   sums   per accuracy, in units of 2^-32
void add_crowd_counts(Array<const i64, 3> histograms, Array<const double, 2> logs, Array<const double> log_weights,
                      Array<const double> crowd, Array<i64> sums);

// Fills in each worker's accuracy. The grid is made finer around the possible accuracies until these fill
// enough of it.
//   nodes  as in `ReportDistributions`
//   crowd  the distribution of accuracies at 64 even steps of the angle
//   tail   how much of the posterior lies below the lower quantile, and above the upper one
//   found  mean, lower and upper quantile of the posterior, shape (3, workers)
void estimate_accuracies(Array<const i64, 3> histograms, Array<const double> nodes, Array<const double> log_weights,
                         Array<const double> crowd, double tail, Array<double, 2> found);

// NoiseAware: fills in the evidence of expected reports on workers, and adds up the evidence on the
// crowd. Returns the sum of the logarithms of the workers' evidence, in units.
//   members     which workers
//   counts      from place (worker reports + report) labels on one per truth: expected reports
//   count_unit  representation of one report
//   crowd       state of all workers
//   one         what a log-probability of 1.0 is stored as in log_odds and votes
//   worker_unit, report_unit, evidence_unit  representation of 1 in sums
//   all_rows    whether tables of more than 16 labels are filled in for reports that a worker has not given
//   log_odds    as long as counts: the expected logarithm of the probability of each report; the vote of a
//               report that the worker has not given
//   votes       the same: the logarithm of its expected value
//   constancy   per worker: the probability that it always gives one label
//   sums        to which expected workers are added
//   mistaken    at [part of wrong answers, channel, report, label], to which expected reports that are wrong
//               answers are added, and then nothing but the sums of accuracies is filled in; or empty
i64 weigh_workers(Array<const i64> members, Array<const i64> counts, double count_unit, const Crowd& crowd, double one,
                  double worker_unit, double report_unit, double evidence_unit, bool all_rows, Array<i32> log_odds,
                  Array<i32> votes, Array<double> constancy, const CrowdSums& sums, Array<i64, 4> mistaken);

// Scales votes at [worker, report, label] that differ more from label to label than a report permits.
//   most  per worker: how far apart the votes of a report may lie, at least 0
void bound_votes(Array<i32, 3> votes, Array<const double> most);

// The same as weigh_workers, of workers with sets of labels.
//   counts       at [worker, node, label]: expected reports by node and truth
//   held         at [worker, label]: number of sets that contain the label
//   answers      per worker: how many sets there are
//   bases        per worker: the expected logarithm of their likelihood from wrong answers
//   count_unit   representation of 1 in counts and bases
//   communities, constants, accuracies  see `Crowd`
//   logs         at [accuracy, node]: logarithms of likelihoods, relative to a wrong answer's
//   grid         the accuracies
//   with_label, without  logarithms of the likelihood of a set with the label, and without, from a worker who
//                always gives it
//   one, share_one  representation of 1.0 in log_odds, and in skills and steady
//   log_odds     at [worker, node, label]: the expected logarithms
//   skills       at [worker, label]: the expected accuracies
//   steady       at [worker, label]: the probability that it always gives the label
//   constancy    per worker: the sum of these
i64 weigh_set_workers(Array<const i64, 3> counts, Array<const i64, 2> held, Array<const i64> answers,
                      Array<const i64> bases, double count_unit, Array<const double> communities,
                      Array<const double> constants, Array<const double, 3> accuracies, Array<const double, 2> logs,
                      Array<const double> grid, double with_label, double without, double one, double share_one,
                      double worker_unit, double evidence_unit, Array<i32, 3> log_odds, Array<i32, 2> skills,
                      Array<i32, 2> steady, Array<double> constancy, const CrowdSums& sums);

// A sweep of GLAD: easiness and posteriors of the tasks, and a bound of the log-posterior as a function
// of the workers' abilities. Returns, in units, the part of the bound that does not depend on new abilities.
//   abilities        per worker, in units of 2^-32
//   unit, rest_unit  representation of 1.0 in pulls and bends, and in the result; no slope,
//                    curvature or rest of one answer may be more than 2^50
//   even             credit of an answer if i labels tie, at place i
//   pulls, bends     per worker, to which slope and curvature of the bound are added
//   agreed           per worker, to which agreements are added if there are estimates
//   estimates        filled unless empty
//   easiness         as many, filled: beta
i64 infer_with_easiness(const LabelPartition& partition, Array<const i64> abilities, double unit, double rest_unit,
                        Array<const i64> even, u64 seed, Array<i64> pulls, Array<i64> bends, Array<i64> agreed,
                        const LabelEstimates& estimates, Array<double> easiness);
}  // namespace QC_VARIANT

struct LabelKernels {
#define QC_MEMBER(name) decltype(&QC_VARIANT::name) name;
    QC_LABEL_KERNELS(QC_MEMBER)
#undef QC_MEMBER
};
}  // namespace quietcrowd
