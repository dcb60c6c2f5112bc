"""The columns in other systems' files of scores, and which metric of ours measures the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

import msgspec

from ragauge.errors import BadData, BadRow, UnknownName
from ragauge.readers.columns import flatten_wrappers, rank
from ragauge.readers.read import as_mapping, source
from ragauge.readers.values import TEXT_KEYS, Malformed, describe, native, text_or_none


class Column(msgspec.Struct, frozen=True):
    """How a column of another system's scores relates to a value of ours.

    ours: the key of our value. metric: the spec of our metric that is closest to theirs, if it is not that of the key.
    differs: how their definition differs, empty if it does not. nothing: their value if there is nothing to count.
    per: their number is divided by it; flipped: their number is subtracted from 1. scale: of their converted numbers,
    if it is not that of our metric.
    """

    ours: str
    metric: str = ""
    differs: str = ""
    nothing: str = ""
    per: float = 1.0
    flipped: bool = False
    scale: tuple[float, float] | None = None

    def converted(self, value: float) -> float:
        """Their number on our scale."""
        return 1 - value if self.flipped else value / self.per


class ScoringSystem(msgspec.Struct, frozen=True):
    """Another system: its columns by folded name (see `ragauge.readers.columns.folded`).

    evidence: columns that explain its numbers.
    """

    columns: Mapping[str, Column]
    evidence: tuple[str, ...] = ()


_GRADED_TWICE = "theirs is the mean of two grades of the whole text, ours a share of judged pieces"

_RAGAS = {
    "faithfulness": Column("faithfulness", nothing="NaN where the response has no statement"),
    "faithfulnesswithhhem": Column(
        "faithfulness", differs="theirs has an NLI model check the statements", nothing="NaN without a statement"
    ),
    "nvresponsegroundedness": Column("faithfulness", differs=_GRADED_TWICE),
    "answerrelevancy": Column(
        "answer_relevance",
        differs="theirs is the mean cosine of the query and of questions made from the response, ours the share of the "
        "response's statements that are relevant",
        nothing="NaN or 0 where no question could be made",
        scale=(-1.0, 1.0),
    ),
    "contextprecision": Column("context_precision", "context_precision"),
    "llmcontextprecisionwithreference": Column("context_precision", "context_precision"),
    "llmcontextprecisionwithoutreference": Column("context_precision", "context_precision(against=response)"),
    "contextutilization": Column("context_precision", "context_precision(against=response)"),
    "contextrecall": Column("context_recall", nothing="NaN where the reference has no statement"),
    "nvcontextrelevance": Column("context_relevance", differs=_GRADED_TWICE),
    "answercorrectness": Column(
        "answer_correctness", differs="theirs is 0.75 F1 of statements + 0.25 cosine of embeddings, ours the F1"
    ),
    "nvaccuracy": Column("answer_correctness", differs=_GRADED_TWICE),
    "factualcorrectness": Column("answer_correctness"),
    "factualcorrectnessmodef1": Column("answer_correctness"),
    "factualcorrectnessmodeprecision": Column(
        "claim_precision", differs="theirs keeps claims that the query presupposes"
    ),
    "factualcorrectnessmoderecall": Column("claim_recall", differs="theirs keeps claims that the query presupposes"),
    **{
        f"noisesensitivity{mode}{part}": Column(f"noise_sensitivity.{part}", "noise_sensitivity")
        for mode in ("", "mode")
        for part in ("relevant", "irrelevant")
    },
    "rougescore": Column("rouge.rougeL", "rouge(types=rougeL,stemmer=true)"),
    "rougescoremodefmeasure": Column("rouge.rougeL", "rouge(types=rougeL,stemmer=true)"),
    "bleuscore": Column("bleu", differs="theirs is sacreBLEU of pieces split at '. ', ours the sentence BLEU of NLTK"),
    "chrfscore": Column("chrf"),
    "exactmatch": Column("exact_match", differs="theirs compares the texts as they stand, ours after SQuAD's rules"),
}

_VALOR = {
    "answercorrectness": Column("answer_correctness"),
    "answerrelevance": Column("answer_relevance", nothing="0 where there is no statement"),
    "bias": Column("bias"),
    "toxicity": Column("toxicity"),
    "contextprecision": Column("context_precision", nothing="1 without contexts and references, 0 without one of them"),
    "contextrecall": Column("context_recall", nothing="1 without contexts and references, 0 without one of them"),
    "contextrelevance": Column("context_relevance", nothing="0 without contexts"),
    "faithfulness": Column("faithfulness", nothing="1 where there is no claim"),
    "hallucination": Column("hallucination"),
    "summarycoherence": Column("summary_coherence"),
    "bleu": Column("bleu"),
    **{
        prefix + name.lower(): Column(f"rouge.{name}", "rouge")
        for prefix in ("", "rouge")
        for name in ("rouge1", "rouge2", "rougeL", "rougeLsum")
    },
}

_DEEPEVAL = {
    "faithfulness": Column(
        "faithfulness",
        differs="theirs counts a claim as faithful unless the contexts contradict it, ours only if they support it",
        nothing="1 where there is no claim",
    ),
    "answerrelevancy": Column(
        "answer_relevance",
        differs="theirs counts what is only ambiguous as relevant",
        nothing="1 where there is no statement",
    ),
    "contextualprecision": Column("context_precision", nothing="0 without contexts"),
    "contextualrecall": Column("context_recall", nothing="0 where the reference has no sentence"),
    "contextualrelevancy": Column(
        "context_relevance", differs="theirs is a share of the contexts' statements, ours of the contexts"
    ),
    "hallucination": Column("hallucination", nothing="0 without contexts"),
    "bias": Column("bias"),
    "toxicity": Column("toxicity"),
}

_OVERALL = Column(
    "relevance_rubric.overall",
    "relevance_rubric",
    differs="theirs is what the model says, ours the mean of the three grades",
)

_RAG_EVALS = {
    **dict.fromkeys(
        ("faithfulness", "faithfulnessscore"), Column("faithfulness", nothing="0 where there is no statement")
    ),
    **dict.fromkeys(
        ("precision", "precisionscore", "chunkprecision"), Column("context_relevance", nothing="0 without contexts")
    ),
    **dict.fromkeys(("relevance", "relevancescore", "answerrelevance", "overallscore"), _OVERALL),
    **{
        name.replace("_", ""): Column(f"relevance_rubric.{name}", "relevance_rubric")
        for name in ("topical_match", "completeness", "conciseness")
    },
    "chunkutility": Column("chunk_utility", nothing="0 without contexts"),
    "contextrecall": Column("context_coverage", nothing="1 where no context is relevant"),
}

_DATAWORKZ = {
    "llmrecall": Column("claim_recall"),
    "llmprecision": Column(
        "claim_precision",
        differs="theirs is golden claims found / claims of the response, ours claims of the response that the golden "
        "answer holds / claims of the response; `ragauge dataworkz evaluate` gives theirs exactly",
    ),
    "llmf1": Column("claim_f1", "claim_f1(counting=common)"),
    "bleuscore": Column("bleu", "bleu(tokenizer=whitespace,smoothing=method1)"),
    "rouge1": Column("rouge.rouge1", "rouge(types=rouge1+rougeL,stemmer=true)"),
    "rougel": Column("rouge.rougeL", "rouge(types=rouge1+rougeL,stemmer=true)"),
}


def _correctness(mode: str, suffix: str, parametric: str) -> dict[str, Column]:
    """The columns of Trust-Eval that name the form of its correctness."""
    family = f"trust(variant=trust_eval,correctness={mode})"
    names = {
        f"regular_{suffix}": "claim_match" if mode == "cm" else "string_match",
        f"answered_{suffix}": "answered_correctness",
        f"calib_answered_{suffix}": "calibrated_answered",
        f"calib_answerable_{suffix}": "calibrated_answerable",
        f"calib_{suffix}_f1": "calibrated_f1",
        f"{parametric}_{suffix}": "parametric",
    }
    return {theirs.replace("_", ""): Column(ours, family, per=100) for theirs, ours in names.items()}


def _refusals() -> dict[str, Column]:
    """The columns of Trust-Eval about refusals, in its three spellings."""
    names = {"macroavg": "macro_avg", "macrof1": "macro_f1", "answeredratio": "answered_ratio"}
    for theirs, ours in (("reject", "reject"), ("refuse", "reject"), ("refusal", "reject"), ("answerable",) * 2):
        names |= {theirs + short: f"{ours}_{full}" for short, full in _PARTS.items()}
    return {theirs: Column(ours, f"{ours}(refusals=trust_eval)", per=100) for theirs, ours in names.items()}


_PARTS = {"rec": "recall", "prec": "precision", "f1": "f1"}

_CITATIONS = {
    "regularcitationrec": Column("citation_recall", "citation_recall(variant=trust_eval)", per=100),
    "regularcitationprec": Column("citation_precision", "citation_precision(variant=trust_eval)", per=100),
    "regularcitationf1": Column("regular_citation_f1", "regular_citation_f1(variant=trust_eval)", per=100),
    **{
        f"answeredcitation{short}": Column(ours, f"{ours}(refusals=trust_eval,variant=trust_eval)", per=100)
        for short, ours in ((short, f"answered_citation_{full}") for short, full in _PARTS.items())
    },
}

_TRUST_EVAL = {
    **_refusals(),
    **_correctness("cm", "claims_nli", "parametric_answered"),
    **_correctness("em", "str_em", "parametric"),
    **_CITATIONS,
    "trustscore": Column("trust_score", per=100),
}

SYSTEMS: Mapping[str, ScoringSystem] = {
    "ragas": ScoringSystem(_RAGAS),
    "valor": ScoringSystem(_VALOR),
    "deepeval": ScoringSystem(_DEEPEVAL),
    "rag_evals": ScoringSystem(_RAG_EVALS),
    "trust_eval": ScoringSystem(_TRUST_EVAL),
    "dataworkz": ScoringSystem(_DATAWORKZ, ("Golden Response Claims", "Candidate Response Claims", "Common Claims")),
}


#: The fields that identify the sample of a row.
NAMING = ("id", "query", "response")


class RowName(msgspec.Struct, frozen=True):
    """Identifies a row or sample. id: its own, or its number counted from 1."""

    id: str
    query: str | None
    response: str | None


class ScoreRow(RowName, frozen=True):
    """One row of scores. cells: all its columns."""

    cells: Mapping[str, Any]


class ScoreSheet(msgspec.Struct, frozen=True):
    """The rows of another system's scores. name: of the file. numbered: whether ids are row numbers."""

    name: str
    lines: tuple[ScoreRow, ...]
    numbered: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns, in the order in which they first occur."""
        return tuple(dict.fromkeys(column for line in self.lines for column in line.cells))

    def is_scored(self, column: str) -> bool:
        """Whether a column holds a number anywhere."""
        return any(number_in(line.cells.get(column)) is not None for line in self.lines)


def read_sheet(scores: Any, map: Mapping[str, str]) -> ScoreSheet:
    """The rows of any file or object that `ragauge.read` takes; scores alone are enough.

    map: field -> column, for id, query and response. Raises BadData, BadRow, or UnknownName for a column.
    """
    if isinstance(scores, ScoreSheet):
        return scores
    found = source(scores)
    rows = [_cells(row, found.name, number) for number, row in enumerate(found.rows(), start=1)]
    columns = dict.fromkeys(column for row in rows for column in row)
    serving = {field: _serving(field, columns, map) for field in NAMING}
    lines = []
    for number, row in enumerate(rows, start=1):
        id, query, response = (_text(row.get(column)) if (column := serving[field]) else None for field in NAMING)
        lines.append(ScoreRow(id or str(number), query, response, row))
    if not lines:
        raise BadData(f"{found.name}: no rows of scores")
    return ScoreSheet(found.name, tuple(lines), serving["id"] is None)


def _cells(row: Any, where: str, number: int) -> Mapping[str, Any]:
    if isinstance(row, Malformed):
        raise BadRow(where, number, None, row.problem, row.fix)
    fields = as_mapping(row)
    if fields is None:
        raise BadRow(where, number, None, f"{describe(row)}, not an object", "give each row as a dict")
    return dict(pair for column, cell in flatten_wrappers(fields).items() for pair in _scores(column, cell))


def _scores(column: str, cell: Any) -> Iterator[tuple[str, Any]]:
    """The scores in a cell by name: Valor and DeepEval have lists of objects with a name and a value."""
    cell = native(cell)
    items = cell if isinstance(cell, list) else [cell]
    if not items or not all(map(_is_score, items)):
        yield column, cell
        return
    for item in items:
        name = str(item.get("name") or item.get("type"))
        kind = (item.get("parameters") or {}).get("rouge_type", "")
        yield column if name == "Error" else f"{name} {kind}".strip(), item.get("score", item.get("value"))


def _is_score(item: Any) -> bool:
    named = isinstance(item, Mapping) and {"name", "type"} & item.keys() and {"score", "value"} & item.keys()
    return bool(named) and item.keys().isdisjoint(TEXT_KEYS)


def _serving(field: str, columns: Mapping[str, Any], map: Mapping[str, str]) -> str | None:
    """The column of a field: the one that the caller names, else the best of the known names."""
    if field in map:
        if map[field] and map[field] not in columns:
            raise UnknownName("column", map[field], columns)
        return map[field] or None
    fits = [(place, column) for column in columns if (place := rank(field, column)) is not None]
    return min(fits)[1] if fits else None


def _text(cell: Any) -> str | None:
    try:
        return text_or_none(cell)
    except Malformed:
        return None


def number_in(cell: Any) -> float | None:
    """The number in a cell, also if it is text; None for NaN, infinities and anything else."""
    cell = native(cell)
    try:
        value = float(cell) if isinstance(cell, str | int | float) else None
    except ValueError:
        return None
    return value if value is not None and isfinite(value) else None
