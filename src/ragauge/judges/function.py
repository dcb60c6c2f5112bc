"""Judges made of plain functions."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import sys
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_VARARGS, CO_VARKEYWORDS
from itertools import chain
from operator import attrgetter
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple, TypeGuard

from ragauge.errors import BadParameter
from ragauge.judges.base import JudgeBase
from ragauge.kinds.base import UnusableReply
from ragauge.kinds.verdict import BOOL_TYPES, answer_and_probability
from ragauge.questions import KIND_TYPES, Question
from ragauge.types import Answer, Failure, Identity

_SIGNATURE_FLAGS = CO_VARARGS | CO_VARKEYWORDS | CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
_PLAIN = (str, bytes, int, float, complex, bool, type(None), type(...))


class _Unidentified(Exception):
    """A value that cannot be recognised in another process; the message names it."""


class Fingerprint(NamedTuple):
    """The hash of each function by keyword, for an identity; notes on those that no other process can recognise."""

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
    """A literal part of a fingerprint."""


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
    if isinstance(value, type):
        raise _Unidentified(f"the class {value.__qualname__}")
    raise _Unidentified(f"an object of {type(value).__qualname__}")


def _used_by(function: FunctionType) -> list[object]:
    """A function's code, defaults, closure, and the globals that it names, each behind its name."""
    try:
        closure = [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError:
        raise _Unidentified("a variable that has no value yet") from None
    namespace = function.__globals__
    named = [(_Text(name), namespace[name]) for name in _names(function.__code__) if name in namespace]
    return [function.__code__, function.__defaults__, function.__kwdefaults__, *closure, *chain.from_iterable(named)]


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _is_standard(module: str | None) -> bool:
    return module is not None and module.partition(".")[0] in sys.stdlib_module_names


#: How many questions asynchronous functions answer concurrently.
ASYNC_BATCH = 16


class FunctionJudge(JudgeBase):
    """A judge whose answers come from functions; see `judge_from`."""

    remedy = "let its function take wording=, which holds the rule or the criterion, or name the criterion"

    def __init__(self, functions: dict[str, Callable[..., Any]], name: str | None) -> None:
        self._functions = functions
        self._keywords: dict[str, tuple[set[str], bool]] = {}
        self._two_way: set[str] = set()
        self.batch = ASYNC_BATCH if any(map(inspect.iscoroutinefunction, functions.values())) else 1
        self.unable = frozenset(
            topic
            for kind, function in functions.items()
            for topic, keyword in KIND_TYPES[kind].told_apart.items()
            if keyword not in _keywords(function, 1)[0]
        )
        settings, self._notes = fingerprint({} if name else functions)
        self.identity = Identity(name or "function", settings)

    @property
    def answers(self) -> frozenset[str]:
        """The kinds there are functions for; an `entail` that has returned a bool is two-way."""
        return frozenset(KIND_TYPES[kind].support_topic if kind in self._two_way else kind for kind in self._functions)

    def notes(self) -> Sequence[str]:
        """Which functions need a name for their answers to be reused."""
        return self._notes

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """Call the function of each question's kind; an exception or an unusable reply becomes a Failure."""
        return list(await asyncio.gather(*map(self._answer, questions)))

    async def _answer(self, question: Question) -> Answer | Failure:
        try:
            if self.unable and question.topic in self.unable:
                return Failure("unanswerable", f"the function does not answer {question.topic}; {self.remedy}")
            return await question.answer_by(partial(self._replies, question))
        except UnusableReply as unusable:
            return Failure("invalid_answer", str(unusable), raw=repr(unusable.reply)[:2000])
        except Exception as error:
            return Failure("judge_error", f"{question.kind}() raised {type(error).__name__}: {error}")

    async def _replies(
        self,
        question: Question,
        *calls: tuple[object, ...],
        named: Mapping[str, object] | None = None,
        **optional: object,
    ) -> list[Any]:
        """The replies of the function of a question's kind, which gets those optional arguments that it takes."""
        function = self._functions[question.kind]
        if question.kind not in self._keywords:
            self._keywords[question.kind] = _keywords(function, len(calls[0]))
        accepted, any_other = self._keywords[question.kind]
        taken = {key: value for key, value in {**optional, **(named or {})}.items() if key in accepted}
        if any_other:
            taken |= {key: value for key, value in optional.items() if value != ()}
        replies = [function(*args, **taken) for args in calls]
        pending = [reply for reply in replies if isinstance(reply, Awaitable)]
        if pending:
            done = iter(await asyncio.gather(*pending))
            replies = [next(done) if isinstance(reply, Awaitable) else reply for reply in replies]
        if question.support_topic:
            answers = [answer_and_probability(reply)[0] for reply in replies]
            if any(type(answer).__name__ in BOOL_TYPES for answer in answers):
                self._two_way.add(question.kind)
        return replies


def _keywords(function: Callable[..., Any], passed: int) -> tuple[set[str], bool]:
    """The keywords that a function names after `passed` arguments by position, and whether it takes any other."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:  # some built-in functions have no signature
        return set(), False
    either = {parameter.name for parameter in parameters[passed:] if parameter.kind is parameter.POSITIONAL_OR_KEYWORD}
    named = either | {parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY}
    return named, any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)


def judge_from(
    *,
    decompose: Callable[..., Any] | None = None,
    entail: Callable[..., Any] | None = None,
    relevant: Callable[..., Any] | None = None,
    classify: Callable[..., Any] | None = None,
    rate: Callable[..., Any] | None = None,
    correct: Callable[..., Any] | None = None,
    name: str | None = None,
) -> FunctionJudge:
    """A judge made of plain functions, sync or async; give those you have.

    entail, relevant and classify may return (answer, probability) instead of an answer, the probability that it is
    True or entailed. decompose, entail and correct are passed `query=` where they take it; the first two and relevant
    `history=`, what was said before the query, as a tuple of texts.

    Args:
        decompose: (text) -> list of statements, each a text or (text, kind), kind "claim", "opinion", "both" or
            "neither".
        entail: (premise, hypothesis) -> True or False (two-way), or "entailed", "neutral", "contradicted". It is
            called with each chunk, and with all chunks joined by newlines for the joint label; a single chunk is asked
            once.
        relevant: (query, text, reference=None) -> bool.
        classify: (text, trait) -> bool; traits are "biased" and "toxic".
        rate: (rubric, **texts) -> a number on the scale of the rubric of that name, or a pair of it and the reason. The
            texts are those that the rubric reads. Where it names them it is passed `wording=`, what is asked, and
            `low=` and `high=`, the ends of the scale. `policy`, `criteria` and a `criterion` without a name, which
            differ in their wording alone, need a function that names `wording`.
        correct: (response, references) -> True or False, or "right", "partly", "wrong" or "undecided", also with the
            probability that it is right, or a `Verdict` with a rationale.
        name: the judge's identity in a store; change it when the functions change what they answer. Without it the
            identity is a hash of the functions' code and of the plain values that they use, or of an importable
            function's module, name and code. Functions that use other objects and cannot be imported, such as lambdas
            over a client, need a name for their stored answers to be reused: without one their identity is new in
            every process.

    Raises:
        BadParameter: There is no function, or one that is not callable.
    """
    by_kind = {
        "decompose": decompose,
        "entail": entail,
        "relevant": relevant,
        "classify": classify,
        "rate": rate,
        "correct": correct,
    }
    functions = {kind: function for kind, function in by_kind.items() if function is not None}
    if not functions:
        raise BadParameter("judge_from() needs at least one function, such as entail=...")
    for keyword, function in functions.items():
        if not callable(function):
            raise BadParameter(f"{keyword}= must be a function, not {function!r}")
    return FunctionJudge(functions, name)
