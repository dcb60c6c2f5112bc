from __future__ import annotations

from typing import Any

import pytest

import ragauge as rg

METRICS = "claim_recall,claim_recall@contexts"


@pytest.fixture
def judge() -> rg.Judge:
    """Takes texts apart at semicolons; a text entails what it holds, and contradicts what it denies."""

    def entail(premise: str, hypothesis: str) -> str:
        if f"not {hypothesis}" in premise:
            return "contradicted"
        return "entailed" if hypothesis in premise else "neutral"

    return rg.judge_from(decompose=lambda text: text.split(";"), entail=entail, name="words")


def _rows(run: rg.Run) -> dict[str, tuple[Any, ...]]:
    (section,) = (one for one in run.sections() if one.title == "Where reference claims are lost")
    assert section.columns == ("claims", "number", "share", "low", "high")
    return {str(name): cells for name, *cells in map(tuple, section.rows)}  # type: ignore[misc]


SAMPLE = {"query": "?", "references": ["a;b;c;d;e"], "response": "a; not d; not e", "contexts": ["a b", "d"]}


def test_each_claim_has_one_fate(judge: rg.Judge) -> None:
    """Said, not retrieved, retrieved and not used, or contradicted: each has its number, and a share with interval."""
    rows = _rows(rg.evaluate([SAMPLE, {**SAMPLE, "response": "a;b;c;d;e"}], METRICS, judge))
    numbers = {name: cells[0] for name, cells in rows.items()}
    assert numbers == {
        "not retrieved": 1,
        "retrieved and not used": 1,
        "contradicted": 2,
        "in the response": 6,
        "with perfect retrieval at most": 8,
    }
    for number, share, low, high in rows.values():
        assert share == number / 10
        assert 0 <= low <= share <= high <= 1


def test_of_several_references_the_best_counts(judge: rg.Judge) -> None:
    """The claims are those of the reference of which the response says the largest part."""
    rows = _rows(rg.evaluate([{**SAMPLE, "references": ["x;y", "a;b"]}], METRICS, judge))
    assert {name: cells[0] for name, cells in rows.items() if cells[0]} == {
        "retrieved and not used": 1,
        "in the response": 1,
        "with perfect retrieval at most": 1,
    }


def test_all_forms_of_a_report_have_it(judge: rg.Judge) -> None:
    """The table is in the text, in the document and in Markdown, also of a run that is read from its store."""
    run = rg.evaluate([SAMPLE], METRICS, judge)
    title = "Where reference claims are lost"
    assert title in str(run)
    assert title in run._repr_markdown_()
    assert [section["title"] for section in run.to_dict()["sections"]] == [title]
    assert _rows(rg.Run.open(run.store)) == _rows(run)


def test_a_run_that_did_not_look_for_it_has_no_table(judge: rg.Judge) -> None:
    """Without the claims in contexts, or without any reference, nothing is said of losses."""
    assert rg.evaluate([SAMPLE], "claim_recall", judge).sections() == ()
    assert rg.evaluate([{**SAMPLE, "references": ["x"]}], "exact_match", judge).sections() == ()
