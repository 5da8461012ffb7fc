"""Efforts, their bounds, units, both ends of the spectrum, and what a bound left out is called."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.certificates import UPPER_BOUNDS
from sparseigen.certificates.portfolio import BoundSpec, smallest_bound
from sparseigen.certificates.problem import BoundProblem
from sparseigen.certificates.rounding import achieved_value
from sparseigen.errors import CardinalityError, OptionError
from sparseigen.operators import as_operator
from sparseigen.operators.contract import SparseVector
from tests.brute_force import brute_force
from tests.unit.certificates.exact_arithmetic import gram, random_gram


@pytest.mark.parametrize("factor", [1e-305, 1e-200, 1.0, 1e200, 1e305])
def test_bounds_do_not_depend_on_units(factor, rng):
    matrix = random_gram(rng)
    certificate = se.upper_bound(matrix * factor, 3)
    plain = se.upper_bound(matrix, 3)
    assert certificate.upper_bound / factor == pytest.approx(plain.upper_bound, rel=1e-9)
    assert certificate.lower_bound / factor == pytest.approx(plain.lower_bound, rel=1e-9)


def test_efforts_are_ordered(rng):
    matrix = np.cov(rng.standard_normal((20, 30)), rowvar=False)
    cheap, default, tight = (se.upper_bound(matrix, 5, effort=effort) for effort in ("cheap", "default", "tight"))
    assert tight.upper_bound <= default.upper_bound <= cheap.upper_bound
    assert tight.relative_gap < 0.5 * cheap.relative_gap


@pytest.mark.parametrize("factor", [1.0, 1e300])
def test_zero_diagonal(factor, rng):
    """A graph: the size of the entries is not on the diagonal."""
    graph = np.triu(rng.random((30, 30)) < 0.3, 1) * factor
    certificate = se.upper_bound(graph + graph.T, 8)
    assert factor < certificate.lower_bound <= certificate.upper_bound < 8.0 * factor


def test_smallest_gets_a_lower_bound(rng):
    matrix = rng.standard_normal((8, 8))
    matrix = matrix + matrix.T
    certificate = se.sparse_eigenvector(matrix, 3, which="smallest").certificate
    optimum = -brute_force(-matrix, 3)
    assert certificate.lower_bound <= optimum <= certificate.upper_bound


def test_data_bound_equals_matrix_bound(rng):
    data = rng.standard_normal((12, 40)) @ np.diag(1.0 + rng.random(40))
    of_data, of_matrix = se.upper_bound(se.covariance(data), 4), se.upper_bound(np.cov(data, rowvar=False), 4)
    assert of_data.upper_bound == pytest.approx(of_matrix.upper_bound, rel=1e-9)


def test_errors_say_what_is_allowed():
    with pytest.raises(OptionError, match=r"effort='fast' is not known\. Allowed: 'cheap', 'default', 'tight'"):
        se.upper_bound(np.eye(3), 1, effort="fast")
    with pytest.raises(CardinalityError, match="cardinality=4 must be between 1 and the number of variables"):
        se.upper_bound(np.eye(3), 4)


@pytest.mark.parametrize("effort", ["cheap", "default", "tight"])
def test_an_effort_tries_its_own_bounds_and_takes_the_smallest(effort, monkeypatch):
    tried = []

    def returning(name, value):
        return lambda problem: tried.append(name) or value

    values = {name: float(len(UPPER_BOUNDS) - place) for place, name in enumerate(UPPER_BOUNDS)} | {"trace": 0.75}
    own = [name for name, spec in UPPER_BOUNDS.items() if effort in spec.efforts]
    table = {name: BoundSpec(returning(name, values[name]), spec.efforts) for name, spec in UPPER_BOUNDS.items()}
    monkeypatch.setattr("sparseigen.certificates.portfolio.UPPER_BOUNDS", table)
    problem = BoundProblem(as_operator(np.eye(3)), 2, achieved=0.5)
    upper, method = smallest_bound(problem, effort)
    assert tried == own
    assert method == "trace"
    assert 1.5 < upper < 1.5 * (1.0 + 1e-15)  # entries are scaled to one half
    problem = BoundProblem(as_operator(np.eye(3)), 2, achieved=1.5)  # what trace proves is reached
    tried.clear()
    assert smallest_bound(problem, effort)[1] == "trace"
    assert tried == own[: own.index("trace") + 1]


def test_a_bound_left_out_is_named_while_the_gap_is_open(monkeypatch):
    def left_out(problem):
        problem.left_out = "scaled rows left out: 3 columns of A"
        return 2.0

    def name(achieved, bound):
        monkeypatch.setattr("sparseigen.certificates.portfolio.UPPER_BOUNDS", {"rows": BoundSpec(bound, ("cheap",))})
        return smallest_bound(BoundProblem(as_operator(np.eye(3)), 2, achieved=achieved), "cheap")[1]

    assert name(1.0, left_out) == "rows (scaled rows left out: 3 columns of A)"
    assert name(4.0, left_out) == name(1.0, lambda problem: 2.0) == "rows"


@pytest.mark.parametrize("name", sorted(UPPER_BOUNDS))
def test_entry_errors_are_part_of_every_bound(name, monkeypatch):
    """Blocks of k variables, each entry off by at most e: up to k e on top of what holds for the entries as given."""
    # Steps from weights that differ by rounding end in other splits: the one they begin with is compared.
    monkeypatch.setattr("sparseigen.certificates.split_rows.lower_split", lambda split, *wishes, **limits: split)
    error, cardinality = 1e-3, 3
    matrix = gram(1, size=8, rank=8)
    vector = SparseVector(np.arange(cardinality, dtype=np.int64), np.full(cardinality, cardinality**-0.5))

    def bound(errors):
        operator = as_operator(matrix)
        operator.entry_errors = lambda: np.full(8, errors)
        problem = BoundProblem(operator, cardinality, vector, achieved=achieved_value(as_operator(matrix), vector))
        return problem.unscale_bound(UPPER_BOUNDS[name].bound(problem))

    clear, rough = bound(0.0), bound(error)
    assert cardinality * error <= (rough - clear) * (1.0 + 1e-9)
    assert rough - clear <= 2.5 * cardinality * error
