// Some tasks with labels side by side: reading their answers, voting by tables, crediting.
// Everything that is read is checked here, once a block and before it is used.
#pragma once
#include "array.h"
#include "posteriors.h"
#include "tables.h"
#include "ties.h"

namespace quietcrowd {
// The results of a last pass for each task; empty arrays in other passes.
struct LabelEstimates {
    Codes<void> truths;
    Array<double> confidence;
    Array<bool> tied;
};

namespace QC_VARIANT {
// Fills in the estimates of a task: of task t of a block, that is `task` of the partition. Returns the truth.
template <int B>
QC_FN int estimate(const Beliefs<B>& b, int labels, int t, i32 known, u64 draw, u64 seed, const LabelEstimates& e,
                   i64 task, int winners) {
    const int truth = known >= 0 ? known : pick_tied(b.votes + t, labels, B, b.best[t], winners, draw, seed);
    e.tied[task] = known < 0 && winners > 1;
    e.confidence[task] = b.shares[truth * B + t];
    write(e.truths, task, (u32)truth);
    return truth;
}

// How many labels are the best of a task.
template <int B> QC_FN int count_best(const Beliefs<B>& b, int labels, int t) {
    int winners = 0;
    for (int l = 0; l < labels; l++) winners += b.votes[l * B + t] == b.best[t];
    return winners;
}

constexpr int MOST_ROWS = 8192;  // answers of a block that are stored; a task with more is read again

// B tasks at most, of K labels, or of `labels` if K is 0.
template <int K, int B> struct LabelBlock {
    LabelBlock(const LabelPartition& p, int many, int reports, i64 workers)
        : p(p), many(many), reports(reports), workers(workers), memory(3 * (i64)many * B), rows(2 * (MOST_ROWS + AHEAD)),
          sums(many) {
        beliefs.votes = memory;
        beliefs.shares = memory + (i64)many * B;
        beliefs.credit = (i64*)(memory + 2 * (i64)many * B);
        records = rows;
        answers = rows + MOST_ROWS + AHEAD;
    }

    QC_FN int labels() const { return K ? K : many; }
    QC_FN const i64* offsets() const { return p.offsets.data + first; }
    QC_FN const i32* known() const { return p.known.data + first; }

    // Takes the next tasks, from task `start` on; false at the end.
    QC_FN bool take(i64 start) {
        first = start;
        if (first >= p.tasks()) return false;
        count = (int)lesser_of<i64>(p.tasks() - first, B);
        check_offsets(p.offsets, p.workers.size(), first, count);
        any_known = false;
        for (int t = 0; t < count; t++) {
            require(known()[t] < labels(), "a known truth is no label, at or after task", first);
            any_known |= known()[t] >= 0;
        }
        while (count > 1 && offsets()[count] - offsets()[0] > MOST_ROWS) count--;
        whole = offsets()[count] - offsets()[0] <= MOST_ROWS;
        if (whole) read_rows(offsets()[0], offsets()[count] - offsets()[0]);
        return true;
    }
    QC_FN i64 next() const { return first + count; }

    // Fills in the place of each answer's row in tables of workers and reports.
    QC_APART void read_rows(i64 start, i64 length) {
        const u32 wrong = p.values.width == 1   ? read_as<u8>(start, length)
                          : p.values.width == 2 ? read_as<u16>(start, length)
                                                : read_as<u32>(start, length);
        require(!wrong, "a worker code or a value is out of range, at or after task", first);
    }
    template <class V> QC_FN u32 read_as(i64 start, i64 length) {
        const u32* QC_RESTRICT codes = p.workers.data + start;
        const V* QC_RESTRICT values = (const V*)p.values.data + start;
        u32* QC_RESTRICT to_records = records;
        u32* QC_RESTRICT to_answers = answers;
        const u32 most_workers = (u32)workers, most_reports = (u32)reports;
        u32 wrong = 0;
        for (i64 i = 0; i < length; i++) {
            const u32 code = codes[i], answer = values[i];
            wrong |= (u32)(code >= most_workers) | (u32)(answer >= most_reports);
            to_records[i] = code * most_reports + answer;
            to_answers[i] = answer;
        }
        return wrong;
    }

    // Calls each(task in the block, where its answers begin in `records` and in the partition, how
    // many, whether these are more of the task's). A task longer than the room comes piece by piece.
    template <class Each> QC_FN void for_rows(Each each) {
        const i64 start = offsets()[0];
        if (whole) {
            for (int t = 0; t < count; t++)
                each(t, offsets()[t] - start, offsets()[t], offsets()[t + 1] - offsets()[t], false);
            return;
        }
        for (i64 row = start; row < offsets()[1]; row += MOST_ROWS) {  // a single task
            const i64 some = lesser_of<i64>(offsets()[1] - row, MOST_ROWS);
            read_rows(row, some);
            each(0, 0, row, some, row > start);
        }
    }

    // Fills in logarithms of the shares of each task's votes, up to a constant.
    QC_APART void count_votes() {
        double* votes = beliefs.votes;
        for (int i = 0; i < labels() * B; i++) votes[i] = 0.0;
        for_rows([&](int t, i64 at, i64, i64 length, bool) {
            for (i64 i = at; i < at + length; i++) votes[answers[i] * B + t] += 1.0;
        });
        for (int i = 0; i < labels() * B; i++) votes[i] = votes[i] > 0.0 ? log_of(votes[i]) : NO_VOTE;
    }

    // Fills in each task's log-odds: the log-priors, and the table's terms of its answers.
    QC_FN void vote(const i32* table, double nats, const double* log_priors, double* QC_RESTRICT votes) {
        i64 local[K ? K : 1];
        i64* added = K ? local : (i64*)sums;
        for (int i = 0; i < labels(); i++)
            for (int t = 0; t < B; t++) votes[i * B + t] = 0.0;
        for_rows([&](int t, i64 at, i64, i64 length, bool more) {
            gather<K>(records + at, length, table, labels(), more, added);
            for (int l = 0; l < labels(); l++) votes[l * B + t] = (double)added[l] * nats + log_priors[l];
        });
    }

    // Adds the probabilities of each task's labels to the records of workers with an answer.
    QC_FN void credit(i64* counts) {
        for_rows([&](int t, i64 at, i64, i64 length, bool) {
            scatter<K>(records + at, length, beliefs.credit + t, B, labels(), counts);
        });
    }

    // The same if a worker is one number: the log-odds of its answer against any other.
    QC_FN void vote_by_coin(const i32* log_odds, double nats, const double* log_priors) {
        double* votes = beliefs.votes;
        i64* added = sums;
        for (int i = 0; i < labels() * B; i++) votes[i] = 0.0;
        for_rows([&](int t, i64 at, i64 row, i64 length, bool more) {
            if (!more)
                for (int l = 0; l < labels(); l++) added[l] = 0;
            const u32* codes = p.workers.data + row;
            for (i64 i = 0; i < length; i++) Plain::add_to(added + answers[at + i], log_odds[codes[i]]);
            for (int l = 0; l < labels(); l++) votes[l * B + t] = (double)added[l] * nats + log_priors[l];
        });
    }
    QC_FN void credit_coin(i64* counts) {
        for_rows([&](int t, i64 at, i64 row, i64 length, bool) {
            const u32* codes = p.workers.data + row;
            const i64* credit = beliefs.credit;
            for (i64 i = 0; i < length; i++) Plain::add_to(counts + codes[i], credit[answers[at + i] * B + t]);
        });
    }

    // Fills in the estimates, and credits the workers who agree: with all of even[1] if one label
    // is the best, with even[i] if i tie. A task with neither an answer nor a known truth is left
    // out. `credit` of the beliefs is overwritten.
    QC_APART void settle(const LabelEstimates& estimates, Array<const i64> even, u64 seed, i64* agreed) {
        const Beliefs<B>& b = beliefs;
        for (int t = 0; t < count; t++) {
            const i32 truth_known = known()[t];
            if (offsets()[t] == offsets()[t + 1] && truth_known < 0) continue;
            const int winners = count_best(b, labels(), t);
            estimate(b, labels(), t, truth_known, p.draws[first + t], seed, estimates, first + t, winners);
            for (int l = 0; l < labels(); l++)
                b.credit[l * B + t] = truth_known >= 0 ? (l == truth_known ? even[1] : 0)
                                      : b.votes[l * B + t] == b.best[t] ? even[winners]
                                                                        : 0;
        }
        for_rows([&](int t, i64 at, i64 row, i64 length, bool) {
            const u32* codes = p.workers.data + row;
            for (i64 i = 0; i < length; i++) {
                const u32 answer = answers[at + i];  // a report that is no label agrees with none
                if (answer < (u32)labels()) Plain::add_to(agreed + codes[i], b.credit[answer * B + t]);
            }
        });
    }

    const LabelPartition& p;
    const int many, reports;
    const i64 workers;
    Room<double> memory;
    Room<u32> rows;
    Room<i64> sums;
    Beliefs<B> beliefs;
    u32 *records, *answers;
    i64 first = 0;
    int count = 0;
    bool whole = true, any_known = false;
};

// Rejects estimates that do not fit the partition.
inline void check_estimates(const LabelEstimates& e, i64 tasks, i64 labels, i64 evens) {
    require(evens == labels + 1, "the shares of ties must be one more than there are labels");
    require(e.confidence.size() == e.truths.count && e.tied.size() == e.truths.count &&
                (e.truths.count == 0 || e.truths.count == tasks),
            "estimates must be one per task, or none");
    require(e.truths.width == 4 || (i64)1 << (8 * e.truths.width) >= labels, "truths must have room for all labels");
}

// Rejects arrays that do not fit the partition, and tables too large for 32-bit places.
inline void check_tables(const LabelPartition& p, i64 labels, i64 reports, i64 workers, const LabelEstimates& e,
                         i64 evens) {
    check_sizes(p);
    require(labels >= 1 && labels <= 65536 && reports >= 1 && reports <= 65536, "there must be 1 to 65,536 labels and reports");
    require(workers * reports < ((i64)1 << 32), "there are too many workers and reports");
    check_estimates(e, p.tasks(), labels, evens);
}

// Calls f(labels, tasks side by side), both as types if the number of labels is small.
template <int K, int B> struct Sizes {
    static constexpr int labels = K, block = B;
};
template <class F> QC_FN auto for_labels(i64 labels, F f) {
    switch (labels) {
        case 2: return f(Sizes<2, 64>());
        case 3: return f(Sizes<3, 64>());
        case 4: return f(Sizes<4, 64>());
        case 5: return f(Sizes<5, 64>());
        case 6: return f(Sizes<6, 64>());
        case 7: return f(Sizes<7, 64>());
        case 8: return f(Sizes<8, 64>());
    }
    return labels <= 32 ? f(Sizes<0, 32>()) : f(Sizes<0, 8>());
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
