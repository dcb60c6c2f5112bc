"""Floor 1: rubrics, the scales on which a judge grades texts."""

from __future__ import annotations

import hashlib
import math

import msgspec

from ragauge.errors import BadParameter, UnknownName

#: What a rubric may read: fields of a sample that are texts, or "chunk".
GRADED = ("query", "response", "contexts", "references", "source", "reference_contexts", "chunk")


class Rubric(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is graded and how.

    name: unique; judges say "rate:<name>" for what they can grade. fields: the sample's fields it reads, in order;
    "chunk" stands for one context at a time. low, high: the scale. whole: whole numbers only.
    wording: what the ends and the steps of the scale mean, for judges that read.
    Raises UnknownName for a field that is no text of a sample, BadParameter for no field and for a scale upside down.
    """

    name: str
    fields: tuple[str, ...]
    low: float
    high: float
    wording: str
    whole: bool = False

    def __post_init__(self) -> None:
        if not self.fields or not -math.inf < self.low < self.high < math.inf:
            raise BadParameter(f"rubric {self.name!r} needs at least one field, and finite numbers low < high")
        for field in self.fields:
            if field not in GRADED:
                raise UnknownName(f"field of rubric {self.name!r}", field, GRADED)
        # 1 and 1.0 are written differently in JSON, and a question is known by what is written.
        msgspec.structs.force_setattr(self, "low", float(self.low))
        msgspec.structs.force_setattr(self, "high", float(self.high))

    @property
    def digest(self) -> str:
        """A short hash of all that the rubric says, which tells apart rubrics of one name."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:8]


COHERENCE = Rubric(
    name="coherence",
    fields=("source", "response"),
    low=1,
    high=5,
    whole=True,
    wording=(
        "How well does the summary hold together as a whole, and does it cover the key points of the source? "
        "5: every key point is there and each sentence leads to the next. 3: some key points are missing, or the "
        "order is hard to follow. 1: unrelated sentences, or none of the key points."
    ),
)

TOPICAL_MATCH = Rubric(
    name="topical_match",
    fields=("query", "response"),
    low=0,
    high=1,
    wording="Is the response about what was asked? 1: exactly. 0.7: mostly. 0.4: partly. 0: about something else.",
)

COMPLETENESS = Rubric(
    name="completeness",
    fields=("query", "response"),
    low=0,
    high=1,
    wording="Does the response deal with every part of the query? 1: all of it. 0.7: most. 0.4: some. 0: none.",
)

CONCISENESS = Rubric(
    name="conciseness",
    fields=("query", "response"),
    low=0,
    high=1,
    wording="Is the response free of what nobody asked for? 1: wholly. 0.7: mostly. 0.4: partly. 0: hardly at all.",
)

CHUNK_UTILITY = Rubric(
    name="chunk_utility",
    fields=("query", "chunk"),
    low=0,
    high=1,
    wording=(
        "How useful is the chunk for answering the query? 1: it answers it. 0.8: it holds most of the answer. "
        "0.6: a good part. 0.4: background that helps. 0.2: barely related. 0: of no use."
    ),
)

REFUSAL = Rubric(
    name="refusal",
    fields=("query", "response"),
    low=0,
    high=1,
    whole=True,
    wording=(
        "Does the response decline to answer the query? 1: all it says is that it has no answer, or that the documents "
        "hold none, whatever else it offers instead. 0: it answers the query, if only in part."
    ),
)
