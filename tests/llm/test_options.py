from __future__ import annotations

from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.errors import BadParameter, UnknownName, UsageError
from ragauge.judges.llm.providers import LLMOptions, parse_llm_spec

ALL = (
    "openai/gpt-4o-mini?temperature=0&max_tokens=800&base_url=http://127.0.0.1:8000/v1&concurrency=16&rpm=500"
    "&tpm=200000&timeout=60&reasoning_effort=low&rationales=false&quotes=true&pack=alone&structured=json"
    "&price=0.15:0.60&context=128000&seed=1"
)


def test_every_option_can_stand_in_a_spec() -> None:
    """A spec with every option is read into values of the right types."""
    provider, model, options = parse_llm_spec(ALL)
    assert (provider.name, model) == ("openai", "gpt-4o-mini")
    assert options == LLMOptions(
        temperature=0.0,
        max_tokens=800,
        base_url="http://127.0.0.1:8000/v1",
        concurrency=16,
        rpm=500.0,
        tpm=200000.0,
        timeout=60.0,
        reasoning_effort="low",
        rationales=False,
        quotes=True,
        pack="alone",
        structured="json",
        price=(0.15, 0.15, 0.60),
        context=128000,
        seed=1,
    )


@pytest.mark.parametrize(
    ("spec", "provider", "model"),
    [
        ("openai/gpt-4o-mini", "openai", "gpt-4o-mini"),
        ("openrouter/meta-llama/llama-3:free", "openrouter", "meta-llama/llama-3:free"),
        ("ollama/qwen3:8b?temperature=0", "ollama", "qwen3:8b"),
        ("fireworks/accounts/fireworks/models/x?", "fireworks", "accounts/fireworks/models/x"),
        ("together/Qwen/Qwen2.5-72B-Instruct-Turbo?seed=-1", "together", "Qwen/Qwen2.5-72B-Instruct-Turbo"),
    ],
)
def test_names_of_models(spec: str, provider: str, model: str) -> None:
    """Only the first slash parts provider and model; models may have slashes and colons of their own."""
    asked = parse_llm_spec(spec)
    assert (asked.provider.name, asked.model) == (provider, model)


@pytest.mark.parametrize("spec", ["gpt-4o-mini", "openai/", "/gpt", "", "openai"])
def test_a_spec_without_provider_or_model(spec: str) -> None:
    """A spec must name both."""
    with pytest.raises(BadParameter, match="write PROVIDER/MODEL"):
        parse_llm_spec(spec)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "temperature": st.floats(0, 2),
            "max_tokens": st.integers(1, 10**6),
            "base_url": st.sampled_from(["http://h:1/v1", "https://gate.example/a%20b/v1"]),
            "concurrency": st.integers(1, 4096),
            "rpm": st.floats(0.001, 1e9),
            "tpm": st.floats(0.001, 1e9),
            "timeout": st.floats(0.001, 1e6),
            "reasoning_effort": st.sampled_from(["low", "none", "xhigh"]),
            "rationales": st.booleans(),
            "quotes": st.booleans(),
            "pack": st.sampled_from(["together", "alone"]),
            "structured": st.sampled_from(["schema", "json", "plain"]),
            "price": st.tuples(*[st.floats(0, 1e4)] * 3),
            "context": st.integers(1, 10**8),
            "seed": st.integers(-(2**31), 2**31),
        },
    )
)
def test_a_spec_and_keywords_say_the_same(given: dict[str, Any]) -> None:
    """Any valid options, written behind the name or given as keywords, are the same options."""
    texts = {name: ":".join(map(repr, value)) if name == "price" else str(value) for name, value in given.items()}
    spec = "openai/m?" + "&".join(f"{name}={quote(text, safe='')}" for name, text in texts.items())
    assert parse_llm_spec(spec).options == parse_llm_spec("openai/m", **given).options == LLMOptions(**given)


def test_keywords_go_before_the_spec() -> None:
    """A keyword replaces what the spec says; None says nothing."""
    assert parse_llm_spec("openai/m?temperature=1&seed=2", temperature=0, seed=None).options == LLMOptions(
        temperature=0, seed=2
    )


@pytest.mark.parametrize(
    ("option", "wanted"),
    [
        ("temperature=hot", "temperature: must be a number from 0 to 2, such as temperature=0; not 'hot'"),
        ("temperature=nan", "temperature: must be a number"),
        ("temperature=2.5", "temperature: must be a number"),
        ("max_tokens=0", "max_tokens: must be a count"),
        ("max_tokens=1.5", "max_tokens: must be a count"),
        ("concurrency=0", "concurrency: must be a number of calls"),
        ("rpm=inf", "rpm: must be requests per minute"),
        ("tpm=-1", "tpm: must be tokens per minute"),
        ("timeout=0", "timeout: must be seconds"),
        ("rationales=perhaps", "rationales: must be true or false"),
        ("pack=some", "pack: must be together or alone"),
        ("structured=xml", "structured: must be schema, json or plain"),
        ("price=free", "price: must be dollars per million tokens"),
        ("price=1", "such as price=0.15:0.60; not '1'"),
        ("price=a:b", "such as price=0.15:0.60; not 'a:b'"),
        ("price=1:2:3:4", "price: must be dollars"),
        ("price=-1:2", "price: must be dollars"),
        ("price=nan:2", "price: must be dollars"),
        ("reasoning_effort=a b", "reasoning_effort: must be a word"),
        ("temperature", "option 'temperature': give it a value"),
        ("seed=1&seed=2", "option 'seed' is given twice"),
    ],
)
def test_a_value_that_cannot_be(option: str, wanted: str) -> None:
    """A value out of range is refused by the name of its option, with what it must be."""
    with pytest.raises(BadParameter) as refused:
        parse_llm_spec(f"openai/m?{option}")
    assert wanted in str(refused.value)


def test_keywords_of_the_wrong_type() -> None:
    """A keyword of another type is refused as a text is; a truth value is no number."""
    wrong: dict[str, object] = {"seed": True, "temperature": [0], "price": 3, "rationales": {}}
    for name, value in wrong.items():
        with pytest.raises(BadParameter, match=f"^{name}: must be"):
            parse_llm_spec("openai/m", **{name: value})


def test_unknown_options() -> None:
    """A misspelled option is met with the nearest name."""
    with pytest.raises(UnknownName, match="unknown option 'temprature'; did you mean 'temperature'"):
        parse_llm_spec("openai/m?temprature=0")


@pytest.mark.parametrize("option", ["api_key=sk-secret", "base_url=https://me:sk-secret@h", "base_url=sk-secret"])
def test_secrets_are_not_repeated(option: str) -> None:
    """A key in a spec is refused, and no message repeats it."""
    with pytest.raises(UsageError) as refused:
        parse_llm_spec(f"openai/m?{option}")
    assert "sk-secret" not in str(refused.value)
    assert "environment" in str(refused.value) or "base_url" in str(refused.value)


def test_what_a_provider_does_not_take() -> None:
    """Anthropic takes no seed, and temperatures up to 1."""
    with pytest.raises(BadParameter, match="seed: anthropic takes none"):
        parse_llm_spec("anthropic/claude?seed=1")
    with pytest.raises(BadParameter, match="from 0 to 1"):
        parse_llm_spec("anthropic/claude?temperature=1.5")


def test_options_are_kept_small() -> None:
    """Options that were not asked for are not written out."""
    assert msgspec.json.encode(parse_llm_spec("openai/m?seed=1").options) == b'{"seed":1}'
