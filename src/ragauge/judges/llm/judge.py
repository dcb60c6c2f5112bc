"""The LLM judge, of any model: a sample's questions in a round in few calls, with each reply checked.

A bad reply is asked for once more, with its faults; questions that are still unanswered are asked again in halves; one
that fails alone, in the fourth call that asks it, is a failure.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from copy import copy
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, Self

import msgspec

from ragauge.errors import BadData, BadParameter, UnknownName
from ragauge.host import read_file
from ragauge.judges.base import ContextJudge, ExpectedCall, RunContext
from ragauge.judges.llm import messages, prompts, replies
from ragauge.judges.llm.adapters import FunctionTransport, InstructorTransport, function_of, is_instructor, is_model
from ragauge.judges.llm.pricing import Price, completion_tokens, price_of, priced_model
from ragauge.judges.llm.prompts import Pack, PackingPolicy, pack_limits
from ragauge.judges.llm.providers import LLMOptions, options_of, parse_llm_spec
from ragauge.kinds.base import MIN_SPLIT_CHARS
from ragauge.kinds.call import PromptStyle
from ragauge.kinds.windows import SplitQuestion
from ragauge.questions import KINDS, Question
from ragauge.types import Answer, Failure, Identity

#: Characters of a reply that a failure keeps.
MAX_RAW_CHARS = 4000

#: The calls that ask a question before it is a failure, unless larger packs asked it more often.
_MAX_CALLS = 4

#: The malformed replies of one round that count towards giving up the model: some samples are refused in prose.
_MAX_MALFORMED = 4

#: Failures that one question among several may cause: halves isolate it, and the others are answered.
_CAUSED_BY_ONE = frozenset({"too_long", "content_filter", "refused"})

#: Failures that another attempt may fix.
_RETRYABLE = frozenset({"invalid_answer", "truncated"})

#: The reason and detail of a failure by the end of its reply; details are quoted to the model.
_FAILURES_BY_FINISH: dict[messages.Finish, tuple[str, str]] = {
    "stop": ("invalid_answer", ""),
    "length": (
        "truncated",
        "the reply was cut off at its greatest length, before this answer; be brief, or raise max_tokens",
    ),
    "content_filter": ("content_filter", "the provider's filter stopped the reply"),
    "refusal": ("refused", "the model would not answer"),
}


class _CallResult(msgspec.Struct):
    """The outcome of a call.

    answered: questions it answered first. failures: of the questions without an answer. faults: those to report to the
    model, by position in the pack. rest: questions on texts whose end the reply did not reach, in two parts.
    """

    answered: Sequence[Question]
    failures: dict[Question, Failure]
    faults: Mapping[int, str] = {}
    reply: str = ""
    fault: str = ""
    rest: Mapping[Question, SplitQuestion] = {}

    @property
    def reason(self) -> str:
        """Why questions failed; only where some did."""
        return next(iter(self.failures.values())).reason


class CallRound:
    """The calls for the questions of one round. answers: filled as replies arrive."""

    def __init__(self, judge: LLMJudge, context: RunContext) -> None:
        self.answers: dict[Question, Answer | Failure] = {}
        self._judge, self._client, self._context = judge, judge.client, context
        self._style = judge.policy.style
        self._originals: dict[Question, Question] = {}
        self._malformed = 0

    async def ask(
        self, packs: Sequence[Pack], splits: Mapping[Question, SplitQuestion] | None = None, asked: int = 0
    ) -> None:
        """Ask the packs side by side, so that each of their questions is in `answers`.

        packs: one call each. splits: questions that the packs ask in parts; they are in `answers` too. asked: how many
        calls have asked these questions before.
        """
        for question, parted in (splits or {}).items():
            self._add_parts(question, parted)
        if len(packs) == 1:
            await self._ask_pack(packs[0], asked)
        else:
            await asyncio.gather(*[self._ask_pack(pack, asked) for pack in packs])
        for question, parted in (splits or {}).items():
            self.answers[question] = parted.answer(self.answers)

    def _add_parts(self, question: Question, split: SplitQuestion) -> None:
        """Remember which question the parts belong to."""
        self._originals.update(dict.fromkeys(split.parts, self._originals.get(question, question)))

    async def _ask_pack(self, pack: Pack, asked: int) -> None:
        """Answer or fail each question of a pack; a reply that can be corrected is asked for once more."""
        prompt = prompts.prompt_of(pack, self._style)
        result = await self._call(pack, prompt)
        if not result.failures:
            return
        alone = len(pack.questions) == 1
        # Faults are reported to the model; a reply that was cut off is better fixed by asking less at once.
        is_correctable = result.reason == "invalid_answer" or (result.reason == "truncated" and alone)
        if is_correctable and not (alone and asked + 1 == _MAX_CALLS):
            self._client.incomplete += 1
            result = await self._call(pack, prompts.repeat_prompt(prompt, result.reply, result.faults))
            asked += 1
        if result.failures:
            await self._ask_again(pack, result, asked + 1)

    async def _ask_again(self, pack: Pack, result: _CallResult, asked: int) -> None:
        """Ask failed questions again in halves, or in parts if too long; what cannot be asked again stays failed."""
        reason, failed, alone = result.reason, list(result.failures), len(pack.questions) == 1
        if (reason in _RETRYABLE and not (alone and asked >= _MAX_CALLS)) or (reason in _CAUSED_BY_ONE and not alone):
            self._client.incomplete += reason in _RETRYABLE
            middle = len(failed) // 2
            halves = [tuple(half) for half in (failed[:middle], failed[middle:]) if half]
            await self.ask([Pack(half, pack.shuffle) for half in halves], asked=asked)
        elif reason != "too_long" or not await self._ask_parts(pack.questions[0]):
            self.answers.update(result.failures)

    async def _ask_parts(self, question: Question) -> bool:
        """Ask a question that is too long for the server in parts, starting with the first; False where that fails."""
        split = question.in_halves(self._style.support_outweighs)
        if split is None:
            return False
        self._add_parts(question, split)
        await self.ask([Pack(split.parts[:1], self._style.shuffle)])
        if isinstance(self.answers[split.parts[0]], Failure):
            return False
        packs, splits = self._judge.policy.calls(split.parts[1:])
        await self.ask(packs, {**splits, question: split})
        return True

    async def _call(self, pack: Pack, prompt: messages.Prompt) -> _CallResult:
        """Make one call, if the budget allows it, and record it."""
        client, context = self._client, self._context
        expected = messages.TokenUsage()
        if client.price:
            expected = client.expected(prompt, completion_tokens(pack, self._style))
        reserved = await client.reserve(context, expected)
        if isinstance(reserved, Failure):
            return self._failed(pack, reserved)
        outcome: messages.Completion | Failure = messages.CANCELLED
        result, sent, start = _CallResult((), {}, fault="cancelled"), True, perf_counter()
        try:
            outcome = await client.send(prompt)
            result = self._read(pack, prompt, outcome)
        except messages.CallFailed as failed:
            outcome, sent = failed.failure, failed.sent
            result = self._failed(pack, outcome)
        except asyncio.CancelledError as cancelled:
            sent = messages.CallFailed.NOT_SENT not in cancelled.args
            raise
        finally:
            if sent:
                seconds, n_asked = perf_counter() - start, len(prompt.schema["properties"])
                call = client.call_record(outcome, expected, n_asked, seconds, result.fault)
                answered = [self._originals.get(question, question) for question in result.answered]
                context.record(call, answered, reserved)
            else:
                context.release(reserved)
        if result.failures and result.reason == "too_long":
            self._judge.reduce_limits(pack, len(prompt.user))
        if result.rest:  # the parts of texts that the reply did not reach
            await self.ask(self._judge.policy.packs([split.parts[1] for split in result.rest.values()]), result.rest)
        return result

    def _failed(self, pack: Pack, failure: Failure) -> _CallResult:
        failures = {question: failure for question in pack.questions if question not in self.answers}
        return _CallResult((), failures, fault=str(failure))

    def _read(self, pack: Pack, prompt: messages.Prompt, completion: messages.Completion) -> _CallResult:
        """Keep answers to questions that have none yet; nothing of a reply to a truncated prompt."""
        if truncated := self._client.truncation_failure(prompt, completion):
            return self._failed(pack, truncated)
        reply = replies.parse_reply(pack, completion.text, self._style, completion.tokens)
        self._malformed += not reply.well_formed
        if reply.well_formed or self._malformed <= _MAX_MALFORMED:
            self._client.count_malformed(completion, well_formed=reply.well_formed)
        self._client.replies += 1
        questions, answers = pack.questions, self.answers
        answered = []
        for position, answer in reply.answers.items():
            question = questions[position]
            if answers.setdefault(question, answer) is answer:
                answered.append(question)
        if len(answered) == len(questions):
            return _CallResult(answered, {})
        failures, faults, rest, first = {}, {}, {}, ""
        for position, fault in reply.faults.items():
            if (question := questions[position]) in answers:
                continue
            failure = unanswered(completion, fault)
            first = first or str(failure)
            if position in reply.partial:  # its first part has its answer
                first_answer, rest[question] = reply.partial[position]
                self._add_parts(question, rest[question])
                self.answers[rest[question].parts[0]] = first_answer
            else:
                failures[question] = failure
                faults[position] = failure.detail
        return _CallResult(answered, failures, faults, completion.text, first, rest)


def unanswered(completion: messages.Completion, fault: str) -> Failure:
    """Why a question has no answer in a reply. fault: as `replies.parse_reply` describes it."""
    reason, detail = _FAILURES_BY_FINISH[completion.finish]
    return Failure(reason, detail or fault, completion.text[:MAX_RAW_CHARS])


def prompt_style(options: LLMOptions) -> PromptStyle:
    """The prompts that options describe. Raises UsageError for a folder or an example that cannot be used."""
    texts = _folder_sections(Path(options.prompts)) if options.prompts else {}
    if options.examples is not None:
        texts["examples"] = f"{texts.get('examples', prompts.packaged('examples'))}\n{_own_examples(options.examples)}"
    changed = tuple((name, texts[name]) for name in prompts.SECTIONS if name in texts)
    changed = tuple((name, text) for name, text in changed if text != prompts.packaged(name))
    chosen = (options.rationales, options.quotes, options.sources, options.conflicts)
    style = PromptStyle(*chosen, changed, options.shuffle)
    if changed:
        prompts.check_lines(style)
    return style


def _folder_sections(folder: Path) -> dict[str, str]:
    """The sections that a folder replaces, by name."""
    names = {prompts.file_name(name): name for name in prompts.SECTIONS}
    paths = {path.name: path for path in sorted(folder.glob("*")) if path.suffix in (".md", ".jsonl")}
    if not paths:
        raise BadData(f"{folder}: no section of the prompts in this folder; write one with `ragauge judges prompts`")
    for name in paths.keys() - names.keys():
        raise UnknownName(f"section in {folder}", name, names)
    texts = {names[name]: _read_text(path).strip() for name, path in paths.items()}
    for name, text in texts.items():
        if not text and name != "examples":
            raise BadData(f"{folder / prompts.file_name(name)}: the section is empty; delete the file to keep ours")
    replies.check_examples(texts.get("examples", ""), f"{folder / 'examples.jsonl'}")
    return texts


def _own_examples(examples: str | tuple[dict[str, Any], ...]) -> str:
    """Examples as JSON lines."""
    text = _read_text(Path(examples)) if isinstance(examples, str) else "\n".join(map(json.dumps, examples))
    replies.check_examples(text, examples if isinstance(examples, str) else "examples")
    return "\n".join(json.dumps(json.loads(line), ensure_ascii=False) for line in text.splitlines())


def _read_text(path: Path) -> str:
    try:
        return read_file(path)
    except (OSError, ValueError) as error:
        raise BadData(f"{path}: cannot be read: {error}") from None


Packing = Literal["together", "alone"]


class LLMJudge(ContextJudge):
    """Answers questions of every kind with a language model.

    Use it as an asynchronous context manager to keep connections open from one `answer` to the next; a run does.

    price: of the tokens of calls; None if not known. pack: "together" puts all questions of a sample's round into as
    few calls as they fit in, "alone" asks one question a call. context: tokens of the model's window, where it is
    small; longer texts are judged in parts. width: how many samples a run works on at once, so that calls are ready
    whenever the transport has capacity. tempo: how fast calls may follow each other, for estimates. client: of the
    model. policy: how questions are put into calls, within the window as known so far.

    Raises BadParameter for a `context` that is too small.
    """

    answers = frozenset(KINDS)
    is_checked = is_paid = True

    def __init__(
        self,
        transport: messages.Transport,
        *,
        price: Price | None = None,
        style: PromptStyle | None = None,
        pack: Packing = "together",
        context: int | None = None,
        width: int = 256,
        tempo: messages.CallTempo | None = None,
    ) -> None:
        self.client = messages.ModelClient(transport, price)
        self.price = price
        self.tempo = tempo or messages.CallTempo()
        self.by_sample = width
        self.policy = self._initial = PackingPolicy(pack_limits(context), pack == "alone", style or PromptStyle())
        self.identity = Identity(transport.name, (*transport.settings, *self.policy.settings))

    def shuffled(self, seed: int) -> LLMJudge:
        """A separate judge on the same connections, given claims and sources in another order.

        seed: of the order; added to the judge's own, where it has one.
        """
        judge, policy, transport = copy(self), self._initial, self.client.transport
        style = msgspec.structs.replace(policy.style, shuffle=seed + (policy.style.shuffle or 0))
        judge.policy = judge._initial = msgspec.structs.replace(policy, style=style)
        judge.identity = Identity(transport.name, (*transport.settings, *judge.policy.settings))
        return judge

    @property
    def ended(self) -> Failure | None:
        """Why no further call can succeed, once that is so; None again when the judge is reopened."""
        return self.client.ended

    def notes(self) -> list[str]:
        """Notes on calls, on the day of their prices, on estimated tokens, and on the version of changed prompts."""
        name, style = self.identity.name, self.policy.style
        notes = [*self.client.transport.notes()]
        if self.client.priced and self.price and self.price.dated:
            note = f"{name}: prices of {self.price.dated}"
            if "base_url" in dict(self.client.transport.settings):
                note += ", the provider's own, though another server was called; if that is free, say price=0:0"
            notes.append(f"{note}.")
        if self.client.estimated:
            notes.append(
                f"{name}: tokens and price of {self.client.estimated} calls are estimates, since the server counted "
                "none or too few; if it truncates long prompts to its window, set that window's size with context="
            )
        if self.client.incomplete:
            incomplete = f"{self.client.incomplete} of {self.client.replies} replies"
            notes.append(f"{name}: {incomplete} lacked answers, which were asked for again.")
        return notes + ([f"{name}: prompts {prompts.digest(style)}."] if style.sections else [])

    def reduce_limits(self, pack: Pack, chars: int) -> None:
        """Make calls smaller, since the server found one for this pack, with this many characters of texts, too long.

        Half the characters of the shortest refused call are assumed to fit, so that a small window is discovered once
        and not with each question; but no limit falls below MIN_SPLIT_CHARS. The limits are no part of the identity,
        which must be known before anything is asked, and are forgotten when the judge is reopened.
        """
        name = pack.questions[0].limited_by
        fitting = min(getattr(self.policy.limits, name), max(MIN_SPLIT_CHARS, chars // 2))
        limits = msgspec.structs.replace(self.policy.limits, **{name: fitting})
        self.policy = msgspec.structs.replace(self.policy, limits=limits)

    def share_tempo(self, processes: int) -> None:
        """Use 1 / `processes` of the requests and tokens per minute."""
        self.client.transport.share_tempo(processes)

    async def __aenter__(self) -> Self:
        """Open the client, unless it is open, with the limits of a new judge.

        Raises UsageError where something is missing, such as a key.
        """
        await self.client.__aenter__()
        if self.client.entered == 1:
            self.policy = self._initial
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.client.__aexit__(*exc)

    async def consult(self, questions: Sequence[Question], context: RunContext) -> list[Answer | Failure]:
        """The answers of one round."""
        calls = CallRound(self, context)
        await calls.ask(*self.policy.calls(questions))
        return [calls.answers[question] for question in questions]

    def expect(self, questions: Sequence[Question]) -> list[ExpectedCall]:
        """The calls that would ask these questions, if every reply were good; nothing is sent."""
        policy, calls = self._initial, []
        packs, splits = policy.calls(questions)
        originals = {part: question for question, split in splits.items() for part in split.parts}
        for pack in packs:
            prompt = prompts.prompt_of(pack, policy.style)
            usage = self.client.expected(prompt, completion_tokens(pack, policy.style))
            asked = list(dict.fromkeys(originals.get(question, question) for question in pack.questions))
            cost = self.price.of(usage) if self.price else None
            seconds = self.tempo.seconds(usage.prompt, usage.completion)
            calls.append(ExpectedCall(asked, usage.prompt, usage.completion, cost, seconds))
        return calls


#: The options of the judge itself, not of its transport.
_JUDGE_OPTIONS = frozenset(
    {"rationales", "quotes", "pack", "price", "context", "sources", "conflicts", "prompts", "examples", "shuffle"}
)
_FUNCTION_OPTIONS = frozenset({"name", "concurrency", "retries", "logprobs"})


def llm(model: Any, /, **options: Any) -> LLMJudge:
    """A judge that asks a language model, with as few calls as a sample's questions fit in.

        rg.llm("openai/gpt-4o-mini", temperature=0)
        rg.llm("ollama/qwen3:8b?base_url=http://host:11434/v1")
        rg.llm(instructor.from_openai(openai.AsyncOpenAI()), model="gpt-4o-mini")
        rg.llm(lambda messages: my_model(messages), name="my-model-3")

    Args:
        model: "provider/model", with options behind a question mark if wanted; or a client of the `instructor` library,
            sync or async; or a chat model of LangChain or LlamaIndex; or a function, sync or async, from a list of
            messages (dicts with "role" and "content") to the text of the reply. Keys and base URLs come from the
            environment variables that the providers document.
        options: Of every judge: rationales=False leaves out the reasons; quotes=True has the deciding words quoted, as
            spans; pack="alone" asks one question a call; price=(prompt, cached, completion), or (prompt, completion),
            in dollars per million tokens; context=, tokens of the model's window, for models with a small one. Of
            models by name: api_key, instead of the environment's, and the others of docs/llm-judges.md. Of a function:
            name, concurrency, retries, and logprobs=True where it returns these. Of an instructor client: model,
            concurrency, and the arguments of its calls, such as logprobs=True.

    Raises:
        UnknownName: There is no such provider or option.
        BadParameter: A value is not what its option must be.
    """
    transport, chosen = _transport_of(model, options)
    row = priced_model(transport.name)
    concurrency = chosen.concurrency or min(transport.max_concurrency, messages.CallTempo().concurrency)
    return LLMJudge(
        transport,
        price=price_of(transport.priced_as or transport.name, chosen.price),
        style=prompt_style(chosen),
        pack=chosen.pack,
        context=chosen.context or (row.window if row else None),
        width=2 * chosen.concurrency if chosen.concurrency else 256,
        tempo=messages.CallTempo(concurrency, chosen.rpm, chosen.tpm),
    )


def model_client(model: Any, /, **options: Any) -> messages.ModelClient:
    """A client of a model, for prompts other than a judge's questions.

    Arguments and errors are those of `llm`; options of the judge have no effect.
    """
    transport, parsed = _transport_of(model, options)
    return messages.ModelClient(transport, price_of(transport.priced_as or transport.name, parsed.price))


def _transport_of(model: Any, options: dict[str, Any]) -> tuple[messages.Transport, LLMOptions]:
    """The transport to a model, and the options."""
    if isinstance(model, str):
        from ragauge.judges.llm.transport.client import HttpTransport

        spec = parse_llm_spec(model, **{name: value for name, value in options.items() if name != "api_key"})
        api_key = options.get("api_key")
        environment = {**os.environ, spec.provider.key_variables[0]: api_key} if api_key else os.environ
        return HttpTransport(spec.provider, spec.model, spec.options, environment), spec.options
    if not is_model(model):
        raise BadParameter(
            f"{model!r} is not a 'provider/model', a client or model of a library, or a function of messages"
        )
    model, options = function_of(model, options)
    own = options_of({name: value for name, value in options.items() if name in {*_JUDGE_OPTIONS, "concurrency"}})
    rest = {name: value for name, value in options.items() if name not in _JUDGE_OPTIONS}
    if is_instructor(model):
        return InstructorTransport(model, **rest), own
    for name in rest.keys() - _FUNCTION_OPTIONS:
        raise UnknownName("option", name, _JUDGE_OPTIONS | _FUNCTION_OPTIONS)
    return FunctionTransport(model, **rest), own
