"""Providers, and the options of an LLM judge written behind its name.

As documented by the providers in November 2026; any other server with the protocol of OpenAI's chat completions is
reached as `openai/MODEL?base_url=...`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pkgutil import get_data
from typing import Annotated, Any, Literal, NamedTuple
from urllib.parse import SplitResult, urlsplit, urlunsplit

import msgspec

from ragauge.errors import BadParameter, UnknownName, UsageError
from ragauge.judges.base import must_be, parsed_options, split_options
from ragauge.redaction import SECRETS

Protocol = Literal["chat", "anthropic", "bedrock", "vertex", "cohere"]
Structured = Literal["schema", "json", "plain"]

#: Variables of the environment in a base URL, and the values that they may have.
_VARIABLE = re.compile(r"\{([\w|]+)\}")
_NAME = re.compile(r"[\w.:-]+", re.ASCII)


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """A service or a local server that hosts models.

    base_url: None where it must be given; "{NAME|OTHER}" stands for the first of these variables that is set.
    key_variables, url_variables: of the environment, for the key and the base URL; the first that is set counts.
    structured: the strictest way of requesting JSON that it supports. local: whether it usually runs on the user's
    machine; it then needs no key, and has longer timeouts. max_concurrency: unless the user sets it. headers: sent with
    each call; variable_headers: where the variable is set. seed: the name of that field; None where there is none.
    truncates: whether it truncates prompts that exceed its window without an error, and counts only the rest. logprobs:
    whether its replies may have log-probabilities, of tokens that were not chosen too.
    """

    name: str
    base_url: str | None
    key_variables: tuple[str, ...]
    url_variables: tuple[str, ...]
    protocol: Protocol = "chat"
    structured: Structured = "schema"
    local: bool = False
    max_concurrency: int = 256
    key_header: str = "Authorization"
    key_prefix: str = "Bearer "
    headers: tuple[tuple[str, str], ...] = ()
    variable_headers: tuple[tuple[str, str], ...] = ()
    seed: str | None = "seed"
    truncates: bool = False
    logprobs: bool = True

    def key(self, environment: Mapping[str, str]) -> str:
        """The key, "" where none is set. Raises UsageError for what cannot be a key."""
        for variable in self.key_variables:
            key = environment.get(variable, "").strip()
            if not (key.isascii() and key.isprintable()):
                raise UsageError(f"{variable} holds characters that no key has; set it to the key of {self.name}")
            if key:
                return key
        return ""

    @property
    def has_vendor_login(self) -> bool:
        """Whether, where there is no key, its vendor's library authenticates each request."""
        return self.protocol in ("bedrock", "vertex")

    @property
    def url_settings(self) -> str:
        """What to set for a base URL, for messages."""
        names = [variable[1].replace("|", " or ") for variable in _VARIABLE.finditer(self.base_url or "")]
        address = f"{self.url_variables[0]} to the address of your {self.name} resource"
        return " and ".join(dict.fromkeys(names)) or address

    def own_url(self, environment: Mapping[str, str]) -> str | None:
        """The provider's own base URL; None if it has none, or a variable in it is not set."""
        url = self.base_url or ""
        for variable in _VARIABLE.finditer(url):
            value = next(filter(None, (environment.get(name, "").strip() for name in variable[1].split("|"))), "")
            if value and not _NAME.fullmatch(value):
                name = variable[1].partition("|")[0]
                raise UsageError(f"{name} is no name of a region, location or project: {value!r}")
            url = url.replace(variable[0], value) if value else ""
        return url.replace("//global-", "//") or None

    def base_url_from(self, environment: Mapping[str, str]) -> str | None:
        """The base URL that the environment names, else the provider's own. Raises UsageError for an invalid one."""
        for variable in self.url_variables:
            if environment.get(variable, "").strip():
                return self.full_url(environment[variable].strip(), variable)
        return self.own_url(environment)

    def full_url(self, url: str, source: str) -> str:
        """A base URL in full: scheme, host, port and the path below which the endpoints lie; `source` named it."""
        if source == "OLLAMA_HOST":
            return _ollama_url(url)
        parts = _parsed_address(url, source)
        path = parts.path.rstrip("/")
        if self.name == "azure":
            path = path.removesuffix("/openai/v1").removesuffix("/openai") + "/openai/v1"
        elif (not path and not self.has_vendor_login) or (self.protocol == "anthropic" and not path.endswith("/v1")):
            path += "/v2" if self.protocol == "cohere" else "/v1"
        return urlunsplit(parts._replace(path=path))


def _parsed_address(url: str, source: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        fits = False
    if not fits or not (url.isascii() and url.isprintable()) or " " in url:
        raise UsageError(f"{source} is not a web address; write it as in https://host:8000/v1")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise UsageError(f"{source} must be an address alone, without user, password, '?' and '#'")
    return parts


def _ollama_url(host: str) -> str:
    """OLLAMA_HOST in full: a host, a port or both, with or without a scheme; a server's 0.0.0.0 is this machine."""
    scheme, _, rest = host.rpartition("://")
    parts = _parsed_address(f"{scheme or 'http'}://{'127.0.0.1' if rest.startswith(':') else ''}{rest}", "OLLAMA_HOST")
    name = parts.hostname or ""
    if name in ("0.0.0.0", "::"):
        name = "127.0.0.1"
    elif ":" in name:
        name = f"[{name}]"
    port = parts.port or {"http": 80, "https": 443}.get(scheme, 11434)
    return f"{parts.scheme}://{name}:{port}{parts.path.rstrip('/').removesuffix('/v1')}/v1"


def _providers() -> dict[str, Provider]:
    """The providers of providers.json; variables are NAME_API_KEY, NAME_BASE_URL and NAME_API_BASE by default."""
    providers = {}
    for fields in msgspec.json.decode(get_data(__name__, "providers.json") or b"", type=list[dict[str, Any]]):
        variable = fields["name"].upper()
        urls = [f"{variable}_BASE_URL", f"{variable}_API_BASE"]
        usual = {"key_variables": [f"{variable}_API_KEY"], "url_variables": urls}
        providers[fields["name"]] = msgspec.convert(usual | fields, Provider)
    return providers


PROVIDERS = _providers()


def protect_keys(environment: Mapping[str, str]) -> None:
    """Have the keys of all providers in the environment removed from texts."""
    for variable in (key for provider in PROVIDERS.values() for key in provider.key_variables):
        SECRETS.add(environment.get(variable, "").strip())


_Count = Annotated[int, msgspec.Meta(ge=1)]
_Rate = Annotated[float, msgspec.Meta(gt=0)]
_Dollars = Annotated[float, msgspec.Meta(ge=0)]
_Temperature = Annotated[float, msgspec.Meta(ge=0, le=2)]
_Calls = Annotated[int, msgspec.Meta(ge=1, le=4096)]
_Word = Annotated[str, msgspec.Meta(pattern=r"^[a-z_]{1,20}$")]


class LLMOptions(msgspec.Struct, frozen=True, omit_defaults=True):
    """The options of an LLM judge, which docs/llm-judges.md describes. None: not set."""

    temperature: Annotated[_Temperature | None, must_be("a number from 0 to 2, such as temperature=0")] = None
    max_tokens: Annotated[_Count | None, must_be("a count of tokens, such as max_tokens=800")] = None
    base_url: Annotated[str | None, must_be("the address of a server, such as base_url=http://127.0.0.1:8000/v1")] = (
        None
    )
    concurrency: Annotated[_Calls | None, must_be("a number of calls from 1 to 4096, such as concurrency=16")] = None
    rpm: Annotated[_Rate | None, must_be("requests per minute, more than 0, such as rpm=500")] = None
    tpm: Annotated[_Rate | None, must_be("tokens per minute, more than 0, such as tpm=200000")] = None
    timeout: Annotated[_Rate, must_be("seconds, more than 0, such as timeout=60")] = 120.0
    max_reply_bytes: Annotated[_Count, must_be("a count of bytes, such as max_reply_bytes=16000000")] = 16_000_000
    reasoning_effort: Annotated[_Word | None, must_be("a word of the model's own, such as reasoning_effort=low")] = None
    rationales: Annotated[bool, must_be("true or false, such as rationales=false")] = True
    quotes: Annotated[bool, must_be("true or false, such as quotes=true")] = False
    sources: Annotated[Literal["ignore", "claim"], must_be("ignore or claim, such as sources=claim")] = "ignore"
    conflicts: Annotated[
        Literal["contradicted", "entailed"], must_be("contradicted or entailed, such as conflicts=entailed")
    ] = "contradicted"
    prompts: Annotated[str | None, must_be("a folder, such as prompts=my-prompts")] = None
    examples: Annotated[
        str | tuple[dict[str, Any], ...] | None, must_be("a file of JSON lines, such as examples=mine.jsonl")
    ] = None
    pack: Annotated[Literal["together", "alone"], must_be("together or alone, such as pack=alone")] = "together"
    structured: Annotated[Structured | None, must_be("schema, json or plain, such as structured=json")] = None
    price: Annotated[
        tuple[_Dollars, _Dollars, _Dollars] | None,
        must_be("dollars per million tokens, PROMPT:COMPLETION or PROMPT:CACHED:COMPLETION, such as price=0.15:0.60"),
    ] = None
    context: Annotated[_Count | None, must_be("a count of tokens, such as context=128000")] = None
    seed: Annotated[int | None, must_be("a whole number, such as seed=1")] = None
    shuffle: Annotated[int | None, must_be("a whole number, such as shuffle=1")] = None
    logprobs: Annotated[bool, must_be("true or false, such as logprobs=true")] = False


class LLMSpec(NamedTuple):
    """A model, its provider, and the options of a spec."""

    provider: Provider
    model: str
    options: LLMOptions


def parse_llm_spec(spec: str, **keywords: object) -> LLMSpec:
    """Read a spec such as `openrouter/meta-llama/llama-3:free?temperature=0&rpm=60`.

    keywords: options that override those of the spec; None for one that is not given.

    Raises UnknownName for an unknown provider or option, BadParameter for an invalid value.
    """
    name, options = split_options(spec)
    provider_name, _, model = name.partition("/")
    if not provider_name or not model:
        raise BadParameter(f"judge {name!r}: write PROVIDER/MODEL, such as openai/gpt-4o-mini or ollama/qwen3:8b")
    if provider_name not in PROVIDERS:
        raise UnknownName("provider", provider_name, PROVIDERS)
    server = PROVIDERS[provider_name]
    parsed = options_of(options | {option: value for option, value in keywords.items() if value is not None})
    if parsed.seed is not None and server.seed is None:
        raise BadParameter(f"seed: {server.name} takes none; leave it out")
    if parsed.logprobs and not server.logprobs:
        raise BadParameter(f"logprobs: {server.name} gives none; take shares of votes instead: repeat({name},3)")
    if server.protocol in ("anthropic", "bedrock") and (parsed.temperature or 0) > 1:
        raise BadParameter(f"temperature: {server.name} takes a number from 0 to 1, such as temperature=0")
    if parsed.base_url is not None:
        parsed = msgspec.structs.replace(parsed, base_url=server.full_url(parsed.base_url, "base_url"))
    return LLMSpec(server, model, parsed)


def foreign_host(spec: LLMSpec, environment: Mapping[str, str]) -> str:
    """The host of the base URL in a spec where that is not the provider's own, or the environment's; else ""."""
    if spec.options.base_url is None:
        return ""
    own = (spec.provider.own_url(environment), spec.provider.base_url_from(environment))
    used = _origin(spec.options.base_url)
    return "" if used in [_origin(url) for url in own if url] else used[1]


def _origin(url: str) -> tuple[str, str, int | None]:
    """The scheme, host and port of a URL, in lower case, with the port that the scheme implies."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def options_of(values: dict[str, object]) -> LLMOptions:
    """Options from names and values. Raises UnknownName or BadParameter."""
    for name in ("key", "api_key"):
        if name in values:
            raise BadParameter(f"{name}: give the key in the environment, as OPENAI_API_KEY, or to rg.llm as api_key=")
    price = values.get("price")
    prices = price.split(":") if isinstance(price, str) else price
    if isinstance(prices, list | tuple) and len(prices) == 2:  # the price of cached tokens is that of the prompt
        prices = (prices[0], *prices)
    return parsed_options(LLMOptions, values, {"price": prices})
