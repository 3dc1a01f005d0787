# README's two commands are `make demo` and `make test`. Each makes .venv when it is missing or out of date, with one
# command of uv, where it is found, or pip against constraints.txt; after that they start at once. `make demo` installs
# what a user needs, `make test` adds the tools of developers, and only `make cuda-check` and `make test-all` add CUDA's
# compilers.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
LIBS := $(sort $(wildcard libs/*/))
PLUGINS := $(sort $(wildcard plugins/*/))
PACKAGES := core/ $(LIBS) $(PLUGINS)
INPUTS := constraints.txt requirements.txt requirements-dev.txt pyproject.toml $(addsuffix pyproject.toml,$(PACKAGES))
# The stamp is named after the contents of what it depends on: touching a file installs nothing, changing one does.
HASH := $(shell cat $(INPUTS) | { sha256sum 2>/dev/null || shasum -a 256; } | cut -c1-16)
RUN := $(VENV)/installed-run-$(HASH)
STAMP := $(VENV)/installed-dev-$(HASH)
CUDA := $(VENV)/installed-cuda-$(HASH)
# uv does not read pip's settings, so it is told the two that decide which build of PyTorch comes. Neither compiles modules
# ahead: Python does so for the few that are used.
UV := $(shell command -v uv)
UV_SETTINGS := UV_NO_SOURCES=1 UV_FIND_LINKS="$${UV_FIND_LINKS-$$PIP_FIND_LINKS}" UV_EXTRA_INDEX_URL="$${UV_EXTRA_INDEX_URL-$$PIP_EXTRA_INDEX_URL}"
INSTALL := $(if $(UV),$(UV_SETTINGS) $(UV) pip install -q --python $(BIN)/python,$(BIN)/python -m pip install -q --no-compile) -c constraints.txt
# A worker that has to compile everything anew grows to some 3 GB, and there is more on a machine than tests.
WORKERS ?= $(shell awk '/MemTotal/ {print ($$2 > 15000000) ? 2 : 1}' /proc/meminfo 2>/dev/null || echo 1)
BUILD_LEFTOVERS := build $(addsuffix build,$(PACKAGES))

.DEFAULT_GOAL := help
.PHONY: help install install-dev demo warm smoke test test-full test-all test-cuda test-slow test-services coverage attack lint format bench docs wheel-files wheels catalogue lock \
	cuda-check gpu-acceptance clean

help: ## Say what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-14s %s\n", $$1, $$2}' Makefile

install: $(RUN) ## Make .venv with everything in this repository, editable

install-dev: $(STAMP) ## The same, with the tools that tests, checks and documentation need

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "diffloom needs Python 3.11 to 3.13: apt install python3 python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(RUN): $(INPUTS) | $(BIN)/python
	@echo "Installing into $(VENV): the first time this takes a few minutes."
	$(INSTALL) -r requirements.txt
	$(BIN)/python tools/remove_library_tests.py
	@rm -f $(VENV)/installed-* && touch $@

$(STAMP): $(RUN)
	@echo "Adding the tools of developers to $(VENV)."
	$(INSTALL) ".[dev,docs]"
	@touch $@

$(CUDA): $(STAMP)
	@echo "Installing CUDA's compilers (half a gigabyte)."
	$(INSTALL) ".[cuda-check]"
	@touch $@

demo: $(RUN) ## Fit a bundled clip and write its report
	$(BIN)/diffloom demo $(ARGS)

warm: $(RUN) ## Compile ahead what the demo and the experiments need
	$(BIN)/diffloom warm $(ARGS)

smoke: $(STAMP) ## Run a quick path through each package: under two minutes
	$(BIN)/python -m pytest -q -n 0 $(ARGS) @tests/smoke.txt

test: $(STAMP) ## Test each package and feature once (ARGS="-k fem -x" for some of it, WORKERS=4 for more at once)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow and not full" $(ARGS)

test-full: $(STAMP) ## Run what `make test` leaves out, slow tests excepted
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow and full" $(ARGS)

test-all: $(CUDA) ## Run all tests: also slow ones, and those that need CUDA's compilers, which it installs
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "slow or not slow" $(ARGS)

test-cuda: $(CUDA) ## Run the tests that compile for CUDA, with its compilers, which it installs; no GPU is needed
	$(BIN)/python -m pytest -n $(WORKERS) $(ARGS) libs/kernels/tests/test_cuda.py libs/kernels/tests/test_records.py \
		libs/kernels/tests/test_doctor.py $(wildcard plugins/render_*/tests/test_cuda.py)

test-slow: $(STAMP) ## Run the tests that take long
	$(BIN)/python -m pytest -m slow $(ARGS)

test-services: $(STAMP) ## Run the tests that need Ray, TensorBoard and MLflow, which it installs
	$(BIN)/python -m pip install -q -e "./plugins/scale[ray,tensorboard,mlflow]" -c constraints.txt
	cd plugins/scale/tests && $(CURDIR)/$(BIN)/python -m pytest -n 0 -m "slow or not slow" $(ARGS) \
		test_engines.py test_loggers.py test_distributed.py

coverage: $(STAMP) ## Run the tests with branch coverage of host code; fails below the floor in pyproject.toml
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --cov --cov-branch --cov-report=term:skip-covered $(ARGS)

attack: $(STAMP) ## Attack everything for SECONDS=600 (SEED=1 to begin there, ARGS="--only physics" for some)
	$(BIN)/python tests/attack --seconds $(or $(SECONDS),600) $(if $(SEED),--seed $(SEED)) $(ARGS)

lint: $(STAMP) ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP) ## Bring the code into the common form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP) ## Run every benchmark
	@set -e; for script in $(wildcard benchmarks/[a-z]*.py); do echo "== $$script"; $(BIN)/python $$script; done

docs: $(STAMP) ## Build the documentation into site/
	$(BIN)/mkdocs build --strict

wheel-files: $(STAMP) ## Build all wheels into wheels/, and check what a package index would refuse
	rm -rf wheels
	$(BIN)/python tools/build_wheels.py wheels
	$(BIN)/twine check --strict wheels/*.whl

wheels: wheel-files ## Build all wheels, install them into a fresh environment and list the plugins there
	$(PYTHON) -m venv build/wheel-venv
	build/wheel-venv/bin/python -m pip install -q -c constraints.txt --find-links wheels "diffloom[plugins]"
	build/wheel-venv/bin/python -m pip check
	DIFFLOOM_STRICT_PLUGINS=1 build/wheel-venv/bin/diffloom plugins
	rm -rf build/wheel-venv

catalogue: $(STAMP) ## Write anew what the core knows of the published plugins, and the drawing of the layers
	$(BIN)/python tools/catalogue.py
	$(BIN)/python tools/draw_layers.py

lock: $(STAMP) ## Resolve the pinned set anew into constraints.txt, within constraints.in
	$(BIN)/python tools/lock.py

cuda-check: $(CUDA) ## Compile every kernel for CUDA without a GPU; print registers and spills
	$(BIN)/python -m diffloom_kernels.backends.cuda_check $(ARGS)

gpu-acceptance: $(STAMP) ## Compare a GPU with the CPU: values, bits, speed; says so where there is none
	$(BIN)/python tools/gpu_acceptance.py $(ARGS)

clean: ## Remove what was built; .venv stays
	rm -rf wheels site .coverage htmlcov $(BUILD_LEFTOVERS)
