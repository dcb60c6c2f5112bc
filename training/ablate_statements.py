"""What each rule of the embedded judge's decomposition, and each sign of an opinion, is worth.

    python training/ablate_statements.py EVAL_FOLDER RESPONSES.jsonl.gz... [--judge embedded]

A rule is replaced by one that never applies. Measured are F1 against people's claims (claims_factcheckbench); on
labelled answers, AUC and balanced accuracy of the least supported claim of each sentence, the sentences without a claim
of which none is made, and the others of which none is made; and the share of texts with an opinion, of toxic ones
(hatecheck, moderation) and of sentences of answers. An opinion that is not seen is never asked about.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ragauge.analysis.measure import claims_f1
from ragauge.judges.embedded import statements, toxicity
from ragauge.judges.embedded.judge import EmbeddedJudge
from ragauge.judges.embedded.lexical import Lexical
from ragauge.questions import Entail, Question
from ragauge.statistics.agreement import auc
from ragauge.types import Label, Statement, Verdict

NEVER = re.compile(r"(?!)")

#: What replaces a rule, by the module and the name of what is replaced.
RULES: dict[str, tuple[Any, str, Any]] = {
    "all": (statements, "_QUESTION", statements._QUESTION),
    "clauses joined by a conjunction": (statements, "_are_clauses", lambda *_: False),
    "relative clause of a subject": (statements, "_INNER_RELATIVE", NEVER),
    "relative clause at the end": (statements, "_LAST_RELATIVE", NEVER),
    "lead-in completes a fragment": (statements, "is_fragment", lambda _: False),
    "header completes a row": (statements, "_row", lambda cells, _: " | ".join(cells)),
    "openings removed": (statements, "_OPENING", NEVER),
    "questions": (statements, "_QUESTION", NEVER),
    "refusals": (statements, "is_refusal_sentence", lambda _: False),
    "politeness, pointers, announcements": (statements, "_NO_CLAIM", NEVER),
    "code": (statements, "_CODE", NEVER),
    "yes and no": (statements, "_YES_OR_NO", NEVER),
    "list of sources": (statements, "bibliography", lambda *_: ()),
    "belief or demand": (toxicity, "_BELIEF", NEVER),
    "feeling": (toxicity, "_FEELING", NEVER),
    "judgment": (toxicity, "_JUDGING", NEVER),
    "attack": (toxicity, "_ATTACK", NEVER),
    "slant": (toxicity, "_SLANT", NEVER),
    "reported speech": (toxicity, "_REPORTED", NEVER),
    "quotes": (toxicity, "_QUOTED", NEVER),
}


class Unit(NamedTuple):
    """A labelled sentence of an answer, the statements in it, and what is asked about its claims."""

    label: str
    statements: list[Statement]
    questions: list[Entail]


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def f1(texts: list[dict[str, Any]]) -> float:
    """The mean F1 against people's claims."""
    scores = []
    for row in texts:
        labelled = [
            pair for one in row["sentences"] for pair in zip(one["claims"], one["claim_checkworthiness"], strict=True)
        ]
        claims = [claim for claim, kind in labelled if kind == "factual"]
        found = [one.text for one in statements.decompose(row["text"], row["question"]) if one.claim]
        scores += [claims_f1(found, claims)] if claims else []
    return float(np.mean(scores))


def units(answers: list[dict[str, Any]]) -> Iterator[Unit]:
    """The labelled sentences with the statements that lie in them."""
    for row in answers:
        found = statements.decompose(row["answer"], row["query"])
        at = 0
        for sentence in row["sentences"]:
            start = row["answer"].find(sentence["text"], at)
            if start < 0:
                continue
            at = start + len(sentence["text"])
            own = [one for one in found if one.span and start <= sum(one.span) / 2 < at]
            asked = [Entail(tuple(row["contexts"]), one.text, row["query"]) for one in own if one.claim]
            yield Unit(sentence["label"], own, asked)


def answered(found: list[Unit], answer: Callable[[list[Question]], dict[Question, Verdict]]) -> str:
    """How well sentences are judged by their claims."""
    verdicts = answer([question for unit in found for question in unit.questions])
    claiming = [unit for unit in found if unit.label != "no_claim"]
    supported = np.array([unit.label == "supported" for unit in claiming])
    least = np.array(
        [min((verdicts[one].probability or 0.0 for one in unit.questions), default=1.0) for unit in claiming]
    )
    passed = np.array([all(verdicts[one].label == Label.ENTAILED for one in unit.questions) for unit in claiming])
    balanced = (passed[supported].mean() + (~passed[~supported]).mean()) / 2
    silent = [not unit.questions for unit in found if unit.label == "no_claim"]
    lost = sum(not unit.questions for unit in claiming)
    return f"{auc(supported, least):.4f} {balanced:.4f} {sum(silent):3}/{len(silent)} {lost:3}/{len(claiming)}"


def opinionated(texts: list[str]) -> float:
    """The share of texts with an opinion."""
    return float(np.mean([any(one.opinion for one in statements.decompose(text)) for text in texts]))


def main() -> None:
    """Measure with each rule left out."""
    parser = argparse.ArgumentParser()
    parser.add_argument("eval", type=Path)
    parser.add_argument("responses", type=Path, nargs="+")
    parser.add_argument("--judge", choices=("embedded", "lexical"), default="embedded")
    given = parser.parse_args()
    judge = EmbeddedJudge() if given.judge == "embedded" else EmbeddedJudge(Lexical(), "lexical")
    known: dict[Question, Any] = {}

    def answer(questions: list[Question]) -> dict[Question, Any]:
        new = [one for one in dict.fromkeys(questions) if one not in known]
        known.update(zip(new, asyncio.run(judge.answer(new)), strict=True))
        return known

    texts = rows(given.eval / "claims_factcheckbench.jsonl.gz")
    answers = [row for path in given.responses for row in rows(path)]
    toxic = [
        row["text"]
        for name in ("hatecheck", "openai_moderation")
        for row in rows(given.eval / f"tox_{name}.jsonl.gz")
        if row["label"] == 1
    ]
    print(f"{'without':36} F1    AUC    balanced  silent  lost      opinions: toxic, answers")
    for name, (module, attribute, neutral) in RULES.items():
        kept = getattr(module, attribute)
        setattr(module, attribute, neutral)
        found = list(units(answers))
        spoken = np.mean([any(one.opinion for one in unit.statements) for unit in found])
        print(f"{name:36} {f1(texts):.4f} {answered(found, answer)} {opinionated(toxic):.4f} {spoken:.4f}", flush=True)
        setattr(module, attribute, kept)


if __name__ == "__main__":
    main()
