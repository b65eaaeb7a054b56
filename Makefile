# `make demo` and `make test` work on a fresh machine with Python 3.11+ and make, and nothing else.

PYTHON ?= $(shell for name in python3.14 python3.13 python3.12 python3.11 python3; do \
	if $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo $$name; break; fi; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test lint bench rules clean

demo: $(VENV)/.installed ## lint and repair the manifests in examples/
	@sh examples/demo.sh $(BIN)/servelint

test: $(VENV)/.installed-dev lint ## all checks, then all tests; ends with pytest's summary
	@if ! command -v git >/dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && apt-get install -qq -y git >/dev/null; fi
	@if ! command -v chromium >/dev/null && ! command -v google-chrome >/dev/null && [ "$$(id -u)" = 0 ] && \
		command -v apt-get >/dev/null; then \
		{ apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium; } >/dev/null 2>&1 || \
		echo "no Chromium to be had here: the tests of pages in a browser are skipped" >&2; fi
	@$(BIN)/python -m pytest -q -n 2 --dist loadfile

lint: $(VENV)/.installed-dev ## ruff and mypy
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: $(VENV)/.installed-dev ## speed, as ratios against peers measured in the same run
	@$(BIN)/python benchmarks/run.py

rules: $(VENV)/.installed ## compile rules/ after a change to a rule or a family
	@$(BIN)/python -m servelint.data.compile

# The second try is for distributions whose Python comes without venv.
$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "servelint needs Python 3.11 or newer; set PYTHON=/path/to/python3" >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && apt-get install -qq -y python3-venv >/dev/null && $(PYTHON) -m venv $(VENV); \
		else echo "Python's venv module is missing; on Debian: apt-get install python3-venv" >&2; exit 2; fi; }

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	@$(PIP) install --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(VENV)/bin/python
	@$(PIP) install --editable '.[dev]'
	@touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
