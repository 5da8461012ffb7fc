// Everything the graph kernels add to the extension module.
#pragma once
#include <nanobind/nanobind.h>

namespace sparseigen {

void bind_graph(nanobind::module_& m);

}  // namespace sparseigen
