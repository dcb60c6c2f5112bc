"""The judge in the wheel: on the CPU, offline, with no model to fetch, and the same answer every time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import MappingProxyType
from typing import Protocol

from ragauge.judges.embedded.lexical import Lexical
from ragauge.judges.embedded.statements import decompose
from ragauge.nouns.answers import Answer, Decomposition, Failure, Verdict
from ragauge.nouns.identity import Identity
from ragauge.questions import Decompose, Entail, Question, Relevant, topic
from ragauge.text.sentences import splitter

_RULES = "5"  # raised with every change that can change an answer
_BREATH = 32  # questions between two moments in which others may run


class Heart(Protocol):
    """What gives the verdicts. A trained model takes the place of `Lexical` here."""

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """Everything that can change a verdict, as pairs of name and value."""
        ...

    def entail(self, premise: Sequence[str], hypothesis: str, query: str | None) -> Verdict:
        """The verdict on `hypothesis`: over all texts of `premise` together, and one for each in their order."""
        ...

    def relevant(self, query: str, text: str, reference: str | None) -> Verdict:
        """Whether any part of `text` helps to answer `query`, or to produce `reference`."""
        ...


class EmbeddedJudge:
    """Takes texts apart and judges entailment (three-way) and relevance by rules, rare words and a small fitted layer.

    It grades nothing and classifies nothing: those kinds are not in `answers`.

    threshold: the confidence, by kind, from which its word stands in a cascade that is given none. Fitted by
    `ragauge judges fit` on 9,687 pairs of the training data whose premises had no part in fitting the judge: from 0.96
    on 92.8 % of its verdicts on support were right (at least 91.6 %), which was a sixth of them. On relevance there
    were no labels to fit one.
    """

    answers = frozenset({"decompose", "entail", "relevant"})
    threshold = MappingProxyType({"entail": 0.96})

    def __init__(self, heart: Heart | None = None) -> None:
        self._heart = heart or Lexical()
        self.identity = Identity("embedded", (("rules", _RULES), ("splitter", splitter()), *self._heart.settings))

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """The answers in the order of the questions; a kind it does not answer gives a Failure."""
        answers: list[Answer | Failure] = []
        for count, question in enumerate(questions):
            if count % _BREATH == 0:
                await asyncio.sleep(0)
            answers.append(self._answer(question))
        return answers

    def _answer(self, question: Question) -> Answer | Failure:
        match question:
            case Decompose(text, query):
                return Decomposition(decompose(text, query))
            case Entail(premise, hypothesis, query):
                return self._heart.entail(premise, hypothesis, query)
            case Relevant(query, text, reference):
                return self._heart.relevant(query, text, reference)
        return Failure("unanswerable", f"the embedded judge does not answer {topic(question)}; ask another judge")
