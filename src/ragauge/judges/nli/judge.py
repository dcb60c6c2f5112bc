"""A judge of entailment that is a model, run here."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ragauge.judges.nli.formats import FORM, ModelCard, TextPair, joint_premise, single_premise
from ragauge.judges.nli.scoring import ClassProbabilities, PairModel, PairScorer, Scored
from ragauge.questions import Entail, Question, topic
from ragauge.types import Answer, ChunkVerdict, Failure, Identity, Label, Verdict

_WEIGHTS = {Label.CONTRADICTED: 2, Label.ENTAILED: 1}


class _WindowVerdict(NamedTuple):
    """What one window says. chance: of its label. support: the probability that it entails the hypothesis."""

    label: Label
    chance: float
    support: float

    @property
    def weight(self) -> tuple[bool, float, bool]:
        """What asserts something weighs more, then what is more probable; support where both are alike."""
        asserts = self.label in _WEIGHTS
        return asserts, self.chance if asserts else self.support, self.label is Label.ENTAILED


def verdict_of_windows(card: ModelCard, windows: Sequence[ClassProbabilities]) -> ChunkVerdict:
    """The most probable support or contradiction of any window; neither, where none asserts anything or there is none.

    So a window that has nothing to do with the hypothesis, and looks to the model as if it might contradict it, does
    not outweigh one that surely supports it.
    """
    deciding = max((_said(card, chances) for chances in windows), key=lambda window: window.weight, default=None)
    return ChunkVerdict(deciding.label, deciding.support) if deciding else ChunkVerdict(_neither(card), 0.0)


def dispute(card: ModelCard, windows: Sequence[ClassProbabilities]) -> str | None:
    """That some windows support the hypothesis and others contradict it, and how surely; None where they do not."""
    each = [_said(card, chances) for chances in windows]
    surest = {label: max((one.chance for one in each if one.label is label), default=0.0) for label in _WEIGHTS}
    if not all(surest.values()):
        return None
    return (
        f"of {len(each)} windows of the premise, one supports it with {surest[Label.ENTAILED]:.2f} and one contradicts "
        f"it with {surest[Label.CONTRADICTED]:.2f}"
    )


def _said(card: ModelCard, chances: ClassProbabilities) -> _WindowVerdict:
    """The likeliest class; where two are as likely, the one that asserts less."""
    by_label = dict(zip(card.labels, chances, strict=True))
    label = max(by_label, key=lambda label: (by_label[label], -_WEIGHTS.get(label, 0)))
    return _WindowVerdict(label, by_label[label], by_label[Label.ENTAILED])


def _neither(card: ModelCard) -> Label:
    return Label.NEUTRAL if card.three_way else Label.NOT_ENTAILED


class NliJudge:
    """Answers questions of entailment with a published model; no other kind.

    name: as it was asked for. card: what the model is. load: opens the model, at the first question. settings: what
    else can change an answer, such as the type of its numbers.

    The chunks together are one premise, and each chunk is put by itself for its own label. A premise longer than the
    model's window is read in overlapping windows, of which the surest support or contradiction decides.
    """

    batch = 512

    def __init__(
        self, name: str, card: ModelCard, load: Callable[[], PairModel], settings: Sequence[tuple[str, str]] = ()
    ) -> None:
        self.card, self._load = card, load
        labels = ":".join(card.labels)
        known = (("revision", card.revision), ("family", card.family), ("labels", labels), ("window", str(card.window)))
        borrowed = (("tokenizer", card.tokenizer),) if card.tokenizer else ()
        self.identity = Identity(name, (*known, *borrowed, ("form", FORM), *settings))
        self.answers = frozenset({"entail" if card.three_way else "entail:support"})
        self._questions = 0
        self._scorer: PairScorer | None = None
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

    def _opened(self) -> PairScorer:
        if self._scorer is None:
            model = self._load()
            self._scorer, self._device = PairScorer(model), model.device
        return self._scorer

    def _answer(self, question: Question, scores: dict[TextPair, Scored]) -> Answer | Failure:
        if not isinstance(question, Entail):
            reason = f"{self.identity.name} answers questions of entailment, not {topic(question)}; ask another judge"
            return Failure("unanswerable", reason)
        if not question.hypothesis.strip():
            return Failure("unanswerable", "the hypothesis is empty, and nothing can be said of it")
        fault = next((found for pair in _pairs(question) if isinstance(found := scores[pair], str)), None)
        if fault:
            return Failure("judge_error", fault)
        windows, *each = [_windows(pair, scores) for pair in (joint_premise(question), *single_premise(question))]
        whole, chunks = (
            verdict_of_windows(self.card, windows),
            tuple(verdict_of_windows(self.card, one) for one in each),
        )
        return Verdict(whole.label, whole.probability, chunks, rationale=dispute(self.card, windows))


def _windows(pair: TextPair, scores: dict[TextPair, Scored]) -> Sequence[ClassProbabilities]:
    found = scores.get(pair, ())
    return () if isinstance(found, str) else found


def _pairs(question: Entail) -> list[TextPair]:
    """What is put to the model: nothing where there is no hypothesis, and no premise that is blank."""
    if not question.hypothesis.strip():
        return []
    return [pair for pair in (joint_premise(question), *single_premise(question)) if pair[0]]
