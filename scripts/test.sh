#!/bin/sh
# Install ragauge for development into .venv and run its tests.
# With --all: lint, types, floors and the slow tests too, as CI does.
set -eu
cd "$(dirname "$0")/.."
[ -x .venv/bin/python ] || python3 -m venv .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev]' -c constraints.txt
if [ "${1:-}" != --all ]; then
    exec .venv/bin/python -m pytest -n auto
fi
.venv/bin/ruff check .
.venv/bin/ruff format --check .
.venv/bin/mypy src tests
.venv/bin/lint-imports
exec .venv/bin/python -m pytest -n auto -m "slow or not slow"
