"""``python -m fuzzing PART ...``: a part is one row of PARTS and a module with ``main(arguments) -> exit status``."""

from __future__ import annotations

import importlib
import sys

PARTS = {
    "certificates": "fuzzing.certificates",
    "concurrency": "fuzzing.concurrency",
    "readers": "fuzzing.readers",
    "sanitize": "fuzzing.sanitize",
    "sets": "fuzzing.sets",
    "signals": "fuzzing.signals",
}
"""Name of the part -> its module."""


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] not in PARTS:
        print(f"usage: python -m fuzzing {{{','.join(PARTS)}}} [--help]", file=sys.stderr)
        return 2
    return int(importlib.import_module(PARTS[arguments[0]]).main(arguments[1:]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
