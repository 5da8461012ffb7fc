// Exact screening: which columns can be among the k largest, without reading all of them.
#pragma once
#include <cstddef>
#include <cstdint>

namespace sparseigen {

// An int8 copy of each row: codes, the scale of one unit, |row - scale * codes| rounded up, and |codes|.
template <class Value>
void shadow_codes(const Value* rows, std::size_t n_rows, std::size_t width, std::int8_t* codes, double* scales,
                  double* errors, double* norms);

// Bounds lower[i] <= |row_i . vector| <= upper[i] from the codes alone; `slack` covers the rounding of the exact
// product these bounds are compared with, relative to |row_i| |vector|.
void shadow_bounds(const std::int8_t* codes, const double* scales, const double* errors, const double* norms,
                   std::size_t n_rows, std::size_t width, const double* vector, double slack, double* lower,
                   double* upper);

// Given bounds on |row_i . vector|: the exact `count` largest (ascending indices, ties to the lowest), their values,
// and the sum of value * row over them. Rows that cannot be among the largest are not read. `guess` is about the
// smallest magnitude kept: rows that reach it are added to the sum while they are in the cache. It decides the speed,
// never the answer. Returns the number of rows read.
template <class Value>
std::size_t bounded_step(const Value* rows, std::size_t n_rows, std::size_t width, const double* lower,
                         const double* upper, const Value* vector, Value guess, std::size_t count,
                         std::int64_t* indices, Value* values, Value* combined);

// The same without bounds, in one pass over all rows; also product[i] = row_i . vector for all of them.
template <class Value>
void fused_step(const Value* rows, std::size_t n_rows, std::size_t width, const Value* vector, Value guess,
                std::size_t count, Value* product, std::int64_t* indices, Value* values, Value* combined);

// Bounds on |row_i . u| for a vector u of this length from earlier products with r: `unit` is 1 / |r|, cosine and sine
// those of the angle between u and r, `slack` the rounding relative to |row_i|.
void running_bounds(const double* products, const double* norms, std::size_t count, double unit, double length,
                    double cosine, double sine, double slack, double* lower, double* upper);

}  // namespace sparseigen
