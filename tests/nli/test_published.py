"""The scores that HHEM's authors publish, where its weights are in the cache; nothing is fetched."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from ragauge.judges.nli.models import hf_judge
from ragauge.questions import Entail
from ragauge.types import Verdict

pytestmark = [pytest.mark.slow, pytest.mark.shared]

_HHEM = "vectara/hallucination_evaluation_model"


def test_published_scores_of_hhem(shared: Path) -> None:
    """The pairs of the model card have the scores printed there, to a ten thousandth."""
    hub = pytest.importorskip("huggingface_hub")
    pytest.importorskip("torch")
    foundation = "google/flan-t5-base"
    for name, file in ((_HHEM, "model.safetensors"), (foundation, "tokenizer.json"), (foundation, "config.json")):
        if not isinstance(hub.try_to_load_from_cache(name, file), str):
            pytest.skip(f"{name} is not in the cache; fetch it with: hf download {name} {file}")
    text = (shared / "vectors" / "trust_eval_and_ragas.json").read_text(encoding="utf-8")
    vectors = [vector for vector in json.loads(text) if vector["metric"] == "hhem score"]

    asked = [Entail((vector["inputs"]["premise"],), vector["inputs"]["hypothesis"]) for vector in vectors]
    answers = asyncio.run(hf_judge(f"hf/{_HHEM}?device=cpu").answer(asked))

    assert vectors
    for vector, answer in zip(vectors, answers, strict=True):
        assert isinstance(answer, Verdict)
        assert answer.probability == pytest.approx(vector["expected"]["score"], abs=1e-4)
