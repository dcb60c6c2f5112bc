"""What a person says of a question: short forms such as "s 2" (supported by chunk 2), "y" or "4"."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ragauge.errors import UsageError
from ragauge.questions import Classify, Decompose, Entail, Question, Rate, Relevant, invalid_reason
from ragauge.types import Answer, ChunkVerdict, Grade, Label, Verdict

#: The letters for the labels of entailment, and of the other verdicts.
ENTAILMENT: Mapping[str, Label] = {"s": Label.ENTAILED, "n": Label.NEUTRAL, "c": Label.CONTRADICTED}
YES_NO: Mapping[str, Label] = {"y": Label.YES, "n": Label.NO}

_DECIDING = (Label.ENTAILED, Label.CONTRADICTED)


class Choice(msgspec.Struct, frozen=True):
    """One thing that can be said of a question: the letter for it and, in words, what it means."""

    key: str
    label: Label
    words: str


def choices(question: Question) -> tuple[Choice, ...]:
    """What can be said of a verdict; nothing for a grade, which is a number on the rubric's scale."""
    match question:
        case Entail():
            words = {"s": "supported", "n": "not supported", "c": "contradicted"}
            return tuple(Choice(key, label, words[key]) for key, label in ENTAILMENT.items())
        case Relevant() | Classify():
            return tuple(Choice(key, label, label.value) for key, label in YES_NO.items())
    return ()


def asked(question: Question) -> str:
    """What a person is asked, in one sentence."""
    match question:
        case Entail():
            return "Do the texts together support the claim, contradict it, or neither?"
        case Relevant(_, _, reference):
            aim = "answer the query" if reference is None else "give the reference as an answer"
            return f"Does any part of the text help to {aim}?"
        case Classify(_, trait):
            return f"Is it {trait}?"
        case Rate(rubric):
            return f"{rubric.name}, {rubric.low:g} to {rubric.high:g}: {rubric.wording}"
        case Decompose():
            return "Which statements does the text make?"


def reply(question: Question, typed: str) -> Answer:
    """The answer that was typed.

    A verdict is its letter. For entailment the numbers of the chunks that say so may follow, and what others say behind
    them: "s 2", "s 1 c 3". A grade is a number. Raises UsageError for anything else, with what can be said.
    """
    if isinstance(question, Rate):
        return _fitting(question, _grade(question, typed))
    letters = {choice.key: choice.label for choice in choices(question)}
    words = typed.lower().split()
    if not words or words[0] not in letters or (len(words) > 1 and not isinstance(question, Entail)):
        said = ", ".join(f"{choice.key} ({choice.words})" for choice in choices(question))
        raise UsageError(f"{typed!r} is no answer; say one of {said}")
    if isinstance(question, Entail):
        return Verdict(letters[words[0]], chunks=_chunks(question, words))
    return Verdict(letters[words[0]])


def verdict(question: Question, label: Label, chunks: Mapping[int, Label]) -> Answer:
    """A verdict with what single chunks say, by position; chunks that are not named say neither.

    Where several chunks decide together and none is named, nothing is told of each. Raises UsageError where the label
    does not fit the question, or there is no such chunk.
    """
    if not isinstance(question, Entail):
        return _fitting(question, Verdict(label))
    size = len(question.premise)
    if any(not 0 <= at < size for at in chunks):
        raise UsageError(f"there are {size} texts, and one of {sorted(at + 1 for at in chunks)} was named")
    if not chunks and label in _DECIDING and size > 1:
        return Verdict(label)
    told = dict(chunks) if chunks else dict.fromkeys(range(size), label)
    each = tuple(ChunkVerdict(told.get(at, Label.NEUTRAL)) for at in range(size))
    return _fitting(question, Verdict(label, chunks=each))


def _chunks(question: Entail, words: list[str]) -> tuple[ChunkVerdict, ...]:
    """What each chunk says, by the numbers behind the letters."""
    named: dict[int, Label] = {}
    letter = words[0]
    for word in words[1:]:
        if word in ENTAILMENT:
            letter = word
        elif word.isdecimal():
            named[int(word) - 1] = ENTAILMENT[letter]
        else:
            raise UsageError(f"{word!r} is neither the number of a text nor one of {', '.join(ENTAILMENT)}")
    told = verdict(question, ENTAILMENT[words[0]], named)
    assert isinstance(told, Verdict)
    return told.chunks


def _grade(question: Rate, typed: str) -> Grade:
    try:
        return Grade(float(typed.replace(",", ".")))
    except ValueError:
        rubric = question.rubric
        raise UsageError(f"{typed!r} is no grade; say a number from {rubric.low:g} to {rubric.high:g}") from None


def _fitting(question: Question, answer: Answer) -> Answer:
    fault = invalid_reason(question, answer)
    if fault:
        raise UsageError(f"the answer does not fit the question: {fault}")
    return answer
