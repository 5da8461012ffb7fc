#include "small_search.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "bounds.hpp"
#include "interrupts.hpp"

namespace sparseigen {
namespace {

constexpr double kUnit = 1.0 / 9007199254740992.0;  // 2^-53
constexpr double kTiny = 1e-280;                    // above what underflow can take
constexpr double kFloor = 1e-7;                      // smallest weight, relative to the largest
constexpr int kRootPasses = 12, kNodePasses = 3;
constexpr std::size_t kWide = 64;    // from this size on rows are summed by the kernel for long ones, on all threads
constexpr double kChildWork = 2.0;   // operations per entry of a block for one more variable, at least

// The free variables of a node, and the Schur complement of the matrix at the variables taken in.
struct Level {
    std::size_t stride = 0, count = 0;
    double* entries = nullptr;
    std::vector<double> block, weights;
    std::vector<std::int64_t> labels;

    // Entries that the block of so many variables needs beyond those it has.
    std::size_t missing(std::size_t size) const { return size * size > block.size() ? size * size - block.size() : 0; }

    // Room for so many variables; returns how many entries were added to the block.
    std::size_t grow(std::size_t size) {
        const std::size_t before = block.size();
        stride = count = size;
        if (before < size * size) block.resize(size * size);
        entries = block.data();
        if (weights.size() < size) weights.resize(size);
        if (labels.size() < size) labels.resize(size);
        return block.size() - before;
    }
    double* row(std::size_t i) { return entries + i * stride; }

    // The last variable takes the place of variable i.
    void remove(std::size_t i) {
        const std::size_t last = --count;
        if (i == last) return;
        std::copy(row(last), row(last) + count, row(i));
        for (std::size_t j = 0; j < count; ++j) row(j)[i] = row(i)[j];
        row(i)[i] = row(last)[last];
        weights[i] = weights[last];
        labels[i] = labels[last];
    }
};

// How many variables are still to be taken of the first group (labels below the boundary) and of the second.
struct Picks {
    std::size_t of[2];
    std::size_t total() const { return of[0] + of[1]; }
    bool grouped() const { return of[0] > 0 && of[1] > 0; }
};

class BlockSearch {
public:
    BlockSearch(Picks picks, std::size_t boundary, std::size_t narrow, double most_work, std::size_t most_held,
                std::int64_t* support)
        : boundary_(static_cast<std::int64_t>(boundary)), narrow_(narrow), most_work_(most_work), most_held_(most_held),
          support_(support), levels_(picks.total() + 1) {}

    SearchReport run(double* matrix, std::size_t size, Picks picks, const double* weights) {
        Level& root = levels_[0];
        root.stride = root.count = size;
        root.entries = matrix;
        root.weights.assign(weights, weights + size);
        root.labels.resize(size);
        for (std::size_t i = 0; i < size; ++i) root.labels[i] = static_cast<std::int64_t>(i);
        products_.resize(size);
        places_.resize(size);
        for (std::size_t i = 0; i < size; ++i) places_[i] = static_cast<std::int64_t>(i);
        sums_.resize(size);
        least_.resize(2 * size);
        kept_weights_.resize(size);
        const std::size_t first = first_nonpositive(root);
        Verdict verdict = first < size ? report_found(root, first, picks) : Verdict::kProven;
        if (verdict == Verdict::kProven) verdict = descend(0, picks);
        return {verdict, nodes_, work_};
    }

private:
    std::size_t group(const Level& here, std::size_t i) const { return here.labels[i] >= boundary_ ? 1 : 0; }

    // Whether as many variables are left as are to be taken, in both groups.
    bool enough(const Level& here, Picks picks) const {
        if (!picks.grouped()) return here.count >= picks.total();
        std::size_t first = 0;
        for (std::size_t i = 0; i < here.count; ++i) first += 1 - group(here, i);
        return first >= picks.of[0] && here.count - first >= picks.of[1];
    }

    // All supports that hold what is taken in and `picks` of the free variables of this level.
    Verdict descend(std::size_t level, Picks picks) {
        Level& here = levels_[level];
        ++nodes_;
        const std::size_t total = picks.total();
        if (total == 1) return Verdict::kProven;  // the diagonal was looked at where the block was made
        if (total == 2) return look_at_pairs(here, picks);
        int passes = level == 0 ? kRootPasses : kNodePasses;
        while (enough(here, picks)) {
            if (here.count == total || here.count <= narrow_) {
                const double n = static_cast<double>(here.count);
                if (work_ + n * n * n / 6.0 > most_work_) return Verdict::kOverspent;
                if (factorises(here)) return Verdict::kProven;
                if (here.count == total) return report_found(here, 0, picks);
            }
            const std::size_t chosen = settle_rows(here, picks, passes);
            if (chosen == here.count) return Verdict::kProven;
            if (overspent_) return Verdict::kOverspent;
            passes = kNodePasses;
            Level& child = levels_[level + 1];
            if (held_ + child.missing(here.count - 1) > most_held_) return Verdict::kOverspent;
            held_ += child.grow(here.count - 1);
            take_in(here, chosen, child);
            taken_.push_back(here.labels[chosen]);
            Picks fewer = picks;
            const std::size_t from = group(here, chosen);
            if (--fewer.of[from] == 0)  // what is left of that group can no longer be chosen
                for (std::size_t i = child.count; i-- > 0;)
                    if (group(child, i) == from) child.remove(i);
            const std::size_t broken = first_nonpositive(child);
            Verdict verdict = Verdict::kProven;
            if (broken < child.count) verdict = report_found(child, broken, fewer);
            else verdict = descend(level + 1, fewer);
            if (verdict != Verdict::kProven) return verdict;
            taken_.pop_back();
            here.remove(chosen);
        }
        return Verdict::kProven;
    }

    void spend(double operations) {
        work_ += operations;
        loop_.add(static_cast<std::size_t>(operations));
    }

    // Two variables more: s_aa s_bb >= s_ab^2 with the rounding of both products.
    Verdict look_at_pairs(Level& here, Picks picks) {
        spend(0.5 * here.count * here.count);
        for (std::size_t a = 0; a < here.count; ++a) {
            const double* row = here.row(a);
            for (std::size_t b = 0; b < a; ++b)
                if ((!picks.grouped() || group(here, a) != group(here, b)) &&
                    !(row[a] * here.row(b)[b] >= row[b] * row[b] * (1.0 + 8.0 * kUnit) + kTiny)) {
                    support_[taken_.size() + 1] = here.labels[b];
                    support_[taken_.size()] = here.labels[a];
                    std::copy(taken_.begin(), taken_.end(), support_);
                    return Verdict::kFound;
                }
        }
        return Verdict::kProven;
    }

    // L D L' of the block with all pivots positive.
    bool factorises(Level& here) {
        const std::size_t n = here.count;
        if (scratch_.size() < n * n) scratch_.resize(n * n);
        double* const s = scratch_.data();
        for (std::size_t i = 0; i < n; ++i) std::copy(here.row(i), here.row(i) + i + 1, s + i * n);
        for (std::size_t j = 0; j < n; ++j) {
            const double pivot = s[j * n + j];
            spend(0.5 * (n - j) * (n - j));
            if (!(pivot > 0.0)) return false;
            for (std::size_t b = j + 1; b < n; ++b) products_[b] = s[b * n + j];
            for (std::size_t b = j + 1; b < n; ++b) {
                const double multiple = products_[b] / pivot;
                double* const row = s + b * n;
                for (std::size_t c = j + 1; c <= b; ++c) row[c] -= multiple * products_[c];
            }
        }
        return true;
    }

    // For every row a the sum of the `picks` - 1 largest |s_ab| d_b, b != a, and the smallest of them.
    void sum_rows(Level& here, Picks picks) {
        const std::size_t n = here.count, used = picks.total() - 1;
        spend(4.0 * n * n);
        if (picks.grouped()) {
            sum_grouped_rows(here, picks);
            return;
        }
        if (n >= kWide) {
            node_row_sums(here.entries, here.stride, places_.data(), n, 0, picks.total(), here.weights.data(),
                          sums_.data(), least_.data());
            return;
        }
        double* const products = products_.data();
        for (std::size_t a = 0; a < n; ++a) {
            const double* row = here.row(a);
            for (std::size_t b = 0; b < n; ++b) products[b] = std::fabs(row[b]) * here.weights[b];
            products[a] = 0.0;
            std::nth_element(products, products + (used - 1), products + n, std::greater<double>());
            double sum = 0.0;
            for (std::size_t b = 0; b < used; ++b) sum += products[b];
            sums_[a] = sum;
            least_[a] = products[used - 1];
        }
    }

    // The same with a number of its own for each group, one less for that of the row. The smallest product used of the
    // second group stands `count` places behind that of the first; -1 where the row's own group has no further pick.
    void sum_grouped_rows(Level& here, Picks picks) {
        const std::size_t n = here.count;
        double* const products = products_.data();
        for (std::size_t a = 0; a < n; ++a) {
            const double* row = here.row(a);
            double sum = 0.0;
            for (std::size_t g = 0; g < 2; ++g) {
                const std::size_t used = picks.of[g] - (group(here, a) == g ? 1 : 0);
                std::size_t count = 0;
                for (std::size_t b = 0; b < n; ++b)
                    if (b != a && group(here, b) == g) products[count++] = std::fabs(row[b]) * here.weights[b];
                least_[a + g * n] = -1.0;
                if (used == 0) continue;
                std::nth_element(products, products + (used - 1), products + count, std::greater<double>());
                for (std::size_t b = 0; b < used; ++b) sum += products[b];
                least_[a + g * n] = products[used - 1];
            }
            sums_[a] = sum;
        }
    }

    // Improves the weights, and removes variables that no block below zero can hold. Returns the row of largest weight
    // among those that are not dominant; count when all are, or when too few variables are left.
    std::size_t settle_rows(Level& here, Picks picks, int passes) {
        const double slack = 4.0 * (static_cast<double>(picks.total()) + 8.0) * kUnit;
        std::size_t fewest = here.count + 1;
        for (int pass = 1;; ++pass) {
            const std::size_t n = here.count;
            sum_rows(here, picks);
            above_.clear();
            std::size_t chosen = n;
            for (std::size_t a = 0; a < n; ++a) {
                if (dominates(here, a, sums_[a], slack)) continue;
                above_.push_back(a);
                if (chosen == n || here.weights[a] > here.weights[chosen]) chosen = a;
            }
            if (chosen == n) return n;
            const std::int64_t label = here.labels[chosen];
            find_hopeless(here, slack, picks.grouped());
            if (above_.size() < fewest) {
                fewest = above_.size();
                for (std::size_t a = 0; a < n; ++a) kept_weights_[here.labels[a]] = here.weights[a];
            }
            // Weights since then have spread what is too much in a few rows over many.
            const bool go_back = passes == kRootPasses && pass == passes && above_.size() > fewest;
            if (pass < passes) improve_weights(here);
            for (const std::size_t b : leaving_) here.remove(b);  // from the last on, so that none of them moves
            if (!enough(here, picks)) return here.count;
            // The children that this many rows would have; a pass more is taken to halve their number at best.
            const double ahead = kChildWork * fewest * here.count * here.count;
            overspent_ = work_ + std::ldexp(ahead, std::min(pass - passes, 0)) > most_work_;
            if (go_back && !overspent_) {
                for (std::size_t a = 0; a < here.count; ++a) here.weights[a] = kept_weights_[here.labels[a]];
                continue;
            }
            if (pass >= passes || overspent_) {
                const auto begin = here.labels.begin();
                return static_cast<std::size_t>(std::find(begin, begin + here.count, label) - begin);
            }
        }
    }

    // Whether s_aa d_a is at least the sum, rounding included.
    static bool dominates(Level& here, std::size_t a, double sum, double slack) {
        return here.row(a)[a] * here.weights[a] >= sum * (1.0 + slack) + kTiny;
    }

    // Variables whose row is dominant and with which in the support all other rows are: in row a they take the place
    // of the smallest product used. Descending.
    void find_hopeless(Level& here, double slack, bool grouped) {
        spend(2.0 * above_.size() * here.count);
        leaving_.clear();
        std::size_t next = above_.size();
        for (std::size_t b = here.count; b-- > 0;) {
            if (next > 0 && above_[next - 1] == b) {
                --next;
                continue;
            }
            bool hopeless = true;
            for (const std::size_t a : above_) {
                const double product = std::fabs(here.row(a)[b]) * here.weights[b];
                const double least = least_[grouped && group(here, b) == 1 ? a + here.count : a];
                if (grouped && least < 0.0) continue;  // the two cannot be chosen together
                const double forced = sums_[a] - (least - std::min(product, least));
                hopeless = dominates(here, a, forced + 2.0 * slack * sums_[a], slack);
                if (!hopeless) break;
            }
            if (hopeless) leaving_.push_back(b);
        }
    }

    // d_a <- d_a sqrt(sum / (s_aa d_a)): rows that are not dominant gain weight. Half a step in the logarithm: whole
    // ones make the largest products of a row change places to and fro.
    void improve_weights(Level& here) {
        const std::size_t n = here.count;
        double largest = 0.0;
        for (std::size_t a = 0; a < n; ++a) {
            here.weights[a] *= std::sqrt(sums_[a] / (here.row(a)[a] * here.weights[a]));
            largest = std::max(largest, here.weights[a]);
        }
        if (!(largest > 0.0 && largest < 1e300)) {
            std::fill(here.weights.begin(), here.weights.begin() + n, 1.0);
            return;
        }
        for (std::size_t a = 0; a < n; ++a) here.weights[a] = std::max(here.weights[a] / largest, kFloor);
    }

    // The Schur complement at one more variable.
    void take_in(Level& here, std::size_t chosen, Level& child) {
        const std::size_t n = here.count;
        spend(static_cast<double>(n) * n);
        const double* column = here.row(chosen);
        const double pivot = column[chosen];
        std::size_t to = 0;
        for (std::size_t b = 0; b < n; ++b) {
            if (b == chosen) continue;
            child.weights[to] = here.weights[b];
            child.labels[to] = here.labels[b];
            const double multiple = column[b] / pivot;
            const double* const row = here.row(b);
            double* const out = child.row(to);
            std::size_t place = 0;
            for (std::size_t c = 0; c <= b; ++c)
                if (c != chosen) out[place++] = row[c] - multiple * column[c];
            ++to;
        }
        for (std::size_t b = 0; b < child.count; ++b)
            for (std::size_t c = 0; c < b; ++c) child.row(c)[b] = child.row(b)[c];
    }

    static std::size_t first_nonpositive(Level& here) {
        for (std::size_t a = 0; a < here.count; ++a)
            if (!(here.row(a)[a] > 0.0)) return a;
        return here.count;
    }

    // What is taken in, the variable, and the others of largest weight.
    Verdict report_found(Level& here, std::size_t variable, Picks picks) {
        std::vector<std::size_t> order(here.count);
        for (std::size_t i = 0; i < here.count; ++i) order[i] = i;
        std::swap(order[0], order[variable]);
        std::stable_sort(order.begin() + 1, order.end(),
                         [&](std::size_t a, std::size_t b) { return here.weights[a] > here.weights[b]; });
        std::copy(taken_.begin(), taken_.end(), support_);
        if (!picks.grouped()) picks = {{picks.total(), picks.total()}};  // all that are left are of one group
        const std::size_t wanted = levels_.size() - 1 - taken_.size();
        std::size_t to = taken_.size();
        for (const std::size_t i : order) {
            if (to == taken_.size() + wanted) break;
            if (picks.of[group(here, i)] == 0) continue;
            --picks.of[group(here, i)];
            support_[to++] = here.labels[i];
        }
        return Verdict::kFound;
    }

    std::int64_t boundary_;
    std::size_t narrow_;  // blocks up to this size are also factorised as a whole
    double most_work_, work_ = 0.0;
    std::size_t most_held_, held_ = 0;
    bool overspent_ = false;
    std::int64_t nodes_ = 0;
    std::int64_t* support_;
    std::vector<Level> levels_;
    std::vector<std::int64_t> taken_, places_;
    std::vector<double> scratch_, products_, sums_, least_, kept_weights_;
    std::vector<std::size_t> above_, leaving_;
    CheckedLoop loop_;
};

}  // namespace

SearchReport search_blocks(double* matrix, std::size_t size, std::size_t picks, std::size_t others,
                           std::size_t boundary, std::size_t narrow, double most_work, std::size_t most_held,
                           const double* weights, std::int64_t* support) {
    const Picks both{{picks, others}};
    return BlockSearch(both, boundary, narrow, most_work, most_held, support).run(matrix, size, both, weights);
}

}  // namespace sparseigen
