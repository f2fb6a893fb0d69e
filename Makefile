# Everything happens in .venv (tools) and .perdure (state); nothing else is touched.
# A fresh machine needs Python >= 3.11, git and make.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup demo up down status check test test-quick test-slow test-nightly coverage coverage-all bench fuzz clean

# Tests start many servers: each starts faster when what it runs is compiled.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.synced
CORES := $(shell nproc 2>/dev/null || echo 2)
# A test often waits for a process, a timer or the disk: three workers keep two processors busy.
WORKERS := $(shell echo $$(( (3 * $(CORES) + 1) / 2 )))
# Where tests are that are marked alone: a minute of collecting the others is saved.
ALONE := tests/browser tests/security

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | while IFS=$$'\t' read -r target text; do \
		printf '  make %-12s %s\n' "$$target" "$$text"; done

setup: $(STAMP) ## make .venv with everything that uv.lock names

$(STAMP): pyproject.toml uv.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Perdure needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version). Try: make PYTHON=python3.11" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@VIRTUAL_ENV="$(CURDIR)/.venv" UV_PYTHON_DOWNLOADS=never $(BIN)/uv sync --frozen --inexact --compile-bytecode --quiet --python $(BIN)/python
	@touch $@

demo: setup ## a pipeline from push to green on this machine (EXIT=1: stop at the end, JSON=1: machine-readable)
	@$(BIN)/perdure demo $(if $(EXIT),--exit) $(if $(JSON),--json)

up: setup ## start Perdure on this machine
	@$(BIN)/perdure up

down: ## stop it; its state in .perdure stays
	@if test -x $(BIN)/perdure; then $(BIN)/perdure down --all; fi

status: setup ## what of it runs
	@$(BIN)/perdure status

check: setup ## style, types, and that imports point down
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy -n $(CORES)
	$(BIN)/lint-imports

test: check ## check, then all tests but the slow ones (SHUFFLE=1: in a random order, whose seed is printed; BUT=FOLDER: not those)
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -m "not slow" --durations=10 $(if $(SHUFFLE),-p randomly) $(addprefix --ignore=,$(BUT))

test-quick: setup ## style, imports, and what needs no installation: the domain and its cases (under a minute)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports
	$(BIN)/pytest -q -n logical --dist worksteal -m "not slow" tests/domain tests/cases

test-slow: setup ## fault runs, whole systems, foreign runners, the production stack
	$(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "slow and not alone and not nightly" --durations=40
	$(BIN)/pytest -m "alone and not nightly" --durations=10 $(ALONE)

test-nightly: export PERDURE_NIGHTLY = 1
test-nightly: setup ## the same with all of it: each door on the other database, all random cases, a runner to compile, the container set
	$(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "slow and not alone" --durations=40
	$(BIN)/pytest -m alone --durations=10 $(ALONE)

coverage: setup ## how much of the domain its own tests and the cases reach, by branch; fails below 98 %
	$(BIN)/pytest -q -n logical -m "not slow" --cov=domain --cov-fail-under=98 tests/domain tests/cases

coverage-all: setup ## how much of everything the quick tests reach in their own process, by branch; fails below 92 %
	$(BIN)/pytest -q -n $(WORKERS) --dist worksteal -m "not slow" --cov --cov-fail-under=92

bench: setup ## measure, each figure as a ratio against something
	$(BIN)/python -m bench

fuzz: setup ## feed mutated configurations to the compiler (SECONDS=600)
	$(BIN)/python -m tests.fuzz.config $(or $(SECONDS),600)

clean: down ## stop Perdure, remove .venv, .perdure and caches
	rm -rf .venv .perdure .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
