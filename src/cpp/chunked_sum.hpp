// Sums over rows that threads share without changing the order of the additions.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

namespace sparseigen {

// The items are cut into a number of chunks that depends on their count alone; each chunk has a sum of its own, and
// these are added in order at the end. Threads may take the chunks in any order.
template <class Value>
class ChunkedSum {
public:
    ChunkedSum(std::size_t items, std::size_t width)
        : items_(items), width_(width), chunk_(std::max<std::size_t>(64, (items + kMaxChunks - 1) / kMaxChunks)),
          count_((items + chunk_ - 1) / chunk_), sums_(count_ * width, Value(0)) {}
    std::size_t chunks() const { return count_; }
    std::size_t begin(std::size_t chunk) const { return chunk * chunk_; }
    std::size_t end(std::size_t chunk) const { return std::min(items_, (chunk + 1) * chunk_); }
    Value* sum(std::size_t chunk) { return sums_.data() + chunk * width_; }
    void add_to(Value* out) const {
        for (std::size_t c = 0; c < count_; ++c)
            for (std::size_t j = 0; j < width_; ++j) out[j] += sums_[c * width_ + j];
    }

private:
    static constexpr std::size_t kMaxChunks = 64;
    std::size_t items_, width_, chunk_, count_;
    std::vector<Value> sums_;
};

}  // namespace sparseigen
