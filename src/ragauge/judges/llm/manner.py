"""The manner in which a judge asks: what a call may hold, whether one question at a time, what an answer carries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from ragauge.errors import BadParameter
from ragauge.judges.llm.packing import Pack, Room, packs
from ragauge.judges.llm.prompts import DIGEST, Style
from ragauge.judges.splitting import LEAST, Split, split
from ragauge.questions import Question

#: Tokens of the smallest window that holds the instructions, a reply, and some text.
LEAST_CONTEXT = 4000

#: Tokens that the instructions and the reply to a full call take; those that the instructions take.
_BESIDE, _INSTRUCTIONS = 3000, 1500

#: Characters a token, at least on the average of a text; English has four.
_CHARS = 2


class Manner(msgspec.Struct, frozen=True):
    """How questions are asked."""

    room: Room
    alone: bool
    style: Style

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """What of it can change an answer, for an identity."""
        said = [
            ("pack", "alone" if self.alone else "together"),
            ("prompts", DIGEST),
            ("quotes", str(self.style.quotes).lower()),
            ("rationales", str(self.style.rationales).lower()),
        ]
        if self.room != Room():
            said.append(("room", f"{self.room.prompt_chars}/{self.room.decompose_chars}"))
        return tuple(said)

    def packs(self, questions: Iterable[Question]) -> list[Pack]:
        """The calls that ask these questions."""
        return packs(questions, self.room, self.alone)

    def calls(self, questions: Sequence[Question]) -> tuple[list[Pack], dict[Question, Split]]:
        """The calls that ask these questions, and the parts of those questions that are too long for a call."""
        calls, limit = self.packs(questions), self.room.limit
        alone = [pack.questions[0] for pack in calls if len(pack.questions) == 1]  # so is what is too long
        splits = {question: parted for question in alone if (parted := split(question, limit(question)))}
        return self.packs(_parts(questions, splits)) if splits else calls, splits


class Fit:
    """The manner in which a judge asks at the moment: calls are smaller once its server found one too long.

    A call of half the characters of the shortest one that was refused is held to fit, so that what a window is too
    small for is found out once and not with each question; but no limit falls below LEAST. What is learned so is no
    part of the judge's identity, which must be known before anything is asked, and is forgotten when the judge is
    opened anew.
    """

    def __init__(self, manner: Manner) -> None:
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


def _parts(questions: Sequence[Question], splits: Mapping[Question, Split]) -> list[Question]:
    """The questions, with its parts in place of one that is split."""
    return [part for question in questions for part in (splits[question].parts if question in splits else (question,))]


def room(context: int | None) -> Room:
    """What a call may hold so that it fits a window of so many tokens. Raises BadParameter for a window too small."""
    usual = Room()
    if context is None:
        return usual
    if context < LEAST_CONTEXT:
        raise BadParameter(f"context={context} must be {LEAST_CONTEXT} tokens or more, for instructions and a reply")
    judged = _CHARS * (context - _BESIDE)
    taken_apart = _CHARS * (context - _INSTRUCTIONS) // 4  # the reply repeats the text, in a form three times as long
    return Room(min(judged, usual.prompt_chars), usual.verdicts, min(taken_apart, usual.decompose_chars))
