"""SparsePCA: scikit-learn's own checks, and what goes beyond them."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import sparseigen as se
from sparseigen.errors import (
    CardinalityError,
    DtypeError,
    NonFiniteError,
    OptionError,
    RedundantComponentWarning,
    ShapeError,
)


def test_scores_are_products_and_invert(data, rng) -> None:
    """One kind of scores: those whose variances and correlations are told, in files, on pages and here."""
    pca = se.SparsePCA(3, 5).fit(data)
    scores = pca.transform(data)
    centred = data - data.mean(axis=0)
    np.testing.assert_allclose(scores, centred @ pca.components_.T)
    np.testing.assert_allclose(scores.var(axis=0, ddof=1), pca.explained_variances_["plain"])
    np.testing.assert_allclose(np.corrcoef(scores.T), pca.score_correlations_, atol=1e-12)
    fitted = np.linalg.lstsq(pca.components_.T, centred.T, rcond=None)[0].T @ pca.components_
    np.testing.assert_allclose(pca.inverse_transform(scores), fitted + data.mean(axis=0), atol=1e-12)
    other = rng.standard_normal((7, 3))
    np.testing.assert_allclose(pca.transform(pca.inverse_transform(other)), other, atol=1e-10)


def test_score_is_the_explained_share(data) -> None:
    pca = se.SparsePCA(2, 4).fit(data)
    residual = data - pca.inverse_transform(pca.transform(data))
    expected = 1.0 - (residual**2).sum() / ((data - data.mean(axis=0)) ** 2).sum()
    assert pca.score(data) == pytest.approx(expected)
    assert pca.score(data) == pytest.approx(pca.explained_variance_ratios_["span"].sum())


@pytest.mark.parametrize("scale", [False, True])
def test_sparse_data_give_the_dense_answer_without_being_densified(data, scale, monkeypatch) -> None:
    data = np.where(np.abs(data - 3.0) > 1.0, data, 0.0)
    dense = se.SparsePCA(2, 4, scale=scale).fit(data)

    def refuse(self, *args, **kwargs):
        assert self.shape[0] < 80 or self.shape[1] < 12, "the whole table was made dense"
        return original(self, *args, **kwargs)

    original = sp.csr_matrix.toarray
    monkeypatch.setattr(sp.csc_matrix, "toarray", refuse)
    monkeypatch.setattr(sp.csr_matrix, "toarray", refuse)
    table = sp.csr_matrix(data)
    sparse = se.SparsePCA(2, 4, scale=scale).fit(table)
    np.testing.assert_allclose(sparse.components_, dense.components_, atol=1e-8)
    np.testing.assert_allclose(sparse.transform(table), dense.transform(data), atol=1e-8)
    assert sparse.score(table) == pytest.approx(dense.score(data))


def test_fit_covariance_gives_the_same_components(data) -> None:
    names = [f"v{j}" for j in range(12)]
    frame = pd.DataFrame(data, columns=names)
    for scale in (False, True):
        by_data = se.SparsePCA(2, 4, scale=scale).fit(frame)
        by_matrix = se.SparsePCA(2, 4, scale=scale).fit_covariance(frame.cov(), n_samples=80)
        np.testing.assert_allclose(by_matrix.components_, by_data.components_, atol=1e-8)
        np.testing.assert_allclose(by_matrix.scale_, by_data.scale_)
        assert by_matrix.n_samples_ == 80
        np.testing.assert_allclose(
            by_matrix.transform(frame - frame.mean()), by_data.transform(frame), rtol=1e-6, atol=1e-8
        )
        assert list(by_matrix.feature_names_in_) == names


@pytest.mark.parametrize(
    ("cardinality", "expected"), [(3, [3, 3]), ([5, 2], [5, 2]), (0.25, [3, 3]), (np.int64(4), [4, 4])]
)
def test_ways_to_say_how_sparse(data, cardinality, expected) -> None:
    pca = se.SparsePCA(2, cardinality).fit(data)
    assert pca.cardinality_ == expected
    assert (pca.components_ != 0.0).sum(axis=1).tolist() == expected


def test_auto_explains_the_share_asked_for(data) -> None:
    pca = se.SparsePCA(1, "auto", share=0.8).fit(data)
    matrix = np.cov(data.T)
    assert pca.results_[0].value >= 0.8 * np.linalg.eigvalsh(matrix)[-1]
    assert pca.cardinality_[0] < 12


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"cardinality": 13}, CardinalityError, r"cardinality=13 must be between 1 and the number of variables \(12\)"),
        ({"cardinality": 1.5}, CardinalityError, "fraction of the variables"),
        ({"cardinality": [3]}, CardinalityError, "1 entries; with n_components=2 it needs 2"),
        ({"cardinality": "few"}, OptionError, "the only text allowed is 'auto'"),
        ({"n_components": 13, "cardinality": 2}, OptionError, r"at most the number of variables \(12\)"),
        ({"deflation": "none", "cardinality": 2}, OptionError, "deflation='none' is not known"),
        ({"variance": "total", "cardinality": 2}, OptionError, "variance='total' is not known"),
        ({"method": "lasso", "cardinality": 2}, OptionError, "method='lasso' is not known"),
        ({"cardinality": 2, "method_options": {"gamma": 0.1}}, OptionError, "names 'gamma', which method='tpower'"),
    ],
)
def test_errors_say_what_is_allowed(data, options, error, match) -> None:
    with pytest.raises(error, match=match):
        se.SparsePCA(**({"n_components": 2} | options)).fit(data)


def test_gaps_name_the_columns_and_the_pipeline_works(data) -> None:
    frame = pd.DataFrame(data.copy(), columns=[f"v{j}" for j in range(12)])
    frame.iloc[3, 2] = np.nan
    frame.iloc[5, 7] = np.inf
    with pytest.raises(NonFiniteError, match=r"2 NaN or infinite values in 2 of 12 columns: 'v2', 'v7'.*missing='mean"):
        se.SparsePCA(1, 3).fit(frame)
    frame.iloc[5, 7] = np.nan
    make_pipeline(SimpleImputer(strategy="mean"), se.SparsePCA(1, 3)).fit(frame)
    table = sp.csr_matrix(data)
    table.data[0] = np.nan
    with pytest.raises(NonFiniteError, match="1 NaN or infinite values in 1 of 12 columns: 0"):
        se.SparsePCA(1, 3).fit(table)


def test_pipeline_grid_search_clone_pickle_and_frames(data) -> None:
    frame = pd.DataFrame(data, columns=[f"v{j}" for j in range(12)])
    pipeline = make_pipeline(StandardScaler(), se.SparsePCA(2, certify=False))
    search = GridSearchCV(pipeline, {"sparsepca__cardinality": [1, 4]}, cv=3).fit(frame)
    assert search.best_params_ == {"sparsepca__cardinality": 4}
    pca = se.SparsePCA(2, 4).set_output(transform="pandas").fit(frame)
    assert list(pca.transform(frame).columns) == ["sparsepca0", "sparsepca1"] == list(pca.get_feature_names_out())
    again = pickle.loads(pickle.dumps(pca))
    np.testing.assert_array_equal(again.components_, pca.components_)
    assert again.results_[0].certificate == pca.results_[0].certificate
    assert clone(pca).get_params() == pca.get_params()


def test_signs_and_results_are_deterministic(data) -> None:
    first, second = (se.SparsePCA(3, 4).fit(x) for x in (data, -data))
    np.testing.assert_array_equal(first.components_, second.components_)
    assert (np.take_along_axis(first.components_, np.abs(first.components_).argmax(axis=1)[:, None], 1) > 0).all()
    assert all(result.certificate.lower_bound <= result.certificate.upper_bound for result in first.results_)


def test_nonnegative_and_refine(data) -> None:
    assert (se.SparsePCA(2, 4, nonnegative=True).fit(data).components_ >= 0.0).all()
    plain, refined = (se.SparsePCA(3, 3, refine=r).fit(data) for r in (False, True))
    assert refined.explained_variance_.sum() >= plain.explained_variance_.sum()


def test_inverse_transform_checks_its_input(data) -> None:
    with pytest.raises(ShapeError, match=r"\(n_samples, 2\)"):
        se.SparsePCA(2, 3).fit(data).inverse_transform(np.zeros((4, 3)))


def test_input_is_not_written_to(data) -> None:
    before = data.copy()
    data.flags.writeable = False
    se.SparsePCA(2, 3, scale=True, refine=True).fit(data).transform(data)
    np.testing.assert_array_equal(data, before)


def test_results_carry_the_names_of_a_frame(data) -> None:
    names = [f"v{j}" for j in range(data.shape[1])]
    named = se.SparsePCA(cardinality=3).fit(pd.DataFrame(data, columns=names))
    assert set(named.results_[0].loadings) <= set(names)
    assert named.fit(data).results_[0].names is None


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::sparseigen.errors.NotSignificantWarning")  # most of the checks' data are noise
@parametrize_with_checks(
    [se.SparsePCA(), se.SparsePCA(cardinality=1, method="pathspca"), se.SparsePCA(cardinality=0.5, scale=True)]
)
def test_scikit_learn_check(estimator, check) -> None:
    """All of scikit-learn's own checks: no expected failures."""
    check(estimator)


def test_effort_and_time_limit_reach_the_components(rng):
    data = rng.standard_normal((30, 40))
    quick = se.SparsePCA(n_components=2, cardinality=4, effort="quick").fit(data)
    assert [[stage.name for stage in result.stages] for result in quick.results_] == [["plain run", "bound"]] * 2
    hurried = se.SparsePCA(n_components=1, cardinality=4, time_limit=1e-9).fit(data)
    assert hurried.results_[0].stop_reason.value == "time_limit"


def test_correlations_between_scores_and_a_warning_for_components_that_repeat(rng) -> None:
    strong, weak = 3.0 * rng.standard_normal((100, 1)), rng.standard_normal((100, 1))
    data = np.hstack([strong.repeat(40, axis=1), weak.repeat(20, axis=1)]) + 0.3 * rng.standard_normal((100, 60))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RedundantComponentWarning)
        pca = se.SparsePCA(2, 10, scale=True).fit(data)
    scores = (data - pca.mean_) / pca.scale_ @ pca.components_.T
    np.testing.assert_allclose(pca.score_correlations_, np.corrcoef(scores.T), atol=1e-10)
    with pytest.warns(
        RedundantComponentWarning, match=r"component 2 adds .* component 1\): use deflation='schur'"
    ) as said:
        paper = se.SparsePCA(2, 10, scale=True, deflation="projection").fit(data)
    assert said[0].filename == __file__
    assert abs(paper.score_correlations_[0, 1]) > 0.98
    assert paper.explained_variance_.sum() < 0.7 * pca.explained_variance_.sum()


@pytest.mark.parametrize("constraint", ["orthogonal", "uncorrelated"])
def test_sets_under_a_constraint(data, constraint) -> None:
    pca = se.SparsePCA(2, 3, constraint=constraint, effort="quick").fit(data)
    covariance = np.cov(data, rowvar=False)
    metric = covariance if constraint == "uncorrelated" else np.eye(len(covariance))
    first, second = pca.components_
    assert abs(first @ metric @ second) <= 1e-11 * max(1.0, np.abs(covariance).max())
    assert pca.results_.certificate.upper_bound >= pca.results_.value
    disjoint = se.SparsePCA(2, 3, disjoint=True, effort="quick").fit(data)
    assert not (disjoint.components_ != 0.0).all(axis=0).any()
    with pytest.raises(se.errors.OptionError, match="not nonnegative"):
        se.SparsePCA(2, 3, constraint=constraint, nonnegative=True).fit(data)


def test_files_are_read(data, tmp_path) -> None:
    frame = pd.DataFrame(data, columns=[f"v{i}" for i in range(data.shape[1])])
    frame.to_csv(tmp_path / "t.csv", index=False)
    np.save(tmp_path / "t.npy", data)
    right = se.SparsePCA(2, 3).fit(frame)
    for path in (tmp_path / "t.csv", str(tmp_path / "t.npy")):
        found = se.SparsePCA(2, 3).fit(path)
        np.testing.assert_allclose(found.components_, right.components_, atol=1e-8)
    assert se.SparsePCA(2, 3).fit(tmp_path / "t.csv").feature_names_in_.tolist() == list(frame.columns)


def test_a_column_of_text_is_named(data) -> None:
    frame = pd.DataFrame(data).rename(columns=str).assign(city="Oslo", kind="x" * 60)
    with pytest.raises(
        DtypeError, match=r"column 'city' of X holds text, such as 'Oslo' \(2 of \d+ columns do\); drop or"
    ):
        se.SparsePCA(2, 3).fit(frame)
    with pytest.raises(DtypeError, match=r"column 'kind' of X holds text, such as 'x+\.\.\.'; drop or encode it first"):
        se.SparsePCA(2, 3).fit(frame.drop(columns="city"))
    numbers = pd.DataFrame(data).rename(columns=str).astype(object)
    assert se.SparsePCA(2, 3).fit(numbers).n_components_ == 2


def test_none_is_automatic(data) -> None:
    assert se.SparsePCA(None).fit(data).n_components_ == se.SparsePCA("auto").fit(data).n_components_


def test_whole_weights_are_repeated_samples(data) -> None:
    weights = np.arange(len(data)) % 3
    for form in (data, sp.csr_array(data)):
        weighted = se.SparsePCA(2, 4, scale=True).fit(form, sample_weight=weights)
        repeated = se.SparsePCA(2, 4, scale=True).fit(np.repeat(data, weights, axis=0))
        np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-9)
        np.testing.assert_allclose(weighted.mean_, repeated.mean_)
        assert weighted.n_samples_ == weights.sum()


def test_other_weights_weigh(data) -> None:
    weights = np.arange(len(data)) % 3
    for scale in (False, True):
        whole = se.SparsePCA(2, 4, scale=scale).fit(data, sample_weight=weights)
        nearly = se.SparsePCA(2, 4, scale=scale).fit(data, sample_weight=weights * (1.0 + 1e-9))
        np.testing.assert_allclose(np.abs(nearly.components_), np.abs(whole.components_), atol=1e-6)
        np.testing.assert_allclose(nearly.explained_variance_, whole.explained_variance_, rtol=1e-6)
        np.testing.assert_allclose(nearly.mean_, whole.mean_, atol=1e-8)
        np.testing.assert_allclose(nearly.scale_, whole.scale_, rtol=1e-6)
    with pytest.raises(OptionError, match="sample_weight other than whole numbers takes dense data"):
        se.SparsePCA(2, 4).fit(sp.csr_array(data), sample_weight=weights + 0.5)
    with pytest.raises(OptionError, match="and numbers for cardinality"):
        se.SparsePCA(2).fit(data, sample_weight=weights + 0.5)


def test_the_covariance_of_all_components_is_that_of_the_data(data) -> None:
    size = data.shape[1]
    for scale in (False, True):
        full = se.SparsePCA(size, size, scale=scale, certify=False).fit(data)
        np.testing.assert_allclose(full.get_covariance(), np.cov(data.T), atol=1e-8)
        few = se.SparsePCA(2, 4, scale=scale).fit(data)
        model = few.get_covariance()
        assert np.trace(model / np.outer(few.scale_, few.scale_)) == pytest.approx(
            size if scale else np.cov(data.T).trace()
        )
        assert np.linalg.eigvalsh(model).min() > 0.0


def test_verbose_tells_components_and_stages(data, capsys) -> None:
    se.SparsePCA(2, 4, verbose=True).fit(data)
    said = capsys.readouterr().out
    assert "[SparsePCA] component 2 of 2, plain run (" in said
    assert "proving: bound" in said


def test_skops_keeps_a_fit(data, tmp_path) -> None:
    skops = pytest.importorskip("skops.io")
    frame = pd.DataFrame(data).rename(columns="v{}".format)
    fitted = se.SparsePCA(2, 4).fit(frame)
    skops.dump(fitted, tmp_path / "pca.skops")
    trusted = skops.get_untrusted_types(file=tmp_path / "pca.skops")
    assert all(name.startswith(("sparseigen.", "mappingproxy", "types.")) for name in trusted), trusted
    again = skops.load(tmp_path / "pca.skops", trusted=trusted)
    np.testing.assert_array_equal(again.transform(frame), fitted.transform(frame))
    assert again.results_[0].certificate.optimal == fitted.results_[0].certificate.optimal
