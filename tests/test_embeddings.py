"""BERTScore and similarity, with stand-ins for their libraries; the real ones are tried with Dataworkz' columns."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ragauge as rg


class BERTScorer:
    """A stand-in for the library's scorer: the F1 of a pair is the share of its response's letters in the reference."""

    made: list[dict[str, Any]] = []
    asked: list[tuple[list[str], ...]] = []

    def __init__(self, **options: Any) -> None:
        self.made.append(options)

    def score(self, *texts: list[str]) -> tuple[Any, ...]:
        """Precision, recall and F1."""
        self.asked.append(texts)
        pairs = zip(*texts, strict=True)
        f1 = [sum(letter in reference for letter in response) / len(response) for response, reference in pairs]
        return tuple(np.array([scale * value for value in f1], np.float32) for scale in (0.5, 0.25, 1))


def test_bertscore_is_asked_once_for_all_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """All pairs go to the library in one call, for English and rescaled, and come back as plain numbers."""
    monkeypatch.setattr(BERTScorer, "asked", [])
    monkeypatch.setitem(sys.modules, "bert_score", SimpleNamespace(BERTScorer=BERTScorer))
    scores = rg.metrics.bertscore(("a", "b"), ["a", "d"])
    assert rg.metrics.bertscore(["b"], ["b"]).f1 == [1.0]
    assert BERTScorer.made == [{"lang": "en", "rescale_with_baseline": True}]
    assert BERTScorer.asked == [(["a", "b"], ["a", "d"]), (["b"], ["b"])]
    assert scores == ([0.5, 0.0], [0.25, 0.0], [1.0, 0.0])
    assert type(scores.precision[0]) is float


def test_bertscore_is_a_metric_of_the_best_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a metric BERTScore has three values, those of the reference with the best F1, which the evidence names."""
    monkeypatch.setitem(sys.modules, "bert_score", SimpleNamespace(BERTScorer=BERTScorer))
    run = rg.evaluate([{"response": "ab", "references": ["xx", "ay"]}], "bertscore")
    assert {key: score.value for key, score in run.scores[0].items()} == {
        "bertscore.precision": 0.25,
        "bertscore.recall": 0.125,
        "bertscore.f1": 0.5,
    }
    assert [piece.against for piece in run.scores[0]["bertscore.f1"].evidence] == ["references[1]"]


def test_similarity_is_the_cosine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The texts of either side are embedded with length 1, and each pair has its cosine."""
    vectors = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [0.6, 0.8]}

    class SentenceTransformer:
        def __init__(self, name: str) -> None:
            assert name == "all-MiniLM-L6-v2"

        def encode(self, texts: list[str], normalize_embeddings: bool) -> Any:
            assert normalize_embeddings
            return np.array([vectors[text] for text in texts])

    stand_in = SimpleNamespace(SentenceTransformer=SentenceTransformer)
    monkeypatch.setitem(sys.modules, "sentence_transformers", stand_in)
    assert rg.metrics.similarity(["a", "b"], ["c", "a"]) == pytest.approx([0.6, 0.0])


def test_similarity_is_a_metric_with_an_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a metric similarity is that to the best reference, on a scale from -1 to 1, and undefined without one."""

    class SentenceTransformer:
        def __init__(self, name: str) -> None:
            pass

        def encode(self, texts: list[str], normalize_embeddings: bool) -> Any:
            return np.array([[1.0, 0.0] if "a" in text else [-1.0, 0.0] for text in texts])

    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=SentenceTransformer))
    rows = [{"response": "a", "references": ["b", "a"]}, {"response": "a", "references": ["b"]}, {"response": "a"}]
    estimate = rg.evaluate(rows, "similarity").estimates["similarity"]
    assert (estimate.value, estimate.n, estimate.undefined, estimate.scale) == (0.0, 2, 1, (-1.0, 1.0))
    assert estimate.low is not None
    assert estimate.low < 0


def test_a_metric_without_its_library_ends_the_run_before_a_judge_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing library is a usage error at the first sample, not a failed score of each."""
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    asked: list[str] = []

    def decompose(text: str) -> list[str]:
        asked.append(text)
        return [text]

    judge = rg.judge_from(decompose=decompose)
    with pytest.raises(rg.errors.MissingExtra, match=r"pip install 'ragauge\[similarity\]'"):
        rg.evaluate(
            [{"response": "a", "references": ["b"]}], "similarity,toxicity", {"decompose": judge, "*": "embedded"}
        )
    assert not asked


@pytest.mark.parametrize(
    ("measure", "library", "extra"),
    [(rg.metrics.bertscore, "bert_score", "bertscore"), (rg.metrics.similarity, "sentence_transformers", "similarity")],
)
def test_a_missing_library_is_named(measure: Any, library: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its library a measure says what to install."""
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(rg.errors.MissingExtra, match=rf"pip install 'ragauge\[{extra}\]'"):
        measure(["a"], ["b"])
