# What people type. Each target makes its own environment in .venv and installs what it needs.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: help demo test coverage docs package lint format bench reproduce clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    cluster penguins, a simulated set and digits beside K-means, a PCA of wines; writes figures and pages"
	@echo "make test    lint, types, import rules and the whole test suite"
	@echo "make coverage  the test suite, and the share of lines and branches that it reaches"
	@echo "make package  an archive of the sources and a wheel, into dist/, checked as an index checks them"
	@echo "make docs    the documentation site, into docs/_build/html"
	@echo "make lint    ruff, spelling, mypy, the import rules and the schemas of workflows alone"
	@echo "make format  let ruff rewrite the code"
	@echo "make bench   the measurements behind the claims in README and docs, hours; SUBSPACES_DATA=DIR: those"
	@echo "             of real data, too; GPU=1: those on a GPU, which need torch or CuPy"
	@echo "make reproduce  every table and figure of the paper beside ours, in minutes; FULL=1: all of it, hours"
	@echo "make clean   remove the environment and the caches"

KERNELS := CMakeLists.txt $(wildcard src/subspaces/kernels/*.pyx src/subspaces/kernels/*.pxi src/subspaces/kernels/*.h)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "subspaces needs Python 3.11 or later; say which with: make PYTHON=/path/to/python3"; exit 1; }
	@echo "installing into .venv: some minutes"
	$(PYTHON) -m venv .venv

# The demo needs no more than what draws it.
.venv/.demo: pyproject.toml $(KERNELS) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[plots,report,cli]'
	@touch $@

$(READY): pyproject.toml $(KERNELS) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: .venv/.demo
	$(BIN)/subspaces demo

test: lint
	$(BIN)/python -m pytest -n 2

# The GPU's kernels are left out (pyproject.toml), and Cython's are no Python: tests/kernels holds them to their twins.
coverage: $(READY)
	$(BIN)/python -m pytest -n 2 --cov --cov-report=
	$(BIN)/coverage report
	$(BIN)/coverage json -q -o build/coverage.json
	$(BIN)/python .ci/covered.py build/coverage.json

package: .venv/.ready-release
	$(BIN)/validate-pyproject pyproject.toml
	$(BIN)/check-manifest
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	$(BIN)/abi3audit --strict --summary dist/*.whl
	.ci/smoke dist/*.whl $(BIN)/python

.venv/.ready-release: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,release]'
	@touch $@

# -W: a warning fails the build, after all of them were shown.
docs: .venv/.ready-docs
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

.venv/.ready-docs: pyproject.toml $(KERNELS) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

# The last six: files that services read, held to the schemas of those services, which come with the checker.
SCHEMA := $(BIN)/check-jsonschema --quiet --builtin-schema
lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(SCHEMA) vendor.github-workflows .github/workflows/*.yml
	$(SCHEMA) vendor.github-issue-forms .github/ISSUE_TEMPLATE/[!c]*.yml
	$(SCHEMA) vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(SCHEMA) vendor.dependabot .github/dependabot.yml
	$(SCHEMA) vendor.readthedocs .readthedocs.yaml
	$(SCHEMA) vendor.citation-file-format CITATION.cff

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	$(BIN)/python benchmarks/small_clusters.py
	$(BIN)/python benchmarks/wide.py
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/where_time_goes.py
	env -u OMP_NUM_THREADS -u OPENBLAS_NUM_THREADS $(BIN)/python benchmarks/cores.py
	$(BIN)/python benchmarks/speed_many_rows.py
	$(BIN)/python benchmarks/big_data.py
	$(BIN)/python benchmarks/repulsion.py
	$(BIN)/python benchmarks/sparse_scenarios.py
	$(BIN)/python benchmarks/dense_scenarios.py
	$(BIN)/python benchmarks/selection.py
	$(BIN)/python benchmarks/automatic_clusters.py
	$(BIN)/python benchmarks/noise_families.py
	$(BIN)/python benchmarks/noise_families.py --structure
	$(BIN)/python benchmarks/components.py
	$(BIN)/python benchmarks/pca_intervals.py
	$(BIN)/python benchmarks/pca_speed.py
	$(BIN)/python benchmarks/pca_outliers.py
	$(BIN)/python benchmarks/calibration.py
	$(BIN)/python benchmarks/weights.py
	$(BIN)/python benchmarks/missing.py
	$(BIN)/python benchmarks/markers.py
	$(BIN)/python benchmarks/one_start.py
	$(BIN)/python benchmarks/many_images.py
	$(BIN)/python benchmarks/rivals.py
	$(BIN)/python benchmarks/digits.py
	$(BIN)/python benchmarks/means_or_directions.py
	$(BIN)/python benchmarks/mixtures.py
	$(BIN)/python benchmarks/curvature.py
	$(BIN)/python benchmarks/self_expression.py
	$(BIN)/python benchmarks/both_codes.py
	$(BIN)/python benchmarks/installing.py
	$(BIN)/python benchmarks/is_real.py
	$(BIN)/python benchmarks/outliers.py
	$(BIN)/python benchmarks/over_commits.py
	$(if $(SUBSPACES_DATA),$(BIN)/python benchmarks/real.py,@echo "benchmarks/real.py needs SUBSPACES_DATA")
	$(if $(SUBSPACES_DATA),$(BIN)/python benchmarks/automatic.py,@echo "benchmarks/automatic.py needs SUBSPACES_DATA")
	$(if $(SUBSPACES_DATA),$(BIN)/python benchmarks/halvings.py,@echo "benchmarks/halvings.py needs SUBSPACES_DATA")
	$(if $(SUBSPACES_DATA),$(BIN)/python benchmarks/ablation.py,@echo "benchmarks/ablation.py needs SUBSPACES_DATA")
	$(if $(SUBSPACES_DATA),$(BIN)/python benchmarks/judges.py,@echo "benchmarks/judges.py needs SUBSPACES_DATA")
	$(if $(SUBSPACES_DATA),$(BIN)/python benchmarks/early_end.py,@echo "benchmarks/early_end.py needs SUBSPACES_DATA")
	$(if $(SUBSPACES_DATA),$(BIN)/python benchmarks/expression.py,@echo "benchmarks/expression.py needs SUBSPACES_DATA")
	$(if $(GPU),SCIPY_ARRAY_API=1 $(BIN)/python benchmarks/gpu.py,@echo "benchmarks/gpu.py needs GPU=1")
	$(if $(GPU),SCIPY_ARRAY_API=1 $(BIN)/python benchmarks/devices.py,@echo "benchmarks/devices.py needs GPU=1")
	$(BIN)/python benchmarks/report.py

# Ten data sets a cell, or a hundred; started again after an interruption, it goes on.
reproduce: .venv/.demo
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m reproduction.run $(if $(FULL),--full) $(if $(DATA),--data $(DATA))

clean:
	rm -rf docs/_build docs/gallery docs/tutorials docs/api/generated docs/api/backreferences
	rm -rf .venv build dist .coverage .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
