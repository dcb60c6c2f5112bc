"""A claim of a group, as training/groups.py writes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Claim = dict[str, Any]


def claimed(text: str, label: str, wrong: Sequence[Sequence[int]] | None, source: str) -> Claim:
    """What is said of a premise, and how it stands to it. wrong: the characters that the premise does not support."""
    return {"text": text, "label": label, "wrong": wrong, "source": source}


def natural_claim(text: str, label: str, source: str) -> Claim:
    """One as people wrote it: where it is not entailed, which of its characters are wrong is not known."""
    return claimed(text, label, [] if label == "entailment" else None, source)
