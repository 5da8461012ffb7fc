#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels.hpp"
#include "thread_pool.hpp"

namespace sparseigen {
namespace {

// Four rows at a time: the accumulator, which stays in the first-level cache, is read and written once per four
// rows. Each out[j] adds the rows in their given order whatever the width of the part.
#define SPARSEIGEN_COMBINE(T)                                                                                      \
    SPARSEIGEN_DISPATCH void combine_part(const T* __restrict matrix, std::size_t stride,                          \
                                          const std::int64_t* rows, std::size_t n_rows, const T* weights,          \
                                          T* __restrict out, std::size_t width) {                                  \
        std::memset(out, 0, width * sizeof(T));                                                                    \
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

// A dot product with a fixed number of partial sums: independent of vector width, and precise enough for float.
#define SPARSEIGEN_DOTS(T, LANES)                                                                                  \
    SPARSEIGEN_DISPATCH void dots_part(const T* __restrict matrix, std::size_t stride, std::size_t begin,          \
                                       std::size_t end, std::size_t width, const T* __restrict vector,             \
                                       T* __restrict out) {                                                        \
        for (std::size_t i = begin; i < end; ++i) {                                                                \
            const T* __restrict row = matrix + i * stride;                                                         \
            T lanes[LANES] = {};                                                                                   \
            std::size_t j = 0;                                                                                     \
            for (; j + LANES <= width; j += LANES)                                                                 \
                for (int l = 0; l < LANES; ++l) lanes[l] += row[j + l] * vector[j + l];                            \
            T rest = 0;                                                                                            \
            for (; j < width; ++j) rest += row[j] * vector[j];                                                     \
            for (int half = LANES / 2; half >= 1; half /= 2)                                                       \
                for (int l = 0; l < half; ++l) lanes[l] += lanes[l + half];                                        \
            out[i] = lanes[0] + rest;                                                                              \
        }                                                                                                          \
    }

SPARSEIGEN_DOTS(double, 32)
SPARSEIGEN_DOTS(float, 64)

template <class T>
void combine_all(const T* matrix, std::size_t stride, const std::int64_t* rows, std::size_t n_rows, const T* weights,
                 T* out, std::size_t width) {
    // 2048 columns of the accumulator stay in the first-level cache while all rows pass over them.
    constexpr std::size_t kTile = 2048;
    parallel_for(width, static_cast<double>(n_rows) * width, 16, [&](std::size_t begin, std::size_t end) {
        for (std::size_t j = begin; j < end; j += kTile)
            combine_part(matrix + j, stride, rows, n_rows, weights, out + j, std::min(kTile, end - j));
    });
}

template <class T>
void dots_all(const T* matrix, std::size_t stride, std::size_t n_rows, std::size_t width, const T* vector, T* out) {
    parallel_for(n_rows, static_cast<double>(n_rows) * width, 8, [&](std::size_t begin, std::size_t end) {
        dots_part(matrix, stride, begin, end, width, vector, out);
    });
}

SPARSEIGEN_DISPATCH double sum_part(const double* __restrict values, std::size_t count) {
    double lanes[32] = {};
    std::size_t i = 0;
    for (; i + 32 <= count; i += 32)
        for (int l = 0; l < 32; ++l) lanes[l] += values[i + l];
    for (; i < count; ++i) lanes[0] += values[i];
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
void row_dots_serial(const double* matrix, std::size_t stride, std::size_t n_rows, std::size_t width,
                     const double* vector, double* out) {
    dots_part(matrix, stride, 0, n_rows, width, vector, out);
}
void row_dots_serial(const float* matrix, std::size_t stride, std::size_t n_rows, std::size_t width,
                     const float* vector, float* out) {
    dots_part(matrix, stride, 0, n_rows, width, vector, out);
}
void row_dots(const double* matrix, std::size_t stride, std::size_t n_rows, std::size_t width, const double* vector,
              double* out) {
    dots_all(matrix, stride, n_rows, width, vector, out);
}
void row_dots(const float* matrix, std::size_t stride, std::size_t n_rows, std::size_t width, const float* vector,
              float* out) {
    dots_all(matrix, stride, n_rows, width, vector, out);
}

}  // namespace sparseigen
