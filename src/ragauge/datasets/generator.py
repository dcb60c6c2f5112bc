"""From samples with documents to the same samples with the responses of a system."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from random import Random
from typing import Any, get_args

import msgspec

from ragauge.datasets.prompts import REFUSAL_SENTENCE, AnswerBrief, AnswerForm, Responder, answer_prompt
from ragauge.datasets.samples import (
    CITED_BY,
    ProgressCallback,
    SampleOptions,
    SampleSet,
    add_metadata,
    keep_first_documents,
    map_samples,
    resolve_need,
    without_notes,
)
from ragauge.errors import BadData, BadParameter, UnanswerableNeed
from ragauge.judges.base import JudgeLike
from ragauge.judges.llm.build import model_client
from ragauge.judges.llm.client import ModelClient
from ragauge.needs.base import Failed, Need, NothingToCount, QuestionFlow, unanswerable
from ragauge.needs.checks import REFUSAL_KEY, instructed_refusal
from ragauge.needs.entailment import citation_labels, support
from ragauge.needs.evidence import Statements, Support
from ragauge.readers import SampleReader, read
from ragauge.run.asking import Budget, Dispatcher, JudgmentCache, Stopped, check_priced
from ragauge.run.prepare import opened_store
from ragauge.run.specs import load_judges
from ragauge.run.sync import blocking
from ragauge.scores import Evidence
from ragauge.text import trust_eval
from ragauge.text.citations import CitationStyle, citation_marks, citations_in
from ragauge.text.cited import CitedPiece, cited_items, cited_sentences
from ragauge.text.refusals import refusal as find_refusal
from ragauge.types import ChunkVerdict, Failure, Label, Sample, Statement, Verdict

_STOP = re.compile(r"[.!?。！？]*[\"'”’)\]]*\Z")


@dataclass(frozen=True)
class AddedCitations:
    """A response with citations. added: the number of its sentences or items that got one."""

    response: str
    added: int
    evidence: tuple[Evidence, ...] = ()


def add_citations(form: AnswerForm) -> Need[AddedCitations]:
    """A need: each sentence, or item of a list, cites the document that entails it best, if one does.

    A response that has citations of any form is left as it is, and so is a refusal.
    """

    def flow(sample: Sample) -> QuestionFlow[AddedCitations]:
        text = sample.response or ""
        cut = cited_items if form == "list" else cited_sentences
        pieces = cut(text, [""] * len(sample.contexts or ()))
        if not pieces or _cites(text, citation_labels(sample)) or find_refusal(text, instructed_refusal(sample)):
            raise NothingToCount("there is nothing to cite")
        statements = Statements("response", tuple(Statement(piece.text, piece.span) for piece in pieces))
        chunks = [(chunk.id, chunk.passage) for chunk in sample.contexts or ()]
        found: Support = yield from support(statements, "contexts", chunks, sample.query)
        best = [_best(verdict, len(chunks)) for verdict in found.verdicts]
        return AddedCitations(_marked(text, pieces, best), len(best) - best.count(None))

    return Need(f"citing({form})", ("response", "contexts"), frozenset({"entail:support"}), flow)


def _cites(text: str, chunks: Sequence[str]) -> bool:
    """Whether a text has citations: numbers in brackets, or in any style one of the chunks, by the names given."""
    reached = (one.reach for style in get_args(CitationStyle) for one in citations_in(text, chunks, style))
    return bool(citation_marks(text)) or "chunk" in reached


def _best(verdict: Verdict, chunks: int) -> int | None:
    """The position of the chunk that entails with the highest probability, the first of equals; None for none."""
    each: Sequence[Verdict | ChunkVerdict] = verdict.chunks or ((verdict,) if chunks == 1 else ())
    entailing = [i for i, chunk in enumerate(each) if chunk.label is Label.ENTAILED]
    return max(entailing, key=lambda i: (each[i].probability or 0.0, -i), default=None)


def _marked(text: str, pieces: Sequence[CitedPiece], best: Sequence[int | None]) -> str:
    """The text with a citation at the end of each piece that has a document, before its punctuation."""
    for piece, chunk in sorted(zip(pieces, best, strict=True), reverse=True, key=lambda pair: pair[0].span):
        if chunk is not None:
            stop = _STOP.search(text[slice(*piece.span)])
            at = piece.span[0] + stop.start() if stop else piece.span[1]
            text = f"{text[:at]} [{chunk + 1}]{text[at:]}"
    return text


def with_shots(
    brief: AnswerBrief, samples: Sequence[Sample], count: int, seed: int, top: int | None = None
) -> AnswerBrief:
    """The brief with few-shot examples, drawn and ordered by the seed.

    Half of them, rounded down, are refusals, where the brief asks for refusals, as in Trust-Eval; if there are too few
    of one kind, the other fills up. Refusals are shown in the wording of the brief. A sample without a response is
    shown with its first reference.

    Args:
        count: the number of examples.
        seed: of the draw.
        top: the number of documents of each example that are shown; None for all.

    Raises:
        BadData: fewer than `count` samples have a question, documents and an answer.
    """
    usable = [example for one in samples if (example := _example(one, brief, top))]
    answers = [one for one in usable if one.response != brief.refusal]
    refusals = [one for one in usable if brief.refusal and one.response == brief.refusal]
    if len(answers) + len(refusals) < count:
        raise BadData(
            f"{len(answers) + len(refusals)} of {len(samples)} samples can be examples, {count} are needed; each needs "
            "a query, contexts, and a response or reference"
        )
    rng = Random(seed)
    refused = min(len(refusals), max(count // 2 if brief.refusal else 0, count - len(answers)))
    drawn = [*rng.sample(refusals, refused), *rng.sample(answers, count - refused)]
    rng.shuffle(drawn)
    return msgspec.structs.replace(brief, shots=tuple(drawn))


def _example(sample: Sample, brief: AnswerBrief, top: int | None) -> Sample | None:
    """A sample as an example; None where something is missing, or it is a refusal and the brief has none."""
    response = sample.response or next(iter(sample.references or ()), "")
    if not (sample.query and sample.contexts and response):
        return None
    if find_refusal(response, instructed_refusal(sample)) or trust_eval.is_refusal(response):
        response = brief.refusal
    return Sample(sample.id, sample.query, response, sample.contexts[:top]) if response else None


#: Samples that are processed at once; the client limits the number of calls.
_CONCURRENCY = 256

#: The default number of few-shot examples, as in Trust-Eval.
SHOTS = 2


@dataclass(kw_only=True)
class Generated(SampleSet):
    """Samples with generated responses.

    Attributes:
        system: the model that answered.
        answered, refused, empty: the number of responses, of refusals among them, and of empty ones.
        cited: the number of responses to which citations were added.
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
    **options: Any,
) -> Generated:
    """Have a model answer each question from its documents.

    `generate` is the same for use without an event loop, or inside a running one as in notebooks.

    Args:
        data: samples with queries and contexts, in any form that `read` takes.
        model: as for `rg.llm`: "provider/model", with options after it; a client of `instructor`; a function from
            messages to text.
        form: "prose" for sentences with citations such as [1][2], "list" for items with a citation each.
        refusal: the sentence to answer with where the documents hold no answer. It is stored in the samples' metadata,
            so that metrics recognise it as a refusal. With "" the model must always answer.
        shots: answered samples to draw few-shot examples from.
        shot_count: the number of examples.
        seed: of the draw.
        top: the number of documents of each sample that are shown and kept; None for all.
        cite: a judge that finds citations for responses without any; None adds none.
        options: store, map, limit, skip_bad_rows, max_cost and progress; see `SampleOptions`.

    Raises:
        UsageError: the data cannot be read, a parameter is wrong, or a key is missing.
    """
    if (top is not None and top < 1) or shot_count < 0:
        raise BadParameter(f"top={top} must be 1 or more, or None; shot_count={shot_count} 0 or more")
    given, brief = SampleOptions(**options), AnswerBrief(form, refusal)
    if shots is not None:
        brief = with_shots(brief, list(read(shots)), shot_count, seed, top)
    client = model if isinstance(model, ModelClient) else model_client(model)
    budget = Budget(given.max_cost)
    if given.max_cost is not None and client.price is None:
        raise BadParameter(
            f"a limit on the cost needs the price of {client.transport.name}; give it as ?price=0.15:0.60"
        )
    opened = opened_store(given.store)
    reader, dispatcher = given.read(data), None
    if cite:
        router = load_judges(cite)
        if topics := unanswerable([add_citations(form)], router.can):
            raise UnanswerableNeed(f"the judge of citations does not answer {', '.join(topics)}; name one that does")
        check_priced(router.unique(), budget.limit)
        dispatcher = Dispatcher(router, JudgmentCache(router, opened, {}), budget)
    generator = _Generator(Responder(client, opened, budget), brief, top, dispatcher, add_citations(form))
    await generator.run(reader, given.progress)
    return generator.generated


generate = blocking(generate_async, "generate")


class _Generator:
    """Generates responses, and counts their kinds."""

    def __init__(
        self,
        responder: Responder,
        brief: AnswerBrief,
        top: int | None,
        dispatcher: Dispatcher | None,
        need: Need[AddedCitations],
    ) -> None:
        self.generated = Generated(system=responder.identity.name)
        self._responder, self._brief, self._top = responder, brief, top
        self._dispatcher, self._need = dispatcher, need

    async def run(self, reader: SampleReader, progress: ProgressCallback | None) -> None:
        """Generate the responses of all samples."""
        done = self.generated
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._responder)
            if self._dispatcher:
                await stack.enter_async_context(self._dispatcher.opened())
            done.samples = await map_samples(reader, self._sample, _CONCURRENCY, progress)
        done.asked, done.reused = self._responder.asked, self._responder.reused
        done.spent = self._responder.spent
        done.bad_rows = tuple(str(bad) for bad in reader.bad_rows)

    async def _sample(self, given: Sample) -> Sample:
        """The sample with its response, or with the reason why it has none."""
        bare = add_metadata(keep_first_documents(without_notes(given), self._top), **{REFUSAL_KEY: self._brief.refusal})
        sample = msgspec.structs.replace(bare, response=None, system=self._responder.identity.name)
        if not sample.query:
            return self.generated.fail(sample, "response", Failure("no_query", "the sample has no query"))
        if sample.contexts is None:
            return self.generated.fail(sample, "response", _NO_DOCUMENTS)
        try:
            response = await self._responder.respond(answer_prompt(sample, self._brief))
        except Stopped as stopped:
            return self.generated.stop(sample, "response", stopped)
        if isinstance(response, Failure):
            return self.generated.fail(sample, "response", response)
        done = self.generated
        done.answered += 1
        done.empty += not response
        done.refused += bool(find_refusal(response, self._brief.refusal)) or trust_eval.is_refusal(response)
        return await self._cited(msgspec.structs.replace(sample, response=response))

    async def _cited(self, sample: Sample) -> Sample:
        if self._dispatcher is None:
            return sample
        try:
            outcome = await resolve_need(self._dispatcher, sample, self._need)
        except Stopped as stopped:
            return self.generated.stop(sample, "citations", stopped)
        if isinstance(outcome, Failed):
            return self.generated.fail(sample, "citations", outcome.reason)
        if not isinstance(outcome, AddedCitations) or not outcome.added:
            return sample
        self.generated.cited += 1
        judge = ", ".join(str(one.identity) for one in self._dispatcher.router.unique())
        return add_metadata(msgspec.structs.replace(sample, response=outcome.response), **{CITED_BY: judge})


_NO_DOCUMENTS = Failure("no_documents", "the sample has no contexts; build the data first, with a corpus")
