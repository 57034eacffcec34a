// The density of a task's claims: Gaussian kernels at its distinct values, and their highest place.
#pragma once
#include "numbers.h"
#include "ranking.h"

namespace quietcrowd {
namespace QC_VARIANT {
constexpr double FAR = 9.0;           // bandwidths after which a kernel is below 2^-58 of its peak
constexpr double TIED = 1e-9;         // claims are equally dense if their densities differ by at most this part
constexpr double ROUNDING = 1e-12;    // densities are exact to this part
constexpr double REST = 1e-13;        // a mode is found if the mean shift is at most this part of the bandwidth
constexpr int MOST_STEPS = 100;

// By how much a kernel falls short of its peak, at a distance in bandwidths.
QC_FN double shortfall(double distance) {
    return std::fabs(distance) < FAR ? 1.0 - exp_minus(0.5 * distance * distance) : 1.0;
}

class Density {
public:
    explicit Density(i64 longest)
        : points(longest), shortfalls(longest), point_of(longest), shares(longest), masses(longest) {}

    // Fills in a task's distinct values, ascending, their shares of all weight, and each claim's value.
    QC_FN void gather(const NumberTask& task, const Ranking& ranking, const double* weights, double unit, double width) {
        total = count = 0;
        bandwidth = width;
        for (i64 rank = 0; rank < task.count; rank++) {
            const double value = ranking.ranked[rank];
            if (count == 0 || value > points[count - 1]) {
                points[count] = value;
                masses[count++] = 0;
            }
            const i64 place = ranking.places[rank];
            point_of[place] = count - 1;
            const i64 mass = to_nearest(weights[task.workers[place]] * unit);
            masses[count - 1] = add(masses[count - 1], mass);
            total = add(total, mass);
        }
        for (i64 i = 0; i < count; i++) shares[i] = (double)masses[i] / (double)total;
    }

    // Fills in by how much the density at each point falls short of a single kernel's peak; returns the
    // mean of it. With weights w and kernel matrix K of ones on the diagonal, these are 1 - K w and
    // 1 - w' K w, without their cancellation.
    QC_APART double fill_shortfalls() {
        for (i64 i = 0; i < count; i++) shortfalls[i] = 0.0;
        for (i64 i = 0; i < count; i++)
            for (i64 j = i + 1; j < count; j++) {
                const double gap = shortfall((points[j] - points[i]) / bandwidth);
                shortfalls[i] += shares[j] * gap;
                shortfalls[j] += shares[i] * gap;
            }
        double mean = 0.0;
        for (i64 i = 0; i < count; i++) mean += shares[i] * shortfalls[i];
        return mean;
    }

    // Of a density with at least one point. Values that all count as equal have a weighted median.
    QC_APART double mode() const { return bandwidth == (double)INFINITY ? median() : climb(densest()); }

    i64 count = 0;
    Room<double> points, shortfalls;
    Room<i64> point_of;

private:
    // The point of the largest density; of several, the smallest.
    i64 densest() const {
        double least = shortfalls[0];
        for (i64 i = 0; i < count; i++) {
            if (is_nan(shortfalls[i])) return 0;
            least = lesser_of(shortfalls[i], least);
        }
        least = 1.0 - (1.0 - least) * (1.0 - TIED);
        for (i64 i = 0; i < count; i++)
            if (shortfalls[i] <= least) return i;
        return 0;
    }

    // The middle of two points that halve the weight.
    double median() const {
        i64 below = 0;
        for (i64 i = 0; i < count; i++) {
            below = add(below, masses[i]);
            const i64 twice = multiply(2, below);
            if (twice == total && i + 1 < count) return points[i] + (points[i + 1] - points[i]) / 2.0;
            if (twice >= total) return points[i];
        }
        return points[count - 1];
    }

    struct Shift {
        double density, shift, slope;  // the mean shift is in bandwidths; minus its slope
    };
    Shift shift_at(double place) const {
        double density = 0.0, first = 0.0, second = 0.0;
        for (i64 i = 0; i < count; i++) {
            const double distance = (points[i] - place) / bandwidth;
            if (std::fabs(distance) < FAR) {
                const double part = shares[i] * exp_minus(0.5 * distance * distance);
                density += part;
                first += part * distance;
                second += part * distance * distance;
            }
        }
        const double shift = first / density;
        return {density, shift, 1.0 - (second / density - shift * shift)};
    }

    // A mode, uphill from the densest point. No neighbour is denser, except by rounding or in a tie,
    // so a mode lies between the point and the next one uphill from which the mean shift leads back, or
    // which is less dense. Newton steps for the mean shift are kept between a place from which it leads
    // on and one beyond the mode: if it leads back, or is a valley, or lies below the first in density.
    double climb(i64 best) const {
        double near = points[best];
        Shift here = shift_at(near);
        if (std::fabs(here.shift) <= REST) return near;
        double density = here.density * (1.0 - ROUNDING);
        const int way = here.shift > 0 ? 1 : -1;
        i64 place = best + way;
        for (; place >= 0 && place < count; place += way) {
            here = shift_at(points[place]);
            if (here.shift * way <= 0 || here.density < density) break;
            near = points[place];
            density = here.density * (1.0 - ROUNDING);
        }
        if (place < 0 || place >= count) return near;
        double far = points[place], trial = near + (far - near) / 2.0;
        for (int step = 0; step < MOST_STEPS; step++) {
            here = shift_at(trial);
            const bool resting = std::fabs(here.shift) <= REST;
            if (resting && here.density >= density && here.slope > -TIED) break;
            if (!resting && here.shift * way > 0 && here.density >= density) {
                near = trial;
                density = here.density * (1.0 - ROUNDING);
            } else {
                far = trial;
            }
            double next = trial + bandwidth * here.shift / here.slope;
            if (!(here.slope > 0 && lesser_of(far, near) < next && next < greater_of(far, near)))
                next = near + (far - near) / 2.0;
            if (next == trial) break;
            trial = next;
        }
        return trial;
    }

    Room<double> shares;
    Room<i64> masses;
    double bandwidth = 0.0;
    i64 total = 0;
};
}  // namespace QC_VARIANT
}  // namespace quietcrowd
