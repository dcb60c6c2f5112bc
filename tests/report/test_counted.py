"""Contributions of samples to metrics over the data set, and their absence, wherever a run is shown."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import ragauge as rg
from ragauge.report.wording import footnotes

ROWS: list[dict[str, Any]] = [
    {
        "id": "whole",
        "question": "How is tea?",
        "output": "Tea is hot [2].",
        "answers": [["Tea is hot."]],
        "docs": [
            {"text": "Ice is cold.", "answers_found": [0]},
            {"text": "Tea is hot.", "id": "t", "answers_found": [1]},
        ],
    },
    {
        "id": "odd",
        "question": "How is ice?",
        "output": "Ice is cold [1].",
        "answers": [["Ice is cold."]],
        "docs": [{"text": "Ice is cold.", "answers_found": [1, 0]}],
    },
    {"id": "bare", "question": "How is salt?", "output": "White.", "docs": [{"text": "Salt.", "answers_found": [0]}]},
]
ODD = "'answers_found' of document 1 is [1, 0], not 0 or 1 for each of 1 answers"


@pytest.fixture(scope="module")
def run() -> rg.Run:
    """One sample that counts, one with labels that do not fit, one without gold claims."""
    return rg.evaluate(ROWS, "trust")


def test_the_reasons_are_in_the_footnotes(run: rg.Run) -> None:
    """A metric without a contribution from some samples has the reasons in the record and in a footnote."""
    reasons = f"1 because {ODD}; 1 because the sample has no gold claim in 'answers'"
    assert run.estimates["trust_score"].undefined == 2
    assert run.record.undefined["trust_score"] == reasons
    (note,) = [line for line in footnotes(run.record) if "trust_score" in line]
    assert note.startswith("Undefined at least once: ")
    assert note.endswith(f"trust_score: {reasons}.")
    assert "trust_score" not in rg.evaluate(ROWS[:1], "trust").record.undefined


def test_reasons_of_one_kind_are_counted_together() -> None:
    """Other languages are one reason, the most frequent comes first, and the sixth is not named."""
    contexts = ["Für das Gerät gilt eine Garantie von zwei Jahren ab Kaufdatum."]
    german = {"response": "Die Garantie gilt fünf Jahre ab dem Kauf.", "contexts": contexts}
    french = {"response": "La garantie dure cinq ans à partir de la date d'achat.", "contexts": ["It lasts a year."]}
    silent = {"response": "", "contexts": ["It lasts a year."]}
    undefined = rg.evaluate([silent, silent, german, german, french], "faithfulness").record.undefined
    assert undefined["faithfulness"] == (
        "3 because the embedded judge reads English, and this is 'de' (2), 'fr' (1); name a judge for it: "
        "de=PROVIDER/MODEL; 2 because the response makes no claim"
    )
    quoting = rg.evaluate([{"response": word} for word in ("yes", "no", "yes")], [_no_flag]).record.undefined
    assert quoting["_no_flag"] == "the reader's 'flag' of it is 'yes' (2), 'no' (1)"
    six = rg.evaluate([{"response": "a" * length} for length in range(1, 7)], [_no_length]).record.undefined
    assert six["_no_length"].endswith("1 because it has aaaaa; 1 for other reasons")


@rg.check
def _no_flag(sample: rg.Sample) -> float:
    """Undefined for a reason that quotes two texts, of which one differs."""
    raise rg.metrics.NothingToCount(f"the reader's 'flag' of it is {sample.response!r}")


@rg.check
def _no_length(sample: rg.Sample) -> float:
    """Undefined for a reason of each sample's own."""
    raise rg.metrics.NothingToCount(f"it has {sample.response}")


def test_reasons_are_in_every_form(run: rg.Run, tmp_path: Path) -> None:
    """Remarks in tables, the report and each sample's document name the metrics over the data set and the reason."""
    with run.save(tmp_path / "run.csv").open(encoding="utf-8", newline="") as file:
        remarks = {row["id"]: row["remarks"] for row in csv.DictReader(file)}
    assert f"trust_score: {ODD}" in remarks["odd"]
    assert "trust_score: the sample has no gold claim in 'answers'" in remarks["bare"]
    assert f"trust_score: 1 because {ODD}" in run.save(tmp_path / "run.md").read_text(encoding="utf-8")
    lines = run.save(tmp_path / "run.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[1])["counted"]["trust_score"]["undefined"] == ODD
    assert json.loads(lines[1])["counted"]["reject_f1"]["undefined"] == ODD


def test_contributions_have_evidence(run: rg.Run) -> None:
    """The counts of a sample, whether it was judged answerable, and which document contains the claim."""
    whole = run.to_dict()["samples"][0]["counted"]
    assert whole["answerable_recall"]["counts"] == [1.0, 1.0]
    assert whole["trust_score"]["counts"][0] == 1.0
    (held,) = [piece for piece in whole["trust_score"]["evidence"] if piece["field"] == "answers[0]"]
    assert (held["text"], held["label"], held["rationale"]) == ("Tea is hot.", "yes", "labelled in the data")
    assert list(held["chunks"]) == [{"chunk": "1", "label": "no"}, {"chunk": "t", "label": "yes"}]
    assert whole["reject_recall"]["undefined"] == "the documents hold an answer"


def test_the_note_on_missing_labels_names_the_fix(run: rg.Run) -> None:
    """If labels are missing and only given ones count, the note says how to have them judged."""
    row = {**ROWS[0], "docs": ["Tea is hot."]}
    record = rg.evaluate([row], "trust(labels=given)").record
    assert record.undefined["trust_score"] == "a document has no 'answers_found'; labels=asked lets the judge decide"


def test_scores_of_a_sample_name_the_estimate(run: rg.Run) -> None:
    """A metric over the data set is no score of a sample; the error says where its value is."""
    with pytest.raises(KeyError, match=r"no score is called 'trust_score'; .* over the data set are in `counted`"):
        run.scores[0]["trust_score"]
    with pytest.raises(KeyError, match="no score is called 'trust_scor'"):
        run.scores[0]["trust_scor"]
    counted = run.scores[0].counted["trust_score"]
    assert (counted.value, counted.counts[0]) == (None, 1.0)
    assert rg.explain(counted).startswith("counts 1, 0, 0, 0, 0, 0, 1, 1, 1, 1; ")
    assert rg.explain(run.scores[1].counted["trust_score"]) == f"undefined: {ODD}"


def test_empty_responses_are_counted() -> None:
    """The record and a footnote have the number of empty responses; blank ones are empty, missing ones are not."""
    rows = [{"query": "q", "response": text, "contexts": ["a"]} for text in ("", " \n", "Yes.")]
    run = rg.evaluate(rows, "citation_recall,answered_citation_recall")
    assert run.record.empty == 2
    assert "Empty responses: 2 of 3." in str(run)
    assert run.values("citation_recall") == [0.0, 0.0, 0.0]
    assert run.estimates["answered_citation_recall"].n == 3
    assert "Empty responses" not in str(rg.evaluate(rows[2:], "citation_recall"))
