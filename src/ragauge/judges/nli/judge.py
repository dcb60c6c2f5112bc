"""A judge of entailment that is a model, run here."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence

from ragauge.judges.nli.card import Card
from ragauge.judges.nli.forms import FORM, Pair, alone, joint
from ragauge.judges.nli.scoring import Chances, Model, Scored, Scorer
from ragauge.judges.nli.verdicts import dispute, said
from ragauge.questions import Entail, Question, topic
from ragauge.types import Answer, Failure, Identity, Verdict


class NliJudge:
    """Answers questions of entailment with a published model; no other kind.

    name: as it was asked for. card: what the model is. load: opens the model, at the first question. settings: what
    else can change an answer, such as the type of its numbers.

    The chunks together are one premise, and each chunk is put by itself for its own label. A premise longer than the
    model's window is read in overlapping windows, of which the surest support or contradiction decides.
    """

    batch = 512

    def __init__(
        self, name: str, card: Card, load: Callable[[], Model], settings: Sequence[tuple[str, str]] = ()
    ) -> None:
        self.card, self._load = card, load
        labels = ":".join(card.labels)
        known = (("revision", card.revision), ("family", card.family), ("labels", labels), ("window", str(card.window)))
        borrowed = (("tokenizer", card.tokenizer),) if card.tokenizer else ()
        self.identity = Identity(name, (*known, *borrowed, ("form", FORM), *settings))
        self.answers = frozenset({"entail" if card.three_way else "entail:support"})
        self._questions = 0
        self._scorer: Scorer | None = None
        self._device = ""
        self._turn = threading.Lock()

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """The answers in the order of the questions; a kind it does not answer gives a Failure.

        The model works in a thread. Where the caller is cancelled, it stops after what it has begun.
        """
        stop = threading.Event()
        try:
            return await asyncio.to_thread(self._answered, questions, stop.is_set)
        finally:
            stop.set()

    def notes(self) -> list[str]:
        """How much the model read, and how fast."""
        scorer = self._scorer
        if scorer is None or not scorer.scored:
            return []
        long = f", {scorer.windowed} of the pairs in windows" if scorer.windowed else ""
        return [
            f"{self.identity.name}: {self._questions} questions came to {scorer.asked} pairs, for which the model read "
            f"{scorer.scored} texts{long}; {scorer.scored / scorer.seconds:.0f} a second on {self._device}."
        ]

    def _answered(self, questions: Sequence[Question], stopped: Callable[[], bool]) -> list[Answer | Failure]:
        pairs = {question: _pairs(question) for question in questions if isinstance(question, Entail)}
        with self._turn:
            try:
                scores = self._opened().scores([pair for each in pairs.values() for pair in each], stopped)
            except Exception as error:
                return [Failure("judge_error", f"{type(error).__name__}: {error}")] * len(questions)
        self._questions += len(pairs)
        return [self._answer(question, scores) for question in questions]

    def _opened(self) -> Scorer:
        if self._scorer is None:
            model = self._load()
            self._scorer, self._device = Scorer(model), model.device
        return self._scorer

    def _answer(self, question: Question, scores: dict[Pair, Scored]) -> Answer | Failure:
        if not isinstance(question, Entail):
            reason = f"{self.identity.name} answers questions of entailment, not {topic(question)}; ask another judge"
            return Failure("unanswerable", reason)
        if not question.hypothesis.strip():
            return Failure("unanswerable", "the hypothesis is empty, and nothing can be said of it")
        fault = next((found for pair in _pairs(question) if isinstance(found := scores[pair], str)), None)
        if fault:
            return Failure("judge_error", fault)
        windows, *each = [_windows(pair, scores) for pair in (joint(question), *alone(question))]
        whole, chunks = said(self.card, windows), tuple(said(self.card, one) for one in each)
        return Verdict(whole.label, whole.probability, chunks, rationale=dispute(self.card, windows))


def _windows(pair: Pair, scores: dict[Pair, Scored]) -> Sequence[Chances]:
    found = scores.get(pair, ())
    return () if isinstance(found, str) else found


def _pairs(question: Entail) -> list[Pair]:
    """What is put to the model: nothing where there is no hypothesis, and no premise that is blank."""
    if not question.hypothesis.strip():
        return []
    return [pair for pair in (joint(question), *alone(question)) if pair[0]]
