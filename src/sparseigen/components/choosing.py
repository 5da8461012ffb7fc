"""How many components, and how many variables in each: the truncated power method with truncation by significance.

Algorithm 1 keeps the k largest entries of A x. Here each step keeps the variables that are significantly related to the
component (`components.significance`), so that k is found, not given: the size of the set that repeats itself. A set
counts only if its evidence beats the number of sets of its size; where none does there is no component.

    find      leading directions of the 8, 32, 128, ... most promising variables, all variables tested on each;
              the two best sets climb to a fixed point
    purify    equally strong components come as a mixture: restarts from single members give the pure ones back
    settle    the set at the final level, its evidence, and of its variables those that matter
    take out  every variable less its regression on the score; go on
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sparseigen import kernels
from sparseigen.components.significance import (
    VariableTests,
    adjust_p_values,
    find_p_values,
    select,
    weigh_evidence,
)
from sparseigen.kernels.eigen import leading_eigenpair
from sparseigen.operators.contract import Indices, SparseVector

Floats = NDArray[np.float64]

LEVEL = 0.01
"""The false discovery rate of the variables that take part."""
BEGINNING_LEVEL, CLIMBING_LEVEL = 0.2, 0.05
"""Looser ones for starts and while climbing: a set that is too small loses the score that would complete it."""
LEAST_EVIDENCE = 5.0
"""A component of noise reaches this in about exp(-5) = 0.7 % of data sets."""
SMALL_EVIDENCE = 8.0
"""What a set needs that was found by looking at all pairs: the best of all small sets is closer to the union bound."""
NOMINAL = 2.0
"""|t| of a variable that may be part of the final component."""
MATTERS = 0.5
"""Of the average squared loading 1/p: what a loading needs to be kept."""
MOST_STEPS, MOST_VISITS = 25, 3
"""Steps of a climb, and how often a set may come back."""
FIRST_START, START_FACTOR, START_STEPS = 8, 4, 4
CLIMBS, PAIR_CLIMBS = 2, 5
RESTARTS = 4
"""Members from which a component is found anew, to see whether it is a mixture."""
SAME_SHARE = 0.8
"""Sets that share this much are the same component."""
MOST_COMPONENTS = 50
"""Where the number of components is to be found."""
FACTOR_STEPS, LOADING_STEPS, LEAST_NOISE = 3, 20, 0.25
"""Products and cheap steps to the loadings of a component, and the least share of a variable that is noise: two near
copies of each other must not be the whole score."""
FEWEST_FREE = 4
"""Degrees of freedom below which nothing can be significant."""


@dataclass(frozen=True)
class ChosenComponent:
    """A component that stands out from noise.

    Attributes
    ----------
    significant : ndarray of int
        The variables that take part at the false discovery rate of 1 %, ascending.
    weights : ndarray of float
        The unit vector of largest variance on them.
    variance : float
        Its variance, in the units of the tests.
    cardinality : int
        How many of them matter: squared loading at least half the average 1/p.
    candidates : ndarray of int
        The variables among which the final component is sought: related to it at all (``|t| >= 2``).
    statistics, p_values, adjusted : ndarray of shape (n_features,)
        Of every variable against the score without its own part; adjusted by Benjamini and Hochberg.
    evidence : float
        The logarithm by which it beats the number of sets of its size.
    """

    significant: Indices
    weights: Floats
    variance: float
    cardinality: int
    candidates: Indices
    statistics: Floats
    p_values: Floats
    adjusted: Floats
    evidence: float

    @property
    def vector(self) -> SparseVector:
        """The component on all variables that take part."""
        return SparseVector(self.significant, self.weights)


@dataclass(frozen=True)
class _Climbed:
    """A set that repeats itself, its weights, and the last test."""

    vector: SparseVector
    excess: float
    statistics: Floats
    covariances: Floats

    @property
    def indices(self) -> Indices:
        return self.vector.indices


def choose_components(
    tests: VariableTests, most: int = MOST_COMPONENTS, *, share: float | None = None
) -> list[ChosenComponent]:
    """The components that stand out from noise, at most ``most``, one after the other.

    Each is taken out of ``tests`` before the next is sought. With ``share`` the cardinality of each is the smallest
    that holds this share of its variance; without, the number of its variables that matter.
    """
    chosen: list[ChosenComponent] = []
    while len(chosen) < most and tests.count >= 2 and tests.freedom >= FEWEST_FREE:
        found = choose_one(tests)
        if found is None:
            break
        if share is not None:
            found = replace(found, cardinality=_shrink(tests, found, share))
        chosen.append(found)
        tests.take_out(_weigh_by_noise(tests, found.vector))
    return chosen


def _weigh_by_noise(tests: VariableTests, vector: SparseVector) -> SparseVector:
    """The weights whose scores leave nothing of a component behind: loading over noise variance.

    With loadings l and noise variances psi the covariance is ll' + Diag(psi). Regression on the scores of the leading
    eigenvector leaves a part of ll' where the psi differ, which would count as another component; with the weights
    l / psi (Bartlett's factor scores) the covariance with the score is along l, and only -ll' / (l'Diag(psi)^-1 l) is
    left. Loadings are those that explain the covariances between different variables.
    """
    indices, weights = vector.indices, vector.weights
    variances = tests.variances[indices]
    for _ in range(FACTOR_STEPS):
        between = tests.apply([SparseVector(indices, weights)])[indices, 0] - weights * variances
        length = float(weights @ between)
        if not length > 0.0:
            return vector
        loadings = between / np.sqrt(length)
        for _ in range(LOADING_STEPS):  # each variable's own part is missing from the sum that scales its loading
            along = float(weights @ loadings) - weights * loadings
            whole = between / np.where(along > 0.0, along, np.inf)
            loadings = np.copysign(np.sqrt(loadings * whole), between)  # halfway: whole steps go to and fro
        noise = np.maximum(variances - loadings**2, LEAST_NOISE * variances)
        weights = loadings / noise
        weights = weights / np.linalg.norm(weights)
    return SparseVector(indices, weights)


def choose_one(tests: VariableTests) -> ChosenComponent | None:
    """The leading component that stands out from noise, or None.

    Where variances differ and nothing is found, standardised variables are tried: a component of small variables hides
    behind large ones.
    """
    scales = (False,) if tests.equal else (False, True)
    searches = [(_find, scaled, LEAST_EVIDENCE) for scaled in scales] + [(_find_small, scales[-1], SMALL_EVIDENCE)]
    for search, scaled, needed in searches:
        found = search(tests, scaled=scaled)
        if found is None:
            continue
        members, statistics, evidence = _purified(tests, found, scaled=scaled)
        if evidence < needed:
            continue
        weights, value = tests.lead(members)
        if value < float(weights**2 @ tests.original[members]) * (1.0 - 1e-9):
            continue  # less than one variable of it had alone: what deflation leaves of components before
        found_vector = SparseVector(members, weights)
        return _describe(tests, found_vector, value, statistics, evidence, scaled=scaled)
    return None


def _describe(
    tests: VariableTests, vector: SparseVector, value: float, statistics: Floats, evidence: float, *, scaled: bool
) -> ChosenComponent:
    members, weights = vector.indices, vector.weights
    related = np.flatnonzero(np.abs(statistics) >= NOMINAL)
    candidates = members if scaled else np.union1d(related, members)
    p_values = np.where(tests.live, find_p_values(statistics, tests.freedom), 1.0)
    kept = _truncate_within(tests, vector, len(members), candidates)
    alive = int((tests.original > 0.0).sum())
    cardinality = max(1, int((kept.weights**2 >= MATTERS / alive).sum()))
    return ChosenComponent(
        members,
        weights,
        value,
        cardinality,
        candidates,
        statistics,
        p_values,
        adjust_p_values(p_values, tests.count),
        evidence,
    )


# --- find ---------------------------------------------------------------------------------------------------------


def _find(tests: VariableTests, *, scaled: bool) -> _Climbed | None:
    """The best of the climbs from the most promising starts."""
    starts = _list_starts(tests, scaled=scaled)
    products, begun = tests.apply(starts), []
    for start, covariances in zip(starts, products.T, strict=True):
        statistics = tests.test_classically(covariances, start)
        members = select(statistics, tests.freedom, BEGINNING_LEVEL, tests.count)
        if len(members) >= 2:
            vector = _weigh(tests, covariances, members, scaled=scaled)
            begun.append((tests.excess(vector), vector))
    begun.sort(key=lambda pair: -pair[0])
    best: _Climbed | None = None
    climbs = 0
    for _, vector in begun:
        if best is not None and _overlap(vector.indices, best.indices) > 0.5:
            continue
        climbed = _climb(tests, vector, CLIMBING_LEVEL, scaled=scaled)
        climbs += 1
        if climbed is not None and (best is None or climbed.excess > best.excess):
            best = climbed
        if climbs >= CLIMBS:
            break
    return best


def _find_small(tests: VariableTests, *, scaled: bool) -> _Climbed | None:
    """The best of the climbs from single variables that are strongly correlated with a few others.

    A few variables among thousands move neither variances nor leading directions; all pairs show them.
    """
    strengths = tests.scan_pairs()
    if strengths is None:
        return None
    best: _Climbed | None = None
    seen: set[int] = set()
    climbs = 0
    for member in np.argsort(-strengths, kind="stable")[: PAIR_CLIMBS**2].tolist():
        if strengths[member] <= 0.0 or climbs >= PAIR_CLIMBS:
            break
        if member in seen:
            continue
        climbed = _climb_from(tests, member, scaled=scaled)
        climbs += 1
        if climbed is None:
            continue
        seen.update(climbed.indices.tolist())
        if best is None or climbed.excess > best.excess:
            best = climbed
    return best


def _list_starts(tests: VariableTests, *, scaled: bool) -> list[SparseVector]:
    """The leading direction of the m variables of largest variance (or communality), m = 8, 32, ..., all."""
    key = tests.communality(scaled=scaled) if scaled or tests.equal else tests.variances
    order = np.argsort(-np.where(tests.live, key, -1.0), kind="stable")[: tests.count]
    starts: list[SparseVector] = []
    count = min(FIRST_START, len(order))
    weights, before = np.zeros(0), order[:0]
    while True:
        indices = np.sort(order[:count])
        if not starts:
            block = tests.submatrix(indices)
            scales = np.sqrt(tests.variances[indices]) if scaled else np.ones(count)
            weights = leading_eigenpair(block / np.multiply.outer(scales, scales))[0] / scales
        else:
            wider = np.zeros(count)
            wider[np.searchsorted(indices, before)] = weights
            weights = tests.iterate_within(indices, wider, START_STEPS, scaled=scaled)
        weights = weights / np.linalg.norm(weights)
        starts.append(SparseVector(indices, weights))
        if count == len(order):
            return starts
        before, count = indices, min(START_FACTOR * count, len(order))


def _climb(tests: VariableTests, vector: SparseVector, level: float, *, scaled: bool) -> _Climbed | None:
    """Power steps that keep the significant variables, until a set repeats itself; None where fewer than two are."""
    visits: dict[bytes, int] = {}
    for _ in range(MOST_STEPS):
        tested = tests.test(vector)
        members = select(tested.statistics, tests.freedom, level, tests.count)
        if len(members) < 2:
            return None
        repeated = np.array_equal(members, vector.indices)
        vector = _weigh(tests, tested.covariances, members, scaled=scaled)
        key = members.tobytes()
        visits[key] = visits.get(key, 0) + 1
        if repeated or visits[key] >= MOST_VISITS:
            break
    tested = tests.test(vector)
    own = float(vector.weights**2 @ tests.variances[vector.indices])
    excess = float(vector.weights @ tested.covariances[vector.indices]) - own
    return _Climbed(vector, excess, tested.statistics, tested.covariances)


def weigh_nearby(tests: VariableTests, vector: SparseVector) -> float:
    """The evidence for the component that a given vector points at: of the set to which a climb from it leads.

    The given variables themselves were not chosen by significance, and their evidence is not calibrated. A set that
    shares less than half of the smaller one is another component: -inf, as where the climb ends with nothing.
    """
    climbed = _climb(tests, vector, LEVEL, scaled=False)
    if climbed is None or _overlap(climbed.indices, vector.indices) < 0.5:
        return -np.inf
    members = select(climbed.statistics, tests.freedom, LEVEL, tests.count)
    return weigh_evidence(climbed.statistics[members], tests.freedom, tests.count) if len(members) >= 2 else -np.inf


def _weigh(tests: VariableTests, covariances: Floats, members: Indices, *, scaled: bool) -> SparseVector:
    """The power step on these variables."""
    weights = covariances[members] / tests.variances[members] if scaled else covariances[members]
    length = float(np.linalg.norm(weights))
    return SparseVector(members, weights / length if length > 0.0 else np.full(len(members), len(members) ** -0.5))


# --- purify -------------------------------------------------------------------------------------------------------


def _purified(tests: VariableTests, found: _Climbed, *, scaled: bool) -> tuple[Indices, Floats, float]:
    """The set at the final level, its statistics and evidence; of a mixture those of one of its parts."""
    members = select(found.statistics, tests.freedom, LEVEL, tests.count)
    if len(members) < 2:
        members = found.indices
    statistics = found.statistics
    evidence = weigh_evidence(statistics[members], tests.freedom, tests.count)
    pure = _purify(tests, found, scaled=scaled)
    if pure is not found:
        settled, new_statistics = _settle(tests, pure, scaled=scaled)
        new_evidence = weigh_evidence(new_statistics[settled], tests.freedom, tests.count)
        shared = len(np.intersect1d(settled, members, assume_unique=True))
        if new_evidence >= LEAST_EVIDENCE and shared < SAME_SHARE * len(members):
            return settled, new_statistics, new_evidence
    return members, statistics, evidence


def _purify(tests: VariableTests, found: _Climbed, *, scaled: bool) -> _Climbed:
    """Climb from single members: where several components are mixed, a smaller and purer set comes back."""
    importance = np.abs(found.vector.weights) * np.sqrt(tests.variances[found.indices])
    for member in found.indices[np.argsort(-importance, kind="stable")[:RESTARTS]]:
        single = _climb_from(tests, int(member), scaled=scaled)
        if single is None:
            continue
        size = len(single.indices)
        if size > SAME_SHARE * len(found.indices):
            return found  # nothing was mixed
        truncated = _truncate(tests, found.vector, size, scaled=scaled)
        whole = _climb(tests, truncated, LEVEL, scaled=scaled)
        if whole is not None and len(whole.indices) <= 1.25 * size and whole.excess > single.excess:
            return whole
        if single.excess >= tests.excess(truncated):
            return single
        if whole is not None and len(whole.indices) <= SAME_SHARE * len(found.indices):
            return whole
    return found


def _climb_from(tests: VariableTests, member: int, *, scaled: bool) -> _Climbed | None:
    """A climb from what is significantly related to one variable."""
    tested = tests.test(SparseVector(np.array([member]), np.ones(1)))
    statistics = tested.statistics.copy()
    statistics[member] = 0.0
    members = select(statistics, tests.freedom, LEVEL, tests.count)
    if len(members) < 1:
        return None
    members = np.union1d(members, [member])
    return _climb(tests, _weigh(tests, tested.covariances, members, scaled=scaled), LEVEL, scaled=scaled)


def _settle(tests: VariableTests, pure: _Climbed, *, scaled: bool) -> tuple[Indices, Floats]:
    """Two steps at the final level and no more: followed to the end they would mix again."""
    statistics = pure.statistics
    members = select(statistics, tests.freedom, LEVEL, tests.count)
    if len(members) < 2:
        return pure.indices, statistics
    vector = _weigh(tests, pure.covariances, members, scaled=scaled)
    after = tests.test(vector).statistics
    again = select(after, tests.freedom, LEVEL, tests.count)
    return (again, after) if len(again) >= 2 else (members, after)


# --- plain steps --------------------------------------------------------------------------------------------------


def _truncate(tests: VariableTests, vector: SparseVector, k: int, *, scaled: bool, steps: int = 8) -> SparseVector:
    """Algorithm 1 with k variables, from the largest weights of a vector; of standardised variables where asked."""
    scales = np.sqrt(np.where(tests.live, tests.variances, np.inf)) if scaled else np.where(tests.live, 1.0, np.inf)
    product = np.zeros(tests.size)
    product[vector.indices] = vector.weights * (scales[vector.indices] if scaled else 1.0)
    for step in range(steps):
        if step:
            product = tests.apply([vector])[:, 0] / scales
        kept = kernels.largest_magnitudes(np.ascontiguousarray(product), k)
        repeated = step > 0 and np.array_equal(kept, vector.indices)
        weights = product[kept] / (scales[kept] if scaled else 1.0)
        vector = SparseVector(kept, weights / np.linalg.norm(weights))
        if repeated:
            break
    return vector


def _truncate_within(tests: VariableTests, vector: SparseVector, k: int, candidates: Indices) -> SparseVector:
    """Algorithm 1 with k of the candidates, from a vector on some of them."""
    allowed = np.zeros(tests.size, dtype=bool)
    allowed[candidates] = True
    before = -1.0
    for _ in range(30):
        product = tests.apply([vector])[:, 0]
        value = float(vector.weights @ product[vector.indices])
        if abs(value - before) <= 1e-6 * value:
            break
        before = value
        kept = kernels.largest_magnitudes(np.where(allowed, product, 0.0), k)
        vector = SparseVector(kept, product[kept] / np.linalg.norm(product[kept]))
    return vector


def _shrink(tests: VariableTests, chosen: ChosenComponent, share: float) -> int:
    """The smallest number of its variables that holds this share of the component's variance, by bisection."""
    needed = share * tests.find_variance(chosen.vector)
    least, enough = 0, len(chosen.significant)
    while enough - least > 1:
        middle = (least + enough) // 2
        kept = _truncate_within(tests, chosen.vector.truncated(middle), middle, chosen.candidates)
        least, enough = (least, middle) if tests.find_variance(kept) >= needed else (middle, enough)
    return enough


def _overlap(first: Indices, second: Indices) -> float:
    """The share of the smaller set that is in the other."""
    return len(np.intersect1d(first, second, assume_unique=True)) / min(len(first), len(second))
