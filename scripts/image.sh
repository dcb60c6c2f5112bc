#!/bin/sh
# The steps of the Containerfile, which CI also runs in an environment of its own: install ragauge from a checkout, and see
# that it measures without a network, a store or anything else in the place.
#
#     sh scripts/image.sh CHECKOUT [PYTHON]
set -eu
checkout=$1
python=${2:-python}
"$python" -m pip install --quiet --no-cache-dir --disable-pip-version-check "$checkout" -c "$checkout/constraints.txt"
"$python" -m pip check
cd /
"$python" -m ragauge demo --no-store >/dev/null
"$python" -m ragauge --version
