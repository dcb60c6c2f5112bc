"""`ragauge judges`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

import click

from ragauge.analysis.measure import (
    MEASUREMENT_WRITERS,
    Measurement,
    SetResult,
    adjusted,
    labelled_sets,
    measure,
    measurement_view,
)
from ragauge.analysis.robustness import card_view, check_robustness, robustness_cases
from ragauge.analysis.tuning import Tuner, tuning_view
from ragauge.cli import options as opts
from ragauge.cli.main import say, show_parts
from ragauge.cli.options import Paths
from ragauge.cli.run import exit_on_interrupt, exit_stopped, progress_bar
from ragauge.errors import BadData, BadParameter, RunFailed
from ragauge.judges.base import Judge, JudgeSpec, adapted
from ragauge.questions import KIND_TYPES, KINDS
from ragauge.report.files import save_text
from ragauge.report.wording import usage_words
from ragauge.run.asking import Dispatcher
from ragauge.run.budget import Budget, check_priced
from ragauge.run.prepare import opened_store
from ragauge.run.specs import DESCRIPTIONS, code_in, foreign_hosts, judge_file, load_judge, load_judges
from ragauge.run.sync import blocking
from ragauge.store import Place, read_labels

T = TypeVar("T")


def _judge(context: click.Context, _: click.Parameter, value: str | None) -> str | JudgeSpec | None:
    return value and opts.judge_spec(context, value)


_judge_option = opts.combined(
    click.option(
        "-j",
        "--judge",
        metavar="JUDGE",
        default="embedded",
        show_default=True,
        help="As for `ragauge run`.",
        callback=_judge,
    ),
    opts.allow_host_option,
)
_labels_option = click.option("--labels", type=opts.FILE, help="People's labels (.jsonl), as for `ragauge run`.")
_NO_LABELS = "give people's labels: --labels FILE, or --data FOLDER of labelled sets"
_asking_options = opts.combined(opts.store_options, opts.max_cost_option)


@click.group("judges", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """List the judges, or measure one against people's labels."""
    if ctx.invoked_subcommand:
        return
    for spec, description in DESCRIPTIONS.items():
        say(f"{spec:<33} {description}")
    answers = ", ".join(sorted(load_judge("embedded").answers))
    say("", f"embedded answers: {answers}. In Python any function can judge: ragauge.judge_from(...).")


@command.command("measure")
@click.argument("judge", default="embedded", callback=_judge)
@opts.allow_host_option
@click.option("--data", type=opts.INPUT, help="Labelled set, or folder of them; names tell their kind.")
@_labels_option
@click.option(
    "--against", metavar="JUDGE", callback=_judge, help="Compare with this judge. [default: lexical, for embedded]"
)
@click.option("--limit", type=opts.POSITIVE, metavar="N", help="At most N rows of each set, drawn with a fixed seed.")
@_asking_options
@opts.output_option("Write the figures", MEASUREMENT_WRITERS)
def measure_command(judge: str | JudgeSpec, against: str | JudgeSpec | None, output: Paths, **sets: Any) -> None:
    """Measure JUDGE against people's labels, set by set: AUC, accuracy and kappa, with 95 % intervals.

    "AUC of words" is that of the share of words that occur in the text, on the same rows. If another judge is compared,
    p is from a paired bootstrap. Intervals and p resample whole questions or texts. A file that cannot be read is
    reported, and the others are measured.
    """
    asking = {name: sets.pop(name) for name in ("store", "max_cost")}
    data, limit = sets["data"] or sets["labels"], sets["limit"]
    opts.check_outputs(output, MEASUREMENT_WRITERS, [sets["data"], sets["labels"]])
    if not data:
        raise BadParameter(_NO_LABELS)
    baseline = against or ("lexical" if judge == "embedded" else None)
    cached = _CachedJudge(judge, **asking, baseline=baseline)
    results: list[SetResult] = []
    failure = None
    try:
        cached.asked(lambda: _measured(cached, results, **sets), "measured")
    except RunFailed as error:
        failure = error
    identity = cached.baseline.identity if cached.baseline else None
    measurement = Measurement(
        judge=cached.judge.identity, baseline=identity, limit=limit, sets=tuple(adjusted(results))
    )
    show_parts(*measurement_view(measurement))
    say(*(f"wrote {measurement.save(path)}" for path in output))
    cached.end()
    if failure:
        raise failure
    if not any(result.balanced_accuracy or result.f1 or result.correlation for result in results):
        fault = f"no labelled set here that {cached.judge.identity} can be measured on"
        raise BadData(f"{data}: {fault}; see `ragauge docs embedded-judge`")


@command.command("check")
@_judge_option
@click.option("--data", metavar="DATA", help="Samples, as for `run`. [default: packaged cases]")
@click.option("--limit", type=opts.POSITIVE, metavar="N", help="Only the first N samples.")
@_asking_options
@opts.output_option("Write the card", [".json"])
def check_command(judge: str | JudgeSpec, data: str | None, limit: int | None, output: Paths, **asking: Any) -> None:
    """Check how often verdicts change where they should not: a robustness card for any judge.

    Each sentence of a response is a claim about the contexts. It is asked again as it was, with sources and claims in
    reverse order, in other words, with praise among the sources, and with instructions among them to change the
    verdict.
    """
    opts.check_outputs(output, [".json"], [data])
    cases = robustness_cases(data, limit)
    cached = _CachedJudge(judge, **asking)
    ask, ask_again = cached.asker.ask_member, cached.asker_without_store().ask_member
    card = cached.run(lambda: check_robustness(cached.judge, cases, ask, ask_again), "checked")
    show_parts(*card_view(card))
    say(*(f"wrote {card.save(path)}" for path in output))


@command.command("tune")
@_judge_option
@_labels_option
@click.option("--data", type=opts.INPUT, help="Labelled set, or folder of them, as for `measure`.")
@click.option(
    "--prompts", multiple=True, type=opts.FOLDER, help="Folder of prompts to try, as in `prompts=FOLDER`; repeatable."
)
@click.option(
    "--accuracy", type=float, default=0.95, show_default=True, help="How often a cascade's first is to be right."
)
@click.option("--limit", type=opts.POSITIVE, metavar="N", help="At most N rows of each set of --data.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the split and of the examples drawn.")
@_asking_options
@click.option("-o", "--output", type=opts.OUT_FILE, required=True, help="Judge file (.json).")
def tune_command(
    judge: str | JudgeSpec, labels: Path | None, data: Path | None, limit: int | None, output: Path, **choices: Any
) -> None:
    """Choose prompts, examples and thresholds of a judge on half of people's labels, and measure the gain on the rest.

    Of an LLM judge: which of the folders of prompts, and which worked examples from the labels. Of a judge with
    probabilities: that from which it says yes. Of a cascade: the thresholds beyond which its first judge stands. What
    is chosen has the highest balanced accuracy; the judge stays as it is unless the gain's interval excludes 0. -j FILE
    uses the judge file.
    """
    opts.check_outputs([output], [".json"], [labels, data])
    if not (labels or data):
        raise BadParameter(_NO_LABELS)
    if code := code_in(judge_file(judge).judge):
        raise BadParameter(f"{code} is code, which a judge file cannot hold; tune a judge with a name of its own")
    judgments_of_people = [*(read_labels(labels) if labels else ()), *(labelled_sets(data, limit) if data else ())]
    asking = {name: choices.pop(name) for name in ("store", "max_cost")}
    tuning = Tuner(judge, judgments_of_people, **choices)
    cached = _CachedJudge(tuning.judge, **asking)
    tuned = cached.run(lambda: tuning.tune(cached.asker.ask_member), "tuned")
    show_parts(*tuning_view(tuned))
    save_text(output, {".json": lambda: tuned.file.text()})
    options = [f"-j {output}", *(f"--allow-host {host}" for host in dict.fromkeys(foreign_hosts(tuned.file.judge)))]
    say(f"wrote {output}; use: {' '.join(options)}")


@command.command("prompts")
@click.argument("judge", metavar="[PROVIDER/MODEL|FILE.json]", default="openai/gpt-4o-mini", callback=_judge)
@opts.allow_host_option
@click.option("--write", type=opts.OUT_FOLDER, help="Write the sections into this folder, to edit them.")
def prompts_command(judge: str | JudgeSpec, write: Path | None) -> None:
    """Print the instructions that an LLM judge is sent, with the options behind its name, or those of a judge file.

    With structured=plain the schema of a reply follows them. A folder of edited sections is given to a judge as
    PROVIDER/MODEL?prompts=FOLDER; the packaged text stands for sections that it lacks.
    """
    from ragauge.judges.llm.judge import prompt_style
    from ragauge.judges.llm.prompts import SECTIONS, digest, file_name, packaged, system
    from ragauge.judges.llm.providers import parse_llm_spec

    file = judge_file(judge)
    style = prompt_style(parse_llm_spec(file.judge, examples=file.examples or None).options)
    if write is None:
        first_kinds = frozenset(name for name, kind in KIND_TYPES.items() if kind.comes_first)
        other_kinds = frozenset(KINDS) - first_kinds
        for title, kinds in ((", ".join(first_kinds), first_kinds), ("verdicts and grades", other_kinds)):
            say(f"=== calls for {title} ===", *system(kinds, style).splitlines(), "")
        say(f"version {digest(style)}")
        return
    write.mkdir(parents=True, exist_ok=True)
    sections = {name: packaged(name) for name in SECTIONS} | dict(style.sections)
    for name, text in sections.items():
        path = write / file_name(name)
        if path.exists():
            raise BadParameter(f"{path} exists; give a folder without sections")
        path.write_text(f"{text}\n", encoding="utf-8")
        say(f"wrote {path}")


class _CachedJudge:
    """Answers in a judge's name from the store, else asks the judge and stores its answers.

    Human labels in the store are ignored, since the judge is measured. baseline: the judge that it is compared with.
    """

    def __init__(
        self,
        judge: str | JudgeSpec | Judge,
        store: Place | None,
        max_cost: float | None,
        baseline: str | JudgeSpec | None = None,
    ) -> None:
        self.judge = adapted(load_judge(judge))
        self.baseline = adapted(load_judge(baseline)) if baseline else None
        check_priced(filter(None, [self.judge, self.baseline]), max_cost)
        router = load_judges(self.judge)
        self._store = store
        self.asker = Dispatcher(router, opened_store(store), Budget(max_cost))
        self._askers = [self.asker]

    def asker_without_store(self) -> Dispatcher:
        """Another asker on the same budget, which reads no stored answer and stores none."""
        asker = Dispatcher(self.asker.router, opened_store(None), self.asker.budget)
        self._askers.append(asker)
        return asker

    def run(self, work: Callable[[], Awaitable[T]], done: str) -> T:
        """Do work that asks the judge, then as `end`. done: what is done, for messages."""
        try:
            result = self.asked(work, done)
        except RunFailed:
            self.end()
            raise
        self.end()
        return result

    def asked(self, work: Callable[[], Awaitable[T]], done: str) -> T:
        """Do work that asks the judge; an interrupt ends the program."""

        async def opened() -> T:
            async with AsyncExitStack() as stack:
                for asker in self._askers:
                    await stack.enter_async_context(asker.opened())
                return await work()

        with exit_on_interrupt(self._store, "answer"):
            return blocking(opened, done)()

    def end(self) -> None:
        """Print the usage and the judges' notes; exit with 4 if the limit was reached."""
        budget = self.asker.budget
        if budget.spent.calls:
            say(f"calls to models: {usage_words(budget.spent)}")
        for judge in filter(None, [self.judge, self.baseline]):
            say(*judge.notes())
        if budget.exceeded:
            exit_stopped(budget.reason, self._store)


async def _measured(cached: _CachedJudge, results: list[SetResult], data: Path | None, **how: Any) -> None:
    """Append the result of each set to `results`. how: as for `measure`."""
    ask = cached.asker.ask_member
    with progress_bar("measuring") as progress:
        async for result in measure(cached.judge, data, answer=ask, baseline=cached.baseline, **how):
            results.append(result)
            progress(len(results))
