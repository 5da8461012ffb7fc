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
using MatrixOutput = Table<double>;

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
    m.def("split_slopes", [](Block part, Block ratios, Numbers least, Numbers weight, Block density, Block scale,
                             MatrixOutput slope, MatrixOutput turn, MatrixOutput per_row) {
        const std::size_t n = part.shape(0);
        const auto square = [n](const auto& matrix) { return matrix.shape(0) == n && matrix.shape(1) == n; };
        expect(square(part) && square(ratios) && square(density) && square(scale), "shapes do not match");
        expect(square(slope) && square(turn), "outputs have the wrong shape");
        expect(least.shape(0) == n && weight.shape(0) == n, "lengths do not match");
        expect(per_row.shape(0) == n && per_row.shape(1) == 4, "outputs have the wrong shape");
        const KernelScope kernel;
        split_slopes(part.data(), ratios.data(), least.data(), weight.data(), density.data(), scale.data(), n,
                     slope.data(), turn.data(), per_row.data());
    });
    m.def("split_update", [](MatrixOutput part, MatrixOutput ratios, Block slope, Block turn, Block scale, double step,
                             double most) {
        const std::size_t n = part.shape(0);
        const auto square = [n](const auto& matrix) { return matrix.shape(0) == n && matrix.shape(1) == n; };
        expect(square(part) && square(ratios) && square(slope) && square(turn) && square(scale), "shapes do not match");
        const KernelScope kernel;
        split_update(part.data(), ratios.data(), slope.data(), turn.data(), scale.data(), step, most, n);
    });
}

}  // namespace sparseigen
