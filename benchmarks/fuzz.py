"""How many damaged inputs end in anything but a score or an error that says how to fix them.

    python benchmarks/fuzz.py [--count 100000] [--seed 1] [--only jsonl,csv]

Takes small sound inputs of everything that ragauge reads (files of rows, values in memory, recordings, labels, results
of batches, specs, replies of models and of people), damages them, and reads them. Prints for each kind how many were
read, how many were accepted, and each exception that is not one of ragauge's own, with an input that raises it; exits
with 1 where there is one. The same seed damages in the same way.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

import ragauge as rg
from ragauge.analysis.labels import parse_answer
from ragauge.analysis.parity import read_sheet
from ragauge.cli.options import judge_option
from ragauge.errors import RagaugeError
from ragauge.judges.base import RecordingJudge
from ragauge.judges.llm.prompts import Pack
from ragauge.judges.llm.replies import parse_reply as read_reply
from ragauge.judges.llm.transport.batches import read_result
from ragauge.kinds.call import PromptStyle
from ragauge.metrics.registry import select_metrics
from ragauge.questions import COHERENCE, Classify, Decompose, Entail, Question, Rate, Relevant
from ragauge.run.specs import load_judges
from ragauge.store.recording import read_judgments, read_labels
from ragauge.types import ChunkVerdict, Grade, Label, Verdict

#: What is put into inputs: what means something to one of the formats, and what is hard to hold.
TOKENS: tuple[str, ...] = (
    *"\"'\\{}[],:;|()=+?&/\n\t\0é💥٣½\ud800\ufeff\u2028",
    *'null true NaN -Infinity 1e999 -0 0.1 1_000 \\ud800 \\u0000 {} [] "" {"a": [[ ]] "id":1, "text": "label":'.split(),
    *"entailed 2026-01-01 __class__ %s {0} ../ http://[ :: </think> =1+1 \r\n ```json\n \x1b[2J".split(" "),
    "9" * 400,
)

#: Nested deeper than any parser, or any walk through values, goes.
DEEP = ("[" * 3000, '{"a":' * 3000, "(" * 3000, "panel(" * 1500)


def nested(depth: int) -> Any:
    """Objects and lists nested to a given depth."""
    return {"a": [nested(depth - 2)]} if depth > 0 else "a"


#: Values in place of others.
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 2**70, 1e308, float("nan"), float("inf")),
    *("", " ", "a", "\ud800", "x" * 5000, b"\xff", object(), range(3), (), {1, 2}),
    *([], [[]], [None], [1, "a"], [{"text": []}], [{"role": "user", "content": "a"}]),
    *({}, {"": ""}, {"text": None}, {"text": 1}, {"id": {}}, {1: 2}, nested(900)),
)

ROW = {
    "id": "1",
    "query": "Who wrote it?",
    "response": "Ada wrote it. It is long.",
    "contexts": [{"id": "c1", "text": "Ada wrote it.", "title": "Books"}, "It is long."],
    "references": ["Ada"],
    "metadata": {"house": "a", "score": 0.5},
}
FLAT = {**ROW, "contexts": "['Ada wrote it.', 'It is long.']", "references": "Ada", "metadata": "x"}
QUESTIONS: tuple[Question, ...] = (
    Entail(("Ada wrote it.", "It is long."), "Ada wrote it.", "Who?"),
    Relevant("Who?", "Ada wrote it."),
    Classify("It is ugly.", "toxic"),
    Rate(COHERENCE, (("source", "Ada wrote it."), ("response", "Ada did."))),
)
TEXTS: tuple[Question, ...] = (Decompose("Ada wrote it. It is long.", "Who?"), Decompose("Ada."))
JUDGE = {"name": "j", "settings": [["a", "b"]]}


METRICS = (
    "faithfulness,rouge(types=rouge1+rougeL,stemmer=true)",
    "composite(faithfulness=0.4,rouge.rougeL=0.6)",
    "pooled(faithfulness)",
    "trust(correctness=em)",
)
JUDGES = (
    "openai/gpt-4o-mini?temperature=0&concurrency=4&price=1:2",
    "anthropic/claude-haiku-4-5?max_tokens=9",
    "vllm/a/b?base_url=http://host:8000/v1",
    "panel(openai/a,openai/b)",
    "cascade(openai/a,openai/m,threshold=0.9)",
    "entail=openai/a",
)
VERDICTS = {
    "1": {"why": "w", "label": "entailed", "supports": ["S1"], "contradicts": []},
    "2": {"label": "yes"},
    "3": {"label": "no"},
    "4": {"grade": 3},
}
FENCED = '<think>{"1": 2}</think>\n```json\n{"1": {"label": "neutral"}, "4": {"grade": 2,},}\n```'
STATEMENTS = {"T1": {"1": [{"text": "Ada wrote it.", "kind": "claim"}], "2": []}, "T2": {"1": ["Ada."]}}


class Target(NamedTuple):
    """Something that reads.

    seeds: sound inputs. weight: its share of the inputs. allowed: what `read` may raise by its contract.
    """

    seeds: Sequence[Any]
    read: Callable[[Any], object]
    weight: int = 10
    allowed: tuple[type[Exception], ...] = ()


class Found(NamedTuple):
    """An exception that should not be: where it was raised, and an input that raises it."""

    kind: str
    where: str
    input: str


def encoded(value: Any) -> bytes:
    """JSON of a value."""
    return json.dumps(value).encode()


def rows_of(path: Path) -> None:
    """Read a file of rows as `ragauge run` does, past bad rows and up to the first."""
    for _ in rg.read(path, skip_bad_rows=True):
        pass
    for _ in rg.read(path):
        pass


def targets(folder: Path) -> dict[str, Target]:
    """Everything that reads, by a name for it."""

    def at(name: str, read: Callable[[Path], object]) -> Callable[[bytes], object]:
        def from_file(data: bytes) -> object:
            path = folder / name
            path.write_bytes(data)
            return read(path)

        return from_file

    table = [*_cells(",")], [*_cells("\t")]
    return {
        "jsonl": Target([encoded(ROW) + b"\n" + encoded({**ROW, "id": "2"})], at("a.jsonl", rows_of)),
        "json": Target([*map(encoded, ([ROW], {"data": [ROW]}, {"response": ["b"]}))], at("a.json", rows_of)),
        "csv": Target(table[0], at("a.csv", rows_of)),
        "tsv": Target(table[1], at("a.tsv", rows_of)),
        "txt": Target(
            [b"question : Who?\nanswer : Ada.\nlinks : []\nquestion : When?\nanswer : 1843\nlinks : x\n"],
            at("a.txt", rows_of),
        ),
        "gz": Target(list(_packed()), at("a.jsonl.gz", rows_of), 2),
        "parquet": Target(_tables(_parquet), at("a.parquet", rows_of), 1),
        "xlsx": Target(_tables(_workbook), at("a.xlsx", rows_of), 1),
        "rows": Target([ROW, FLAT], _in_memory),
        "columns": Target([{key: [value, value] for key, value in ROW.items()}], _columns),
        "sheet": Target([encoded({**ROW, "faithfulness": 0.5})], at("s.jsonl", lambda path: read_sheet(path, {})), 5),
        "recordings": Target(list(_recorded()), at("r.jsonl", lambda path: RecordingJudge(read_judgments(path)))),
        "labels": Target(list(_labelled()), at("l.jsonl", lambda path: list(read_labels(path)))),
        "batch results": Target(list(_results()), read_result, 10, (ValueError,)),
        "metrics": Target(METRICS, select_metrics),
        "judges": Target(JUDGES, lambda spec: load_judges(judge_option([spec]))),
        "replies": Target([json.dumps(VERDICTS), FENCED], partial(_replied, Pack(QUESTIONS))),
        "decompositions": Target([json.dumps(STATEMENTS)], partial(_replied, Pack(TEXTS))),
        "typed labels": Target(["s 1", "s 1 c 2", "y", "3.5", "?"], _typed),
    }


def _cells(delimiter: str) -> Iterator[bytes]:
    import csv

    for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL):
        file = io.StringIO(newline="")
        table = csv.DictWriter(file, list(FLAT), delimiter=delimiter, quoting=quoting)
        table.writeheader()
        table.writerows([FLAT, {**FLAT, "id": "2", "response": 'He said "no",\nthen left.'}])
        yield file.getvalue().encode()


def _packed() -> Iterator[bytes]:
    import gzip

    yield gzip.compress(encoded(ROW))


def _tables(write: Callable[[Any, io.BytesIO], None]) -> list[bytes]:
    import pyarrow

    file = io.BytesIO()
    write(
        pyarrow.Table.from_pylist([{key: str(cell) for key, cell in {**ROW, "id": n}.items()} for n in range(3)]), file
    )
    return [file.getvalue()]


def _parquet(table: Any, file: io.BytesIO) -> None:
    import pyarrow.parquet

    pyarrow.parquet.write_table(table, file)


def _workbook(table: Any, file: io.BytesIO) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    for row in ([*table.column_names], *(list(row.values()) for row in table.to_pylist())):
        book.active.append(row)
    book.save(file)


def _in_memory(row: Any) -> None:
    for _ in rg.read([row, row], skip_bad_rows=True):
        pass


def _columns(columns: Any) -> None:
    for _ in rg.read(columns, skip_bad_rows=True):
        pass


def _recorded() -> Iterator[bytes]:
    answers = (
        Verdict(Label.ENTAILED, 0.9, chunks=(ChunkVerdict(Label.ENTAILED), ChunkVerdict(Label.NEUTRAL))),
        Verdict(Label.YES),
        Verdict(Label.NO),
        Grade(3.0),
    )  # fmt: skip
    for question, answer in zip(QUESTIONS, answers, strict=True):
        yield encoded(
            {"question": msgspec.to_builtins(question), "answer": msgspec.to_builtins(answer), "judge": JUDGE}
        )


def _labelled() -> Iterator[bytes]:
    for question, answer in zip(QUESTIONS, ("entailed", "yes", "no", 3.0), strict=True):
        yield encoded({"question": msgspec.to_builtins(question), "answer": answer, "by": "ann"})


def _results() -> Iterator[bytes]:
    usage = {"prompt_tokens": 10, "completion_tokens": 2}
    chat = {"model": "m", "choices": [{"finish_reason": "stop", "message": {"content": "{}"}}], "usage": usage}
    yield encoded({"custom_id": "a", "response": {"status_code": 200, "body": chat}})
    yield encoded(
        {"custom_id": "a", "response": {"status_code": 429, "body": {"error": {"message": "m", "code": "c"}}}}
    )
    message = {
        "model": "m",
        "content": [{"type": "text", "text": "{}"}],
        "usage": {"input_tokens": 3, "output_tokens": 1},
    }
    yield encoded(
        {"custom_id": "a", "result": {"type": "succeeded", "message": {**message, "stop_reason": "end_turn"}}}
    )
    yield encoded({"custom_id": "a", "error": {"message": "expired", "code": "batch_expired"}})


def _replied(pack: Pack, text: str) -> object:
    return [
        read_reply(pack, text, PromptStyle(rationales, quotes))
        for rationales in (True, False)
        for quotes in (True, False)
    ]


def _typed(text: str) -> None:
    for question in QUESTIONS:
        try:
            parse_answer(question, text)
        except RagaugeError:
            continue


def damaged(seed: Any, others: Sequence[Any], chance: random.Random) -> Any:
    """An input like the seed, damaged in one to four places."""
    if not isinstance(seed, str | bytes):
        return _replaced(seed, chance)
    if chance.random() < 0.3 and (structured := _damaged_json(seed, chance)) is not None:
        return structured
    data = seed.encode("utf-8", "surrogatepass") if isinstance(seed, str) else seed
    for _ in range(chance.randint(1, 4)):
        data = _damaged_bytes(data, others, chance)
    return data.decode("utf-8", "replace") if isinstance(seed, str) else data


def _damaged_bytes(data: bytes, others: Sequence[Any], chance: random.Random) -> bytes:
    begin = chance.randint(0, len(data))
    end = min(len(data), begin + chance.choice((1, 1, 2, 8, 64)))
    match chance.randint(0, 7):
        case 0:
            return data[:begin] + data[end:]
        case 1:
            return data[:begin] + data[begin:end] * chance.choice((2, 3, 50)) + data[end:]
        case 2:
            return data[:begin] + bytes([chance.randrange(256)]) + data[begin + 1 :]
        case 3:
            return data[:begin]
        case 4:
            other = chance.choice(others)
            rest: bytes = other.encode() if isinstance(other, str) else other
            return data[:begin] + rest[begin:]
        case 5 if chance.random() < 0.02:
            return data[:begin] + chance.choice(DEEP).encode() + data[begin:]
        case _:
            return data[:begin] + chance.choice(TOKENS).encode("utf-8", "surrogatepass") + data[end:]


def _damaged_json(seed: str | bytes, chance: random.Random) -> str | bytes | None:
    """The same JSON with some value in place of another; None where the seed is none."""
    try:
        text = json.dumps(_replaced(json.loads(seed), chance), default=str, ensure_ascii=chance.random() < 0.5)
    except (ValueError, TypeError):
        return None
    return text if isinstance(seed, str) else text.encode("utf-8", "surrogatepass")


def _replaced(value: Any, chance: random.Random) -> Any:
    """A value like this one, of which some part, or all, is another."""
    if chance.random() < 0.2 or not isinstance(value, dict | list) or not value:
        return chance.choice(VALUES)
    if isinstance(value, list):
        at = chance.randrange(len(value))
        return [_replaced(item, chance) if i == at else item for i, item in enumerate(value)]
    name = chance.choice(list(value))
    changed = {key: _replaced(item, chance) if key == name else item for key, item in value.items()}
    if chance.random() < 0.1:
        changed[chance.choice(TOKENS)] = changed.pop(name)
    return changed


def fuzzed(target: Target, count: int, chance: random.Random) -> tuple[int, Counter[Found]]:
    """How many of `count` damaged inputs were accepted, and what went wrong with others."""
    accepted = 0
    found: Counter[Found] = Counter()
    first: dict[tuple[str, str], Found] = {}
    for _ in range(count):
        given = damaged(chance.choice(target.seeds), target.seeds, chance)
        try:
            target.read(given)
            accepted += 1
        except Exception as error:
            if isinstance(error, (RagaugeError, *target.allowed)):
                continue
            kind, where = type(error).__name__, _where(error)
            one = first.setdefault((kind, where), Found(kind, where, ascii(given)[:300]))
            found[one] += 1
    return accepted, found


def _where(error: Exception) -> str:
    """The last line of ragauge's own that the exception came through."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "ragauge" in frame.filename]
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"


def report(count: int, seed: int, only: Iterable[str]) -> int:
    """Fuzz everything, print a line for each kind of input, and give how many exceptions there were."""
    with tempfile.TemporaryDirectory() as folder:
        kinds = {name: one for name, one in targets(Path(folder)).items() if not only or name in only}
        whole = sum(one.weight for one in kinds.values())
        total = faults = 0
        print(f"{'':16}{'inputs':>8}{'accepted':>10}{'uncaught':>10}")
        for name, target in kinds.items():
            for sound in target.seeds:
                target.read(sound)
            share = -(-count * target.weight // whole)
            accepted, found = fuzzed(target, share, random.Random(f"{seed} {name}"))
            print(f"{name:16}{share:8}{accepted:10}{found.total():10}", flush=True)
            for one, times in found.most_common():
                print(f"    {times} x {one.kind} at {one.where}: {one.input}")
            total, faults = total + share, faults + found.total()
        print(f"{'all':16}{total:8}{'':10}{faults:10}")
    return faults


def main() -> None:
    """Read the options and fuzz."""
    options = argparse.ArgumentParser()
    options.add_argument("--count", type=int, default=100_000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--only", default="", help="kinds of input, with commas between them")
    given = options.parse_args()
    sys.exit(1 if report(given.count, given.seed, [name for name in given.only.split(",") if name]) else 0)


if __name__ == "__main__":
    main()
