# Every target sets up what it needs in .venv, from nothing: Python 3.11+ and a C++ compiler are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := pyproject.toml CMakeLists.txt $(wildcard src/cpp/*)
# Two cores: two test processes, one BLAS thread each.
TEST_ENV := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
# The real data sets: those beside the checkout, where there are some and no others are named.
export SPARSEIGEN_DATA ?= $(abspath $(wildcard ../shared/data))

.PHONY: help demo test test-torch test-browser pictures docs lint \
  test-ecosystem wheel-test lock lock-dev lock-oldest audit test-oldest test-newest coverage mutants fuzz stress sanitize \
  reproduce bench bench-quick bench-micro bench-certificates bench-choosing bench-graphs bench-sets bench-generalised \
  bench-scale bench-worst clean
help:
	@echo "make demo   sparse components of the embedded PitProps data: a table, and a report in build/demo.html"
	@echo "make test   all tests"
	@echo "make test-torch  the tests of the GPU path, on a pinned CPU build of torch"
	@echo "make test-browser  the report pages in a real browser (installs Debian's chromium where there is none)"
	@echo "make test-ecosystem  with anndata, scanpy, rustworkx, skops, matplotlib, openpyxl, ONNX, and networkx's own tests on our backend"
	@echo "make docs   the documentation in docs/_build/html: warnings are errors, its examples and all doctests run"
	@echo "make lint   ruff and mypy (strict)"
	@echo "make coverage  branches that the tests reach (with torch); fails under 92 %"
	@echo "make mutants  small faults put into solvers and certificates: does a test notice? by mutmut"
	@echo "make wheel-test  sdist and wheel from nothing: contents, processors, compilers, Pythons, tests in clean environments"
	@echo "make test-oldest, make test-newest  all tests on the oldest and the newest allowed versions"
	@echo "make lock   choose versions and hashes of the development environment again (LOCKS=dev or oldest: one file)"
	@echo "make audit  known vulnerabilities of the locked packages"
	@echo "make bench  other packages, growth in time and memory, speed of every part: results in bench-results, tables in build/benchmarks.md"
	@echo "make bench-quick  the same in under three minutes, ending in three verdicts"
	@echo "make bench-micro  small calls timed by pytest-benchmark, compared with the last time"
	@echo "make reproduce  every number of the paper, run again and compared: docs/reproduction.md; all points in build/reproduction"
	@echo "make sanitize  the C++ core under address, undefined-behaviour and thread sanitizers: tests and fuzzers"
	@echo "make bench-certificates  gaps and seconds of every bound, of the exact method, and of the default answer"
	@echo "make bench-choosing  number of components and of variables: planted, noise, fresh designs, beside other rules"
	@echo "make bench-graphs  densest subgraphs: what is proven, Frank-Wolfe beside ours, 100 million arcs"
	@echo "make bench-sets  sets of components: beside msPCA's and nsprcomp's algorithms, gaps, enumerated truth"
	@echo "make bench-generalised  sparse CCA, discriminants and slow modes: enumerated truth, cca-zoo, other classifiers, eigh"
	@echo "make bench-scale  data larger than memory, and a cluster of two workers: needs 8 GB of disk"
	@echo "make bench-worst  the worst inputs known with default settings: processor time and memory against a budget"
	@echo "make stress RUNS=200 of threads, forks, processes and signals at once, then Ctrl-C in every long kernel"
	@echo "make fuzz   MINUTES=10 of hostile matrices, data and graphs, as many of large ones, checked in exact arithmetic; READER_MINUTES=2 of files"
	@echo "make clean  remove the virtual environment and build products"

$(BIN)/python:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'Python 3.11 or newer is needed; set PYTHON=')"
	$(PYTHON) -m venv $(VENV)

# Versions and hashes of every package are in $(LOCK), for Python 3.11 to 3.14 on any platform: what was tested is what
# is installed (--no-deps: nothing is resolved again), and a file that was changed on its way is refused.
# `make ... LOCK=` takes the newest versions instead.
LOCK ?= requirements/dev.txt
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check
ifeq ($(LOCK),)
INSTALL = $(BIN)/python $(PIP_INSTALL) --editable ".[test,lint]"
else
INSTALL = { $(BIN)/python $(PIP_INSTALL) --no-deps --require-hashes --requirement $(LOCK) || \
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

# What is not in the locked environment, in one of its own: anndata holds pandas back. A skip for want of a package is a
# failure here. networkx's tests run with every graph passed through our backend; what it does not serve falls back.
ECOSYSTEM := build/venv-ecosystem
ECOSYSTEM_PACKAGES ?= anndata scanpy rustworkx skops matplotlib openpyxl onnx onnxruntime
test-ecosystem:
	$(PYTHON) -m venv $(ECOSYSTEM)
	$(ECOSYSTEM)/bin/python $(PIP_INSTALL) --config-settings=build-dir=$(abspath $(ECOSYSTEM))/cmake ".[test]" $(ECOSYSTEM_PACKAGES)
	$(ECOSYSTEM)/bin/python -W ignore -c "import anndata, scanpy, rustworkx, skops, matplotlib, openpyxl, onnx, onnxruntime"
	$(TEST_ENV) $(ECOSYSTEM)/bin/python -m pytest -q -n 2 -p no:cacheprovider tests/unit/tools tests/unit/checks tests/unit/results \
	  tests/unit/estimators tests/unit/io tests/unit/test_networkx_backend.py
	cd $(ECOSYSTEM) && $(TEST_ENV) bin/python $(abspath docs/examples/onnx_export.py)
	cd $(ECOSYSTEM) && $(TEST_ENV) NETWORKX_TEST_BACKEND=sparseigen NETWORKX_FALLBACK_TO_NX=True \
	  bin/python -m pytest -q -n 2 -p no:cacheprovider -c /dev/null --rootdir . --pyargs networkx

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
# coverage's own --fail-under mixes lines with branches, and lets through what this refuses.
COVERAGE ?= 92
coverage: $(VENV)/.ready
	$(BIN)/python $(PIP_INSTALL) coverage pytest-cov "$(TORCH)" "$(TRITON)"
	rm -rf build/coverage
	mkdir -p build/coverage
	$(TEST_ENV) SPARSEIGEN_TORCH_REQUIRED=1 $(BIN)/python -m pytest -n 2 --dist worksteal --ignore=tests/browser \
	  --cov --cov-report= tests src/sparseigen
	$(BIN)/python -m coverage report
	$(BIN)/python -m coverage json --quiet -o build/coverage/report.json
	@$(BIN)/python -c "import json, sys; t = json.load(open('build/coverage/report.json'))['totals']; \
	  share = 100 * t['covered_branches'] / t['num_branches']; print(f'branches: {share:.1f} %'); \
	  sys.exit(share < $(COVERAGE) and 'coverage: wanted $(COVERAGE) %')"

# In a copy of the tree, mutants/; `mutmut show NAME` prints one. MUTANTS="sparseigen.solvers.swapping*" chooses.
MUTANTS ?=
mutants: $(VENV)/.ready
	$(BIN)/python $(PIP_INSTALL) mutmut==3.8.0
	$(TEST_ENV) $(BIN)/mutmut run --max-children 2 $(MUTANTS)
	$(BIN)/mutmut results

# Everything about distribution uses environments of its own, never .venv.
wheel-test:
	$(PYTHON) -m tools.wheel_test

LOCK_TOOLS := build/lock-tools
$(LOCK_TOOLS)/.ready:
	$(PYTHON) -m venv $(LOCK_TOOLS)
	$(LOCK_TOOLS)/bin/python $(PIP_INSTALL) uv==0.13.7 pip-audit==2.10.1
	touch $@

# dev.txt holds the newest versions for Python 3.11 and later on every platform, oldest.txt the oldest that pyproject.toml
# allows, for Python 3.11 on Linux: one line per package. Neither names where packages come from: that is the reader's affair.
UV_LOCK = $(LOCK_TOOLS)/bin/uv pip compile --python-version 3.11 --generate-hashes --no-emit-index-url \
  --no-emit-find-links --no-annotate --custom-compile-command "make lock" --upgrade --quiet \
  --extra test pyproject.toml requirements/$*.in --output-file requirements/$*.txt
LOCKS ?= dev oldest
lock: $(LOCKS:%=lock-%)
	$(LOCK_TOOLS)/bin/python $(PIP_INSTALL) pytest packaging
	$(LOCK_TOOLS)/bin/python -m pytest -q -p no:cacheprovider --noconftest tests/unit/test_project_files.py
lock-dev: UV_LOCK += --universal --extra lint
lock-oldest: UV_LOCK += --resolution lowest-direct --python-platform x86_64-manylinux_2_28
lock-dev lock-oldest: lock-%: $(LOCK_TOOLS)/.ready
	$(UV_LOCK) > /dev/null
	sed -i -e ':join' -e '/\\$$/{N;s/ *\\\n */ /;b join' -e '}' requirements/$*.txt

audit: $(LOCK_TOOLS)/.ready
	$(LOCK_TOOLS)/bin/python tools/audit.py

# All tests on the oldest or the newest versions that are allowed, with sparseigen installed as users install it. Every
# package is imported first: one that cannot be would only turn tests into skips.
IMPORTED := numpy, scipy, sklearn, networkx, igraph, dask, distributed, pyarrow, h5py, zarr, pandas, polars, plotly, \
  jinja2, pooch, click, rich, hypothesis, pytest
# Warnings that old versions of others give on a newer Python or on newer neighbours say nothing about our code.
OLD_WARNINGS := -W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning -W ignore::FutureWarning
test-oldest: INSTALL_VERSIONS = $(VERSIONS)/bin/python $(PIP_INSTALL) --no-deps --require-hashes -r requirements/oldest.txt && \
  $(VERSIONS)/bin/python $(PIP_INSTALL) --no-deps --no-build-isolation --config-settings=build-dir=$(abspath $(VERSIONS))/cmake .
test-newest: INSTALL_VERSIONS = $(VERSIONS)/bin/python $(PIP_INSTALL) --config-settings=build-dir=$(abspath $(VERSIONS))/cmake ".[test]"
test-oldest test-newest: VERSIONS = build/venv-$(@:test-%=%)
test-oldest test-newest:
	rm -rf $(VERSIONS)
	$(PYTHON) -m venv $(VERSIONS)
	$(INSTALL_VERSIONS)
	$(VERSIONS)/bin/python -W ignore -c "import $(IMPORTED)"
	$(VERSIONS)/bin/python -m pip list
	$(TEST_ENV) PATH=$(abspath $(VERSIONS))/bin:$$PATH $(VERSIONS)/bin/python -m pytest -q -n 2 --dist worksteal \
	  $(if $(filter test-oldest,$@),$(OLD_WARNINGS)) tests --ignore=tests/browser --pyargs sparseigen

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

# ARGS="default --quick --before PYTHON" compares the default answer with that of an earlier version.
bench-certificates: $(VENV)/.ready
	$(BIN)/python -m benchmarks.certificates $(ARGS)

# ARGS="noise fresh --seed 7" chooses parts and draws the same again.
bench-choosing: $(VENV)/.ready
	$(BIN)/python -m benchmarks.choosing $(ARGS)

bench-graphs: $(VENV)/.ready
	$(BIN)/python -m benchmarks.graphs

bench-sets: $(VENV)/.ready
	$(BIN)/python -m benchmarks.sets $(ARGS)

# cca-zoo has an environment of its own: it is run as a program, and rows say so where it cannot be installed.
build/cca_zoo/.ready:
	$(PYTHON) -m venv build/cca_zoo
	-build/cca_zoo/bin/python -m pip install --quiet --disable-pip-version-check cca-zoo==4.0.1 && touch $@

bench-generalised: $(VENV)/.ready build/cca_zoo/.ready
	$(BIN)/python -m benchmarks.generalised $(ARGS)

bench-scale: $(VENV)/.ready
	$(BIN)/python -m benchmarks.scale

# ARGS="noise graph" chooses cases by words, ARGS=--busy keeps every core busy beside them.
bench-worst: $(VENV)/.ready
	$(BIN)/python -m benchmarks.worst $(ARGS)

# Violations are saved in build/fuzz, each with the command that replays it; SEED= gives other cases.
MINUTES ?= 10
READER_MINUTES ?= 2
SETS ?= 100
SEED ?= 0
fuzz: $(VENV)/.ready
	$(BIN)/python -m fuzzing certificates --minutes $(MINUTES) --seed $(SEED) --workers 2
	$(BIN)/python -m fuzzing certificates --large --minutes $(MINUTES) --seed $(SEED) --workers 2
	$(BIN)/python -m fuzzing sets --cases $(SETS) --seed $(SEED) --workers 2
	$(BIN)/python -m fuzzing readers --minutes $(READER_MINUTES) --seed $(SEED)

RUNS ?= 200
stress: $(VENV)/.ready
	$(TEST_ENV) $(BIN)/python -m fuzzing concurrency --runs $(RUNS)
	$(TEST_ENV) $(BIN)/python -m fuzzing signals --runs 6

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis docs/_build docs/api docs/auto_examples mutants
