"""Questions about the weather, which every family has to answer alike."""

from __future__ import annotations

import asyncio

import ragauge as rg
from ragauge.questions import Entail
from ragauge.types import Label, Verdict

#: Two chunks that support the claim only together.
TOGETHER = Entail(("rain here monday .", "friday wind north ."), "wet monday and gusty friday .")

#: One chunk that supports the claim, and one that contradicts it.
DISPUTED = Entail(("rain here .", "north dry ."), "wet .")

_FAR = " ".join(f"{word} today here north later ." for word in ("here", "north", "later", "today") * 8)

#: Support and contradiction windows apart, in one chunk.
DISPUTED_WITHIN = Entail((f"rain here . {_FAR} {_FAR} {_FAR} north dry .",), "wet .")

#: The support at the very end of a premise of many windows.
AT_THE_END = Entail((f"{_FAR} {_FAR} rain .",), "wet .")


def verdicts(judge: rg.judges.Judge, *questions: Entail) -> list[Verdict]:
    """The judge's verdicts."""
    answers = asyncio.run(judge.answer(questions))
    return [answer for answer in answers if isinstance(answer, Verdict)]


def check_joint_support(judge: rg.judges.Judge) -> None:
    """Together the chunks support the claim, alone neither does."""
    (verdict,) = verdicts(judge, TOGETHER)
    assert verdict.label == Label.ENTAILED
    assert [chunk.label for chunk in verdict.chunks] == [neither(judge)] * 2


def check_dispute(judge: rg.judges.Judge) -> None:
    """One chunk supports and the other does not, or contradicts where the judge can tell; and so the whole.

    The most certain verdict within a chunk is its label.
    """
    (verdict,) = verdicts(judge, DISPUTED)
    against = Label.CONTRADICTED if "entail" in judge.answers else Label.NOT_ENTAILED
    assert [chunk.label for chunk in verdict.chunks] == [Label.ENTAILED, against]
    assert verdict.label == against
    (within,) = verdicts(judge, DISPUTED_WITHIN)
    assert within.label in ((Label.ENTAILED,) if against is Label.NOT_ENTAILED else (Label.ENTAILED, against))


def check_the_end_is_read(judge: rg.judges.Judge) -> None:
    """What stands at the end of a premise of many windows counts."""
    (verdict,) = verdicts(judge, AT_THE_END)
    assert verdict.label == Label.ENTAILED
    assert [chunk.label for chunk in verdict.chunks] == [Label.ENTAILED]


def neither(judge: rg.judges.Judge) -> Label:
    """What the judge says where nothing follows."""
    return Label.NEUTRAL if "entail" in judge.answers else Label.NOT_ENTAILED
