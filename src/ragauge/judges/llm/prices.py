"""Prices: what tokens cost, and how many a model takes, from a table with a date.

prices.json says for each model: dollars per million tokens of the prompt, of what of it is read from the provider's
cache ("cached", left out where that costs the same) and of the completion; the most tokens of a prompt ("window") and
of a reply ("output"). Some rows say the last day on which their prices hold ("until"), or how many tokens the model
makes where o200k_base makes one ("tokens"). The prices are those of prompts of usual length: several providers charge
more for the whole of a prompt above 100,000, 200,000 or 272,000 tokens. What is not known is None, never a guess.
"""

from __future__ import annotations

import re
from datetime import date
from functools import cache
from importlib.resources import files

import msgspec

from ragauge.judges.llm.calls import Usage
from ragauge.judges.llm.providers import PROVIDERS

_MILLION = 1_000_000
_SNAPSHOT = re.compile(r"-20\d\d(-?)[01]\d\1[0-3]\d$")


class Price(msgspec.Struct, frozen=True):
    """Dollars per million tokens: of the prompt, of what of it the provider's cache holds, of the completion."""

    prompt: float
    cached: float
    completion: float

    def of(self, usage: Usage) -> float:
        """Dollars for these tokens, never below 0; more cached tokens than the prompt has are counted on top of it."""
        prompt, cached, completion = (max(0, count) for count in (usage.prompt, usage.cached, usage.completion))
        fresh = prompt - cached if cached <= prompt else prompt
        return (fresh * self.prompt + cached * self.cached + completion * self.completion) / _MILLION

    def times(self, factor: float) -> Price:
        """The price at a discount, such as `batch_factor`."""
        return Price(self.prompt * factor, self.cached * factor, self.completion * factor)


class Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the table."""

    prompt: float
    completion: float
    window: int
    output: int
    cached: float | None = None
    until: date | None = None
    tokens: float = 1.0

    @property
    def price(self) -> Price | None:
        """Its price, None after the last day on which it holds."""
        if self.until and date.today() > self.until:
            return None
        return Price(self.prompt, self.prompt if self.cached is None else self.cached, self.completion)


class Seller(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A provider's rows. batch: what a batch costs, as a share of the price; None where there are none, or unknown."""

    models: dict[str, Model]
    batch: float | None = None


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All rows. date: when its sources were read. routed: by router and vendor, whose prices hold."""

    date: date
    sources: list[str]
    routed: dict[str, dict[str, str]]
    providers: dict[str, Seller]


@cache
def table() -> Table:
    """The table, read once."""
    return msgspec.json.decode(files(__package__).joinpath("prices.json").read_bytes(), type=Table)


def price_of(name: str, given: tuple[float, float, float] | None = None) -> Price | None:
    """The price of a model such as "openai/gpt-4o-mini"; None where it is not known.

    given: what the caller says that it is, which goes before the table.
    A dated snapshot ("gpt-4o-mini-2024-07-18") without a row of its own costs what its model costs; so does a model
    behind a router ("openrouter/openai/gpt-4o-mini") that passes prices on. Models on one's own machine cost 0.
    """
    if given:
        return Price(*given)
    if _local(name):
        return Price(0.0, 0.0, 0.0)
    model = _model(name)
    return model.price if model else None


def context_window(name: str) -> int | None:
    """The most tokens of a prompt to a model; None where that is not known."""
    model = _model(name)
    return model.window if model else None


def token_factor(name: str) -> float:
    """How many tokens a model makes of English that is one token to `tokens.estimate`; 1 unless known to differ."""
    model = _model(name)
    return model.tokens if model else 1.0


def batch_factor(name: str) -> float | None:
    """What a batch costs as a share of the price; None where the provider of a model has none, or it is not known."""
    seller = table().providers.get(name.partition("/")[0])
    return seller.batch if seller else None


def _local(name: str) -> bool:
    provider = PROVIDERS.get(name.partition("/")[0])
    return provider is not None and provider.local


def _model(name: str) -> Model | None:
    """The row of a model, of that which it is a snapshot of, or of that which it leads to."""
    provider, _, model = name.partition("/")
    vendors = table().routed.get(provider)
    if vendors is not None:
        vendor, _, model = model.partition("/")
        provider = vendors.get(vendor, "")
        if provider == "anthropic":
            model = model.replace(".", "-")  # routers write claude-haiku-4.5
    seller = table().providers.get(provider)
    if seller is None:
        return None
    return seller.models.get(model) or seller.models.get(_SNAPSHOT.sub("", model))
