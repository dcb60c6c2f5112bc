"""LLM judges from what people have: a model's name, a client, a function."""

from __future__ import annotations

from inspect import signature
from typing import Any

from ragauge.errors import BadParameter, UnknownName
from ragauge.judges.llm.calls import Transport
from ragauge.judges.llm.functions import FunctionTransport
from ragauge.judges.llm.instructor import InstructorTransport, is_instructor
from ragauge.judges.llm.judge import LLMJudge
from ragauge.judges.llm.options import Options, options_of, parse
from ragauge.judges.llm.prices import Price, context_window, price_of

#: The options that are the judge's own, not those of what carries its calls.
_JUDGE = frozenset({"rationales", "quotes", "pack", "price", "context"})
_FUNCTION = frozenset({"name", "concurrency", "retries"})


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
    Options of models by name: temperature, max_tokens, base_url, concurrency, rpm, tpm, timeout, reasoning_effort,
    structured, seed; see `ragauge.judges.llm.options.Options`. Of a function: name, concurrency, retries. Of an
    instructor client: model, concurrency, and whatever its calls take.

    Raises UnknownName for a provider or option that there is not, BadParameter for a value that cannot be.
    """
    if isinstance(model, str):
        from ragauge.judges.llm.wire.client import HttpTransport

        asked = parse(model, **options)
        return _judge(HttpTransport(asked.provider, asked.model, asked.options), asked.options)
    if not is_model(model):
        raise BadParameter(f"{model!r} is no 'provider/model', no instructor client, and no function of messages")
    own = options_of({name: value for name, value in options.items() if name in _JUDGE})
    rest = {name: value for name, value in options.items() if name not in _JUDGE}
    if is_instructor(model):
        return _judge(InstructorTransport(model, **rest), own)
    for name in rest.keys() - _FUNCTION:
        raise UnknownName("option", name, _JUDGE | _FUNCTION)
    return _judge(FunctionTransport(model, **rest), own)


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


def _judge(transport: Transport, options: Options) -> LLMJudge:
    price = Price(*options.price) if options.price else price_of(transport.name)
    return LLMJudge(
        transport,
        price=price,
        rationales=options.rationales,
        quotes=options.quotes,
        pack=options.pack,
        context=options.context or context_window(transport.name),
        width=max(256, 2 * (options.concurrency or 0)),
    )
