# make run   set up, then classify and complete real clouds and show the result
# make test  set up, then lint, type-check, test, build the documentation
# make lint  set up, then lint, check types and which room imports which
# make docs  set up, then build the documentation in site/
# make pictures  set up, then make the pictures of README and documentation from the shipped weights
# make slow  set up, then the tests that take minutes: whole test sets, the long attacks
# make wheel-test  set up, then install the wheel alone elsewhere and complete a scan with it
# make mutation  set up, then count how many small changes of the code the tests notice
# make results  set up, then measure the shipped models again (needs the data) and write RESULTS.md
# make bench set up, then measure cost and convergence (alone on the machine)
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test slow bench docs pictures results lint clean mutation wheel-test

run: $(VENV)/.ready
	$(BIN)/ddeq tour

test: $(VENV)/.ready lint docs
	$(BIN)/python -m pytest -q -n 2 --dist loadfile

docs: $(VENV)/.ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

pictures: $(VENV)/.ready
	$(BIN)/python docs/pictures.py

slow: $(VENV)/.ready
	$(BIN)/python -m pytest -q -m slow

wheel-test: $(VENV)/.ready
	$(BIN)/python tests/check_wheel.py

mutation: $(VENV)/.ready
	$(BIN)/python tests/mutation/run.py -o results/mutation.json

results: $(VENV)/.ready
	$(BIN)/python experiments/measure_shipped.py
	$(BIN)/ddeq reproduce report

bench: $(VENV)/.ready
	$(BIN)/ddeq bench

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) outputs site
