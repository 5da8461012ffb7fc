"""Small calls timed by pytest-benchmark, for its history: `make bench-micro`. Not part of `make test`."""
