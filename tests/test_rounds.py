"""Rounds: the needs of several samples, worked out together."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.needs.base import (
    EvidenceTable,
    Failed,
    Need,
    NeedOutcome,
    NothingToCount,
    QuestionFlow,
    Rounds,
    Statements,
    Undefined,
    missing_fields,
    unanswerable,
)
from ragauge.questions import Decompose, Judgment, Question, judgment_key
from ragauge.types import Answer, Decomposition, Failure, Identity, Sample, Statement

JUDGE = Identity("test")


def asking(name: str, *steps: str, reads: tuple[str, ...] = (), fault: str = "") -> Need[Statements]:
    """A need that asks for the words of each step in turn, and returns all answers; with a fault it returns nothing."""

    def flow(sample: Sample) -> QuestionFlow[Statements]:
        reported: list[Statement] = []
        for step in steps:
            judgments = yield [Decompose(word.replace("ID", sample.id)) for word in step.split()]
            reported += [piece for judgment in judgments for piece in Statements.of("response", judgment).pieces]
        if fault:
            raise NothingToCount(fault)
        return Statements("response", tuple(reported))

    return Need(name, reads, frozenset({"decompose"}), flow)


def echo(question: Question) -> Answer | Failure:
    """The text itself as its only statement."""
    assert isinstance(question, Decompose)
    return Decomposition((Statement(question.text),))


def judged(questions: Iterable[Question], answer: Callable[[Question], Answer | Failure]) -> dict[Question, Judgment]:
    """Judgments of all questions."""
    return {q: Judgment(q, answer(q), JUDGE, judgment_key(q, JUDGE)) for q in questions}


def finish(rounds: Rounds, answer: Callable[[Question], Answer | Failure] = echo) -> list[list[str]]:
    """Answer round after round; what was asked in each."""
    asked: list[list[str]] = []
    while questions := rounds.questions:
        asked.append([question.text for question in questions if isinstance(question, Decompose)])
        rounds.advance(judged(questions, answer))
    return asked


def reported(outcome: NeedOutcome) -> list[str]:
    """What a need found."""
    assert isinstance(outcome, Statements)
    return [piece.text for piece in outcome.pieces]


def test_needs_go_on_together_wave_by_wave() -> None:
    """Each round holds what all needs ask at that step, and each need receives its own answers in its own order."""
    rounds = Rounds(Sample("1"), [asking("one", "aID b", "cID"), asking("two", "d")])
    assert finish(rounds) == [["a1", "b", "d"], ["c1"]]
    assert reported(rounds.outcomes["one"]) == ["a1", "b", "c1"]
    assert reported(rounds.outcomes["two"]) == ["d"]


def test_a_question_of_an_earlier_wave_is_not_asked_again() -> None:
    """What was answered in one round is known in the next, so a need that asks it later is answered at once."""
    rounds = Rounds(Sample("1"), [asking("late", "a", "b c", "d"), asking("early", "c b")])
    assert finish(rounds) == [["a", "c", "b"], ["d"]]
    assert reported(rounds.outcomes["late"]) == ["a", "b", "c", "d"]


def test_only_what_is_unknown_is_asked() -> None:
    """Of a step's questions only those not yet answered are put; `asking` still names them all, for counting."""
    rounds = Rounds(Sample("1"), [asking("early", "a"), asking("late", "b", "a c")])
    rounds.advance(judged(rounds.questions, echo))
    assert rounds.questions == [Decompose("c")]
    assert list(rounds.pending()) == [("late", Decompose("a")), ("late", Decompose("c"))]
    finish(rounds)
    assert reported(rounds.outcomes["late"]) == ["b", "a", "c"]


def test_equal_needs_are_worked_once() -> None:
    """A need that several metrics declare opens one flow."""
    opened: list[str] = []

    def flow(sample: Sample) -> QuestionFlow[Statements]:
        opened.append(sample.id)
        yield [Decompose("a")]
        return Statements("response", ())

    one = Need[EvidenceTable]("one", (), frozenset({"decompose"}), flow)
    finish(Rounds(Sample("1"), [one, one, one.also_asking("entail")]))
    assert opened == ["1"]


def test_empty_steps_cost_no_wave() -> None:
    """A step without questions is answered at once, and a need without steps ends before the first round."""
    rounds = Rounds(Sample("1"), [asking("none"), asking("gap", "", "a", "", "b", "")])
    assert reported(rounds.outcomes["none"]) == []
    assert finish(rounds) == [["a"], ["b"]]
    assert reported(rounds.outcomes["gap"]) == ["a", "b"]


def test_a_sample_without_the_fields_is_undefined() -> None:
    """A need whose fields are absent is not opened; a field that is present and empty is there."""
    need = asking("one", "a", reads=("response", "contexts"))
    nothing, half, whole = (
        Rounds(sample, [need])
        for sample in (Sample("1"), Sample("2", response=""), Sample("3", response="", contexts=()))
    )
    assert nothing.outcomes["one"] == Undefined("the sample has no response and no contexts")
    assert half.outcomes["one"] == Undefined("the sample has no contexts")
    assert finish(whole) == [["a"]]
    assert reported(whole.outcomes["one"]) == ["a"]


@pytest.mark.parametrize("steps", [(), ("a",), ("a", "b")])
def test_nothing_to_count_is_undefined_with_its_reason(steps: tuple[str, ...]) -> None:
    """A flow may find at any step that there is nothing to count."""
    rounds = Rounds(Sample("1"), [asking("one", *steps, fault="no claim")])
    finish(rounds)
    assert rounds.outcomes["one"] == Undefined("no claim")


def failing(*words: str) -> Callable[[Question], Answer | Failure]:
    """Answers all but some words."""

    def answer(question: Question) -> Answer | Failure:
        assert isinstance(question, Decompose)
        return Failure("judge_error", f"no {question.text}") if question.text in words else echo(question)

    return answer


def test_a_failure_ends_the_needs_that_asked_and_no_others() -> None:
    """Needs that wait for a failed answer end as failed, before their next step; the others go on."""
    rounds = Rounds(Sample("1"), [asking("bad", "a b", "never"), asking("good", "b", "c")])
    assert finish(rounds, failing("a")) == [["a", "b"], ["c"]]
    assert rounds.outcomes["bad"] == Failed("judge_error: no a (1 of 2 questions unanswered)")
    assert reported(rounds.outcomes["good"]) == ["b", "c"]


def test_a_failed_question_is_not_asked_again_in_later_rounds() -> None:
    """A need that comes later to a question that failed fails with the same reason, at no further call."""
    rounds = Rounds(Sample("1"), [asking("first", "a"), asking("later", "b", "a")])
    assert finish(rounds, failing("a")) == [["a", "b"]]
    assert rounds.outcomes["first"] == rounds.outcomes["later"] == Failed("judge_error: no a")


def test_several_failures_are_reported_in_one_sentence() -> None:
    """The most common reason is given, with the number of questions it concerns."""
    rounds = Rounds(Sample("1"), [asking("one", "a b c")])

    def answer(question: Question) -> Answer | Failure:
        return Failure("limit") if question != Decompose("a") else Failure("judge_error", "no a")

    finish(rounds, answer)
    assert rounds.outcomes["one"] == Failed("limit (3 of 3 questions unanswered)")


def test_every_question_of_a_wave_must_be_answered() -> None:
    """A round that is advanced without one of its judgments is an error of the caller, not an endless run."""
    rounds = Rounds(Sample("1"), [asking("one", "a b")])
    with pytest.raises(KeyError):
        rounds.advance(judged([Decompose("a")], echo))


def test_the_outcomes_of_one_sample() -> None:
    """The outcomes of a sample are given by the names of needs."""
    one, two = asking("one"), asking("two", fault="nothing")
    rounds = Rounds(Sample("1"), [one, two])
    assert rounds.outcomes["two"] == Undefined("nothing")
    assert set(rounds.outcomes) == {"one", "two"}


def test_without_needs_there_is_nothing_to_ask() -> None:
    """A sample of which nobody wants to know anything is done at once."""
    assert Rounds(Sample("1"), []).outcomes == {}


steps = st.lists(st.lists(st.sampled_from("abcdefg"), max_size=4).map(" ".join), max_size=4)


@given(st.lists(steps, min_size=1, max_size=5), st.sets(st.sampled_from("abcdefg"), max_size=2))
def test_any_needs_end_without_asking_twice(plans: list[list[str]], broken: set[str]) -> None:
    """Whatever needs ask, no question is put twice, rounds are no more than steps, and every need ends rightly."""
    rounds = Rounds(Sample("1"), [asking(str(i), *plan) for i, plan in enumerate(plans)])
    steps = finish(rounds, failing(*broken))
    asked = [text for step in steps for text in step]
    assert len(set(asked)) == len(asked)
    assert len(steps) <= max(map(len, plans))
    for i, plan in enumerate(plans):
        words = " ".join(plan).split()
        outcome = rounds.outcomes[str(i)]
        assert isinstance(outcome, Failed) if broken & set(words) else reported(outcome) == words


def test_topics_that_nobody_answers() -> None:
    """The topics of needs that cannot be answered are listed once, sorted."""
    one = asking("one")
    needs = [one.also_asking("entail:support"), one.also_asking("entail:contradiction", "classify:toxic"), one]
    assert unanswerable(needs, lambda topic: topic == "decompose") == [
        "classify:toxic",
        "entail:contradiction",
        "entail:support",
    ]
    assert unanswerable(needs, lambda topic: True) == []


def test_fields_that_no_sample_has() -> None:
    """A field is missing if not one of the samples has it; an empty one is there."""
    needs = [asking("one", reads=("response", "contexts")), asking("two", reads=("query",))]
    samples = [Sample("1", response="r"), Sample("2", contexts=())]
    assert missing_fields(needs, samples) == ["query"]
    assert missing_fields(needs, []) == ["contexts", "query", "response"]
