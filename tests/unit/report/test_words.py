"""Sentences claim no more than is proven."""

from __future__ import annotations

import re

import numpy as np

import sparseigen as se
from sparseigen.report.words import component_sentence


def test_sentences_never_claim_more_than_is_proven(pitprops) -> None:
    _, _, path = pitprops
    for result in path:
        said = component_sentence(result, path.total_variance, after_others=False)
        if result.certificate.optimal:
            assert said.startswith("Proven best: no")
            continue
        limit, reached = (float(n) for n in re.search(r"more than ([\d.]+) %.*at least ([\d.]+) %", said).groups())
        assert limit / 100.0 >= result.certificate.upper_bound / path.total_variance - 1e-12
        assert reached / 100.0 <= 1.0 - result.certificate.relative_gap + 1e-12
    bare = se.sparse_eigenvector(np.diag([1.0, 2.0, 3.0]), 1, certify=False)
    assert "without a proof" in component_sentence(bare, 6.0, after_others=False)
    least = se.sparse_eigenvector(np.diag([1.0, 2.0, 3.0]), 1, which="smallest")
    assert "varies less" in component_sentence(least, 6.0, after_others=False)
