#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "kernels.hpp"

namespace sparseigen {

template <class Value>
std::size_t largest_magnitudes(const Value* values, std::size_t size, std::size_t count, bool nonnegative,
                               std::int64_t* out) {
    const auto magnitude = [&](std::size_t i) {
        return nonnegative ? std::max(values[i], Value(0)) : std::abs(values[i]);
    };
    if (count >= size) {
        for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::int64_t>(i);
        return size;
    }
    // A sample gives a threshold that lets through a little more than `count` entries; the selection then works on
    // those alone. When the guess was too high all entries are taken: the answer never depends on the sample.
    std::vector<Value> survivors;
    if (size > 4096) {
        constexpr std::size_t kSample = 1024;
        std::vector<Value> sample(kSample);
        for (std::size_t s = 0; s < kSample; ++s) sample[s] = magnitude(s * size / kSample);
        const double share = static_cast<double>(count) / size;
        const std::size_t rank = static_cast<std::size_t>(kSample * share + 3.0 * std::sqrt(kSample * share) + 4.0);
        if (rank < kSample) {
            std::nth_element(sample.begin(), sample.begin() + rank, sample.end(), std::greater<Value>());
            const Value floor = sample[rank];
            survivors.reserve(count + size / 8);
            for (std::size_t i = 0; i < size; ++i) {
                const Value m = magnitude(i);
                if (m >= floor) survivors.push_back(m);
            }
        }
    }
    if (survivors.size() < count) {
        survivors.resize(size);
        for (std::size_t i = 0; i < size; ++i) survivors[i] = magnitude(i);
    }
    std::nth_element(survivors.begin(), survivors.begin() + (count - 1), survivors.end(), std::greater<Value>());
    const Value smallest_kept = survivors[count - 1];
    std::size_t above = 0;
    for (std::size_t s = 0; s < count; ++s) above += survivors[s] > smallest_kept;
    std::size_t ties = count - above, written = 0;
    for (std::size_t i = 0; i < size && written < count; ++i) {
        const Value m = magnitude(i);
        if (m > smallest_kept || (m == smallest_kept && ties > 0)) {
            ties -= m == smallest_kept;
            out[written++] = static_cast<std::int64_t>(i);
        }
    }
    return written;
}

template std::size_t largest_magnitudes<double>(const double*, std::size_t, std::size_t, bool, std::int64_t*);
template std::size_t largest_magnitudes<float>(const float*, std::size_t, std::size_t, bool, std::int64_t*);

}  // namespace sparseigen
