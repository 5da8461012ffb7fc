"""Sentences claim no more than is proven."""

from __future__ import annotations

import dataclasses
import re

import numpy as np

import sparseigen as se
from sparseigen.report.words import (
    amount,
    at_least,
    at_most,
    component_sentence,
    components_table,
    curve_table,
    describe_matrix,
    overlap_sentence,
)


def test_sentences_never_claim_more_than_is_proven(pitprops) -> None:
    _, _, path = pitprops
    for result in path:
        said = component_sentence(result, path.total_variance, after_others=False)
        if result.certificate.optimal:
            assert said.startswith("Proven best: no")
            continue
        limit, reached = (float(n) for n in re.search(r"more than ([\d.]+)%.*at least ([\d.]+)%", said).groups())
        assert limit / 100.0 >= result.certificate.upper_bound / path.total_variance - 1e-12
        assert reached / 100.0 <= 1.0 - result.certificate.relative_gap + 1e-12
    bare = se.sparse_eigenvector(np.diag([1.0, 2.0, 3.0]), 1, certify=False)
    assert "without a proof" in component_sentence(bare, 6.0, after_others=False)
    least = se.sparse_eigenvector(np.diag([1.0, 2.0, 3.0]), 1, which="smallest")
    assert "varies less" in component_sentence(least, 6.0, after_others=False)


def test_proofs_name_the_matrix_they_are_of(pitprops) -> None:
    data, _, _ = pitprops
    for deflation, name in (("schur", "Schur complement"), ("projection", "projection deflation")):
        first, _, third = se.sparse_components(data.operator(), [3, 3, 3], deflation=deflation)
        assert describe_matrix(first.settings) == "the matrix itself"
        assert f"in what components 1-2 leave ({name}), " in component_sentence(third, 13.0, after_others=True).replace(
            "In what", "in what"
        )
    assert describe_matrix({"components_taken_out": 2, "deflation": "schur, projection"}).endswith(
        "(Schur complement and projection deflation)"
    )


def test_tables_and_sentences_of_overlap(pitprops) -> None:
    data, results, _ = pitprops
    overlap = se.components.find_overlap(data.matrix, [result.vector for result in results])
    table = components_table(results, (overlap.plain / 13.0).tolist(), overlap=overlap)
    assert f"{overlap.adjusted[1] / 13.0:.2%}" in table
    assert f"PC1 {overlap.correlations[1, 0]:+.2f}" in table
    assert "correlated" not in components_table(results[:1], [0.1], overlap=overlap)
    assert overlap_sentence(overlap, 0) == ""


def test_a_proof_among_candidates_says_so() -> None:
    matrix = se.datasets.load_pitprops().matrix
    among = se.sparse_eigenvector(matrix, 3, candidates=range(6))
    assert "no combination of 3 variables out of its 6 candidates explains" in component_sentence(
        among, None, after_others=False
    )
    free = se.sparse_eigenvector(matrix, 3)
    assert "candidates" not in component_sentence(free, None, after_others=False)


def test_zero_has_no_sign() -> None:
    """Bounds that are rounding away from zero were shown as '-0' and '-0.00%'."""
    empty = se.densest_k_subgraph(np.zeros((4, 4), dtype=np.int64), 2)
    proof = dataclasses.replace(empty.certificate, lower_bound=-0.0, upper_bound=-0.0)
    assert "-0" not in curve_table([dataclasses.replace(empty, density=-0.0, certificate=proof)])
    assert "-0" not in " ".join([at_most(-1e-12), at_least(-0.0), amount(-1e-18, 1.0), amount(-0.0, None)])


def test_the_table_counts_stable_variables(pitprops) -> None:
    _, results, _ = pitprops
    chosen = np.array([result.vector != 0.0 for result in results])
    often = np.where(chosen, 0.9, 0.0)
    often[0, results[0].support[:2]] = 0.5
    stability = se.components.SelectionStability(often, chosen, 10, None)
    last = components_table(results, [0.3, 0.2], stability=stability).splitlines()[-1]
    assert last.split() == ["chosen", "in", "80%", "3", "of", "5", "3", "of", "3"]


def test_quotients_are_called_quotients_and_correlations_correlations(rng) -> None:
    data = rng.standard_normal((60, 6))
    data[:, 4] += data[:, 0]
    form, metric = np.cov(data.T), np.diag(np.arange(1.0, 7.0))
    best = se.sparse_eigenvector(form, 2, metric=metric)
    said = component_sentence(best, None, after_others=False)
    assert said == (
        f"Proven best: no combination of 2 variables has a larger quotient x'Ax / x'Bx than this one, {best.value:.5g}."
    )
    lowest = se.sparse_eigenvector(form, 2, metric=metric, which="smallest")
    assert "has a smaller quotient" in component_sentence(lowest, None, after_others=False)
    pair = se.SparseCCA(cardinality=(2, 1)).fit(data[:, :4], data[:, 4:]).results_[0]
    wider = dataclasses.replace(pair.certificate, upper_bound=0.99)
    open_ = dataclasses.replace(pair, certificate=wider)
    assert component_sentence(open_, None, after_others=True) == (
        f"In what the ones before it leave, this correlation is {pair.value:.5g}. It is proven that no 2 and 1 "
        "variables of the two blocks have a larger one than 0.99."
    )
    page = se.report.component_report([pair], title="Two blocks", settings={"evidence": "held out 0.5"})
    assert "the largest correlation?" in page.html
    assert "held out 0.5" in page.html
