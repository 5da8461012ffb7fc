"""The comparison with other packages: searched penalties, refitted supports, failures that stay rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.speed import peers
from benchmarks.speed.cells import CELLS, Problem, data_with_covariance, support_of, value_of
from benchmarks.speed.comparison import compare
from benchmarks.speed.peers import plain_numpy, r_packages
from benchmarks.speed.peers.interface import Peer
from benchmarks.speed.tuning import Trial, tune
from benchmarks.speed.worker import Limits, answers, check
from sparseigen.datasets import load_pitprops

LIMITS = Limits(search=5.0, fit=5.0, repeats=0.0)


def soft_threshold(levels: np.ndarray, counted: list[float]):
    """A penalised method whose cardinality is the number of levels above the penalty."""

    def fit(penalty: float) -> Trial:
        counted.append(penalty)
        return Trial(penalty, np.flatnonzero(levels > penalty), 0.0)

    return fit


@pytest.mark.parametrize("cardinality", [1, 7, 50, 199])
@pytest.mark.parametrize("largest", [1.5, 1e-3, 1e4])
def test_bisection_reaches_the_cardinality(cardinality: int, largest: float, rng: np.random.Generator) -> None:
    fit = soft_threshold(rng.random(200), [])
    assert tune(fit, cardinality, largest, trials=[]).cardinality == cardinality


def test_bisection_takes_the_nearest_below_where_it_jumps() -> None:
    counted: list[float] = []
    levels = np.array([0.9, 0.8, 0.5, 0.5, 0.5, 0.1])
    assert tune(soft_threshold(levels, counted), 4, 1.0, trials=[]).cardinality == 2
    assert len(counted) < 60


def test_bisection_reuses_trials_and_keeps_to_its_deadline(rng: np.random.Generator) -> None:
    counted: list[float] = []
    fit, trials = soft_threshold(rng.random(100), counted), []
    assert tune(fit, 10, 2.0, trials=trials).cardinality == 10
    spent = len(counted)
    assert tune(fit, 10, 2.0, trials=trials).cardinality == 10
    assert len(counted) == spent
    assert tune(fit, 90, 2.0, trials=trials, out_of_time=lambda: True).cardinality <= 90
    assert len(counted) == spent


def test_bisection_without_any_answer_says_so() -> None:
    everything = np.full(5, np.inf)
    assert tune(soft_threshold(everything, []), 2, 1.0, trials=[]) is None
    assert tune(soft_threshold(np.zeros(5), []), 2, 1.0, trials=[]) is None


def test_bisection_where_the_cardinality_is_not_monotone() -> None:
    def fit(penalty: float) -> Trial:
        kept = 0 if penalty > 7.0 else 2 if penalty > 4.0 else 1 if penalty > 3.0 else 9 if penalty < 2.5 else 3
        return Trial(penalty, np.arange(kept), 0.0)

    assert tune(fit, 3, 8.0, trials=[]).cardinality == 3


def test_refit_is_the_best_value_on_the_support(rng: np.random.Generator) -> None:
    data = rng.standard_normal((40, 12))
    covariance = np.cov(data, rowvar=False)
    support = np.array([1, 4, 9])
    best = np.linalg.eigvalsh(covariance[np.ix_(support, support)])[-1]
    assert value_of(Problem(data=data), support) == pytest.approx(best, rel=1e-13)
    assert value_of(Problem(matrix=covariance), support) == pytest.approx(best, rel=1e-13)
    assert value_of(Problem(data=sp.csr_array(data)), support) == pytest.approx(best, rel=1e-13)
    shrunk = np.zeros(12)
    shrunk[support] = [1e-9, -0.5, 2.0]  # weights do not count, only which are not zero
    assert support_of(shrunk).tolist() == support.tolist()


def test_refit_on_a_graph_is_the_average_degree() -> None:
    problem = CELLS["karate club"].make()
    assert value_of(problem, np.array([0, 1, 2, 3])) == 3.0  # a clique of four


def test_data_made_for_a_covariance_have_it(rng: np.random.Generator) -> None:
    low_rank = np.cov(rng.standard_normal((6, 20)), rowvar=False)
    for matrix in (load_pitprops().matrix, low_rank):
        data = data_with_covariance(matrix)
        assert len(data) == np.linalg.matrix_rank(matrix) + 1
        np.testing.assert_allclose(np.cov(data, rowvar=False), matrix, atol=1e-12)
        np.testing.assert_allclose(data.mean(axis=0), 0.0, atol=1e-12)


@pytest.mark.parametrize("form", ["dense", "sparse", "matrix"])
def test_numpy_algorithm_1_is_ours(form: str, rng: np.random.Generator) -> None:
    data = rng.standard_normal((30, 60)) + rng.standard_normal((30, 1)) * (np.arange(60) < 8)
    made = {"dense": {"data": data}, "sparse": {"data": sp.csr_array(data)}, "matrix": {"matrix": np.cov(data.T)}}
    problem = Problem(**made[form])
    theirs = support_of(plain_numpy.tpower(problem, 8, 0))
    assert theirs.tolist() == support_of(peers.PEERS[peers.PLAIN].fit(problem, 8, 0)).tolist()
    assert len(support_of(plain_numpy.dense_component(problem, 5, 0))) == 5


def test_failing_peers_are_rows_and_do_not_stop_the_run() -> None:
    told: list[str] = []
    limits = Limits(search=0.3, fit=0.7, repeats=0.0)
    table = "tests.benchmarks.broken_peers"
    absent, cell = compare("quick", table_of_peers=table, only="PitProps", tell=told.append, limits=limits)
    found = [*absent, *cell]
    by_name = {record.name: record for record in found if record.setting.get("k") in (None, 5)}
    assert by_name["raises"].status == "failed"
    assert by_name["raises"].message == "TypeError: only length-1 arrays can be converted"
    assert (by_name["dies"].status, by_name["dies"].message) == ("failed", "its process died")
    assert (by_name["hangs"].status, by_name["hangs"].message) == (
        "time limit",
        "a fit was stopped at the limit of 1 s",
    )
    assert by_name["absent"].status == "not installed"
    assert "no_package_has_this_name" in by_name["absent"].message
    assert by_name["broken import"].status == "failed"
    assert "no_such_function_any_more" in by_name["broken import"].message
    assert "not 13 finite loadings" in by_name["not a number"].message
    assert by_name["too many"].message == "kept 13 variables where 5 were asked for"
    good = by_name["first variables"]
    assert good.status == "ok"
    assert good.reference > good.value > 0.0
    assert good.seconds.repeats == 1
    assert sum(record.name == "raises" for record in found) == 4  # one row a cardinality
    assert "raises" in "".join(told)


def test_a_penalised_peer_is_charged_for_its_search() -> None:
    def thresholded(problem: Problem, penalty: float, seed: int) -> np.ndarray:
        vector = np.linalg.eigh(problem.matrix)[1][:, -1]
        return np.where(np.abs(vector) > penalty, vector, 0.0)

    peer = Peer("threshold", "none", thresholded, tuning="penalty", largest_penalty=lambda problem: 1.0)
    first, second = answers(peer, "PitProps", [7, 5], LIMITS)
    assert (first.status, first.cardinality, second.cardinality) == ("ok", 7, 5)
    assert first.details["fits"] > 1
    assert first.seconds.total > first.seconds.min
    assert second.value == pytest.approx(3.406155, abs=1e-6)


def test_seeds_and_the_best_of_them() -> None:
    def lucky(problem: Problem, cardinality: float, seed: int) -> np.ndarray:
        loadings = np.zeros(problem.size)
        loadings[[0, 1] if seed == 1 else [4, 11]] = 1.0
        return loadings

    (found,) = answers(Peer("lucky", "none", lucky, seeds=3), "PitProps", [2], LIMITS)
    assert (found.support, found.details["seed"]) == ([0, 1], 1)


def test_a_peer_without_its_data_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARSEIGEN_DATA", "/nowhere")
    (found,) = answers(peers.PEERS[peers.PLAIN], "colon, 500 genes", [10], LIMITS)
    assert found.status == "no data"
    assert "SPARSEIGEN_DATA" in found.message


def test_without_r_its_packages_are_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(r_packages.shutil, "which", lambda name: None)
    assert check(peers.PEERS["R elasticnet"]).message == "Rscript is not installed"
    with pytest.raises(r_packages.RError, match="Rscript is not installed"):
        r_packages.fit("PMA")(Problem(data=np.eye(3)), 1.0, 0)


def test_r_gets_the_data_and_its_answer_comes_back(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program in R's place reads what was written and answers with the column sums."""
    program = tmp_path / "Rscript"
    program.write_text(
        "#!/bin/sh\nexec python3 - \"$@\" <<'END'\n"
        "import array, sys\n"
        "options = sys.argv[3:]\n"
        "assert options[:2] == ['fit', 'PMA'], options\n"
        "rows, columns = int(options[3]), int(options[4])\n"
        "data = array.array('d', open(options[2], 'rb').read())\n"
        "sums = [sum(data[j * rows:(j + 1) * rows]) + float(options[5]) for j in range(columns)]\n"
        "open(options[7], 'wb').write(array.array('d', sums).tobytes())\n"
        "print(0.25)\nEND\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr(r_packages.shutil, "which", lambda name: str(program))
    data = np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0], [-1.0, -2.0, -3.0]])
    found = r_packages.fit("PMA")(Problem(data=data), 0.5, 0)
    assert found.seconds == 0.25
    np.testing.assert_allclose(found.answer, 0.5, atol=1e-15)
    program.write_text("#!/bin/sh\necho 'Error: no such method' >&2\nexit 1\n")
    with pytest.raises(r_packages.RError, match="no such method"):
        r_packages.fit("PMA")(Problem(data=data), 0.5, 0)


def test_every_peer_says_where_its_search_begins() -> None:
    with pytest.raises(ValueError, match="says where its search begins"):
        Peer("x", "x", lambda *_: np.ones(1), tuning="penalty")
    with pytest.raises(ValueError, match="'guess' must be"):
        Peer("x", "x", lambda *_: np.ones(1), tuning="guess")
