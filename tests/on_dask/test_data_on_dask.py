"""Data in row partitions give the answers of one process, on any number of workers, and bad partitions are named."""

from __future__ import annotations

from itertools import pairwise

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

import sparseigen as se
from sparseigen.errors import (
    CheckpointError,
    ClusterError,
    DtypeError,
    MissingDependencyError,
    NonFiniteError,
    OptionError,
    PartitionError,
    ShapeError,
)
from sparseigen.operators.pass_data import combine_nodes, fold_nodes, root


@pytest.fixture
def data(rng):
    """Correlated groups of variables on different levels."""
    values = rng.standard_normal((900, 60))
    values[:, :8] += 2.0 * rng.standard_normal((900, 1))
    values[:, 20:26] += 1.5 * rng.standard_normal((900, 1))
    return values + rng.standard_normal(60)


@pytest.fixture
def no_gram(monkeypatch):
    """Passes only: small matrices would be formed once and then need no cluster."""
    monkeypatch.setattr("sparseigen.operators.pass_operator.PassOperator._form_gram", lambda self: False)
    monkeypatch.setattr("sparseigen.operators.pass_operator.PassOperator._gram_fits", lambda self: False)


def assert_same(found, expected):
    assert np.array_equal(found.support, expected.support)
    assert found.value == pytest.approx(expected.value, rel=1e-10)
    if expected.certificate is not None:
        assert found.certificate.upper_bound >= expected.value * (1 - 1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", [False, True])
def test_dask_array_equals_one_process(client, data, no_gram, tmp_path, dtype, scale):
    """One process that reads the same data in passes; float32 products in memory round differently."""
    np.save(tmp_path / "data.npy", data.astype(dtype))
    mapped = np.load(tmp_path / "data.npy", mmap_mode="r")
    array = da.from_array(np.asarray(mapped), chunks=(130, 25))
    expected = se.covariance(mapped, scale=scale)
    operator = se.covariance(array, scale=scale, client=client)
    assert operator.dtype == dtype
    for k in (3, 8):
        assert_same(se.sparse_eigenvector(operator, k), se.sparse_eigenvector(expected, k))
    found, wanted = (se.cardinality_path(one, [2, 5, 9]) for one in (operator, expected))
    for one, other in zip(found, wanted, strict=True):
        assert_same(one, other)
    facts = operator.describe()
    assert facts["partitions"] == 7
    assert facts["shards"] == 2
    assert operator.passes_made < 120


def test_sparse_partitions(client, rng, no_gram):
    matrix = sp.csr_array(sp.random(800, 50, density=0.1, random_state=rng))
    array = da.from_array(matrix, chunks=(90, 50), asarray=False)
    operator = se.covariance(array, scale=True, client=client)
    assert operator.sparse_blocks
    assert_same(se.sparse_eigenvector(operator, 6), se.sparse_eigenvector(se.covariance(matrix, scale=True), 6))


def test_bits_do_not_depend_on_workers(client, data, no_gram):
    """One shard, three, or one for each partition, threads or a cluster: the sums are the same to the last bit."""
    from sparseigen.operators.pass_data import ClusterData
    from sparseigen.rows.cluster import Cluster
    from sparseigen.rows.partitions import row_partitions

    partitions = row_partitions(da.from_array(data, chunks=(80, 60)))
    weights, indices = np.ones(9), np.arange(9)
    products = []
    for count in (1, 2, 3, 5, 12):
        for cluster in (Cluster(client), Cluster(None)):
            operator = ClusterData(partitions, cluster, center=True, scale=True, ddof=1, n_shards=count)
            products.append(operator.apply_support(indices, weights))
    assert all(np.array_equal(product, products[0]) for product in products)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 13])
def test_tree_merges_in_one_order(count):
    """However the leaves are spread over holders, the tree is the same."""

    def merge(first, second):
        return f"({first} {second})"

    leaves = {(0, number): str(number) for number in range(count)}
    expected = root(fold_nodes(leaves, count, merge))
    assert expected.replace("(", "").replace(")", "").split() == [str(number) for number in range(count)]
    for holders in range(1, count + 1):
        cuts = [count * part // holders for part in range(holders + 1)]
        parts = [
            fold_nodes({(0, number): str(number) for number in range(low, high)}, count, merge)
            for low, high in pairwise(cuts)
        ]
        assert root(combine_nodes(parts, count, merge)) == expected


def test_sources(client, data, no_gram):
    pd = pytest.importorskip("pandas")
    names = [f"v{i}" for i in range(60)]
    expected = se.sparse_eigenvector(se.covariance(data), 8)
    pieces = np.array_split(data, 4)
    sources = [
        [lambda piece=piece: piece for piece in pieces],
        [dask.delayed(np.asarray)(piece) for piece in pieces],
        [lambda piece=piece: pd.DataFrame(piece, columns=names) for piece in [*pieces, data[:0]]],
    ]
    for source in sources:
        for keep in (True, False):
            operator = se.covariance(source, client=client, keep=keep)
            assert_same(se.sparse_eigenvector(operator, 8), expected)
    assert operator.names == tuple(names)
    with dask.config.set(scheduler="synchronous"):
        assert_same(se.sparse_eigenvector(se.covariance(sources[0]), 8), expected)


def test_many_shards_and_large_blocks(client, data, no_gram, monkeypatch):
    """A tree of merging tasks, and an iterate that is too large to travel in every task."""
    from sparseigen.operators import pass_data as cluster_data

    monkeypatch.setattr(cluster_data, "FAN_IN", 2)
    monkeypatch.setattr(cluster_data, "LARGE_ARGUMENTS", 100)
    operator = se.covariance([lambda piece=piece: piece for piece in np.array_split(data, 9)], client=client)
    block = np.random.default_rng(1).standard_normal((60, 5))
    assert np.allclose(operator.block_apply(block), np.cov(data.T) @ block, rtol=1e-12)


def test_estimator_takes_partitions(client, data, monkeypatch):
    array = da.from_array(data, chunks=(200, 60))
    expected = se.SparsePCA(n_components=2, cardinality=6).fit(data)
    monkeypatch.setattr(da.Array, "__array__", lambda *_, **__: pytest.fail("the data came home"))
    with client.as_current():
        found = se.SparsePCA(n_components=2, cardinality=6).fit(array)
    assert np.allclose(np.abs(found.components_), np.abs(expected.components_), atol=1e-10)
    assert found.n_features_in_ == 60
    assert found.n_samples_ == 900
    assert np.allclose(found.transform(data), expected.transform(data), atol=1e-9)


def raising():
    raise RuntimeError("no such tape")


@pytest.mark.parametrize(
    ("bad", "error", "match"),
    [
        (raising, PartitionError, r"partition 1 \(raising\) cannot be loaded: RuntimeError: no such tape"),
        (lambda: np.full((5, 60), np.nan), NonFiniteError, r"partition 1 .*300 NaN or infinite.* row 0, column 0"),
        (lambda: np.zeros((5, 59)), PartitionError, r"partition 1 .*shape \(5, 59\); partition 0 has .*60 columns"),
        (lambda: np.zeros((5, 60), dtype=np.float32), PartitionError, "partition 1 .*dtype='float32'.*'float64'"),
        (lambda: np.zeros(60), ShapeError, "partition 1 .*1 dimensions"),
        (lambda: np.full((5, 60), "a"), DtypeError, "partition 1 .*dtype"),
        (lambda: sp.csr_array((5, 60)), PartitionError, "partition 1 .*sparse=True"),
    ],
)
def test_a_bad_partition_is_named(client, data, bad, error, match):
    with pytest.raises(error, match=match):
        se.covariance([lambda: data, bad], client=client)
    if bad is raising:
        array = da.from_array(data, chunks=(300, 60)).map_blocks(fails_in_second, dtype=float)
        with pytest.raises(PartitionError, match=r"partition 1 \(.*cannot be loaded: ValueError: torn page"):
            se.covariance(array, client=client)


def fails_in_second(block, block_info=None):
    if block_info and block_info[0]["chunk-location"][0] == 1:
        raise ValueError("torn page")
    return block


def test_a_partition_that_changes_is_refused(client, data, no_gram):
    """Loaded anew in every pass: other rows or NaN than the first time are an error, never an answer."""
    state = {"value": data}
    operator = se.covariance([lambda: data, lambda: state["value"]], client=client, keep=False)
    state["value"] = data[:-1]
    with pytest.raises(PartitionError, match=r"partition 1 .*shape \(899, 60\); when first loaded it has 900 rows"):
        operator.apply_support(np.arange(3), np.ones(3))
    state["value"] = data + 1.0
    with pytest.raises(PartitionError, match=r"partition 1 .* holds other values than before"):
        operator.apply_support(np.arange(3), np.ones(3))
    state["value"] = data.copy()
    state["value"][450] = np.nan
    with pytest.raises(NonFiniteError, match=r"partition 1 .*products that are NaN.*has changed"):
        operator.apply_support(np.arange(3), np.ones(3))


def test_bad_arguments(client, data, monkeypatch):
    with pytest.raises(OptionError, match=r"client= is for data in partitions.*ndarray"):
        se.covariance(data, client=client)
    with pytest.raises(ShapeError, match="1 dimensions"):
        se.covariance(da.from_array(data[0], chunks=10), client=client)
    with pytest.raises(ShapeError, match=r"X is empty \(shape \(0, 60\)\)"):
        se.covariance([lambda: data[:0]], client=client)
    with pytest.raises(OptionError, match="device='cuda' is not for data in partitions"):
        se.covariance([lambda: data], client=client, device="cuda")
    monkeypatch.setitem(__import__("sys").modules, "dask", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'sparseigen\[dask\]'"):
        se.covariance([lambda: data], client=client)


def test_names_on_the_dashboard(client, data, no_gram):
    from distributed.utils import key_split

    seen = set()
    gather = client.gather

    def watched(futures, **options):
        seen.update(key_split(future.key) for future in futures)
        return gather(futures, **options)

    operator = se.covariance([lambda: data], client=client)
    client.gather = watched
    try:
        operator.apply_support(np.arange(3), np.ones(3))
    finally:
        del client.gather
    assert seen == {"sparseigen-product"}


def test_scheduler_gone_and_resumed(client, data, no_gram, tmp_path):
    """The error says where the checkpoint is; the same calls on another cluster go on from there."""
    from distributed import Client, LocalCluster

    alive, path = client, tmp_path / "fit.checkpoint"
    parts = [lambda piece=piece: piece for piece in np.array_split(data, 3)]
    expected = se.sparse_eigenvector(se.covariance(parts, client=alive), 8)

    with dask.config.set({"distributed.comm.timeouts.connect": "200ms"}):
        cluster = LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0")
        client = Client(cluster, set_as_default=False)
        try:
            operator = se.covariance(parts, client=client, checkpoint=path)
            cluster.sync(cluster.scheduler.close)
            with pytest.raises(ClusterError, match=r"cannot be reached.*checkpoint .*fit\.checkpoint: the same"):
                se.sparse_eigenvector(operator, 8)
            with pytest.raises(ClusterError, match="the client is closed"):
                se.covariance([lambda: data], client=client)
        finally:
            client.close()
            cluster.close()
    again = se.covariance(parts, client=alive, checkpoint=path)
    assert again.log.resumed == 1
    found = se.sparse_eigenvector(again, 8)
    assert np.array_equal(found.vector, expected.vector)
    replayed = se.covariance(parts, client=alive, checkpoint=path)
    monkey = replayed._tasks
    replayed._tasks = lambda *_: pytest.fail("a finished pass was made again")
    assert np.array_equal(se.sparse_eigenvector(replayed, 8).vector, expected.vector)
    replayed._tasks = monkey
    with pytest.raises(CheckpointError, match="other data or settings"):
        se.covariance(parts[:2], client=alive, checkpoint=path)


def test_number_and_variables_of_components_are_found(client, data):
    expected = se.SparsePCA(n_components="auto").fit(data)
    found = se.SparsePCA(n_components="auto").fit(da.from_array(data, chunks=(130, 25)))
    assert found.n_components_ == 2
    for one, other in zip(found.results_, expected.results_, strict=True):
        assert np.array_equal(one.support, other.support)
    np.testing.assert_allclose(found.significance_.evidence, expected.significance_.evidence, rtol=1e-3)
