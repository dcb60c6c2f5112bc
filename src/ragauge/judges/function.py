"""Judges made of plain functions."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import sys
import uuid
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_VARARGS, CO_VARKEYWORDS
from itertools import chain
from operator import attrgetter
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple, TypeGuard

from ragauge.errors import BadParameter
from ragauge.judges.base import JudgeBase
from ragauge.questions import Classify, Decompose, Entail, Question, Rate, Relevant, kind
from ragauge.types import Answer, ChunkVerdict, Decomposition, Failure, Grade, Identity, Label, Statement, Verdict

_SIGNATURE_FLAGS = CO_VARARGS | CO_VARKEYWORDS | CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
_PLAIN = (str, bytes, int, float, complex, bool, type(None), type(...))


class _Unidentified(Exception):
    """A value that cannot be recognised in another process; the message names it."""


class Fingerprint(NamedTuple):
    """By keyword the hash of each function, for an identity; and which no other process can recognise, and why."""

    settings: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


def fingerprint(functions: Mapping[str, Callable[..., Any]]) -> Fingerprint:
    """The fingerprint of functions by keyword: a hash of code, defaults, and the plain values and functions used.

    What the standard library provides, and modules that state a version, are identified by name and version. A function
    that uses other values is identified by its module, its name and its code, if it can be imported; otherwise its hash
    is new in every process, so that no stored answer of another function is reused.
    """
    settings, notes = [], []
    for keyword, function in sorted(functions.items()):
        try:
            if not isinstance(function, FunctionType):
                raise _Unidentified(f"an object of {type(function).__qualname__}")
            visited = {id(function)}
            pieces = [text for value in _used_by(function) for text in _parts(value, visited)]
        except (_Unidentified, RecursionError) as error:
            if not _is_importable(function):
                used = "a value that is nested too deeply" if isinstance(error, RecursionError) else error
                settings.append((keyword, f"process-{uuid.uuid4().hex}"))
                notes.append(
                    f"{keyword}: the function uses {used}, which no other process can recognise, so its stored "
                    "answers are not reused there; to reuse them give it a name, as in name='my-judge-1', and change "
                    "the name with the function"
                )
                continue
            pieces = [f"{function.__module__}.{function.__qualname__}", *_parts(function.__code__, set())]
        digest = hashlib.sha256(".".join(map(str, sys.version_info[:2])).encode())
        digest.update("".join(f"{piece}\0" for piece in pieces).encode())
        settings.append((keyword, digest.hexdigest()[:16]))
    return Fingerprint(tuple(settings), tuple(notes))


def _is_importable(function: Callable[..., Any]) -> TypeGuard[FunctionType]:
    """Whether a function is found under its name in its module, in any process."""
    if not isinstance(function, FunctionType) or function.__module__ in (None, "__main__"):
        return False
    try:
        return attrgetter(function.__qualname__)(sys.modules.get(function.__module__)) is function
    except AttributeError:
        return False


class _Text(str):
    """A part of a fingerprint as it is."""


def _parts(value: object, visited: set[int]) -> Iterator[str]:
    """The texts of a value and of all that it contains and uses, depth first; each function once."""
    if isinstance(value, _Text):
        yield value
    elif isinstance(value, _PLAIN):
        yield f"{type(value).__name__}:{value!r}"
    elif id(value) not in visited:
        if isinstance(value, FunctionType) and not _is_standard(value.__module__):
            visited.add(id(value))
        for part in _contents(value):
            yield from _parts(part, visited)


def _contents(value: object) -> list[object]:
    """The parts of a value, in order. Raises _Unidentified for a value of any other type."""
    if isinstance(value, tuple | list):
        return [_Text(f"{type(value).__name__}[{len(value)}"), *value]
    if isinstance(value, set | frozenset):
        return [sorted(map(repr, value))]
    if isinstance(value, dict):
        return [_Text(f"dict[{len(value)}"), *chain.from_iterable(value.items())]
    if isinstance(value, CodeType):
        names = (value.co_names, value.co_varnames, value.co_argcount, value.co_kwonlyargcount)
        signature = repr((*names, value.co_flags & _SIGNATURE_FLAGS))
        return [*map(_Text, (value.co_code.hex(), value.co_exceptiontable.hex(), signature)), *value.co_consts]
    if isinstance(value, ModuleType):
        version = "standard" if _is_standard(value.__name__) else getattr(value, "__version__", None)
        if not isinstance(version, str):
            raise _Unidentified(f"the module {value.__name__}, which states no __version__")
        return [_Text(f"module:{value.__name__}:{version}")]
    if isinstance(value, type | FunctionType | BuiltinFunctionType) and _is_standard(value.__module__):
        return [_Text(f"standard:{value.__module__}.{value.__qualname__}")]
    if isinstance(value, FunctionType):
        return _used_by(value)
    raise _Unidentified(
        f"the class {value.__qualname__}" if isinstance(value, type) else f"an object of {type(value).__qualname__}"
    )


def _used_by(function: FunctionType) -> list[object]:
    """A function's code, defaults, closure, and the globals that it names, each behind its name."""
    try:
        closure = [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError:
        raise _Unidentified("a variable that has no value yet") from None
    known = function.__globals__
    named = [(_Text(name), known[name]) for name in _names(function.__code__) if name in known]
    return [function.__code__, function.__defaults__, function.__kwdefaults__, *closure, *chain.from_iterable(named)]


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _is_standard(module: str | None) -> bool:
    return module is not None and module.partition(".")[0] in sys.stdlib_module_names


#: What the function that decomposes may call a statement.
_STATEMENT_KINDS = ("claim", "opinion", "both", "neither")

#: How many questions asynchronous functions answer concurrently.
ASYNC_BATCH = 16

#: How many arguments the function of each kind is given by position.
_POSITIONAL = {"decompose": 1, "entail": 2, "relevant": 2, "classify": 2, "rate": 1}


class FunctionJudge(JudgeBase):
    """A judge whose answers come from functions; see `judge_from`."""

    def __init__(self, functions: dict[str, Callable[..., Any]], name: str | None) -> None:
        self._functions = functions
        self._keywords = {kind: _keywords(function, _POSITIONAL[kind]) for kind, function in functions.items()}
        self._two_way = False
        self.batch = ASYNC_BATCH if any(map(inspect.iscoroutinefunction, functions.values())) else 1
        settings, self._notes = fingerprint({} if name else functions)
        self.identity = Identity(name or "function", settings)

    @property
    def answers(self) -> frozenset[str]:
        """The kinds there are functions for; an `entail` that has returned a bool is two-way."""
        kinds = self._functions.keys()
        return frozenset(kinds - {"entail"} | {"entail:support"} if self._two_way else kinds)

    def notes(self) -> Sequence[str]:
        """Which functions need a name for their answers to be reused."""
        return self._notes

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """Call the function of each question's kind; an exception or an unusable reply becomes a Failure."""
        return list(await asyncio.gather(*map(self._answer, questions)))

    async def _answer(self, question: Question) -> Answer | Failure:
        try:
            answer: Answer = await getattr(self, f"_{kind(question)}")(question)
        except _UnusableReply as unusable:
            return Failure("invalid_answer", str(unusable), raw=repr(unusable.reply)[:2000])
        except Exception as error:
            return Failure("judge_error", f"{kind(question)}() raised {type(error).__name__}: {error}")
        return answer

    async def _call(self, name: str, *args: object, **optional: object) -> Any:
        """Call a function with `args`, and with those of `optional` that it takes."""
        accepted = self._keywords[name]
        reply = self._functions[name](*args, **{k: v for k, v in optional.items() if accepted is None or k in accepted})
        return await reply if isinstance(reply, Awaitable) else reply

    async def _decompose(self, question: Decompose) -> Decomposition:
        pieces = await self._call("decompose", question.text, query=question.query)
        if isinstance(pieces, str) or not isinstance(pieces, Iterable):
            raise _UnusableReply("decompose() must return a list of texts or (text, kind)", pieces)
        found: list[Statement] = []
        end = 0  # of the last statement that was found in the text
        for piece in pieces:
            found.append(_statement(piece, question.text, end))
            end = max(end, found[-1].span[1]) if found[-1].span else end
        return Decomposition(tuple(found))

    async def _entail(self, question: Entail) -> Verdict:
        premise = question.premise if len(question.premise) == 1 else (*question.premise, "\n".join(question.premise))
        calls = (self._call("entail", text, question.hypothesis, query=question.query) for text in premise)
        results = [self._entailment_label(reply) for reply in await asyncio.gather(*calls)]
        label, probability = results[-1]
        return Verdict(label, probability, tuple(ChunkVerdict(*each) for each in results[: len(question.premise)]))

    def _entailment_label(self, reply: Any) -> tuple[Label, float | None]:
        """The label, and the probability where one comes with it."""
        answer, probability = _answer_and_probability(reply)
        if type(answer).__name__ in _BOOL_TYPES:
            self._two_way = True
            return Label.ENTAILED if answer else Label.NOT_ENTAILED, probability
        if answer in ("entailed", "neutral", "contradicted"):
            return Label(answer), probability
        raise _UnusableReply("entail() must return a bool, or 'entailed', 'neutral' or 'contradicted'", reply)

    async def _relevant(self, question: Relevant) -> Verdict:
        reply = await self._call("relevant", question.query, question.text, reference=question.reference)
        return _yes_no("relevant", reply)

    async def _classify(self, question: Classify) -> Verdict:
        return _yes_no("classify", await self._call("classify", question.text, question.trait))

    async def _rate(self, question: Rate) -> Grade:
        grade = await self._call("rate", question.rubric.name, **dict(question.texts))
        grade, reason = grade if isinstance(grade, tuple) and len(grade) == 2 else (grade, None)
        if isinstance(grade, bool) or not isinstance(grade, int | float):
            raise _UnusableReply("rate() must return a number", grade)
        return Grade(float(grade), reason)


class _UnusableReply(Exception):
    def __init__(self, message: str, reply: Any) -> None:
        super().__init__(f"{message}, not {reply!r:.200}")
        self.reply = reply


def _keywords(function: Callable[..., Any], given: int) -> set[str] | None:
    """The names a function takes as keywords after `given` arguments by position; None where it takes any."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:  # some built-in functions have no signature
        return set()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    free = {p.name for p in parameters[given:] if p.kind is p.POSITIONAL_OR_KEYWORD}
    return free | {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}


def _statement(piece: object, text: str, start: int) -> Statement:
    written, called = piece if isinstance(piece, tuple) and len(piece) == 2 else (piece, "claim")
    if not isinstance(written, str) or called not in _STATEMENT_KINDS:
        kinds = list(_STATEMENT_KINDS)
        raise _UnusableReply(f"decompose() must return texts, or (text, kind) with kind one of {kinds}", piece)
    at = text.find(written, start)
    at = text.find(written) if at < 0 else at
    span = (at, at + len(written)) if at >= 0 else None
    return Statement(written, span, claim=called in ("claim", "both"), opinion=called in ("opinion", "both"))


def _yes_no(name: str, reply: Any) -> Verdict:
    answer, probability = _answer_and_probability(reply)
    if type(answer).__name__ not in _BOOL_TYPES:
        raise _UnusableReply(f"{name}() must return a bool", reply)
    return Verdict(Label.YES if answer else Label.NO, probability)


_BOOL_TYPES = ("bool", "bool_")  # the second is numpy's
_BOOLS = {Label.YES: True, Label.NO: False, Label.NOT_ENTAILED: False}


def _answer_and_probability(reply: Any) -> tuple[Any, float | None]:
    """An answer and its probability: (answer, probability), a Verdict, or an answer alone."""
    if isinstance(reply, Verdict):
        return _BOOLS.get(reply.label, reply.label.value), reply.probability
    if isinstance(reply, tuple) and len(reply) == 2 and isinstance(reply[1], int | float):
        return reply[0], float(reply[1])
    return reply, None


def judge_from(
    *,
    decompose: Callable[..., Any] | None = None,
    entail: Callable[..., Any] | None = None,
    relevant: Callable[..., Any] | None = None,
    classify: Callable[..., Any] | None = None,
    rate: Callable[..., Any] | None = None,
    name: str | None = None,
) -> FunctionJudge:
    """A judge made of plain functions, sync or async; give those you have.

    decompose(text) -> list of statements, each a text or (text, kind), kind "claim", "opinion", "both" or "neither".
    entail(premise, hypothesis) -> True or False (two-way), or "entailed", "neutral", "contradicted". It is called with
    each chunk, and with all chunks joined by newlines for the joint label; a single chunk is asked once.
    relevant(query, text, reference=None) -> bool. classify(text, trait) -> bool; traits are "biased" and "toxic".
    Any of these three may return (answer, probability) instead, the probability that it is True or entailed.
    rate(rubric, **texts) -> a number on the scale of the rubric of that name, or a pair of one and the reason.
    decompose and entail are passed `query=` where they take it.

    name: the judge's identity in a store; change it when the functions change what they answer. Without it the
    identity is a hash of the functions' code and of the plain values that they use, or of an importable function's
    module, name and code. Functions that use other objects and cannot be imported, such as lambdas over a client, need
    a name for their stored answers to be reused: without one their identity is new in every process.

    Raises:
        BadParameter: There is no function, or one that is not callable.
    """
    given = {"decompose": decompose, "entail": entail, "relevant": relevant, "classify": classify, "rate": rate}
    functions = {kind: function for kind, function in given.items() if function is not None}
    if not functions:
        raise BadParameter("judge_from() needs at least one function, such as entail=...")
    for keyword, function in functions.items():
        if not callable(function):
            raise BadParameter(f"{keyword}= must be a function, not {function!r}")
    return FunctionJudge(functions, name)
