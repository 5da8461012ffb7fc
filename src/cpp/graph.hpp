// The compiled twins of kernels/graph_reference.py: same names, same arguments, same answers.
//
// A graph is its adjacency matrix without the diagonal in compressed rows (neighbours ascending), with whole-number
// weights, and the diagonal as a separate vector. Whole numbers make every sum exact: the answers depend neither on
// the order of the additions nor on the number of threads, and a bound computed from them is a proof.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace sparseigen {

// All weights are 1 and none is stored.
struct UnitWeight {};

template <class Weight>
struct Rows {
    const std::int64_t* starts;
    const std::int32_t* neighbours;
    const Weight* weights;
    std::size_t size;

    std::int64_t weight(std::int64_t entry) const { return static_cast<std::int64_t>(weights[entry]); }
    std::size_t degree(std::int64_t vertex) const { return static_cast<std::size_t>(starts[vertex + 1] - starts[vertex]); }

    // The weight between two vertices (0: not adjacent), looked up in the shorter of the two lists.
    std::int64_t between(std::int64_t u, std::int64_t v) const {
        if (starts[u + 1] - starts[u] > starts[v + 1] - starts[v]) std::swap(u, v);
        const std::int32_t* begin = neighbours + starts[u];
        const std::int32_t* end = neighbours + starts[u + 1];
        const std::int32_t* found = std::lower_bound(begin, end, static_cast<std::int32_t>(v));
        return found != end && *found == v ? weight(found - neighbours) : 0;
    }
};

template <>
inline std::int64_t Rows<UnitWeight>::weight(std::int64_t) const {
    return 1;
}

// product[j] += sign * W[i, j] for every vertex i of the list.
template <class Weight>
void add_rows(const Rows<Weight>& graph, const std::int64_t* vertices, std::size_t count, std::int64_t sign,
              std::int64_t* product);

// d'W d for a vector d that is +1 or -1 (signs) at these vertices and 0 elsewhere.
template <class Weight>
std::int64_t signed_weight(const Rows<Weight>& graph, const std::int64_t* vertices, const std::int64_t* signs,
                           std::size_t count);

// The k vertices of largest score 2 * product + member * (2 * loop + shift), ascending; fixed vertices come first,
// ties go to the lowest index.
void top_vertices(const std::int64_t* product, const std::uint8_t* members, const std::int64_t* loops,
                  const std::uint8_t* fixed, std::int64_t shift, std::size_t size, std::size_t count,
                  std::int64_t* out);

// Removes the vertex of least contribution 2 * (weight to the rest) + loop until none is left. `order`: as removed;
// `contributions`: at removal, in that order. Fixed vertices go last, in ascending order.
template <class Weight>
void peel(const Rows<Weight>& graph, const std::int64_t* loops, const std::uint8_t* fixed, std::int64_t* order,
          std::int64_t* contributions);

// Adds the vertex of largest contribution to the seeds until `count` are chosen; ties by priority, then lowest index.
template <class Weight>
void grow(const Rows<Weight>& graph, const std::int64_t* loops, const std::int64_t* priority,
          const std::int64_t* seeds, std::size_t n_seeds, std::size_t count, std::int64_t* order);

// Divides every edge's weight between its ends so that the loads' squares sum to little; loads are in units of
// 2^-bits and add up to the whole weight exactly. Returns the number of sweeps made.
template <class Weight>
std::int64_t fair_loads(const Rows<Weight>& graph, const std::int64_t* loops, std::int64_t sweeps, int bits,
                        std::int64_t* loads);

// Exchanges one member for one outsider while that gains; with patience > 0 goes on through losing exchanges (tabu)
// and returns to the best set seen, also when it is interrupted. Members and product are updated in place. Returns the
// gain in the objective.
template <class Weight>
std::int64_t exchange(const Rows<Weight>& graph, const std::int64_t* loops, const std::uint8_t* fixed,
                      std::uint8_t* members, std::int64_t* product, std::int64_t patience, std::int64_t max_steps,
                      std::int64_t width, std::uint64_t seed, std::int64_t* steps_made);

// Whether a matrix in compressed rows (columns ascending) equals its transpose.
template <class Weight>
bool is_symmetric(const Rows<Weight>& graph);

// The rows and columns `vertices` of the graph: first the new row starts, then the entries.
template <class Weight>
void induced_starts(const Rows<Weight>& graph, const std::int64_t* vertices, std::size_t count,
                    const std::int32_t* position, std::int64_t* starts);
template <class Weight>
void induced_rows(const Rows<Weight>& graph, const std::int64_t* vertices, std::size_t count,
                  const std::int32_t* position, const std::int64_t* starts, std::int32_t* neighbours, Weight* weights);

}  // namespace sparseigen
