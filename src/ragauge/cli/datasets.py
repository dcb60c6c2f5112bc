"""`ragauge dataset` and `ragauge generate`."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path
from shlex import quote
from shutil import copytree
from typing import Any, get_args

import click
import msgspec

from ragauge.cli import options as opts
from ragauge.cli.main import say
from ragauge.cli.run import exit_by_outcome, exit_on_interrupt, exit_stopped, progress_bar
from ragauge.datasets import Built, Generated, QuestionSet, build, difference, generate, plan_questions, questions
from ragauge.datasets.builder import TOP
from ragauge.datasets.corpus import WORDS, Corpus
from ragauge.datasets.drafting import ASKED_KINDS
from ragauge.datasets.edits import edited
from ragauge.datasets.generator import REFUSAL_SENTENCE, SHOTS, AnswerForm
from ragauge.datasets.nuggets import NuggetForm, nuggets
from ragauge.datasets.question_set import OFFLINE_KINDS
from ragauge.datasets.samples import SampleSet, check_samples_output
from ragauge.errors import BadParameter, RunFailed, UsageError
from ragauge.report.wording import counted, shortened, usage_words
from ragauge.store import Place, Store


@click.group("dataset")
def dataset_command() -> None:
    """Make a data set of documents, or of questions and answers.

    \b
    ragauge dataset mini       a small corpus with questions, to try it on
    ragauge dataset build      from your own questions and corpus
    ragauge dataset questions  questions from your documents
    ragauge dataset diff       what distinguishes two versions of a test set
    ragauge dataset edited     a test set with the changes that people made in the page
    ragauge dataset nuggets    what the answers to your questions should say
    """


@dataset_command.command("build")
@click.argument("questions")
@click.option("--corpus", type=opts.INPUT, help="Folder or file to be searched. [default: the documents in the data]")
@click.option(
    "--retriever", metavar="python:MODULE:NAME", help="Finds the documents: a function, or a retriever of LlamaIndex."
)
@opts.samples_option
@click.option("--top", type=opts.POSITIVE, default=TOP, show_default=True, help="Documents of each sample.")
@click.option("--claims", metavar="JUDGE", help="Decomposes gold answers into claims. [default: each is one]")
@opts.judges_option("Decides which document holds which claim; as for `ragauge run`. [default: embedded]")
@opts.work_options
def build_command(questions: str, corpus: Path | None, output: Path, **options: Any) -> None:
    """Make samples of QUESTIONS, a file of questions with gold answers: five documents each from your corpus, the gold
    claims, and for each document which of them it holds.

    The corpus is text, Markdown, HTML, PDF, JSON Lines or Parquet, cut into passages of about 100 words.
    """
    check_samples_output(output, [questions, corpus])
    with exit_on_interrupt(options["store"]), progress_bar("building", options["limit"]) as progress:
        built = build(questions, corpus, progress=progress, **options)
    built.save(output)
    say(*_dataset_lines(built))
    whole = len(built.samples) - max(built.failures.values(), default=0)
    follows = f"; next: ragauge generate {output} -j PROVIDER/MODEL -o answers.jsonl"
    say(f"wrote {output}{follows if whole else ''}")
    _end_of_work(built, whole, options["store"])


def _dataset_lines(built: Built) -> Iterator[str]:
    if built.corpus:
        yield from _corpus_lines(built.corpus)
    answerable = sum(sample.answerable is True for sample in built.samples)
    asked = f"{built.asked} judgments asked, {built.reused} known"
    yield f"{counted(len(built.samples), 'sample')}, {answerable} answerable; {asked}"
    remarks = {
        "without documents": built.without_documents,
        "without a gold answer, so not labelled": built.without_gold,
        "only the first of several gold answers was taken apart": built.first_of_several,
    }
    yield from (f"{remark}: {counted(number, 'sample')}" for remark, number in remarks.items() if number)
    yield from _closing_lines(built)


def _corpus_lines(corpus: Corpus) -> Iterator[str]:
    skipped = ", ".join(f"{number} {kind}" for kind, number in corpus.skipped.items())
    files = f"; files skipped: {skipped}" if skipped else ""
    repeated = f"; {corpus.repeated} more repeat one of them" if corpus.repeated else ""
    drawn = "" if corpus.is_whole else f", {len(corpus.passages)} of them drawn by the seed"
    yield f"{corpus.name}: {counted(max(corpus.total, len(corpus.passages)), 'passage')}{drawn}{repeated}{files}"
    if bad := corpus.bad:
        yield f"skipped in {corpus.name}: {len(bad)}, the first because: {bad[0]}"


@dataset_command.command("questions")
@click.argument("corpus", type=opts.INPUT)
@click.option("-j", "--model", metavar="PROVIDER/MODEL", help="Writes the questions. [default: none is needed]")
@opts.samples_option
@click.option("-n", type=opts.POSITIVE, default=200, show_default=True, help="How many questions.")
@click.option("--kinds", metavar="LIST", help=f"{','.join(ASKED_KINDS)}; without a model {','.join(OFFLINE_KINDS)}.")
@click.option("--from", "traces", metavar="DATA", help="Traces or rows with questions of users, to be asked instead.")
@opts.map_option
@click.option("--mask", is_flag=True, help="Hide e-mail addresses, telephone numbers and the like in them.")
@click.option("--judge", metavar="JUDGE", help="Proves the questions. [default: the model]")
@click.option("--language", metavar="CODE", help="Of the questions, such as de. [default: that of the passages]")
@click.option("--style", metavar="TEXT", help="Of those who ask, such as 'a customer in a hurry'.")
@click.option("--attempts", type=float, default=3.0, show_default=True, help="The most drafts for each question.")
@click.option("--words", type=opts.POSITIVE, default=WORDS, show_default=True, help="The most words of a passage.")
@click.option("--seed", type=int, default=42, show_default=True, help="Of all draws.")
@click.option("--plan", is_flag=True, help="Say what it would cost, and ask nothing.")
@opts.skip_option
@opts.store_options
@opts.max_cost_option
def questions_command(corpus: Path, output: Path, kinds: str | None, plan: bool, **options: Any) -> None:
    """Make a test set of CORPUS, a folder or file of text, Markdown, HTML, PDF, JSON Lines or Parquet: questions with
    answers and the passages that they are about, drawn to cover all of it.

    A model writes questions, and only those are kept that are proven. Without one, a question is a sentence with a gap,
    or a heading: enough to measure a retriever. With --from the model answers what users asked.
    """
    check_samples_output(output, [corpus, options["traces"]])
    options["kinds"] = kinds.split(",") if kinds else None
    if plan:
        asks = options["model"] is not None
        cost = plan_questions(corpus, **options).cost_words() if asks else "nothing, since no model is asked"
        say(f"if each draft holds: {cost}")
        return
    with exit_on_interrupt(options["store"]), progress_bar("questions", options["n"]) as progress:
        made = questions(corpus, progress=progress, **options)
    if made.samples:
        made.save(output)
    say(*_corpus_lines(made.corpus), *_question_lines(made), *_closing_lines(made))
    if made.samples:
        say(f"wrote {output}, test set {made.identity}")
    if made.stopped:
        exit_stopped(made.stopped, options["store"])
    if not made.samples:
        raise RunFailed(f"{corpus} gives no question, and nothing is written; see `ragauge docs test-sets`")


#: The most rows of each kind that `diff` lists.
_SHOWN = 10


@dataset_command.command("diff")
@click.argument("a", type=opts.FILE)
@click.argument("b", type=opts.FILE)
def diff_command(a: Path, b: Path) -> None:
    """What distinguishes test set B from A: rows that were added, removed or changed, with both values in short."""
    parts = difference(a, b)
    parts["changed"] = [
        f"{id}: {'; '.join(f'{field} {_both(*values)}' for field, values in changes.items())}"
        for id, changes in parts["changed"].items()
    ]
    parts["columns"] = [f"{column}: {counted(len(ids), 'row')}" for column, ids in parts["columns"].items()]
    for what, lines in parts.items():
        hidden = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
        say(f"{what}: {len(lines)}", *(f"  {line}" for line in (*lines[:_SHOWN], *hidden)))


def _both(*values: Any) -> str:
    """Two values in short, from shortly before the place where they differ."""
    texts = [msgspec.json.encode(value).decode() for value in values]
    same = next((place for place, (old, new) in enumerate(zip(*texts, strict=False)) if old != new), 0)
    start = max(0, same - 20)
    return " → ".join(shortened(f"{'…' if start else ''}{text[start:]}", 60) for text in texts)


@dataset_command.command("edited")
@click.argument("test_set", type=opts.FILE)
@opts.samples_option
@opts.open_store_option("Where the changes are.")
def edited_command(test_set: Path, output: Path, store: Store) -> None:
    """Write TEST_SET with the changes that people made to its rows in `ragauge view`, under an identity of its own."""
    check_samples_output(output, [test_set])
    changed = edited(test_set, store)
    changed.save(output)
    say(*_closing_lines(changed))
    say(f"wrote {output}; what has changed: ragauge dataset diff {quote(str(test_set))} {quote(str(output))}")


def _question_lines(made: QuestionSet) -> Iterator[str]:
    kinds = ", ".join(f"{number} {kind}" for kind, number in made.kinds.items())
    few = "" if len(made.samples) == made.wanted else f", not {made.wanted}: there are no more"
    drawn = f", drawn from {counted(made.real, 'question')} of users" if made.real else ""
    yield f"{counted(len(made.samples), 'question')}{few}{kinds and ': '}{kinds}{drawn}"
    if drafts := made.made.total():
        answerable = sum(bool(sample.metadata.get("known")) for sample in made.samples)
        asked = f"{made.asked} questions and prompts asked, {made.reused} known to the store"
        yield f"kept of {counted(drafts, 'draft')}; {answerable} can be answered without the documents; {asked}"
    for reason, number in made.dropped.most_common():
        yield f"dropped: {number}, since {reason}; the first: {made.first_dropped[reason]}"


@dataset_command.command("nuggets")
@click.argument("questions")
@opts.samples_option
@opts.judges_option("Takes texts apart and grades; needed where a question has no nuggets.", embedded=False)
@click.option("--form", type=click.Choice(get_args(NuggetForm)), default="ragauge", help="[default: ragauge]")
@opts.work_options
def nuggets_command(questions: str, output: Path, form: NuggetForm, **options: Any) -> None:
    """Propose for each of QUESTIONS the nuggets that its answer should hold, vital ones or good to have, from its
    references and contexts.

    `ragauge view` shows them as a run, where people grade them anew; the same command then goes by their grades.
    Questions that have nuggets or criteria keep them: nothing is asked to write them in another form.
    """
    check_samples_output(output, [questions])
    with exit_on_interrupt(options["store"]), progress_bar("judging", options["limit"]) as progress:
        made = nuggets(questions, progress=progress, **options)
    made.save(output, form)
    lists = [proposed for _, proposed in made.questions if proposed is not None]
    vital = [nugget.vital for proposed in lists for nugget in proposed]
    say(f"{counted(len(made.questions), 'question')}, {counted(len(vital), 'nugget')}, {sum(vital)} vital")
    if missing := len(made.questions) - len(lists):
        say(f"without nuggets, since the judge did not answer: {missing}")
    say(f"wrote {output}" + (f"; grade them anew with: ragauge view {made.run.id}" if made.run else ""))
    if made.run:
        exit_by_outcome(made.run, (), options["store"])


@dataset_command.command("mini")
@click.argument("folder", type=opts.OUT_FOLDER, default=Path("mini"))
def mini_command(folder: Path) -> None:
    """Copy a small corpus with questions and gold answers into FOLDER (mini): a dozen documents, fifteen questions."""
    if folder.exists():
        raise UsageError(f"{folder} is there already; give another folder")
    with as_file(files("ragauge.datasets") / "mini") as packaged:
        copytree(packaged, folder)
    say(f"wrote {folder}; make samples of it with:")
    say(f"ragauge dataset build {folder}/questions.jsonl --corpus {folder}/corpus -o samples.jsonl")


@click.command("generate")
@click.argument("samples")
@click.option("-j", "--model", required=True, metavar="PROVIDER/MODEL", help="Any LLM, such as openai/gpt-4o-mini.")
@opts.samples_option
@click.option("--form", type=click.Choice(get_args(AnswerForm)), default="prose", help="[default: prose]")
@click.option("--refusal", metavar="SENTENCE", help=f"For declining to answer. [default: {REFUSAL_SENTENCE}]")
@click.option("--no-refusal", is_flag=True, help="Have every question answered.")
@click.option("--shots", metavar="FILE", help="Answered samples to show as examples, but none of SAMPLES.")
@click.option("--shot-count", type=click.IntRange(min=0), default=SHOTS, show_default=True, help="How many.")
@click.option("--seed", type=int, default=42, show_default=True, help="Which of them, and in which order.")
@click.option("--top", type=opts.POSITIVE, metavar="N", help="Only the first N documents. [default: all]")
@click.option("--cite", metavar="JUDGE", help="Adds citations to answers that have none.")
@opts.work_options
def generate_command(
    samples: str, output: Path, refusal: str | None, no_refusal: bool, shots: str | None, **options: Any
) -> None:
    """Have a model answer SAMPLES from their documents.

    It cites them, as in [1][2], or declines. Answers are kept as they arrive: the same command asks only for what is
    missing.
    """
    if refusal is not None and (no_refusal or not refusal.strip()):
        raise BadParameter("give --refusal SENTENCE, or --no-refusal alone")
    check_samples_output(output, [samples, shots])
    options |= {"refusal": "" if no_refusal else refusal or REFUSAL_SENTENCE, "shots": shots}
    with exit_on_interrupt(options["store"], "answer"), progress_bar("answering", options["limit"]) as progress:
        generated = generate(samples, progress=progress, **options)
    generated.save(output)
    say(*_generate_lines(generated))
    follows = f"; measure it with: ragauge run {quote(str(output))} -m trust"
    say(f"wrote {output}{follows if generated.answered else ''}")
    _end_of_work(generated, generated.answered, options["store"])


def _generate_lines(generated: Generated) -> Iterator[str]:
    yield (
        f"{generated.system}: {counted(generated.answered, 'answer')} to {counted(len(generated.samples), 'sample')}, "
        f"{generated.refused} of them refusals; {generated.asked} asked for, {generated.reused} known"
    )
    if generated.empty:
        yield f"empty answers: {generated.empty}"
    if generated.cited:
        yield f"given citations afterwards: {counted(generated.cited, 'answer')}"
    yield from _closing_lines(generated)


def _closing_lines(made: SampleSet) -> Iterator[str]:
    """What samples lack because an answer is missing, which rows were skipped, and the usage."""
    for part, number in made.failures.items():
        yield f"without {part}: {counted(number, 'sample')}, the first because {made.failures.first[part]}"
    if made.bad_rows:
        yield f"rows skipped: {len(made.bad_rows)}, the first because: {made.bad_rows[0]}"
    if made.spent.calls:
        yield usage_words(made.spent)


def _end_of_work(made: SampleSet, whole: int, store: Place | None) -> None:
    """Exit with 1 if no sample is complete, with 4 if the work was stopped."""
    if made.samples and not whole:
        raise RunFailed(f"no sample is whole, the first because {next(iter(made.failures.first.values()))}")
    if made.stopped:
        exit_stopped(made.stopped, store)
