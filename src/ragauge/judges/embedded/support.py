"""Support: whether a claim follows from chunks, by what the encoder and the words say, weighed by a fitted layer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ragauge.judges.embedded.encoder import Encoder, Logits
from ragauge.judges.embedded.layer import chance, constants
from ragauge.judges.embedded.windows import best_windows
from ragauge.judges.embedded.words import Overlap, content, overlap, passage_sentences, words
from ragauge.questions import Entail
from ragauge.text.sentences import sentences
from ragauge.types import ChunkVerdict, Label, Verdict

if TYPE_CHECKING:
    from ragauge.judges.embedded.encoder import Floats

_SHORT = 8  # words up to which a claim is read after the query that it answers
_BARE = 40  # words up to which a lone premise is read as an answer to the query
_UNION = 4  # sentences of several chunks that are read together
_ADDS = 0.15  # share of a claim that they must hold beyond the best chunk
_CACHED = 3000  # readings that are kept from one batch to the next
_MOST = 8.0  # logits beyond are cut
_VERBATIM = 0.99  # probability of a sentence that stands in the chunk word for word

Values = Mapping[str, float]


class Reading(NamedTuple):
    """What a window says about a claim.

    Args:
        logits: of the encoder.
        near: the cosine of both texts.
        nearest: (tokens of the claim), the cosine of each with the nearest token of the window.
    """

    logits: Logits
    near: float
    nearest: Floats


class Claim(NamedTuple):
    """One sentence of a hypothesis. text: as the encoder reads it. own: without the query before it."""

    text: str
    own: str


class Source(NamedTuple):
    """A chunk. windows: for each claim, those that are read, of the text behind the query where it is a bare answer."""

    text: str
    windows: tuple[tuple[str, ...], ...]


class Case(NamedTuple):
    """A question as it is read.

    Args:
        claims: the sentences of the hypothesis.
        query: the query that each claim is read after; "" where it is not.
        bare: whether the premise is an answer to the query as well.
        sources: the chunks.
        union: for each claim, a source of sentences of several chunks, or None.
    """

    claims: tuple[Claim, ...]
    query: str
    bare: bool
    sources: tuple[Source, ...]
    union: tuple[Source | None, ...]


class Support:
    """Answers questions of entailment with an encoder."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._readings: dict[tuple[str, str], Reading] = {}

    def prepare(self, questions: Iterable[Entail]) -> Iterator[None]:
        """Read what the questions need, each window once with all claims about it; a step for each window."""
        if len(self._readings) > _CACHED:
            self._readings.clear()
        wanted: dict[str, dict[str, None]] = {}
        for question in questions:
            case = read_case(question)
            for source in (*case.sources, *filter(None, case.union)):
                for claim, windows in zip(case.claims, source.windows, strict=True):
                    for window in windows:
                        if (window, claim.text) not in self._readings:
                            wanted.setdefault(window, {})[claim.text] = None
        asked = [(window, tuple(claims)) for window, claims in wanted.items()]
        for (window, claims), found in zip(asked, self._encoder.parallel(self._read, asked), strict=True):
            self._readings.update(zip([(window, claim) for claim in claims], found, strict=True))
            yield

    def verdict(self, question: Entail) -> Verdict:
        """The verdict over all chunks together, and one for each chunk in order.

        A hypothesis follows if each of its sentences follows from one chunk, or from sentences of several chunks.
        """
        case = read_case(question)
        chunks = [self._chunk(case, source) for source in case.sources]
        best = [max((self._chances(case, at, source)[0] for source in case.sources), default=0.0) for at in _all(case)]
        joined = [self._chances(case, at, union)[0] if union else 0.0 for at, union in enumerate(case.union)]
        probability = round(min(map(max, zip(best, joined, strict=True)), default=0.0), 4)
        against = any(chunk.label == Label.CONTRADICTED for chunk in chunks)
        return Verdict(_label(probability, against), probability, chunks=tuple(chunks))

    def values(self, question: Entail) -> list[Values]:
        """What the layer weighs: for each sentence of the hypothesis, the values of the chunk that says most of it."""
        case = read_case(question)
        found = []
        for at in _all(case):
            sources = [*case.sources, *([case.union[at]] if case.union[at] else [])]
            each = [self._values(case, at, source) for source in sources if source]
            found.append(max(each, key=lambda one: one["entailed"]))
        return found

    def _chunk(self, case: Case, source: Source) -> ChunkVerdict:
        """What one chunk says of the whole hypothesis."""
        chances = [self._chances(case, at, source) for at in _all(case)]
        probability, against = round(min(one for one, _ in chances), 4), max(two for _, two in chances)
        best = overlap(" ".join(claim.own for claim in case.claims), source.text).best
        return ChunkVerdict(_label(probability, against >= 0.5), probability, best)

    def _chances(self, case: Case, at: int, source: Source) -> tuple[float, float]:
        """The probabilities that a source entails a sentence, and that it contradicts it."""
        if not source.windows[at]:
            return 0.0, 0.0
        if not case.query and _plain(case.claims[at].own) in _plain(source.text):
            return _VERBATIM, 1 - _VERBATIM
        values = self._values(case, at, source)
        layers = constants("support")
        return chance(layers["answered" if case.bare else "entailed"], values), chance(layers["contradicted"], values)

    def _values(self, case: Case, at: int, source: Source) -> Values:
        claim = case.claims[at]
        readings = [self._reading(window, claim.text) for window in source.windows[at]]
        return values_of(readings, overlap(claim.own, source.text, case.query), self._weights(claim))

    def _reading(self, window: str, claim: str) -> Reading:
        return self._readings.get((window, claim)) or self._read((window, (claim,)))[0]

    def _read(self, asked: tuple[str, Sequence[str]]) -> list[Reading]:
        import numpy as np

        window, claims = asked
        whole, found = self._encoder.encoded(window), []
        for claim, logits in zip(claims, self._encoder.read(window, claims), strict=True):
            own = self._encoder.encoded(claim)
            cosines = own.tokens.astype(np.float32) @ whole.tokens.astype(np.float32).T
            nearest = cosines.max(axis=1) if cosines.size else np.zeros(len(own.tokens), np.float32)
            found.append(Reading(logits, float(whole.embedding @ own.embedding), nearest))
        return found

    def _weights(self, claim: Claim) -> Floats:
        """What each token of a claim counts: its word's weight, but for words of the query before it."""
        import numpy as np

        spans, given = self._encoder.encoded(claim.text).spans, len(claim.text) - len(claim.own)
        weights = np.full(len(spans), 0.01, np.float32)
        for word in words(claim.text):
            if word.span[0] >= given:
                inside = [at for at, (start, end) in enumerate(spans) if start < word.span[1] and end > word.span[0]]
                weights[inside] += word.weight / max(len(inside), 1)
        return weights


def values_of(readings: Sequence[Reading], held: Overlap, weights: Floats) -> Values:
    """The values of one claim and source that the layer weighs; readings: one or more."""
    import numpy as np

    nearest = np.max([one.nearest for one in readings], axis=0)
    order = np.argsort(nearest)
    reached = np.cumsum(weights[order]) <= max(weights.sum() / 4, float(weights[order[:1]].sum()))
    return {
        "entailed": max(_logit(one.logits, 0) for one in readings),
        "against": max(_logit(one.logits, 2) for one in readings),
        "near": max(one.near for one in readings),
        "similar": float(nearest @ weights / weights.sum()),
        "weakest": float(np.average(nearest[order][reached], weights=weights[order][reached])) if len(order) else 0.0,
        "whole": held.whole,
        "sentence": held.sentence,
        "numbers": min(held.numbers, 2) / 2,
        "names": min(held.names, 3) / 3,
        "negated": float(held.negated),
    }


def read_case(question: Entail) -> Case:
    """A question as it is read: a short hypothesis, and a bare answer held against it, after the query."""
    query, hypothesis = (question.query or "").strip(), question.hypothesis.strip()
    bare = bool(query) and len(question.premise) == 1 and len(question.premise[0].split()) <= _BARE
    if query and (bare or len(hypothesis.split()) <= _SHORT):
        claims: tuple[Claim, ...] = (Claim(f"{query} {hypothesis}", hypothesis),)
    else:
        parts = [hypothesis[slice(*span)] for span in sentences(hypothesis)] or [hypothesis]
        claims, query = tuple(Claim(part, part) for part in parts), ""
    before = f"{query} " if bare else ""
    texts = question.premise
    sources = tuple(
        Source(text, tuple(best_windows(before + text if text.strip() else "", claim.own) for claim in claims))
        for text in texts
    )
    unions = tuple(_union(texts, claim, query) if len(texts) > 1 else None for claim in claims)
    return Case(claims, query, bare, sources, tuple(_alone(union, at, len(claims)) for at, union in enumerate(unions)))


def _union(texts: Sequence[str], claim: Claim, query: str) -> str | None:
    """The few sentences of several chunks that together hold most of a claim; None where one chunk holds as much."""
    wanted = content(words(claim.own))
    total = sum(word.weight for word in wanted.values())
    if not total:
        return None
    lines = [(number, line) for number, text in enumerate(texts) for line in passage_sentences(text)]
    left, chosen = dict(wanted), list[int]()
    while left and len(chosen) < _UNION:
        gains = [sum(left[key].weight for key in line.keys & left.keys()) for _, line in lines]
        at = max(range(len(lines)), key=gains.__getitem__, default=None)
        if at is None or gains[at] <= 0:
            break
        chosen.append(at)
        left = {key: word for key, word in left.items() if key not in lines[at][1].keys}
    held = 1 - sum(word.weight for word in left.values()) / total
    if (
        len({lines[at][0] for at in chosen}) < 2
        or held < max(overlap(claim.own, t, query).whole for t in texts) + _ADDS
    ):
        return None
    return "\n".join(texts[lines[at][0]][slice(*lines[at][1].span)] for at in sorted(chosen))


def _alone(text: str | None, at: int, claims: int) -> Source | None:
    """The sentences of a union as a source that is read for one claim."""
    return None if text is None else Source(text, tuple((text,) if place == at else () for place in range(claims)))


def _label(probability: float, against: bool) -> Label:
    return Label.ENTAILED if probability >= 0.5 else Label.CONTRADICTED if against else Label.NEUTRAL


def _plain(text: str) -> str:
    return " ".join(text.split())


def _all(case: Case) -> range:
    return range(len(case.claims))


def entailed_logit(logits: Logits) -> float:
    """The logit of "entailed" against the other two."""
    return _logit(logits, 0)


def _logit(logits: Logits, which: int) -> float:
    """The logit of one label against the other two."""
    others = [value for place, value in enumerate(logits) if place != which]
    most = max(others)
    value = logits[which] - most - math.log(sum(math.exp(other - most) for other in others))
    return max(-_MOST, min(_MOST, value))
