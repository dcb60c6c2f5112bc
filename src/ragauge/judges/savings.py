"""What a cascade saved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ragauge.judges.desk import Expected


class Savings:
    """Counts the questions of a cascade, and the calls of its second judge that were not made.

    asked: questions in all. up: those that the second answered. unsure: those of them that the first had answered, but
    not surely enough, or had failed at. calls, dollars: by how much fewer and cheaper the second's calls were than for
    all questions, by its own estimate; dollars is None where it does not know its price.
    """

    def __init__(self) -> None:
        self.asked = self.up = self.unsure = self.calls = 0
        self.dollars: float | None = 0.0

    def add(
        self, asked: int, up: int, unsure: int, without: Sequence[Expected] = (), now: Sequence[Expected] = ()
    ) -> None:
        """Count one wave. without, now: the calls there would have been for all of it, and those there were."""
        self.asked += asked
        self.up += up
        self.unsure += unsure
        self.calls += len(without) - len(now)
        costs, paid = [call.cost for call in without], [call.cost for call in now]
        if self.dollars is None or None in costs or None in paid:
            self.dollars = None
        else:
            self.dollars += sum(filter(None, costs)) - sum(filter(None, paid))

    def notes(self, cascade: str, second: str) -> Iterator[str]:
        """Sentences for those who read the run."""
        if not self.asked:
            return
        share = f"{self.up} of {self.asked} questions ({self.up / self.asked:.0%}) went up to {second}"
        yield f"{cascade}: {share}, {self.unsure} of them because the first judge was not sure enough or failed."
        saved = self.asked - self.up
        if saved:
            price = "" if not self.dollars else f" and ${self.dollars:.2g}"
            calls = f", which saved about {self.calls} of its calls{price}" if self.calls or price else ""
            yield f"{cascade}: {saved} questions were not asked of {second}{calls}."
