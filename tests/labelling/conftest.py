"""Fixtures of the tests of labelling: a run of claims, a lenient judge, and the right answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import ragauge as rg
from ragauge.analysis.labels import Labelling, parse_answer
from ragauge.questions import Entail, Question
from ragauge.store import Store

#: Claims that say so are true; the judge takes the unclear ones for true as well.
TRUE, UNCLEAR, FALSE = "true", "unclear", "false"


def sample(number: int, *claims: str) -> dict[str, object]:
    """A sample with a claim of each kind that is named."""
    texts = [f"Claim {number}.{at} is {kind}." for at, kind in enumerate(claims)]
    return {"id": f"s{number}", "query": f"What of {number}?", "response": " ".join(texts), "contexts": ["A.", "B."]}


def lenient(sure: float = 0.9) -> rg.judges.Judge:
    """A judge that takes unclear claims for true, with low confidence."""

    def entail(premise: str, hypothesis: str) -> tuple[str, float]:
        if UNCLEAR in hypothesis:
            return "entailed", 0.55
        return ("entailed", sure) if TRUE in hypothesis else ("neutral", 1 - sure)

    return rg.judge_from(
        decompose=lambda text: [f"{piece.strip('. ')}." for piece in text.split(". ") if piece.strip(". ")],
        entail=entail,
        name="lenient",
    )


def truth(question: Question) -> str:
    """The right answer to a question."""
    assert isinstance(question, Entail)
    return "s 1" if TRUE in question.hypothesis else "n"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    with Store.open(tmp_path / "kept") as opened:
        yield opened


@pytest.fixture
def measured(store: Store) -> Callable[..., rg.Run]:
    """Makes a run over samples of four claims: every third has an unclear one, every fourth a false one."""

    def make(count: int = 12, judge: rg.judges.Judge | None = None) -> rg.Run:
        kinds = [(UNCLEAR if n % 3 == 0 else TRUE, FALSE if n % 4 == 0 else TRUE, TRUE, TRUE) for n in range(count)]
        rows = [sample(n, *claims) for n, claims in enumerate(kinds)]
        return rg.evaluate(rows, "faithfulness,hallucination", judge or lenient(), store)

    return make


@pytest.fixture
def answered() -> Callable[[Labelling, int], list[int]]:
    """Labels a number of samples correctly, in the order in which they come; returns those drawn at random."""

    def label(labelling: Labelling, count: int) -> list[int]:
        by_chance = []
        for _ in range(count):
            drawn = labelling.next("faithfulness")
            assert drawn is not None
            by_chance += [drawn.position] if drawn.at_random else []
            for piece in labelling.open(drawn, "faithfulness"):
                labelling.keep(piece.question, parse_answer(piece.question, truth(piece.question)), "ann", drawn)
        return by_chance

    return label
