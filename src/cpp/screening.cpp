#include "screening.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "buffer.hpp"
#include "chunked_sum.hpp"
#include "dense_loops.hpp"
#include "interrupts.hpp"
#include "kernels.hpp"
#include "thread_pool.hpp"

namespace sparseigen {
namespace {

constexpr std::size_t kBlock = 256;     // 256 * 127 * 32767 stays below 2^31: one block sums in 32 bits

SPARSEIGEN_INLINE std::int64_t code_dot(const std::int8_t* __restrict codes, const std::int16_t* __restrict vector,
                                        std::size_t width) {
    std::int64_t total = 0;
    for (std::size_t begin = 0; begin < width; begin += kBlock) {
        const std::size_t end = std::min(width, begin + kBlock);
        std::int32_t sum = 0;
        for (std::size_t j = begin; j < end; ++j)
            sum += static_cast<std::int32_t>(static_cast<std::int16_t>(codes[j])) * static_cast<std::int32_t>(vector[j]);
        total += sum;
    }
    return total;
}

SPARSEIGEN_DISPATCH_INTEGER void code_dots(const std::int8_t* __restrict codes, const std::int16_t* __restrict vector,
                                           std::size_t n_rows, std::size_t width, double* __restrict out) {
    for (std::size_t i = 0; i < n_rows; ++i) {
        const std::int8_t* row = codes + i * width;
        for (std::size_t j = 0; j < width; j += 256) prefetch_ahead(row + j);
        out[i] = static_cast<double>(code_dot(row, vector, width));
    }
}

// What is known of the vector of a shadow product: its unit, its length, and the length of what its codes leave out.
struct CodedVector {
    double unit, length, lost, slack;
};

SPARSEIGEN_DISPATCH void shadow_part(const double* __restrict dots, const double* __restrict scales,
                                     const double* __restrict errors, const double* __restrict norms, std::size_t count,
                                     const CodedVector vector, double* __restrict lower, double* __restrict upper) {
    for (std::size_t i = 0; i < count; ++i) {
        const double about = std::abs(scales[i] * vector.unit * dots[i]);
        const double size = scales[i] * norms[i];  // |row| up to its error
        const double radius = (errors[i] * vector.length + size * vector.lost +
                               vector.slack * (size + errors[i]) * vector.length) * (1.0 + 1e-14);
        const double least = about * (1.0 - 1e-14) - radius;
        lower[i] = least > 0.0 ? least : 0.0;
        upper[i] = about * (1.0 + 1e-14) + radius;
    }
}

// Candidates leave gaps, and the hardware's own prefetching stops at each: the next row is asked for by hand.
template <class Value>
SPARSEIGEN_INLINE void prefetch_row(const Value* row, std::size_t width) {
#if defined(__GNUC__) || defined(__clang__)
    constexpr std::size_t kLine = 64 / sizeof(Value), kMost = 8192 / sizeof(Value);
    for (std::size_t j = 0; j < std::min(width, kMost); j += kLine) __builtin_prefetch(row + j);
#else
    (void)row, (void)width;
#endif
}

// Both loops of a step over some rows: product[i] = row_i . vector, and the sum of product * row over those that
// reach the floor, while the row is still in the first-level cache. Lists the rows that reach `low`; returns how many.
#define SPARSEIGEN_FUSED(T)                                                                                          \
    SPARSEIGEN_DISPATCH std::size_t fused_part(const T* __restrict rows, std::size_t begin, std::size_t end,         \
                                               std::size_t width, const T* __restrict vector, T low, T floor,        \
                                               T* __restrict product, std::int64_t* __restrict list,                 \
                                               T* __restrict sum) {                                                  \
        std::size_t listed = 0;                                                                                      \
        for (std::size_t i = begin; i < end; ++i) {                                                                  \
            const T* row = rows + i * width;                                                                         \
            product[i] = dot_row(row, vector, width);                                                                \
            const T size = std::abs(product[i]);                                                                     \
            list[listed] = static_cast<std::int64_t>(i);                                                             \
            listed += size >= low;                                                                                   \
            if (size >= floor) add_row(product[i], row, sum, width);                                                 \
        }                                                                                                            \
        return listed;                                                                                               \
    }
SPARSEIGEN_FUSED(double)
SPARSEIGEN_FUSED(float)

// The same over a list of rows.
#define SPARSEIGEN_LISTED(T)                                                                                         \
    SPARSEIGEN_DISPATCH void listed_part(const T* __restrict rows, const std::int64_t* list, std::size_t begin,      \
                                         std::size_t end, std::size_t length, std::size_t width,                     \
                                         const T* __restrict vector, T floor, T* __restrict exact,                   \
                                         T* __restrict sum) {                                                        \
        for (std::size_t c = begin; c < end; ++c) {                                                                  \
            const T* row = rows + static_cast<std::size_t>(list[c]) * width;                                         \
            if (c + 2 < length) prefetch_row(rows + static_cast<std::size_t>(list[c + 2]) * width, width);           \
            exact[c] = dot_row<false>(row, vector, width);                                                           \
            if (std::abs(exact[c]) >= floor) add_row(exact[c], row, sum, width);                                     \
        }                                                                                                            \
    }
SPARSEIGEN_LISTED(double)
SPARSEIGEN_LISTED(float)

SPARSEIGEN_DISPATCH void running_part(const double* __restrict products, const double* __restrict norms,
                                      std::size_t first, std::size_t last, double unit, double length,
                                      double cosine, double sine, double slack, double* __restrict lower, double* __restrict upper) {
    for (std::size_t i = first; i < last; ++i) {
        const double along = std::abs(products[i]) * unit, margin = slack * norms[i];
        const double across = std::sqrt(std::max(norms[i] * norms[i] - along * along, 0.0) + margin * margin);
        const double radius = across * sine + margin;
        lower[i] = std::max(along * cosine - radius, 0.0) * length;
        upper[i] = (along * cosine + radius) * length;
    }
}

// The floor at which rows are added during a pass is set a little above the guess: to add a row later costs less than
// to take one off again.
template <class Value>
Value raised(Value guess) {
    return guess * Value(1.01);
}

// The end of a step: of the rows listed (ascending, their products in `exact`) the `count` largest, and the sum of
// product * row over them, from `sums` to which the pass has added every listed row that reaches the floor.
template <class Value>
void choose_and_sum(const Value* rows, std::size_t width, const std::int64_t* listed, std::size_t found, const Value* exact, Value floor, std::size_t count, const ChunkedSum<Value>& sums,
                    std::int64_t* indices, Value* values, Value* combined) {
    largest_magnitudes(exact, found, count, false, indices);
    std::vector<std::int64_t> wrong;
    std::vector<Value> changes;
    for (std::size_t c = 0, next = 0; c < found; ++c) {
        const bool kept = next < count && indices[next] == static_cast<std::int64_t>(c);
        if (kept != (std::abs(exact[c]) >= floor)) {
            wrong.push_back(listed[c]);
            changes.push_back(kept ? exact[c] : -exact[c]);
        }
        if (kept) {
            values[next] = exact[c];
            indices[next++] = listed[c];
        }
    }
    if (2 * wrong.size() > count) {  // a poor guess: as many rows again, and digits would be lost
        combine_rows(rows, width, indices, count, values, combined, width);
        return;
    }
    combine_rows(rows, width, wrong.data(), wrong.size(), changes.data(), combined, width);
    sums.add_to(combined);
}

}  // namespace

template <class Value>
void shadow_codes(const Value* rows, std::size_t n_rows, std::size_t width, std::int8_t* codes, double* scales,
                  double* errors, double* norms) {
    parallel_for(n_rows, static_cast<double>(n_rows) * width, 1, [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) {
            const Value* row = rows + i * width;
            std::int8_t* code = codes + i * width;
            double largest = 0.0;
            for (std::size_t j = 0; j < width; ++j) largest = std::max(largest, std::abs(static_cast<double>(row[j])));
            const double scale = largest / 127.0;
            const double inverse = largest > 0.0 ? 127.0 / largest : 0.0;
            double error = 0.0;
            std::int64_t norm = 0;
            for (std::size_t j = 0; j < width; ++j) {
                const double value = static_cast<double>(row[j]);
                const double rounded = std::nearbyint(value * inverse);
                code[j] = static_cast<std::int8_t>(rounded);
                const double difference = value - rounded * scale;
                error += difference * difference;
                norm += static_cast<std::int64_t>(rounded) * static_cast<std::int64_t>(rounded);
            }
            scales[i] = scale;
            // Upwards past the rounding of the sum and of each difference (at most an ulp of the largest entry).
            const double ulps = std::numeric_limits<double>::epsilon();
            errors[i] = std::sqrt(error) * (1.0 + (width + 8) * ulps) + 2.0 * largest * std::sqrt(double(width)) * ulps;
            norms[i] = std::sqrt(static_cast<double>(norm)) * (1.0 + 4.0 * ulps);
        }
    });
}

void shadow_bounds(const std::int8_t* codes, const double* scales, const double* errors, const double* norms,
                   std::size_t n_rows, std::size_t width, const double* vector, double slack, double* lower,
                   double* upper) {
    double largest = 0.0, length = 0.0, lost = 0.0;
    for (std::size_t j = 0; j < width; ++j) {
        largest = std::max(largest, std::abs(vector[j]));
        length += vector[j] * vector[j];
    }
    const double unit = largest / 32767.0, inverse = largest > 0.0 ? 32767.0 / largest : 0.0;
    std::vector<std::int16_t> coded(width);
    for (std::size_t j = 0; j < width; ++j) {
        const double rounded = std::nearbyint(vector[j] * inverse);
        coded[j] = static_cast<std::int16_t>(rounded);
        const double difference = vector[j] - rounded * unit;
        lost += difference * difference;
    }
    const double up = 1.0 + (width + 8) * std::numeric_limits<double>::epsilon();
    length = std::sqrt(length) * up;
    lost = std::sqrt(lost) * up + largest * 1e-15 * std::sqrt(static_cast<double>(width));
    const CodedVector facts{unit, length, lost, slack};
    constexpr std::size_t kRows = 128;
    const double work = static_cast<double>(n_rows) * (width / 8.0 + 8.0);
    parallel_for(n_rows, work, kRows, [&](std::size_t first, std::size_t last) {
        double dots[kRows];
        for (std::size_t i = first; i < last; i += kRows) {
            const std::size_t count = std::min(kRows, last - i);
            code_dots(codes + i * width, coded.data(), count, width, dots);
            shadow_part(dots, scales + i, errors + i, norms + i, count, facts, lower + i, upper + i);
        }
    });
}

template <class Value>
std::size_t bounded_step(const Value* rows, std::size_t n_rows, std::size_t width, const double* lower,
                         const double* upper, const Value* vector, Value guess, std::size_t count,
                         std::int64_t* indices, Value* values, Value* combined) {
    const double smallest = ranked_value(lower, n_rows, count);
    const Buffer<std::int64_t> candidates(n_rows + 1);
    std::size_t read = 0;
    for (std::size_t i = 0; i < n_rows; ++i) {
        candidates[read] = static_cast<std::int64_t>(i);
        read += upper[i] >= smallest;
    }
    const Value floor = raised(guess);
    const Buffer<Value> exact(read);
    ChunkedSum<Value> sums(read, width);
    parallel_for(sums.chunks(), static_cast<double>(read) * width, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t chunk = begin; chunk < end; ++chunk)
            in_checked_blocks(sums.begin(chunk), sums.end(chunk), width, 1, [&](std::size_t from, std::size_t to) {
                listed_part(rows, candidates.data(), from, to, read, width, vector, floor, exact.data(),
                            sums.sum(chunk));
            });
    });
    choose_and_sum(rows, width, candidates.data(), read, exact.data(), floor, count, sums, indices, values, combined);
    return read;
}

template <class Value>
void fused_step(const Value* rows, std::size_t n_rows, std::size_t width, const Value* vector, Value guess,
                std::size_t count, Value* product, std::int64_t* indices, Value* values, Value* combined) {
    // What can be chosen is listed from a little below the guess, so that the selection need not look at all products.
    const Value low = guess * Value(0.9), floor = raised(guess);
    ChunkedSum<Value> sums(n_rows, width);
    const Buffer<std::int64_t> listed(n_rows);
    std::vector<std::size_t> lengths(sums.chunks());
    parallel_for(sums.chunks(), static_cast<double>(n_rows) * width, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t chunk = begin; chunk < end; ++chunk)
            in_checked_blocks(sums.begin(chunk), sums.end(chunk), width, 1, [&](std::size_t from, std::size_t to) {
                std::int64_t* const list = listed.data() + sums.begin(chunk) + lengths[chunk];
                lengths[chunk] += fused_part(rows, from, to, width, vector, low, floor, product, list, sums.sum(chunk));
            });
    });
    std::size_t found = 0;
    for (std::size_t chunk = 0; chunk < sums.chunks(); ++chunk) {
        const std::int64_t* part = listed.data() + sums.begin(chunk);
        std::copy(part, part + lengths[chunk], listed.data() + found);
        found += lengths[chunk];
    }
    if (found < count) {  // the guess was far too high
        found = n_rows;
        for (std::size_t i = 0; i < n_rows; ++i) listed[i] = static_cast<std::int64_t>(i);
    }
    const Buffer<Value> exact(found);
    for (std::size_t c = 0; c < found; ++c) exact[c] = product[listed[c]];
    choose_and_sum(rows, width, listed.data(), found, exact.data(), floor, count, sums, indices, values, combined);
}

void running_bounds(const double* products, const double* norms, std::size_t count, double unit, double length, double cosine,
                    double sine, double slack, double* lower, double* upper) {
    parallel_for(count, 8.0 * static_cast<double>(count), 8, [&](std::size_t first, std::size_t last) {
        running_part(products, norms, first, last, unit, length, cosine, sine, slack, lower, upper);
    });
}

template void fused_step<double>(const double*, std::size_t, std::size_t, const double*, double, std::size_t, double*,
                                 std::int64_t*, double*, double*);
template void fused_step<float>(const float*, std::size_t, std::size_t, const float*, float, std::size_t, float*,
                                std::int64_t*, float*, float*);
template void shadow_codes<double>(const double*, std::size_t, std::size_t, std::int8_t*, double*, double*, double*);
template void shadow_codes<float>(const float*, std::size_t, std::size_t, std::int8_t*, double*, double*, double*);
template std::size_t bounded_step<double>(const double*, std::size_t, std::size_t, const double*, const double*,
                                          const double*, double, std::size_t, std::int64_t*, double*, double*);
template std::size_t bounded_step<float>(const float*, std::size_t, std::size_t, const double*, const double*,
                                         const float*, float, std::size_t, std::int64_t*, float*, float*);

}  // namespace sparseigen
