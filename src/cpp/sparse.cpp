#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "dense_loops.hpp"
#include "interrupts.hpp"
#include "kernels.hpp"
#include "thread_pool.hpp"

namespace sparseigen {
namespace {

// Two streams, values and columns, each asked for some way ahead.
SPARSEIGEN_INLINE void prefetch_line(const void* here) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(static_cast<const char*>(here) + 4096);
#else
    (void)here;
#endif
}

// Eight sums side by side in a fixed order: one alone would wait for each addition before the next.
#define SPARSEIGEN_SPARSE_DOT(Value, Column)                                                                          \
    SPARSEIGEN_DISPATCH_GATHER Value sparse_dot(const Column* __restrict columns, const Value* __restrict values,     \
                                                std::size_t count, const Value* __restrict vector) {                  \
        Value lanes[8] = {};                                                                                          \
        std::size_t e = 0;                                                                                            \
        for (; e + 8 <= count; e += 8) {                                                                              \
            prefetch_line(values + e);                                                                                \
            prefetch_line(columns + e);                                                                               \
            for (int l = 0; l < 8; ++l) lanes[l] += values[e + l] * vector[columns[e + l]];                           \
        }                                                                                                             \
        for (int l = 0; e < count; ++e, ++l) lanes[l] += values[e] * vector[columns[e]];                              \
        return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));      \
    }
SPARSEIGEN_SPARSE_DOT(double, std::uint16_t)
SPARSEIGEN_SPARSE_DOT(float, std::uint16_t)
SPARSEIGEN_SPARSE_DOT(double, std::int32_t)
SPARSEIGEN_SPARSE_DOT(double, std::int64_t)
SPARSEIGEN_SPARSE_DOT(float, std::int32_t)
SPARSEIGEN_SPARSE_DOT(float, std::int64_t)

}  // namespace

template <class Value, class Index, class Column>
void sparse_combine_rows(const Index* row_starts, const Column* columns, const Value* values, const std::int64_t* rows,
                         std::size_t n_rows, const Value* weights, Value* out, std::size_t width) {
    std::size_t entries = 0;
    for (std::size_t f = 0; f < n_rows; ++f)
        entries += static_cast<std::size_t>(row_starts[rows[f] + 1] - row_starts[rows[f]]);
    // Scattered writes: a number of parts that depends on the sizes alone, each with a sum of its own where the sums
    // are short beside the entries, so that the additions have one order whatever the threads.
    const std::size_t parts = std::min<std::size_t>(8, 1 + entries / (16 * width + 1));
    std::vector<Value> sums((parts - 1) * width, Value(0));
    std::memset(out, 0, width * sizeof(Value));
    parallel_for(parts, static_cast<double>(entries), 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t part = begin; part < end; ++part) {
            CheckedLoop checked;
            Value* __restrict sum = part == 0 ? out : sums.data() + (part - 1) * width;
            for (std::size_t f = n_rows * part / parts; f < n_rows * (part + 1) / parts; ++f) {
                const Value weight = weights[f];
                for (Index e = row_starts[rows[f]]; e < row_starts[rows[f] + 1]; ++e)
                    sum[columns[e]] += weight * values[e];
                checked.add(static_cast<std::size_t>(row_starts[rows[f] + 1] - row_starts[rows[f]]));
            }
        }
    });
    for (std::size_t part = 1; part < parts; ++part)
        for (std::size_t j = 0; j < width; ++j) out[j] += sums[(part - 1) * width + j];
}

template <class Value, class Index, class Column>
void sparse_row_dots(const Index* row_starts, const Column* columns, const Value* values, std::size_t n_rows,
                     const Value* vector, Value* out) {
    const double entries = static_cast<double>(row_starts[n_rows]);
    parallel_for(n_rows, entries, 8, [&](std::size_t begin, std::size_t end) {
        CheckedLoop checked;
        for (std::size_t i = begin; i < end; ++i) {
            const std::size_t entries_here = static_cast<std::size_t>(row_starts[i + 1] - row_starts[i]);
            out[i] = sparse_dot(columns + row_starts[i], values + row_starts[i], entries_here, vector);
            checked.add(entries_here);
        }
    });
}

template <class Value, class Index>
void sparse_transpose(const Index* row_starts, const Index* columns, const Value* values, std::size_t n_rows,
                      std::size_t width, Index* out_starts, Index* out_rows, Value* out_values) {
    const std::size_t begin = static_cast<std::size_t>(row_starts[0]);
    const std::size_t end = static_cast<std::size_t>(row_starts[n_rows]);
    std::vector<Index> counts(width, 0);
    in_checked_blocks(begin, end, 1, 1, [&](std::size_t from, std::size_t to) {
        for (std::size_t e = from; e < to; ++e) {
            if (columns[e] < 0 || static_cast<std::size_t>(columns[e]) >= width)
                throw std::invalid_argument("column index out of range");
            ++counts[columns[e]];
        }
    });
    out_starts[0] = 0;
    for (std::size_t j = 0; j < width; ++j) out_starts[j + 1] = out_starts[j] + counts[j];
    std::vector<Index> next(out_starts, out_starts + width);
    // Every part reads all entries and writes those of its own columns, few enough that the lines it writes to stay in
    // the cache. Where an entry goes depends on the entries before it alone, so parts and threads change nothing.
    const std::size_t parts = std::min<std::size_t>(16, 1 + (end - begin) / (1 << 18));
    const auto first_column = [&](std::size_t part) {
        const Index entries = static_cast<Index>((end - begin) / parts * part);
        const Index* found = std::lower_bound(out_starts, out_starts + width, entries);
        return part == parts ? width : static_cast<std::size_t>(found - out_starts);
    };
    parallel_for(parts, 4.0 * static_cast<double>(end - begin), 1, [&](std::size_t from, std::size_t to) {
        for (std::size_t part = from; part < to; ++part) {
            const std::size_t low = first_column(part), columns_here = first_column(part + 1) - low;
            CheckedLoop checked;
            for (std::size_t i = 0; i < n_rows; ++i) {
                for (Index e = row_starts[i]; e < row_starts[i + 1]; ++e) {
                    const std::size_t j = static_cast<std::size_t>(columns[e]);
                    if (j - low >= columns_here) continue;  // below low it wraps around to a huge number
                    out_rows[next[j]] = static_cast<Index>(i);
                    out_values[next[j]++] = values[e];
                }
                checked.add(static_cast<std::size_t>(row_starts[i + 1] - row_starts[i]));
            }
        }
    });
}

#define SPARSEIGEN_INSTANTIATE_COLUMNS(Value, Index, Column)                                                          \
    template void sparse_combine_rows<Value, Index, Column>(const Index*, const Column*, const Value*,               \
                                                            const std::int64_t*, std::size_t, const Value*, Value*,  \
                                                            std::size_t);                                            \
    template void sparse_row_dots<Value, Index, Column>(const Index*, const Column*, const Value*, std::size_t,      \
                                                        const Value*, Value*);
#define SPARSEIGEN_INSTANTIATE(Value, Index)            \
    SPARSEIGEN_INSTANTIATE_COLUMNS(Value, Index, Index) \
    SPARSEIGEN_INSTANTIATE_COLUMNS(Value, Index, std::uint16_t) \
    template void sparse_transpose<Value, Index>(const Index*, const Index*, const Value*, std::size_t, std::size_t, \
                                                 Index*, Index*, Value*);
SPARSEIGEN_INSTANTIATE(double, std::int32_t)
SPARSEIGEN_INSTANTIATE(double, std::int64_t)
SPARSEIGEN_INSTANTIATE(float, std::int32_t)
SPARSEIGEN_INSTANTIATE(float, std::int64_t)

}  // namespace sparseigen
