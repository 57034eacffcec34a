// The sweep of NoiseAware for labels: posteriors of the tasks from reports.
#include "../label_kernels.h"
#include "../noisy_labels.h"

namespace quietcrowd {
namespace QC_VARIANT {
template <class Block>
static QC_APART void vote_apart(Block& block, const i32* table, double nats, const double* log_priors, double* votes) {
    block.vote(table, nats, log_priors, votes);
}

// Adds the messages of groups of workers to log-odds.
template <int B>
static QC_APART void add_messages(Array<const double, 2> messages, i64 first, int count, int labels, double* votes) {
    if (messages.shape[0] == 0) return;
    for (int t = 0; t < count; t++)
        for (int l = 0; l < labels; l++) votes[l * B + t] += messages[first + t][l];
}

i64 infer_noisy_labels(const LabelPartition& partition, i64 reports, Array<const i32> log_odds, Array<const i32> votes,
                       double nats, Array<const double> log_priors, const TruthMap& map, double unit, double told_unit,
                       Array<const i64> even, u64 seed, Array<i64> counts, Array<i64> classes, const KnownSums& told,
                       Array<i64> agreed, Array<const double, 2> messages, Array<double, 2> apparent,
                       const LabelEstimates& estimates, Array<double, 2> posterior) {
    const i64 labels = log_priors.size(), workers = agreed.size();
    const bool last = estimates.truths.count > 0;
    check_tables(partition, labels, reports, workers, estimates, even.size());
    require(counts.size() == workers * reports * labels, "counts must be one per worker, report and truth");
    require(log_odds.size() >= counts.size() && votes.size() >= counts.size(),
            "log-odds and votes must be at least as many as counts");
    require(classes.size() == labels, "classes must be one per label");
    check_map(map, told, labels);
    check_posterior(posterior, partition.tasks(), labels);
    check_posterior(apparent, partition.tasks(), labels);
    require(messages.shape[0] == 0 || (messages.shape[0] == partition.tasks() && messages.shape[1] == labels),
            "messages must be one per task and label, or none");
    return for_labels(labels, [&](auto sizes) {
        constexpr int K = decltype(sizes)::labels, B = decltype(sizes)::block;
        LabelBlock<K, B> block(partition, (int)labels, (int)reports, workers);
        Echo<B> echo((int)labels);
        i64 entropy = 0;
        for (i64 first = 0; block.take(first); first = block.next()) {
            Beliefs<B>& beliefs = block.beliefs;
            vote_apart(block, log_odds.data, nats, log_priors.data, beliefs.votes);
            add_messages<B>(messages, first, block.count, (int)labels, beliefs.votes);
            if (last || block.any_known) {
                vote_apart(block, votes.data, nats, log_priors.data, echo.votes);
                add_messages<B>(messages, first, block.count, (int)labels, echo.votes);
                echo.take_twice((int)labels, beliefs.votes);
            }
            if (last) correct<K>(beliefs, (int)labels, echo, block.known(), block.count);
            else believe_apart<K>(beliefs, (int)labels, block.known(), block.count);
            leave_out<K>(beliefs, (int)labels, block.offsets(), block.known(), block.count);
            entropy = add(entropy, to_units<K, B, Plain>(beliefs, (int)labels, unit, classes.data));
            block.credit(counts.data);
            if (apparent.shape[0]) copy_shares(beliefs, first, block.count, apparent);
            if (block.any_known && told.straight.shape[0])
                compare((int)labels, block.offsets(), echo, block.known(), block.count, map, told_unit, told);
            if (!last) continue;
            map_truths<K>(beliefs, (int)labels, map, echo, block.known(), block.count);
            block.settle(estimates, even, seed, agreed.data);
            if (posterior.shape[0]) copy_shares(beliefs, first, block.count, posterior);
        }
        return entropy;
    });
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
