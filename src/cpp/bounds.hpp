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

// A split into rows and spectrum (certificates/split_rows.py), all matrices size x size: A, C = A - M and the ratios.
template <class T>
struct Split {
    const T *matrix, *rest, *ratios;
};

// Per row i what the sum of the `count` largest of |M_ij| ratios[i, j], j != i, and of `n_others` other numbers cannot
// exceed, as `row_ceilings` has it.
template <class T>
void split_ceilings(const T* matrix, const T* rest, const T* ratios, const T* others, std::size_t size,
                    std::size_t n_others, std::size_t count, double* ceilings, T* thresholds);

// Directions of descent in M and log e, of which only the entries above the diagonal are used. For i < j
//   taken(i, j) = |M_ij| ratios[i, j] >= thresholds[i], and then the row of i uses that product;
//   slope[i, j] = sign(M_ij) (weight[i] ratios[i, j] taken(i, j) + the same of (j, i)) / 2 - density[i, j]
//   turn[i, j]  = |M_ij| (weight[i] ratios[i, j] taken(i, j) - the same of (j, i)) / 2
// each plus momentum times what it was. M moves in the metric |A_ij| + floor. norms = the sums of (slope metric)^2 and of
// turn^2, and the largest |slope| metric and |turn|.
template <class T>
void split_slopes(const Split<T>& split, std::size_t size, const T* thresholds, const T* weight, const T* density,
                  T floor, T momentum, T* slope, T* turn, double* norms);

// M -= step metric^2 slope and log ratios -= step turn on both sides of the diagonal, ratios within [1 / most, most].
template <class T>
void split_update(const T* matrix, T* rest, T* ratios, const T* slope, const T* turn, T floor, T step, T most,
                  std::size_t size);

}  // namespace sparseigen
