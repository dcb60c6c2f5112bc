"""The calls of tools on the page of a sample."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.browser.watching import Watched

import ragauge as rg

pytestmark = pytest.mark.slow

FIND = rg.types.ToolCall("find", {"mail": "a@b.c"}, result='{"id": 7}', effect=False)
CANCEL = rg.types.ToolCall("cancel", {"id": 7, "now": True}, error="not <b>cancellable</b>", effect=True)
SAMPLE = rg.Sample(
    "1",
    query="Cancel it.",
    response="I have cancelled it.",
    turns=(
        rg.types.Turn("system", "Be kind."),
        rg.types.Turn("user", "Hm."),
        rg.types.Turn("user", "Where is it?"),
        rg.types.Turn("assistant", "Here.", calls=(FIND,)),
    ),
    tool_calls=(CANCEL,),
    reference_tool_calls=(CANCEL,),
)


def test_calls_are_shown_with_arguments_and_outcome(tmp_path: Path, watched: Watched) -> None:
    """Each call of the run and each expected one is a text of its own, and the evidence names the missing one."""
    run = rg.evaluate([SAMPLE], "tool_calls")
    page = watched.open(run.save(tmp_path / "report.html"), sample="1")
    texts = page.locator(".given .text").all()
    assert [(text.locator("h2").text_content() or "").strip() for text in texts] == [
        "call 1 of turn 1",
        "tool call 1",
        "reference tool call 1",
    ]
    assert [text.locator(".passage").text_content() for text in texts] == [
        'find(mail=a@b.c) → {"id": 7}',
        *["cancel(id=7, now=true) → error: not <b>cancellable</b>"] * 2,
    ]
    assert "null" not in (page.locator("main").inner_text())
    page.get_by_role("link", name="tool_calls.f1").click()
    assert "missing" in (page.locator(".reasons").text_content() or "")


def test_calls_are_in_the_reports_of_a_sample(tmp_path: Path) -> None:
    """The report in Markdown has the calls of the worst samples, and the reason why each counts against them."""
    text = rg.evaluate([SAMPLE], "tool_calls").save(tmp_path / "report.md").read_text(encoding="utf-8")
    assert "- called cancel(id=7, now=true) → error: not" in text
    assert "(missing)" in text
