"""What solvers share: keeping answers when Ctrl-C comes."""

from __future__ import annotations

import pytest

from sparseigen.errors import SolveInterrupted
from sparseigen.solvers.interface import KeepWhenInterrupted


def test_what_was_found_and_finished_is_kept() -> None:
    finished: list[int] = []
    keep = KeepWhenInterrupted(lambda inner: (inner, "best"), finished)
    finished.append(1)
    with pytest.raises(SolveInterrupted) as caught, keep:
        raise KeyboardInterrupt
    assert caught.value.result == (None, "best")
    assert caught.value.completed == (1,)
    with pytest.raises(SolveInterrupted) as caught, KeepWhenInterrupted(lambda inner: inner):
        raise SolveInterrupted("from within")
    assert caught.value.result == "from within"


def test_everything_else_passes() -> None:
    with KeepWhenInterrupted(lambda inner: pytest.fail("not interrupted")):
        pass
    with pytest.raises(ValueError, match="mine"), KeepWhenInterrupted(lambda inner: pytest.fail("not interrupted")):
        raise ValueError("mine")
