"""`ragauge dataset`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from shutil import copytree
from typing import Any

import click

from ragauge.cli.options import judge_option, samples_option, work_options
from ragauge.cli.running import closing_lines, end_of_work, progress_bar, stoppable
from ragauge.cli.screen import say
from ragauge.dataset import Built, build
from ragauge.dataset.building import TOP
from ragauge.dataset.samples import check_samples_output
from ragauge.errors import UsageError
from ragauge.report.wording import counted


@click.group("dataset")
def command() -> None:
    """Make a data set: questions and gold answers in, samples with documents and labels out.

    \b
    ragauge dataset mini       a small corpus with questions, to try it on
    ragauge dataset build      from your own questions and corpus
    """


@command.command("build")
@click.argument("questions")
@click.option(
    "--corpus",
    type=click.Path(exists=True, path_type=Path),
    help="Folder or file that is searched for documents. [default: the documents in the data]",
)
@click.option(
    "--retriever",
    metavar="python:MODULE:NAME",
    help="Finds the documents instead: a function of the question, or a retriever of LlamaIndex or LangChain.",
)
@samples_option
@click.option("--top", type=click.IntRange(min=1), default=TOP, show_default=True, help="Documents of each sample.")
@click.option("--claims", metavar="JUDGE", help="Takes gold answers apart. [default: the whole answer is one claim]")
@click.option(
    "-j",
    "--judge",
    "judges",
    multiple=True,
    metavar="JUDGE",
    help="Says which document holds which claim; as for `ragauge run`. [default: embedded]",
)
@work_options
def build_command(
    questions: str,
    corpus: Path | None,
    retriever: str | None,
    output: Path,
    top: int,
    claims: str | None,
    judges: Sequence[str],
    work: dict[str, Any],
) -> None:
    """Make samples of QUESTIONS, a file of questions with gold answers: five documents each from your corpus, the gold
    claims, and for each document which of them it holds.

    The corpus is text, Markdown, JSON Lines or Parquet, cut into passages of about 100 words; its index is kept beside
    the judgments.
    """
    check_samples_output(output, [questions, *([corpus] if corpus else [])])
    with stoppable(work["store"]), progress_bar("building", work["limit"]) as progress:
        judge = judge_option(judges)
        built = build(
            questions, corpus, retriever=retriever, judge=judge, claims=claims, top=top, progress=progress, **work
        )
    built.save(output)
    for line in _lines(built):
        say(line)
    whole = len(built.samples) - max(built.failures.values(), default=0)
    follows = f"; next: ragauge generate {output} -j PROVIDER/MODEL -o answers.jsonl"
    say(f"wrote {output}{follows if whole else ''}")
    end_of_work(built, whole, work["store"])


def _lines(built: Built) -> Iterator[str]:
    """What there is to say of a data set."""
    if built.corpus:
        left_out = ", ".join(f"{number} {kind}" for kind, number in built.corpus.left_out.items())
        made = "indexed" if built.indexed else "index known"
        yield f"{built.corpus.name}: {counted(len(built.corpus.passages), 'passage')}, {made}" + (
            f"; files left out: {left_out}" if left_out else ""
        )
        if bad := built.corpus.bad:
            yield f"skipped in {built.corpus.name}: {len(bad)}, the first because: {bad[0]}"
    answerable = sum(sample.answerable is True for sample in built.samples)
    yield (
        f"{counted(len(built.samples), 'sample')}, {answerable} answerable; "
        f"{built.asked} judgments asked, {built.reused} known"
    )
    if built.without_documents:
        yield f"without documents: {counted(built.without_documents, 'sample')}"
    if built.without_gold:
        yield f"without a gold answer, so not labelled: {counted(built.without_gold, 'sample')}"
    if built.first_of_several:
        yield f"only the first of several gold answers was taken apart: {counted(built.first_of_several, 'sample')}"
    yield from closing_lines(built)


@command.command("mini")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=Path("mini"))
def mini_command(folder: Path) -> None:
    """Copy a small corpus with questions and gold answers into FOLDER (mini): a dozen documents, fifteen questions."""
    if folder.exists():
        raise UsageError(f"{folder} is there already; give another folder")
    with as_file(files("ragauge.dataset") / "mini") as packaged:
        copytree(packaged, folder)
    say(f"wrote {folder}; make samples of it with:")
    say(f"ragauge dataset build {folder}/questions.jsonl --corpus {folder}/corpus -o samples.jsonl")
