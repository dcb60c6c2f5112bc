"""Packing: questions put into as few calls as they fit in. A function of the questions and the room alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain

import msgspec

from ragauge.errors import BadParameter
from ragauge.judges.llm.prompts import DIGEST, PromptStyle
from ragauge.judges.windows import LEAST, SplitQuestion, split
from ragauge.questions import KINDS, Classify, Decompose, Entail, Question, Rate, Relevant, kind
from ragauge.text.sentences import sentences
from ragauge.types import Span

#: Texts up to this many characters whose relevance is asked stand where they are asked about, as statements do.
INLINE = 240

#: Characters that a question takes beside its texts: its number, quotes and brackets.
OVERHEAD = 24


class PackLimits(msgspec.Struct, frozen=True):
    """What one call may hold.

    prompt_chars: characters of texts in a call that asks for verdicts or grades. verdicts: such questions in a call.
    decompose_chars: characters of texts that one call takes apart; its reply repeats them.
    """

    prompt_chars: int = 48_000
    verdicts: int = 30
    decompose_chars: int = 8_000

    def limit(self, question: Question) -> int:
        """The characters of texts that a call may hold for this question; longer ones must be split."""
        return self.decompose_chars if isinstance(question, Decompose) else self.prompt_chars


@dataclass(frozen=True)
class Pack:
    """The questions of one call: some to decompose that share a query, or some of the other kinds, in any order."""

    questions: tuple[Question, ...]

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The kinds of its questions."""
        return frozenset(map(kind, self.questions))

    @property
    def decomposes(self) -> bool:
        """Whether its questions are to take texts apart; such questions are never mixed with others."""
        return isinstance(self.questions[0], Decompose)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """What the questions are called in the call and in its reply: "T1", "T2" ... or "1", "2" ..."""
        return _keys("T" if self.decomposes else "", len(self.questions))

    @cached_property
    def sources(self) -> dict[str, str]:
        """The id ("S1", "S2" ...) of each text that stands apart from the questions: chunks first, each text once."""
        joint: list[str] = []
        passages: list[str] = []
        others: list[str] = []
        for premise in dict.fromkeys(q.premise for q in self.questions if isinstance(q, Entail)):
            (joint if len(premise) > 1 else others).extend(premise)
        named = {*joint, *others}
        for question in self.questions:
            if isinstance(question, Relevant):
                if question.reference is not None:
                    others.append(question.reference)
                if question.reference is not None or len(question.text) > INLINE or question.text in named:
                    passages.append(question.text)
            elif isinstance(question, Rate):
                others += [text for field, text in question.texts if field != "query"]
        texts = dict.fromkeys(chain(joint, passages, others))
        return dict(zip(texts, _keys("S", len(texts)), strict=True))

    @cached_property
    def sentences(self) -> tuple[tuple[Span, ...], ...]:
        """For each text to take apart its sentences, at least one."""
        texts = (question.text for question in self.questions if isinstance(question, Decompose))
        return tuple(tuple(sentences(text)) or ((0, len(text)),) for text in texts)


@lru_cache(maxsize=256)
def _keys(letter: str, count: int) -> tuple[str, ...]:
    return tuple(f"{letter}{number}" for number in range(1, count + 1))


def packs(questions: Iterable[Question], room: PackLimits, alone: bool = False) -> list[Pack]:
    """The calls that ask these questions, those to decompose first; a question that is given twice is asked once.

    Questions that share texts stand together, so that few texts are sent twice. A question that exceeds the room by
    itself gets a call of its own. alone: each question does.
    """
    groups: dict[object, list[Question]] = {}
    for question in dict.fromkeys(questions):
        groups.setdefault(_group(question), []).append(question)
    if alone:
        return [Pack((question,)) for group in groups.values() for question in group]
    taken_apart = [group for group in groups.values() if isinstance(group[0], Decompose)]
    judged = sorted((group for group in groups.values() if not isinstance(group[0], Decompose)), key=_rank)
    calls = chain(
        chain.from_iterable(_decompositions(group, room.decompose_chars) for group in taken_apart),
        _verdicts(chain.from_iterable(judged), room),
    )
    return [Pack(tuple(call)) for call in calls]


def _group(question: Question) -> object:
    """What questions share that stand together."""
    if isinstance(question, Entail):
        return Entail, question.premise, question.query
    if isinstance(question, Relevant):
        return Relevant, question.query, question.reference
    if isinstance(question, Rate):
        return Rate, question.rubric
    return type(question), question.trait if isinstance(question, Classify) else question.query


def _rank(group: Sequence[Question]) -> tuple[int, int]:
    """Kinds in their order; in entailment the premises of several chunks first."""
    first = group[0]
    return KINDS.index(kind(first)), -len(first.premise) if isinstance(first, Entail) else 0


def _decompositions(questions: Iterable[Question], chars: int) -> Iterator[list[Question]]:
    call: list[Question] = []
    held = 0
    for question in questions:
        size = len(question.text) if isinstance(question, Decompose) else 0
        if call and held + size > chars:
            yield call
            call, held = [], 0
        call.append(question)
        held += size
    yield call


def _verdicts(questions: Iterable[Question], room: PackLimits) -> Iterator[list[Question]]:
    call = _PackedCall()
    for question in questions:
        if not call.took(question, room):
            yield call.questions
            call = _PackedCall()
            call.took(question, room)
    if call.questions:
        yield call.questions


class _PackedCall:
    """A call for verdicts as it fills up; a text or query that several of its questions share is counted once."""

    def __init__(self) -> None:
        self.questions: list[Question] = []
        self._chars = 0
        self._texts: set[str] = set()
        self._queries: set[str] = set()

    def took(self, question: Question, room: PackLimits) -> bool:
        """Take one more question, unless that exceeds the room; the first is always taken."""
        texts, query, chars = _packing_parts(question)
        chars += sum([len(text) for text in texts if text not in self._texts])
        chars += 0 if query in self._queries else len(query)
        full = len(self.questions) >= room.verdicts or self._chars + chars > room.prompt_chars
        if self.questions and full:
            return False
        self.questions.append(question)
        self._chars += chars
        self._texts.update(texts)
        self._queries.add(query)
        return True


def _packing_parts(question: Question) -> tuple[Sequence[str], str, int]:
    """The texts and the query that others of its call may share with a question, and the characters of its own."""
    if isinstance(question, Entail):
        return question.premise, question.query or "", len(question.hypothesis) + OVERHEAD
    if isinstance(question, Relevant):
        return (question.text, question.reference or ""), question.query, OVERHEAD
    if isinstance(question, Rate):
        texts = dict(question.texts)
        return [text for field, text in question.texts if field != "query"], texts.get("query", ""), OVERHEAD
    return (), "", len(question.text) + OVERHEAD


#: Tokens of the smallest window that holds the instructions, a reply, and some text.
LEAST_CONTEXT = 4000

#: Tokens that the instructions and the reply to a full call take; those that the instructions take.
_BESIDE, _INSTRUCTIONS = 3000, 1500

#: Characters a token, at least on the average of a text; English has four.
_CHARS = 2


class PackingPolicy(msgspec.Struct, frozen=True):
    """How questions are asked."""

    room: PackLimits
    alone: bool
    style: PromptStyle

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """What of it can change an answer, for an identity."""
        said = [
            ("pack", "alone" if self.alone else "together"),
            ("prompts", DIGEST),
            ("quotes", str(self.style.quotes).lower()),
            ("rationales", str(self.style.rationales).lower()),
        ]
        if self.room != PackLimits():
            said.append(("room", f"{self.room.prompt_chars}/{self.room.decompose_chars}"))
        return tuple(said)

    def packs(self, questions: Iterable[Question]) -> list[Pack]:
        """The calls that ask these questions."""
        return packs(questions, self.room, self.alone)

    def calls(self, questions: Sequence[Question]) -> tuple[list[Pack], dict[Question, SplitQuestion]]:
        """The calls that ask these questions, and the parts of those questions that are too long for a call."""
        calls, limit = self.packs(questions), self.room.limit
        alone = [pack.questions[0] for pack in calls if len(pack.questions) == 1]  # so is what is too long
        splits = {question: parted for question in alone if (parted := split(question, limit(question)))}
        return self.packs(_manner_parts(questions, splits)) if splits else calls, splits


class LearnedLimits:
    """The manner in which a judge asks at the moment: calls are smaller once its server found one too long.

    A call of half the characters of the shortest one that was refused is held to fit, so that what a window is too
    small for is found out once and not with each question; but no limit falls below LEAST. What is learned so is no
    part of the judge's identity, which must be known before anything is asked, and is forgotten when the judge is
    opened anew.
    """

    def __init__(self, manner: PackingPolicy) -> None:
        self.manner = self._asked = manner

    def forget(self) -> None:
        """Ask as one was told to."""
        self.manner = self._asked

    def refused(self, pack: Pack, chars: int) -> None:
        """A call for this pack, with so many characters of texts, was too long."""
        limit = "decompose_chars" if pack.decomposes else "prompt_chars"
        fitting = min(getattr(self.manner.room, limit), max(LEAST, chars // 2))
        narrower = msgspec.structs.replace(self.manner.room, **{limit: fitting})
        self.manner = msgspec.structs.replace(self.manner, room=narrower)


def _manner_parts(questions: Sequence[Question], splits: Mapping[Question, SplitQuestion]) -> list[Question]:
    """The questions, with its parts in place of one that is split."""
    return [part for question in questions for part in (splits[question].parts if question in splits else (question,))]


def pack_limits(context: int | None) -> PackLimits:
    """What a call may hold so that it fits a window of so many tokens. Raises BadParameter for a window too small."""
    usual = PackLimits()
    if context is None:
        return usual
    if context < LEAST_CONTEXT:
        raise BadParameter(f"context={context} must be {LEAST_CONTEXT} tokens or more, for instructions and a reply")
    judged = _CHARS * (context - _BESIDE)
    taken_apart = _CHARS * (context - _INSTRUCTIONS) // 4  # the reply repeats the text, in a form three times as long
    return PackLimits(min(judged, usual.prompt_chars), usual.verdicts, min(taken_apart, usual.decompose_chars))
