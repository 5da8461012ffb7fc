"""The covariance of genotypes on disk: the same as in memory, in passes over variables."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import sparseigen as se
from sparseigen.errors import CheckpointError, NonFiniteError, OptionError, RangeError
from sparseigen.operators.variable_data import VariableData
from tests.unit.rows.plink import draw_calls, write_plink

pytest.importorskip("bed_reader")
CALLS = draw_calls(60, 300, missing=0.02)


@pytest.fixture
def path(tmp_path):
    return write_plink(tmp_path / "a.bed", CALLS)


@pytest.mark.parametrize("scale", [False, True, "patterson"])
@pytest.mark.parametrize("center", [True, False])
def test_everything_equals_data_in_memory(path, scale, center):
    if scale == "patterson" and not center:
        pytest.skip("needs means")
    disk = se.covariance(path, missing="mean", scale=scale, center=center)
    filled = np.where(np.isnan(CALLS), np.nanmean(CALLS, axis=0), CALLS)
    memory = se.covariance(filled, scale=scale, center=center)
    assert isinstance(disk, VariableData)
    some, weights = np.array([3, 250, 17]), np.array([0.5, -0.5, 2.0])
    block = np.random.default_rng(0).standard_normal((300, 2))
    for name, arguments in (
        ("diagonal", ()),
        ("apply_support", (some, weights)),
        ("columns", (some,)),
        ("submatrix", (some,)),
        ("block_apply", (block,)),
        ("_accurate_product", (some, weights)),
    ):
        found, wanted = getattr(disk, name)(*arguments), getattr(memory, name)(*arguments)
        if isinstance(found, tuple):
            found, wanted = found[0], wanted[0]
        np.testing.assert_allclose(found, wanted, atol=2e-5, err_msg=name)
    errors = np.abs(disk.submatrix(some) - memory.submatrix(some))
    assert (errors <= np.sqrt(np.outer(disk.entry_errors()[some], disk.entry_errors()[some]))).all()


def test_patterson_divides_by_what_the_frequency_predicts(path):
    operator = se.covariance(path, missing="mean", scale="patterson")
    share = np.nanmean(CALLS, axis=0) / 2.0
    np.testing.assert_allclose(operator.deviations, np.sqrt(2.0 * share * (1.0 - share)))


def test_small_blocks_take_no_pass_and_products_one(path):
    operator = se.covariance(path, missing="mean")
    assert operator.passes_made == 1
    operator.submatrix(np.arange(5))
    assert operator.passes_made == 1
    operator.apply_support(np.arange(50), np.ones(50))
    assert operator.passes_made == 2


def test_the_answer_is_that_of_memory_and_says_what_was_missing(path):
    filled = np.where(np.isnan(CALLS), np.nanmean(CALLS, axis=0), CALLS)
    found = se.sparse_eigenvector(se.covariance(path, missing="mean"), 10)
    memory = se.sparse_eigenvector(se.covariance(filled), 10)
    np.testing.assert_array_equal(found.support, memory.support)
    assert found.value == pytest.approx(memory.value, rel=1e-6)
    assert found.settings["missing_values"] == int(np.isnan(CALLS).sum())
    assert set(found.settings["missing_shares"]) == {f"rs{i}" for i in found.support}


def test_missing_calls_are_refused_by_default(path):
    message = r"a.bed has \d+ NaN or infinite values, the first at row \d+, column 0 \('rs0'\); .* missing='mean'"
    with pytest.raises(NonFiniteError, match=message):
        se.covariance(path)


def test_variants_without_a_call_are_refused(tmp_path):
    calls = CALLS.copy()
    calls[:, 7] = np.nan
    with pytest.raises(NonFiniteError, match=r"a.bed: column 7 \('rs7'\) has no value at all \(1 such variable\)"):
        se.covariance(write_plink(tmp_path / "a.bed", calls), missing="mean")


def test_scales_that_do_not_fit_are_refused(path, rng):
    with pytest.raises(OptionError, match=r"scale='pareto' must be True, False or 'patterson'"):
        se.covariance(path, scale="pareto")
    with pytest.raises(OptionError, match=r"scale='patterson' divides by what the mean predicts, and center=False has"):
        se.covariance(path, scale="patterson", center=False)
    with pytest.raises(RangeError, match=r"scale='patterson' is for counts of alleles \(0, 1, 2\); column 0 has the m"):
        se.covariance(rng.standard_normal((20, 3)) - 5.0, scale="patterson")


def test_a_checkpoint_goes_on_with_the_same_bits(path, tmp_path):
    log = tmp_path / "log"
    first = se.sparse_eigenvector(se.covariance(path, missing="mean", checkpoint=log), 5)
    seen = []
    operator = se.covariance(path, missing="mean", checkpoint=log, on_block=lambda *facts: seen.append(facts))
    assert se.sparse_eigenvector(operator, 5).vector.tolist() == first.vector.tolist()
    assert not seen, "every pass came from the checkpoint"
    with pytest.raises(CheckpointError):
        se.covariance(path, missing="mean", scale=True, checkpoint=log)


def test_samples_are_those_of_the_data(path):
    samples = se.covariance(path, missing="mean").samples
    filled = np.where(np.isnan(CALLS), np.nanmean(CALLS, axis=0), CALLS)
    wanted = se.covariance(filled).samples.squares
    np.testing.assert_allclose(samples.squares / samples.squares[0], wanted / wanted[0], rtol=1e-5)


def test_estimator_and_components_take_the_path(path):
    model = se.SparsePCA(2, cardinality=10, missing="mean", scale="patterson").fit(path)
    assert model.feature_names_in_[0] == "rs0"
    assert model.missing_.shape == (300,)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # an array has no names
        side = model.transform(CALLS)[:, 0]
    assert abs(np.corrcoef(side, np.arange(60) % 2)[0, 1]) > 0.8
