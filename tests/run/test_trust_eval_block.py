from __future__ import annotations

from typing import Any

import pytest

import ragauge as rg

METRICS = "trust(variant=trust_eval,labels=given)"
DOCS = [{"title": "", "text": text, "answers_found": [found]} for text, found in (("Tea is hot", 1), ("Ice", 0))]


def row(response: str, **fields: Any) -> dict[str, Any]:
    """A row with one gold claim, which its first document holds."""
    return {"query": "How is tea?", "response": response, "answers": [["Tea is hot"]], "contexts": DOCS, **fields}


def holds(premise: str, hypothesis: str) -> bool:
    """Whether the premise has every word of the hypothesis."""
    return set(hypothesis.rstrip(".").split()) <= set(premise.replace(".", "").split())


def test_the_block_is_in_the_run() -> None:
    """The block has the per cents of what the run estimated, under Trust-Eval's keys, and asks nothing."""
    asked = []

    def entail(premise: str, hypothesis: str) -> bool:
        asked.append(premise)
        return holds(premise, hypothesis)

    rows = [row("Tea is hot [1]."), row("Ice is cold [2]."), row("I apologize, but I couldn't find an answer.")]
    run = rg.evaluate(rows, METRICS, rg.judge_from(entail=entail))
    times = len(asked)
    block = rg.analysis.trust_eval_block(run)
    assert len(asked) == times
    same = {"trust_score": "trust_score", "macro_f1": "macro_f1", "calib_claims_nli_f1": "calibrated_f1"}
    for key, metric in same.items():
        assert block[key] == pytest.approx(100 * (run.estimates[metric].value or 0))
    assert "refuse_f1" in rg.analysis.trust_eval_block(run, prefix="refuse")


def test_documents_cited_together_are_one_premise() -> None:
    """The sentence's evidence says nothing of single documents; each citation says what it is for."""
    run = rg.evaluate([row("Tea is hot Ice [1][2].")], METRICS, rg.judge_from(entail=holds))
    sentence, *citations = run.scores[0]["citation_precision"].evidence
    assert sentence.label is rg.Label.ENTAILED
    assert sentence.chunks == ()
    assert [piece.rationale for piece in citations] == ["needed in addition to the others"] * 2
    alone = rg.evaluate([row("Tea is hot [1].")], METRICS, rg.judge_from(entail=holds))
    assert [chunk.chunk for chunk in alone.scores[0]["citation_precision"].evidence[0].chunks] == ["1"]


@pytest.mark.parametrize(
    ("rows", "options", "error", "message"),
    [
        ([row("Tea")], {"correctness": "em6"}, rg.errors.BadParameter, "'em6' is none of cm, em, em5"),
        ([row("Tea")], {"prefix": "no"}, rg.errors.BadParameter, "'no' is none of reject, refuse, refusal"),
        ([row("Tea [1]."), row("Tea", answers=[])], {}, rg.errors.BadData, "sample 2: .*no gold claim.*dataset build"),
        (
            [row("Tea", contexts=[{"text": "Tea"}])],
            {},
            rg.errors.BadData,
            "sample 1: a document has no 'answers_found'",
        ),
        ([row("Tea [1]. " * 2, answers=[["!"]])], {}, rg.errors.RunFailed, "sample 1: judge_error"),
    ],
)
def test_what_gives_no_block(rows: list[Any], options: Any, error: type[Exception], message: str) -> None:
    """A sample that cannot be counted, or a wrong parameter, is an error that names it."""

    def entail(premise: str, hypothesis: str) -> bool:
        return bool(1 / ("!" not in hypothesis))

    run = rg.evaluate(rows, METRICS, rg.judge_from(entail=entail))
    with pytest.raises(error, match=message):
        rg.analysis.trust_eval_block(run, **options)


def test_a_run_of_something_else() -> None:
    """A run that did not ask what Trust-Eval counts is refused, with the metrics to measure."""
    run = rg.evaluate([row("Tea is hot [1].")], "answered_ratio", rg.judge_from(entail=holds))
    with pytest.raises(rg.errors.UsageError, match="the run did not ask what Trust-Eval counts; measure 'trust"):
        rg.analysis.trust_eval_block(run)
