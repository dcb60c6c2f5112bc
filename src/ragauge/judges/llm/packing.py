"""Packing: questions put into as few calls as they fit in, as a function of the questions and the limits alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from typing import Literal, TypeVar

import msgspec

from ragauge.errors import BadParameter
from ragauge.questions import KINDS, Classify, Decompose, Entail, Question, Rate, Relevant, kind
from ragauge.text.sentences import sentences
from ragauge.types import Span

#: Texts up to this many characters whose relevance is asked are inlined in the question, as statements are.
MAX_INLINE_CHARS = 240

#: Characters that a question takes in addition to its texts: its number, quotes and brackets.
QUESTION_OVERHEAD = 24


class PromptStyle(msgspec.Struct, frozen=True, cache_hash=True):
    """What a judge is asked for beyond a label or grade, and the choices and texts of its prompts.

    rationales: a short reason before each verdict. quotes: the words of a source that decide, for entailment and
    relevance. sources: whether what a text says about its own sources is a claim. conflicts: the label of a claim that
    one source entails and another contradicts. sections: the sections that are not the packaged ones, with their text.
    shuffle: the seed of the order in which a call gives claims and sources; None for that of the questions.
    """

    rationales: bool = True
    quotes: bool = False
    sources: Literal["ignore", "claim"] = "ignore"
    conflicts: Literal["contradicted", "entailed"] = "contradicted"
    sections: tuple[tuple[str, str], ...] = ()
    shuffle: int | None = None

    @property
    def support_outweighs(self) -> bool:
        """Whether a claim that one source entails and another contradicts is entailed."""
        return self.conflicts == "entailed"


class PackLimits(msgspec.Struct, frozen=True):
    """What one call may hold.

    prompt_chars: characters of texts in a call that asks for verdicts or grades. verdicts: such questions in a call.
    decompose_chars: characters of texts that one call decomposes; its reply repeats them.
    """

    prompt_chars: int = 48_000
    verdicts: int = 30
    decompose_chars: int = 8_000

    def limit(self, question: Question) -> int:
        """The characters of texts that a call may hold for this question; longer ones must be split."""
        return self.decompose_chars if isinstance(question, Decompose) else self.prompt_chars


@dataclass(frozen=True)
class Pack:
    """The questions of one call: some to decompose that share a query, or some of the other kinds, in any order.

    shuffle: as in PromptStyle.
    """

    questions: tuple[Question, ...]
    shuffle: int | None = None

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The kinds of its questions."""
        return frozenset(map(kind, self.questions))

    @property
    def decomposes(self) -> bool:
        """Whether its questions are to decompose texts; such questions are never mixed with others."""
        return isinstance(self.questions[0], Decompose)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The keys of the questions in the call and in its reply: "T1", "T2" ... or "1", "2" ..."""
        return _keys("T" if self.decomposes else "", len(self.questions))

    @cached_property
    def sources(self) -> dict[str, str]:
        """The id ("S1", "S2" ...) of each text that is not inlined in a question: chunks first, each text once."""
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
                if question.reference is not None or len(question.text) > MAX_INLINE_CHARS or question.text in named:
                    passages.append(question.text)
            elif isinstance(question, Rate):
                others += [text for field, text in question.texts if field != "query"]
        texts = dict.fromkeys(chain.from_iterable(shuffled(some, self.shuffle) for some in (joint, passages, others)))
        return dict(zip(texts, _keys("S", len(texts)), strict=True))

    @cached_property
    def sentences(self) -> tuple[tuple[Span, ...], ...]:
        """The sentences of each text to decompose, at least one."""
        texts = (question.text for question in self.questions if isinstance(question, Decompose))
        return tuple(tuple(sentences(text)) or ((0, len(text)),) for text in texts)


@lru_cache(maxsize=256)
def _keys(letter: str, count: int) -> tuple[str, ...]:
    return tuple(f"{letter}{number}" for number in range(1, count + 1))


_T = TypeVar("_T")


def shuffled(items: Iterable[_T], seed: int | None) -> list[_T]:
    """Questions or texts by a hash of each with the seed, whatever their order was; as they are without a seed."""
    if seed is None:
        return list(items)
    return sorted(items, key=lambda item: hashlib.sha256(msgspec.json.encode((seed, item))).digest())


def packs(
    questions: Iterable[Question], limits: PackLimits, alone: bool = False, shuffle: int | None = None
) -> list[Pack]:
    """The calls that ask these questions, those to decompose first; a question that is given twice is asked once.

    Questions that share texts are packed together, so that few texts are sent twice. A question that exceeds the
    limits by itself gets a call of its own. alone: each question does. shuffle: as in PromptStyle; texts to decompose
    keep their order.
    """
    groups: dict[object, list[Question]] = {}
    for question in dict.fromkeys(questions):
        groups.setdefault(_group(question), []).append(question)
    if alone:
        return [Pack((question,), shuffle) for group in groups.values() for question in group]
    decomposed = [group for group in groups.values() if isinstance(group[0], Decompose)]
    others = (shuffled(group, shuffle) for group in groups.values() if not isinstance(group[0], Decompose))
    judged = sorted(others, key=_rank)
    calls = chain.from_iterable(_calls(some, limits) for some in (*decomposed, chain.from_iterable(judged)))
    return [Pack(tuple(call), shuffle) for call in calls]


def _group(question: Question) -> object:
    """What the questions of a group share."""
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


def _calls(questions: Iterable[Question], limits: PackLimits) -> Iterator[list[Question]]:
    """The calls for questions to decompose, or for others; a text or query that several of a call share counts once."""
    call: list[Question] = []
    chars, texts, queries = 0, set[str](), set[str]()
    for question in questions:
        shared, query, own_chars = _packing_parts(question)
        size = own_chars + sum([len(text) for text in shared if text not in texts])
        size += 0 if query in queries else len(query)
        full = len(call) >= limits.verdicts and not isinstance(question, Decompose)
        if call and (full or chars + size > limits.limit(question)):
            yield call
            call, chars, texts, queries = [], 0, set(), set()
            size = own_chars + sum(map(len, shared)) + len(query)
        call.append(question)
        chars += size
        texts.update(shared)
        queries.add(query)
    if call:
        yield call


def _packing_parts(question: Question) -> tuple[Sequence[str], str, int]:
    """The texts and the query that others of its call may share with a question, and the characters of its own."""
    match question:
        case Decompose():
            return (), "", len(question.text)
        case Entail():
            return question.premise, question.query or "", len(question.hypothesis) + QUESTION_OVERHEAD
        case Relevant():
            return (question.text, question.reference or ""), question.query, QUESTION_OVERHEAD
        case Rate():
            texts = [text for field, text in question.texts if field != "query"]
            return texts, dict(question.texts).get("query", ""), QUESTION_OVERHEAD
    return (), "", len(question.text) + QUESTION_OVERHEAD


#: Tokens of the smallest window that holds the instructions, a reply, and some text.
MIN_CONTEXT = 4000

#: Tokens that the instructions and the reply to a full call take; those of the instructions alone.
_INSTRUCTIONS_AND_REPLY, _INSTRUCTIONS = 3000, 1500

#: A lower bound of the average characters a token; English has four.
_CHARS_PER_TOKEN = 2


def pack_limits(context: int | None) -> PackLimits:
    """What a call may hold so that it fits a window of `context` tokens. Raises BadParameter for one too small."""
    default = PackLimits()
    if context is None:
        return default
    if context < MIN_CONTEXT:
        raise BadParameter(f"context={context} must be {MIN_CONTEXT} tokens or more, for instructions and a reply")
    prompt_chars = _CHARS_PER_TOKEN * (context - _INSTRUCTIONS_AND_REPLY)
    # The reply repeats the text, in a form three times as long.
    decompose_chars = _CHARS_PER_TOKEN * (context - _INSTRUCTIONS) // 4
    return PackLimits(
        min(prompt_chars, default.prompt_chars), default.verdicts, min(decompose_chars, default.decompose_chars)
    )
