"""Test sets from documents: questions with references and the passages that they are about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal, get_args

import msgspec

from ragauge.datasets.asked_questions import KIND, AskedQuestions
from ragauge.datasets.asked_questions import QuestionSet as QuestionSet
from ragauge.datasets.calls import ModelCalls
from ragauge.datasets.corpus import WORDS, Corpus, read_corpus
from ragauge.datasets.drafting import ASKED_KINDS, REAL, STANDALONE, prompts_digest
from ragauge.datasets.drawing import PassageMap
from ragauge.datasets.offline_questions import OfflineQuestions
from ragauge.datasets.real_questions import RealQuestions
from ragauge.datasets.retrieval import PassageSearch, load_bm25s
from ragauge.datasets.samples import ProgressCallback
from ragauge.errors import BadParameter, BadRow, UnanswerableNeed
from ragauge.judges.base import JudgeLike
from ragauge.judges.llm.judge import LLMJudge
from ragauge.readers import read
from ragauge.run.asking import Dispatcher
from ragauge.run.budget import Budget, check_priced, price_dates
from ragauge.run.plan import Plan
from ragauge.run.prepare import StoreLike, opened_store
from ragauge.run.specs import load_judges
from ragauge.run.sync import blocking
from ragauge.store import Store
from ragauge.types import Sample

#: A folder, a file, documents, or a corpus that was read.
CorpusLike = str | Path | Corpus | Iterable[Any]

#: What questions are made without a model.
OfflineKind = Literal["cloze", "heading"]
OFFLINE_KINDS: tuple[OfflineKind, ...] = get_args(OfflineKind)

#: The most passages that are held; of a larger corpus as many are drawn.
MOST_PASSAGES = 50_000

#: What a judge must answer to prove questions.
PROOF_TOPICS = ("decompose", "entail:support", "relevant", "correct")


@dataclass(frozen=True, kw_only=True)
class QuestionOptions:
    """Options of `questions`.

    kinds: with a model of "single", "bridge", "comparison", "unanswerable" and "follow-up", else of "cloze" and
    "heading"; None for all. traces: questions of users in place of those that a model writes, in any form that `read`
    takes, with map: field -> column. mask: hide personal data in them. judge: proves the questions; None for the model.
    language: of the questions, such as "de"; None for that of the passages. style: of those who ask, in a line.
    attempts: the most drafts for each question that is wanted. words: the most words of a passage. seed: of all draws.
    store: keeps replies and judgments, so that the same call asks only for what is missing. skip_bad_rows: leave out
    files and rows that cannot be read. max_cost: in dollars; what holds by then is returned. progress: called with the
    number of questions.
    """

    n: int = 200
    kinds: Sequence[str] | None = None
    traces: Any = None
    map: Mapping[str, str] | None = None
    mask: bool = False
    judge: JudgeLike | None = None
    language: str | None = None
    style: str | None = None
    attempts: float = 3.0
    words: int = WORDS
    seed: int = 42
    store: StoreLike = None
    skip_bad_rows: bool = False
    max_cost: float | None = None
    progress: ProgressCallback | None = None


async def questions_async(corpus: CorpusLike, model: Any = None, **options: Any) -> QuestionSet:
    """Make a test set from documents; `questions` is the synchronous form.

    Args:
        corpus: a folder or file of documents, or documents; see `read_corpus`.
        model: writes the questions, as for `rg.llm`, or answers those in `traces`; None makes questions that need no
            model.
        options: n, how many questions, and the others of `QuestionOptions`. The same corpus, options and replies give
            the same set, with fewer than n where the corpus or the model does not give as many.

    Raises:
        BadParameter: a kind is not known, n is below 1, or a limit is given without a price.
        BadData: the corpus cannot be read or has no text.
        MissingExtra: unanswerable questions or those of users are wanted, and bm25s is not installed; or `mask`, and
            presidio-analyzer is not.
    """
    chosen = QuestionOptions(**options)
    making = _Making(corpus, model, chosen)
    made = making.made
    origin: dict[str, Any] = {"seed": chosen.seed, "words": chosen.words}
    if model is None:
        if (chosen.judge, chosen.language, chosen.style, chosen.max_cost) != (None,) * 4:
            raise BadParameter("without a model nothing is judged, and questions are in the words of the corpus")
        making.make_offline()
    else:
        budget = Budget(chosen.max_cost)
        calls, dispatcher = making.askers(opened_store(chosen.store), budget)
        async with calls, dispatcher.opened():
            async for number in making.asked().make(making.quotas, chosen.attempts, calls, dispatcher):
                if chosen.progress:
                    chosen.progress(number)
        made.asked, made.reused = made.asked + dispatcher.asked, made.reused + dispatcher.reused
        made.spent = budget.spent
        judges = [str(judge.identity) for judge in dispatcher.router.unique]
        origin |= {"model": str(calls.identity), "judge": ", ".join(judges), "prompts": prompts_digest()}
    made.seal(**origin)
    return made


questions = blocking(questions_async, "questions")


def plan_questions(corpus: CorpusLike, model: Any, **options: Any) -> Plan:
    """What `questions` costs with the same arguments if every draft holds; each one that is dropped adds its part.

    Nothing is sent and no key is needed. Arguments and errors are those of `questions`.
    """
    chosen = QuestionOptions(**options)
    making, store = _Making(corpus, model, chosen), chosen.store
    existing = store if isinstance(store, Store) or (store is not None and Store.exists(store)) else None
    calls, dispatcher = making.askers(opened_store(existing), Budget())
    cost = making.asked().expected(making.quotas, calls, dispatcher)
    return Plan(making.made.wanted, cost=cost, priced=tuple(sorted(price_dates(dispatcher.router.unique))))


class _Making:
    """What is to be made. quotas: kind -> how many questions. Raises what `questions` raises before it asks."""

    def __init__(self, corpus: CorpusLike, model: Any, options: QuestionOptions) -> None:
        offered: tuple[str, ...] = OFFLINE_KINDS if model is None else ASKED_KINDS
        n, seed, is_real = options.n, options.seed, options.traces is not None
        if is_real and (model is None or options.kinds or options.language or options.style):
            raise BadParameter("questions of users take a model that answers them, and no kinds, language or style")
        if not is_real and (options.mask or options.map):
            raise BadParameter("mask and map are about questions of users; give them with traces (--from FILE)")
        kinds = (REAL,) if is_real else tuple(dict.fromkeys(options.kinds or offered))
        searches = is_real or "unanswerable" in kinds
        if unknown := [kind for kind in kinds if kind not in offered and not is_real]:
            having = "without a model" if model is None else "with a model"
            raise BadParameter(f"kinds: {unknown[0]!r} is not one of {', '.join(offered)}, which can be made {having}")
        if n < 1 or not options.attempts > 0:
            raise BadParameter(f"n={n} must be 1 or more, and attempts={options.attempts} above 0")
        if searches:
            load_bm25s()
        if not isinstance(corpus, Corpus):
            skip_bad = options.skip_bad_rows
            corpus = read_corpus(corpus, options.words, skip_bad=skip_bad, distinct=True, most=MOST_PASSAGES, seed=seed)
        if searches and not corpus.is_whole:
            drawn = f"{len(corpus.passages)} of {corpus.total} passages were drawn"
            fix = "give a part of the corpus" if is_real else "leave out the kind 'unanswerable'"
            raise BadParameter(f"{drawn}, and the others may answer a question; {fix}")
        self._searches, self._real, bad_rows = searches, None, list[BadRow]()
        if is_real:
            reader = read(options.traces, map=options.map, skip_bad_rows=options.skip_bad_rows)
            self._real, bad_rows = RealQuestions(reader, n, seed, options.mask), reader.bad_rows
        real, skipped = self._real.total if self._real else 0, tuple(map(str, bad_rows))
        self.made = QuestionSet(corpus=corpus, wanted=n, real=real, bad_rows=skipped)
        self.quotas = {kind: n // len(kinds) + (place < n % len(kinds)) for place, kind in enumerate(kinds)}
        self._model, self._options, self._passages = model, options, corpus.passages
        self._map = PassageMap([passage.passage for passage in corpus.passages])
        self._order = self._map.covering_order(n, Random(seed))

    def make_offline(self) -> None:
        """Make questions that need no model, of each kind in turn."""
        offline = OfflineQuestions(self._passages, self._map)
        makers = {"cloze": offline.cloze, "heading": offline.heading}
        streams = {kind: makers[kind](self._order) for kind in self.quotas}
        while streams and len(self.made.samples) < self.made.wanted:
            for kind, stream in list(streams.items())[: self.made.wanted - len(self.made.samples)]:
                if question := next(stream, None):
                    self.made.add(kind, question)
                else:
                    del streams[kind]

    def asked(self) -> AskedQuestions:
        """What has the model write them."""
        search = PassageSearch([passage.passage for passage in self._passages]) if self._searches else None
        how = (self._options.seed, self._options.language, self._options.style)
        return AskedQuestions(self.made, self._map, self._order, search, *how, self._real)

    def askers(self, store: Store, budget: Budget) -> tuple[ModelCalls, Dispatcher]:
        """Who writes, and who proves: a judge, or a judge made of the model."""
        own = load_judges(self._model)
        router = own if self._options.judge is None else load_judges(self._options.judge)
        if not isinstance(writer := own.unique[0], LLMJudge):
            raise BadParameter(f"{writer.identity} writes no questions; name a model, such as openai/gpt-4o-mini")
        check_priced(router.unique, budget.limit)
        if missing := [topic for topic in PROOF_TOPICS if not router.can(topic)]:
            raise UnanswerableNeed(f"the judge does not answer {', '.join(missing)}; name one that does")
        return ModelCalls(writer.client, store, budget, self.made), Dispatcher(router, store, budget)


def difference(a: Any, b: Any) -> dict[str, list[str]]:
    """What distinguishes two versions of a test set.

    Args:
        a, b: in any form that `read` takes. Rows are matched by id; what a system added, its response and contexts, and
            the identity of the set do not count.

    Returns:
        The ids of the rows that were "added", "removed" and "changed", in their order.

    Raises what `read` raises.
    """
    first, second = ({sample.id: _content(sample) for sample in read(data)} for data in (a, b))
    return {
        "added": [id for id in second if id not in first],
        "removed": [id for id in first if id not in second],
        "changed": [id for id in first if id in second and first[id] != second[id]],
    }


def _content(sample: Sample) -> Sample:
    kept = {key: value for key, value in sample.metadata.items() if key in (KIND, STANDALONE)}
    return msgspec.structs.replace(sample, response=None, contexts=None, system=None, metadata=kept)
