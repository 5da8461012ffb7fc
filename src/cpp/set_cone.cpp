#include "set_cone.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "interrupts.hpp"
#include "kernels.hpp"
#include "thread_pool.hpp"

namespace sparseigen {
namespace {

constexpr int kLanes = 16;
constexpr int kNewtonSteps = 14;
constexpr int kHalvings = 50;
constexpr float kBelowAll = -3e38f;

// Sums and numbers of the entries above a threshold, and of those that reach the upper limit.
struct Tally {
    double above_sum, upper_sum, above, upper;
};

SPARSEIGEN_DISPATCH Tally tally(const float* __restrict row, std::size_t size, float threshold, float limit) {
    float above_sum[kLanes] = {}, upper_sum[kLanes] = {}, above[kLanes] = {}, upper[kLanes] = {};
    std::size_t j = 0;
    for (; j + kLanes <= size; j += kLanes)
        for (int l = 0; l < kLanes; ++l) {
            const float value = row[j + l];
            above_sum[l] += value > threshold ? value : 0.0f;
            above[l] += value > threshold ? 1.0f : 0.0f;
            upper_sum[l] += value >= limit ? value : 0.0f;
            upper[l] += value >= limit ? 1.0f : 0.0f;
        }
    for (int l = 0; j < size; ++j, ++l) {
        const float value = row[j];
        above_sum[l] += value > threshold ? value : 0.0f;
        above[l] += value > threshold ? 1.0f : 0.0f;
        upper_sum[l] += value >= limit ? value : 0.0f;
        upper[l] += value >= limit ? 1.0f : 0.0f;
    }
    Tally sums{0.0, 0.0, 0.0, 0.0};
    for (int l = 0; l < kLanes; ++l) {
        sums.above_sum += above_sum[l];
        sums.upper_sum += upper_sum[l];
        sums.above += above[l];
        sums.upper += upper[l];
    }
    return sums;
}

// What a row leaves behind: y = clip(value - threshold, 0, height), d = value - y.
SPARSEIGEN_DISPATCH void write_row(float* __restrict row, float* __restrict mirror, std::size_t size, float threshold,
                                   float height, float excess) {
    for (std::size_t j = 0; j < size; ++j) {
        float y = row[j] - threshold;
        y = y < 0.0f ? 0.0f : y;
        y = y > height ? height : y;
        const float d = row[j] - y;
        row[j] = d - excess * y;
        mirror[j] = y - d;
    }
}

struct RowPoint {
    double threshold, height;
};

// The sorted row with its running sums: every question about a threshold costs a binary search.
class SortedRow {
public:
    SortedRow(const float* row, std::size_t size, std::size_t own) {
        values_.reserve(size);
        for (std::size_t j = 0; j < size; ++j)
            if (j != own) values_.push_back(row[j]);
        std::sort(values_.begin(), values_.end(), std::greater<float>());
        sums_.assign(values_.size() + 1, 0.0);
        for (std::size_t j = 0; j < values_.size(); ++j) sums_[j + 1] = sums_[j] + values_[j];
    }
    double top(double count) const { return sums_[std::min<std::size_t>(values_.size(), static_cast<std::size_t>(count))]; }
    double value_at(double count) const { return values_[static_cast<std::size_t>(count) - 1]; }

    // Two nested bisections: for every height the threshold at which the row adds up; more height, less is left for it.
    RowPoint bisect(double own, double others) const {
        double low = 0.0, high = own + top(others), threshold = value_at(others);
        for (int outer = 0; outer < kHalvings; ++outer) {
            const double height = 0.5 * (low + high);
            double under = values_.back() - height, over = values_.front();
            for (int inner = 0; inner < kHalvings; ++inner) {
                threshold = 0.5 * (under + over);
                const double above = count_from(threshold), upper = count_from(threshold + height);
                const double sum = sums(above) - sums(upper) - (above - upper) * threshold + upper * height;
                (sum > others * height ? under : over) = threshold;
            }
            const double upper = count_from(threshold + height);
            const double left = own - height + others * threshold + sums(upper) - upper * (threshold + height);
            (left > 0.0 ? low : high) = height;
        }
        return {threshold, 0.5 * (low + high)};
    }

private:
    double count_from(double value) const {
        const auto reaches = [](float entry, double limit) { return entry >= limit; };
        return static_cast<double>(std::lower_bound(values_.begin(), values_.end(), value, reaches) - values_.begin());
    }
    double sums(double count) const { return sums_[static_cast<std::size_t>(count)]; }

    std::vector<float> values_;
    std::vector<double> sums_;
};

// Newton's method on the two equations of a row; false where it does not settle or leaves the positive heights.
bool settle(const float* row, std::size_t size, double own, double others, RowPoint& at) {
    double above = -1.0, upper = -1.0;
    for (int step = 0; step < kNewtonSteps; ++step) {
        const Tally seen = tally(row, size, static_cast<float>(at.threshold), static_cast<float>(at.threshold + at.height));
        if (seen.above == above && seen.upper == upper) return true;
        above = seen.above;
        upper = seen.upper;
        const double inside = above - upper, surplus = upper - others;
        const double inside_sum = seen.above_sum - seen.upper_sum, rest = own + seen.upper_sum;
        const double determinant = inside * (1.0 + upper) + surplus * surplus;
        if (!(determinant > 0.0)) {  // exactly `others` entries at the limit and none inside: any threshold between
            at.height = rest / (1.0 + upper);
            if (!(at.height > 0.0)) return false;
            continue;
        }
        const double threshold = ((1.0 + upper) * inside_sum + surplus * rest) / determinant;
        const double height = (inside * rest - surplus * inside_sum) / determinant;
        if (!(height > 0.0)) return false;
        at = {threshold, height};
    }
    return false;
}

// Where the projection of a row is; height 0: it is zero.
RowPoint find_point(const float* row, std::size_t size, std::size_t own_index, double own, double others,
                    RowPoint start) {
    if (!(start.height > 0.0)) {
        // Zero if own + (sum of the largest others) <= 0, and any threshold gives an upper bound of that sum.
        const Tally seen = tally(row, size, static_cast<float>(start.threshold), -kBelowAll);
        if (own + others * start.threshold + seen.above_sum - seen.above * start.threshold <= 0.0) return start;
    } else if (settle(row, size, own, others, start)) {
        return start;
    }
    const SortedRow sorted(row, size, own_index);
    const double reach = own + sorted.top(others);
    RowPoint at{sorted.value_at(others), reach / (1.0 + others)};
    if (!(reach > 0.0)) return {at.threshold, 0.0};
    if (settle(row, size, own, others, at)) return at;
    return sorted.bisect(own, others);
}

}  // namespace

void project_rows(float* point, float* mirror, std::size_t size, double count, double relaxation, double* thresholds,
                  double* heights) {
    const double others = count - 1.0;
    const float excess = static_cast<float>(relaxation - 1.0);
    parallel_for(size, 8.0 * size * size, 1, [&](std::size_t begin, std::size_t end) {
        CheckedLoop checked;
        for (std::size_t i = begin; i < end; ++i) {
            float* row = point + i * size;
            float* image = mirror + i * size;
            const float own = row[i];
            RowPoint at{0.0, 0.0};
            if (others < 1.0) {
                at = {-static_cast<double>(kBelowAll), std::max(0.0f, own)};  // a set of one: nothing but the diagonal
            } else {
                row[i] = kBelowAll;
                at = find_point(row, size, i, own, others, {thresholds[i], heights[i]});
            }
            write_row(row, image, size, static_cast<float>(at.threshold), static_cast<float>(at.height), excess);
            const float y = static_cast<float>(at.height), d = own - y;
            row[i] = d - excess * y;
            image[i] = y - d;
            thresholds[i] = at.threshold;
            heights[i] = at.height;
            checked.add(8 * size);
        }
    });
}

namespace {

constexpr std::size_t kTile = 64;

SPARSEIGEN_DISPATCH void join_tiles(float* matrix, const float* added, float step, std::size_t size, std::size_t top,
                                    std::size_t left) {
    const std::size_t bottom = std::min(size, top + kTile), right = std::min(size, left + kTile);
    float turned[kTile][kTile];
    for (std::size_t j = left; j < right; ++j)
        for (std::size_t i = top; i < bottom; ++i) turned[i - top][j - left] = matrix[j * size + i];
    for (std::size_t i = top; i < bottom; ++i)
        for (std::size_t j = left; j < right; ++j) {
            const float joined = 0.5f * (matrix[i * size + j] + turned[i - top][j - left]) + step * added[i * size + j];
            turned[i - top][j - left] = joined;
        }
    for (std::size_t i = top; i < bottom; ++i)
        for (std::size_t j = left; j < right; ++j) matrix[i * size + j] = turned[i - top][j - left];
    for (std::size_t j = left; j < right; ++j)
        for (std::size_t i = top; i < bottom; ++i) matrix[j * size + i] = turned[i - top][j - left];
}

}  // namespace

void symmetrise(float* matrix, const float* added, float step, std::size_t size) {
    const std::size_t tiles = (size + kTile - 1) / kTile;
    const std::size_t half = (tiles + 1) / 2;
    // Row t of tiles goes with row tiles - 1 - t: all parts have the same work.
    parallel_for(half, 2.0 * size * size, 1, [&](std::size_t begin, std::size_t end) {
        CheckedLoop checked;
        const auto join_row = [&](std::size_t t) {
            for (std::size_t s = t; s < tiles; ++s) {
                join_tiles(matrix, added, step, size, t * kTile, s * kTile);
                checked.add(4 * kTile * kTile);
            }
        };
        for (std::size_t t = begin; t < end; ++t) {
            join_row(t);
            if (tiles - 1 - t != t) join_row(tiles - 1 - t);
        }
    });
}

}  // namespace sparseigen
