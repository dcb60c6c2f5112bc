"""Questions as typed asks, and answers from what was said to them.

A decisions model reads shared evidence once and answers each ask by itself, in one step. What is held against or judged
at length (chunks, references, graded texts) is evidence, listed once as a numbered source; what is short (a claim, a
query, an opinion) stands in the ask, as JSON. The smallest set of asks that says all that an answer must say:

Entail     a choice of three (entailed, contradicted, neutral) for all chunks together and, where there are several,
           one for each chunk
Relevant   a predicate
Classify   a predicate
Rate       a score over the levels of the rubric's scale
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

import msgspec

from ragauge.judges.llm.decisions import wording
from ragauge.judges.llm.layout import defused
from ragauge.questions import Classify, Entail, Question, Rate, Relevant, Rubric, kind
from ragauge.types import Answer, ChunkVerdict, Failure, Grade, Label, Verdict

#: Hosts of System One models take no more levels than this.
MOST_LEVELS = 10

#: Levels of a scale that is not one of few whole numbers: fifths of it.
LEVELS = 6

#: From which probability on the answer is yes.
HALF = 0.5


AskType = Literal["predicate", "choice", "score"]


class Ask(msgspec.Struct, frozen=True):
    """One typed question of the protocols.

    instructions: in words, and JSON with the texts in question. sources: ids of the evidence it names.
    options: (value, meaning) of each option of a choice, or of each level of a score, lowest first.
    """

    type: AskType
    instructions: str
    sources: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()


class Said(msgspec.Struct, frozen=True):
    """What a model said to an ask.

    number: the probability of yes, or the expected level of a score, counted from 0. choice: the option chosen.
    shares: the probability of each option; empty where the server tells none.
    """

    type: AskType
    number: float = 0.0
    choice: str = ""
    shares: dict[str, float] = {}


class Sheet:
    """The asks that questions come to, and the texts that they share.

    sources: id -> text, each text once.
    """

    def __init__(self) -> None:
        self.sources: dict[str, str] = {}
        self._ids: dict[str, str] = {}
        self._asked: dict[Question, list[Ask]] = {}

    def take(self, questions: Iterable[Question]) -> list[Ask]:
        """Take in questions; gives their asks, each once, but for those that are on the sheet already."""
        before = set(chain.from_iterable(self._asked.values()))
        fresh = {question: self._asks(question) for question in questions if question not in self._asked}
        self._asked.update(fresh)
        return [ask for ask in dict.fromkeys(chain.from_iterable(fresh.values())) if ask not in before]

    def _asks(self, question: Question) -> list[Ask]:
        asks = _ASKS.get(type(question))
        return asks(question, self._named) if asks else []

    def _named(self, text: str) -> str:
        """The id of a text."""
        id = self._ids.setdefault(text, f"S{len(self._ids) + 1}")
        self.sources[id] = text
        return id

    def askers(self, asks: Iterable[Ask]) -> list[Question]:
        """The questions that any of the asks belong to."""
        some = set(asks)
        return [question for question, own in self._asked.items() if not some.isdisjoint(own)]

    def answer(self, question: Question, said: Mapping[Ask, Said | Failure]) -> Answer | Failure:
        """The answer to a question of the sheet; a Failure where one of its asks has none."""
        return _answer(question, [said.get(ask, _UNSAID) for ask in self._asked[question]])


_UNSAID = Failure("unanswered", "it has not been asked yet")

Named = Callable[[str], str]


def _told(words: str, **texts: object) -> str:
    """Instructions, and below them the texts that they speak of; those that are None are left out."""
    given = {name: text for name, text in texts.items() if text is not None}
    return f"{words}\n{defused(msgspec.json.encode(given).decode())}"


def _entailment(question: Entail, named: Named) -> list[Ask]:
    sources = [named(text) for text in question.premise]
    together = list(dict.fromkeys(sources))
    groups = [together, *([each] for each in sources)] if len(sources) > 1 else [together]
    words = wording.ENTAIL if question.query is None else wording.ENTAIL_WITH_QUERY
    return [
        Ask(
            "choice",
            _told(words, sources=group, query=question.query, claim=question.hypothesis),
            tuple(group),
            wording.ENTAILMENT,
        )
        for group in groups
    ]


def _relevance(question: Relevant, named: Named) -> list[Ask]:
    source, reference = named(question.text), question.reference
    if reference is None:
        return [Ask("predicate", _told(wording.RELEVANT, source=source, query=question.query), (source,))]
    known = named(reference)
    told = _told(wording.RELEVANT_TO_REFERENCE, source=source, query=question.query, reference=known)
    return [Ask("predicate", told, (source, known))]


def _trait(question: Classify, _: Named) -> list[Ask]:
    words = wording.TRAITS.get(question.trait, wording.OTHER_TRAIT)
    return [Ask("predicate", _told(words, trait=question.trait, opinion=question.text))]


def _grade(question: Rate, named: Named) -> list[Ask]:
    texts = {field: named(text) for field, text in question.texts}
    told = _told(f"{wording.RATE}\n{question.rubric.wording}", rubric=question.rubric.name, texts=texts)
    options = tuple((f"{level:.6g}", "") for level in levels(question.rubric))
    return [Ask("score", told, tuple(dict.fromkeys(texts.values())), options)]


_ASKS: dict[type, Callable[[Any, Named], list[Ask]]] = {
    Entail: _entailment,
    Relevant: _relevance,
    Classify: _trait,
    Rate: _grade,
}


def levels(rubric: Rubric) -> list[float]:
    """The levels in which a scale is asked, lowest first: its whole numbers where they are few, else fifths of it."""
    low, high = (math.ceil(rubric.low), math.floor(rubric.high)) if rubric.whole else (rubric.low, rubric.high)
    if rubric.whole and high - low < MOST_LEVELS:
        return [float(level) for level in range(int(low), int(high) + 1)]
    return [low + (high - low) * step / (LEVELS - 1) for step in range(LEVELS)]


#: How far rounding may carry a number out of its range.
_ROUNDING = 1e-3


def checked(ask: Ask, said: Said) -> Said | Failure:
    """What was said, where it is an answer to the ask."""
    values = [value for value, _ in ask.options]
    if said.type != ask.type:
        return Failure("invalid_answer", f"a {said.type} does not answer a {ask.type}")
    if ask.type == "choice" and said.choice not in values:
        return Failure("invalid_answer", f"{said.choice!r} is none of {', '.join(values)}")
    top = len(values) - 1.0 if ask.type == "score" else 1.0
    for number in (said.number, *said.shares.values()):
        if not -_ROUNDING <= number <= top + _ROUNDING:
            return Failure("invalid_answer", f"{number:g} lies outside 0 to {top:g}")
    return said


def _answer(question: Question, said: Iterable[Said | Failure]) -> Answer | Failure:
    heard: list[Said] = []
    for each in said:
        if isinstance(each, Failure):
            return each
        heard.append(each)
    match question:
        case Entail():
            return _verdict(heard)
        case Relevant() | Classify():
            probability = _share(heard[0].number)
            return Verdict(Label.YES if probability >= HALF else Label.NO, probability)
        case Rate():
            return Grade(_value(question.rubric, heard[0].number))
        case _:
            return Failure("no_judge", wording.CANNOT.format(kind(question)))


def _verdict(heard: Sequence[Said]) -> Verdict:
    each = [ChunkVerdict(Label(said.choice), _entailed(said)) for said in heard]
    return Verdict(each[0].label, each[0].probability, tuple(each[1:] or each))


def _entailed(said: Said) -> float | None:
    probability = said.shares.get(Label.ENTAILED)
    return None if probability is None else _share(probability)


def _share(number: float) -> float:
    return min(max(number, 0.0), 1.0)


def _value(rubric: Rubric, position: float) -> float:
    """The grade at an expected level; of a rubric of whole grades, the nearest."""
    scale = levels(rubric)
    value = scale[0] + (scale[-1] - scale[0]) * position / max(1, len(scale) - 1)
    value = min(max(value, scale[0]), scale[-1])
    return float(math.floor(value + 0.5)) if rubric.whole else value
