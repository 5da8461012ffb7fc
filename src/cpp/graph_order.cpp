#include <numeric>
#include <vector>

#include "graph.hpp"
#include "interrupts.hpp"

namespace sparseigen {
namespace {

// A binary heap of vertices that knows where each vertex is, so that a key can change. `Before` orders vertices
// strictly: the sequence of minima does not depend on how the heap is built.
template <class Before>
class VertexHeap {
public:
    VertexHeap(std::vector<std::int64_t> vertices, std::size_t size, Before before)
        : heap_(std::move(vertices)), place_(size, -1), before_(before) {
        for (std::size_t i = 0; i < heap_.size(); ++i) place_[heap_[i]] = static_cast<std::int64_t>(i);
        for (std::size_t i = heap_.size() / 2; i-- > 0;) sink(i);
    }
    bool empty() const { return heap_.empty(); }
    bool holds(std::int64_t vertex) const { return place_[vertex] >= 0; }
    std::int64_t pop() {
        const std::int64_t top = heap_.front();
        place_[top] = -1;
        const std::int64_t last = heap_.back();
        heap_.pop_back();
        if (!heap_.empty()) {
            put(0, last);
            sink(0);
        }
        return top;
    }
    // To be called when the vertex's key moved it towards the top.
    void rise(std::int64_t vertex) {
        std::size_t i = static_cast<std::size_t>(place_[vertex]);
        while (i > 0 && before_(vertex, heap_[(i - 1) / 2])) {
            put(i, heap_[(i - 1) / 2]);
            i = (i - 1) / 2;
        }
        put(i, vertex);
    }

private:
    void put(std::size_t i, std::int64_t vertex) {
        heap_[i] = vertex;
        place_[vertex] = static_cast<std::int64_t>(i);
    }
    void sink(std::size_t i) {
        const std::int64_t vertex = heap_[i];
        while (2 * i + 1 < heap_.size()) {
            std::size_t child = 2 * i + 1;
            if (child + 1 < heap_.size() && before_(heap_[child + 1], heap_[child])) ++child;
            if (!before_(heap_[child], vertex)) break;
            put(i, heap_[child]);
            i = child;
        }
        put(i, vertex);
    }
    std::vector<std::int64_t> heap_;
    std::vector<std::int64_t> place_;
    Before before_;
};

// Lists of vertices by key, last in first out.
class Buckets {
public:
    Buckets(std::size_t n_keys, std::size_t size) : head_(n_keys, -1), next_(size), previous_(size) {}
    void push(std::int32_t vertex, std::int64_t key) {
        next_[vertex] = head_[key];
        previous_[vertex] = -1;
        if (head_[key] >= 0) previous_[head_[key]] = vertex;
        head_[key] = vertex;
        if (key < lowest_) lowest_ = key;
    }
    void take(std::int32_t vertex, std::int64_t key) {
        if (previous_[vertex] >= 0)
            next_[previous_[vertex]] = next_[vertex];
        else
            head_[key] = next_[vertex];
        if (next_[vertex] >= 0) previous_[next_[vertex]] = previous_[vertex];
    }
    std::int32_t pop() {
        while (head_[lowest_] < 0) ++lowest_;
        const std::int32_t vertex = head_[lowest_];
        take(vertex, lowest_);
        return vertex;
    }

private:
    std::vector<std::int32_t> head_, next_, previous_;
    std::int64_t lowest_ = 0;
};

constexpr std::size_t kMoveWork = 8;  // what moving a vertex in a heap or between buckets costs, in additions

template <class Weight>
std::vector<std::int64_t> all_contributions(const Rows<Weight>& graph, const std::int64_t* loops) {
    std::vector<std::int64_t> contributions(graph.size);
    CheckedLoop checked;
    for (std::size_t v = 0; v < graph.size; ++v) {
        std::int64_t sum = 0;
        for (std::int64_t e = graph.starts[v]; e < graph.starts[v + 1]; ++e) sum += graph.weight(e);
        contributions[v] = 2 * sum + loops[v];
        checked.add(graph.degree(v));
    }
    return contributions;
}

}  // namespace

template <class Weight>
void peel(const Rows<Weight>& graph, const std::int64_t* loops, const std::uint8_t* fixed, std::int64_t* order,
          std::int64_t* contributions) {
    std::vector<std::int64_t> contribution = all_contributions(graph, loops);
    std::vector<std::uint8_t> gone(graph.size, 0);
    std::vector<std::int64_t> movable, kept;
    for (std::size_t v = 0; v < graph.size; ++v)
        (fixed[v] ? kept : movable).push_back(static_cast<std::int64_t>(v));
    std::size_t written = 0;
    CheckedLoop checked;
    const auto record = [&](std::int64_t vertex) {
        order[written] = vertex;
        contributions[written++] = contribution[vertex];
        gone[vertex] = 1;
        checked.add(kMoveWork * (graph.degree(vertex) + 1));
    };
    const auto less = [&](std::int64_t a, std::int64_t b) { return contribution[a] < contribution[b]; };
    const std::int64_t largest =
        movable.empty() ? 0 : contribution[*std::max_element(movable.begin(), movable.end(), less)];
    if (largest <= 16 * static_cast<std::int64_t>(graph.size) + (1 << 22)) {
        Buckets buckets(static_cast<std::size_t>(largest) + 1, graph.size);
        for (std::size_t i = movable.size(); i-- > 0;)
            buckets.push(static_cast<std::int32_t>(movable[i]), contribution[movable[i]]);
        for (std::size_t i = 0; i < movable.size(); ++i) {
            const std::int32_t vertex = buckets.pop();
            record(vertex);
            for (std::int64_t e = graph.starts[vertex]; e < graph.starts[vertex + 1]; ++e) {
                const std::int32_t other = graph.neighbours[e];
                if (gone[other]) continue;
                if (!fixed[other]) buckets.take(other, contribution[other]);
                contribution[other] -= 2 * graph.weight(e);
                if (!fixed[other]) buckets.push(other, contribution[other]);
            }
        }
    } else {
        const auto before = [&](std::int64_t a, std::int64_t b) {
            return contribution[a] != contribution[b] ? contribution[a] < contribution[b] : a < b;
        };
        VertexHeap<decltype(before)> heap(movable, graph.size, before);
        while (!heap.empty()) {
            const std::int64_t vertex = heap.pop();
            record(vertex);
            for (std::int64_t e = graph.starts[vertex]; e < graph.starts[vertex + 1]; ++e) {
                const std::int32_t other = graph.neighbours[e];
                if (gone[other]) continue;
                contribution[other] -= 2 * graph.weight(e);
                if (!fixed[other]) heap.rise(other);
            }
        }
    }
    for (const std::int64_t vertex : kept) {
        record(vertex);
        for (std::int64_t e = graph.starts[vertex]; e < graph.starts[vertex + 1]; ++e)
            if (!gone[graph.neighbours[e]]) contribution[graph.neighbours[e]] -= 2 * graph.weight(e);
    }
}

template <class Weight>
void grow(const Rows<Weight>& graph, const std::int64_t* loops, const std::int64_t* priority,
          const std::int64_t* seeds, std::size_t n_seeds, std::size_t count, std::int64_t* order) {
    std::vector<std::int64_t> contribution(loops, loops + graph.size);
    std::vector<std::uint8_t> chosen(graph.size, 0);
    std::size_t written = 0;
    for (std::size_t s = 0; s < n_seeds && written < count; ++s)
        if (!chosen[seeds[s]]) {
            chosen[seeds[s]] = 1;
            order[written++] = seeds[s];
        }
    for (std::size_t s = 0; s < written; ++s)
        for (std::int64_t e = graph.starts[order[s]]; e < graph.starts[order[s] + 1]; ++e)
            contribution[graph.neighbours[e]] += 2 * graph.weight(e);
    std::vector<std::int64_t> others;
    for (std::size_t v = 0; v < graph.size; ++v)
        if (!chosen[v]) others.push_back(static_cast<std::int64_t>(v));
    const auto before = [&](std::int64_t a, std::int64_t b) {
        if (contribution[a] != contribution[b]) return contribution[a] > contribution[b];
        return priority[a] != priority[b] ? priority[a] > priority[b] : a < b;
    };
    VertexHeap<decltype(before)> heap(std::move(others), graph.size, before);
    CheckedLoop checked;
    while (written < count && !heap.empty()) {
        const std::int64_t vertex = heap.pop();
        order[written++] = vertex;
        checked.add(kMoveWork * (graph.degree(vertex) + 1));
        for (std::int64_t e = graph.starts[vertex]; e < graph.starts[vertex + 1]; ++e) {
            const std::int32_t other = graph.neighbours[e];
            if (!heap.holds(other)) continue;
            contribution[other] += 2 * graph.weight(e);
            heap.rise(other);
        }
    }
}

template <class Weight>
std::int64_t fair_loads(const Rows<Weight>& graph, const std::int64_t* loops, std::int64_t sweeps, int bits,
                        std::int64_t* loads) {
    // One number per edge, kept at the entry (i, j) with i < j: the part of 2 * weight that i carries. The entries of
    // row i above the diagonal follow each other, so a running index replaces a map from entries to edges.
    std::vector<std::int64_t> part;
    part.reserve(static_cast<std::size_t>(graph.starts[graph.size] / 2));
    std::vector<std::int64_t> above(graph.size);
    CheckedLoop checked;
    for (std::size_t v = 0; v < graph.size; ++v) loads[v] = loops[v] << bits;
    for (std::size_t i = 0; i < graph.size; ++i) {
        const std::int32_t* row = graph.neighbours + graph.starts[i];
        const std::int32_t* end = graph.neighbours + graph.starts[i + 1];
        above[i] = std::lower_bound(row, end, static_cast<std::int32_t>(i)) - graph.neighbours;
        for (std::int64_t e = above[i]; e < graph.starts[i + 1]; ++e) {
            const std::int64_t half = graph.weight(e) << bits;
            part.push_back(half);
            loads[i] += half;
            loads[graph.neighbours[e]] += half;
        }
        checked.add(graph.degree(i));
    }
    std::int64_t sweep = 0;
    for (bool moved = true; moved && sweep < sweeps; ++sweep) {
        moved = false;
        std::size_t edge = 0;
        for (std::size_t i = 0; i < graph.size; ++i) {
            checked.add(graph.degree(i));
            for (std::int64_t e = above[i]; e < graph.starts[i + 1]; ++e, ++edge) {
                const std::int32_t j = graph.neighbours[e];
                // Half the difference, rounded towards zero, as far as this edge can carry it.
                const std::int64_t wanted = part[edge] + (loads[j] - loads[i]) / 2;
                const std::int64_t taken = std::min(std::max<std::int64_t>(wanted, 0), graph.weight(e) << (bits + 1));
                const std::int64_t change = taken - part[edge];
                if (change == 0) continue;
                moved = true;
                part[edge] = taken;
                loads[i] += change;
                loads[j] -= change;
            }
        }
    }
    return sweep;
}

#define SPARSEIGEN_INSTANTIATE(Weight)                                                                               \
    template void peel<Weight>(const Rows<Weight>&, const std::int64_t*, const std::uint8_t*, std::int64_t*,        \
                               std::int64_t*);                                                                      \
    template void grow<Weight>(const Rows<Weight>&, const std::int64_t*, const std::int64_t*, const std::int64_t*,  \
                               std::size_t, std::size_t, std::int64_t*);                                            \
    template std::int64_t fair_loads<Weight>(const Rows<Weight>&, const std::int64_t*, std::int64_t, int,           \
                                             std::int64_t*);
SPARSEIGEN_INSTANTIATE(UnitWeight)
SPARSEIGEN_INSTANTIATE(std::int32_t)
SPARSEIGEN_INSTANTIATE(std::int64_t)

}  // namespace sparseigen
