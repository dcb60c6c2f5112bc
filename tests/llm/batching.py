"""What the tests of batches share: data, and a provider by hand that answers files of requests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.llm.stub import chat, messages, oracle

from ragauge.run.batch.collect import Imported, import_results
from ragauge.run.batch.export import ExportedBatch, export
from ragauge.run.batch.folder import BatchSettings, Folder

METRICS = "faithfulness,answer_relevance,context_precision,context_recall,answer_correctness"
SPEC = "openai/gpt-4o-mini"

Line = dict[str, Any]
Answering = Callable[[Line], Line]


def samples(count: int) -> list[Line]:
    """Rows of data, every text of its own, with signs of several scripts in them."""
    return [
        {
            "query": f"Who wrote book {n}, “{n} Nächte”?",
            "response": f"Ada Bell wrote book {n} in {1900 + n}. Book {n} was printed in Köln 東京 🎈.",
            "contexts": [f"Book {n} was written by Ada Bell in {1900 + n}.", f"Shelf {n} stands in the hall."],
            "references": [f"Ada Bell wrote book {n}. She lived in house {n}."],
        }
        for n in range(1, count + 1)
    ]


def data_file(folder: Path, count: int = 6) -> Path:
    """Those rows as a file."""
    path = folder / "data.jsonl"
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in samples(count)), encoding="utf-8")
    return path


def settings(folder: Path, *, count: int = 6, **changed: Any) -> BatchSettings:
    """A batch over a file of rows."""
    given = {"judge": SPEC, "metrics": METRICS, **changed}
    return BatchSettings(data=str(data_file(folder, count)), store=str(folder / "store"), **given)


def lines(path: Path) -> list[Line]:
    """The lines of a file of JSON."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def reply(body: Line) -> str:
    """What a good model says to the body of a chat completion."""
    return oracle.reply(chat.read(json.dumps(body).encode(), frozenset()), "claims")


def answered(line: Line, output: Callable[[Line], str] = reply) -> Line:
    """OpenAI's line of results for a request that was answered."""
    body = line["body"]
    choice = {"index": 0, "message": {"role": "assistant", "content": output(body)}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
    completion = {"id": "c", "object": "chat.completion", "model": body["model"], "choices": [choice], "usage": usage}
    response = {"status_code": 200, "request_id": "r", "body": completion}
    return {"id": "b", "custom_id": line["custom_id"], "response": response, "error": None}


def answered_message(line: Line) -> Line:
    """Anthropic's line of results for a request that was answered."""
    output = oracle.reply(messages.read(json.dumps(line["params"]).encode(), frozenset()), "claims")
    usage = {"input_tokens": 1000, "output_tokens": 100}
    message = {"model": "m", "content": [{"type": "text", "text": output}], "stop_reason": "end_turn", "usage": usage}
    return {"custom_id": line["custom_id"], "result": {"type": "succeeded", "message": message}}


def errored(line: Line, status: int, message: str, **error: Any) -> Line:
    """OpenAI's line of results for a request that the server refused."""
    response = {"status_code": status, "request_id": "r", "body": {"error": {"message": message, **error}}}
    return {"id": "b", "custom_id": line["custom_id"], "response": response, "error": None}


def expired(line: Line) -> Line:
    """OpenAI's line of results for a request that was not made in time."""
    error = {"code": "batch_expired", "message": "This request could not be executed before the batch expired."}
    return {"id": "b", "custom_id": line["custom_id"], "response": None, "error": error}


def results(folder: Path, found: Iterable[Line], name: str = "results.jsonl") -> Path:
    """Lines of results as a file, the last first."""
    path = folder / name
    path.write_text("".join(json.dumps(line) + "\n" for line in reversed(list(found))), encoding="utf-8")
    return path


class Killed(BaseException):
    """What a test ends a command with in its middle."""


def waves_of(folder: Folder, place: Path, answering: Answering = answered) -> Iterator[ExportedBatch]:
    """Export and answer, round after round, until nothing is asked; each export as it came."""
    while True:
        exported = export(folder)
        yield exported
        under_way = [line for path in exported.files for line in lines(path)]
        if not exported.files:
            return
        take(folder, place, map(answering, under_way))


def take(folder: Folder, place: Path, made: Iterable[Line]) -> Imported:
    """Import lines of results."""
    return import_results(folder, [results(place, made)])


def killed(*arguments: object, **options: object) -> None:
    """Ends the command."""
    raise Killed
