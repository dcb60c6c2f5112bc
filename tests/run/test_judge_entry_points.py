from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import ragauge as rg

MODULE = """
import ragauge as rg


def make(argument):
    return rg.judge_from(entail=lambda premise, hypothesis: argument in premise, name=f"offered {argument}")


def nothing(argument):
    return None
"""


@pytest.fixture
def installed(install_package: Callable[..., Path]) -> None:
    """A package that offers two judges by entry points."""
    points = "[ragauge.judges]\noffered = offering:make\nempty = offering:nothing\n"
    install_package("offering", points, MODULE)


@pytest.mark.usefixtures("installed")
def test_a_judge_of_another_package_is_found_by_its_name() -> None:
    """An entry point of the group ragauge.judges makes the judge of a spec, from what stands behind the colon."""
    run = rg.evaluate(
        [{"response": "a", "contexts": ["the word"]}],
        "faithfulness",
        judge={"entail": "offered:word", "*": "embedded"},
    )
    assert run.record.judges["entail"].name == "offered word"


@pytest.mark.usefixtures("installed")
def test_what_is_no_judge_is_refused() -> None:
    """An entry point whose factory makes something else ends with what it made."""
    with pytest.raises(rg.errors.BadParameter, match="empty is NoneType, not a judge"):
        rg.load_judge("empty")


@pytest.mark.usefixtures("installed")
def test_a_name_that_nobody_offers_lists_those_that_are_offered() -> None:
    """The message for an unknown judge suggests judges of other packages too."""
    with pytest.raises(rg.errors.UnknownName, match="offered"):
        rg.load_judge("ofered")
