"""The five metrics by ragauge, and the floor below it; a worker of benchmarks/llm_flow.py. Ways:

- http: the judge as it is, over HTTP, into a store on disk.
- replay: the same but for HTTP: replies were recorded before, and come back after the latency, so that samples are
  interleaved as by a server. Printed next to it: what the JSON of these calls takes by itself (`json`, seconds of CPU):
  writing the document and the request, reading the response and the reply in it. Judgments written as JSON into the
  store count as storing, not as JSON.
- bare: a loop of aiohttp that posts the very same bodies, which are ready, and does not look at the responses.
- instructor: the judge through an `instructor` client (asynchronous, in its default mode), which must be installed.
"""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Self

import aiohttp
import msgspec
from measured import METRICS, MODEL, Row, Task, measure, task

import ragauge as rg
from ragauge.judges.llm.judge import LLMJudge
from ragauge.judges.llm.providers import parse_llm_spec
from ragauge.judges.llm.transport import protocols
from ragauge.judges.llm.transport.client import HttpTransport
from ragauge.judges.llm.transport.session import Reply
from ragauge.run.results import Run

LATENCY = 0.05

Exchanges = dict[bytes, Reply]
Post = Callable[..., Awaitable[Reply]]


class Recorder(HttpTransport):
    """Keeps each request's body with the reply to it."""

    def __init__(self, given: Task) -> None:
        super().__init__(*parse_llm_spec(f"openai/{MODEL}", base_url=given.url, concurrency=given.width))
        self.exchanges: Exchanges = {}

    async def __aenter__(self) -> Self:
        """Open the session, and put `exchanged` before it."""
        await super().__aenter__()
        assert self._session
        post = self._session.exchange
        self._session.exchange = partial(self.exchanged, post)  # type: ignore[method-assign]
        return self

    async def exchanged(self, post: Post, method: str, path: str, data: bytes, *headers: Any) -> Reply:
        """Keep the body of the request with the reply."""
        reply = self.exchanges[data] = await post(method, path, data, *headers)
        return reply


class Replayer(Recorder):
    """Gives back what was recorded, after the latency of the server."""

    async def exchanged(self, post: Post, method: str, path: str, data: bytes, *headers: Any) -> Reply:
        """The recorded reply."""
        await asyncio.sleep(LATENCY)
        return self.exchanges[data]


def judge_of(given: Task) -> LLMJudge:
    """The judge of a way that asks the server."""
    if given.way == "instructor":
        import instructor
        import openai

        logging.disable()
        client = instructor.from_openai(openai.AsyncOpenAI(base_url=given.url, api_key="none"))
        return rg.llm(client, model=MODEL, concurrency=given.width)
    return rg.llm(f"openai/{MODEL}", base_url=given.url, concurrency=given.width)


def evaluated(rows: Sequence[Row], judge: LLMJudge) -> Run:
    """A run into a new store on disk, which stays open."""
    return rg.evaluate(rows, METRICS, judge, tempfile.mkdtemp())


def unscored(run: Run) -> int:
    """Samples of a run that lack a score."""
    return sum(any(score.failed for score in record.scores.values()) for record in run.records())


def recorded(given: Task) -> Exchanges:
    """All exchanges that the task takes."""
    recorder = Recorder(given)
    evaluated(given.rows, LLMJudge(recorder))
    return recorder.exchanges


def json_seconds(exchanges: Exchanges) -> float:
    """CPU of the JSON of these calls alone, done again on what was sent and received."""
    encode, decode = msgspec.json.Encoder().encode, msgspec.json.Decoder().decode
    done: list[tuple[Any, Any, bytes, str]] = []
    for body, reply in exchanges.items():
        request, response = decode(body), decode(reply.body)
        document = decode(request["messages"][1]["content"])
        done.append((document, request, reply.body, response["choices"][0]["message"]["content"]))
    began = time.process_time()
    for document, request, response, output in done:
        encode(document).decode()
        encode(request)
        protocols.read_chat(response)
        decode(output)
    return time.process_time() - began


async def posted(given: Task, bodies: Sequence[bytes]) -> None:
    """Post all bodies, with a given concurrency."""
    waiting, url, headers = iter(bodies), f"{given.url}{protocols.CHAT_PATH}", {"Content-Type": "application/json"}

    async def work(session: aiohttp.ClientSession) -> None:
        for body in waiting:
            async with session.post(url, data=body, headers=headers) as response:
                await response.read()

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        await asyncio.gather(*[work(session) for _ in range(given.width)])


def measure_replay(given: Task) -> None:
    """Measure without HTTP, and JSON by itself."""
    replayer = Replayer(given)
    replayer.exchanges = recorded(given)
    more = {"json": json_seconds(replayer.exchanges), "calls": len(replayer.exchanges)}
    measure(lambda: evaluated(given.rows, LLMJudge(replayer)), unscored, more)


def measure_bare(given: Task) -> None:
    """Measure the floor."""
    bodies = list(recorded(given))
    measure(lambda: asyncio.run(posted(given, bodies)), lambda _: 0)


def measure_judge(given: Task) -> None:
    """Measure a way that asks the server."""
    evaluated(given.rows[:1], judge_of(given))
    measure(lambda: evaluated(given.rows, judge_of(given)), unscored)


def main() -> None:
    """Measure one way."""
    given = task()
    {"replay": measure_replay, "bare": measure_bare}.get(given.way, measure_judge)(given)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder
        os.environ["OPENAI_API_KEY"] = "none"
        main()
