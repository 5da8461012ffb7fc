// The Python bindings of the compiled kernels. Arguments are checked by kernels/compiled.py; here only shapes that
// could walk out of memory are tested.
#include "bindings.hpp"
#include "bounds_module.hpp"
#include "graph_bind.hpp"
#include "kernels.hpp"
#include "thread_pool.hpp"

using namespace sparseigen;

namespace {

template <class T>
void bind_combine(nb::module_& m) {
    m.def("combine_rows", [](Matrix<T> matrix, Vector<std::int64_t> rows, Vector<T> weights, Output<T> out) {
        expect(rows.shape(0) == weights.shape(0), "rows and weights differ in length");
        expect(out.shape(0) == matrix.shape(1), "out has the wrong length");
        expect_below(rows, matrix.shape(0), "row index out of range");
        const KernelScope kernel;
        combine_rows(matrix.data(), matrix.shape(1), rows.data(), rows.shape(0), weights.data(), out.data(),
                     matrix.shape(1));
    });
    m.def("row_dots", [](Matrix<T> matrix, Vector<T> vector, Output<T> out) {
        expect(vector.shape(0) == matrix.shape(1) && out.shape(0) == matrix.shape(0), "lengths do not match");
        const KernelScope kernel;
        row_dots(matrix.data(), matrix.shape(1), matrix.shape(0), matrix.shape(1), vector.data(), out.data());
    });
    m.def("row_moments", [](Matrix<T> matrix, Vector<T> s, Vector<T> v, Vector<T> w, Output<T> out) {
        const std::size_t width = matrix.shape(1);
        expect(s.shape(0) == width && v.shape(0) == width && w.shape(0) == width, "lengths do not match");
        expect(out.shape(0) == 3 * matrix.shape(0), "out has the wrong length");
        const KernelScope kernel;
        row_moments<T>(matrix.data(), matrix.shape(0), width, s.data(), v.data(), w.data(), out.data());
    });
    m.def("power_step", [](Matrix<T> matrix, Vector<std::int64_t> support, Vector<T> weights, double divisor,
                           bool nonnegative, Output<T> scores, Output<std::int64_t> indices, Output<T> values) {
        expect(support.shape(0) == weights.shape(0), "support and weights differ in length");
        expect(scores.shape(0) == matrix.shape(1), "scores have the wrong length");
        expect(indices.shape(0) == values.shape(0) && indices.shape(0) >= 1 && indices.shape(0) <= matrix.shape(0),
               "between 1 and all rows can be asked for");
        expect_below(support, matrix.shape(0), "row index out of range");
        const KernelScope kernel;
        power_step<T>(matrix.data(), matrix.shape(0), matrix.shape(1), support.data(), support.shape(0),
                      weights.data(), static_cast<T>(divisor), indices.shape(0), nonnegative, scores.data(),
                      indices.data(), values.data());
    }, as_is(), as_is(), as_is(), nb::arg(), nb::arg(), as_is(), as_is(), as_is());
    m.def("largest_magnitudes", [](Vector<T> values, bool nonnegative, Output<std::int64_t> out) {
        expect(out.shape(0) <= values.shape(0), "more entries asked for than there are");
        const KernelScope kernel;
        if (out.shape(0) > 0)
            largest_magnitudes(values.data(), values.shape(0), out.shape(0), nonnegative, out.data());
    });
}

template <class T, class I, class C>
void bind_sparse(nb::module_& m) {
    m.def("sparse_combine_rows", [](Vector<I> row_starts, Vector<C> columns, Vector<T> values,
                                    Vector<std::int64_t> rows, Vector<T> weights, Output<T> out) {
        expect(rows.shape(0) == weights.shape(0), "rows and weights differ in length");
        expect(row_starts.shape(0) >= 1 && columns.shape(0) == values.shape(0), "lengths do not match");
        expect_below(rows, row_starts.shape(0) - 1, "row index out of range");
        for (std::size_t f = 0; f < rows.shape(0); ++f) {
            const I begin = row_starts.data()[rows.data()[f]], end = row_starts.data()[rows.data()[f] + 1];
            expect(begin >= 0 && begin <= end && static_cast<std::size_t>(end) <= values.shape(0),
                   "row starts do not fit the entries");
        }
        const KernelScope kernel;
        sparse_combine_rows<T, I, C>(row_starts.data(), columns.data(), values.data(), rows.data(), rows.shape(0),
                                     weights.data(), out.data(), out.shape(0));
    });
    m.def("sparse_row_dots",
          [](Vector<I> row_starts, Vector<C> columns, Vector<T> values, Vector<T> vector, Output<T> out) {
              expect(row_starts.shape(0) == out.shape(0) + 1 && columns.shape(0) == values.shape(0),
                     "lengths do not match");
              expect_starts(row_starts, values.shape(0));
              const KernelScope kernel;
              sparse_row_dots<T, I, C>(row_starts.data(), columns.data(), values.data(), out.shape(0), vector.data(),
                                       out.data());
          });
}

template <class T, class I>
void bind_sparse_columns(nb::module_& m) {
    m.def("sparse_transpose", [](Vector<I> row_starts, Vector<I> columns, Vector<T> values, Output<I> starts,
                                 Output<I> rows, Output<T> out) {
        expect(columns.shape(0) == values.shape(0) && starts.shape(0) >= 1, "lengths do not match");
        expect_starts(row_starts, values.shape(0));
        const std::size_t n_rows = row_starts.shape(0) - 1;
        const std::size_t stored = static_cast<std::size_t>(row_starts.data()[n_rows] - row_starts.data()[0]);
        expect(rows.shape(0) == stored && out.shape(0) == stored, "lengths do not match");
        const KernelScope kernel;
        sparse_transpose<T, I>(row_starts.data(), columns.data(), values.data(), n_rows, starts.shape(0) - 1,
                               starts.data(), rows.data(), out.data());
    }, nb::arg(), nb::arg(), nb::arg(), as_is(), as_is(), as_is());
    bind_sparse<T, I, I>(m);
    bind_sparse<T, I, std::uint16_t>(m);
}

}  // namespace

void bind_screening(nb::module_& m);  // screening_bind.cpp

NB_MODULE(_compiled, m) {
    m.doc() = "Compiled kernels of sparseigen; use sparseigen.kernels, which also has the NumPy twins.";
    bind_combine<double>(m);
    bind_combine<float>(m);
    bind_sparse_columns<double, std::int32_t>(m);
    bind_sparse_columns<double, std::int64_t>(m);
    bind_sparse_columns<float, std::int32_t>(m);
    bind_sparse_columns<float, std::int64_t>(m);
    bind_screening(m);
    m.def("stream_sum", [](Vector<double> values) {
        const KernelScope kernel;
        return stream_sum(values.data(), values.shape(0));
    });
    bind_bounds(m);
    bind_symmetric(m);
    bind_graph(m);
    m.def("thread_count", &thread_count);
    m.def("set_thread_count", &set_thread_count);
}
