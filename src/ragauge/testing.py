"""A contract test for judges of your own: `check_judge(lambda: MyJudge(model="..."))`."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence

from ragauge.judges.base import Judge, adapted, can_answer, checked
from ragauge.questions import KIND_TYPES, KINDS, Question
from ragauge.run.sync import blocking
from ragauge.types import Answer, Failure, Identity

#: Plain questions, at least one of each kind.
PLAIN: tuple[Question, ...] = tuple(
    question
    for kind in KIND_TYPES.values()
    for question in kind.samples("It is 28 metres high, and was built in 1901.")
)

_LONG = "The lamp is lit at dusk. " * 10_000
_ODD = ("", " \n\t", "e\u0301 \u202eabc\u202c 😀 漢字 مرحبا \x00", "[1]", "?!")


def check_judge(make: Callable[[], Judge], questions: Sequence[Question] = PLAIN) -> None:
    """Check that a judge keeps its contract.

    Two judges of the same settings have equal identities, which can be pickled. The judge answers at least one
    question. Each answer fits its question and is the same alone and in a batch, unless the judge works
    `by_sample`. No questions give no answers. Unusual texts (empty, many scripts, very long) and kinds that
    it does not claim give an answer or a Failure, never an exception.

    Args:
        make: Returns a new judge of the same settings at each call.
        questions: Questions to ask besides the unusual texts; kinds that are not in `answers` are skipped.

    Raises:
        AssertionError: The contract is broken; the message says how.
    """
    blocking(_check_judge, "check_judge")(make, questions)


async def _check_judge(make: Callable[[], Judge], questions: Sequence[Question]) -> None:
    judge = make()
    before, other = judge.identity, make().identity
    _demand(isinstance(before, Identity), f"identity is {before!r}, not a ragauge.types.Identity")
    _demand(before == other, f"two judges of the same settings have different identities: {before!r} and {other!r}")
    _demand(pickle.loads(pickle.dumps(before)) == before, f"the identity {before!r} does not survive pickling")
    _demand(bool(judge.answers), "answers is empty; name the kinds of question that it answers")
    unknown = [topic for topic in judge.answers if topic.partition(":")[0] not in KINDS]
    _demand(not unknown, f"answers names {unknown}; the kinds are {', '.join(KINDS)}")
    claimed = [question for question in questions if can_answer(judge, question)]
    answers = await _answers(judge, claimed)
    _demand(not all(isinstance(answer, Failure) for answer in answers), f"no question was answered: {answers[:1]}")
    if not adapted(judge).by_sample:
        for question, answer in zip(claimed, answers, strict=True):
            (alone,) = await _answers(judge, [question])
            same = alone == answer or (isinstance(alone, Failure) and isinstance(answer, Failure))
            _demand(same, f"{question} is answered {alone} alone and {answer} in a batch")
    await _answers(judge, [])
    await _answers(judge, [*questions, *_odd_questions()])
    _demand(judge.identity == before, f"the identity changed from {before!r} to {judge.identity!r} by answering")


async def _answers(judge: Judge, questions: Sequence[Question]) -> Sequence[Answer | Failure]:
    """The judge's answers, after checking that there is one fitting answer to each question."""
    try:
        answers = await judge.answer(questions)
    except Exception as error:
        raise AssertionError(f"answer() raised {error!r}; what cannot be answered is a Failure") from error
    _demand(len(answers) == len(questions), f"{len(answers)} answers to {len(questions)} questions")
    for question, answer in zip(questions, answers, strict=True):
        _demand(isinstance(answer, Answer | Failure), f"{answer!r} is not an answer, verdict, grade or Failure")
        _demand(checked(question, answer) is answer, f"{question!s:.500}: {checked(question, answer)}")
    return answers


def _odd_questions() -> list[Question]:
    questions: list[Question] = []
    for kind in KIND_TYPES.values():
        questions += [question for question in kind.samples(_LONG)[:1] if question.split_sizes()]
        for text in _ODD:
            questions += kind.samples(text)
    return questions


def _demand(holds: bool, fault: str) -> None:
    if not holds:
        raise AssertionError(fault)
