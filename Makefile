# Every target makes .venv on first use and installs into it once; after that nothing is installed
# until pyproject.toml or constraints.txt changes.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.installed

.PHONY: demo test check bench readme docs clean

demo: $(READY)  ## learn, read, query and draw two models
	$(BIN)/hyperboxes demo --output demo

test: check  ## everything that must pass before a change
	$(BIN)/python -m pytest

check: $(READY)  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)  ## speed, as ratios within one run
	$(BIN)/python benchmarks/predict.py
	$(BIN)/python benchmarks/speed.py

readme: $(READY)  ## put the figures of today into README and pages
	$(BIN)/python docs/refresh.py

docs: $(READY)  ## build the site into docs/_build/html; any warning fails
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[docs]" -c constraints.txt
	rm -rf docs/_build docs/generated docs/gallery
	$(BIN)/python -m sphinx --fail-on-warning --keep-going -b html docs docs/_build/html

clean:  ## remove what runs leave behind; .venv stays
	rm -rf demo build dist docs/_build docs/generated docs/gallery .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hyperboxes needs Python 3.11 or newer, not " + sys.version.split()[0] + ": say make PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]" -c constraints.txt
	touch $@
