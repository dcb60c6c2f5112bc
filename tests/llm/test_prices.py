from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.judges.llm import pricing
from ragauge.judges.llm.messages import TokenUsage
from ragauge.judges.llm.pricing import Price, batch_factor, price_of, price_table, priced_model
from ragauge.judges.llm.providers import PROVIDERS

ROWS = {
    f"{provider}/{name}": model
    for provider, seller in price_table().providers.items()
    for name, model in seller.models.items()
}


@pytest.mark.parametrize("name", ROWS)
def test_every_row_is_plausible(name: str) -> None:
    """Prices are positive, a cached token no dearer than another, a completion no cheaper, and windows hold a call."""
    model = ROWS[name]
    cached = model.prompt if model.cached is None else model.cached
    assert 0 < cached <= model.prompt <= model.completion < 1000
    assert 4000 <= model.window <= 10_000_000
    assert 1000 <= model.output <= model.window
    assert 1 <= model.tokens < 2
    assert model.until is None or model.until >= price_table().date


@pytest.mark.parametrize("name", ROWS)
def test_every_row_is_found_by_its_name(name: str) -> None:
    """The name of a row leads to its price and its sizes."""
    model = ROWS[name]
    cached = model.prompt if model.cached is None else model.cached
    assert price_of(name) == Price(model.prompt, cached, model.completion, price_table().date)
    assert priced_model(name) is model


def test_the_table_says_when_and_whence() -> None:
    """The table has a date that is past and names its sources; its providers are ones that judges know."""
    assert date(2026, 11, 1) <= price_table().date <= date.today()
    assert price_table().sources
    assert {*price_table().providers, *price_table().routed} <= set(PROVIDERS)
    for vendors in price_table().routed.values():
        assert set(vendors.values()) <= set(price_table().providers)


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("openai/gpt-4o-mini-2024-07-18", "openai/gpt-4o-mini"),
        ("openai/gpt-4o-2024-08-06", "openai/gpt-4o"),
        ("anthropic/claude-haiku-4-5-20251001", "anthropic/claude-haiku-4-5"),
        ("openrouter/openai/gpt-4o-mini", "openai/gpt-4o-mini"),
        ("openrouter/openai/gpt-4o-mini-2024-07-18", "openai/gpt-4o-mini"),
        ("openrouter/anthropic/claude-haiku-4.5", "anthropic/claude-haiku-4-5"),
        ("openrouter/google/gemini-2.5-flash", "gemini/gemini-2.5-flash"),
    ],
)
def test_snapshots_and_routes_cost_what_their_model_costs(name: str, same: str) -> None:
    """A dated snapshot, and a router that passes prices on, have the price and the window of the model."""
    assert price_of(name) is not None
    assert price_of(name) == price_of(same)
    assert priced_model(name) is priced_model(same)


def test_a_snapshot_with_a_row_of_its_own_has_its_own_price() -> None:
    """The first gpt-4o was dearer than those after it, and stays so."""
    assert price_of("openai/gpt-4o-2024-05-13") == Price(5.0, 5.0, 15.0, price_table().date)
    assert price_of("openai/gpt-4o") == Price(2.5, 1.25, 10.0, price_table().date)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "gpt-4o-mini",
        "openai/",
        "openai/gpt-4o-mini-turbo",
        "openai/gpt-4o-mini-2024",
        "openai/gpt-4o-mini-20240-07-18",
        "openai/gpt-4o-mini:free",
        "azure/gpt-4o-mini",
        "nobody/gpt-4o-mini",
        "openrouter/gpt-4o-mini",
        "openrouter/deepseek/deepseek-v4-pro",
        "openrouter/meta-llama/llama-3.3-70b-instruct:free",
    ],
)
def test_an_unknown_model_has_no_price(name: str) -> None:
    """What the table does not hold is unknown: no price, no sizes, and no guess by a similar name."""
    assert price_of(name) is None
    assert priced_model(name) is None


@pytest.mark.parametrize("provider", [name for name, provider in PROVIDERS.items() if provider.local])
def test_models_on_ones_own_machine_are_free(provider: str) -> None:
    """A local provider's model costs nothing, whatever it is called; its window is not known."""
    price = price_of(f"{provider}/any-model:8b")
    assert price is not None
    assert price.of(TokenUsage(10**6, 10**6, 10**6)) == 0
    assert priced_model(f"{provider}/any-model:8b") is None


def test_a_price_ends_on_its_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """A price known until a day is unknown from the next day on, while the sizes stay known."""
    name, until = next((name, model.until) for name, model in ROWS.items() if model.until)

    class Clock(date):
        now: date = until

        @classmethod
        def today(cls) -> Clock:
            return cls.fromordinal(cls.now.toordinal())

    monkeypatch.setattr(pricing, "date", Clock)
    assert price_of(name) is not None
    Clock.now = until + timedelta(days=1)
    assert price_of(name) is None
    assert priced_model(name) is not None


def test_cached_tokens_are_part_of_the_prompt() -> None:
    """Of 1,000 prompt tokens 400 from the cache, 600 are paid in full."""
    dollars = Price(2.0, 0.5, 8.0).of(TokenUsage(prompt=1000, completion=100, cached=400))
    assert dollars == pytest.approx((600 * 2.0 + 400 * 0.5 + 100 * 8.0) / 1e6)


def test_a_batch_costs_half() -> None:
    """OpenAI's and Anthropic's batches cost half of everything; for others only where it is known."""
    price = price_of("openai/gpt-4o-mini")
    assert price is not None
    assert batch_factor("openai/gpt-4o-mini") == batch_factor("anthropic/claude-haiku-4-5") == 0.5
    assert price.times(0.5) == Price(0.075, 0.0375, 0.3, price_table().date)
    assert batch_factor("ollama/llama3") is None
    assert batch_factor("nobody/model") is None


def test_newer_claude_models_make_more_tokens() -> None:
    """Those since 4.7 make about 1.3 tokens of what is one to others; for earlier ones no difference is assumed."""
    assert ROWS["anthropic/claude-haiku-5-5"].tokens == 1.3
    assert ROWS["anthropic/claude-haiku-4-5"].tokens == ROWS["openai/gpt-4o"].tokens == 1.0


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.floats(0, 1))
def test_costs_are_never_negative(prompt: int, completion: int, share: float) -> None:
    """Whatever share of a prompt is cached, a call costs nothing or more, and no more than without a cache."""
    price = Price(0.25, 0.025, 2.0)
    cost = price.of(TokenUsage(prompt, completion, int(prompt * share)))
    assert 0 <= cost <= price.of(TokenUsage(prompt, completion)) + 1e-12
