"""Questions that users asked, from traces or rows, drawn to cover what is asked, the doubtful ones first.

Personal data are masked by the pattern recognizers of Microsoft Presidio: without a model, and offline.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

import msgspec

from ragauge.datasets.corpus import Draw
from ragauge.datasets.drawing import PassageMap
from ragauge.errors import BadData
from ragauge.host import optional
from ragauge.needs.checks import graded_text
from ragauge.readers import SampleReader
from ragauge.scores import Score
from ragauge.types import Sample, Turn

#: The most distinct questions that are held in memory; from more of them, so many are drawn at random.
MOST_QUESTIONS = 50_000

#: Of Presidio's recognizers, those whose patterns alone say enough.
_RECOGNIZED = "Phone Iban CreditCard Ip MacAddress UsSsn".split()
#: The least score of what is masked; Presidio gives telephone numbers 0.4.
_LEAST_SCORE = 0.4


def real_questions(reader: SampleReader, count: int, seed: int, mask: bool) -> tuple[int, Iterator[Sample]]:
    """The number of distinct questions of users, and the questions with the conversations before them.

    The first ones always cover what is asked: questions are clustered by their words, and every cluster gives one
    before any gives two. If the rows have scores with evidence, or the judge's `confidence`, a cluster first gives the
    questions that the judge doubted most.

    count: the number of questions that will be drawn, which decides the number of clusters. mask: whether to mask
    personal data. Raises BadData without a question, MissingExtra where `mask` takes presidio-analyzer.
    """
    draw = Draw[tuple[Sample, float]](lambda asked: _conversation(asked[0]), MOST_QUESTIONS, seed)
    draw.add((_question(sample), _doubt(sample)) for sample in reader if (sample.query or "").strip())
    if not draw.total:
        raise BadData(f"{reader.name}: no row has a question; name the column, such as --map query=COLUMN")
    if mask:
        recognizers()  # raises MissingExtra before anything is asked
    questions, doubts = zip(*draw.items(), strict=True)
    order = PassageMap([*map(_conversation, questions)]).covering_order(count, Random(seed), doubts)
    drawn = (questions[position] for position in order)
    return draw.total, map(_masked, drawn) if mask else drawn


def _conversation(sample: Sample) -> str:
    return graded_text(sample, "conversation")


def _question(sample: Sample) -> Sample:
    """The question and its conversation, without the system's prompt, response and contexts."""
    turns = tuple(Turn(turn.role, turn.text) for turn in sample.turns or () if turn.role != "system")
    return Sample("", sample.query, turns=turns or None, metadata={"asked_in": sample.id})


def _doubt(sample: Sample) -> float:
    """The judge's mean doubt about its verdicts on the response, from 0 to 1; 0.5 if unknown."""
    confidence: Any = sample.metadata.get("confidence")
    if isinstance(confidence, int | float) and 0 <= confidence <= 1:
        return 1.0 - confidence
    try:
        scores = msgspec.convert(sample.metadata.get("scores"), dict[str, Score])
    except msgspec.ValidationError:
        return 0.5
    doubts = [piece.doubt for score in scores.values() for piece in score.evidence]
    return sum(doubts) / len(doubts) if doubts else 0.5


def _masked(question: Sample) -> Sample:
    turns = question.turns and tuple(Turn(turn.role, masked(turn.text)) for turn in question.turns)
    return msgspec.structs.replace(question, query=masked(question.query or ""), turns=turns)


def masked(text: str) -> str:
    """The text with the kind of each personal datum in its place, as in "<EMAIL_ADDRESS>".

    Found are e-mail addresses, telephone numbers, IBANs, card numbers, IP and MAC addresses, and social security
    numbers of the United States; names and addresses of people are not. Raises MissingExtra without presidio-analyzer.
    """
    findings = [
        finding
        for recognizer in recognizers()
        for finding in recognizer.analyze(text, recognizer.supported_entities, None)
        if finding.score >= _LEAST_SCORE
    ]
    pieces, end = list[str](), 0
    for finding in sorted(findings, key=lambda finding: (finding.start, -finding.end)):
        if finding.start >= end:
            pieces += [text[end : finding.start], f"<{finding.entity_type}>"]
        end = max(end, finding.end)
    return "".join([*pieces, text[end:]])


@cache
def recognizers() -> list[Any]:
    """Presidio's recognizers. Raises MissingExtra."""
    presidio = optional("masking personal data", "masking", "presidio_analyzer.predefined_recognizers")
    email = presidio.EmailRecognizer()
    email.validate_result = lambda _: None  # the pattern decides; the library's own check downloads a list of domains
    return [email, *(getattr(presidio, f"{name}Recognizer")() for name in _RECOGNIZED)]
