"""Figures with a strong model that is reached by files: calls are written as the model sees them, without a label, and
its replies are read as those of any model.

    python benchmarks/exported.py NAME SHARED FOLDER

NAME: one of the sets below. SHARED: the folder with data/eval. FOLDER/NAME then holds system-N.txt, the instructions,
and calls-N.jsonl, one call a line: {"id", "system": its instructions, "user": the document}. Replies are expected in
FOLDER/NAME/replies*.jsonl, {"id", "reply"}, where the reply is the JSON object that the instructions ask for. As long
as some are missing, the command writes the calls that can be made now (claims can be judged once they are known);
then it prints the figures beside those of the embedded judge or of other definitions, on the same rows.

Rows are drawn by a seed that has seen nothing of them, or by the hash of their question. The two orders of a preference
are in files of their own.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import completeness
import msgspec
from conversations import mean, rows_of, show
from preference import pearson
from probes import read

import ragauge as rg
from ragauge.analysis.measure import LabelledCase, read_cases
from ragauge.judges.base import JudgeBase
from ragauge.judges.llm.prompts import Pack, PackingPolicy, PackLimits, packaged, prompt_of
from ragauge.judges.llm.replies import ParsedReply, parse_reply
from ragauge.kinds.call import PromptStyle
from ragauge.questions import KINDS, Entail, Question, Rate
from ragauge.statistics.agreement import auc, balanced_accuracy, group_difference, group_interval
from ragauge.types import Answer, Failure, Grade, Identity, Label

ROWS = 60
PAIRS = 40
QUESTIONS = 43
CLAIMS = 120
STYLE = PromptStyle(rationales=False)
HARDER = Path(__file__).parent / "probes/harder.jsonl"

#: The last version with the former prompts.
FORMER = "db58bc3"
PREFER = {
    "ragchecker": "more correct and more complete by the reference, without errors",
    "llmbar": "does what the instruction asks, precisely",
    "pandalm": "does what the instruction asks, correctly and completely",
}


def call_id(*texts: str) -> str:
    """The id of a call, by its messages."""
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]


def replies_in(folder: Path) -> dict[str, Any]:
    """The recorded replies of a folder, by the id of their call."""
    replies: dict[str, Any] = {}
    for path in sorted(folder.glob("replies*.jsonl")):
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        replies |= {row["id"]: row["reply"] for row in rows}
    return replies


class ExportedModel(JudgeBase):
    """Answers from replies in files; what has none is written as a call.

    missing: calls without a reply, by id. faults: what is wrong with replies, by id.
    """

    answers = frozenset(KINDS)
    by_sample = 32

    def __init__(self, folder: Path, style: PromptStyle, alone: bool) -> None:
        self.folder = folder
        self.identity = Identity(f"exported/{folder.name}")
        self.missing: dict[str, dict[str, Any]] = {}
        self.faults: dict[str, str] = {}
        self._policy = PackingPolicy(PackLimits(), alone, style)
        self._systems: dict[str, int] = {}
        self._pairs: set[frozenset[str]] = set()
        self._replies = replies_in(folder)

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """The answers of recorded replies; a grade without one is 0, so that the other order is asked too."""
        answers: dict[Question, Answer | Failure] = {}
        for pack in self._policy.packs(questions):
            prompt = prompt_of(pack, self._policy.style)
            id = call_id(prompt.system, prompt.user)
            number = self._systems.setdefault(prompt.system, len(self._systems))
            file = self._file(pack.questions[0])
            if id not in self._replies:
                call = {"id": id, "system": f"system-{number}.txt", "user": json.loads(prompt.user)}
                self.missing[id] = {"call": call, "file": file}
                pending = Failure("pending", "its reply is still to come")
                answers |= {one: Grade(0.0) if isinstance(one, Rate) else pending for one in pack.questions}
                continue
            parsed = self._parsed(pack, self._replies[id])
            for place, one in enumerate(pack.questions):
                answers[one] = parsed.answers.get(place) or Failure("invalid_answer", parsed.faults.get(place, ""))
            self.faults |= {f"{id} {pack.keys[place]}": fault for place, fault in parsed.faults.items()}
        return [answers[question] for question in questions]

    def _parsed(self, pack: Pack, reply: Any) -> ParsedReply:
        """What a reply answers, and its faults."""
        return parse_reply(pack, reply if isinstance(reply, str) else json.dumps(reply), self._policy.style)

    def _file(self, question: Question) -> int:
        """The number of a file: the second order of a preference is in another one than the first."""
        if not isinstance(question, Rate):
            return 1
        pair = frozenset(text for _, text in question.texts)
        self._pairs ^= {pair}
        return 1 if pair in self._pairs else 2

    def write(self, folder: Path) -> None:
        """Write the missing calls and their instructions."""
        for system, number in self._systems.items():
            (folder / f"system-{number}.txt").write_text(system, encoding="utf-8")
        for file in (1, 2):
            calls = [one["call"] for one in self.missing.values() if one["file"] == file]
            random.Random(file).shuffle(calls)
            lines = [json.dumps(call, ensure_ascii=False, separators=(",", ":")) + "\n" for call in calls]
            path = folder / f"calls-{file}.jsonl"
            path.unlink(missing_ok=True)
            if lines:
                path.write_text("".join(lines), encoding="utf-8")


#: The labels of graded verdicts, as they are read without grades, and the probability of support that each stands for.
GRADES = {
    "entailed": ("entailed", 1.0),
    "entailed but for an inessential detail": ("neutral", 0.6),
    "neutral": ("neutral", 0.2),
    "contradicted": ("contradicted", 0.0),
}
INESSENTIAL = (
    '- "entailed but for an inessential detail": they entail all that matters of it; only a detail that would make no '
    "difference to somebody who relies on the claim is not in them."
)


class GradedModel(ExportedModel):
    """Reads verdicts with one label more, which stands for a probability."""

    def _parsed(self, pack: Pack, reply: Any) -> ParsedReply:
        items = {}
        for key, item in reply.items():
            label, _ = GRADES[item["label"]]
            without = {"supports": [], "contradicts": []} if label != item["label"] and "supports" in item else {}
            items[key] = {**item, **without, "label": label}
        parsed = super()._parsed(pack, items)
        for place, answer in parsed.answers.items():
            probability = GRADES[reply[pack.keys[place]]["label"]][1]
            parsed.answers[place] = msgspec.structs.replace(answer, probability=probability)
        return parsed


def with_grades() -> PromptStyle:
    """The prompts with a label between entailed and neutral."""
    section, contradicted = packaged("entail"), '- "contradicted":'
    return PromptStyle(
        rationales=False, sections=(("entail", section.replace(contradicted, f"{INESSENTIAL}\n{contradicted}")),)
    )


def verdicts_on(data: Path, judge: ExportedModel) -> tuple[list[LabelledCase], list[Any]]:
    """Claims of WiCE with the answers to them, drawn by the hash of their text; eight share a call."""
    cases = read_cases(data / "ent_wice_oracle_chunks.jsonl.gz") or []
    cases = sorted(cases, key=lambda case: hashlib.sha256(case.group.encode()).hexdigest())[:CLAIMS]
    questions = [case.questions[0] for case in cases]
    packs = (questions[start : start + 8] for start in range(0, CLAIMS, 8))
    return cases, [answer for pack in packs for answer in asyncio.run(judge.answer(pack))]


def verdicts(data: Path, judge: ExportedModel) -> Callable[[], None]:
    """Verdicts on claims of WiCE, alone."""
    cases, answers = verdicts_on(data, judge)

    def report() -> None:
        said = [float(answer.label is Label.ENTAILED) for answer in answers]
        print(f"{CLAIMS} claims: balanced accuracy {balanced_accuracy([case.label for case in cases], said):.3f}")

    return report


def graded(data: Path, judge: ExportedModel) -> Callable[[], None]:
    """Graded labels against votes of three replies."""
    cases, answers = verdicts_on(data, judge)

    def report() -> None:
        folders = (judge.folder.parent / name for name in ("verdicts", "verdicts-2", "verdicts-3"))
        replies = [verdicts_on(data, ExportedModel(folder, STYLE, False))[1] for folder in folders]
        said = [[float(answer.label is Label.ENTAILED) for answer in reply] for reply in replies]
        scores: dict[str, list[float]] = {
            "one reply": said[0],
            "votes of three": list(map(mean, zip(*said, strict=True))),
            "graded": [answer.probability for answer in answers],
        }
        labels, groups = [float(case.label) for case in cases], [case.group for case in cases]
        print(f"{CLAIMS} claims, {sum(labels):.0f} supported: AUC [95 % by text], balanced accuracy from .5 on")
        for name, values in scores.items():
            low, high = group_interval(labels, values, groups, auc) or (0.0, 1.0)
            accuracy = balanced_accuracy(labels, [float(value > 0.5) for value in values])
            print(f"  {name:16} {auc(labels, values):.3f} [{low:.3f}, {high:.3f}], {accuracy:.3f}; {Counter(values)}")
        for name in ("votes of three", "one reply"):
            gain = group_difference(labels, scores["graded"], scores[name], groups, auc).interval
            print(f"  graded less {name}: {gain.value:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]")

    return report


def drawn(rows: Sequence[Any]) -> list[Any]:
    """The rows that are asked about, in their order."""
    places = sorted(random.Random(40).sample(range(len(rows)), min(ROWS, len(rows))))
    return [rows[place] for place in places]


def hashed(rows: Sequence[dict[str, Any]], field: str, count: int) -> list[dict[str, Any]]:
    """The rows of the `count` texts in a field whose hashes come first."""
    first = sorted({row[field] for row in rows}, key=lambda text: hashlib.sha256(text.encode()).hexdigest())[:count]
    return [row for row in rows if row[field] in first]


def nuggets(data: Path, judge: Any) -> Callable[[], None]:
    """Completeness by the claims of the reference, of pairs of answers and of answers alone."""
    pairs = hashed(rows_of(data / "pair_ragchecker.jsonl.gz"), "query", PAIRS)
    answers = hashed(completeness.answers_to_grade(data / "conv_mtrag_human.jsonl.gz"), "query", QUESTIONS)
    completeness.gained(pairs, judge)
    completeness.measured(completeness.samples_of(answers), completeness.METRIC, judge)

    def report() -> None:
        judges = {"model": judge, "embedded": "embedded"}
        completeness.ragchecker(pairs, judges)
        completeness.mtrag(answers, judges)

    return report


def mtrag(data: Path, judge: Any) -> Callable[[], None]:
    """Faithfulness of answers after the first of a conversation, with what was said before."""
    path = data / "conv_mtrag_human.jsonl.gz"
    rows = {row["id"]: row for row in drawn([row for row in rows_of(path) if row["turn"] > 1])}
    samples = [sample for sample in rg.read(path) if sample.id in rows]
    scores = {"model": scored(samples, "faithfulness", judge)}

    def report() -> None:
        scores["embedded"] = scored(samples, "faithfulness", "embedded")
        scores["RL_F"] = {id: row["automatic"]["rl_f"] for id, row in rows.items()}
        kept = [id for id in rows if all(by_id.get(id) is not None for by_id in scores.values())]
        print(f"{len(kept)} of {len(rows)} answers; Spearman with mean human faithfulness [95 % by conversation]")
        people, groups = [mean(rows[id]["faithfulness"]) for id in kept], [rows[id]["group"] for id in kept]
        for name, by_id in scores.items():
            show(name, [by_id[id] or 0.0 for id in kept], people, groups)
        rated = [(rows[id]["faithfulness"], rows[id]["group"]) for id in kept if len(rows[id]["faithfulness"]) == 3]
        pairs = [
            (own[place], mean(own[:place] + own[place + 1 :]), group) for own, group in rated for place in range(3)
        ]
        show("one rater with the others", *map(list, zip(*pairs, strict=True)))

    return report


def claims(data: Path, judge: Any) -> Callable[[], None]:
    """Whether sentences of an agent say what its calls did."""
    samples = rg.read(data / "agent_claims.jsonl.gz", map={"response": "message"})
    rows = [
        {
            "id": f"{sample.id}, {place}",
            "query": sample.query,
            "response": sentence["text"],
            "tool_calls": sample.metadata["calls"],
            "label": sentence["label"],
            "group": sample.group,
        }
        for sample in samples
        for place, sentence in enumerate(sample.metadata["sentences"], start=1)
        if sentence["label"] != "no_claim"
    ]
    rows = drawn(rows)
    metric = "faithfulness(against=calls,units=sentences)"
    unlabelled = [{**row, "label": None} for row in rows]
    scores = {"model": scored(unlabelled, metric, judge)}

    def report() -> None:
        scores["embedded"] = scored(unlabelled, metric, "embedded")
        labels, groups = [float(row["label"] == "supported") for row in rows], [row["group"] for row in rows]
        print(f"{len(rows)} sentences, {labels.count(1)} supported; balanced accuracy [95 % by case]")
        for name, by_id in scores.items():
            judged = [float(by_id[row["id"]] == 1) for row in rows]
            low, high = group_interval(labels, judged, groups, balanced_accuracy) or (0.0, 1.0)
            print(f"  {name:32} {balanced_accuracy(labels, judged):.3f} [{low:.3f}, {high:.3f}]")

    return report


def scored(samples: Sequence[Any], metric: str, judge: Any) -> Mapping[str, float | None]:
    """The score of each sample, by id."""
    run = rg.evaluate(samples, metric, judge)
    key = next(iter(run.estimates))
    return {record.sample.id: record.score(key).value for record in run.records()}


def pairs(name: str, data: Path, judge: Any) -> Callable[[], None]:
    """Which of two answers is better, asked in both orders."""
    rows = drawn(rows_of(data / f"pair_{name}.jsonl.gz"))
    asked = [
        {
            "id": row["id"],
            "query": "\n\n".join(filter(None, (row.get("query") or row.get("instruction"), row.get("input")))),
            **({"references": [row["reference"]]} if "reference" in row else {}),
            "response": row["b"],
            "other": row["a"],
        }
        for row in rows
    ]
    metrics = [f'{metric}("{PREFER[name]}")' for metric in ("preference", "preference_flip")]
    run = rg.evaluate(asked, metrics, judge)
    preferred, flips = ([record.score(key).value or 0.0 for record in run.records()] for key in run.estimates)

    def report() -> None:
        print(f"{len(rows)} pairs, {sum(flips):.0f} flips, which are ties")
        lengths = [len(row["b"].split()) - len(row["a"].split()) for row in rows]
        if name == "ragchecker":
            for aspect in ("correctness", "completeness", "overall"):
                people = [sum(row[aspect]) for row in rows]
                own = [row["ragchecker_b"][aspect] - row["ragchecker_a"][aspect] for row in rows]
                raters = pearson(*zip(*(row[aspect] for row in rows), strict=True))
                ours, theirs, longer = (pearson(values, people) for values in (preferred, own, lengths))
                print(
                    f"  {aspect:12} Pearson: model {ours:.3f}, RAGChecker {theirs:.3f}, length {longer:.3f}, "
                    f"one rater with the other {raters:.3f}"
                )
            return
        people = [_side(row) for row in rows]
        decided = [place for place, side in enumerate(people) if side]
        right = Counter(
            "tie" if not preferred[place] else "right" if preferred[place] * people[place] > 0 else "wrong"
            for place in decided
        )
        by_length = sum(lengths[place] * people[place] > 0 for place in decided)
        print(f"  of {len(decided)} that people decide: {dict(right)}; the longer one is right in {by_length}")
        print(f"  the model decides {sum(map(bool, preferred))}; right in {right['right'] / len(decided):.3f} of all")

    return report


def _side(row: Mapping[str, Any]) -> int:
    """1 where people prefer b, -1 for a, 0 for a tie."""
    votes = Counter(row["annotators"] if "annotators" in row else [row["label"]])
    return (votes["b"] > votes["a"]) - (votes["b"] < votes["a"])


def harder(_: Path, judge: Any) -> Callable[[], None]:
    """Claims of natural answers, judged by texts."""
    probes = list(read(HARDER))
    groups: dict[tuple[str, ...], list[Entail]] = {}
    for probe in probes:
        assert isinstance(probe.question, Entail)
        groups.setdefault(probe.question.premise, []).append(probe.question)
    answers: dict[Question, Any] = {}
    for questions in groups.values():
        answers |= zip(questions, asyncio.run(judge.answer(questions)), strict=True)

    def report() -> None:
        judged = [(probe, answers[probe.question].label is Label.ENTAILED) for probe in probes]
        false = [sum(said is not probe.positive and said is way for probe, said in judged) for way in (True, False)]
        labels, said = [float(probe.positive) for probe, _ in judged], [float(one) for _, one in judged]
        print(f"{len(probes)} claims: balanced accuracy {balanced_accuracy(labels, said):.3f},", end=" ")
        print(f"false “supported” {false[0]}, false “unsupported” {false[1]}")

    return report


def former() -> PromptStyle:
    """The former prompts, from the history of the repository."""
    folder = "src/ragauge/kinds"
    texts = {name: _at_former(f"{folder}/{name}.md") for name in KINDS}
    texts["examples"] = "\n".join(_at_former(f"{folder}/{name}.jsonl") for name in KINDS)
    return PromptStyle(rationales=False, sections=tuple(texts.items()))


def _at_former(path: str) -> str:
    return subprocess.run(
        ["git", "show", f"{FORMER}:{path}"], capture_output=True, text=True, check=True
    ).stdout.strip()


SETS: dict[str, Callable[[Path, Any], Callable[[], None]]] = {
    "mtrag": mtrag,
    "claims": claims,
    "harder": harder,
    "harder-former": harder,
    "verdicts": verdicts,
    "verdicts-2": verdicts,
    "verdicts-3": verdicts,
    "graded": graded,
    "completeness": nuggets,
    **{name: partial(pairs, name) for name in PREFER},
}


def main(name: str, shared: Path, folder: Path) -> None:
    """Write calls, or print figures."""
    folder = folder / name
    folder.mkdir(parents=True, exist_ok=True)
    styles = {"harder-former": former, "graded": with_grades}
    model = GradedModel if name == "graded" else ExportedModel
    judge = model(folder, styles[name]() if name in styles else STYLE, alone=name in PREFER)
    report = SETS[name](shared / "data/eval", judge)
    judge.write(folder)
    for id, fault in judge.faults.items():
        print(f"{id}: {fault}")
    if judge.missing:
        print(f"{name}: {len(judge.missing)} calls to answer in {folder}")
    else:
        print(name)
        report()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
