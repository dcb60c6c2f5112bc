"""Costs: tokens, estimated without a vocabulary, and prices from a dated table.

prices.json lists for each model: dollars per million tokens of the prompt, of its part that is read from the provider's
cache ("cached", omitted where that costs the same) and of the completion; the most tokens of a prompt ("window") and
of a reply ("output"). Some rows have the last day on which their prices hold ("until"), or the number of tokens of
the model for one of o200k_base ("tokens"). The prices are those of prompts of usual length: several providers charge
more for the whole of a prompt above 100,000, 200,000 or 272,000 tokens. An unknown number is None, never a guess.

A byte-pair vocabulary cuts a text between some of its bytes. tokens.bin holds, for each of the 65,536 pairs of bytes,
how often a cut falls between them, in 255ths; the second byte of a pair is the high half of its index. A text has
about as many tokens as these frequencies sum to. The sum never falls as a text grows, and a whole has as many tokens as
its parts, give or take one at each joint.

The frequencies are those of o200k_base, the vocabulary of OpenAI's models since GPT-4o, fitted by training/tokens.py to
1,737 texts in 94 languages and forms, which that script lists.
"""

from __future__ import annotations

import re
import zlib
from datetime import date
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

import msgspec

from ragauge.arrays import NDArray, np
from ragauge.judges.llm.providers import PROVIDERS
from ragauge.kinds.call import PromptStyle

if TYPE_CHECKING:
    from ragauge.judges.llm.messages import Prompt, TokenUsage
    from ragauge.judges.llm.prompts import Pack

_MILLION = 1_000_000
_SNAPSHOT = re.compile(r"-20\d\d(-?)[01]\d\1[0-3]\d$")


class Price(msgspec.Struct, frozen=True):
    """Dollars per million tokens: of the prompt, of its part in the provider's cache, and of the completion.

    dated: the day of the price table; None for a price that the caller gave.
    """

    prompt: float
    cached: float
    completion: float
    dated: date | None = None

    def of(self, usage: TokenUsage) -> float:
        """Dollars for these tokens, never below 0; more cached tokens than the prompt has are counted on top of it."""
        prompt, cached, completion = (max(0, count) for count in (usage.prompt, usage.cached, usage.completion))
        fresh = prompt - cached if cached <= prompt else prompt
        return (fresh * self.prompt + cached * self.cached + completion * self.completion) / _MILLION

    def times(self, factor: float) -> Price:
        """The price at a discount, such as `batch_factor`."""
        return Price(self.prompt * factor, self.cached * factor, self.completion * factor, self.dated)


class PricedModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the table.

    window: the most tokens of a prompt. until: the last day on which the price holds. tokens: for one of `estimate`.
    """

    prompt: float
    completion: float
    window: int
    output: int
    cached: float | None = None
    until: date | None = None
    tokens: float = 1.0


class PricedProvider(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A provider's rows. batch: the price of batches as a share of the price; None if unknown, or without batches."""

    models: dict[str, PricedModel]
    batch: float | None = None


class PriceTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All rows. date: when its sources were read. routed: by router and vendor, whose prices hold."""

    date: date
    sources: list[str]
    routed: dict[str, dict[str, str]]
    providers: dict[str, PricedProvider]


@cache
def price_table() -> PriceTable:
    """The table, read once."""
    return msgspec.json.decode(files(__package__).joinpath("prices.json").read_bytes(), type=PriceTable)


def price_of(name: str, own: tuple[float, float, float] | None = None) -> Price | None:
    """The price of a model such as "openai/gpt-4o-mini"; None where it is not known.

    own: the price that the caller gave, which takes precedence over the table.
    A dated snapshot ("gpt-4o-mini-2024-07-18") without a row of its own costs the same as its model; so does a model
    behind a router ("openrouter/openai/gpt-4o-mini") that passes prices on. Models on the user's own machine cost 0.
    """
    if own:
        return Price(*own)
    provider = PROVIDERS.get(name.partition("/")[0])
    if provider and provider.local:
        return Price(0.0, 0.0, 0.0)
    model = priced_model(name)
    if model is None or (model.until and date.today() > model.until):
        return None
    cached = model.prompt if model.cached is None else model.cached
    return Price(model.prompt, cached, model.completion, price_table().date)


def batch_factor(name: str) -> float | None:
    """The price of batches as a share of the price of calls; None if unknown, or if the provider has no batches."""
    return getattr(price_table().providers.get(name.partition("/")[0]), "batch", None)


def priced_model(name: str) -> PricedModel | None:
    """The row of a model, of the model of a snapshot, or of the model behind a router; None where there is none."""
    provider, _, model = name.partition("/")
    vendors = price_table().routed.get(provider)
    if vendors is not None:
        vendor, _, model = model.partition("/")
        provider = vendors.get(vendor, "")
        if provider == "anthropic":
            model = model.replace(".", "-")  # routers write claude-haiku-4.5
    priced = price_table().providers.get(provider)
    models = priced.models if priced else {}
    return models.get(model) or models.get(_SNAPSHOT.sub("", model))


RELATIVE_ERROR: Final = 0.08
"""How far off an estimate may be, as a share of it: nine in ten texts of about 4,000 characters are closer.

Measured by training/tokens.py against the counts of o200k_base, each text with a table made without the source that it
is from: 865 texts in English, German, French, Spanish, Portuguese, Italian, Russian, Arabic, Chinese, Japanese and
Korean, in code and in JSON. Other vocabularies differ by more; `PricedModel.tokens` gives the ratio where it is known.
"""

_SCALE: Final = 255

#: Tokens that open a reply; that surround each message.
_REPLY, _MESSAGE = 3, 4


def estimate(text: str) -> float:
    """The approximate tokens of a text for a model with a vocabulary like o200k_base; 0 for the empty text."""
    data = b"\n" + text.encode("utf-8", "surrogatepass")
    pairs = np.ndarray(len(data) - 1, "<u2", data, strides=1)
    return int(_frequencies().take(pairs).sum()) / _SCALE


def prompt_tokens(prompt: Prompt) -> int:
    """The approximate tokens of a call's messages, without the schema: servers differ in what they do with it."""
    texts = [prompt.user, *(text for turn in prompt.turns for text in (turn.reply, turn.fault))]
    return round(_REPLY + _MESSAGE + _system_tokens(prompt.system) + sum(_MESSAGE + estimate(text) for text in texts))


#: The tokens of a system message, which many calls share.
_system_tokens = lru_cache(maxsize=256)(estimate)


def completion_tokens(pack: Pack, style: PromptStyle) -> int:
    """The approximate tokens of a good reply to a call, without white space and with reasons of a dozen words.

    Reasoning is not counted; see `reasoning_tokens`.
    """
    start = 0 if pack.questions[0].comes_first else _REPLY
    return round(start + sum(question.reply_tokens(style, estimate) for question in pack.questions))


#: OpenAI's reasoning models, which take no temperature, and max_completion_tokens instead of max_tokens.
_REASONING = re.compile(r"(.*/)?(o\d|gpt-[5-9](?!.*chat))")

#: The assumed tokens of a reasoning model's reasoning in a call.
REASONING_TOKENS = 500


def is_reasoning_model(model: str) -> bool:
    """Whether a model is known by its name to reason before it answers."""
    return bool(_REASONING.match(model))


def reasoning_tokens(model: str, effort: str | None) -> int:
    """The assumed reasoning tokens of a call, which are billed as part of the completion.

    REASONING_TOKENS for a model that is known to reason or is given an effort, 0 for others. This is a guess: real
    calls take from none to many thousand.
    """
    if effort in ("none", "minimal"):
        return 0
    return REASONING_TOKENS if effort is not None or is_reasoning_model(model) else 0


@cache
def _frequencies() -> NDArray[np.uint8]:
    """How often a token begins within each pair of bytes, in 255ths."""
    return np.frombuffer(zlib.decompress(files(__package__).joinpath("tokens.bin").read_bytes()), np.uint8)
