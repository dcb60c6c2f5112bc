from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.errors import UnknownName, UsageError
from ragauge.judges.llm.providers import PROVIDERS, parse_llm_spec

#: From the pages on authentication and OpenAI compatibility of each provider, November 2026.
DOCUMENTED = {
    "openai": ("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "azure": (None, "AZURE_OPENAI_API_KEY"),
    "anthropic": ("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    "gemini": ("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    "bedrock": ("https://bedrock-runtime.{AWS_REGION|AWS_DEFAULT_REGION}.amazonaws.com", "AWS_BEARER_TOKEN_BEDROCK"),
    "vertex": (
        "https://{GOOGLE_CLOUD_LOCATION}-aiplatform.googleapis.com/v1/projects/{GOOGLE_CLOUD_PROJECT}"
        "/locations/{GOOGLE_CLOUD_LOCATION}",
        "GOOGLE_OAUTH_ACCESS_TOKEN",
    ),
    "cohere": ("https://api.cohere.com/v2", "CO_API_KEY"),
    "mistral": ("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "groq": ("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "deepseek": ("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "openrouter": ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "together": ("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "fireworks": ("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
    "xai": ("https://api.x.ai/v1", "XAI_API_KEY"),
    "ollama": ("http://127.0.0.1:11434/v1", "OLLAMA_API_KEY"),
    "vllm": ("http://127.0.0.1:8000/v1", "VLLM_API_KEY"),
    "lmstudio": ("http://127.0.0.1:1234/v1", "LM_STUDIO_API_KEY"),
    "llamacpp": ("http://127.0.0.1:8080/v1", "LLAMA_API_KEY"),
}


def test_providers_are_as_documented() -> None:
    """Base URLs and key variables are those of the providers' own pages."""
    assert {name: (one.base_url, one.key_variables[0]) for name, one in PROVIDERS.items()} == DOCUMENTED


@pytest.mark.parametrize("name", PROVIDERS)
def test_keys_travel_encrypted(name: str) -> None:
    """A provider that is not on this machine is reached over https, and does not count as local."""
    one = PROVIDERS[name]
    assert one.local == (one.base_url or "https").startswith("http://127.0.0.1")


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0:8000", "http://127.0.0.1:8000/v1"),
        (":8000", "http://127.0.0.1:8000/v1"),
        ("gpu.local:9999", "http://gpu.local:9999/v1"),
        ("http://gpu.local", "http://gpu.local:80/v1"),
        ("https://gpu.local", "https://gpu.local:443/v1"),
        ("https://gpu.local/ollama/", "https://gpu.local:443/ollama/v1"),
        ("http://[::1]:11434", "http://[::1]:11434/v1"),
        ("http://gpu.local:11434/v1", "http://gpu.local:11434/v1"),
    ],
)
def test_ollama_host(host: str, url: str) -> None:
    """OLLAMA_HOST is read as Ollama's own client reads it; the address a server listens on is this machine."""
    assert PROVIDERS["ollama"].base_url_from({"OLLAMA_HOST": host}) == url


@pytest.mark.parametrize(
    ("name", "variable", "written", "url"),
    [
        ("openai", "OPENAI_BASE_URL", "http://localhost:4000", "http://localhost:4000/v1"),
        ("openai", "OPENAI_BASE_URL", "https://gate/api/v2/", "https://gate/api/v2"),
        ("openai", "OPENAI_API_BASE", "https://gate/v1", "https://gate/v1"),
        ("anthropic", "ANTHROPIC_BASE_URL", "https://gate", "https://gate/v1"),
        ("anthropic", "ANTHROPIC_BASE_URL", "https://gate/anthropic", "https://gate/anthropic/v1"),
        ("anthropic", "ANTHROPIC_BASE_URL", "https://gate/v1/", "https://gate/v1"),
        ("azure", "AZURE_OPENAI_ENDPOINT", "https://me.openai.azure.com/", "https://me.openai.azure.com/openai/v1"),
        ("azure", "AZURE_OPENAI_ENDPOINT", "https://me.azure.com/openai/v1/", "https://me.azure.com/openai/v1"),
        ("groq", "GROQ_BASE_URL", "https://gate/openai/v1", "https://gate/openai/v1"),
    ],
)
def test_base_urls_of_the_environment(name: str, variable: str, written: str, url: str) -> None:
    """An address in the environment goes before the provider's own, and its path is completed as its clients do."""
    assert PROVIDERS[name].base_url_from({variable: written}) == url
    assert PROVIDERS[name].base_url_from({variable: "  "}) == PROVIDERS[name].base_url


@pytest.mark.parametrize(
    "written",
    ["localhost:8000", "ftp://x", "http://", "http://h:port", "http://a b", "https://me:secret@h/v1", "h?key=1"],
)
def test_an_address_that_is_none(written: str) -> None:
    """What is no plain address is refused by naming its variable, without repeating what may be a password."""
    with pytest.raises(UsageError, match=r"^OPENAI_BASE_URL ") as refused:
        PROVIDERS["openai"].base_url_from({"OPENAI_BASE_URL": written})
    assert "secret" not in str(refused.value)


@given(st.text(max_size=30))
def test_any_address_gives_a_url_or_a_usage_error(written: str) -> None:
    """Whatever a variable holds, the result is a web address or a UsageError."""
    for name in ("ollama", "anthropic", "azure"):
        one = PROVIDERS[name]
        try:
            url = one.base_url_from({one.url_variables[0]: written})
        except UsageError:
            continue
        assert url == one.base_url or str(url).startswith(("http://", "https://"))


def test_keys() -> None:
    """The first variable that is set counts, without white space around it; what no key has is refused unread."""
    gemini = PROVIDERS["gemini"]
    assert gemini.key({"GOOGLE_API_KEY": " one\n"}) == "one"
    assert gemini.key({"GOOGLE_API_KEY": "one", "GEMINI_API_KEY": "two"}) == "two"
    assert gemini.key({"GEMINI_API_KEY": ""}) == ""
    with pytest.raises(UsageError, match="GEMINI_API_KEY") as refused:
        gemini.key({"GEMINI_API_KEY": "sk-“quoted”"})
    assert "quoted" not in str(refused.value)


def test_an_unknown_provider() -> None:
    """A misspelled provider is met with the nearest name."""
    with pytest.raises(UnknownName, match="unknown provider 'opnai'; did you mean 'openai'"):
        parse_llm_spec("opnai/gpt-4o-mini")
