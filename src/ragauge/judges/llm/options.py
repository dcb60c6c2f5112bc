"""Options of an LLM judge, written behind its name, as in `openai/gpt-4o-mini?temperature=0`, or given as keywords."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, NamedTuple, get_type_hints
from urllib.parse import unquote

import msgspec

from ragauge.errors import BadParameter, UnknownName
from ragauge.judges.llm.providers import Provider, Structured, provider

_Count = Annotated[int, msgspec.Meta(ge=1)]
_Rate = Annotated[float, msgspec.Meta(gt=0)]
_Dollars = Annotated[float, msgspec.Meta(ge=0)]


class Options(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a model is asked. None: not asked for.

    temperature: 0..2; without it 0, where the model takes one. max_tokens: of a reply. base_url: of a server that is
    not the provider's own. concurrency: calls side by side; without it found out. rpm, tpm: requests and tokens per
    minute. timeout: seconds that a call may take once it is sent, until the last byte of its reply. max_reply_bytes:
    of the body of a reply; a longer one is a fault of the server. reasoning_effort: as the model names it, such as
    "low". rationales: whether verdicts come with a reason. quotes: whether they come with the words that decide.
    pack: "alone" asks one thing a call. structured: how replies are held to their form; without it the best that the
    server has. price: dollars per million tokens: prompt, prompt read from the provider's cache, completion.
    context: tokens of the model's window. seed: of the sampling.
    """

    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] | None = None
    max_tokens: _Count | None = None
    base_url: str | None = None
    concurrency: Annotated[int, msgspec.Meta(ge=1, le=4096)] | None = None
    rpm: _Rate | None = None
    tpm: _Rate | None = None
    timeout: _Rate = 120.0
    max_reply_bytes: _Count = 16_000_000
    reasoning_effort: Annotated[str, msgspec.Meta(pattern=r"^[a-z_]{1,20}$")] | None = None
    rationales: bool = True
    quotes: bool = False
    pack: Literal["together", "alone"] = "together"
    structured: Structured | None = None
    price: tuple[_Dollars, _Dollars, _Dollars] | None = None
    context: _Count | None = None
    seed: int | None = None


#: What an option must be, with an example; for messages.
_WANTED = {
    "temperature": "a number from 0 to 2, such as temperature=0",
    "max_tokens": "a count of tokens, such as max_tokens=800",
    "base_url": "the address of a server, such as base_url=http://127.0.0.1:8000/v1",
    "concurrency": "a number of calls from 1 to 4096, such as concurrency=16",
    "rpm": "requests per minute, more than 0, such as rpm=500",
    "tpm": "tokens per minute, more than 0, such as tpm=200000",
    "timeout": "seconds, more than 0, such as timeout=60",
    "max_reply_bytes": "a count of bytes, such as max_reply_bytes=16000000",
    "reasoning_effort": "a word of the model's own, such as reasoning_effort=low",
    "rationales": "true or false, such as rationales=false",
    "quotes": "true or false, such as quotes=true",
    "pack": "together or alone, such as pack=alone",
    "structured": "schema, json or plain, such as structured=json",
    "price": "dollars per million tokens, PROMPT:COMPLETION or PROMPT:CACHED:COMPLETION, such as price=0.15:0.60",
    "context": "a count of tokens, such as context=128000",
    "seed": "a whole number, such as seed=1",
}
_TYPES: dict[str, Any] = get_type_hints(Options, include_extras=True)


class Asked(NamedTuple):
    """What a spec asks for: a model, where, and how."""

    provider: Provider
    model: str
    options: Options


def parse(spec: str, **given: object) -> Asked:
    """Read a spec such as `openrouter/meta-llama/llama-3:free?temperature=0&rpm=60`.

    given: options as keywords; they go before those of the spec.

    Raises UnknownName for a provider or option that there is not, BadParameter for a value that cannot be.
    """
    name, _, tail = spec.partition("?")
    place, _, model = name.partition("/")
    if not place or not model:
        raise BadParameter(f"judge {name!r}: write PROVIDER/MODEL, such as openai/gpt-4o-mini or ollama/qwen3:8b")
    served = provider(place)
    options = options_of({**_pairs(tail), **{key: value for key, value in given.items() if value is not None}})
    if options.seed is not None and served.seed is None:
        raise BadParameter(f"seed: {served.name} takes none; leave it out")
    if served.protocol == "anthropic" and (options.temperature or 0) > 1:
        raise BadParameter("temperature: anthropic takes a number from 0 to 1, such as temperature=0")
    if options.base_url is not None:
        options = msgspec.structs.replace(options, base_url=served.written_out(options.base_url, "base_url"))
    return Asked(served, model, options)


def options_of(given: dict[str, object]) -> Options:
    """Options from names and values; texts are read as numbers and so on. Raises UnknownName, BadParameter."""
    return Options(**{name: _value(name, value) for name, value in given.items()})


def _pairs(tail: str) -> dict[str, object]:
    """The options behind the question mark."""
    pairs: dict[str, object] = {}
    for piece in filter(None, tail.split("&")):
        name, equals, value = piece.partition("=")
        if not equals:
            raise BadParameter(f"option {name!r}: give it a value, as in ?temperature=0&max_tokens=800")
        if name in pairs:
            raise BadParameter(f"option {name!r} is given twice; give it once")
        pairs[name] = unquote(value)
    return pairs


def _value(name: str, value: object) -> Any:
    if name in ("key", "api_key"):
        raise BadParameter(f"{name}: give the key in the environment, as OPENAI_API_KEY, or to rg.llm as api_key=")
    if name not in _WANTED:
        raise UnknownName("option", name, _WANTED)
    try:
        return _read(name, _price(value) if name == "price" else value)
    except (TypeError, ValueError) as error:
        raise BadParameter(f"{name}: must be {_WANTED[name]}; not {_shown(name, value)}") from error


def _read(name: str, value: object) -> Any:
    """A value of the option's type; a TypeError or ValueError where it is none of it."""
    if isinstance(value, bool) and _TYPES[name] is not bool:
        raise TypeError
    read = msgspec.convert(value, _TYPES[name], strict=False)
    for number in read if isinstance(read, tuple) else (read,):
        if isinstance(number, float) and not math.isfinite(number):
            raise ValueError
    return read


def _price(value: object) -> object:
    """Three prices of two or three; where that of cached tokens is left out, they cost what others do."""
    parts = value.split(":") if isinstance(value, str) else value
    if isinstance(parts, list | tuple) and len(parts) == 2:
        return parts[0], parts[0], parts[1]
    return parts


def _shown(name: str, value: object) -> str:
    """A value as a message may show it; an address may hold a password."""
    return "this" if name == "base_url" else f"{value!r:.60}"
