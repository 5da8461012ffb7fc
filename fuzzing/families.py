"""Adversarial symmetric matrices, data and graphs. A new family is one function and one row in its table."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Generator = np.random.Generator
Array = np.ndarray

LARGEST_SIZE = 7
ULPS = 3


def _square(rng: Generator, size: int) -> Array:
    square: Array = rng.standard_normal((size, size))
    return square


def _symmetric(matrix: Array) -> Array:
    """The upper triangle on both sides: no rounding."""
    upper: Array = np.triu(matrix)
    return upper + np.triu(matrix, 1).T


def _gram(rng: Generator, size: int) -> Array:
    square = rng.standard_normal((int(rng.integers(1, 2 * size + 2)), size))
    return _symmetric(square.T @ square)


def _low_rank(rng: Generator, size: int) -> Array:
    factor = rng.standard_normal((int(rng.integers(1, 3)), size))
    if rng.random() < 0.4:
        factor = np.round(2.0 * factor)
    return _symmetric(factor.T @ factor)


def _hairs(rng: Generator, matrix: Array) -> Array:
    """Entries moved by a few units in the last place."""
    steps = rng.integers(-ULPS, ULPS + 1, matrix.shape)
    return _symmetric(matrix + steps * np.spacing(matrix))


def _near_ties(rng: Generator, size: int) -> Array:
    block = np.full((size, size), rng.choice([0.0, 0.25, 0.5, 1.0 / 3.0]))
    np.fill_diagonal(block, 1.0)
    return _hairs(rng, block * rng.choice([1.0, 0.1, 1e5]))


def _ties(rng: Generator, size: int) -> Array:
    groups = np.arange(size) // int(rng.integers(1, 4))
    signs = rng.choice([-1.0, 1.0], size)
    return np.eye(size) + (groups[:, None] == groups) * np.outer(signs, signs)


def _duplicated(rng: Generator, size: int) -> Array:
    factor = rng.standard_normal((size + 1, size))
    chosen = rng.integers(0, size, size)
    factor = factor[:, chosen] * rng.choice([-1.0, 1.0], size)
    return _symmetric(factor.T @ factor)


def _indefinite(rng: Generator, size: int) -> Array:
    return _symmetric(_square(rng, size))


def _negative_definite(rng: Generator, size: int) -> Array:
    return -_gram(rng, size) - np.eye(size) * rng.choice([0.0, 1e-12, 1.0])


def _ill_conditioned(rng: Generator, size: int) -> Array:
    basis, _ = np.linalg.qr(_square(rng, size))
    values = 10.0 ** rng.uniform(-18.0, 0.0, size)
    return _symmetric((basis * values) @ basis.T)


def _hilbert(rng: Generator, size: int) -> Array:
    places = np.arange(size) + float(rng.integers(0, 4))
    return 1.0 / (places[:, None] + places + 1.0)


def _diagonal(rng: Generator, size: int) -> Array:
    values = rng.standard_normal(size)
    return np.diag(np.round(values) if rng.random() < 0.3 else values)


def _blocks(rng: Generator, size: int) -> Array:
    matrix, cut = np.zeros((size, size)), int(rng.integers(0, size + 1))
    matrix[:cut, :cut], matrix[cut:, cut:] = _gram(rng, cut), _indefinite(rng, size - cut)
    return matrix


def _adjacency(rng: Generator, size: int) -> Array:
    weights = rng.integers(0, int(rng.choice([2, 4])), (size, size)).astype(float)
    matrix = np.triu(weights, 1)
    return matrix + matrix.T


def _laplacian(rng: Generator, size: int) -> Array:
    weights = _adjacency(rng, size)
    return np.diag(weights.sum(axis=0)) - weights


def _one_huge(rng: Generator, size: int) -> Array:
    matrix = _indefinite(rng, size)
    i, j = rng.integers(0, size, 2)
    matrix[i, j] = matrix[j, i] = rng.choice([-1.0, 1.0]) * 10.0 ** rng.choice([8, 16, 100, 290])
    return matrix


def _mixed_scales(rng: Generator, size: int) -> Array:
    spread = 10.0 ** (rng.uniform(-1.0, 1.0, size) * rng.choice([2.0, 20.0, 70.0]))
    return _symmetric(_gram(rng, size) * np.outer(spread, spread))


def _extreme_scale(rng: Generator, size: int) -> Array:
    kind = [_gram, _indefinite, _low_rank, _ties][int(rng.integers(4))]
    return kind(rng, size) * 10.0 ** float(rng.choice([-300, -290, -160, 150, 200, 300]))


def _denormal(rng: Generator, size: int) -> Array:
    return _indefinite(rng, size) * 10.0 ** float(rng.choice([-308, -310, -318, -322]))


def _some_denormal(rng: Generator, size: int) -> Array:
    matrix = _indefinite(rng, size)
    tiny = _symmetric(rng.random((size, size)) < 0.5)
    return np.where(tiny.astype(bool), matrix * 1e-312, matrix)


def _asymmetric(rng: Generator, size: int) -> Array:
    matrix = [_gram, _indefinite, _near_ties, _extreme_scale, _denormal][int(rng.integers(5))](rng, size)
    away = 0.4e-10 * rng.uniform(-1.0, 1.0, (size, size)) * 10.0 ** -float(rng.integers(0, 7))
    return matrix + away * np.abs(matrix).max()


def _sparse(rng: Generator, size: int) -> Array:
    return _symmetric(_indefinite(rng, size) * (rng.random((size, size)) < 0.4))


def _zero_variables(rng: Generator, size: int) -> Array:
    kept = (rng.random(size) < 0.6).astype(float)
    return _gram(rng, size) * np.outer(kept, kept)


def _near_zero_optimum(rng: Generator, size: int) -> Array:
    """Negative semidefinite up to rounding: the optimum is zero or a hair beside it."""
    return -_hairs(rng, _laplacian(rng, size) + 0.0)


def _small_integers(rng: Generator, size: int) -> Array:
    return _symmetric(rng.integers(-3, 4, (size, size)).astype(float))


MATRICES: dict[str, Callable[[Generator, int], Array]] = {
    "gram": _gram,
    "rank 1 or 2": _low_rank,
    "near ties": _near_ties,
    "ties": _ties,
    "duplicated": _duplicated,
    "indefinite": _indefinite,
    "negative definite": _negative_definite,
    "ill-conditioned": _ill_conditioned,
    "Hilbert": _hilbert,
    "diagonal": _diagonal,
    "blocks": _blocks,
    "adjacency": _adjacency,
    "Laplacian": _laplacian,
    "one huge entry": _one_huge,
    "mixed scales": _mixed_scales,
    "1e+-300": _extreme_scale,
    "denormal": _denormal,
    "some denormal": _some_denormal,
    "slightly asymmetric": _asymmetric,
    "sparse": _sparse,
    "zero variables": _zero_variables,
    "optimum near 0": _near_zero_optimum,
    "small integers": _small_integers,
}


def _plain(rng: Generator, samples: int, size: int) -> Array:
    return rng.standard_normal((samples, size))


def _far_means(rng: Generator, samples: int, size: int) -> Array:
    return _plain(rng, samples, size) + rng.choice([0.0, 1e3, 1e6, 1e9, -1e12], size)


def _constant_columns(rng: Generator, samples: int, size: int) -> Array:
    data = _plain(rng, samples, size)
    data[:, rng.random(size) < 0.4] = rng.choice([0.0, 0.1, 1e10])
    return data


def _nearly_constant(rng: Generator, samples: int, size: int) -> Array:
    return 1.0 + _plain(rng, samples, size) * 10.0 ** rng.uniform(-15.0, -9.0, size)


def _repeated_columns(rng: Generator, samples: int, size: int) -> Array:
    data = _plain(rng, samples, size)[:, rng.integers(0, size, size)] * rng.choice([-1.0, 1.0], size)
    return data * (1.0 + rng.choice([0.0, 1e-15, 1e-9]) * rng.standard_normal((samples, size)))


def _one_factor(rng: Generator, samples: int, size: int) -> Array:
    noise = rng.choice([0.0, 1e-14, 1e-7, 0.3])
    return np.outer(rng.standard_normal(samples), rng.standard_normal(size)) + noise * _plain(rng, samples, size)


def _column_scales(rng: Generator, samples: int, size: int) -> Array:
    return _plain(rng, samples, size) * 10.0 ** (rng.uniform(-1.0, 1.0, size) * rng.choice([3.0, 15.0, 60.0]))


def _outlier(rng: Generator, samples: int, size: int) -> Array:
    data = _plain(rng, samples, size)
    data[rng.integers(samples), rng.integers(size)] = 10.0 ** rng.choice([6, 15, 100])
    return data


def _counts(rng: Generator, samples: int, size: int) -> Array:
    return rng.poisson(rng.choice([0.2, 2.0, 1000.0]), (samples, size)).astype(float)


def _tiny_data(rng: Generator, samples: int, size: int) -> Array:
    return _far_means(rng, samples, size) * 10.0 ** float(rng.choice([-40, -44, -120, -150, -155, -160, -170]))


def _huge_data(rng: Generator, samples: int, size: int) -> Array:
    return _plain(rng, samples, size) * 10.0 ** float(rng.choice([36, 100, 140, 150, 153]))


def _hundredths(rng: Generator, samples: int, size: int) -> Array:
    return np.round(_plain(rng, samples, size), 2) + rng.choice([0.0, 100.0])


DATA: dict[str, Callable[[Generator, int, int], Array]] = {
    "plain": _plain,
    "far means": _far_means,
    "constant columns": _constant_columns,
    "nearly constant": _nearly_constant,
    "repeated columns": _repeated_columns,
    "one factor": _one_factor,
    "column scales": _column_scales,
    "outlier": _outlier,
    "counts": _counts,
    "tiny": _tiny_data,
    "huge": _huge_data,
    "hundredths": _hundredths,
}


def as_single(values: Array) -> Array:
    """In float32; numbers beyond its range are all divided by a power of two."""
    room = float(np.finfo(np.float32).max) / (4.0 * values.size)
    over = int(np.frexp(np.abs(values).max() / room)[1])
    with np.errstate(under="ignore"):
        return np.ldexp(values, -max(over, 0)).astype(np.float32)
