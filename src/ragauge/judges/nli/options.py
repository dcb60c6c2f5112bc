"""Options of an NLI judge, written behind its name, as in `hf/MODEL?device=cuda&dtype=bfloat16`."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple, get_type_hints
from urllib.parse import unquote

import msgspec

from ragauge.errors import BadParameter, UnknownName

_Count = Annotated[int, msgspec.Meta(ge=1)]


class Options(msgspec.Struct, frozen=True):
    """How a model is run. None: as suits the model and the machine.

    revision: a branch, tag or commit on the hub. device: "cpu", "cuda", "cuda:1", "mps". dtype: of its numbers.
    batch_tokens: at most so many tokens at once, with padding. labels: what its classes mean, in their order.
    family: how it is asked. window: tokens of one input. threads: of the processor, for ONNX.
    """

    revision: str | None = None
    device: Annotated[str, msgspec.Meta(pattern=r"^(cpu|mps|cuda(:\d+)?)$")] | None = None
    dtype: Literal["float32", "bfloat16", "float16"] | None = None
    batch_tokens: _Count | None = None
    labels: str | None = None
    family: Literal["classifier", "hhem", "true", "minicheck"] | None = None
    window: Annotated[int, msgspec.Meta(ge=32)] | None = None
    threads: _Count | None = None


#: What an option must be, with an example; for messages.
_WANTED = {
    "revision": "a branch, tag or commit, such as revision=main",
    "device": "cpu, mps, cuda or cuda:NUMBER, such as device=cuda:0",
    "dtype": "float32, bfloat16 or float16, such as dtype=bfloat16",
    "batch_tokens": "a count of tokens, such as batch_tokens=4096",
    "labels": "the classes in their order, such as labels=contradicted:entailed:neutral",
    "family": "classifier, hhem, true or minicheck, such as family=true",
    "window": "a count of tokens, 32 or more, such as window=512",
    "threads": "a count of threads, such as threads=2",
}
_TYPES: dict[str, Any] = get_type_hints(Options, include_extras=True)

#: The options of each kind of judge. What an exported model is was settled when it was exported.
HF = frozenset(_WANTED) - {"threads"}
ONNX = frozenset({"batch_tokens", "threads"})


class Asked(NamedTuple):
    """What a spec asks for. spec: without its options. model: a name on the hub, or a folder."""

    spec: str
    model: str
    options: Options


def parse(spec: str, known: frozenset[str]) -> Asked:
    """Read a spec such as `hf/cross-encoder/nli-deberta-v3-base?revision=main`.

    Raises UnknownName for an option that is not among the `known`, BadParameter for a value that cannot be.
    """
    name, _, tail = spec.partition("?")
    kind, _, model = name.partition("/")
    if not model:
        raise BadParameter(f"judge {spec!r}: write {kind}/MODEL, such as hf/cross-encoder/nli-deberta-v3-base")
    options: dict[str, Any] = {}
    for piece in filter(None, tail.split("&")):
        option, equals, value = piece.partition("=")
        if option not in known:
            raise UnknownName("option", option, known)
        if not equals or option in options:
            raise BadParameter(f"option {option!r}: give it one value, as in ?{_WANTED[option].rpartition(' ')[2]}")
        options[option] = _value(option, unquote(value))
    return Asked(name, model, Options(**options))


def _value(option: str, text: str) -> Any:
    try:
        return msgspec.convert(text, _TYPES[option], strict=False)
    except msgspec.ValidationError as error:
        raise BadParameter(f"{option}: must be {_WANTED[option]}; not {text!r:.60}") from error
