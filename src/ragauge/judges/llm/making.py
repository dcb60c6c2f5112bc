"""LLM judges from what people have: a model's name, a client, a function."""

from __future__ import annotations

import os
from inspect import signature
from typing import Any

from ragauge.errors import BadParameter, UnknownName
from ragauge.judges.llm.calling import CONCURRENCY
from ragauge.judges.llm.calls import Tempo, Transport
from ragauge.judges.llm.functions import FunctionTransport
from ragauge.judges.llm.instructor import InstructorTransport, is_instructor
from ragauge.judges.llm.judge import LLMJudge
from ragauge.judges.llm.line import Line
from ragauge.judges.llm.options import Options, options_of, parse
from ragauge.judges.llm.prices import Price, context_window, price_of
from ragauge.judges.llm.providers import Provider, provider

#: The options that are the judge's own, not those of what carries its calls.
_JUDGE = frozenset({"rationales", "quotes", "pack", "price", "context"})
_FUNCTION = frozenset({"name", "concurrency", "retries"})

#: Providers that instructor calls otherwise.
_VENDORS = {"genai": "gemini", "google": "gemini", "generative-ai": "gemini"}


def llm(model: Any, /, **options: Any) -> LLMJudge:
    """A judge that asks a language model, with as few calls as a sample's questions fit in.

        rg.llm("openai/gpt-4o-mini", temperature=0)
        rg.llm("ollama/qwen3:8b?base_url=http://host:11434/v1")
        rg.llm(instructor.from_openai(openai.AsyncOpenAI()), model="gpt-4o-mini")
        rg.llm(lambda messages: my_model(messages), name="my-model-3")

    model: "provider/model", with options behind a question mark if wanted; or a client of the `instructor` library,
    sync or async; or a function, sync or async, from a list of messages (dicts with "role" and "content") to the text
    of the reply. Keys and base URLs come from the environment variables that the providers themselves document.

    Options of every judge: rationales=False leaves out the reasons; quotes=True has the deciding words quoted, as
    spans; pack="alone" asks one question a call; price=(prompt, cached, completion), or (prompt, completion), in
    dollars per million tokens; context=, tokens of the model's window, for models with a small one.
    Options of models by name: api_key, in place of the environment's, which a spec cannot hold; temperature,
    max_tokens, base_url, concurrency, rpm, tpm, timeout, max_reply_bytes, reasoning_effort, structured,
    seed; see
    `ragauge.judges.llm.options.Options`. Of a function: name, concurrency, retries. Of an instructor client: model,
    concurrency, and whatever its calls take.

    Raises UnknownName for a provider or option that there is not, BadParameter for a value that cannot be.
    """
    return _judge(*_reached(model, options))


def line_to(model: Any, /, **options: Any) -> Line:
    """A line to a model, for whoever has something else to ask of it than a judge's questions.

    model, options, errors: as for `llm`; options of judges change nothing.
    """
    transport, read = _reached(model, options)
    return Line(transport, _price(transport, read))


def _reached(model: Any, options: dict[str, Any]) -> tuple[Transport, Options]:
    """What carries calls to a model, and the options that were given."""
    if isinstance(model, str):
        return _hosted(model, **options)
    if not is_model(model):
        raise BadParameter(f"{model!r} is no 'provider/model', no instructor client, and no function of messages")
    own = options_of({name: value for name, value in options.items() if name in {*_JUDGE, "concurrency"}})
    rest = {name: value for name, value in options.items() if name not in _JUDGE}
    if is_instructor(model):
        return InstructorTransport(model, **rest), own
    for name in rest.keys() - _FUNCTION:
        raise UnknownName("option", name, _JUDGE | _FUNCTION)
    return FunctionTransport(model, **rest), own


def _hosted(model: str, *, api_key: str | None = None, **options: Any) -> tuple[Transport, Options]:
    from ragauge.judges.llm.wire.client import HttpTransport

    asked = parse(model, **options)
    environment = {**os.environ, asked.provider.keys[0]: api_key} if api_key else os.environ
    return HttpTransport(asked.provider, asked.model, asked.options, environment), asked.options


def is_model(thing: object) -> bool:
    """Whether something is an instructor client, or may be a function from messages to text: it takes one argument."""
    if is_instructor(thing):
        return True
    if not callable(thing) or isinstance(thing, type):
        return False
    try:
        signature(thing).bind([])
    except TypeError:
        return False
    except ValueError:  # some built-in functions do not tell
        return True
    return True


def _price(transport: Transport, options: Options) -> Price | None:
    """What calls cost; a client of a server that is not the provider's own tells nothing of its price."""
    elsewhere = isinstance(transport, InstructorTransport) and "base_url" in dict(transport.settings)
    name = transport.name
    if isinstance(transport, InstructorTransport):
        provider, _, model = name.partition("/")
        name = f"{_VENDORS.get(provider, provider)}/{model.removeprefix('models/')}"
    return None if elsewhere and not options.price else price_of(name, options.price)


def _judge(transport: Transport, options: Options) -> LLMJudge:
    return LLMJudge(
        transport,
        price=_price(transport, options),
        rationales=options.rationales,
        quotes=options.quotes,
        pack=options.pack,
        context=options.context or context_window(transport.name),
        width=2 * options.concurrency if options.concurrency else 256,
        tempo=_tempo(transport, options),
    )


def _tempo(transport: Transport, options: Options) -> Tempo:
    """How fast calls follow each other; without a word on how many side by side, as many as an estimate assumes."""
    usual = Tempo().side_by_side
    most = CONCURRENCY if isinstance(transport, FunctionTransport | InstructorTransport) else _served(transport).most
    return Tempo(options.concurrency or min(most, usual), options.rpm, options.tpm)


def _served(transport: Transport) -> Provider:
    return provider(transport.name.partition("/")[0])
