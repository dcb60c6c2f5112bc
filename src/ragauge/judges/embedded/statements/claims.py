"""Claims: a clause as the statements that it makes, as far as they can be told apart without a parser."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ragauge.judges.embedded.statements.adjuncts import apart
from ragauge.judges.embedded.statements.appositions import apposition
from ragauge.judges.embedded.statements.asides import asides
from ragauge.judges.embedded.statements.coordination import coordinated
from ragauge.judges.embedded.statements.drafts import Draft
from ragauge.judges.embedded.statements.predicatives import told_apart
from ragauge.judges.embedded.statements.relatives import relative

_LONGEST = 100
_STEPS: tuple[Callable[[Draft], list[Draft]], ...] = (coordinated, told_apart, apart)


def claims(clause: Draft) -> list[Draft]:
    """The statements of a clause, in the order in which their spans begin; the clause itself where it makes but one.

    Asides ("Ann, a painter, ...") become statements, and so does each verb phrase, noun phrase of what something is,
    and the place and the time of an event. Each has the subject, and what is put in ("is", "was", "'s").

    Spans: that of a clause with asides is the whole clause, and those of the asides lie within it; all others are
    apart and together hold the clause.
    """
    if len(clause.words) > _LONGEST:
        return [clause]
    found = [*_without_asides(clause)]
    for step in _STEPS:
        found = [part for draft in found for part in step(draft)]
    return sorted(found, key=lambda draft: (draft.span[0], -draft.span[1]))


def _without_asides(clause: Draft) -> Iterator[Draft]:
    for aside in asides(clause.words):
        said = relative(aside) or apposition(aside)
        if said:
            end = clause.span[1] if aside.last else aside.words[-1].end
            yield from _without_asides(Draft(clause.span, aside.main))
            yield Draft((aside.words[0].start, end), said)
            return
    yield clause
