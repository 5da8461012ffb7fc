#include <cstring>

#include "kernels.hpp"
#include "thread_pool.hpp"

namespace sparseigen {
namespace {

// Eight sums side by side in a fixed order: one alone would wait for each addition before the next.
#define SPARSEIGEN_SPARSE_DOT(Value, Index)                                                                           \
    SPARSEIGEN_DISPATCH Value sparse_dot(const Index* __restrict columns, const Value* __restrict values,             \
                                         std::size_t count, const Value* __restrict vector) {                         \
        Value lanes[8] = {};                                                                                          \
        std::size_t e = 0;                                                                                            \
        for (; e + 8 <= count; e += 8)                                                                                \
            for (int l = 0; l < 8; ++l) lanes[l] += values[e + l] * vector[columns[e + l]];                           \
        for (int l = 0; e < count; ++e, ++l) lanes[l] += values[e] * vector[columns[e]];                              \
        return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));      \
    }
SPARSEIGEN_SPARSE_DOT(double, std::int32_t)
SPARSEIGEN_SPARSE_DOT(double, std::int64_t)
SPARSEIGEN_SPARSE_DOT(float, std::int32_t)
SPARSEIGEN_SPARSE_DOT(float, std::int64_t)

}  // namespace

template <class Value, class Index>
void sparse_combine_rows(const Index* row_starts, const Index* columns, const Value* values, const std::int64_t* rows,
                         std::size_t n_rows, const Value* weights, Value* out, std::size_t width) {
    // Scattered writes: one thread, in the order of the rows, so that the sum has one order.
    std::memset(out, 0, width * sizeof(Value));
    for (std::size_t f = 0; f < n_rows; ++f) {
        const Value weight = weights[f];
        for (Index e = row_starts[rows[f]]; e < row_starts[rows[f] + 1]; ++e) out[columns[e]] += weight * values[e];
    }
}

template <class Value, class Index>
void sparse_row_dots(const Index* row_starts, const Index* columns, const Value* values, std::size_t n_rows,
                     const Value* vector, Value* out) {
    const double entries = static_cast<double>(row_starts[n_rows]);
    parallel_for(n_rows, entries, 8, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            out[i] = sparse_dot(columns + row_starts[i], values + row_starts[i],
                                static_cast<std::size_t>(row_starts[i + 1] - row_starts[i]), vector);
    });
}

#define SPARSEIGEN_INSTANTIATE(Value, Index)                                                                         \
    template void sparse_combine_rows<Value, Index>(const Index*, const Index*, const Value*, const std::int64_t*,  \
                                                    std::size_t, const Value*, Value*, std::size_t);                \
    template void sparse_row_dots<Value, Index>(const Index*, const Index*, const Value*, std::size_t, const Value*, \
                                                Value*);
SPARSEIGEN_INSTANTIATE(double, std::int32_t)
SPARSEIGEN_INSTANTIATE(double, std::int64_t)
SPARSEIGEN_INSTANTIATE(float, std::int32_t)
SPARSEIGEN_INSTANTIATE(float, std::int64_t)

}  // namespace sparseigen
