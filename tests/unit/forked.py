"""Work in a forked child."""

from __future__ import annotations

import os
import traceback
import warnings
from collections.abc import Callable


def forked(work: Callable[[], None]) -> int:
    """The exit status of a forked child that does the work: 0 if nothing was raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # from 3.12 on a fork with threads is warned of
        child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 1
    try:
        work()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)
