// Kernels behind the proven bounds. Each has its NumPy twin in kernels/numpy_reference.py.
#pragma once
#include <cstddef>
#include <cstdint>

namespace sparseigen {

// For every row f of a block of a symmetric matrix (row f belongs to variable own[f]):
//   sums[f]  = sum of the `count` largest |block[f, j]| * weights[j] over j != own[f]
//   least[f] = the smallest of those (0 when count is 0)
void top_row_sums(const double* block, std::size_t n_rows, std::size_t width, const std::int64_t* own,
                  const double* weights, std::size_t count, double* sums, double* least);

// For every row f of a block, and any thresholds t >= 0, numbers that the same sums cannot exceed but for rounding:
//   ceilings[f] = count t + the sum over j != own[f] of what |block[f, j]| * weights[j] exceeds t,
// which is the sum itself where t lies between the count-th largest and the next. A threshold above zero goes in as a
// guess; out comes the one used.
void row_ceilings(const float* block, std::size_t n_rows, std::size_t width, const std::int64_t* own,
                  const float* weights, std::size_t count, double* ceilings, float* thresholds);

// One pass of the scaled bound at a node of the search. `members` are the variables still in play, the first
// n_inside of them fixed in. A support takes all inside ones and `picks` of the others. For every member i
//   sums[i]  = sum over the other inside members j and over the largest of the free ones of |A_ij| weights[j]
//   least[i] = the smallest free product used (0 when none is)
// where a free row takes picks - 1 other free ones and an inside row takes picks. All indices count within members.
void node_row_sums(const double* matrix, std::size_t size, const std::int64_t* members, std::size_t n_members,
                   std::size_t n_inside, std::size_t picks, const double* weights, double* sums, double* least);

// One step of the split into rows and spectrum (certificates/split_rows.py), all matrices size x size. For i != j
//   taken(i, j)  = |part[i, j]| ratios[i, j] >= least[i], and then the row of i uses that product;
//   slope[i, j]  = sign(part[i, j]) (weight[i] ratios[i, j] taken(i, j) + the same of (j, i)) / 2 - density[i, j]
//   turn[i, j]   = (weight[i] |part[i, j]| ratios[i, j] taken(i, j) - the same of (j, i)) / 2
// and zero on the diagonal. per_row[4 i ...] = the sums over j of (slope scale)^2 and turn^2, and the largest |slope| scale
// and |turn|.
void split_slopes(const double* part, const double* ratios, const double* least, const double* weight,
                  const double* density, const double* scale, std::size_t size, double* slope, double* turn,
                  double* per_row);

// part -= step scale^2 slope and ratios *= exp(-step turn), kept within [1 / most, most].
void split_update(double* part, double* ratios, const double* slope, const double* turn, const double* scale,
                  double step, double most, std::size_t size);

}  // namespace sparseigen
