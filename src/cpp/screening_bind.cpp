#include "bindings.hpp"
#include "screening.hpp"

using namespace sparseigen;

namespace {

using Codes = nb::ndarray<const std::int8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using CodesOutput = nb::ndarray<std::int8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
void bind_for(nb::module_& m) {
    m.def("shadow_codes", [](Matrix<T> rows, CodesOutput codes, Output<double> scales, Output<double> errors,
                             Output<double> norms) {
        const std::size_t count = rows.shape(0);
        expect(codes.shape(0) == count && codes.shape(1) == rows.shape(1), "codes have the wrong shape");
        expect(scales.shape(0) == count && errors.shape(0) == count && norms.shape(0) == count, "lengths do not match");
        const KernelScope kernel;
        shadow_codes<T>(rows.data(), count, rows.shape(1), codes.data(), scales.data(), errors.data(), norms.data());
    });
    m.def("bounded_step", [](Matrix<T> rows, Vector<double> lower, Vector<double> upper, Vector<T> vector,
                             double guess, Output<std::int64_t> indices, Output<T> values, Output<T> combined) {
        const std::size_t count = rows.shape(0), width = rows.shape(1);
        expect(lower.shape(0) == count && upper.shape(0) == count, "bounds have the wrong length");
        expect(vector.shape(0) == width && combined.shape(0) == width, "vectors have the wrong length");
        expect(indices.shape(0) == values.shape(0) && indices.shape(0) >= 1 && indices.shape(0) <= count,
               "between 1 and all rows can be asked for");
        const KernelScope kernel;
        return bounded_step<T>(rows.data(), count, width, lower.data(), upper.data(), vector.data(),
                               static_cast<T>(guess), indices.shape(0), indices.data(), values.data(), combined.data());
    }, as_is(), as_is(), as_is(), as_is(), nb::arg(), as_is(), as_is(), as_is());
    m.def("fused_step", [](Matrix<T> rows, Vector<T> vector, double guess, Output<T> product,
                           Output<std::int64_t> indices, Output<T> values, Output<T> combined) {
        const std::size_t count = rows.shape(0), width = rows.shape(1);
        expect(vector.shape(0) == width && combined.shape(0) == width, "vectors have the wrong length");
        expect(product.shape(0) == count, "product has the wrong length");
        expect(indices.shape(0) == values.shape(0) && indices.shape(0) >= 1 && indices.shape(0) <= count,
               "between 1 and all rows can be asked for");
        const KernelScope kernel;
        fused_step<T>(rows.data(), count, width, vector.data(), static_cast<T>(guess), indices.shape(0),
                      product.data(), indices.data(), values.data(), combined.data());
    }, as_is(), as_is(), nb::arg(), as_is(), as_is(), as_is(), as_is());
}

}  // namespace

void bind_screening(nb::module_& m) {
    bind_for<double>(m);
    bind_for<float>(m);
    m.def("shadow_bounds", [](Codes codes, Vector<double> scales, Vector<double> errors, Vector<double> norms,
                              Vector<double> vector, double slack, Output<double> lower, Output<double> upper) {
        const std::size_t count = codes.shape(0);
        expect(vector.shape(0) == codes.shape(1), "vector has the wrong length");
        expect(scales.shape(0) == count && errors.shape(0) == count && norms.shape(0) == count &&
                   lower.shape(0) == count && upper.shape(0) == count,
               "lengths do not match");
        const KernelScope kernel;
        shadow_bounds(codes.data(), scales.data(), errors.data(), norms.data(), count, codes.shape(1), vector.data(),
                      slack, lower.data(), upper.data());
    });
    m.def("running_bounds", [](Vector<double> products, Vector<double> norms, double unit, double length, double cosine,
                               double sine, double slack, Output<double> lower, Output<double> upper) {
        const std::size_t count = products.shape(0);
        expect(norms.shape(0) == count && lower.shape(0) == count && upper.shape(0) == count, "lengths do not match");
        const KernelScope kernel;
        running_bounds(products.data(), norms.data(), count, unit, length, cosine, sine, slack, lower.data(), upper.data());
    });
}
