"""Labelling in words: what a person is shown, and what labels come to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ragauge.labelling.agreement import Agreement
from ragauge.labelling.labelling import Piece
from ragauge.labelling.replies import asked, choices
from ragauge.labelling.standing import Standing
from ragauge.questions import Classify, Decompose, Entail, Question, Rate, Relevant
from ragauge.report.wording import counted, number, printable
from ragauge.statistics.intervals import Interval
from ragauge.types import Answer, Grade, Label, Verdict

#: Below so many samples drawn at random the figures say little.
FEW = 30

_WORDS = {Label.ENTAILED: "supported", Label.NEUTRAL: "not supported", Label.NOT_ENTAILED: "not supported"}


def question_lines(question: Question) -> Iterator[str]:
    """Everything that the judge saw, text by text, and what is asked."""
    for name, text in _texts(question):
        first, *more = text.splitlines() or [""]
        yield f"{name}: {printable(first)}"
        yield from (f"    {printable(line)}".rstrip() for line in more)
    yield asked(question)


def _texts(question: Question) -> list[tuple[str, str]]:
    match question:
        case Entail(premise, hypothesis, query):
            texts = [(f"[{at}]", text) for at, text in enumerate(premise, 1)]
            return [*_optional("query", query), *texts, ("claim", hypothesis)]
        case Relevant(query, text, reference):
            return [("query", query), *_optional("reference", reference), ("text", text)]
        case Classify(text) | Decompose(text):
            return [("text", text)]
        case Rate(_, texts):
            return list(texts)


def _optional(name: str, text: str | None) -> list[tuple[str, str]]:
    return [] if text is None else [(name, text)]


def answer_words(answer: Answer | None) -> str:
    """What was said, in a word or two; with the probability where there is one."""
    if isinstance(answer, Grade):
        return f"{answer.value:g}"
    if not isinstance(answer, Verdict):
        return "nothing"
    said = _WORDS.get(answer.label, answer.label.value)
    return said if answer.probability is None else f"{said} (probability of support {answer.probability:.2f})"


def keys_line(piece: Piece) -> str:
    """Which keys there are for a question."""
    own = [f"{choice.key} {choice.words}" for choice in choices(piece.question)]
    if isinstance(piece.question, Rate):
        own = [f"{piece.question.rubric.low:g} to {piece.question.rubric.high:g}"]
    numbered = isinstance(piece.question, Entail) and len(piece.question.premise) > 1
    chunks = ["with the numbers of the texts that say so, as in: s 2"] if numbered else []
    return " · ".join([*own, *chunks, "Enter skips", "b back", "? the judge's verdict", "q quits"])


def standing_lines(standings: Mapping[str, Standing]) -> Iterator[str]:
    """What the labels come to, metric by metric."""
    for metric, one in standings.items():
        if not one.labelled:
            continue
        yield f"{metric}: the judge gives {_value(one.judge)} over {counted(one.samples, 'sample')}"
        yield f"  corrected by people: {_corrected(one)}"
        yield from (f"  {agreement_words(agreement)}" for agreement in one.agreement)
        if 0 < one.drawn < FEW:
            yield f"  That is little: intervals are wide below {FEW} samples drawn at random."


def _corrected(one: Standing) -> str:
    if one.corrected.value is None:
        return "not yet; it takes samples that were drawn at random and answered in full"
    return f"{_value(one.corrected)}, by {counted(one.counted, 'sample')} drawn at random"


def agreement_words(one: Agreement) -> str:
    """Raw agreement and kappa, or how far grades lie apart, with what they rest on."""
    same = f"judge and people agree on {_value(one.raw)} of {counted(one.n, 'question')} ({one.kind})"
    if one.apart is not None:
        return f"{same}, grades lie {number(one.apart)} apart"
    undefined = one.kappa is None or one.kappa.value is None
    return f"{same}, kappa {'undefined: both gave one and the same label' if undefined else _value(one.kappa)}"


def _value(interval: Interval | None) -> str:
    if interval is None or interval.value is None:
        return "–"
    return f"{number(interval.value)} [{number(interval.low)}, {number(interval.high)}]"
