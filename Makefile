# Every target sets up what it needs in .venv, from nothing: Python 3.11+ and a C++ compiler are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := pyproject.toml CMakeLists.txt $(wildcard src/cpp/*)
# Two cores: two test processes, one BLAS thread each.
TEST_ENV := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

.PHONY: help demo test test-torch test-browser pictures docs lint \
  wheel-test lock audit test-oldest test-newest coverage mutants fuzz stress sanitize \
  reproduce bench bench-quick bench-micro bench-certificates bench-graphs bench-scale clean
help:
	@echo "make demo   sparse components of the embedded PitProps data: a table, and a report in build/demo.html"
	@echo "make test   all tests"
	@echo "make test-torch  the tests of the GPU path, on a pinned CPU build of torch"
	@echo "make test-browser  the report pages in a real browser (installs Debian's chromium where there is none)"
	@echo "make docs   the documentation in docs/_build/html: warnings are errors, its examples and all doctests run"
	@echo "make lint   ruff and mypy (strict)"
	@echo "make coverage  branches that the tests reach (with torch); fails under 92 %"
	@echo "make mutants  small faults put into solvers and certificates: does a test notice? (SAMPLE=250 SEED=0)"
	@echo "make wheel-test  sdist and wheel from nothing: contents, processors, compilers, Pythons, tests in clean environments"
	@echo "make test-oldest, make test-newest  all tests on the oldest and the newest allowed versions"
	@echo "make lock   choose versions and hashes of the development environment again (LOCKS=dev or oldest: one file)"
	@echo "make audit  known vulnerabilities of the locked packages"
	@echo "make bench  other packages, growth in time and memory, speed of every part: results in bench-results, tables in build/benchmarks.md"
	@echo "make bench-quick  the same in under three minutes, ending in three verdicts"
	@echo "make bench-micro  small calls timed by pytest-benchmark, compared with the last time"
	@echo "make reproduce  every number of the paper, run again and compared: docs/reproduction.md; all points in build/reproduction"
	@echo "make sanitize  the C++ core under address, undefined-behaviour and thread sanitizers: tests and fuzzers"
	@echo "make bench-certificates  gaps and seconds of every bound, and of the exact method"
	@echo "make bench-graphs  densest subgraphs: Frank-Wolfe beside ours, a graph of 100 million arcs"
	@echo "make bench-scale  data larger than memory, and a cluster of two workers: needs 8 GB of disk"
	@echo "make stress RUNS=200 of threads, forks, processes and signals at once, then Ctrl-C in every long kernel"
	@echo "make fuzz   MINUTES=10 of hostile matrices, data and graphs, checked in exact arithmetic; READER_MINUTES=2 of files"
	@echo "make clean  remove the virtual environment and build products"

$(BIN)/python:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'Python 3.11 or newer is needed; set PYTHON=')"
	$(PYTHON) -m venv $(VENV)

# Versions and hashes of every package are in $(LOCK), for Python 3.11 to 3.14 on any platform: what was tested is what
# is installed, and a file that was changed on its way is refused. `make ... LOCK=` takes the newest versions instead.
LOCK ?= requirements/dev.txt
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check
ifeq ($(LOCK),)
INSTALL = $(BIN)/python $(PIP_INSTALL) --editable ".[test,lint]"
else
INSTALL = { $(BIN)/python $(PIP_INSTALL) --require-hashes --requirement $(LOCK) || \
  { echo "The locked packages cannot be installed here. 'make $(MAKECMDGOALS) LOCK=' takes what the index offers."; exit 1; }; } \
  && $(BIN)/python $(PIP_INSTALL) --no-deps --no-build-isolation --editable .
endif

$(VENV)/.ready: $(BIN)/python $(CORE) $(LOCK)
	$(INSTALL)
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

# The two pictures of reports in docs/images, photographed from real data.
pictures: $(VENV)/.docs-ready
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

# Branches of the Python side that tests reach, the GPU path on its CPU build included; the browser adds none.
COVERAGE ?= 92
coverage: $(VENV)/.ready
	$(BIN)/python $(PIP_INSTALL) coverage pytest-cov "$(TORCH)" "$(TRITON)"
	rm -rf build/coverage
	mkdir -p build/coverage
	$(TEST_ENV) SPARSEIGEN_TORCH_REQUIRED=1 $(BIN)/python -m pytest -n 2 --dist worksteal --ignore=tests/browser \
	  --cov --cov-report= tests src/sparseigen
	$(BIN)/python tools/branches.py --least $(COVERAGE)

SAMPLE ?= 250
SEED ?= 0
mutants: $(VENV)/.ready
	$(BIN)/python $(PIP_INSTALL) coverage pytest-cov
	$(TEST_ENV) $(BIN)/python -m tools.mutation --sample $(SAMPLE) --seed $(SEED)

# Everything about distribution uses environments of its own, never .venv.
wheel-test:
	$(PYTHON) -m tools.wheel_test

LOCK_TOOLS := build/lock-tools
$(LOCK_TOOLS)/.ready:
	$(PYTHON) -m venv $(LOCK_TOOLS)
	$(LOCK_TOOLS)/bin/python $(PIP_INSTALL) uv==0.13.7 pip-audit==2.10.1
	touch $@

lock: $(LOCK_TOOLS)/.ready
	$(LOCK_TOOLS)/bin/python tools/lock.py $(LOCKS)

audit: $(LOCK_TOOLS)/.ready
	$(LOCK_TOOLS)/bin/python tools/audit.py

test-oldest test-newest:
	$(PYTHON) tools/test_versions.py $(@:test-%=%)

# The C++ core under sanitizers, built under build/sanitize: Linux with gcc (libasan, libubsan, libtsan).
sanitize: $(VENV)/.ready
	$(BIN)/python -m fuzzing sanitize --minutes 1

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
	$(BIN)/python -m benchmarks.speed quick

bench-micro: $(VENV)/.bench-ready
	$(TEST_ENV) $(BIN)/python -m pytest -p no:cacheprovider --benchmark-storage=file://bench-results/micro \
	  --benchmark-autosave $(if $(wildcard bench-results/micro/*/*.json),--benchmark-compare) benchmarks/micro

# matplotlib, which draws the figures, comes with what the documentation needs. ARGS="T3 --data DIR" chooses.
ARGS ?=
reproduce: $(VENV)/.docs-ready
	$(BIN)/python -m benchmarks.paper $(ARGS)

bench-certificates: $(VENV)/.ready
	$(BIN)/python -m benchmarks.certificates

bench-graphs: $(VENV)/.ready
	$(BIN)/python -m benchmarks.graphs

bench-scale: $(VENV)/.ready
	$(BIN)/python -m benchmarks.scale

# Violations are saved in build/fuzz, each with the command that replays it; SEED= gives other cases.
MINUTES ?= 10
READER_MINUTES ?= 2
fuzz: $(VENV)/.ready
	$(BIN)/python -m fuzzing certificates --minutes $(MINUTES) --seed $(SEED) --workers 2
	$(BIN)/python -m fuzzing readers --minutes $(READER_MINUTES) --seed $(SEED)

RUNS ?= 200
stress: $(VENV)/.ready
	$(TEST_ENV) $(BIN)/python -m fuzzing concurrency --runs $(RUNS)
	$(TEST_ENV) $(BIN)/python -m fuzzing signals --runs 6

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis docs/_build docs/api docs/auto_examples
