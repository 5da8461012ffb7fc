// Numbers that sums of the largest entries of rows cannot exceed, without a selection.
#include "bounds.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "dense_loops.hpp"
#include "kernels.hpp"
#include "thread_pool.hpp"

namespace sparseigen {
namespace {

constexpr std::size_t kLanes = 64, kChunk = 1024, kSample = 64;
constexpr int kPasses = 12;

SPARSEIGEN_DISPATCH void weighted_magnitudes(const float* __restrict row, const float* __restrict weights,
                                             float* __restrict out, std::size_t width) {
    for (std::size_t j = 0; j < width; ++j) out[j] = std::fabs(row[j]) * weights[j];
}

struct Excess {
    double sum = 0.0;
    std::size_t count = 0;
};

// What exceeds a threshold: the sum of (value - threshold) and the number of such values. `width` is a multiple of
// kLanes. A lane adds at most kChunk / kLanes numbers in their own precision; the order is the same on every processor.
template <class T>
SPARSEIGEN_INLINE Excess add_excess(const T* __restrict values, std::size_t width, T threshold) {
    Excess found;
    for (std::size_t begin = 0; begin < width; begin += kChunk) {
        const std::size_t end = std::min(begin + kChunk, width);
        T sums[kLanes] = {};
        int counts[kLanes] = {};
        for (std::size_t j = begin; j < end; j += kLanes)
            for (std::size_t l = 0; l < kLanes; ++l) {
                const T over = values[j + l] - threshold;
                sums[l] += over > T(0) ? over : T(0);
                counts[l] += over > T(0) ? 1 : 0;
            }
        for (std::size_t half = kLanes / 2; half > 4; half /= 2)
            for (std::size_t l = 0; l < half; ++l) {
                sums[l] += sums[l + half];
                counts[l] += counts[l + half];
            }
        for (std::size_t l = 0; l < 8; ++l) {
            found.sum += static_cast<double>(sums[l]);
            found.count += static_cast<std::size_t>(counts[l]);
        }
    }
    return found;
}

SPARSEIGEN_DISPATCH Excess measure_excess(const float* values, std::size_t width, float threshold) {
    return add_excess(values, width, threshold);
}

SPARSEIGEN_DISPATCH Excess measure_excess(const double* values, std::size_t width, double threshold) {
    return add_excess(values, width, threshold);
}

// Where the count-th largest of the values about lies, from some of them.
template <class T>
T guess_threshold(const std::vector<T>& values, std::size_t width, std::size_t count) {
    T sample[kSample];
    for (std::size_t s = 0; s < kSample; ++s) sample[s] = values[s * width / kSample];
    const std::size_t rank = std::min(kSample - 1, count * kSample / width);
    std::nth_element(sample, sample + rank, sample + kSample, std::greater<T>());
    return sample[rank];
}

// One end of the interval that holds the best threshold, and how many values exceed it.
template <class T>
struct End {
    T at;
    double count;
};

// The next threshold: on a line through both ends, of which the logarithm of the counts is linear, where there are two;
// else by the mean excess, as far as the wanted count is away in an exponential tail.
template <class T>
T next_threshold(const End<T>& below, const End<T>& above, T t, const Excess& found, double count, bool halve) {
    const bool enclosed = above.at < T(INFINITY);
    double next;
    if (enclosed && below.count > 0.0 && !halve) {
        const double fall = std::log(below.count / std::max(above.count, 0.5));
        next = below.at + (above.at - below.at) * std::log(below.count / count) / fall;
    } else if (enclosed && (halve || found.count == 0)) {
        next = 0.5 * (static_cast<double>(below.at) + above.at);
    } else {
        const double seen = static_cast<double>(found.count);
        next = t + found.sum / seen * std::log(seen / count);
    }
    const T rounded = static_cast<T>(next);
    if (rounded > below.at && rounded < above.at) return rounded;
    return enclosed ? T(0.5) * (below.at + above.at) : T(2) * t;
}

// The smallest number that thresholds tried prove. Where about as many values as wanted exceed t, none is better.
template <class T>
double lowest_ceiling(const std::vector<T>& values, std::size_t width, std::size_t count, T* threshold) {
    T t = *threshold > T(0) ? *threshold : guess_threshold(values, width, count), best_threshold = T(0);
    End<T> below{T(0), 0.0}, above{T(INFINITY), 0.0};
    double best = INFINITY;
    int side = 0, repeated = 0;
    for (int pass = 0; pass < kPasses; ++pass) {
        const Excess found = measure_excess(values.data(), values.size(), t);
        const double ceiling = static_cast<double>(count) * t + found.sum;
        if (ceiling < best) {
            best = ceiling;
            best_threshold = t;
        }
        const bool more = found.count > count;
        if (256 * (more ? found.count - count : count - found.count) <= count || t == T(0)) break;
        if (pass == 0 && found.count == 0 && *threshold > T(0)) {  // a guess above all values says nothing
            t = guess_threshold(values, width, count);
            continue;
        }
        (more ? below : above) = End<T>{t, static_cast<double>(found.count)};
        repeated = side == (more ? 1 : 2) ? repeated + 1 : 0;
        side = more ? 1 : 2;
        const T next = next_threshold(below, above, t, found, static_cast<double>(count), repeated > 1);
        if (!(next > below.at && next < above.at)) break;
        t = next;
    }
    *threshold = best_threshold;
    return best;
}

template <class T>
SPARSEIGEN_INLINE void multiply_row(const T* __restrict matrix, const T* __restrict rest, const T* __restrict ratios,
                                    T* __restrict out, std::size_t width) {
    for (std::size_t j = 0; j < width; ++j) out[j] = std::fabs(matrix[j] - rest[j]) * ratios[j];
}

SPARSEIGEN_DISPATCH void split_row(const float* matrix, const float* rest, const float* ratios, float* out,
                                   std::size_t width) {
    multiply_row(matrix, rest, ratios, out, width);
}

SPARSEIGEN_DISPATCH void split_row(const double* matrix, const double* rest, const double* ratios, double* out,
                                   std::size_t width) {
    multiply_row(matrix, rest, ratios, out, width);
}

}  // namespace

template <class T>
void split_ceilings(const T* matrix, const T* rest, const T* ratios, const T* others, std::size_t size,
                    std::size_t n_others, std::size_t count, double* ceilings, T* thresholds) {
    const std::size_t width = size + n_others;
    parallel_for(size, 4.0 * size * width, 1, [&](std::size_t begin, std::size_t end) {
        std::vector<T> values((width + kLanes - 1) / kLanes * kLanes, T(0));
        for (std::size_t i = begin; i < end; ++i) {
            split_row(matrix + i * size, rest + i * size, ratios + i * size, values.data(), size);
            values[i] = T(0);
            std::copy(others + i * n_others, others + (i + 1) * n_others, values.begin() + size);
            ceilings[i] = count == 0 ? 0.0 : lowest_ceiling(values, width, count, thresholds + i);
        }
    });
}

template void split_ceilings(const float*, const float*, const float*, const float*, std::size_t, std::size_t,
                             std::size_t, double*, float*);
template void split_ceilings(const double*, const double*, const double*, const double*, std::size_t, std::size_t,
                             std::size_t, double*, double*);

void row_ceilings(const float* block, std::size_t n_rows, std::size_t width, const std::int64_t* own,
                  const float* weights, std::size_t count, double* ceilings, float* thresholds) {
    parallel_for(n_rows, 4.0 * n_rows * width, 1, [&](std::size_t begin, std::size_t end) {
        std::vector<float> values((width + kLanes - 1) / kLanes * kLanes, 0.0f);
        for (std::size_t f = begin; f < end; ++f) {
            weighted_magnitudes(block + f * width, weights, values.data(), width);
            values[static_cast<std::size_t>(own[f])] = 0.0f;
            ceilings[f] = count == 0 ? 0.0 : lowest_ceiling(values, width, count, thresholds + f);
        }
    });
}

}  // namespace sparseigen
