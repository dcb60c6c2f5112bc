"""From questions and gold answers to samples with documents and labels of answerability."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from ragauge.datasets.corpus import Corpus, read_corpus
from ragauge.datasets.retrieval import RetrieverAdapter, RetrieverError, corpus_search, load_bm25s
from ragauge.datasets.samples import (
    SampleOptions,
    SampleSet,
    add_metadata,
    with_top_documents,
    without_metadata,
    without_notes,
)
from ragauge.errors import BadParameter, MissingField, UnanswerableNeed
from ragauge.judges.base import JudgeLike, JudgeRouter
from ragauge.needs.base import Need, NothingToCount, QuestionFlow, Undefined, unanswerable
from ragauge.needs.gold import GOLD_LABELS_KEY, GoldAnswers, GoldRow, gold_in_contexts, gold_labels
from ragauge.questions import Decompose
from ragauge.readers import SampleReader
from ragauge.readers.columns import rank
from ragauge.run.asking import Dispatcher
from ragauge.run.budget import Budget, check_priced
from ragauge.run.prepare import opened_store
from ragauge.run.specs import load_judges, python_object
from ragauge.run.sync import blocking
from ragauge.scores import Evidence
from ragauge.types import Decomposition, Sample

#: The claims of a gold answer: the whole answer is one, or a judge decomposes it ("apart").
Claims = Literal["whole", "apart"]


@dataclass(frozen=True)
class SampleLabels:
    """The gold claims of a sample, and for each document whether it holds each claim; None where that is unknown."""

    answers: GoldAnswers
    documents: tuple[GoldRow, ...] | None
    evidence: tuple[Evidence, ...] = ()

    def on(self, sample: Sample) -> Sample:
        """The sample with `answers`, `answers_found` of each document, and `answerable` unless given."""
        if self.documents is None:
            return msgspec.structs.replace(sample, answers=self.answers)
        labelled = zip(sample.contexts or (), self.documents, strict=True)
        contexts = tuple(add_metadata(chunk, **{GOLD_LABELS_KEY: [*map(int, row)]}) for chunk, row in labelled)
        answerable = any(map(any, self.documents)) if sample.answerable is None else sample.answerable
        return msgspec.structs.replace(sample, answers=self.answers, contexts=contexts, answerable=answerable)


def label_samples(claims: Claims) -> Need[SampleLabels]:
    """A need: the gold claims of a sample, and which of its documents hold which.

    Claims and labels that the sample already has are kept, except for labels of documents that do not match the number
    of claims. The gold answer is one claim, with further references as other wordings, as in Trust-Eval; or the first
    reference is decomposed.
    """

    def flow(sample: Sample) -> QuestionFlow[SampleLabels]:
        answers = sample.answers or (yield from _answers(sample, claims))
        if not all(answers):
            raise NothingToCount("a gold claim in 'answers' has no wording")
        if sample.contexts is None:
            return SampleLabels(answers, None)
        contexts = tuple(
            chunk if len(gold_labels(chunk)) == len(answers) else without_metadata(chunk, GOLD_LABELS_KEY)
            for chunk in sample.contexts
        )
        if sample.answerable is False:
            return SampleLabels(answers, tuple(gold_labels(chunk) or (False,) * len(answers) for chunk in contexts))
        gold = yield from gold_in_contexts(msgspec.structs.replace(sample, answers=answers, contexts=contexts))
        if gold.documents is None:
            raise NothingToCount("several chunks were judged only together, without a label for each")
        return SampleLabels(answers, gold.documents)

    asks = ["entail:support", *(["decompose"] if claims == "apart" else [])]
    return Need(f"labels({claims})", (), frozenset(asks), flow)


def _answers(sample: Sample, claims: Claims) -> QuestionFlow[GoldAnswers]:
    """The gold claims of the references. Raises NothingToCount where there are no references."""
    if not sample.references:
        raise NothingToCount("the sample has no gold answer")
    if claims == "apart":
        (judgment,) = yield [Decompose(sample.references[0], sample.query)]
        texts = [statement.text for statement in cast(Decomposition, judgment.answer).statements if statement.claim]
        if texts:
            return tuple((claim,) for claim in texts)
    return (sample.references,)


#: Documents per sample, as in Trust-Eval.
TOP = 5
#: Samples that are built at once.
_CONCURRENCY = 32


@dataclass(kw_only=True)
class Built(SampleSet):
    """A data set that was built from questions.

    without_gold, without_documents: the number of samples without a gold answer, which are not labelled, and without
    documents. first_of_several: of samples of whose references only the first was decomposed.
    """

    corpus: Corpus | None = None
    without_gold: int = 0
    without_documents: int = 0
    first_of_several: int = 0


async def build_async(
    questions: Any,
    corpus: str | Path | Corpus | None = None,
    *,
    retriever: Any = None,
    judge: JudgeLike = "embedded",
    claims: JudgeLike | None = None,
    top: int = TOP,
    **options: Any,
) -> Built:
    """Build a data set for the metrics of Trust-Eval (Song et al., ICLR 2025); `build` is the synchronous form.

    Args:
        questions: with gold answers, in any form that `read` takes; a lone column such as "answer" has these.
        corpus: a folder or file that is searched for documents by BM25, which needs the extra `retrieval`.
        retriever: finds documents instead: a function of the question, a retriever of LlamaIndex or LangChain, or
            "python:MODULE:NAME", which names one. With neither, the documents in the data are used.
        judge: decides which document holds which claim.
        claims: a judge that decomposes the gold answer, the first of several references, into claims; None makes the
            whole answer one claim.
        top: documents per sample, at least 1.
        options: store, map, limit, skip_bad_rows, max_cost and progress; see `SampleOptions`.

    Raises:
        UsageError: the data or the corpus cannot be read, a judge cannot answer, or there are no documents.
        MissingExtra: a corpus is given, and bm25s is not installed.
    """
    if corpus is not None and retriever is not None:
        raise BadParameter("give a corpus or a retriever, not both")
    if top < 1:
        raise BadParameter(f"top={top} must be 1 or more")
    if corpus is not None:
        load_bm25s()
    chosen = SampleOptions(**options)
    router = load_judges(judge)
    if claims is not None:
        router = JudgeRouter({**router.judges, "decompose": load_judges(claims).judges["*"]})
    check_priced(router.unique, chosen.max_cost)
    need = label_samples("whole" if claims is None else "apart")
    if topics := unanswerable([need], router.can):
        raise UnanswerableNeed(f"the judge does not answer {', '.join(topics)}; name one that does")
    reader, samples = _questions(questions, chosen)
    if isinstance(corpus, str | Path):
        corpus = read_corpus(corpus, skip_bad=chosen.skip_bad_rows)
    opened = opened_store(chosen.store)
    built = Built(corpus=corpus)
    search = _retriever(corpus, retriever, top)
    if search is None and reader.columns and "contexts" not in reader.columns:
        raise MissingField(f"{reader.name}: no documents; give a corpus (--corpus FOLDER), or a retriever")
    dispatcher = Dispatcher(router, opened, Budget(chosen.max_cost))

    async def sample(question: Sample) -> Sample:
        bare = without_notes(question)
        sample = await _with_documents(bare, search, top, built) if search else with_top_documents(bare, top)
        built.without_documents += not sample.contexts
        return await _labelled(sample, dispatcher, need, built)

    async with dispatcher.opened():
        await built.fill(reader, samples, sample, _CONCURRENCY, chosen)
    built.asked, built.reused, built.spent = dispatcher.asked, dispatcher.reused, dispatcher.budget.spent
    return built


build = blocking(build_async, "build")


def _retriever(corpus: Corpus | None, retriever: Any, top: int) -> RetrieverAdapter | None:
    if corpus is not None:
        retriever = corpus_search(corpus, top)
    if isinstance(retriever, str) and retriever.startswith("python:"):
        retriever = python_object(retriever.removeprefix("python:"))
    return None if retriever is None else RetrieverAdapter(retriever)


def _questions(data: Any, options: SampleOptions) -> tuple[SampleReader, Iterator[Sample]]:
    """The reader and its samples, with gold answers as references. Raises MissingField without a query column."""
    reader = options.read(data)
    columns = reader.columns
    if columns and "query" not in columns:
        raise MissingField(f"{reader.name}: no column of questions; name it with map={{'query': COLUMN}}")
    column = columns.get("response", "")
    if "references" in columns or "response" in (options.map or {}) or rank("references", column) is None:
        return reader, iter(reader)
    only_answers = ((sample, (sample.response,) if sample.response else None) for sample in reader)
    return reader, (msgspec.structs.replace(sample, references=gold, response=None) for sample, gold in only_answers)


async def _with_documents(sample: Sample, retriever: RetrieverAdapter, top: int, built: Built) -> Sample:
    answerable = sample.answerable if sample.contexts is None else None
    bare = msgspec.structs.replace(sample, contexts=None, answerable=answerable)
    if not sample.query:
        return built.fail(bare, "documents", "no_query: the sample has no query")
    try:
        return msgspec.structs.replace(bare, contexts=await retriever.retrieve(sample.query, top))
    except RetrieverError as error:
        return built.fail(bare, "documents", f"retriever_error: {error}")


async def _labelled(sample: Sample, dispatcher: Dispatcher, need: Need[SampleLabels], built: Built) -> Sample:
    outcome = await built.resolve(dispatcher, sample, need, "labels")
    if isinstance(outcome, Sample):
        return outcome
    if isinstance(outcome, SampleLabels):
        several = sample.answers is None and len(sample.references or ()) > 1
        built.first_of_several += several and outcome.answers != (sample.references,)
        return outcome.on(sample)
    if sample.answers or sample.references:
        return built.fail(sample, "labels", cast(Undefined, outcome).reason)
    built.without_gold += 1
    return sample
