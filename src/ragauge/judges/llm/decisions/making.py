"""Decisions judges from their specs."""

from __future__ import annotations

from ragauge.errors import BadParameter, UnknownName
from ragauge.judges.llm.decisions.dialects import DIALECTS
from ragauge.judges.llm.decisions.judge import DecisionsJudge
from ragauge.judges.llm.decisions.transport import DecisionsTransport
from ragauge.judges.llm.options import Options, parse
from ragauge.judges.llm.prices import price_of
from ragauge.judges.llm.wire.client import HttpTransport

#: The options that mean something to an endpoint that writes no text.
_TAKEN = frozenset({"base_url", "concurrency", "rpm", "tpm", "timeout", "max_reply_bytes", "price"})


def decisions_judge(spec: str, *, dialect: str | None = None, **options: object) -> DecisionsJudge:
    """The judge that asks a model's decisions endpoint, such as "openai/gpt-6-luna" or "vllm/MODEL?base_url=URL".

    dialect: "decisions" or "systemone", also as an option behind the spec; without it "decisions" for OpenAI and
    "systemone" for all others. options: base_url, concurrency, rpm, tpm, timeout and price, as for any LLM judge.

    Raises UnknownName for a provider, option or dialect that there is not, BadParameter for a value that cannot be.
    """
    spec, said = _split(spec)
    provider, model, chosen = parse(spec, **options)
    name = dialect or said or ("decisions" if provider.name == "openai" else "systemone")
    if name not in DIALECTS:
        raise UnknownName("dialect", name, DIALECTS)
    for option in Options.__struct_fields__:
        if option not in _TAKEN and getattr(chosen, option) != getattr(_PLAIN, option):
            raise BadParameter(f"{option}: a decisions endpoint takes none; leave it out")
    transport = DecisionsTransport(HttpTransport(provider, model, chosen), DIALECTS[name].path)
    return DecisionsJudge(transport, DIALECTS[name], model, price_of(transport.name, chosen.price))


_PLAIN = Options()


def _split(spec: str) -> tuple[str, str | None]:
    """A spec without its dialect, and the dialect."""
    name, _, tail = spec.partition("?")
    pairs = tail.split("&")
    said = [pair.removeprefix("dialect=") for pair in pairs if pair.startswith("dialect=")]
    rest = "&".join(pair for pair in pairs if not pair.startswith("dialect="))
    return f"{name}?{rest}" if rest else name, said[-1] if said else None
