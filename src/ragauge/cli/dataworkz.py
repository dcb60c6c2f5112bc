"""`ragauge dataworkz`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from ragauge.cli import options as opts
from ragauge.cli.main import say
from ragauge.cli.run import exit_by_outcome, exit_on_interrupt, progress_bar
from ragauge.compat.dataworkz import COLUMNS, LLM, METRICS, Evaluation, evaluate, evaluate_question
from ragauge.errors import RunFailed
from ragauge.readers import read
from ragauge.report.files import check_place
from ragauge.report.wording import footnotes
from ragauge.scores import Gate
from ragauge.store import Place

_extras = click.option("--no-extras", is_flag=True, help="No BERTScore and no similarity, even where installed.")


@click.group("dataworkz", context_settings={"token_normalize_func": lambda name: name.replace("-", "_")})
def command() -> None:
    """Evaluate as Dataworkz' framework does.

    It looks for the claims of golden responses in the responses of a system. Names may be written with - or with _.
    """


@command.command("evaluate")
@click.option("--benchmark", required=True, metavar="FILE", help="Questions and golden responses (.xlsx .csv ...).")
@click.option("--dataworkz_response_file", "responses", required=True, metavar="FILE", help="Answers to them.")
@click.option("--evaluation_file", required=True, metavar="FILE", help="Where the rows go, as CSV.")
@opts.judges_option()
@_extras
@opts.gate_option("--fail-under", "Exit with 3 if it is lower: claim_f1, bleu, rouge.rouge1, rouge.rougeL; repeatable.")
@opts.work_options
def evaluate_command(
    benchmark: str, responses: str, evaluation_file: str, no_extras: bool, under: Sequence[str], **options: Any
) -> None:
    """Compare each response with the golden response to the same question, and write a row for each.

    Judgments are stored as they arrive: the same command continues where it stopped.
    """
    gates = opts.gates(under, (), METRICS)
    check_place(Path(evaluation_file), (benchmark, responses))
    store = options["store"]
    reading_options = {name: options.pop(name) for name in ("map", "skip_bad_rows")}
    with exit_on_interrupt(store), progress_bar("judging", options["limit"]) as progress:
        options |= {"extras": not no_extras, "name": benchmark, "progress": progress}
        evaluation = evaluate(read(benchmark, **reading_options), responses, **options)
    evaluation.save(evaluation_file)
    say(*_summary_lines(evaluation), f"wrote {evaluation_file}")
    if store:
        say(f"run {evaluation.run.id}; its evidence: ragauge report {evaluation.run.id}")
    _exit_by_outcome(evaluation, gates, store)


@command.command("evaluate_question")
@click.option("--question", required=True)
@click.option("--golden_response", required=True)
@click.option("--candidate_response", required=True)
@opts.judges_option()
@_extras
@opts.store_options
@opts.max_cost_option
def question_command(store: Place | None, no_extras: bool, **options: Any) -> None:
    """Compare one response with one golden response."""
    with exit_on_interrupt(store):
        evaluation = evaluate_question(**options, store=store, extras=not no_extras)
    (row,) = evaluation.rows
    score_columns = COLUMNS[COLUMNS.index("Bleu Score") :]
    say(*(f"{column}: {row[column]}" for column in score_columns if row[column] is not None), *evaluation.missing)
    _exit_by_outcome(evaluation, (), store)


def _summary_lines(evaluation: Evaluation) -> Iterator[str]:
    """The mean of each column, and remarks on the rows."""
    pooled = dict(zip(LLM, evaluation.micro[:3], strict=True))
    yield f"{'':<16}{'mean':>8}{'rows':>7}{'all claims':>13}"
    for column, (mean, n) in evaluation.means.items():
        micro = _digits(pooled[column]) if column in pooled else ""
        yield f"{column:<16}{_digits(mean):>8}{n:>7}{micro:>13}".rstrip()
    for remark, questions in evaluation.report.items():
        yield f"questions {remark}: {len(questions)}, such as {questions[0]!r}"
    yield from evaluation.missing


def _digits(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _exit_by_outcome(evaluation: Evaluation, gates: Sequence[Gate], store: Place | None) -> None:
    """Print the footnotes; exit with 1 if no claims were judged, else as `ragauge run` does."""
    record = evaluation.run.record
    say(*footnotes(record))
    if "claim_f1" in record.failures and not record.estimates["claim_f1"].n:
        raise RunFailed(f"no claims were judged, the first because: {record.failures['claim_f1']}")
    exit_by_outcome(evaluation.run, gates, store)
