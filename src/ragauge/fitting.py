"""Floor 1: which answers fit which questions."""

from __future__ import annotations

from collections.abc import Iterable

from ragauge.nouns.answers import Answer, ChunkVerdict, Decomposition, Grade, Label, Verdict
from ragauge.nouns.statements import Span
from ragauge.questions import Classify, Decompose, Entail, Question, Rate, Relevant, kind

ENTAILMENT = frozenset({Label.ENTAILED, Label.NEUTRAL, Label.CONTRADICTED, Label.NOT_ENTAILED})
YES_NO = frozenset({Label.YES, Label.NO})


def misfit(question: Question, answer: Answer) -> str | None:
    """What is wrong with an answer to a question, None where it fits.

    Spans must lie inside their texts, labels must be those of the kind, probabilities in 0..1, grades on the scale.
    """
    match question, answer:
        case Decompose(), Decomposition():
            if not all(piece.text.strip() for piece in answer.statements):
                return "a statement is empty"
            return _misplaced(question.text, (piece.span for piece in answer.statements))
        case Entail(), Verdict():
            return _wrong_label(answer, ENTAILMENT) or _misplaced_in_chunks(question, answer)
        case Relevant(), Verdict():
            return _wrong_label(answer, YES_NO) or _misplaced(question.text, [answer.span])
        case Classify(), Verdict():
            return _wrong_label(answer, YES_NO)
        case Rate(), Grade():
            return _off_scale(question, answer)
        case _:
            return f"a {type(answer).__name__.lower()} does not answer a question of kind {kind(question)!r}"


def _misplaced(text: str, spans: Iterable[Span | None]) -> str | None:
    for span in spans:
        if span is not None and not 0 <= span[0] <= span[1] <= len(text):
            return f"the span {span} lies outside the text of {len(text)} characters"
    return None


def _wrong_label(verdict: Verdict, labels: frozenset[Label]) -> str | None:
    everything: tuple[Verdict | ChunkVerdict, ...] = (verdict, *verdict.chunks)
    for said in everything:
        if said.label not in labels:
            return f"{said.label.value!r} is not one of {', '.join(sorted(labels))}"
        if said.probability is not None and not 0 <= said.probability <= 1:
            return f"the probability {said.probability} lies outside 0..1"
    return None


def _misplaced_in_chunks(question: Entail, verdict: Verdict) -> str | None:
    if verdict.chunks and len(verdict.chunks) != len(question.premise):
        return f"{len(verdict.chunks)} labels for {len(question.premise)} chunks"
    faults = (_misplaced(text, [said.span]) for text, said in zip(question.premise, verdict.chunks, strict=False))
    return next((fault for fault in faults if fault), None)


def _off_scale(question: Rate, grade: Grade) -> str | None:
    rubric = question.rubric
    if not rubric.low <= grade.value <= rubric.high:
        return f"{grade.value:g} lies outside {rubric.low:g} to {rubric.high:g}"
    if rubric.whole and grade.value != int(grade.value):
        return f"{grade.value:g} is not a whole number"
    return None
