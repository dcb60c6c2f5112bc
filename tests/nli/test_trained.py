"""Every family, as small models trained on the spot that know the weather."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.nli.weather import example
from tests.nli.weather_questions import (
    TOGETHER,
    check_dispute,
    check_joint_support,
    check_the_end_is_read,
    verdicts,
)

import ragauge as rg
from ragauge.errors import BadParameter, UnanswerableNeed
from ragauge.judges.nli.judge import NliJudge
from ragauge.judges.nli.models import hf_judge
from ragauge.questions import Entail
from ragauge.testing import check_judge
from ragauge.types import Failure, Label, Verdict

pytestmark = pytest.mark.slow

Model = Callable[[str], Path]

NAMES = ("cross-encoder", "two-classes", "hhem", "true-nli", "minicheck-bert", "minicheck-flan-t5")
TWO_WAY = NAMES[1:]


def _spec(model: Model, name: str) -> str:
    """With a window that is small, but larger than what a family puts around its pairs."""
    return f"hf/{model(name)}?device=cpu&window={128 if name == 'hhem' else 64}"


def _judge(model: Model, name: str) -> NliJudge:
    return hf_judge(_spec(model, name))


def _questions(count: int) -> list[Entail]:
    chance = random.Random(7)
    drawn = [example(chance) for _ in range(count)]
    return [Entail((premise,), hypothesis) for premise, hypothesis, _ in drawn]


@pytest.mark.parametrize("name", NAMES)
def test_two_chunks_support_a_claim_together(name: str, model: Model) -> None:
    """Neither chunk alone carries the claim, both together do; also where they are windows apart."""
    check_joint_support(_judge(model, name))


@pytest.mark.parametrize("name", NAMES)
def test_one_chunk_supports_and_another_contradicts(name: str, model: Model) -> None:
    """Each chunk has its own label; together they do not support it."""
    check_dispute(_judge(model, name))


@pytest.mark.parametrize("name", NAMES)
def test_the_end_of_a_long_premise_counts(name: str, model: Model) -> None:
    """Nothing is cut."""
    check_the_end_is_read(_judge(model, name))


@pytest.mark.parametrize("name", NAMES)
def test_the_contract_is_kept(name: str, model: Model) -> None:
    """A judge of each family passes the contract that anybody's judge can run."""
    check_judge(lambda: _judge(model, name))
    assert _judge(model, name).answers == {"entail:support" if name in TWO_WAY else "entail"}


@pytest.mark.parametrize("name", TWO_WAY)
def test_two_way_models_are_refused_where_contradiction_counts(name: str, model: Model) -> None:
    """A metric that needs contradiction is refused before anything is asked, and one of support is measured."""
    rows = [{"response": "It is wet .", "contexts": ["rain here ."], "query": "How is it ?"}]
    judge = {"decompose": "embedded", "entail": f"hf/{model(name)}"}

    with pytest.raises(UnanswerableNeed, match="hallucination"):
        rg.evaluate(rows, metrics=["hallucination"], judge=judge)
    assert rg.evaluate(rows, metrics=["faithfulness"], judge=judge).estimates["faithfulness"].n == 1


def test_the_identity_pins_the_weights(model: Model, tmp_path: Path) -> None:
    """The identity holds the hash of the files, and what else can change an answer."""
    settings = dict(_judge(model, "cross-encoder").identity.settings)

    assert len(settings["revision"]) == 16
    assert settings["labels"] == "contradicted:neutral:entailed"
    assert (settings["family"], settings["window"], settings["dtype"]) == ("classifier", "64", "float32")
    other = hf_judge(f"hf/{model('cross-encoder')}?device=cpu&window=64&dtype=bfloat16")
    assert other.identity != _judge(model, "cross-encoder").identity


def test_labels_of_classes_without_names(model: Model) -> None:
    """A model whose classes are LABEL_0 and LABEL_1 is refused until they are named."""
    with pytest.raises(BadParameter, match="does not name its classes"):
        hf_judge(f"hf/{model('minicheck-bert')}?family=classifier")
    named = hf_judge(f"hf/{model('minicheck-bert')}?family=classifier&labels=not_entailed:entailed")
    assert named.answers == {"entail:support"}


def test_fragments_are_read_with_the_query(model: Model) -> None:
    """What only the query says is known of a fragment."""
    judge = _judge(model, "cross-encoder")

    (fragment,) = verdicts(judge, Entail(("rain today .", "here ."), "gusty", "wet and ?"))
    (alone,) = verdicts(judge, Entail(("rain today .", "here ."), "wet and ? gusty"))
    assert fragment == alone


def test_weights_of_another_model(model: Model, tmp_path: Path) -> None:
    """Weights that are not those of HHEM end in a Failure that says so, not in a number."""
    (tmp_path / "config.json").write_bytes((model("hhem") / "config.json").read_bytes())
    (tmp_path / "model.safetensors").write_bytes((model("cross-encoder") / "model.safetensors").read_bytes())

    (answer,) = asyncio.run(hf_judge(f"hf/{tmp_path}").answer([TOGETHER]))

    assert isinstance(answer, Failure)
    assert "not the weights of HHEM-2.1-Open" in answer.detail


def test_the_loop_lives_while_the_model_works(model: Model) -> None:
    """Other tasks have their turn while a batch is judged."""
    judge = _judge(model, "cross-encoder")

    async def beats() -> int:
        asked = asyncio.ensure_future(judge.answer(_questions(400)))
        count = 0
        while not asked.done():
            count += 1
            await asyncio.sleep(0.001)
        assert all(isinstance(answer, Verdict) and answer.label in Label for answer in await asked)
        return count

    assert asyncio.run(beats()) > 3
