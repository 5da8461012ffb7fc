// The compiled twins of kernels/numpy_reference.py: same names, same arguments, same answers.
//
// Every sum has one fixed order that depends on neither the number of threads nor the partition, so results are
// the same bits on one thread or many.
#pragma once
#include <cstddef>
#include <cstdint>

// musl's loader cannot choose between versions of a function, so a C library by that name is asked for as well; nor can
// the thread sanitizer, which is not ready when the loader chooses.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) && \
    !defined(__SANITIZE_THREAD__)
// One binary, three versions of each hot loop; the loader picks the widest the machine has.
#define SPARSEIGEN_DISPATCH __attribute__((target_clones("avx512f", "avx2", "default")))
// Products of 16-bit integers are 512 bits wide only from avx512bw on.
#define SPARSEIGEN_DISPATCH_INTEGER __attribute__((target_clones("arch=skylake-avx512", "avx2", "default")))
// Loops that gather: 512 bits wide they are slower than 256.
#define SPARSEIGEN_DISPATCH_GATHER __attribute__((target_clones("avx2", "default")))
#else
#define SPARSEIGEN_DISPATCH
#define SPARSEIGEN_DISPATCH_GATHER
#define SPARSEIGEN_DISPATCH_INTEGER
#endif

namespace sparseigen {

// out[j] = sum_f weights[f] * matrix[rows[f], j]
void combine_rows(const double* matrix, std::size_t stride, const std::int64_t* rows, std::size_t n_rows,
                  const double* weights, double* out, std::size_t width);
void combine_rows(const float* matrix, std::size_t stride, const std::int64_t* rows, std::size_t n_rows,
                  const float* weights, float* out, std::size_t width);

// out[i] = sum_j matrix[i, j] * vector[j]
void row_dots(const double* matrix, std::size_t stride, std::size_t n_rows, std::size_t width, const double* vector,
              double* out);
void row_dots(const float* matrix, std::size_t stride, std::size_t n_rows, std::size_t width, const float* vector,
              float* out);

// Of every row x the three sums x's, x'v and sum_j w_j x_j^2, side by side in out.
template <class T>
void row_moments(const T* matrix, std::size_t n_rows, std::size_t width, const T* s, const T* v, const T* w, T* out);

// The sum of all entries: a pure read, the limit that benchmarks compare the products with.
double stream_sum(const double* values, std::size_t count);

// The same two products for a matrix in compressed sparse rows.
template <class Value, class Index, class Column>
void sparse_combine_rows(const Index* row_starts, const Column* columns, const Value* values, const std::int64_t* rows,
                         std::size_t n_rows, const Value* weights, Value* out, std::size_t width);
template <class Value, class Index, class Column>
void sparse_row_dots(const Index* row_starts, const Column* columns, const Value* values, std::size_t n_rows,
                     const Value* vector, Value* out);

// The same matrix by columns, or back: rows ascend within every column. Throws when a column is outside.
template <class Value, class Index>
void sparse_transpose(const Index* row_starts, const Index* columns, const Value* values, std::size_t n_rows,
                      std::size_t width, Index* out_starts, Index* out_rows, Value* out_values);

// The indices of the `count` largest magnitudes, ascending; equal magnitudes go to the lowest index. With
// nonnegative only positive entries count as large (the others as zero). Returns how many were written (== count).
template <class Value>
std::size_t largest_magnitudes(const Value* values, std::size_t size, std::size_t count, bool nonnegative,
                               std::int64_t* out);

// A whole step: scores = sum of weights * rows over the support, then the `count` largest of row . scores / divisor.
template <class T>
void power_step(const T* matrix, std::size_t n_rows, std::size_t width, const std::int64_t* support,
                std::size_t n_support, const T* weights, T divisor, std::size_t count, bool nonnegative, T* scores,
                std::int64_t* indices, T* values);

// The count-th largest value (1-based).
double ranked_value(const double* values, std::size_t size, std::size_t count);

}  // namespace sparseigen
