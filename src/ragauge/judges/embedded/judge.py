"""The packaged judge: on the CPU, offline, without a model to fetch, and with the same answer every time."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Protocol

from ragauge.judges.embedded.encoder import encoder, fingerprint
from ragauge.judges.embedded.layer import text_of
from ragauge.judges.embedded.lexical import Lexical
from ragauge.judges.embedded.relevance import relevance
from ragauge.judges.embedded.statements import decompose
from ragauge.judges.embedded.support import Support
from ragauge.judges.embedded.toxicity import toxicities
from ragauge.questions import Classify, Decompose, Entail, Question, Relevant, topic
from ragauge.text.sentences import splitter
from ragauge.types import Answer, Decomposition, Failure, Identity, Label, Verdict

_VERSION = "14"  # raised with every change that can change an answer
_YIELD_EVERY = 32  # questions between two moments in which other tasks may run


class Backend(Protocol):
    """What gives the verdicts: `Trained`, or `Lexical` for words alone."""

    answers: frozenset[str]

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """Everything that can change a verdict, as pairs of name and value."""
        ...

    def prepare(self, questions: Sequence[Question]) -> Iterator[None]:
        """Do what is faster for several questions at once, in steps."""
        ...

    def verdict(self, question: Question) -> Verdict | None:
        """The verdict on a question; None for a kind that it does not answer."""
        ...


class Trained:
    """Answers with the packaged encoder, which is opened with the first question that needs it."""

    answers = frozenset({"entail", "relevant", "classify:toxic"})

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """Hashes of the tables, of the encoder and of the layers."""
        layers = hashlib.sha256("".join(map(text_of, ("support", "toxicity"))).encode()).hexdigest()[:12]
        return (*Lexical().settings, ("encoder", fingerprint()), ("layers", layers))

    @cached_property
    def support(self) -> Support:
        """What answers questions of entailment."""
        return Support(encoder())

    def prepare(self, questions: Sequence[Question]) -> Iterator[None]:
        """Read what questions of entailment need, in steps."""
        asked = [question for question in questions if isinstance(question, Entail)]
        return self.support.prepare(asked) if asked else iter(())

    def verdict(self, question: Question) -> Verdict | None:
        """The verdict on a question of entailment, relevance or toxicity; None for others."""
        match question:
            case Entail():
                return self.support.verdict(question)
            case Relevant():
                return relevance(question, encoder(), self.support)
            case Classify(text, "toxic"):
                [probability] = toxicities([text], encoder())
                return Verdict(Label.YES if probability >= 0.5 else Label.NO, round(probability, 4))
        return None


class EmbeddedJudge:
    """Takes texts apart by rules; judges entailment (three-way), relevance and toxicity by a small model and by words.

    It grades nothing and knows no bias: these are not in `answers`.

    threshold: the confidence, by kind, from which its word stands in a cascade that is given none. `ragauge judges fit`
    found it for words alone, on pairs of the training data that had no part in fitting them; fit one on labels of your
    own where much depends on it. On relevance there were no labels to fit one.

    name: what it is called; "lexical" is the one with the `Lexical` heart.
    """

    threshold = MappingProxyType({"entail": 0.96})
    batch = 128  # questions at once: claims about one passage are read together

    def __init__(self, backend: Backend | None = None, name: str = "embedded") -> None:
        self._backend = backend or Trained()
        self.answers = frozenset({"decompose", *self._backend.answers})
        self.identity = Identity(name, (("version", _VERSION), ("splitter", splitter()), *self._backend.settings))

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """The answers in the order of the questions; a kind it does not answer gives a Failure."""
        for _ in self._backend.prepare(questions):
            await asyncio.sleep(0)
        answers: list[Answer | Failure] = []
        for count, question in enumerate(questions):
            if count % _YIELD_EVERY == 0:
                await asyncio.sleep(0)
            answers.append(self._answer(question))
        return answers

    def _answer(self, question: Question) -> Answer | Failure:
        if isinstance(question, Decompose):
            return Decomposition(decompose(question.text, question.query))
        found = self._backend.verdict(question)
        if found is not None:
            return found
        return Failure(
            "unanswerable", f"the {self.identity} judge does not answer {topic(question)}; ask another judge"
        )
