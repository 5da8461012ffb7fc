#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "buffer.hpp"
#include "kernels.hpp"

namespace sparseigen {
namespace {

template <class Value>
struct Ranked {
    Value value;
    std::size_t above;  // how many are larger
};

// The count-th largest (1-based) of value(0), ..., value(size - 1).
//
// A sample gives a threshold that lets through a little more than `count` entries; the selection then works on those
// alone. When the guess was too high all entries are taken: the answer never depends on the sample.
template <class Value, class Entry>
Ranked<Value> ranked_of(std::size_t size, std::size_t count, const Entry& value) {
    const Buffer<Value> survivors(size + 1);
    std::size_t found = 0;
    if (size > 4096) {
        constexpr std::size_t kSample = 1024;
        std::vector<Value> sample(kSample);
        for (std::size_t s = 0; s < kSample; ++s) sample[s] = value(s * size / kSample);
        const double share = static_cast<double>(count) / size;
        const std::size_t rank = static_cast<std::size_t>(kSample * share + 3.0 * std::sqrt(kSample * share) + 4.0);
        if (rank < kSample) {
            std::nth_element(sample.begin(), sample.begin() + rank, sample.end(), std::greater<Value>());
            const Value floor = sample[rank];
            // No branch that the processor could guess wrong: every entry is written, those below are overwritten.
            for (std::size_t i = 0; i < size; ++i) {
                const Value v = value(i);
                survivors[found] = v;
                found += v >= floor;
            }
        }
    }
    if (found < count) {
        for (std::size_t i = 0; i < size; ++i) survivors[i] = value(i);
        found = size;
    }
    Value* const begin = survivors.data();
    std::nth_element(begin, begin + (count - 1), begin + found, std::greater<Value>());
    const Value ranked = survivors[count - 1];
    std::size_t above = 0;
    for (std::size_t s = 0; s < count; ++s) above += survivors[s] > ranked;
    return {ranked, above};
}

}  // namespace

double ranked_value(const double* values, std::size_t size, std::size_t count) {
    return ranked_of<double>(size, count, [values](std::size_t i) { return values[i]; }).value;
}

template <class Value, class Entry>
std::size_t largest_of(std::size_t size, std::size_t count, const Entry& magnitude, std::int64_t* out) {
    const Ranked<Value> smallest = ranked_of<Value>(size, count, magnitude);
    std::size_t ties = count - smallest.above, written = 0;
    for (std::size_t i = 0; i < size && written < count; ++i) {
        const Value m = magnitude(i);
        const bool tied = m == smallest.value && ties > 0;
        out[written] = static_cast<std::int64_t>(i);  // overwritten by the next entry unless this one is kept
        written += m > smallest.value || tied;
        ties -= tied;
    }
    return written;
}

template <class Value>
std::size_t largest_magnitudes(const Value* values, std::size_t size, std::size_t count, bool nonnegative,
                               std::int64_t* out) {
    if (count >= size) {
        for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::int64_t>(i);
        return size;
    }
    if (nonnegative)
        return largest_of<Value>(size, count, [values](std::size_t i) { return std::max(values[i], Value(0)); }, out);
    return largest_of<Value>(size, count, [values](std::size_t i) { return std::abs(values[i]); }, out);
}

template std::size_t largest_magnitudes<double>(const double*, std::size_t, std::size_t, bool, std::int64_t*);
template std::size_t largest_magnitudes<float>(const float*, std::size_t, std::size_t, bool, std::int64_t*);

}  // namespace sparseigen
