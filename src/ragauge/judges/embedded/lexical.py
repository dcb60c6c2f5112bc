"""The lexical judge: a named baseline that knows words, numbers and their rarity, and nothing of meaning."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from ragauge.judges.embedded.layer import chance, constants, text_of
from ragauge.judges.embedded.words import Overlap, overlap, table_text
from ragauge.questions import Entail, Question, Relevant
from ragauge.types import ChunkVerdict, Label, Verdict

_CLOSE = 0.7  # share of a claim in one sentence that lacks its number, and so contradicts it
_RELEVANT = 0.4  # share of a query in a text that is about it


class Lexical:
    """Entailment and relevance from words alone.

    A claim follows from a chunk if enough of its words, weighted by inverse document frequency, and all its numbers
    stand there. Over several chunks the best one decides.
    """

    answers = frozenset({"entail", "relevant"})

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """A hash of the table of idf and of the fitted constants."""
        return (("tables", hashlib.sha256((table_text() + text_of("lexical")).encode()).hexdigest()[:12]),)

    def prepare(self, _questions: Sequence[Question]) -> Iterator[None]:
        """Nothing: each question is answered by itself."""
        yield from ()

    def verdict(self, question: Question) -> Verdict | None:
        """The verdict on a question of entailment or relevance; None for others."""
        match question:
            case Entail(premise, hypothesis, query):
                return entails(premise, hypothesis, query or "")
            case Relevant(query, text, reference):
                held = overlap(reference, text, query) if reference else overlap(query, text)
                probability = round(held.whole / (held.whole + _RELEVANT), 4)
                label = Label.YES if probability >= 0.5 else Label.NO
                return Verdict(label, probability, span=held.best)
        return None


def entails(premise: Sequence[str], hypothesis: str, query: str) -> Verdict:
    """Whether `hypothesis` follows from the texts of `premise`."""
    chunks = tuple(_chunk(overlap(hypothesis, text, query)) for text in premise)
    probability = max((chunk.probability or 0.0 for chunk in chunks), default=0.0)
    against = any(chunk.label == Label.CONTRADICTED for chunk in chunks)
    label = Label.ENTAILED if probability >= 0.5 else Label.CONTRADICTED if against else Label.NEUTRAL
    return Verdict(label, probability, chunks=chunks)


def _chunk(held: Overlap) -> ChunkVerdict:
    probability = round(chance(constants("lexical")["entailed"], values(held)), 4)
    against = probability < 0.5 and held.sentence >= _CLOSE and (held.numbers > 0 or held.negated)
    label = Label.ENTAILED if probability >= 0.5 else Label.CONTRADICTED if against else Label.NEUTRAL
    return ChunkVerdict(label, probability, held.best)


def values(held: Overlap) -> Mapping[str, float]:
    """What the layer weighs."""
    return {
        "whole": held.whole,
        "sentence": held.sentence,
        "numbers": min(held.numbers, 2) / 2,
        "names": min(held.names, 3) / 3,
        "negated": float(held.negated),
    }
