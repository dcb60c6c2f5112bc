"""How a model judges the cases in benchmarks/probes/cases.jsonl by what the prompts say, with recorded replies.

    python benchmarks/prompts.py export FOLDER    # the prompts as they are now, without the expected answers
    python benchmarks/prompts.py record REPLIES COLUMN    # replies to exported calls, {case: answer}, into a column
    python benchmarks/prompts.py score            # the recorded replies, column by column
    python benchmarks/prompts.py ask JUDGE        # the same figures of a judge that is asked now
    python benchmarks/prompts.py missed           # writes probes/missed.json: what the embedded judge gets wrong

The replies in benchmarks/probes/replies.jsonl were written by a large language model from the exported prompts, before
it saw an expected answer: "old" by the prompts of version 8b7bfa8 (form 2) and "new" by those of form 3, both by the
writer of these prompts; "blind" in a later session that had seen no expected answer and no earlier reply, and had
reworded the rule on conflicting sources. Cases with options were answered once, as "blind", by a model that was given
nothing but their calls. A call numbers the sources of all its questions; what is recorded has each question's own
numbers. Verdicts are counted as positive ("entailed", "yes") or not, texts to decompose as right where
each expected claim has one of its own, by their words, and no other is made.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragauge.judges.llm.prompts import Pack, PackLimits, packs, prompt_of
from ragauge.judges.llm.replies import parse_reply
from ragauge.kinds.call import PromptStyle
from ragauge.questions import Question
from ragauge.run.specs import load_judge
from ragauge.text.overlap import token_f1
from ragauge.types import Decomposition, Failure, Verdict

PROBES = Path(__file__).parent / "probes"
MISSED = PROBES / "missed.json"
STYLE = PromptStyle(rationales=False)
SIMILAR = 0.7  # token F1 from which two statements with the same numbers and marks are the same
MARK = re.compile(r"\S*[\d¹²³†]\S*\b")
POSITIVE = {"entailed", "yes", True}


class Case(NamedTuple):
    """A question with the expected answer, and the style of the prompts that it is for."""

    id: str
    rule: str
    question: Question
    expected: Any
    style: PromptStyle


def main() -> None:
    """Do what the command line says."""
    match sys.argv[1:]:
        case ["export", folder]:
            export(Path(folder))
        case ["record", replies, column]:
            record(json.loads(Path(replies).read_text(encoding="utf-8")), column)
        case ["score"]:
            recorded = rows()
            for column in list(recorded[0])[1:]:
                show(column, {row["id"]: row[column] for row in recorded if column in row})
        case ["missed"]:
            known = json.loads(MISSED.read_text(encoding="utf-8"))
            found = {rule: {"why": known.get(rule, {}).get("why", ""), "cases": ids} for rule, ids in missed().items()}
            MISSED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        case ["ask", judge]:
            show(judge, asyncio.run(asked(judge)))
        case _:
            sys.exit(__doc__)


def cases() -> list[Case]:
    """All cases, in an order that says nothing of their rules."""
    found = []
    for line in (PROBES / "cases.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        question = msgspec.convert({"kind": row["kind"], **row["input"]}, Question)
        style = PromptStyle(rationales=False, **row.get("options", {}))
        found.append(Case(row["id"], row["rule"], question, row["expected"], style))
    random.Random(21).shuffle(found)
    return found


def calls() -> Iterator[tuple[PromptStyle, Pack, list[str]]]:
    """The calls that ask all cases, with the cases of their questions."""
    ids = {(case.style, case.question): case.id for case in cases()}
    for style in dict.fromkeys(style for style, _ in ids):
        for pack in packs([question for own, question in ids if own == style], PackLimits()):
            yield style, pack, [ids[style, question] for question in pack.questions]


def export(folder: Path) -> None:
    """Write each call as the model sees it, without the expected answers, and which case each key is."""
    folder.mkdir(parents=True, exist_ok=True)
    systems: dict[str, int] = {}
    with (folder / "calls.jsonl").open("w") as lines:
        for style, pack, ids in calls():
            prompt = prompt_of(pack, style)
            number = systems.setdefault(prompt.system, len(systems))
            (folder / f"system-{number}.txt").write_text(prompt.system)
            named = dict(zip(pack.keys, ids, strict=True))
            lines.write(json.dumps({"system": number, "ids": named, "user": prompt.user}) + "\n")


def rows() -> list[dict[str, Any]]:
    """The recorded replies."""
    return [json.loads(line) for line in (PROBES / "replies.jsonl").read_text(encoding="utf-8").splitlines()]


def record(replies: Mapping[str, Any], column: str) -> None:
    """Record replies to the exported calls, by case, with the sources numbered as if each case were asked alone."""
    own = {row["id"]: row for row in rows()}
    for _, pack, ids in calls():
        for id, question in zip(ids, pack.questions, strict=True):
            alone = Pack((question,)).sources
            numbers = {name: alone[text] for text, name in pack.sources.items() if text in alone}
            if id in replies:
                own.setdefault(id, {"id": id})[column] = renumbered(replies[id], numbers)
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in own.values())
    (PROBES / "replies.jsonl").write_text("".join(list(lines)), encoding="utf-8")


def renumbered(reply: Any, numbers: Mapping[str, str]) -> Any:
    """A reply with other ids of sources; one that the question does not have stays, and is a fault."""
    listed = ("supports", "contradicts") if isinstance(reply, dict) else ()
    found = {name: [numbers.get(id, id) for id in reply[name]] for name in listed if name in reply}
    return {**reply, **found} if found else reply


async def asked(judge: str) -> dict[str, Any]:
    """The answers of a judge, by case."""
    every = [case for case in cases() if case.style == STYLE]
    answers = await load_judge(judge).answer([case.question for case in every])
    return {case.id: answer for case, answer in zip(every, answers, strict=True)}


def show(title: str, replies: Mapping[str, Any]) -> None:
    """Print the figures of one judge."""
    right: dict[str, list[bool]] = defaultdict(list)
    verdicts: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for case in (case for case in cases() if case.id in replies):
        answer, kind = parsed(case, replies[case.id]), type(case.question).__name__
        if not isinstance(case.expected, list):
            verdicts[kind].append((case.expected in POSITIVE, positive(answer)))
        options = "" if case.style == STYLE else " with options"
        right[f"{kind} {case.rule}{options}"].append(is_right(case, answer))
    print(f"\n{title}")
    for kind, pairs in [*verdicts.items(), ("all verdicts", list(chain.from_iterable(verdicts.values())))]:
        print(f"  {kind:14}{len(pairs):4} balanced accuracy {balanced(pairs):.3f}, {errors(pairs)}")
    for name, correct in sorted(right.items()):
        print(f"  {name:40}{sum(correct):3} of {len(correct)}")
    texts = [one for name, correct in right.items() if name.startswith("Decompose") for one in correct]
    print(f"  Decompose: {sum(texts)} of {len(texts)} right")


def positive(answer: object) -> bool:
    """Whether a verdict is "entailed" or "yes"."""
    return isinstance(answer, Verdict) and answer.label.value in POSITIVE


def is_right(case: Case, answer: object) -> bool:
    """Whether an answer is the expected one."""
    if isinstance(case.expected, list):
        return isinstance(answer, Decomposition) and same_claims(case.expected, answer)
    return positive(answer) == (case.expected in POSITIVE)


def missed() -> dict[str, list[str]]:
    """The cases that the embedded judge gets wrong, by kind and rule."""
    answers = asyncio.run(asked("embedded"))
    known = [case for case in cases() if case.id in answers]
    wrong = sorted((case for case in known if not is_right(case, answers[case.id])), key=lambda case: case.id)
    found: dict[str, list[str]] = defaultdict(list)
    for case in wrong:
        found[f"{type(case.question).__name__} {case.rule}"].append(case.id)
    return dict(sorted(found.items()))


def parsed(case: Case, reply: Any) -> object:
    """The answer of a recorded reply; one that was asked now is an answer already."""
    if not isinstance(reply, dict | list | str):
        return reply
    pack = Pack((case.question,))
    found = parse_reply(pack, json.dumps({pack.keys[0]: reply}), case.style)
    return found.answers.get(0) or Failure("invalid_answer", found.faults[0])


def same_claims(expected: Iterable[str], answer: Decomposition) -> bool:
    """Whether the claims are the expected ones, each once."""
    left = [one.text for one in answer.statements if one.claim]
    for claim in expected:
        best = max(left, key=lambda one: token_f1(one, [claim]), default="")
        if not best or token_f1(best, [claim]) < SIMILAR or MARK.findall(best) != MARK.findall(claim):
            return False
        left.remove(best)
    return not left


def balanced(pairs: Iterable[tuple[bool, bool]]) -> float:
    """The mean of the shares of positives and of negatives that are right."""
    pairs = list(pairs)
    shares = [[found == label for label, found in pairs if label is kind] for kind in (True, False)]
    return sum(sum(share) / max(1, len(share)) for share in shares) / 2


def errors(pairs: Iterable[tuple[bool, bool]]) -> str:
    """Counts of both kinds of error."""
    pairs = list(pairs)
    return f"false yes {pairs.count((False, True))}, false no {pairs.count((True, False))}"


if __name__ == "__main__":
    main()
