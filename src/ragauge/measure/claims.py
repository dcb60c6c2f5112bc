"""Sets of texts that people took apart: whether a judge finds the same claims."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from ragauge.judges.base import can_answer
from ragauge.measure.asking import Asking
from ragauge.measure.decomposition import matched
from ragauge.measure.figures import Against, Measured
from ragauge.measure.outcomes import first_failure
from ragauge.measure.sets import Row, read
from ragauge.questions import Decompose, topic
from ragauge.statistics.intervals import mean_interval
from ragauge.statistics.paired import paired_mean
from ragauge.text.sentences import sentences
from ragauge.types import Answer, Decomposition, Failure


class Text(msgspec.Struct, frozen=True):
    """A text to take apart, and the claims that people found in it."""

    question: Decompose
    claims: tuple[str, ...]


async def measure_claims(
    asked: Asking, other: Asking | None, file: Path, limit: int | None = None, seed: int = 0
) -> Measured:
    """The F1 of a judge's claims, each matched with one of people's that says the same: the mean over texts.

    Its interval is that of `mean_interval`, and the difference to another judge's that of `paired_mean`.
    """
    name = file.name.partition(".jsonl")[0]
    texts = read(file, _texts, limit, seed)
    if not all(can_answer(asked.judge, text.question) for text in texts):
        return Measured(name, note=f"not answered: {topic(texts[0].question)}")
    begun = time.perf_counter()
    found, failure = await _scores(asked, texts)
    seconds = time.perf_counter() - begun
    known = [score for score in found if score is not None]
    whole = [_whole(text) for text, score in zip(texts, found, strict=True) if score is not None]
    return Measured(
        name,
        rows=len(known),
        failed=len(texts) - len(known),
        f1=mean_interval(known) if known else None,
        sentences=mean_interval(whole) if known else None,
        against=await _against(other, texts, found),
        seconds=seconds,
        failure=str(failure or ""),
    )


def _texts(row: Row) -> Iterator[Text]:
    """One text with the claims of all its sentences, but for those that people say state no fact, such as opinions."""
    claims = tuple(
        claim
        for sentence in row["sentences"]
        for claim, kind in zip(sentence["claims"], sentence["claim_checkworthiness"], strict=True)
        if kind == "factual"
    )
    if claims:
        yield Text(Decompose(row["text"], row["question"]), claims)


async def _scores(asked: Asking, texts: Sequence[Text]) -> tuple[list[float | None], Failure | None]:
    """The F1 of each text, None where an answer is missing; and the first failure."""
    answers = await asked.answers([text.question] for text in texts)
    return [_f1(answers[text.question], text.claims) for text in texts], first_failure(answers.values())


def _f1(answer: Answer | Failure, claims: Sequence[str]) -> float | None:
    if not isinstance(answer, Decomposition):
        return None
    return matched([statement.text for statement in answer.statements if statement.claim], claims).f1


def _whole(text: Text) -> float:
    """The F1 of the sentences of a text as they stand."""
    spans = sentences(text.question.text)
    return matched([text.question.text[start:end] for start, end in spans], text.claims).f1 or 0.0


async def _against(other: Asking | None, texts: Sequence[Text], found: Sequence[float | None]) -> Against | None:
    """The other judge on the same texts; None where there is none, or it takes no texts apart."""
    if other is None or not all(can_answer(other.judge, text.question) for text in texts):
        return None
    theirs, _ = await _scores(other, texts)
    both = [(a, b) for a, b in zip(found, theirs, strict=True) if a is not None and b is not None]
    tested = paired_mean([a - b for a, b in both])
    if tested.p is None:
        return None
    one, another = (sum(scores) / len(both) for scores in zip(*both, strict=True))
    return Against(len(both), "f1", one, another, tested.interval, tested.p)
