#include "bounds.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "kernels.hpp"
#include "thread_pool.hpp"

namespace sparseigen {
namespace {

constexpr std::size_t kChunk = 16;

SPARSEIGEN_DISPATCH void weighted_magnitudes(const double* __restrict row, const double* __restrict weights,
                                             double* __restrict out, std::size_t width) {
    for (std::size_t j = 0; j < width; ++j) out[j] = std::fabs(row[j]) * weights[j];
}

SPARSEIGEN_DISPATCH void chunk_maxima(const double* __restrict values, std::size_t chunks, double* __restrict out) {
    for (std::size_t c = 0; c < chunks; ++c) {
        const double* v = values + c * kChunk;
        double lanes[8];
        for (int l = 0; l < 8; ++l) lanes[l] = v[l] > v[l + 8] ? v[l] : v[l + 8];
        for (int l = 0; l < 4; ++l) lanes[l] = lanes[l] > lanes[l + 4] ? lanes[l] : lanes[l + 4];
        for (int l = 0; l < 2; ++l) lanes[l] = lanes[l] > lanes[l + 2] ? lanes[l] : lanes[l + 2];
        out[c] = lanes[0] > lanes[1] ? lanes[0] : lanes[1];
    }
}

// Everything that reaches `threshold`, in order; returns how many. Written without a branch on the data.
SPARSEIGEN_DISPATCH std::size_t keep_reaching(const double* __restrict values, std::size_t width, double threshold,
                                              double* __restrict out) {
    std::size_t kept = 0;
    for (std::size_t j = 0; j < width; ++j) {
        out[kept] = values[j];
        kept += values[j] >= threshold;
    }
    return kept;
}

struct Selection {
    std::vector<double> maxima, pool;
};

// A threshold that probably lets a little more than `count` values through.
double guessed_threshold(const double* values, std::size_t width, std::size_t count, std::vector<double>& sample) {
    constexpr std::size_t kSample = 128;
    sample.resize(kSample);
    for (std::size_t s = 0; s < kSample; ++s) sample[s] = values[s * width / kSample];
    const double expected = static_cast<double>(kSample) * count / width;
    const std::size_t rank = static_cast<std::size_t>(expected + 2.0 * std::sqrt(expected) + 2.0);
    if (rank >= kSample) return -1.0;
    std::nth_element(sample.begin(), sample.begin() + rank, sample.end(), std::greater<double>());
    return sample[rank];
}

// Sum and smallest of the `count` largest of `values` (all >= 0). A threshold first sorts out most values; the
// selection then runs over the rest. The answer does not depend on the threshold: when too few reach it, all count.
void sum_of_largest(const std::vector<double>& values, std::size_t width, std::size_t count, Selection& work,
                    double* sum, double* least) {
    *sum = 0.0;
    *least = 0.0;
    if (count == 0 || width == 0) return;
    std::vector<double>& pool = work.pool;
    pool.resize(width);
    const std::size_t chunks = width / kChunk;
    double threshold = -1.0;
    if (2 * count <= chunks) {
        // A chunk maximum is one of the values, so at least `count` values reach the count-th largest maximum.
        work.maxima.resize(chunks);
        chunk_maxima(values.data(), chunks, work.maxima.data());
        std::nth_element(work.maxima.begin(), work.maxima.begin() + (count - 1), work.maxima.end(),
                         std::greater<double>());
        threshold = work.maxima[count - 1];
    } else if (width >= 256) {
        threshold = guessed_threshold(values.data(), width, count, work.maxima);
    }
    std::size_t kept = keep_reaching(values.data(), width, threshold, pool.data());
    if (kept < count) kept = keep_reaching(values.data(), width, -1.0, pool.data());
    count = std::min(count, kept);
    std::nth_element(pool.begin(), pool.begin() + (count - 1), pool.begin() + kept, std::greater<double>());
    *least = pool[count - 1];
    for (std::size_t j = 0; j < count; ++j) *sum += pool[j];
}

}  // namespace

void top_row_sums(const double* block, std::size_t n_rows, std::size_t width, const std::int64_t* own,
                  const double* weights, std::size_t count, double* sums, double* least) {
    parallel_for(n_rows, 4.0 * n_rows * width, 1, [&](std::size_t begin, std::size_t end) {
        std::vector<double> values(width);
        Selection work;
        for (std::size_t f = begin; f < end; ++f) {
            weighted_magnitudes(block + f * width, weights, values.data(), width);
            values[static_cast<std::size_t>(own[f])] = 0.0;
            sum_of_largest(values, width, count, work, sums + f, least + f);
        }
    });
}

void node_row_sums(const double* matrix, std::size_t size, const std::int64_t* members, std::size_t n_members,
                   std::size_t n_inside, std::size_t picks, const double* weights, double* sums, double* least) {
    const std::size_t n_free = n_members - n_inside;
    parallel_for(n_members, 6.0 * n_members * n_members, 1, [&](std::size_t begin, std::size_t end) {
        std::vector<double> values(n_free);
        Selection work;
        for (std::size_t i = begin; i < end; ++i) {
            const double* row = matrix + static_cast<std::size_t>(members[i]) * size;
            double inside = 0.0;
            for (std::size_t j = 0; j < n_inside; ++j)
                if (j != i) inside += std::fabs(row[members[j]]) * weights[j];
            for (std::size_t j = 0; j < n_free; ++j)
                values[j] = std::fabs(row[members[n_inside + j]]) * weights[n_inside + j];
            const bool is_free = i >= n_inside;
            if (is_free) values[i - n_inside] = 0.0;
            const std::size_t count = is_free ? (picks > 0 ? picks - 1 : 0) : picks;
            sum_of_largest(values, n_free, count, work, sums + i, least + i);
            sums[i] += inside;
        }
    });
}

namespace {

constexpr std::size_t kTile = 32;

// Rows begin..end against the columns of one tile, whose transposed numbers were copied close together.
void slopes_of_tile(const double* part, const double* ratios, const double* least, const double* weight,
                    const double* density, const double* scale, std::size_t size, std::size_t begin, std::size_t end,
                    std::size_t first, std::size_t last, double* slope, double* turn, double* per_row) {
    double across[kTile][kTile], mirrored[kTile][kTile];
    for (std::size_t j = first; j < last; ++j)
        for (std::size_t i = begin; i < end; ++i) {
            across[i - begin][j - first] = ratios[j * size + i];
            mirrored[i - begin][j - first] = std::fabs(part[j * size + i]);
        }
    for (std::size_t i = begin; i < end; ++i) {
        const std::size_t row = i * size;
        double* sums = per_row + 4 * i;
        for (std::size_t j = first; j < last; ++j) {
            const double entry = part[row + j], magnitude = std::fabs(entry);
            const double ratio = ratios[row + j], other = across[i - begin][j - first];
            // From its own numbers: whether a product equals the smallest taken must not depend on a rounding.
            const double mirror = mirrored[i - begin][j - first];
            const double here = magnitude * ratio >= least[i] ? weight[i] * ratio : 0.0;
            const double there = mirror * other >= least[j] ? weight[j] * other : 0.0;
            const double sign = entry > 0.0 ? 0.5 : (entry < 0.0 ? -0.5 : 0.0);
            const double rise = i == j ? 0.0 : sign * (here + there) - density[row + j];
            const double twist = i == j ? 0.0 : 0.5 * (magnitude * here - mirror * there);
            slope[row + j] = rise;
            turn[row + j] = twist;
            const double scaled = std::fabs(rise * scale[row + j]), size_of_twist = std::fabs(twist);
            sums[0] += scaled * scaled;
            sums[1] += twist * twist;
            sums[2] = scaled > sums[2] ? scaled : sums[2];
            sums[3] = size_of_twist > sums[3] ? size_of_twist : sums[3];
        }
    }
}

}  // namespace

void split_slopes(const double* part, const double* ratios, const double* least, const double* weight,
                  const double* density, const double* scale, std::size_t size, double* slope, double* turn,
                  double* per_row) {
    parallel_for(size, 12.0 * size * size, kTile, [&](std::size_t first_row, std::size_t last_row) {
        std::fill(per_row + 4 * first_row, per_row + 4 * last_row, 0.0);
        for (std::size_t begin = first_row; begin < last_row; begin += kTile)
            for (std::size_t first = 0; first < size; first += kTile)
                slopes_of_tile(part, ratios, least, weight, density, scale, size, begin,
                               std::min(begin + kTile, last_row), first, std::min(first + kTile, size), slope, turn,
                               per_row);
    });
}

void split_update(double* part, double* ratios, const double* slope, const double* turn, const double* scale,
                  double step, double most, std::size_t size) {
    parallel_for(size, 6.0 * size * size, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t k = begin * size; k < end * size; ++k) {
            part[k] -= step * (scale[k] * scale[k]) * slope[k];
            if (turn[k] == 0.0) continue;
            const double moved = ratios[k] * std::exp(-step * turn[k]);
            ratios[k] = moved > most ? most : (moved < 1.0 / most ? 1.0 / most : moved);
        }
    });
}

}  // namespace sparseigen
