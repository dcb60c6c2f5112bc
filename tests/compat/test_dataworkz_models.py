"""BERTScore and similarity with the real libraries and a tiny model; skipped where these are not installed."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

import pytest

from ragauge.compat.dataworkz import SCORES, evaluate

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A BERT of two layers that was never trained, in a folder."""
    transformers = pytest.importorskip("transformers", reason="needs ragauge[bertscore,similarity]")
    letters = list(string.ascii_lowercase + ".?")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    numbered = {word: number for number, word in enumerate(vocabulary)}
    transformers.BertTokenizerFast(vocab=numbered, model_max_length=64).save_pretrained(tmp_path)
    sizes = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 8}
    transformers.set_seed(0)
    config = transformers.BertConfig(vocab_size=len(vocabulary), max_position_embeddings=64, **sizes)
    transformers.BertModel(config).save_pretrained(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_columns_of_models_are_filled_by_the_real_libraries(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal texts have 1 in all four columns, others less, and an empty response nothing."""
    bert_score = pytest.importorskip("bert_score", reason="needs ragauge[bertscore]")
    sentence_transformers = pytest.importorskip("sentence_transformers", reason="needs ragauge[similarity]")
    embedder: Any = sentence_transformers.SentenceTransformer
    monkeypatch.setattr(sentence_transformers, "SentenceTransformer", lambda name: embedder(str(model)))
    monkeypatch.setitem(bert_score.utils.lang2model, "en", str(model))
    monkeypatch.setitem(bert_score.utils.model2layers, str(model), 2)
    monkeypatch.setattr(bert_score.BERTScorer, "baseline_vals", 0.0)  # the library has none of this model
    golden = [{"query": name, "reference": f"ada came by {name}."} for name in ("car", "boat", "train")]
    answers = {"car": "ada came by car.", "boat": "nobody is there", "train": ""}
    responses = [{"query": name, "response": answer} for name, answer in answers.items()]
    done = evaluate(golden, responses)
    equal, other, empty = ([row[column] for column in SCORES[3:7]] for row in done.rows)
    assert done.missing == []
    assert equal == pytest.approx([1, 1, 1, 1], abs=1e-5)
    assert all(value < 1 - 1e-5 for value in other)
    assert empty == [None] * 4
