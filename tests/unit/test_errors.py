"""Errors are the built-in ones that callers expect."""

from __future__ import annotations

from sparseigen import errors


def test_errors_are_the_built_ins_callers_expect() -> None:
    assert issubclass(errors.CardinalityError, ValueError)
    assert issubclass(errors.UnsupportedOperatorError, TypeError)
    assert issubclass(errors.MissingDependencyError, ImportError)
    assert issubclass(errors.DtypeError, TypeError)
    assert issubclass(errors.SolveInterrupted, KeyboardInterrupt)
