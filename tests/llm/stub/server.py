"""A stub of the servers of OpenAI, Anthropic, Bedrock, Vertex AI and Cohere, over real HTTP, as a process.

python tests/llm/stub/server.py --port 0 --latency 0.05 --fault 429=0.10 --fault cut=0.05

The first line of its output is its port. Any base URL works ("/v1", "/openai/deployments/x"): paths are known by how
they end. GET /stats tells what was counted; POST /reset forgets that, and takes a JSON list of new arguments.
"""

from __future__ import annotations

import asyncio
import gc
import re
import signal
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

import msgspec
from aiohttp import BodyPartReader, web

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.llm.stub.batches import Batches
from tests.llm.stub.mind import PROTOCOLS, Mind
from tests.llm.stub.options import Options, parsed
from tests.llm.stub.transmission import CONNECTIONS, COPIES, broken, write_copy_later

_JSON = {"Content-Type": "application/json"}
_ROUTES = re.compile(r".*/(files|batches)(?:/([\w-]+))?(?:/(content|results|cancel))?$")


class Stub:
    """What the process does between two resets."""

    def __init__(self, options: Options) -> None:
        self.mind = Mind(options)
        self._batches = Batches(self.mind, options.batch_seconds)
        self._options = options
        self._record: TextIO | None = Path(options.record).open("a", encoding="utf-8") if options.record else None  # noqa: SIM115

    def close(self) -> None:
        """Close the record."""
        if self._record:
            self._record.close()

    async def respond(self, request: web.BaseRequest) -> web.StreamResponse:
        """The response to any request that is not about the stub itself."""
        path = request.path
        for ending, protocol in PROTOCOLS.items():
            if path.endswith(ending):
                return await self._call(request, protocol)
        if path.endswith("/embeddings"):
            return _json(_embedded(msgspec.json.decode(await request.content.read())))
        if found := _ROUTES.match(path):
            return await self._batch(request, path, *found.groups())
        return _json({"error": {"message": f"Invalid URL ({request.method} {path})", "code": "unknown_url"}}, 404)

    async def _call(self, request: web.BaseRequest, protocol: ModuleType) -> web.StreamResponse:
        arrived = time.monotonic()
        body = await request.content.read()
        tally, status = self.mind.tally, None
        tally.arrived(request.path, len(body))
        try:
            reply = self.mind.answer(protocol, body, request.headers, request.path)
            self._note(request, body)
            late = self._options.latency * (1 + self._options.jitter * (2 * reply.jitter - 1))
            await asyncio.sleep(max(0.0, arrived + late - time.monotonic()))
            if reply.fault in CONNECTIONS:
                return await broken(request, reply)
            if reply.fault in COPIES:
                write_copy_later(request, reply)
            status = reply.status
            return web.Response(body=reply.body, status=status, headers={**_JSON, **reply.headers})
        finally:
            tally.left(status)

    def _note(self, request: web.BaseRequest, body: bytes) -> None:
        if self._record:
            headers = {name.lower(): value for name, value in request.headers.items()}
            row = {"path": request.path_qs, "headers": headers, "body": msgspec.Raw(body or b"null")}
            self._record.write(msgspec.json.encode(row).decode() + "\n")
            self._record.flush()

    async def _batch(
        self, request: web.BaseRequest, path: str, sort: str, key: str | None, part: str | None
    ) -> web.StreamResponse:
        anthropic = "/messages/" in path
        if sort == "files":
            return _data(self._batches.content(key)) if key else _json(await self._upload(request))
        if key is None and request.method == "GET":
            return _json(self._batches.listed(anthropic=anthropic))
        if key is None:
            body = msgspec.json.decode(await request.content.read())
            return _json(self._batches.create_messages(body) if anthropic else self._batches.create(body))
        if part == "results":
            return _data(self._batches.results(key))
        if part == "cancel":
            self._batches.cancel(key)
        return _json(self._batches.anthropic(key) if anthropic else self._batches.openai(key))

    async def _upload(self, request: web.BaseRequest) -> dict[str, Any]:
        name, data = "", b""
        async for part in await request.multipart():
            if isinstance(part, BodyPartReader) and part.name == "file":
                name, data = part.filename or "", bytes(await part.read())
        return self._batches.upload(name, data)


def _embedded(request: dict[str, Any]) -> dict[str, Any]:
    """OpenAI's reply about embeddings: for each text, how often it has each letter."""
    texts = [request["input"]] if isinstance(request["input"], str) else request["input"]
    vectors = [[float(text.lower().count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]
    data = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(vectors)]
    usage = {"prompt_tokens": sum(map(len, texts)), "total_tokens": sum(map(len, texts))}
    return {"object": "list", "data": data, "model": request["model"], "usage": usage}


def _json(body: object, status: int = 200) -> web.Response:
    if body is None:
        body, status = {"error": {"message": "No such object", "type": "invalid_request_error"}}, 404
    return web.Response(body=msgspec.json.encode(body), status=status, headers=_JSON)


def _data(data: bytes | None) -> web.Response:
    return _json(None) if data is None else web.Response(body=data, headers={"Content-Type": "application/x-jsonl"})


class Front:
    """Hands requests to the stub, and answers those about it."""

    def __init__(self, options: Options) -> None:
        self.stub = Stub(options)

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """The response to any request."""
        if request.path == "/stats":
            tally = self.stub.mind.tally
            tally.cpu = round(time.process_time(), 3)
            return _json(tally)
        if request.path == "/reset":
            return self._reset(msgspec.json.decode(await request.content.read() or b"[]"))
        return await self.stub.respond(request)

    def _reset(self, arguments: list[str]) -> web.Response:
        try:
            stub = Stub(parsed(arguments))
        except (SystemExit, ValueError) as fault:
            return _json({"error": f"these are no options of the stub: {arguments} ({fault})"}, 400)
        self.stub.close()
        self.stub = stub
        return _json({})


async def serve(options: Options) -> None:
    """Serve until a signal comes, or standard input ends where the stub is tied to it."""
    front = Front(options)
    runner = web.ServerRunner(web.Server(front, access_log=None), handle_signals=False, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", options.port, backlog=1024).start()
    sys.stdout.write(f"{runner.addresses[0][1]}\n")
    sys.stdout.flush()
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    if options.tied:
        loop.add_reader(sys.stdin, stopped.set)
    gc.freeze()
    await stopped.wait()
    await runner.cleanup()
    front.stub.close()


if __name__ == "__main__":
    asyncio.run(serve(parsed(None)))
