"""Generating: samples with documents in, the same samples with a system's responses out."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import msgspec

from ragauge.dataset.generation.citing import Citing, citing
from ragauge.dataset.generation.prompts import REFUSAL_SENTENCE, AnswerForm, Brief, prompt
from ragauge.dataset.generation.respondent import Respondent
from ragauge.dataset.generation.shots import with_shots
from ragauge.dataset.samples import (
    CITED_BY,
    Made,
    Progress,
    fresh,
    with_first_documents,
    with_metadata,
    worked,
    worked_out,
)
from ragauge.errors import BadParameter, UnanswerableNeed
from ragauge.judges.llm.build import model_client
from ragauge.judges.llm.client import ModelClient
from ragauge.needs.base import Failed, Need
from ragauge.needs.checks import SENTENCE
from ragauge.readers import read
from ragauge.rounds import unanswerable
from ragauge.run.asking import Budget, Dispatcher, JudgmentCache, Stopped, check_priced
from ragauge.run.prepare import StoreLike, opened_store
from ragauge.run.specs import JudgeLike, load_judges
from ragauge.run.sync import blocking
from ragauge.store import Store
from ragauge.text import trust_eval
from ragauge.text.refusals import refusal as refusal_in
from ragauge.types import Failure, Sample

#: How many samples are under way at once; the line itself limits how many calls are.
_AT_ONCE = 256

#: How many shots are drawn unless told otherwise, as in Trust-Eval.
SHOTS = 2


@dataclass(kw_only=True)
class Generated(Made):
    """Samples with responses.

    refused, empty: how many responses decline, and are empty. cited: how many were given citations afterwards.
    """

    system: str
    answered: int = 0
    refused: int = 0
    empty: int = 0
    cited: int = 0


async def generate_async(
    data: Any,
    model: Any,
    *,
    form: AnswerForm = "prose",
    refusal: str = REFUSAL_SENTENCE,
    shots: Any = None,
    shot_count: int = SHOTS,
    seed: int = 42,
    top: int | None = None,
    cite: JudgeLike | None = None,
    store: StoreLike = None,
    map: Mapping[str, str] | None = None,
    limit: int | None = None,
    skip_bad_rows: bool = False,
    max_cost: float | None = None,
    progress: Progress | None = None,
) -> Generated:
    """Have a model answer each question from its documents. `generate` works wherever `evaluate` does.

    data: samples with queries and contexts, in anything that `read` reads. model: as for `rg.llm`: "provider/model",
    with options behind it if wanted; a client of `instructor`; a function from messages to text.
    form: "prose", sentences with citations such as [1][2]; "list", items with a citation each. refusal: the sentence to
    be said where the documents hold no answer, which the samples carry in their metadata, so that it is known for a
    refusal afterwards; "" for none, the system is then told to answer always.
    shots: answered samples to show as examples, shot_count of them drawn with the seed. top: how many documents of each
    sample are shown, and kept; None for all. cite: a judge; answers without any citation get those that it finds.
    store: where answers are kept, each under its prompt and model, so that none is asked for twice. max_cost: in
    dollars; samples beyond it have no response, and say so. map, limit, skip_bad_rows, progress: as in `build`.

    Raises UsageError where the data cannot be read, a parameter is wrong, or a key is missing.
    """
    if (top is not None and top < 1) or shot_count < 0:
        raise BadParameter(f"top={top} must be 1 or more, or None; shot_count={shot_count} 0 or more")
    brief = Brief(form, refusal)
    if shots is not None:
        brief = with_shots(brief, list(read(shots)), shot_count, seed, top)
    line = model if isinstance(model, ModelClient) else model_client(model)
    budget = Budget(max_cost)
    if max_cost is not None and line.price is None:
        raise BadParameter(f"a limit on the cost needs the price of {line.transport.name}; give it as ?price=0.15:0.60")
    opened = opened_store(store)
    respondent = Respondent(line, opened, budget)
    reading = read(data, map=map, skip_bad_rows=skip_bad_rows, limit=limit)
    work = _Generating(respondent, brief, top, cite and _asker(cite, opened, budget), citing(form))
    await work.go(reading, progress)
    return work.generated


generate = blocking(generate_async, "generate")


def _asker(cite: JudgeLike, store: Store, budget: Budget) -> Dispatcher:
    """Who asks the judge for citations."""
    bench = load_judges(cite)
    if topics := unanswerable([citing("prose")], bench.can):
        raise UnanswerableNeed(f"the judge of citations does not answer {', '.join(topics)}; name one that does")
    check_priced(bench.unique(), budget.limit)
    return Dispatcher(bench, JudgmentCache(bench, store, {}), budget)


class _Generating:
    """Gets responses, and counts how they came out."""

    def __init__(
        self, respondent: Respondent, brief: Brief, top: int | None, asker: Dispatcher | None, wanted: Need[Citing]
    ) -> None:
        self.generated = Generated(system=respondent.identity.name)
        self._respondent, self._brief, self._top = respondent, brief, top
        self._asker, self._wanted = asker, wanted

    async def go(self, reading: Any, progress: Progress | None) -> None:
        """Work on all samples."""
        done = self.generated
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._respondent)
            if self._asker:
                await stack.enter_async_context(self._asker.opened())
            done.samples = await worked(reading, self._sample, _AT_ONCE, progress)
        done.asked, done.reused = self._respondent.asked, self._respondent.reused
        done.spent = self._respondent.spent
        done.bad_rows = tuple(str(bad) for bad in reading.bad_rows)

    async def _sample(self, given: Sample) -> Sample:
        """The sample with its response, or with a word on why it has none."""
        shown = with_first_documents(fresh(given), self._top)
        told = with_metadata(shown, **{SENTENCE: self._brief.refusal})
        sample = msgspec.structs.replace(told, response=None, system=self._respondent.identity.name)
        if not sample.query:
            return self.generated.lacking(sample, "response", Failure("no_query", "the sample has no query"))
        if sample.contexts is None:
            return self.generated.lacking(sample, "response", _NO_DOCUMENTS)
        try:
            response = await self._respondent.respond(prompt(sample, self._brief))
        except Stopped as stopped:
            return self.generated.stop(sample, "response", stopped)
        if isinstance(response, Failure):
            return self.generated.lacking(sample, "response", response)
        self._count(response)
        return await self._cited(msgspec.structs.replace(sample, response=response))

    def _count(self, response: str) -> None:
        done = self.generated
        done.answered += 1
        done.empty += not response
        done.refused += bool(refusal_in(response, self._brief.refusal)) or trust_eval.is_refusal(response)

    async def _cited(self, sample: Sample) -> Sample:
        if self._asker is None:
            return sample
        try:
            outcome = await worked_out(self._asker, sample, self._wanted)
        except Stopped as stopped:
            return self.generated.stop(sample, "citations", stopped)
        if isinstance(outcome, Failed):
            return self.generated.lacking(sample, "citations", outcome.reason)
        if not isinstance(outcome, Citing) or not outcome.added:
            return sample
        self.generated.cited += 1
        judge = ", ".join(str(one.identity) for one in self._asker.bench.unique())
        return with_metadata(msgspec.structs.replace(sample, response=outcome.response), **{CITED_BY: judge})


_NO_DOCUMENTS = Failure("no_documents", "the sample has no contexts; build the data first, with a corpus")
