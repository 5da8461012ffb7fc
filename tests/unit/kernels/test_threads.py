"""Numbers of threads that can and cannot be set."""

from __future__ import annotations

import pytest

from sparseigen import errors, kernels
from sparseigen.kernels import numpy_reference


@pytest.mark.parametrize("count", ["x", -1, None, 1.5, True, 2**40])
def test_thread_counts_that_are_none(count):
    before = kernels.thread_count()
    for set_thread_count in (kernels.set_thread_count, numpy_reference.set_thread_count):
        with pytest.raises(errors.OptionError, match="threads"):
            set_thread_count(count)
    assert kernels.thread_count() == before
