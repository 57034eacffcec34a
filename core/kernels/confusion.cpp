// Dawid-Skene: posteriors of the tasks, and confusion matrices of the workers.
#include "../label_kernels.h"

#include "../functions.h"

namespace quietcrowd {
namespace QC_VARIANT {
i64 infer_by_confusion(const LabelPartition& partition, Array<const i32> log_odds, double nats,
                       Array<const double> log_priors, double unit, Array<const i64> even, u64 seed,
                       Array<i64> counts, Array<i64> classes, Array<i64> agreed,
                       const LabelEstimates& estimates) {
    const i64 labels = log_priors.size(), workers = agreed.size();
    const bool one_coin = labels > 1 && counts.size() == workers, voting = log_odds.size() == 0;
    check_tables(partition, labels, labels, workers, estimates, even.size());
    require(one_coin || counts.size() == workers * labels * labels, "counts must be one per worker, answer and truth");
    require(voting || log_odds.size() == counts.size(), "log-odds must be as many as counts");
    require(classes.size() == labels, "classes must be one per label");
    return for_labels(labels, [&](auto sizes) {
        constexpr int K = decltype(sizes)::labels, B = decltype(sizes)::block;
        LabelBlock<K, B> block(partition, (int)labels, (int)labels, workers);
        i64 entropy = 0;
        for (i64 first = 0; block.take(first); first = block.next()) {
            if (voting) block.count_votes();
            else if (one_coin) block.vote_by_coin(log_odds.data, nats, log_priors.data);
            else block.vote(log_odds.data, nats, log_priors.data, block.beliefs.votes);
            believe<K>(block.beliefs, (int)labels, block.known(), block.count);
            leave_out<K>(block.beliefs, (int)labels, block.offsets(), block.known(), block.count);
            entropy = add(entropy, to_units<K, B, Plain>(block.beliefs, (int)labels, unit, classes.data));
            if (one_coin) block.credit_coin(counts.data);
            else block.credit(counts.data);
            if (estimates.truths.count) block.settle(estimates, even, seed, agreed.data);
        }
        return entropy;
    });
}

namespace {
constexpr i64 MANY = 16;  // from this number of labels on, most rows of a confusion matrix are empty

// A row of log-probabilities, and the term of each in the sum of the counts times these.
struct Row {
    explicit Row(i64 labels) : records(labels), shares(labels), gains(labels), logs(labels) {}

    void learn(const Room<double>& totals, double one, double unit) const {
        const i64 labels = records.count;
        for (i64 truth = 0; truth < labels; truth++) shares[truth] = records[truth] / totals[truth];
        for (i64 truth = 0; truth < labels; truth++) {
            const double likely = log_of(shares[truth]);
            gains[truth] = to_integer(records[truth] * unit * likely);
            logs[truth] = (i32)to_integer(likely * one);
        }
    }

    Room<double> records, shares;
    Room<i64> gains;
    Room<i32> logs;
};

// As `learn_confusions`. The empty rows of a worker are equal, except on the diagonal: computed once.
i64 learn_large_confusions(Array<const i64> counts, i64 labels, i64 added, i64 added_right, i64 least,
                           double one, double unit, Array<i32> log_odds) {
    const Row counted(labels), wrong(labels), right(labels);
    Room<double> totals(labels);
    Room<i64> sums(labels), found(labels);
    const auto record = [&](i64 count, bool agrees) {
        return greater_of(add(count, agrees ? added_right : added), least);
    };
    for (i64 truth = 0; truth < labels; truth++) {
        wrong.records[truth] = (double)record(0, false);
        right.records[truth] = (double)record(0, true);
    }
    i64 climbed = 0;
    for (i64 first = 0; first < counts.size(); first += labels * labels) {
        for (i64 truth = 0; truth < labels; truth++) sums[truth] = 0;
        for (i64 answer = 0; answer < labels; answer++) {
            found[answer] = 0;
            for (i64 truth = 0; truth < labels; truth++) {
                const i64 count = counts[first + answer * labels + truth];
                sums[truth] = add(sums[truth], record(count, answer == truth));
                found[answer] |= count;
            }
        }
        for (i64 truth = 0; truth < labels; truth++) totals[truth] = (double)sums[truth];
        wrong.learn(totals, one, unit);
        right.learn(totals, one, unit);
        i64 gained = 0;
        for (i64 truth = 0; truth < labels; truth++) gained = add(gained, wrong.gains[truth]);
        for (i64 answer = 0; answer < labels; answer++) {
            const i64 start = first + answer * labels;
            if (found[answer]) {
                for (i64 truth = 0; truth < labels; truth++)
                    counted.records[truth] = (double)record(counts[start + truth], answer == truth);
                counted.learn(totals, one, unit);
                for (i64 truth = 0; truth < labels; truth++) {
                    log_odds[start + truth] = counted.logs[truth];
                    climbed = add(climbed, counted.gains[truth]);
                }
            } else {
                for (i64 truth = 0; truth < labels; truth++) log_odds[start + truth] = wrong.logs[truth];
                log_odds[start + answer] = right.logs[answer];
                climbed = add(climbed, add(gained, subtract(right.gains[answer], wrong.gains[answer])));
            }
        }
    }
    return climbed;
}
}  // namespace

constexpr int CELLS = 1024;  // about this many cells are processed at once

i64 learn_confusions(Array<const i64> counts, i64 labels, i64 added, i64 added_right, i64 least, double one,
                     double unit, Array<i32> log_odds) {
    require(labels >= 1 && labels <= 65536, "there must be 1 to 65,536 labels");
    const i64 cells = labels * labels;
    require(counts.size() % cells == 0, "counts must be one per worker, answer and truth");
    require(log_odds.size() == counts.size(), "log-odds must be as many as counts");
    if (labels >= MANY)
        return learn_large_confusions(counts, labels, added, added_right, least, one, unit, log_odds);
    const i64 block = greater_of<i64>(CELLS / cells, 1) * cells;
    Room<double> records(block), shares(block);
    Room<i64> totals(labels);
    i64 climbed = 0;
    for (i64 first = 0; first < counts.size(); first += block) {
        const i64 room = lesser_of(block, counts.size() - first);
        for (i64 start = 0; start < room; start += cells) {
            for (i64 l = 0; l < labels; l++) totals[l] = 0;
            i64 place = start;
            for (i64 answer = 0; answer < labels; answer++)
                for (i64 truth = 0; truth < labels; truth++, place++) {
                    const i64 extra = answer == truth ? added_right : added;
                    const i64 record = greater_of(add(counts[first + place], extra), least);
                    records[place] = (double)record;
                    totals[truth] = add(totals[truth], record);
                }
            place = start;
            for (i64 answer = 0; answer < labels; answer++)
                for (i64 truth = 0; truth < labels; truth++, place++)
                    shares[place] = records[place] / (double)totals[truth];
        }
        for (i64 i = 0; i < room; i++) {
            const double likely = log_of(shares[i]);
            climbed = add(climbed, to_integer(records[i] * unit * likely));
            log_odds[first + i] = (i32)to_integer(likely * one);
        }
    }
    return climbed;
}

i64 learn_coins(Array<const i64> right_counts, Array<const i64> answers, double one_answer, i64 others,
                i64 added_wrong, i64 added_right, i64 least, double one, double unit, Array<i32> log_odds) {
    const i64 workers = right_counts.size();
    require(answers.size() == workers && log_odds.size() == workers, "arrays must have one entry per worker");
    const double log_others = log_of_any((double)others);
    i64 climbed = 0;
    for (i64 worker = 0; worker < workers; worker++) {
        const i64 of_all = to_signed((double)answers[worker] * one_answer);
        const double right = (double)greater_of(add(right_counts[worker], added_right), least);
        const double wrong =
            (double)greater_of(add(subtract(of_all, right_counts[worker]), added_wrong), least);
        const double total = right + wrong;
        const double log_right = log_of(right / total), log_wrong = log_of(wrong / total) - log_others;
        climbed = add(climbed, to_integer(unit * (right * log_right + wrong * log_wrong)));
        log_odds[worker] = (i32)to_integer((log_right - log_wrong) * one);
    }
    return climbed;
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
