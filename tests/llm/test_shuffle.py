"""The order of claims and sources, and a judge that is asked several times."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.llm.judging import CLAIMS, TEXT, ask
from tests.llm.models import Model, in_turn, perfect

import ragauge as rg
from ragauge.errors import BadParameter
from ragauge.judges.composite import Repeat
from ragauge.judges.llm.judge import LLMJudge
from ragauge.judges.llm.messages import Prompt
from ragauge.kinds.call import PromptStyle
from ragauge.questions import Entail, Question
from ragauge.types import ChunkVerdict, Label, Verdict

CHUNKS = ("Ann has 3 cats.", "Bob has a dog.", "Cleo has 2 owls.", "Dan has a hen.")
PETS: list[Question] = [Entail(CHUNKS, text) for text in (*CHUNKS, "Eve has a fox.", "Ann has 7 newts.")]
ROWS = [
    {"id": str(n), "response": "Ann has 3 cats. Eve has a fox.", "contexts": [*CHUNKS, f"House {n}."]} for n in range(5)
]


def sent(questions: Sequence[Question], seed: int | None) -> dict[str, Any]:
    """What a judge with this seed sends."""
    model = Model()
    ask(model, questions, style=PromptStyle(shuffle=seed))
    found: dict[str, Any] = json.loads(model.prompts[-1].user)
    return found


def by_first_source(prompt: Prompt) -> str:
    """A model that finds entailed what the first source says, and nothing else."""
    document = json.loads(prompt.user)
    if "texts" in document:
        return perfect(prompt)
    first = next(iter(document["sources"]))
    return json.dumps(
        {
            key: {
                "why": "",
                "label": "entailed" if claim == document["sources"][first] else "neutral",
                "supports": [first] if claim == document["sources"][first] else [],
                "contradicts": [],
            }
            for group in document["entail"]
            for key, claim in group["claims"].items()
        }
    )


def test_a_seed_decides_the_order_alone() -> None:
    """Every seed sends the same claims and sources, in an order in which it does not matter who came first."""
    plain, one, two = (sent(PETS, seed) for seed in (None, 1, 2))
    assert list(plain["sources"].values()) == list(CHUNKS)
    orders = [list(document["sources"].values()) for document in (plain, one, two)]
    claims = [list(document["entail"][0]["claims"].values()) for document in (plain, one, two)]
    for found in (orders, claims):
        assert len({tuple(order) for order in found}) == 3
        assert len({frozenset(order) for order in found}) == 1
    assert sent(PETS[::-1], 1) == one
    assert one["entail"][0]["sources"] == list(one["sources"])


def test_texts_to_decompose_keep_their_sentences() -> None:
    """The sentences of a text stand in the order of the text, whatever the seed."""
    assert sent([TEXT], 1) == sent([TEXT], None)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_answers_reach_their_chunks(seed: int) -> None:
    """Where verdicts do not depend on the order, claims and chunks have the labels that they have without a seed."""
    assert ask(Model(), PETS + CLAIMS, style=PromptStyle(shuffle=seed)) == ask(Model(), PETS + CLAIMS)


def test_what_fails_is_asked_again_in_the_same_order() -> None:
    """Halves of a call that failed are shuffled like the call."""
    model = Model(in_turn("no", "no", perfect))
    ask(model, PETS, style=PromptStyle(shuffle=1))
    first, *_, last = (list(json.loads(prompt.user)["sources"].values()) for prompt in model.prompts)
    assert first == last


def test_a_seed_is_part_of_the_identity() -> None:
    """The option makes a judge of its own; without it the identity is as before."""
    plain, one = rg.llm("openai/gpt-4o-mini"), rg.llm("openai/gpt-4o-mini?shuffle=1")
    assert "shuffle" not in dict(plain.identity.settings)
    assert dict(one.identity.settings) == {**dict(plain.identity.settings), "shuffle": "1"}
    assert plain.shuffled(1).identity == one.identity
    assert dict(one.shuffled(1).identity.settings)["shuffle"] == "2"
    with pytest.raises(BadParameter, match="a whole number, such as shuffle=1"):
        rg.llm("openai/gpt-4o-mini?shuffle=twice")


def test_repeats_vote_and_their_flips_are_counted() -> None:
    """Repetitions are asked in other orders; the majority answers, and the notes have the rate of differing pairs."""
    judge = Repeat(LLMJudge(Model(by_first_source)), 3)
    answers = asyncio.run(judge.answer(PETS[:4]))
    assert [one.label for one in answers if isinstance(one, Verdict)] == [Label.NEUTRAL] * 4
    singles = [asyncio.run(member.answer(PETS[:4])) for member in judge.members]
    votes = [[one.label for one in each if isinstance(one, Verdict)] for each in singles]
    pairs = [a != b for one in range(3) for other in range(one) for a, b in zip(votes[one], votes[other], strict=True)]
    assert 0 < sum(pairs) < len(pairs)
    assert f"repeat(model, 3): flip rate {sum(pairs) / len(pairs):.1%} on entail questions" in judge.notes()[0]


def test_a_majority_of_repeats_answers() -> None:
    """What two of three repetitions find is the answer, with their chunks."""
    judge = Repeat(LLMJudge(Model()), 3)
    (answer,) = asyncio.run(judge.answer(PETS[:1]))
    assert isinstance(answer, Verdict)
    assert answer.label is Label.ENTAILED
    assert answer.chunks == (ChunkVerdict(Label.ENTAILED, 1.0), *[ChunkVerdict(Label.NEUTRAL, 0.0)] * 3)


def test_repeats_are_stored_apart(tmp_path: Path) -> None:
    """A repeated judge uses the answers of the single one, asks the others in fact, and never asks them again."""
    asked: list[str] = []

    def model(messages: list[dict[str, str]]) -> str:
        asked.append(messages[-1]["content"])
        return perfect(Prompt(messages[0]["content"], messages[1]["content"], {}))

    def run(judge: rg.judges.Judge) -> rg.Run:
        return rg.evaluate(ROWS, ["faithfulness"], judge, store=tmp_path / "store")

    single = rg.llm(model, name="m")
    run(single)
    alone = len(asked)
    repeated = run(rg.repeat(single, 3))
    assert len(asked) == alone + 2 * len(ROWS)
    assert any("flip rate" in note for note in repeated.record.notes)
    run(rg.repeat(single, 3))
    assert len(asked) == alone + 2 * len(ROWS)
    assert repeated.record.judges["*"].name == "repeat(m, 3)"


def test_a_plan_counts_all_repeats() -> None:
    """The one response is decomposed once, and each sample has a call and its price for each repetition."""
    costs = [
        rg.plan(ROWS, ["faithfulness"], judge).cost
        for judge in ("openai/gpt-4o-mini?price=1:1", "repeat(openai/gpt-4o-mini?price=1:1, 3)")
    ]
    assert [cost.calls for cost in costs] == [1 + len(ROWS), 1 + 3 * len(ROWS)]
    assert costs[0].dollars is not None
    assert costs[1].dollars is not None
    assert costs[1].dollars > 1.5 * costs[0].dollars


Made = Callable[[], object]


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: rg.repeat("embedded", 3), "answers alike each time; name an LLM judge"),
        (lambda: rg.repeat("openai/gpt-4o-mini", 1), "2 or more, such as 3"),
        (lambda: rg.load_judge("repeat(openai/gpt-4o-mini)"), r"write repeat\(JUDGE,N\)"),
        (lambda: rg.load_judge("repeat(openai/gpt-4o-mini,many)"), r"write repeat\(JUDGE,N\)"),
        (lambda: rg.load_judge("repeat(openai/gpt-4o-mini,3,threshold=1)"), r"write repeat\(JUDGE,N\)"),
    ],
)
def test_what_cannot_be_repeated_is_refused(made: Made, message: str) -> None:
    """The message says how to write it."""
    with pytest.raises(BadParameter, match=message):
        made()
