// The Python face of the kernels behind the bounds; only shapes that could walk out of memory are tested.
#include "bounds_module.hpp"

#include <nanobind/ndarray.h>

#include <stdexcept>

#include "bounds.hpp"

namespace nb = nanobind;

namespace sparseigen {
namespace {

using Numbers = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Positions = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Block = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void expect(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

void expect_below(const Positions& positions, std::size_t limit) {
    for (std::size_t f = 0; f < positions.shape(0); ++f)
        expect(positions.data()[f] >= 0 && static_cast<std::size_t>(positions.data()[f]) < limit,
               "index out of range");
}

}  // namespace

void bind_bounds(nb::module_& m) {
    m.def("top_row_sums", [](Block block, Positions own, Numbers weights, std::size_t count, Output sums, Output least) {
        const std::size_t rows = block.shape(0), width = block.shape(1);
        expect(own.shape(0) == rows && weights.shape(0) == width, "lengths do not match");
        expect(sums.shape(0) == rows && least.shape(0) == rows, "outputs have the wrong length");
        expect(count < width || width == 0, "more entries asked for than there are");
        expect_below(own, width);
        nb::gil_scoped_release release;
        top_row_sums(block.data(), rows, width, own.data(), weights.data(), count, sums.data(), least.data());
    });
    m.def("node_row_sums", [](Block matrix, Positions members, std::size_t n_inside, std::size_t picks, Numbers weights,
                              Output sums, Output least) {
        const std::size_t n = members.shape(0);
        expect(matrix.shape(0) == matrix.shape(1) && n_inside <= n && picks <= n - n_inside, "counts do not fit");
        expect(weights.shape(0) == n && sums.shape(0) == n && least.shape(0) == n, "lengths do not match");
        expect_below(members, matrix.shape(0));
        nb::gil_scoped_release release;
        node_row_sums(matrix.data(), matrix.shape(0), members.data(), n, n_inside, picks, weights.data(), sums.data(),
                      least.data());
    });
}

}  // namespace sparseigen
