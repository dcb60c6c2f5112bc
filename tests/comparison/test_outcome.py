"""A comparison as a document, as Markdown, and in a terminal."""

from __future__ import annotations

import gzip
import json
import math
import re
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ragauge as rg
from ragauge.analysis.compare import Comparison, changes_view, comparison_view
from ragauge.analysis.differences import HEAD
from ragauge.errors import UsageError
from ragauge.report.text import plain_text
from ragauge.types import Identity, Sample

Make = Callable[..., rg.Run]

LOW: list[float | None] = [0.0, 0.25, 0.5, 0.25, 0.0, 0.5, 0.25, 0.25, None]
HIGH = [0.5, 1.0, 0.75, 1.0, 0.75, 1.0, 0.75, 1.0, 1.0]


@pytest.fixture
def comparison(run: Make) -> Comparison:
    """A comparison of two runs of two metrics, judged by different judges."""
    a = run({"faithfulness": LOW, "bleu": HIGH, "x": HIGH}, name="old", id="run-a")
    values = {"faithfulness": HIGH, "bleu": HIGH, "claim_recall@contexts": HIGH}
    return rg.compare(a, run(values, name="new", id="run-b", judges={"*": Identity("other")}))


def _keys(value: Any) -> list[str]:
    return list(value)


def test_the_document(comparison: Comparison) -> None:
    """The document has the keys that docs/compare.md lists, in that order."""
    document = comparison.to_dict()
    assert (document["schema"], document["samples"], document["by"]) == ("ragauge.compare/1", 9, "id")
    assert _keys(document) == (
        "schema a b samples by only_a only_b groups differences changes left_out notes judging preference gates "
        "changed_gold".split()
    )
    assert document["a"] == {"id": "run-a", "name": "old", "data": "data.jsonl"}
    one = document["differences"]["faithfulness"]
    assert _keys(one) == (
        "a b difference low high method p p_adjusted better n wins ties losses detectable missing low_adjusted "
        "high_adjusted verdict".split()
    )
    assert (one["verdict"], one["n"], one["wins"]) == ("better", 8, 8)
    assert list(one["missing"]) == ["undefined_a", "undefined_b", "failed_a", "failed_b", "p", "p_adjusted"]
    assert list(one["missing"].values()) == [1, 0, 0, 0, 1.0, 1.0]
    assert _keys(document["changes"][0]) == ["metric", "id", "query", "a", "b", "pieces"]
    assert _keys(document["left_out"]) == ["x", "claim_recall@contexts"]
    assert "Different judges" in document["notes"][0]


def test_the_document_as_json(comparison: Comparison, tmp_path: Path) -> None:
    """The JSON file is the document, with null and never NaN for a missing number."""
    path = comparison.save(tmp_path / "new" / "out.json")
    read = json.loads(path.read_text(encoding="utf-8"), parse_constant=lambda _: pytest.fail("not JSON"))
    assert read == json.loads(json.dumps(comparison.to_dict(), allow_nan=False))
    assert not any(math.isnan(one["p"]) for one in read["differences"].values())


def test_markdown(comparison: Comparison, tmp_path: Path) -> None:
    """Markdown has the runs and warnings, the table with all columns, and the samples that changed most."""
    text = comparison.save(tmp_path / "out.MD").read_text(encoding="utf-8")
    assert text == comparison._repr_markdown_()
    lines = text.splitlines()
    assert lines[2:5] == ["A: old (run-a)  ", "B: new (run-b)  ", "9 samples in both, matched by id.  "]
    assert any(line.startswith("**Different judges (decompose, entail): stub and other.") for line in lines)
    assert f"| {' | '.join(HEAD)} |" in lines
    assert "| faithfulness ↑ | 0.250 | 0.844 | +0.594 | [" in text
    assert " | 8/0/0 | better | " in text
    assert "Undefined in A and in B, and so not compared: faithfulness 1 and 0." in text
    assert "Not compared: x: only the first run has it." in text
    assert "- faithfulness 0.250 → 1.000, sample 1: query 1" in lines


@pytest.mark.slow
def test_markdown_is_safe_in_a_comment(run: Make) -> None:
    """No text mentions, links or loads anything, and the length is limited to that of a comment on GitHub."""
    samples = [Sample(f"@ann-{n}", query="![x](http://x) <img> @bob " + "y" * 90) for n in range(600)]
    names = [f"own_{at}" for at in range(28)]
    a, b = (run({name: [value] * 600 for name in names}, samples=samples, name="@me") for value in (0.0, 1.0))
    text = rg.compare(a, b, show=600)._repr_markdown_()
    assert len(text) <= 60_000
    assert text.count("sample @<!-- -->ann-") > 100
    assert not any(active in text for active in ("@me", "@bob", "@ann", "![x](", "<img"))


@pytest.mark.parametrize("width", [70, 80, 100, 140, 200])
def test_the_terminal_at_any_width(comparison: Comparison, width: int) -> None:
    """No line exceeds the width; metric, difference and interval are never cut, and 100 columns show everything."""
    text = plain_text(comparison_view(comparison, width), width)
    assert max(map(len, text.splitlines())) <= width
    for shown in ("faithfulness ↑", "+0.594", "better"):
        assert shown in text
    assert text.count("can detect") == (2 if width >= 100 else 1)


def test_changes_of_three_metrics_are_shown(run: Make) -> None:
    """The terminal shows the changes in the three metrics with the smallest p-values, a line a sample, if any."""
    names = ["most", "much", "some", "less"]
    a = run({name: [0.0] * 8 for name in names})
    b = run({name: [0.5] * halves + [1.0] * (8 - halves) for halves, name in enumerate(names)})
    lines = [str(part) for part in changes_view(rg.compare(a, b, show=1))]
    assert lines[:3] == ["", "What changed most:", ""]
    assert [one.split()[0] for one in lines[3:]] == names[:3]
    assert list(changes_view(rg.compare(a, a))) == []


def test_control_characters_are_made_visible(run: Make) -> None:
    """Names, ids and queries with control characters are shown with these replaced."""
    samples = [Sample("\x1b[2J", query="who\x1b[31m?")]
    a, b = (run({"bleu": [value]}, samples=samples, name="n\x1b[1m") for value in (0.0, 1.0))
    found = rg.compare(a, b)
    shown = str(found) + found._repr_markdown_() + "".join(map(str, changes_view(found)))
    assert "\x1b" not in shown
    assert "who�[31m?" in shown


def test_files_that_cannot_be_written(comparison: Comparison, tmp_path: Path) -> None:
    """Another ending, and a path that cannot be written, are errors that name the fix."""
    with pytest.raises(UsageError, match=r"cannot write 'out.csv': unknown ending; use one of .json .md"):
        comparison.save(tmp_path / "out.csv")
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="choose another place"):
        comparison.save(tmp_path / "file" / "out.json")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_gate_fails_where_scores_of_b_failed(run: Make) -> None:
    """A metric that is no worse on the samples with a score has not passed where scores of B failed."""
    a, b = (run({"bleu": values}) for values in ([0.5] * 9, [0.6] * 6 + ["no answer"] * 3))
    assert rg.compare(a, b, gated=["bleu"]).gate_failure("bleu") == "3 scores of bleu failed in B"
    assert rg.compare(b, a, gated=["bleu"]).gate_failure("bleu") == ""


def test_gating_on_a_metric_without_a_value(run: Make) -> None:
    """A metric without a value in both runs cannot be gated on: that is an error, not a pass."""
    found = rg.compare(run({"bleu": [None], "x": [0.5]}), run({"bleu": [0.5], "x": [0.5]}))
    with pytest.raises(UsageError, match="bleu cannot be compared: it has no value over the samples of both runs"):
        found.worse(["bleu"])
    with pytest.raises(UsageError, match="unknown metric of this comparison 'y'"):
        found.worse(["x", "y"])


def test_a_metric_with_an_at_sign_mentions_nobody(run: Make) -> None:
    """The key `claim_recall@contexts` is as it is in the table, since GitHub sees no mention within a word."""
    a, b = (run({"claim_recall@contexts": values}, id=id) for values, id in ((LOW, "run-a"), (HIGH, "run-b")))
    assert "| claim_recall@contexts ↑ |" in rg.compare(a, b, show=0)._repr_markdown_()


def test_a_comparison_as_a_page(tmp_path: Path) -> None:
    """The HTML file holds the whole document, and a policy that lets nothing of it run."""
    a, b = (
        rg.evaluate([{"id": "1", "response": text, "references": ["Ada"]}], "exact_match") for text in ("Ada", "Bob")
    )
    found = rg.compare(a, b)
    written = found.save(tmp_path / "out.html").read_text(encoding="utf-8")
    (data,) = re.findall(r'id="data-comparison">([^<]*)<', written)
    assert json.loads(gzip.decompress(b64decode(data))) == json.loads(json.dumps(found.to_dict()))
    assert "default-src 'none'" in written
