"""The model that the stub pretends to be: answers to the messages of ragauge, by shared words.

- decompose: each sentence is a claim ("claims"), or each clause of it ("split"); or no sentence is one ("none").
- entail: a source entails a claim that has most of its content words, and contradicts it where a number of the claim is
  missing among numbers of its own; otherwise it is neutral.
- relevant: "yes" where a third of the query's content words occur. classify: "no".
- rate: the higher on the scale, the more words of the response occur in the other texts.
- correct: right where the answer has all content words of a reference, partly where it has some, else wrong.
- a question with documents: see `generation`.

It knows nothing of what the request ought to look like beyond this, and so takes the form of an answer from the
request's schema, where there is one, else from the keys that the instructions or the last message name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import ceil, floor
from typing import Any

import msgspec
from tests.llm.stub import generation, peers
from tests.llm.stub.asks import Ask
from tests.llm.stub.instances import instance, resolved

_MARKS = b".,;:!?()[]{}\"'/-"
_SIGNS = bytes.maketrans(_MARKS, b" " * len(_MARKS))
_DIGIT = re.compile(r"\d")
_CLAUSES = re.compile(r"(?:,|;)?\s+and\s+|;\s+|,\s+(?:but|which|while|who)\s+")
_QUOTED = re.compile(r'"(\w+)"')
_FORMS = {"sources", "queries", "entail", "relevant", "classify", "rate", "correct"}
_MOST = 0.6
_THIRD = 1 / 3
_COMMON = frozenset(
    b"a about also an and are as at be been but by can did do does for from had has have he her his how i if in into "
    b"is it its many more much no not of on or she so than that the their them then there these they this to us was we "
    b"were what when where which while who whom why will with would you your".split()
)

Words = frozenset[bytes]
Answers = Iterator[tuple[str, dict[str, Any]]]


def reply(ask: Ask, answers: str) -> str:
    """The reply to a call, as JSON."""
    document = _document(ask.user[0]) if ask.user else None
    if document is None and (answer := generation.reply(ask)):
        return answer
    if document is None:
        return msgspec.json.encode(_foreign(ask)).decode()
    full = _decomposed(document, answers) if "texts" in document else dict(_verdicts(document))
    form = _Form(ask)
    number = {"call": document["call"]} if "call" in document else {}
    return msgspec.json.encode(number | {key: form.shaped(key, full[key]) for key in form.wanted(full)}).decode()


def _foreign(ask: Ask) -> Any:
    """The reply to messages that are not ours."""
    if ask.schema:
        return instance(ask.schema)
    return (peers.reply(ask.user[-1]) if ask.user else None) or {}


def _document(text: str) -> dict[str, Any] | None:
    """The JSON document of one of our messages; None for any other text."""
    try:
        document = msgspec.json.decode(text) if text.startswith("{") else None
    except msgspec.DecodeError:
        return None
    known = isinstance(document, dict) and ("texts" in document or not _FORMS.isdisjoint(document))
    return document if known else None


class _Form:
    """Which keys a reply shall have, and which of an answer's parts."""

    def __init__(self, ask: Ask) -> None:
        self._schema = ask.schema
        self._spoken = {part for part in ("why", "quote") if f'"{part}"' in ask.system}
        self._asked = _QUOTED.findall(ask.user[-1]) if len(ask.user) > 1 else ()

    def wanted(self, full: dict[str, Any]) -> list[str]:
        """Keys of the reply."""
        if self._schema:
            return [key for key in self._schema.get("required", full) if key in full]
        return [key for key in full if key in self._asked] or list(full)

    def shaped(self, key: str, answer: Any) -> Any:
        """An answer with the parts that are wanted, in the order of the schema."""
        if isinstance(answer, list):
            return answer
        if not self._schema:
            return {part: answer[part] for part in answer if part not in ("why", "quote") or part in self._spoken}
        properties = resolved(self._schema["properties"][key], self._schema).get("properties", answer)
        return {part: answer[part] for part in properties if part in answer}


def _decomposed(document: dict[str, Any], answers: str) -> dict[str, Any]:
    kind = "neither" if answers == "none" else "claim"
    return {
        name: [
            {"s": int(number), "text": text, "kind": kind}
            for number, sentence in sentences.items()
            for text in (_CLAUSES.split(sentence) if answers == "split" else (sentence,))
            if text.strip()
        ]
        for name, sentences in document["texts"].items()
    }


def _verdicts(document: dict[str, Any]) -> Answers:
    texts = {**document.get("sources", {}), **document.get("queries", {})}
    words = {name: _words(text) for name, text in texts.items()}
    for group in document.get("entail", ()):
        yield from _entailments(group, texts, words)
    for group in document.get("relevant", ()):
        query = _content(words[group["query"]])
        for number, source in group.get("sources", {}).items():
            yield number, {**_relevant(query, words[source]), "quote": _first_words(texts[source])}
        for number, text in group.get("texts", {}).items():
            yield number, _relevant(query, _words(text))
    for group in document.get("classify", ()):
        for number in group["opinions"]:
            yield number, {"why": "Nothing in it speaks for that.", "label": "no"}
    for group in document.get("rate", ()):
        for number, item in group["items"].items():
            yield number, {"why": "By the words it shares.", "grade": _grade(group["rubric"], item, words)}
    for group in document.get("correct", ()):
        yield from _correctness(group, words)


def _correctness(group: dict[str, Any], words: dict[str, Words]) -> Answers:
    references = [_content(words[name]) for name in group["references"]]
    for number, answer in group["answers"].items():
        missing = [bool(reference - words[answer]) for reference in references]
        shared = any(reference & words[answer] for reference in references)
        label = "right" if not all(missing) else "partly" if shared else "wrong"
        yield number, {"why": "By the words it shares.", "label": label}


def _words(text: str) -> Words:
    return frozenset(text.lower().encode().translate(_SIGNS).split())


def _content(words: Words) -> Words:
    """All but common words; those too where there are no others."""
    return words - _COMMON or words


class _Source(msgspec.Struct):
    """One text, or all of a group, that claims are held against."""

    words: Words
    numbers: bool

    def label(self, content: Words) -> str:
        """What it makes of a claim with these words."""
        shared = len(content & self.words)
        if shared < _MOST * len(content) or not shared:
            return "neutral"
        if self.numbers and any(word[:1].isdigit() for word in content - self.words):
            return "contradicted"
        return "entailed"


def _entailments(group: dict[str, Any], texts: dict[str, str], words: dict[str, Words]) -> Answers:
    names = group["sources"]
    quotes = {name: _first_words(texts[name]) for name in names}
    sources = [_Source(words[name], bool(_DIGIT.search(texts[name]))) for name in names]
    union = _Source(frozenset().union(*(source.words for source in sources)), any(source.numbers for source in sources))
    for number, claim in group["claims"].items():
        content = _content(_words(claim))
        labels = [source.label(content) for source in sources]
        supports = [name for name, label in zip(names, labels, strict=True) if label == "entailed"]
        contradicts = [name for name, label in zip(names, labels, strict=True) if label == "contradicted"]
        label = "entailed" if supports else "contradicted" if contradicts else union.label(content)
        quote = quotes[(supports or contradicts)[0]] if supports or contradicts else ""
        answered = {"why": f"The sources leave it {label}.", "quote": quote, "label": label}
        yield number, {**answered, "supports": supports, "contradicts": contradicts} if len(names) > 1 else answered


def _relevant(query: Words, text: Words) -> dict[str, Any]:
    label = "yes" if len(query & text) >= _THIRD * len(query) and query & text else "no"
    return {"why": "By the words it shares.", "label": label}


def _first_words(text: str) -> str:
    return " ".join(text.split(None, 6)[:6])


def _grade(rubric: dict[str, Any], item: dict[str, Any], words: dict[str, Words]) -> float:
    response = _content(words[item["response"]]) if "response" in item else frozenset()
    matched = frozenset().union(*(words[name] for field in item if field != "response" for name in _ids(item[field])))
    share = len(response & matched) / len(response) if response and matched else 0.5
    low: float = rubric["low"]
    high: float = rubric["high"]
    if "conversation" in item:  # whether a question is clear: all are
        return high
    grade = low + share * (high - low)
    return max(ceil(low), min(floor(high), round(grade))) if rubric["whole"] else max(low, min(high, round(grade, 2)))


def _ids(field: str | list[str]) -> list[str]:
    return [field] if isinstance(field, str) else field
