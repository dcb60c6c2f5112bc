"""Options that several commands share, gates among them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce, wraps
from math import isfinite, nan
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import click

from ragauge.errors import BadParameter, UnknownName, UsageError
from ragauge.metrics.registry import CATALOGUE, select_metrics
from ragauge.report.files import WRITERS
from ragauge.scores import Gate, check_gate
from ragauge.store import Store

#: The option for each side of a bound on which a gate fails.
_OPTIONS: Mapping[Literal["below", "above"], str] = {"below": "--fail-under", "above": "--fail-over"}


def gates(under: Sequence[str], over: Sequence[str], metrics: str | None) -> list[Gate]:
    """The gates of --fail-under and --fail-over.

    Raises UnknownName for a metric that the run does not measure, BadParameter for a gate of another form, for one that
    fails on the side where its metric is better, and for a bound off the metric's scale.
    """
    known = {
        key: metric for metric in (CATALOGUE if metrics is None else select_metrics(metrics)) for key in metric.values
    }
    conditions = _read(under, "below") + _read(over, "above")
    for gate in conditions:
        if gate.metric not in known:
            raise UnknownName("metric of this run", gate.metric, known)
        metric, condition = known[gate.metric], f"{gate.metric}={gate.bound:g}"
        other = f"write {_OPTIONS['above' if gate.fails == 'below' else 'below']} {condition}"
        check_gate(gate, metric.better, metric.scale, f"{_OPTIONS[gate.fails]} {condition}", other)
    return conditions


def _read(given: Sequence[str], fails: Literal["below", "above"]) -> list[Gate]:
    option = _OPTIONS[fails]
    for condition in given:
        if "=" not in condition:
            raise BadParameter(f"{option} {condition}: write {option} METRIC=NUMBER")
    split = [condition.rpartition("=") for condition in given]  # a metric's own parameters may hold a "="
    return [Gate(metric, _number(bound, f"{option} {metric}={bound}"), fails) for metric, _, bound in split]


def _number(text: str, where: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = nan
    if not isfinite(number):
        raise BadParameter(f"{where}: {text!r} is not a number; write METRIC=NUMBER")
    return number


Command = TypeVar("Command", bound=Callable[..., Any])

#: Where judgments and runs are kept by default: in the working folder.
DEFAULT_STORE = ".ragauge"

#: Under this name a command's context remembers that nothing is to be kept.
_NOTHING = "ragauge.no_store"

_MAP = click.option(
    "--map", "mapping", multiple=True, metavar="FIELD=COLUMN", help="Take a field from this column, repeatable."
)
_LIMIT = click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N samples.")
_SKIP = click.option("--skip-bad-rows", is_flag=True, help="Leave out rows that cannot be read, and count them.")


def judges_option(help: str = "As for `ragauge run`. [default: embedded]") -> Callable[[Command], Command]:
    """-j, repeatable; see `judge_option`."""
    return click.option("-j", "--judge", "judges", multiple=True, metavar="JUDGE", help=help)


_DATA = (
    click.argument("data", metavar="DATA"),
    click.option(
        "-m",
        "--metrics",
        metavar="LIST",
        callback=lambda _context, _option, given: None if given == "all" else given,
        help="Metrics, such as faithfulness,rouge(stemmer=true). [default: all that DATA has the fields for]",
    ),
    judges_option(
        "embedded, recording:PATH, python:MODULE:NAME, or KIND=JUDGE, repeatable. [default: embedded]",
    ),
    _MAP,
    click.option("--group", metavar="COLUMN", help="Samples with the same value here are not independent."),
    _LIMIT,
    _SKIP,
    click.option(
        "--labels",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="People's labels (.jsonl), which go before any judge.",
    ),
)


def max_cost_option(command: Command) -> Command:
    """--max-cost, in dollars."""
    return click.option(
        "--max-cost",
        type=click.FloatRange(min=0, min_open=True),
        metavar="DOLLARS",
        help="Stop before the calls to models cost more; what is done is kept. Exit with 4 then.",
    )(command)


def output_option(what: str, endings: Iterable[str] = WRITERS) -> Callable[[Command], Command]:
    """-o, repeatable; `what` says in the help what it does, endings: which forms there are."""
    kind = click.Path(dir_okay=False, path_type=Path)
    return click.option("-o", "--output", type=kind, multiple=True, help=f"{what}: {' '.join(endings)}; repeatable.")


def raw_csv_option(command: Command) -> Command:
    """--raw-csv."""
    return click.option(
        "--raw-csv", is_flag=True, help="Leave texts in .csv as they are, even what a spreadsheet takes for a formula."
    )(command)


def show_option(default: int) -> Callable[[Command], Command]:
    """--show, how many of the worst samples are shown."""
    return click.option(
        "--show",
        type=click.IntRange(min=0),
        default=default,
        show_default=default > 0,
        metavar="N",
        help="Show the N worst samples with their evidence.",
    )


def _with(options: Sequence[Callable[[Command], Command]]) -> Callable[[Command], Command]:
    return lambda command: reduce(lambda made, option: option(made), reversed(options), command)


def data_options(command: Command) -> Command:
    """DATA, and how it is read and judged; see `evaluation_arguments` for all but DATA."""
    return _with(_DATA)(command)


def evaluation_arguments(judges: Sequence[str], mapping: Sequence[str], **others: Any) -> dict[str, Any]:
    """The options of `data_options` as arguments of `ragauge.evaluate`."""
    return {**others, "judge": judge_option(judges), "map": pairs(mapping, "--map")}


def samples_option(command: Command) -> Command:
    """-o, the file that samples are written to."""
    kind = click.Path(dir_okay=False, path_type=Path)
    return click.option("-o", "--output", type=kind, required=True, help="Where the samples go (.jsonl).")(command)


def store_option(help: str, **more: Any) -> Callable[[Command], Command]:
    """--store, the place; `help` says what is kept there."""
    kind = click.Path(path_type=Path)
    return click.option("--store", type=kind, default=DEFAULT_STORE, show_default=True, help=help, **more)


def open_store_option(help: str, *, to_read: bool = True) -> Callable[[Command], Command]:
    """--store of a command on what is there; it is given the store itself, open for as long as it runs.

    to_read: the command keeps nothing, so the store may lie where nothing can be written.
    """

    def opened(context: click.Context, _: click.Parameter, path: Path) -> Store:
        if not path.exists():
            raise UsageError(f"there is no store at {path}; `ragauge run` makes one, --store names another")
        return context.with_resource(Store.open(path, to_read=to_read))

    return store_option(help, callback=opened)


def store_options(command: Command) -> Command:
    """--store and --no-store; the command is given None as `store` where nothing is to be kept."""

    def unless_nothing(context: click.Context, _: click.Parameter, path: Path) -> Path | None:
        return None if context.meta.get(_NOTHING) else path

    def nothing(context: click.Context, _: click.Parameter, given: bool) -> None:
        context.meta[_NOTHING] = given

    option = click.option(
        "--no-store", is_flag=True, is_eager=True, expose_value=False, callback=nothing, help="Keep nothing."
    )
    return store_option("Where judgments and runs are kept.", callback=unless_nothing)(option(command))


def work_options(command: Command) -> Command:
    """How samples are read, where answers are kept, and what they may cost.

    The command is given all of it as `work`, arguments of `ragauge.datasets.build`, `generate` and `ragauge.evaluate`.
    """

    @wraps(command)
    def called(mapping: Sequence[str], **given: Any) -> Any:
        work = {name: given.pop(name) for name in ("limit", "skip_bad_rows", "max_cost", "store")}
        return command(work={**work, "map": pairs(mapping, "--map")}, **given)

    return cast(Command, _with((_MAP, _LIMIT, _SKIP))(store_options(max_cost_option(called))))


def pairs(given: Sequence[str], option: str) -> dict[str, str]:
    """Options of the form NAME=VALUE as a mapping; the value may be empty. Raises BadParameter for another form."""
    split = [pair.partition("=") for pair in given]
    for key, equals, _ in split:
        if not (key and equals):
            raise BadParameter(f"{option} {key!r}: write {option} NAME=VALUE")
    return {key: value for key, _, value in split}


#: What stands before a judge that is named for a kind of question, or for a topic such as classify:toxic.
_KIND = re.compile(r"(\w+|(classify|rate):[^=/?(]+)=")


def judge_option(given: Sequence[str]) -> str | dict[str, str]:
    """--judge: one spec, or KIND=SPEC several times; a bare spec in addition, or *=SPEC, is for all other kinds.

    An "=" within a spec, as in openai/gpt-4o-mini?temperature=0 or cascade(a,b,threshold=0.9), names no kind.
    """
    bare = [spec.removeprefix("*=") for spec in given if not _KIND.match(spec)]
    named = pairs([spec for spec in given if _KIND.match(spec)], "--judge")
    if len(bare) > 1:
        raise BadParameter(
            f"--judge was given {' and '.join(bare)}; name a kind for each, as in --judge entail={bare[1]}"
        )
    if not named:
        return bare[0] if bare else "embedded"
    return {**named, "*": bare[0] if bare else "embedded"}
