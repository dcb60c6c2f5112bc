"""Options that several commands share, gates among them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial, reduce
from math import isfinite, nan
from pathlib import Path
from typing import Any

import click
import msgspec

from ragauge.errors import BadParameter, RagaugeError, UsageError
from ragauge.judges.base import JudgeSpec
from ragauge.metrics.base import Measure, Metric
from ragauge.metrics.checks import check
from ragauge.metrics.registry import (
    CATALOGUE,
    OF_SUMMARIES,
    installed_names,
    key_of,
    select_metrics,
    split_specs,
    with_arguments,
)
from ragauge.readers.budget import ReadingLimits, set_default_limits
from ragauge.report.files import WRITERS, check_ending, check_place
from ragauge.scores import Gate, check_gate, gate_on
from ragauge.store import Place, Store, is_url


def gates(
    under: Sequence[str], over: Sequence[str], metrics: Sequence[str | Measure] | None, min_measured: float = 0.0
) -> list[Gate]:
    """The gates of --fail-under and --fail-over, with the share of --min-measured.

    Raises UnknownName for a metric that the run does not measure, and BadParameter for an invalid gate: of another
    form, failing on the better side of its metric, or with a bound off the metric's scale.
    """
    measured = (*CATALOGUE, *OF_SUMMARIES) if metrics is None else select_metrics(metrics)
    metric_of = {key: metric for metric in measured for key in metric.values}
    better = {key: metric.better for key, metric in metric_of.items()}
    gates = []
    for option, other, condition in [
        *(("--fail-under", "--fail-over", bound) for bound in under),
        *(("--fail-over", "--fail-under", bound) for bound in over),
    ]:
        # a metric's own parameters may contain a "=", and a slice does, as in faithfulness@domain=finance:0.8
        key, _, bound = condition.rpartition(":" if re.search(r"@[^@=]+=.*:", condition) else "=")
        number = _number(bound)
        if not (key and isfinite(number)):
            raise BadParameter(f"{option} {condition}: write METRIC=NUMBER, or METRIC@COLUMN=VALUE:NUMBER for a slice")
        gate = gate_on(key_of(key, measured), number, "below" if option == "--fail-under" else "above", better)
        metric, written = metric_of[gate.metric], f"{gate.key}{':' if gate.column else '='}{gate.bound:g}"
        check_gate(gate, metric.better, metric.scale, f"{option} {written}", f"write {other} {written}")
        gates.append(msgspec.structs.replace(gate, min_measured=min_measured))
    if not 0 <= min_measured <= 1:
        raise BadParameter(f"--min-measured {min_measured:g} is no share of samples; give a number from 0 to 1")
    if min_measured and not gates:
        raise BadParameter("--min-measured is for gates; add --fail-under METRIC=NUMBER or --fail-over METRIC=NUMBER")
    return gates


def _number(text: str) -> float:
    """The number that is written in a text, NaN where it is none."""
    with suppress(ValueError):
        return float(text)
    return nan


Option = Callable[[Any], Any]

#: The default store, in the working directory.
DEFAULT_STORE = ".ragauge"

#: What options hold that may be repeated.
Texts = Sequence[str]
Paths = Sequence[Path]


#: The types of options: to be written or read, and whole numbers from 1.
OUT_FILE = click.Path(dir_okay=False, path_type=Path)
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
OUT_FOLDER = click.Path(file_okay=False, path_type=Path)
INPUT = click.Path(exists=True, path_type=Path)
POSITIVE = click.IntRange(min=1)


def combined(*options: Option) -> Option:
    """Several options as one, in the order of the help."""
    return lambda command: reduce(lambda made, option: option(made), reversed(options), command)


def complete_metrics(_: click.Context, __: click.Parameter, typed: str) -> list[str]:
    """The list of metrics that was typed, with each name that completes its last."""
    before, comma, last = typed.rpartition(",")
    names = dict.fromkeys([metric.name for metric in CATALOGUE] + installed_names())
    return [f"{before}{comma}{name}" for name in names if name.startswith(last)]


def complete_runs(context: click.Context, _: click.Parameter, typed: str) -> list[str]:
    """The ids and names of the runs in the store that begin as typed."""
    try:
        with existing_store(context.params["store"]) as store:
            runs = store.runs()
    except RagaugeError:
        return []
    names = dict.fromkeys(["latest", *(run.name for run in runs), *(run.id for run in runs)])
    return [name for name in names if name and name.startswith(typed)]


def _keep_in_context(context: click.Context, option: click.Parameter, value: Any) -> None:
    context.meta[f"ragauge.{option.name}"] = value


#: An option that takes effect before the others are read, and is no argument of the command.
_early_option = partial(click.option, is_eager=True, expose_value=False)

#: The hosts that judge files may name; they are in the judges of the command, see `judge_spec`.
allow_host_option = _early_option(
    "--allow-host",
    "allow_hosts",
    multiple=True,
    metavar="HOST",
    callback=_keep_in_context,
    help="Let judge files send texts and your key to this host; repeatable.",
)


def judge_spec(context: click.Context, spec: str) -> str | JudgeSpec:
    """The spec of a judge, with the hosts of --allow-host."""
    hosts = context.meta.get("ragauge.allow_hosts")
    return JudgeSpec(spec, hosts) if hosts else spec


def _reading_limits(_: click.Context, __: click.Parameter, value: Texts) -> None:
    try:
        set_default_limits(msgspec.convert(pairs(value, "--reading-limit"), ReadingLimits, strict=False))
    except msgspec.ValidationError as error:
        names = ", ".join(ReadingLimits.__struct_fields__)
        raise BadParameter(f"--reading-limit: {error}; known: {names}, such as columns=50000") from None


_reading_limit_option = _early_option(
    "--reading-limit",
    multiple=True,
    metavar="LIMIT=N",
    callback=_reading_limits,
    help="Raise what reading DATA may take: ratio, bytes, cells or columns; repeatable.",
)


def judges_option(help: str = "As for `ragauge run`. [default: embedded]", embedded: bool = True) -> Option:
    """-j, repeatable, and --allow-host; see `judge_option`. embedded: the judge where none is named."""

    def chosen(context: click.Context, _: click.Parameter, value: Texts) -> Any:
        if not value and not embedded:
            return None
        judge = judge_option(value)
        if isinstance(judge, str):
            return judge_spec(context, judge)
        return {kind: judge_spec(context, spec) for kind, spec in judge.items()}

    judge = click.option("-j", "--judge", multiple=True, metavar="JUDGE", help=help, callback=chosen)
    return combined(judge, allow_host_option)


def output_option(what: str, endings: Iterable[str] = WRITERS, type: Any = OUT_FILE) -> Option:
    """-o, repeatable. what: what it does, for the help. endings: the formats."""
    return click.option("-o", "--output", type=type, multiple=True, help=f"{what}: {' '.join(endings)}; repeatable.")


def check_outputs(paths: Iterable[Path], endings: Iterable[str], inputs: Iterable[str | Path | None] = ()) -> None:
    """Raise UsageError for a file that cannot be written in any of the formats, or is one of the inputs."""
    for path in paths:
        check_ending(path, endings)
        check_place(path, inputs)


#: How the work is spread: `engine`, `workers` and `gpus`.
engine_options = combined(
    click.option("--engine", metavar="ENGINE", help="ray or ray:HOST:PORT: several processes or machines score."),
    click.option("--workers", type=POSITIVE, metavar="N", help="Processes that score; implies ray."),
    click.option("--gpus", type=float, default=0.0, metavar="SHARE", help="The share of a GPU of each, such as 0.5."),
)


def gate_option(name: str, help: str) -> Option:
    """--fail-under or --fail-over, which the command receives as `under` or `over`; see `gates`."""
    return click.option(name, name.removeprefix("--fail-"), multiple=True, metavar="METRIC=VALUE", help=help)


samples_option = click.option("-o", "--output", type=OUT_FILE, required=True, help="Where the samples go (.jsonl).")

max_cost_option = click.option(
    "--max-cost",
    type=click.FloatRange(min=0, min_open=True),
    metavar="DOLLARS",
    help="Stop before the calls to models cost more; what is done is kept. Exit with 4 then.",
)


def _cost_limit(context: click.Context, _: click.Parameter, value: str | None) -> float | None:
    number, slash, rest = (value or "").partition("/")
    context.params["per_day"] = bool(slash) and rest == "day"
    if value is None:
        return None
    limit = _number(number)
    if not (isfinite(limit) and limit > 0) or rest not in ("", "day"):
        raise BadParameter(f"--max-cost {value}: give dollars above 0, such as 2.5 or 20/day")
    return limit


#: --max-cost of an endless command, which receives `max_cost` and `per_day`.
daily_cost_option = click.option(
    "--max-cost",
    metavar="DOLLARS[/day]",
    callback=_cost_limit,
    help="Stop before the calls to models cost more, with 4; with /day what costs more is not scored that day (UTC).",
)

raw_csv_option = click.option(
    "--raw-csv", is_flag=True, help="Leave texts in .csv as they are, even what a spreadsheet takes for a formula."
)


def show_option(help: str, default: int | None = None) -> Option:
    """--show, the number of samples or rows to show."""
    return click.option(
        "--show", type=click.IntRange(min=0), default=default, show_default=bool(default), metavar="N", help=help
    )


worst_option = show_option("Show the N worst samples in full. [default: three in short]")

by_option = click.option(
    "--by", multiple=True, metavar="COLUMN", help="Estimates for each value of this column of DATA, repeatable."
)
group_option = click.option("--group", metavar="COLUMN", help="Samples with the same value here are not independent.")

map_option = click.option(
    "--map",
    multiple=True,
    metavar="FIELD=COLUMN",
    callback=lambda _, __, value: pairs(value, "--map"),
    help="Take a field from this column; a.b is b in a; contexts.split=TEXT splits contexts. Repeatable.",
)
_LIMIT = click.option("--limit", type=POSITIVE, metavar="N", help="Only the first N samples.")
skip_option = click.option("--skip-bad-rows", is_flag=True, help="Leave out rows that cannot be read, and count them.")
_PER = click.option(
    "--per", type=click.Choice(["turn", "conversation"]), help="Each answer, or all as one. [default: the last answer]"
)
_CORPUS = click.option("--corpus", type=INPUT, help="Documents with ids and texts, for contexts given by id.")
_LABELS = click.option("--labels", type=FILE, help="People's labels (.jsonl), which go before any judge.")

#: What is measured, and by whom.
judging_options = combined(
    click.option(
        "-m",
        "--metrics",
        metavar="LIST",
        help="Metrics, such as faithfulness,rouge(stemmer=true), or functions of your own: FILE.py:NAME. "
        "[default: all that DATA has the fields for]",
        shell_complete=complete_metrics,
    ),
    judges_option(
        "embedded, PROVIDER/MODEL, recording:PATH, python:MODULE:NAME; KIND=JUDGE or LANGUAGE=JUDGE, repeatable. "
        "[default: embedded]"
    ),
    map_option,
)

_READING = combined(judging_options, group_option, _PER, _CORPUS, _LIMIT, _reading_limit_option, skip_option, _LABELS)

#: DATA, and how it is read and judged; see `evaluation_arguments` for all but DATA.
data_options = combined(click.argument("data", metavar="DATA"), _READING)

#: The same, with the traces of a tracker in place of DATA; see `data_and_labels`.
traced_data_options = combined(
    click.argument("data", metavar="[DATA]", default=""),
    click.option("--from", "source", metavar="TRACKER", help="Measure the traces of mlflow:EXPERIMENT, not DATA."),
    click.option(
        "--benchmark", type=FILE, multiple=True, help="Rows that DATA responds to, by question or id. Repeatable."
    ),
    _READING,
)


def evaluation_arguments(metrics: str | None, **others: Any) -> dict[str, Any]:
    """The options of `data_options` as arguments of `ragauge.evaluate`."""
    if metrics is None or metrics == "all":
        return {**others, "metrics": None}
    return {**others, "metrics": [_own(spec) if _OWN.match(spec) else spec for spec in split_specs(metrics)]}


#: A metric that is named by its place, FILE.py:NAME or python:MODULE:NAME.
_OWN = re.compile(r"python:|[^(]*\.py:")


def _own(spec: str) -> Measure:
    """The metric or function in a place, with its parameters.

    Only a command line can name code: specs in files and stores cannot.
    """
    place, _, inside = spec.partition("(")
    from ragauge.run.specs import python_object

    named = python_object(place.removeprefix("python:").strip())
    if isinstance(named, Measure) and not isinstance(named, Metric):
        return named
    if not callable(named):
        raise BadParameter(f"{place} is {type(named).__name__}; name a function of a sample, or a metric")
    metric = named if isinstance(named, Metric) else check(named)
    return with_arguments(metric, inside.strip().removesuffix(")"), spec)


def store_place(value: Any) -> Place:
    """A folder or file, or the URL of a database, which is shown without its password."""
    if not is_url(value):
        return Path(value)
    from ragauge.store.postgres import PostgresUrl

    return PostgresUrl(value)


def existing_store(place: Place, *, to_read: bool = True) -> Store:
    """Open a store. Raises UsageError where there is none."""
    if not Store.exists(place):
        raise UsageError(f"there is no store at {place}; `ragauge run` makes one, --store names another")
    return Store.open(place, to_read=to_read)


def store_option(help: str, **more: Any) -> Option:
    """--store, the folder, file or PostgreSQL database. help: what is kept there."""
    return click.option(
        "--store", type=store_place, metavar="PATH", default=DEFAULT_STORE, show_default=True, help=help, **more
    )


def open_store_option(help: str, *, to_read: bool = True) -> Option:
    """--store of a command on an existing store, which the command receives open. to_read: it may be read-only."""

    def opened(context: click.Context, _: click.Parameter, place: Place) -> Store | Place:
        if context.resilient_parsing:  # to complete the line, after which the context is closed
            return place
        return context.with_resource(existing_store(place, to_read=to_read))

    return store_option(help, callback=opened)


#: --store, --only-own and --no-store; with the latter the command receives None as `store`.
store_options = combined(
    store_option(
        "Where judgments and runs are kept.",
        callback=lambda context, _, place: None if context.meta["ragauge.no_store"] else place,
    ),
    _early_option(
        "--only-own",
        is_flag=True,
        callback=lambda _, __, value: setattr(Store, "only_own", value),
        help="Ask anew what another user or machine put into the store.",
    ),
    _early_option("--no-store", is_flag=True, callback=_keep_in_context, help="Keep nothing."),
)

otlp_option = click.option(
    "--otlp", metavar="URL", help="Send the scores to this receiver of OpenTelemetry's protocol over HTTP."
)

#: The options of `ragauge score`; see `evaluation_arguments` for all but the store.
stream_options = combined(judging_options, _LABELS, store_options, daily_cost_option)

#: How samples are read, where answers are kept, and what they may cost: arguments of `ragauge.evaluate`.
work_options = combined(map_option, _LIMIT, skip_option, store_options, max_cost_option)


def pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """Options of the form NAME=VALUE as a mapping; the value may be empty. Raises BadParameter for another form."""
    split = [pair.partition("=") for pair in texts]
    for key, equals, _ in split:
        if not (key and equals):
            raise BadParameter(f"{option} {key!r}: write {option} NAME=VALUE")
    return {key: value for key, _, value in split}


def judge_option(specs: Sequence[str]) -> str | dict[str, str]:
    """--judge: one spec, or KIND=SPEC or LANGUAGE=SPEC often; a bare one in addition, or *=SPEC, is for the rest.

    An "=" within a spec, as in openai/gpt-4o-mini?temperature=0 or cascade(a,b,threshold=0.9), names no kind.
    """
    of_kind = [spec for spec in specs if re.match(r"(\w+|(classify|rate):[^=/?(]+)=", spec)]
    bare = [spec.removeprefix("*=") for spec in specs if spec not in of_kind]
    named = pairs(of_kind, "--judge")
    if len(bare) > 1:
        given_twice = f"--judge was given {' and '.join(bare)}"
        raise BadParameter(f"{given_twice}; name a kind for each, as in --judge entail={bare[1]}")
    default = bare[0] if bare else "embedded"
    return {**named, "*": default} if named else default
