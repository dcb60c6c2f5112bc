"""The NLI judge: an entailment model that runs locally."""

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
    """The most probable class of one window, its probability, and that of entailment."""

    label: Label
    probability: float
    support: float


def _window_verdicts(card: ModelCard, windows: Sequence[ClassProbabilities]) -> list[_WindowVerdict]:
    """The verdict of each window; of classes that are equally probable it is the one that asserts less."""
    found = []
    for probabilities in windows:
        by_label = dict(zip(card.labels, probabilities, strict=True))
        label = max(by_label, key=lambda one: (by_label[one], -_WEIGHTS.get(one, 0)))
        found.append(_WindowVerdict(label, by_label[label], by_label[Label.ENTAILED]))
    return found


def verdict_of_windows(card: ModelCard, windows: Sequence[ClassProbabilities]) -> ChunkVerdict:
    """The most probable support or contradiction of any window; neither where no window has one.

    So an unrelated window that the model finds weakly contradicting does not outweigh one that clearly supports.
    """

    def weight(one: _WindowVerdict) -> tuple[bool, float, bool]:
        asserts = one.label in _WEIGHTS
        return asserts, one.probability if asserts else one.support, one.label is Label.ENTAILED

    if not windows:
        return ChunkVerdict(Label.NEUTRAL if card.three_way else Label.NOT_ENTAILED, 0.0)
    deciding = max(_window_verdicts(card, windows), key=weight)
    return ChunkVerdict(deciding.label, deciding.support)


def disagreement(card: ModelCard, windows: Sequence[ClassProbabilities]) -> str | None:
    """A sentence on windows of which some support the hypothesis and others contradict it; None where none do."""
    highest = dict.fromkeys(_WEIGHTS, 0.0)
    for one in _window_verdicts(card, windows):
        if one.label in highest:
            highest[one.label] = max(highest[one.label], one.probability)
    if not all(highest.values()):
        return None
    return (
        f"of {len(windows)} windows of the premise, one supports it with {highest[Label.ENTAILED]:.2f} and one "
        f"contradicts it with {highest[Label.CONTRADICTED]:.2f}"
    )


class NliJudge:
    """Answers entailment questions with a published model; no other kind.

    The chunks together are one premise, and each chunk is scored by itself for its own label. A premise longer than the
    model's window is read in overlapping windows, of which the most probable support or contradiction decides.

    Args:
        name: For the identity.
        load: Opens the model, at the first question.
        settings: What else can change an answer, such as the dtype.
    """

    batch = 512

    def __init__(
        self, name: str, card: ModelCard, load: Callable[[], PairModel], settings: Sequence[tuple[str, str]] = ()
    ) -> None:
        self.card, self._load = card, load
        labels = ":".join(card.labels)
        described = {"revision": card.revision, "family": card.family, "labels": labels, "window": str(card.window)}
        borrowed = {"tokenizer": card.tokenizer} if card.tokenizer else {}
        self.identity = Identity(name, (*described.items(), *borrowed.items(), ("form", FORM), *settings))
        self.answers = frozenset({"entail" if card.three_way else "entail:support"})
        self._questions = 0
        self._scorer: PairScorer | None = None
        self._device = ""
        self._lock = threading.Lock()

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """The answers in the order of the questions; a kind it does not answer gives a Failure.

        The model runs in a thread. Where the caller is cancelled, it stops after the batches in progress.
        """
        stop = threading.Event()
        try:
            return await asyncio.to_thread(self._answer_all, questions, stop.is_set)
        finally:
            stop.set()

    def notes(self) -> list[str]:
        """The number of texts that were scored, and the throughput."""
        scorer = self._scorer
        if scorer is None or not scorer.scored:
            return []
        long = f", {scorer.windowed} of the pairs in windows" if scorer.windowed else ""
        return [
            f"{self.identity.name}: {self._questions} questions came to {scorer.asked} pairs, for which the model read "
            f"{scorer.scored} texts{long}; {scorer.scored / scorer.seconds:.0f} a second on {self._device}."
        ]

    def _answer_all(self, questions: Sequence[Question], stopped: Callable[[], bool]) -> list[Answer | Failure]:
        pairs = {question: _pairs(question) for question in questions if isinstance(question, Entail)}
        with self._lock:
            try:
                if self._scorer is None:
                    model = self._load()
                    self._scorer, self._device = PairScorer(model), model.device
                scores = self._scorer.scores([pair for each in pairs.values() for pair in each], stopped)
            except Exception as error:
                return [Failure("judge_error", f"{type(error).__name__}: {error}")] * len(questions)
        self._questions += len(pairs)
        return [self._answer(question, scores) for question in questions]

    def _answer(self, question: Question, all_scores: dict[TextPair, Scored]) -> Answer | Failure:
        if not isinstance(question, Entail):
            reason = f"{self.identity.name} answers questions of entailment, not {topic(question)}; ask another judge"
            return Failure("unanswerable", reason)
        if not question.hypothesis.strip():
            return Failure("unanswerable", "the hypothesis is empty, so that there is nothing to judge")
        found = [all_scores[pair] if pair[0] else () for pair in _pairs(question, blank=True)]
        if fault := next((one for one in found if isinstance(one, str)), None):
            return Failure("judge_error", fault)
        windows = [one for one in found if not isinstance(one, str)]
        whole, *chunks = (verdict_of_windows(self.card, one) for one in windows)
        return Verdict(whole.label, whole.probability, tuple(chunks), rationale=disagreement(self.card, windows[0]))


def _pairs(question: Entail, *, blank: bool = False) -> list[TextPair]:
    """The pair of all chunks together and that of each; those with a blank text only where `blank` is asked for."""
    pairs = [joint_premise(question), *single_premise(question)]
    return [pair for pair in pairs if blank or (pair[0] and question.hypothesis.strip())]
