#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "graph.hpp"
#include "interrupts.hpp"
#include "thread_pool.hpp"

namespace sparseigen {
namespace {

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kBlockedVolume = 1 << 18;  // entries from which a product is made block by block
constexpr std::size_t kBlock = 1 << 16;             // entries of the product in a block: half a megabyte
constexpr std::size_t kLookupWork = 16;             // what finding a place in a list costs, in additions
constexpr std::size_t kLookups = 32;                // below this many vertices, looking up all pairs is cheap
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();

std::uint64_t next_random(std::uint64_t& state) {  // splitmix64; the Python twin makes the same numbers
    state += 0x9E3779B97F4A7C15ULL;
    std::uint64_t mixed = state;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBULL;
    return mixed ^ (mixed >> 31);
}

// The set being searched: contributions 2 * (weight to the members) + loop of every vertex, kept up to date.
template <class Weight>
class Exchanger {
public:
    Exchanger(const Rows<Weight>& graph, const std::int64_t* loops, const std::uint8_t* fixed, std::uint8_t* members,
              std::int64_t* product, std::int64_t width)
        : graph_(graph), fixed_(fixed), members_(members), product_(product), width_(static_cast<std::size_t>(width)),
          contributions_(graph.size), free_again_(graph.size, 0) {
        std::int64_t heaviest = 0;
        CheckedLoop checked;
        for (std::size_t v = 0; v < graph.size; ++v) {
            for (std::int64_t e = graph.starts[v]; e < graph.starts[v + 1]; ++e)
                heaviest = std::max(heaviest, graph.weight(e));
            checked.add(graph.degree(v));
        }
        slack_ = 2 * heaviest;
        for (std::size_t v = 0; v < graph.size; ++v) {
            contributions_[v] = 2 * product[v] + loops[v];
            if (members[v]) inside_.push_back(static_cast<std::int64_t>(v));
        }
    }

    // The best exchange among the `width` weakest members and the `width` strongest outsiders that are not held back
    // at this step; false when there is none.
    bool best_pair(std::int64_t step, std::int64_t& gain, std::int64_t& out, std::int64_t& in) {
        collect_members(step);
        collect_outsiders(step);
        gain = kLowest;
        if (weakest_.empty() || strongest_.empty()) return false;
        for (const std::int64_t u : weakest_) {
            if (contributions_[strongest_.front()] - contributions_[u] <= gain) break;
            for (const std::int64_t v : strongest_) {
                const std::int64_t most = contributions_[v] - contributions_[u];
                if (most <= gain) break;
                const std::int64_t possible = most - 2 * graph_.between(u, v);
                if (possible > gain) {
                    gain = possible;
                    out = u;
                    in = v;
                }
            }
        }
        return true;
    }

    void apply(std::int64_t out, std::int64_t in) {
        move(out, -1);
        move(in, +1);
        inside_.erase(std::lower_bound(inside_.begin(), inside_.end(), out));
        inside_.insert(std::lower_bound(inside_.begin(), inside_.end(), in), in);
    }

    void hold(std::int64_t vertex, std::int64_t until) { free_again_[vertex] = until; }

private:
    void move(std::int64_t vertex, std::int64_t sign) {
        members_[vertex] = sign > 0;
        for (std::int64_t e = graph_.starts[vertex]; e < graph_.starts[vertex + 1]; ++e) {
            const std::int64_t change = sign * graph_.weight(e);
            product_[graph_.neighbours[e]] += change;
            contributions_[graph_.neighbours[e]] += 2 * change;
        }
    }

    void collect_members(std::int64_t step) {
        std::int64_t least = kHighest;
        for (const std::int64_t u : inside_)
            if (!fixed_[u] && free_again_[u] <= step) least = std::min(least, contributions_[u]);
        weakest_.clear();
        if (least == kHighest) return;
        const std::int64_t limit = least + slack_;
        for (const std::int64_t u : inside_)
            if (contributions_[u] <= limit && !fixed_[u] && free_again_[u] <= step) weakest_.push_back(u);
        keep(weakest_, [this](std::int64_t a, std::int64_t b) {
            return contributions_[a] != contributions_[b] ? contributions_[a] < contributions_[b] : a < b;
        });
    }

    void collect_outsiders(std::int64_t step) {
        std::int64_t most = kLowest;
        for (std::size_t v = 0; v < graph_.size; ++v)
            if (contributions_[v] > most && !members_[v] && free_again_[v] <= step) most = contributions_[v];
        strongest_.clear();
        if (most == kLowest) return;
        const std::int64_t limit = most - slack_;
        for (std::size_t v = 0; v < graph_.size; ++v)
            if (contributions_[v] >= limit && !members_[v] && free_again_[v] <= step)
                strongest_.push_back(static_cast<std::int64_t>(v));
        keep(strongest_, [this](std::int64_t a, std::int64_t b) {
            return contributions_[a] != contributions_[b] ? contributions_[a] > contributions_[b] : a < b;
        });
    }

    template <class Before>
    void keep(std::vector<std::int64_t>& list, Before before) {
        const std::size_t kept = std::min(width_, list.size());
        std::partial_sort(list.begin(), list.begin() + kept, list.end(), before);
        list.resize(kept);
    }

    const Rows<Weight>& graph_;
    const std::uint8_t* fixed_;
    std::uint8_t* members_;
    std::int64_t* product_;
    std::size_t width_;
    std::int64_t slack_;
    std::vector<std::int64_t> contributions_, free_again_, inside_, weakest_, strongest_;
};

}  // namespace

template <class Weight>
void add_rows(const Rows<Weight>& graph, const std::int64_t* vertices, std::size_t count, std::int64_t sign,
              std::int64_t* product) {
    std::int64_t volume = 0;
    for (std::size_t f = 0; f < count; ++f) volume += graph.starts[vertices[f] + 1] - graph.starts[vertices[f]];
    if (volume < kBlockedVolume || graph.size < 2 * kBlock) {
        CheckedLoop checked;
        for (std::size_t f = 0; f < count; ++f) {
            for (std::int64_t e = graph.starts[vertices[f]]; e < graph.starts[vertices[f] + 1]; ++e)
                product[graph.neighbours[e]] += sign * graph.weight(e);
            checked.add(graph.degree(vertices[f]));
        }
        return;
    }
    // Block by block of the product, so that the part written to stays in the cache and threads never meet.
    const std::size_t n_blocks = (graph.size + kBlock - 1) / kBlock;
    parallel_for(n_blocks, static_cast<double>(volume), 1, [&](std::size_t begin, std::size_t end) {
        CheckedLoop checked;
        for (std::size_t block = begin; block < end; ++block) {
            const std::int32_t low = static_cast<std::int32_t>(block * kBlock);
            const std::int32_t high = static_cast<std::int32_t>(std::min(graph.size, (block + 1) * kBlock));
            for (std::size_t f = 0; f < count; ++f) {
                const std::int32_t* row = graph.neighbours + graph.starts[vertices[f]];
                const std::int32_t* row_end = graph.neighbours + graph.starts[vertices[f] + 1];
                const std::int32_t* at = low == 0 ? row : std::lower_bound(row, row_end, low);
                const std::int32_t* const first = at;
                for (; at != row_end && *at < high; ++at)
                    product[*at] += sign * graph.weight(at - graph.neighbours);
                checked.add(static_cast<std::size_t>(at - first) + kLookupWork);
            }
        }
    });
}

template <class Weight>
std::int64_t signed_weight(const Rows<Weight>& graph, const std::int64_t* vertices, const std::int64_t* signs,
                           std::size_t count) {
    CheckedLoop checked;
    std::int64_t volume = 0, total = 0;
    for (std::size_t f = 0; f < count; ++f) volume += graph.starts[vertices[f] + 1] - graph.starts[vertices[f]];
    if (count < kLookups || static_cast<std::int64_t>(count) * static_cast<std::int64_t>(count) * 4 < volume) {
        for (std::size_t f = 0; f < count; ++f) {
            for (std::size_t g = f + 1; g < count; ++g)
                total += signs[f] * signs[g] * graph.between(vertices[f], vertices[g]);
            checked.add(kLookupWork * count);
        }
        return 2 * total;
    }
    std::vector<std::int8_t> sign_of(graph.size, 0);
    for (std::size_t f = 0; f < count; ++f) sign_of[vertices[f]] = static_cast<std::int8_t>(signs[f]);
    for (std::size_t f = 0; f < count; ++f) {
        for (std::int64_t e = graph.starts[vertices[f]]; e < graph.starts[vertices[f] + 1]; ++e)
            total += signs[f] * sign_of[graph.neighbours[e]] * graph.weight(e);
        checked.add(graph.degree(vertices[f]));
    }
    return total;
}

void top_vertices(const std::int64_t* product, const std::uint8_t* members, const std::int64_t* loops,
                  const std::uint8_t* fixed, std::int64_t shift, std::size_t size, std::size_t count,
                  std::int64_t* out) {
    const auto score = [&](std::size_t v) {
        if (fixed[v]) return kHighest;
        return 2 * product[v] + (members[v] ? 2 * loops[v] + shift : 0);
    };
    if (count == 0) return;
    // A sample gives a threshold that lets through a little more than `count`; when the guess was too high all
    // vertices are taken: the answer never depends on the sample.
    std::vector<std::int64_t> survivors;
    if (size > 4096) {
        constexpr std::size_t kSample = 2048;
        std::vector<std::int64_t> sample(kSample);
        for (std::size_t s = 0; s < kSample; ++s) sample[s] = score(s * size / kSample);
        const double share = static_cast<double>(count) / size;
        const std::size_t rank = static_cast<std::size_t>(kSample * share + 3.0 * std::sqrt(kSample * share) + 4.0);
        if (rank < kSample) {
            std::nth_element(sample.begin(), sample.begin() + rank, sample.end(), std::greater<std::int64_t>());
            const std::int64_t floor = sample[rank];
            for (std::size_t v = 0; v < size; ++v)  // for most vertices the score is the product alone
                if ((2 * product[v] >= floor || members[v] || fixed[v]) && score(v) >= floor)
                    survivors.push_back(static_cast<std::int64_t>(v));
        }
    }
    if (survivors.size() < count) {
        survivors.resize(size);
        for (std::size_t v = 0; v < size; ++v) survivors[v] = static_cast<std::int64_t>(v);
    }
    const auto before = [&](std::int64_t a, std::int64_t b) {
        const std::int64_t first = score(a), second = score(b);
        return first != second ? first > second : a < b;
    };
    std::nth_element(survivors.begin(), survivors.begin() + (count - 1), survivors.end(), before);
    std::copy(survivors.begin(), survivors.begin() + count, out);
    std::sort(out, out + count);
}

template <class Weight>
std::int64_t exchange(const Rows<Weight>& graph, const std::int64_t* loops, const std::uint8_t* fixed,
                      std::uint8_t* members, std::int64_t* product, std::int64_t patience, std::int64_t max_steps,
                      std::int64_t width, std::uint64_t seed, std::int64_t* steps_made) {
    Exchanger<Weight> set(graph, loops, fixed, members, product, width);
    std::vector<std::pair<std::int64_t, std::int64_t>> since_best;
    std::int64_t current = 0, best = 0, step = 0;
    const auto back_to_best = [&] {
        for (std::size_t s = since_best.size(); s-- > 0;) set.apply(since_best[s].second, since_best[s].first);
    };
    CheckedLoop checked;
    while (step < max_steps) {
        std::int64_t gain, out = -1, in = -1;
        try {
            checked.add(2 * graph.size);
        } catch (...) {  // Ctrl-C: what was gained is kept
            back_to_best();
            throw;
        }
        if (!set.best_pair(step, gain, out, in)) break;
        if (gain <= 0 && static_cast<std::int64_t>(since_best.size()) >= patience) break;
        ++step;
        set.apply(out, in);
        current += gain;
        since_best.emplace_back(out, in);
        if (current > best) {
            best = current;
            since_best.clear();
        }
        if (patience > 0) {
            // Held back for a while, so that the search does not undo its last steps at once.
            set.hold(in, step + 2 + static_cast<std::int64_t>(next_random(seed) % 4));
            set.hold(out, step + 6 + static_cast<std::int64_t>(next_random(seed) % 8));
        }
    }
    back_to_best();
    *steps_made = step;
    return best;
}

#define SPARSEIGEN_INSTANTIATE(Weight)                                                                               \
    template void add_rows<Weight>(const Rows<Weight>&, const std::int64_t*, std::size_t, std::int64_t,             \
                                   std::int64_t*);                                                                  \
    template std::int64_t signed_weight<Weight>(const Rows<Weight>&, const std::int64_t*, const std::int64_t*,      \
                                                std::size_t);                                                       \
    template std::int64_t exchange<Weight>(const Rows<Weight>&, const std::int64_t*, const std::uint8_t*,           \
                                           std::uint8_t*, std::int64_t*, std::int64_t, std::int64_t, std::int64_t,  \
                                           std::uint64_t, std::int64_t*);
SPARSEIGEN_INSTANTIATE(UnitWeight)
SPARSEIGEN_INSTANTIATE(std::int32_t)
SPARSEIGEN_INSTANTIATE(std::int64_t)

}  // namespace sparseigen
