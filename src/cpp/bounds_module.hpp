#pragma once
#include <nanobind/nanobind.h>

namespace sparseigen {

// Adds the kernels behind the bounds to the extension module.
void bind_bounds(nanobind::module_& m);

}  // namespace sparseigen
