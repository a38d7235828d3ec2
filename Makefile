# `make help` lists what there is to do. Everything but `help` sets up first: a virtual environment in .venv, made anew
# when a requirements file changes.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

.PHONY: help setup browser demo test lint format bench clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 12

setup: $(READY) ## make the virtual environment

$(READY): requirements.txt requirements-dev.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

browser: ## install the browser that tests open reports in (Debian, as root)
	@if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then \
	    echo "browser: Chromium is there"; \
	elif [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
	    echo "browser: skipped, since it takes root and apt-get; the test that needs Chromium is skipped too"; \
	else \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	        chromium chromium-driver fonts-dejavu-core fonts-noto-color-emoji >/dev/null; \
	fi

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
