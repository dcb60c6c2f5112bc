"""The judge in the wheel: on the CPU, offline, with no model to fetch, and the same answer every time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import Protocol

from ragauge.judges.embedded.statements import decompose
from ragauge.judges.embedded.trained import Trained
from ragauge.questions import Decompose, Question, language, topic
from ragauge.text.sentences import splitter
from ragauge.types import Answer, Decomposition, Failure, Identity, Verdict

_RULES = "15"  # raised with every change that can change an answer
_BREATH = 32  # questions between two moments in which others may run


class Backend(Protocol):
    """What gives the verdicts: `Trained`, or `Lexical` where words alone are to tell."""

    answers: frozenset[str]

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """Everything that can change a verdict, as pairs of name and value."""
        ...

    def prepare(self, questions: Sequence[Question]) -> Iterator[None]:
        """Do what is quicker done for several questions at once, in steps."""
        ...

    def verdict(self, question: Question) -> Verdict | None:
        """The verdict on a question; None where it does not answer such."""
        ...


class EmbeddedJudge:
    """Takes texts apart by rules; judges entailment (three-way), relevance and toxicity by a small model and by words.

    It grades nothing and knows no bias: these are not in `answers`. Of other languages than English it splits texts,
    and abstains from verdicts.

    threshold: the confidence, by kind, from which its word stands in a cascade that is given none. It was found for
    words alone, on pairs of the training data that had no part in fitting them; tune a cascade on labels of your own
    where much depends on it. On relevance there were no labels to fit one.

    name: what it is called; "lexical" is the one with the `Lexical` backend.
    """

    threshold = MappingProxyType({"entail": 0.96})
    batch = 128  # questions at once: claims about one passage are read together

    def __init__(self, backend: Backend | None = None, name: str = "embedded") -> None:
        self._backend = backend or Trained()
        self.answers = frozenset({"decompose", *self._backend.answers})
        self._english_only = backend is None  # words alone are compared in any language
        reads = (("reads", "en"),) if self._english_only else ()
        self.identity = Identity(name, (("rules", _RULES), ("splitter", splitter()), *reads, *self._backend.settings))

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """The answers in the order of the questions; a kind it does not answer gives a Failure."""
        for _ in self._backend.prepare(questions):
            await asyncio.sleep(0)
        answers: list[Answer | Failure] = []
        for count, question in enumerate(questions):
            if count % _BREATH == 0:
                await asyncio.sleep(0)
            answers.append(self._answer(question))
        return answers

    def _answer(self, question: Question) -> Answer | Failure:
        if isinstance(question, Decompose):
            return Decomposition(decompose(question.text, question.query))
        if self._english_only and (found_language := language(question)) != "en":
            reads = f"the {self.identity} judge reads English, and this is {found_language!r}"
            return Failure("abstained", f"{reads}; name a judge for it, as in --judge {found_language}=PROVIDER/MODEL")
        found = self._backend.verdict(question)
        if found is not None:
            return found
        return Failure(
            "unanswerable", f"the {self.identity} judge does not answer {topic(question)}; ask another judge"
        )
