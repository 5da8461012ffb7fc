"""Refusals that only unusual requests meet, each with its sentence; and what is allowed just beside them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen import errors
from sparseigen.checks.arguments import check_candidates, check_rng
from sparseigen.checks.coercion import checked_sparse
from sparseigen.checks.frames import as_labels, as_positions, as_scores, fingerprint
from sparseigen.rows.cluster import Cluster, _check_client
from sparseigen.rows.files import as_row_source, check_checkpoint
from sparseigen.rows.partitions import BlockFacts, RowPartition, check_alike

MATRIX = se.datasets.load_pitprops().matrix


# ---- which k ----


# ---- arguments ----


def test_seeds_and_candidates() -> None:
    generator = np.random.default_rng(5)
    assert check_rng(generator) is generator
    assert check_rng(np.int64(5)).integers(1 << 30) == np.random.default_rng(5).integers(1 << 30)
    for rng in (-1, True, "5", 1.0):
        with pytest.raises(errors.OptionError, match=r"rng=.* must be None, a non-negative int seed, or a numpy"):
            check_rng(rng)
    with pytest.raises(errors.OptionError, match="candidates are given by name, but the input has no names"):
        check_candidates(["a"], 3, None)
    np.testing.assert_array_equal(check_candidates([False, True, True], 3, None), [1, 2])
    np.testing.assert_array_equal(check_candidates(["c", "a"], 3, ("a", "b", "c")), [0, 2])


def test_values_so_large_that_sums_overflow() -> None:
    """Every entry is finite, and nothing can be computed from them."""
    with pytest.raises(
        errors.NonFiniteError, match="holds values so large that sums overflow; divide it by a constant"
    ):
        se.covariance(np.full((3, 2), 1e308))
    with pytest.raises(errors.NonFiniteError, match="so large that their squares overflow; divide X by a constant"):
        se.covariance(np.array([[1e200, 1.0], [-1e200, 2.0], [0.0, 1.0]]))


def test_fingerprints_of_what_is_no_table() -> None:
    for data in (np.ones(3), np.array([["a"]])):
        with pytest.raises(errors.DtypeError, match="give a table or matrix of numbers"):
            fingerprint(data)
    dense = np.array([[0.0, 1.0], [2.0, 0.0]])
    assert fingerprint(dense) == fingerprint(np.asfortranarray(dense))
    assert fingerprint(dense)["sha256"] != fingerprint(dense.T)["sha256"]
    assert fingerprint(sp.csr_array(dense)) == fingerprint(sp.coo_array(dense))


def test_sparse_matrices_that_contradict_themselves() -> None:
    matrix = sp.coo_array(np.eye(3))
    matrix.data = np.ones(2)
    with pytest.raises(errors.InputError, match=r"X has 2 values, 3 row and 3 column numbers|not a consistent coo"):
        checked_sparse(matrix, "X")
    for offsets in ([0], [0, 1, 2]):
        diagonal = sp.dia_array(np.eye(3) + np.eye(3, k=1))
        diagonal.offsets = np.array(offsets, dtype=np.int32)
        with pytest.raises(errors.InputError, match="X is not a consistent dia matrix: its values and their"):
            checked_sparse(diagonal, "X")
    listed = sp.lil_array(np.eye(3))
    listed.rows[1] = [0, 1, 2]
    with pytest.raises(errors.InputError, match="X is not a consistent lil matrix: its values and their"):
        checked_sparse(listed, "X")


# ---- reports ----


def test_labels_scores_and_positions() -> None:
    with pytest.raises(errors.ShapeError, match="labels has 2 entries for 3 samples; give one a sample"):
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


# ---- sources of rows ----


def test_shapes_checkpoints_and_sources(tmp_path, rng: np.random.Generator) -> None:
    data = rng.standard_normal((6, 3))
    np.save(tmp_path / "x.npy", data)
    with pytest.raises(errors.OptionError, match=r"shape=\(6, 4\) does not fit x.npy, which has shape \(6, 3\)"):
        as_row_source(tmp_path / "x.npy", dataset=None, shape=(6, 4))
    source = as_row_source(tmp_path / "x.npy", dataset=None, shape=(6, 3))
    assert as_row_source(source, dataset=None, shape=None) is source
    assert as_row_source(data, dataset=None, shape=None) is None
    with pytest.raises(errors.OptionError, match="checkpoint=7 must be a path"):
        check_checkpoint(7)
    for place in (tmp_path, tmp_path / "none" / "x"):
        with pytest.raises(errors.InputError, match="must name a file in a folder that exists"):
            check_checkpoint(place)
    assert check_checkpoint(str(tmp_path / "x")) == tmp_path / "x"


def test_memory_maps_of_every_mode(tmp_path, rng: np.random.Generator) -> None:
    """What the caller wrote into a private map is seen, and stays."""
    data = rng.standard_normal((8, 3))
    np.save(tmp_path / "x.npy", data)
    expected = se.covariance(data).to_dense()
    for mode in ("r", "r+", "c"):
        mapped = np.load(tmp_path / "x.npy", mmap_mode=mode)
        np.testing.assert_allclose(se.covariance(mapped).to_dense(), expected)
    private = np.load(tmp_path / "x.npy", mmap_mode="c")
    private[0] = 100.0
    changed = se.covariance(np.array(private)).to_dense()
    np.testing.assert_allclose(se.covariance(private).to_dense(), changed)
    assert (private[0] == 100.0).all()
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), data)


def test_blocks_with_repeated_entries_are_summed_in_a_copy() -> None:
    block = sp.csr_array((np.ones(3), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    operator = se.covariance([block, block], shape=(4, 2))
    np.testing.assert_allclose(operator.to_dense(), np.cov(np.vstack([block.toarray()] * 2).T))
    assert block.nnz == 3


FACTS = BlockFacts(5, 3, "float64", False, None, "digest")


@pytest.mark.parametrize(
    ("facts", "expected", "message"),
    [
        (FACTS._replace(n_columns=4), FACTS, r"has shape \(5, 4\); the first has 5 rows and 3 columns"),
        (FACTS._replace(n_columns=4), FACTS._replace(n_rows=-1), "the first has any number of rows and 3 columns"),
        (FACTS._replace(n_rows=6), FACTS, r"has shape \(6, 3\); the first has 5 rows"),
        (FACTS._replace(digest="other"), FACTS, "was loaded again and holds other values than before"),
        (FACTS._replace(dtype="float32"), FACTS, "has dtype='float32'; the first has 'float64'. Make them all alike"),
        (FACTS._replace(sparse=True), FACTS, "has sparse=True; the first has False"),
        (FACTS._replace(names=("a",)), FACTS, r"has names=\('a',\); the first has None"),
    ],
)
def test_partitions_that_are_not_alike(facts: BlockFacts, expected: BlockFacts, message: str) -> None:
    with pytest.raises(errors.PartitionError, match=f"partition 2.*{message}"):
        check_alike(2, RowPartition("part"), facts, expected, "the first")
    check_alike(2, RowPartition("part"), FACTS._replace(n_rows=9), FACTS._replace(n_rows=-1), "the first")


# ---- clusters ----


def client(**facts: object) -> SimpleNamespace:
    usual = {"persist": None, "nthreads": lambda: {}, "asynchronous": False, "status": "running"}
    return SimpleNamespace(**(usual | facts))


def test_clients_that_cannot_be_used() -> None:
    for given, error, message in (
        (7, errors.OptionError, r"client=7 must be a dask.distributed.Client, or None"),
        (client(asynchronous=True), errors.OptionError, "client is asynchronous; give one made with"),
        (client(status="closed"), errors.ClusterError, "the client is closed, not connected to a scheduler"),
    ):
        with pytest.raises(error, match=message):
            _check_client(given)


class KilledWorker(Exception):
    """As distributed names it."""


def test_what_a_failure_of_the_cluster_means() -> None:
    pytest.importorskip("dask")

    def fails(error: Exception):
        def call() -> None:
            raise error

        return call

    cluster = Cluster(client())
    with pytest.raises(
        errors.ClusterError, match=r"a task killed every worker that tried it: x.* Most often that is mem"
    ):
        cluster._guarded(fails(KilledWorker("x")))
    with pytest.raises(ZeroDivisionError):  # an error of the work itself is not explained away
        cluster._guarded(fails(ZeroDivisionError()))
    with pytest.raises(errors.OptionError, match="mine"):
        cluster._guarded(fails(errors.OptionError("mine")))
    cluster.client.status = "closed"
    with pytest.raises(errors.ClusterError, match=r"scheduler cannot be reached any more \(ZeroDivisionError"):
        cluster._guarded(fails(ZeroDivisionError()))
    assert cluster.n_threads == 1  # a cluster whose workers are all gone
