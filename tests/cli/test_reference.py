"""`ragauge docs`, the list of commands, and what the Tab key completes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.shell_completion import BashComplete
from click.testing import CliRunner, Result

from ragauge.cli import main

Call = Callable[..., Result]
DOCS = Path(__file__).parents[2] / "docs"


def test_the_pages_are_listed_and_shown(call: Call) -> None:
    """`ragauge docs` lists each page but single decisions, with its title; it shows a page by its name or path."""
    listed = dict(line.split(maxsplit=1) for line in call("docs").stdout.splitlines())
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")}
    assert pages - set(listed) == {name for name in pages if name.startswith("decisions/0")}
    first, *_, last = listed
    assert (first, last) == ("agents", "decisions/README")
    assert call("docs", "decisions/0001-needs-are-generators").exit_code == 0
    assert listed["embedded-judge"] == "The embedded judge"
    for name in ("migrating/ragas", "docs/migrating/ragas.md"):
        assert call("docs", name).stdout == (DOCS / "migrating/ragas.md").read_text(encoding="utf-8")


def test_the_list_of_commands_has_whole_sentences() -> None:
    """On a terminal of 80 columns no line of the list of commands is cut off."""
    shown = CliRunner().invoke(main, ["--help"], terminal_width=80).stdout.partition("Commands:")[2]
    assert len(shown.splitlines()) > 20
    assert "..." not in shown


def test_an_unknown_page_is_told_with_close_names(call: Call) -> None:
    """A page that there is not exits with 2, and names the ones that it may be."""
    result = call("docs", "embeded-judge")
    assert result.exit_code == 2
    assert "unknown page 'embeded-judge'; did you mean 'embedded-judge'" in result.stderr


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (["pl"], "plan"),
        (["run", "data.jsonl", "-m", "faithfulness,claim_rec"], "faithfulness,claim_recall"),
        (["score", "-m", "faithf"], "faithfulness"),
        (["report", "tr"], "trial"),
        (["compare", "trial", "lat"], "latest"),
        (["report", "--store", "elsewhere", "l"], None),
        (["metrics", "token"], "token_f1"),
        (["nothing", "x"], None),
    ],
)
def test_what_is_typed_is_completed(call: Call, typed: list[str], expected: str | None) -> None:
    """Commands, metrics and runs of the store are completed; what is not there completes to nothing."""
    call("run", "data.jsonl", "-m", "bleu", "--name", "trial")
    found = BashComplete(main, {}, "ragauge", "_RAGAUGE_COMPLETE").get_completions(typed[:-1], typed[-1])
    values = [item.value for item in found]
    assert expected in values if expected else values == []
    assert all(value.startswith(typed[-1]) for value in values)
