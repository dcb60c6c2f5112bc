from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.judges.llm.calls import CallFailed
from ragauge.judges.llm.wire.faults import Trouble
from ragauge.judges.llm.wire.flow import RETRIES, RETRIES_RATE, Flow
from ragauge.judges.llm.wire.pace import Pace
from ragauge.judges.llm.wire.patience import Patience
from ragauge.judges.llm.wire.slots import Slots
from ragauge.nouns.answers import Failure


class Clock:
    """A clock that moves when it is told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """The seconds it shows."""
        return self.now


def _epochs(slots: Slots, *throttled: float, used_up: bool = True) -> list[int]:
    """The limit after epochs of which these shares were throttled."""
    limits = []
    for share in throttled:
        slots._used_up = used_up
        replies = slots.limit
        for number in range(replies):
            slots.replied(throttled=number < share * replies)
        limits.append(slots.limit)
    return limits


def test_slots_double_while_the_server_answers() -> None:
    """From 8 the limit doubles with each epoch that is used up, to 256 at most, or to what the provider bears."""
    assert _epochs(Slots(), *[0] * 6) == [16, 32, 64, 128, 256, 256]
    assert _epochs(Slots(most=4), 0) == [4]


def test_slots_do_not_collapse_at_random_throttling() -> None:
    """A tenth, even a quarter of throttled replies does not cut the limit."""
    assert _epochs(Slots(), 0.1, 0.25, 0.1) == [16, 32, 64]


def test_slots_are_cut_where_the_server_is_asked_too_much() -> None:
    """Beyond a quarter the limit falls to 0.7 of itself, at least 1, and grows by a sixteenth from then on."""
    slots = Slots()
    assert _epochs(slots, 0, 0, 0, 0.5, 0, 0) == [16, 32, 64, 44, 46, 48]
    assert _epochs(slots, *[1] * 20)[-1] == 1
    assert _epochs(slots, 0, 0) == [2, 3]


def test_slots_that_are_not_used_up_do_not_grow() -> None:
    """A limit that nobody waited for stays."""
    assert _epochs(Slots(), 0, 0, used_up=False) == [8, 8]


def test_a_fixed_number_of_slots_stays() -> None:
    """With a fixed concurrency neither answers nor throttling change the limit."""
    assert _epochs(Slots(fixed=5), 0, 1, 1, 0) == [5, 5, 5, 5]


@given(st.integers(1, 5), st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=30))
def test_slots_are_never_lost_or_exceeded(fixed: int, calls: list[tuple[int, int]]) -> None:
    """However long calls hold their slots, and whenever some are cancelled, all slots are free in the end."""
    slots = Slots(fixed=fixed)
    most = 0

    async def call(steps: int) -> None:
        nonlocal most
        await slots.take(ahead=steps % 2 == 1)
        most = max(most, slots.busy)
        try:
            for _ in range(steps):
                await asyncio.sleep(0)
        finally:
            slots.give()

    async def main() -> None:
        tasks = [asyncio.create_task(call(steps)) for steps, _ in calls]
        for moment in range(10):
            await asyncio.sleep(0)
            for task, (_, cancelled) in zip(tasks, calls, strict=True):
                if cancelled == moment:
                    task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(main())
    assert slots.busy == 0
    assert most <= fixed


def test_a_freed_slot_goes_to_the_next_at_once() -> None:
    """A slot that is given back is the next one's at once, retries first; a call that is cancelled hands it on."""

    async def main() -> list[str]:
        slots, order = Slots(fixed=1), []

        async def call(name: str, *, ahead: bool = False) -> None:
            await slots.take(ahead=ahead)
            order.append(name)
            slots.give()

        await slots.take()
        tasks = [asyncio.create_task(call(name)) for name in ("a", "b", "c")]
        await asyncio.sleep(0)
        tasks.append(asyncio.create_task(call("again", ahead=True)))
        await asyncio.sleep(0)
        slots.give()
        assert slots.busy == 1
        tasks[3].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert slots.busy == 0
        return order

    assert asyncio.run(main()) == ["a", "b", "c"]


def test_requests_are_spread_over_the_minute() -> None:
    """At 60 a minute the calls that come at once are sent a second apart; a pause is not made up for in a burst."""
    clock = Clock()
    pace = Pace(60, None, clock)
    assert [pace.book(0) for _ in range(4)] == [0, 1, 2, 3]
    clock.now += 100
    assert [pace.book(0) for _ in range(2)] == [0, 1]


def test_tokens_are_spread_over_the_minute() -> None:
    """At 6,000 tokens a minute a call of 200 keeps the next waiting 2 s; what it really took corrects that."""
    pace = Pace(None, 6000, Clock())
    assert [pace.book(200) for _ in range(2)] == [0, 2]
    pace.used(200, 100)
    assert pace.book(0) == pytest.approx(3)


@given(st.lists(st.tuples(st.floats(0, 5), st.integers(1, 500)), min_size=2, max_size=40))
def test_limits_are_kept_over_any_minute(calls: list[tuple[float, int]]) -> None:
    """However calls come, those sent between any two take no more than the minute's share of that time."""
    clock, sent = Clock(), []
    pace = Pace(30, 1000, clock)
    for pause, tokens in calls:
        clock.now += pause
        sent.append((clock.now + pace.book(tokens), tokens))
    for first in range(len(sent)):
        for last in range(first + 1, len(sent)):
            seconds = sent[last][0] - sent[first][0]
            assert last - first <= 30 / 60 * seconds + 1e-6
            assert sum(tokens for _, tokens in sent[first:last]) <= 1000 / 60 * seconds + 1e-6


def test_nothing_is_sent_while_the_server_wants_to_be_left_alone() -> None:
    """A hold keeps all calls waiting, and the longest hold counts."""
    clock = Clock()
    pace = Pace(None, None, clock)
    pace.hold(5)
    pace.hold(2)
    assert pace.book(0) == pace.held() == 5
    clock.now += 6
    assert pace.book(0) == pace.held() == 0


@pytest.mark.parametrize("prefix", ["x-ratelimit-{what}-requests", "anthropic-ratelimit-requests-{what}"])
def test_what_the_server_says_is_left(prefix: str) -> None:
    """With 1 of 10 requests left and 9 s until there are 10, one call is sent at once and the others a second apart."""
    clock = Clock()
    pace = Pace(None, None, clock)
    said = {"remaining": "1", "limit": "10", "reset": "9"}
    pace.told({prefix.format(what=what): value for what, value in said.items()})
    assert [pace.book(0) for _ in range(3)] == pytest.approx([0, 1, 2])
    clock.now += 60
    assert pace.book(0) == 0
    pace.told({})
    assert pace.book(0) == 0


def test_tokens_that_are_left() -> None:
    """A call that needs more tokens than are left waits for their share; one beyond the whole limit waits for all."""
    pace = Pace(None, None, Clock())
    headers = {"remaining": "0", "limit": "1000", "reset": "10s"}
    pace.told({f"x-ratelimit-{what}-tokens": value for what, value in headers.items()})
    assert pace.book(100) == pytest.approx(1)
    assert pace.book(10**6) == pytest.approx(11)


def test_plenty_left_is_no_limit() -> None:
    """While more than half is left the server's limits change nothing."""
    pace = Pace(None, None, Clock())
    pace.told(
        {"x-ratelimit-remaining-requests": "6", "x-ratelimit-limit-requests": "10", "x-ratelimit-reset-requests": "1h"}
    )
    assert [pace.book(0) for _ in range(20)] == [0] * 20


def test_patience_follows_the_replies() -> None:
    """A call is given 10 s, then ten times what 95 % of replies took, at least a second; each stall doubles it."""
    patience = Patience(timeout=120)
    assert [patience.seconds(retries) for retries in range(5)] == [10, 20, 40, 80, 120]
    for _ in range(15):
        patience.took(0.01)
    assert patience.seconds(0) == 10
    patience.took(0.01)
    assert patience.seconds(0) == 1
    assert patience.median == 0.01
    for _ in range(200):
        patience.took(0.5)
    assert patience.seconds(0) == 5
    assert patience.seconds(9) == 120


def test_a_slow_server_is_given_more_time() -> None:
    """Before much is known the slowest reply counts; a timeout bounds everything; slow servers get all of it."""
    patience = Patience(timeout=60)
    patience.took(3)
    assert patience.seconds(0) == 30
    assert Patience(timeout=2).seconds(0) == 2
    assert Patience(timeout=60, first=60).seconds(0) == 60


def _flow(slots: Slots | None = None, patience: Patience | None = None, pace: Pace | None = None) -> Flow:
    return Flow(slots or Slots(fixed=2), pace or Pace(None, None), patience or Patience(120), "m", chance=lambda: 0.0)


def _failing(times: int, reason: str = "server_error", **more: Any) -> Callable[[], Awaitable[str]]:
    """An attempt that fails so often, then answers."""
    left = iter(range(times))

    async def attempt() -> str:
        if next(left, None) is not None:
            raise Trouble(reason, f"it was {reason}", **more)
        return "answer"

    return attempt


def _run(main: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(main)


@pytest.mark.parametrize(("reason", "most"), [("server_error", RETRIES), ("rate_limited", RETRIES_RATE)])
def test_calls_are_tried_again(reason: str, most: int) -> None:
    """A call is tried again so often, more often where it was throttled by rate, and then fails with the reason."""
    flow = _flow()
    assert _run(flow.run(_failing(most, reason))) == "answer"
    assert flow.retries == {reason: most}
    with pytest.raises(CallFailed) as failed:
        _run(_flow().run(_failing(most + 1, reason)))
    assert failed.value.failure == Failure(reason, f"it was {reason} (tried {most + 1} times)")
    assert not failed.value.fatal


def test_a_waiting_call_holds_no_slot() -> None:
    """While a call waits to be tried again, another has its slot."""

    async def main() -> list[str]:
        flow, done = _flow(Slots(fixed=1)), []

        async def call(attempt: Callable[[], Awaitable[str]], name: str) -> None:
            await flow.run(attempt)
            done.append(name)

        await asyncio.gather(call(_failing(1, wait=0.05), "troubled"), call(_failing(0), "other"))
        return done

    assert _run(main()) == ["other", "troubled"]


def test_a_wait_about_rate_holds_all_calls() -> None:
    """With Retry-After a 429 holds every call; any other status holds its own call alone."""
    for reason, held in (("rate_limited", True), ("server_error", False)):
        clock = Clock()
        flow = _flow(pace=Pace(None, None, clock))
        with pytest.raises(TimeoutError):
            _run(asyncio.wait_for(flow.run(_failing(1, reason, wait=30)), 0.01))
        assert flow.pace.held() == (30 if held else 0)


def test_a_server_that_asks_for_an_hour_is_not_waited_for() -> None:
    """A wait beyond ten minutes ends the call and all others at once."""
    flow = _flow()
    for attempt in (_failing(1, "rate_limited", wait=3600), _failing(0)):
        with pytest.raises(CallFailed, match="asks to wait 3600 s") as failed:
            _run(flow.run(attempt))
        assert failed.value.fatal


def test_a_server_that_nobody_reaches_ends_the_run() -> None:
    """Where no call was ever answered, one that is unreachable to the last try is fatal; else it fails alone."""
    flow = _flow()
    with pytest.raises(CallFailed) as failed:
        _run(flow.run(_failing(99, "unreachable")))
    assert failed.value.fatal
    flow.resume()
    assert _run(flow.run(_failing(0))) == "answer"
    with pytest.raises(CallFailed) as failed:
        _run(flow.run(_failing(99, "unreachable")))
    assert not failed.value.fatal


@pytest.mark.parametrize("reason", ["unreachable", "timeout"])
def test_a_server_that_stops_answering_ends_the_run(reason: str) -> None:
    """Three calls in a row without a word of the server end all others; any word in between, and one counts anew."""
    flow = _flow()
    assert _run(flow.run(_failing(0))) == "answer"
    told: list[CallFailed] = []

    def fail(reason: str, times: int) -> None:
        for _ in range(times):
            with pytest.raises(CallFailed) as failed:
                _run(flow.run(_failing(99, reason)))
            told.append(failed.value)

    fail(reason, 2)
    fail("server_error", 1)
    fail(reason, 3)
    assert [failed.fatal for failed in told] == [False] * 5 + [True]
    assert told[-1].failure.reason == reason
    assert "it stopped answering" in told[-1].failure.detail
    fail(reason, 1)
    assert (told[-1].fatal, told[-1].sent) == (True, False)
    flow.resume()
    fail(reason, 1)
    assert (told[-1].fatal, told[-1].sent) == (False, True)


def test_after_the_end_calls_fail_at_once() -> None:
    """Once it is over, calls fail with the same failure without an attempt, also those that wait for a slot."""

    async def main() -> tuple[list[Any], int]:
        flow, attempts = _flow(Slots(fixed=1)), 0

        async def attempt() -> None:
            nonlocal attempts
            attempts += 1
            await asyncio.sleep(0)
            flow.stop(Failure("quota"))
            raise CallFailed(Failure("quota"), fatal=True)

        return await asyncio.gather(*(flow.run(attempt) for _ in range(5)), return_exceptions=True), attempts

    ended, attempts = _run(main())
    assert attempts == 1
    assert all(isinstance(one, CallFailed) and one.fatal and one.failure == Failure("quota") for one in ended)
    assert [one.sent for one in ended] == [True, False, False, False, False]


async def _forever() -> None:
    await asyncio.sleep(3600)


def test_a_stalled_call_is_tried_again() -> None:
    """A call that takes too long is cancelled and tried again; when it never answers it fails with "timeout"."""
    clock = Clock()
    flow = _flow(patience=Patience(120, clock=clock))

    async def main() -> None:
        call = asyncio.create_task(flow.run(_forever))
        while not call.done():
            await asyncio.sleep(0.001)
            clock.now += 200
            flow.patience.check()
        await call

    with pytest.raises(CallFailed) as failed:
        _run(main())
    assert failed.value.failure == Failure("timeout", "m: no reply within 120 s (tried 7 times)")
    assert flow.retries == {"timeout": RETRIES + 1}
    assert flow.slots.busy == 0


def test_the_clock_starts_when_a_call_is_sent() -> None:
    """A call that waits for its slot does not stall meanwhile."""
    clock = Clock()
    flow = _flow(Slots(fixed=1), Patience(120, clock=clock))

    async def main() -> Any:
        await flow.slots.take()
        call = asyncio.create_task(flow.run(_failing(0)))
        await asyncio.sleep(0)
        clock.now += 1000
        flow.patience.check()
        flow.slots.give()
        return await call

    assert _run(main()) == "answer"
    assert not flow.retries


@pytest.mark.parametrize("stalled", [False, True])
def test_cancellation_from_outside_is_passed_on(stalled: bool) -> None:
    """A call that is cancelled from outside ends so, also where it stalled at the same moment, and frees its slot."""
    clock = Clock()
    flow = _flow(patience=Patience(120, clock=clock))

    async def main() -> None:
        call = asyncio.create_task(flow.run(_forever))
        await asyncio.sleep(0.001)
        if stalled:
            clock.now += 200
            flow.patience.check()
        call.cancel()
        await call

    with pytest.raises(asyncio.CancelledError):
        _run(main())
    assert flow.slots.busy == 0
    assert not flow.retries


def test_a_timeout_around_a_call_works() -> None:
    """`asyncio.timeout` around a call is a cancellation from outside, though a stall was mended before."""
    clock = Clock()
    flow = _flow(patience=Patience(120, clock=clock))

    async def main() -> None:
        async with asyncio.timeout(0.05):
            call = asyncio.create_task(_stall())
            await flow.run(_forever)
            await call

    async def _stall() -> None:
        await asyncio.sleep(0.001)
        clock.now += 200
        flow.patience.check()

    with pytest.raises(TimeoutError):
        _run(main())
    assert flow.retries == {"timeout": 1}


def test_a_loop_that_was_busy_is_not_held_against_the_calls() -> None:
    """When the event loop itself slept longer than a tick, the calls are given that time in addition."""
    clock = Clock()
    patience = Patience(1.0, clock=clock)

    async def main() -> bool:
        call = patience.began(0)
        watch = asyncio.create_task(patience.watch())
        await asyncio.sleep(0)
        clock.now += 50
        await asyncio.sleep(0.3)
        watch.cancel()
        patience.ended(call, answered=False)
        return call.stalled

    assert not _run(main())


def test_an_exception_of_the_attempt_is_passed_on() -> None:
    """What is no trouble of the server's is not tried again, and frees its slot."""
    flow = _flow()

    async def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        _run(flow.run(broken))
    assert flow.slots.busy == 0


def test_waits_are_drawn_from_a_range_that_doubles() -> None:
    """The wait before a retry is drawn from 0 to the median latency, doubled with each try, up to 30 s."""
    patience = Patience(120)
    for _ in range(16):
        patience.took(2.0)
    flow = Flow(Slots(), Pace(None, None), patience, "m", chance=lambda: 1.0)
    counts = type(flow.retries)()
    waits = []
    for _ in range(6):
        counts["server_error"] += 1
        waits.append(flow._wait(Trouble("server_error", ""), counts))
    assert waits == [2, 4, 8, 16, 30, 30]
