"""The LLM judge: the questions of a sample in a round in as few calls as possible, with each reply checked.

A bad reply is asked for once more, with its faults; questions that are still unanswered are asked again in halves; one
that fails alone, in the fourth call that asks it, is a failure.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, Self

import msgspec

from ragauge.errors import BadData, BadParameter, UnknownName
from ragauge.host import read_file
from ragauge.judges.base import ContextJudge, ExpectedCall, RunContext
from ragauge.judges.llm import prompts, replies
from ragauge.judges.llm.client import CANCELLED, ModelClient
from ragauge.judges.llm.messages import CallFailed, CallTempo, Completion, Finish, Prompt, TokenUsage, Transport
from ragauge.judges.llm.packing import Pack, PackLimits, pack_limits, packs
from ragauge.judges.llm.pricing import Price, completion_tokens
from ragauge.judges.llm.providers import LLMOptions
from ragauge.kinds.call import PromptStyle
from ragauge.kinds.windows import MIN_SPLIT_CHARS, SplitQuestion, halves, split
from ragauge.questions import KINDS, Question
from ragauge.types import Answer, Failure, Identity


class PackingPolicy(msgspec.Struct, frozen=True):
    """How questions are put into calls."""

    limits: PackLimits
    alone: bool
    style: PromptStyle

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """The settings that can change an answer, for an identity."""
        style, limits = self.style, self.limits
        chosen = ((name, getattr(style, name)) for name in ("sources", "conflicts", "shuffle"))
        room = f"{limits.prompt_chars}/{limits.decompose_chars}"
        whole = prompts.digest(style)  # of the first prompts
        by_kind = ((f"prompts.{kind}", prompts.kind_digest(kind, style)) for kind in KINDS)
        return (
            ("pack", "alone" if self.alone else "together"),
            ("prompts", whole),
            *(setting for setting in by_kind if setting[1] != whole),
            ("quotes", str(style.quotes).lower()),
            ("rationales", str(style.rationales).lower()),
            *((name, str(value)) for name, value in chosen if value != getattr(PromptStyle(), name)),
            *((("room", room),) if limits != PackLimits() else ()),
        )

    def packs(self, questions: Iterable[Question]) -> list[Pack]:
        """The calls that ask these questions."""
        return packs(questions, self.limits, self.alone, self.style.shuffle)

    def calls(self, questions: Sequence[Question]) -> tuple[list[Pack], dict[Question, SplitQuestion]]:
        """The calls that ask these questions, and the parts of those questions that are too long for a call."""
        calls, limit = self.packs(questions), self.limits.limit
        alone = [pack.questions[0] for pack in calls if len(pack.questions) == 1]  # as are those that are too long
        outweighs = self.style.support_outweighs
        splits = {question: halved for question in alone if (halved := split(question, limit(question), outweighs))}
        if splits:
            parts = [splits[question].parts if question in splits else (question,) for question in questions]
            calls = self.packs(chain.from_iterable(parts))
        return calls, splits


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
_FAILURES_BY_FINISH: dict[Finish, tuple[str, str]] = {
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
        last = len(pack.questions) == 1 and asked + 1 == _MAX_CALLS
        if result.failures and not last and _is_correctable(result.failures, pack):
            self._client.incomplete += 1
            result = await self._call(pack, prompts.repeat_prompt(prompt, result.reply, result.faults))
            asked += 1
        if result.failures:
            await self._ask_again(pack, result.failures, asked + 1)

    async def _ask_again(self, pack: Pack, failures: dict[Question, Failure], asked: int) -> None:
        """Ask failed questions again in halves, or in parts if too long; what cannot be asked again stays failed."""
        reason = next(iter(failures.values())).reason
        alone = len(pack.questions) == 1
        if (reason in _RETRYABLE and not (alone and asked >= _MAX_CALLS)) or (reason in _CAUSED_BY_ONE and not alone):
            self._client.incomplete += reason in _RETRYABLE
            await self.ask(_halves(list(failures), pack.shuffle), asked=asked)
            return
        if reason == "too_long" and await self._ask_parts(pack.questions[0]):
            return
        self.answers.update(failures)

    async def _ask_parts(self, question: Question) -> bool:
        """Ask a question that is too long for the server in parts, starting with the first; False where that fails."""
        split = halves(question, self._style.support_outweighs)
        if split is None:
            return False
        self._add_parts(question, split)
        await self.ask([Pack(split.parts[:1], self._style.shuffle)])
        if isinstance(self.answers[split.parts[0]], Failure):
            return False
        packs, splits = self._judge.policy.calls(split.parts[1:])
        await self.ask(packs, {**splits, question: split})
        return True

    async def _call(self, pack: Pack, prompt: Prompt) -> _CallResult:
        """Make one call, if the budget allows it, and record it."""
        client, context = self._client, self._context
        expected = client.expected(prompt, completion_tokens(pack, self._style)) if client.price else TokenUsage()
        reserved = await client.reserve(context, expected)
        if isinstance(reserved, Failure):
            return self._failed(pack, reserved)
        outcome: Completion | Failure = CANCELLED
        result, sent, start = _CallResult((), {}, fault="cancelled"), True, perf_counter()
        try:
            outcome = await client.send(prompt)
            result = self._read(pack, prompt, outcome)
        except CallFailed as failed:
            outcome, sent = failed.failure, failed.sent
            result = self._failed(pack, outcome)
        except asyncio.CancelledError as cancelled:
            sent = CallFailed.NOT_SENT not in cancelled.args
            raise
        finally:
            if sent:
                seconds, n_asked = perf_counter() - start, len(prompt.schema["properties"])
                call = client.call_record(outcome, expected, n_asked, seconds, result.fault)
                answered = [self._originals.get(question, question) for question in result.answered]
                context.record(call, answered, reserved)
            else:
                context.release(reserved)
        if result.failures and next(iter(result.failures.values())).reason == "too_long":
            self._judge.reduce_limits(pack, len(prompt.user))
        if result.rest:  # the parts of texts that the reply did not reach
            await self.ask(self._judge.policy.packs([split.parts[1] for split in result.rest.values()]), result.rest)
        return result

    def _failed(self, pack: Pack, failure: Failure) -> _CallResult:
        failures = {question: failure for question in pack.questions if question not in self.answers}
        return _CallResult((), failures, fault=str(failure))

    def _read(self, pack: Pack, prompt: Prompt, completion: Completion) -> _CallResult:
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


def unanswered(completion: Completion, fault: str) -> Failure:
    """Why a question has no answer in a reply. fault: as `replies.parse_reply` describes it."""
    reason, detail = _FAILURES_BY_FINISH[completion.finish]
    return Failure(reason, detail or fault, completion.text[:MAX_RAW_CHARS])


def _is_correctable(failures: Mapping[Question, Failure], pack: Pack) -> bool:
    """Whether to report the faults to the model; a reply that was cut off is better fixed by asking less at once."""
    reason = next(iter(failures.values())).reason
    return reason == "invalid_answer" or (reason == "truncated" and len(pack.questions) == 1)


def _halves(questions: Sequence[Question], shuffle: int | None) -> list[Pack]:
    middle = len(questions) // 2
    return [Pack(tuple(half), shuffle) for half in (questions[:middle], questions[middle:]) if half]


def prompt_style(options: LLMOptions) -> PromptStyle:
    """The prompts that options describe. Raises UsageError for a folder or an example that cannot be used."""
    texts = _folder_sections(Path(options.prompts)) if options.prompts else {}
    if options.examples is not None:
        texts["examples"] = f"{texts.get('examples', prompts.packaged('examples'))}\n{_own_examples(options.examples)}"
    changed = tuple((name, texts[name]) for name in prompts.SECTIONS if name in texts)
    changed = tuple((name, text) for name, text in changed if text != prompts.packaged(name))
    chosen = (options.rationales, options.quotes, options.sources, options.conflicts)
    style = PromptStyle(*chosen, changed, options.shuffle)
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

    Raises BadParameter for another `pack`, or a `context` that is too small.
    """

    answers = frozenset(KINDS)
    is_checked = is_paid = True

    def __init__(
        self,
        transport: Transport,
        *,
        price: Price | None = None,
        style: PromptStyle | None = None,
        pack: Packing = "together",
        context: int | None = None,
        width: int = 256,
        tempo: CallTempo | None = None,
    ) -> None:
        if pack not in ("together", "alone"):
            raise BadParameter(f"pack={pack!r} must be 'together' or 'alone'")
        self.client = ModelClient(transport, price)
        self.price = price
        self.tempo = tempo or CallTempo()
        self.by_sample = width
        self._set(PackingPolicy(pack_limits(context), pack == "alone", style or PromptStyle()))

    def _set(self, policy: PackingPolicy) -> None:
        transport = self.client.transport
        self.policy = self._initial = policy
        self.identity = Identity(transport.name, (*transport.settings, *policy.settings))

    def shuffled(self, seed: int) -> LLMJudge:
        """A separate judge on the same connections, given claims and sources in another order.

        seed: of the order; added to the judge's own, where it has one.
        """
        judge, policy = copy(self), self._initial
        style = msgspec.structs.replace(policy.style, shuffle=seed + (policy.style.shuffle or 0))
        judge._set(msgspec.structs.replace(policy, style=style))
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
