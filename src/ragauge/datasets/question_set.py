"""Test sets from documents: questions with references and the passages that they are about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal, get_args

import msgspec

from ragauge.datasets.asked_questions import KIND, TEST_SET, AskedQuestions
from ragauge.datasets.asked_questions import QuestionSet as QuestionSet
from ragauge.datasets.calls import ModelCalls
from ragauge.datasets.corpus import WORDS, Corpus, read_corpus
from ragauge.datasets.drafting import ASKED_KINDS, REAL, STANDALONE, prompts_digest
from ragauge.datasets.drawing import PassageMap
from ragauge.datasets.offline_questions import OfflineQuestions
from ragauge.datasets.real_questions import RealQuestions
from ragauge.datasets.retrieval import PassageSearch, load_bm25s
from ragauge.datasets.samples import ProgressCallback
from ragauge.errors import BadParameter, UnanswerableNeed
from ragauge.judges.base import JudgeLike
from ragauge.judges.llm.judge import LLMJudge
from ragauge.readers import read
from ragauge.run.asking import Dispatcher
from ragauge.run.budget import Budget, check_priced, price_dates
from ragauge.run.plan import Plan
from ragauge.run.prepare import StoreLike, existing_store, opened_store
from ragauge.run.specs import load_judges
from ragauge.run.sync import blocking
from ragauge.store import Store
from ragauge.types import Sample

#: A folder, a file, documents, or a corpus that was read.
CorpusLike = str | Path | Corpus | Iterable[Any]

#: The kinds of question that are made without a model.
OfflineKind = Literal["cloze", "heading"]
OFFLINE_KINDS: tuple[OfflineKind, ...] = get_args(OfflineKind)

#: The most passages that are held in memory; from a larger corpus, so many are drawn at random.
MOST_PASSAGES = 50_000

#: Fields that a system adds to a question, and the metadata that other columns are read into.
_OF_SYSTEMS = ("response", "contexts", "system", "metadata")

#: What a judge must answer to prove questions.
PROOF_TOPICS = ("decompose", "entail:support", "relevant", "correct")


@dataclass(frozen=True, kw_only=True)
class QuestionOptions:
    """Options of `questions`.

    n: the number of questions. kinds: with a model "single", "bridge", "comparison", "unanswerable" and "follow-up",
    else "cloze" and "heading"; None for all. traces: questions of users to use in place of written ones, in any form
    that `read` takes, with map: field -> column. mask: hide personal data in them. judge: proves the questions; None
    for the model. language: of the questions, such as "de"; None for that of the passages. style: of the people who
    ask, in one line. attempts: the most drafts per question. words: the most words of a passage. seed: of all draws.
    store: keeps replies and judgments, so that the same call asks only for what is missing. skip_bad_rows: leave out
    files and rows that cannot be read. max_cost: the most dollars to spend; the questions proved by then are returned.
    progress: called with the number of questions.
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
        options: the fields of `QuestionOptions`. The same corpus, options and replies give the same set, with fewer
            than n questions if the corpus or the model does not give more.

    Raises:
        BadParameter: a kind is not known, n is below 1, or a limit is given without a price.
        BadData: the corpus cannot be read or has no text.
        MissingExtra: bm25s, for unanswerable questions and those of users, or presidio-analyzer, for `mask`, is not
            installed.
    """
    chosen = QuestionOptions(**options)
    builder = _Builder(corpus, model, chosen)
    built = builder.question_set
    origin: dict[str, Any] = {"seed": chosen.seed, "words": chosen.words}
    if model is None:
        if any(option is not None for option in (chosen.judge, chosen.language, chosen.style, chosen.max_cost)):
            raise BadParameter("without a model nothing is judged, and questions are in the words of the corpus")
        builder.make_offline()
    else:
        budget = Budget(chosen.max_cost)
        calls, dispatcher = builder.writer_and_prover(opened_store(chosen.store), budget)
        async with calls, dispatcher.opened():
            async for count in builder.asked_questions().make(builder.quotas, chosen.attempts, calls, dispatcher):
                if chosen.progress:
                    chosen.progress(count)
        built.asked += dispatcher.asked
        built.reused += dispatcher.reused
        built.spent = budget.spent
        judges = [str(judge.identity) for judge in dispatcher.router.unique]
        origin |= {"model": str(calls.identity), "judge": ", ".join(judges), "prompts": prompts_digest()}
    built.seal(**origin)
    return built


questions = blocking(questions_async, "questions")


def plan_questions(corpus: CorpusLike, model: Any, **options: Any) -> Plan:
    """What `questions` costs with the same arguments if every draft is kept; each dropped draft adds its share.

    Nothing is sent and no key is needed. Arguments and errors are those of `questions`.
    """
    chosen = QuestionOptions(**options)
    builder = _Builder(corpus, model, chosen)
    calls, dispatcher = builder.writer_and_prover(opened_store(existing_store(chosen.store)), Budget())
    cost = builder.asked_questions().expected(builder.quotas, calls, dispatcher)
    return Plan(chosen.n, cost=cost, priced=tuple(sorted(price_dates(dispatcher.router.unique))))


class _Builder:
    """Builds `question_set`. quotas: kind -> the number of questions. Raises what `questions` raises before it asks."""

    def __init__(self, corpus: CorpusLike, model: Any, options: QuestionOptions) -> None:
        kinds = _checked_kinds(model, options)
        self._model, self._options = model, options
        self._searches = options.traces is not None or "unanswerable" in kinds
        self._corpus = self._read_corpus(corpus)
        self._real: RealQuestions | None = None
        self.question_set = QuestionSet(corpus=self._corpus, wanted=options.n)
        if options.traces is not None:
            reader = read(options.traces, map=options.map, skip_bad_rows=options.skip_bad_rows)
            self._real = RealQuestions(reader, options.n, options.seed, options.mask)
            self.question_set.real = self._real.total
            self.question_set.bad_rows = tuple(map(str, reader.bad_rows))
        share, rest = divmod(options.n, len(kinds))
        self.quotas = {kind: share + (position < rest) for position, kind in enumerate(kinds)}
        self._passages = PassageMap([passage.passage for passage in self._corpus.passages])
        self._order = self._passages.covering_order(options.n, Random(options.seed))

    def _read_corpus(self, corpus: CorpusLike) -> Corpus:
        options = self._options
        if self._searches:
            load_bm25s()
        if not isinstance(corpus, Corpus):
            skip_bad, seed = options.skip_bad_rows, options.seed
            corpus = read_corpus(corpus, options.words, skip_bad=skip_bad, distinct=True, most=MOST_PASSAGES, seed=seed)
        if self._searches and not corpus.is_whole:
            drawn = f"{len(corpus.passages)} of {corpus.total} passages were drawn"
            fix = "leave out the kind 'unanswerable'" if options.traces is None else "give a part of the corpus"
            raise BadParameter(f"{drawn}, and the others may answer a question; {fix}")
        return corpus

    def make_offline(self) -> None:
        """Make questions that need no model, of each kind in turn."""
        offline = OfflineQuestions(self._corpus.passages, self._passages)
        makers = {"cloze": offline.cloze, "heading": offline.heading}
        streams = {kind: makers[kind](self._order) for kind in self.quotas}
        while streams and (missing := self.question_set.wanted - len(self.question_set.samples)) > 0:
            for kind, stream in list(streams.items())[:missing]:
                if question := next(stream, None):
                    self.question_set.add(kind, question)
                else:
                    del streams[kind]

    def asked_questions(self) -> AskedQuestions:
        """The questions that the model writes, or answers."""
        search = PassageSearch([passage.passage for passage in self._corpus.passages]) if self._searches else None
        options = (self._options.seed, self._options.language, self._options.style)
        return AskedQuestions(self.question_set, self._passages, self._order, search, *options, self._real)

    def writer_and_prover(self, store: Store, budget: Budget) -> tuple[ModelCalls, Dispatcher]:
        """The model that writes questions, and the judges that prove them: `judge`, or the model itself."""
        models = load_judges(self._model)
        router = models if self._options.judge is None else load_judges(self._options.judge)
        writer = models.unique[0]
        if not isinstance(writer, LLMJudge):
            raise BadParameter(f"{writer.identity} writes no questions; name a model, such as openai/gpt-4o-mini")
        check_priced(router.unique, budget.limit)
        if missing := [topic for topic in PROOF_TOPICS if not router.can(topic)]:
            raise UnanswerableNeed(f"the judge does not answer {', '.join(missing)}; name one that does")
        return ModelCalls(writer.client, store, budget, self.question_set), Dispatcher(router, store, budget)


def _checked_kinds(model: Any, options: QuestionOptions) -> tuple[str, ...]:
    """The kinds of question to make. Raises BadParameter for options that do not go together."""
    offered: tuple[str, ...] = OFFLINE_KINDS if model is None else ASKED_KINDS
    is_real = options.traces is not None
    if is_real and (model is None or options.kinds or options.language or options.style):
        raise BadParameter("questions of users take a model that answers them, and no kinds, language or style")
    if not is_real and (options.mask or options.map):
        raise BadParameter("mask and map are about questions of users; give them with traces (--from FILE)")
    kinds = (REAL,) if is_real else tuple(dict.fromkeys(options.kinds or offered))
    if unknown := [kind for kind in kinds if kind not in offered and not is_real]:
        with_or_without = "without" if model is None else "with"
        raise BadParameter(
            f"kinds: {unknown[0]!r} is not one of {', '.join(offered)}, which can be made {with_or_without} a model"
        )
    if options.n < 1 or not options.attempts > 0:
        raise BadParameter(f"n={options.n} must be 1 or more, and attempts={options.attempts} above 0")
    return kinds


def difference(a: Any, b: Any) -> dict[str, Any]:
    """What distinguishes two versions of a test set.

    Args:
        a, b: in any form that `read` takes. Rows are matched by id. A system's response and contexts and the identity
            of the set are ignored.

    Returns:
        The ids of the rows that were "added" and "removed", in their order; for those that were "changed", their id ->
        field -> both values; and of other "columns": column -> the ids of the rows in which they differ.

    Raises what `read` raises.
    """
    first, second = ({sample.id: _content(sample) for sample in read(data)} for data in (a, b))
    changed: dict[str, dict[str, tuple[Any, Any]]] = {}
    columns: dict[str, list[str]] = {}
    for id in (id for id in first if id in second):
        (fields, others), (new_fields, new_others) = first[id], second[id]
        if changes := _changes(fields, new_fields):
            changed[id] = changes
        for column in _changes(others, new_others):
            columns.setdefault(column, []).append(id)
    added, removed = [id for id in second if id not in first], [id for id in first if id not in second]
    return {"added": added, "removed": removed, "changed": changed, "columns": columns}


def _changes(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Key -> both values where they differ, of `answerable` only where both have it, since `build` adds it."""
    both = {key: (a.get(key), b.get(key)) for key in {**a, **b}}
    return {key: pair for key, pair in both.items() if pair[0] != pair[1] and (key != "answerable" or None not in pair)}


def _content(sample: Sample) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of a question, and the other columns, without what a system added and the identity of the set."""
    others = {key: value for key, value in sample.metadata.items() if key != TEST_SET}
    asked = {key: others.pop(key) for key in (KIND, STANDALONE) if key in others}
    fields = msgspec.structs.asdict(sample)
    return {key: fields[key] for key in fields if key not in _OF_SYSTEMS} | asked, others
