// Weighted voting, and the hash of ids by which ties are broken.
#include "../label_kernels.h"

#include "../functions.h"

namespace quietcrowd {
namespace QC_VARIANT {
void hash_texts(Array<const i64> ends, Array<const u8> payload, Array<u64> hashes) {
    require(ends.size() == hashes.size() + 1, "ends must be one more than there are texts");
    check_offsets(ends, payload.size(), 0, hashes.size());
    for (i64 text = 0; text < hashes.size(); text++) {
        u64 word = 0xCBF29CE484222325ULL;
        for (i64 i = ends[text]; i < ends[text + 1]; i++) word = (word ^ payload[i]) * 0x100000001B3ULL;
        hashes[text] = scramble(word);
    }
}

// The winner's share of the softmax of the votes, or of the votes if nats is 0. Summed in steps
// of 2^-50, so that the order of the labels does not show.
static double share_of_best(Array<const i64> votes, i64 best, double nats) {
    constexpr double FINE = 1125899906842624.0;
    i64 total = 0;
    for (i64 l = 0; l < votes.size(); l++)
        total = add(total, nats > 0 ? to_signed(exp_of((double)subtract(votes[l], best) * nats) * FINE) : votes[l]);
    if (nats > 0) return FINE / (double)total;
    return total > 0 ? (double)best / (double)total : NAN;
}

void vote(const LabelPartition& partition, Array<const i64> weights, Array<const i64> even, double nats,
          u64 seed, Array<i64> agreed, const LabelEstimates& estimates) {
    const i64 labels = even.size() - 1, workers = weights.size();
    check_tables(partition, labels, labels, workers, estimates, even.size());
    require(agreed.size() == workers, "agreements must be one per worker");
    LabelBlock<0, 1> block(partition, (int)labels, (int)labels, workers);
    Room<i64> votes(labels), credit(labels);
    for (i64 task = 0; block.take(task); task++) {
        for (i64 l = 0; l < labels; l++) votes[l] = 0;
        block.for_rows([&](int, i64 at, i64 row, i64 length, bool) {
            for (i64 i = 0; i < length; i++)
                Plain::add_to(votes + block.answers[at + i], weights[partition.workers[row + i]]);
        });
        i64 best = votes[0];
        int winners = 0;
        for (i64 l = 1; l < labels; l++) best = greater_of(best, votes[l]);
        for (i64 l = 0; l < labels; l++) winners += votes[l] == best;
        const i32 known = partition.known[task];
        for (i64 l = 0; l < labels; l++)
            credit[l] = known >= 0 ? (l == known ? even[1] : 0) : votes[l] == best ? even[winners] : 0;
        block.for_rows([&](int, i64 at, i64 row, i64 length, bool) {
            for (i64 i = 0; i < length; i++)
                Plain::add_to(&agreed[partition.workers[row + i]], credit[block.answers[at + i]]);
        });
        if (estimates.truths.count == 0) continue;
        write(estimates.truths, task,
              known >= 0 ? (u32)known
                         : (u32)pick_tied((i64*)votes, (int)labels, 1, best, winners, partition.draws[task], seed));
        estimates.tied[task] = known < 0 && winners > 1;
        estimates.confidence[task] = known >= 0 ? 1.0 : share_of_best({votes, {labels}}, best, nats);
    }
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
