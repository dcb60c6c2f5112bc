#!/bin/sh
# Install ragauge for development into .venv and run its fast tests.
# With --all, as in CI: lint, types, import layers, and all tests, including those that need torch, Ray, the libraries of
# other systems, Debian's Chromium (the report page), PostgreSQL (stores), WordNet (generated training claims) or strace (what leaves
# the process). These four are installed where the system allows it; tests that lack something are skipped.
set -eu
cd "$(dirname "$0")/.."
[ -x .venv/bin/python ] || python3 -m venv .venv
extras=dev
[ "${1:-}" != --all ] || extras=dev,docs,dev-models,dev-compat,dev-scale,dev-trackers
.venv/bin/python -m pip install --quiet --disable-pip-version-check -e ".[$extras]" -c constraints.txt
if [ "${1:-}" != --all ]; then
    exec .venv/bin/python -m pytest -n auto
fi
if { ! command -v chromium || ! command -v strace || [ ! -d /usr/share/wordnet ] || [ ! -d /usr/lib/postgresql ]; } >/dev/null && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    { apt-get update && apt-get install -y --no-install-recommends chromium postgresql strace wordnet-base; } >/dev/null || true
fi
.venv/bin/ruff check .
.venv/bin/ruff format --check .
.venv/bin/mypy src tests
.venv/bin/lint-imports
exec .venv/bin/python -m pytest -n auto -m "slow or not slow" --hypothesis-profile=thorough
