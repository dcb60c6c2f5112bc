"""BERTScore and similarity, with stand-ins for their libraries; the real ones are tried with Dataworkz' columns."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ragauge as rg


def test_bertscore_is_asked_once_for_all_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """All pairs go to the library in one call, for English and rescaled, and come back as plain numbers."""
    asked: list[Any] = []

    def score(*texts: list[str], **options: Any) -> tuple[Any, ...]:
        asked.append((texts, options))
        return tuple(np.array(values, np.float32) for values in ([0.5, -0.25], [1, 0], [0.75, 0]))

    monkeypatch.setitem(sys.modules, "bert_score", SimpleNamespace(score=score))
    scores = rg.bertscore(("a", "b"), ["c", "d"])
    assert asked == [((["a", "b"], ["c", "d"]), {"lang": "en", "rescale_with_baseline": True})]
    assert scores == ([0.5, -0.25], [1.0, 0.0], [0.75, 0.0])
    assert type(scores.precision[0]) is float


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
    assert rg.similarity(["a", "b"], ["c", "a"]) == pytest.approx([0.6, 0.0])


@pytest.mark.parametrize(
    ("measure", "library", "extra"),
    [(rg.bertscore, "bert_score", "bertscore"), (rg.similarity, "sentence_transformers", "similarity")],
)
def test_a_missing_library_is_named(measure: Any, library: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its library a measure says what to install."""
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(rg.MissingExtra, match=rf"pip install 'ragauge\[{extra}\]'"):
        measure(["a"], ["b"])
