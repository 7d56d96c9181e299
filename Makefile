# Two commands are enough: `make demo` runs the whole pipeline on the sample contribution, `make test` runs the tests.
# Both do all set-up by themselves; set-up is quick the second time.

BIN := .venv/bin
export PYTHON

.PHONY: help setup venv browser demo test test-deep unit lint format lock bench screenshots peers clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 10

setup: ## Virtual environment, container engine, images
	@setup/setup.sh

venv: ## The virtual environment alone
	@setup/venv.sh

browser: ## A browser for the tests of the UI; where there can be none, those are skipped
	@setup/browser.sh >/dev/null || [ $$? -eq 3 ]

demo: setup ## The whole pipeline on the sample contribution
	$(BIN)/envmill demo

test: setup browser ## The tests, but for the deep ones
	$(BIN)/pytest -m "not deep"

test-deep: setup ## Tests that build many kinds of projects, and hostile ones
	$(BIN)/pytest -m deep

unit: venv ## The tests that need no Docker, no Prefect and no S3 server
	$(BIN)/pytest -n 2 -m "not engine and not prefect and not s3 and not slow"

lint: venv ## ruff, mypy, import contracts
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: venv ## Format the code
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

lock: venv ## Resolve pyproject.toml into requirements.lock, with hashes and without index addresses
	$(BIN)/uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-emit-find-links --no-header --quiet --output-file requirements.lock

bench: setup ## The benchmarks that need nothing but this machine (see docs/operators.md for those over the corpus)
	$(BIN)/python -m bench.overhead

screenshots: setup browser ## Renew docs/images: what a failed build looks like in the Prefect UI
	ENVMILL_SCREENSHOTS=docs/images $(BIN)/pytest -q tests/flows/test_failed_build.py -k understood_in_the_ui

peers: ## The real tools that consume what is published, in their own environment
	@setup/peers.sh

clean: ## Remove what set-up and tools left in the checkout; keeps .envmill, which holds data
	rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
