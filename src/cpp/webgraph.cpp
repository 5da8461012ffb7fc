#include "webgraph.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "interrupts.hpp"

namespace sparseigen {
namespace {

constexpr const char* kNotANode = "a successor is not a node of the graph";

void expect(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

class BitReader {
public:
    BitReader(const std::uint8_t* bytes, std::size_t n_bytes, std::int64_t position, int zeta)
        : bytes_(bytes), n_bits_(static_cast<std::int64_t>(n_bytes) * 8), position_(position), zeta_(zeta) {}

    std::int64_t position() const { return position_; }

    std::int64_t read(Code code) {
        switch (code) {
            case Code::kUnary: return unary();
            case Code::kGamma: return gamma();
            case Code::kDelta: return prefixed(gamma());
            default: return zeta();
        }
    }

private:
    std::int64_t bits(int count) {
        expect(position_ + count <= n_bits_, "the bit stream ends early");
        std::uint64_t value = 0;
        while (count > 0) {
            const int offset = static_cast<int>(position_ & 7);
            const int taken = std::min(count, 8 - offset);
            const unsigned byte = bytes_[position_ >> 3];
            value = (value << taken) | ((byte >> (8 - offset - taken)) & ((1u << taken) - 1u));
            position_ += taken;
            count -= taken;
        }
        return static_cast<std::int64_t>(value);
    }
    std::int64_t unary() {
        std::int64_t zeros = 0;
        while (true) {
            expect(position_ < n_bits_, "the bit stream ends early");
            const int offset = static_cast<int>(position_ & 7);
            const unsigned rest = (bytes_[position_ >> 3] << offset) & 0xFFu;
            if (rest == 0) {
                zeros += 8 - offset;
                position_ += 8 - offset;
                continue;
            }
            int leading = 0;
            while (!(rest & (0x80u >> leading))) ++leading;
            position_ += leading + 1;
            return zeros + leading;
        }
    }
    std::int64_t prefixed(std::int64_t length) {
        expect(length < 62, "a number in the bit stream is too long");
        return ((std::int64_t{1} << length) | bits(static_cast<int>(length))) - 1;
    }
    std::int64_t gamma() { return prefixed(unary()); }
    std::int64_t zeta() {
        const std::int64_t steps = unary();
        expect(steps * zeta_ + zeta_ < 62, "a number in the bit stream is too long");
        const std::int64_t left = std::int64_t{1} << (steps * zeta_);
        const std::int64_t first = bits(static_cast<int>(steps * zeta_) + zeta_ - 1);
        return first < left ? first + left - 1 : (first << 1) + bits(1) - 1;
    }

    const std::uint8_t* bytes_;
    std::int64_t n_bits_, position_;
    int zeta_;
};

constexpr std::size_t kNumberWork = 16;  // what decoding a number costs, in additions

std::int64_t signed_of(std::int64_t natural) { return natural & 1 ? -((natural + 1) >> 1) : natural >> 1; }

// The successors copied from the reference list: blocks that are taken and left out in turn.
void copy_blocks(BitReader& reader, const WebGraphFormat& format, const std::int32_t* from, std::int64_t length,
                 std::vector<std::int64_t>& list) {
    const std::int64_t n_blocks = reader.read(format.block_counts);
    std::int64_t at = 0;
    for (std::int64_t b = 0; b < n_blocks; ++b) {
        const std::int64_t block = reader.read(format.blocks) + (b == 0 ? 0 : 1);
        expect(block <= length - at, "a copied block is longer than its reference list");
        if (b % 2 == 0) list.insert(list.end(), from + at, from + at + block);
        at += block;
    }
    if (n_blocks % 2 == 0) list.insert(list.end(), from + at, from + length);
}

// Runs of consecutive successors. Every number is held against the graph's size before it is added to another: a
// stream can say anything up to 2^62.
void read_intervals(BitReader& reader, const WebGraphFormat& format, std::int64_t node, std::size_t degree,
                    std::vector<std::int64_t>& list) {
    const std::int64_t n_intervals = reader.read(Code::kGamma);
    std::int64_t next = 0;
    for (std::int64_t i = 0; i < n_intervals; ++i) {
        const std::int64_t gap = reader.read(Code::kGamma);
        const std::int64_t left = i == 0 ? node + signed_of(gap) : next + 1 + gap;
        const std::int64_t length = reader.read(Code::kGamma) + format.shortest_interval;
        expect(length <= static_cast<std::int64_t>(degree - list.size()), "a list is longer than its out-degree");
        expect(left >= 0 && left <= format.nodes - length, kNotANode);
        for (std::int64_t s = 0; s < length; ++s) list.push_back(left + s);
        next = left + length;
    }
}

void read_residuals(BitReader& reader, const WebGraphFormat& format, std::int64_t node, std::size_t degree,
                    std::vector<std::int64_t>& list) {
    if (list.size() >= degree) return;
    std::int64_t successor = node + signed_of(reader.read(format.residuals));
    while (true) {
        expect(successor >= 0 && successor < format.nodes, kNotANode);
        list.push_back(successor);
        if (list.size() == degree) return;
        successor += reader.read(format.residuals) + 1;
    }
}

}  // namespace

std::int64_t decode_webgraph(const std::uint8_t* bytes, std::size_t n_bytes, std::int64_t position,
                             const WebGraphFormat& format, std::int64_t first, std::int64_t last,
                             std::int64_t* starts, std::int32_t* successors) {
    BitReader reader(bytes, n_bytes, position, format.zeta);
    std::vector<std::int64_t> list;
    CheckedLoop checked;
    for (std::int64_t node = first; node < last; ++node) {
        list.clear();
        const std::int64_t degree = reader.read(format.out_degrees);
        expect(starts[node] >= 0 && starts[node] <= format.arcs, "row starts do not fit");
        expect(degree <= format.arcs - starts[node], "there are more arcs than the properties say");
        if (degree > 0) {
            const std::int64_t back = format.window > 0 ? reader.read(format.references) : 0;
            expect(back <= std::min(format.window, node), "a reference points before the window");
            expect(starts[node - back] >= 0 && starts[node - back] <= starts[node - back + (back > 0)] &&
                       starts[node - back + (back > 0)] <= starts[node],
                   "row starts do not ascend");
            if (back > 0)
                copy_blocks(reader, format, successors + starts[node - back],
                            starts[node - back + 1] - starts[node - back], list);
            const std::size_t wanted = static_cast<std::size_t>(degree);
            expect(list.size() <= wanted, "a list is longer than its out-degree");
            if (list.size() < wanted && format.shortest_interval > 0)
                read_intervals(reader, format, node, wanted, list);
            read_residuals(reader, format, node, wanted, list);
            std::sort(list.begin(), list.end());
            expect(std::adjacent_find(list.begin(), list.end()) == list.end(), "a successor is listed twice");
        }
        std::copy(list.begin(), list.end(), successors + starts[node]);
        starts[node + 1] = starts[node] + degree;
        checked.add(kNumberWork * (static_cast<std::size_t>(degree) + 1));
    }
    return reader.position();
}

}  // namespace sparseigen
