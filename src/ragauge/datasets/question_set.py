"""Test sets from documents: questions that a model writes and judges prove, or that take no model.

A model writes in waves: drafts, their proof, and no two alike, until there are enough.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import chain, compress, cycle, islice
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple, get_args

import msgspec

from ragauge.datasets import drafting
from ragauge.datasets.calls import Form, ModelCalls
from ragauge.datasets.corpus import WORDS, Corpus, read_corpus
from ragauge.datasets.drafting import ASKED_KINDS, REAL, STANDALONE, prompts_digest
from ragauge.datasets.drawing import NameLinks, PassageMap
from ragauge.datasets.generator import ANSWER, AnswerBrief, answer_prompt
from ragauge.datasets.offline_questions import OfflineQuestions
from ragauge.datasets.real_questions import real_questions
from ragauge.datasets.retrieval import PassageSearch, load_bm25s, words_of
from ragauge.datasets.samples import SampleOptions, SampleSet, add_metadata, without_metadata
from ragauge.errors import BadParameter, UnanswerableNeed
from ragauge.judges.base import JudgeLike
from ragauge.judges.llm.judge import LLMJudge
from ragauge.judges.llm.messages import Prompt
from ragauge.needs.base import Need
from ragauge.readers import read
from ragauge.run.asking import Dispatcher
from ragauge.run.budget import Budget, Stopped, check_priced, price_dates
from ragauge.run.plan import Cost, Plan
from ragauge.run.prepare import existing_store, opened_store
from ragauge.run.specs import load_judges
from ragauge.run.sync import blocking, ordered_map
from ragauge.store import Store
from ragauge.text.citations import citation_marks, citations_in, unmarked
from ragauge.text.refusals import refusal
from ragauge.text.trust_eval import is_refusal
from ragauge.types import Chunk, Failure, Sample

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


#: The key of a sample's metadata for the kind of its question, and for the test set that it is of.
KIND, TEST_SET = "kind", "test_set"

#: Drafts that are worked on at once.
_WIDTH = 32
#: Passages that a reader is shown, and that must not help to answer what is unanswerable.
_READ, _SEARCHED = 5, 20
#: The share of words in common from which on two questions are compared.
_SIMILAR = 0.5


class Draft(NamedTuple):
    """A question that was not kept yet. position: of its first passage."""

    kind: str
    position: int
    question: Sample


@dataclass(kw_only=True)
class QuestionSet(SampleSet):
    """A test set that was made from a corpus; of what a model drafted, only what holds.

    identity: a hash of its rows. wanted: the number of questions asked for. real: of how many questions of users they
    were drawn; 0 where a model writes them. kinds: kind -> the number of questions. made: kind -> the number of drafts.
    dropped: reason -> the number of drafts, of which `first_dropped` has the first.
    """

    corpus: Corpus
    wanted: int
    real: int = 0
    identity: str = ""
    kinds: Counter[str] = field(default_factory=Counter)
    made: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    first_dropped: dict[str, str] = field(default_factory=dict)

    def add(self, kind: str, question: Sample) -> None:
        """Add a question, with its kind and an id that its content gives."""
        ids = [chunk.id for chunk in question.reference_contexts or ()]
        digest = sha256(msgspec.json.encode([kind, question.query, question.turns, ids])).hexdigest()[:10]
        self.kinds[kind] += 1
        self.samples.append(add_metadata(msgspec.structs.replace(question, id=f"{kind}-{digest}"), **{KIND: kind}))

    def drop(self, reason: str, question: str | None) -> None:
        """Count a draft that is dropped."""
        self.dropped[reason] += 1
        self.first_dropped.setdefault(reason, question or "")


def sealed(samples: Sequence[Sample], origin: Mapping[str, Any]) -> list[Sample]:
    """The rows of a test set with its identity, a hash of them in any order, and what it was made with."""
    bare = [without_metadata(sample, TEST_SET) for sample in samples]
    mark = {**origin, "id": sha256(b"\n".join(sorted(map(msgspec.json.encode, bare)))).hexdigest()[:12]}
    return [add_metadata(sample, **{TEST_SET: mark}) for sample in bare]


def set_of(sample: Sample) -> str:
    """The identity of the test set that a sample is of; "" where it is of none."""
    mark = sample.metadata.get(TEST_SET)
    return str(mark.get("id", "")) if isinstance(mark, dict) else ""


@dataclass(frozen=True, kw_only=True)
class QuestionOptions(SampleOptions):
    """Options of `questions`.

    n: the number of questions. kinds: with a model "single", "bridge", "comparison", "unanswerable" and "follow-up",
    else "cloze" and "heading"; None for all. traces: questions of users to use in place of written ones, in any form
    that `read` takes, with map and limit as there. mask: hide personal data in them. judge: proves the questions; None
    for the model. language: of the questions, such as "de"; None for that of the passages. style: of the people who
    ask, in one line. attempts: the most drafts per question. words: the most words of a passage. seed: of all draws.
    store: keeps replies and judgments, so that the same call asks only for what is missing. skip_bad_rows: leave out
    files and rows that cannot be read. max_cost: the most dollars to spend; the questions proved by then are returned.
    progress: called with the number of questions.
    """

    n: int = 200
    kinds: Sequence[str] | None = None
    traces: Any = None
    mask: bool = False
    judge: JudgeLike | None = None
    language: str | None = None
    style: str | None = None
    attempts: float = 3.0
    words: int = WORDS
    seed: int = 42


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
    maker = _Maker(corpus, model, chosen)
    made = maker.question_set
    origin: dict[str, Any] = {"seed": chosen.seed, "words": chosen.words}
    if model is None:
        if any(option is not None for option in (chosen.judge, chosen.language, chosen.style, chosen.max_cost)):
            raise BadParameter("without a model nothing is judged, and questions are in the words of the corpus")
        maker.make_offline()
    else:
        budget = Budget(chosen.max_cost)
        calls, dispatcher = maker.load_models(opened_store(chosen.store), budget)
        async with calls, dispatcher.opened():
            await maker.make_asked()
        made.asked += dispatcher.asked
        made.reused += dispatcher.reused
        made.spent = budget.spent
        judges = [str(judge.identity) for judge in dispatcher.router.unique]
        origin |= {"model": str(calls.identity), "judge": ", ".join(judges), "prompts": prompts_digest()}
    made.samples = sealed(made.samples, origin)
    made.identity = set_of(made.samples[0]) if made.samples else ""
    return made


questions = blocking(questions_async, "questions")


def plan_questions(corpus: CorpusLike, model: Any, **options: Any) -> Plan:
    """What `questions` costs with the same arguments if every draft is kept; each dropped draft adds its share.

    Nothing is sent and no key is needed. Arguments and errors are those of `questions`.
    """
    chosen = QuestionOptions(**options)
    maker = _Maker(corpus, model, chosen)
    _, dispatcher = maker.load_models(opened_store(existing_store(chosen.store)), Budget())
    return Plan(chosen.n, cost=maker.expected(), priced=tuple(sorted(price_dates(dispatcher.router.unique))))


def _checked_kinds(model: Any, options: QuestionOptions) -> tuple[str, ...]:
    """The kinds of question to make. Raises BadParameter for options that do not go together."""
    offered: tuple[str, ...] = OFFLINE_KINDS if model is None else ASKED_KINDS
    is_real = options.traces is not None
    if is_real and (model is None or options.kinds or options.language or options.style):
        raise BadParameter("questions of users take a model that answers them, and no kinds, language or style")
    if not is_real and (options.mask or options.map or options.limit is not None):
        raise BadParameter("mask, map and limit are about questions of users; give them with traces (--from FILE)")
    kinds = (REAL,) if is_real else tuple(dict.fromkeys(options.kinds or offered))
    if unknown := [kind for kind in kinds if kind not in offered and not is_real]:
        with_or_without = "without" if model is None else "with"
        raise BadParameter(
            f"kinds: {unknown[0]!r} is not one of {', '.join(offered)}, which can be made {with_or_without} a model"
        )
    if options.n < 1 or not options.attempts > 0:
        raise BadParameter(f"n={options.n} must be 1 or more, and attempts={options.attempts} above 0")
    return kinds


class _Dropped(Exception):
    """Raised where a draft is dropped: why, or without a reason where a reply is missing, which is counted."""


class _Maker:
    """Makes `question_set`, each kind up to its quota. Raises what `questions` raises before it asks."""

    def __init__(self, corpus: CorpusLike, model: Any, options: QuestionOptions) -> None:
        kinds = _checked_kinds(model, options)
        self._model, self._options = model, options
        self._searches = options.traces is not None or "unanswerable" in kinds
        self._corpus = self._read_corpus(corpus)
        self._passages = self._corpus.passages
        self.question_set = QuestionSet(corpus=self._corpus, wanted=options.n)
        self._real: Iterator[Sample] | None = None
        if options.traces is not None:
            reader = options.read(options.traces)
            self.question_set.real, self._real = real_questions(reader, options.n, options.seed, options.mask)
            self.question_set.bad_rows = tuple(map(str, reader.bad_rows))
        share, rest = divmod(options.n, len(kinds))
        self._quotas = {kind: share + (position < rest) for position, kind in enumerate(kinds)}
        texts = [passage.passage for passage in self._passages]
        self._words = PassageMap(texts)
        self._order = self._words.covering_order(options.n, Random(options.seed))
        self._search = PassageSearch(texts) if self._searches else None
        self._queries = set[tuple[str, ...]]()
        self._kept: list[Draft] = []

    def _read_corpus(self, corpus: CorpusLike) -> Corpus:
        options = self._options
        if self._searches:
            load_bm25s()
        if not isinstance(corpus, Corpus):
            skip_bad, seed = options.skip_bad_rows, options.seed
            corpus = read_corpus(corpus, options.words, skip_bad=skip_bad, most=MOST_PASSAGES, seed=seed)
        if self._searches and not corpus.is_whole:
            drawn = f"{len(corpus.passages)} of {corpus.total} passages were drawn"
            fix = "leave out the kind 'unanswerable'" if options.traces is None else "give a part of the corpus"
            raise BadParameter(f"{drawn}, and the others may answer a question; {fix}")
        return corpus

    def make_offline(self) -> None:
        """Make questions that need no model, of each kind in turn."""
        offline = OfflineQuestions(self._passages, self._words)
        makers = {"cloze": offline.cloze, "heading": offline.heading}
        streams = {kind: makers[kind](self._order) for kind in self._quotas}
        while streams and (missing := self.question_set.wanted - len(self.question_set.samples)) > 0:
            for kind, stream in list(streams.items())[:missing]:
                if question := next(stream, None):
                    self.question_set.add(kind, question)
                else:
                    del streams[kind]

    def load_models(self, store: Store, budget: Budget) -> tuple[ModelCalls, Dispatcher]:
        """The model that writes questions, and the judges that prove them: `judge`, or the model itself."""
        models = load_judges(self._model)
        router = models if self._options.judge is None else load_judges(self._options.judge)
        writer = models.unique[0]
        if not isinstance(writer, LLMJudge):
            raise BadParameter(f"{writer.identity} writes no questions; name a model, such as openai/gpt-4o-mini")
        check_priced(router.unique, budget.limit)
        if missing := [topic for topic in PROOF_TOPICS if not router.can(topic)]:
            raise UnanswerableNeed(f"the judge does not answer {', '.join(missing)}; name one that does")
        self._calls = ModelCalls(writer.client, store, budget, self.question_set)
        self._dispatcher = Dispatcher(router, store, budget)
        return self._calls, self._dispatcher

    @cached_property
    def _links(self) -> NameLinks:
        return NameLinks([passage.passage for passage in self._passages])

    async def make_asked(self) -> None:
        """Have a model write questions, or answer those of users, until each kind has its quota or was tried enough."""
        made, subjects, progress = self.question_set, self._subjects(), self._options.progress
        if self._search:
            await self._search.ready()
        while not made.stopped:
            wave: list[Draft] = []
            for kind, quota in self._quotas.items():
                most = round(self._options.attempts * quota)
                count = max(0, min(quota - made.kinds[kind], most - made.made[kind]))
                taken = list(islice(subjects[kind], count))
                made.made[kind] += len(taken)
                wave += taken
            if not wave:
                return
            drafts = [draft for draft in await self._each(wave, self._written) if self._is_new(draft)]
            proven = await self._each(drafts, self._proven)
            for draft in await self._distinct(proven):
                made.add(draft.kind, draft.question)
            if progress:
                progress(len(made.samples))

    def _subjects(self) -> Mapping[str, Iterator[Draft]]:
        """Drafts of each kind that have no question yet, or the questions of users without answers."""
        if self._real is not None:
            return {REAL: (Draft(REAL, 0, question) for question in self._real)}
        step = max(1, len(self._order) // len(self._quotas))
        return {kind: self._about_passages(kind, i * step) for i, kind in enumerate(self._quotas)}

    def _about_passages(self, kind: str, start: int) -> Iterator[Draft]:
        """A draft about each passage in the order, beginning at a place in it."""
        for position in islice(cycle(self._order), start, start + len(self._order)):
            if kind != "bridge" or self._links.of(position):
                yield Draft(kind, position, Sample("", f"({kind}, {self._passages[position].id})"))

    async def _each(self, drafts: Sequence[Draft], work: Callable[[Draft], Awaitable[Draft]]) -> list[Draft]:
        """What work makes of each draft, without those that it drops, which are counted."""

        async def attempted(draft: Draft) -> Draft | None:
            try:
                return await work(draft)
            except _Dropped as dropped:
                if reason := str(dropped):
                    self.question_set.drop(reason, draft.question.query)
                return None

        async with aclosing(ordered_map(drafts, attempted, _WIDTH)) as results:
            return [draft async for draft in results if draft]

    def _prompt(self, kind: str, position: int) -> tuple[Prompt, list[Chunk]]:
        """The prompt for a draft, and the passages it shows: one, and those that are most like it or share a name."""
        more = drafting.PASSAGES_SHOWN.get(kind, 1) - 1
        document = self._passages[position].id.partition("#")[0]
        others = self._links.of(position) if kind == "bridge" else self._words.alike(position, _READ)
        others.sort(key=lambda other: self._passages[other].id.partition("#")[0] == document)
        shown = [self._passages[place] for place in (position, *others[:more])]
        return drafting.draft_prompt(kind, shown, self._options.language, self._options.style), shown

    async def _written(self, draft: Draft) -> Draft:
        """The draft with a question that the model writes about a passage, or with its answer to a user's."""
        if draft.kind == REAL:
            return await self._answered(draft.question)
        prompt, shown = self._prompt(draft.kind, draft.position)
        reply = await self._reply(prompt, drafting.draft_form(draft.kind))
        if (question := drafting.draft_of(draft.kind, reply, shown)) is None:
            raise _Dropped(drafting.NO_QUESTION)
        return draft._replace(question=question)

    async def _answered(self, question: Sample) -> Draft:
        """A question of a user with the model's answer from the passages that are found for it."""
        if question.turns:
            reply = await self._reply(drafting.standalone_prompt(question), drafting.draft_form(STANDALONE))
            question = add_metadata(question, standalone=msgspec.json.decode(reply)["question"].strip())
        query = drafting.full_query(question)
        positions = self._found(query)
        response = await self._read(query, [self._passages[position] for position in positions])
        if _refuses(response):
            return Draft(REAL, 0, msgspec.structs.replace(question, answerable=False))
        numbers = {citation.chunk for citation in citations_in(response, len(positions))} - {None}
        cited = [position for number, position in enumerate(positions) if number in numbers]
        if not cited:
            raise _Dropped(drafting.NOT_CITED)
        passages = tuple(self._passages[position] for position in cited)
        answer = unmarked(response, (0, len(response)), citation_marks(response)).strip()
        answered = msgspec.structs.replace(question, references=(answer,), reference_contexts=passages, answerable=True)
        return Draft(REAL, cited[0], answered)

    def _found(self, query: str) -> list[int]:
        """The positions of the passages that may answer a question."""
        return self._search.best(query, _SEARCHED) if self._search else []

    async def _reply(self, prompt: Prompt, form: Form) -> str:
        """A reply. Raises _Dropped where there is none."""
        try:
            reply = await self._calls.reply(prompt, form)
        except Stopped as stopped:
            self.question_set.stop(Sample(""), "reply", stopped)
            raise _Dropped from None
        if isinstance(reply, Failure):
            self.question_set.fail(Sample(""), "reply", reply)
            raise _Dropped
        return reply

    def _is_new(self, draft: Draft) -> bool:
        words = tuple(words_of(f"{draft.question.query} {drafting.full_query(draft.question)}"))
        if new := words not in self._queries:
            self._queries.add(words)
        else:
            self.question_set.drop(drafting.REPEATED_QUESTION, draft.question.query)
        return new

    async def _proven(self, draft: Draft) -> Draft:
        """The draft with its claims. Raises _Dropped where it does not hold, or nothing can be said of it."""
        question = draft.question
        query = drafting.full_query(question)
        if self._dispatcher.router.can(f"rate:{drafting.CLEAR.name}"):
            await self._outcome(question, drafting.clearly_asked())
        if question.answerable is False:
            nearest = [self._passages[position] for position in self._found(query)]
            await self._outcome(question, drafting.not_helped_by(nearest))
            if not _refuses(await self._read(query, nearest)):
                raise _Dropped(drafting.ANSWERABLE)
            return draft
        others = self._others(question)
        proof = await self._outcome(question, drafting.answered_by_its_passages(draft.kind, others))
        response = await self._read(query, self._shown_to_reader(draft))
        if _refuses(response):
            raise _Dropped(drafting.READ_OTHERWISE)
        unaided = await self._reply(drafting.unaided_prompt(query), ANSWER)
        is_read, is_known = (await self._outcome(question, drafting.right_by_the_reference(response, unaided))).flags
        if not is_read:
            raise _Dropped(drafting.READ_OTHERWISE)
        passages = (*(question.reference_contexts or ()), *compress(others, proof.flags))
        answers = tuple((claim,) for claim in proof.claims)
        question = msgspec.structs.replace(question, answers=answers, reference_contexts=passages)
        return draft._replace(question=add_metadata(question, known=is_known))

    async def _outcome(self, question: Sample, need: Need[drafting.Proof]) -> drafting.Proof:
        """What a need finds. Raises _Dropped."""
        outcome = await self.question_set.resolve(self._dispatcher, question, need, "proof")
        if not isinstance(outcome, drafting.Proof) or outcome.dropped:
            raise _Dropped(getattr(outcome, "dropped", "") or getattr(outcome, "reason", ""))
        return outcome

    def _others(self, question: Sample) -> list[Chunk]:
        """Passages beside those of the question that may hold its answer too."""
        text = f"{drafting.full_query(question)} {' '.join(question.references or ())}"
        own = {chunk.id for chunk in question.reference_contexts or ()}
        positions = self._found(text) or self._words.nearest(text, _READ + len(own))
        chunks = (self._passages[position] for position in positions)
        return [chunk for chunk in chunks if chunk.id not in own][:_READ]

    def _shown_to_reader(self, draft: Draft) -> list[Chunk]:
        """The passages of the question among others that are like them, in an order of chance."""
        own = list(draft.question.reference_contexts or ())
        ids = {chunk.id for chunk in own}
        others = (self._passages[place] for place in self._words.alike(draft.position, 2 * _READ))
        shown = [*own, *(chunk for chunk in others if chunk.id not in ids)][:_READ]
        Random(f"{self._options.seed} {draft.question.query}").shuffle(shown)
        return shown

    async def _read(self, query: str, shown: Sequence[Chunk]) -> str:
        """The model's answer from passages."""
        return await self._reply(_reading(query, shown), ANSWER)

    async def _distinct(self, proven: Sequence[Draft]) -> list[Draft]:
        """Those that say something else than each one kept before."""
        drafts, first = [*self._kept, *proven], len(self._kept)
        words = [set(words_of(draft.question.query or "")) for draft in drafts]
        questions = [draft.question for draft in drafts]
        texts = [f"{drafting.full_query(question)} {' '.join(question.references or ())}" for question in questions]
        pairs = [
            (old, new)
            for new in range(first, len(drafts))
            for old in range(new)
            if len(words[new] & words[old]) >= _SIMILAR * len(words[new] | words[old])
        ]
        need = drafting.entail_each_other([(texts[old], texts[new]) for old, new in pairs])
        outcome = await self.question_set.resolve(self._dispatcher, Sample(""), need, "comparison")
        same = set[int]()
        for (old, new), is_same in zip(pairs, getattr(outcome, "flags", ()), strict=False):
            if is_same and not {old, new} & same:
                same.add(new)
                self.question_set.drop(drafting.REPEATED_QUESTION, drafts[new].question.query)
        distinct = [draft for place, draft in enumerate(drafts) if place >= first and place not in same]
        self._kept += distinct
        return distinct

    def expected(self) -> Cost:
        """What one draft for each wanted question costs if all hold, without what the model wrote already."""
        cost, searched = Cost(), [self._passages[position] for position in self._order[:_SEARCHED]]
        for kind, subjects in self._subjects().items():
            for draft in islice(subjects, self._quotas[kind]):
                query = draft.question.query or ""
                prompt, shown = _reading(query, searched), searched[:1]
                if kind != REAL:
                    prompt, shown = self._prompt(kind, draft.position)
                if self._calls.is_stored(prompt):
                    continue
                words = shown[0].text.split()
                query = " ".join(words[:15])
                others = searched if kind == "unanswerable" else searched[:_READ]
                read = [_reading(query, others)]
                if kind != "unanswerable":
                    read.append(drafting.unaided_prompt(query))
                if draft.question.turns:
                    read.append(drafting.standalone_prompt(draft.question))
                rounds = drafting.expected_rounds(kind, " ".join(words[:25]), shown, others)
                asked = chain.from_iterable(map(self._dispatcher.router.by_judge, rounds))
                judging = chain.from_iterable(judge.expect(group) for judge, group in asked if judge)
                for call in (*map(self._calls.expected, (prompt, *read)), *judging):
                    cost.add(call)
        return cost


def _reading(query: str, shown: Sequence[Chunk]) -> Prompt:
    return answer_prompt(Sample("", query, contexts=tuple(shown)), AnswerBrief())


def _refuses(response: str) -> bool:
    return not response or bool(refusal(response)) or is_refusal(response)


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
