"""A score in words, with the pieces behind it."""

from __future__ import annotations

import pytest
from tests.report.judged import measured

import ragauge as rg
from ragauge.report.explain import decisive, headline_metrics
from ragauge.scores import ChunkEvidence, Evidence
from ragauge.types import Chunk, Label, Sample

ROW = {
    "query": "Who wrote it?",
    "response": "Ada wrote it. Bob sang.",
    "contexts": ["Ada wrote it."],
    "reference": "Ada",
}


def piece(text: str, label: Label, against: str = "contexts", **more: object) -> Evidence:
    """A judged piece."""
    return Evidence(text, "response", None, against, label, **more)  # type: ignore[arg-type]


def test_a_run_in_words() -> None:
    """The unsupported claims of a real score are named, with the counts."""
    run = rg.evaluate([ROW], "faithfulness")
    words = rg.explain(run.scores[0]["faithfulness"])
    assert words == "0.500 (1 of 2); not supported by contexts: “Bob sang.”"


@pytest.mark.parametrize(
    ("score", "words"),
    [
        (rg.scores.Score(undefined="the response makes no claim"), "undefined: the response makes no claim"),
        (rg.scores.Score(failed="judge_error: down"), "failed: judge_error: down"),
        (rg.scores.Score(value=1.0, counts=(2, 2)), "1.000 (2 of 2)"),
        (rg.scores.Score(value=0.25), "0.250"),
    ],
)
def test_scores_without_evidence(score: rg.scores.Score, words: str) -> None:
    """A reason is shown in place of a value; counts only if the value is a share."""
    assert rg.explain(score) == words


def test_summaries_are_shown_by_their_source() -> None:
    """Metrics against the summarised text are among the six shown first, and named where contexts are missing."""
    row = {"document": "a is b. a is c.", "summary": "a is b.", "reference": "a is b. a is d."}
    run = measured([row], None)
    assert {"faithfulness(against=source)", "claim_recall(of=source)"} <= set(headline_metrics(run.record))
    assert run.left_out["faithfulness"].endswith("; for a summary there is faithfulness(against=source)")


def test_answers_from_tools_are_told_what_to_be_held_against() -> None:
    """Where nothing was retrieved but tools were called, the metric against calls is named."""
    row = {"query": "?", "response": "It is.", "tool_calls": [{"name": "f", "arguments": {}, "result": "It is."}]}
    assert measured([row], None).left_out["faithfulness"].endswith("there is faithfulness(against=calls)")


def test_contradicted_claims_come_first() -> None:
    """A contradicted claim comes before unsupported ones, with the chunk that contradicts it and the rationale."""
    against = (ChunkEvidence("7", Label.CONTRADICTED), ChunkEvidence("8", Label.NEUTRAL))
    pieces = (piece("A.", Label.NEUTRAL), piece("B.", Label.CONTRADICTED, chunks=against, rationale="It says C."))
    score = rg.scores.Score(value=0.0, counts=(0, 2), evidence=pieces)
    words = rg.explain(score)
    assert words.endswith("; “B.” is contradicted by context 7 (It says C.); not supported by contexts: “A.”")


def test_a_contradicted_claim_quotes_the_source() -> None:
    """With the sample, what contradicts a claim is quoted in its own words: a context, or a reference."""
    sample = Sample("1", contexts=(Chunk("Kept for 14 days. Free.", id="7"),), references=("It is 14.",))
    by_context = (ChunkEvidence("7", Label.CONTRADICTED, span=(0, 17)),)
    by_reference = (ChunkEvidence("references[0]", Label.CONTRADICTED, span=(0, 9)),)
    claims = (
        piece("Kept for 30 days.", Label.CONTRADICTED, chunks=by_context),
        piece("It is 30.", Label.CONTRADICTED, "references[0]", chunks=by_reference),
    )
    words = rg.explain(rg.scores.Score(value=0.0, evidence=claims), sample=sample)
    assert "“Kept for 30 days.” is contradicted by context 7: “Kept for 14 days.”" in words
    assert words.endswith("“It is 30.” is contradicted by references[0]: “It is 14.”")


def test_counted_pieces_explain_a_metric_of_which_less_is_better() -> None:
    """For bias and hallucination the pieces are those that raise the score."""
    opinions = (piece("Good.", Label.NO, ""), piece("Bad.", Label.YES, ""))
    assert (
        rg.explain(rg.scores.Score(value=0.5, counts=(1, 2), evidence=opinions), "lower")
        == "0.500 (1 of 2); yes: “Bad.”"
    )
    claims = (piece("A.", Label.ENTAILED), piece("B.", Label.NEUTRAL))
    assert rg.explain(rg.scores.Score(value=0.5, evidence=claims), "lower") == "0.500; not supported by contexts: “B.”"


def test_grades_are_shown_with_their_rationale() -> None:
    """A grade is shown whatever it is, with the judge's rationale."""
    graded = (Evidence("text", "response", against="conciseness", value=0.4, rationale="Too long."),)
    assert rg.explain(rg.scores.Score(value=0.4, evidence=graded)) == "0.400; conciseness 0.4: Too long."


def test_at_most_five_pieces_are_shown() -> None:
    """A long list is cut, and the rest counted."""
    score = rg.scores.Score(value=0.0, evidence=tuple(piece(f"{n}.", Label.NOT_ENTAILED) for n in range(9)))
    assert rg.explain(score).count("not supported by") == 5
    assert rg.explain(score).endswith("; and 4 more")


def test_presupposed_claims_explain_nothing() -> None:
    """Entailment by the query decides which claims count, so it is no reason for a score."""
    score = rg.scores.Score(value=0.0, evidence=(piece("A.", Label.NEUTRAL, "query"), piece("B.", Label.NO, "query")))
    assert [one.text for one in decisive(score, raising=False)] == ["B."]
    assert decisive(score, raising=True) == []


def test_an_empty_piece_is_said_to_be_empty() -> None:
    """A verdict on an empty text quotes nothing."""
    judged = piece("", Label.NOT_ENTAILED)
    assert rg.explain(rg.scores.Score(value=0.0, evidence=(judged,))) == "0.000; not supported by contexts: (empty)"
