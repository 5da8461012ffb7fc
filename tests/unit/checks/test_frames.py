"""Labels, scores and positions of reports, and fingerprints of data."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from sparseigen import errors
from sparseigen.checks.frames import as_labels, as_positions, as_scores, fingerprint


def test_fingerprints_of_what_is_no_table() -> None:
    for data in (np.ones(3), np.array([["a"]])):
        with pytest.raises(errors.DtypeError, match="give a table or matrix of numbers"):
            fingerprint(data)
    dense = np.array([[0.0, 1.0], [2.0, 0.0]])
    assert fingerprint(dense) == fingerprint(np.asfortranarray(dense))
    assert fingerprint(dense)["sha256"] != fingerprint(dense.T)["sha256"]
    assert fingerprint(sp.csr_array(dense)) == fingerprint(sp.coo_array(dense))


def test_labels_scores_and_positions() -> None:
    with pytest.raises(errors.ShapeError, match="labels has 2 entries for 3 samples; give one per sample"):
        as_labels(["a", "b"], 3)
    with pytest.raises(errors.ShapeError, match=r"scores has shape \(0, 1\); it must be \(n_samples, n_components\)"):
        as_scores([])
    with pytest.raises(errors.NonFiniteError, match="scores has NaN or infinite values"):
        as_scores([[np.inf]])
    with pytest.raises(errors.OptionError, match="positions is a list; give a mapping from node to"):
        as_positions([(1.0, 2.0)])
    for place in ((91.0, 0.0), (0.0, 361.0), (float("nan"), 0.0)):
        with pytest.raises(errors.OptionError, match=r"latitude must be within -90\.\.90 .* Were they swapped"):
            as_positions({"a": place})
