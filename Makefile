# make demo, make test, make quick, make check: each sets up .venv with what it needs, once.
# make quick: the tests that take seconds, without engines and browsers.
# make fuzz: ten thousand hostile rounds, replies, files, states and kills; MINUTES=120 for as long as that, SEED=1 for others.
# make bench: the same with .venv-bench, which also holds the peers. It resumes; FRESH=1 starts over, SIZES=quick is short.
# make bench-flower: the Flower strategy beside Flower's own. make bench-simulation: rounds beside bare loops and Flower.
# make bench-files: aggregating 20 files of 100 million parameters against reading them. Needs 9 GB of disk.
# make bench-watch: time and memory of the watch among 10,000 clients, and beside the aggregation of ResNet-18.
# make test-nvflare: the NVFlare example, in an environment of its own.
# make release: wheel and sdist into dist, checked, installed into empty environments, the README's first example run there.
# make docs: the site, into site/, from docs, docstrings and stored results, in strict mode. Open site/index.html.
# make fill: what is written into docs itself: tables of the stored results, pages of the tutorials, the notebooks, the
#   demo. It takes minutes; `PYTHONPATH=docs .venv/bin/python docs/fill.py` writes the tables alone.
PYTHON ?= python3
PARALLEL ?= -n auto --maxprocesses 4 --dist loadgroup
VENV := .venv
BIN := $(VENV)/bin
BENCH := .venv-bench
NVFLARE := .venv-nvflare
RELEASE := .venv-release
SIZES ?= full
CASES ?= 10000
SEED ?= 0
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
BENCH_PIP := $(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check \
	--constraint benchmarks/constraints.txt

.PHONY: demo test quick fuzz test-nvflare check bench bench-files bench-flower bench-honest bench-simulation bench-watch docs fill release clean

demo: $(VENV)/.demo
	$(BIN)/holdfast demo --out demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest -q $(PARALLEL)

quick: $(VENV)/.dev
	$(BIN)/python -m pytest -q $(PARALLEL) -m "not slow and not engines and not browser"

fuzz: $(VENV)/.dev
	$(BIN)/python -m tests.fuzz $(if $(MINUTES),--minutes $(MINUTES),--cases $(CASES)) --seed $(SEED)

test-nvflare: $(VENV)/.dev $(NVFLARE)/.ready
	HOLDFAST_NVFLARE_PYTHON=$(abspath $(NVFLARE)/bin/python) $(BIN)/python -m pytest -q tests/test_examples.py

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_layers.py

bench-files: $(BENCH)/.ready
	$(BENCH)/bin/python -m benchmarks.files --out benchmarks/results/files.json

bench: $(BENCH)/.ready
	$(BENCH)/bin/python -m benchmarks.aggregation --sizes $(SIZES) $(if $(FRESH),--fresh)

bench-flower: $(BENCH)/.ready
	FLWR_TELEMETRY_ENABLED=0 $(BENCH)/bin/python -m benchmarks.flower

bench-honest: $(VENV)/.dev
	$(BIN)/python -m benchmarks.false_alarms

bench-simulation: $(BENCH)/.ready
	$(BENCH)/bin/python -m benchmarks.simulation

bench-watch: $(VENV)/.dev
	$(BIN)/python -m benchmarks.watch

docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

fill: $(VENV)/.dev
	$(BIN)/python docs/fill.py
	$(BIN)/python docs/notebook.py examples/tutorial.py
	$(BIN)/python docs/notebook.py --execute examples/paper.py
	PYTHONPATH=docs $(BIN)/python -m making.tutorials docs/tutorials/*.py
	$(BIN)/holdfast demo --out demo
	PYTHONPATH=docs $(BIN)/python -m making.demo demo

release: $(RELEASE)/.ready
	$(RELEASE)/bin/python .ci/release.py

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "Installing holdfast into $(VENV) (once) ..."
	$(PIP) --editable '.[sim,report]'
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "Installing holdfast and what its tests need into $(VENV) (once) ..."
	$(PIP) --editable '.[sim,report,monitor,data,flower,ray,tensorboard,docs,dev]'
	@touch $@ $(VENV)/.demo

# ByzFL asks for torchvision and seaborn, which its aggregators never use: it comes without dependencies.
$(BENCH)/.ready: pyproject.toml benchmarks/constraints.txt
	@echo "Installing holdfast and its peers into $(BENCH) (once) ..."
	$(PYTHON) -m venv $(BENCH)
	$(BENCH_PIP) --editable . torch flwr ray scipy matplotlib
	$(BENCH_PIP) --no-deps byzfl
	@touch $@

$(NVFLARE)/.ready: pyproject.toml constraints.txt
	@echo "Installing holdfast and NVFlare into $(NVFLARE) (once) ..."
	$(PYTHON) -m venv $(NVFLARE)
	$(NVFLARE)/bin/python -m pip install --quiet --disable-pip-version-check --editable . 'nvflare>=2.7,<3'
	@touch $@

# Not of the constraints: what Flower holds back is too old to read the newest packages.
$(RELEASE)/.ready: Makefile
	@echo "Installing what a release needs into $(RELEASE) (once) ..."
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/python -m pip install --quiet --disable-pip-version-check 'build>=1.2,<2' 'twine>=6.1,<8'
	@touch $@

clean:
	find holdfast -name __pycache__ -prune -exec rm -rf {} +
	rm -rf $(VENV) $(BENCH) $(NVFLARE) $(RELEASE) dist demo site .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
