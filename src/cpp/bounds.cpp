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

}  // namespace sparseigen
