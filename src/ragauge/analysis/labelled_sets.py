"""Labelled sets: the questions of each row, by the prefix of the set's file name."""

from __future__ import annotations

import gzip
import json
import random
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from ragauge.errors import BadData
from ragauge.judges.composite import VERDICTS
from ragauge.questions import (
    COHERENCE,
    TOPICAL_MATCH,
    Classify,
    Decompose,
    Entail,
    Judgment,
    Question,
    Rate,
    Relevant,
    kind,
)
from ragauge.store import label
from ragauge.types import Label, Verdict

LabelledRow = dict[str, Any]
_FIX = "`ragauge docs embedded-judge` lists the fields of each kind of set"
_TOKEN = re.compile(r"\w+")
_COHERENT = 4  # the lowest coherent grade of 1 to 5
_HOSTILE = ("H", "HR", "V", "H2", "V2")  # hate, harassment, violence; threatening, graphic (Markov et al., 2023)


class LabelledCase(msgspec.Struct, frozen=True):
    """One labelled row as questions, of which the best counts. group: rows of one text or question share it.

    words: the share of the hypothesis' tokens found in the premise. first: a text to decompose; each of its claims
    replaces the hypothesis, and all have to be supported. least: the lowest grade that counts as 1. grade: people's.
    claims: those that people found in the text that the question decomposes.
    """

    label: int
    group: str
    questions: tuple[Question, ...]
    words: float | None = None
    first: Decompose | None = None
    least: float = 0.5
    grade: float | None = None
    claims: tuple[str, ...] = ()


def labelled_files(folder: Path) -> list[Path]:
    """The labelled sets in a folder (*.jsonl, *.jsonl.gz) by name, or the one file. Raises BadData if there is none."""
    if folder.is_file():
        if folder.name.partition("_")[0] not in _MAKERS:
            raise BadData(f"{folder}: a set's name begins with {'_, '.join(_MAKERS)}_; {_FIX}")
        return [folder]
    files = sorted(file for file in folder.glob("*.jsonl*") if file.is_file())
    if not files:
        raise BadData(f"{folder}: no labelled sets (*.jsonl, *.jsonl.gz) here; name the folder that holds them")
    return files


def read_cases(file: Path, limit: int | None = None, seed: int = 0) -> list[LabelledCase] | None:
    """The rows of a set, or `limit` of them at random; None if no question fits. Raises BadData for a faulty file."""
    make = _MAKERS.get(file.name.partition("_")[0])
    if make is None:
        return None
    cases: list[LabelledCase] = []
    whole = 0
    opened = gzip.open if file.suffix == ".gz" else open
    try:
        with opened(file, "rt", encoding="utf-8") as lines:
            for line in lines:
                cases += make(json.loads(line)) if line.strip() else ()
                whole += 1
    except (OSError, EOFError, zlib.error) as problem:
        raise BadData(f"{file} cannot be read ({problem}); write it again, and check its permissions") from problem
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as problem:
        raise BadData(f"{file}, line {whole + 1}: {_fault(problem)}; {_FIX}") from problem
    return cases if limit is None or limit >= len(cases) else random.Random(seed).sample(cases, limit)


def labelled_sets(folder: Path, limit: int | None = None, seed: int = 0) -> list[Judgment]:
    """The rows of a folder of sets that take one question, as human labels under the names of the sets."""
    made = []
    for file in labelled_files(folder):
        for case in read_cases(file, limit, seed) or ():
            question = case.questions[0] if len(case.questions) == 1 and not case.first else None
            if question and kind(question) in VERDICTS:
                no, yes = (Label.NO, Label.YES)
                if isinstance(question, Entail):
                    no, yes = (Label.NOT_ENTAILED, Label.ENTAILED)
                made.append(label(question, Verdict(yes if case.label else no), file.name.partition(".")[0]))
    return made


def _fault(problem: Exception) -> str:
    """What is wrong with a row, from the exception."""
    if isinstance(problem, KeyError):
        return f"it has no field {problem}"
    if isinstance(problem, json.JSONDecodeError | RecursionError):
        return f"it is not JSON ({problem})"
    if isinstance(problem, UnicodeError):
        return f"it or one of the next lines is not UTF-8 ({problem})"
    return str(problem) if isinstance(problem, ValueError) else f"a field is of the wrong form ({problem})"


def _label(value: Any) -> int:
    """A label as 1 or 0, "1" and "0" included. Raises ValueError for anything else."""
    if value not in (0, 1, "0", "1"):
        raise ValueError(f"the label {value!r} is neither 1 nor 0")
    return int(value)


def _entailment(row: LabelledRow) -> Iterator[LabelledCase]:
    question = Entail((row["premise"],), row["claim"])
    yield LabelledCase(_label(row["label"]), row["premise"], (question,), overlap(row["claim"], row["premise"]))


def _citations(row: LabelledRow) -> Iterator[LabelledCase]:
    if row.get("has_text") is False or row["label_supported"] is None:
        return
    texts = tuple(citation["text"] for citation in row["citations"] if citation["text"])
    question = Entail(texts, row["statement"], row["question"])
    yield LabelledCase(_label(row["label_supported"]), row["question"], (question,), overlap(row["statement"], *texts))


def _grounding(row: LabelledRow) -> Iterator[LabelledCase]:
    contexts = tuple(row["contexts"])
    question = Entail(contexts, row["response"], row["question"])
    first = Decompose(row["response"], row["question"])
    yield LabelledCase(_label(row["label"]), row["question"], (question,), overlap(row["response"], *contexts), first)


def _relevance(row: LabelledRow) -> Iterator[LabelledCase]:
    question = Relevant(row["question"], row["passage"])
    yield LabelledCase(_label(row["label"]), row["question"], (question,), overlap(row["question"], row["passage"]))


def _answers(row: LabelledRow) -> Iterator[LabelledCase]:
    """An answer is correct if it entails a reference. Questions labelled as improper are left out."""
    if not row.get("improper"):
        asked = tuple(Entail((row["answer"],), reference, row["question"]) for reference in row["references"])
        best = max((overlap(reference, row["answer"]) for reference in row["references"]), default=0.0)
        yield LabelledCase(_label(row["label"]), row["question"], asked, best)


def _responses(row: LabelledRow) -> Iterator[LabelledCase]:
    question = Rate(TOPICAL_MATCH, (("query", row["question"]), ("response", row["response"])))
    yield LabelledCase(
        1 - _label(row["irrelevant"]), row["question"], (question,), overlap(row["question"], row["response"])
    )


def _coherence(row: LabelledRow) -> Iterator[LabelledCase]:
    question = Rate(COHERENCE, (("source", row["source"]), ("response", row["summary"])))
    grade = row["human_scores"]["coherence"]
    found = overlap(row["summary"], row["source"])
    yield LabelledCase(int(grade >= _COHERENT), row["source"], (question,), found, least=_COHERENT, grade=grade)


def _toxicity(row: LabelledRow) -> Iterator[LabelledCase]:
    """A text is toxic by its label, or by people's hostile categories; one labelled for others alone is left out."""
    categories = row.get("categories")
    label = row["label"] if categories is None else max((categories.get(one, -1) for one in _HOSTILE), default=-1)
    if label == 1 or (label == 0 and not row["label"]):
        yield LabelledCase(label, row["text"], (Classify(row["text"], "toxic"),))


def _claims(row: LabelledRow) -> Iterator[LabelledCase]:
    """A text with the claims of all its sentences, without those that people call no fact, such as opinions."""
    claims = tuple(
        claim
        for sentence in row["sentences"]
        for claim, kind in zip(sentence["claims"], sentence["claim_checkworthiness"], strict=True)
        if kind == "factual"
    )
    if claims:
        yield LabelledCase(1, row["text"], (Decompose(row["text"], row["question"]),), claims=claims)


_MAKERS: dict[str, Callable[[LabelledRow], Iterator[LabelledCase]]] = {
    "ent": _entailment,
    "cit": _citations,
    "rag": _grounding,
    "rel": _relevance,
    "ans": _answers,
    "resp": _responses,
    "coh": _coherence,
    "tox": _toxicity,
    "claims": _claims,
}


def overlap(hypothesis: str, *premise: str) -> float:
    """Share of the hypothesis' tokens that occur in the premise; 0 without tokens."""
    wanted = _TOKEN.findall(hypothesis.lower())
    there = {token for text in premise for token in _TOKEN.findall(text.lower())}
    return sum(token in there for token in wanted) / len(wanted) if wanted else 0.0
