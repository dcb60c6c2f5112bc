"""Providers: where models are served, under which protocol, and which environment variables hold keys and addresses.

Facts as documented by the providers in November 2026; anything else that speaks the protocol of OpenAI's chat
completions is reached as `openai/MODEL?base_url=...`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal
from urllib.parse import SplitResult, urlsplit, urlunsplit

import msgspec

from ragauge.errors import UnknownName, UsageError

Protocol = Literal["chat", "anthropic"]
Structured = Literal["schema", "json", "plain"]


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """A place where models are served.

    keys, bases: environment variables that may hold the key and the base URL, the first that is set counts.
    base_url: None where it must be given. local: whether it usually runs on one's own machine; it then needs no key,
    and is given time to answer. structured: the best way of asking for JSON that it has. most: the most calls side by
    side that are sensible without being told. key_header, key_prefix: how the key is sent. headers: sent with each
    call; variable_headers: sent where the environment variable is set. seed: the name of that field, None where there
    is none. cuts: whether it cuts prompts that exceed its window without an error, and counts the tokens that are left.
    """

    name: str
    base_url: str | None
    keys: tuple[str, ...]
    bases: tuple[str, ...]
    protocol: Protocol = "chat"
    structured: Structured = "schema"
    local: bool = False
    most: int = 256
    key_header: str = "Authorization"
    key_prefix: str = "Bearer "
    headers: tuple[tuple[str, str], ...] = ()
    variable_headers: tuple[tuple[str, str], ...] = ()
    seed: str | None = "seed"
    cuts: bool = False

    def key(self, environment: Mapping[str, str]) -> str:
        """The key, "" where none is set. Raises UsageError for what can be no key."""
        for variable in self.keys:
            key = environment.get(variable, "").strip()
            if not (key.isascii() and key.isprintable()):
                raise UsageError(f"{variable} holds characters that no key has; set it to the key of {self.name}")
            if key:
                return key
        return ""

    def found_base_url(self, environment: Mapping[str, str]) -> str | None:
        """The base URL that the environment names, else the provider's own. Raises UsageError for what is no URL."""
        for variable in self.bases:
            if environment.get(variable, "").strip():
                return self.written_out(environment[variable].strip(), variable)
        return self.base_url

    def written_out(self, url: str, source: str) -> str:
        """A base URL in full: scheme, host, port and the path below which the endpoints lie; `source` named it."""
        if source == "OLLAMA_HOST":
            return _ollama(url)
        parts = _split(url, source)
        path = parts.path.rstrip("/")
        if self.name == "azure":
            path = path.removesuffix("/openai/v1").removesuffix("/openai") + "/openai/v1"
        elif not path or (self.protocol == "anthropic" and not path.endswith("/v1")):
            path += "/v1"
        return urlunsplit(parts._replace(path=path))


def _split(url: str, source: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        fits = False
    if not fits or not (url.isascii() and url.isprintable()) or " " in url:
        raise UsageError(f"{source} is no web address; write it as in https://host:8000/v1")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise UsageError(f"{source} must be an address alone, without user, password, '?' and '#'")
    return parts


def _ollama(host: str) -> str:
    """OLLAMA_HOST in full: a host, a port or both, with or without a scheme; a server's 0.0.0.0 is this machine."""
    scheme, _, rest = host.rpartition("://")
    parts = _split(f"{scheme or 'http'}://{'127.0.0.1' if rest.startswith(':') else ''}{rest}", "OLLAMA_HOST")
    name = parts.hostname or ""
    name = "127.0.0.1" if name in ("0.0.0.0", "::") else f"[{name}]" if ":" in name else name
    port = parts.port or {"http": 80, "https": 443}.get(scheme, 11434)
    return f"{parts.scheme}://{name}:{port}{parts.path.rstrip('/').removesuffix('/v1')}/v1"


def _hosted(name: str, base_url: str, structured: Structured = "schema", seed: str = "seed") -> Provider:
    upper = name.upper()
    bases = (f"{upper}_BASE_URL", f"{upper}_API_BASE")
    keys = (f"{upper}_API_KEY",)
    return Provider(name=name, base_url=base_url, keys=keys, bases=bases, structured=structured, seed=seed)


_OPENAI_HEADERS = (("OpenAI-Organization", "OPENAI_ORG_ID"), ("OpenAI-Project", "OPENAI_PROJECT_ID"))

PROVIDERS = {
    provider.name: provider
    for provider in (
        Provider(
            name="openai",
            base_url="https://api.openai.com/v1",
            keys=("OPENAI_API_KEY",),
            bases=("OPENAI_BASE_URL", "OPENAI_API_BASE"),
            variable_headers=_OPENAI_HEADERS,
        ),
        Provider(
            name="azure",
            base_url=None,
            keys=("AZURE_OPENAI_API_KEY", "AZURE_API_KEY"),
            bases=("AZURE_OPENAI_ENDPOINT", "AZURE_API_BASE"),
            key_header="api-key",
            key_prefix="",
        ),
        Provider(
            name="anthropic",
            base_url="https://api.anthropic.com/v1",
            keys=("ANTHROPIC_API_KEY",),
            bases=("ANTHROPIC_BASE_URL",),
            protocol="anthropic",
            key_header="x-api-key",
            key_prefix="",
            headers=(("anthropic-version", "2023-06-01"),),
            seed=None,
        ),
        Provider(
            name="gemini",
            base_url="https://generativelanguage.googleapis.com/v1beta/openai",
            keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
            bases=("GEMINI_BASE_URL", "GEMINI_API_BASE"),
        ),
        _hosted("mistral", "https://api.mistral.ai/v1", seed="random_seed"),
        _hosted("groq", "https://api.groq.com/openai/v1"),
        _hosted("deepseek", "https://api.deepseek.com/v1", structured="json"),
        _hosted("openrouter", "https://openrouter.ai/api/v1"),
        _hosted("together", "https://api.together.xyz/v1"),
        _hosted("fireworks", "https://api.fireworks.ai/inference/v1"),
        _hosted("xai", "https://api.x.ai/v1"),
        Provider(
            name="ollama",
            base_url="http://127.0.0.1:11434/v1",
            keys=("OLLAMA_API_KEY",),
            bases=("OLLAMA_HOST",),
            local=True,
            most=4,
            cuts=True,
        ),
        Provider(
            name="vllm",
            base_url="http://127.0.0.1:8000/v1",
            keys=("VLLM_API_KEY", "HOSTED_VLLM_API_KEY"),
            bases=("VLLM_BASE_URL", "HOSTED_VLLM_API_BASE"),
            local=True,
        ),
        Provider(
            name="lmstudio",
            base_url="http://127.0.0.1:1234/v1",
            keys=("LM_STUDIO_API_KEY",),
            bases=("LMSTUDIO_BASE_URL", "LM_STUDIO_API_BASE"),
            local=True,
            most=4,
        ),
        Provider(
            name="llamacpp",
            base_url="http://127.0.0.1:8080/v1",
            keys=("LLAMA_API_KEY",),
            bases=("LLAMACPP_BASE_URL",),
            local=True,
            most=4,
        ),
    )
}


def provider(name: str) -> Provider:
    """The provider of that name. Raises UnknownName."""
    if name not in PROVIDERS:
        raise UnknownName("provider", name, PROVIDERS)
    return PROVIDERS[name]
