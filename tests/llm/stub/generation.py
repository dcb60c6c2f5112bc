"""The model as a system under test: answers a question from documents, or declines.

The answer is the sentence that shares most of the question's longer words, with its document's number; where it shares
fewer than half of them, the answer is the refusal that the instructions name. It takes no order from a document.
Without documents it knows nothing. Of passages it asks what their first sentences say, or something that is nowhere.
"""

from __future__ import annotations

import re
from typing import Any
from zlib import crc32

import msgspec
from tests.llm.stub.asks import Ask

_SENTENCE = re.compile(r"[^.!?]+[.!?]")
_WORD = re.compile(r"\w{4,}")
_REFUSAL = re.compile(r"this sentence alone[^\n]*:\s+(.+)")
_COMMON = frozenset("does from have many much that this were what when where which with".split())


def reply(ask: Ask) -> str:
    """The answer, as JSON; "" where the call asks for none."""
    document = _document(ask.user[0]) if ask.user else {}
    if not document:
        return ""
    if "passages" in document:
        return msgspec.json.encode(_draft(document["passages"])).decode()
    if "documents" not in document:
        return msgspec.json.encode({"answer": "I do not know."}).decode()
    refusal = _REFUSAL.search(ask.system)
    answer, share = _best(document)
    if share < 0.5 and refusal:
        answer = refusal[1]
    return msgspec.json.encode({"answer": answer}).decode()


def _document(text: str) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(text) if text.startswith("{") else None
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) and {"question", "passages"} & found.keys() else {}


def _draft(passages: dict[str, str]) -> dict[str, str]:
    """Texts under all names that a question may be wanted under."""
    texts = [text.partition("\n")[2] or text for text in passages.values()]
    said = [" ".join((_SENTENCE.findall(text) or [text])[0].split()) for text in texts]
    question, answer = f"What about this: {said[0][:-1]}?", " ".join(said[:2])
    nowhere = f"How many zebras grazed near Quarx{crc32(said[0].encode()) % 1000}?"
    earlier = {"earlier_question": question, "earlier_answer": said[0], "standalone": question}
    draft = {"question": question, "answer": answer, "missing": "zebras"}
    return draft | ({"question": nowhere} if len(said) > 2 else earlier)


def _best(document: dict[str, Any]) -> tuple[str, float]:
    """A sentence with its citation, and the share of the question's words that it and its title have."""
    asked = _words(document["question"])
    best, most = "Nothing is known.", 0.0
    for number, source in document["documents"].items():
        for sentence in _SENTENCE.findall(source["text"]):
            share = len(asked & _words(f"{source.get('title', '')} {sentence}")) / max(1, len(asked))
            if share > most:
                best, most = f"{sentence.strip()[:-1]} [{number}].", share
    return best, most


def _words(text: str) -> frozenset[str]:
    return frozenset(word[:6] for word in _WORD.findall(text.lower())) - _COMMON
