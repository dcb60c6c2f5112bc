"""How good test questions are that a strong model writes, before and after the filter, by labels of a second reader.

    python benchmarks/questions.py ask SHARED FOLDER       until no call is left
    python benchmarks/questions.py label FOLDER            once, then label
    python benchmarks/questions.py figures FOLDER
    python benchmarks/questions.py calls SHARED FOLDER     calls a question, beside ragas' where it is installed
    python benchmarks/questions.py price FOLDER            time and memory of large corpora

SHARED: the folder with data/train/written, of which about 90 texts are the corpus: manuals, rules, health. `ask` makes
the questions with a model that is reached by files. FOLDER then holds system-N.txt, the instructions, and calls.jsonl,
one call a line: {"id", "system": its instructions, "user": the document}. Replies go into FOLDER/replies*.jsonl,
{"id", "reply"}, where the reply is the JSON object that the instructions ask for, or its text. As long as some are
missing, the command writes the calls that can be made now; then it writes questions.jsonl, those that are kept.
The environment variable DRAFTS says how many questions are written, 300 unless set.

`label` writes label.txt, what a good question is, and label.jsonl, each question that was written, kept or not, in an
order of chance and without the verdict. Labels are expected in FOLDER/labels*.jsonl, {"id", "good": true or false,
"why"}.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import os
import random
import re
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import msgspec

from ragauge.datasets import QuestionSet, plan_questions, questions
from ragauge.datasets.corpus import read_corpus
from ragauge.datasets.drafting import ASKED_KINDS, draft_of, draft_prompt, full_query
from ragauge.datasets.retrieval import BM25, PassageSearch
from ragauge.judges.base import JudgeBase
from ragauge.judges.llm.messages import CallFailed
from ragauge.judges.llm.prompts import Pack, PackingPolicy, PackLimits, prompt_of
from ragauge.judges.llm.replies import parse_reply
from ragauge.kinds.call import PromptStyle
from ragauge.questions import KINDS, Question
from ragauge.statistics.agreement import balanced_accuracy, group_interval
from ragauge.statistics.intervals import mean_interval
from ragauge.types import Answer, Chunk, Failure, Identity, Sample

DOMAINS = {
    "manuals": r"manual|product|SaaS|API|data sheet|configuration|release notes",
    "rules": r"HR|insurance|booking|tax|contract|hotel|handbook|visa|bank|subsid|regulation|library|school",
    "health": r"patient|health|clinic|pharmacy|medic|veterinary|nutrition|safety",
}
TEXTS, WORDS, DRAFTS = 30, 250, int(os.environ.get("DRAFTS", "300"))
STYLE = PromptStyle(rationales=False)
PENDING = Failure("pending", "its reply is still to come")

GOOD = """A row of label.jsonl is a question of a test set for systems that answer from documents.
It is good if all of this holds:

- A person may well ask it, it has one meaning for somebody who has only the question (and the conversation before it,
  where there is one), and its answer matters to whoever cares for the subject.
- "answer" is right and complete by "passages": each claim follows from them, and all that was asked for is there.
- kind "bridge" or "comparison": no single passage suffices for the answer.
- kind "follow-up": without the conversation the question cannot be understood; what is said in it is right.
- kind "unanswerable" (no answer): neither "passages" nor "nearest" answers it, not even in part.

Reply {"id", "good": true or false, "why": "in a few words, where it is not good"}, a line each.
"""


class Exchange:
    """Calls that are answered by files. missing: those without a reply, by id. made: the number that were needed."""

    def __init__(self, folder: Path) -> None:
        self.missing: dict[str, dict[str, Any]] = {}
        self.drafts: dict[str, Any] = {}
        self._replies = {row["id"]: row["reply"] for row in rows_of(folder.glob("replies*.jsonl"))}

    def reply(self, system: str, user: str) -> str | None:
        """The text of a reply; None where it is missing, which is noted."""
        id = hashlib.sha256(f"{system}\n{user}".encode()).hexdigest()[:12]
        if id not in self._replies:
            self.missing[id] = {"id": id, "system": system, "user": json.loads(user)}
            return None
        reply = self._replies[id]
        return reply if isinstance(reply, str) else json.dumps(reply)

    def write(self, folder: Path) -> None:
        """Write the missing calls and their instructions."""
        (folder / "calls.jsonl").unlink(missing_ok=True)
        names: dict[str, str] = {}
        lines = []
        for call in self.missing.values():
            name = names.setdefault(
                call["system"], f"system-{hashlib.sha256(call['system'].encode()).hexdigest()[:4]}.txt"
            )
            lines.append(json.dumps({**call, "system": name}, ensure_ascii=False))
        for system, name in names.items():
            (folder / name).write_text(system, encoding="utf-8")
        if lines:
            (folder / "calls.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


class Writer:
    """The model, as a function of messages. calls: how many it was asked."""

    model_name = "exported"

    def __init__(self, exchange: Exchange) -> None:
        self.calls = 0
        self._exchange = exchange

    def __call__(self, messages: list[dict[str, str]]) -> str:
        """A reply. Raises CallFailed where it is still to come."""
        self.calls += 1
        reply = self._exchange.reply(messages[0]["content"], messages[1]["content"])
        if reply is None:
            raise CallFailed(PENDING)
        return reply


class Prover(JudgeBase):
    """The same model as a judge. Questions of a round share calls; their replies are read with what was asked in them.

    calls: how many an LLM judge makes, whose calls hold the questions about one draft.
    """

    answers = frozenset(KINDS)
    by_sample = 32

    def __init__(self, exchange: Exchange, folder: Path) -> None:
        self.identity = Identity("exported")
        self.calls = 0
        self.faults: list[str] = []
        self._exchange, self._path = exchange, folder / "packs.jsonl"
        self._policy = PackingPolicy(PackLimits(), False, STYLE)
        self._waiting: dict[Question, None] = {}
        self._known: dict[Question, Answer | Failure] = {}
        self._packs: list[tuple[Question, ...]] = []
        if self._path.is_file():
            self._packs = [
                msgspec.json.decode(line, type=tuple[Question, ...]) for line in self._path.read_bytes().splitlines()
            ]
        for pack in self._packs:
            self._read(Pack(pack))

    def _read(self, pack: Pack) -> None:
        prompt = prompt_of(pack, STYLE)
        reply = self._exchange.reply(prompt.system, prompt.user)
        if reply is None:
            self._known |= dict.fromkeys(pack.questions, PENDING)
            return
        parsed = parse_reply(pack, reply, STYLE)
        self.faults += [f"{pack.keys[place]}: {fault}" for place, fault in parsed.faults.items()]
        for place, question in enumerate(pack.questions):
            self._known[question] = parsed.answers.get(place) or Failure("invalid_answer", parsed.faults.get(place, ""))

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """What the replies say; a question that is new waits for the next round."""
        self.calls += len(list(self._policy.packs(questions)))
        self._waiting |= dict.fromkeys(question for question in questions if question not in self._known)
        return [self._known.get(question, PENDING) for question in questions]

    def write(self) -> None:
        """Write calls for what is waiting."""
        packs = list(self._policy.packs(list(self._waiting)))
        for pack in packs:
            self._read(pack)
        lines = [msgspec.json.encode(questions) for questions in (*self._packs, *(pack.questions for pack in packs))]
        self._path.write_bytes(b"".join(line + b"\n" for line in lines))


def rows_of(paths: Iterable[Path]) -> Iterator[Any]:
    """The rows of files of JSON Lines."""
    for path in sorted(paths):
        yield from (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip())


def write_rows(path: Path, rows: Iterable[Any]) -> None:
    """Write rows as JSON Lines."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def write_corpus(shared: Path, path: Path) -> None:
    """Write the corpus: up to as many texts of each domain."""
    with gzip.open(shared / "data/train/written/documents.jsonl.gz", "rt", encoding="utf-8") as file:
        own = [row for row in map(json.loads, file) if "passage_source" not in row and row.get("title")]
    drawn = []
    for domain, pattern in DOMAINS.items():
        texts = [row for row in own if re.search(pattern, row["domain"])]
        drawn += [{**row, "group": domain} for row in random.Random(1).sample(texts, min(TEXTS, len(texts)))]
    write_rows(path, ({key: row[key] for key in ("id", "title", "text", "group")} for row in drawn))


def make(folder: Path) -> tuple[QuestionSet, Exchange, Writer, Prover]:
    """Make the set with the replies that there are."""
    exchange = Exchange(folder)
    writer, prover = Writer(exchange), Prover(exchange, folder)
    options: dict[str, Any] = {"n": DRAFTS, "attempts": 1.0, "words": WORDS, "seed": 1}
    return questions(folder / "corpus.jsonl", writer, judge=prover, **options), exchange, writer, prover


def ask(shared: Path, folder: Path) -> None:
    """Write the calls that can be made now, or the questions."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "corpus.jsonl").is_file():
        write_corpus(shared, folder / "corpus.jsonl")
    made, exchange, writer, prover = make(folder)
    prover.write()
    exchange.write(folder)
    for fault in prover.faults:
        print(f"a reply has a fault: {fault}")
    print(f"{made.made.total()} drafts wanted, {len(made.samples)} kept so far; {dict(made.dropped)}")
    if exchange.missing:
        print(f"{len(exchange.missing)} calls to answer: {folder / 'calls.jsonl'}")
        return
    made.save(folder / "questions.jsonl")
    calls = writer.calls + prover.calls
    print(f"done: {len(made.samples)} kept; {calls} calls, {calls / max(1, len(made.samples)):.1f} a kept question")


def drafts(folder: Path) -> dict[str, tuple[str, Sample, list[Chunk]]]:
    """Each question that was written, by id, with its kind and the passages that were shown."""
    exchange = Exchange(folder)
    passages = read_corpus(folder / "corpus.jsonl", WORDS).passages
    by_text = {passage.passage: passage for passage in passages}
    kinds = {draft_prompt(kind, passages[:1]).system: kind for kind in ASKED_KINDS}
    found = {}

    class Listening(Writer):
        def __call__(self, messages: list[dict[str, str]]) -> str:
            reply = super().__call__(messages)
            document = json.loads(messages[1]["content"])
            if kind := kinds.get(messages[0]["content"]):
                shown = [by_text[text] for text in document["passages"].values()]
                draft = draft_of(kind, reply[reply.index("{") :], shown)
                if draft:
                    name = hashlib.sha256(f"{kind} {full_query(draft)} {shown[0].id}".encode()).hexdigest()[:10]
                    found[name] = (kind, draft, shown)
            return reply

    questions(
        folder / "corpus.jsonl",
        Listening(exchange),
        judge=Prover(exchange, folder),
        n=DRAFTS,
        attempts=1.0,
        words=WORDS,
        seed=1,
    )
    return found


def label(folder: Path) -> None:
    """Write what is to be labelled."""
    passages = read_corpus(folder / "corpus.jsonl", WORDS).passages
    index = BM25(passage.passage for passage in passages)
    rows = []
    for name, (kind, draft, shown) in drafts(folder).items():
        row: dict[str, Any] = {"id": name, "kind": kind, "question": draft.query}
        if draft.turns:
            row["conversation"] = [turn.text for turn in draft.turns]
        row["answer"] = (draft.references or (None,))[0]
        row["passages"] = [chunk.passage for chunk in shown]
        if kind == "unanswerable":
            row["nearest"] = [passages[place].passage for place, _ in index.search(draft.query or "", 8)]
        rows.append(row)
    random.Random(7).shuffle(rows)
    write_rows(folder / "label.jsonl", rows)
    (folder / "label.txt").write_text(GOOD, encoding="utf-8")
    print(f"{len(rows)} questions to label: {folder / 'label.jsonl'}, by {folder / 'label.txt'}")


def figures(folder: Path) -> None:
    """Print the share of good questions, written and kept."""
    labels = {row["id"]: bool(row["good"]) for row in rows_of(folder.glob("labels*.jsonl"))}
    kept = {(row["metadata"]["kind"], row["query"]) for row in rows_of([folder / "questions.jsonl"])}
    rows = [
        (kind, labels[name], (kind, one.query) in kept)
        for name, (kind, one, _) in drafts(folder).items()
        if name in labels
    ]
    print(f"{len(rows)} labelled questions; share that is good [95 %]")
    for kind in ("all", *ASKED_KINDS):
        for what, chosen in (("written", False), ("kept", True)):
            good = [float(is_good) for of, is_good, is_kept in rows if kind in ("all", of) and is_kept >= chosen]
            if good:
                interval = mean_interval(good, scale=(0, 1))
                bounds = f"[{interval.low:.3f}, {interval.high:.3f}]"
                print(f"  {kind:14} {what:8} {sum(good) / len(good):.3f} {bounds}  n={len(good)}")
    truth, verdicts = [float(is_good) for _, is_good, _ in rows], [float(is_kept) for *_, is_kept in rows]
    low, high = group_interval(truth, verdicts, list(range(len(rows))), balanced_accuracy) or (0.0, 1.0)
    area = balanced_accuracy(truth, verdicts)  # the area under the curve of a verdict of two values
    print(f"the filter's verdict against the labels: AUC {area or 0:.3f} [{low:.3f}, {high:.3f}]")
    wrong = Counter(kind for kind, is_good, is_kept in rows if is_kept and not is_good)
    print(f"kept and not good: {dict(wrong)}")


def calls(shared: Path, folder: Path) -> None:
    """Print the calls for 100 questions about the corpus where every reply is valid and every draft holds."""
    folder.mkdir(parents=True, exist_ok=True)
    corpus = folder / "corpus.jsonl"
    if not corpus.is_file():
        write_corpus(shared, corpus)
    for kinds in (["single"], ["single", "comparison"], None):
        plan = plan_questions(corpus, "openai/gpt-4o-mini", n=100, kinds=kinds, words=WORDS, seed=1)
        print(
            f"ragauge, {', '.join(kinds or ['all kinds'])}: {plan.cost.calls / 100:.1f} calls a question, each proven"
        )
    try:
        print(f"ragas: {ragas_calls(corpus, 100) / 100:.1f} calls a question, none proven")
    except ImportError as error:
        print(f"ragas: not installed ({error})")


def ragas_calls(corpus: Path, size: int) -> int:
    """The calls of ragas' TestsetGenerator with its defaults, whose model gives a valid reply to each prompt.

    Four characters count as a token, since tiktoken downloads its table.
    """
    os.environ["RAGAS_DO_NOT_TRACK"] = "true"
    cut = re.compile(r".{1,4}", re.DOTALL)
    encoding = SimpleNamespace(encode=lambda text, **_: cut.findall(text), decode="".join)
    sys.modules["tiktoken"] = ModuleType("tiktoken")
    vars(sys.modules["tiktoken"]).update(get_encoding=lambda _: encoding, Encoding=SimpleNamespace)
    from langchain_core.documents import Document
    from ragas.embeddings.base import BaseRagasEmbeddings
    from ragas.llms.base import BaseRagasLLM
    from ragas.prompt import PydanticPrompt
    from ragas.run_config import RunConfig
    from ragas.testset import TestsetGenerator

    made = Counter[str]()

    async def reply(self: Any, data: Any, n: int = 1, **_: Any) -> list[Any]:
        made[type(self).__name__] += n
        text = data.model_dump_json()
        names = sorted(set(re.findall(r"\b[A-Z][a-z]{3,}\b", text)))[:10] or ["Text"]
        fields = {
            "mapping": {persona.name: data.themes for persona in getattr(data, "personas", ())},
            "combinations": [[concepts[0] for concepts in getattr(data, "lists_of_concepts", ()) if concepts]],
            "score": 5,
            "name": f"Reader {made.total()}",
        }
        listed = dict.fromkeys(("entities", "output", "headlines", "keyphrases"), names)
        values = {name: {**listed, **fields}.get(name, text[:300]) for name in self.output_model.model_fields}
        return [self.output_model(**values)] * n

    class Model(BaseRagasLLM):
        def generate_text(self, *_: Any, **__: Any) -> Any:
            raise AssertionError("every prompt is answered by `reply`")

        async def agenerate_text(self, *_: Any, **__: Any) -> Any:
            raise AssertionError("every prompt is answered by `reply`")

        def is_finished(self, response: Any) -> bool:
            return True

    class Words(BaseRagasEmbeddings):
        run_config = RunConfig()

        def embed_query(self, text: str) -> list[float]:
            counts = Counter(hashlib.sha256(word.encode()).digest()[0] for word in text.lower().split())
            return [float(counts[number]) for number in range(256)]

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [self.embed_query(text) for text in texts]

        async def aembed_query(self, text: str) -> list[float]:
            return self.embed_query(text)

        async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
            return self.embed_documents(texts)

    PydanticPrompt.generate_multiple = reply
    documents = [Document(f"{row['title']}\n{row['text']}") for row in rows_of([corpus])]
    testset = TestsetGenerator(Model(), Words()).generate_with_langchain_docs(documents, testset_size=size)
    print(f"ragas: {made.total()} calls for {len(testset.samples)} questions; {dict(made)}")
    return made.total()


def price(folder: Path) -> None:
    """Print what planning about 10,000 passages takes, and embedding 1,000 of them."""
    rng = random.Random(1)
    syllables = [consonant + vowel for consonant in "bcdfghlmnprstv" for vowel in "aeiou"]
    words = ["".join(rng.choices(syllables, k=rng.randint(1, 4))) for _ in range(20_000)]
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    folder.mkdir(parents=True, exist_ok=True)
    large = folder / "large.md"
    large.write_text("".join(f"{' '.join(rng.choices(words, weights, k=95))}.\n\n" for _ in range(10_000)))
    begun = time.process_time()
    plan = plan_questions(large, "openai/gpt-4o-mini", n=200)
    print(f"10,000 passages planned: {plan.cost.calls} calls, {_used(begun)}")
    begun = time.process_time()
    search = PassageSearch([passage.passage for passage in read_corpus(large, most=1_000).passages])
    asyncio.run(search.ready())
    print(f"1,000 passages embedded: {_used(begun)}")


def _used(begun: float) -> str:
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return f"{time.process_time() - begun:.1f} s of processor time, at most {memory} MB"


if __name__ == "__main__":
    command, *paths = sys.argv[1:]
    {"ask": ask, "label": label, "figures": figures, "calls": calls, "price": price}[command](*map(Path, paths))
