"""Numbers, labels, notes and cautions as text, the same in every report format."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib.resources import files
from math import floor, log10
from statistics import fmean
from typing import TYPE_CHECKING, Any

import msgspec

from ragauge.metrics.registry import registered_metrics
from ragauge.scores import Better, ChunkEvidence, Estimate, Evidence, Gate, RunRecord, Score
from ragauge.types import POSITIVE, Label, Sample, TotalUsage

if TYPE_CHECKING:
    from ragauge.statistics.intervals import Interval

#: Labels against a response; POSITIVE are in favour.
BAD = frozenset({Label.CONTRADICTED, Label.WRONG})


def arrow(better: Better) -> str:
    """An arrow for the direction in which a metric is better."""
    return "↓" if better == "lower" else "↑"


def number(value: float | None) -> str:
    """A value for people: three decimals, a dash for None."""
    return "–" if value is None else f"{value:.3f}"


def signed(value: float | None) -> str:
    """A difference for people: its sign and three decimals, a dash for None."""
    return "–" if value is None else f"{value:+.3f}"


def p_value(p: float | None) -> str:
    """A p-value for people: three decimals, a dash for None."""
    if p is None:
        return "–"
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def with_interval(estimate: Estimate | Interval | None, shown: Callable[[float], str] = number) -> str:
    """A value with its interval in brackets, where it has one; a dash for None. shown: formats each number."""
    if estimate is None or estimate.value is None:
        return "–"
    return f"{shown(estimate.value)} {interval(estimate, shown)}".rstrip()


def interval(estimate: Estimate | Interval, shown: Callable[[float], str] = number) -> str:
    """The interval in brackets; empty if there is none."""
    return "" if estimate.low is None or estimate.high is None else f"[{shown(estimate.low)}, {shown(estimate.high)}]"


def score_words(score: Score) -> str:
    """A score for people: its value, or the reason why it has none."""
    if score.value is not None:
        return number(score.value)
    return f"undefined ({score.undefined})" if score.undefined else f"failed ({score.failed})"


def verdict_words(piece: Evidence) -> str:
    """The label or grade of a piece with its probability; of other labels that of support, yes or right is given."""
    grade = "" if piece.value is None else f"{piece.value:g}"
    words = piece.label.value.replace("_", " ") if piece.label else grade
    if piece.probability is None:
        return words
    if piece.label is None or piece.label in POSITIVE:
        return f"{words} {piece.probability:.2f}"
    other = {Label.NO: "yes", Label.PARTLY: "right", Label.WRONG: "right"}.get(piece.label, "support")
    return f"{words} ({other} {piece.probability:.2f})"


def chunk_words(piece: Evidence, sample: Sample) -> list[str]:
    """Each entailing or contradicting chunk with its deciding passage."""
    return [
        f"{chunk.label.value} by {flat(chunk.chunk)} {deciding_quote(piece, chunk, sample)}".rstrip()
        for chunk in piece.chunks
        if chunk.label in POSITIVE | BAD
    ]


def deciding_quote(piece: Evidence, chunk: ChunkEvidence, sample: Sample) -> str:
    """The deciding passage of a chunk of a piece in quotation marks, or "" if it is not known."""
    contexts = sample.contexts or ()
    texts = {"query": sample.query, "response": sample.response, "source": sample.source}
    texts |= {f"references[{i}]": text for i, text in enumerate(sample.references or ())}
    texts |= {field: call.passage for field, call in sample.calls.items()}
    if piece.against == "contexts":
        texts = {context.id: context.passage for context in contexts}
    passage = texts.get(chunk.chunk)
    return f"“{shortened(passage[slice(*chunk.span)])}”" if chunk.span and passage else ""


#: Control characters, characters that change the reading direction, and tags, which no reader sees.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\U000e0000-\U000e007f]")

#: Characters that end a line, and other white space that is wider than a space.
_GAPS = re.compile("[\t-\r\x1c-\x1e\x85\u2028\u2029]")

#: What a CI runner takes for a command: "::error::" at the start of a line, "##[error]" anywhere in one.
_COMMAND = re.compile(r"(?<=:):(?=[A-Za-z])|(?<=#)#(?=\w*\[)")
_LOOKALIKES = {":": "\N{RATIO}", "#": "\N{MUSIC SHARP SIGN}"}


def printable(text: str) -> str:
    """Text with control characters replaced by �."""
    return _STEERING.sub("\N{REPLACEMENT CHARACTER}", text)


def flat(text: str) -> str:
    """Printable text on one line, of the same length."""
    return printable(_GAPS.sub(" ", text))


def one_line(text: str) -> str:
    """Text as one line of the same length, without commands to a terminal or CI runner."""
    return _COMMAND.sub(lambda match: _LOOKALIKES[match[0]], flat(text))


def shortened(text: str, length: int = 160) -> str:
    """Printable text on one line, cut with an ellipsis at `length`."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= length else line[: length - 1] + "…"


def counted(number: int, noun: str) -> str:
    """A number with its noun, in the plural unless it is 1."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def samples_words(estimate: Estimate) -> str:
    """How many samples an estimate rests on, out of how many if that is not all: "1 of 21 samples"."""
    missing = estimate.samples - estimate.n
    return f"{estimate.n} of {counted(estimate.samples, 'sample')}" if missing else counted(estimate.n, "sample")


def gate_words(run: RunRecord, gate: Gate) -> str:
    """A gate, or why it fails, and how many samples it rests on, with a caution where these are few."""
    failure, estimate = gate.failure(run), gate.estimate(run)
    if estimate is None:
        why = "" if gate.column else f": {run.left_out.get(gate.metric, 'it was not measured')}"
        return f"{failure}{why}"
    caution = "" if failure or estimate.n >= FEW * estimate.samples else ": less than half are measured"
    reason = run.failures.get(gate.metric) or run.undefined.get(gate.metric)
    if reason and not estimate.n:
        caution = f": {reason}"
    return f"{failure or gate} ({samples_words(estimate)}{caution})"


def early_end(run: RunRecord) -> str:
    """That and why the run ended before the end of the data, in a sentence; empty if it did not."""
    if run.status == "finished":
        return ""
    why = f" because {run.stopped}" if run.stopped else ""
    ended = "has not ended (it was killed, or is under way)" if run.status == "running" else f"is {run.status}{why}"
    done = f"these are the first {counted(run.samples, 'sample')}" if run.samples else "no sample is done yet"
    again = ", and the same command goes on from the judgments that were made"
    return f"The run {ended}: {done}{'' if run.samples or run.stopped else again}."


def failed_scores(run: RunRecord, metrics: Collection[str] | None = None) -> str:
    """How many scores failed, of these metrics or of all, and why the first did; empty if none did."""
    failed = {key: estimate.failed for key, estimate in run.estimates.items() if metrics is None or key in metrics}
    numbers = ", ".join(f"{key} {number}" for key, number in failed.items() if number)
    first = next((run.failures[key] for key, number in failed.items() if number and key in run.failures), "unknown")
    return f"scores failed ({numbers}), the first because: {first}" if numbers else ""


def shortfalls(run: RunRecord, metrics: Collection[str] | None = None) -> list[str]:
    """What a run lacks, whatever its estimates: its end, and scores of these metrics or of all."""
    return list(filter(None, [early_end(run), failed_scores(run, metrics)]))


def dollars(amount: float | None) -> str:
    """A price: two decimals from one dollar on, otherwise four, or as many as the first digit takes."""
    if amount is None:
        return "unknown"
    size = abs(amount)
    return f"${amount:.{max(4, -floor(log10(size))) if 0 < size < 1 else 2}f}"


def usage_words(spent: TotalUsage) -> str:
    """The usage of model calls: their number, tokens and price."""
    cached = f" ({spent.cached_tokens:,} of them cached)" if spent.cached_tokens else ""
    words = f"{counted(spent.calls, 'call')}, {spent.prompt_tokens:,} prompt{cached} and {spent.completion_tokens:,} "
    free = not (spent.prompt_tokens or spent.completion_tokens or spent.unpriced)
    return f"{words}completion tokens" + ("" if free else f", price {price(spent)}")


def price(spent: TotalUsage) -> str:
    """The price of model calls, as far as it is known."""
    if 0 < spent.unpriced < spent.calls:
        return f"{dollars(spent.cost)} without {counted(spent.unpriced, 'call')} of unknown price"
    return dollars(None if spent.unpriced else spent.cost)


#: What to do about samples that repeat earlier ones.
REPEATED_FIX = "They count as independent; leave them out, or name a column that is the same in them: --group COLUMN."

#: Key of `RunRecord.unmeasured` -> the sentence about what was read and not measured, or what traces lack.
UNMEASURED = {
    "earlier_answers": "Earlier answers of conversations not measured: {earlier_answers} in {conversations}; "
    "--per turn measures each.",
    "calls": "Calls of tools not measured: {calls} in {callers}.",
    "remarks": "Texts between calls of tools, before the response, not measured: {remarks}.",
    "stray_results": "Results of tools whose calls are not there: {stray_results}; they were read as contexts.",
    "without_an_answer": "Traces without an answer, as they end with a call of a tool: {without_an_answer}; where each "
    "call of a model is a trace of its own, the answer is in another.",
    "joined_contexts": "Samples whose one context may be several chunks joined: {joined_contexts}; if so, give what "
    "separates them, as in --map 'contexts.split= ||| '.",
    "listed_references": "References that are lists written as text: {listed_references}; each was read as one "
    "answer; if it is several, call the column references.",
    "repeated": f"Samples that repeat the query, response and contexts of an earlier one: {{repeated}}. {REPEATED_FIX}",
    "cited_otherwise": "Responses that seem to cite, but no citation of a context can be read: {cited_otherwise}. "
    "These can: [1]; the id, title or URL of a context in brackets; with style=parentheses (1), (Doc 1) and (ID). "
    "Write others, such as ¹ or 【4:1†file】, in one of these forms, or give contexts the ids that are cited.",
    "cut": "Traces whose outermost span is not there, so that they may be cut: {cut}; read from where they begin.",
    "documents_without_texts": "Traces without contexts, as their documents have no texts: {documents_without_texts}; "
    "record the texts, or measure retrieval by ids.",
    "without_texts": "Traces left out, as they have neither input nor output: {without_texts}.",
}

#: The share of its samples below which a gate that holds comes with a caution.
FEW = 0.5

#: A short report gives the reason for undefined scores from this share of the samples on.
OFTEN_SHARE = 0.1

#: How many kinds of reasons for undefined scores are listed.
MAX_LISTED_REASONS = 5

#: The most rows that a short report says to have been skipped because of what.
SHOWN_ERRORS = 5

#: Intervals over fewer groups come with a warning.
MIN_GROUPS = 5


def footnotes(run: RunRecord, shown: Collection[str] | None = None) -> list[str]:
    """How the run ended, its usage, and what was skipped, failed or not measured, for the metrics that are shown."""
    notes = list(filter(None, [early_end(run)]))
    if run.spent.calls:
        notes.append(f"Calls to models: {usage_words(run.spent)}.")
    notes += run.notes
    notes += [f"{key} is {estimate.judge_error}." for key, estimate in run.estimates.items() if estimate.judge_error]
    if run.bad_rows:
        notes.append(f"Rows skipped: {len(run.bad_rows)}.")
        notes += [f"Skipped: {error}" for error in run.bad_rows[:SHOWN_ERRORS]]
    notes += [line.format_map(run.unmeasured) for key, line in UNMEASURED.items() if run.unmeasured.get(key)]
    if run.fields:
        notes.append(f"Read: {', '.join(f'{field} from {column!r}' for field, column in run.fields.items())}.")
    if run.groups:
        few = "; fewer than five say little, so leave the column out (--map group=) if samples are independent"
        groups = f"{counted(run.groups, 'group')} (column {run.group_column!r})"
        notes.append(f"Intervals are over {groups}{few if run.groups < MIN_GROUPS else ''}.")
    if run.unread:
        notes.append(f"Columns that no metric reads: {shortened(', '.join(run.unread), 200)}.")
    if run.labels and not run.labelled and not any(estimate.judge_error for estimate in run.estimates.values()):
        notes.append("No label was used: a label counts for the very texts it names, and the query where there is one.")
    if run.empty:
        notes.append(f"Empty responses: {run.empty} of {run.samples}.")
    notes += [f"Failed at least once: {reason}." for reason in by_reason(run.failures)]
    often = {key for key, estimate in run.estimates.items() if estimate.undefined >= OFTEN_SHARE * run.samples}
    undefined = {key: why for key, why in run.undefined.items() if shown is None or (key in shown and key in often)}
    notes += [f"Undefined at least once: {reason}." for reason in by_reason(undefined)]
    left_out = {key: why for key, why in run.left_out.items() if shown is None or key in shown}
    return notes + [f"Not measured: {reason}." for reason in by_reason(left_out)]


_QUOTED = re.compile(r"(?<!\w)'[^']*'(?!\w)")


def reasons_words(samples: Mapping[str, int]) -> str:
    """The reasons for undefined scores; of several each with its number of samples, the most frequent first.

    Reasons of one kind differ in what they quote, such as a language, or advise. samples: by reason; "" for all others.
    """
    kinds: dict[str, Counter[str]] = {}
    for reason, number in samples.items():
        kinds.setdefault(_QUOTED.sub("", reason.partition("; ")[0]), Counter())[reason] += number
    others = kinds.pop("", Counter()).total()
    ranked = sorted(kinds.values(), key=Counter.total, reverse=True)
    others += sum(kind.total() for kind in ranked[MAX_LISTED_REASONS:])
    if len(ranked) == 1 and not others:
        return _kind_words(ranked[0])
    words = [f"{kind.total()} because {_kind_words(kind)}" for kind in ranked[:MAX_LISTED_REASONS]]
    return "; ".join([*words, *([f"{others} for other reasons"] if others else [])])


def _kind_words(kind: Counter[str]) -> str:
    """The most frequent of the reasons of one kind, with what all of them quote."""
    first = kind.most_common(1)[0][0]
    quotations = {reason: _QUOTED.findall(reason) for reason in kind}
    places = enumerate(zip(*quotations.values(), strict=False))
    differing = next((place for place, quoted in places if len(set(quoted)) > 1), None)
    if differing is None:
        return first
    numbers: Counter[str] = Counter()
    for reason, number in kind.items():
        numbers[quotations[reason][differing]] += number
    start, end = list(_QUOTED.finditer(first))[differing].span()
    return first[:start] + ", ".join(f"{quoted} ({number})" for quoted, number in numbers.most_common()) + first[end:]


def by_reason(reasons: Mapping[str, str]) -> list[str]:
    """Each reason once, after the metrics that it applies to: "bleu, chrf: the sample has no references"."""
    grouped: dict[str, list[str]] = {}
    for metric, reason in reasons.items():
        grouped.setdefault(reason, []).append(metric)
    return [f"{', '.join(metrics)}: {reason}" for reason, metrics in grouped.items()]


def headline(run: RunRecord) -> str:
    """One line: the data, the judges, and the number of judgments."""
    judges = ", ".join(sorted({str(judge) for judge in run.judges.values()}))
    measured = f"{run.name or run.data}: {counted(run.samples, 'sample')}, judge {judges}"
    if run.status == "running":
        return measured
    labelled = f", {run.labelled} of them from people" if run.labelled else ""
    reused = "all" if run.reused and not run.asked else str(run.reused)
    origin = f" ({reused} from the store{labelled})" if run.reused else ""
    return f"{measured}, {counted(run.asked + run.reused, 'judgment')}{origin}, {run.seconds:.1f} s"


def claims_line(run: RunRecord) -> str:
    """How many claims the contexts support and contradict, in one sentence; empty unless both were measured."""
    supported, contradicted = (run.estimates.get(key) for key in ("faithfulness", "contradicted_claims"))
    if not (supported and contradicted and supported.counts and contradicted.counts):
        return ""
    entailed, claims = map(int, supported.counts)
    refuted = int(contradicted.counts[0])
    total = f"{counted(claims, 'claim')} in {counted(supported.n, 'answer')}"
    neither = claims - entailed - refuted
    return f"{total}: {entailed} supported by the contexts, {refuted} contradicted, {neither} neither."


#: The measurement of the packaged judge, written by `ragauge judges measure embedded -o FILE.json`.
CARD = files("ragauge") / "judges" / "embedded" / "data" / "measured.json"

_LEXICAL = (
    "The lexical judge compares words, numbers and names, not meaning: it misses paraphrase, and claims in the text's "
    "own words pass too easily; `ragauge docs embedded-judge` has the figures."
)
_NEVER_MEASURED = (
    "This version of the embedded judge has not been measured; `ragauge judges measure embedded` measures the one that "
    "is installed, and `ragauge docs embedded-judge` describes where it fails."
)

#: The name prefixes of the labelled sets whose claims are supported by their text, or not.
_CLAIM_SETS = ("ent", "cit", "rag")


def caution(run: RunRecord) -> str:
    """How far the packaged judges can be trusted, in a sentence each; empty if none was asked."""
    judges = list(run.judges.values()) if run.asked or run.reused else []
    sentences = []
    judge = run.judge_of("entail:support")
    if judges and judge and re.search(r"\bembedded\b", judge.name):
        metrics = registered_metrics(run)
        topics = " ".join(topic for metric in metrics for need in metric.needs for topic in need.asks)
        card = msgspec.json.decode(CARD.read_bytes())
        # the sentence splitter may differ, and so may settings of a single kind of question, such as layers.correct
        settings = card["judge"]["settings"]
        measured = {(name, value) for name, value in settings if name != "splitter" and "." not in name}
        # in a composite judge, the name of a setting has the position of the member before it
        used = {(name.rpartition(".")[2], value) for name, value in judge.settings}
        if re.search(r"\bentail\b", topics) or len(metrics) < len(run.metrics):  # of other metrics it is not known
            sentences.append(_agreement_words(card["sets"]) if measured <= used else _NEVER_MEASURED)
    if any(re.search(r"\blexical\b", judge.name) for judge in judges):
        sentences.append(_LEXICAL)
    return " ".join(sentences)


def _agreement_words(sets: Sequence[Mapping[str, Any]]) -> str:
    """How often the judge agrees with people on claims, by balanced accuracy: the mean over the sets and the range."""
    measured = [claim_set for claim_set in sets if claim_set.get("balanced_accuracy")]
    claims = [claim_set for claim_set in measured if claim_set["name"].partition("_")[0] in _CLAIM_SETS]
    if not claims:
        return _NEVER_MEASURED
    agreed = [100 * claim_set["balanced_accuracy"]["value"] for claim_set in claims]
    return (
        f"The embedded judge agreed with people on {fmean(agreed):.0f} of 100 claims, where guessing gives 50 "
        f"({counted(len(agreed), 'public set')}: {min(agreed):.0f} to {max(agreed):.0f}), so compare versions with it, "
        "and let a language model or people decide single cases (`ragauge docs embedded-judge`)."
    )
