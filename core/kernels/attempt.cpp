// Attempts at synthetic claims. All distributions are integers, and every random choice is a comparison
// of integers: the privacy loss is computed from exactly the weights that are sampled here.
#include "../synthesis_kernels.h"

#include <cmath>

#include "../vector_math.h"

namespace quietcrowd {
namespace QC_VARIANT {
void fill_seed_edges(Array<const i64> offsets, Array<const double> weights, Array<const i64> least, i64 total,
                     Array<u64> edges) {
    const i64 tasks = offsets.size() - 1;
    require(tasks >= 0, "offsets must have one entry more than there are tasks");
    require(least.size() == tasks, "least weights must be one per task");
    require(edges.size() == weights.size(), "weights and edges must be as many");
    check_offsets(offsets, weights.size(), 0, tasks);
    for (i64 task = 0; task < tasks; task++) {
        const i64 start = offsets[task], end = offsets[task + 1], even = least[task];
        const i64 rest = subtract(total, multiply(end - start, even));
        double share = 0.0;
        i64 given = 0;
        for (i64 row = start; row < end; row++) {
            share += weights[row];
            given = row == end - 1 ? rest : greater_of(given, lesser_of(to_signed(share * (double)rest), rest));
            edges[row] = (u64)add(multiply(row - start + 1, even), given);
        }
    }
}

// The first place with an edge above the word. Edges ascend, and the last is above every word.
static i64 first_above(const u64* edges, i64 count, u64 word) {
    i64 low = 0, high = count - 1;
    while (low < high) {
        const i64 middle = (low + high) / 2;
        if (edges[middle] <= word) low = middle + 1;
        else high = middle;
    }
    return low;
}

static QC_FN u64 size_of(i64 difference) { return difference < 0 ? 0 - (u64)difference : (u64)difference; }

void make_attempts(const GridClaims& claims, Array<const u64> blur_edges, Array<const double> falls,
                   Array<const u64> passes, Array<const i64> tasks, Array<const u64, 2> words,
                   Array<i64> candidates, Array<bool> passed) {
    const i64 rows = claims.places.size(), attempts = tasks.size(), reach = falls.size() - 1;
    require(claims.seed_edges.size() == rows, "places and seed edges must be as many");
    require(claims.offsets.size() == claims.lifts.size() + 1, "lifts must be one per task");
    require(reach >= 0 && blur_edges.size() == 2 * reach + 1, "blur edges must be one per step up to the reach");
    require(passes.size() >= 1, "passes must have at least one entry");
    require(words.shape[0] == attempts && words.shape[1] == 3, "words must be three per attempt");
    require(candidates.size() == attempts && passed.size() == attempts, "results must be one per attempt");
    const double* QC_RESTRICT fall = falls.data;
    for (i64 attempt = 0; attempt < attempts; attempt++) {
        const i64 task = tasks[attempt];
        require(0 <= task && task < claims.lifts.size(), "the task is out of range in attempt", attempt);
        const i64 start = claims.offsets[task], end = claims.offsets[task + 1];
        require(0 <= start && start < end && end <= rows, "the task has no claims, or they leave the rows, in attempt",
                attempt);
        const Array<const u64> word = words[attempt];
        const i64 seed = start + first_above(claims.seed_edges.data + start, end - start, word[0] >> 32);
        const i64 step = first_above(blur_edges.data, blur_edges.size(), word[1] >> 1) - reach;
        const i64 candidate = add(claims.places[seed], step);
        const double lift = claims.lifts[task], bucket = std::floor(lift + fall[size_of(step)]);
        const i64* QC_RESTRICT places = claims.places.data;
        i64 count = 0;
        for (i64 row = start; row < end; row++) {
            const u64 distance = size_of(subtract(places[row], candidate));
            const bool near = distance <= (u64)reach;
            count += near & (std::floor(lift + fall[near ? distance : 0]) == bucket);
        }
        candidates[attempt] = candidate;
        passed[attempt] = word[2] >> 1 < passes[lesser_of(count, passes.size() - 1)];
    }
}
}  // namespace QC_VARIANT
}  // namespace quietcrowd
