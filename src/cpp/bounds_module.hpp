#pragma once
#include <nanobind/nanobind.h>

namespace sparseigen {

// Adds the kernels behind the bounds to the extension module.
void bind_bounds(nanobind::module_& m);
// Adds those of dense symmetric matrices: the check at the door, steps, the search for small problems.
void bind_symmetric(nanobind::module_& m);

}  // namespace sparseigen
