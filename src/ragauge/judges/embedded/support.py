"""Support: whether a claim follows from texts, by words and by what the reader says, weighed by a fitted layer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from ragauge.judges.embedded.coverage import Claim, find
from ragauge.judges.embedded.encoder import Reader, Said
from ragauge.judges.embedded.entailment import VERBATIM, Finding, chunk_verdict, verdict
from ragauge.judges.embedded.layer import chance, constants, logit
from ragauge.judges.embedded.lexical import Hearing, Lexical
from ragauge.judges.embedded.passages import passage
from ragauge.judges.embedded.similarity import Counted, Similarity, counted, matched, similarity, tokens_of
from ragauge.judges.embedded.windows import MOST, telling
from ragauge.questions import Entail
from ragauge.types import Label, Verdict

if TYPE_CHECKING:
    from ragauge.judges.embedded.encoder import Floats

HOPELESS = 0.1  # share of a claim of which no sentence of a chunk holds more where the chunk is not read for it
_AGAINST = 0.9  # probability of a contradiction: the layer was fitted where half were, and one in ten is more usual
_ENOUGH = 8  # words of a claim that show its language
_ENGLISH = frozenset(
    """the of and is to are were for with by from that has have it its this be not he she they his their who which at
    had been will can after or as""".split()
)
_KEPT = 3000  # readings, and questions, that are kept from one batch to the next
_EXTREME = 6.0  # logits beyond are as good as this


class Heard(NamedTuple):
    """What a window says about a sentence, and how like the two are."""

    said: Said
    like: Similarity


class Part(NamedTuple):
    """A sentence of a claim. heard: what each window says about it. own: what each of its tokens counts."""

    heard: Sequence[Heard]
    own: Counted


class Case(NamedTuple):
    """A question of entailment. hearing: what words say. texts: for each chunk of the premise, the windows to read."""

    hearing: Hearing
    texts: tuple[tuple[str, ...], ...]


class Support:
    """Answers questions of entailment with a reader.

    hopeless: the share of a claim that some sentence of a chunk must hold by words for the chunk to be read. most:
    windows of a chunk that are read for a claim. benchmarks/skipping.py tells how many verdicts that changes.
    """

    def __init__(self, reader: Reader, hopeless: float = HOPELESS, most: int = MOST) -> None:
        self._reader, self._hopeless, self._most = reader, hopeless, most
        self._lexical = Lexical()
        self._cases: dict[Entail, Case] = {}
        self._heard: dict[tuple[str, str], Heard] = {}

    def prepare(self, questions: Iterable[Entail]) -> Iterator[None]:
        """Read what the questions need, each window once with all claims about it; a step for each window."""
        if max(len(self._heard), len(self._cases)) > _KEPT:
            self._heard.clear()
            self._cases.clear()
        wanted: dict[str, dict[str, None]] = {}
        for question in questions:
            case = self._cases[question] = self._case(question)
            for text in chain.from_iterable(case.texts):
                wanted.setdefault(text, {}).update(dict.fromkeys(case.hearing.told))
        unheard = (
            (text, [claim for claim in claims if (text, claim) not in self._heard]) for text, claims in wanted.items()
        )
        asked = [(text, claims) for text, claims in unheard if claims]
        for (text, claims), heard in zip(asked, self._reader.side_by_side(self._read, asked), strict=True):
            self._heard.update(zip([(text, claim) for claim in claims], heard, strict=True))
            yield

    def verdict(self, question: Entail) -> Verdict:
        """The verdict: over all texts of the premise together, and one for each in their order."""
        case = self._cases.get(question) or self._case(question)
        hearing = case.hearing
        alone = [
            _refined(words, self._parts(hearing, own))
            for words, own in zip(hearing.weighed.alone, case.texts, strict=True)
        ]
        return _together(hearing, _refined(_by_words(hearing), self._parts(*_joint(case))), alone)

    def values(self, question: Entail) -> Mapping[str, float] | None:
        """What the layer is fitted on: the signals of all chunks together; None where nothing is read."""
        case = self._case(question)
        parts = self._parts(*_joint(case))
        return signals(_by_words(case.hearing), parts) if parts else None

    def tokens(self, question: Entail) -> Floats | None:
        """What the net of `matched` is fitted on: the tokens of the claim; None where nothing is read."""
        parts = self._parts(*_joint(self._case(question)))
        return tokens(parts) if parts else None

    def windows(self, question: Entail) -> int:
        """How many windows are read for a question."""
        return sum(map(len, self._case(question).texts))

    def _case(self, question: Entail) -> Case:
        hearing = self._lexical.weigh(question.premise, question.hypothesis, question.query)
        readable = _seems_english(hearing.told)
        texts = (
            self._worth_reading(text, hearing.claim) if readable and is_open and finding.probability < VERBATIM else ()
            for text, is_open, finding in zip(
                question.premise, hearing.open_to_reading, hearing.weighed.alone, strict=True
            )
        )
        return Case(hearing, tuple(texts))

    def _worth_reading(self, text: str, claim: Claim) -> tuple[str, ...]:
        """The windows of a chunk in which a claim may have its support: none where no sentence holds enough of it."""
        evidence = find(claim, passage(text))
        best = evidence[0].share if evidence else 0.0
        return telling(text, evidence, self._most) if best >= self._hopeless else ()

    def _parts(self, hearing: Hearing, texts: Sequence[str]) -> list[Part]:
        """What windows tell of each sentence of a claim; nothing where there are no windows."""
        told = hearing.told if texts else ()
        return [Part([self._heard_in(text, one) for text in texts], self._counted(one, hearing.given)) for one in told]

    def _heard_in(self, text: str, sentence: str) -> Heard:
        return self._heard.get((text, sentence)) or self._read((text, [sentence]))[0]

    def _read(self, asked: tuple[str, Sequence[str]]) -> list[Heard]:
        """What a text says about each of some sentences."""
        text, sentences = asked
        said = self._reader.read(text, sentences)
        return [Heard(one, similarity(self._reader, text, own)) for one, own in zip(said, sentences, strict=True)]

    def _counted(self, sentence: str, given: int) -> Counted:
        return counted(sentence, self._reader.encoded(sentence).spans, given)


def _joint(case: Case) -> tuple[Hearing, tuple[str, ...]]:
    """A case with the windows of all its chunks."""
    return case.hearing, tuple(chain.from_iterable(case.texts))


def _seems_english(told: Sequence[str]) -> bool:
    """Whether a claim is short, or has one of the commonest English words: the reader knows no other language."""
    found = " ".join(told).lower().split()
    return len(found) < _ENOUGH or not _ENGLISH.isdisjoint(found)


def _by_words(hearing: Hearing) -> Finding:
    """What words say of all chunks together."""
    said = verdict(*hearing.weighed)
    return Finding(said.label, said.probability or 0.0, None)


def _refined(words: Finding, parts: Sequence[Part]) -> Finding:
    """What words say, with what the reader says; words alone where nothing was read. A clear contradiction stands."""
    if not parts:
        return words
    values = signals(words, parts)
    probability = chance(constants("trained")["entailed"], values)
    if words.label == Label.CONTRADICTED:
        return Finding(Label.CONTRADICTED, _spoken_against(probability), words.best)
    if probability >= 0.5:
        return Finding(Label.ENTAILED, probability, words.best)
    speaks_against = chance(constants("trained")["contradicted"], values) >= _AGAINST
    return Finding(Label.CONTRADICTED if speaks_against else Label.NEUTRAL, probability, words.best)


def _spoken_against(probability: float) -> float:
    """What is left of a probability where words speak clearly against a claim: one half at most, in the same order."""
    return probability / (1 + probability)


def _together(hearing: Hearing, joint: Finding, alone: Sequence[Finding]) -> Verdict:
    """All chunks together: no less likely than the chunk that says most.

    Contradicted where a chunk speaks against the claim and none supports it, or by its very words although one does.
    """
    probability = max([joint.probability, *(one.probability for one in alone)])
    label = Label.ENTAILED if probability >= 0.5 else joint.label
    against = [
        words for one, words in zip(alone, hearing.weighed.alone, strict=True) if one.label == Label.CONTRADICTED
    ]
    if label == Label.ENTAILED and any(words.label == Label.CONTRADICTED for words in against):
        label, probability = Label.CONTRADICTED, _spoken_against(probability)
    elif label == Label.NEUTRAL and against:
        label = Label.CONTRADICTED
    return Verdict(label, round(probability, 4), tuple(map(chunk_verdict, alone)))


def signals(words: Finding, parts: Sequence[Part]) -> Mapping[str, float]:
    """The values of one claim, read sentence by sentence.

    words: what the words of the same texts say. A sentence may have its support in any window, and each of its tokens
    what is most like it; a claim is supported no better than its weakest sentence.
    """
    return {
        "words": logit(words.probability),
        "words_against": float(words.label == Label.CONTRADICTED),
        "entailed": min(max(entailed(one.said) for one in part.heard) for part in parts),
        "against": max(against(one) for part in parts for one in part.heard),
        "near": min(max(one.like.near for one in part.heard) for part in parts),
        "matched": matched(tokens(parts)),
    }


def tokens(parts: Sequence[Part]) -> Floats:
    """What is seen of each token of a claim for `matched`."""
    import numpy as np

    return np.concatenate([tokens_of([one.like for one in part.heard], part.own) for part in parts])


def entailed(said: Said) -> float:
    """The logit of "entailed" against the other two."""
    return _bounded(said.entailed - _either(said.neutral, said.contradicted))


def against(one: Heard) -> float:
    """The logit of "contradicted", less where window and claim are about different things."""
    return _bounded(one.said.contradicted - _either(one.said.neutral, one.said.entailed)) + min(
        0.0, 8 * (one.like.near - 0.5)
    )


def _either(one: float, two: float) -> float:
    return max(one, two) + math.log1p(math.exp(-abs(one - two)))


def _bounded(value: float) -> float:
    return max(-_EXTREME, min(_EXTREME, value))
