"""How metrics are tested without a run, a store or a model: a driver of rounds, and a world that its texts describe.

In the world of words a text is a row of words, and each word is a statement.

    bread       a claim                         *bread      an opinion that is no claim
    +bread      a claim and an opinion          ~hello      neither
    !bread      in a premise: it contradicts the hypothesis "bread"
    a&b         a claim that says both: it follows from premises that hold both words, even if no single one does

A text is relevant to a query, or to a reference, with which it shares a word; an opinion carries the traits whose
names are in it; a grade is the share of a text's words that the texts before it hold. A response is right if it has all
words of a reference, partly right if it has one; a reference "?" decides nothing.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
import pytest

from ragauge.metrics.base import Measure
from ragauge.metrics.registry import select_metrics
from ragauge.needs.base import Rounds
from ragauge.questions import Classify, Correct, Decompose, Entail, Judgment, Question, Rate, Relevant, judgment_key
from ragauge.readers.values import to_chunks
from ragauge.scores import Evidence, Score
from ragauge.types import (
    Answer,
    Chunk,
    ChunkVerdict,
    Criterion,
    Decomposition,
    Failure,
    Grade,
    Identity,
    Label,
    Sample,
    Statement,
    ToolCall,
    Turn,
    Verdict,
)

JUDGE = Identity("test")

Answering = Callable[[Question], Answer | Failure]
Sampling = Callable[..., Sample]
Scoring = Callable[..., dict[str, Score]]
Valuing = Callable[..., float | str]


def answer_from_words(question: Question) -> Answer:
    """What a judge who knows the world of words answers."""
    match question:
        case Decompose(text):
            return Decomposition(tuple(_statement(found) for found in re.finditer(r"\S+", text)))
        case Entail(premise, hypothesis):
            chunks = [_label(text, hypothesis) for text in premise]
            return Verdict(_label(" ".join(premise), hypothesis), chunks=tuple(map(ChunkVerdict, chunks)))
        case Relevant(query, text, reference):
            wanted = query if reference is None else reference
            return Verdict(Label.YES if set(wanted.split()) & set(text.split()) else Label.NO)
        case Classify(text, trait):
            return Verdict(Label.YES if trait in text else Label.NO)
        case Correct(_, response, references):
            if "?" in references:
                return Verdict(Label.UNDECIDED, rationale="it depends")
            shares = [sum(word in response.split() for word in one.split()) / len(one.split()) for one in references]
            return Verdict(Label.RIGHT if max(shares) == 1 else Label.PARTLY if max(shares) else Label.WRONG)
        case Rate(rubric, texts):
            *before, last = (text.split() for _, text in texts)
            known = {word for words in before for word in words}
            grade = rubric.low + (rubric.high - rubric.low) * sum(word in known for word in last) / max(1, len(last))
            return Grade(float(round(grade)) if rubric.whole else grade)


def answer_by_chance(seed: int) -> Answering:
    """A judge whose statements are words and whose other answers are drawn by lot, the same for the same seed."""

    def answer(question: Question) -> Answer:
        lot = random.Random(f"{seed} {question!r}")
        match question:
            case Entail(premise, _):
                labels = [
                    lot.choice((Label.ENTAILED, Label.NEUTRAL, Label.CONTRADICTED)) for _ in range(len(premise) + 1)
                ]
                return Verdict(
                    labels[0], chunks=tuple(map(ChunkVerdict, labels[1:] if len(premise) > 1 else labels[:1]))
                )
            case Relevant() | Classify():
                return Verdict(lot.choice((Label.YES, Label.NO)))
            case Correct():
                return Verdict(lot.choice((Label.RIGHT, Label.PARTLY, Label.WRONG, Label.UNDECIDED)))
            case Rate(rubric, _):
                grade = lot.uniform(rubric.low, rubric.high)
                return Grade(float(round(grade)) if rubric.whole else grade)
            case Decompose():
                return answer_from_words(question)

    return answer


def _statement(found: re.Match[str]) -> Statement:
    mark = found[0][0]
    return Statement(found[0], found.span(), claim=mark not in "*~", opinion=mark in "*+")


def _label(text: str, hypothesis: str) -> Label:
    """What a text says of a hypothesis; support is reported even where the text contradicts it too."""
    words, parts = re.split(r"[\s&]+", text), hypothesis.lstrip("+").split("&")
    if all(part in words for part in parts):
        return Label.ENTAILED
    return Label.CONTRADICTED if any(f"!{part}" in words for part in parts) else Label.NEUTRAL


def sample_of(**fields: Any) -> Sample:
    """A sample whose contexts may be given as texts or objects."""
    for name in ("contexts", "reference_contexts"):
        if fields.get(name) is not None:
            chunks = (Chunk(c, id=str(i)) if isinstance(c, str) else c for i, c in enumerate(fields[name], 1))
            fields[name] = to_chunks(tuple(chunks)) or ()
    if fields.get("references") is not None:
        fields["references"] = tuple(fields["references"])
    for name in ("tool_calls", "reference_tool_calls"):
        if fields.get(name) is not None:
            fields[name] = msgspec.convert(fields[name], tuple[ToolCall, ...])
    if fields.get("criteria") is not None:
        fields["criteria"] = msgspec.convert(fields["criteria"], tuple[Criterion, ...])
    if fields.get("turns") is not None:
        fields["turns"] = msgspec.convert(fields["turns"], tuple[Turn, ...])
    return Sample(**{"id": "1", **fields})


class Drive:
    """Samples scored by measures with the answers of a function.

    rounds: what was asked, round by round. outcomes: by sample, how each need ended. scores: by sample.
    """

    def __init__(self, samples: Iterable[Sample], measures: Iterable[Measure], answering: Answering) -> None:
        samples, measures = list(samples), list(measures)
        many = [Rounds(sample, [need for measure in measures for need in measure.needs]) for sample in samples]
        self.rounds: list[list[Question]] = []
        judgments: dict[Question, Judgment] = {}
        while wanted := [question for driver in many for question in driver.questions]:
            questions = [question for question in dict.fromkeys(wanted) if question not in judgments]
            self.rounds += [questions] if questions else []
            judgments |= {q: Judgment(q, answering(q), JUDGE, judgment_key(q, JUDGE)) for q in questions}
            for driver in many:
                driver.advance(judgments)
        self.outcomes = [driver.outcomes for driver in many]
        self.scores = [
            {key: score for measure in measures for key, score in measure.scores(ended).items()}
            for ended in self.outcomes
        ]

    @property
    def questions(self) -> list[Question]:
        """All that was asked."""
        return [question for asked in self.rounds for question in asked]

    def evidence(self, need: str) -> tuple[Evidence, ...]:
        """The evidence that a need of the first sample found."""
        evidence: tuple[Evidence, ...] = getattr(self.outcomes[0][need], "evidence", ())
        return evidence


def scores_of(sample: Sample, metrics: Any, answering: Answering = answer_from_words) -> dict[str, Score]:
    """The scores of one sample."""
    return Drive([sample], select_metrics(metrics), answering).scores[0]


def value_of(metric: Any, *, answering: Answering = answer_from_words, **fields: Any) -> float | str:
    """The value of one metric on a sample of these fields, or "undefined: ..." or "failed: ..."."""
    (score,) = scores_of(sample_of(**fields), metric, answering).values()
    if score.value is not None:
        return score.value
    return f"undefined: {score.undefined}" if score.undefined is not None else f"failed: {score.failed}"


Row = dict[str, Any]
#: Why rows of another system's vectors are not equal to ours, which rows those are, and what ours is there: a value, a
#: reason, or None for what has no counterpart here.
Rule = tuple[str, Callable[[Row], bool], float | str | None]


def compare(rows: Sequence[Row], ours: Callable[[Row], float | str], rules: Sequence[Rule]) -> Counter[str]:
    """Hold our value against each row's `expected`; those that a rule excepts must have the value the rule says.

    Returns how many were equal, how many differ for a reason of meaning, and how many have no counterpart.
    """
    tally: Counter[str] = Counter()
    for row in rows:
        rule = next((one for one in rules if one[1](row)), None)
        if rule is None:
            assert ours(row) == pytest.approx(row["expected"], rel=1e-9), row
            tally["equal"] += 1
        elif rule[2] is not None:
            assert ours(row) == rule[2] != row["expected"], (rule[0], row)
            tally["other"] += 1
        else:
            tally["foreign"] += 1
    return tally


@pytest.fixture(scope="session")
def compared() -> Callable[..., Counter[str]]:
    """Holds our values against another system's vectors."""
    return compare


@pytest.fixture(scope="session")
def words() -> Answering:
    """The judge of the world of words."""
    return answer_from_words


@pytest.fixture(scope="session")
def chance() -> Callable[[int], Answering]:
    """Makes a judge who draws lots."""
    return answer_by_chance


@pytest.fixture(scope="session")
def sample() -> Sampling:
    """Makes a sample whose contexts may be given as texts."""
    return sample_of


@pytest.fixture(scope="session")
def drive() -> type[Drive]:
    """Drives samples through the rounds of measures."""
    return Drive


@pytest.fixture(scope="session")
def scores() -> Scoring:
    """Scores one sample."""
    return scores_of


@pytest.fixture(scope="session")
def value() -> Valuing:
    """The value of one metric on a sample of given fields, or the reason there is none."""
    return value_of
