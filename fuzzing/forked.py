"""Work in a forked child."""

from __future__ import annotations

import os
import traceback
import warnings
from collections.abc import Callable


def in_child(work: Callable[[], None]) -> int:
    """The process id of a forked child that does the work and ends with its success."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # from 3.12 on a fork with threads is warned of
        child = os.fork()
    if child:
        return child
    status = 1
    try:
        work()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def exit_code(child: int) -> int:
    """Waits for a child: 0 if nothing was raised in it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
