"""The bench: which judge answers which kind of question."""

from __future__ import annotations

from collections.abc import Mapping

from ragauge.errors import BadParameter, UnknownName
from ragauge.judges.judge import Judge
from ragauge.needs.need import answerable
from ragauge.questions import KINDS, Question, topic

#: The kinds of which one topic can go to a judge of its own.
NARROWED = ("classify", "rate")


class Bench:
    """One judge for everything, or several that share the work by kind.

    Keys of `by_kind` are kinds, or topics such as "classify:toxic", which go before their kind. "*" is everything
    that no other key names.
    """

    def __init__(self, by_kind: Mapping[str, Judge]) -> None:
        for key in by_kind:
            kind, narrowed, _ = key.partition(":")
            if kind not in (NARROWED if narrowed else (*KINDS, "*")):
                raise UnknownName("kind of question", key, [*KINDS, "*"])
        if not by_kind:
            raise BadParameter("a judge by kind needs at least one kind, such as {'entail': ...}")
        self._by_kind = dict(by_kind)

    def can(self, topic: str) -> bool:
        """Whether somebody answers `topic`, such as "decompose", "entail:contradiction" or "rate:coherence"."""
        judge = self._judge(topic)
        return judge is not None and answerable(topic, judge.answers)

    @property
    def judges(self) -> dict[str, Judge]:
        """The judges by what they were named for."""
        return dict(self._by_kind)

    def judge_of(self, question: Question) -> Judge | None:
        """Who answers a question; None where nobody was named for its kind."""
        return self._judge(topic(question))

    def _judge(self, topic: str) -> Judge | None:
        keys = (topic, topic.partition(":")[0], "*")
        return next((self._by_kind[key] for key in keys if key in self._by_kind), None)
