"""Needs about single pieces: relevance, ranks, traits of opinions, grades, refusals, and functions of a sample."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from numbers import Real
from typing import Annotated, Any, Literal, cast

import msgspec

from ragauge.needs.base import (
    RETRIEVED_IDS_KEY,
    Checks,
    CheckSets,
    Grades,
    Measured,
    Need,
    NothingToCount,
    Preferences,
    QuestionFlow,
    Ranks,
    chunk_pieces,
    gather,
    need,
    present,
)
from ragauge.needs.entailment import history, references_of, response_of, response_statements
from ragauge.questions import REFUSAL, Classify, Correct, Judgment, Rate, Relevant, Rubric
from ragauge.scores import Evidence
from ragauge.text import trust_eval
from ragauge.text.overlap import bertscore, similarity
from ragauge.text.refusals import has_rules, refusal
from ragauge.types import Chunk, Label, Sample, Verdict


@need(reads=["query", "response"], asks=["decompose", "relevant"])
def statements_to_query(sample: Sample) -> QuestionFlow[Checks]:
    """Is each statement of the response relevant to the query?"""
    statements = yield from response_statements(sample)
    turns = history(sample)
    judgments = yield [Relevant(sample.query or "", piece.text, None, turns) for piece in statements.pieces]
    pieces = tuple(Evidence(piece.text, statements.field, piece.span, "query") for piece in statements.pieces)
    return Checks(pieces, tuple(judgments))


@need(reads=["query", "response"], asks=["relevant"], may_lack=["response"])
def response_to_query(sample: Sample) -> QuestionFlow[Checks]:
    """Does any part of the response help to answer the query? Nothing is asked where there is none, or an empty one."""
    text = sample.response or ""
    if not text.strip():
        return Checks((), ())
    judgments = yield [Relevant(sample.query or "", text, None, history(sample))]
    return Checks((Evidence(text, "response", (0, len(text)), "query"),), tuple(judgments))


@need(reads=["query", "contexts"], asks=["relevant"])
def contexts_to_query(sample: Sample) -> QuestionFlow[Checks]:
    """Is any part of each chunk relevant to the query?"""
    return _judged_contexts(sample, "query", None)


@need(reads=["query", "contexts", "references"], asks=["relevant"])
def contexts_to_references(sample: Sample) -> QuestionFlow[CheckSets]:
    """Is each chunk useful for producing each reference?"""
    flows = [_judged_contexts(sample, name, text) for name, text in references_of(sample).items()]
    return CheckSets((yield from gather(flows)))


@need(reads=["query", "contexts", "response"], asks=["relevant"])
def contexts_to_response(sample: Sample) -> QuestionFlow[CheckSets]:
    """Is each chunk useful for producing the response?"""
    text = response_of(sample)
    if not text.strip():
        raise NothingToCount("the response is empty")
    return CheckSets(((yield from _judged_contexts(sample, "response", text)),))


def _judged_contexts(sample: Sample, against: str, reference: str | None) -> QuestionFlow[Checks]:
    """Does each context help to answer the query, or to produce a reference where one is given?"""
    contexts, turns = sample.contexts or (), history(sample)
    judgments = yield [Relevant(sample.query or "", chunk.passage, reference, turns) for chunk in contexts]
    return Checks(chunk_pieces(contexts, against), tuple(judgments))


@dataclass(frozen=True)
class Correctness:
    """Whether the response is right by the references: RIGHT, PARTLY, WRONG, or UNDECIDED with the reason."""

    label: Label
    reason: str
    evidence: tuple[Evidence, ...]


@need(reads=["response", "references"], asks=["correct"])
def response_by_references(sample: Sample) -> QuestionFlow[Correctness]:
    """Is the response right by all references together? Nothing is asked about an empty one, which is wrong."""
    text, references = response_of(sample), references_of(sample)
    if not text.strip():
        return Correctness(Label.WRONG, "", (_piece(text, "references", Label.WRONG),))
    (judgment,) = yield [Correct(sample.query, text, tuple(references.values()))]
    verdict = cast(Verdict, judgment.answer)
    evidence = Checks((_piece(text, "references"),), (judgment,)).evidence
    return Correctness(verdict.label, verdict.rationale or "", evidence)


@cache
def opinions_with(trait: str) -> Need[Checks]:
    """Which opinions of the response carry `trait`?"""

    def flow(sample: Sample) -> QuestionFlow[Checks]:
        statements = yield from response_statements(sample)
        opinions = statements.opinions
        judgments = yield [Classify(piece.text, trait) for piece in opinions.pieces]
        return Checks(opinions.evidence, tuple(judgments))

    return Need(f"opinions_with({trait})", ("response",), frozenset({"decompose", f"classify:{trait}"}), flow)


@cache
def grade_of(rubric: Rubric) -> Need[Grades]:
    """The grade of the sample's texts on `rubric`; of each chunk separately where the rubric reads "chunk"."""

    def flow(sample: Sample) -> QuestionFlow[Grades]:
        texts = {field: graded_text(sample, field) for field in rubric.fields if field != "chunk"}
        if "chunk" in rubric.fields:
            pieces = chunk_pieces(sample.contexts or (), rubric.name)
        else:
            pieces = (Evidence(texts[rubric.fields[-1]], rubric.fields[-1], against=rubric.name),)
        judgments = yield [
            Rate(rubric, tuple((field, texts.get(field, piece.text)) for field in rubric.fields)) for piece in pieces
        ]
        return Grades(pieces, tuple(judgments))

    fields_of = {"chunk": "contexts", "other": "metadata.other", "conversation": "response or turns"}
    reads = tuple(fields_of.get(field, field) for field in rubric.fields)
    return Need(f"grade_of({rubric.name} {rubric.digest})", reads, frozenset({f"rate:{rubric.name}"}), flow)


def compared_with(criterion: str, column: str, reads: tuple[str, ...]) -> Need[Preferences]:
    """Which is better by a criterion, the response or the text in a column? Nothing is asked if they are the same.

    Both orders are asked, each in a round of its own, so that no judge sees both in one call.

    Args:
        criterion: the criterion in plain words.
        column: the column of the other text, a key of the sample's metadata.
        reads: the fields that the judge also sees, in samples that have them.
    """
    whole = Rubric("preference", (*reads, "response", "other"), -2, 2, f"{_WHICH_IS_BETTER}{criterion}", whole=True)

    def flow(sample: Sample) -> QuestionFlow[Preferences]:
        shown = tuple((field, graded_text(sample, field)) for field in reads if present(sample, field))
        rubric = msgspec.structs.replace(whole, fields=(*dict(shown), "response", "other"))
        response, other = response_of(sample), str(sample.metadata[column])
        judgments: list[Judgment] = []
        if response.split() != other.split():
            for texts in ((response, other), (other, response)):
                judgments += yield [Rate(rubric, (*shown, *zip(("response", "other"), texts, strict=True)))]
        pieces = (Evidence(response, "response", against=column), Evidence(other, column, against="response"))
        return Preferences(pieces, tuple(judgments))

    fields = ("response", f"metadata.{column}")
    return Need(f"compared_with({column} {whole.digest})", fields, frozenset({"rate:preference"}), flow)


_WHICH_IS_BETTER = (
    "Which is better by the criterion below, the response or the other? 2: the response is clearly better. 1: it is "
    "somewhat better. 0: neither is better. -1: the other is somewhat better. -2: the other is clearly better. Nothing "
    "but the criterion counts, neither length nor which of the two comes first. The criterion: "
)


def graded_text(sample: Sample, field: str) -> str:
    """A field as one text, chunks or alternatives separated by empty lines; "other" is a column of that name."""
    if field == "conversation":
        last = ((name, text) for name, text in (("User", sample.query), ("Assistant", sample.response)) if text)
        turns = ((turn.role.capitalize(), turn.text) for turn in sample.turns or () if turn.role != "system")
        return "\n\n".join(f"{name}: {text}" for name, text in (*turns, *last))
    value = sample.metadata["other"] if field == "other" else getattr(sample, field)
    if isinstance(value, str):
        return value
    return "\n\n".join(piece.passage if isinstance(piece, Chunk) else piece for piece in value)


#: How refusals are detected: "rules" (ours), "trust_eval" (a fuzzy match with the refusal it prescribes), or "judge".
RefusalDetector = Literal["rules", "trust_eval", "judge"]

#: The key of a sample's metadata for the refusal that its system was instructed to give.
REFUSAL_KEY = "refusal_sentence"


def instructed_refusal(sample: Sample) -> str:
    """The refusal that the system was instructed to give instead of an answer; "" where unknown."""
    text = sample.metadata.get(REFUSAL_KEY)
    return text if isinstance(text, str) else ""


@dataclass(frozen=True)
class RefusalCheck:
    """Whether the response is a refusal; Trust-Eval counts gold claims by `refused_without_citations`.

    evidence: the refusing sentences, or the whole response. empty: whether there are no words, which Trust-Eval takes
    for an answer.
    """

    refused: bool
    refused_without_citations: bool
    evidence: tuple[Evidence, ...]
    empty: bool = False

    @property
    def answered(self) -> bool:
        """Whether the response is an answer."""
        return not (self.refused or self.empty)


_REFUSAL_GRADE = grade_of(REFUSAL)


@cache
def refusal_check(
    refusals: Annotated[
        RefusalDetector, "how refusals are detected: by rules, as in Trust-Eval, or by a judge"
    ] = "rules",
) -> Need[RefusalCheck]:
    """Is the response a refusal? Nothing is asked unless a judge is to decide."""
    name = f"refusals({refusals})"
    if refusals == "judge":
        return Need(name, _REFUSAL_GRADE.reads, _REFUSAL_GRADE.asks, _by_judge)
    return Need(name, ("response",), frozenset(), _by_trust_eval if refusals == "trust_eval" else _by_rules)


def _by_judge(sample: Sample) -> QuestionFlow[RefusalCheck]:
    grades = yield from _REFUSAL_GRADE.flow(sample)
    empty = not response_of(sample).strip()
    refused = not empty and grades.values[0] >= (REFUSAL.low + REFUSAL.high) / 2
    return RefusalCheck(refused, refused, grades.evidence, empty)


def _by_trust_eval(sample: Sample) -> QuestionFlow[RefusalCheck]:
    yield from ()
    text = response_of(sample)
    refused = trust_eval.is_refusal(text)
    bare = trust_eval.is_refusal(trust_eval.without_citations(text))
    return RefusalCheck(refused, bare, (_piece(text, "refusal", Label.YES if refused else Label.NO),))


def _by_rules(sample: Sample) -> QuestionFlow[RefusalCheck]:
    yield from ()
    text = response_of(sample)
    instructed = instructed_refusal(sample)
    spans = refusal(text, instructed)
    if not (spans or instructed or has_rules(text)):
        raise NothingToCount("no rule knows refusals in this script; refusals=judge asks a judge")
    pieces = tuple(Evidence(text[start:end], "response", (start, end), "refusal", Label.YES) for start, end in spans)
    evidence = pieces or (_piece(text, "refusal", Label.NO),)
    return RefusalCheck(bool(spans), bool(spans), evidence, empty=not text.strip())


def _piece(text: str, against: str, label: Label | None = None, value: float | None = None) -> Evidence:
    """The whole response."""
    return Evidence(text, "response", (0, len(text)), against, label, value)


def measured_by(name: str, reads: Sequence[str], function: Callable[[Sample], Any]) -> Need[Measured]:
    """A need that calls a function of the sample.

    Args:
        name: the name of the need, which its evidence shows too.
        reads: the fields of the sample that must be present.
        function: from a sample to a bool or a number, or to a pair of one of them and the reason.
    """

    def flow(sample: Sample) -> QuestionFlow[Measured]:
        yield from ()
        result = function(sample)
        value, reason = result if isinstance(result, tuple) and len(result) == 2 else (result, None)
        value = value.item() if hasattr(value, "item") else value  # numpy's numbers
        if not isinstance(value, Real):
            raise TypeError(f"it returned {result!r}; return a bool, a number, or one of them with a reason")
        if isinstance(value, bool):
            piece = _piece(sample.response or "", name, Label.YES if value else Label.NO)
        else:
            piece = _piece(sample.response or "", name, value=float(value))
        piece = msgspec.structs.replace(piece, rationale=None if reason is None else str(reason))
        return Measured({"": float(value)}, (piece,))

    return Need(name, tuple(reads), frozenset(), flow)


@need(reads=["response", "references"])
def similarity_to_references(sample: Sample) -> QuestionFlow[Measured]:
    """How similar is the response to the references, by their embeddings?"""
    yield from ()
    references, text = references_of(sample), response_of(sample)
    values = similarity([text] * len(references), list(references.values()))
    best, name = max(zip(values, references, strict=True))
    best = min(max(best, -1.0), 1.0)
    return Measured({"": best}, (_piece(text, name, value=best),))


@need(reads=["response", "references"])
def bertscore_to_references(sample: Sample) -> QuestionFlow[Measured]:
    """How similar is the response to the references, by BERTScore?"""
    yield from ()
    references, text = references_of(sample), response_of(sample)
    scores = bertscore([text] * len(references), list(references.values()))
    f1, precision, recall, name = max(zip(scores.f1, scores.precision, scores.recall, references, strict=True))
    return Measured({"precision": precision, "recall": recall, "f1": f1}, (_piece(text, name, value=f1),))


@need(reads=[f"contexts or metadata.{RETRIEVED_IDS_KEY}", "reference_contexts or metadata.reference_context_ids"])
def retrieval_ranks(sample: Sample) -> QuestionFlow[Ranks]:
    """The grades of the retrieved chunks among the relevant ones, and of all relevant ones."""
    yield from ()
    retrieved, relevant, positions = aligned(sample)
    grades = [_relevance_grade(chunk) for chunk in relevant]
    ideal = tuple(sorted((grade for grade in grades if grade > 0), reverse=True))
    if not ideal:
        raise NothingToCount("the sample has no relevant context")
    ranks = tuple(0.0 if i is None else grades[i] for i in positions)
    field = "contexts" if sample.contexts is not None else RETRIEVED_IDS_KEY
    against, labels = "reference_contexts", [Label.YES if grade else Label.NO for grade in ranks]
    evidence = (
        Evidence(chunk.passage or chunk.id, f"{field}[{i}]", None, against, label)
        for i, (chunk, label) in enumerate(zip(retrieved, labels, strict=True))
    )
    return Ranks(ranks, ideal, tuple(evidence))


def aligned(sample: Sample) -> tuple[Sequence[Chunk], Sequence[Chunk], list[int | None]]:
    """The retrieved chunks, the relevant ones, and the position of each retrieved one among the relevant, if any.

    Chunks are the same if they share an id or a text; the second of two is not relevant. Ids that are the positions
    count where the other side has ids alone. Raises NothingToCount where they then match none of its ids.
    """
    retrieved = _chunks_or_ids(sample.contexts, sample.metadata.get(RETRIEVED_IDS_KEY))
    relevant = _chunks_or_ids(sample.reference_contexts, sample.metadata.get("reference_context_ids"))
    ids_alone = None in (sample.contexts, sample.reference_contexts)
    relevant_names = _names(relevant, ids_alone)
    position_of = {name: i for i, names in reversed([*enumerate(relevant_names)]) for name in names}
    positions: list[int | None] = []
    for names in _names(retrieved, ids_alone):
        position = next((position_of[name] for name in names if name in position_of), None)
        positions.append(None if position in positions else position)
    texts = sample.contexts or sample.reference_contexts
    if ids_alone and texts and not _has_ids(texts) and relevant and positions == [None] * len(positions):
        raise NothingToCount("one side has texts without ids, the other ids alone")
    return retrieved, relevant, positions


def _chunks_or_ids(chunks: Sequence[Chunk] | None, ids: Any) -> Sequence[Chunk]:
    """Chunks, or chunks made of ids."""
    if chunks is not None:
        return chunks
    if isinstance(ids, str) and ids.lstrip()[:1] in ("[", "{"):
        ids = json.loads(ids)
    if isinstance(ids, str | int):
        ids = [ids]
    grades = ids.items() if isinstance(ids, Mapping) else ((id, 1) for id in ids or ())
    return [Chunk("", str(id), metadata={"grade": grade}) for id, grade in grades]


def _names(chunks: Sequence[Chunk], ids_alone: bool) -> list[list[str]]:
    """The names by which each chunk is recognised: its id, its text or both."""
    if ids_alone:
        return [[chunk.id] for chunk in chunks]
    texts = [" ".join(chunk.text.split()) for chunk in chunks]
    has_ids = _has_ids(chunks)
    return [[chunk.id, text] if has_ids else [text] for chunk, text in zip(chunks, texts, strict=True)]


def _has_ids(chunks: Sequence[Chunk]) -> bool:
    """Whether ids are the retriever's, as far as can be seen: whether one is not the position."""
    return any(chunk.id != str(position) for position, chunk in enumerate(chunks, 1))


def _relevance_grade(chunk: Chunk) -> float:
    grade = chunk.metadata.get("grade", chunk.metadata.get("relevance", 1))
    try:
        value = float(grade)
    except (TypeError, ValueError):
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ValueError(f"the grade of the reference context {chunk.id!r} is {grade!r}; give a number of at least 0")
    return value
