"""Judges made of plain functions."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import sys
import uuid
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_VARARGS, CO_VARKEYWORDS
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any

from ragauge.errors import BadParameter
from ragauge.questions import Classify, Decompose, Entail, Question, Rate, Relevant, kind
from ragauge.types import Answer, ChunkVerdict, Decomposition, Failure, Grade, Identity, Label, Statement, Verdict

_FORM = CO_VARARGS | CO_VARKEYWORDS | CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
_PLAIN = (str, bytes, int, float, complex, bool, type(None), type(...))


class _Opaque(Exception):
    """A value whose content cannot be told."""


def fingerprint(functions: Mapping[str, Callable[..., Any]]) -> tuple[tuple[str, str], ...]:
    """One setting per function: a hash of its code, defaults, and the plain values and functions it uses.

    What the standard library gives, and modules that state a version, go by name and version. A function that uses
    anything else (an object, a class or module of the caller's own) gets a hash that no other process can have.
    """
    return tuple((kind, _hashed(function)) for kind, function in sorted(functions.items()))


def _hashed(function: Callable[..., Any]) -> str:
    digest = hashlib.sha256(".".join(map(str, sys.version_info[:2])).encode())
    try:
        for piece in _function(function, set()):
            digest.update(piece.encode() + b"\0")
    except (_Opaque, RecursionError):
        return f"process-{uuid.uuid4().hex}"
    return digest.hexdigest()[:16]


def _function(function: Any, seen: set[int]) -> Iterator[str]:
    if not isinstance(function, FunctionType):
        raise _Opaque
    if id(function) in seen:
        return
    seen.add(id(function))
    yield from _code(function.__code__)
    yield from _value(function.__defaults__, seen)
    yield from _value(function.__kwdefaults__, seen)
    for cell in function.__closure__ or ():
        yield from _cell(cell, seen)
    for name in _names(function.__code__):
        if name in function.__globals__:
            yield name
            yield from _value(function.__globals__[name], seen)


def _cell(cell: CellType, seen: set[int]) -> Iterator[str]:
    try:
        content = cell.cell_contents
    except ValueError:  # not filled yet
        raise _Opaque from None
    yield from _value(content, seen)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _code(code: CodeType) -> Iterator[str]:
    yield code.co_code.hex()
    yield code.co_exceptiontable.hex()
    yield repr((code.co_names, code.co_varnames, code.co_argcount, code.co_kwonlyargcount, code.co_flags & _FORM))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code(constant)
        else:
            yield from _value(constant, set())


def _value(value: Any, seen: set[int]) -> Iterator[str]:
    if isinstance(value, _PLAIN):
        yield f"{type(value).__name__}:{value!r}"
    elif isinstance(value, tuple | list):
        yield f"{type(value).__name__}[{len(value)}"
        for item in value:
            yield from _value(item, seen)
    elif isinstance(value, set | frozenset):
        yield from _value(sorted(map(repr, value)), seen)
    elif isinstance(value, dict):
        yield f"dict[{len(value)}"
        for key, item in value.items():
            yield from _value(key, seen)
            yield from _value(item, seen)
    elif isinstance(value, ModuleType):
        yield f"module:{value.__name__}:{_version(value)}"
    elif isinstance(value, type | FunctionType | BuiltinFunctionType) and _is_standard(value.__module__):
        yield f"standard:{value.__module__}.{value.__qualname__}"
    else:
        yield from _function(value, seen)


def _is_standard(module: str | None) -> bool:
    """Whether the standard library holds a module; the version of Python stands for what is in it."""
    return module is not None and module.partition(".")[0] in sys.stdlib_module_names


def _version(module: ModuleType) -> str:
    if _is_standard(module.__name__):
        return "standard"
    version = getattr(module, "__version__", None)
    if not isinstance(version, str):
        raise _Opaque
    return version


FunctionReply = Any  # whatever the function returns, or an awaitable of it

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

    def __init__(self, functions: dict[str, Callable[..., FunctionReply]], name: str | None) -> None:
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

    async def _call(self, name: str, *args: object, **optional: object) -> FunctionReply:
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

    def _said(self, reply: FunctionReply) -> tuple[Label, float | None]:
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
    def __init__(self, message: str, reply: FunctionReply) -> None:
        super().__init__(f"{message}, not {reply!r:.200}")
        self.reply = reply


def _keywords(function: Callable[..., FunctionReply], given: int) -> set[str] | None:
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


def _yes_no(name: str, reply: FunctionReply) -> Verdict:
    answer, probability = _parted(reply)
    if not _is_bool(answer):
        raise _UnusableReply(f"{name}() must return a bool", reply)
    return Verdict(Label.YES if answer else Label.NO, probability)


_BOOLS = {Label.YES: True, Label.NO: False, Label.NOT_ENTAILED: False}


def _parted(reply: FunctionReply) -> tuple[FunctionReply, float | None]:
    """An answer and its probability: (answer, probability), a Verdict, or an answer alone."""
    if isinstance(reply, Verdict):
        return _BOOLS.get(reply.label, reply.label.value), reply.probability
    if isinstance(reply, tuple) and len(reply) == 2 and isinstance(reply[1], int | float):
        return reply[0], float(reply[1])
    return reply, None


def _is_bool(answer: FunctionReply) -> bool:
    return type(answer).__name__ in ("bool", "bool_")  # numpy has bools of its own


def judge_from(
    *,
    decompose: Callable[..., FunctionReply] | None = None,
    entail: Callable[..., FunctionReply] | None = None,
    relevant: Callable[..., FunctionReply] | None = None,
    classify: Callable[..., FunctionReply] | None = None,
    rate: Callable[..., FunctionReply] | None = None,
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
