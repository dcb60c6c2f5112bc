#!/bin/sh
# Install ragauge for development into .venv and run its tests.
# With --all, as CI does: lint, types, floors, the slow tests, those of models that torch runs, of libraries whose users
# come to us, and those for which Debian's Chromium (the report page), WordNet (claims made for training) and strace (what
# leaves the process) are installed where the system lets us (else they are skipped).
set -eu
cd "$(dirname "$0")/.."
[ -x .venv/bin/python ] || python3 -m venv .venv
extras=dev
[ "${1:-}" != --all ] || extras=dev,dev-models,dev-compat
.venv/bin/python -m pip install --quiet --disable-pip-version-check -e ".[$extras]" -c constraints.txt
if [ "${1:-}" != --all ]; then
    exec .venv/bin/python -m pytest -n auto
fi
if { ! command -v chromium || ! command -v strace || [ ! -d /usr/share/wordnet ]; } >/dev/null && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    { apt-get update && apt-get install -y --no-install-recommends chromium strace wordnet-base; } >/dev/null || true
fi
.venv/bin/ruff check .
.venv/bin/ruff format --check .
.venv/bin/mypy src tests
.venv/bin/lint-imports
exec .venv/bin/python -m pytest -n auto -m "slow or not slow"
