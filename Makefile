# make test   sets up .venv from nothing, then checks and tests everything
# make demo   trains a small translator in about 90 seconds and shows where it looks
# make bench  speed and memory against named peers (docs/performance.md)
PYTHON ?= python3
BIN := .venv/bin

.PHONY: test quick check script demo bench clean

test: check
	$(BIN)/pytest -n auto

# What a commit runs: format, lint, types and the fastest tests, in about ten seconds.
quick: check
	$(BIN)/pytest -n auto tests/test_architecture.py tests/test_state.py tests/test_errors.py

check: .venv/installed script
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# The page's JavaScript: format, lint and types, where there is npm to fetch the tools. The page itself wants no build.
script:
	@if ! command -v npm > /dev/null; then echo "no npm here: the page's JavaScript is not checked"; \
	elif [ node_modules/.package-lock.json -nt package.json ] || npm install --silent; then npm run --silent check; \
	else echo "npm cannot fetch its tools here: the page's JavaScript is not checked"; fi

demo: .venv/installed
	$(BIN)/regard demo

bench: .venv/installed-bench
	$(BIN)/python -m bench

.venv/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "regard wants Python 3.11 or newer, found $$($(PYTHON) --version); try: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

.venv/installed-bench: .venv/installed
	$(BIN)/python -m pip install --quiet --editable '.[dev,bench]'
	@touch $@

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis node_modules
