"""Alarms on live scores: how often they are false, how soon they are right, and how many traces a second they follow.

Run `python benchmarks/live.py --store STORE`, where STORE holds a run of real scores, or leave it out to score the
packaged answers first; `--metric` names the scores, faithfulness by default. Streams are drawn from those scores with
replacement. Without change, the bound of the alarm is their mean, where a false alarm is most likely; with a change,
answers fail (a score of 0) so often that the mean drops by 0.1.

Beside it: a 95 % interval of all scores so far, looked at every 20 traces; and a one-sided test at 5 % that knows when
the change comes, and how large it is, and so needs the fewest scores for a power of 0.8. Seeded: every run prints the
same tables, but for times.
"""

from __future__ import annotations

import argparse
import resource
import time
from importlib.resources import files
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ragauge as rg
from ragauge.metrics.registry import select_metrics
from ragauge.run.live import Watch, WindowRuns, alarm_rules
from ragauge.run.stream import StreamRow, StreamScores
from ragauge.scores import RunRecord, SampleRecord, ScoreRecord
from ragauge.statistics.sequential import FRACTIONS, SPACING
from ragauge.store import Store
from ragauge.types import Sample

Array = NDArray[np.float64]
REPLAYS, LENGTH, LOOK, NEEDED = 1000, 2000, 20, 20.0


def first_alarms(scores: Array, bound: float) -> Array:
    """The number of scores after which the alarm is raised in each stream (a row); the length + 1 if it is not.

    This is `Bets` over many streams at once.
    """
    streams, length = scores.shape
    stakes = np.outer(FRACTIONS, np.full(streams, 1 / (1 - bound)))
    capital, first = np.zeros_like(stakes), np.full(streams, length + 1.0)
    for place in range(length):
        if place % SPACING == 0:
            start = place // SPACING + 1
            capital += 1 / (start * (start + 1)) / len(FRACTIONS)
        capital *= 1 + stakes * (bound - scores[:, place])
        first[(first > length) & (capital.sum(axis=0) >= NEEDED)] = place + 1
    return first


def first_intervals(scores: Array, bound: float, confidence: float) -> Array:
    """After how many scores an interval of all so far, looked at every LOOK, first ends below the bound."""
    z = NormalDist().inv_cdf(confidence)
    counts = np.arange(1, scores.shape[1] + 1)
    means = scores.cumsum(axis=1) / counts
    variances = np.maximum((scores**2).cumsum(axis=1) / counts - means**2, 1e-12)
    is_below = (means + z * np.sqrt(variances / counts) < bound)[:, LOOK - 1 :: LOOK]
    return np.where(is_below.any(axis=1), LOOK * (1.0 + is_below.argmax(axis=1)), np.inf)


def with_failures(scores: Array, drop: float, chance: np.random.Generator) -> Array:
    """Scores of which so many are 0 that the mean is lower by `drop`."""
    return np.where(chance.random(scores.shape) < drop / scores.mean(), 0.0, scores)


def fewest(scores: Array, drop: float, chance: np.random.Generator) -> int:
    """The fewest scores after the change with which a test that knows it has a power of 0.8, at 5 % one-sided."""
    before, after = scores.std(), with_failures(np.resize(scores, 100_000), drop, chance).std()
    z_error, z_power = NormalDist().inv_cdf(0.95), NormalDist().inv_cdf(0.8)
    return int(np.ceil(((z_error * before + z_power * after) / drop) ** 2))


def real_scores(store: str | None, metric: str) -> Array:
    """The scores of the newest run in a store, or of the packaged answers."""
    opened = Store.open(store) if store else None
    values = opened.values(opened.run("latest").id, metric) if opened else _packaged(metric)
    return np.array([value for value in values if value is not None])


def _packaged(metric: str) -> list[float | None]:
    return rg.evaluate(str(files("ragauge.demo") / "baseline.jsonl"), metric).values(metric)


def false_alarms(scores: Array, chance: np.random.Generator) -> None:
    """Print how many of the streams without change raise an alarm."""
    streams = chance.choice(scores, (REPLAYS, LENGTH))
    mean = float(scores.mean())
    print(f"\n{REPLAYS:,} streams of {LENGTH:,} scores without change, bound at their mean of {mean:.3f}")
    print(f"  the alarm                               {(first_alarms(streams, mean) <= LENGTH).mean():6.1%}")
    one_sided = np.isfinite(first_intervals(streams, mean, 0.95))
    two_sided = [np.isfinite(first_intervals(values, 0.0, 0.975)) for values in (streams - mean, mean - streams)]
    print(f"  a 95 % lower limit, every {LOOK} traces     {one_sided.mean():6.1%}")
    print(f"  a 95 % interval, every {LOOK} traces        {(two_sided[0] | two_sided[1]).mean():6.1%}")


def delays(scores: Array, chance: np.random.Generator) -> None:
    """Print after how many scores a drop of 0.1 is noticed in four of five streams."""
    drop, mean = 0.1, float(scores.mean())
    known = fewest(scores, drop, chance)
    print(f"\na drop of {drop} from {mean:.3f}: scores until the alarm in 80 % of {REPLAYS:,} streams")
    print(f"  a test that knows when and how much     {known:6}")
    for before in (0, 200, 1000, 5000, 20_000):
        parts = chance.choice(scores, (REPLAYS, before)), chance.choice(scores, (REPLAYS, LENGTH))
        streams = np.concatenate([parts[0], with_failures(parts[1], drop, chance)], axis=1)
        first = first_alarms(streams, mean) - before
        late = first[first > 0]
        delay = float(np.quantile(late, 0.8))
        print(f"  after {before:6,} good scores               {delay:6.0f}   {delay / known:4.1f} x")


def throughput(number: int) -> None:
    """Print how many traces a second windows and alarms follow, and the memory that they take."""
    metrics = select_metrics("exact_match")
    watch = Watch(metrics, 3600, 360, by="model", rules=alarm_rules(["exact_match<0.8"], metrics, None))
    record: dict[str, Any] = {"exact_match": ScoreRecord(1.0)}
    start, peaks = time.process_time(), []
    for place in range(number):
        sample = Sample(str(place), metadata={"start_time": 1.7e9 + place / 1000, "model": f"m{place % 3}"})
        scores = StreamScores(StreamRow("", place, {}), SampleRecord(sample, record), sample=sample, trace=str(place))
        watch.add(scores, 2e9)
        watch.kept.unwritten.clear()
        if (place + 1) % (number // 5) == 0:
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
    seconds = time.process_time() - start
    print(f"windows, 3 slices and 4 alarms: {number / seconds:,.0f} traces a second of one core")
    print(f"  memory after each fifth of {number:,} traces: {', '.join(f'{peak} MiB' for peak in peaks)}")


def kept_runs(number: int) -> None:
    """Print how many traces a second are kept as runs beside that, for people to label, and how large they are."""
    metrics, texts = select_metrics("exact_match"), "One answer of some length, with what was retrieved for it. " * 20
    watch = Watch(metrics, 3600, 360, to_label=10)
    with Store.temporary() as store:
        pattern = RunRecord("", "", "logs", ("exact_match",), {}, rg.__version__, "logs", to_label=10)
        watch.runs = WindowRuns(store, pattern, metrics)
        start, before = time.process_time(), store.path.stat().st_size
        for place in range(number):
            sample = Sample(str(place), response=f"{place} {texts}", metadata={"start_time": 1.7e9 + place})
            record = SampleRecord(sample, {"exact_match": ScoreRecord(1.0)})
            watch.add(StreamScores(StreamRow("", place, {}), record, sample=sample, trace=str(place)), 2e9)
            if place % 200 == 0:
                store.keep_stream_states({"logs": watch.state()})
        watch.finish()
        seconds = time.process_time() - start
        size = (store.path.stat().st_size - before) / number
    print(f"kept as runs: {number / seconds:,.0f} traces a second of one core, {size:,.0f} bytes a trace")


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store")
    parser.add_argument("--metric", default="faithfulness")
    parser.add_argument("--traces", type=int, default=1_000_000)
    options = parser.parse_args()
    scores, chance = real_scores(options.store, options.metric), np.random.default_rng(0)
    print(f"{len(scores)} scores of {options.metric}: mean {scores.mean():.3f}, deviation {scores.std():.3f}")
    throughput(options.traces)
    kept_runs(min(options.traces, 20_000))
    false_alarms(scores, chance)
    delays(scores, chance)


if __name__ == "__main__":
    main()
