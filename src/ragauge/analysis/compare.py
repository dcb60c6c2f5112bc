"""`compare`: is one run better than another on the same samples, and where?"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ragauge.analysis.differences import (
    EQUAL,
    HEAD,
    LEVEL,
    Cells,
    ComparedRunInfo,
    Difference,
    adjusted,
    changed_gold,
    check_run,
    compared,
    compared_runs,
    count_groups,
    difference_cells,
    differences_table,
    groups_of,
    number_of_tests,
    of_pairs,
    paired,
)
from ragauge.analysis.preference import PREFERRED, Contest, Preference, Preferences, halved, preferences
from ragauge.errors import UnknownName, UsageError
from ragauge.judges.base import JudgeLike
from ragauge.metrics.base import Measure
from ragauge.metrics.registry import key_of, registered_metrics, split_specs
from ragauge.questions import KINDS, identity_for
from ragauge.report.document import packed, page_with
from ragauge.report.explain import MAX_PIECES, certainty_words, chooser, decisive, headline, piece_words
from ragauge.report.files import save_text
from ragauge.report.text import LENGTH, RenderableType, markdown_table, plain, plain_text
from ragauge.report.wording import REPEATED_FIX, by_reason, caution, counted, number, p_value, printable, shortened
from ragauge.run.plan import Plan
from ragauge.run.results import Run, SampleScores
from ragauge.scores import Better, Estimate, RunRecord
from ragauge.statistics.intervals import sampling_units
from ragauge.statistics.paired import fewest_differing
from ragauge.types import Identity

SCHEMA = "ragauge.compare/1"

COMPARISON_WRITERS = (".json", ".md", ".html")


class ChangedPiece(msgspec.Struct, frozen=True):
    """A judged piece that made the difference. run: "a" or "b". said: the verdict in words."""

    run: str
    said: str


class Change(msgspec.Struct, frozen=True):
    """A sample on which a metric differs, and the pieces that made the difference: those against the worse response.

    a, b: the values; None where the metric is undefined in that run alone.
    """

    metric: str
    id: str
    query: str
    a: float | None
    b: float | None
    pieces: tuple[ChangedPiece, ...]


class Comparison(msgspec.Struct, frozen=True):
    """Run `b` compared with run `a` over the same samples.

    samples: number of samples in both, matched `by` "id", "query" or what `parity` says. only_a, only_b: number of
    samples that the other run lacks. groups: number of groups of samples, None if samples are independent.
    changed_gold: by field, such as "references", the number of samples in which the runs differ in it. differences: by
    metric. changes: the samples that changed most. left_out: metrics that were not compared, with the reason. notes:
    warnings, such as that the judges differ. judging: how far the judges can be trusted, and how sure they were.
    preference: how responses were preferred to each other, where that was asked for; its row of the differences is
    "preferred". gates: the differences that must not be worse, adjusted for their own number.
    """

    a: ComparedRunInfo
    b: ComparedRunInfo
    samples: int
    by: str
    only_a: int
    only_b: int
    groups: int | None
    differences: dict[str, Difference]
    changes: tuple[Change, ...]
    left_out: dict[str, str]
    notes: tuple[str, ...]
    judging: tuple[str, ...] = ()
    preference: Preference | None = None
    gates: dict[str, Difference] = {}
    changed_gold: dict[str, int] = {}

    def worse(self, metrics: Sequence[str]) -> list[str]:
        """The metrics in which b is significantly worse than a.

        Args:
            metrics: Keys of compared metrics; p-values are adjusted over these alone.

        Raises:
            UnknownName: A metric was not compared.
            UsageError: A metric has no value in both runs.
        """
        for metric in metrics:
            if metric in self.left_out:
                raise UsageError(f"{metric} cannot be compared: {self.left_out[metric]}")
            if metric not in self.differences:
                raise UnknownName("metric of this comparison", metric, self.differences)
            if self.differences[metric].p is None:
                raise UsageError(f"{metric} cannot be compared: it has no value over the samples of both runs")
        asked = adjusted({metric: self.differences[metric] for metric in metrics})
        return [metric for metric, difference in asked.items() if difference.verdict == "worse"]

    def gate_failure(self, metric: str) -> str:
        """Why the gate on a metric fails: b is significantly worse, or scores of b failed; empty if it holds."""
        difference = self.gates[metric]
        if difference.verdict == "worse":
            return f"{metric} is significantly worse"
        failed = difference.missing.failed_b
        return f"{counted(failed, 'score')} of {metric} failed in B" if failed else ""

    def gate_words(self, metric: str) -> str:
        """Whether the gate on a metric holds, with the difference and the p that decide it."""
        difference = self.gates[metric]
        _, _, _, change, interval, p, *_ = difference_cells(metric, difference)
        result = self.gate_failure(metric) or f"{metric} is not significantly worse"
        return f"{result} ({change} {interval}, p {p} for {counted(len(self.gates), 'gate')})"

    def to_dict(self) -> dict[str, Any]:
        """The comparison as one document of schema "ragauge.compare/1"; see docs/compare.md."""
        plain = msgspec.to_builtins(self)
        for part, differences in (("differences", self.differences), ("gates", self.gates)):
            for key, difference in differences.items():
                plain[part][key]["verdict"] = difference.verdict
        return {"schema": SCHEMA, **plain}

    def save(self, path: str | Path) -> Path:
        """Write the comparison to a .json, .md or .html file. Raises UsageError for other endings."""
        title = f"{self.a.name or self.a.data} and {self.b.name or self.b.data} compared – ragauge"
        writers = {
            ".json": lambda: msgspec.json.encode(self.to_dict()).decode() + "\n",
            ".md": self._repr_markdown_,
            ".html": lambda: "".join(page_with(title, [("comparison", packed(self.to_dict()))])),
        }
        return save_text(Path(path), writers)

    def __str__(self) -> str:
        return plain_text(comparison_view(self, 140), 140)

    def _repr_markdown_(self) -> str:
        """The comparison, short enough for a comment on a pull request, with as many changes as fit."""
        lines = ["# Comparison", "", *(f"{plain(line)}  " for line in _headlines(self))]
        if self.notes:
            lines += ["", *(f"**{plain(note)}**" for note in self.notes)]
        if self.gates:
            lines += [
                "",
                *(f"- {'❌' if self.gate_failure(key) else '✅'} {plain(self.gate_words(key))}" for key in self.gates),
            ]
        rows = (difference_cells(key, difference) for key, difference in self.differences.items())
        lines += ["", *markdown_table(HEAD, rows), ""]
        lines += [f"{plain(line)}  " for line in _footnotes(self)]
        if self.changes:
            lines += ["", "## What changed most", ""]
        room = LENGTH - sum(len(line) + 1 for line in lines)
        for changes in _changes(self, len(self.differences)):
            added = [f"- {plain(_change_words(changes))} {plain(shortened(changes[0].query, 100))}"]
            added += [f"  - {piece.run.upper()}: {plain(piece.said)}" for piece in _pieces(changes)]
            room -= sum(len(line) + 1 for line in added)
            if room < 0:
                break
            lines += added
        return "\n".join(lines) + "\n"


#: The number of metrics whose changes the terminal shows: those with the smallest p-values.
TOP_METRICS = 3


def comparison_view(comparison: Comparison, width: int) -> list[RenderableType]:
    """The two runs, the warnings, the table of differences, and the footnotes."""
    from rich.text import Text

    return [
        *_headlines(comparison),
        *(Text(note, style="yellow") for note in comparison.notes),
        differences_table(comparison.differences, width),
        *_footnotes(comparison),
    ]


def changes_view(comparison: Comparison) -> Iterator[RenderableType]:
    """The samples that changed most, for the metrics with the smallest p-values."""
    from rich.text import Text

    changed = _changes(comparison, TOP_METRICS)
    if changed:
        yield from ("", "What changed most:", "")
    for changes in changed:
        yield Text.assemble((f"{_change_words(changes)} ", "bold"), (shortened(changes[0].query, 100), "dim"))
        yield from (Text(f"  {piece.run.upper()}: {piece.said}") for piece in _pieces(changes))


def _changes(comparison: Comparison, metrics: int) -> list[list[Change]]:
    """By sample, the changes of the `metrics` metrics with the smallest p-values, and what one run alone defines."""
    p_values = {key: difference.p for key, difference in comparison.differences.items() if difference.p is not None}
    surest = sorted(p_values, key=lambda key: p_values[key])[:metrics]
    shown = [change for key in surest for change in comparison.changes if change.metric == key]
    shown += [change for change in comparison.changes if None in (change.a, change.b) and change not in shown]
    of_sample: dict[str, list[Change]] = {}
    for change in shown:
        of_sample.setdefault(change.id, []).append(change)
    return list(of_sample.values())


def _pieces(changes: Sequence[Change]) -> list[ChangedPiece]:
    """The pieces of all changes, each once."""
    return list(dict.fromkeys(piece for change in changes for piece in change.pieces))


def _headlines(comparison: Comparison) -> Iterator[str]:
    yield f"A: {printable(str(comparison.a))}"
    yield f"B: {printable(str(comparison.b))}"
    groups = f" in {counted(comparison.groups, 'group')}" if comparison.groups is not None else ""
    yield f"{counted(comparison.samples, 'sample')}{groups} in both, matched by {comparison.by}."
    alone = [f"{count} only in {name}" for count, name in ((comparison.only_a, "A"), (comparison.only_b, "B")) if count]
    if alone:
        yield f"Left out: {' and '.join(alone)}."


def _footnotes(comparison: Comparison) -> Iterator[str]:
    """How p-values are adjusted, where the runs lack values, and what was not compared."""
    tests = number_of_tests(comparison.differences)
    adjusted = f"p (two-sided) and intervals are adjusted for {counted(tests, 'test')} (Holm)"
    yield f"{adjusted}: an interval excludes 0 if a difference is shown."
    smallest = (
        "can detect: the smallest true difference that n samples would show in 80 of 100 comparisons like this one"
    )
    units = "samples" if comparison.groups is None else "groups"
    yield f"{smallest}; – where fewer than {fewest_differing(LEVEL / max(1, tests))} {units} differ."
    undefined, failed = [], []
    for key, difference in comparison.differences.items():
        missing = difference.missing
        if missing.undefined_a or missing.undefined_b:
            p = missing.p_adjusted
            sure = f" (p {p_value(p)})" if p is not None and p < LEVEL else ""
            undefined.append(f"{key} {missing.undefined_a} and {missing.undefined_b}{sure}")
        if missing.failed_a or missing.failed_b:
            failed.append(f"{key} {missing.failed_a} and {missing.failed_b}")
    if undefined:
        yield f"Undefined in A and in B, and so not compared: {', '.join(undefined)}."
    if failed:
        yield f"Failed in A and in B: {', '.join(failed)}."
    yield from (f"Not compared: {names}." for names in by_reason(comparison.left_out))
    yield from comparison.judging


def _change_words(changes: Sequence[Change]) -> str:
    """What changed of one sample."""
    words = [f"{change.metric} {_value_words(change.a)} → {_value_words(change.b)}" for change in changes]
    return f"{', '.join(words)}, sample {printable(changes[0].id)}:"


def _value_words(value: float | None) -> str:
    return "undefined" if value is None else number(value)


def cautions(a: RunRecord, b: RunRecord, measures: Sequence[Measure | None], is_grouped: bool = False) -> Iterator[str]:
    """Warnings about the comparison. measures: the compared metrics, None for a custom metric."""
    if a.id == b.id:
        yield "A and B are the same run."
    yield from _different_judges(a, b, measures)
    if a.labelled or b.labelled:
        yield f"People answered {counted(a.labelled, 'question')} of A and {b.labelled} of B, judges the others."
    if a.version != b.version:
        yield f"A was made by ragauge {a.version} and B by {b.version}, which may measure differently."
    for name, run in (("A", a), ("B", b)):
        if run.status != "finished":
            yield f"{name} is {run.status}: only its first {counted(run.samples, 'sample')} are compared."
        if (repeated := run.unmeasured.get("repeated")) and not is_grouped:
            yield f"{name}: {repeated} of {counted(run.samples, 'sample')} repeat an earlier one. {REPEATED_FIX}"


def _different_judges(a: RunRecord, b: RunRecord, measures: Sequence[Measure | None]) -> Iterator[str]:
    """A sentence for each two judges that answered the same kinds; a custom metric may ask about all kinds."""
    topics = sorted({topic for measure in measures if measure for need in measure.needs for topic in need.asks})
    kinds_of: dict[str, dict[str, None]] = {}
    for topic in KINDS if None in measures else topics:
        kind = topic.partition(":")[0]
        first, second = (judge and identity_for(kind, judge) for judge in (a.judge_of(topic), b.judge_of(topic)))
        if first != second:
            names = f"{first or 'no judge'} and {second or 'no judge'}"
            if first and second and first.name == second.name:
                names = f"{first} with other {_differing_settings(first, second)}"
            kinds_of.setdefault(names, {})[kind] = None
    for names, kinds in kinds_of.items():
        yield (
            f"Different judges ({', '.join(kinds)}): {names}. The difference may come from the judges, not the systems."
        )


def _differing_settings(first: Identity, second: Identity) -> str:
    return ", ".join(sorted({name for name, _ in set(first.settings) ^ set(second.settings)}))


class _MatchedRuns:
    """Two runs over the samples that both have. keys: the metrics to compare. groups: of these samples."""

    def __init__(self, runs: tuple[Run, Run], keys: list[str], group: str | None) -> None:
        self.runs, self.keys = runs, keys
        self.sides = compared_runs([run.records() for run in runs], keys, group)
        first, second = (side.rows for side in self.sides)
        self.pairing = paired(first, second)
        rows = [(first[of_a], second[of_b]) for of_a, of_b in self.pairing.pairs]
        self.groups, self.tasks, self.changed_gold = groups_of(rows), groups_of(rows, "task"), changed_gold(rows)

    @property
    def splits_tasks(self) -> bool:
        """Whether samples of one task are in several groups."""
        tasks = sampling_units(self.tasks, len(self.pairing.pairs))
        return self.groups is not None and len(set(zip(tasks, self.groups, strict=True))) > len(set(tasks))

    @property
    def gold_notes(self) -> list[str]:
        """A sentence for each field of what is right that differs between the runs."""
        total = counted(len(self.pairing.pairs), "sample")
        return [
            f"{count} of {total} have other {field.replace('_', ' ')} in B, from which a difference may come."
            for field, count in self.changed_gold.items()
        ]

    def cells(self, key: str) -> Cells:
        """The results of a metric on these samples."""
        first, second = (side.cells[key] for side in self.sides)
        return [(first[of_a], second[of_b]) for of_a, of_b in self.pairing.pairs]


def _differences(
    keys: Sequence[str], matched: _MatchedRuns, measures: Mapping[str, Measure], preferred: Preferences | None
) -> dict[str, Difference]:
    """The differences of these metrics, adjusted for their number; `preferred` has the cells of PREFERRED."""
    better = {key: estimate.better for key, estimate in matched.runs[1].estimates.items()}
    better[PREFERRED] = "higher"
    preferences_as_cells = halved(preferred.values[0]) if preferred else []
    differences = compared(
        keys,
        lambda key: preferences_as_cells if key == PREFERRED else matched.cells(key),
        matched.groups,
        measures,
        better,
        matched.tasks,
    )
    return {key: of_pairs(change) if key == PREFERRED else change for key, change in differences.items()}


#: What values are sorted by, the positions of the samples, and the values in A and B.
_RankedValues = tuple[float, tuple[int, int], float | None, float | None]


def _largest_changes(matched: _MatchedRuns, differences: Mapping[str, Difference], count: int) -> Iterator[Change]:
    """For each metric over samples, the `count` samples on which it differs most, the largest difference first; then as
    many on which one run alone defines it, the worst value first."""
    for key in matched.keys:
        better = differences[key].better
        sign = 1 if better == "higher" else -1
        apart: list[_RankedValues] = []
        one_sided: list[_RankedValues] = []
        for positions, pair in zip(matched.pairing.pairs, matched.cells(key), strict=True):
            first, second = (cell if isinstance(cell, float) else None for cell in pair)
            if first is not None and second is not None:
                if abs(second - first) > EQUAL:
                    apart.append((-abs(second - first), positions, first, second))
            elif "undefined" in pair and (value := second if first is None else first) is not None:
                one_sided.append((sign * value, positions, first, second))
        largest = heapq.nsmallest(count, apart) + heapq.nsmallest(count, one_sided)
        for _, positions, first, second in largest:
            in_runs = zip("ab", matched.runs, positions, strict=True)
            in_a, in_b = ((name, run.scores[position]) for name, run, position in in_runs)
            b_is_worse = first is None or (second is not None and (second < first) == (better == "higher"))
            worse_run, better_run = (in_b, in_a) if b_is_worse else (in_a, in_b)
            pieces = _deciding_pieces(worse_run, better_run, key, better)
            row = matched.sides[0].rows[positions[0]]
            yield Change(key, row.id, row.question, first, second, tuple(pieces[:MAX_PIECES]))


#: A run, "a" or "b", and the scores of a sample in it.
_NamedScores = tuple[str, SampleScores]


def _deciding_pieces(worse_run: _NamedScores, better_run: _NamedScores, key: str, better: Better) -> list[ChangedPiece]:
    """What counts only against the worse score; if there is nothing, what counts only for the better one."""
    against = better == "lower"
    pieces = _pieces_of(worse_run, better_run, key, better, raising=against)
    return pieces or _pieces_of(better_run, worse_run, key, better, raising=not against)


def _pieces_of(run: _NamedScores, other: _NamedScores, key: str, better: Better, raising: bool) -> list[ChangedPiece]:
    """The pieces that raise, or else lower, the score of one run alone."""
    words, other_words = (
        [piece_words(piece, scores.sample) for piece in decisive(scores[key], raising, better)]
        for _, scores in (run, other)
    )
    return [ChangedPiece(run[0], said) for said in words if said not in other_words]


def _certainty(a: Run, b: Run) -> Iterator[str]:
    """How far the judges of two runs can be trusted, and how sure they were."""
    yield from filter(None, dict.fromkeys(caution(run.record) for run in (a, b)))
    for name, run in (("A", a), ("B", b)):
        key = chooser(run.record)
        words = certainty_words(run.records(), key) if key else ""
        if words:
            yield f"{name}: {words}"


def compare(
    a: Run,
    b: Run,
    metrics: str | Collection[str] = (),
    *,
    group: str | None = None,
    gated: Collection[str] = (),
    show: int = 3,
    prefer: str | None = None,
    judge: JudgeLike = "embedded",
    max_cost: float | None = None,
    progress: Callable[[int], None] | None = None,
    planned: Callable[[Plan], None] | None = None,
    force: bool = False,
) -> Comparison:
    """Compare run `b` with run `a`, sample by sample; no judge is asked but for a preference.

    Samples are matched by id if their queries agree, else by query. A metric is compared over the samples in which it
    has a value in both runs. How often it has none is compared as well, since a system that refuses to answer drops out
    of metrics such as faithfulness. See docs/compare.md.

    Args:
        a: The baseline run.
        b: The run that is compared with it.
        metrics: Keys of estimates, as a list or one text such as "faithfulness,rouge.rougeL"; "rouge" stands for all
            values of rouge, and "all" for all that both runs measured. Empty for the six that reports show first.
        group: The column that groups samples that are not independent; None for the groups of the runs. The tasks of a
            metric such as `pass_all` stay the groups of the runs.
        gated: Keys or specs that are compared besides those six, and in which b must not be worse.
        show: The number of samples shown for each metric that differs, with the claims that made the difference.
        prefer: A criterion, such as "more complete, without errors", by which the judge is asked which of the two
            responses to a sample is better, in both orders; or "claims", which asks nothing. Other metrics are then
            compared only where `metrics` names them.
        judge, max_cost, progress: As for `evaluate`, for a preference. The answers are kept in the store of `b`.
        planned: Called with the plan of a preference, before anything is asked.
        force: Compare what two test sets have in common, too, and hold gates where the runs have other references; see
            docs/test-sets.md.

    Returns:
        The differences (b - a) with 95 % intervals and p-values adjusted by Holm.

    Raises:
        UsageError: The runs do not have the same samples or are of two test sets, a metric was measured in two ways, a
            gated metric has no value in both, or the runs have other references, or the judge gives no grades.
        UnknownName: A metric was measured in neither run, or a column is in neither.
    """
    for run in (a, b):
        check_run(run)
    _check_test_sets(a, b, force)
    named = split_specs(metrics) if isinstance(metrics, str) else metrics
    named, gates = ([key_of(name, registered_metrics(b.record)) for name in names] for names in (named, gated))
    gated = [key for key in gates if key != PREFERRED]
    named = named or (gated if prefer is not None else [])
    kept, left_out = _chosen(a.record, b.record, named, gated) if named or prefer is None else ([], {})
    matched = _MatchedRuns((a, b), kept, group)
    pairing = matched.pairing
    if gates and matched.changed_gold and not force:
        raise UsageError(
            f"{' '.join(matched.gold_notes)} That alone may decide a gate; measure both systems on the same rows, or "
            "hold it all the same: --force (in Python: force=True)"
        )
    measures = measures_of(b.record)
    if matched.splits_tasks:
        reason = f"tasks, the groups of the runs, have samples in several groups of {group!r}"
        left_out |= {key: reason for key in kept if getattr(measures.get(key), "by_group", False)}
        matched.keys = kept = [key for key in kept if key not in left_out]
        if not kept and prefer is None:
            raise UsageError(f"{', '.join(left_out)} cannot be compared: {reason}")
    preferred = None
    judged_in_runs = kept
    if prefer is not None:
        preferred = preferences([Contest(a, b, pairing.pairs)], prefer, judge, max_cost, progress, planned)
        measures[PREFERRED] = preferred.measure
        judged_in_runs = kept if preferred.about.judge else [PREFERRED, *kept]
    differences = _differences([PREFERRED, *kept] if preferred else kept, matched, measures, preferred)
    comparison = Comparison(
        ComparedRunInfo.of(a),
        ComparedRunInfo.of(b),
        samples=len(pairing.pairs),
        by=pairing.by,
        only_a=pairing.only_a,
        only_b=pairing.only_b,
        groups=count_groups(matched.groups),
        differences=differences,
        changes=tuple(_largest_changes(matched, differences, show)),
        left_out=left_out,
        notes=(
            *matched.gold_notes,
            *cautions(a.record, b.record, [measures.get(key) for key in judged_in_runs], matched.groups is not None),
        ),
        judging=(*([str(preferred.about)] if preferred else []), *(_certainty(a, b) if judged_in_runs else [])),
        preference=preferred.about if preferred else None,
        changed_gold=matched.changed_gold,
    )
    comparison.worse(gates)  # raises where a gate has no value
    return msgspec.structs.replace(comparison, gates=_differences(gates, matched, measures, preferred))


def _check_test_sets(a: Run, b: Run, force: bool) -> None:
    """Raise UsageError where the first samples of two runs say that they are of two test sets."""
    firsts = [next(run.records(), None) for run in (a, b)]
    marks = [first.sample.metadata.get("test_set") if first else None for first in firsts]
    first_set, second_set = (mark.get("id") if isinstance(mark, dict) else None for mark in marks)
    if first_set and second_set and first_set != second_set and not force:
        raise UsageError(
            f"the runs are of two test sets, {first_set} and {second_set}; run both systems on one of them, or compare "
            "what they have in common: --force (in Python: force=True)"
        )


def measures_of(run: RunRecord) -> dict[str, Measure]:
    """The metric of each value of a run, if the catalogue has it."""
    return {key: measure for measure in registered_metrics(run) for key in measure.values}


def _chosen(
    a: RunRecord, b: RunRecord, wanted: Collection[str], gated: Collection[str]
) -> tuple[list[str], dict[str, str]]:
    """The keys to compare, which both runs measured in the same way, and the others with the reason why not."""
    left_out = {key: _only_one(key, "first", b) for key in a.estimates if key not in b.estimates}
    left_out |= {key: _only_one(key, "second", a) for key in b.estimates if key not in a.estimates}
    first, second = measures_of(a), measures_of(b)
    for key in [key for key in a.estimates if key not in left_out]:
        specs = [measures[key].spec if key in measures else "a custom metric" for measures in (first, second)]
        if specs[0] != specs[1]:
            left_out[key] = f"it was measured as {specs[0]} in the first run and as {specs[1]} in the second"
        elif key not in first and a.estimates[key].over == "data":
            left_out[key] = "the formula of a custom metric over the data set is not known"
        elif mismatch := _mismatch(a.estimates[key], b.estimates[key]):
            left_out[key] = mismatch
    common = [key for key in a.estimates if key not in left_out]
    if not wanted:
        shown = headline([key for key in common if a.estimates[key].n or b.estimates[key].n] or common)
        left_out |= {key: _LATER for key in common if key not in (*shown, *gated)}
    else:
        asked = [key for name in (*wanted, *gated) if name != "all" for key in _named(name, a, left_out)]
        if "all" not in wanted:
            common, left_out = [key for key in common if key in asked], {}
    kept = [key for key in common if key not in left_out]
    if not kept:
        reasons = "; ".join(by_reason({key: why for key, why in left_out.items() if why != _LATER}))
        raise UsageError(
            f"the two runs have no metric in common; measure both with the same -m ({shortened(reasons, 400)})"
        )
    return kept, left_out


def _mismatch(first: Estimate, second: Estimate) -> str:
    """By what two estimates of one key are of two metrics, as those of your own may be; else ""."""
    if first.better != second.better:
        return f"{first.better} is better in the first run and {second.better} in the second"
    if first.scale and second.scale and first.scale != second.scale:
        (low, high), (other_low, other_high) = first.scale, second.scale
        return f"its scale is {low:g} to {high:g} in the first run and {other_low:g} to {other_high:g} in the second"
    return ""


_LATER = "not among the six that are compared by default; -m all (metrics='all') compares all"


#: Metrics that measure the same in two ways; a run may have only one of them.
_SAME_PURPOSE = ("correctness", "answer_correctness")


def _only_one(key: str, which: str, other: RunRecord) -> str:
    """Why a metric that one run has is not compared, with what the other has in its place."""
    instead = [name for name in _SAME_PURPOSE if key in _SAME_PURPOSE and name in other.estimates]
    defined = f", the other has {instead[0]}, which is defined otherwise; measure both with -m {key}" if instead else ""
    return f"only the {which} run has it{defined}"


def _named(name: str, a: RunRecord, left_out: Mapping[str, str]) -> list[str]:
    """The keys that `name` stands for: a key, or a metric with several values."""
    keys = [key for key in (*a.estimates, *left_out) if key == name or key.startswith(f"{name}.")]
    for key in keys:
        if key in left_out:
            raise UsageError(f"{key} cannot be compared: {left_out[key]}")
    if not keys:
        raise UnknownName("metric of both runs", name, a.estimates.keys() - left_out.keys())
    return keys
