"""Sets as users see them: a sequence, three variances, one sentence."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest

import sparseigen as se


@pytest.fixture(scope="module")
def found():
    return se.sparse_components(se.datasets.load_pitprops().operator(), [4, 4], constraint="orthogonal")


def test_it_is_the_sequence_of_its_results(found) -> None:
    assert len(found) == 2
    assert list(found) == list(found.results)
    assert found[1] is found.results[1]
    assert found[:1] == [found[0]]
    assert found.index(found[1]) == 1
    assert found.vectors.shape == (2, 13)


def test_what_it_says(found) -> None:
    assert repr(found) == "ComponentSet(2 x 4, orthogonal, share 0.4042, violation 0.0e+00, proven optimal)"
    assert found.describe().startswith(
        "proven: no set of 2 x 4 orthogonal components explains more than this one, 40.4 %"
    )
    assert "<table>" in found._repr_html_()
    assert set(found.shares) == {"plain", "adjusted", "span"}
    assert found.to_rows()[0]["plain_share"] > found.to_rows()[0]["span_share"] - 1e-9
    assert json.loads(json.dumps(found.to_dict()))["definition"] == "plain"
    free = se.sparse_components(np.diag([3.0, 2.0, 1.0]), [1, 2], certify=False)
    assert (
        free.describe() == "a set of 1 + 2 components that explains 83.3 %; nothing is proven: no bound was asked for"
    )
    best = se.sparse_components(np.diag([3.0, 2.0, 1.0]), [1, 1], disjoint=True)
    assert best.describe() == "proven: no set of 2 x 1 disjoint components explains more than this one, 83.3 %"


def test_copies_are_read_only_too(found) -> None:
    for again in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert again.certificate == found.certificate
        np.testing.assert_array_equal(again.vectors, found.vectors)
        with pytest.raises(ValueError, match="read-only"):
            again[0].vector[0] = 1.0


def test_supports_side_by_side(found) -> None:
    figure = found.plot()
    heat = figure.data[0]
    assert np.array(heat.z, dtype=float).shape == (8, 2)
    assert np.isnan(np.array(heat.z, dtype=float)).sum() == 8
    assert "proven" in figure.layout.title.text
