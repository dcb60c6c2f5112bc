"""The measurement of a judge on all sets of a folder: as a file, as Markdown and in a terminal."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ragauge.analysis.compare import LEVEL
from ragauge.analysis.measure import BaselineDifference, SetResult
from ragauge.errors import BadData
from ragauge.report.files import save_text
from ragauge.report.text import markdown_table, plain, rich_table
from ragauge.report.wording import counted, p_value, signed, with_interval
from ragauge.statistics.intervals import Interval
from ragauge.types import Identity

if TYPE_CHECKING:
    from rich.console import RenderableType


class Published(NamedTuple):
    """A published figure.

    benchmark: its name. sets: the labelled sets that come from it; if there is only one, its figure is shown next to
    the published one. source: where the figure was published. differs: how it differs from what is measured here.
    system: what was measured, with its size if known. figure: its name. value: in 0..1.
    """

    benchmark: str
    sets: tuple[str, ...]
    source: str
    differs: str
    system: str
    figure: str
    value: float


_TEN_DOMAINS = "the mean of ten domains; here all rows together, of eight"
_LABAN = ("SummEdits", ("ent_summedits",), "Laban et al., SummEdits, EMNLP 2023, arXiv:2305.14540")
_FACTUAL_NLG = (*_LABAN[:2], "table in the README of github.com/salesforce/factualNLG, 2023", _TEN_DOMAINS)
_RAG_TRUTH = (
    "RAGTruth QA",
    ("rag_ragtruth_qa_test",),
    "model card of vectara/hallucination_evaluation_model, huggingface.co, 2024, table RAGTruth-QA",
    "all rows of that test split; here those in the folder",
)
_ATTRIBUTION_BENCH = (
    "AttributionBench",
    ("cit_attributionbench",),
    "Li et al., AttributionBench, Findings of ACL 2024, arXiv:2402.15089, abstract",
    "around 80 %, on its test sets; here the development set is among the rows",
)
_LLM_AGGREFACT = (
    "LLM-AggreFact",
    ("cit_expertqa", "ent_wice_oracle_chunks", "rag_ragtruth_qa_test"),
    "leaderboard of LLM-AggreFact, llm-aggrefact.github.io, 2024",
    "the mean of eleven sets; ExpertQA, RAGTruth and WiCE are among them, cut into rows in another way",
)
_SUMM_EVAL = (
    "SummEval",
    ("coh_summeval",),
    "Liu et al., G-Eval, EMNLP 2023, arXiv:2303.16634, abstract",
    "the mean over coherence and three other qualities, and within documents; here over all rows",
)
_BALANCED = "balanced accuracy"

#: Only figures whose source could be read, each with how it differs.
PUBLISHED = (
    Published(*_LABAN, f"estimated, {_TEN_DOMAINS}", "people", _BALANCED, 0.909),
    Published(*_LABAN, _TEN_DOMAINS, "GPT-4", _BALANCED, 0.824),
    Published(*_FACTUAL_NLG, "PaLM-bison", _BALANCED, 0.690),
    Published(*_FACTUAL_NLG, "QAFactEval", _BALANCED, 0.655),
    Published(*_FACTUAL_NLG, "SummaC-Conv", _BALANCED, 0.571),
    Published(*_RAG_TRUTH, "HHEM-2.1-Open (0.1B)", _BALANCED, 0.743),
    Published(*_RAG_TRUTH, "GPT-4-0613", _BALANCED, 0.741),
    Published(*_RAG_TRUTH, "GPT-3.5-Turbo", _BALANCED, 0.562),
    Published(*_ATTRIBUTION_BENCH, "GPT-3.5, fine-tuned on it", "macro-F1", 0.80),
    Published(*_LLM_AGGREFACT, "Bespoke-MiniCheck (7B)", _BALANCED, 0.774),
    Published(*_LLM_AGGREFACT, "GPT-4o", _BALANCED, 0.759),
    Published(*_SUMM_EVAL, "G-Eval (GPT-4)", "rank correlation", 0.514),
)


def published(names: Collection[str]) -> list[Published]:
    """The published figures for benchmarks that one of the sets `names` comes from."""
    return [one for one in PUBLISHED if any(name in names for name in one.sets)]


SCHEMA = "ragauge.measured/1"

#: The endings of files that a measurement is written to.
MEASUREMENT_WRITERS = (".json", ".md")


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """A judge on several sets. baseline: the judge that it is compared with. limit: rows per set, None for all.

    schema: changes with the format.
    """

    schema: str = SCHEMA
    judge: Identity
    baseline: Identity | None = msgspec.field(name="beside")
    limit: int | None
    sets: tuple[SetResult, ...]

    def save(self, path: Path) -> Path:
        """Write the measurement to a .json or .md file.

        Raises UsageError for other endings, or if the file cannot be written.
        """
        as_json = msgspec.json.format(msgspec.json.encode(self).decode(), indent=1) + "\n"
        return save_text(path, {".json": lambda: as_json, ".md": lambda: measurement_markdown(self)})


def read_measurement(path: Path) -> Measurement:
    """What `save` wrote as .json. Raises BadData for anything else."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Measurement)
    except (OSError, msgspec.MsgspecError) as error:
        raise BadData(f"{path}: {error}; it must be what `ragauge judges measure -o FILE.json` wrote") from error
    if found.schema != SCHEMA:
        raise BadData(f"{path}: {found.schema!r} is not {SCHEMA!r}; measure anew")
    return found


#: A table: its columns, and its rows.
MeasurementTable = tuple[tuple[str, ...], list[list[str]]]

_TEXTS = ("set", "of", "system", "figure", "")  # columns of words, which are set to the left


def measurement_view(found: Measurement) -> Iterator[RenderableType]:
    """The figures, the comparison with the other judge, published figures, and remarks."""
    for title, (columns, rows) in _sheets(found, speed=True):
        yield title
        left = [column for column in columns if column in _TEXTS or column.endswith(" is")]
        yield rich_table(columns, rows, left=left, whole=["set"], padding=(0, 1, 0, 0))
    yield from _remarks(found)


def measurement_markdown(found: Measurement) -> str:
    """The same as Markdown, but for the speed, which is that of one machine."""
    lines: list[str] = []
    for title, (columns, rows) in _sheets(found, speed=False):
        lines += [plain(title), "", *markdown_table(columns, rows), ""]
    return "\n".join(lines + [f"{plain(line)}  " for line in _remarks(found)]).rstrip() + "\n"


def _sheets(found: Measurement, speed: bool) -> Iterator[tuple[str, MeasurementTable]]:
    rows = [one for one in found.sets if one.rows]
    agreed = [one for one in rows if one.balanced_accuracy is not None or one.auc is not None]
    if agreed:
        yield f"{found.judge} compared with people's labels, with 95 % intervals:", _agreement(agreed, speed)
    compared = [(one.name, one.against) for one in rows if one.against is not None]
    if compared and found.baseline is not None:
        yield f"{found.judge} against {found.baseline} on the same rows:", _comparison(found, compared)
    known = published([one.name for one in rows])
    if known:
        yield "Published figures of larger models; how each differs is noted below:", _published(known, rows)


def _agreement(rows: Iterable[SetResult], speed: bool) -> MeasurementTable:
    columns = ("set", "rows", "AUC", "balanced accuracy", "AUC of words", *(["rows/s"] if speed else ()))
    return columns, [
        [
            *(one.name, f"{one.rows:,}", _words(one.auc), _words(one.balanced_accuracy), _words(one.words)),
            *([_speed(one)] if speed else ()),
        ]
        for one in rows
    ]


def _speed(one: SetResult) -> str:
    """Rows a second, to two digits; empty if the answers came from the store."""
    if not one.seconds:
        return ""
    speed = one.rows / one.seconds
    return f"{speed:,.0f}" if speed >= 10 else f"{speed:.2g}"


def _comparison(found: Measurement, compared: Iterable[tuple[str, BaselineDifference]]) -> MeasurementTable:
    columns = ("set", str(found.judge), str(found.baseline), "difference, 95 %", "p", f"{found.judge} is")
    return columns, [
        [
            *(name, f"{one.one:.3f}", f"{one.other:.3f}"),
            with_interval(one.difference.value, one.difference.low, one.difference.high, signed),
            *(p_value(one.final_p), one.verdict),
        ]
        for name, one in compared
    ]


def _published(known: Sequence[Published], rows: Sequence[SetResult]) -> MeasurementTable:
    """Published figures, and the same as measured here if the benchmark has one set."""
    own = {one.name: one for one in rows}
    sources = _sources(known)
    made = []
    for one in known:
        here = own[one.sets[0]] if len(one.sets) == 1 else SetResult("")
        same = {"balanced accuracy": here.balanced_accuracy, "rank correlation": here.correlation}.get(one.figure)
        source = f"[{sources.index((one.source, one.differs)) + 1}]"
        made.append([one.benchmark, one.system, one.figure, f"{one.value:g}", _words(same), source])
    return ("of", "system", "figure", "published", "here", ""), made


def _sources(known: Iterable[Published]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((one.source, one.differs) for one in known))


def _remarks(found: Measurement) -> Iterator[str]:
    """The sources, how p is adjusted, further figures, and sets without figures."""
    known = published([one.name for one in found.sets if one.rows])
    yield from (f"[{at}] {source}: {differs}." for at, (source, differs) in enumerate(_sources(known), start=1))
    tested = [one.against for one in found.sets if one.against is not None]
    if tested:
        yield f"p: two-sided, adjusted for {counted(len(tested), 'test')} (Holm); significant below {LEVEL}."
    for one in found.sets:
        yield from _set_remarks(one)


def _set_remarks(one: SetResult) -> Iterator[str]:
    if one.correlation is not None:
        yield f"{one.name}: rank correlation (Spearman) with people's grades {_words(one.correlation)}"
    if one.f1 is not None:
        yield (
            f"{one.name}: F1 of the claims {_words(one.f1)}, of whole sentences {_words(one.sentences)}, the mean of "
            f"{counted(one.rows, 'text')}"
        )
    if one.against is not None and one.against.by == "balanced_accuracy":
        yield f"{one.name}: compared by balanced accuracy, as one judge gives no probabilities"
    if one.against is not None and one.against.by == "f1":
        yield f"{one.name}: compared by the F1 of the claims"
    if one.note:
        yield f"{one.name}: {one.note}"
    if one.failure:
        yield f"{one.name}: {counted(one.failed, 'row')} without an answer, the first because: {one.failure}"


def _words(one: Interval | None) -> str:
    if one is None or one.value is None:
        return "–"
    within = "" if one.low is None or one.high is None else f" {one.low:.2f}–{one.high:.2f}"
    return f"{one.value:.2f}{within}"
