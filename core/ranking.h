// A task's values in ascending order, and their medians.
#pragma once
#include "array.h"

namespace quietcrowd {
namespace QC_VARIANT {
constexpr i64 FEW = 32;  // at most this many values are sorted by insertion

// The median of ascending numbers; of an even number of them the middle of two; 0 of none.
QC_FN double median_of(const double* ranked, i64 count) {
    if (count == 0) return 0.0;
    const i64 half = count / 2;
    return count % 2 ? ranked[half] : (ranked[half - 1] + ranked[half]) / 2.0;
}

// The median absolute deviation from the median, of ascending numbers; 0 of none.
QC_FN double deviation_of(const double* ranked, i64 count) {
    if (count == 0) return 0.0;
    const double middle = median_of(ranked, count);
    i64 above = count / 2, below = above - 1;
    double last = 0.0, before = 0.0;
    for (i64 i = 0; i <= count / 2; i++) {
        before = last;
        if (below < 0 || (above < count && ranked[above] - middle <= middle - ranked[below]))
            last = ranked[above++] - middle;
        else last = middle - ranked[below--];
    }
    return count % 2 ? last : (before + last) / 2.0;
}

// Sorts the values of one task after another; of equal ones the first comes first.
class Ranking {
public:
    explicit Ranking(i64 longest) : value_room(2 * longest), place_room(2 * longest) {
        ranked = value_room;
        places = place_room;
        spare_ranked = ranked + longest;
        spare_places = places + longest;
    }

    QC_FN void rank(const double* values, i64 count) {
        if (count > FEW) return rank_many(values, count);
        insert(values, 0, count);
    }

    double* ranked;  // ascending
    i64* places;     // place of each of them in `values`

private:
    QC_FN void insert(const double* values, i64 start, i64 end) {
        for (i64 place = start; place < end; place++) {
            const double value = values[place];
            i64 rank = place;
            for (; rank > start && ranked[rank - 1] > value; rank--) {
                ranked[rank] = ranked[rank - 1];
                places[rank] = places[rank - 1];
            }
            ranked[rank] = value;
            places[rank] = place;
        }
    }

    // By merging runs, twice as long each time.
    QC_APART void rank_many(const double* values, i64 count) {
        for (i64 start = 0; start < count; start += FEW) insert(values, start, lesser_of(start + FEW, count));
        for (i64 run = FEW; run < count; run *= 2) {
            for (i64 start = 0; start < count; start += 2 * run)
                merge(start, lesser_of(start + run, count), lesser_of(start + 2 * run, count));
            double* const sorted = spare_ranked;
            spare_ranked = ranked;
            ranked = sorted;
            i64* const sorted_places = spare_places;
            spare_places = places;
            places = sorted_places;
        }
    }

    QC_FN void merge(i64 start, i64 middle, i64 end) {
        i64 left = start, right = middle, to = start;
        while (left < middle && right < end) {
            const bool smaller = ranked[right] < ranked[left];
            const i64 from = smaller ? right : left;
            spare_ranked[to] = ranked[from];
            spare_places[to++] = places[from];
            left += !smaller;
            right += smaller;
        }
        for (; left < middle; left++, to++) {
            spare_ranked[to] = ranked[left];
            spare_places[to] = places[left];
        }
        for (; right < end; right++, to++) {
            spare_ranked[to] = ranked[right];
            spare_places[to] = places[right];
        }
    }

    Room<double> value_room;
    Room<i64> place_room;
    double* spare_ranked;
    i64* spare_places;
};
}  // namespace QC_VARIANT
}  // namespace quietcrowd
