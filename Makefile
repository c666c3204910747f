# Everything runs in .venv, made on first use from pyproject.toml and constraints.txt.
PYTHON ?= python3
BIN := .venv/bin
# Two workers share two cores: libraries that start threads of their own would fight over them.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest
# CONSTRAINTS=/dev/null installs the newest versions.
CONSTRAINTS ?= constraints.txt
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint $(CONSTRAINTS)

.PHONY: help demo test test-all check docs test-slow test-services coverage wheel-test freeze bench claims clean

help:
	@echo "make demo           minimize the embedded data and show the result"
	@echo "make test           the tests (a few minutes), without PyTorch and Spark"
	@echo "make test-all       all tests: with PyTorch and Spark, the long ones, those with services"
	@echo "make check          ruff, ruff format, mypy"
	@echo "make docs           the documentation, as a site in site/"
	@echo "make test-slow      long tests: many random tables, a million rows"
	@echo "make test-services  tests that need Chromium, PostgreSQL or Java"
	@echo "make coverage       which lines the tests run"
	@echo "make wheel-test     build a wheel, and try it in an empty environment"
	@echo "make freeze         accept changed names, help texts or artifact bytes"
	@echo "make bench          the figures under benchmarks/results"
	@echo "make claims         the pages' numbers, and whether results are of the code there is now"
	@echo "make clean          remove what the above made"

demo: .venv/core
	$(BIN)/modicum demo

# What needs a library that is not there is skipped by name.
test: .venv/dev
	$(PYTEST) -n 2

test-all: .venv/all
	$(PYTEST) -n 2
	$(MAKE) test-slow
	$(MAKE) test-services

coverage: .venv/dev
	$(PYTEST) -n 2 --cov --cov-report=term:skip-covered

check: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Warnings are errors: a broken link, an anchor that is not there, a page that no menu shows.
docs: .venv/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "The site is in site/; open site/index.html, or, to search it, serve it with: $(BIN)/mkdocs serve"

test-slow: .venv/all
	$(PYTEST) -n 2 -m slow
	$(PYTEST) -n 2 --hypothesis-profile=thorough tests/package/test_properties.py

# A test whose service is absent is skipped by name; apt installs what it may.
test-services: .venv/all
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get -qq update && apt-get -qq install -y chromium >/dev/null; } || \
		echo "Chromium is not here and could not be installed."
	@command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || \
		{ [ "$$(id -u)" = 0 ] && apt-get -qq update && apt-get -qq install -y postgresql >/dev/null; } || \
		echo "PostgreSQL is not here and could not be installed."
	@command -v java >/dev/null || \
		{ [ "$$(id -u)" = 0 ] && apt-get -qq update && apt-get -qq install -y openjdk-17-jre-headless >/dev/null; } || \
		echo "Java is not here and could not be installed."
	$(PYTEST) -n 2 -m services

# An older pip takes the versions of build tools from the first variable, a newer one from the second.
wheel-test: .venv/made
	rm -rf build/wheel
	PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt \
		$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/wheel .
	$(BIN)/python tests/try_wheel.py build/wheel/*.whl

freeze: .venv/dev
	$(BIN)/python tests/freeze.py

bench: .venv/all
	$(BIN)/python benchmarks/speed/startup.py
	$(BIN)/python benchmarks/papers/demo.py
	$(BIN)/python benchmarks/speed/pat.py
	$(BIN)/python benchmarks/speed/attack.py
	$(BIN)/python benchmarks/speed/suite.py
	$(BIN)/python benchmarks/speed/transform.py
	$(BIN)/python benchmarks/papers/quality.py
	$(BIN)/python benchmarks/papers/reproduce_vdm.py
	$(BIN)/python benchmarks/speed/study_speed.py
	$(BIN)/python benchmarks/speed/neural.py
	$(BIN)/python benchmarks/papers/drift.py
	$(BIN)/python benchmarks/papers/study_acs.py
	$(BIN)/python benchmarks/papers/study_more.py
	$(BIN)/python benchmarks/papers/beyond_pat.py
	$(BIN)/python benchmarks/papers/beyond_pat.py speed
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/peers/against_ai_privacy_toolkit.py
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/speed/guided_speed.py
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/peers/against_peers.py
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/papers/dp_on_minimized.py
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/speed/anonymizers_speed.py
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/papers/reproduce_anonymization.py
	$(BIN)/python benchmarks/papers/reproduce_apt.py
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/papers/reproduce_prism.py
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/speed/prism_speed.py
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/papers/reproduce_anatomy.py
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/speed/anatomy_speed.py
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/speed/serve_speed.py
	$(BIN)/python benchmarks/speed/scale.py
	$(BIN)/python benchmarks/claims/check.py --write

claims: .venv/dev
	$(BIN)/python benchmarks/claims/check.py --code

clean:
	rm -rf .venv .coverage build dist site demo-output .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "modicum needs Python 3.11 or newer; say which with: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv .venv
	@touch $@

.venv/core: .venv/made pyproject.toml $(CONSTRAINTS)
	$(PIP) --editable .
	@touch $@

.venv/docs: .venv/made pyproject.toml $(CONSTRAINTS)
	$(PIP) --editable '.[docs]'
	@touch $@ .venv/core

.venv/dev: .venv/made pyproject.toml $(CONSTRAINTS)
	$(PIP) --editable '.[dev,docs,serve,scale]'
	@touch $@ .venv/core .venv/docs

.venv/all: .venv/made pyproject.toml $(CONSTRAINTS)
	$(PIP) --editable '.[dev,docs,neural,dp,serve,scale,spark]'
	@touch $@ .venv/core .venv/docs .venv/dev
