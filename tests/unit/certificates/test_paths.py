"""Certificates of a path of data that live elsewhere, and where the anchors are."""

from __future__ import annotations

from sparseigen.certificates.paths import _choose_anchors, certify_streamed_path
from sparseigen.certificates.problem import BoundProblem
from tests.brute_force import brute_force
from tests.unit.certificates.streamed import answer


def test_path_of_streamed_bounds_holds_and_is_close(streamed):
    cardinalities = list(range(1, 10))
    vectors = [answer(streamed.matrix, k) for k in cardinalities]
    certificates = certify_streamed_path(streamed, cardinalities, vectors)
    assert BoundProblem(streamed, 3).dense is None
    for k, certificate in zip(cardinalities, certificates, strict=True):
        optimum = brute_force(streamed.matrix, k)
        assert certificate.lower_bound <= optimum <= certificate.upper_bound * (1.0 + 1e-14)
        assert certificate.upper_bound <= 1.25 * optimum
    assert {"trace", "closed-form dual"} <= {certificate.method for certificate in certificates}


def test_anchors_are_spread_from_the_first_to_the_last():
    assert _choose_anchors(9, 3).tolist() == [0, 4, 8]
    assert _choose_anchors(2, 8).tolist() == [0, 1]
    assert _choose_anchors(1, 3).tolist() == [0]
