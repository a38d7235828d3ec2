# `make help` lists what there is to do. Most targets first set up a virtual environment in .venv. When a requirements
# file changes, its packages are installed again. `make demo` installs only those of the metrics.

PYTHON ?= python3
BIN := .venv/bin
METRICS := .venv/metrics
READY := .venv/ready
# The package as the wheel lays it out, for mypy: there the scripts of the metrics are modules of the package.
TYPED := build/typed

.PHONY: help setup browser demo app test versions spaces lint format bench pictures clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 12

setup: $(READY) ## make the virtual environment

$(METRICS): requirements.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

$(READY): $(METRICS) requirements-dev.txt spaces/requirements.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

browser: ## install Chromium, in which tests open reports, and LaTeX, which compiles tables (Debian, as root)
	@if command -v chromium >/dev/null && command -v chromedriver >/dev/null && command -v pdflatex >/dev/null; then \
	    echo "browser: Chromium and LaTeX are there"; \
	elif [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
	    echo "browser: skipped, since it takes root and apt-get; tests that need Chromium or LaTeX are skipped too"; \
	else \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	        chromium chromium-driver fonts-dejavu-core fonts-noto-color-emoji texlive-latex-recommended >/dev/null; \
	fi

demo: $(METRICS) ## score the examples of every benchmark through evaluate.load
	@$(BIN)/python -m examples.demo

app: $(READY) ## start the web demo on http://127.0.0.1:7860 (GRADIO_SERVER_NAME, GRADIO_SERVER_PORT)
	@$(BIN)/python app.py

test: $(READY) ## run the tests
	@$(BIN)/python -m pytest

versions: ## run quick tests with the oldest and the newest supported versions of Python and of all packages
	@.ci/versions

spaces: $(READY) ## build the Spaces, and run the demo of each with nothing but its own requirements
	@.ci/spaces

lint: $(READY) ## check style and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@rm -rf $(TYPED) && $(BIN)/python -m hatchling build -t wheel -d $(TYPED) >/dev/null
	@$(BIN)/python -m zipfile -e $(TYPED)/*.whl $(TYPED) && cp -r benchmarks examples tests app.py publish.py $(TYPED)
	@cd $(TYPED) && $(CURDIR)/$(BIN)/mypy --config-file $(CURDIR)/pyproject.toml --cache-dir $(CURDIR)/.mypy_cache \
	    spanscore benchmarks examples tests/conftest.py app.py publish.py

format: $(READY) ## put the code in shape
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(READY) ## compare speed with other scorers
	@for script in benchmarks/bench_*.py; do $(BIN)/python -m benchmarks.$$(basename $$script .py) || exit 1; done

pictures: $(READY) ## make the pictures of the README and of the cards anew
	@$(BIN)/python docs/pictures.py

clean: ## remove the virtual environment and caches
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
