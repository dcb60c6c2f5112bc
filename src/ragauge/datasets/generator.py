"""Have a model respond to samples from their documents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from random import Random
from typing import Any, Literal, get_args

import msgspec

from ragauge.datasets.calls import Form, ModelCalls, Outcome, prompt_about, prompt_section
from ragauge.datasets.samples import CITED_BY, SampleOptions, SampleSet, add_metadata, with_top_documents, without_notes
from ragauge.errors import BadData, BadParameter, UnanswerableNeed
from ragauge.judges.base import JudgeLike
from ragauge.judges.llm.judge import unanswered
from ragauge.judges.llm.messages import Completion, Prompt
from ragauge.judges.llm.replies import extract_object
from ragauge.kinds.call import REPEATED
from ragauge.needs.base import Need, NothingToCount, QuestionFlow, Statements, Support, unanswerable
from ragauge.needs.checks import REFUSAL_KEY, instructed_refusal
from ragauge.needs.entailment import support
from ragauge.readers import SampleReader, read
from ragauge.run.asking import Dispatcher
from ragauge.run.budget import Budget, Stopped, check_priced
from ragauge.run.prepare import opened_store
from ragauge.run.specs import load_judges
from ragauge.run.sync import blocking
from ragauge.scores import Evidence
from ragauge.text import trust_eval
from ragauge.text.citations import CitationStyle, citation_marks, citations_in
from ragauge.text.cited import CitedPiece, cited_items, cited_sentences
from ragauge.text.refusals import refusal as find_refusal
from ragauge.text.trust_eval import REFUSAL
from ragauge.types import ChunkVerdict, Failure, Label, Sample, Statement, Verdict

#: The form of a response: sentences, or items separated by commas.
AnswerForm = Literal["prose", "list"]

#: The sentence to refuse with where the documents hold no answer. Trust-Eval recognises a refusal by how it begins.
REFUSAL_SENTENCE = f"{REFUSAL} in the documents."


class AnswerBrief(msgspec.Struct, frozen=True):
    """How to answer. refusal: the sentence to refuse with, "" if the model must always answer. shots: examples."""

    form: AnswerForm = "prose"
    refusal: str = REFUSAL_SENTENCE
    shots: tuple[Sample, ...] = ()


def answer_prompt(sample: Sample, brief: AnswerBrief) -> Prompt:
    """The prompt for a response; the user's message is one JSON document, with all texts as its strings."""
    system = [prompt_section("preamble"), prompt_section(brief.form)]
    system += [prompt_section("refuse"), brief.refusal] if brief.refusal else [prompt_section("always")]
    document: dict[str, Any] = {}
    if brief.shots:
        system.append(prompt_section("examples"))
        document["examples"] = [{**_question_document(shot), "answer": shot.response} for shot in brief.shots]
    system.append(prompt_section("reply"))
    return prompt_about(document | _question_document(sample), "\n\n".join(system), ["answer"])


def _question_document(sample: Sample) -> dict[str, Any]:
    """The question of a sample and its numbered documents, for a prompt."""
    documents = {}
    for number, chunk in enumerate(sample.contexts or (), start=1):
        title = {"title": chunk.title} if chunk.title else {}
        documents[str(number)] = {**title, "text": chunk.text}
    return {"question": sample.query, "documents": documents}


_NO_DOCUMENTS = Failure("no_documents", "the sample has no contexts; build the data first, with a corpus")


def answer_in(completion: Completion) -> Outcome:
    """The response in a reply: "answer" in its JSON object or, if it has no object, the whole reply."""
    answer = extract_object(completion.text, ["answer"]).get("answer")
    if completion.finish == "stop":
        if isinstance(answer, str) and answer != REPEATED:
            return answer.strip()
        if completion.text.strip() and '{"' not in completion.text:
            return completion.text.strip()
    return unanswered(completion, 'there is no text under "answer" in it')


#: The form of a response.
ANSWER = Form(answer_in, '{"answer": "..."}')

#: The punctuation and closing marks at the end of a sentence.
_FINAL_PUNCTUATION = re.compile(r"[.!?。！？]*[\"'”’)\]]*\Z")


@dataclass(frozen=True)
class AddedCitations:
    """A response with citations. added: the number of its sentences or items that got one."""

    response: str
    added: int
    evidence: tuple[Evidence, ...] = ()


def add_citations(form: AnswerForm) -> Need[AddedCitations]:
    """A need: each sentence or list item of a response without citations cites the document that entails it best."""

    def flow(sample: Sample) -> QuestionFlow[AddedCitations]:
        text = sample.response or ""
        chunks = [(chunk.id, chunk.passage) for chunk in sample.contexts or ()]
        split = cited_items if form == "list" else cited_sentences
        pieces = split(text, len(chunks))
        if not pieces or _cites(text, len(chunks)) or find_refusal(text, instructed_refusal(sample)):
            raise NothingToCount("there is nothing to cite")
        statements = Statements("response", tuple(Statement(piece.text, piece.span) for piece in pieces))
        supported: Support = yield from support(statements, "contexts", chunks, sample.query)
        best = [_best(verdict, len(chunks)) for verdict in supported.verdicts]
        return AddedCitations(_marked(text, pieces, best), len(best) - best.count(None))

    return Need(f"citing({form})", ("response", "contexts"), frozenset({"entail:support"}), flow)


def _cites(text: str, chunks: int) -> bool:
    """Whether a text has citations: any number in brackets, or the number of a chunk in parentheses."""
    return bool(citation_marks(text)) or any(
        citation.chunk is not None
        for style in get_args(CitationStyle)
        for citation in citations_in(text, chunks, style)
    )


def _best(verdict: Verdict, chunks: int) -> int | None:
    """The position of the chunk that entails with the highest probability, the first of equals; None if none does."""
    verdicts: Sequence[Verdict | ChunkVerdict] = verdict.chunks or ((verdict,) if chunks == 1 else ())
    entailing = [i for i, chunk in enumerate(verdicts) if chunk.label is Label.ENTAILED]
    return max(entailing, key=lambda i: (verdicts[i].probability or 0.0, -i), default=None)


def _marked(text: str, pieces: Sequence[CitedPiece], best: Sequence[int | None]) -> str:
    """The text with a citation at the end of each piece that has a document, before its punctuation."""
    for piece, chunk in sorted(zip(pieces, best, strict=True), reverse=True, key=lambda pair: pair[0].span):
        if chunk is not None:
            start, end = piece.span
            if punctuation := _FINAL_PUNCTUATION.search(text[start:end]):
                end = start + punctuation.start()
            text = f"{text[:end]} [{chunk + 1}]{text[end:]}"
    return text


def with_shots(
    brief: AnswerBrief, samples: Sequence[Sample], count: int, seed: int, top: int | None = None
) -> AnswerBrief:
    """The brief with few-shot examples.

    Half of them, rounded down, are refusals, where the brief asks for refusals, as in Trust-Eval; if there are too few
    refusals, answers take their place, and the reverse. Refusals are shown in the wording of the brief. A sample
    without a response is shown with its first reference, and each with the first `top` of its documents.

    samples: to draw from. count: the number of examples. seed: of the draw and of the order. Raises BadData where too
    few samples have a question, documents and an answer.
    """
    usable = [example for sample in samples if (example := _example(sample, brief, top))]
    answers = [example for example in usable if example.response != brief.refusal]
    refusals = [example for example in usable if brief.refusal and example.response == brief.refusal]
    if len(answers) + len(refusals) < count:
        raise BadData(
            f"samples that can be examples: {len(answers) + len(refusals)}, of {count} that are needed; each needs a "
            "query that is not among those to be answered, contexts, and a response or reference"
        )
    rng = Random(seed)
    wanted_refusals = count // 2 if brief.refusal else 0
    refused = min(len(refusals), max(wanted_refusals, count - len(answers)))
    drawn = [*rng.sample(refusals, refused), *rng.sample(answers, count - refused)]
    rng.shuffle(drawn)
    return msgspec.structs.replace(brief, shots=tuple(drawn))


def _not_among(samples: Sequence[Sample], reader: SampleReader, shots: SampleReader) -> list[Sample]:
    """The shots without those that share a query with a sample, or an id where both data have ids."""
    has_ids = "id" in reader.columns and "id" in shots.columns

    def names(sample: Sample) -> set[tuple[str, ...]]:
        return {("query", *(sample.query or "").casefold().split()), *([("id", sample.id)] if has_ids else ())}

    taken = set[tuple[str, ...]]().union(*map(names, samples))
    return [shot for shot in shots if taken.isdisjoint(names(shot))]


def _example(sample: Sample, brief: AnswerBrief, top: int | None) -> Sample | None:
    """A sample as a few-shot example; None if something is missing, or it is a refusal and the brief allows none."""
    response = sample.response or next(iter(sample.references or ()), "")
    if not (sample.query and sample.contexts and response):
        return None
    if find_refusal(response, instructed_refusal(sample)) or trust_eval.is_refusal(response):
        response = brief.refusal
    return Sample(sample.id, sample.query, response, sample.contexts[:top]) if response else None


#: How many samples are processed at once; the client limits the number of calls.
_SAMPLES_AT_ONCE = 256
#: The default number of few-shot examples, as in Trust-Eval.
SHOTS = 2


@dataclass(kw_only=True)
class Generated(SampleSet):
    """Samples with responses of the model `system`: how many are answered; of these, refused, empty, cited."""

    system: str = ""
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
    """Have a model answer each question from its documents; `generate` is the synchronous form.

    Args:
        data: samples with queries and contexts, in any form that `read` takes.
        model: as for `rg.llm`.
        form: "prose" for sentences with citations such as [1][2], "list" for items with a citation each.
        refusal: the sentence to answer with where the documents hold no answer. It is stored in the samples' metadata,
            so that metrics recognise it as a refusal. With "" the model must always answer.
        shots, shot_count, seed: answered samples to draw few-shot examples from, how many, and the seed of the draw.
            Those with a query of the data, or an id of it where both have ids, are no examples.
        top: the number of documents of each sample that are shown and kept; None for all.
        cite: a judge that finds citations for responses without any; None adds none.
        options: store, map, limit, skip_bad_rows, max_cost and progress; see `SampleOptions`.

    Raises:
        UsageError: the data cannot be read, a parameter is wrong, or a key is missing.
    """
    if (top is not None and top < 1) or shot_count < 0:
        raise BadParameter(f"top={top} must be 1 or more, or None; shot_count={shot_count} 0 or more")
    chosen = SampleOptions(**options)
    brief = AnswerBrief(form, refusal)
    reader = chosen.read(data)
    samples: Iterable[Sample] = reader
    if shots is not None:
        samples = list(reader)
        brief = with_shots(brief, _not_among(samples, reader, read(shots)), shot_count, seed, top)
    budget = Budget(chosen.max_cost)
    store = opened_store(chosen.store)
    generated = Generated()
    calls = ModelCalls(model, store, budget, generated)
    generated.system = calls.identity.name
    need = add_citations(form)
    dispatcher = None
    if cite:
        router = load_judges(cite)
        if topics := unanswerable([need], router.can):
            raise UnanswerableNeed(f"the judge of citations does not answer {', '.join(topics)}; name one that does")
        check_priced(router.unique, budget.limit)
        dispatcher = Dispatcher(router, store, budget)

    async def respond(sample: Sample) -> Sample:
        answered = await _with_response(with_top_documents(without_notes(sample), top), brief, calls, generated)
        if dispatcher is None or answered.response is None:
            return answered
        return await _with_citations(answered, need, dispatcher, generated)

    async with calls, dispatcher.opened() if dispatcher else nullcontext():
        await generated.fill(reader, samples, respond, _SAMPLES_AT_ONCE, chosen)
    generated.spent = budget.spent
    return generated


generate = blocking(generate_async, "generate")


async def _with_response(sample: Sample, brief: AnswerBrief, calls: ModelCalls, generated: Generated) -> Sample:
    """The sample with a response, or with a note why it has none."""
    sample = add_metadata(sample, **{REFUSAL_KEY: brief.refusal})
    sample = msgspec.structs.replace(sample, response=None, system=generated.system)
    if not sample.query:
        return generated.fail(sample, "response", Failure("no_query", "the sample has no query"))
    if sample.contexts is None:
        return generated.fail(sample, "response", _NO_DOCUMENTS)
    try:
        response = await calls.reply(answer_prompt(sample, brief), ANSWER)
    except Stopped as stopped:
        return generated.stop(sample, "response", stopped)
    if isinstance(response, Failure):
        return generated.fail(sample, "response", response)
    generated.answered += 1
    generated.empty += not response
    generated.refused += bool(find_refusal(response, brief.refusal)) or trust_eval.is_refusal(response)
    return msgspec.structs.replace(sample, response=response)


async def _with_citations(
    sample: Sample, need: Need[AddedCitations], dispatcher: Dispatcher, generated: Generated
) -> Sample:
    outcome = await generated.resolve(dispatcher, sample, need, "citations")
    if isinstance(outcome, Sample):
        return outcome
    if not isinstance(outcome, AddedCitations) or not outcome.added:
        return sample
    generated.cited += 1
    judge = ", ".join(str(member.identity) for member in dispatcher.router.unique)
    return add_metadata(msgspec.structs.replace(sample, response=outcome.response), **{CITED_BY: judge})
