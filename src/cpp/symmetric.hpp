// Dense symmetric matrices of the caller's: the one look at the door, and whole steps of Algorithm 1.
// Twins in kernels/numpy_reference.py.
#pragma once
#include <cstddef>
#include <cstdint>

namespace sparseigen {

struct Survey {
    double largest;    // max |A_ij|
    double asymmetry;  // max |A_ij - A_ji|
    bool finite;       // whether all entries are; otherwise the other two say nothing
};

// One read of a square matrix, tile against mirrored tile.
template <class T>
Survey survey_symmetric(const T* matrix, std::size_t size);

// Steps of Algorithm 1, y = A x truncated to its k largest magnitudes, x = y / |y|, as long as y is not zero.
//
// Row 0 of indices and values (n_steps + 1 rows of k) holds the truncated product to start from. After step s = 1, 2,
// ..., row s - 1 holds iterate s (of length one) and row s its truncated product; lengths[s - 1] is the length of the
// product that the iterate was made of, forms[s - 1] its x'Ax, and repeated[s - 1] whether row s has the support of row
// s - 1. Returns the number of steps made.
template <class T>
std::size_t symmetric_steps(const T* matrix, std::size_t size, std::size_t cardinality, bool nonnegative,
                            std::size_t n_steps, std::int64_t* indices, double* values, double* lengths,
                            double* forms, bool* repeated);

// The product with one sparse vector, truncated: x'Ax is returned.
template <class T>
double symmetric_step(const T* matrix, std::size_t size, const std::int64_t* support, std::size_t n_support,
                      const double* weights, std::size_t cardinality, bool nonnegative, std::int64_t* indices,
                      double* values);

}  // namespace sparseigen
