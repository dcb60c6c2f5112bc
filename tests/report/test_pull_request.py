from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tests.report.judged import ROWS, measured

import ragauge as rg
from ragauge.report.text import plain

#: What GitHub takes for the text of a comment.
GITHUB = 65_536


def _shown(markdown: str) -> str:
    """Markdown as a reader shows it, without tags and comments."""
    html = MarkdownIt("commonmark", {"html": True}).enable("strikethrough").render(markdown)
    text = re.sub(r"<!--.*?-->|<[^>]*>", "", html)
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&amp;", "&")


def test_gates_come_before_the_table(tmp_path: Path) -> None:
    """Each gate is on a line of its own, and the samples shown are the worst by one that failed."""
    run = measured()
    run.hold_to({"faithfulness": 0.1, "hallucination": 0.1})
    report = run.save(tmp_path / "summary.md").read_text(encoding="utf-8")
    assert (
        "- ✅ faithfulness ≥ 0.1 (3 of 4 samples)\n"
        "- ❌ **hallucination is 0.250, above 0.1 (4 samples)**\n\n| metric |" in report
    )
    assert "<details><summary>Worst by hallucination</summary>" in report
    assert report.rstrip().endswith("</details>")


def test_the_summary_fits_into_a_comment(tmp_path: Path) -> None:
    """However long responses, contexts and reasons are, the report is no longer than GitHub accepts."""
    long = "d is e. d is f. " * 4000
    rows = [{**ROWS[1], "id": str(n), "response": long, "contexts": [long]} for n in range(3)]
    report = measured(rows).save(tmp_path / "summary.md").read_text(encoding="utf-8")
    assert len(report) < GITHUB
    assert report.rstrip().endswith("</details>")
    judge = rg.judge_from(decompose=lambda text: ["a"], entail=lambda premise, hypothesis: 1 / 0)
    failed = rg.evaluate(rows, "faithfulness", judge, name="n" * 100_000)
    assert len(failed.save(tmp_path / "failed.md").read_text(encoding="utf-8")) < GITHUB


ODD = [
    "@octocat and a@b.com look",
    "![picture](https://example.com/a.png)",
    "see [this](https://example.com) and [1][2]",
    "> quoted",
    "# no heading",
    "**bold** _word_ snake_case `code` ~~gone~~ $5$",
    "<img src=x> &lt; &#64; a & b",
    "a\\*b",
]


@pytest.mark.parametrize("text", ODD)
def test_text_of_samples_is_shown_literally(text: str, tmp_path: Path) -> None:
    """Text of a sample is neither link nor image nor markup, and mentions nobody."""
    row = {"query": f"q {text}", "response": f"r {text}\n{text}", "contexts": ["x"]}
    report = measured([row], "faithfulness").save(tmp_path / "summary.md").read_text(encoding="utf-8")
    html = MarkdownIt("commonmark", {"html": True}).enable("strikethrough").render(report)
    assert not re.search(r"<(img|a|em|s|code|h1 id)\b", html)
    assert not re.search(r"(?<!\w)@\w", report)
    assert _shown(report).count(text) >= 3


def test_names_of_metrics_stand_as_they_are() -> None:
    """An @ within a word mentions nobody, so that it is left as it is."""
    assert plain("claim_recall@contexts of @ada") == "claim_recall@contexts of @<!-- -->ada"


@given(st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1))
def test_any_line_comes_back_from_markdown(text: str) -> None:
    """A Markdown reader shows a line of any visible characters literally."""
    assert _shown(f"- x{plain(text)}x").strip() == f"x{text}x"
