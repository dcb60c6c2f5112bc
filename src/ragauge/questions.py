"""Floor 1: the five kinds of question, the narrow waist between metrics and judges."""

from __future__ import annotations

import hashlib
from functools import lru_cache

import msgspec

from ragauge.nouns.answers import Answer, Failure
from ragauge.nouns.identity import Identity
from ragauge.rubrics import Rubric


class Decompose(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag="decompose", tag_field="kind"):
    """Take `text` apart into statements, read as an answer to `query` where there is one."""

    text: str
    query: str | None = None


class Entail(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag="entail", tag_field="kind"):
    """Does `hypothesis` follow from the chunks of `premise` together? Does each support or contradict it?

    query: what the hypothesis answers, so that a fragment ("Six days.") can be read as a full statement.
    """

    premise: tuple[str, ...]
    hypothesis: str
    query: str | None = None


class Relevant(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag="relevant", tag_field="kind"):
    """Does any part of `text` help to answer `query` (with a reference: to produce that reference)?"""

    query: str
    text: str
    reference: str | None = None


class Classify(msgspec.Struct, frozen=True, gc=False, tag="classify", tag_field="kind"):
    """Does the opinion in `text` carry `trait` ("biased" or "toxic")?"""

    text: str
    trait: str


class Rate(msgspec.Struct, frozen=True, gc=False, tag="rate", tag_field="kind"):
    """Grade `texts`, pairs of (field, text) in the rubric's order, on the scale of `rubric`."""

    rubric: Rubric
    texts: tuple[tuple[str, str], ...]


_encode = msgspec.json.Encoder().encode

Question = Decompose | Entail | Relevant | Classify | Rate

_KINDS = {Decompose: "decompose", Entail: "entail", Relevant: "relevant", Classify: "classify", Rate: "rate"}

KINDS = tuple(_KINDS.values())


def kind(question: Question) -> str:
    """The kind of a question, one of KINDS."""
    return _KINDS[type(question)]


def topic(question: Question) -> str:
    """The kind with what narrows it: "classify:toxic", "rate:coherence", or the kind alone."""
    if isinstance(question, Classify):
        return f"classify:{question.trait}"
    if isinstance(question, Rate):
        return f"rate:{question.rubric.name}"
    return kind(question)


def judgment_key(question: Question, judge: Identity) -> str:
    """The content address of a judgment: a hash of the question's texts and the judge's identity (32 hex digits)."""
    digest = _begun(judge).copy()
    digest.update(_encode(question))
    return digest.hexdigest()[:32]


@lru_cache(maxsize=64)
def _begun(judge: Identity) -> hashlib._Hash:
    return hashlib.sha256(_encode(judge))


class Judgment(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A question, its answer (or why there is none), and who answered. `key` addresses it in the store.

    call: the id of the call to a model that brought the answer, for judges that make calls. Judgments of one call were
    asked together, in one pack.
    """

    question: Question
    answer: Answer | Failure
    judge: Identity
    key: str
    call: str = ""
