"""Judges made of plain functions."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

from ragauge.errors import BadParameter
from ragauge.judges.fingerprint import fingerprint
from ragauge.questions import Classify, Decompose, Entail, Question, Rate, Relevant, kind
from ragauge.types import Answer, ChunkVerdict, Decomposition, Failure, Grade, Identity, Label, Statement, Verdict

Reply = Any  # whatever the function returns, or an awaitable of it

_FLAGS = {
    "claim": {"claim": True, "opinion": False},
    "opinion": {"claim": False, "opinion": True},
    "both": {"claim": True, "opinion": True},
    "neither": {"claim": False, "opinion": False},
}


#: How many questions asynchronous functions answer side by side.
TOGETHER = 16

#: How many arguments the function of each kind is given by position.
_POSITIONAL = {"decompose": 1, "entail": 2, "relevant": 2, "classify": 2, "rate": 1}


class FunctionJudge:
    """A judge whose answers come from functions; see `judge_from`."""

    def __init__(self, functions: dict[str, Callable[..., Reply]], name: str | None) -> None:
        self._functions = functions
        self._takes = {kind: _keywords(function, _POSITIONAL[kind]) for kind, function in functions.items()}
        self._two_way = False
        waits = any(map(inspect.iscoroutinefunction, functions.values()))
        self.batch = TOGETHER if waits else 1
        self.identity = Identity(name, ()) if name else Identity("function", fingerprint(functions))

    @property
    def answers(self) -> frozenset[str]:
        """The kinds there are functions for; a function that has answered with a bool tells entailment two-way."""
        kinds = set(self._functions)
        return frozenset(kinds - {"entail"} | {"entail:support"} if self._two_way else kinds)

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """Call the function of each question's kind; an exception or an unusable reply becomes a Failure.

        Asynchronous functions answer several questions side by side.
        """
        return list(await asyncio.gather(*map(self._answer, questions)))

    async def _answer(self, question: Question) -> Answer | Failure:
        try:
            return await _ASK[type(question)](self, question)
        except _UnusableReply as unusable:
            return Failure("invalid_answer", str(unusable), raw=repr(unusable.reply)[:2000])
        except Exception as error:
            return Failure("judge_error", f"{kind(question)}() raised {type(error).__name__}: {error}")

    async def _call(self, name: str, *args: object, **optional: object) -> Reply:
        """Call a function with `args`, and with those of `optional` that it takes."""
        function = self._functions[name]
        takes = self._takes[name]
        given = {k: v for k, v in optional.items() if takes is None or k in takes}
        reply = function(*args, **given)
        return await reply if isinstance(reply, Awaitable) else reply

    async def _decompose(self, question: Decompose) -> Decomposition:
        pieces = await self._call("decompose", question.text, query=question.query)
        if isinstance(pieces, str) or not isinstance(pieces, Iterable):
            raise _UnusableReply("decompose() must return a list of texts or (text, kind)", pieces)
        found: list[Statement] = []
        for piece in pieces:
            found.append(_statement(piece, question.text, _after(found)))
        return Decomposition(tuple(found))

    async def _entail(self, question: Entail) -> Verdict:
        premise = question.premise if len(question.premise) == 1 else (*question.premise, "\n".join(question.premise))
        calls = (self._call("entail", text, question.hypothesis, query=question.query) for text in premise)
        said = [self._said(reply) for reply in await asyncio.gather(*calls)]
        label, probability = said[-1]
        return Verdict(label, probability, tuple(ChunkVerdict(*each) for each in said[: len(question.premise)]))

    def _said(self, reply: Reply) -> tuple[Label, float | None]:
        """The label, and the probability where one comes with it."""
        answer, probability = _parted(reply)
        if _is_bool(answer):
            self._two_way = True
            return Label.ENTAILED if answer else Label.NOT_ENTAILED, probability
        if answer in ("entailed", "neutral", "contradicted"):
            return Label(answer), probability
        raise _UnusableReply("entail() must return a bool, or 'entailed', 'neutral' or 'contradicted'", reply)

    async def _relevant(self, question: Relevant) -> Verdict:
        return _yes_no(
            "relevant", await self._call("relevant", question.query, question.text, reference=question.reference)
        )

    async def _classify(self, question: Classify) -> Verdict:
        return _yes_no("classify", await self._call("classify", question.text, question.trait))

    async def _rate(self, question: Rate) -> Grade:
        grade = await self._call("rate", question.rubric.name, **dict(question.texts))
        if isinstance(grade, bool) or not isinstance(grade, int | float):
            raise _UnusableReply("rate() must return a number", grade)
        return Grade(float(grade))


_ASK: dict[type, Callable[[FunctionJudge, Any], Awaitable[Answer]]] = {
    Decompose: FunctionJudge._decompose,
    Entail: FunctionJudge._entail,
    Relevant: FunctionJudge._relevant,
    Classify: FunctionJudge._classify,
    Rate: FunctionJudge._rate,
}


class _UnusableReply(Exception):
    def __init__(self, message: str, reply: Reply) -> None:
        super().__init__(f"{message}, not {reply!r:.200}")
        self.reply = reply


def _keywords(function: Callable[..., Reply], given: int) -> set[str] | None:
    """The names a function takes as keywords after `given` arguments by position; None where it takes any."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:  # some built-in functions do not tell
        return set()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    free = {p.name for p in parameters[given:] if p.kind is p.POSITIONAL_OR_KEYWORD}
    return free | {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}


def _after(found: Sequence[Statement]) -> int:
    """Where the search for the next statement begins: behind the last one that was found."""
    return max((piece.span[1] for piece in found if piece.span), default=0)


def _statement(piece: object, text: str, start: int) -> Statement:
    written, flags = piece if isinstance(piece, tuple) and len(piece) == 2 else (piece, "claim")
    if not isinstance(written, str) or flags not in _FLAGS:
        raise _UnusableReply(f"decompose() must return texts, or (text, kind) with kind one of {list(_FLAGS)}", piece)
    at = text.find(written, start)
    at = text.find(written) if at < 0 else at
    return Statement(written, (at, at + len(written)) if at >= 0 else None, **_FLAGS[flags])


def _yes_no(name: str, reply: Reply) -> Verdict:
    answer, probability = _parted(reply)
    if not _is_bool(answer):
        raise _UnusableReply(f"{name}() must return a bool", reply)
    return Verdict(Label.YES if answer else Label.NO, probability)


_BOOLS = {Label.YES: True, Label.NO: False, Label.NOT_ENTAILED: False}


def _parted(reply: Reply) -> tuple[Reply, float | None]:
    """An answer and its probability: (answer, probability), a Verdict, or an answer alone."""
    if isinstance(reply, Verdict):
        return _BOOLS.get(reply.label, reply.label.value), reply.probability
    if isinstance(reply, tuple) and len(reply) == 2 and isinstance(reply[1], int | float):
        return reply[0], float(reply[1])
    return reply, None


def _is_bool(answer: Reply) -> bool:
    return type(answer).__name__ in ("bool", "bool_")  # numpy has bools of its own


def judge_from(
    *,
    decompose: Callable[..., Reply] | None = None,
    entail: Callable[..., Reply] | None = None,
    relevant: Callable[..., Reply] | None = None,
    classify: Callable[..., Reply] | None = None,
    rate: Callable[..., Reply] | None = None,
    name: str | None = None,
) -> FunctionJudge:
    """A judge made of plain functions, sync or async; give those you have.

    decompose(text) -> list of statements, each a text or (text, kind), kind "claim", "opinion", "both" or "neither".
    entail(premise, hypothesis) -> True or False (two-way), or "entailed", "neutral", "contradicted". It is called with
    each chunk, and with all chunks joined by newlines for the joint label; a single chunk is asked once.
    relevant(query, text, reference=None) -> bool. classify(text, trait) -> bool; traits are "biased" and "toxic".
    Any of these three may return (answer, probability) instead, the probability that it is True or entailed.
    rate(rubric, **texts) -> a number on the scale of the rubric of that name.
    decompose and entail are passed `query=` where they take it.

    name: the judge's identity in a store; change it when the functions change what they answer. Without it the
    identity is taken from the functions' code and the plain values they use, and where that cannot be told (they use
    objects of other kinds) it is new in every process, so that nothing stale is ever reused.
    """
    given = {"decompose": decompose, "entail": entail, "relevant": relevant, "classify": classify, "rate": rate}
    functions = {kind: function for kind, function in given.items() if function is not None}
    if not functions:
        raise BadParameter("judge_from() needs at least one function, such as entail=...")
    for keyword, function in functions.items():
        if not callable(function):
            raise BadParameter(f"{keyword}= must be a function, not {function!r}")
    return FunctionJudge(functions, name)
