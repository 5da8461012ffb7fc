// Every kernel that uses the pool, from several callers at once, for the thread sanitizer; answers must be the bits of
// one thread.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "bounds.hpp"
#include "graph.hpp"
#include "kernels.hpp"
#include "no_interpreter.hpp"
#include "screening.hpp"
#include "symmetric.hpp"
#include "thread_pool.hpp"

using namespace sparseigen;
using Bytes = std::vector<unsigned char>;

namespace {

// Large enough for the pool: smaller work stays in the caller's thread.
constexpr std::size_t kRows = 2400, kWidth = 1100, kKept = 40;

template <class T>
void add(Bytes& bytes, const std::vector<T>& values) {
    const auto* begin = reinterpret_cast<const unsigned char*>(values.data());
    bytes.insert(bytes.end(), begin, begin + values.size() * sizeof(T));
}

struct Inputs {
    std::vector<double> matrix, vector;
    std::vector<std::int64_t> support;
    std::vector<std::int64_t> starts{0};
    std::vector<std::int64_t> columns;
    std::vector<double> entries;

    Inputs() : matrix(kRows * kWidth), vector(kWidth) {
        std::mt19937_64 random(1);
        std::normal_distribution<double> normal;
        for (double& value : matrix) value = normal(random);
        for (double& value : vector) value = normal(random);
        for (std::size_t i = 0; i < kRows; i += 2) support.push_back(static_cast<std::int64_t>(i));
        for (std::size_t i = 0; i < kRows; ++i) {
            for (std::size_t j = i % 3; j < kWidth; j += 2) {
                columns.push_back(static_cast<std::int64_t>(j));
                entries.push_back(matrix[i * kWidth + j]);
            }
            starts.push_back(static_cast<std::int64_t>(columns.size()));
        }
    }
};

Bytes dense(const Inputs& in) {
    Bytes bytes;
    std::vector<double> weights(in.support.size(), 0.5), combined(kWidth), dots(kRows), scores(kWidth), kept(kKept);
    std::vector<std::int64_t> indices(kKept);
    combine_rows(in.matrix.data(), kWidth, in.support.data(), in.support.size(), weights.data(), combined.data(),
                 kWidth);
    row_dots(in.matrix.data(), kWidth, kRows, kWidth, in.vector.data(), dots.data());
    power_step<double>(in.matrix.data(), kRows, kWidth, in.support.data(), in.support.size(), weights.data(), 3.0,
                       kKept, false, scores.data(), indices.data(), kept.data());
    std::vector<double> sum{stream_sum(in.matrix.data(), in.matrix.size())};
    for (const auto* part : {&combined, &dots, &scores, &kept, &sum}) add(bytes, *part);
    add(bytes, indices);
    return bytes;
}

Bytes sparse(const Inputs& in) {
    Bytes bytes;
    std::vector<double> weights(in.support.size(), 0.5), combined(kWidth), dots(kRows), values(in.entries.size());
    std::vector<std::int64_t> starts(kWidth + 1), rows(in.entries.size());
    sparse_combine_rows<double, std::int64_t, std::int64_t>(in.starts.data(), in.columns.data(), in.entries.data(),
                                                            in.support.data(), in.support.size(), weights.data(),
                                                            combined.data(), kWidth);
    sparse_row_dots<double, std::int64_t, std::int64_t>(in.starts.data(), in.columns.data(), in.entries.data(), kRows,
                                                        in.vector.data(), dots.data());
    sparse_transpose<double, std::int64_t>(in.starts.data(), in.columns.data(), in.entries.data(), kRows, kWidth,
                                           starts.data(), rows.data(), values.data());
    for (const auto* part : {&combined, &dots, &values}) add(bytes, *part);
    add(bytes, starts);
    add(bytes, rows);
    return bytes;
}

Bytes screened(const Inputs& in) {
    Bytes bytes;
    std::vector<std::int8_t> codes(kRows * kWidth);
    std::vector<double> scales(kRows), errors(kRows), norms(kRows), lower(kRows), upper(kRows);
    std::vector<double> product(kRows), kept(kKept), combined(kWidth);
    std::vector<std::int64_t> indices(kKept);
    shadow_codes<double>(in.matrix.data(), kRows, kWidth, codes.data(), scales.data(), errors.data(), norms.data());
    shadow_bounds(codes.data(), scales.data(), errors.data(), norms.data(), kRows, kWidth, in.vector.data(), 1e-9,
                  lower.data(), upper.data());
    for (const auto* part : {&scales, &errors, &norms, &lower, &upper}) add(bytes, *part);
    bounded_step<double>(in.matrix.data(), kRows, kWidth, lower.data(), upper.data(), in.vector.data(), 20.0, kKept,
                         indices.data(), kept.data(), combined.data());
    for (const auto* part : {&kept, &combined}) add(bytes, *part);
    fused_step<double>(in.matrix.data(), kRows, kWidth, in.vector.data(), 20.0, kKept, product.data(), indices.data(),
                       kept.data(), combined.data());
    for (const auto* part : {&product, &kept, &combined}) add(bytes, *part);
    std::vector<double> ones(in.matrix.size(), 1.0), low(in.matrix.size()), high(in.matrix.size());
    running_bounds(in.matrix.data(), ones.data(), ones.size(), 1.0, 2.0, 0.6, 0.8, 1e-9, low.data(), high.data());
    for (const auto* part : {&low, &high}) add(bytes, *part);
    add(bytes, codes);
    add(bytes, indices);
    return bytes;
}

Bytes bounded(const Inputs& in) {
    Bytes bytes;
    std::vector<std::int64_t> own(kRows), members(kWidth - 5);
    for (std::size_t i = 0; i < kRows; ++i) own[i] = static_cast<std::int64_t>(i % kWidth);
    for (std::size_t i = 0; i < members.size(); ++i) members[i] = static_cast<std::int64_t>(i);
    std::vector<double> ones(kWidth, 1.0), sums(kRows), least(kRows);
    top_row_sums(in.matrix.data(), kRows, kWidth, own.data(), ones.data(), kKept, sums.data(), least.data());
    add(bytes, sums);
    add(bytes, least);
    node_row_sums(in.matrix.data(), kWidth, members.data(), members.size(), 7, kKept, ones.data(), sums.data(),
                  least.data());
    add(bytes, sums);
    add(bytes, least);
    constexpr std::size_t kSide = kRows < kWidth ? kRows : kWidth;
    const Survey survey = survey_symmetric(in.matrix.data(), kSide);
    add(bytes, std::vector<double>{survey.largest, survey.asymmetry});
    return bytes;
}

Bytes of_a_graph(const Inputs&) {
    // Every vertex beside the next ten.
    constexpr std::size_t kVertices = 140000, kReach = 10;
    std::vector<std::int64_t> starts{0}, product(kVertices, 0), chosen;
    std::vector<std::int32_t> neighbours;
    for (std::size_t i = 0; i < kVertices; ++i) {
        for (std::size_t j = i < kReach ? 0 : i - kReach; j < std::min(kVertices, i + kReach + 1); ++j)
            if (j != i) neighbours.push_back(static_cast<std::int32_t>(j));
        starts.push_back(static_cast<std::int64_t>(neighbours.size()));
        if (i % 7 != 0) chosen.push_back(static_cast<std::int64_t>(i));
    }
    const Rows<UnitWeight> graph{starts.data(), neighbours.data(), nullptr, kVertices};
    add_rows(graph, chosen.data(), chosen.size(), 1, product.data());
    Bytes bytes;
    add(bytes, product);
    return bytes;
}

}  // namespace

int main() {
    const Inputs inputs;
    const std::vector<std::function<Bytes(const Inputs&)>> work{dense, sparse, screened, bounded, of_a_graph};
    set_thread_count(1);
    std::vector<Bytes> expected;
    for (const auto& part : work) expected.push_back(part(inputs));
    std::atomic<long> calls{0}, wrong{0};
    for (int threads = 2; threads <= 5; ++threads) {
        set_thread_count(threads);
        std::vector<std::thread> callers;
        for (std::size_t c = 0; c < 2; ++c)
            callers.emplace_back([&, c] {
                for (std::size_t i = 0; i < work.size(); ++i) {
                    const std::size_t which = (i + c) % work.size();
                    wrong += work[which](inputs) != expected[which];
                    ++calls;
                }
            });
        for (auto& caller : callers) caller.join();
    }
    std::printf("kernels: %ld groups of calls, %ld with other bits than one thread gives\n", calls.load(),
                wrong.load());
    return wrong.load() == 0 ? 0 : 1;
}
