"""Texts that are too long for a call, or that the server finds too long, judged in parts."""

from __future__ import annotations

import asyncio
import json

import pytest
from tests.llm.judging import CLAIMS, LONG, ask, consult, never, reasons
from tests.llm.models import Model, Till, failing, perfect

from ragauge.judges.base import checked
from ragauge.judges.llm.judge import LLMJudge
from ragauge.judges.llm.messages import Prompt
from ragauge.questions import Decompose, Entail, Question, Relevant
from ragauge.types import Decomposition, Failure, Label, Verdict


def test_long_texts_are_judged_in_parts() -> None:
    """What is longer than the window is split, each part is sent, and the answers come back as one to the whole."""
    model, till = Model(), Till()
    questions: list[Question] = [
        Entail((LONG, "Boxes are blue."), "Box 1111 holds 1111 stones."),
        Relevant("Which box holds 700 stones?", LONG),
        Decompose(LONG),
    ]
    answers = consult(model, questions, till, context=8000)
    assert not any(reasons(answers))
    assert [checked(question, answer) for question, answer in zip(questions, answers, strict=True)] == answers
    assert len(model.prompts) > 5
    assert max(len(prompt.user) for prompt in model.prompts) < 16_000
    assert isinstance(answers[2], Decomposition)
    assert len(answers[2].statements) == 1200
    assert {question for answered in till.answered for question in answered} == set(questions)


def test_a_part_that_fails_fails_the_whole() -> None:
    """A question in parts has an answer only where each part has one."""
    (failure,) = ask(Model(never("number 1100 ", "?")), [Relevant("Which box?", LONG)], context=8000)
    assert isinstance(failure, Failure)
    assert failure.reason == "invalid_answer"


def test_what_the_server_finds_too_long_is_split() -> None:
    """A question that fits by our measure and not by the server's is asked in smaller parts."""
    model = Model(lambda prompt: failing("too_long") if len(prompt.user) > 9000 else perfect(prompt))
    answers = ask(model, [Relevant("Which box holds 700 stones?", LONG[:40_000]), *CLAIMS])
    assert not any(reasons(answers))
    hopeless = Model(lambda prompt: failing("too_long"))
    assert reasons(ask(hopeless, [Relevant("Which box?", LONG[:40_000])])) == ["too_long"]
    assert len(hopeless.prompts) < 8


def test_a_window_is_found_out_once() -> None:
    """What the server found too long is not sent again as long in the same run; the identity stays as it was."""
    model = Model(lambda prompt: failing("too_long") if len(prompt.user) > 9000 else perfect(prompt))
    judge = LLMJudge(model)
    identity = judge.identity
    texts = [Relevant("Which box holds 700 stones?", LONG[start : start + 30_000]) for start in range(3)]

    async def refused() -> list[int]:
        counts = []
        for _ in range(2):
            async with judge:
                for text in texts:
                    before = sum(len(prompt.user) > 9000 for prompt in model.prompts)
                    assert not any(reasons(await judge.answer([text])))
                    counts.append(sum(len(prompt.user) > 9000 for prompt in model.prompts) - before)
        return counts

    assert asyncio.run(refused()) == [2, 0, 0, 2, 0, 0]
    assert judge.identity == identity


def _partial_view(prompt: Prompt) -> str:
    """What a model says that takes each claim which it does not see among the sources for contradicted."""
    document, reply = json.loads(prompt.user), {}
    for group in document["entail"]:
        seen = group["sources"]
        for key, claim in group["claims"].items():
            holding = [name for name in seen if claim in document["sources"][name]]
            label = "entailed" if holding else "contradicted"
            reply[key] = {"why": "", "label": label, "supports": holding, "contradicts": []}
    return json.dumps(reply)


@pytest.mark.parametrize("context", [None, 4000, pytest.param(8000, marks=pytest.mark.slow)])
def test_a_copy_of_its_context_is_supported_however_that_is_split(context: int | None) -> None:
    """A text that is its own premise is entailed sentence by sentence, also where windows show a part of it each."""
    sentences = [f"{sentence}." for sentence in LONG.split(". ")[:300]]
    questions: list[Question] = [Entail((" ".join(sentences),), sentence) for sentence in sentences]
    answers = ask(Model(_partial_view), questions, context=context)
    assert {answer.label for answer in answers if isinstance(answer, Verdict)} == {Label.ENTAILED}
    assert not any(reasons(answers))
