"""What operators say of their own rounding, against extended precision."""

from __future__ import annotations

import numpy as np
import pytest

import sparseigen as se
from sparseigen.operators import as_operator
from sparseigen.operators.wrapped import ShiftedOperator


def everything(size):
    return np.arange(size, dtype=np.int64)


def within(operator, exact):
    errors = operator.entry_errors()
    computed = operator.accurate_columns(everything(operator.size))
    return bool((np.abs(computed - exact) <= np.sqrt(np.outer(errors, errors))).all())


def test_explicit_matrices_are_exact(rng):
    matrix = rng.standard_normal((5, 5))
    operator = as_operator(matrix + matrix.T)
    assert not operator.entry_errors().any()
    assert np.array_equal(operator.accurate_columns(everything(5)), matrix + matrix.T)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_wrappers_carry_the_errors_on(dtype, rng):
    data = (rng.standard_normal((40, 9)) + 7.0).astype(dtype)
    exact = data.astype(np.longdouble)
    exact -= exact.mean(axis=0)
    exact = exact.T @ exact / 39
    operator = se.covariance(data)
    assert within(operator, exact)
    chosen = np.array([1, 4, 8], dtype=np.int64)
    assert within(operator.restricted(chosen), exact[np.ix_(chosen, chosen)])
    assert within(operator.shifted(2.5), exact + 2.5 * np.eye(9, dtype=np.longdouble))
    assert within(operator.negated(), -exact)


def test_deflation_counts_the_rounding_of_its_own_sums(rng):
    data = rng.standard_normal((30, 8))
    deflated = se.covariance(data).deflated(rng.standard_normal(8))
    centred = data.astype(np.longdouble) - data.astype(np.longdouble).mean(axis=0)
    left = deflated.left.astype(np.longdouble)
    exact = centred.T @ centred / 29 + left @ deflated.middle.astype(np.longdouble) @ left.T
    assert within(deflated, exact)
    assert float(deflated.entry_errors().max()) < 1e-12


def test_memory_mapped_data(tmp_path, rng):
    file = np.memmap(tmp_path / "data.bin", dtype=np.float32, mode="w+", shape=(50, 6))
    file[:] = rng.standard_normal((50, 6)) + 3.0
    exact = np.asarray(file).astype(np.longdouble)
    exact -= exact.mean(axis=0)
    assert within(se.covariance(file), exact.T @ exact / 49)


def test_factor_reproduces_the_covariance(rng):
    operator = se.covariance(rng.standard_normal((5, 12)))
    rows = operator.factor_rows(slice(None))
    assert rows.shape == (12, operator.factor_rank) == (12, 5)
    assert np.allclose(rows @ rows.T, operator.to_dense(), rtol=1e-13, atol=1e-13)
    assert se.covariance(rng.standard_normal((20, 12))).factor_rank == 0


def test_an_operator_over_samples_that_says_nothing_is_not_taken_for_exact(rng):
    """The contract's own default: accumulation in the operator's type."""
    from sparseigen.operators.contract import Operator

    operator = se.covariance(rng.standard_normal((30, 6)).astype(np.float32))
    general = Operator.entry_errors(operator)
    assert (general > 10.0 * 2.0**-24 * operator.diagonal()).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("density", [0.01, 0.6])
@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_sparse_data_by_either_product(density, scale, dtype, layout, rng):
    import scipy.sparse as sp

    data = sp.random(400, 60, density=density, format="lil", dtype=dtype, random_state=7)
    data[:, 3] = 5.0 + rng.standard_normal((400, 1))  # far from zero: uncentred products cancel
    data[0, :] = 1.0  # no column is constant
    data = data.asformat(layout)
    before = data.copy()
    operator = se.covariance(data, scale=scale)
    exact = data.toarray().astype(np.longdouble)
    exact -= exact.mean(axis=0)
    if scale:
        exact /= np.sqrt((exact**2).sum(axis=0) / 399)
    assert within(operator, exact.T @ exact / 399)
    met = operator._sample_lengths[operator.variables.indices].sum()
    assert bool(6 * met < operator.variables.nnz * 60) == (density < 0.1)  # both ways are taken by these tests
    assert (data != before).nnz == 0


@pytest.mark.filterwarnings("ignore::sparseigen.errors.PrecisionWarning")
def test_sparse_columns_whose_uncentred_squares_overflow():
    import scipy.sparse as sp

    data = sp.random(300, 50, density=0.02, format="lil", dtype=np.float64, random_state=1)
    data[:, 0] = 1e153  # the sum of its squares overflows, its variance does not
    data[0, 0] = 1.0000001e153
    operator = se.covariance(data.tocsr())
    assert operator._sample_lengths[operator.variables.indices].sum() * 6 < operator.variables.nnz * 50
    assert np.isfinite(operator.accurate_columns(everything(50))).all()
    data[:, 0] = 1e155
    with pytest.raises(se.errors.NonFiniteError, match="overflow"):
        se.covariance(data.tocsr())


@pytest.mark.parametrize("seed", range(8))
def test_deflation_of_denormal_numbers_counts_what_underflows(seed):
    from fractions import Fraction

    rng = np.random.default_rng(seed)
    matrix = np.ldexp(rng.integers(-60, 60, (6, 6)).astype(float), -1074)
    vector = np.zeros(6)
    vector[rng.choice(6, 3, replace=False)] = rng.standard_normal(3)
    deflated = as_operator(matrix + matrix.T).deflated(vector / np.linalg.norm(vector))

    def fractions(array):
        return [[Fraction(float(number)) for number in row] for row in array]

    base, left, middle = fractions(matrix + matrix.T), fractions(deflated.left), fractions(deflated.middle)
    found, errors = fractions(deflated.accurate_columns(everything(6))), deflated.entry_errors()
    inner = range(len(middle))
    for i in range(6):
        for j in range(6):
            exact = base[i][j] + sum(left[i][a] * middle[a][b] * left[j][b] for a in inner for b in inner)
            allowed = Fraction(float(errors[i])) * Fraction(float(errors[j]))
            assert (found[i][j] - exact) ** 2 <= allowed


def test_forms_and_row_sums_of_wrapped_matrices_are_those_of_their_columns(rng):
    """What a wrapper takes from its base, against the contract's default, which looks at columns."""
    base = se.covariance(rng.standard_normal((6, 9)))
    chosen, weights, vector = np.array([0, 3, 4, 7]), rng.uniform(0.1, 1.0, 9), rng.standard_normal(3)
    wrapped = [
        base.shifted(0.7),
        base.negated(),
        base.negated().shifted(-3.0),
        ShiftedOperator(base, sign=0.25, shift=1.0),
    ]
    for operator in [*wrapped, base.restricted(np.arange(9)), base.deflated(np.ones(9))]:
        matrix = operator.to_dense()
        for count in (0, 2, 8):
            sums, least, shortfall = operator.top_row_sums(chosen, weights, count)
            for place, row in enumerate(chosen):
                products = np.sort(np.delete(np.abs(matrix[row]) * weights, row))[::-1][:count]
                assert sums[place] == pytest.approx(products.sum(), rel=1e-12)
                assert least[place] == pytest.approx(products[-1] if count else 0.0, rel=1e-12)
            assert (shortfall <= 1e-300).all()
        form, error = operator.quadratic_form(chosen[:3], vector)
        exact = vector @ matrix[np.ix_(chosen[:3], chosen[:3])] @ vector
        assert abs(form - exact) <= error + 1e-14 * np.abs(matrix).sum()
        assert error <= 1e-13 * np.abs(matrix).sum()
