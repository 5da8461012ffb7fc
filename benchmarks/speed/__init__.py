"""Speed as ratios measured in one run: `python -m benchmarks.speed`, or `make bench`."""
