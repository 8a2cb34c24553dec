# make demo, make test, make check: each sets up .venv with what it needs, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test check clean

demo: $(VENV)/.demo
	$(BIN)/holdfast demo --out demo

test: $(VENV)/.dev $(VENV)/.kernels
	$(BIN)/python -m pytest -q

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_layers.py

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "Installing holdfast into $(VENV) (once) ..."
	$(PIP) --editable '.[report]'
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "Installing holdfast and what its tests need into $(VENV) (once) ..."
	$(PIP) --editable '.[sim,report,dev]'
	@touch $@ $(VENV)/.demo

# Numba's cache does not notice a change in a function that is called from another file.
$(VENV)/.kernels: $(wildcard holdfast/kernels/*.py) | $(VENV)/bin/python
	@find holdfast/kernels -name '*.nb[ic]' -delete
	@touch $@

clean:
	find holdfast/kernels -name '*.nb[ic]' -delete
	rm -rf $(VENV) demo .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
