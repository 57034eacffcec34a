# Every target needs nothing but Python 3.11 to 3.14 with its headers, make and a C++ compiler:
# it builds .venv from requirements.lock first, and compiles the core.

VENV := .venv
BIN := $(VENV)/bin
PEERS := .venv-peers
SUPPORTED := import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c '$(SUPPORTED)' 2>/dev/null && command -v $$p && break; done)
ifeq ($(origin CXX),default)
CXX := c++
endif
ROUNDS ?= 2000
BUILDER ?= html
# pip takes the newest release of what is required with an extra, unless the lock names the extra too.
LOCK := $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-strip-extras --python-version 3.11 --no-header

# Container images often set it; then each process of the tests would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast docs nightly sanitize postgresql prometheus caddy pgbouncer mmdebstrap chromium check types format screenshots dist bench lock clean python compiler core

help: ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(VENV)/.ready ## a campaign on a local server, with a simulated crowd
	$(BIN)/quietcrowd demo

test: $(VENV)/.ready postgresql chromium ## the whole test suite, on SQLite and PostgreSQL, and in Chromium
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal

test-fast: $(VENV)/.ready ## one case of each test that is not slow, while you work
	$(BIN)/python -m pytest tests research/tests -m "not nightly and not slow" --first-case --hypothesis-profile fast \
		--durations 10 --durations-min 0.5 --numprocesses auto --dist worksteal

core: $(VENV)/.ready ## compile the kernels in core/ that have changed

# Python itself is not sanitized: the library of the sanitizer is loaded before it, and leaks of Python are no error.
SANITIZED = env LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" PYTHONMALLOC=malloc \
	ASAN_OPTIONS=detect_leaks=0:halt_on_error=1:allocator_may_return_null=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1

sanitize: $(VENV)/.ready ## test the kernels, also with broken arguments, under the sanitizers (GCC on Linux)
	$(BIN)/cmake -S . -B build/sanitize -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DQC_SANITIZE=ON \
		-DPython_EXECUTABLE=$(abspath $(BIN)/python) -Dnanobind_DIR="$$($(BIN)/python -m nanobind --cmake_dir)" >/dev/null
	$(BIN)/cmake --build build/sanitize
	$(SANITIZED) $(BIN)/python -m pytest -p tests.core.sanitized tests/core
	$(SANITIZED) $(BIN)/python -m tests.core.fuzz --sanitized --rounds $(ROUNDS)

SPHINX = $(BIN)/python -m sphinx --builder $(BUILDER) --quiet --fail-on-warning --conf-dir docs

docs: $(VENV)/.ready ## the site for users, in build/docs, and for researchers, in build/docs/research; warnings are errors
	$(SPHINX) docs build/docs
	$(SPHINX) --define html_title="quietcrowd research" research/docs build/docs/research
	@echo "build/docs"

nightly: $(VENV)/.ready types sanitize postgresql chromium prometheus caddy pgbouncer mmdebstrap docs ## the whole suite with branch coverage, and long simulations
	$(BIN)/python -m pytest --cov --cov-report= --cov-fail-under=0 --hypothesis-profile nightly \
		--numprocesses auto --dist worksteal
	$(BIN)/python -m pytest -m nightly --hypothesis-profile nightly \
		--cov --cov-append --cov-report term:skip-covered --numprocesses auto --dist worksteal
	$(BIN)/quietcrowd reproduce all --quick
	$(BIN)/python -m tests.faults

postgresql: $(VENV)/.locked ## install PostgreSQL for the tests (Debian only); asks first
	@$(BIN)/python -m tests.campaign.install_postgresql

prometheus: $(VENV)/.ready ## install Prometheus for the dashboard's test (Debian only); asks first
	@$(BIN)/python -m tests.campaign.install_prometheus

caddy: $(VENV)/.ready ## install Caddy for the tests of deploy/ (Debian only); asks first
	@$(BIN)/python -m tests.deploy.install_caddy

pgbouncer: $(VENV)/.ready ## install PgBouncer for the tests of deploy/ (Debian only); asks first
	@$(BIN)/python -m tests.deploy.install_pgbouncer

mmdebstrap: $(VENV)/.ready ## install mmdebstrap for the tests of deploy/ (Debian only); asks first
	@$(BIN)/python -m tests.deploy.install_mmdebstrap

chromium: $(VENV)/.locked ## install Chromium for the tests (Debian only); asks first
	@PYTHONPATH=src $(BIN)/python -m tests.campaign.web.install_chromium

check: $(VENV)/.ready ## lint, format, types, import contracts, English, limits of the docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m tests.prose
	$(BIN)/python -m pytest --quiet tests/test_site.py
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec deploy/compose.yaml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff

types: $(VENV)/.ready ## types for every version of Python, and for Windows and macOS
	$(BIN)/mypy
	$(BIN)/mypy --python-version 3.12
	$(BIN)/mypy --python-version 3.13
	$(BIN)/mypy --python-version 3.14
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32
	$(BIN)/mypy --platform darwin --cache-dir .mypy_cache/darwin

format: $(VENV)/.ready ## format the code and apply the safe fixes of the linter
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

screenshots: $(VENV)/.ready chromium ## pictures of every screen of the pages, for people, in build/screenshots
	$(BIN)/python -m tests.campaign.web.screenshots build/screenshots

dist: $(VENV)/.ready ## the wheel and the sdist, checked, in dist
	rm -rf dist
	$(BIN)/uv build --quiet --no-build-isolation --python $(BIN)/python --out-dir dist .
	$(BIN)/twine check --strict dist/*.whl dist/*.tar.gz
	$(BIN)/check-wheel-contents dist/*.whl

bench: $(VENV)/.ready $(PEERS)/.ready chromium ## benchmarks, with the comparison with peers
	$(BIN)/python -m pytest -c benchmarks/pytest.ini benchmarks tests/inference/test_crowd_kit.py

lock: $(VENV)/.locked ## write requirements.lock, deploy/requirements.lock and benchmarks/peers.lock
	$(LOCK) --all-extras --group dev --group docs pyproject.toml -o requirements.lock
	$(LOCK) --extra campaign --extra otel --group build --constraints requirements.lock pyproject.toml -o deploy/requirements.lock
	$(LOCK) benchmarks/peers.in -o benchmarks/peers.lock

clean: ## remove what the other targets made
	rm -rf $(VENV) $(PEERS) .mypy_cache .pytest_cache .ruff_cache .benchmarks .coverage* build dist
	find src tests research benchmarks docs examples -name __pycache__ -prune -exec rm -rf {} +

python:
	@$(or $(PYTHON),false) -c '$(SUPPORTED)' 2>/dev/null || { echo "quietcrowd needs Python 3.11, 3.12, 3.13 or 3.14 on the PATH (Debian: apt-get install python3 python3-venv)." >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "Python's venv module is missing: install it first (Debian: apt-get install python3-venv)." >&2; exit 2; }

compiler: python
	@echo '#include <new>' | $(CXX) -std=c++17 -fsyntax-only -x c++ - 2>/dev/null || { echo "quietcrowd needs a C++ compiler: install one first (Debian: apt-get install g++)." >&2; exit 2; }
	@$(PYTHON) -c 'import os, sysconfig as s, sys; sys.exit(not os.path.exists(os.path.join(s.get_path("include"), "Python.h")))' || { echo "Python's headers are missing: install them first (Debian: apt-get install python3-dev)." >&2; exit 2; }

# uv needs a sixth of the time of pip, which installs where uv cannot, as from a mirror that only pip knows.
$(VENV)/.locked: requirements.lock | compiler
	$(PYTHON) -m venv --clear $(VENV)
	sed -n '/^uv==/,/# via/p' requirements.lock >$(VENV)/uv.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r $(VENV)/uv.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock || \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r requirements.lock
	@touch $@

# Nothing is compiled at import. A folder is newer where a file was added or removed.
$(VENV)/.ready: $(VENV)/.locked pyproject.toml research/pyproject.toml CMakeLists.txt $(shell find core/. -type d -o -name '*.h' -o -name '*.cpp') | compiler
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable . --editable research
	$(BIN)/python -m nanobind.stubgen --quiet --module quietcrowd._core --output-file src/quietcrowd/_core.pyi
	$(BIN)/ruff format --quiet src/quietcrowd/_core.pyi
	@touch $@

$(PEERS)/.ready: benchmarks/peers.lock | python
	$(PYTHON) -m venv --clear $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r benchmarks/peers.lock
	@touch $@
