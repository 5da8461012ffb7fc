// Steps of the split into rows and spectrum, a pair of tiles above and below the diagonal at a time.
#include <algorithm>
#include <cmath>
#include <vector>

#include "bounds.hpp"
#include "dense_loops.hpp"
#include "kernels.hpp"
#include "thread_pool.hpp"

namespace sparseigen {
namespace {

constexpr std::size_t kTile = 32;

// A tile above the diagonal: its rows and columns, and the place of its first entry.
struct Tile {
    std::size_t row, column, rows, columns, size;
    std::size_t at(std::size_t i) const { return (row + i) * size + column; }
    std::size_t mirrored(std::size_t j) const { return (column + j) * size + row; }
};

template <class T>
struct Norms {
    T slope[kTile] = {}, turn[kTile] = {}, steepest[kTile] = {}, sharpest[kTile] = {};
};

template <class T>
SPARSEIGEN_INLINE void slope_tile(const Tile& tile, const Split<T>& split, const T* __restrict thresholds,
                                  const T* __restrict weight, const T* __restrict density, T floor, T momentum,
                                  T* __restrict slope, T* __restrict turn, Norms<T>& norms) {
    T across[kTile][kTile];
    for (std::size_t j = 0; j < tile.columns; ++j)
        for (std::size_t i = 0; i < tile.rows; ++i) across[i][j] = split.ratios[tile.mirrored(j) + i];
    const T* __restrict against = weight + tile.column;
    const T* __restrict lowest = thresholds + tile.column;
    for (std::size_t i = 0; i < tile.rows; ++i) {
        const T* __restrict a = split.matrix + tile.at(i);
        const T* __restrict c = split.rest + tile.at(i);
        const T* __restrict e = split.ratios + tile.at(i);
        const T* __restrict d = density + tile.at(i);
        T* __restrict s = slope + tile.at(i);
        T* __restrict w = turn + tile.at(i);
        const T threshold = thresholds[tile.row + i], own = weight[tile.row + i];
        const std::size_t first = tile.row == tile.column ? i + 1 : 0;
        for (std::size_t j = first; j < tile.columns; ++j) {
            const T entry = a[j] - c[j], magnitude = std::fabs(entry), other = across[i][j];
            const T here = magnitude * e[j] >= threshold ? own * e[j] : T(0);
            const T there = magnitude * other >= lowest[j] ? against[j] * other : T(0);
            const T sign = entry > T(0) ? T(0.5) : (entry < T(0) ? T(-0.5) : T(0));
            const T rise = sign * (here + there) - d[j] + momentum * s[j];
            const T twist = T(0.5) * magnitude * (here - there) + momentum * w[j];
            s[j] = rise;
            w[j] = twist;
            const T scaled = std::fabs(rise) * (std::fabs(a[j]) + floor), twisted = std::fabs(twist);
            norms.slope[j] += scaled * scaled;
            norms.turn[j] += twist * twist;
            norms.steepest[j] = scaled > norms.steepest[j] ? scaled : norms.steepest[j];
            norms.sharpest[j] = twisted > norms.sharpest[j] ? twisted : norms.sharpest[j];
        }
    }
}

SPARSEIGEN_DISPATCH void measure_slopes(const Tile& tile, const Split<float>& split, const float* thresholds,
                                        const float* weight, const float* density, float floor, float momentum,
                                        float* slope, float* turn, Norms<float>& norms) {
    slope_tile(tile, split, thresholds, weight, density, floor, momentum, slope, turn, norms);
}

SPARSEIGEN_DISPATCH void measure_slopes(const Tile& tile, const Split<double>& split, const double* thresholds,
                                        const double* weight, const double* density, double floor, double momentum,
                                        double* slope, double* turn, Norms<double>& norms) {
    slope_tile(tile, split, thresholds, weight, density, floor, momentum, slope, turn, norms);
}

// exp(x) is taken as (x^2 + 6x + 12) / (x^2 - 6x + 12), close for |x| < 1, whose reciprocal is its value at -x.
template <class T>
SPARSEIGEN_INLINE void update_tile(const Tile& tile, const T* __restrict matrix, T* __restrict rest,
                                   T* __restrict ratios, const T* __restrict slope, const T* __restrict turn, T floor,
                                   T step, T most) {
    T moved[kTile][kTile], across[kTile][kTile];
    const T least = T(1) / most;
    for (std::size_t j = 0; j < tile.columns; ++j)
        for (std::size_t i = 0; i < tile.rows; ++i) across[i][j] = ratios[tile.mirrored(j) + i];
    for (std::size_t i = 0; i < tile.rows; ++i) {
        const T* __restrict a = matrix + tile.at(i);
        const T* __restrict s = slope + tile.at(i);
        const T* __restrict w = turn + tile.at(i);
        T* __restrict c = rest + tile.at(i);
        T* __restrict e = ratios + tile.at(i);
        const std::size_t first = tile.row == tile.column ? i + 1 : 0;
        for (std::size_t j = first; j < tile.columns; ++j) {
            const T scale = std::fabs(a[j]) + floor;
            moved[i][j] = c[j] = c[j] + step * (scale * scale) * s[j];
            const T x = -step * w[j], even = x * x + T(12), odd = T(6) * x;
            const T up = e[j] * ((even + odd) / (even - odd)), down = across[i][j] * ((even - odd) / (even + odd));
            e[j] = up > most ? most : (up < least ? least : up);
            across[i][j] = down > most ? most : (down < least ? least : down);
        }
    }
    for (std::size_t j = 0; j < tile.columns; ++j) {
        const std::size_t last = tile.row == tile.column ? j : tile.rows;
        for (std::size_t i = 0; i < last; ++i) {
            rest[tile.mirrored(j) + i] = moved[i][j];
            ratios[tile.mirrored(j) + i] = across[i][j];
        }
    }
}

SPARSEIGEN_DISPATCH void move_tile(const Tile& tile, const float* matrix, float* rest, float* ratios,
                                   const float* slope, const float* turn, float floor, float step, float most) {
    update_tile(tile, matrix, rest, ratios, slope, turn, floor, step, most);
}

SPARSEIGEN_DISPATCH void move_tile(const Tile& tile, const double* matrix, double* rest, double* ratios,
                                   const double* slope, const double* turn, double floor, double step, double most) {
    update_tile(tile, matrix, rest, ratios, slope, turn, floor, step, most);
}

// Calls body(number of the row of tiles, tile) for all tiles on and above the diagonal. Long rows go with short ones.
template <class Body>
void for_each_tile(std::size_t size, double work, const Body& body) {
    const std::size_t bands = (size + kTile - 1) / kTile;
    const auto go_along = [&](std::size_t band) {
        const std::size_t row = band * kTile, rows = std::min(kTile, size - row);
        for (std::size_t column = row; column < size; column += kTile)
            body(band, Tile{row, column, rows, std::min(kTile, size - column), size});
    };
    parallel_for((bands + 1) / 2, work, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t pair = begin; pair < end; ++pair) {
            go_along(pair);
            if (bands - 1 - pair > pair) go_along(bands - 1 - pair);
        }
    });
}

}  // namespace

template <class T>
void split_slopes(const Split<T>& split, std::size_t size, const T* thresholds, const T* weight, const T* density,
                  T floor, T momentum, T* slope, T* turn, double* norms) {
    const std::size_t bands = (size + kTile - 1) / kTile;
    std::vector<Norms<T>> found(bands);
    for_each_tile(size, 8.0 * size * size, [&](std::size_t band, const Tile& tile) {
        measure_slopes(tile, split, thresholds, weight, density, floor, momentum, slope, turn, found[band]);
    });
    std::fill(norms, norms + 4, 0.0);
    for (const Norms<T>& of_band : found)
        for (std::size_t l = 0; l < kTile; ++l) {
            norms[0] += static_cast<double>(of_band.slope[l]);
            norms[1] += static_cast<double>(of_band.turn[l]);
            norms[2] = std::max(norms[2], static_cast<double>(of_band.steepest[l]));
            norms[3] = std::max(norms[3], static_cast<double>(of_band.sharpest[l]));
        }
}

template <class T>
void split_update(const T* matrix, T* rest, T* ratios, const T* slope, const T* turn, T floor, T step, T most,
                  std::size_t size) {
    for_each_tile(size, 8.0 * size * size, [&](std::size_t, const Tile& tile) {
        move_tile(tile, matrix, rest, ratios, slope, turn, floor, step, most);
    });
}

template void split_slopes(const Split<float>&, std::size_t, const float*, const float*, const float*, float, float,
                           float*, float*, double*);
template void split_slopes(const Split<double>&, std::size_t, const double*, const double*, const double*, double,
                           double, double*, double*, double*);
template void split_update(const float*, float*, float*, const float*, const float*, float, float, float, std::size_t);
template void split_update(const double*, double*, double*, const double*, const double*, double, double, double,
                           std::size_t);

}  // namespace sparseigen
