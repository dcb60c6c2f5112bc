"""The LLM judge: all that a sample asks in a wave in as few calls as it fits in, each reply checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Self

from ragauge.errors import BadParameter
from ragauge.judges.desk import Desk, Expected
from ragauge.judges.llm import layout
from ragauge.judges.llm.calls import Tempo, Transport
from ragauge.judges.llm.manner import Fit, Manner, room
from ragauge.judges.llm.model_judge import ModelJudge
from ragauge.judges.llm.packing import Pack
from ragauge.judges.llm.prices import Price
from ragauge.judges.llm.prompts import Style
from ragauge.judges.llm.wave import Wave
from ragauge.questions import KINDS, Question
from ragauge.types import Answer, Failure, Identity

Packing = Literal["together", "alone"]


class LLMJudge(ModelJudge):
    """Answers questions of every kind with a language model.

    transport: carries prompts to the model. price: for what calls cost; None where it is not known. rationales:
    whether verdicts and grades come with a short reason. quotes: whether verdicts come with the words of the text that
    decide, as a span. pack: "together" puts all questions of a sample's wave into as few calls as they fit in, "alone"
    asks one question a call. context: tokens of the model's window, where it is small; longer texts are judged in
    parts. width: how many samples a run works on at once, to have calls ready whenever the transport has room for one.
    tempo: how fast calls may follow each other, for estimates.

    Use it as an asynchronous context manager to keep connections open from one `answer` to the next; a run does.
    """

    answers = frozenset(KINDS)

    def __init__(
        self,
        transport: Transport,
        *,
        price: Price | None = None,
        rationales: bool = True,
        quotes: bool = False,
        pack: Packing = "together",
        context: int | None = None,
        width: int = 256,
        tempo: Tempo | None = None,
    ) -> None:
        if pack not in ("together", "alone"):
            raise BadParameter(f"pack={pack!r} must be 'together' or 'alone'")
        super().__init__(transport, price)
        self._manner = Manner(room(context), pack == "alone", Style(rationales, quotes))
        self._fit = Fit(self._manner)
        self.tempo = tempo or Tempo()
        self.by_sample = width
        self.identity = Identity(transport.name, (*transport.settings, *self._manner.settings))

    def notes(self) -> list[str]:
        """How often calls were tried again and waited since it was opened, and of how many the tokens are estimated."""
        notes = list(super().notes())
        if self._line.estimated:
            notes.append(
                f"{self.identity.name}: tokens and price of {self._line.estimated} calls are estimates, since the "
                "server counted none or too few; if it cuts long prompts to its window, say how large that is with "
                "context="
            )
        return notes

    async def __aenter__(self) -> Self:
        """As any judge that asks a model; what was learned of the size of its window is forgotten."""
        await super().__aenter__()
        if self._line.entered == 1:
            self._fit.forget()
        return self

    async def consult(self, questions: Sequence[Question], desk: Desk) -> list[Answer | Failure]:
        """The answers of one wave."""
        wave = Wave(self._line, self._fit, desk)
        await wave.ask(questions)
        return [wave.answers[question] for question in questions]

    def expect(self, questions: Sequence[Question]) -> list[Expected]:
        """The calls that would ask these questions, if every reply were good; nothing is sent."""
        calls, splits = self._manner.calls(questions)
        wholes = {part: question for question, parted in splits.items() for part in parted.parts}
        return [self._expected(pack, wholes) for pack in calls]

    def _expected(self, pack: Pack, wholes: Mapping[Question, Question]) -> Expected:
        tokens = self._line.expected(pack, layout.prompt(pack, self._manner.style), self._manner.style)
        cost = self._line.price.of(tokens) if self._line.price else None
        questions = list(dict.fromkeys(wholes.get(question, question) for question in pack.questions))
        seconds = self.tempo.seconds(tokens.prompt, tokens.completion)
        return Expected(questions, tokens.prompt, tokens.completion, cost, seconds)
