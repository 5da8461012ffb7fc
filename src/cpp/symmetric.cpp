#include "symmetric.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "buffer.hpp"
#include "dense_loops.hpp"
#include "interrupts.hpp"
#include "kernels.hpp"
#include "thread_pool.hpp"

namespace sparseigen {
namespace {

constexpr std::size_t kTile = 32;  // two tiles and a mirrored copy stay in the first-level cache

// Largest magnitude, largest difference, and what is NaN once an entry was not finite, by column of a tile: the loops
// are then as wide as the machine.
template <class T>
struct Seen {
    T largest[kTile] = {}, apart[kTile] = {}, spoilt[kTile] = {};
};

template <class T>
SPARSEIGEN_INLINE T larger(T first, T second) {
    return first > second ? first : second;
}

template <class T>
SPARSEIGEN_INLINE void compare_rows(const T* __restrict row, const T* __restrict mirrored, std::size_t width,
                                    Seen<T>& seen) {
    T *__restrict largest = seen.largest, *__restrict apart = seen.apart, *__restrict spoilt = seen.spoilt;
    for (std::size_t j = 0; j < width; ++j) {
        const T difference = row[j] - mirrored[j];
        largest[j] = larger(std::fabs(row[j]), largest[j]);
        largest[j] = larger(std::fabs(mirrored[j]), largest[j]);
        apart[j] = larger(std::fabs(difference), apart[j]);
        spoilt[j] += difference * T(0);
    }
}

SPARSEIGEN_INLINE void ask_for(const void* address) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(address);
#else
    (void)address;
#endif
}

// The tiles of one band of rows at and right of the diagonal, each against its mirror image below the diagonal. The
// next tiles of both are asked for before their turn: the hardware does not see rows that are far apart coming.
template <class T>
SPARSEIGEN_INLINE void survey_tiles(const T* __restrict matrix, std::size_t size, std::size_t band, Seen<T>& seen) {
    constexpr std::size_t kLine = 64 / sizeof(T);
    alignas(64) T mirrored[kTile * kTile];
    const std::size_t top = band * kTile, rows = std::min(kTile, size - top);
    for (std::size_t left = top; left < size; left += kTile) {
        const std::size_t columns = std::min(kTile, size - left);
        const bool ahead = left + 2 * kTile <= size;
        for (std::size_t i = 0; i < columns; ++i) {
            const T* const row = matrix + (left + i) * size + top;
            if (ahead)
                for (std::size_t j = 0; j < kTile; j += kLine) ask_for(row + kTile * size + j);
            for (std::size_t j = 0; j < rows; ++j) mirrored[j * kTile + i] = row[j];
        }
        for (std::size_t i = 0; i < rows; ++i) {
            const T* const row = matrix + (top + i) * size + left;
            if (ahead)
                for (std::size_t j = 0; j < kTile; j += kLine) ask_for(row + kTile + j);
            if (columns == kTile)
                compare_rows(row, mirrored + i * kTile, kTile, seen);
            else
                compare_rows(row, mirrored + i * kTile, columns, seen);
        }
    }
}

SPARSEIGEN_DISPATCH void survey_band(const double* matrix, std::size_t size, std::size_t band, Seen<double>& seen) {
    survey_tiles(matrix, size, band, seen);
}
SPARSEIGEN_DISPATCH void survey_band(const float* matrix, std::size_t size, std::size_t band, Seen<float>& seen) {
    survey_tiles(matrix, size, band, seen);
}

double sum_squares(const double* values, std::size_t count) {
    double total = 0.0;
    for (std::size_t i = 0; i < count; ++i) total += values[i] * values[i];
    return total;
}

// What a step writes its product to, kept from step to step.
template <class T>
struct Scratch {
    Buffer<T> product, weights;
    Scratch(std::size_t size, std::size_t count) : product(size), weights(count) {}
};

template <class T>
double multiply_and_truncate(const T* matrix, std::size_t size, const std::int64_t* support, std::size_t n_support,
                             const double* weights, std::size_t cardinality, bool nonnegative,
                             const Scratch<T>& scratch, std::int64_t* indices, double* values) {
    for (std::size_t f = 0; f < n_support; ++f) scratch.weights[f] = static_cast<T>(weights[f]);
    combine_rows(matrix, size, support, n_support, scratch.weights.data(), scratch.product.data(), size);
    double form = 0.0;
    for (std::size_t f = 0; f < n_support; ++f) form += weights[f] * static_cast<double>(scratch.product[support[f]]);
    largest_magnitudes(scratch.product.data(), size, cardinality, nonnegative, indices);
    for (std::size_t c = 0; c < cardinality; ++c) {
        const double value = static_cast<double>(scratch.product[indices[c]]);
        values[c] = nonnegative && value < 0.0 ? 0.0 : value;
    }
    return form;
}

}  // namespace

template <class T>
Survey survey_symmetric(const T* matrix, std::size_t size) {
    const std::size_t bands = (size + kTile - 1) / kTile, pairs = (bands + 1) / 2;
    std::vector<Seen<T>> seen(pairs);
    // A long band and a short one together: parts of equal work.
    parallel_for(pairs, static_cast<double>(size) * size, 1, [&](std::size_t begin, std::size_t end) {
        in_checked_blocks(begin, end, kTile * size, 1, [&](std::size_t from, std::size_t to) {
            for (std::size_t pair = from; pair < to; ++pair) {
                survey_band(matrix, size, pair, seen[pair]);
                if (bands - 1 - pair != pair) survey_band(matrix, size, bands - 1 - pair, seen[pair]);
            }
        });
    });
    T largest = 0, apart = 0, spoilt = 0;
    for (const Seen<T>& part : seen)
        for (std::size_t l = 0; l < kTile; ++l) {
            largest = larger(part.largest[l], largest);
            apart = larger(part.apart[l], apart);
            spoilt += part.spoilt[l];
        }
    return {static_cast<double>(largest), static_cast<double>(apart), spoilt == 0};
}
template Survey survey_symmetric<double>(const double*, std::size_t);
template Survey survey_symmetric<float>(const float*, std::size_t);

template <class T>
double symmetric_step(const T* matrix, std::size_t size, const std::int64_t* support, std::size_t n_support,
                      const double* weights, std::size_t cardinality, bool nonnegative, std::int64_t* indices,
                      double* values) {
    const Scratch<T> scratch(size, n_support);
    return multiply_and_truncate(matrix, size, support, n_support, weights, cardinality, nonnegative, scratch, indices,
                                 values);
}
template double symmetric_step<double>(const double*, std::size_t, const std::int64_t*, std::size_t, const double*,
                                       std::size_t, bool, std::int64_t*, double*);
template double symmetric_step<float>(const float*, std::size_t, const std::int64_t*, std::size_t, const double*,
                                      std::size_t, bool, std::int64_t*, double*);

template <class T>
std::size_t symmetric_steps(const T* matrix, std::size_t size, std::size_t cardinality, bool nonnegative,
                            std::size_t n_steps, std::int64_t* indices, double* values, double* lengths,
                            double* forms, bool* repeated) {
    const Scratch<T> scratch(size, cardinality);
    for (std::size_t s = 0; s < n_steps; ++s) {
        std::int64_t* const support = indices + s * cardinality;
        double* const weights = values + s * cardinality;
        const double length = std::sqrt(sum_squares(weights, cardinality));
        if (!(length > 0.0)) return s;
        for (std::size_t c = 0; c < cardinality; ++c) weights[c] /= length;
        lengths[s] = length;
        forms[s] = multiply_and_truncate(matrix, size, support, cardinality, weights, cardinality, nonnegative,
                                         scratch, support + cardinality, weights + cardinality);
        repeated[s] = std::equal(support, support + cardinality, support + cardinality);
    }
    return n_steps;
}
template std::size_t symmetric_steps<double>(const double*, std::size_t, std::size_t, bool, std::size_t, std::int64_t*,
                                             double*, double*, double*, bool*);
template std::size_t symmetric_steps<float>(const float*, std::size_t, std::size_t, bool, std::size_t, std::int64_t*,
                                            double*, double*, double*, bool*);

}  // namespace sparseigen
