// The search for a small set with many edges around each vertex. Twin in kernels/local_sets.py, with the reasons.
#pragma once
#include <cstddef>
#include <cstdint>

namespace sparseigen {

struct LocalAnswer {
    std::int64_t found;   // 1: `chosen` holds a set; 0: there is none; -1: given up
    std::int64_t work;    // words compared
};

// Neighbours of every vertex in ascending order. The vertices of a set have `least` neighbours in it at least, one of
// them `central`, least + central > count - 2; the search goes by the first of these.
// caps[q]: no q vertices have more edges, q <= count.
LocalAnswer find_local_set(const std::int64_t* starts, const std::int32_t* neighbours, std::size_t size,
                           std::int64_t count, std::int64_t edges, std::int64_t least, std::int64_t central,
                           const std::int64_t* caps, std::int64_t most_work, std::int64_t* chosen);

// For every entry of the rows how many neighbours its two vertices have in common.
void count_shared(const std::int64_t* starts, const std::int32_t* neighbours, std::size_t size, std::int32_t* shared);

}  // namespace sparseigen
