# make run   set up, then classify and complete real clouds and show the result
# make test  set up, then lint, type-check, test, build the documentation
# make docs  set up, then build the documentation in site/
# make bench set up, then measure cost and convergence (alone on the machine)
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test slow bench docs lint clean

run: $(VENV)/.ready
	$(BIN)/ddeq tour

test: $(VENV)/.ready lint docs
	$(BIN)/python -m pytest -q

docs: $(VENV)/.ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

slow: $(VENV)/.ready
	$(BIN)/python -m pytest -q -m slow

bench: $(VENV)/.ready
	$(BIN)/ddeq bench

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) outputs site
