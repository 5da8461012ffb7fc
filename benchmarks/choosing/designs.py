"""Data with components that are known: x_j = b l_j f + e_j for the variables j of a component with scores f."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Planted:
    """One component: how many variables, how strong, and how its loadings fall off."""

    cardinality: int
    strength: float
    shape: str = "equal"


@dataclass(frozen=True)
class Design:
    """What to draw.

    ``overlap`` is the share of each component's variables that it takes from the one before; ``unequal`` the spread of
    the logarithms of the noise's standard deviations.
    """

    name: str
    n: int
    p: int
    components: tuple[Planted, ...] = ()
    noise: str = "normal"
    unequal: float = 0.0
    overlap: float = 0.0
    scale: bool = False
    least_f1: float = 0.95

    def draw(self, seed: int | list[int]) -> tuple[Floats, list[Indices]]:
        """Data, and the variables of each component."""
        rng = np.random.default_rng(seed)
        data = NOISES[self.noise](rng, (self.n, self.p))
        if self.unequal:
            data *= np.exp(self.unequal * rng.standard_normal(self.p))
        order, begin = rng.permutation(self.p), 0
        supports = []
        for planted in self.components:
            begin = max(0, begin - round(self.overlap * planted.cardinality)) if supports else 0
            members = order[begin : begin + planted.cardinality]
            begin += planted.cardinality
            loadings = SHAPES[planted.shape](rng, len(members))
            loadings *= planted.strength / np.sqrt(np.mean(loadings**2))
            data[:, members] += np.multiply.outer(rng.standard_normal(self.n), loadings)
            supports.append(np.sort(members))
        return data, supports


def _draw_lognormal(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return (np.exp(rng.standard_normal(shape)) - np.exp(0.5)) / np.sqrt(np.exp(2.0) - np.exp(1.0))


NOISES: dict[str, Callable[[np.random.Generator, tuple[int, int]], Floats]] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "t5": lambda rng, shape: rng.standard_t(5, shape) / np.sqrt(5.0 / 3.0),
    "t3": lambda rng, shape: rng.standard_t(3, shape) / np.sqrt(3.0),
    "lognormal": _draw_lognormal,
}
"""Noise of variance 1 by name."""

SHAPES: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "equal": lambda rng, k: rng.choice([-1.0, 1.0], k),
    "linear": lambda rng, k: rng.choice([-1.0, 1.0], k) * np.arange(k, 0, -1.0),
    "normal": lambda rng, k: rng.standard_normal(k),
}
"""How the loadings of one component differ."""


def _repeat(count: int, cardinality: int, strength: float, shape: str = "equal") -> tuple[Planted, ...]:
    return (Planted(cardinality, strength, shape),) * count


ROWS = (
    Design("noise 200 x 4000", 200, 4000),
    Design("noise 50 x 500", 50, 500),
    Design("noise 1000 x 100", 1000, 100),
    Design("noise t3 200 x 500", 200, 500, noise="t3"),
    Design("noise, unequal variances 200 x 500", 200, 500, unequal=0.7),
    Design("5 of 30, strong, 200 x 4000", 200, 4000, _repeat(5, 30, 2.0)),
    Design("5 of 30, loading 1, 200 x 4000", 200, 4000, _repeat(5, 30, 1.0)),
    Design("10 of 30, loading .7, 200 x 4000", 200, 4000, _repeat(10, 30, 0.7)),
    Design("3 of 30, loading .5, 200 x 4000", 200, 4000, _repeat(3, 30, 0.5)),
    Design("3 of 5, loading 1, 200 x 4000", 200, 4000, _repeat(3, 5, 1.0)),
    Design("3 of 30, loading 1, 50 x 1000", 50, 1000, _repeat(3, 30, 1.0)),
    Design("3 of 20, loading 1, 100 x 500", 100, 500, _repeat(3, 20, 1.0)),
    Design("3 of 20, loading 1, 100 x 500, t5", 100, 500, _repeat(3, 20, 1.0), noise="t5"),
    Design("3 of 20, loading 1, 100 x 500, unequal", 100, 500, _repeat(3, 20, 1.0), unequal=0.5),
    Design(
        "loadings falling linearly, k = 5, 20, 100",
        200,
        500,
        (Planted(100, 2.0, "linear"), Planted(20, 2.0, "linear"), Planted(5, 2.0, "linear")),
    ),
    Design("one strong and one weak", 200, 500, (Planted(50, 2.5), Planted(15, 0.7))),
    Design("1 + 25 correlated blocks", 200, 500, (Planted(30, 2.0), *_repeat(25, 10, 1.0))),
    Design("overlapping supports (30 %)", 200, 500, _repeat(3, 30, 1.0), overlap=0.3, least_f1=0.75),
)
"""The rows of the table: number of components and supports are to be found."""


@dataclass(frozen=True)
class Noise:
    """A size of pure noise, and how many data sets of it each distribution gives."""

    n: int
    p: int
    repeats: int = field(default=1)

    def design(self, noise: str, *, scale: bool) -> Design:
        """Nothing planted."""
        return Design(f"{self.n} x {self.p}", self.n, self.p, noise=noise, scale=scale)


NOISE_SIZES = (
    Noise(20, 50, 60),
    Noise(50, 500, 60),
    Noise(100, 100, 60),
    Noise(200, 100, 60),
    Noise(200, 1000, 50),
    Noise(1000, 100, 60),
    Noise(200, 4000, 20),
)


def draw_design(rng: np.random.Generator) -> Design:
    """A random design: sizes, strengths, noise and scale that nobody chose."""
    n, p = int(rng.choice([40, 60, 100, 200, 400, 1000])), int(rng.choice([60, 200, 500, 1000, 3000]))
    count = int(rng.choice([0, 1, 1, 1, 2, 3, 4, 6]))
    most = max(4, p // (2 * max(count, 1)))
    planted = []
    for _ in range(count):
        k = min(round(np.exp(rng.uniform(np.log(4), np.log(150)))), most)
        strength = float(np.exp(rng.uniform(np.log(0.4), np.log(2.5))))
        planted.append(Planted(k, strength))
    shape = str(rng.choice(list(SHAPES)))
    noise = "normal" if rng.random() < 0.5 else str(rng.choice(["t5", "t3", "lognormal"]))
    return Design(
        "",
        n,
        p,
        tuple(replace(one, shape=shape) for one in planted),
        noise=noise,
        unequal=0.5 if rng.random() < 0.4 else 0.0,
        overlap=0.3 if rng.random() < 0.2 else 0.0,
        scale=bool(rng.random() < 0.5),
    )


def match_supports(truth: list[Indices], found: list[Indices]) -> float:
    """The mean F1 of planted components, each with the found one it is matched to; 1 where nothing was planted."""
    from scipy.optimize import linear_sum_assignment

    if not truth:
        return 1.0
    if not found:
        return 0.0
    scores = np.array([[2.0 * len(np.intersect1d(a, b)) / (len(a) + len(b)) for b in found] for a in truth])
    return float(scores[linear_sum_assignment(-scores)].sum() / len(truth))
