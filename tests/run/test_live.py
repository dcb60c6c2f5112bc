"""Windows and alarms of traces as they come."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragauge as rg
from ragauge.errors import BadParameter, UnknownName
from ragauge.metrics.registry import select_metrics
from ragauge.run.live import Answers, Watch, alarm_rules, is_sampled, parsed_time, seconds
from ragauge.run.stream import StreamRow, StreamScores
from ragauge.scores import SampleRecord, ScoreRecord
from ragauge.types import Sample

METRICS = select_metrics("exact_match")
#: 2026-01-01, 00:00 UTC.
START = 1767225600.0
NOW = START + 10 * 86400


def trace(id: str, moment: float | None, value: float | None = 1.0, **columns: Any) -> StreamScores:
    """A trace that began `moment` seconds after START, with its score."""
    metadata = {**columns, **({} if moment is None else {"start_time": START + moment})}
    sample = Sample(id, metadata=metadata)
    scores = {"exact_match": ScoreRecord(value, None if value is not None else "nothing to count")}
    return StreamScores(StreamRow("", 1, {}), SampleRecord(sample, scores), sample=sample, trace=id)


def watch(*alarms: str, by: str = "", grace: float = 60) -> Watch:
    """A watch with windows of an hour."""
    return Watch(METRICS, 3600, grace, by=by, rules=alarm_rules(alarms, METRICS, None))


def written(watched: Watch) -> list[dict[str, Any]]:
    """The lines that it has written."""
    return [json.loads(line) for line in watched.kept.unwritten]


def test_a_window_has_the_estimate_of_its_traces() -> None:
    """A window is written once a trace is later than its end and the grace; it has the estimate of a run over it."""
    watched = watch()
    for place, value in enumerate([1, 0, 1, 1]):
        watched.add(trace(f"t{place}", 900 * place, value), NOW)
    watched.add(trace("next", 3600 + 59), NOW)
    assert written(watched) == []
    watched.add(trace("later", 3600 + 60), NOW)
    (line,) = written(watched)
    assert line["window"] == {"start": "2026-01-01T00:00:00Z", "end": "2026-01-01T01:00:00Z"}
    assert (line["traces"], line["scored"]) == (4, 4)
    rows = [{"response": str(value), "references": ["1"]} for value in (1, 0, 1, 1)]
    estimate = rg.evaluate(rows, "exact_match").estimates["exact_match"]
    shown = line["estimates"]["exact_match"]
    assert (shown["value"], shown["low"], shown["high"], shown["n"]) == (
        estimate.value,
        estimate.low,
        estimate.high,
        4,
    )


def test_undefined_is_no_value() -> None:
    """A score with nothing to count is counted as undefined, in the window and for no alarm."""
    watched = watch("exact_match<0.9")
    for place in range(500):
        watched.add(trace(str(place), place, None), NOW)
    watched.finish()
    (line,) = written(watched)
    assert (line["estimates"]["exact_match"]["value"], line["estimates"]["exact_match"]["undefined"]) == (None, 500)
    assert line["alarms"] == {}


def test_a_time_without_traces_is_said_and_raises_no_alarm() -> None:
    """Between two traces hours apart one line says that nothing is known of the windows between them."""
    watched = watch("exact_match<0.5")
    watched.add(trace("a", 0), NOW)
    watched.add(trace("b", 5 * 3600 + 100), NOW)
    first, empty = written(watched)
    assert first["traces"] == 1
    assert empty["window"] == {"start": "2026-01-01T01:00:00Z", "end": "2026-01-01T05:00:00Z"}
    assert (empty["traces"], empty["estimates"]) == (0, {})
    assert empty["note"] == "no traces: nothing is known of this time, no alarm"


def test_an_idle_stream_completes_its_windows_by_the_clock() -> None:
    """Without traces the clock completes windows, one with traces and then the empty ones."""
    watched = watch()
    watched.add(trace("a", 10), START + 10)
    watched.advance(START + 3600 + 60)
    watched.advance(START + 2 * 3600 + 60)
    assert [line["traces"] for line in written(watched)] == [1, 0]


def test_late_repeated_and_skewed_traces_are_counted_and_said() -> None:
    """A trace of a complete window is late, one of the same id counts once, one from the future now."""
    watched = watch("exact_match<0.5")
    for _ in range(3):
        watched.add(trace("same", 100, 1), START + 200)
    watched.add(trace("skewed", 90_000, 1), START + 250)
    watched.add(trace("next", 3600 + 100), START + 3700)
    watched.add(trace("late", 200, 0), START + 3800)
    watched.finish()
    first, second = written(watched)
    assert (first["traces"], first["ahead"], first["repeated"]) == (2, 1, 2)
    assert (second["traces"], second["late"]) == (1, 1)
    assert second["so_far"]["exact_match"][0] == 1


def test_a_trace_without_a_time_counts_when_it_comes() -> None:
    """Without a column that says when a trace began, its window is that in which it came."""
    watched = watch()
    watched.add(trace("a", None), START + 3601)
    watched.finish()
    assert written(watched)[0]["window"]["start"] == "2026-01-01T01:00:00Z"


def test_one_wrong_clock_makes_no_other_trace_late() -> None:
    """In a backlog, a trace of the future or without a time counts beside the one before it, not at its arrival."""
    watched = watch()
    for place, moment in enumerate([100, 40 * 86400, None, 200, 300]):
        watched.add(trace(str(place), moment), NOW)
    watched.finish()
    (line,) = written(watched)
    assert (line["window"]["start"], line["traces"], line["ahead"]) == ("2026-01-01T00:00:00Z", 5, 1)


@pytest.mark.parametrize(
    "value", [1767225600, "1767225600000", 1767225600 * 10**9, "2026-01-01T00:00:00Z", "2026-01-01 01:00+01:00"]
)
def test_times_in_the_units_of_all_tools(value: Any) -> None:
    """Seconds, milli- and nanoseconds, and ISO times with or without a zone are the same moment."""
    assert parsed_time(value) == pytest.approx(START)


@pytest.mark.parametrize("value", ["yesterday", "", None, -5, "inf", [1]])
def test_what_is_no_time_is_none(value: Any) -> None:
    """Another value is no time, so that the arrival counts."""
    assert parsed_time(value) is None


def test_slices_have_estimates_and_alarms_of_their_own() -> None:
    """With `by` each value has its estimate; one that is bad raises its alarm, and the good one none."""
    watched = watch("exact_match<0.8", by="model")
    chance = random.Random(3)
    for place in range(600):
        model = ("good", "bad")[place % 2]
        value = 1.0 if model == "good" else float(chance.random() < 0.4)
        watched.add(trace(str(place), place, value, model=model), NOW)
    watched.finish()
    raised = [line["alarm"] for line in written(watched) if "alarm" in line]
    window = written(watched)[-1]
    assert "exact_match<0.8@model=bad" in raised
    assert "exact_match<0.8@model=good" not in raised
    assert window["slices"]["model"]["good"]["estimates"]["exact_match"]["value"] == 1
    assert window["slices"]["model"]["bad"]["traces"] == 300
    assert window["alarms"]["exact_match<0.8@model=bad"]["raised"]


def test_the_chances_of_all_slices_sum_to_one_in_twenty() -> None:
    """What the evidence of all alarms together needs allows 5 % false alarms, however many slices there are."""
    watched = watch("exact_match<0.8", by="model")
    for place in range(80):
        watched.add(trace(str(place), place, 1.0, model=f"m{place}"), NOW)
    assert sum(1 / alarm.needed for alarm in watched.kept.alarms.values()) <= 0.05
    assert len(watched.kept.alarms) == 1 + 50 + 1  # all, the first 50 values, and the others together


def test_an_alarm_against_a_run() -> None:
    """A metric is compared with the end of its interval in a run: no alarm for the same scores, one for worse ones."""
    rows = [{"response": "1" if place % 10 else "0", "references": ["1"]} for place in range(200)]
    run = rg.evaluate(rows, "exact_match", name="main")
    rules = alarm_rules(["exact_match"], METRICS, run)
    (rule,) = rules
    assert rule.name == "exact_match<main"
    assert rule.gate.bound == pytest.approx(run.estimates["exact_match"].low, abs=1e-9)
    same, worse = (Watch(METRICS, 3600, 60, rules=rules) for _ in range(2))
    for place in range(400):
        same.add(trace(str(place), place, float(place % 10 > 0)), NOW)
        worse.add(trace(str(place), place, float(place % 10 > 3)), NOW)
    assert not same.kept.alarms["exact_match<main"].raised
    assert worse.kept.alarms["exact_match<main"].raised


def test_evidence_is_about_one_bound() -> None:
    """A watch that goes on against a newer run of the same name, whose value differs, takes over no evidence."""

    def against(right: int) -> Watch:
        rows = [{"response": "1" if place < right else "0", "references": ["1"]} for place in range(100)]
        run = rg.evaluate(rows, "exact_match", name="main")
        return Watch(METRICS, 3600, 60, rules=alarm_rules(["exact_match"], METRICS, run))

    strict, lax = against(99), against(30)
    for place in range(200):
        strict.add(trace(str(place), place, float(place % 2)), NOW)
    assert strict.kept.alarms["exact_match<main"].raised
    lax.restore(strict.state())
    lax.add(trace("next", 500, 1.0), NOW)
    alarm = lax.kept.alarms["exact_match<main"]
    assert (alarm.raised, alarm.evidence < 1) == (0, True)


def test_an_acknowledged_alarm_starts_anew() -> None:
    """Acknowledged, an alarm is quiet, and raised again where scores stay bad; a silent one is told after its time."""
    watched = watch("exact_match<0.8")
    for place in range(100):
        watched.add(trace(str(place), place, 0.0), NOW)
    (alarm,) = watched.to_notify({}, NOW)
    assert list(watched.to_notify({alarm.name: Answers(silent_until=NOW + 5)}, NOW)) == []
    assert list(watched.to_notify({alarm.name: Answers(silent_until=NOW + 5)}, NOW + 5)) == [alarm]
    answers = {alarm.name: Answers(acknowledged=alarm.raised)}
    watched.answer(answers)
    assert not watched.kept.alarms[alarm.name].raised
    for place in range(100, 200):
        watched.add(trace(str(place), place, 0.0), NOW)
    watched.answer(answers)  # it was about the first
    assert watched.kept.alarms[alarm.name].raised > alarm.raised
    assert len([line for line in written(watched) if "alarm" in line]) == 2


@given(st.lists(st.tuples(st.integers(0, 9000), st.sampled_from([0.0, 0.5, 1.0, None])), max_size=60), st.data())
@settings(max_examples=40, deadline=None)
def test_a_restored_watch_writes_the_same(traces: list[tuple[int, float | None]], data: st.DataObject) -> None:
    """Wherever a watch is cut and restored from its state, its lines are those of one that was never cut."""
    cut = data.draw(st.integers(0, len(traces)))
    whole, first = watch("exact_match<0.9", by="model"), watch("exact_match<0.9", by="model")
    rows = [trace(str(place % 50), at, value, model=f"m{at % 3}") for place, (at, value) in enumerate(traces)]
    for row in rows:
        whole.add(row, NOW)
    for row in rows[:cut]:
        first.add(row, NOW)
    second = watch("exact_match<0.9", by="model")
    assert second.restore(first.state()) == first.kept.unwritten
    for row in rows[cut:]:
        second.add(row, NOW)
    for watched in (whole, second):
        watched.finish()
    assert first.kept.unwritten + second.kept.unwritten == whole.kept.unwritten


def test_a_state_of_other_options_is_refused() -> None:
    """A watch does not go on from the windows of one with other options, and says what those were."""
    with pytest.raises(BadParameter, match=r"watched with --window 3600.*give the same"):
        Watch(METRICS, 60, 6).restore(watch().state())


def test_a_sample_is_a_hash_of_the_id() -> None:
    """A share of 5 % takes about 5 % of ids, always the same, and a larger share all of a smaller one's."""
    ids = [f"{number:032x}" for number in range(20_000)]
    small, large = ({id for id in ids if is_sampled(share, id)} for share in (0.05, 0.2))
    assert 900 < len(small) < 1100
    assert small < large
    assert all(is_sampled(1.0, id) for id in ids)


@pytest.mark.parametrize(
    ("written_rule", "message"),
    [
        ("exact_matc<0.5", "did you mean 'exact_match'"),
        ("exact_match", "write exact_match<NUMBER or exact_match>NUMBER, or name a run with --against"),
        ("exact_match>0.5", "higher is better for exact_match, so good runs would fail; write exact_match<0.5"),
        ("exact_match<1.5", "off the scale of exact_match"),
    ],
)
def test_a_wrong_rule_is_told(written_rule: str, message: str) -> None:
    """An alarm that cannot be is refused with the way to write it."""
    with pytest.raises((BadParameter, UnknownName), match=message):
        alarm_rules([written_rule], METRICS, None)


def test_lengths_of_time() -> None:
    """Times are numbers with a unit; anything else is refused."""
    assert [seconds(text) for text in ("30s", "15m", "1.5h", "7d")] == [30, 900, 5400, 604800]
    for text in ("", "5", "1w", "-1h", "0h"):
        with pytest.raises(BadParameter, match="30s, 15m, 1h or 7d"):
            seconds(text)
