"""What the embedded judge says of the sentences of the demo, as they stand and with one thing changed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import Any

import pytest

from ragauge.judges.embedded.judge import Trained
from ragauge.judges.embedded.lexical import Lexical
from ragauge.judges.embedded.statements import decompose
from ragauge.questions import Entail
from ragauge.text.sentences import sentences
from ragauge.types import Label

Labelling = Callable[[dict[str, Any], str], Label]

NUMBER = re.compile(r"(?<![\w.,:])\d[\d,]*(?:\.\d+)?(?![\w:])")


def rows(system: str) -> list[dict[str, Any]]:
    """The rows of one system of the demo."""
    lines = (files("ragauge") / f"demo/{system}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def contexts(row: dict[str, Any]) -> tuple[str, ...]:
    """The texts of a row's chunks."""
    return tuple(chunk["text"] for chunk in row["contexts"])


def chunk_sentences() -> Iterator[tuple[dict[str, Any], str, str]]:
    """Each sentence of each chunk of the candidate, with its row and chunk."""
    for row in rows("candidate"):
        for chunk in contexts(row):
            yield from ((row, chunk, chunk[start:end]) for start, end in sentences(chunk))


@pytest.fixture(scope="module", params=[Lexical, pytest.param(Trained, marks=pytest.mark.slow)])
def label(request: pytest.FixtureRequest) -> Labelling:
    """What a row's contexts say of a claim, read with the row's query, by words and with the encoder."""
    backend: Lexical | Trained = request.param()

    def said(row: dict[str, Any], claim: str) -> Label:
        verdict = backend.verdict(Entail(contexts(row), claim, row["query"]))
        assert verdict is not None
        return verdict.label

    return said


def exchanged(chunk: str, sentence: str) -> str | None:
    """The sentence with its first number replaced by another number of its chunk."""
    first = NUMBER.search(sentence)
    others = sorted({number for number in NUMBER.findall(chunk) if first and number != first.group()})
    return sentence[: first.start()] + others[0] + sentence[first.end() :] if first and others else None


@pytest.mark.slow
def test_what_stands_in_a_chunk_is_entailed_whatever_the_query(label: Labelling) -> None:
    """Of the sentences copied from a chunk all but one at most are entailed, whatever their row's query asks for."""
    assert len([sentence for row, _, sentence in chunk_sentences() if label(row, sentence) != Label.ENTAILED]) <= 1


def test_another_number_of_the_same_chunk_does_not_pass(label: Labelling) -> None:
    """With one number replaced by another of the same chunk, hardly any sentence is entailed and most are denied."""
    changed = [(row, exchanged(chunk, sentence)) for row, chunk, sentence in chunk_sentences()]
    labels = [label(row, claim) for row, claim in changed if claim]
    assert labels.count(Label.ENTAILED) <= 0.05 * len(labels)
    assert labels.count(Label.CONTRADICTED) >= 0.9 * len(labels)


def denied(row: dict[str, Any], label: Labelling) -> bool:
    """Whether any claim of the row's response is contradicted."""
    claims = [one.text for one in decompose(row["response"], row["query"]) if one.claim]
    return any(label(row, claim) == Label.CONTRADICTED for claim in claims)


def test_clear_wrong_values_are_contradicted_and_right_answers_are_not(label: Labelling) -> None:
    """A response with a wrong number in an otherwise like sentence is found, and no right response is."""
    found = [(system, row) for system in ("baseline", "candidate") for row in rows(system) if denied(row, label)]
    assert ("candidate", "q06") in [(system, row["id"]) for system, row in found]
    assert {row["metadata"]["kind"] for _, row in found} == {"partly_wrong"}
