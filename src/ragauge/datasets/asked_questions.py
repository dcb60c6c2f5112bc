"""Questions that a model writes, in waves: drafts, their proof, and no two alike, until there are enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import chain, compress, cycle, islice
from random import Random
from typing import Any, NamedTuple, TypeVar

import msgspec

from ragauge.datasets import drafting, proving
from ragauge.datasets.calls import Form, ModelCalls
from ragauge.datasets.corpus import Corpus
from ragauge.datasets.drawing import NameLinks, PassageMap
from ragauge.datasets.generator import ANSWER, AnswerBrief, answer_prompt
from ragauge.datasets.real_questions import RealQuestions
from ragauge.datasets.retrieval import PassageSearch, words_of
from ragauge.datasets.samples import SampleSet, add_metadata, without_metadata
from ragauge.judges.llm.messages import Prompt
from ragauge.needs.base import Need
from ragauge.run.asking import Dispatcher
from ragauge.run.budget import Stopped
from ragauge.run.plan import Cost
from ragauge.run.sync import ordered_map
from ragauge.text.citations import citation_marks, citations_in, unmarked
from ragauge.text.refusals import refusal
from ragauge.text.trust_eval import is_refusal
from ragauge.types import Chunk, Failure, Sample

#: The key of a sample's metadata for the kind of its question, and for the test set that it is of.
KIND, TEST_SET = "kind", "test_set"

#: Drafts that are worked on at once.
_WIDTH = 32
#: Passages that a reader is shown, and that must not help to answer what is unanswerable.
_READ, _SEARCHED = 5, 20
#: The share of words in common from which on two questions are compared.
_SIMILAR = 0.5

T = TypeVar("T")
R = TypeVar("R")


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

    def seal(self, **origin: Any) -> None:
        """Give each row the identity of the set, and what it was made with."""
        self.samples = sealed(self.samples, origin)
        self.identity = set_of(self.samples[0]) if self.samples else ""


def sealed(samples: Sequence[Sample], origin: Mapping[str, Any]) -> list[Sample]:
    """The rows of a test set with its identity, a hash of them in any order, and what it was made with."""
    bare = [without_metadata(sample, TEST_SET) for sample in samples]
    mark = {**origin, "id": sha256(b"\n".join(sorted(map(msgspec.json.encode, bare)))).hexdigest()[:12]}
    return [add_metadata(sample, **{TEST_SET: mark}) for sample in bare]


def set_of(sample: Sample) -> str:
    """The identity of the test set that a sample is of; "" where it is of none."""
    mark = sample.metadata.get(TEST_SET)
    return str(mark.get("id", "")) if isinstance(mark, dict) else ""


class _Dropped(Exception):
    """Raised where a draft is dropped: why, or without a reason where a reply is missing, which is counted."""


#: What a question is made of: its kind, with the position of a passage, or what a user asked.
_Subject = tuple[str, int | Sample]


class AskedQuestions:
    """Has a model write questions about passages in the order given, and proves them by a judge.

    made: where drafts and failures are counted. search: what finds passages for a question, where that is needed.
    language, style: of the questions. real: questions of users, which the model answers.
    """

    def __init__(
        self,
        made: QuestionSet,
        words: PassageMap,
        order: Sequence[int],
        search: PassageSearch | None,
        seed: int,
        language: str | None = None,
        style: str | None = None,
        real: RealQuestions | None = None,
    ) -> None:
        self._passages, self._words, self._order, self._made = made.corpus.passages, words, order, made
        self._search, self._seed, self._language, self._style, self._real = search, seed, language, style, real
        self._queries = set[tuple[str, ...]]()
        self._kept: list[Draft] = []

    @cached_property
    def _links(self) -> NameLinks:
        return NameLinks([passage.passage for passage in self._passages])

    async def make(
        self, quotas: Mapping[str, int], attempts: float, calls: ModelCalls, dispatcher: Dispatcher
    ) -> AsyncIterator[int]:
        """Add the questions that hold, until each kind has its quota, or was tried `attempts` times as often.

        Yields their number after each wave.
        """
        made, subjects = self._made, self._subjects(quotas)
        self._calls, self._dispatcher = calls, dispatcher
        if self._search:
            await self._search.ready()
        while not made.stopped:
            wave: list[_Subject] = []
            for kind, quota in quotas.items():
                count = max(0, min(quota - made.kinds[kind], round(attempts * quota) - made.made[kind]))
                taken = [(kind, subject) for subject in islice(subjects[kind], count)]
                made.made[kind] += len(taken)
                wave += taken
            if not wave:
                return
            drafts = [draft for draft in await _all(wave, self._draft) if draft and self._is_new(draft)]
            proven = [draft for draft in await _all(drafts, self._prove) if draft]
            for draft in await self._distinct(proven):
                made.add(draft.kind, draft.question)
            yield len(made.samples)

    def _subjects(self, kinds: Mapping[str, int]) -> Mapping[str, Iterator[int | Sample]]:
        """For each kind the passages once, beginning at different ones; or the questions of users."""
        if self._real is not None:
            return {drafting.REAL: iter(self._real)}
        size, step = len(self._order), max(1, len(self._order) // max(1, len(kinds)))
        orders: dict[str, Iterator[int]] = {
            kind: islice(cycle(self._order), i * step, i * step + size) for i, kind in enumerate(kinds)
        }
        if "bridge" in orders:
            orders["bridge"] = (position for position in orders["bridge"] if self._links.of(position))
        return orders

    def _prompt(self, kind: str, position: int) -> tuple[Prompt, list[Chunk]]:
        """The prompt for a draft, and the passages it shows: one, and those that are most like it or share a name."""
        more = drafting.PASSAGES_SHOWN.get(kind, 1) - 1
        document = self._passages[position].id.partition("#")[0]
        others = self._links.of(position) if kind == "bridge" else self._words.alike(position, _READ)
        others.sort(key=lambda other: self._passages[other].id.partition("#")[0] == document)
        shown = [self._passages[place] for place in (position, *others[:more])]
        return drafting.draft_prompt(kind, shown, self._language, self._style), shown

    async def _draft(self, subject: _Subject) -> Draft | None:
        kind, about = subject
        if isinstance(about, Sample):
            return await self._unless_dropped(self._answered(about), about.query)
        return await self._unless_dropped(self._written(kind, about), f"({kind}, {self._passages[about].id})")

    async def _unless_dropped(self, work: Awaitable[Draft], question: str | None) -> Draft | None:
        try:
            return await work
        except _Dropped as dropped:
            if reason := str(dropped):
                self._made.drop(reason, question)
            return None

    async def _written(self, kind: str, position: int) -> Draft:
        """A question that the model writes about a passage."""
        prompt, shown = self._prompt(kind, position)
        question = drafting.draft_of(kind, await self._reply(prompt, drafting.draft_form(kind)), shown)
        if question is None:
            raise _Dropped(proving.NO_QUESTION)
        return Draft(kind, position, question)

    async def _answered(self, question: Sample) -> Draft:
        """A question of a user with the model's answer from the passages that are found for it."""
        if question.turns:
            reply = await self._reply(drafting.standalone_prompt(question), drafting.draft_form(drafting.STANDALONE))
            question = add_metadata(question, standalone=msgspec.json.decode(reply)["question"].strip())
        query = proving.full_query(question)
        positions = self._found(query)
        response = await self._read(query, [self._passages[position] for position in positions])
        if _refuses(response):
            return Draft(drafting.REAL, 0, msgspec.structs.replace(question, answerable=False))
        numbers = {citation.chunk for citation in citations_in(response, len(positions))} - {None}
        cited = [position for number, position in enumerate(positions) if number in numbers]
        if not cited:
            raise _Dropped(proving.NOT_CITED)
        passages = tuple(self._passages[position] for position in cited)
        answer = unmarked(response, (0, len(response)), citation_marks(response)).strip()
        answered = msgspec.structs.replace(question, references=(answer,), reference_contexts=passages, answerable=True)
        return Draft(drafting.REAL, cited[0], answered)

    def _found(self, query: str) -> list[int]:
        """The positions of the passages that may answer a question."""
        return self._search.best(query, _SEARCHED) if self._search else []

    async def _reply(self, prompt: Prompt, form: Form) -> str:
        """A reply. Raises _Dropped where there is none."""
        try:
            reply = await self._calls.reply(prompt, form)
        except Stopped as stopped:
            self._made.stop(Sample(""), "reply", stopped)
            raise _Dropped from None
        if isinstance(reply, Failure):
            self._made.fail(Sample(""), "reply", reply)
            raise _Dropped
        return reply

    def _is_new(self, draft: Draft) -> bool:
        words = tuple(words_of(f"{draft.question.query} {proving.full_query(draft.question)}"))
        if new := words not in self._queries:
            self._queries.add(words)
        else:
            self._made.drop(proving.REPEATED_QUESTION, draft.question.query)
        return new

    async def _prove(self, draft: Draft) -> Draft | None:
        """The draft with its claims where it holds; None where it is dropped, or nothing can be said of it."""
        return await self._unless_dropped(self._proven(draft), draft.question.query)

    async def _proven(self, draft: Draft) -> Draft:
        question = draft.question
        query = proving.full_query(question)
        if self._dispatcher.router.can(f"rate:{proving.CLEAR.name}"):
            await self._outcome(question, proving.clearly_asked())
        if question.answerable is False:
            nearest = [self._passages[position] for position in self._found(query)]
            await self._outcome(question, proving.not_helped_by(nearest))
            if not _refuses(await self._read(query, nearest)):
                raise _Dropped(proving.ANSWERABLE)
            return draft
        others = self._others(question)
        proof = await self._outcome(question, proving.answered_by_its_passages(draft.kind, others))
        response = await self._read(query, self._shown_to_reader(draft))
        if _refuses(response):
            raise _Dropped(proving.READ_OTHERWISE)
        unaided = await self._reply(drafting.unaided_prompt(query), ANSWER)
        is_read, is_known = (await self._outcome(question, proving.right_by_the_reference(response, unaided))).flags
        if not is_read:
            raise _Dropped(proving.READ_OTHERWISE)
        passages = (*(question.reference_contexts or ()), *compress(others, proof.flags))
        answers = tuple((claim,) for claim in proof.claims)
        question = msgspec.structs.replace(question, answers=answers, reference_contexts=passages)
        return draft._replace(question=add_metadata(question, known=is_known))

    async def _outcome(self, question: Sample, need: Need[proving.Proof]) -> proving.Proof:
        """What a need finds. Raises _Dropped."""
        outcome = await self._made.resolve(self._dispatcher, question, need, "proof")
        if not isinstance(outcome, proving.Proof) or outcome.dropped:
            raise _Dropped(getattr(outcome, "dropped", "") or getattr(outcome, "reason", ""))
        return outcome

    def _others(self, question: Sample) -> list[Chunk]:
        """Passages beside those of the question that may hold its answer too."""
        text = f"{proving.full_query(question)} {' '.join(question.references or ())}"
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
        Random(f"{self._seed} {draft.question.query}").shuffle(shown)
        return shown

    async def _read(self, query: str, shown: Sequence[Chunk]) -> str:
        """The model's answer from passages."""
        return await self._reply(_reading(query, shown), ANSWER)

    async def _distinct(self, proven: Sequence[Draft]) -> list[Draft]:
        """Those that say something else than each one kept before."""
        drafts, first = [*self._kept, *proven], len(self._kept)
        words = [set(words_of(draft.question.query or "")) for draft in drafts]
        questions = [draft.question for draft in drafts]
        texts = [f"{proving.full_query(question)} {' '.join(question.references or ())}" for question in questions]
        pairs = [
            (old, new)
            for new in range(first, len(drafts))
            for old in range(new)
            if len(words[new] & words[old]) >= _SIMILAR * len(words[new] | words[old])
        ]
        need = proving.entail_each_other([(texts[old], texts[new]) for old, new in pairs])
        outcome = await self._made.resolve(self._dispatcher, Sample(""), need, "comparison")
        same = set[int]()
        for (old, new), is_same in zip(pairs, getattr(outcome, "flags", ()), strict=False):
            if is_same and not {old, new} & same:
                same.add(new)
                self._made.drop(proving.REPEATED_QUESTION, drafts[new].question.query)
        distinct = [draft for place, draft in enumerate(drafts) if place >= first and place not in same]
        self._kept += distinct
        return distinct

    def expected(self, quotas: Mapping[str, int], calls: ModelCalls, dispatcher: Dispatcher) -> Cost:
        """What one draft for each wanted question costs if all hold, without what the model wrote already."""
        cost, searched = Cost(), [self._passages[position] for position in self._order[:_SEARCHED]]
        for kind, subjects in self._subjects(quotas).items():
            for subject in islice(subjects, quotas[kind]):
                if isinstance(subject, Sample):
                    prompt, shown = _reading(subject.query or "", searched), searched[:1]
                else:
                    prompt, shown = self._prompt(kind, subject)
                if calls.is_stored(prompt):
                    continue
                words = shown[0].text.split()
                query = " ".join(words[:15])
                read = [_reading(query, searched[:_READ]), drafting.unaided_prompt(query)]
                if kind == "unanswerable":
                    read = [_reading(query, searched)]
                if isinstance(subject, Sample) and subject.turns:
                    read.append(drafting.standalone_prompt(subject))
                others = searched if kind == "unanswerable" else searched[:_READ]
                rounds = proving.expected_rounds(kind, " ".join(words[:25]), shown, others)
                asked = chain.from_iterable(map(dispatcher.router.by_judge, rounds))
                judging = chain.from_iterable(judge.expect(group) for judge, group in asked if judge)
                for call in (*map(calls.expected, (prompt, *read)), *judging):
                    cost.add(call)
        return cost


def _reading(query: str, shown: Sequence[Chunk]) -> Prompt:
    return answer_prompt(Sample("", query, contexts=tuple(shown)), AnswerBrief())


def _refuses(response: str) -> bool:
    return not response or bool(refusal(response)) or is_refusal(response)


async def _all(items: Sequence[T], work: Callable[[T], Awaitable[R]]) -> list[R]:
    async with aclosing(ordered_map(items, work, _WIDTH)) as results:
        return [result async for result in results]
