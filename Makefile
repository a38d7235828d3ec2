# `make help` lists what there is to do. Everything but `help` sets up first: a virtual environment in .venv, made anew
# when a requirements file changes.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

.PHONY: help setup demo test lint format bench clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 12

setup: $(READY) ## make the virtual environment

$(READY): requirements.txt requirements-dev.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

demo: $(READY) ## score the examples of every benchmark through evaluate.load
	@$(BIN)/python examples/demo.py

test: $(READY) ## run the tests
	@$(BIN)/python -m pytest

lint: $(READY) ## check style and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: $(READY) ## put the code in shape
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(READY) ## compare speed with other scorers
	@for script in benchmarks/bench_*.py; do $(BIN)/python $$script || exit 1; done

clean: ## remove the virtual environment and caches
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis
