#include <vector>

#include "graph.hpp"
#include "interrupts.hpp"

namespace sparseigen {

template <class Weight>
bool is_symmetric(const Rows<Weight>& graph) {
    // Read row by row, column j of a symmetric matrix meets the rows in the same order as row j lists its columns:
    // one cursor per row replaces the transpose. Columns go by in blocks, so that the rows under the cursors stay in
    // the cache.
    constexpr std::size_t kColumns = 1 << 14;
    std::vector<std::int64_t> cursor(graph.starts, graph.starts + graph.size);
    std::vector<std::int64_t> reached(graph.starts, graph.starts + graph.size);
    CheckedLoop checked;
    for (std::size_t begin = 0; begin < graph.size; begin += kColumns) {
        const std::size_t end = std::min(graph.size, begin + kColumns);
        for (std::size_t i = 0; i < graph.size; ++i) {
            std::int64_t e = reached[i];
            for (; e < graph.starts[i + 1] && static_cast<std::size_t>(graph.neighbours[e]) < end; ++e) {
                const std::int32_t j = graph.neighbours[e];
                const std::int64_t mirror = cursor[j]++;
                if (mirror >= graph.starts[j + 1] || graph.neighbours[mirror] != static_cast<std::int32_t>(i) ||
                    graph.weight(mirror) != graph.weight(e))
                    return false;
            }
            checked.add(static_cast<std::size_t>(e - reached[i]) + 1);
            reached[i] = e;
        }
    }
    return true;
}

template <class Weight>
void induced_starts(const Rows<Weight>& graph, const std::int64_t* vertices, std::size_t count,
                    const std::int32_t* position, std::int64_t* starts) {
    CheckedLoop checked;
    starts[0] = 0;
    for (std::size_t i = 0; i < count; ++i) {
        std::int64_t kept = 0;
        for (std::int64_t e = graph.starts[vertices[i]]; e < graph.starts[vertices[i] + 1]; ++e)
            kept += position[graph.neighbours[e]] >= 0;
        starts[i + 1] = starts[i] + kept;
        checked.add(graph.degree(vertices[i]));
    }
}

template <class Weight>
void induced_rows(const Rows<Weight>& graph, const std::int64_t* vertices, std::size_t count,
                  const std::int32_t* position, const std::int64_t* starts, std::int32_t* neighbours,
                  Weight* weights) {
    CheckedLoop checked;
    for (std::size_t i = 0; i < count; ++i) {
        std::int64_t at = starts[i];
        for (std::int64_t e = graph.starts[vertices[i]]; e < graph.starts[vertices[i] + 1]; ++e) {
            const std::int32_t other = position[graph.neighbours[e]];
            if (other < 0) continue;
            if (weights != nullptr) weights[at] = graph.weights[e];
            neighbours[at++] = other;
        }
        checked.add(graph.degree(vertices[i]));
    }
}

#define SPARSEIGEN_INSTANTIATE(Weight)                                                                               \
    template bool is_symmetric<Weight>(const Rows<Weight>&);                                                        \
    template void induced_starts<Weight>(const Rows<Weight>&, const std::int64_t*, std::size_t, const std::int32_t*, \
                                         std::int64_t*);                                                            \
    template void induced_rows<Weight>(const Rows<Weight>&, const std::int64_t*, std::size_t, const std::int32_t*,  \
                                       const std::int64_t*, std::int32_t*, Weight*);
SPARSEIGEN_INSTANTIATE(UnitWeight)
SPARSEIGEN_INSTANTIATE(std::int32_t)
SPARSEIGEN_INSTANTIATE(std::int64_t)

}  // namespace sparseigen
