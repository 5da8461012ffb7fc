"""Genotypes: PLINK's three files, VCF-Zarr, int8 arrays by variables, and files that are wrong."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import sparseigen as se
from sparseigen.errors import DuplicateNamesError, InputError, MissingDataError
from sparseigen.io.tables import read_table
from sparseigen.rows.files import open_rows
from sparseigen.rows.genotypes import GAP
from tests.unit.rows.plink import draw_calls, write_plink

bed_reader = pytest.importorskip("bed_reader")
CALLS = draw_calls(13, 9, missing=0.1)


def _read_all(source, rows=5, start=0):
    buffers = lambda count: np.empty((count, source.shape[1]), dtype=source.dtype)  # noqa: E731
    return np.concatenate([block.copy() for block in source.blocks(rows, start, buffers)])


def test_rows_names_and_variables_of_a_bed_file(tmp_path):
    source = open_rows(write_plink(tmp_path / "a.bed", CALLS), None)
    assert (source.shape, source.names[8], source.sparse) == ((13, 9), "rs8", False)
    np.testing.assert_array_equal(_read_all(source), CALLS)
    np.testing.assert_array_equal(_read_all(source, start=10), CALLS[10:])
    whole = np.where(np.isnan(CALLS), GAP, CALLS).T
    np.testing.assert_array_equal(np.concatenate(list(source.variables(4, 0))), whole)
    np.testing.assert_array_equal(source.take(np.array([7, 2])), whole[[7, 2]])


@pytest.mark.parametrize("samples", [4, 13])
def test_both_orders_of_a_bed_file_give_what_bed_reader_reads(samples, tmp_path):
    """By variants they are decoded here, by samples by bed-reader, which is asked for both."""
    calls = draw_calls(samples, 9, missing=0.1)
    path = write_plink(tmp_path / "a.bed", calls)
    expected = bed_reader.open_bed(path).read(dtype="int8")
    turned = write_plink(tmp_path / "t.bed", calls.T)
    (tmp_path / "b.bed").write_bytes(b"\x6c\x1b\x00" + turned.read_bytes()[3:])
    for side in (".bim", ".fam"):
        (tmp_path / f"b{side}").write_bytes(path.with_suffix(side).read_bytes())
    by_samples = open_rows(tmp_path / "b.bed", None)
    for chosen in (np.arange(9), np.array([2, 3, 4, 8, 0]), np.array([5])):
        np.testing.assert_array_equal(open_rows(path, None).take(chosen), expected[:, chosen].T)
        np.testing.assert_array_equal(by_samples.take(chosen), expected[:, chosen].T)


def test_a_file_that_becomes_shorter_is_said(tmp_path):
    source = open_rows(write_plink(tmp_path / "a.bed", CALLS), None)
    _cut(tmp_path / "a.bed")
    with pytest.raises(InputError, match=r"^a\.bed ends before variant 8: it has become shorter\.$"):
        source.take(np.arange(9))


def test_another_process_opens_its_own_file(tmp_path):
    source = open_rows(write_plink(tmp_path / "a.bed", CALLS), None)
    source.take(np.array([0]))
    copy = pickle.loads(pickle.dumps(source))
    np.testing.assert_array_equal(copy.take(np.array([3])), source.take(np.array([3])))
    assert copy.fingerprint() == source.fingerprint()


def test_variants_without_a_name_are_called_by_their_place(tmp_path):
    source = open_rows(write_plink(tmp_path / "a.bed", CALLS, ["."] * 9), None)
    assert source.names[:2] == ("1:1", "1:2")


def test_a_table_of_calls_has_gaps_and_names(tmp_path):
    table = read_table(write_plink(tmp_path / "a.bed", CALLS), missing="mean")
    assert table.names[0] == "rs0"
    assert f"{int(np.isnan(CALLS).sum())} gaps filled" in table.notes[0]


def _cut(path):
    path.write_bytes(path.read_bytes()[:-3])


def _lengthen_bim(path):
    path.with_suffix(".bim").write_text(path.with_suffix(".bim").read_text() + "1 more 0 99 A G\n")


def _shorten_line(path):
    path.with_suffix(".fam").write_text("f s0 0 0 0 -9\nalone\n")


def _intervals(path):
    path.write_bytes(b"chr1\t10\t20\n" + path.read_bytes()[11:])


WRONG = {
    "cut": (_cut, r"a.bed has 36 bytes, and 13 samples \(.fam\) x 9 variants \(.bim\) need 39: it is cut short, or"),
    "other bim": (_lengthen_bim, r"x 10 variants \(.bim\) need 43: it is cut short, or the .bim or .fam belongs to"),
    "short line": (_shorten_line, r"a.fam, line 2, has 1 columns; it needs at least 2"),
    "intervals": (_intervals, r"a.bed does not begin as a PLINK 1 .bed file does; is it a BED file of intervals\?"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_files_are_refused_in_one_sentence(case, tmp_path):
    damage, message = WRONG[case]
    path = write_plink(tmp_path / "a.bed", CALLS)
    damage(path)
    with pytest.raises(InputError, match=message):
        se.covariance(path)


def test_a_file_that_is_not_there_and_names_that_repeat(tmp_path):
    path = write_plink(tmp_path / "a.bed", CALLS, ["x"] * 9)
    with pytest.raises(DuplicateNamesError, match=r"a.bed has 1 repeated column names, the first is 'x'"):
        se.covariance(path)
    path.with_suffix(".fam").unlink()
    with pytest.raises(MissingDataError, match=r"a.fam is not beside a.bed; a PLINK data set is three files"):
        se.covariance(path)


def _write_vcf(path, calls, **more):
    zarr = pytest.importorskip("zarr")
    store = zarr.open_group(str(path), mode="w")
    counts = np.nan_to_num(calls.T).astype(np.int8)
    alleles = np.stack([counts > 0, counts > 1], axis=2).astype(np.int8)
    alleles[np.isnan(calls.T)] = -1
    store.create_array("call_genotype", data=alleles, chunks=(4, len(calls), 2))
    for name, values in more.items():
        store.create_array(name, data=values)
    return path


def test_vcf_zarr_counts_alternate_alleles(tmp_path):
    source = open_rows(_write_vcf(tmp_path / "v.zarr", CALLS), None)
    assert source.shape == (13, 9)
    np.testing.assert_array_equal(_read_all(source), CALLS)
    np.testing.assert_array_equal(source.take(np.array([5, 1]))[1] == GAP, np.isnan(CALLS[:, 1]))
    assert source.fingerprint() == open_rows(tmp_path / "v.zarr", None).fingerprint()


def test_call_genotype_of_another_shape_is_refused(tmp_path):
    zarr = pytest.importorskip("zarr")
    store = zarr.open_group(str(tmp_path / "v.zarr"), mode="w")
    store.create_array("call_genotype", data=np.zeros((3, 4)), chunks=(3, 4))
    with pytest.raises(InputError, match=r"call_genotype has shape \(3, 4\) and holds float64; VCF-Zarr keeps whole"):
        se.covariance(tmp_path / "v.zarr")


def test_int8_arrays_in_tall_chunks_are_read_by_variables(tmp_path):
    zarr = pytest.importorskip("zarr")
    counts = np.nan_to_num(CALLS).astype(np.int8)
    array = zarr.open(str(tmp_path / "t.zarr"), mode="w", shape=counts.shape, chunks=(13, 4), dtype="int8")
    array[:] = counts
    source = open_rows(tmp_path / "t.zarr", None)
    assert source.by_variable
    np.testing.assert_array_equal(source.take(np.array([6, 2])), counts.T[[6, 2]])
    np.testing.assert_allclose(se.covariance(tmp_path / "t.zarr").to_dense(), np.cov(counts.T), atol=1e-6)
    assert source.fingerprint() == open_rows(tmp_path / "t.zarr", None).fingerprint()
