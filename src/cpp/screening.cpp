#include "screening.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "kernels.hpp"
#include "thread_pool.hpp"

namespace sparseigen {
namespace {

constexpr std::size_t kBlock = 256;     // 256 * 127 * 32767 stays below 2^31: one block sums in 32 bits
constexpr std::size_t kMaxChunks = 64;  // accumulators of a combined sum: a fixed number, whatever the threads

SPARSEIGEN_DISPATCH std::int64_t code_dot(const std::int8_t* __restrict codes, const std::int16_t* __restrict vector,
                                          std::size_t width) {
    std::int64_t total = 0;
    for (std::size_t begin = 0; begin < width; begin += kBlock) {
        const std::size_t end = std::min(width, begin + kBlock);
        std::int32_t sum = 0;
        for (std::size_t j = begin; j < end; ++j)
            sum += static_cast<std::int16_t>(codes[j]) * static_cast<std::int32_t>(vector[j]);
        total += sum;
    }
    return total;
}

#define SPARSEIGEN_AXPY(T)                                                                                     \
    SPARSEIGEN_DISPATCH void add_multiple(T weight, const T* __restrict row, T* __restrict out, std::size_t width) { \
        for (std::size_t j = 0; j < width; ++j) out[j] += weight * row[j];                                     \
    }
SPARSEIGEN_AXPY(double)
SPARSEIGEN_AXPY(float)

// Candidates leave gaps, and the hardware's own prefetching stops at each: the next row is asked for by hand.
template <class Value>
inline void prefetch(const Value* row, std::size_t width) {
#if defined(__GNUC__) || defined(__clang__)
    constexpr std::size_t kLine = 64 / sizeof(Value), kMost = 8192 / sizeof(Value);
    for (std::size_t j = 0; j < std::min(width, kMost); j += kLine) __builtin_prefetch(row + j);
#else
    (void)row, (void)width;
#endif
}

// The count-th largest value (1-based) of a copy of the values.
double ranked(std::vector<double> values, std::size_t count) {
    std::nth_element(values.begin(), values.begin() + (count - 1), values.end(), std::greater<double>());
    return values[count - 1];
}

// Sums value * row over chosen rows in fixed chunks, so that the order of additions never depends on the threads.
template <class Value>
class ChunkedSum {
public:
    ChunkedSum(std::size_t items, std::size_t width)
        : width_(width), chunk_(std::max<std::size_t>(64, (items + kMaxChunks - 1) / kMaxChunks)),
          count_(items == 0 ? 0 : (items + chunk_ - 1) / chunk_), sums_(count_ * width, Value(0)) {}
    std::size_t chunks() const { return count_; }
    std::size_t begin(std::size_t chunk) const { return chunk * chunk_; }
    std::size_t end(std::size_t chunk, std::size_t items) const { return std::min(items, (chunk + 1) * chunk_); }
    Value* sum(std::size_t chunk) { return sums_.data() + chunk * width_; }
    void add_to(Value* out) const {
        for (std::size_t c = 0; c < count_; ++c)
            for (std::size_t j = 0; j < width_; ++j) out[j] += sums_[c * width_ + j];
    }

private:
    std::size_t width_, chunk_, count_;
    std::vector<Value> sums_;
};

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
    parallel_for(n_rows, static_cast<double>(n_rows) * width / 8.0, 8, [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) {
            const double about =
                std::abs(scales[i] * unit * static_cast<double>(code_dot(codes + i * width, coded.data(), width)));
            const double size = scales[i] * norms[i];  // |row| up to its error
            const double radius = (errors[i] * length + size * lost + slack * (size + errors[i]) * length) * (1.0 + 1e-14);
            lower[i] = std::max(0.0, about * (1.0 - 1e-14) - radius);
            upper[i] = about * (1.0 + 1e-14) + radius;
        }
    });
}

template <class Value>
std::size_t bounded_step(const Value* rows, std::size_t n_rows, std::size_t width, const double* lower,
                         const double* upper, const Value* vector, std::size_t count, std::int64_t* indices,
                         Value* values, Value* combined) {
    const double floor = ranked(std::vector<double>(lower, lower + n_rows), count);
    std::vector<std::int64_t> candidates;
    std::vector<double> reach;
    for (std::size_t i = 0; i < n_rows; ++i)
        if (upper[i] >= floor) {
            candidates.push_back(static_cast<std::int64_t>(i));
            reach.push_back(upper[i]);
        }
    const std::size_t read = candidates.size();
    // Above the (count + 1)-th largest reach a row is among the largest for sure.
    const double ceiling = read > count ? ranked(reach, count + 1) : -1.0;
    std::vector<Value> exact(read);
    std::vector<char> sure(read);
    for (std::size_t c = 0; c < read; ++c) sure[c] = lower[candidates[c]] > ceiling;

    std::memset(combined, 0, width * sizeof(Value));
    ChunkedSum<Value> first(read, width);
    parallel_for(first.chunks(), static_cast<double>(read) * width, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t chunk = begin; chunk < end; ++chunk)
            for (std::size_t c = first.begin(chunk); c < first.end(chunk, read); ++c) {
                const Value* row = rows + static_cast<std::size_t>(candidates[c]) * width;
                if (c + 1 < read) prefetch(rows + static_cast<std::size_t>(candidates[c + 1]) * width, width);
                row_dots_serial(row, width, 1, width, vector, &exact[c]);
                if (sure[c]) add_multiple(exact[c], row, first.sum(chunk), width);
            }
    });
    first.add_to(combined);

    std::vector<std::size_t> open;
    std::vector<Value> open_values;
    std::size_t wanted = count;
    for (std::size_t c = 0; c < read; ++c) {
        if (sure[c]) --wanted;
        else {
            open.push_back(c);
            open_values.push_back(exact[c]);
        }
    }
    std::vector<std::int64_t> best(wanted);
    if (wanted > 0) largest_magnitudes(open_values.data(), open_values.size(), wanted, false, best.data());
    ChunkedSum<Value> second(wanted, width);
    parallel_for(second.chunks(), static_cast<double>(wanted) * width, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t chunk = begin; chunk < end; ++chunk)
            for (std::size_t b = second.begin(chunk); b < second.end(chunk, wanted); ++b) {
                const std::size_t c = open[best[b]];
                add_multiple(exact[c], rows + static_cast<std::size_t>(candidates[c]) * width, second.sum(chunk), width);
            }
    });
    second.add_to(combined);
    for (std::int64_t b : best) sure[open[b]] = 1;
    std::size_t written = 0;
    for (std::size_t c = 0; c < read; ++c)
        if (sure[c]) {
            indices[written] = candidates[c];
            values[written++] = exact[c];
        }
    return read;
}

template void shadow_codes<double>(const double*, std::size_t, std::size_t, std::int8_t*, double*, double*, double*);
template void shadow_codes<float>(const float*, std::size_t, std::size_t, std::int8_t*, double*, double*, double*);
template std::size_t bounded_step<double>(const double*, std::size_t, std::size_t, const double*, const double*,
                                          const double*, std::size_t, std::int64_t*, double*, double*);
template std::size_t bounded_step<float>(const float*, std::size_t, std::size_t, const double*, const double*,
                                         const float*, std::size_t, std::int64_t*, float*, float*);

}  // namespace sparseigen
