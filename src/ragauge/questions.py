"""Questions, whose kinds are in `ragauge.kinds`, and judgments, with their keys and the validation of answers."""

from __future__ import annotations

import hashlib
from functools import lru_cache

import msgspec

from ragauge.kinds import KIND_TYPES as KIND_TYPES
from ragauge.kinds import KINDS as KINDS
from ragauge.kinds import Classify as Classify
from ragauge.kinds import Correct as Correct
from ragauge.kinds import Decompose as Decompose
from ragauge.kinds import Entail as Entail
from ragauge.kinds import Question as Question
from ragauge.kinds import Rate as Rate
from ragauge.kinds import Relevant as Relevant
from ragauge.kinds.base import BaseQuestion
from ragauge.kinds.rate import CHUNK_UTILITY as CHUNK_UTILITY
from ragauge.kinds.rate import COHERENCE as COHERENCE
from ragauge.kinds.rate import COMPLETENESS as COMPLETENESS
from ragauge.kinds.rate import CONCISENESS as CONCISENESS
from ragauge.kinds.rate import REFUSAL as REFUSAL
from ragauge.kinds.rate import RUBRIC_FIELDS as RUBRIC_FIELDS
from ragauge.kinds.rate import TOPICAL_MATCH as TOPICAL_MATCH
from ragauge.kinds.rate import Rubric as Rubric
from ragauge.text.language import foreign
from ragauge.types import Answer, Failure, Identity

_encode = msgspec.json.Encoder().encode


def language(question: Question) -> str:
    """The language of a question: the first that one of its texts is evidently in, or else "en"."""
    return next(filter(None, map(foreign, question.language_texts())), "en")


def judgment_key(question: Question, judge: Identity) -> str:
    """The content address of a judgment: a hash of the question's texts and of the judge's identity (32 hex digits).

    Only settings that bear on questions of its kind count; see `identity_for`.
    """
    shared = question.shared_field
    if not shared:
        digest = _shared_hash(judge, question.kind, "", None).copy()
        digest.update(_encode(question))
    else:
        digest = _shared_hash(judge, question.kind, shared, getattr(question, shared)).copy()
        digest.update(b"," + _encode(question.unshared())[1:])
    return digest.hexdigest()[:32]


def identity_for(kind: str, judge: Identity) -> Identity:
    """A judge's identity as far as it bears on questions of a kind: "prompts.entail" in place of "prompts"."""
    prefixes = {name.removesuffix(kind) for name, _ in judge.settings if _kind_of_setting(name) == kind}
    settings = []
    for name, value in judge.settings:
        own = _kind_of_setting(name)
        if own == kind:
            settings.append((name.removesuffix(f".{kind}"), value))
        elif not own and f"{name}." not in prefixes:
            settings.append((name, value))
    return Identity(judge.name, tuple(settings))


def _kind_of_setting(name: str) -> str:
    """The kind that a setting is for, such as "prompts.entail", or "1.layers.correct" of a member; else ""."""
    stem, _, kind = name.rpartition(".")
    return kind if kind in KIND_TYPES and stem.rpartition(".")[2] in ("prompts", "layers", "rules") else ""


@lru_cache(maxsize=64)
def _shared_hash(judge: Identity, kind: str, field: str, texts: tuple[str, ...] | None) -> hashlib._Hash:
    """The hash of the beginning of many keys: the judge and, for shared texts, the kind and these texts."""
    if texts is None:
        return hashlib.sha256(_encode(identity_for(kind, judge)))
    digest = _shared_hash(judge, kind, "", None).copy()
    digest.update(_encode({"kind": kind, field: texts})[:-1])
    return digest


def invalid_reason(question: BaseQuestion, answer: Answer | Failure, in_full: bool = False) -> str | None:
    """The fault of an answer to a question, or None: spans outside texts, wrong labels, grades off the scale.

    in_full: whether it must have what people may leave out, a label of each of several chunks.
    """
    if not isinstance(answer, question.answer_type):
        return f"a {type(answer).__name__.lower()} does not answer a question of kind {question.kind!r}"
    return question.fault_of(answer, in_full)


class Judgment(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A question, its answer or failure, and the judge that answered.

    Args:
        key: its address in the store; see `judgment_key`.
        call: the id of the call to a model that produced the answer, if any; judgments of one call were asked in one
            pack.
    """

    question: Question
    answer: Answer | Failure
    judge: Identity
    key: str
    call: str = ""
