# make test       sets up .venv from nothing, then checks and tests everything
# make test-avx2  what depends on the processor once more, held to AVX2
# make sanitize   the native engine's tests with every access checked, and threads against each other (compilers that can)
# make mutants    breaks the code on purpose, and shows which tests notice
# make kills      kills trainings at random moments, and shows that they go on exactly
# make demo       trains a small translator in about 90 seconds and shows where it looks
# make bench      speed and memory against named peers (docs/performance.md)
# make course    runs the five notebooks of the course, with their solutions
# make site      builds the site into build/site, lessons executed, and checks its links
# make weights    fetches published models for the tests that open them; ONLY="g2p minilm" some of them
PYTHON ?= python3
BIN := .venv/bin

.PHONY: test test-avx2 sanitize quick check script mutants kills demo bench course site weights clean

test: check
	$(BIN)/pytest -n auto --dist worksteal

# Kernels, 8 and 16 bits: a processor of many servers and laptops has neither AVX-512 nor its numbers.
AVX2 := ONEDNN_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2
BY_PROCESSOR := laws engine engine_int8 references attention positions precision optim score train_in_parts train_going_on

test-avx2: .venv/installed
	$(AVX2) $(BIN)/pytest -n auto --dist worksteal $(BY_PROCESSOR:%=tests/test_%.py)

# Python itself is not compiled with them, so their libraries come first; what is not ours may keep its memory, and
# torch's own threads are not looked at.
CXX ?= c++
NATIVE := tests/test_engine.py tests/test_engine_int8.py tests/test_ranking.py
sanitize: .venv/installed
	REGARD_FLAGS="-g -fsanitize=address,undefined -fno-sanitize-recover=undefined" ASAN_OPTIONS=detect_leaks=0 \
	  LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" $(BIN)/pytest -n 0 $(NATIVE)
	REGARD_FLAGS="-g -fsanitize=thread" TSAN_OPTIONS="ignore_noninstrumented_modules=1 halt_on_error=1" \
	  LD_PRELOAD="$$($(CXX) -print-file-name=libtsan.so)" $(BIN)/pytest -n 0 tests/test_engine.py -k threads

# What a commit runs: format, lint, types and the fastest tests, in about ten seconds.
quick: check
	$(BIN)/pytest -n auto --dist worksteal tests/test_architecture.py tests/test_state.py tests/test_errors.py

check: .venv/installed script
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# The page's JavaScript: format, lint and types, where there is npm to fetch the tools. The page itself wants no build.
script:
	@if ! command -v npm > /dev/null; then echo "no npm here: the page's JavaScript is not checked"; \
	elif [ node_modules/.package-lock.json -nt package.json ] || npm install --silent; then npm run --silent check; \
	else echo "npm cannot fetch its tools here: the page's JavaScript is not checked"; fi

mutants: .venv/installed
	$(BIN)/python tests/break_on_purpose.py

kills: .venv/installed
	$(BIN)/python tests/kill_and_resume.py

demo: .venv/installed
	$(BIN)/regard demo

bench: .venv/installed-bench
	$(BIN)/python -m bench

course: .venv/installed
	rm -rf build/course
	$(BIN)/python -m course run build/course

site: course
	$(BIN)/python -m website build/site build/course

weights: .venv/installed
	$(BIN)/python tests/published.py $(ONLY)

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
