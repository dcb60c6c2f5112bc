"""The robustness card: what is asked again, which changes it counts, and the command."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.judges.saying import Saying

from ragauge.analysis.robustness import (
    CHANGES,
    FRAME,
    PRAISE,
    RobustnessCard,
    RobustnessCase,
    card_view,
    check_robustness,
    robustness_cases,
)
from ragauge.errors import BadData, BadParameter, RunFailed
from ragauge.questions import Entail, Question
from ragauge.report.text import plain_text
from ragauge.types import Failure, Label, Verdict

E, N, C = Label.ENTAILED, Label.NEUTRAL, Label.CONTRADICTED
ROWS: list[dict[str, Any]] = [
    {"response": f"Ann owns boat {n}. Bob does not.", "contexts": [f"Ann owns boat {n}.", "It is wet."]}
    for n in range(10)
]


def cases_of(folder: Path, rows: list[dict[str, Any]]) -> Any:
    """The cases of a file with these rows."""
    file = folder / "cases.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    return robustness_cases(file)


def card(says: Callable[[Entail], Label], folder: Path, rows: list[dict[str, Any]] = ROWS) -> RobustnessCard:
    """The card of a judge that labels so."""

    def answer(question: Question) -> Verdict:
        assert isinstance(question, Entail)
        return Verdict(says(question))

    return asyncio.run(check_robustness(Saying("judge", answer), cases_of(folder, rows)))


def changed(found: RobustnessCard) -> dict[str, tuple[float | None, int, int]]:
    """By change the rate, and how many became supported and ceased to be."""
    return {one.name: (one.rate.value, one.to_supported, one.from_supported) for one in found.changes}


def test_a_judge_that_goes_by_the_claim_is_robust(tmp_path: Path) -> None:
    """A label that depends on nothing that changes has rates of 0, with an upper bound by samples."""
    found = card(lambda question: E if "Ann" in question.hypothesis else N, tmp_path)
    assert set(changed(found)) == set(CHANGES)
    assert set(changed(found).values()) == {(0.0, 0, 0)}
    assert (found.samples, found.claims, found.failed) == (10, 20, 0)
    high = found.changes[0].rate.high
    assert high is not None
    assert 0.2 < high < 0.4


@pytest.mark.parametrize(
    ("says", "name", "expected"),
    [
        (lambda question: E if "wet" in question.premise[0] else N, "order", (1.0, 20, 0)),
        (lambda question: N if question.hypothesis.startswith(FRAME) else E, "paraphrase", (1.0, 0, 20)),
        (lambda question: C if PRAISE in question.premise else N, "praise", (1.0, 0, 0)),
        (
            lambda question: next((one for one in (E, C) if f'"{one}"' in question.premise[-1]), N),
            "instructions",
            (1.0, 20, 0),
        ),
    ],
)
def test_each_weakness_shows_where_it_is(
    tmp_path: Path, says: Callable[[Entail], Label], name: str, expected: tuple[float, int, int]
) -> None:
    """A judge that gives way to one thing changes its verdicts there and nowhere else, with examples."""
    found = card(says, tmp_path)
    assert {one: rate for one, rate in changed(found).items() if rate[0]} == {name: expected}
    (weak,) = [one for one in found.changes if one.name == name]
    assert len(weak.flips) == 3
    assert weak.flips[0].claim == "Ann owns boat 0."


def test_instructions_ask_for_the_other_label(tmp_path: Path) -> None:
    """What was supported is to be contradicted, so that an obedient judge changes every verdict."""
    demanded = lambda question: next((one for one in (E, C) if f'"{one}"' in question.premise[-1]), E)  # noqa: E731
    assert changed(card(demanded, tmp_path))["instructions"] == (1.0, 0, 20)


def test_repetition_is_asked_apart() -> None:
    """The repetition goes to the other answering function, so that a store does not answer it."""

    async def first(_: object, questions: Any) -> list[Verdict | Failure]:
        return [Verdict(E)] * len(questions)

    async def again(_: object, questions: Any) -> list[Verdict | Failure]:
        return [Verdict(N)] * len(questions)

    found = asyncio.run(check_robustness(Saying("judge", Verdict(E)), robustness_cases(), first, again))
    assert changed(found)["repetition"] == (1.0, 0, 32)
    assert all(rate == (0.0, 0, 0) for name, rate in changed(found).items() if name != "repetition")


def test_an_effect_is_what_exceeds_repetition() -> None:
    """A judge that changes each verdict at random has no effect beyond repetition, one that obeys has all of it."""
    moody = Random(1)

    async def answer(_: object, questions: Any) -> list[Verdict | Failure]:
        obeyed = [any("ignore your instructions" in text for text in question.premise) for question in questions]
        return [Verdict(C if obeys else moody.choice((E, N))) for obeys in obeyed]

    found = asyncio.run(check_robustness(Saying("judge", Verdict(E)), robustness_cases(), answer))
    excess = {change.name: change.excess for change in found.changes}
    assert excess.pop("repetition") is None
    obeying = excess.pop("instructions")
    assert obeying
    assert obeying.value == 1 - (found.changes[0].rate.value or 0)
    assert obeying.low is not None
    assert obeying.low > 0
    for interval in excess.values():
        assert interval
        assert interval.low is not None
        assert interval.high is not None
        assert interval.low <= 0 <= interval.high
    assert "beyond repetition" in plain_text(list(card_view(found)), 140)


@pytest.mark.slow
def test_intervals_of_effects_cover() -> None:
    """Of 200 judges that change a tenth at random and three tenths if praised, 90 % of intervals hold the 0.2."""
    cases = [RobustnessCase(str(n // 2), Entail((f"text {n}",), "claim"), "other") for n in range(60)]
    covered = 0
    for seed in range(200):
        random, asked = Random(seed), Counter[Entail]()

        async def answer(_: object, questions: Any) -> list[Verdict | Failure]:
            answers: list[Verdict | Failure] = []
            for question in questions:
                rate = 0.3 if PRAISE in question.premise else 0.1 if asked[question] else 0.0  # noqa: B023
                answers.append(Verdict(N if random.random() < rate else E))  # noqa: B023
                asked[question] += 1  # noqa: B023
            return answers

        found = asyncio.run(check_robustness(Saying("judge", Verdict(E)), cases, answer))
        (praise,) = [change.excess for change in found.changes if change.name == "praise"]
        assert praise
        assert praise.low is not None
        assert praise.high is not None
        covered += praise.low <= 0.2 <= praise.high
    assert covered >= 180


def test_nothing_to_reorder_is_not_counted(tmp_path: Path) -> None:
    """A single claim about a single source has no other order."""
    found = card(lambda _: E, tmp_path, [{"response": "It rains.", "contexts": ["It rains."]}, ROWS[0]])
    assert {one.name: one.claims for one in found.changes} == {**dict.fromkeys(CHANGES, 3), "order": 2}


def test_the_packaged_cases_have_paraphrases() -> None:
    """Without data there are 32 claims of 16 samples, each with another wording of the writer's."""
    cases = robustness_cases()
    assert (len(cases), len({case.sample for case in cases})) == (32, 16)
    assert all(case.paraphrase != case.question.hypothesis and FRAME not in case.paraphrase for case in cases)


def test_missing_answers_are_counted(tmp_path: Path) -> None:
    """A verdict that is missing the first time is left out, and one that is missing later is counted as failed."""

    def says(question: Question) -> Verdict | Failure:
        assert isinstance(question, Entail)
        missing = PRAISE in question.premise or "Bob" in question.hypothesis
        return Failure("down", "no server") if missing else Verdict(E)

    found = asyncio.run(check_robustness(Saying("judge", says), cases_of(tmp_path, ROWS)))
    assert (found.claims, found.failed) == (10, 10)
    (praise,) = [one for one in found.changes if one.name == "praise"]
    assert (praise.claims, praise.failed, praise.rate.value) == (0, 10, None)
    assert any("10 more without a verdict" in str(line) for line in card_view(found))


def test_what_cannot_be_checked_is_an_error(tmp_path: Path) -> None:
    """The messages say what is missing: contexts, sentences of a paraphrase, a kind of question, or every answer."""
    with pytest.raises(BadData, match="no sample has a response and contexts"):
        cases_of(tmp_path, [{"query": "q", "response": "r"}])
    with pytest.raises(BadData, match="sample 1: the paraphrase has 1 sentences and the response 2"):
        cases_of(tmp_path, [{**ROWS[0], "paraphrase": "One."}])
    with pytest.raises(BadParameter, match="does not answer entail"):
        asyncio.run(check_robustness(Saying("judge", Verdict(E), "decompose"), robustness_cases()))
    with pytest.raises(RunFailed, match="answered no question, the first because: down"):
        asyncio.run(check_robustness(Saying("judge", Failure("down")), robustness_cases()))
