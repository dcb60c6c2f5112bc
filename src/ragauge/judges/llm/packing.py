"""Packing: questions put into as few calls as they fit in, as a function of the questions and the limits alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from operator import attrgetter
from typing import TypeVar

import msgspec

from ragauge.errors import BadParameter
from ragauge.kinds.call import SourceTexts
from ragauge.questions import Question


class PackLimits(msgspec.Struct, frozen=True):
    """The most that one call may hold.

    prompt_chars: characters of texts in a call that asks for verdicts or grades. verdicts: such questions in a call.
    decompose_chars: characters of texts that one call decomposes; its reply repeats them.
    """

    prompt_chars: int = 48_000
    verdicts: int = 30
    decompose_chars: int = 8_000

    def limit(self, question: Question) -> int:
        """The characters of texts that a call may hold for this question; longer ones must be split."""
        return int(getattr(self, question.limited_by))


@dataclass(frozen=True)
class Pack:
    """The questions of one call: those that come first never with others, and the rest in any order.

    shuffle: as in PromptStyle.
    """

    questions: tuple[Question, ...]
    shuffle: int | None = None

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The kinds of its questions."""
        return frozenset([question.kind for question in self.questions])

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The keys of the questions in the call and in its reply: "T1", "T2" ... or "1", "2" ..."""
        return _keys(self.questions[0].key_prefix, len(self.questions))

    @cached_property
    def sources(self) -> dict[str, str]:
        """The id ("S1", "S2" ...) of each text that is not inlined in a question: chunks first, each text once."""
        cited = SourceTexts()
        for question in sorted(self.questions, key=attrgetter("order")):
            question.cite(cited)
        orders = (shuffled(texts, self.shuffle) for texts in (cited.together, cited.passages, cited.others))
        texts = dict.fromkeys(chain.from_iterable(orders))
        return dict(zip(texts, _keys("S", len(texts)), strict=True))


@lru_cache(maxsize=256)
def _keys(letter: str, count: int) -> tuple[str, ...]:
    return tuple(f"{letter}{number}" for number in range(1, count + 1))


_T = TypeVar("_T")


def shuffled(items: Iterable[_T], seed: int | None) -> list[_T]:
    """Questions or texts ordered by a hash of each with the seed; in their own order without a seed."""
    if seed is None:
        return list(items)
    return sorted(items, key=lambda item: hashlib.sha256(msgspec.json.encode((seed, item))).digest())


def packs(
    questions: Iterable[Question], limits: PackLimits, alone: bool = False, shuffle: int | None = None
) -> list[Pack]:
    """The calls that ask these questions, those to decompose first; a question that is given twice is asked once.

    Questions that share texts are packed together, so that few texts are sent twice. A question that alone exceeds the
    limits gets a call of its own. alone: each question does. shuffle: as in PromptStyle; texts to decompose keep their
    order.
    """
    groups: dict[object, list[Question]] = {}
    for question in dict.fromkeys(questions):
        groups.setdefault(question.group, []).append(question)
    if alone:
        return [Pack((question,), shuffle) for group in groups.values() for question in group]
    first = [group for group in groups.values() if group[0].comes_first]
    others = (shuffled(group, shuffle) for group in groups.values() if not group[0].comes_first)
    ranked = sorted(others, key=lambda group: (group[0].order, group[0].rank))
    calls = chain.from_iterable(_calls(questions, limits) for questions in (*first, chain.from_iterable(ranked)))
    return [Pack(tuple(call), shuffle) for call in calls]


def _calls(questions: Iterable[Question], limits: PackLimits) -> Iterator[list[Question]]:
    """The calls for questions in their order; a text or query that several questions of a call share counts once."""
    call: list[Question] = []
    chars, texts, queries = 0, set[str](), set[str]()
    for question in questions:
        shared, query, own_chars = question.packing_parts()
        size = own_chars + sum([len(text) for text in shared if text not in texts])
        size += 0 if query in queries else len(query)
        full = len(call) >= limits.verdicts and not question.comes_first
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


#: Tokens of the smallest window that holds the instructions, a reply, and some text.
MIN_CONTEXT = 4000

#: Tokens that the instructions and the reply to a full call take; those of the instructions alone.
_INSTRUCTIONS_AND_REPLY, _INSTRUCTIONS = 3000, 1500

#: A lower bound of the average characters a token; English has four.
_CHARS_PER_TOKEN = 2

#: The most characters of texts in a call, however large the window: above 100,000 tokens some providers charge more.
_MAX_CHARS = _CHARS_PER_TOKEN * 100_000


def pack_limits(context: int | None) -> PackLimits:
    """The limits of calls for a window of `context` tokens. Raises BadParameter if it is too small."""
    default = PackLimits()
    if context is None:
        return default
    if context < MIN_CONTEXT:
        raise BadParameter(f"context={context} must be {MIN_CONTEXT} tokens or more, for instructions and a reply")
    prompt_chars = _CHARS_PER_TOKEN * (context - _INSTRUCTIONS_AND_REPLY)
    # The reply repeats the text, in a form three times as long.
    decompose_chars = _CHARS_PER_TOKEN * (context - _INSTRUCTIONS) // 4
    return PackLimits(min(prompt_chars, _MAX_CHARS), default.verdicts, min(decompose_chars, default.decompose_chars))
