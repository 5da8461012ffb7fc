"""Components whose number and cardinalities are found, and what is said of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import sparseigen as se
from sparseigen.components.automatic import MOST_COMPONENTS, find_components, make_tests, warn_of_noise
from sparseigen.components.significance import MatrixTests, RowTests
from sparseigen.errors import NotSignificantWarning, OptionError
from sparseigen.operators import as_operator

BLOCKS = (np.arange(20), np.arange(20, 35))


@pytest.fixture
def data(rng):
    X = rng.standard_normal((150, 200))
    for strength, block in zip((1.5, 1.0), BLOCKS, strict=True):
        X[:, block] += strength * rng.standard_normal((150, 1))
    return X


def test_what_was_planted_is_found_and_proven(data) -> None:
    pca = se.SparsePCA(n_components="auto").fit(data)
    assert pca.n_components_ == 2
    assert pca.significant_.tolist() == [True, True]
    for component, block in enumerate(BLOCKS):
        assert len(set(pca.results_[component].support) ^ set(block)) <= 3
        assert pca.results_[component].certificate is not None
        part = set(pca.significance_.taking_part[component])
        assert len(part ^ set(block)) <= 3
        assert (pca.significance_.adjusted[component][list(part)] <= 0.01).all()
        assert 0.9 <= pca.significance_.carried[component] <= 1.1
        said = pca.significance_.describe(component, pca.cardinality_[component])
        assert said.startswith(f"{len(part)} variables take part (FDR 1%)")


@pytest.mark.parametrize("kind", ["sparse", "file", "covariance", "torch", "float32"])
def test_every_kind_of_input_gives_the_same_components(kind, data, tmp_path) -> None:
    expected = se.SparsePCA(n_components="auto").fit(data)
    pca = se.SparsePCA(n_components="auto")
    if kind == "sparse":
        pca.fit(sparse.csr_array(data))
    elif kind == "file":
        np.save(tmp_path / "data.npy", data)
        pca.fit(se.covariance(str(tmp_path / "data.npy"), center=True))
    elif kind == "covariance":
        pca.fit_covariance(np.cov(data, rowvar=False), n_samples=150)
        assert not pca.significance_.robust
    elif kind == "torch":
        torch = pytest.importorskip("torch")
        pca.fit(se.covariance(torch.as_tensor(data), center=True))
    else:
        pca.fit(data.astype(np.float32))
    assert pca.n_components_ == 2
    for found, wanted in zip(pca.results_, expected.results_, strict=True):
        assert len(set(found.support) ^ set(wanted.support)) <= 2


def test_noise_has_no_component_and_one_sentence_says_so(rng) -> None:
    noise = rng.standard_normal((100, 50))
    with pytest.warns(NotSignificantWarning, match=r"^no component: no set of variables varies together more than"):
        pca = se.SparsePCA(n_components="auto").fit(noise)
    assert pca.n_components_ == 0
    assert pca.components_.shape == (0, 50)
    assert pca.explained_variance_ratio_.sum() == 0.0
    assert pca.significance_.taking_part == []
    with pytest.warns(NotSignificantWarning, match="no component"):
        assert se.SparsePCA(n_components="auto", cardinality=3).fit(noise).n_components_ == 0


def test_a_number_asked_for_is_delivered_and_marked(data, rng) -> None:
    with pytest.warns(
        NotSignificantWarning, match="2 of the 4 components asked for stand out from noise; components 3 to 4 do not"
    ):
        pca = se.SparsePCA(n_components=4).fit(data)
    assert pca.significant_.tolist() == [True, True, False, False]
    assert pca.cardinality_[2:] == [1, 1]
    assert np.isnan(pca.significance_.p_values[3]).all()
    assert pca.significance_.describe(3, 1) == "does not stand out from noise"
    with pytest.warns(NotSignificantWarning, match="0 of the 1 components"):
        assert se.SparsePCA().fit(rng.standard_normal((100, 50))).significant_.tolist() == [False]


def test_a_limit_keeps_the_strongest(data) -> None:
    pca = se.SparsePCA(n_components="auto", max_cardinality=6).fit(data)
    assert pca.cardinality_ == [6, 6]
    assert len(pca.significance_.taking_part[0]) >= 19
    assert 0.2 < pca.significance_.carried[0] < 0.6
    assert "these 6 carry" in pca.significance_.describe(0, 6)
    with pytest.raises(OptionError, match="max_cardinality"):
        se.SparsePCA(max_cardinality=0).fit(data)
    assert se.SparsePCA(max_cardinality=10**6).fit(data).cardinality_ == se.SparsePCA().fit(data).cardinality_


def test_given_cardinalities_stay_and_are_tested(data) -> None:
    pca = se.SparsePCA(n_components=2, cardinality=[20, 15]).fit(data)
    assert pca.cardinality_ == [20, 15]
    assert pca.significant_.tolist() == [True, True]
    assert (pca.significance_.p_values[0][:20] < 1e-6).all()
    assert np.median(pca.significance_.p_values[0][35:]) > 0.3
    assert se.SparsePCA(n_components="auto", cardinality=5).fit(data).cardinality_ == [5, 5]


def test_a_share_asks_for_fewer(data) -> None:
    few = se.SparsePCA(share=0.5).fit(data).cardinality_[0]
    assert few < se.SparsePCA(share=0.9).fit(data).cardinality_[0] <= 21


def test_without_samples_the_share_of_a_dense_component_decides(data) -> None:
    matrix = np.cov(data, rowvar=False)
    pca = se.SparsePCA().fit_covariance(matrix)
    assert pca.significance_ is None
    assert pca.significant_ is None
    with pytest.raises(OptionError, match=r"n_components='auto' needs samples"):
        se.SparsePCA(n_components="auto").fit_covariance(matrix)


def test_rows_for_files_hold_loadings_and_p_values(data) -> None:
    pca = se.SparsePCA(n_components=2, max_cardinality=5).fit(data)
    rows = pca.significance_.to_rows(pca.components_)
    first = [row for row in rows if row["component"] == 1]
    assert sum(row["loading"] != 0.0 for row in first) == 5
    assert sum(row["takes_part"] for row in first) == len(pca.significance_.taking_part[0])
    frame = pca.significance_.to_frame()
    assert list(frame.columns) == ["component", "variable", "p_value", "adjusted", "takes_part"]
    assert len(frame) == sum(len(part) for part in pca.significance_.taking_part)


def test_tests_come_from_data_where_there_are_some(data) -> None:
    assert isinstance(make_tests(se.covariance(data, center=True), None, needed=True), RowTests)
    matrix = as_operator(np.cov(data, rowvar=False))
    assert isinstance(make_tests(matrix, 150, needed=True), MatrixTests)
    assert make_tests(matrix, None, needed=True) is None


def test_words_about_the_number(recwarn) -> None:
    warn_of_noise(2, 2)
    warn_of_noise(3, None)
    assert not recwarn.list
    with pytest.warns(NotSignificantWarning, match="at least 50 components"):
        warn_of_noise(MOST_COMPONENTS, None)
    with pytest.warns(
        NotSignificantWarning, match="1 of the 2 components asked for stands out from noise; component 2 does"
    ):
        warn_of_noise(1, 2)


def test_refusals(data) -> None:
    operator = se.covariance(data, center=True)
    for wrong in (0, -1, 201, "many"):
        with pytest.raises(OptionError, match="n_components"):
            find_components(operator, wrong, 5)
    with pytest.raises(OptionError, match="share"):
        find_components(operator, 1, 5, share=2.0)
