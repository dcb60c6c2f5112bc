"""The bench: which judge answers which kind of question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ragauge.errors import BadParameter, UnknownName
from ragauge.judges.judge import Judge
from ragauge.needs.base import answerable
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
        self._by_topic: dict[str, Judge | None] = {}

    def can(self, topic: str) -> bool:
        """Whether somebody answers `topic`, such as "decompose", "entail:contradiction" or "rate:coherence"."""
        judge = self._judge(topic)
        return judge is not None and answerable(topic, judge.answers)

    @property
    def judges(self) -> dict[str, Judge]:
        """The judges by what they were named for."""
        return dict(self._by_kind)

    def unique(self) -> list[Judge]:
        """Each judge once."""
        return list({id(judge): judge for judge in self._by_kind.values()}.values())

    def judge_of(self, question: Question) -> Judge | None:
        """Who answers a question; None where nobody was named for its kind."""
        return self._judge(topic(question))

    def shared(self, questions: Iterable[Question]) -> list[tuple[Judge | None, list[Question]]]:
        """The questions by who answers them; None for those of kinds that nobody was named for."""
        groups: dict[int, tuple[Judge | None, list[Question]]] = {}
        for question in questions:
            judge = self.judge_of(question)
            groups.setdefault(id(judge), (judge, []))[1].append(question)
        return list(groups.values())

    def _judge(self, topic: str) -> Judge | None:
        if topic not in self._by_topic:
            keys = (topic, topic.partition(":")[0], "*")
            self._by_topic[topic] = next((self._by_kind[key] for key in keys if key in self._by_kind), None)
        return self._by_topic[topic]
