#include <algorithm>
#include <cstring>
#include <vector>

#include "buffer.hpp"
#include "chunked_sum.hpp"
#include "dense_loops.hpp"
#include "interrupts.hpp"
#include "kernels.hpp"
#include "thread_pool.hpp"

namespace sparseigen {
namespace {

// Adds to out. Four rows at a time: the accumulator, which stays in the first-level cache, is read and written once
// per four rows. Each out[j] adds the rows in their given order whatever the width of the part.
#define SPARSEIGEN_COMBINE(T)                                                                                      \
    SPARSEIGEN_DISPATCH void combine_part(const T* __restrict matrix, std::size_t stride,                          \
                                          const std::int64_t* rows, std::size_t n_rows, const T* weights,          \
                                          T* __restrict out, std::size_t width) {                                  \
        std::size_t f = 0;                                                                                         \
        for (; f + 4 <= n_rows; f += 4) {                                                                          \
            const T* __restrict a = matrix + static_cast<std::size_t>(rows[f]) * stride;                           \
            const T* __restrict b = matrix + static_cast<std::size_t>(rows[f + 1]) * stride;                       \
            const T* __restrict c = matrix + static_cast<std::size_t>(rows[f + 2]) * stride;                       \
            const T* __restrict d = matrix + static_cast<std::size_t>(rows[f + 3]) * stride;                       \
            const T wa = weights[f], wb = weights[f + 1], wc = weights[f + 2], wd = weights[f + 3];                \
            for (std::size_t j = 0; j < width; ++j)                                                                \
                out[j] = (((out[j] + wa * a[j]) + wb * b[j]) + wc * c[j]) + wd * d[j];                             \
        }                                                                                                          \
        for (; f < n_rows; ++f) {                                                                                  \
            const T* __restrict a = matrix + static_cast<std::size_t>(rows[f]) * stride;                           \
            const T wa = weights[f];                                                                               \
            for (std::size_t j = 0; j < width; ++j) out[j] += wa * a[j];                                           \
        }                                                                                                          \
    }

SPARSEIGEN_COMBINE(double)
SPARSEIGEN_COMBINE(float)

// `ahead`: the matrix is larger than the caches, so rows are asked for before their turn.
#define SPARSEIGEN_DOTS(T)                                                                                         \
    SPARSEIGEN_DISPATCH void dots_part(const T* __restrict matrix, std::size_t stride, std::size_t begin,          \
                                       std::size_t end, std::size_t width, const T* __restrict vector, bool ahead, \
                                       T* __restrict out) {                                                        \
        if (ahead)                                                                                                 \
            for (std::size_t i = begin; i < end; ++i) out[i] = dot_row<true>(matrix + i * stride, vector, width);  \
        else                                                                                                       \
            for (std::size_t i = begin; i < end; ++i) out[i] = dot_row<false>(matrix + i * stride, vector, width); \
    }

SPARSEIGEN_DOTS(double)
SPARSEIGEN_DOTS(float)

#define SPARSEIGEN_MOMENTS(T)                                                                                     \
    SPARSEIGEN_DISPATCH void moments_part(const T* __restrict matrix, std::size_t begin, std::size_t end,          \
                                          std::size_t width, const T* s, const T* v, const T* w, T* out) {         \
        for (std::size_t i = begin; i < end; ++i)                                                                  \
            row_moments_lanes<64 / sizeof(T)>(matrix + i * width, s, v, w, width, out + 3 * i);                    \
    }

SPARSEIGEN_MOMENTS(double)
SPARSEIGEN_MOMENTS(float)

constexpr std::size_t kTile = 2048;  // columns of the accumulator that stay in the first-level cache
constexpr std::size_t kWidestSums = 8192;
constexpr std::size_t kNarrowest = 256;  // columns of a thread's part: fewer would read every row in crumbs

template <class T>
void combine_tiles(const T* matrix, std::size_t stride, const std::int64_t* rows, std::size_t n_rows,
                   const T* weights, T* out, std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; j += kTile) {
        const std::size_t width = std::min(kTile, end - j);
        std::memset(out + j, 0, width * sizeof(T));
        in_checked_blocks(0, n_rows, width, 4, [&](std::size_t from, std::size_t to) {
            combine_part(matrix + j, stride, rows + from, to - from, weights + from, out + j, width);
        });
    }
}

// Whole rows are read in order, by chunks of rows with a sum each; for very long rows those sums would be large, and
// each thread takes some columns instead. The choice and the chunks depend on the shape alone.
template <class T>
void combine_all(const T* matrix, std::size_t stride, const std::int64_t* rows, std::size_t n_rows, const T* weights,
                 T* out, std::size_t width) {
    const double work = static_cast<double>(n_rows) * width;
    if (width > kWidestSums) {
        parallel_for(width, work, kNarrowest, [&](std::size_t begin, std::size_t end) {
            combine_tiles(matrix, stride, rows, n_rows, weights, out, begin, end);
        });
        return;
    }
    ChunkedSum<T> sums(n_rows, width);
    parallel_for(sums.chunks(), work, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t chunk = begin; chunk < end; ++chunk) {
            const std::size_t from = sums.begin(chunk);
            combine_tiles(matrix, stride, rows + from, sums.end(chunk) - from, weights + from, sums.sum(chunk), 0,
                          width);
        }
    });
    std::memset(out, 0, width * sizeof(T));
    sums.add_to(out);
}

template <class T>
void dots_all(const T* matrix, std::size_t stride, std::size_t n_rows, std::size_t width, const T* vector, T* out) {
    const bool ahead = n_rows * width * sizeof(T) > (4u << 20);
    parallel_for(n_rows, static_cast<double>(n_rows) * width, 8, [&](std::size_t begin, std::size_t end) {
        dots_part(matrix, stride, begin, end, width, vector, ahead, out);
    });
}

// Four streams at once: one alone leaves the memory waiting, and a limit must not be easy to reach.
SPARSEIGEN_DISPATCH double sum_part(const double* __restrict values, std::size_t count) {
    const std::size_t quarter = count / 4;
    const double *a = values, *b = a + quarter, *c = b + quarter, *d = c + quarter;
    double lanes[32] = {};
    std::size_t i = 0;
    for (; i + 8 <= quarter; i += 8)
        for (int l = 0; l < 8; ++l) {
            lanes[l] += a[i + l];
            lanes[8 + l] += b[i + l];
            lanes[16 + l] += c[i + l];
            lanes[24 + l] += d[i + l];
        }
    for (; i < quarter; ++i) lanes[0] += (a[i] + b[i]) + (c[i] + d[i]);
    for (std::size_t rest = 4 * quarter; rest < count; ++rest) lanes[0] += values[rest];
    double total = 0.0;
    for (double lane : lanes) total += lane;
    return total;
}

}  // namespace

double stream_sum(const double* values, std::size_t count) {
    constexpr std::size_t kPart = 1 << 16;  // partial sums of a fixed length: one order for any number of threads
    const std::size_t parts = (count + kPart - 1) / kPart;
    std::vector<double> sums(parts);
    parallel_for(parts, static_cast<double>(count), 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t p = begin; p < end; ++p)
            sums[p] = sum_part(values + p * kPart, std::min(kPart, count - p * kPart));
    });
    double total = 0.0;
    for (double sum : sums) total += sum;
    return total;
}

void combine_rows(const double* matrix, std::size_t stride, const std::int64_t* rows, std::size_t n_rows,
                  const double* weights, double* out, std::size_t width) {
    combine_all(matrix, stride, rows, n_rows, weights, out, width);
}
void combine_rows(const float* matrix, std::size_t stride, const std::int64_t* rows, std::size_t n_rows,
                  const float* weights, float* out, std::size_t width) {
    combine_all(matrix, stride, rows, n_rows, weights, out, width);
}
void row_dots(const double* matrix, std::size_t stride, std::size_t n_rows, std::size_t width, const double* vector,
              double* out) {
    dots_all(matrix, stride, n_rows, width, vector, out);
}
void row_dots(const float* matrix, std::size_t stride, std::size_t n_rows, std::size_t width, const float* vector,
              float* out) {
    dots_all(matrix, stride, n_rows, width, vector, out);
}

template <class T>
void row_moments(const T* matrix, std::size_t n_rows, std::size_t width, const T* s, const T* v, const T* w, T* out) {
    parallel_for(n_rows, 3.0 * static_cast<double>(n_rows) * width, 8, [&](std::size_t begin, std::size_t end) {
        moments_part(matrix, begin, end, width, s, v, w, out);
    });
}
template void row_moments<double>(const double*, std::size_t, std::size_t, const double*, const double*, const double*,
                                  double*);
template void row_moments<float>(const float*, std::size_t, std::size_t, const float*, const float*, const float*,
                                 float*);

template <class T>
void power_step(const T* matrix, std::size_t n_rows, std::size_t width, const std::int64_t* support,
                std::size_t n_support, const T* weights, T divisor, std::size_t count, bool nonnegative, T* scores,
                std::int64_t* indices, T* values) {
    combine_all(matrix, width, support, n_support, weights, scores, width);
    const Buffer<T> vector(width), product(n_rows);
    for (std::size_t j = 0; j < width; ++j) vector[j] = scores[j] / divisor;
    dots_all(matrix, width, n_rows, width, vector.data(), product.data());
    largest_magnitudes(product.data(), n_rows, count, nonnegative, indices);
    for (std::size_t c = 0; c < count; ++c) values[c] = product[static_cast<std::size_t>(indices[c])];
}
template void power_step<double>(const double*, std::size_t, std::size_t, const std::int64_t*, std::size_t,
                                 const double*, double, std::size_t, bool, double*, std::int64_t*, double*);
template void power_step<float>(const float*, std::size_t, std::size_t, const std::int64_t*, std::size_t, const float*,
                                float, std::size_t, bool, float*, std::int64_t*, float*);

}  // namespace sparseigen
