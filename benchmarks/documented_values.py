"""The values that other systems' documentation shows for its examples, beside ours, and write the table of them.

    python benchmarks/documented_values.py FOLDER ragas=CHECKOUT rag_evals=CHECKOUT valor=CHECKOUT

The programs run as in `documented_blocks.py`, twice: with the embedded judge in place of a model, and with a strong
model that is reached by files. Calls without a reply are written to FOLDER/calls.jsonl, {"id", "system": a file of
instructions beside it, "user"}; replies are expected in FOLDER/replies*.jsonl, {"id", "reply"}, and the command is
repeated until none is missing, since claims can be judged once they are known. Then it writes the page.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import fmean
from typing import Any

from documented_blocks import COMPUTED, SECTIONS, Block, commit, results
from exported import call_id, replies_in
from tests.llm.stub import chat
from tests.llm.stub.asks import Refused, StubReply

PAGE = Path(__file__).parents[1] / "docs" / "measured" / "documented-values.md"

#: Where a program names its model, by system, and the embedded judge in its place.
EMBEDDED = {
    "ragas": [(r"llm_factory\((?:[^()]|\([^()]*\))*\)", '"embedded"')],
    "rag_evals": [(r"instructor\.from_provider\([^)]*\)", '"embedded"')],
    "valor": [(r"Evaluator\.openai\(\)", 'Evaluator("embedded")')],
}
#: The examples of a program run one after the other, also where one fails.
APART = [(r"(?m)^    await (test_\w+\(\))", r"    await asyncio.gather(\1, return_exceptions=True)")]
#: Values in what a page shows and in what its programs print, by the suffix of the page.
VALUES = {
    ".md": r"(?m)^(?:[\w ()]+: )?(\d+(?:\.\d+)?)$",
    ".py": r"(?:(?:Faithfulness|Precision|Overall) Score: |# Expected: (?:.* = )?)(\d+\.\d+)",
    ".ipynb": r'"value": (\d+(?:\.\d+)?)',
}
#: Pages of ragas without a value, or with values that no model's words decide, and such blocks of the other pages.
WITHOUT = "agents|sql|multi_modal|traditional|semantic_similarity|context_entities|aspect_critic|rubrics_based"
NO_MODEL = rf"{COMPUTED}|sentence_bleu|compute_rouge"


#: Metrics that ragas defines otherwise (docs/migrating/ragas.md says how), and those that are no shares.
NOTES = {
    "another definition": "AnswerCorrectness|AnswerRelevancy|ResponseRelevancy|Summar(y|ization)Score|AnswerAccuracy"
    "|ContextRelevance|ResponseGroundedness",
    "of 1 to 5": "RubricsScore|summary_coherence",
}


class Recorded(ThreadingHTTPServer):
    """A server of OpenAI's protocol that answers from recorded replies, and refuses calls that have none.

    missing: those calls, by id. systems: their instructions, by the name of the file. faults: what is wrong with
    replies, by id.
    """

    def __init__(self, replies: Mapping[str, Any]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replies = replies
        self.missing: dict[str, dict[str, Any]] = {}
        self.systems: dict[str, str] = {}
        self.faults: dict[str, str] = {}

    def respond(self, body: bytes) -> tuple[int, dict[str, Any]]:
        """Status and body for a call."""
        try:
            ask = chat.read(body, frozenset())
        except Refused as refused:  # what asks for embeddings
            return refused.status, chat.error(refused.status, "", str(refused))
        document = json.loads(ask.user[0])
        number = {"call": document.pop("call")} if "call" in document else {}
        id = call_id(ask.system, json.dumps(document))
        if len(ask.user) > 1:
            self.faults[id] = ask.user[-1]
        elif id in self.replies:
            text = json.dumps(number | self.replies[id])
            return 200, chat.write(ask, StubReply(text, "stop", 0, 0), 0)
        else:
            name = f"system-{call_id(ask.system)[:6]}.txt"
            self.systems[name] = ask.system
            self.missing[id] = {"id": id, "system": name, "user": document}
        return 400, chat.error(400, "", f"call {id} has no usable reply yet")

    def write(self, folder: Path) -> None:
        """Write the missing calls and their instructions."""
        for name, system in self.systems.items():
            (folder / name).write_text(system, encoding="utf-8")
        calls = [json.dumps(self.missing[id], ensure_ascii=False) + "\n" for id in sorted(self.missing)]
        (folder / "calls.jsonl").write_text("".join(calls), encoding="utf-8")


class _Handler(BaseHTTPRequestHandler):
    server: Recorded

    def do_POST(self) -> None:
        """Answer a call."""
        status, answer = self.server.respond(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing is printed."""


@dataclass(frozen=True)
class Value:
    """A value that a page documents for an example, and those of the embedded judge and of the strong model.

    note: why it is compared with ours in the table alone, if it is.
    """

    page: str
    example: str
    documented: float
    embedded: float | None
    strong: float
    note: str

    def row(self) -> str:
        """It in the table."""
        embedded = f"{self.embedded:.4g}" if self.embedded is not None else "–"
        documented = f"{self.documented:.4g}{self.note and f', {self.note}'}"
        return f"| {self.page} | {self.example} | {documented} | {embedded} | {self.strong:.4g} |"


Pages = dict[tuple[str, int], Block]


def numbers(page: str, text: str) -> list[float]:
    """The values in a text of a page, or in what its program prints."""
    return [float(number) for number in re.findall(VALUES[Path(page).suffix], text)]


def values(embedded: Pages, strong: Pages) -> Iterator[Value]:
    """The documented values of a system that depend on what a model says."""
    for (page, number), block in strong.items():
        documented, by_strong = numbers(page, block.shown), numbers(page, block.printed)
        if re.search(NO_MODEL, block.code) or len(by_strong) != len(documented):
            continue
        by_embedded: Sequence[float | None] = numbers(page, embedded[page, number].printed)
        if len(by_embedded) != len(documented):
            by_embedded = [None] * len(documented)
        note = next((note for note, pattern in NOTES.items() if re.search(pattern, block.code)), "")
        for place, triple in enumerate(zip(documented, by_embedded, by_strong, strict=True), 1):
            example = f"{number}, {place}" if len(documented) > 1 else str(number)
            yield Value(Path(page).name, example, *triple, note)


def blocks_of(system: str, checkout: Path, *replaced: tuple[str, str]) -> Pages:
    """The blocks of a system's pages, by page and number, after they ran."""
    section = next(section for section in SECTIONS if section.system == system)
    section = replace(section, without=WITHOUT, replaced=[*APART, *replaced])
    return {
        (page, block.number): block
        for page, listed in results(section, checkout, pages_at_once=4, verbose=False)
        for block in listed
    }


_HEAD = """# The values that the systems document

The values that other systems' documentation shows below its examples, as it stands on {day}, beside those of
the same programs here, with their imports changed: by the embedded judge in place of their model, and by a strong
model, whose replies are recorded. A dash is a grade, or a label of bias, which the embedded judge does not give. Made
by `python benchmarks/documented_values.py`; no prompt, rule or judge was made or changed for it. ragas' pages show
most examples twice, in a newer and an older form. DeepEval's pages show no values, and Trust-Eval's are of a data set.
Values that depend on no model's words are in [the table of blocks](documented-blocks.md).

The sources: {sources}.

{summary}

The evidence shows where the embedded judge is wrong. It does not know that an answer and its context name one
event by two names (`faithfulness.md`). It holds a sentence of three predicates as one claim, so that a mixed sentence
gets 0 in place of a share (the second of `check_faithfulness.py`), and it takes contexts on the topic of a question for
relevant (`check_precision.py`). The strong model goes by the texts alone, as it is told, where documented values take
knowledge of the world: reference and context state different facts in `context_recall.md`.

| page | block | documented | embedded judge | strong model |
|---|---|---|---|---|
"""

#: From here a documented value makes a positive example, and ours agrees.
POSITIVE = 0.9


def summary(listed: Sequence[Value]) -> str:
    """How often the judges agree that a positive example is one, where they do not, and how far values are apart."""
    alike = [value for value in listed if not value.note]
    positive = [value for value in alike if value.documented >= POSITIVE]
    lines = [
        f"{len(listed)} values, of which {len(alike)} are shares that are defined alike. {len(positive)} of these are",
        f"positive examples, documented with at least {POSITIVE}:\n",
    ]
    for judge in ("embedded", "strong"):
        ours = {value: getattr(value, judge) for value in alike if getattr(value, judge) is not None}
        judged = [value for value in positive if value in ours]
        failed = [f"{value.page} {value.example} ({ours[value]:.4g})" for value in judged if ours[value] < POSITIVE]
        apart = fmean(abs(value.documented - number) for value, number in ours.items())
        name = {"embedded": "embedded judge", "strong": "strong model"}[judge]
        lines += [
            f"- The {name} **fails {len(failed)} of {len(judged)}** that it judges: {', '.join(failed)}.",
            f"  Over all {len(ours)} its values are {apart:.2f} from the documented ones, in the mean.",
        ]
    return "\n".join(lines)


def main() -> None:
    """Write the calls that are missing, or the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("checkouts", nargs="+", metavar="SYSTEM=CHECKOUT")
    options = parser.parse_args()
    checkouts = {system: Path(path).resolve() for system, path in (pair.split("=", 1) for pair in options.checkouts)}
    server = Recorded(replies_in(options.folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/v1"
    os.environ |= {"OPENAI_BASE_URL": address, "OPENAI_API_KEY": "none", "HF_HUB_OFFLINE": "1"}
    strong = {system: blocks_of(system, path) for system, path in checkouts.items()}
    server.write(options.folder)
    for id, fault in server.faults.items():
        print(f"{id}: {fault}")
    if server.missing:
        print(f"{len(server.missing)} calls to answer in {options.folder}")
        return
    listed = [
        value
        for system, path in checkouts.items()
        for value in values(blocks_of(system, path, *EMBEDDED[system]), strong[system])
    ]
    sources = ", ".join(f"{system} {commit(path)}" for system, path in checkouts.items())
    head = _HEAD.format(day=date.today(), sources=sources, summary=summary(listed))
    PAGE.write_text(head + "".join(f"{value.row()}\n" for value in listed), encoding="utf-8")


if __name__ == "__main__":
    main()
