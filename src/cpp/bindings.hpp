// The array types and checks that every file of Python bindings uses.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <stdexcept>

#include "interrupts.hpp"

namespace sparseigen {

namespace nb = nanobind;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Output = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Table = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;  // written to

// An array argument that must have its type exactly: converted copies of an output would be written in vain.
inline auto as_is() { return nb::arg().noconvert(); }

inline void expect(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

// Row starts of compressed rows: from 0 up to at most the stored entries. The columns themselves are checked where
// the matrix is made (checks/sparse.py): once, and not in every product.
template <class I>
void expect_starts(const Vector<I>& starts, std::size_t stored) {
    expect(starts.shape(0) >= 1, "row starts are empty");
    const std::size_t rows = starts.shape(0) - 1;
    bool ascending = starts.data()[0] >= 0;
    for (std::size_t i = 0; i < rows; ++i) ascending &= starts.data()[i] <= starts.data()[i + 1];
    expect(ascending && static_cast<std::size_t>(starts.data()[rows]) <= stored, "row starts do not fit the entries");
}

// Indices that a kernel is going to follow without a second look.
inline void expect_below(const Vector<std::int64_t>& positions, std::size_t limit, const char* message) {
    for (std::size_t f = 0; f < positions.shape(0); ++f)
        expect(positions.data()[f] >= 0 && static_cast<std::size_t>(positions.data()[f]) < limit, message);
}

}  // namespace sparseigen
