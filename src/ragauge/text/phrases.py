"""Phrases: how word lists are written inside patterns."""

from __future__ import annotations


def any_of(listed: str) -> str:
    """A pattern for any of the words listed, apart by white space; an underscore stands for a space within one."""
    return "(?:" + "|".join(word.replace("_", " ") for word in listed.split()) + ")"


def phrases(*patterns: str) -> str:
    """A pattern for any of the patterns."""
    return "(?:" + "|".join(patterns) + ")"
