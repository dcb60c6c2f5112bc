"""`ragauge generate`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import click

from ragauge.cli.options import samples_option, work_options
from ragauge.cli.running import closing_lines, end_of_work, progress_bar, stoppable
from ragauge.cli.screen import say
from ragauge.dataset import Generated, generate
from ragauge.dataset.generation.generating import SHOTS
from ragauge.dataset.generation.prompts import REFUSAL_SENTENCE, AnswerForm
from ragauge.dataset.samples import check_samples_output
from ragauge.errors import BadParameter
from ragauge.report.wording import counted


@click.command("generate")
@click.argument("samples")
@click.option("-j", "--model", required=True, metavar="PROVIDER/MODEL", help="Any LLM, such as openai/gpt-4o-mini.")
@samples_option
@click.option(
    "--form", type=click.Choice(get_args(AnswerForm)), default="prose", help="Sentences, or a list. [default: prose]"
)
@click.option(
    "--refusal",
    metavar="SENTENCE",
    help=f"What to say where there is no answer. [default: {REFUSAL_SENTENCE}]",
)
@click.option("--no-refusal", is_flag=True, help="Have every question answered.")
@click.option("--shots", metavar="FILE", help="Answered samples to show as examples.")
@click.option(
    "--shot-count", type=click.IntRange(min=0), default=SHOTS, show_default=True, metavar="N", help="How many of them."
)
@click.option("--seed", type=int, default=42, show_default=True, help="Which of them, and in which order.")
@click.option("--top", type=click.IntRange(min=1), metavar="N", help="Only the first N documents. [default: all]")
@click.option("--cite", metavar="JUDGE", help="Finds citations for answers that have none.")
@work_options
def command(
    samples: str,
    model: str,
    output: Path,
    form: AnswerForm,
    refusal: str | None,
    no_refusal: bool,
    shots: str | None,
    shot_count: int,
    seed: int,
    top: int | None,
    cite: str | None,
    work: dict[str, Any],
) -> None:
    """Have a model answer SAMPLES from their documents, with citations such as [1][2], or decline.

    Answers are kept as they arrive: the same command asks only for what is missing.
    """
    if refusal is not None and (no_refusal or not refusal.strip()):
        raise BadParameter("give --refusal SENTENCE, or --no-refusal alone")
    check_samples_output(output, [samples, *([shots] if shots else [])])
    with stoppable(work["store"], "answer"), progress_bar("answering", work["limit"]) as progress:
        generated = generate(
            samples,
            model,
            form=form,
            refusal="" if no_refusal else refusal or REFUSAL_SENTENCE,
            shots=shots,
            shot_count=shot_count,
            seed=seed,
            top=top,
            cite=cite,
            progress=progress,
            **work,
        )
    generated.save(output)
    for line in _lines(generated):
        say(line)
    follows = f"; measure it with: ragauge run {output} -m trust"
    say(f"wrote {output}{follows if generated.answered else ''}")
    end_of_work(generated, generated.answered, work["store"])


def _lines(generated: Generated) -> Iterator[str]:
    """What there is to say of the answers."""
    yield (
        f"{generated.system}: {counted(generated.answered, 'answer')} to {counted(len(generated.samples), 'sample')}, "
        f"{generated.refused} of them refusals; {generated.asked} asked for, {generated.reused} known"
    )
    if generated.empty:
        yield f"empty answers: {generated.empty}"
    if generated.cited:
        yield f"given citations afterwards: {counted(generated.cited, 'answer')}"
    yield from closing_lines(generated)
