"""Questions that a model writes, in waves: drafts, their proof, and no two alike, until there are enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import cycle, islice
from random import Random
from typing import Any, NamedTuple, TypeVar

import msgspec

from ragauge.datasets import proving
from ragauge.datasets.calls import ModelCalls
from ragauge.datasets.corpus import Corpus
from ragauge.datasets.drafting import SHOWN, draft_form, draft_of, draft_prompt, known_prompt
from ragauge.datasets.drawing import PassageMap
from ragauge.datasets.generator import ANSWER, AnswerBrief, answer_prompt
from ragauge.datasets.retrieval import CorpusRetriever, words_of
from ragauge.datasets.samples import SampleSet, add_metadata
from ragauge.judges.base import ExpectedCall
from ragauge.judges.llm.messages import Prompt
from ragauge.needs.base import Need, Rounds
from ragauge.questions import Judgment
from ragauge.run.asking import NOBODY, Dispatcher
from ragauge.run.budget import Stopped
from ragauge.run.plan import Cost
from ragauge.run.sync import ordered_map
from ragauge.text.refusals import refusal
from ragauge.text.trust_eval import is_refusal
from ragauge.types import Chunk, Failure, Sample, Statement

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
class DraftedSet(SampleSet):
    """Samples that were made from a corpus; of what a model drafted, only what holds.

    made: kind -> the number of drafts. dropped: reason -> the number of drafts, of which `first_dropped` has the first.
    """

    corpus: Corpus
    made: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    first_dropped: dict[str, str] = field(default_factory=dict)

    def drop(self, reason: str, question: str | None) -> None:
        """Count a draft that is dropped."""
        self.dropped[reason] += 1
        self.first_dropped.setdefault(reason, question or "")


class AskedQuestions:
    """Has a model write questions about passages in the order given, and proves them by a judge.

    made: where drafts and failures are counted. language, style: of the questions.
    """

    def __init__(
        self,
        made: DraftedSet,
        words: PassageMap,
        order: Sequence[int],
        retriever: CorpusRetriever | None,
        seed: int,
        language: str | None = None,
        style: str | None = None,
    ) -> None:
        self._passages, self._words, self._order, self._made = made.corpus.passages, words, order, made
        self._retriever, self._seed, self._language, self._style = retriever, seed, language, style
        self._queries = set[tuple[str, ...]]()
        self._kept: list[Draft] = []

    async def make(
        self, quotas: Mapping[str, int], attempts: float, calls: ModelCalls, dispatcher: Dispatcher
    ) -> AsyncIterator[Draft]:
        """The questions that hold, until each kind has its quota, or was tried `attempts` times as often."""
        kept, places = Counter[str](), self._places(quotas)
        self._calls, self._dispatcher = calls, dispatcher
        while not self._made.stopped:
            wave = []
            for kind, quota in quotas.items():
                count = min(quota - kept[kind], round(attempts * quota) - self._made.made[kind])
                wave += [(kind, position) for position in islice(places[kind], max(0, count))]
                self._made.made[kind] += max(0, count)
            if not wave:
                return
            drafts = [draft for draft in await _all(wave, self._draft) if draft and self._is_new(draft)]
            proven = [draft for draft in await _all(drafts, self._prove) if draft]
            for draft in await self._distinct(proven):
                kept[draft.kind] += 1
                yield draft

    def _places(self, kinds: Mapping[str, int]) -> dict[str, Iterator[int]]:
        """For each kind the passages once, beginning at different ones."""
        size, step = len(self._order), max(1, len(self._order) // max(1, len(kinds)))
        return {kind: islice(cycle(self._order), i * step, i * step + size) for i, kind in enumerate(kinds)}

    def _prompt(self, kind: str, position: int) -> tuple[Prompt, list[Chunk]]:
        """The prompt for a draft, and the passages it shows: one, and those that are most like it."""
        more = SHOWN.get(kind, 1) - 1
        document = self._passages[position].id.partition("#")[0]
        others = self._words.alike(position, _READ)
        others.sort(key=lambda other: self._passages[other].id.partition("#")[0] == document)
        shown = [self._passages[place] for place in (position, *others[:more])]
        return draft_prompt(kind, shown, self._language, self._style), shown

    async def _draft(self, place: tuple[str, int]) -> Draft | None:
        kind, position = place
        prompt, shown = self._prompt(kind, position)
        reply = await self._reply(prompt, draft_form(kind), "question")
        question = draft_of(kind, reply, shown) if reply else None
        if reply and question is None:
            self._made.drop(proving.NO_QUESTION, f"({kind}, {shown[0].id})")
        return Draft(kind, position, question) if question else None

    async def _reply(self, prompt: Prompt, form: Any, part: str) -> str | None:
        """A reply; None where there is none, which is counted."""
        try:
            reply = await self._calls.reply(prompt, form)
        except Stopped as stopped:
            self._made.stop(Sample(""), part, stopped)
            return None
        if isinstance(reply, Failure):
            self._made.fail(Sample(""), part, reply)
            return None
        return reply

    def _is_new(self, draft: Draft) -> bool:
        words = tuple(words_of(f"{draft.question.query} {proving.full_query(draft.question)}"))
        if words in self._queries:
            self._drop(draft, proving.SAME)
        new = words not in self._queries
        self._queries.add(words)
        return new

    async def _prove(self, draft: Draft) -> Draft | None:
        """The draft with its claims where it holds; None where it is dropped, or nothing can be said of it."""
        if draft.kind == "unanswerable":
            return await self._prove_unanswerable(draft)
        proof = await self._outcome(draft, proving.answered_by_its_passages(draft.kind))
        response = await self._read(draft, self._shown_to_reader(draft)) if proof else None
        if response is None:
            return None
        is_read = is_known = False
        if not _refuses(response):
            known = await self._reply(known_prompt(proving.full_query(draft.question)), ANSWER, "reading")
            need = proving.right_by_the_reference(response, known or "")
            readings = await self._outcome(draft, need) if known is not None else None
            if readings is None:
                return None
            is_read, is_known = readings.flags
        if not is_read:
            self._drop(draft, proving.READ_OTHERWISE)
            return None
        question = msgspec.structs.replace(draft.question, answers=tuple((claim,) for claim in proof.claims))
        return draft._replace(question=add_metadata(question, known=is_known))

    async def _prove_unanswerable(self, draft: Draft) -> Draft | None:
        best = await self._retriever.retrieve(draft.question.query or "", _SEARCHED) if self._retriever else ()
        response = None
        if await self._outcome(draft, proving.not_helped_by(best)):
            response = await self._read(draft, best)
        if response is not None and not _refuses(response):
            self._drop(draft, proving.ANSWERABLE)
            return None
        return None if response is None else draft

    def _drop(self, draft: Draft, reason: str) -> None:
        self._made.drop(reason, draft.question.query)

    async def _outcome(self, draft: Draft, need: Need[Any]) -> Any:
        """What a need finds; None where it drops the question, or has no answer, which is counted."""
        outcome = await self._made.resolve(self._dispatcher, draft.question, need, "proof")
        dropped = getattr(outcome, "dropped", "") or getattr(outcome, "reason", "")
        if dropped:
            self._drop(draft, dropped)
        return None if dropped or isinstance(outcome, Sample) else outcome

    def _shown_to_reader(self, draft: Draft) -> list[Chunk]:
        """The passages of the question among others that are like them, in an order of chance."""
        own = list(draft.question.reference_contexts or ())
        ids = {chunk.id for chunk in own}
        others = (self._passages[place] for place in self._words.alike(draft.position, 2 * _READ))
        shown = [*own, *(chunk for chunk in others if chunk.id not in ids)][:_READ]
        Random(f"{self._seed} {draft.question.query}").shuffle(shown)
        return shown

    async def _read(self, draft: Draft, shown: Sequence[Chunk]) -> str | None:
        """The model's answer from passages."""
        asked = Sample("", proving.full_query(draft.question), contexts=tuple(shown))
        return await self._reply(answer_prompt(asked, AnswerBrief()), ANSWER, "reading")

    async def _distinct(self, proven: Sequence[Draft]) -> list[Draft]:
        """Those that say something else than each one kept before."""
        drafts, first = [*self._kept, *proven], len(self._kept)
        words = [set(words_of(draft.question.query or "")) for draft in drafts]
        texts = [f"{proving.full_query(one.question)} {' '.join(one.question.references or ())}" for one in drafts]
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
                self._drop(drafts[new], proving.SAME)
        distinct = [draft for place, draft in enumerate(drafts) if place >= first and place not in same]
        self._kept += distinct
        return distinct

    def expected(self, quotas: Mapping[str, int], calls: ModelCalls, dispatcher: Dispatcher) -> Cost:
        """What one draft for each wanted question costs if all hold, without what the model wrote already."""
        cost = Cost()
        for kind, places in self._places(quotas).items():
            for position in islice(places, quotas[kind]):
                prompt, shown = self._prompt(kind, position)
                if calls.is_stored(prompt):
                    continue
                for call in (calls.expected(prompt), *self._expected_proof(kind, shown, calls, dispatcher)):
                    cost.add(call)
        return cost

    def _expected_proof(
        self, kind: str, shown: Sequence[Chunk], calls: ModelCalls, dispatcher: Dispatcher
    ) -> Iterator[ExpectedCall]:
        words = shown[0].text.split()
        texts = dict.fromkeys(("question", "missing", "earlier_question", "standalone"), " ".join(words[:15]))
        texts |= dict.fromkeys(("answer", "earlier_answer"), " ".join(words[:25]))
        draft = draft_of(kind, msgspec.json.encode(texts).decode(), shown) or Sample("", texts["question"])
        searched = [self._passages[place] for place in self._order[:_SEARCHED]]
        needs: list[Need[Any]] = [proving.answered_by_its_passages(kind), proving.right_by_the_reference("", " ")]
        prompts = [answer_prompt(Sample("", draft.query, contexts=tuple(searched[:_READ])), AnswerBrief())]
        if kind == "unanswerable":
            needs = [proving.not_helped_by(searched)]
            prompts = [answer_prompt(Sample("", draft.query, contexts=tuple(searched)), AnswerBrief())]
        else:
            prompts.append(known_prompt(draft.query or ""))
        yield from map(calls.expected, prompts)
        for need in needs:
            rounds = Rounds(draft, [need])
            while questions := rounds.questions:
                for judge, group in dispatcher.router.by_judge(questions):
                    yield from judge.expect(group) if judge else ()
                rounds.advance({one: Judgment(one, one.guess(_as_one), NOBODY, "") for one in questions})


def _as_one(text: str, _: str | None) -> tuple[Statement, ...]:
    return (Statement(text),)


def _refuses(response: str) -> bool:
    return not response or bool(refusal(response)) or is_refusal(response)


async def _all(items: Sequence[T], work: Callable[[T], Awaitable[R]]) -> list[R]:
    async with aclosing(ordered_map(items, work, _WIDTH)) as results:
        return [result async for result in results]
