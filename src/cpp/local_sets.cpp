#include "local_sets.hpp"

#include <algorithm>
#include <vector>

#include "interrupts.hpp"

namespace sparseigen {
namespace {

using Word = std::uint64_t;
constexpr std::size_t kWordBits = 64;
constexpr std::size_t kMostCandidates = 4096;
constexpr std::int64_t kEntryWork = 4;  // an entry far from the last one, in words
constexpr std::size_t kRowWork = 8;  // what a row costs beside its words, in words

// Without instructions of its own for it, which not every machine has.
inline std::int64_t bits_of(Word word) {
    word -= (word >> 1) & 0x5555555555555555ull;
    word = (word & 0x3333333333333333ull) + ((word >> 2) & 0x3333333333333333ull);
    word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0full;
    return static_cast<std::int64_t>((word * 0x0101010101010101ull) >> 56);
}

// The place of the lowest bit.
inline std::size_t lowest_of(Word word) { return static_cast<std::size_t>(bits_of((word & (~word + 1)) - 1)); }

// Sets of vertices around one first vertex, as bits of a few words.
class Around {
public:
    Around(std::int64_t count, std::int64_t edges, std::int64_t least, std::int64_t central, const std::int64_t* caps,
           std::int64_t most_work)
        : count_(count), edges_(edges), least_(least), central_(central), caps_(caps),
          most_work_(most_work), tallies_(static_cast<std::size_t>(3 * count + 1)), levels_(static_cast<std::size_t>(count + 1)) {}

    std::int64_t work = 0;  // words compared
    std::vector<std::int32_t> taken;  // local numbers of the set found

    bool given_up() const { return work > most_work_; }

    // The vertices to choose from: candidates 0 .. size - 1, the first ones earlier than the first central vertex, which
    // is number `size`.
    void open(std::size_t size, std::size_t earlier) {
        size_ = size;
        earlier_ = earlier;
        words_ = size / kWordBits + 1;
        rows_.assign((size + 1) * words_, 0);
        for (std::vector<Word>& level : levels_) level.assign(words_, 0);
        inside_.assign(words_, 0);
        taken.clear();
    }
    void join(std::size_t a, std::size_t b) {
        set(rows_.data() + a * words_, b);
        set(rows_.data() + b * words_, a);
    }

    bool search() {
        for (std::size_t u = 0; u < size_; ++u) set(levels_[0].data(), u);
        take(static_cast<std::int32_t>(size_));
        return descend(0, 0);
    }

private:
    static void set(Word* bits, std::size_t u) { bits[u / kWordBits] |= Word{1} << (u % kWordBits); }
    static void clear(Word* bits, std::size_t u) { bits[u / kWordBits] &= ~(Word{1} << (u % kWordBits)); }
    static bool has(const Word* bits, std::size_t u) { return bits[u / kWordBits] >> (u % kWordBits) & 1; }

    std::size_t count_bits(const Word* bits) const {
        std::int64_t sum = 0;
        for (std::size_t w = 0; w < words_; ++w) sum += bits_of(bits[w]);
        return static_cast<std::size_t>(sum);
    }
    void spend(std::size_t rows) {
        work += static_cast<std::int64_t>(rows * (words_ + kRowWork));
        loop_.add(rows * (words_ + kRowWork));
    }

    // How many neighbours a vertex may have in the set: one before the first central vertex is not central.
    std::int64_t most(std::size_t u) const { return u < earlier_ ? central_ - 1 : count_; }

    void take(std::int32_t u) {
        taken.push_back(u);
        set(inside_.data(), static_cast<std::size_t>(u));
    }
    void leave(std::int32_t u) {
        taken.pop_back();
        clear(inside_.data(), static_cast<std::size_t>(u));
    }
    std::int64_t common(const Word* a, const Word* b) const {
        std::int64_t sum = 0;
        for (std::size_t w = 0; w < words_; ++w) sum += bits_of(a[w] & b[w]);
        return sum;
    }

    // Whether a set is found that holds the vertices taken, which have so many edges, and others of the level.
    bool descend(std::size_t depth, std::int64_t edges) {
        Word* rest = levels_[depth].data();
        const std::int64_t missing = count_ - static_cast<std::int64_t>(taken.size());
        while (true) {
            if (missing == 0) return edges >= edges_;
            if (given_up()) return false;
            std::int64_t gained = 0;
            const std::int64_t pick = look(rest, missing, edges, &gained);
            if (pick < 0) return false;
            filter(rest, levels_[depth + 1].data(), static_cast<std::size_t>(pick));
            take(static_cast<std::int32_t>(pick));
            if (descend(depth + 1, edges + gained)) return true;
            leave(static_cast<std::int32_t>(pick));
            clear(rest, static_cast<std::size_t>(pick));
        }
    }

    // Take out what cannot be in the set; the vertex to branch on, or -1 where the bound leaves nothing.
    std::int64_t look(Word* rest, std::int64_t missing, std::int64_t edges, std::int64_t* gained) {
        while (true) {
            for (const std::int32_t u : taken) {
                const Word* row = rows_.data() + static_cast<std::size_t>(u) * words_;
                const std::int64_t inside = common(row, inside_.data());
                const bool first = static_cast<std::size_t>(u) == size_;
                if (inside + std::min(common(row, rest), missing) < (first ? central_ : least_)) return -1;
                if (inside > most(static_cast<std::size_t>(u))) return -1;
            }
            spend(2 * (count_bits(rest) + taken.size()));
            std::fill(tallies_.begin(), tallies_.end(), 0);
            inner_.assign(static_cast<std::size_t>(count_ + 1), 0);
            std::int64_t pick = -1, best = -1, left = 0;
            bool dropped = false;
            for (std::size_t w = 0; w < words_; ++w) {
                for (Word word = rest[w]; word; word &= word - 1) {
                    const std::size_t u = w * kWordBits + lowest_of(word);
                    const Word* row = rows_.data() + u * words_;
                    const std::int64_t inside = common(row, inside_.data());
                    const std::int64_t limit = std::min(missing - 1, most(u) - inside);
                    const std::int64_t among = std::min(common(row, rest), limit);
                    if (inside + among < least_ || limit < 0) {
                        clear(rest, u);
                        dropped = true;
                        continue;
                    }
                    const std::int64_t value = 2 * inside + among;
                    ++tallies_[static_cast<std::size_t>(value)];
                    ++inner_[static_cast<std::size_t>(inside)];
                    ++left;
                    if (value > best) best = value, pick = static_cast<std::int64_t>(u), *gained = inside;
                }
            }
            if (left < missing) return -1;
            if (dropped) continue;
            const std::int64_t by_degrees = 2 * edges + sum_largest(tallies_, missing);
            const std::int64_t by_caps = 2 * (edges + sum_largest(inner_, missing) + caps_[missing]);
            return std::min(by_degrees, by_caps) < 2 * edges_ ? -1 : pick;
        }
    }

    static std::int64_t sum_largest(const std::vector<std::int64_t>& tallies, std::int64_t number) {
        std::int64_t sum = 0;
        for (std::size_t value = tallies.size(); value-- > 0 && number > 0;) {
            const std::int64_t used = std::min(number, tallies[value]);
            sum += used * static_cast<std::int64_t>(value);
            number -= used;
        }
        return sum;
    }

    // What is left to choose from beside a vertex: two vertices of a set share neighbours in it.
    void filter(const Word* rest, Word* out, std::size_t pick) {
        const Word* row = rows_.data() + pick * words_;
        spend(count_bits(rest));
        shared_.resize(words_);
        for (std::size_t w = 0; w < words_; ++w) shared_[w] = row[w] & (rest[w] | inside_[w]);
        std::fill(out, out + words_, 0);
        for (std::size_t w = 0; w < words_; ++w) {
            for (Word word = rest[w]; word; word &= word - 1) {
                const std::size_t u = w * kWordBits + lowest_of(word);
                if (u == pick) continue;
                const std::int64_t needed = 2 * least_ - count_ + (has(row, u) ? 0 : 2);
                if (common(rows_.data() + u * words_, shared_.data()) >= needed) set(out, u);
            }
        }
    }

    const std::int64_t count_, edges_, least_, central_;
    const std::int64_t* caps_;
    const std::int64_t most_work_;
    std::size_t size_ = 0, earlier_ = 0, words_ = 0;
    std::vector<Word> rows_, inside_, shared_;
    std::vector<std::int64_t> tallies_, inner_;
    std::vector<std::vector<Word>> levels_;
    CheckedLoop loop_;
};

// What can be in a set whose first central vertex is given: vertices that share enough neighbours with it.
class Candidates {
public:
    Candidates(const std::int64_t* starts, const std::int32_t* neighbours, std::size_t size)
        : starts_(starts), neighbours_(neighbours), shared_(size, 0), place_(size, -1) {}

    std::vector<std::int32_t> chosen;

    void find(std::int32_t first, std::int64_t count, std::int64_t least, std::int64_t central, Around& around) {
        chosen.clear();
        const std::int32_t since = central > least ? -1 : first;  // others are central too: none is earlier
        const std::int32_t *begin = later(first, since), *end = neighbours_ + starts_[first + 1];
        if (end - begin < central) return;
        near_.clear();
        for (const std::int32_t* v = begin; v < end; ++v) {
            place_[at(*v)] = 0;
            const std::int32_t *stop = neighbours_ + starts_[*v + 1], *u = later(*v, since);
            spend(stop - u, around);
            for (; u < stop; ++u)
                if (shared_[at(*u)]++ == 0) near_.push_back(*u);
        }
        const std::int64_t joined = central + least - count;
        for (const std::int32_t* v = begin; v < end; ++v)
            if (shared_[at(*v)] >= joined) chosen.push_back(*v);
        for (const std::int32_t u : near_)
            if (place_[at(u)] < 0 && u != first && shared_[at(u)] >= joined + 2) chosen.push_back(u);
        for (const std::int32_t* v = begin; v < end; ++v) place_[at(*v)] = -1;
        for (const std::int32_t u : near_) shared_[at(u)] = 0;
        std::sort(chosen.begin(), chosen.end());
    }

    // Open the search among them and the first vertex.
    void enter(std::int32_t first, Around& around) {
        const auto middle = std::lower_bound(chosen.begin(), chosen.end(), first);
        around.open(chosen.size(), static_cast<std::size_t>(middle - chosen.begin()));
        for (std::size_t i = 0; i < chosen.size(); ++i) place_[at(chosen[i])] = static_cast<std::int32_t>(i);
        for (std::size_t i = 0; i < chosen.size(); ++i) {
            spend(starts_[chosen[i] + 1] - starts_[chosen[i]], around);
            for (std::int64_t e = starts_[chosen[i]]; e < starts_[chosen[i] + 1]; ++e) {
                const std::int32_t other = neighbours_[e];
                if (other == first) around.join(i, chosen.size());
                if (place_[at(other)] > static_cast<std::int32_t>(i)) around.join(i, at(place_[at(other)]));
            }
        }
        for (const std::int32_t u : chosen) place_[at(u)] = -1;
    }

private:
    void spend(std::int64_t entries, Around& around) {
        around.work += kEntryWork * entries;
        loop_.add(static_cast<std::size_t>(kEntryWork * entries));
    }
    static std::size_t at(std::int32_t v) { return static_cast<std::size_t>(v); }
    const std::int32_t* later(std::int32_t v, std::int32_t first) const {
        return std::upper_bound(neighbours_ + starts_[v], neighbours_ + starts_[v + 1], first);
    }

    const std::int64_t* starts_;
    const std::int32_t* neighbours_;
    std::vector<std::int32_t> shared_, place_, near_;
    CheckedLoop loop_;
};

}  // namespace

LocalAnswer find_local_set(const std::int64_t* starts, const std::int32_t* neighbours, std::size_t size,
                           std::int64_t count, std::int64_t edges, std::int64_t least, std::int64_t central,
                           const std::int64_t* caps, std::int64_t most_work, std::int64_t* chosen) {
    Around around(count, edges, least, central, caps, most_work);
    Candidates candidates(starts, neighbours, size);
    for (std::size_t v = 0; v < size; ++v) {
        const std::int32_t first = static_cast<std::int32_t>(v);
        candidates.find(first, count, least, central, around);
        if (around.given_up()) return {-1, around.work};
        const std::vector<std::int32_t>& others = candidates.chosen;
        if (static_cast<std::int64_t>(others.size()) < count - 1) continue;
        if (others.size() > kMostCandidates) return {-1, around.work};
        candidates.enter(first, around);
        if (around.search()) {
            for (std::size_t i = 0; i < around.taken.size(); ++i) {
                const std::size_t u = static_cast<std::size_t>(around.taken[i]);
                chosen[i] = u == others.size() ? first : others[u];
            }
            return {1, around.work};
        }
        if (around.given_up()) return {-1, around.work};
    }
    return {0, around.work};
}

void count_shared(const std::int64_t* starts, const std::int32_t* neighbours, std::size_t size, std::int32_t* shared) {
    std::vector<std::int32_t> marked(size, -1);
    CheckedLoop loop;
    for (std::size_t v = 0; v < size; ++v) {
        for (std::int64_t e = starts[v]; e < starts[v + 1]; ++e)
            marked[static_cast<std::size_t>(neighbours[e])] = static_cast<std::int32_t>(v);
        for (std::int64_t e = starts[v]; e < starts[v + 1]; ++e) {
            const std::size_t u = static_cast<std::size_t>(neighbours[e]);
            std::int32_t sum = 0;
            for (std::int64_t f = starts[u]; f < starts[u + 1]; ++f)
                sum += marked[static_cast<std::size_t>(neighbours[f])] == static_cast<std::int32_t>(v);
            shared[e] = sum;
            loop.add(static_cast<std::size_t>(starts[u + 1] - starts[u]));
        }
    }
}

}  // namespace sparseigen
