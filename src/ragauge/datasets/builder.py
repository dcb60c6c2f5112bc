"""Questions and gold answers in, samples with documents and answerability labels out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from ragauge.datasets.corpus import Corpus, read_corpus
from ragauge.datasets.retrieval import CorpusRetriever, Retriever, RetrieverAdapter, RetrieverError, load_bm25s
from ragauge.datasets.samples import ProgressCallback, SampleSet, fresh, with_first_documents, worked, worked_out
from ragauge.errors import BadParameter, MissingField, UnanswerableNeed
from ragauge.judges.base import JudgeRouter
from ragauge.needs.base import Failed, Need, NothingToCount, QuestionFlow
from ragauge.needs.gold import GOLD_LABELS_KEY, GoldAnswers, GoldRow, gold_in_contexts, gold_labels
from ragauge.questions import Decompose
from ragauge.readers import SampleReader, read
from ragauge.readers.columns import rank
from ragauge.rounds import unanswerable
from ragauge.run.asking import Budget, Dispatcher, JudgmentCache, Stopped, check_priced
from ragauge.run.prepare import StoreLike, opened_store
from ragauge.run.specs import JudgeLike, load_judges, python_object
from ragauge.run.sync import blocking
from ragauge.scores import Evidence
from ragauge.types import Chunk, Decomposition, Sample

#: What is made of a gold answer: one claim, or those that a judge finds in it.
Claims = Literal["whole", "apart"]


@dataclass(frozen=True)
class SampleLabels:
    """What is known of a sample's answers. documents: for each document whether it holds each claim; None: unknown."""

    answers: GoldAnswers
    documents: tuple[GoldRow, ...] | None
    evidence: tuple[Evidence, ...] = ()

    def on(self, sample: Sample) -> Sample:
        """The sample with these labels: `answers`, `answers_found` of each document, and `answerable` unless given."""
        if self.documents is None:
            return msgspec.structs.replace(sample, answers=self.answers)
        contexts = tuple(map(_labelled, sample.contexts or (), self.documents))
        answerable = any(map(any, self.documents)) if sample.answerable is None else sample.answerable
        return msgspec.structs.replace(sample, answers=self.answers, contexts=contexts, answerable=answerable)


def label_samples(claims: Claims = "whole") -> Need[SampleLabels]:
    """The gold claims of a sample, and which of its documents hold which, each document by itself.

    Claims and labels that the sample has are kept, but for labels of documents that are not one for each claim. A gold
    answer is one claim, of which further references are other wordings, as Trust-Eval has it; or the first is taken
    apart.
    """

    def flow(sample: Sample) -> QuestionFlow[SampleLabels]:
        answers = sample.answers or (yield from _answers(sample, claims))
        if not all(answers):
            raise NothingToCount("a gold claim in 'answers' has no wording")
        if sample.contexts is None:
            return SampleLabels(answers, None)
        contexts = tuple(_fitting(chunk, len(answers)) for chunk in sample.contexts)
        if sample.answerable is False:
            return SampleLabels(answers, tuple(gold_labels(chunk) or (False,) * len(answers) for chunk in contexts))
        found = yield from gold_in_contexts(msgspec.structs.replace(sample, answers=answers, contexts=contexts))
        if found.documents is None:
            raise NothingToCount("several chunks were judged only together, without a label for each")
        return SampleLabels(answers, found.documents)

    asks = {"entail:support"} | ({"decompose"} if claims == "apart" else set())
    return Need(f"labels({claims})", (), frozenset(asks), flow)


def _answers(sample: Sample, claims: Claims) -> QuestionFlow[GoldAnswers]:
    """The gold claims of the references. Raises NothingToCount where there are none."""
    if not sample.references:
        raise NothingToCount("the sample has no gold answer")
    if claims == "apart":
        (judgment,) = yield [Decompose(sample.references[0], sample.query)]
        found = [one.text for one in cast(Decomposition, judgment.answer).statements if one.claim]
        if found:
            return tuple((claim,) for claim in found)
    return (sample.references,)


def _fitting(chunk: Chunk, claims: int) -> Chunk:
    """The document without labels that are not one for each claim."""
    if len(gold_labels(chunk)) == claims:
        return chunk
    rest = {key: value for key, value in chunk.metadata.items() if key != GOLD_LABELS_KEY}
    return msgspec.structs.replace(chunk, metadata=rest)


def _labelled(chunk: Chunk, found: Sequence[bool]) -> Chunk:
    return msgspec.structs.replace(chunk, metadata={**chunk.metadata, GOLD_LABELS_KEY: [int(one) for one in found]})


#: Documents of a sample, as in Trust-Eval.
TOP = 5

_AT_ONCE = 32


@dataclass(kw_only=True)
class Built(SampleSet):
    """A data set: a sample for each question.

    corpus: what was searched; None where documents came from elsewhere. indexed: whether its index was made anew.
    without_gold, without_documents: samples that nothing could be said of for that reason. first_of_several: samples
    of whose references only the first was taken apart into claims.
    """

    corpus: Corpus | None = None
    indexed: bool = False
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
    store: StoreLike = None,
    map: Mapping[str, str] | None = None,
    limit: int | None = None,
    skip_bad_rows: bool = False,
    max_cost: float | None = None,
    progress: ProgressCallback | None = None,
) -> Built:
    """Make a data set for Trust-Eval's metrics. `build` works wherever `evaluate` does; this is awaited.

    questions: questions with gold answers, in anything that `read` reads; where there is no response beside it, a
    column such as "answer" is the gold answer.
    corpus: a folder or file that is searched for documents. retriever: finds them instead: a function of the question,
    a retriever of LlamaIndex or LangChain, or "python:MODULE:NAME", which names one. Without both, the documents in the
    data are taken.
    judge: says which document holds which claim. claims: a judge that takes gold answers apart into claims, of several
    references the first; without it the whole answer is one claim. top: documents a sample, 1 or more.
    store: where judgments are kept, and the index of a corpus; None keeps nothing. limit, map: as in `evaluate`.
    skip_bad_rows: as there, for files and rows of the corpus too. max_cost: in dollars; labels beyond it are missing,
    and said to be. progress: called with the number of samples done.

    Raises UsageError where the data or the corpus cannot be read, a judge cannot answer, or there are no documents.
    """
    if corpus is not None and retriever is not None:
        raise BadParameter("give a corpus or a retriever, not both")
    if top < 1:
        raise BadParameter(f"top={top} must be 1 or more")
    if corpus is not None:
        load_bm25s()
    bench = _bench(judge, claims, max_cost)
    wanted = label_samples("whole" if claims is None else "apart")
    if topics := unanswerable([wanted], bench.can):
        raise UnanswerableNeed(f"no judge at hand answers {', '.join(topics)}; name one that does")
    reading, samples = _questions(questions, map, limit, skip_bad_rows)
    searched = read_corpus(corpus, skip_bad=skip_bad_rows) if isinstance(corpus, str | Path) else corpus
    opened = opened_store(store)
    finder = _retriever(searched, retriever, opened.path.parent if store is not None else None)
    if finder is None and reading.columns and "contexts" not in reading.columns:
        raise MissingField(f"{reading.name}: no documents; give a corpus (--corpus FOLDER), or a retriever")
    asker = Dispatcher(bench, JudgmentCache(bench, opened, {}), Budget(max_cost))
    built = Built(corpus=searched, indexed=isinstance(finder, CorpusRetriever) and finder.built)
    building = _Building(asker, finder, wanted, top, built)
    async with asker.opened():
        built.samples = await worked(samples, building.sample, _AT_ONCE, progress)
    built.bad_rows = tuple(str(bad) for bad in reading.bad_rows)
    built.asked, built.reused, built.spent = asker.asked, asker.reused, asker.budget.spent
    return built


build = blocking(build_async, "build")


def _questions(
    data: Any, map: Mapping[str, str] | None, limit: int | None, skip: bool
) -> tuple[SampleReader, Iterator[Sample]]:
    """The questions. Raises MissingField where there are none."""
    reading = read(data, map=map, skip_bad_rows=skip, limit=limit)
    columns = reading.columns
    if columns and "query" not in columns:
        raise MissingField(f"{reading.name}: no column of questions; name it with map={{'query': COLUMN}}")
    column = columns.get("response", "")
    is_gold = "references" not in columns and "response" not in (map or {}) and rank("references", column) is not None
    return reading, (_as_gold(sample) if is_gold else sample for sample in reading)


def _as_gold(sample: Sample) -> Sample:
    """The sample with its only answer, which stands beside a question alone, for a gold answer."""
    references = (sample.response,) if sample.response else None
    return msgspec.structs.replace(sample, references=references, response=None)


def _retriever(corpus: Corpus | None, retriever: Any, folder: Path | None) -> Retriever | None:
    if corpus is not None:
        return CorpusRetriever(corpus, folder)
    named = isinstance(retriever, str) and retriever.startswith("python:")
    found = python_object(retriever.removeprefix("python:")) if named else retriever
    return None if found is None else RetrieverAdapter(found)


def _bench(judge: JudgeLike, claims: JudgeLike | None, max_cost: float | None) -> JudgeRouter:
    bench = load_judges(judge)
    if claims is not None:
        bench = JudgeRouter({**bench.judges, "decompose": load_judges(claims).judges["*"]})
    check_priced(bench.unique(), max_cost)
    return bench


class _Building:
    """Makes samples, and counts what they lack."""

    def __init__(
        self, asker: Dispatcher, retriever: Retriever | None, wanted: Need[SampleLabels], top: int, built: Built
    ) -> None:
        self._asker, self._retriever, self._labels, self._top = asker, retriever, wanted, top
        self._built = built

    async def sample(self, given: Sample) -> Sample:
        """The sample with its documents and labels, or with a word on why it lacks them."""
        sample = await self._with_documents(fresh(given))
        if not sample.contexts:
            self._built.without_documents += 1
        return await self._labelled(sample)

    async def _with_documents(self, sample: Sample) -> Sample:
        if self._retriever is None:
            return with_first_documents(sample, self._top)
        answerable = sample.answerable if sample.contexts is None else None
        bare = msgspec.structs.replace(sample, contexts=None, answerable=answerable)
        if not sample.query:
            return self._built.lacking(bare, "documents", "no_query: the sample has no query")
        try:
            found = await self._retriever.retrieve(sample.query, self._top)
        except RetrieverError as error:
            return self._built.lacking(bare, "documents", f"retriever_error: {error}")
        return msgspec.structs.replace(bare, contexts=found)

    async def _labelled(self, sample: Sample) -> Sample:
        try:
            outcome = await worked_out(self._asker, sample, self._labels)
        except Stopped as stopped:
            return self._built.stop(sample, "labels", stopped)
        if isinstance(outcome, Failed):
            return self._built.lacking(sample, "labels", outcome.reason)
        if isinstance(outcome, SampleLabels):
            several = sample.answers is None and len(sample.references or ()) > 1
            self._built.first_of_several += several and outcome.answers != (sample.references,)
            return outcome.on(sample)
        self._built.without_gold += 1
        return sample
