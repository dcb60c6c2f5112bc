"""A line to a model: a transport with what calls over it cost, and whether it still answers."""

from __future__ import annotations

from itertools import count
from secrets import token_hex

from ragauge.judges.llm import tokens
from ragauge.judges.llm.calls import CallFailed, Completion, Prompt, Transport, Usage
from ragauge.judges.llm.packing import Pack
from ragauge.judges.llm.prices import Price, token_factor
from ragauge.judges.llm.prompts import Style
from ragauge.nouns.answers import Failure
from ragauge.nouns.calls import Call

#: Bytes of UTF-8 a token, in English as in Chinese.
_BYTES = 4

#: Calls that may have been paid for although they brought nothing.
_MAYBE_PAID = frozenset({"timeout", "cancelled"})


class Line:
    """Makes calls. price: None where it is not known. ended: why no further call can succeed, once that is so.

    It may be entered several times, and is open until it has been left as often.
    """

    def __init__(self, transport: Transport, price: Price | None) -> None:
        self.transport = transport
        self._factor = token_factor(transport.name)
        self.price = price
        self.ended: Failure | None = None
        self._entered = 0
        self._numbers = count(1)
        self._opening = ""

    async def __aenter__(self) -> Line:
        """Open the transport, unless it is open. Raises UsageError where something is missing, such as a key."""
        self._entered += 1
        if self._entered == 1:
            self.ended = None
            self._opening = token_hex(6)
            try:
                await self.transport.__aenter__()
            except BaseException:
                self._entered -= 1
                raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._entered -= 1
        if not self._entered:
            await self.transport.__aexit__(*exc)

    async def complete(self, prompt: Prompt) -> Completion | Failure:
        """The reply to a prompt, or why there is none. Does not raise."""
        try:
            return await self.transport.complete(prompt)
        except CallFailed as failed:
            if failed.fatal:
                self.ended = failed.failure
            return failed.failure
        except Exception as error:
            return Failure("judge_error", f"{self.transport.name}: the call raised {type(error).__name__}: {error}")

    def expected(self, pack: Pack, prompt: Prompt, style: Style) -> Usage:
        """The tokens that a call is expected to take."""
        told, said = tokens.prompt_tokens(prompt), tokens.completion_tokens(pack, style)
        return Usage(round(self._factor * told), round(self._factor * said))

    def reserve(self, pack: Pack, prompt: Prompt, style: Style) -> float:
        """About the dollars that a call will cost, told quickly; 0 where the price is not known."""
        if self.price is None:
            return 0.0
        document = _quickly(prompt.user)
        sent = document + _quickly(prompt.system) + sum(_quickly(turn.reply) for turn in prompt.turns)
        said = 2 * document if pack.decomposes else tokens.completion_tokens(pack, style)
        return self._factor * self.price.of(Usage(sent, said))

    def call(self, outcome: Completion | Failure, asked: int, seconds: float, fault: str) -> Call:
        """The record of a call that asked so many questions."""
        name = f"{self._opening}-{next(self._numbers)}"
        if isinstance(outcome, Failure):
            unknown = self.price is None or outcome.reason in _MAYBE_PAID
            return Call(name, asked, seconds=seconds, fault=fault, cost=None if unknown else 0.0)
        usage = outcome.usage
        if usage is None:
            return Call(name, asked, outcome.model, seconds=seconds, fault=fault)
        cost = self.price.of(usage) if self.price else None
        return Call(name, asked, outcome.model, usage.prompt, usage.cached, usage.completion, cost, seconds, fault)


def _quickly(text: str) -> int:
    """About how many tokens a text is, in a hundredth of the time that `tokens.estimate` takes."""
    return len(text.encode("utf-8", "surrogatepass")) // _BYTES
