"""The judge that puts questions to a decisions endpoint."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ragauge.judges.desk import Desk, Expected
from ragauge.judges.llm.calls import Tempo, Transport
from ragauge.judges.llm.decisions import wording
from ragauge.judges.llm.decisions.asks import Ask, Sheet
from ragauge.judges.llm.decisions.dialects import Dialect
from ragauge.judges.llm.decisions.hearing import Hearing, is_too_long, usage_of
from ragauge.judges.llm.decisions.messages import digest, request
from ragauge.judges.llm.model_judge import ModelJudge
from ragauge.judges.llm.prices import Price
from ragauge.questions import Question, kind
from ragauge.types import Answer, Failure, Identity


class DecisionsJudge(ModelJudge):
    """A judge whose answers are the probabilities of a decisions endpoint; it cannot take texts apart.

    transport: to the endpoint, as `DecisionsTransport`. dialect: the protocol that the server speaks. model: as the
    server knows it. price: for what requests cost; None where it is not known.
    """

    answers = frozenset({"entail", "relevant", "classify", "rate"})
    by_sample = 256

    def __init__(self, transport: Transport, dialect: Dialect, model: str, price: Price | None = None) -> None:
        super().__init__(transport, price)
        self._dialect, self._model = dialect, model
        settings = (("dialect", dialect.name), ("wording", digest(dialect)), *transport.settings)
        self.identity = Identity(f"decisions:{transport.name}", settings)

    async def consult(self, questions: Sequence[Question], desk: Desk) -> list[Answer | Failure]:
        """Answers with probabilities, in as few requests as the protocol allows."""
        heard = await Hearing(self._line, self._dialect, self._model, desk).ask(questions)
        return [_mended(question, heard[question]) for question in questions]

    def expect(self, questions: Sequence[Question]) -> list[Expected]:
        """The requests that would ask these questions, if every reply were good; nothing is sent."""
        sheet = Sheet()
        asks, most = sheet.take(questions), self._dialect.most
        return [self._expected(sheet, asks[start : start + most]) for start in range(0, len(asks), most)]

    def _expected(self, sheet: Sheet, asks: Sequence[Ask]) -> Expected:
        tokens = usage_of(self._line, request(self._dialect, self._model, sheet.sources, asks))
        cost = self.price.of(tokens) if self.price else None
        seconds = Tempo().seconds(tokens.prompt, tokens.completion)
        return Expected(sheet.askers(asks), tokens.prompt, tokens.completion, cost, seconds)


def _mended(question: Question, answer: Answer | Failure) -> Answer | Failure:
    """The answer; where it is a failure for length, that says how to mend it."""
    if not (isinstance(answer, Failure) and is_too_long(answer)):
        return answer
    return msgspec.structs.replace(answer, detail=f"{answer.detail}; {wording.TOO_LONG.format(kind(question))}")
