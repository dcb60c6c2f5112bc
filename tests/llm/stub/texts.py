"""Faults in what the model says, and in the chat completion around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

Body = dict[str, Any]

_FLIPPED = {"entailed": "contradicted", "contradicted": "entailed", "neutral": "entailed", "yes": "no", "no": "yes"}
_CLAIM = {"s": 1, "text": "Nothing of this is so.", "kind": "claim"}
_encode = msgspec.json.encode


class Fault(NamedTuple):
    """What goes wrong, for people; and what it makes of a reply."""

    meaning: str
    spoiled: Callable[[Any], Any]


def _written(change: Callable[[Body], Body]) -> Callable[[str], str]:
    """A change of the decoded reply, as a change of its text."""

    def changed(text: str) -> str:
        reply = msgspec.json.decode(text)
        if not isinstance(reply, dict) or not reply:
            return "7"
        number = {name: reply.pop(name) for name in ("call",) if name in reply}
        return _encode(number | change(reply)).decode()

    return changed


def _invalid(reply: Body) -> Body:
    keys = list(reply)
    kept = {key: reply[key] for key in keys[:-1]} if len(keys) > 1 else {}
    return {**kept, keys[0]: 7}


def opposite(answer: Any) -> Any:
    """An answer that is well formed and wrong."""
    if isinstance(answer, list):
        return [{**answer[0], "text": _CLAIM["text"]}] if answer else [_CLAIM]
    if "label" in answer:
        label = _FLIPPED[answer["label"]]
        lists = {"supports": answer.get("contradicts"), "contradicts": answer.get("supports")}
        return {**answer, "label": label, **{name: answered for name, answered in lists.items() if name in answer}}
    return {**answer, "grade": 1 - answer["grade"]} if answer.get("grade") in (0, 1) else answer


def _opposites(text: str) -> str:
    return _written(lambda reply: {key: opposite(answer) for key, answer in reply.items()})(text)


def _each(change: Callable[[Body], Body]) -> Callable[[str], str]:
    """A change of every verdict, and of every statement of a decomposition."""

    def changed(answer: Any) -> Any:
        return [change(piece) for piece in answer] or [change(_CLAIM)] if isinstance(answer, list) else change(answer)

    return _written(lambda reply: {key: changed(answer) for key, answer in reply.items()})


def _wrong_word(item: Body) -> Body:
    return {**item, **{name: "certainly" for name in ("label", "kind", "grade") if name in item}}


def _capital(item: Body) -> Body:
    return {**item, **{name: item[name].upper() for name in ("label", "kind") if name in item}}


def _unknown_id(item: Body) -> Body:
    """A statement of a sentence that there is not, or a source that was not given; a lone source is named by nobody."""
    if "s" in item:
        return {**item, "s": 999}
    return {**item, "supports": ["S999"]} if "supports" in item else {"of": "S999"}


def _doubled(text: str) -> str:
    """Each key is given twice, with opposite answers."""
    reply = msgspec.json.decode(text)
    reply.pop("call", None)
    pairs = [(key, answered) for key, answer in reply.items() for answered in (answer, opposite(answer))]
    return "{" + ",".join(f'"{key}":{_encode(answered).decode()}' for key, answered in pairs) + "}"


def _field_twice(text: str) -> str:
    """The first label or kind has an opposite one behind it, whose key is written with an escape."""
    reply = msgspec.json.decode(text)
    item = next(item for key, item in reply.items() if key != "call")
    piece = (item or [_CLAIM])[0] if isinstance(item, list) else item
    name = next(field for field in ("label", "kind", "grade", "why") if field in piece)
    value = {"label": _FLIPPED.get(piece.get("label"), ""), "kind": "neither"}.get(name, 0)
    written = f'"{name}":{_encode(piece[name]).decode()}'
    second = f'"\\u{ord(name[0]):04x}{name[1:]}":{_encode(value).decode()}'
    return text.replace(written, f"{written},{second}", 1)


#: Faults of the model's text, which stays a good chat completion.
TEXTS = {
    "cut": Fault("the reply ends in the middle and says that it is complete", lambda text: text[: len(text) // 2]),
    "length": Fault("the reply ends in the middle and says so", lambda text: text[: len(text) // 2]),
    "filter": Fault("a content filter stops the reply", lambda text: text[: len(text) // 2]),
    "malformed": Fault(
        "the reply is prose in place of JSON",
        lambda text: "I would say that most of this holds, though it is hard to be sure.",
    ),
    "invalid": Fault("the reply is JSON without its last key and with a nonsense under its first", _written(_invalid)),
    "fenced": Fault(
        "the reply stands in a code fence, with prose around and a trailing comma",
        lambda text: f"Here is my answer:\n```json\n{text[:-1]},{text[-1:]}\n```\nLet me know if you need more.",
    ),
    "empty": Fault("the reply has no text", lambda text: ""),
    "prose-before": Fault("prose stands before the JSON", lambda text: f"Sure! Here are the verdicts:\n{text}"),
    "prose-after": Fault(
        "prose with braces stands after the JSON", lambda text: f"{text}\nI was unsure about {{1}}, but kept it."
    ),
    "thought": Fault("a draft is thought aloud before the reply", lambda text: f"<think>{text[:40]} no</think>{text}"),
    "wrapped": Fault("the object stands inside another", lambda text: f'{{"result": {text}}}'),
    "declined": Fault("the reply is prose that declines", lambda text: "I'm sorry, but I can't help with that."),
    "twice-equal": Fault("the same object is given twice", lambda text: f"{text}\n{text}"),
    "twice-wrong-last": Fault(
        "two objects that disagree, the second of them wrong", lambda text: f"{text}\n{_opposites(text)}"
    ),
    "twice-wrong-first": Fault(
        "two objects that disagree, the first of them wrong", lambda text: f"{_opposites(text)}\n{text}"
    ),
    "missing-item": Fault(
        "the last answer is missing", _written(lambda reply: {key: reply[key] for key in list(reply)[:-1]})
    ),
    "extra-item": Fault(
        "there is an answer to a question that was not asked",
        _written(lambda reply: {**reply, "999": opposite(next(iter(reply.values())))}),
    ),
    "unknown-id": Fault("answers name a sentence or a source that there is not", _each(_unknown_id)),
    "duplicate-id": Fault("each key is given twice, with opposite answers", _doubled),
    "field-twice": Fault("a label or kind is given twice, the second under an escaped key", _field_twice),
    "wrong-word": Fault("labels are a word that is none of those allowed", _each(_wrong_word)),
    "capital": Fault("labels are in capitals", _each(_capital)),
    "opposite": Fault("every answer is well formed and wrong", _opposites),
    "nul-text": Fault("the text holds NUL characters", lambda text: text.replace(":", ":\0")),
}


def spoil(text: str, fault: str) -> str:
    """A reply of the model with a fault in its text."""
    return TEXTS[fault].spoiled(text) if fault in TEXTS else text


def _choice(**more: Any) -> Callable[[Body], Body]:
    return lambda body: {**body, "choices": [{**body["choices"][0], **more}]}


def _message(change: Callable[[str], Body]) -> Callable[[Body], Body]:
    def changed(body: Body) -> Body:
        message = body["choices"][0]["message"]
        return _choice(message={**message, **change(message["content"] or "")})(body)

    return changed


def _usage(**more: Any) -> Callable[[Body], Body]:
    return lambda body: {**body, "usage": {**body["usage"], **more}}


def _without(name: str) -> Callable[[Body], Body]:
    return lambda body: {key: value for key, value in body.items() if key != name}


def _disagreeing(body: Body) -> Body:
    first = body["choices"][0]
    message = {**first["message"], "content": _opposites(first["message"]["content"])}
    return {**body, "choices": [{**first, "message": message}, first]}


def _called(text: str) -> Body:
    function = {"name": "reply", "arguments": text}
    return {"content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": function}]}


#: Faults of the chat completion around the text.
COMPLETIONS = {
    "choices-empty": Fault("the list of choices is empty", lambda body: {**body, "choices": []}),
    "choices-null": Fault("the choices are null", lambda body: {**body, "choices": None}),
    "choices-missing": Fault("there are no choices", _without("choices")),
    "choices-disagree": Fault("two choices, the first of them wrong", _disagreeing),
    "content-null": Fault("the content is null", _message(lambda text: {"content": None})),
    "content-parts": Fault(
        "the content is a list of parts",
        _message(lambda text: {"content": [{"type": "text", "text": part} for part in (text[:9], text[9:])]}),
    ),
    "tool-call": Fault("the reply calls a tool that was not offered", _message(_called)),
    "error-200": Fault(
        "status 200 with an error", lambda body: {"error": {"message": "Upstream is overloaded.", "code": 502}}
    ),
    "usage-missing": Fault("tokens are not counted", _without("usage")),
    "usage-null": Fault("the counts of tokens are null", lambda body: {**body, "usage": None}),
    "usage-small": Fault("10 prompt tokens, whatever the prompt", _usage(prompt_tokens=10)),
    "usage-cached": Fault(
        "more cached tokens than prompt tokens",
        _usage(prompt_tokens=1000, prompt_tokens_details={"cached_tokens": 200_000}),
    ),
    "usage-negative": Fault("negative counts of tokens", _usage(prompt_tokens=-70_000, completion_tokens=-50_000)),
    "usage-huge": Fault("counts of tokens that no computer holds", _usage(prompt_tokens=10**30)),
    "usage-text": Fault("counts of tokens as text", _usage(prompt_tokens="many")),
}


def completed(body: Body, fault: str) -> Body:
    """A chat completion with a fault around its text."""
    return COMPLETIONS[fault].spoiled(body) if fault in COMPLETIONS and "choices" in body else body
