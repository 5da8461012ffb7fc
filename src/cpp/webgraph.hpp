// The WebGraph (BV) bit stream: P. Boldi and S. Vigna, "The WebGraph framework I: compression techniques" (2004).
#pragma once
#include <cstddef>
#include <cstdint>

namespace sparseigen {

// How the numbers of one kind are written.
enum class Code : int { kUnary = 0, kGamma = 1, kDelta = 2, kZeta = 3 };

struct WebGraphFormat {
    std::int64_t nodes, arcs;
    std::int64_t window, shortest_interval;
    int zeta;
    Code out_degrees, references, block_counts, blocks, residuals;
};

// Decodes the successor lists of the nodes [first, last) from bit `position` on, behind those already in `starts` and
// `successors` (references point at most `window` nodes back). Returns the position after them. Throws
// std::invalid_argument when the stream is not what the format says.
std::int64_t decode_webgraph(const std::uint8_t* bytes, std::size_t n_bytes, std::int64_t position,
                             const WebGraphFormat& format, std::int64_t first, std::int64_t last,
                             std::int64_t* starts, std::int32_t* successors);

}  // namespace sparseigen
