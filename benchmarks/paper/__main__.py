"""`python -m benchmarks.paper [part or claim ...]`: see `benchmarks.paper.command`."""

import sys

from benchmarks.paper.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
