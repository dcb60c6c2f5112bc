"""The judge in the wheel: on the CPU, offline, with no model to fetch, and the same answer every time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import MappingProxyType

from ragauge.judges.embedded.lexical import Lexical
from ragauge.judges.embedded.statements import decompose
from ragauge.judges.embedded.trained import Trained
from ragauge.questions import Decompose, Question, language, topic
from ragauge.text.sentences import splitter
from ragauge.types import Answer, Decomposition, Failure, Identity

_RULES = "15"  # increased with every change that can change an answer
_YIELD = 32  # questions after which other coroutines may run


class EmbeddedJudge:
    """Decomposes texts by rules; judges entailment (three-way), relevance and toxicity by a small model and by words.

    It grades nothing and knows no bias: these are not in `answers`. Of other languages than English it splits texts,
    and abstains from verdicts.

    Args:
        backend: What gives the verdicts: `Trained` by default, or `Lexical` for words alone, in any language.
        name: For the identity.

    Attributes:
        threshold: By kind of verdict, that of a cascade which begins with this judge and is given none.
    """

    threshold = MappingProxyType({"entail": 0.96})
    batch = 128  # questions at once: claims about one passage are read together

    def __init__(self, backend: Lexical | None = None, name: str = "embedded") -> None:
        self._backend = backend or Trained()
        self.answers = frozenset({"decompose", *self._backend.answers})
        self._english_only = backend is None
        languages = (("reads", "en"),) if self._english_only else ()
        settings = (("rules", _RULES), ("splitter", splitter()), *languages, *self._backend.settings)
        self.identity = Identity(name, settings)

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """The answers in the order of the questions; a kind it does not answer gives a Failure."""
        for _ in self._backend.prepare(questions):
            await asyncio.sleep(0)
        answers: list[Answer | Failure] = []
        for count, question in enumerate(questions):
            if count % _YIELD == 0:
                await asyncio.sleep(0)
            answers.append(self._answer(question))
        return answers

    def _answer(self, question: Question) -> Answer | Failure:
        if isinstance(question, Decompose):
            return Decomposition(decompose(question.text, question.query))
        if self._english_only and (code := language(question)) != "en":
            reason = f"the {self.identity} judge reads English, and this is {code!r}; name a judge for it, as in"
            return Failure("abstained", f"{reason} --judge {code}=PROVIDER/MODEL")
        unanswerable = f"the {self.identity} judge does not answer {topic(question)}; ask another judge"
        return self._backend.verdict(question) or Failure("unanswerable", unanswerable)
