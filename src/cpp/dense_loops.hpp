// The two loops over one dense row that every kernel is built from. They are inlined into functions that carry the
// run-time dispatch, so that one call covers many rows.
#pragma once
#include <cmath>
#include <cstddef>

#if defined(__GNUC__) || defined(__clang__)
#define SPARSEIGEN_INLINE inline __attribute__((always_inline))
#else
#define SPARSEIGEN_INLINE inline
#endif

namespace sparseigen {

// Some lines, two pages further on: the hardware's own prefetching stops at the end of every page of 4 KiB, which is
// about one row of 500 samples. Measured 10-20 % faster than without, and 8 KiB better than 1, 2 or 4.
template <int LINES = 4>
SPARSEIGEN_INLINE void prefetch_ahead(const void* here) {
#if defined(__GNUC__) || defined(__clang__)
    const char* ahead = static_cast<const char*>(here) + 8192;
    for (int line = 0; line < LINES; ++line) __builtin_prefetch(ahead + 64 * line);
#else
    (void)here;
#endif
}

// A dot product with LANES partial sums in a fixed order: independent of vector width, and precise enough for float.
// AHEAD: the rows that follow are read next.
template <int LANES, bool AHEAD, class T>
SPARSEIGEN_INLINE T dot_lanes(const T* __restrict row, const T* __restrict vector, std::size_t width) {
    T lanes[LANES] = {};
    std::size_t j = 0;
    for (; j + LANES <= width; j += LANES) {
        if (AHEAD && LANES == 32) prefetch_ahead<static_cast<int>(LANES * sizeof(T) / 64)>(row + j);
        for (int l = 0; l < LANES; ++l) lanes[l] += row[j + l] * vector[j + l];
    }
    constexpr int kFew = LANES > 8 ? LANES / 4 : LANES;
    if (kFew < LANES)
        for (; j + kFew <= width; j += kFew)
            for (int l = 0; l < kFew; ++l) lanes[l] += row[j + l] * vector[j + l];
    T rest = 0;
    for (; j < width; ++j) rest += row[j] * vector[j];
    for (int half = LANES / 2; half >= 1; half /= 2)
        for (int l = 0; l < half; ++l) lanes[l] += lanes[l + half];
    return lanes[0] + rest;
}

constexpr std::size_t kShortRow = 192;

// Short rows take few partial sums, because adding those up would cost as much as the row. The width alone decides.
template <bool AHEAD = true, class T>
SPARSEIGEN_INLINE T dot_row(const T* __restrict row, const T* __restrict vector, std::size_t width) {
    if (width >= kShortRow) return dot_lanes<32, AHEAD, T>(row, vector, width);
    if (AHEAD)
        for (std::size_t j = 0; j < width; j += 256 / sizeof(T)) prefetch_ahead(row + j);
    return dot_lanes<8, AHEAD, T>(row, vector, width);
}

// x's, x'v and the sum of w_j x_j^2 of one row in one read, each with LANES partial sums in a fixed order.
template <int LANES, class T>
SPARSEIGEN_INLINE void row_moments_lanes(const T* __restrict row, const T* __restrict s, const T* __restrict v,
                                         const T* __restrict w, std::size_t width, T* __restrict out) {
    T first[LANES] = {}, second[LANES] = {}, squares[LANES] = {};
    std::size_t j = 0;
    for (; j + LANES <= width; j += LANES)
        for (int l = 0; l < LANES; ++l) {
            const T x = row[j + l];
            first[l] += x * s[j + l];
            second[l] += x * v[j + l];
            squares[l] += x * x * w[j + l];
        }
    for (int l = 0; j < width; ++j, ++l) {
        first[l] += row[j] * s[j];
        second[l] += row[j] * v[j];
        squares[l] += row[j] * row[j] * w[j];
    }
    for (int half = LANES / 2; half >= 1; half /= 2)
        for (int l = 0; l < half; ++l) {
            first[l] += first[l + half];
            second[l] += second[l + half];
            squares[l] += squares[l + half];
        }
    out[0] = first[0];
    out[1] = second[0];
    out[2] = squares[0];
}

template <class T>
SPARSEIGEN_INLINE void add_row(T weight, const T* __restrict row, T* __restrict out, std::size_t width) {
    for (std::size_t j = 0; j < width; ++j) out[j] += weight * row[j];
}

}  // namespace sparseigen
