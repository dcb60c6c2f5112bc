"""Live use: estimates for windows of time, and alarms that are valid however often they are looked at."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b
from math import isfinite
from typing import Any, NamedTuple

import msgspec

from ragauge.errors import BadParameter, UnknownName, UsageError
from ragauge.metrics.base import DatasetMetric, Measure
from ragauge.run.aggregation import MAX_SLICES, Accumulators, recovered_run
from ragauge.run.budget import Budget, DailyBudget
from ragauge.run.results import Run
from ragauge.run.stream import StreamScores
from ragauge.scores import Gate, RunRecord, SampleRecord, Scale, check_gate, gate_on, slice_value
from ragauge.statistics.intervals import Summary
from ragauge.statistics.sequential import Bets, ConfidenceSequence
from ragauge.store import Store
from ragauge.types import Sample, TotalUsage

#: The chance that a watch raises any false alarm, over all its alarms and looks.
ALPHA = 0.05
#: Traces whose ids are remembered, so that one that is delivered again counts once.
RECENT = 20_000
#: The slice of all traces, and that of the values beyond MAX_SLICES.
ALL, OTHER = "", "(other)"
#: The seconds in units of time.
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
#: Columns that hold when a trace began, under the names of OpenTelemetry, OpenInference, MLflow and others.
_TIMES = (
    "start_time startTime startTimeUnixNano start_time_unix_nano request_time timestamp timestamp_ms time created_at"
).split()


def seconds(duration: str) -> float:
    """The seconds in a duration such as "30s", "15m", "1h" or "7d". Raises BadParameter."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd])", duration.strip())
    if not match or not float(match[1]):
        raise BadParameter(f"{duration!r} is no length of time; write it as 30s, 15m, 1h or 7d")
    return float(match[1]) * _UNITS[match[2]]


def is_sampled(share: float, trace: str) -> bool:
    """Whether a trace is in a sample of this share: by a hash of its id, so that everybody's sample is the same."""
    return int.from_bytes(_hash(trace), "big") < share * 2**64


def _hash(trace: str) -> bytes:
    return blake2b(trace.encode(errors="surrogatepass"), digest_size=8).digest()


class AlarmRule(NamedTuple):
    """What an alarm is raised for: a mean beyond a bound.

    name: as it was written. alpha: the chance that it is ever raised though the mean was never beyond.
    """

    name: str
    gate: Gate
    scale: Scale
    alpha: float
    sliced: bool


def alarm_rules(written: Sequence[str], metrics: Collection[Measure], against: Run | None) -> list[AlarmRule]:
    """The rules of --alarm and --against, which share ALPHA.

    "faithfulness<0.8" compares with a number. Each metric is also compared with its value in the run `against`: with
    the end of its interval there, of which the confidence is chosen so that both together err as often as one rule.
    Raises UnknownName, BadParameter.
    """
    measure_of = {key: metric for metric in metrics for key in metric.values}
    better = {key: metric.better for key, metric in measure_of.items()}
    written = list(dict.fromkeys(written))
    parts = [re.fullmatch(r"\s*(.+?)\s*(?:([<>])\s*([-+.\de]+)\s*)?", text) for text in written]
    number = sum(bool(part and part[2]) + bool(against) for part in parts)
    rules = []
    for text, part in zip(written, parts, strict=True):
        key = part[1] if part else text
        if key not in measure_of and re.search("[<>]", key):
            raise BadParameter(f"--alarm {text}: write METRIC<NUMBER or METRIC>NUMBER; there are no other comparisons")
        if key not in measure_of:
            raise UnknownName("metric of --alarm", key, measure_of)
        measure = measure_of[key]
        if isinstance(measure, DatasetMetric):
            raise BadParameter(f"--alarm {text}: {key} has no score of its own for each trace; choose one that has")
        if not (part and part[2]) and not against:
            raise BadParameter(f"--alarm {text}: write {key}<NUMBER or {key}>NUMBER, or name a run with --against")
        if part and part[2]:
            gate = gate_on(key, float(part[3]), "below" if part[2] == "<" else "above", better)
            other = f"write {key}{'<' if part[2] == '>' else '>'}{part[3]}"
            check_gate(gate, measure.better, measure.scale, f"--alarm {text}", other)
            rules.append(AlarmRule(f"{key}{part[2]}{gate.bound:g}", gate, measure.scale, ALPHA / number, True))
        if against:
            rules.append(_against(key, measure, against, ALPHA / number))
    return rules


def _against(key: str, measure: Measure, run: Run, alpha: float) -> AlarmRule:
    accumulators = Accumulators([measure])
    for record in run.records():
        accumulators.add(record)
    ends = accumulators.by_key[key].interval(1 - alpha)  # of two sides, of which one is used: alpha / 2
    bound = ends.low if measure.better == "higher" else ends.high
    if bound is None:
        raise UsageError(f"run {run.id} has no value of {key} to compare with; measure it there first")
    gate = gate_on(key, bound, None, {key: measure.better})
    sign = "<" if gate.fails == "below" else ">"
    return AlarmRule(f"{key}{sign}{run.record.name or run.id}", gate, measure.scale, alpha / 2, False)


class Alarm(msgspec.Struct):
    """The state of one rule on one slice, as the store keeps it.

    name: of the rule, and the slice. bound: that the evidence is about. capital: see `Bets.state`. raised: when, or 0.
    message: of the alarm, where it is raised. notified: whether that was told.
    """

    name: str
    bound: float
    needed: float = 0.0
    capital: list[float] = []
    evidence: float = 1.0
    raised: float = 0.0
    message: dict[str, Any] = {}
    notified: bool = False


class Answers(msgspec.Struct):
    """What people said about an alarm: which they acknowledged, by when it was raised, and until when it is silent."""

    acknowledged: float = 0.0
    silent_until: float = 0.0


class Window(msgspec.Struct):
    """An open window: what is counted in it, the traces of each slice, and by slice and metric the sums of the scores,
    which are written before it is kept."""

    counts: dict[str, int] = {}
    sizes: dict[str, int] = {}
    sums: dict[str, dict[str, list[Any]]] = {}


class WatchState(msgspec.Struct):
    """All that a watch has to know to go on where it was killed.

    clock: the latest time seen. has_times: whether traces say when they began. closed: the end of the last window that
    is complete. windows: by their start. lost: numbers of traces that are in no window, since the last. unwritten:
    lines that may not be in the output yet. day, spent: the dollars spent on a day. usage: of the judges since a window
    was last kept as a run. recent: hashes of ids, oldest first.
    """

    options: list[Any]
    clock: float = 0.0
    has_times: bool = False
    closed: float = 0.0
    windows: dict[float, Window] = {}
    slices: list[str] = []
    alarms: dict[str, Alarm] = {}
    so_far: dict[str, list[list[float]]] = {}
    lost: dict[str, int] = {}
    unwritten: list[str] = []
    day: str = ""
    spent: float = 0.0
    usage: TotalUsage = msgspec.field(default_factory=TotalUsage)
    recent: dict[str, None] = {}


class WindowRuns:
    """Keeps the scored traces of each window as a run, which people label and look at.

    Args:
        store: of the runs.
        pattern: the record of each run, but for its id, its times and what follows from its traces.
        metrics: of the scores.
    """

    def __init__(self, store: Store, pattern: RunRecord, metrics: Sequence[Measure]) -> None:
        self._store, self._pattern, self._metrics = store, pattern, metrics
        self._unkept: dict[float, list[SampleRecord]] = {}

    def add(self, start: float, record: SampleRecord) -> None:
        """Add a trace to the window that begins at `start`."""
        self._unkept.setdefault(start, []).append(record)

    def keep(self, windows: Mapping[float, Window]) -> None:
        """Write the traces that were added, at the positions that the windows' counts give them.

        A trace that comes again after a kill is so written over itself.
        """
        for start, records in self._unkept.items():
            first, begun = windows[start].counts["scored"] - len(records), self._begun(start)
            if not first and all(run.id != begun.id for run in self._store.runs()):
                self._store.begin(begun)
            self._store.keep_samples(begun.id, first, records)
        self._unkept = {}

    def finish(self, start: float, end: float, usage: TotalUsage) -> str:
        """End the run of a window, of which all traces are kept; returns its id."""
        record = recovered_run(self._store, self._begun(start), self._metrics)
        record.status, record.finished, record.spent = "finished", iso_time(end), usage
        record.about = {key: metric.summary for metric in self._metrics for key in metric.values}
        self._store.finish(record)
        return record.id

    def _begun(self, start: float) -> RunRecord:
        """The record with which the run of a window begins."""
        begun = datetime.fromtimestamp(start, UTC)
        window = blake2b(f"{self._pattern.data} {start}".encode(errors="surrogatepass"), digest_size=3).hexdigest()
        id = f"{begun:%Y%m%d-%H%M%S}-{window}"
        return msgspec.structs.replace(self._pattern, id=id, started=begun.isoformat(timespec="seconds"))


class Watch:
    """Collects scores into windows, and looks after every score whether an alarm is to be raised.

    Lines for the output, one a window that is complete and one an alarm, are appended to `kept.unwritten`.

    Args:
        metrics: what is measured.
        window, grace: in seconds; a window is complete when a trace, or on an idle stream the clock, is this much later
            than its end. Traces that come later still are late: they are counted, and no more.
        share: of the traces that is scored.
        by: the column of the slices, or "".
        rules: of the alarms.
        time_column: holds when a trace began; "" for the usual ones. One that does not say it, or names a time to come,
            counts at the latest time of the others, and where none says it when it comes.
        to_label: of each window's traces; 0: windows are not kept as runs.

    Attributes:
        budget: of the judges.
        runs: where windows are kept, or None.
    """

    def __init__(
        self,
        metrics: Collection[Measure],
        window: float,
        grace: float,
        share: float = 1.0,
        by: str = "",
        rules: Sequence[AlarmRule] = (),
        time_column: str = "",
        to_label: int = 0,
    ) -> None:
        self.chosen = partial(is_sampled, share)
        self.budget = Budget()
        self.runs: WindowRuns | None = None
        self._metrics, self._window, self._grace, self._by, self._rules = metrics, window, grace, by, rules
        self._times = [time_column] if time_column else _TIMES
        self.kept = WatchState([window, grace, share, by, [metric.spec for metric in metrics], to_label])
        self._parts: dict[float, dict[str, Accumulators]] = {}
        self._counted = TotalUsage()  # of the budget's usage, what is in that of the state
        self._bets: dict[str, Bets] = {}
        self._so_far = {rule.gate.metric: ConfidenceSequence(rule.scale) for rule in rules}

    def add(self, scores: StreamScores, now: float) -> None:
        """Count a trace at the time `now`, in seconds since 1970, and complete the windows that it shows to be over."""
        kept = self.kept
        if scores.sample is None:
            return _tally(kept.lost, "unreadable")
        began = self._time(scores.sample)
        is_ahead = began is not None and began > now + self._grace
        kept.has_times = kept.has_times or (began is not None and not is_ahead)
        latest = kept.clock if kept.has_times else now
        moment = latest if began is None or is_ahead else began
        start = moment // self._window * self._window
        if start + self._window <= kept.closed:
            return _tally(kept.lost, "late")
        hashed = _hash(scores.trace).hex()
        if hashed in kept.recent:
            return _tally(kept.lost, "repeated")
        kept.recent[hashed] = None
        if len(kept.recent) > RECENT:
            del kept.recent[next(iter(kept.recent))]
        window = kept.windows.setdefault(start, Window())
        facts = {"traces": True, "scored": scores.record, "over_budget": scores.unpaid, "ahead": is_ahead}
        _tally(window.counts, *(name for name, holds in facts.items() if holds))
        if scores.record:
            slices = [ALL, self._slice(scores.sample)] if self._by else [ALL]
            _tally(window.sizes, *slices)
            parts = self._parts.setdefault(start, {})
            for value in slices:
                parts.setdefault(value, Accumulators(self._metrics)).add(scores.record)
                self._bet(scores.record, value, moment)
            if self.runs:
                self.runs.add(start, scores.record)
            for key, sequence in self._so_far.items():
                score = scores.record.scores.get(key)
                sequence.add([score.value] if score and score.value is not None else [])
        return self.advance(moment)

    def advance(self, moment: float) -> None:
        """Complete the windows that are over at a time."""
        kept = self.kept
        kept.clock = max(kept.clock, moment)
        over = (kept.clock - self._grace) // self._window * self._window
        if over <= (kept.closed or min(kept.windows, default=over)):
            return
        for start in sorted(start for start in kept.windows if start < over):
            self._complete_empty(start)
            self._complete(start, start + self._window)
        self._complete_empty(over)

    def finish(self) -> None:
        """Complete all windows, at the end of a stream."""
        self.advance(max(self.kept.windows, default=self.kept.clock) + self._window + self._grace)

    def _complete_empty(self, end: float) -> None:
        """Say that there were no traces from the last complete window to a time, if that is so."""
        if self.kept.closed and end > self.kept.closed:
            self._complete(self.kept.closed, end)
        self.kept.closed = max(self.kept.closed, end)

    def _complete(self, start: float, end: float) -> None:
        run = self._keep_run(start, end)
        window, parts = self.kept.windows.pop(start, Window()), self._parts.pop(start, {})
        estimates = {value: _estimates(part) for value, part in parts.items()}
        document = {
            "window": _span(start, end),
            **({"run": run} if run else {}),
            **{name: window.counts.get(name, 0) for name in ("traces", "scored", "over_budget", "ahead")},
            **{name: self.kept.lost.pop(name, 0) for name in ("late", "repeated", "unreadable")},
            **({} if window.counts else {"note": "no traces: nothing is known of this time, no alarm"}),
            "estimates": estimates.pop(ALL, {}),
        }
        if self._by:
            slices = {value: {"traces": window.sizes[value], "estimates": part} for value, part in estimates.items()}
            document["slices"] = {self._by: slices}
        if self._rules:
            intervals = {key: sequence.interval() for key, sequence in self._so_far.items()}
            document["so_far"] = {key: [mean.value, mean.low, mean.high] for key, mean in intervals.items()}
            document["alarms"] = {name: _shown(alarm) for name, alarm in self.kept.alarms.items()}
        self.kept.closed = end
        self._say(document)

    def _keep_run(self, start: float, end: float) -> str:
        """Keep the scored traces of a window as a run; its id, or "" where there are none or no runs are kept."""
        if not (self.runs and self.kept.windows.get(start, Window()).counts.get("scored")):
            return ""
        self._count_usage()
        self.runs.keep(self.kept.windows)
        usage, self.kept.usage = self.kept.usage, TotalUsage()
        return self.runs.finish(start, end, usage)

    def _count_usage(self) -> None:
        total, counted = self.budget.spent, self._counted
        parts = zip(*map(msgspec.structs.astuple, (self.kept.usage, total, counted)), strict=True)
        self.kept.usage = TotalUsage(*(kept + now - before for kept, now, before in parts))
        self._counted = msgspec.structs.replace(total)

    def _say(self, document: Mapping[str, Any]) -> None:
        self.kept.unwritten.append(msgspec.json.encode(document).decode())

    def _slice(self, sample: Sample) -> str:
        value = slice_value(sample, self._by)
        if value not in self.kept.slices:
            if len(self.kept.slices) == MAX_SLICES:
                return OTHER
            self.kept.slices.append(value)
        return value

    def _bet(self, record: SampleRecord, value: str, moment: float) -> None:
        """Add the scores of a trace to the evidence of the alarms on a slice, and raise those that have enough."""
        for rule in self._rules:
            score = record.scores.get(rule.gate.metric)
            if score is None or score.value is None or (value != ALL and not rule.sliced):
                continue
            name = rule.name if value == ALL else f"{rule.name}@{self._by}={value}"
            alarm = self.kept.alarms.get(name)
            if alarm is None or alarm.bound != rule.gate.bound:  # as where a newer run has the name of --against
                alarm = self._renewed(name, rule.gate.bound)
            alarm.needed = 1 / (rule.alpha * self._part(rule, value))
            if alarm.raised:
                continue
            low, width = rule.scale[0], rule.scale[1] - rule.scale[0]
            if name not in self._bets:
                self._bets[name] = Bets([(rule.gate.bound - low) / width], rule.gate.fails)
                if alarm.capital:
                    self._bets[name].restore(alarm.capital)
            self._bets[name].add(min(max((score.value - low) / width, 0.0), 1.0))
            alarm.evidence = float(self._bets[name].capital[0])
            if alarm.evidence >= alarm.needed:
                alarm.raised, alarm.notified = moment, False
                start = moment // self._window * self._window
                line = {"alarm": name, **_shown(alarm), "scores": self._bets[name].n, "bound": rule.gate.bound}
                self._say(line)
                mean = _estimates(self._parts[start][value])[rule.gate.metric]["value"]
                alarm.message = {**line, "mean": mean, "window": _span(start, start + self._window)}

    def _part(self, rule: AlarmRule, value: str) -> float:
        """The part of a rule's alpha that a slice has: those of all slices sum to 1, however many there will be."""
        if not (self._by and rule.sliced):
            return 1.0
        place = 1 if value == ALL else 2 + (self.kept.slices.index(value) if value in self.kept.slices else MAX_SLICES)
        return 1 / (place * (place + 1))

    def answer(self, answers: Mapping[str, Answers]) -> None:
        """Start alarms anew that people have acknowledged."""
        for name, answer in answers.items():
            alarm = self.kept.alarms.get(name)
            if alarm and alarm.raised and answer.acknowledged == alarm.raised:
                self._renewed(name, alarm.bound, alarm.needed)

    def _renewed(self, name: str, bound: float, needed: float = 0.0) -> Alarm:
        """A new alarm without evidence, in place of the one that has this name."""
        self._bets.pop(name, None)
        self.kept.alarms[name] = Alarm(name, bound, needed)
        return self.kept.alarms[name]

    def to_notify(self, answers: Mapping[str, Answers], now: float) -> list[Alarm]:
        """The raised alarms that nobody was told of yet and that are not silent."""
        alarms = [alarm for alarm in self.kept.alarms.values() if alarm.raised and not alarm.notified]
        return [alarm for alarm in alarms if answers.get(alarm.name, Answers()).silent_until <= now]

    def _time(self, sample: Sample) -> float | None:
        values = (sample.metadata.get(name) for name in self._times)
        times = (parsed_time(value) for value in values if value is not None)
        return next((moment for moment in times if moment is not None), None)

    def state(self) -> str:
        """All of this as JSON, for `restore`; traces that are kept as runs are kept before."""
        if self.runs:
            self.runs.keep(self.kept.windows)
        self._count_usage()
        for name, bets in self._bets.items():
            self.kept.alarms[name].capital = bets.state()
        for start, parts in self._parts.items():
            self.kept.windows[start].sums = {
                value: {
                    key: [sums.summary.state(), sums.undefined, sums.failed, sums.counted, sums.pieces]
                    for key, sums in part.by_key.items()
                }
                for value, part in parts.items()
            }
        self.kept.so_far = {key: sequence.state() for key, sequence in self._so_far.items()}
        if isinstance(self.budget, DailyBudget):
            self.kept.day, self.kept.spent = self.budget.day, self.budget.spent_today
        return msgspec.json.encode(self.kept).decode()

    def restore(self, text: str) -> list[str]:
        """Go on from a state; the lines that may not be in the output. Raises BadParameter for other options."""
        kept, options = msgspec.json.decode(text, type=WatchState), self.kept.options
        if msgspec.json.decode(msgspec.json.encode(options)) != kept.options:
            names = ("--window", "--grace", "--sample", "--by", "-m", "--label")
            was = ", ".join(f"{name} {value}" for name, value in zip(names, kept.options, strict=False) if value)
            raise BadParameter(f"this folder is watched with {was}; give the same, or keep this watch in another store")
        for key in self._so_far.keys() & kept.so_far.keys():
            self._so_far[key].restore(kept.so_far[key])
        for start, window in kept.windows.items():
            parts = self._parts[start] = {value: Accumulators(self._metrics) for value in window.sums}
            for value, sums in window.sums.items():
                for key, (summary, *numbers) in sums.items():
                    scores = parts[value].by_key[key]
                    scores.summary = Summary.restored(summary)
                    scores.undefined, scores.failed, scores.counted, scores.pieces = numbers
        if isinstance(self.budget, DailyBudget):
            self.budget.restore(kept.day, kept.spent)
        self.kept, lines = kept, kept.unwritten
        kept.unwritten = []
        return lines


def _tally(counts: dict[str, int], *names: str) -> None:
    """Add 1 to each."""
    for name in names:
        counts[name] = counts.get(name, 0) + 1


def parsed_time(value: Any) -> float | None:
    """Seconds since 1970 of a number of seconds, milli-, micro- or nanoseconds, or of an ISO time (UTC if it names no
    zone); None for anything else."""
    text = str(value).strip()
    with suppress(ValueError):
        number = float(text)
        while number > 1e11 and isfinite(number):
            number /= 1000
        return number if isfinite(number) and number >= 0 else None
    with suppress(ValueError):
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return None


def _estimates(accumulators: Accumulators) -> dict[str, Any]:
    names = ("value", "low", "high", "n", "undefined", "failed")
    estimates = accumulators.estimates().items()
    return {key: {name: getattr(estimate, name) for name in names} for key, estimate in estimates}


def _shown(alarm: Alarm) -> dict[str, Any]:
    raised = {"raised": iso_time(alarm.raised)} if alarm.raised else {}
    return {"evidence": round(alarm.evidence, 4), "needed": round(alarm.needed, 4), **raised}


def _span(start: float, end: float) -> dict[str, str]:
    return {"start": iso_time(start), "end": iso_time(end)}


def iso_time(moment: float) -> str:
    """A time as "2026-01-31T09:00:00Z"."""
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
