// The Python bindings of the kernels of dense symmetric matrices.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "bindings.hpp"
#include "bounds_module.hpp"
#include "small_search.hpp"
#include "symmetric.hpp"

namespace sparseigen {
namespace {

template <class T>
void bind_typed(nb::module_& m) {
    m.def("survey_symmetric", [](Matrix<T> matrix) {
        expect(matrix.shape(0) == matrix.shape(1), "the matrix is not square");
        Survey found{};
        {
            const KernelScope kernel;
            found = survey_symmetric(matrix.data(), matrix.shape(0));
        }
        return std::make_tuple(found.largest, found.asymmetry, found.finite);
    }, as_is());
    m.def("symmetric_step", [](Matrix<T> matrix, Vector<std::int64_t> support, Vector<double> weights,
                               bool nonnegative, Output<std::int64_t> indices, Output<double> values) {
        expect(matrix.shape(0) == matrix.shape(1), "the matrix is not square");
        expect(support.shape(0) == weights.shape(0), "support and weights differ in length");
        expect(indices.shape(0) == values.shape(0) && indices.shape(0) >= 1 && indices.shape(0) <= matrix.shape(0),
               "between 1 and all entries can be asked for");
        expect_below(support, matrix.shape(0), "row index out of range");
        const KernelScope kernel;
        return symmetric_step(matrix.data(), matrix.shape(0), support.data(), support.shape(0), weights.data(),
                              indices.shape(0), nonnegative, indices.data(), values.data());
    }, as_is(), as_is(), as_is(), nb::arg(), as_is(), as_is());
    m.def("symmetric_steps", [](Matrix<T> matrix, bool nonnegative, Table<std::int64_t> indices, Table<double> values,
                                Output<double> lengths, Output<double> forms, Output<bool> repeated) {
        const std::size_t n_steps = lengths.shape(0), cardinality = indices.shape(1);
        expect(matrix.shape(0) == matrix.shape(1), "the matrix is not square");
        expect(cardinality >= 1 && cardinality <= matrix.shape(0), "between 1 and all entries can be asked for");
        expect(values.shape(0) == n_steps + 1 && indices.shape(0) == n_steps + 1 && forms.shape(0) == n_steps &&
                   repeated.shape(0) == n_steps && values.shape(1) == cardinality,
               "outputs have the wrong shape");
        for (std::size_t c = 0; c < cardinality; ++c)
            expect(indices.data()[c] >= 0 && static_cast<std::size_t>(indices.data()[c]) < matrix.shape(0),
                   "row index out of range");
        const KernelScope kernel;
        return symmetric_steps(matrix.data(), matrix.shape(0), cardinality, nonnegative, n_steps, indices.data(),
                               values.data(), lengths.data(), forms.data(), repeated.data());
    }, as_is(), nb::arg(), as_is(), as_is(), as_is(), as_is(), as_is());
}

}  // namespace

void bind_symmetric(nb::module_& m) {
    bind_typed<double>(m);
    bind_typed<float>(m);
    m.def("search_blocks", [](Table<double> matrix, std::size_t picks, std::size_t others, std::size_t boundary,
                              std::size_t narrow, double most_work, std::size_t most_held, Vector<double> weights,
                              Output<std::int64_t> support) {
        const std::size_t size = matrix.shape(0);
        expect(matrix.shape(1) == size && weights.shape(0) == size, "lengths do not match");
        expect(picks >= 1 && picks <= boundary && boundary <= size && others <= size - boundary &&
                   support.shape(0) == picks + others,
               "counts do not fit");
        SearchReport report{};
        {
            const KernelScope kernel;
            report = search_blocks(matrix.data(), size, picks, others, boundary, narrow, most_work, most_held,
                                   weights.data(), support.data());
        }
        return std::make_tuple(static_cast<int>(report.verdict), report.nodes, report.work);
    }, as_is(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), as_is(), as_is());
}

}  // namespace sparseigen
