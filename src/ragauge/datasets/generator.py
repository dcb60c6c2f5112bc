"""Samples with documents in, the same samples with a system's responses out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from random import Random
from typing import Any, get_args

import msgspec

from ragauge.datasets.prompts import REFUSAL_SENTENCE, AnswerBrief, AnswerForm, Responder, answer_prompt
from ragauge.datasets.samples import (
    CITED_BY,
    ProgressCallback,
    SampleSet,
    fresh,
    with_first_documents,
    with_metadata,
    worked,
    worked_out,
)
from ragauge.errors import BadData, BadParameter, UnanswerableNeed
from ragauge.judges.llm.build import model_client
from ragauge.judges.llm.client import ModelClient
from ragauge.needs.base import Failed, Need, NothingToCount, QuestionFlow
from ragauge.needs.checks import REFUSAL_KEY, instructed_refusal
from ragauge.needs.entailment import citation_labels, support
from ragauge.needs.evidence import Statements, Support
from ragauge.readers import read
from ragauge.rounds import unanswerable
from ragauge.run.asking import Budget, Dispatcher, JudgmentCache, Stopped, check_priced
from ragauge.run.prepare import StoreLike, opened_store
from ragauge.run.specs import JudgeLike, load_judges
from ragauge.run.sync import blocking
from ragauge.scores import Evidence
from ragauge.store import Store
from ragauge.text import trust_eval
from ragauge.text.citations import CitationStyle, citation_marks, citations_in
from ragauge.text.cited import CitedPiece, cited_items, cited_sentences
from ragauge.text.refusals import refusal
from ragauge.text.refusals import refusal as refusal_in
from ragauge.types import ChunkVerdict, Failure, Label, Sample, Span, Statement, Verdict

_STOP = re.compile(r"[.!?。！？]*[\"'”’)\]]*\Z")


@dataclass(frozen=True)
class AddedCitations:
    """An answer with citations. added: how many of its sentences or items got one."""

    response: str
    added: int
    evidence: tuple[Evidence, ...] = ()


def add_citations(form: AnswerForm) -> Need[AddedCitations]:
    """Each sentence, or item of a list, with the document that entails it best; none where none entails it.

    An answer that cites something, however citations are written, is left as it is, and so is a refusal.
    """

    def flow(sample: Sample) -> QuestionFlow[AddedCitations]:
        text = sample.response or ""
        cut = cited_items if form == "list" else cited_sentences
        pieces = cut(text, [""] * len(sample.contexts or ()))
        if not pieces or _cites(text, citation_labels(sample)) or refusal(text, instructed_refusal(sample)):
            raise NothingToCount("there is nothing to be cited")
        statements = Statements("response", tuple(Statement(piece.text, piece.span) for piece in pieces))
        chunks = [(chunk.id, chunk.passage) for chunk in sample.contexts or ()]
        found: Support = yield from support(statements, "contexts", chunks, sample.query)
        best = [_best(verdict, len(chunks)) for verdict in found.verdicts]
        return AddedCitations(_marked(text, pieces, best), len(best) - best.count(None))

    return Need(f"citing({form})", ("response", "contexts"), frozenset({"entail:support"}), flow)


def _cites(text: str, chunks: Sequence[str]) -> bool:
    """Whether a text cites: a number in brackets, or in any style a chunk. chunks: what each is cited by."""
    reached = (one.reach for style in get_args(CitationStyle) for one in citations_in(text, chunks, style))
    return bool(citation_marks(text)) or "chunk" in reached


def _best(verdict: Verdict, chunks: int) -> int | None:
    """The position of the chunk that entails best, the first of equals; None where none entails by itself."""
    each: Sequence[Verdict | ChunkVerdict] = verdict.chunks or ((verdict,) if chunks == 1 else ())
    entailing = [i for i, chunk in enumerate(each) if chunk.label is Label.ENTAILED]
    return max(entailing, key=lambda i: (each[i].probability or 0.0, -i), default=None)


def _marked(text: str, pieces: Sequence[CitedPiece], best: Sequence[int | None]) -> str:
    """The text with a mark before the end of each piece that has a document."""
    for piece, chunk in sorted(zip(pieces, best, strict=True), reverse=True, key=lambda pair: pair[0].span):
        if chunk is not None:
            at = _before_stop(text, piece.span)
            text = f"{text[:at]} [{chunk + 1}]{text[at:]}"
    return text


def _before_stop(text: str, span: Span) -> int:
    found = _STOP.search(text[slice(*span)])
    return span[0] + found.start() if found else span[1]


def with_shots(
    brief: AnswerBrief, samples: Sequence[Sample], count: int, seed: int, top: int | None = None
) -> AnswerBrief:
    """The brief with `count` of these samples as examples, in an order that the seed decides.

    Half of them, rounded down, refuse, where refusals are wanted, as in Trust-Eval; of a kind that there is too little
    of, the other takes the place. A refusal is shown in the words that are asked for. A sample without a response is
    shown with its first reference. top: documents of each that are shown.

    Raises BadData where there are fewer samples than that with a question, documents and an answer.
    """
    usable = [shown for one in samples if (shown := _shown(one, brief, top))]
    answers = [one for one in usable if one.response != brief.refusal]
    refusals = [one for one in usable if brief.refusal and one.response == brief.refusal]
    if len(answers) + len(refusals) < count:
        raise BadData(
            f"{len(answers) + len(refusals)} of {len(samples)} samples can be shown, {count} are wanted; each needs a "
            "query, contexts, and a response or reference"
        )
    chance = Random(seed)
    declined = min(len(refusals), max(count // 2 if brief.refusal else 0, count - len(answers)))
    drawn = [*chance.sample(refusals, declined), *chance.sample(answers, count - declined)]
    chance.shuffle(drawn)
    return msgspec.structs.replace(brief, shots=tuple(drawn))


def _shown(sample: Sample, brief: AnswerBrief, top: int | None) -> Sample | None:
    """What of a sample is shown; None where something is missing, or where it refuses and nothing is to."""
    response = sample.response or next(iter(sample.references or ()), "")
    if not (sample.query and sample.contexts and response):
        return None
    if refusal(response, instructed_refusal(sample)) or trust_eval.is_refusal(response):
        response = brief.refusal
    shown = Sample(sample.id, sample.query, response, sample.contexts[:top])
    return shown if response else None


#: How many samples are under way at once; the line itself limits how many calls are.
_AT_ONCE = 256

#: How many shots are drawn unless told otherwise, as in Trust-Eval.
SHOTS = 2


@dataclass(kw_only=True)
class Generated(SampleSet):
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
    progress: ProgressCallback | None = None,
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
    brief = AnswerBrief(form, refusal)
    if shots is not None:
        brief = with_shots(brief, list(read(shots)), shot_count, seed, top)
    line = model if isinstance(model, ModelClient) else model_client(model)
    budget = Budget(max_cost)
    if max_cost is not None and line.price is None:
        raise BadParameter(f"a limit on the cost needs the price of {line.transport.name}; give it as ?price=0.15:0.60")
    opened = opened_store(store)
    respondent = Responder(line, opened, budget)
    reading = read(data, map=map, skip_bad_rows=skip_bad_rows, limit=limit)
    work = _Generating(respondent, brief, top, cite and _asker(cite, opened, budget), add_citations(form))
    await work.go(reading, progress)
    return work.generated


generate = blocking(generate_async, "generate")


def _asker(cite: JudgeLike, store: Store, budget: Budget) -> Dispatcher:
    """Who asks the judge for citations."""
    bench = load_judges(cite)
    if topics := unanswerable([add_citations("prose")], bench.can):
        raise UnanswerableNeed(f"the judge of citations does not answer {', '.join(topics)}; name one that does")
    check_priced(bench.unique(), budget.limit)
    return Dispatcher(bench, JudgmentCache(bench, store, {}), budget)


class _Generating:
    """Gets responses, and counts how they came out."""

    def __init__(
        self,
        respondent: Responder,
        brief: AnswerBrief,
        top: int | None,
        asker: Dispatcher | None,
        wanted: Need[AddedCitations],
    ) -> None:
        self.generated = Generated(system=respondent.identity.name)
        self._respondent, self._brief, self._top = respondent, brief, top
        self._asker, self._wanted = asker, wanted

    async def go(self, reading: Any, progress: ProgressCallback | None) -> None:
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
        told = with_metadata(shown, **{REFUSAL_KEY: self._brief.refusal})
        sample = msgspec.structs.replace(told, response=None, system=self._respondent.identity.name)
        if not sample.query:
            return self.generated.lacking(sample, "response", Failure("no_query", "the sample has no query"))
        if sample.contexts is None:
            return self.generated.lacking(sample, "response", _NO_DOCUMENTS)
        try:
            response = await self._respondent.respond(answer_prompt(sample, self._brief))
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
        if not isinstance(outcome, AddedCitations) or not outcome.added:
            return sample
        self.generated.cited += 1
        judge = ", ".join(str(one.identity) for one in self._asker.router.unique())
        return with_metadata(msgspec.structs.replace(sample, response=outcome.response), **{CITED_BY: judge})


_NO_DOCUMENTS = Failure("no_documents", "the sample has no contexts; build the data first, with a corpus")
