from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

#: Branches on a kind outside of the kinds: for the most part in judges that answer some kinds only.
BRANCHES = 15


def test_what_depends_on_a_kind_stands_with_the_kind() -> None:
    """`scripts/branches.py` counts at most 15 branches on a kind of question outside of `ragauge.kinds`."""
    done = subprocess.run([sys.executable, "scripts/branches.py"], cwd=ROOT, capture_output=True, text=True)
    found = re.search(r"branches (\d+), files \d+", done.stdout)
    assert found, done.stdout + done.stderr
    assert 5 <= int(found[1]) <= BRANCHES
