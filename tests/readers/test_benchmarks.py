"""Files in the forms in which ALCE and Trust-Eval ship ASQA, QAMPARI, ELI5 and ExpertQA; every text is our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ragauge.readers import read
from ragauge.types import Sample

DOC = {"id": "311", "title": "The bridge", "text": "It opened in 1931.", "score": 1.5}

ASQA: dict[str, Any] = {
    "qa_pairs": [
        {
            "context": "No context",
            "question": "When did it open?",
            "short_answers": ["1931", "in 1931"],
            "wikipage": "B",
        },
        {"context": "No context", "question": "When did it close?", "short_answers": ["1990"], "wikipage": None},
    ],
    "wikipages": [{"title": "Bridge", "url": "u"}],
    "annotations": [
        {"knowledge": [{"content": "c", "wikipage": "B"}], "long_answer": "It opened in 1931 and closed in 1990."},
        {"knowledge": [], "long_answer": "The bridge was open from 1931 to 1990."},
    ],
    "sample_id": "-77",
    "question": "When was the bridge open?",
    "docs": [DOC],
    "answer": "It opened in 1931 and closed in 1990.",
}
QAMPARI: dict[str, Any] = {
    "id": "7__dev",
    "question": "Which rivers meet at Skerholm?",
    "answers": [["Una", "River Una"], ["Ves"]],
    "answer": "Una, Ves.",
    "docs": [{**DOC, "answers_found": [1, 0]}],
}
ELI5: dict[str, Any] = {
    "question": "Why does bread rise?",
    "question_ctx": "[removed]",
    "answer": "Yeast makes gas, and the dough holds it.",
    "claims": ["Yeast makes gas.", "Dough holds the gas."],
    "docs": [{**DOC, "summary": "s", "extraction": "e", "url": "u", "answers_found": [0, 1]}],
}
EXPERTQA: dict[str, Any] = {
    "question": "How is a splint fitted?",
    "field": "Healthcare",
    "answer": "It is padded first.",
    "answers": [["The splint is padded."]],
    "docs": [{**DOC, "answers_found": [1], "rec_score": 100.0}],
}


def _only(row: dict[str, Any], folder: Path, wrapped: bool) -> Sample:
    path = folder / "benchmark.json"
    path.write_text(json.dumps({"data": [row], "config": {"shot": 2}} if wrapped else [row]), encoding="utf-8")
    (sample,) = read(path)
    return sample


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize(
    ("row", "answers", "references"),
    [
        (ASQA, (("1931", "in 1931"), ("1990",)), ("annotations",)),
        (QAMPARI, (("Una", "River Una"), ("Ves",)), ("Una, Ves.",)),
        (ELI5, (("Yeast makes gas.",), ("Dough holds the gas.",)), (ELI5["answer"],)),
        (EXPERTQA, (("The splint is padded.",),), (EXPERTQA["answer"],)),
    ],
    ids=["asqa", "qampari", "eli5", "expertqa"],
)
def test_a_benchmark_before_anybody_answered(
    row: dict[str, Any],
    answers: tuple[tuple[str, ...], ...],
    references: tuple[str, ...],
    wrapped: bool,
    tmp_path: Path,
) -> None:
    """Claims, references and labelled documents are found, and what people wrote is not taken for a response."""
    sample = _only(row, tmp_path, wrapped)
    if references == ("annotations",):
        references = tuple(one["long_answer"] for one in ASQA["annotations"])
    assert (sample.query, sample.response) == (row["question"], None)
    assert (sample.answers, sample.references) == (answers, references)
    (chunk,) = sample.contexts or ()
    assert (chunk.id, chunk.title, chunk.text) == ("311", "The bridge", "It opened in 1931.")
    assert chunk.metadata.get("answers_found") == row["docs"][0].get("answers_found")


@pytest.mark.parametrize("row", [ASQA, QAMPARI, ELI5, EXPERTQA], ids=["asqa", "qampari", "eli5", "expertqa"])
def test_a_benchmark_that_a_system_answered(row: dict[str, Any], tmp_path: Path) -> None:
    """`output` is the response, and nothing else changes."""
    before, after = (
        _only(each, tmp_path, wrapped=True) for each in (row, {**row, "output": "In 1931 [1].", "prompt": "p"})
    )
    assert after.response == "In 1931 [1]."
    assert (after.answers, after.references, after.contexts) == (before.answers, before.references, before.contexts)


def test_annotations_of_other_data_are_metadata() -> None:
    """A column of annotations that are no long answers serves no field."""
    (sample,) = read([{"question": "q", "answer": "a", "annotations": [{"annotator": 3, "label": "good"}]}])
    assert (sample.response, sample.references) == ("a", None)
    assert sample.metadata["annotations"] == [{"annotator": 3, "label": "good"}]
