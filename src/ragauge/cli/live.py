"""`ragauge score` and `alarms`: lines as they come, one by one or in windows with alarms."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import click
import msgspec

from ragauge.cli import options as opts
from ragauge.cli.main import say
from ragauge.cli.options import Texts
from ragauge.cli.run import exit_on_interrupt, exit_stopped
from ragauge.errors import BadParameter, RunFailed, UnknownName, UsageError
from ragauge.metrics.registry import select_metrics
from ragauge.report.files import check_place
from ragauge.report.otlp import RefusedEvents, receiver_address, send_events
from ragauge.report.wording import counted
from ragauge.run.aggregation import Accumulators
from ragauge.run.live import Alarm, Answers, Watch, WatchState, WindowRuns, alarm_rules, iso_time, seconds
from ragauge.run.prepare import RunRequest
from ragauge.run.results import Run
from ragauge.run.stream import Stream, StreamRow, StreamScores, standard_input_lines
from ragauge.run.sync import blocking
from ragauge.run.tail import FolderTail
from ragauge.scores import RunRecord, SampleRecord
from ragauge.store import Place, Store
from ragauge.version import VERSION

#: Seconds between two looks at the clock, after which without a trace a stream is idle, and for a command or webhook.
TICK, IDLE, PATIENCE = 0.5, 2.0, 30.0
#: Seconds after which somebody who could not be told of an alarm, or a receiver that took no scores, is told again.
RETRY = 60.0
#: Traces whose scores wait for a receiver.
MOST_WAITING = 10_000


def _share(_: click.Context, __: click.Parameter, value: str) -> float:
    try:
        share = float(value.removesuffix("%")) / (100 if value.endswith("%") else 1)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise BadParameter(f"--sample {value}: give a share such as 5% or 0.05")
    return share


#: How traces are put together; see `Watch`.
_window_options = opts.combined(
    click.option("--window", metavar="TIME", help="Write an estimate for each window of time, such as 1h, not lines."),
    click.option("--grace", metavar="TIME", help="How late traces may come. [default: a tenth of the window]"),
    click.option("--time", "time_column", metavar="COLUMN", default="", help="When a trace began."),
    click.option("--by", metavar="COLUMN", default="", help="Estimates and alarms for each value too, such as model."),
    click.option(
        "--sample", default="100%", metavar="SHARE", callback=_share, help="Score this share of traces, by their ids."
    ),
    click.option(
        "--label", type=opts.POSITIVE, metavar="N", help="Keep each window as a run, of which people label N."
    ),
    click.option("--alarm", multiple=True, metavar="METRIC<NUMBER", help="Raise an alarm for such a mean; repeatable."),
    click.option("--against", metavar="RUN", help="Raise an alarm too where a metric of --alarm is worse than there."),
    click.option("--on-alarm", metavar="COMMAND|URL", help="Run this, or post to it, with the alarm as JSON."),
    click.option("--fail-on-alarm", is_flag=True, help="End with 3 at the first alarm."),
    click.option("-o", "--output", type=opts.OUT_FILE, help="Append windows and alarms to this file (.jsonl)."),
)


@click.command("score")
@click.argument("data", default="", metavar="[-]")
@click.option(
    "--watch", type=opts.FOLDER, metavar="FOLDER", help="Score the lines of .jsonl files in this folder, without end."
)
@opts.stream_options
@opts.otlp_option
@_window_options
def score_command(data: str, watch: Path | None, store: Place | None, otlp: str | None, **options: Any) -> None:
    """Score JSON Lines as they come, from standard input or a folder.

    Memory does not grow. One line of JSON is written for each, in order: its number, and its scores with evidence as in
    the .jsonl of `run`, or under "error" why there are none. With --window one is written for each window of time, and
    each alarm. No run is kept, but judgments are.
    """
    if bool(watch) == bool(data):
        raise BadParameter("give - for standard input, or --watch FOLDER")
    if data not in ("", "-"):
        raise BadParameter(f"{data!r} is not -; measure a file with `ragauge run`, or feed it: ragauge score - < FILE")
    names = "window grace time_column by sample label alarm against on_alarm fail_on_alarm output"
    windows = {name: options.pop(name) for name in names.split()}
    kept = None if store is None else Store.open(store)
    request = RunRequest(store=kept, **opts.evaluation_arguments(**options))
    tail = FolderTail(watch, kept) if watch else None
    sender = _Sender(otlp)
    if windows["window"]:
        session = _Session(request, tail, kept, windows, sender)
        with exit_on_interrupt(store):
            blocking(session.run, "score")()
        stream = session.stream
        if session.failed:
            raise SystemExit(3)
    else:
        needless = [name for name, value in windows.items() if value and value != 1.0]
        if needless:
            raise BadParameter(f"--{needless[0].replace('_', '-')} needs --window TIME, such as --window 1h")
        counts: Counter[bool] = Counter()
        stream = Stream(request)
        with exit_on_interrupt(store):
            blocking(_write_scores, "score")(stream, tail, counts, sender)
        say(f"{counted(counts.total(), 'line')}, {counts[False]} without scores", err=True)
        if counts[False] and not counts[True] and not stream.stopped:
            raise RunFailed("no line could be scored; the errors are in the output")
    if stream.stopped:
        exit_stopped(stream.stopped, store)


async def _rows(tail: FolderTail | None) -> AsyncIterator[StreamRow]:
    if tail:
        async for line in tail.lines():
            yield StreamRow(line.file.name, line.position.line, line.text, line)
    else:
        async for row in standard_input_lines():
            yield row


class _Sender:
    """Sends scores to a receiver of OpenTelemetry's protocol, if there is one; again where it did not answer.

    While a request is under way, or the receiver is gone, scores wait: up to MOST_WAITING, and others are lost.
    """

    def __init__(self, url: str | None) -> None:
        self._url = url
        if url:
            receiver_address(url)
        self._run = RunRecord("", "", "", (), {}, VERSION)
        self._waiting: deque[SampleRecord] = deque(maxlen=MOST_WAITING)
        self._unsent, self._next = 0, 0.0
        self._sending: asyncio.Task[None] | None = None

    def add(self, result: StreamScores) -> None:
        """Send the scores of a trace, if it has any, with those that wait."""
        if not (self._url and result.record and result.settings):
            return
        if not self._run.estimates.keys() >= result.record.scores.keys():
            self._run.estimates |= Accumulators(result.settings.metrics).estimates()
        self._waiting.append(result.record)
        self._unsent += 1
        if (self._sending is None or self._sending.done()) and time.monotonic() >= self._next:
            self._sending = asyncio.create_task(self._send(self._url))

    async def _send(self, url: str) -> None:
        """Send what waits, and what comes meanwhile, until a request fails."""
        while records := list(self._waiting):
            self._run.started = datetime.now(UTC).isoformat()
            self._waiting.clear()
            try:
                await asyncio.to_thread(send_events, self._run, records, url)
                self._unsent -= len(records)
            except UsageError as error:
                say(f"--otlp: {error}", err=True)
                if isinstance(error, RefusedEvents):
                    continue
                self._waiting = deque([*records, *self._waiting], MOST_WAITING)
                self._next = time.monotonic() + RETRY
                return

    async def close(self) -> None:
        """Send what waits, and say what could not be sent."""
        if self._sending:
            await self._sending
        if self._url and self._waiting:
            await self._send(self._url)
        if self._unsent:
            say(f"--otlp: the scores of {counted(self._unsent, 'trace')} were not sent to {self._url}", err=True)


async def _write_scores(stream: Stream, tail: FolderTail | None, counts: Counter[bool], sender: _Sender) -> None:
    """Write a line for each row at once. counts: how many have scores, and how many have not."""
    try:
        async with aclosing(stream.scored(_rows(tail))) as results:
            async for result in results:
                line = result.row.line
                place = {"file": result.row.where, "line_id": line.id} if line else {}
                document = {**place, "line": result.row.number, **result.document()}
                click.echo(json.dumps(document, ensure_ascii=False).encode(errors="replace"))
                counts[result.error is None] += 1
                sender.add(result)
                if tail and line and not result.ended:
                    tail.delivered(line)
    finally:
        await sender.close()
        if tail:
            tail.close()


class _Session:
    """Scores traces into windows until they end. failed: whether it ended by an alarm."""

    def __init__(
        self,
        request: RunRequest,
        tail: FolderTail | None,
        store: Store | None,
        options: Mapping[str, Any],
        sender: _Sender,
    ) -> None:
        alarm, against, self._output = options["alarm"], options["against"], options["output"]
        if request.metrics is None:
            raise BadParameter("name the metrics of the windows, such as -m faithfulness")
        if against and not (store and alarm):
            raise BadParameter(f"--against {against}: name its metrics with --alarm, and the run's store with --store")
        if self._output:
            check_place(self._output)
            self._output.parent.mkdir(parents=True, exist_ok=True)
        length, grace = seconds(options["window"]), options["grace"]
        metrics = select_metrics(request.metrics)
        run = Run(store, store.run(against)) if against and store else None
        rules = alarm_rules(alarm, metrics, run)
        to_label = options["label"] or 0
        if to_label and not (tail and store):
            raise BadParameter("--label keeps each window as a run; give --watch FOLDER, and no --no-store")
        more = (options["sample"], options["by"], rules, options["time_column"], to_label)
        self.watch = Watch(metrics, length, seconds(grace) if grace else length / 10, *more)
        self.stream = Stream(request, self.watch.chosen)
        self.watch.budget = self.stream.budget
        self.failed = False
        self._tail, self._store, self._sender = tail, store, sender
        self._on_alarm, self._fail_on_alarm = options["on_alarm"], options["fail_on_alarm"]
        self._last_trace, self._next_look = time.monotonic(), 0.0
        self._retries: dict[str, float] = {}  # when an alarm that nobody could be told of is told again
        if tail and store:
            if to_label:
                specs, judges = tuple(metric.spec for metric in metrics), self.stream.judges
                name = Path(tail.name).name
                pattern = RunRecord("", "", tail.name, specs, judges, VERSION, name, to_label=to_label)
                self.watch.runs = WindowRuns(store, pattern, metrics)
            if kept := store.stream_state(_state_name(tail.name)):
                _append(self._output, _missing(self._output, self.watch.restore(kept)))  # killed before it wrote them
            store.keep_stream_states(self._states())
            tail.companion = self._states

    async def run(self) -> None:
        """Score what comes, until it ends or an alarm does it."""
        results = self.stream.scored(_rows(self._tail))
        coming = asyncio.ensure_future(anext(results, None))
        try:
            while not self.failed:
                await asyncio.wait([coming], timeout=TICK)
                if not coming.done():
                    self._look()
                    continue
                if (result := coming.result()) is None:
                    break
                coming = asyncio.ensure_future(anext(results, None))
                if not result.ended:
                    self._last_trace = time.monotonic()
                    self.watch.add(result, time.time())
                    self._sender.add(result)
                    if self._tail and result.row.line:
                        self._tail.delivered(result.row.line)
                    self._flush()
            if not (self._tail or self.failed):
                self.watch.finish()
                self._flush()
        finally:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)
            await results.aclose()
            await self._sender.close()
            if self._tail:
                self._tail.close()

    def _look(self) -> None:
        """Complete what time alone completes, and hear what people said about alarms."""
        if not self.stream.in_flight and time.monotonic() - self._last_trace > IDLE:
            self.watch.advance(time.time())
        self._flush()

    def _flush(self) -> None:
        """Write lines so that each is written once, whenever the process is killed, and tell of alarms."""
        if lines := self.watch.kept.unwritten:
            if self._tail:
                self._tail.record()
            _append(self._output, lines)
            lines.clear()
            self._tell()
            if self._tail:
                self._tail.record()
        elif any(alarm.raised for alarm in self.watch.kept.alarms.values()) and time.monotonic() > self._next_look:
            self._tell()

    def _tell(self) -> None:
        """Tell of raised alarms, unless they are silent or acknowledged."""
        answers = _answers(self._store, self._tail.name) if self._store and self._tail else {}
        self.watch.answer(answers)
        self._next_look = time.monotonic() + TICK
        for alarm in self.watch.to_notify(answers, time.time()):
            retry = self._retries.pop(alarm.name, 0.0)
            if not retry:
                say(f"alarm: {_described(alarm)}", err=True)
            if time.monotonic() >= retry:
                alarm.notified = not self._on_alarm or _told(self._on_alarm, alarm, self._tail)
                retry = time.monotonic() + RETRY
            if not alarm.notified:
                self._retries[alarm.name] = retry
            self.failed = self.failed or self._fail_on_alarm

    def _states(self) -> Mapping[str, str]:
        assert self._tail
        return {_state_name(self._tail.name): self.watch.state()}


def _append(output: Path | None, lines: Sequence[str]) -> None:
    """Append whole lines to the output. Raises OSError, as where the disk is full."""
    if output is None:
        for line in lines:
            click.echo(line)
    elif lines:
        with output.open("ab") as file:
            file.write("".join(f"{line}\n" for line in lines).encode())


def _missing(output: Path | None, lines: Sequence[str]) -> list[str]:
    """Those of the lines that the output does not end with; the beginning of one, if it does, is cut off."""
    if output is None or not lines or not output.exists():
        return list(lines)
    with output.open("r+b") as file:
        end = file.seek(0, 2)
        file.seek(max(0, end - sum(len(line.encode()) + 1 for line in lines)))
        *whole, last = file.read().split(b"\n")
        if last and any(line.encode().startswith(last) for line in lines):
            file.truncate(end - len(last))
    return [line for line in lines if line.encode() not in whole]


def _told(where: str, alarm: Alarm, tail: FolderTail | None) -> bool:
    """Run a command with an alarm as its input, or post it to a URL; whether that went well."""
    folder = tail.name if tail else None
    message = alarm.message or {"alarm": alarm.name, "raised": iso_time(alarm.raised), "evidence": alarm.evidence}
    mean = f", mean in this window {message['mean']:.3g}" if "mean" in message else ""
    text = f"{folder or 'standard input'}: {_described(alarm)}{mean}"
    body = msgspec.json.encode({**message, "folder": folder, "text": text})
    try:
        if where.startswith(("http://", "https://")):
            urlopen(Request(where, body, {"Content-Type": "application/json"}), timeout=PATIENCE).close()
        else:
            subprocess.run(where, shell=True, input=body, timeout=PATIENCE, check=True)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        say(f"--on-alarm {where}: {error}; it is tried again", err=True)
        return False
    return True


def _described(alarm: Alarm) -> str:
    if not alarm.raised:
        return f"{alarm.name}: quiet, evidence {alarm.evidence:.3g} of {alarm.needed:.3g}"
    return f"{alarm.name}: raised at {iso_time(alarm.raised)}, evidence {alarm.evidence:.3g} of {alarm.needed:.3g}"


def _state_name(folder: str) -> str:
    return f"{folder}#windows"


def _answers(store: Store, folder: str) -> dict[str, Answers]:
    kept = store.stream_state(f"{folder}#answers")
    return msgspec.json.decode(kept, type=dict[str, Answers]) if kept else {}


@click.command("alarms")
@click.argument("folder", type=opts.FOLDER)
@click.option("--acknowledge", multiple=True, metavar="ALARM", help="Start a raised alarm anew; repeatable.")
@click.option(
    "--silence",
    multiple=True,
    metavar="ALARM=TIME",
    help="Tell nobody of an alarm for a time, such as 2h, though it is still raised; repeatable.",
)
@opts.open_store_option("The store of the watch.", to_read=False)
def alarms_command(folder: Path, acknowledge: Texts, silence: Texts, store: Store) -> None:
    """Show, acknowledge or silence the alarms of a watched folder. `ragauge score --watch` watches it."""
    name = str(folder.resolve())
    kept = store.stream_state(_state_name(name))
    if kept is None:
        raise BadParameter(f"{folder} was not watched with this store; see `ragauge score --watch FOLDER --window 1h`")
    alarms = msgspec.json.decode(kept, type=WatchState).alarms
    answers = _answers(store, name)
    silences = [written.rpartition("=") for written in silence]
    for wanted in (*acknowledge, *(wanted for wanted, _, _ in silences)):
        if wanted not in alarms:
            raise UnknownName("alarm", wanted, alarms)
    for wanted in acknowledge:
        if not alarms[wanted].raised:
            raise BadParameter(f"{wanted} is not raised; acknowledge those that are")
        answers.setdefault(wanted, Answers()).acknowledged = alarms[wanted].raised
    for wanted, _, duration in silences:
        answers.setdefault(wanted, Answers()).silent_until = time.time() + seconds(duration)
    if acknowledge or silences:
        store.keep_stream_states({f"{name}#answers": msgspec.json.encode(answers).decode()})
    for alarm in alarms.values():
        answer = answers.get(alarm.name, Answers())
        states = ["acknowledged"] if alarm.raised and answer.acknowledged == alarm.raised else []
        states += [f"silent until {iso_time(answer.silent_until)}"] if answer.silent_until > time.time() else []
        say("; ".join([_described(alarm), *states]))
    if not alarms:
        say("no alarm has seen a score yet")
