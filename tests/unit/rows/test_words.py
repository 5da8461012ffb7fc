"""Bags of words: counts and vocabulary, compressed or not, and files that are wrong."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

import sparseigen as se
from sparseigen.errors import DuplicateNamesError, InputError
from sparseigen.io.tables import read_table
from sparseigen.rows import words
from sparseigen.rows.files import open_rows

COUNTS = np.random.default_rng(0).poisson(0.6, (12, 7))


def _write(folder, counts=COUNTS, *, packed=False, vocabulary=True, lines=None, head=None):
    documents, terms = np.nonzero(counts)
    if lines is None:
        lines = [f"{i + 1} {j + 1} {counts[i, j]}" for i, j in zip(documents, terms, strict=True)]
    text = "".join(f"{line}\n" for line in (head or [*counts.shape, len(documents)])) + "\n".join(lines) + "\n"
    path = folder / ("docword.t.txt.gz" if packed else "docword.t.txt")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    if vocabulary:
        (folder / "vocab.t.txt").write_text("".join(f"word{j}\n" for j in range(counts.shape[1])))
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_counts_and_words_are_read(tmp_path, packed, monkeypatch):
    monkeypatch.setattr(words, "READ_BYTES", 64)  # lines across the ends of what is parsed at a time
    path = _write(tmp_path, packed=packed)
    source = open_rows(path, None)
    assert (source.shape, source.names[6], source.sparse) == ((12, 7), "word6", True)
    found = np.concatenate([block.toarray() for block in source.blocks(5, 0, np.empty)])
    np.testing.assert_array_equal(found, COUNTS)
    np.testing.assert_array_equal(np.concatenate([b.toarray() for b in source.blocks(5, 9, np.empty)]), COUNTS[9:])
    np.testing.assert_allclose(se.covariance(path).to_dense(), np.cov(COUNTS.T), atol=1e-12)
    assert source.fingerprint() == open_rows(path, None).fingerprint()


def test_a_table_of_counts_is_sparse(tmp_path):
    table = read_table(_write(tmp_path))
    np.testing.assert_array_equal(table.values.toarray(), COUNTS)
    assert table.names[0] == "word0"


def test_words_have_no_names_without_a_vocabulary(tmp_path):
    assert open_rows(_write(tmp_path, vocabulary=False), None).names is None


def test_a_word_listed_twice_is_added_up(tmp_path):
    path = _write(tmp_path, lines=["1 1 2", "1 1 3", "2 7 1"], head=[2, 7, 3])
    assert next(open_rows(path, None).blocks(2, 0, np.empty))[0, 0] == 5.0


WRONG = {
    "negative": (["1 1 1", "2 2 -3"], None, r"docword.t.txt, line 5, is '2 2 -3'; documents must be within 1..12"),
    "word": (["1 8 1"], None, r"line 4, is '1 8 1'; .* words within 1..7 and counts within 0..16777216"),
    "order": (["2 1 1", "1 1 1"], None, r"line 5: document 1 comes after a later one; sort the lines by document"),
    "text": (["1 one 1"], None, r"docword.t.txt has a line that is not three whole numbers"),
    "cut": (
        ["1 1 1"],
        [12, 7, 5],
        r"docword.t.txt has 1 counts, and its third line says 5; it is cut short",
    ),
    "edges": (["3 4"], ["1 2", "2 3", "3 1"], r"begins with '1 2 / 2 3 / 3 1'; a bag of words begins with three lines"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_files_are_refused_in_one_sentence(case, tmp_path):
    lines, head, message = WRONG[case]
    with pytest.raises(InputError, match=message):
        se.covariance(_write(tmp_path, lines=lines, head=head or [12, 7, len(lines)]))


def test_a_vocabulary_of_another_file_and_words_that_repeat(tmp_path):
    path = _write(tmp_path)
    (tmp_path / "vocab.t.txt").write_text("a\nb\n")
    with pytest.raises(InputError, match=r"vocab.t.txt has 2 words for the 7 of docword.t.txt; is it another's\?"):
        se.covariance(path)
    (tmp_path / "vocab.t.txt").write_text("a\n" * 7)
    with pytest.raises(DuplicateNamesError, match=r"docword.t.txt has 1 repeated column names, the first is 'a'"):
        se.covariance(path)
