# Every target sets up what it needs in .venv, from nothing: Python 3.11+ and a C++ compiler are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := pyproject.toml CMakeLists.txt $(wildcard src/cpp/*)
# Two cores: two test processes, one BLAS thread each.
TEST_ENV := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

.PHONY: help demo test test-torch test-browser pictures docs lint \
  bench bench-quick bench-micro bench-pca bench-certificates bench-graphs bench-scale clean
help:
	@echo "make demo   sparse components of the embedded PitProps data: a table, and a report in build/demo.html"
	@echo "make test   all tests"
	@echo "make test-torch  the tests of the GPU path, on a pinned CPU build of torch"
	@echo "make test-browser  the report pages in a real browser (installs Debian's chromium where there is none)"
	@echo "make docs   the documentation in docs/_build/html: warnings are errors, its examples and all doctests run"
	@echo "make lint   ruff and mypy (strict)"
	@echo "make bench  other packages, growth in time and memory, speed of every part: results in bench-results, build/bench.html"
	@echo "make bench-quick  the same in under three minutes, ending in three verdicts; writes docs/benchmarks.md"
	@echo "make bench-micro  small calls timed by pytest-benchmark, compared with the last time"
	@echo "make bench-certificates  gaps and seconds of every bound, and of the exact method"
	@echo "make bench-graphs  densest subgraphs: the paper's graphs, Frank-Wolfe, a graph of 100 million arcs"
	@echo "make bench-scale  data larger than memory, and a cluster of two workers: needs 8 GB of disk"
	@echo "make clean  remove the virtual environment and build products"

$(BIN)/python:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'Python 3.11 or newer is needed; set PYTHON=')"
	$(PYTHON) -m venv $(VENV)

$(VENV)/.ready: $(BIN)/python $(CORE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[test,lint]"
	touch $@

demo: $(VENV)/.ready
	mkdir -p build
	$(BIN)/sparseigen demo --report build/demo.html

test: $(VENV)/.ready
	$(TEST_ENV) $(BIN)/python -m pytest -n 2 --dist worksteal tests src/sparseigen

# torch is heavy, so `make test` does not install it and skips these tests; here a skip is a failure.
# Triton's interpreter runs the GPU kernels on the CPU.
TORCH ?= torch==2.13.0
TRITON ?= triton==3.9.0
test-torch: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "$(TORCH)" "$(TRITON)"
	$(TEST_ENV) OMP_NUM_THREADS=1 SPARSEIGEN_TORCH_REQUIRED=1 $(BIN)/python -m pytest -n 2 --dist worksteal tests/on_torch

# The pages in a real browser. `make test` skips these where there is none; here a skip is a failure.
PLAYWRIGHT ?= playwright>=1.45
test-browser: $(VENV)/.ready
	tools/install-browser
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "$(PLAYWRIGHT)"
	$(TEST_ENV) SPARSEIGEN_BROWSER_REQUIRED=1 $(BIN)/python -m pytest tests/browser

# The pictures of reports in docs/images, photographed from real data.
pictures: $(VENV)/.ready
	tools/install-browser
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "$(PLAYWRIGHT)"
	$(BIN)/python docs/report_pictures.py

# The name and its extra are already installed, so pip adds the extra's packages and builds nothing.
$(VENV)/.docs-ready: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "sparseigen[docs]"
	touch $@

docs: $(VENV)/.docs-ready
	$(TEST_ENV) $(BIN)/python -m sphinx -W --keep-going --quiet -b html -d docs/_build/doctrees docs docs/_build/html
	$(TEST_ENV) $(BIN)/python -m pytest --quiet -n 2 tests/unit/test_documentation.py src/sparseigen
	@echo "The documentation is in docs/_build/html/index.html"

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Like the documentation's packages: the extra's are added, nothing is built. A peer that cannot be installed is left
# out and shows as such in the results; the packages that the measurements themselves need must be there.
BENCH_PEERS := abess sparsepca
$(VENV)/.bench-ready: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "sparseigen[bench]" || \
	  for peer in $(BENCH_PEERS); do \
	    $(BIN)/python -m pip install --quiet --disable-pip-version-check $$peer || echo "$$peer: not installed"; done
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "pytest-benchmark>=5"
	touch $@

bench: $(VENV)/.bench-ready
	$(BIN)/python -m benchmarks.speed full

bench-quick: $(VENV)/.bench-ready
	$(BIN)/python -m benchmarks.speed quick --markdown docs/benchmarks.md

bench-micro: $(VENV)/.bench-ready
	$(TEST_ENV) $(BIN)/python -m pytest -p no:cacheprovider --benchmark-storage=file://bench-results/micro \
	  --benchmark-autosave $(if $(wildcard bench-results/micro/*/*.json),--benchmark-compare) benchmarks/micro

bench-pca: $(VENV)/.ready
	$(BIN)/python -m benchmarks.pca

bench-certificates: $(VENV)/.ready
	$(BIN)/python -m benchmarks.certificates

bench-graphs: $(VENV)/.ready
	$(BIN)/python -m benchmarks.graphs

bench-scale: $(VENV)/.ready
	$(BIN)/python -m benchmarks.scale

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis docs/_build docs/api docs/auto_examples
