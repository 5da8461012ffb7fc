// Whether all small principal blocks of a symmetric matrix are positive semidefinite: the search behind the exact
// proofs of small problems. Twin in kernels/block_search.py.
#pragma once
#include <cstddef>
#include <cstdint>

namespace sparseigen {

enum class Verdict { kProven = 0, kFound = 1, kOverspent = 2 };

struct SearchReport {
    Verdict verdict;
    std::int64_t nodes;
    double work;  // elementary operations
};

// Every principal block of `picks` of the variables below `boundary` and `others` of the rest: kProven when all are
// positive semidefinite up to rounding (certificates/small_proof.py says how much), kFound with the support of one that
// is not as far as the computation sees, kOverspent after about `most_work` operations or where blocks of more than
// `most_held` entries in all would have to be held. Blocks of up to `narrow` variables are also looked at as a whole: where
// they are positive semidefinite, so is every block in them. `weights` (> 0) start the row bounds. The matrix is overwritten.
SearchReport search_blocks(double* matrix, std::size_t size, std::size_t picks, std::size_t others,
                           std::size_t boundary, std::size_t narrow, double most_work, std::size_t most_held,
                           const double* weights, std::int64_t* support);

}  // namespace sparseigen
