"""The Containerfile builds what CI builds."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINES = (ROOT / "Containerfile").read_text(encoding="utf-8").splitlines()


def test_the_image_is_made_by_the_steps_that_ci_runs() -> None:
    """The Containerfile installs by scripts/image.sh alone, which .ci/run runs in an environment of its own."""
    (run,) = [line for line in LINES if line.startswith("RUN ")]
    assert run.startswith("RUN sh /source/scripts/image.sh /source ")
    assert 'sh scripts/image.sh "$fresh/ragauge"' in (ROOT / ".ci/run").read_text(encoding="utf-8")


def test_the_image_has_what_it_copies_and_no_rights() -> None:
    """Each thing that is copied is in the repository, and the command runs as a user that is not root."""
    copied = [name for line in LINES if line.startswith("COPY ") for name in line.split()[1:-1]]
    assert [name for name in copied if not (ROOT / name).exists()] == []
    user = [line.split()[1] for line in LINES if line.startswith("USER ")]
    assert user == ["ragauge"]
    assert LINES.index("USER ragauge") < next(i for i, line in enumerate(LINES) if line.startswith("ENTRYPOINT"))
    needed = re.search(r"include = \[(.*)\] #", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert needed is not None
    assert {"src", "docs"} <= set(copied)
