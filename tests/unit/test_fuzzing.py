"""The fuzzer itself: its exact arithmetic, and that it does find a certificate that is wrong."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import sparseigen as se
from fuzzing import certificates, claims, large, reader_mutations, reader_seeds, related, set_truth, sets
from fuzzing.__main__ import PARTS, main
from fuzzing.known import Outer
from fuzzing.reader_targets import TARGETS
from fuzzing.truth import Truth, is_semidefinite

BELOW, ABOVE = -math.inf, math.inf


def test_semidefiniteness_agrees_with_eigenvalues(rng):
    seen = set()
    for _ in range(400):
        size = int(rng.integers(1, 5))
        square = rng.integers(-2, 3, (size, int(rng.integers(1, 6))))
        matrix = square @ square.T - int(rng.integers(0, 3)) * np.eye(size, dtype=int)
        smallest = float(np.linalg.eigvalsh(matrix)[0])
        rows = [[int(entry) for entry in row] for row in matrix]
        if abs(smallest) > 1e-9:
            assert is_semidefinite(rows) == (smallest > 0.0) == is_semidefinite(rows, definite=True)
        else:  # whole numbers: an eigenvalue this small is zero
            assert is_semidefinite(rows)
            assert not is_semidefinite(rows, definite=True)
        seen.add(int(np.sign(np.round(smallest, 9))))
    assert seen == {-1, 0, 1}


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1.0, 1e300])
def test_bounds_are_decided_to_the_last_bit(scale):
    top = 3.0 * scale
    truth = Truth.of_matrix(np.diag([1.0, 3.0, 2.0]) * scale)
    for k in (1, 2, 3):
        assert truth.is_upper_bound(top, k) == (True, True)
        assert truth.is_reached(top, k) == (True, True)
        assert not truth.is_upper_bound(math.nextafter(top, BELOW), k)[0]
        assert not truth.is_reached(math.nextafter(top, ABOVE), k)[0]
        assert truth.is_upper_bound(2.0 * top, k) == (True, False)
        assert truth.is_reached(0.5 * top, k) == (True, False)
    assert truth.negated().is_upper_bound(-scale, 1)[0]
    assert not truth.negated().is_upper_bound(math.nextafter(-scale, BELOW), 1)[0]


def test_covariance_correlation_shift_and_update_are_exact():
    data = np.array([[1e8, 1.0], [1e8 + 1.0, 3.0], [1e8 + 2.0, 5.0]])
    plain = Truth.of_data(data, center=True, scale=False, ddof=1)
    assert [[number / plain.weights[0] for number in row] for row in plain.numbers] == [[1.0, 2.0], [2.0, 4.0]]
    scaled = Truth.of_data(data, center=True, scale=True, ddof=1)
    assert scaled.is_upper_bound(2.0, 2)[0]
    assert not scaled.is_upper_bound(math.nextafter(2.0, BELOW), 2)[0]
    assert plain.shifted(0.5).is_upper_bound(5.5, 2)[0]
    assert not plain.shifted(0.5).is_upper_bound(math.nextafter(5.5, BELOW), 2)[0]
    gone = plain.updated(np.array([[1.0], [2.0]]), np.array([[-1.0]]))
    assert gone.is_zero


def test_quotients_are_exact(rng):
    truth = Truth.of_matrix(np.array([[2.0, 1.0], [1.0, 2.0]]))
    vector = np.array([1.0, 1.0]) / 4.0
    assert truth.quotient_reaches(vector, 3.0)
    assert truth.quotient_reaches(vector, math.nextafter(3.0, ABOVE)) is False
    data = rng.standard_normal((6, 2))
    correlated = Truth.of_data(data, center=True, scale=True, ddof=1)
    expected = 1.0 + np.corrcoef(data.T)[0, 1]
    assert correlated.quotient_reaches(vector, expected - 1e-12)
    assert correlated.quotient_reaches(vector, expected + 1e-12) is False


@pytest.mark.parametrize(("end", "step"), [("upper_bound", 0.999), ("lower_bound", 1.001)])
def test_a_wrong_certificate_is_found_saved_and_replayed(end, step, monkeypatch, tmp_path, capsys):
    honest = claims.certify

    def lying(*arguments, **options):
        found = honest(*arguments, **options)
        value = getattr(found, end)
        return replace(found, **{end: value * step if value > 0.0 else value / step})

    monkeypatch.chdir(tmp_path)
    certificates.FOLDER.mkdir(parents=True)
    monkeypatch.setattr(claims, "certify", lying)
    for index in range(40):
        found, arrays = certificates.findings(11, index)
        wrong = [one for one in found if one.how == "violation"]
        if wrong:
            break
    assert {one.method.split()[0] for one in wrong} == {"certify"}
    text = certificates._saved(11, index, wrong, arrays, False)
    path = certificates.FOLDER / f"certificate-11-{index}.npz"
    assert f"replay: python -m fuzzing certificates --replay {path}" in text
    assert main(["certificates", "--replay", str(path)]) == 1
    monkeypatch.setattr(claims, "certify", honest)
    assert main(["certificates", "--replay", str(path)]) == 0
    assert "violation" in capsys.readouterr().out


def test_a_short_run_counts_and_ends_clean(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["certificates", "--minutes", "0.1", "--workers", "1", "--seed", "3"]) == 0
    said = capsys.readouterr().out
    assert "violations 0" in said
    assert "decided by the margin" in said


def test_unknown_parts_are_refused(capsys):
    assert main(["no such part"]) == 2
    assert ",".join(PARTS) in capsys.readouterr().err


def test_the_same_number_is_the_same_instance():
    for index in (0, 5, 9):
        first, again = certificates.findings(4, index), certificates.findings(4, index)
        assert [one[:3] for one in first[0]] == [one[:3] for one in again[0]]
        for name, values in first[1].items():
            np.testing.assert_array_equal(values, again[1][name])


@pytest.mark.parametrize("name", TARGETS)
def test_the_seeds_of_the_fuzzer_are_whole(name: str, tmp_path: Path) -> None:
    files = TARGETS[name].whole()
    for file, content in files.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_bytes(content)
    found = TARGETS[name].read(tmp_path / next(iter(files)).split("/")[0])
    if TARGETS[name].right is not None:
        assert TARGETS[name].right(tmp_path / next(iter(files)), found)


def test_mutations_follow_from_their_seed() -> None:
    for way in (*reader_mutations.BYTES, *reader_mutations.TEXT):
        data = reader_seeds.table_text()
        first, second = (way(data, np.random.default_rng(5)) for _ in range(2))
        assert first == second


def test_sets_of_known_matrices_are_found_by_enumeration(rng) -> None:
    """Two blocks: the best sets are known."""
    matrix = np.kron(np.diag([4.0, 3.0]), np.ones((2, 2))) + 0.1 * np.eye(4)
    for uncorrelated in (False, True):
        value, columns = set_truth.best_set(matrix, (2, 2), uncorrelated, rng)
        assert value == pytest.approx(8.1 + 6.1)
        assert set_truth.violation(matrix, columns, uncorrelated) <= 1e-12


@pytest.mark.parametrize("constraint", sets.CONSTRAINTS)
def test_a_set_bound_that_is_too_low_is_found(monkeypatch, constraint) -> None:
    import sparseigen as se

    honest = sets.look_at(0, 3, constraint)
    assert honest.wrong == ""
    ask = se.sparse_components

    def lie(*arguments, **options):
        found = ask(*arguments, **options)
        proof = replace(found.certificate, upper_bound=0.999 * found.certificate.lower_bound)
        return replace(found, certificate=proof)

    monkeypatch.setattr(se, "sparse_components", lie)
    assert "the bound is" in sets.look_at(0, 3, constraint).wrong
    lines, _ = sets.summarise([honest])
    assert lines[0].startswith(constraint)


def test_known_optima_are_those_of_enumeration(rng) -> None:
    blocks = [rng.integers(-3, 4, (size, size)).astype(float) for size in (1, 2, 3)]
    blocks = [block + block.T for block in blocks]
    matrix, known = large._assemble(rng, [blocks[0], blocks[1], blocks[2]])
    d = [3, -1, 0, 2, 2]
    outer = Outer(d, Fraction(-1, 2), Fraction(3))
    dense = matrix.toarray()
    for about, truth in (
        (known, Truth.of_matrix(dense)),
        (outer, Truth.of_matrix(3.0 * np.eye(5) - np.outer(d, d) / 2.0)),
    ):
        for own, other in ((about, truth), (about.negated(), truth.negated())):
            for k in range(1, own.size + 1):
                best = float(other._values(k).max()) * float(other._scaled[1])
                for bound in (best - 1e-9, best + 1e-9):
                    assert own.is_upper_bound(bound, k)[0] == other.is_upper_bound(bound, k)[0]
                    assert own.is_reached(bound, k)[0] == other.is_reached(bound, k)[0]
                vector = np.zeros(own.size)
                vector[rng.permutation(own.size)[:k]] = rng.standard_normal(k)
                quotient = float(
                    vector @ (dense if about is known else 3.0 * np.eye(5) - np.outer(d, d) / 2.0) @ vector
                )
                quotient *= (1.0 if own is about else -1.0) / float(vector @ vector)
                assert own.quotient_reaches(vector, quotient - 1e-9)
                assert own.quotient_reaches(vector, quotient + 1e-9) is False
        kept = [0, 2, 3]
        assert about.restricted(kept).is_reached(0.0, 2)[0] == truth.restricted(kept).is_reached(0.0, 2)[0]
        assert about.largest >= truth.largest
        assert not about.is_zero


@pytest.mark.parametrize("same", [True, False])
def test_known_graphs_are_those_of_enumeration(same: bool) -> None:
    sizes = np.array([1, 3, 2, 2])
    graph = related._pairs(np.repeat(np.arange(4), sizes), same=same).toarray()
    best = (related.fill_cliques if same else related.spread_evenly)(sizes)
    for k in range(1, 9):
        assert best(k) == max(int(graph[np.ix_(chosen, chosen)].sum()) for chosen in combinations(range(8), k))


def test_every_large_family_is_answered_rightly(tmp_path) -> None:
    rng = np.random.default_rng(5)
    for family in large.MATRICES.values():
        matrix, known = family(rng)
        dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()[:, :]
        found = claims._bracket("", 2, se.upper_bound(dense, 2, effort="cheap"))
        assert certificates.checked(found, known, "", "").how != "violation"
    for family in large.DATA.values():
        data, known, options = family(rng)
        found = claims._bracket("", 3, se.upper_bound(se.covariance(data, **options), 3, effort="cheap"))
        assert certificates.checked(found, known, "", "").how != "violation"
    for draw in related.GRAPHS.values():
        assert [wrong for _, wrong in related.graph_problems(rng, draw(rng)) if wrong] == []


def test_contradictions_are_found() -> None:
    one, other = SimpleNamespace(lower_bound=1.0, upper_bound=2.0), SimpleNamespace(lower_bound=4.5, upper_bound=6.0)
    assert related._contradictions(one, other, 4.0) == []
    assert related._contradictions(one, other, 2.0) == ["1.0 to 2.0 against 2.25 to 3.0"]


def test_a_wrong_certificate_of_a_large_instance_is_found_and_replayed(monkeypatch, tmp_path, capsys) -> None:
    honest = large.certify
    monkeypatch.chdir(tmp_path)
    certificates.FOLDER.mkdir(parents=True)
    monkeypatch.setattr(large, "ASKED", {large.certify_some: 1.0})
    monkeypatch.setattr(large, "certify_path", lambda *_: [])
    monkeypatch.setattr(large, "certify", lambda *a, **o: replace(honest(*a, **o), lower_bound=1e300))
    monkeypatch.setattr(large, "FORMS", {"data": large.FORMS["data"]})
    monkeypatch.setattr(related, "SHARES", {})
    monkeypatch.setattr(large, "draw_size", lambda *_: 50)
    found, arrays = certificates.findings(1, 0, large=True)
    wrong = [one for one in found if one.how == "violation"]
    assert wrong
    certificates._saved(1, 0, wrong, arrays, True)
    path = certificates.FOLDER / "certificate-large-1-0.npz"
    assert main(["certificates", "--replay", str(path)]) == 1
    assert "violation" in capsys.readouterr().out


def test_a_short_large_run_ends_clean(monkeypatch, tmp_path, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["certificates", "--large", "--minutes", "0.03", "--workers", "1", "--seed", "4"]) == 0
    assert "violations 0" in capsys.readouterr().out
