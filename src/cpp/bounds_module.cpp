// The Python bindings of the kernels behind the bounds; only shapes that could walk out of memory are tested.
#include "bounds_module.hpp"

#include "bindings.hpp"
#include "bounds.hpp"

namespace sparseigen {
namespace {

using Numbers = Vector<double>;
using Positions = Vector<std::int64_t>;
using Block = Matrix<double>;
using NumbersOutput = Output<double>;

template <class Array>
bool is_square(const Array& matrix, std::size_t size) {
    return matrix.shape(0) == size && matrix.shape(1) == size;
}

template <class T>
void bind_split(nb::module_& m) {
    m.def("split_ceilings", [](Matrix<T> matrix, Matrix<T> rest, Matrix<T> ratios, Matrix<T> others, std::size_t count,
                               NumbersOutput ceilings, Output<T> thresholds) {
        const std::size_t n = matrix.shape(0);
        expect(is_square(matrix, n) && is_square(rest, n) && is_square(ratios, n), "shapes do not match");
        expect(n > 0 && others.shape(0) == n, "rows do not match");
        expect(ceilings.shape(0) == n && thresholds.shape(0) == n, "outputs have the wrong length");
        const KernelScope kernel;
        split_ceilings(matrix.data(), rest.data(), ratios.data(), others.data(), n, others.shape(1), count,
                       ceilings.data(), thresholds.data());
    }, as_is(), as_is(), as_is(), as_is(), nb::arg(), as_is(), as_is());
    m.def("split_slopes", [](Matrix<T> matrix, Matrix<T> rest, Matrix<T> ratios, Vector<T> thresholds, Vector<T> weight,
                             Matrix<T> density, T floor, T momentum, Table<T> slope, Table<T> turn,
                             NumbersOutput norms) {
        const std::size_t n = matrix.shape(0);
        expect(is_square(matrix, n) && is_square(rest, n) && is_square(ratios, n), "shapes do not match");
        expect(is_square(density, n) && is_square(slope, n) && is_square(turn, n), "shapes do not match");
        expect(thresholds.shape(0) == n && weight.shape(0) == n && norms.shape(0) == 4, "lengths do not match");
        const KernelScope kernel;
        split_slopes(Split<T>{matrix.data(), rest.data(), ratios.data()}, n, thresholds.data(), weight.data(),
                     density.data(), floor, momentum, slope.data(), turn.data(), norms.data());
    }, as_is(), as_is(), as_is(), as_is(), as_is(), as_is(), nb::arg(), nb::arg(), as_is(), as_is(), as_is());
    m.def("split_update", [](Matrix<T> matrix, Table<T> rest, Table<T> ratios, Matrix<T> slope, Matrix<T> turn, T floor,
                             T step, T most) {
        const std::size_t n = matrix.shape(0);
        expect(is_square(matrix, n) && is_square(rest, n) && is_square(ratios, n), "shapes do not match");
        expect(is_square(slope, n) && is_square(turn, n), "shapes do not match");
        const KernelScope kernel;
        split_update(matrix.data(), rest.data(), ratios.data(), slope.data(), turn.data(), floor, step, most, n);
    }, as_is(), as_is(), as_is(), as_is(), as_is(), nb::arg(), nb::arg(), nb::arg());
}

}  // namespace

void bind_bounds(nb::module_& m) {
    m.def("top_row_sums", [](Block block, Positions own, Numbers weights, std::size_t count, NumbersOutput sums, NumbersOutput least) {
        const std::size_t rows = block.shape(0), width = block.shape(1);
        expect(own.shape(0) == rows && weights.shape(0) == width, "lengths do not match");
        expect(sums.shape(0) == rows && least.shape(0) == rows, "outputs have the wrong length");
        expect(count < width || width == 0, "more entries asked for than there are");
        expect_below(own, width, "index out of range");
        const KernelScope kernel;
        top_row_sums(block.data(), rows, width, own.data(), weights.data(), count, sums.data(), least.data());
    });
    m.def("row_ceilings", [](Matrix<float> block, Positions own, Vector<float> weights, std::size_t count,
                             NumbersOutput ceilings, Output<float> thresholds) {
        const std::size_t rows = block.shape(0), width = block.shape(1);
        expect(own.shape(0) == rows && weights.shape(0) == width, "lengths do not match");
        expect(ceilings.shape(0) == rows && thresholds.shape(0) == rows, "outputs have the wrong length");
        expect(width > 0, "rows are empty");
        expect_below(own, width, "index out of range");
        const KernelScope kernel;
        row_ceilings(block.data(), rows, width, own.data(), weights.data(), count, ceilings.data(), thresholds.data());
    }, as_is(), as_is(), as_is(), nb::arg(), as_is(), as_is());
    m.def("node_row_sums", [](Block matrix, Positions members, std::size_t n_inside, std::size_t picks, Numbers weights,
                              NumbersOutput sums, NumbersOutput least) {
        const std::size_t n = members.shape(0);
        expect(matrix.shape(0) == matrix.shape(1) && n_inside <= n && picks <= n - n_inside, "counts do not fit");
        expect(weights.shape(0) == n && sums.shape(0) == n && least.shape(0) == n, "lengths do not match");
        expect_below(members, matrix.shape(0), "index out of range");
        const KernelScope kernel;
        node_row_sums(matrix.data(), matrix.shape(0), members.data(), n, n_inside, picks, weights.data(), sums.data(),
                      least.data());
    });
    bind_split<float>(m);
    bind_split<double>(m);
}

}  // namespace sparseigen
