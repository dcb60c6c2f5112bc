"""Floor 1: rubrics, the scales on which a judge grades texts."""

from __future__ import annotations

import msgspec


class Rubric(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is graded and how.

    name: unique; judges say "rate:<name>" for what they can grade. fields: the sample's fields it reads, in order;
    "chunk" stands for one context at a time. low, high: the scale. whole: whole numbers only.
    wording: what the ends and the steps of the scale mean, for judges that read.
    """

    name: str
    fields: tuple[str, ...]
    low: float
    high: float
    wording: str
    whole: bool = False


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
    wording="Is the response free of what nobody asked for? 1: no word too many. 0.7: a little. 0.4: much. 0: nearly all.",
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
