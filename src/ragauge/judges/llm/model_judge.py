"""What judges that ask a model have in common: a line to it, which they open and close, and what its calls cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from ragauge.judges.desk import Consulting
from ragauge.judges.llm.calls import Transport
from ragauge.judges.llm.line import Line
from ragauge.judges.llm.prices import Price
from ragauge.types import Failure


class ModelJudge(Consulting):
    """A judge that asks a model. Subclasses say in `consult` what they send it, and what they make of its replies."""

    def __init__(self, transport: Transport, price: Price | None) -> None:
        self._line = Line(transport, price)

    @property
    def price(self) -> Price | None:
        """What its calls cost; None where that is not known."""
        return self._line.price

    @property
    def ended(self) -> Failure | None:
        """Why it cannot answer any more, once that is so; None again when it is opened anew."""
        return self._line.ended

    def notes(self) -> Sequence[str]:
        """What the transport has to say of how its calls went since it was opened; nothing where it says nothing."""
        notes = getattr(self._line.transport, "notes", None)
        return notes() if notes else ()

    async def __aenter__(self) -> Self:
        """Open the line, unless it is open. Raises UsageError where something is missing, such as a key."""
        await self._line.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._line.__aexit__(*exc)
