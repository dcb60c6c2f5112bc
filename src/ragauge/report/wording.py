"""How numbers, labels and cautions are put into words, the same everywhere a run is shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files

import msgspec

from ragauge.scores import Better, Estimate, Evidence, RunRecord, SampleRecord, Score
from ragauge.types import Identity, Label, TotalUsage

#: Labels that speak for the response, and those that speak against it.
GOOD = frozenset({Label.ENTAILED, Label.YES})
BAD = frozenset({Label.CONTRADICTED})


def arrow(better: Better) -> str:
    """Which way is better."""
    return "↓" if better == "lower" else "↑"


def number(value: float | None) -> str:
    """A value for people: three decimals, a dash where there is none."""
    return "–" if value is None else f"{value:.3f}"


def bar(value: float | None) -> str:
    """A value between 0 and 1 as a bar of up to eight cells; empty where it is none such."""
    if value is None or not 0 <= value <= 1:
        return ""
    halves = round(16 * value)
    return "█" * (halves // 2) + "▌" * (halves % 2)


def difference_bar(value: float | None) -> str:
    """A difference as a bar from the middle, four cells to either side for 0.5 and more."""
    if value is None:
        return ""
    halves = round(min(abs(value), 0.5) * 16)
    if value < 0:
        return f"{'▐' * (halves % 2)}{'█' * (halves // 2)}│".rjust(5)
    return f"    │{'█' * (halves // 2)}{'▌' * (halves % 2)}"


def signed(value: float | None) -> str:
    """A difference for people: its sign and three decimals, a dash for None."""
    return "–" if value is None else f"{value:+.3f}"


def p_value(p: float | None) -> str:
    """A p-value for people: three decimals, a dash for None."""
    return "–" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def with_interval(
    value: float | None, low: float | None, high: float | None, shown: Callable[[float | None], str] = number
) -> str:
    """A value with its interval in brackets, a dash for None. shown: how each of the numbers is written."""
    return shown(value) if low is None or high is None else f"{shown(value)} [{shown(low)}, {shown(high)}]"


def interval(estimate: Estimate) -> str:
    """The interval in brackets, empty where there is none."""
    return "" if estimate.low is None else f"[{number(estimate.low)}, {number(estimate.high)}]"


def score_words(score: Score) -> str:
    """A score for people: its value, or the reason there is none."""
    if score.value is not None:
        return number(score.value)
    return f"undefined ({score.undefined})" if score.undefined else f"failed ({score.failed})"


def verdict_words(piece: Evidence) -> str:
    """The label or grade of a piece of evidence with its probability, which is that of support, or of yes: where the
    label is another, this is said."""
    said = piece.label.value.replace("_", " ") if piece.label else f"{piece.value:g}" if piece.value is not None else ""
    if piece.probability is None:
        return said
    if piece.label is None or piece.label in GOOD:
        return f"{said} {piece.probability:.2f}"
    return f"{said} ({'yes' if piece.label == Label.NO else 'support'} {piece.probability:.2f})"


def chunk_words(piece: Evidence, record: SampleRecord) -> list[str]:
    """What the chunks that decide say: each entailing or contradicting chunk with the passage it goes by."""
    passages = {"query": record.sample.query or "", "response": record.sample.response or ""}
    contexts = record.sample.contexts or ()
    lines = []
    for i, said in enumerate(piece.chunks):
        if said.label not in GOOD | BAD:
            continue
        passage = contexts[i].passage if piece.against == "contexts" else passages.get(said.chunk, "")
        quoted = f" “{shortened(passage[slice(*said.span)])}”" if said.span and passage else ""
        lines.append(f"{said.label.value} by {flat(said.chunk)}{quoted}")
    return lines


#: Characters that would steer a terminal or turn the reading direction rather than be read.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

#: Characters that end a line, or leave a gap in it.
_GAPS = re.compile("[\t-\r\x1c-\x1e\x85\u2028\u2029]")

#: What a CI runner takes for a command to itself: "::error::" at the start of a line, "##[error]" anywhere in one.
_COMMAND = re.compile(r"(?<=:):(?=[A-Za-z])|(?<=#)#(?=\w*\[)")
_LOOKALIKES = {":": "\N{RATIO}", "#": "\N{MUSIC SHARP SIGN}"}


def printable(text: str) -> str:
    """Text with what is not meant to be read made visible as �."""
    return _STEERING.sub("\N{REPLACEMENT CHARACTER}", text)


def flat(text: str) -> str:
    """Printable text on one line, of as many characters."""
    return printable(_GAPS.sub(" ", text))


def one_line(text: str) -> str:
    """Text as one line of as many characters that neither a terminal nor a CI runner obeys."""
    return _COMMAND.sub(lambda found: _LOOKALIKES[found[0]], flat(text))


def shortened(text: str, length: int = 160) -> str:
    """Text on one line, fit to be printed, cut with an ellipsis."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= length else line[: length - 1] + "…"


def counted(number: int, noun: str) -> str:
    """A number with its noun, in the plural where that is due."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def dollars(amount: float | None) -> str:
    """A price: cents for what costs a dollar or more, otherwise enough digits to tell it from nothing."""
    if amount is None:
        return "unknown"
    return f"${amount:.2f}" if amount >= 1 or not amount else f"${amount:.4f}"


def spent_words(spent: TotalUsage) -> str:
    """What calls took: how many, their tokens, their price."""
    cached = f" ({spent.cached_tokens:,} of them cached)" if spent.cached_tokens else ""
    price = dollars(spent.cost) if not spent.unpriced else dollars(None)
    if 0 < spent.unpriced < spent.calls:
        price = f"{dollars(spent.cost)} and that of {counted(spent.unpriced, 'call')} that is not known"
    return (
        f"{counted(spent.calls, 'call')}, {spent.prompt_tokens:,} prompt{cached} and {spent.completion_tokens:,} "
        f"completion tokens, price {price}"
    )


def footnotes(run: RunRecord) -> list[str]:
    """What a reader must know besides the table: how the run ended, what was left out or skipped."""
    notes = []
    if run.status != "finished":
        why = f" because {run.stopped}" if run.stopped else ""
        ended = "has not ended (it was killed, or is under way)" if run.status == "running" else f"is {run.status}{why}"
        notes.append(f"The run {ended}: these are the first {counted(run.samples, 'sample')}.")
    if run.spent.calls:
        notes.append(f"Calls to models: {spent_words(run.spent)}.")
    notes += run.notes
    if run.bad_rows:
        notes.append(f"Rows skipped: {len(run.bad_rows)}, the first because: {run.bad_rows[0]}")
    if run.labels and not run.labelled:
        notes.append("No label was used: a label counts for the very texts it names, and the query where there is one.")
    if run.empty:
        notes.append(f"Empty responses: {run.empty} of {run.samples}.")
    notes += [f"Failed at least once: {one}." for one in by_reason(run.failures)]
    notes += [f"Undefined at least once: {one}." for one in by_reason(run.undefined)]
    return notes + [f"Not measured: {one}." for one in by_reason(run.left_out)]


def by_reason(reasons: Mapping[str, str]) -> list[str]:
    """Each reason once, behind the metrics that it holds for: "bleu, chrf: the sample has no references"."""
    grouped: dict[str, list[str]] = {}
    for metric, reason in reasons.items():
        grouped.setdefault(reason, []).append(metric)
    return [f"{', '.join(metrics)}: {reason}" for reason, metrics in grouped.items()]


def headline(run: RunRecord) -> str:
    """One line that says what was measured, by whom, and what it took."""
    judges = ", ".join(sorted({str(judge) for judge in run.judges.values()}))
    measured = f"{run.name or run.data}: {counted(run.samples, 'sample')}, judge {judges}"
    if run.status == "running":
        return measured
    people = f" ({run.labelled} from people)" if run.labelled else ""
    return f"{measured}, {run.asked} judgments asked, {run.reused} known{people}, {run.seconds:.1f} s"


#: What `ragauge judges measure embedded -o FILE.json` wrote of the packaged judge.
CARD = files("ragauge") / "judges" / "embedded" / "data" / "measured.json"

_LEXICAL = (
    "The lexical judge compares words, numbers and names, not meaning: it misses paraphrase, and claims in the text's "
    "own words pass too easily; docs/embedded-judge.md has the figures."
)
_UNMEASURED = (
    "Nothing was measured of this version of the embedded judge; `ragauge judges measure embedded` measures the one "
    "that is installed, and docs/embedded-judge.md says where it fails."
)

#: What a judge has to tell apart, by the prefixes of the sets that show it.
_RANKED = {
    "supported from unsupported claims": ("ent", "cit", "rag"),
    "right from wrong answers": ("ans",),
    "relevant from other passages": ("rel",),
    "toxic from other texts": ("tox",),
}


class _Figure(msgspec.Struct, frozen=True):
    value: float


class _Set(msgspec.Struct, frozen=True):
    name: str
    auc: _Figure | None = None


class _MeasurementCard(msgspec.Struct, frozen=True):
    judge: Identity
    sets: tuple[_Set, ...]


def caution(run: RunRecord) -> str:
    """How far the judges in the package can be trusted; empty where they had no part in the run."""
    return " ".join(_cautions(list(run.judges.values())))


def _cautions(judges: list[Identity]) -> Iterator[str]:
    embedded = [judge for judge in judges if re.search(r"\bembedded\b", judge.name)]
    if embedded:
        card = msgspec.json.decode(CARD.read_bytes(), type=_MeasurementCard)
        yield _measured(card) if all(_is_of(card, judge) for judge in embedded) else _UNMEASURED
    if any(re.search(r"\blexical\b", judge.name) for judge in judges):
        yield _LEXICAL


def _is_of(card: _MeasurementCard, judge: Identity) -> bool:
    """Whether a judge is, or has for a member, the one that was measured; how sentences are split may differ."""
    own = {(name.rpartition(".")[2], value) for name, value in judge.settings}
    return {setting for setting in card.judge.settings if setting[0] != "splitter"} <= own


def _measured(card: _MeasurementCard) -> str:
    told = [f"{what} with an AUC of {reached}" for what, kinds in _RANKED.items() if (reached := _reached(card, kinds))]
    if not told:
        return _UNMEASURED
    listed = " and ".join(filter(None, (", ".join(told[:-1]), told[-1])))
    return (
        f"On public sets the embedded judge tells {listed} (0.5 is chance) by people's labels; have a model or people "
        "judge where a single verdict matters, and see docs/embedded-judge.md for where it fails."
    )


def _reached(card: _MeasurementCard, kinds: tuple[str, ...]) -> str:
    """From which to which AUC the sets of some kinds reach; empty where none was measured."""
    found = [one.auc.value for one in card.sets if one.auc and one.name.partition("_")[0] in kinds]
    ends = dict.fromkeys(f"{value:.2f}" for value in (min(found), max(found))) if found else {}
    return " to ".join(ends)
