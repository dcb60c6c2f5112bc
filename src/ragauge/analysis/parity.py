"""`parity`: another system's scores and a run of ours on the same rows, and why they differ."""

from __future__ import annotations

import heapq
import re
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from math import floor, fsum, isfinite
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragauge.errors import BadData, BadRow, UnknownName, UsageError
from ragauge.metrics.registry import FAMILIES, select_metrics
from ragauge.readers.columns import ALIASES, flatten_wrappers, folded, rank
from ragauge.readers.read import as_mapping, source
from ragauge.readers.values import TEXT_KEYS, Malformed, describe, native, text_or_none
from ragauge.report.explain import decisive, is_share, pieces_words
from ragauge.report.files import save_text
from ragauge.report.text import plain
from ragauge.report.wording import by_reason, counted, number, one_line, shortened, with_interval
from ragauge.run.results import Run, recovered_record
from ragauge.scores import RunRecord, ScoreRecord
from ragauge.statistics.agreement import group_interval, spearman
from ragauge.statistics.intervals import Clusters, Interval
from ragauge.statistics.paired import paired_mean


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
    for at, row in enumerate(rows, start=1):
        id, query, response = (_text(row.get(column)) if (column := serving[field]) else None for field in NAMING)
        lines.append(ScoreRow(id or str(at), query, response, row))
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


#: The number of rows without a sample that are named.
SHOWN = 5

Key = Callable[[RowName], Hashable]


class RowMatching(msgspec.Struct, frozen=True):
    """How rows of scores were matched with samples.

    by: "position", "id", or "query and response" (or one of the two). pairs: number of matches. rows, samples: number
    on either side. alone: ids of the first rows without a sample.
    """

    by: str
    pairs: int
    rows: int
    samples: int
    alone: tuple[str, ...] = ()


def match_rows(sheet: ScoreSheet, samples: Sequence[RowName]) -> tuple[RowMatching, list[tuple[int, int]]]:
    """Match the rows of `sheet` with `samples`, as pairs of positions: by id if possible, else by texts, else in order.

    Ids (row numbers if there is no column of ids) are used if all ids of one side occur on the other and the texts of
    matched rows agree; without texts to check, both sides must have the same ids. Texts that occur several times are
    matched in order. Positions are used only without texts to check, and if there are as many rows as samples.

    Raises BadData if nothing matches.
    """
    lines = sheet.lines
    sizes = len(lines), len(samples)
    fields = [field for field in ("query", "response") if _has(field, lines) and _has(field, samples)]
    pairs = _pairs(lines, samples, lambda one: one.id)
    enough = len(pairs) == (min(sizes) if fields else max(sizes))
    by = "position" if sheet.numbered else "id"
    if not (pairs and enough and all(_texts(lines[i], fields) == _texts(samples[j], fields) for i, j in pairs)):
        pairs = _pairs(lines, samples, lambda one: _texts(one, fields)) if fields else []
        by = " and ".join(fields)
    if not pairs:
        if fields or sizes[0] != sizes[1]:
            raise BadData(_unmatched(sheet, sizes, fields))
        pairs, by = [(i, i) for i in range(len(lines))], "position"
    found = {i for i, _ in pairs}
    alone = (line.id for i, line in enumerate(lines) if i not in found)
    return RowMatching(by, len(pairs), *sizes, tuple(islice(alone, SHOWN))), pairs


def _has(field: str, rows: Sequence[RowName]) -> bool:
    return any(getattr(row, field) is not None for row in rows)


def _texts(row: RowName, fields: Sequence[str]) -> tuple[str, ...]:
    """The texts of a row, without regard to white space and case."""
    return tuple(" ".join((getattr(row, field) or "").split()).casefold() for field in fields)


def _pairs(lines: Sequence[RowName], samples: Sequence[RowName], key: Key) -> list[tuple[int, int]]:
    """Positions of rows and samples with equal keys; the second row of a key goes with its second sample."""
    places: dict[Hashable, deque[int]] = {}
    for j, sample in enumerate(samples):
        places.setdefault(key(sample), deque()).append(j)
    return [(i, places[key(line)].popleft()) for i, line in enumerate(lines) if places.get(key(line))]


def _unmatched(sheet: ScoreSheet, sizes: tuple[int, int], fields: Sequence[str]) -> str:
    shown = shortened(sheet.lines[0].query or sheet.lines[0].response or "", 80)
    why = f"no row has the {' and '.join(fields)} of a sample (the first row: {shown!r})"
    if not fields:
        why = f"{sizes[0]} rows and {sizes[1]} samples, without matching ids or texts"
    return f"{sheet.name}: {why}; give the rows that were measured, with their ids or their query and response"


SCHEMA = "ragauge.parity/1"

#: The endings of files that a comparison is written to.
PARITY_WRITERS = (".md", ".json")


class ParityRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """One row on which the two differ.

    theirs, ours: the numbers on our scale, None if missing; why: the reason.
    evidence: lines with our deciding pieces, and their explanations.
    """

    id: str
    query: str
    theirs: float | None
    ours: float | None
    why: str = ""
    evidence: tuple[str, ...] = ()


class ParityDifference(msgspec.Struct, frozen=True):
    """The rows that differ for one cause, a key of `CAUSES`: their number, and the worst of them."""

    cause: str
    count: int
    rows: tuple[ParityRow, ...]


class ParityFigures(msgspec.Struct, frozen=True):
    """The figures of the n rows with a number on both sides.

    difference: the mean of ours - theirs with a 95 % interval; None if theirs are off their scale.
    rank: Spearman's correlation, None if either side is constant; its 95 % interval for 10 to 10,000 rows.
    close: number of rows on which the numbers differ by at most 0.05 of our scale.
    """

    n: int
    mean_theirs: float | None
    mean_ours: float | None
    difference: Interval | None
    rank: float | None
    rank_interval: tuple[float, float] | None
    close: int


class ParityColumn(msgspec.Struct, frozen=True):
    """A column of theirs compared with a value of ours.

    neither: number of rows without a number on either side. notes: another definition, another scale.
    """

    theirs: str
    ours: str
    figures: ParityFigures
    neither: int
    notes: tuple[str, ...]
    differences: tuple[ParityDifference, ...]


class ParityTotal(msgspec.Struct, frozen=True):
    """Their score of the whole data set, on our scale, and our estimate with its 95 % interval."""

    theirs: str
    ours: str
    value: float
    estimate: float | None
    low: float | None
    high: float | None
    n: int
    notes: tuple[str, ...] = ()


class Parity(msgspec.Struct, frozen=True):
    """Another system's scores compared with those of a run.

    system: whose scores. scores: the file. run, judge: the run and its judges.
    matching: how rows were matched with samples; None if the scores are for the whole data set.
    columns, totals: the comparisons by row, or of whole data sets. left: columns that were not compared, with the
    reason.
    """

    system: str = msgspec.field(name="peer")
    scores: str
    run: str
    judge: str
    matching: RowMatching | None
    columns: tuple[ParityColumn, ...]
    totals: tuple[ParityTotal, ...]
    left: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """The comparison as one document of schema "ragauge.parity/1"."""
        document: dict[str, Any] = {"schema": SCHEMA, **msgspec.to_builtins(self)}
        return document

    def save(self, path: str | Path) -> Path:
        """Write the comparison to a .json or .md file. Raises UsageError for other endings."""
        as_json = msgspec.json.encode(self.to_dict()).decode()
        return save_text(Path(path), {".json": lambda: as_json, ".md": lambda: parity_markdown(self)})

    def __str__(self) -> str:
        return parity_text(self)


FigureScale = tuple[float, float]

#: Numbers that differ by at most this share of the scale are taken as equal.
CLOSE = 0.05

#: The number of pairs for which a rank correlation has an interval; with more it would be narrower than 0.05.
FEWEST, MOST = 10, 10_000

#: The tolerance for rounded numbers at the ends of a scale.
ROUNDING = 1e-6


def figures(
    theirs: Sequence[float], ours: Sequence[float], clusters: Clusters, scale: FigureScale, of_theirs: FigureScale
) -> ParityFigures:
    """The figures of pairs of numbers. scale: of ours; of_theirs: of theirs. clusters: as for `paired_mean`."""
    pairs, n = list(zip(theirs, ours, strict=True)), len(ours)
    difference = rank_interval = None
    if n and all(on_scale_of(value, of_theirs) for value in theirs):
        widest = (scale[0] - of_theirs[1] - ROUNDING, scale[1] - of_theirs[0] + ROUNDING)
        difference = paired_mean([b - a for a, b in pairs], scale=widest, clusters=clusters).interval
    rank = spearman(theirs, ours)
    if rank is not None and FEWEST <= n <= MOST:
        groups = [at if name is None else name for at, name in enumerate(clusters or [None] * n)]
        resamples = max(200, min(1000, 1_000_000 // n))
        rank_interval = group_interval(theirs, ours, groups, spearman, resamples=resamples)
    return ParityFigures(
        n=n,
        mean_theirs=fsum(theirs) / n if n else None,
        mean_ours=fsum(ours) / n if n else None,
        difference=difference,
        rank=rank,
        rank_interval=rank_interval,
        close=sum(on_scale_of(a, of_theirs) and abs(a - b) <= closeness(scale) for a, b in pairs),
    )


def closeness(scale: FigureScale) -> float:
    """The largest difference of two numbers on a scale that are taken as equal."""
    return CLOSE * (scale[1] - scale[0])


def on_scale_of(value: float, scale: FigureScale) -> bool:
    """Whether a number is on a scale, up to rounding."""
    return scale[0] - ROUNDING <= value <= scale[1] + ROUNDING


#: cause -> its meaning, in the order of reports.
CAUSES = {
    "undefined_here": "nothing to count here, a number there",
    "failed_here": "no answer of the judge here, a number there",
    "missing_there": "a number here, none there (NaN, empty or an error)",
    "scale": "their number is off our scale",
    "definition": "another definition",
    "pieces": "other claims: their number is no share of as many pieces as were found here",
    "verdicts": "other verdicts or other claims",
    "numbers": "other numbers, with no verdicts behind ours",
}

#: The rounding of another system's numbers, and the number of pieces up to which rounded shares can be distinguished.
_EXACT, _FEW = 0.005, 50


def cause_of(
    theirs: float | None, ours: ScoreRecord, column: Column, scale: FigureScale, of_theirs: FigureScale
) -> str | None:
    """The cause of a difference, None if there is none. scale: of ours; of_theirs: of theirs, as converted."""
    if ours.value is None:
        return None if theirs is None else "failed_here" if ours.failed else "undefined_here"
    if theirs is None:
        return "missing_there"
    if not on_scale_of(theirs, of_theirs):
        return "scale"
    if abs(theirs - ours.value) <= closeness(scale):
        return None
    if column.differs:
        return "definition"
    if not ours.evidence:
        return "numbers"
    return "verdicts" if _could_be_of_as_many(theirs, ours) else "pieces"


def _could_be_of_as_many(value: float, ours: ScoreRecord) -> bool:
    """Whether a number can be a share of as many pieces as ours, given how exactly numbers are written."""
    if not is_share(ours) or ours.counts[1] > _FEW:
        return True
    nearest = floor(value * ours.counts[1] + 0.5) / ours.counts[1]
    return abs(value - nearest) <= _EXACT


#: The mark of a heading, an item or a row.
_MARK = re.compile(r"(?:#+ | *- |\|)?")


def parity_text(parity: Parity) -> str:
    """The comparison as plain text."""
    return "".join(f"{one_line(line)}\n" for line in _lines(parity))


def parity_markdown(parity: Parity) -> str:
    """The comparison as Markdown; quoted texts are shown literally."""
    split = ((line, match.end()) for line in _lines(parity) if (match := _MARK.match(line)))
    return "".join(f"{line[:end]}{plain(line[end:])}\n" for line, end in split)


def _lines(parity: Parity) -> Iterator[str]:
    yield f"# ragauge compared with {parity.system}"
    yield ""
    yield f"Theirs: {parity.scores}. Ours: run {parity.run}, judge {parity.judge}."
    if parity.matching:
        yield _matching_words(parity.matching)
    yield ""
    yield from _totals(parity.totals) if parity.totals else _table(_FIGURES, map(_figure_cells, parity.columns))
    for reason in by_reason(parity.left):
        yield from ("", f"Not compared: {reason}.")
    for compared in parity.columns:
        yield from _compared(compared)


def _matching_words(matching: RowMatching) -> str:
    rows, samples = counted(matching.rows, "row"), counted(matching.samples, "sample")
    matched = f"{matching.pairs} of {rows} matched with {samples} by {matching.by}."
    more = matching.rows - matching.pairs - len(matching.alone)
    alone = ", ".join(matching.alone) + (f" and {more} more" if more else "")
    return f"{matched} Without a sample: {alone}." if alone else matched


def _table(head: str, rows: Iterable[Iterable[str]]) -> Iterator[str]:
    yield f"| {head} |"
    yield "|" + "---|" * (head.count("|") + 1)
    yield from (f"| {' | '.join(cell.replace('|', '∣') for cell in cells)} |" for cells in rows)


def _with_interval(value: float | None, low: float | None, high: float | None) -> str:
    # 0.000, never -0.000
    return with_interval(value, low, high, lambda one: number(None if one is None else round(one, 3) + 0.0))


_FIGURES = "theirs | ours | n | mean theirs | mean ours | ours − theirs, 95 % | rank correlation, 95 % | within 0.05"


def _figure_cells(one: ParityColumn) -> list[str]:
    f = one.figures
    return [
        *(one.theirs, one.ours, str(f.n), number(f.mean_theirs), number(f.mean_ours)),
        _with_interval(f.difference.value, f.difference.low, f.difference.high) if f.difference else "–",
        _with_interval(f.rank, *(f.rank_interval or (None, None))),
        f"{f.close / f.n:.0%}" if f.n else "–",
    ]


def _totals(totals: Iterable[ParityTotal]) -> Iterator[str]:
    yield "Their scores are for the whole data set."
    yield ""
    head = "theirs | ours | n | value theirs | value ours, 95 % | theirs in our interval"
    yield from _table(head, map(_total_cells, totals))
    for one in totals:
        if one.notes:
            yield from ("", f"{one.theirs}: {'; '.join(one.notes)}.")


def _total_cells(one: ParityTotal) -> list[str]:
    within = "–" if one.low is None or one.high is None else "yes" if one.low <= one.value <= one.high else "no"
    ours = _with_interval(one.estimate, one.low, one.high)
    return [one.theirs, one.ours, str(one.n), number(one.value), ours, within]


def _compared(one: ParityColumn) -> Iterator[str]:
    yield from ("", f"## {one.theirs} and {one.ours}", "")
    yield from (f"- {note}" for note in one.notes)
    if one.notes:
        yield ""
    differ = sum(difference.count for difference in one.differences)
    neither = f"; {counted(one.neither, 'row')} without a number on either side" if one.neither else ""
    yield f"{counted(one.figures.close, 'row')} within 0.05, {differ} differ{neither}."
    for difference in one.differences:
        shown = len(difference.rows)
        more = f", the worst {shown}" if 0 < shown < difference.count else ""
        yield from ("", f"### {CAUSES[difference.cause]}: {counted(difference.count, 'row')}{more}", "")
        for row in difference.rows:
            why = f" ({row.why})" if row.why else ""
            words = f"{row.id}: theirs {number(row.theirs)}, ours {number(row.ours)}{why}. {row.query}"
            yield f"- {words.rstrip()}"
            yield from (f"  - {line}" for line in row.evidence)


#: A column in per cent, or with the opposite meaning: "LLM F1/100", "1-error".
_WRITTEN = re.compile(r"(?P<flipped>1-)?(?P<name>.+?)(/(?P<per>\d+(\.\d+)?))?")


class Chosen(NamedTuple):
    """A column of theirs, by its name in the sheet, and how it relates to ours."""

    theirs: str
    column: Column


def choose(
    sheet: ScoreSheet, against: str, named: Mapping[str, str] | None = None, only: Collection[str] = ()
) -> list[Chosen]:
    """The columns of `sheet` that have a counterpart here.

    against: a key of SYSTEMS. named: their column -> our value, which precedes known names; "NAME/100" divides theirs,
    "1-NAME" subtracts it from 1. only: our metrics or values to compare; all if empty.

    Raises UnknownName for a system or column that does not exist, UsageError if nothing can be compared.
    """
    if against not in SYSTEMS:
        raise UnknownName("system", against, SYSTEMS)
    found = {one.theirs: one for one in (_named(sheet, theirs, ours) for theirs, ours in (named or {}).items())}
    for name in sheet.columns:
        known = SYSTEMS[against].columns.get(folded(name))
        if known and name not in found and sheet.is_scored(name):
            found[name] = Chosen(name, known)
    wanted = {name for spec in only for name in (spec, metric_of(spec))}
    kept = [one for one in found.values() if not wanted or {one.column.ours, metric_of(one.column.ours)} & wanted]
    if not kept:
        among = f" among {', '.join(only)}" if only else ""
        raise UsageError(
            f"{sheet.name}: no column of {against} has a counterpart{among}; found: "
            f"{', '.join(map(repr, sheet.columns))}; name one with columns={{THEIRS: OURS}} (--column THEIRS=OURS)"
        )
    return kept


def _named(sheet: ScoreSheet, theirs: str, ours: str) -> Chosen:
    """A column as the caller maps it to ours."""
    if theirs in sheet.columns:
        return Chosen(theirs, Column(ours))
    match = _WRITTEN.fullmatch(theirs)
    if match is None or match["name"] not in sheet.columns:
        raise UnknownName("column", match["name"] if match else theirs, sheet.columns)
    return Chosen(match["name"], Column(ours, per=float(match["per"] or 1), flipped=bool(match["flipped"])))


def others(sheet: ScoreSheet, against: str, kept: Sequence[Chosen]) -> dict[str, str]:
    """The other numeric columns, with the reason why they are not compared."""
    known = SYSTEMS[against].columns
    names = {one.theirs for one in kept}
    rest = [name for name in sheet.columns if name not in names and _holds_numbers(sheet, name)]
    return {name: "not requested" if folded(name) in known else "no known counterpart among ours" for name in rest}


def _holds_numbers(sheet: ScoreSheet, name: str) -> bool:
    """Whether a column may contain scores: of no known meaning, with numbers in most of its filled cells."""
    if any(rank(field, name) is not None for field in ALIASES):
        return False
    filled = [cell for line in sheet.lines if (cell := line.cells.get(name)) not in (None, "")]
    return sum(number_in(cell) is not None for cell in filled) * 2 > len(filled)


def measuring(kept: Sequence[Chosen]) -> list[str]:
    """The metrics to measure so that each column has its counterpart, in the form closest to theirs."""
    specs = list(dict.fromkeys(one.column.metric or metric_of(one.column.ours) for one in kept))
    families = [spec for spec in specs if spec.partition("(")[0] in FAMILIES]
    included = {value for metric in (select_metrics(families) if families else ()) for value in metric.values}
    return [spec for spec in specs if spec not in included]


def metric_of(value: str) -> str:
    """The metric of a key, with its parameters: `rouge` for `rouge.rouge1`."""
    return re.sub(r"\.\w+$", "", value)


def key_in(run: RunRecord, column: Column) -> str | None:
    """The key of the counterpart of a column in the run, with their parameters if there are several."""
    name, part = metric_of(column.ours), column.ours[len(metric_of(column.ours)) :]
    with_their_parameters = column.metric + part if column.metric.partition("(")[0] == name else column.ours
    return next((key for key in (with_their_parameters, column.ours) if key in run.estimates), None)


def notes(run: RunRecord, column: Column) -> list[str]:
    """Known differences of a column: definition, edge cases, and parameters of the metric in this run."""
    known = [f"different definition: {column.differs}"] if column.differs else []
    known += [f"theirs is {column.nothing}"] if column.nothing else []
    name = metric_of(column.ours)
    if column.metric.partition("(")[0] == name and column.metric not in run.metrics:
        measured = next((spec for spec in run.metrics if spec.partition("(")[0] == name), name)
        known.append(f"measured here as {measured}; {column.metric} is closer to theirs")
    return known


class _ScoredSample(NamedTuple):
    """A sample of the run without its evidence. shown: its query, or another text."""

    name: RowName
    shown: str
    group: str | None
    scores: Mapping[str, ScoreRecord]


class ParityPair(NamedTuple):
    """A row of theirs and the matching sample of ours.

    position: of the sample in the run. theirs: their score on our scale; cells: their row.
    """

    position: int
    sample: _ScoredSample
    theirs: float | None
    ours: ScoreRecord
    cells: Mapping[str, Any]

    @property
    def gap(self) -> float:
        """The difference of the two scores, with 0 for one that is missing."""
        return abs((self.theirs or 0.0) - (self.ours.value or 0.0))


class AlignedScores:
    """A sheet of scores and a run, matched row by row. matching: how rows were matched.

    quoted: their columns with explanations of a score. show: the number of rows shown for each cause.
    """

    def __init__(self, run: Run, sheet: ScoreSheet, quoted: Sequence[str], show: int) -> None:
        self._run, self._sheet, self._quoted, self._show = run, sheet, quoted, show
        self._scales = {key: metric.scale for metric in recovered_record(run.record) for key in metric.values}
        self._samples = [
            _ScoredSample(RowName(s.id, s.query, s.response), s.query or s.source or s.response or "", s.group, scores)
            for s, scores in ((record.sample, record.scores) for record in run.records())
        ]
        self.matching, self._places = match_rows(sheet, [sample.name for sample in self._samples])

    def compared(self, one: Chosen, key: str) -> ParityColumn:
        """One column of theirs compared with one value of ours."""
        pairs = list(self._pairs(one, key))
        both = [pair for pair in pairs if pair.theirs is not None and pair.ours.value is not None]
        theirs, ours = [pair.theirs or 0.0 for pair in both], [pair.ours.value or 0.0 for pair in both]
        groups = [pair.sample.group for pair in both]
        scale = self._scales.get(key) or (min([0.0, *theirs, *ours]), max([1.0, *theirs, *ours]))
        of_theirs = one.column.scale or scale
        found = figures(theirs, ours, groups if any(groups) else None, scale, of_theirs)
        neither = sum(pair.theirs is None and pair.ours.value is None for pair in pairs)
        known = (*notes(self._run.record, one.column), *_warnings(one.theirs, theirs, found, scale))
        by_cause: dict[str, list[ParityPair]] = {cause: [] for cause in CAUSES}
        for pair in pairs:
            if cause := cause_of(pair.theirs, pair.ours, one.column, scale, of_theirs):
                by_cause[cause].append(pair)
        differences = tuple(
            ParityDifference(cause, len(differing), tuple(self._rows(differing, one.theirs, key)))
            for cause, differing in by_cause.items()
            if differing
        )
        return ParityColumn(one.theirs, key, found, neither, known, differences)

    def _pairs(self, one: Chosen, key: str) -> Iterator[ParityPair]:
        for row, position in self._places:
            cells, sample = self._sheet.lines[row].cells, self._samples[position]
            theirs = number_in(cells.get(one.theirs))
            value = None if theirs is None else one.column.converted(theirs)
            yield ParityPair(position, sample, value, sample.scores[key], cells)

    def _rows(self, differing: Sequence[ParityPair], theirs: str, key: str) -> Iterator[ParityRow]:
        """The pairs that differ most, with the pieces that make our score lower or higher than theirs."""
        for pair in heapq.nlargest(self._show, differing, key=lambda pair: pair.gap):
            why, evidence = pair.ours.undefined or pair.ours.failed or "", []
            if pair.theirs is None:
                why = f"theirs is {pair.cells[theirs]!r:.80}" if theirs in pair.cells else "theirs is left out"
            elif pair.ours.value is not None:
                score = self._run.scores[pair.position][key]
                raising, better = pair.ours.value > pair.theirs, self._run.estimates[key].better
                evidence = pieces_words(decisive(score, raising, better))
            quoted = ((name, pair.cells.get(name)) for name in self._quoted)
            evidence += [f"theirs, {name}: {shortened(str(cell), 300)}" for name, cell in quoted if cell]
            sample = pair.sample
            query = shortened(sample.shown, 120)
            yield ParityRow(sample.name.id, query, pair.theirs, pair.ours.value, why, tuple(evidence))


def _warnings(name: str, theirs: Sequence[float], found: ParityFigures, scale: FigureScale) -> list[str]:
    """Warnings from the scores themselves: another scale, or the opposite direction."""
    warnings = []
    if theirs and found.difference is None:
        spread = f"from {min(theirs):g} to {max(theirs):g}, our scale is {scale[0]:g} to {scale[1]:g}"
        warnings.append(f"different scale: theirs range {spread}; write --column {name}/100=... for per cent")
    if found.rank_interval and found.rank_interval[1] < 0:
        warnings.append(f"opposite direction: theirs fall where ours rise; try --column 1-{name}=...")
    return warnings


def parity(
    run: Run,
    scores: Any,
    against: str,
    *,
    columns: Mapping[str, str] | None = None,
    metrics: Collection[str] = (),
    map: Mapping[str, str] | None = None,
    show: int = 3,
) -> Parity:
    """Compare another system's scores with those of a run, and find out why they differ.

    No judge is asked. Rows are matched by id or position if the texts agree, else by query and response. See
    docs/migrating/parity.md.

    Args:
        run: A run over the same samples.
        scores: The system's file of scores, or rows in memory: anything that `ragauge.read` reads, with one row per
            sample, or a single row of scores for the whole data set.
        against: The system, which determines what its columns mean: "ragas", "valor", "deepeval", "rag_evals",
            "trust_eval" or "dataworkz".
        columns: Their column -> our value, such as {"my score": "faithfulness"}; takes precedence over the known names.
            "NAME/100" is for a column in per cent, "1-NAME" for one with the opposite meaning.
        metrics: Compare only these of ours; all if empty.
        map: Field -> column of `scores`, for id, query and response.
        show: The number of rows of each cause that are shown with evidence.

    Raises:
        UnknownName: There is no such system or column.
        BadData: The scores cannot be read, or match no sample.
        UsageError: The run has no counterpart of the scores.
    """
    sheet = read_sheet(scores, map or {})
    record = run.record
    kept = choose(sheet, against, columns, metrics)
    keys = [(one, key) for one in kept if (key := key_in(record, one.column))]
    if not keys:
        wanted = ", ".join(sorted({one.column.metric or one.column.ours for one in kept}))
        raise UsageError(f"run {run.id} has no counterpart of what {sheet.name} holds; measure {wanted}")
    measured = {one for one, _ in keys}
    left = {one.theirs: f"{one.column.ours} was not measured" for one in kept if one not in measured}
    about = (against, sheet.name, run.id, ", ".join(sorted({str(identity) for identity in record.judges.values()})))
    if len(sheet.lines) == 1 and record.samples != 1:
        totals = tuple(_total(record, sheet, *one) for one in keys)
        return Parity(*about, None, (), totals, left | others(sheet, against, kept))
    by_row = [(one, key) for one, key in keys if record.estimates[key].over == "samples"]
    left |= {one.theirs: f"{key} has no value of each sample" for one, key in keys if (one, key) not in by_row}
    aligned = AlignedScores(run, sheet, SYSTEMS[against].evidence, show)
    compared = tuple(aligned.compared(*one) for one in by_row)
    return Parity(*about, aligned.matching, compared, (), left | others(sheet, against, kept))


def _total(run: RunRecord, sheet: ScoreSheet, one: Chosen, key: str) -> ParityTotal:
    estimate, theirs = run.estimates[key], number_in(sheet.lines[0].cells[one.theirs])
    assert theirs is not None  # a column without a number is not chosen
    ours = (estimate.value, estimate.low, estimate.high, estimate.n)
    return ParityTotal(one.theirs, key, one.column.converted(theirs), *ours, tuple(notes(run, one.column)))
