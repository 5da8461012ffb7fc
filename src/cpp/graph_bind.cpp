// The Python bindings of the graph kernels. Values are checked by kernels/graph_compiled.py and its callers; here only
// what could walk out of memory is tested.
#include <nanobind/stl/pair.h>

#include <type_traits>

#include "bindings.hpp"
#include "graph.hpp"
#include "local_sets.hpp"
#include "set_cone.hpp"
#include "graph_bind.hpp"
#include "webgraph.hpp"

namespace sparseigen {
namespace {

using Longs = Vector<std::int64_t>;
using Ints = Vector<std::int32_t>;
using Flags = Vector<std::uint8_t>;

void expect_vertices(const Longs& vertices, std::size_t limit) {
    expect_below(vertices, limit, "vertex out of range");
}

// The rows of these vertices; all rows are looked at only where a kernel walks over all of them anyway.
void expect_rows(const Longs& starts, const Ints& neighbours, const Longs& vertices) {
    expect_vertices(vertices, starts.shape(0) - 1);
    for (std::size_t f = 0; f < vertices.shape(0); ++f) {
        const std::int64_t begin = starts.data()[vertices.data()[f]], end = starts.data()[vertices.data()[f] + 1];
        expect(begin >= 0 && begin <= end && end <= static_cast<std::int64_t>(neighbours.shape(0)),
               "row starts and neighbours do not fit");
    }
}

// The graph behind three arrays; a weight array of length 0 means that all weights are 1.
template <class Weight>
Rows<Weight> rows_of(const Longs& starts, const Ints& neighbours, const Weight* weights, std::size_t n_weights) {
    expect(starts.shape(0) >= 1, "row starts are empty");
    const std::size_t size = starts.shape(0) - 1;
    expect(starts.data()[0] == 0 && starts.data()[size] == static_cast<std::int64_t>(neighbours.shape(0)),
           "row starts and neighbours do not fit");
    expect(std::is_same_v<Weight, UnitWeight> || n_weights == neighbours.shape(0), "neighbours and weights differ");
    return Rows<Weight>{starts.data(), neighbours.data(), weights, size};
}

// Calls body with the rows in their own weight type.
template <class Weight, class Body>
auto with_rows(const Longs& starts, const Ints& neighbours, const Vector<Weight>& weights, Body body) {
    if (weights.shape(0) == 0) return body(rows_of<UnitWeight>(starts, neighbours, nullptr, 0));
    return body(rows_of<Weight>(starts, neighbours, weights.data(), weights.shape(0)));
}

template <class Weight>
void bind_searches(nb::module_& m) {
    using Weights = Vector<Weight>;
    m.def("graph_add_rows", [](Longs starts, Ints neighbours, Weights weights, Longs vertices, std::int64_t sign,
                               Output<std::int64_t> product) {
        expect(product.shape(0) + 1 == starts.shape(0), "product has the wrong length");
        expect_rows(starts, neighbours, vertices);
        const KernelScope kernel;
        with_rows(starts, neighbours, weights, [&](const auto& graph) {
            add_rows(graph, vertices.data(), vertices.shape(0), sign, product.data());
        });
    });
    m.def("graph_signed_weight", [](Longs starts, Ints neighbours, Weights weights, Longs vertices, Longs signs) {
        expect(starts.shape(0) > 0 && vertices.shape(0) == signs.shape(0), "lengths do not match");
        expect_rows(starts, neighbours, vertices);
        const KernelScope kernel;
        return with_rows(starts, neighbours, weights, [&](const auto& graph) {
            return signed_weight(graph, vertices.data(), signs.data(), vertices.shape(0));
        });
    });
    m.def("graph_exchange", [](Longs starts, Ints neighbours, Weights weights, Longs loops, Flags fixed,
                               Output<std::uint8_t> members, Output<std::int64_t> product, std::int64_t patience,
                               std::int64_t max_steps, std::int64_t width, std::uint64_t seed) {
        expect_starts(starts, neighbours.shape(0));
        const std::size_t size = starts.shape(0) - 1;
        expect(loops.shape(0) == size && fixed.shape(0) == size && members.shape(0) == size &&
                   product.shape(0) == size && width > 0, "lengths do not match");
        const KernelScope kernel;
        std::int64_t steps = 0;
        const std::int64_t gain = with_rows(starts, neighbours, weights, [&](const auto& graph) {
            return exchange(graph, loops.data(), fixed.data(), members.data(), product.data(), patience, max_steps,
                            width, seed, &steps);
        });
        return std::make_pair(gain, steps);
    });
}

template <class Weight>
void bind_orders(nb::module_& m) {
    using Weights = Vector<Weight>;
    m.def("graph_peel", [](Longs starts, Ints neighbours, Weights weights, Longs loops, Flags fixed,
                           Output<std::int64_t> order, Output<std::int64_t> contributions) {
        expect_starts(starts, neighbours.shape(0));
        const std::size_t size = starts.shape(0) - 1;
        expect(loops.shape(0) == size && fixed.shape(0) == size && order.shape(0) == size &&
                   contributions.shape(0) == size,
               "lengths do not match");
        const KernelScope kernel;
        with_rows(starts, neighbours, weights, [&](const auto& graph) {
            peel(graph, loops.data(), fixed.data(), order.data(), contributions.data());
        });
    });
    m.def("graph_grow", [](Longs starts, Ints neighbours, Weights weights, Longs loops, Longs priority, Longs seeds,
                           Output<std::int64_t> order) {
        expect_starts(starts, neighbours.shape(0));
        const std::size_t size = starts.shape(0) - 1;
        expect(loops.shape(0) == size && priority.shape(0) == size && order.shape(0) <= size, "lengths do not match");
        expect_vertices(seeds, size);
        const KernelScope kernel;
        with_rows(starts, neighbours, weights, [&](const auto& graph) {
            grow(graph, loops.data(), priority.data(), seeds.data(), seeds.shape(0), order.shape(0), order.data());
        });
    });
    m.def("graph_fair_loads", [](Longs starts, Ints neighbours, Weights weights, Longs loops, std::int64_t sweeps,
                                 int bits, Output<std::int64_t> loads) {
        expect_starts(starts, neighbours.shape(0));
        expect(loops.shape(0) + 1 == starts.shape(0) && loads.shape(0) == loops.shape(0) && bits >= 0 && bits < 62,
               "lengths do not match");
        const KernelScope kernel;
        return with_rows(starts, neighbours, weights, [&](const auto& graph) {
            return fair_loads(graph, loops.data(), sweeps, bits, loads.data());
        });
    });
}

template <class Weight>
void bind_structure(nb::module_& m) {
    using Weights = Vector<Weight>;
    m.def("graph_is_symmetric", [](Longs starts, Ints neighbours, Weights weights) {
        expect_starts(starts, neighbours.shape(0));
        const KernelScope kernel;
        return with_rows(starts, neighbours, weights, [](const auto& graph) { return is_symmetric(graph); });
    });
    m.def("graph_induced_starts", [](Longs starts, Ints neighbours, Weights weights, Longs vertices, Ints position,
                                     Output<std::int64_t> out) {
        expect(position.shape(0) + 1 == starts.shape(0) && out.shape(0) == vertices.shape(0) + 1,
               "lengths do not match");
        expect_rows(starts, neighbours, vertices);
        const KernelScope kernel;
        with_rows(starts, neighbours, weights, [&](const auto& graph) {
            induced_starts(graph, vertices.data(), vertices.shape(0), position.data(), out.data());
        });
    });
    m.def("graph_induced_rows", [](Longs starts, Ints neighbours, Weights weights, Longs vertices, Ints position,
                                   Longs new_starts, Output<std::int32_t> new_neighbours,
                                   Output<Weight> new_weights) {
        expect(position.shape(0) + 1 == starts.shape(0) && new_starts.shape(0) == vertices.shape(0) + 1,
               "lengths do not match");
        expect(new_starts.data()[0] == 0, "row starts and neighbours do not fit");
        for (std::size_t i = 0; i < vertices.shape(0); ++i)
            expect(new_starts.data()[i] <= new_starts.data()[i + 1], "row starts do not ascend");
        expect(new_starts.data()[vertices.shape(0)] == static_cast<std::int64_t>(new_neighbours.shape(0)),
               "the output has the wrong length");
        expect(weights.shape(0) == 0 || new_weights.shape(0) == new_neighbours.shape(0),
               "the output has the wrong length");
        expect_rows(starts, neighbours, vertices);
        const KernelScope kernel;
        if (weights.shape(0) == 0)
            induced_rows(rows_of<UnitWeight>(starts, neighbours, nullptr, 0), vertices.data(), vertices.shape(0),
                         position.data(), new_starts.data(), new_neighbours.data(),
                         static_cast<UnitWeight*>(nullptr));
        else
            induced_rows(rows_of<Weight>(starts, neighbours, weights.data(), weights.shape(0)), vertices.data(),
                         vertices.shape(0), position.data(), new_starts.data(), new_neighbours.data(),
                         new_weights.data());
    });
}

void bind_set_cone(nb::module_& m) {
    m.def("graph_project_rows", [](Table<float> point, Table<float> mirror, double count, double relaxation,
                                   Output<double> thresholds, Output<double> heights) {
        const std::size_t size = point.shape(0);
        expect(point.shape(1) == size && mirror.shape(0) == size && mirror.shape(1) == size, "shapes do not match");
        expect(thresholds.shape(0) == size && heights.shape(0) == size, "lengths do not match");
        expect(count >= 1.0 && count <= static_cast<double>(size), "more vertices asked for than there are");
        const KernelScope kernel;
        project_rows(point.data(), mirror.data(), size, count, relaxation, thresholds.data(), heights.data());
    }, as_is(), as_is(), nb::arg(), nb::arg(), as_is(), as_is());
    m.def("graph_symmetrise", [](Table<float> matrix, Matrix<float> added, float step) {
        const std::size_t size = matrix.shape(0);
        expect(matrix.shape(1) == size && added.shape(0) == size && added.shape(1) == size, "shapes do not match");
        const KernelScope kernel;
        symmetrise(matrix.data(), added.data(), step, size);
    }, as_is(), as_is(), nb::arg());
}

void expect_neighbours(const Longs& starts, const Ints& neighbours) {
    for (std::size_t e = 0; e < neighbours.shape(0); ++e)
        expect(neighbours.data()[e] >= 0 && static_cast<std::size_t>(neighbours.data()[e]) + 1 < starts.shape(0),
               "vertex out of range");
}

void bind_local_sets(nb::module_& m) {
    m.def("graph_count_shared", [](Longs starts, Ints neighbours, Output<std::int32_t> shared) {
        expect_starts(starts, neighbours.shape(0));
        expect_neighbours(starts, neighbours);
        expect(shared.shape(0) == neighbours.shape(0), "lengths do not match");
        const KernelScope kernel;
        count_shared(starts.data(), neighbours.data(), starts.shape(0) - 1, shared.data());
    });
    m.def("graph_find_local_set", [](Longs starts, Ints neighbours, std::int64_t edges, std::int64_t least,
                                     std::int64_t central, Longs caps, std::int64_t most_work, Output<std::int64_t> chosen) {
        expect_starts(starts, neighbours.shape(0));
        expect_neighbours(starts, neighbours);
        expect(chosen.shape(0) >= 1 && caps.shape(0) == chosen.shape(0) + 1, "lengths do not match");
        expect(central >= least && least >= 0, "a central vertex has fewer neighbours than others");
        const KernelScope kernel;
        const LocalAnswer answer = find_local_set(starts.data(), neighbours.data(), starts.shape(0) - 1,
                                                  static_cast<std::int64_t>(chosen.shape(0)), edges, least,
                                                  central, caps.data(), most_work, chosen.data());
        return std::make_pair(answer.found, answer.work);
    });
}

void bind_rest(nb::module_& m) {
    m.def("graph_top_vertices", [](Longs product, Flags members, Longs loops, Flags fixed, std::int64_t shift,
                                   Output<std::int64_t> out) {
        const std::size_t size = product.shape(0);
        expect(members.shape(0) == size && loops.shape(0) == size && fixed.shape(0) == size && out.shape(0) <= size,
               "lengths do not match");
        const KernelScope kernel;
        top_vertices(product.data(), members.data(), loops.data(), fixed.data(), shift, size, out.shape(0),
                     out.data());
    });
    m.def("decode_webgraph", [](Flags bytes, std::int64_t position, Longs format, std::int64_t first,
                                std::int64_t last, Output<std::int64_t> starts, Output<std::int32_t> successors) {
        expect(format.shape(0) == 10, "the format has ten numbers");
        const std::int64_t* f = format.data();
        const auto code = [&](int i) {
            expect(f[i] >= 0 && f[i] <= 3, "unknown code");
            return static_cast<Code>(f[i]);
        };
        const WebGraphFormat parsed{f[0], f[1], f[2], f[3], static_cast<int>(f[4]),
                                    code(5), code(6), code(7), code(8), code(9)};
        expect(f[0] >= 0 && f[0] <= INT32_MAX && f[1] >= 0 && f[2] >= 0 && f[3] >= 0 && f[3] <= INT32_MAX &&
                   f[4] >= 1 && f[4] <= 30, "a number of the format is out of range");
        expect(0 <= first && first <= last && last <= parsed.nodes, "nodes out of range");
        expect(position >= 0 && static_cast<std::size_t>(position / 8) <= bytes.shape(0), "position out of range");
        expect(static_cast<std::int64_t>(starts.shape(0)) == parsed.nodes + 1 &&
                   static_cast<std::int64_t>(successors.shape(0)) == parsed.arcs, "the output has the wrong length");
        const KernelScope kernel;
        return decode_webgraph(bytes.data(), bytes.shape(0), position, parsed, first, last, starts.data(),
                               successors.data());
    });
}

template <class Weight>
void bind_weight(nb::module_& m) {
    bind_searches<Weight>(m);
    bind_orders<Weight>(m);
    bind_structure<Weight>(m);
}

}  // namespace

void bind_graph(nb::module_& m) {
    bind_weight<std::int32_t>(m);
    bind_weight<std::int64_t>(m);
    bind_rest(m);
    bind_set_cone(m);
    bind_local_sets(m);
}

}  // namespace sparseigen
