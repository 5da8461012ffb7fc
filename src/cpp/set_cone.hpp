// The row projections behind the bound on dense subgraphs. Twin in kernels/set_cone.py, with the derivation.
#pragma once
#include <cstddef>

namespace sparseigen {

// Row i of `point` is projected on {y : 0 <= y_j <= y_i, sum over j != i of y_j = (count - 1) y_i}. With Y the
// projections and D = point - Y: on return `mirror` = Y - D and `point` = D - (relaxation - 1) Y. `thresholds` and
// `heights` (one per row) are where the search for a row's projection begins, and where it ended.
void project_rows(float* point, float* mirror, std::size_t size, double count, double relaxation, double* thresholds,
                  double* heights);

// matrix = (matrix + matrix') / 2 + step * added, for a symmetric `added`.
void symmetrise(float* matrix, const float* added, float step, std::size_t size);

}  // namespace sparseigen
