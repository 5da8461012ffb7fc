"""``python -m sparseigen`` is the command line."""

from sparseigen.cli import main

main()
