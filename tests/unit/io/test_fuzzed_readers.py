"""The whole files and the mutations that the fuzzer of the readers starts from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fuzzing import reader_mutations, reader_seeds
from fuzzing.reader_targets import TARGETS


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
