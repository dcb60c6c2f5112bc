"""Our own golden rows: a sample, every answer a judge gives on it, and the scores, each with the source of its formula.

The answers of a row are lists:

    ["decompose", text, [statement, ...]]                    a statement is a text, or an object with its flags
    ["entail", premise, hypothesis, label, [label, ...]]     the joint label and one a chunk (or none, for one chunk)
    ["relevant", query, text, reference, label]
    ["classify", text, trait, label]
    ["correct", response, [reference, ...], label]
    ["rate", rubric, {field: text}, grade]                   a rubric is a name, or an object with its fields
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from ragauge.metrics.registry import METRICS, ON_REQUEST, parse_metric
from ragauge.needs.entailment import history
from ragauge.questions import (
    CHUNK_UTILITY,
    COHERENCE,
    COMPLETENESS,
    CONCISENESS,
    TOPICAL_MATCH,
    Classify,
    Correct,
    Decompose,
    Entail,
    Question,
    Rate,
    Relevant,
    Rubric,
)
from ragauge.types import Answer, ChunkVerdict, Decomposition, Grade, Label, Statement, Verdict

if TYPE_CHECKING:
    from tests.metrics.conftest import Drive, Sampling

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "golden" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
]
RUBRICS = {rubric.name: rubric for rubric in (COHERENCE, TOPICAL_MATCH, COMPLETENESS, CONCISENESS, CHUNK_UTILITY)}


def question_and_answer(row: list[Any], query: str | None, said: tuple[str, ...] = ()) -> tuple[Question, Answer]:
    """One entry of `answers`; what is held against the query itself is read without it. said: before the query."""
    kind, *given = row
    if kind == "decompose":
        text, statements = given
        pieces = (Statement(one) if isinstance(one, str) else Statement(**one) for one in statements)
        return Decompose(text, query, said), Decomposition(tuple(pieces))
    if kind == "entail":
        premise, hypothesis, label, chunks = given
        verdict = Verdict(Label(label), chunks=tuple(ChunkVerdict(Label(one)) for one in chunks))
        asked = (None, ()) if premise == [query] else (query, said)
        return Entail(tuple(premise), hypothesis, *asked), verdict
    if kind == "relevant":
        query, text, reference = given[:3]
        return Relevant(query, text, reference, said), Verdict(Label(given[3]))
    if kind == "classify":
        return Classify(*given[:2]), Verdict(Label(given[2]))
    if kind == "correct":
        return Correct(query, given[0], tuple(given[1])), Verdict(Label(given[2]))
    rubric, texts, grade = given
    return Rate(
        RUBRICS[rubric] if isinstance(rubric, str) else msgspec.convert(rubric, Rubric), tuple(texts.items())
    ), Grade(grade)


@pytest.mark.parametrize("row", ROWS, ids=[f"{i}-{row['metric']}" for i, row in enumerate(ROWS, 1)])
def test_golden_row(row: dict[str, Any], drive: type[Drive], sample: Sampling) -> None:
    """The metric asks exactly the questions of the row, and scores what its source says."""
    measured = sample(**row["sample"])
    answers = dict(question_and_answer(one, measured.query, history(measured)) for one in row["answers"])
    done = drive([measured], [parse_metric(row["metric"])], answers.__getitem__)
    assert set(done.questions) == set(answers)
    got = {
        key: score.value if score.undefined is None else {"undefined": score.undefined}
        for key, score in done.scores[0].items()
    }
    assert got == {
        key: pytest.approx(value, rel=1e-15) if isinstance(value, float) else value
        for key, value in row["expected"].items()
    }
    assert row["source"]


def test_every_metric_has_a_golden_row() -> None:
    """No metric of the catalogue is without a golden row; tests/test_embeddings.py has those of other libraries."""
    named = {row["metric"].partition("(")[0] for row in ROWS} | {"similarity", "bertscore"}
    assert {one.name for one in (*METRICS, *ON_REQUEST)} <= named
