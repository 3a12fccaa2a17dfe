# `make play` and `make test` need nothing but Python 3.11, a C++20 compiler and this checkout: everything else is set up
# in .venv. What is up to date is not made again.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
.NOTPARALLEL:

VENV := .venv
PIP_INSTALL = $(VENV)/bin/python -m pip install -qq --no-compile --disable-pip-version-check
# What comes from PyPI is checked against the hashes of requirements/. Then qizero itself, which has none; with it pip adds
# what those files leave out: torch, and packages that only another Python or system needs.
INSTALL_LOCKED = $(PIP_INSTALL) --require-hashes --no-deps
INSTALL_QIZERO = $(PIP_INSTALL) --constraint constraints.txt --no-build-isolation --editable
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)

# The first Python that is new enough; `make PYTHON=…` chooses another.
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(CORES)
# Tests start Python hundreds of times: compiled modules are kept, also where the environment says otherwise.
unexport PYTHONDONTWRITEBYTECODE
ifneq ($(shell command -v ccache),)
export CMAKE_CXX_COMPILER_LAUNCHER ?= ccache
export CCACHE_BASEDIR ?= $(CURDIR)
endif

# Directories are listed too: their time changes when a file comes or goes.
CORE_SOURCES := CMakeLists.txt pyproject.toml constraints.txt $(shell find bindings cpp -not -path '*/tests*')
CPP_FILES = $(shell find bindings cpp examples benchmarks -name '*.h' -o -name '*.cpp' 2>/dev/null)

PAGE_SOURCES := $(shell find web -name node_modules -prune -o -type f -print 2>/dev/null)

.PHONY: help play test format page dist wheel-check stubs tree settings-table locks clean
help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

play: $(VENV)/.play  ## set everything up and play
	@$(VENV)/bin/qizero play --end-with-input

test: check cpp-tests python-tests added-game  ## set everything up and run every check
	@cat build/skipped.txt
	@echo "make test: everything that was run is in order"

# ---- Setting up --------------------------------------------------------------------------------------------------------
define need_python
	@if [ -z "$(PYTHON)" ]; then \
	  echo "qizero needs Python 3.11 or newer: install it (Debian, Ubuntu: apt install python3 python3-venv python3-dev)." >&2; exit 1; fi
	@if ! $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	  echo "'$(PYTHON)' is not Python 3.11 or newer: install one and say make PYTHON=/path/to/python3." >&2; exit 1; fi
	@if ! $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null; then \
	  echo "$(PYTHON) cannot make environments: install its venv module (Debian, Ubuntu: apt install python3-venv)." >&2; exit 1; fi
	@if ! $(PYTHON) -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'; then \
	  echo "$(PYTHON) has no C headers: install them (Debian, Ubuntu: apt install python3-dev)." >&2; exit 1; fi
endef

define need_compiler
	@compiler="$${CXX:-$$(command -v c++ || command -v g++ || command -v clang++ || true)}"; \
	if [ -z "$$compiler" ]; then \
	  echo "qizero needs a C++20 compiler: install one (Debian, Ubuntu: apt install g++; macOS: xcode-select --install)." >&2; exit 1; fi; \
	if ! echo 'template <class T> concept C = requires(T t) { t; }; int main() {}' | $$compiler -std=c++20 -fsyntax-only -x c++ - 2>/dev/null; then \
	  echo "$$compiler does not compile C++20: install g++ 11, clang 14 or newer, or name one with CXX=…" >&2; exit 1; fi
endef

$(VENV)/.tools: constraints.txt requirements/build.txt
	$(need_python)
	$(need_compiler)
	@echo "Setting up $(VENV) …"
	@[ -x $(VENV)/bin/python ] || $(PYTHON) -m venv $(VENV)
	@$(INSTALL_LOCKED) -r requirements/build.txt
	@touch $@

$(VENV)/.play: $(VENV)/.tools requirements/play.txt $(CORE_SOURCES) $(PAGE_SOURCES)
	$(need_compiler)
	@echo "Building qizero …"
	@$(INSTALL_LOCKED) -r requirements/play.txt
	@$(INSTALL_QIZERO) .
	@touch $@

$(VENV)/.test: $(VENV)/.tools requirements/play.txt requirements/test.txt $(CORE_SOURCES) $(PAGE_SOURCES)
	$(need_compiler)
	@echo "Building qizero and installing what its checks use …"
	@$(INSTALL_LOCKED) -r requirements/play.txt -r requirements/test.txt
	@$(INSTALL_QIZERO) '.[train,openvino,dev]'
	@touch $(VENV)/.play $@

# ---- Checks ------------------------------------------------------------------------------------------------------------
.PHONY: check format-check lint types layers page-check cpp-tests cpp-release cpp-asan cpp-tsan python-tests quick added-game
.PHONY: faults
check: format-check lint types layers page-check  ## the quick checks only: formatting, lint, types, layers, the page

format-check: $(VENV)/.test
	@echo "== formatting"
	@clang-format --dry-run -Werror $(CPP_FILES)
	@ruff format --check --quiet

lint: $(VENV)/.test
	@echo "== lint"
	@ruff check --quiet

types: $(VENV)/.test
	@echo "== types"
	@mypy

layers: $(VENV)/.test
	@echo "== layers"
	@lint-imports --no-logo

page-check: $(VENV)/.tools
	@echo "== the page: types, lint"
	@python web/build_page.py --check build

cpp-tests: cpp-release cpp-asan cpp-tsan  ## the C++ tests, plain and with sanitizers

cpp-release cpp-asan cpp-tsan: cpp-%: $(VENV)/.tools
	@echo "== C++ tests: $*"
	@mkdir -p build
	@cmake --preset $* >build/$*.log 2>&1 || { cat build/$*.log; exit 1; }
	@cmake --build --preset $* >build/$*.log 2>&1 || { cat build/$*.log; exit 1; }
	@ctest --preset $* --parallel $(CORES)

python-tests: $(VENV)/.test  ## the Python tests
	@echo "== Python tests"
	@pytest -n $(CORES) --dist worksteal --skipped-to=build/skipped.txt

quick: $(VENV)/.test  ## on a built tree in a minute: core, players, sessions and files; no browser, training, sanitizers
	@pytest -o addopts=--strict-markers -q --no-header --quick -n $$(( $(CORES) + 1 )) --dist worksteal --skipped-to=build/skipped.txt tests
	@cat build/skipped.txt
	@echo "make quick: not run: the C++ tests, formatting, lint, types, examples in docs and docstrings"

added-game: $(VENV)/.test  ## add Breakthrough to a copy of the tree by its two edits and run the tests there
	@echo "== A game added by two edits"
	@python tests/added_game.py

faults: $(VENV)/.test  ## put deliberate faults into a copy of the tree, one by one: does the named test notice?
	@python tests/faults/run.py

# ---- Work --------------------------------------------------------------------------------------------------------------
format: $(VENV)/.test  ## format C++ and Python, sort imports
	@clang-format -i $(CPP_FILES)
	@ruff check --quiet --select I --fix
	@ruff format --quiet

page: $(VENV)/.tools  ## build the page of web/ into the package, and its types from the server's messages
	@PYTHONPATH=src python -m qizero.server.typescript >web/src/lib/messages.ts
	@python web/build_page.py build

dist: $(VENV)/.tools  ## build the sdist of HEAD, with the page in it, into dist/
	@python .ci/build_sdist.py dist

wheel-check: $(VENV)/.tools  ## build the sdist of HEAD, without Node a wheel of it, and play with that where there is no compiler
	@python .ci/check_wheel.py

stubs: $(VENV)/.test  ## regenerate src/qizero/_core.pyi, the types of the compiled module
	@python -m nanobind.stubgen --quiet --module qizero._core --output-file src/qizero/_core.pyi
	@ruff format --quiet src/qizero/_core.pyi

tree:  ## regenerate the list of source files in docs/architecture.md
	@$(PYTHON) tests/file_list.py

settings-table: $(VENV)/.test  ## write the tables of settings in docs/training.md
	@python tests/settings_table.py

locks: $(VENV)/.test  ## write the hashes of what constraints.txt pins into requirements/ and web/
	@python tests/locked_packages.py

clean:  ## remove everything that was made
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
