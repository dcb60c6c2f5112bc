"""Building: questions and gold answers in, samples with documents and answerability labels out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ragauge.dataset.corpus import Corpus, read_corpus
from ragauge.dataset.labelling import Labels, labels
from ragauge.dataset.retrieving import CorpusRetriever, ForeignRetriever, Retriever, RetrieverFailed
from ragauge.dataset.samples import Made, Progress, fresh, with_first_documents, worked, worked_out
from ragauge.errors import BadParameter, MissingField, UnanswerableNeed
from ragauge.judges.base import JudgeRouter
from ragauge.needs.base import Failed, Need
from ragauge.readers import SampleReader, read
from ragauge.readers.columns import rank
from ragauge.rounds import unanswerable
from ragauge.run.asking import Budget, Dispatcher, JudgmentCache, Stopped, check_priced
from ragauge.run.prepare import StoreLike, opened_store
from ragauge.run.specs import JudgeLike, load_judges, python_object
from ragauge.run.sync import blocking
from ragauge.types import Sample

#: Documents of a sample, as in Trust-Eval.
TOP = 5

_AT_ONCE = 32


@dataclass(kw_only=True)
class Built(Made):
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
    progress: Progress | None = None,
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
    bench = _bench(judge, claims, max_cost)
    wanted = labels("whole" if claims is None else "apart")
    if topics := unanswerable([wanted], bench.can):
        raise UnanswerableNeed(f"no judge at hand answers {', '.join(topics)}; name one that does")
    reading, samples = _questions(questions, map, limit, skip_bad_rows)
    searched = read_corpus(corpus, skip_bad=skip_bad_rows) if isinstance(corpus, str | Path) else corpus
    opened = opened_store(store)
    finder = _retriever(searched, retriever, opened.path.parent if store is not None else None)
    if finder is None and reading.columns and "contexts" not in reading.columns:
        raise MissingField(f"{reading.name}: no documents; give a corpus (--corpus FOLDER), or a retriever")
    asker = Dispatcher(bench, JudgmentCache(bench, opened, {}), Budget(max_cost))
    built = Built(corpus=searched, indexed=isinstance(finder, CorpusRetriever) and finder.made)
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
    return None if found is None else ForeignRetriever(found)


def _bench(judge: JudgeLike, claims: JudgeLike | None, max_cost: float | None) -> JudgeRouter:
    bench = load_judges(judge)
    if claims is not None:
        bench = JudgeRouter({**bench.judges, "decompose": load_judges(claims).judges["*"]})
    check_priced(bench.unique(), max_cost)
    return bench


class _Building:
    """Makes samples, and counts what they lack."""

    def __init__(
        self, asker: Dispatcher, retriever: Retriever | None, wanted: Need[Labels], top: int, built: Built
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
            found = await self._retriever.find(sample.query, self._top)
        except RetrieverFailed as error:
            return self._built.lacking(bare, "documents", f"retriever_error: {error}")
        return msgspec.structs.replace(bare, contexts=found)

    async def _labelled(self, sample: Sample) -> Sample:
        try:
            outcome = await worked_out(self._asker, sample, self._labels)
        except Stopped as stopped:
            return self._built.stop(sample, "labels", stopped)
        if isinstance(outcome, Failed):
            return self._built.lacking(sample, "labels", outcome.reason)
        if isinstance(outcome, Labels):
            several = sample.answers is None and len(sample.references or ()) > 1
            self._built.first_of_several += several and outcome.answers != (sample.references,)
            return outcome.on(sample)
        self._built.without_gold += 1
        return sample
