"""Functions from messages to text as models."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from ragauge.errors import BadParameter
from ragauge.judges.llm import adapters
from ragauge.judges.llm.adapters import FunctionTransport
from ragauge.judges.llm.messages import CallFailed, Completion, Prompt, Turn
from ragauge.types import Failure

PROMPT = Prompt("Judge.", "{}", {"type": "object"}, (Turn("?", "Again."),))
Messages = list[dict[str, str]]


def complete(transport: FunctionTransport, times: int = 1) -> list[Completion | Failure]:
    """What a transport makes of the prompt, asked several times side by side."""

    async def one() -> Completion | Failure:
        try:
            return await transport.send(PROMPT)
        except CallFailed as failed:
            return failed.failure

    async def opened() -> list[Completion | Failure]:
        async with transport:
            return list(await asyncio.gather(*(one() for _ in range(times))))

    return asyncio.run(opened())


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pauses between tries."""
    monkeypatch.setattr(adapters, "PAUSE_SECONDS", 0.0)


def test_a_function_is_given_the_messages() -> None:
    """A function gets system, user and earlier turns, and its text is the reply."""
    heard: list[Messages] = []

    def reply(messages: Messages) -> str:
        heard.append(messages)
        return "yes"

    assert complete(FunctionTransport(reply)) == [Completion("yes")]
    roles = [message["role"] for message in heard[0]]
    assert roles == ["system", "user", "assistant", "user"]
    assert heard[0][-1]["content"] == "Again."


def test_async_functions_and_objects() -> None:
    """Async functions, objects with an async call, and functions that return something to wait for are waited for."""

    async def reply(messages: Messages) -> str:
        await asyncio.sleep(0)
        return "yes"

    class Model:
        model_name = "my-model"

        async def __call__(self, messages: Messages) -> str:
            return "yes"

    for function in (reply, Model(), lambda messages: reply(messages)):
        assert complete(FunctionTransport(function)) == [Completion("yes")]


@pytest.mark.parametrize("asynchronous", [True, False])
def test_so_many_run_at_once(asynchronous: bool) -> None:
    """A function that blocks runs in threads, and any runs `concurrency` times side by side, never more."""
    lock, now, most = threading.Lock(), 0, 0

    def enter(by: int) -> None:
        nonlocal now, most
        with lock:
            now += by
            most = max(most, now)

    def blocks(messages: Messages) -> str:
        enter(1)
        time.sleep(0.05)
        enter(-1)
        return "yes"

    async def waits(messages: Messages) -> str:
        enter(1)
        await asyncio.sleep(0.05)
        enter(-1)
        return "yes"

    answers = complete(FunctionTransport(waits if asynchronous else blocks, concurrency=3), times=7)
    assert answers == [Completion("yes")] * 7
    assert most == 3


@pytest.mark.usefixtures("_impatient")
def test_exceptions_are_retried_and_then_told() -> None:
    """A function that raises is called twice more; then the failure names it and what it raised."""
    calls: list[int] = []

    def moody(messages: Messages) -> str:
        calls.append(1)
        if len(calls) % 3:
            raise ConnectionError("gone")
        return "yes"

    assert complete(FunctionTransport(moody)) == [Completion("yes")]
    (failure,) = complete(FunctionTransport(moody, retries=1))
    assert failure == Failure("judge_error", "moody() raised ConnectionError: gone")
    assert len(calls) == 5


def test_a_function_can_tell_what_went_wrong() -> None:
    """A function that raises CallFailed says the reason itself, and is not called again."""
    calls: list[int] = []

    def limited(messages: Messages) -> str:
        calls.append(1)
        raise CallFailed(Failure("rate_limited", "not now"))

    assert complete(FunctionTransport(limited)) == [Failure("rate_limited", "not now")]
    assert len(calls) == 1


def test_a_reply_must_be_text() -> None:
    """Anything but text is a failure that shows it."""
    (failure,) = complete(FunctionTransport(lambda messages: {"1": "yes"}))
    assert failure == Failure("judge_error", "<lambda>() must return the text of the reply, not {'1': 'yes'}")


def _other(messages: Messages) -> str:
    return "no"


def _named(messages: Messages) -> str:
    return "yes"


_named.model_name = "gpt-mine"  # type: ignore[attr-defined]


def test_identity() -> None:
    """A name given or carried is the identity; else the function's name and a fingerprint of what it does."""
    assert FunctionTransport(_other, name="mine").name == "mine"
    assert FunctionTransport(_named).name == "gpt-mine"
    assert FunctionTransport(_named).settings == ()
    assert FunctionTransport(_other).name == "_other"
    assert FunctionTransport(_other).settings == FunctionTransport(_other).settings
    assert FunctionTransport(_other).settings[0][0] == "function"
    assert FunctionTransport(partial(_other)).name == "partial"


def test_a_transport_can_be_opened_again() -> None:
    """In another event loop, as in a notebook, the same transport answers again."""
    for function in (_other, _named):
        transport = FunctionTransport(function, concurrency=1)
        assert complete(transport, 3) == complete(transport, 3)


@pytest.mark.parametrize("options", [{"concurrency": 0}, {"retries": -1}])
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    """No calls at once, and fewer than no retries, are refused."""
    with pytest.raises(BadParameter, match="must be 1 or more"):
        FunctionTransport(_other, **options)


def test_cancelling_does_not_wait_for_threads() -> None:
    """A run that is cancelled ends while a function still blocks in its thread."""
    release, returned = threading.Event(), threading.Event()

    def blocks(messages: Messages) -> str:
        release.wait(20)
        returned.set()
        return "late"

    async def ends_before_it_returns() -> bool:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05), FunctionTransport(blocks) as transport:
                await transport.send(PROMPT)
        before = not returned.is_set()
        release.set()
        return before

    assert asyncio.run(ends_before_it_returns())


ENDLESS = """
import asyncio, time
from ragauge.judges.llm.messages import Prompt
from ragauge.judges.llm.adapters import FunctionTransport
def blocks(messages): time.sleep(600)
async def main():
    async with FunctionTransport(blocks) as transport:
        await asyncio.wait_for(transport.send(Prompt("", "{}", {})), 0.1)
asyncio.run(main())
"""


def test_a_process_ends_though_a_function_blocks() -> None:
    """An interrupted process does not wait for the threads in which functions block."""
    ended = subprocess.run([sys.executable, "-c", ENDLESS], capture_output=True, timeout=60)
    assert b"TimeoutError" in ended.stderr


def test_callables_of_any_form_are_taken() -> None:
    """The function may be any callable: built in, a method, a partial."""
    callables: list[Callable[[Any], Any]] = [str, "{}".format, partial(_other)]
    for function in callables:
        (reply,) = complete(FunctionTransport(function))
        assert isinstance(reply, Completion)
