"""The numbers of DeepEval's door are those that the real library computes from the same verdicts, where it is there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragauge as rg
from ragauge.compat import deepeval as ours

theirs = pytest.importorskip("deepeval.metrics", reason="needs deepeval, which is not among the test extras")

#: DeepEval 4 turned three of its scores round: higher is better.
TURNED = ("Bias", "Hallucination", "Toxicity") if hasattr(theirs.BiasMetric, "_system_one_eval_spec") else ()

#: Their verdict -> our label of entailment.
LABELS = {"yes": "entailed", "no": "contradicted", "idk": "neutral"}


def computed(name: str, verdicts: list[str], **settings: Any) -> float:
    """The score that DeepEval computes from verdicts."""
    metric = object.__new__(getattr(theirs, f"{name}Metric"))
    found = [SimpleNamespace(verdict=one, reason="") for one in verdicts]
    vars(metric).update(verdicts=found, strict_mode=False, threshold=0.5, **settings)
    score = float(metric._calculate_score())
    return 1 - score if name in TURNED and found else 0.0 if name in TURNED else score


def measured(name: str, verdicts: list[str], **settings: Any) -> float:
    """The score of our door, whose judge gives these verdicts on as many pieces."""
    pieces = [f"piece {place}" for place in range(len(verdicts))]
    known = dict(zip(pieces, verdicts, strict=True))

    def entail(premise: str, hypothesis: str) -> str:
        asked = premise if name == "Hallucination" else hypothesis
        return LABELS[known.get(asked, "idk")]

    judge = rg.judge_from(
        decompose=lambda text: [(piece, "both") for piece in text.split("; ") if piece],
        entail=entail,
        relevant=lambda query, text, reference=None: known[text] == "yes",
        classify=lambda text, trait: known[text] == "yes",
    )
    said = "; ".join(pieces)
    retrieved = pieces if name == "ContextualPrecision" else ["all that is known"]
    case = ours.LLMTestCase("a question", said, said, pieces if name == "Hallucination" else None, retrieved)
    if name == "Hallucination":
        case.actual_output = "a claim"
    return float(getattr(ours, f"{name}Metric")(model=judge, **settings).measure(case))


@pytest.mark.parametrize(
    ("name", "words", "fewest"),
    [
        ("Faithfulness", ("yes", "no", "idk"), 0),
        ("AnswerRelevancy", ("yes", "no"), 0),
        ("ContextualPrecision", ("yes", "no"), 1),
        ("ContextualRecall", ("yes", "no"), 1),
        ("Hallucination", ("yes", "no"), 1),
        ("Bias", ("yes", "no"), 0),
        ("Toxicity", ("yes", "no"), 0),
    ],
)
def test_scores_are_those_of_the_library(name: str, words: tuple[str, ...], fewest: int) -> None:
    """Any verdicts on up to six pieces give the score that DeepEval computes from them."""

    @settings(max_examples=25)
    @given(st.lists(st.sampled_from(words), min_size=fewest, max_size=6))
    def holds(verdicts: list[str]) -> None:
        choices: list[dict[str, Any]] = [{"penalize_ambiguous_claims": strict} for strict in (False, True)]
        for chosen in choices if name == "Faithfulness" else [{}]:
            assert measured(name, verdicts, **chosen) == pytest.approx(computed(name, verdicts, **chosen))

    holds()
