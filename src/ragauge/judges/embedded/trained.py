"""The trained backend of the embedded judge: entailment, relevance and toxicity with a small model."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from ragauge.judges.embedded.coverage import Claim, find
from ragauge.judges.embedded.encoder import fingerprint, reader
from ragauge.judges.embedded.layer import chance, constants, logit, text_of
from ragauge.judges.embedded.lexical import Lexical, is_short_answer, relevant, says_nothing
from ragauge.judges.embedded.passages import passage
from ragauge.judges.embedded.queries import read_query
from ragauge.judges.embedded.support import Support
from ragauge.judges.embedded.toxicity import toxicities
from ragauge.judges.embedded.windows import telling
from ragauge.questions import Classify, Entail, Question, Relevant
from ragauge.types import Label, Verdict


class Trained:
    """Answers with the reader in the wheel, which is opened with the first question that needs it."""

    answers = frozenset({"entail", "relevant", "classify:toxic"})

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """Hashes of the tables, of the reader and of the layers."""
        layers = hashlib.sha256("".join(map(text_of, ("matching", "trained", "toxicity"))).encode()).hexdigest()[:12]
        return (*Lexical().settings, ("reader", fingerprint()), ("layers", layers))

    @cached_property
    def support(self) -> Support:
        """What answers questions of entailment."""
        return Support(reader())

    def prepare(self, questions: Sequence[Question]) -> Iterator[None]:
        """Read what questions of entailment need, in steps."""
        asked = [question for question in questions if isinstance(question, Entail)]
        return self.support.prepare(asked) if asked else iter(())

    def verdict(self, question: Question) -> Verdict | None:
        """The verdict on a question of entailment, relevance or toxicity; None for others."""
        match question:
            case Entail():
                return self.support.verdict(question)
            case Relevant(query, text, reference):
                return _relevant(query, text, reference)
            case Classify(text, "toxic"):
                [probability] = toxicities([text], reader())
                return Verdict(_yes_or_no(probability), round(probability, 4))
        return None


def _relevant(query: str, text: str, reference: str | None) -> Verdict:
    """By words, and by the similarity of query and text where no reference is to be produced."""
    by_words = relevant(query, text, reference)
    source = passage(text)
    if reference or not source.sentences or says_nothing(query, source) or is_short_answer(source):
        return by_words
    layer = "relevant" if len(source.sentences) > 1 else "answers"
    probability = chance(constants("trained")[layer], nearness(query, text, by_words))
    return Verdict(_yes_or_no(probability), round(probability, 4), span=by_words.span)


def nearness(query: str, text: str, by_words: Verdict) -> Mapping[str, float]:
    """What the layers of relevance weigh; `by_words` is the verdict of `relevant` on a text that is not blank."""
    found = telling(text, find(Claim(read_query(query).words), passage(text)))
    near = reader().embed(found) @ reader().embed([query])[0]
    return {"words": logit(by_words.probability or 0.0), "near": float(near.max())}


def _yes_or_no(probability: float) -> Label:
    return Label.YES if probability >= 0.5 else Label.NO
