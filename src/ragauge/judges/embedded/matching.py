"""What texts hold of a claim by its words: what to read of them, copies, and copies with another number."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from difflib import SequenceMatcher
from itertools import accumulate
from typing import NamedTuple

from ragauge.judges.embedded.passages import Passage, Sentence, Window, passage, windows
from ragauge.judges.embedded.words import Kind, Word, rounds_to, weight

MOST_WINDOWS = 4  # of one text that are compared with a claim or a query
_FAMILY_CREDIT = 0.5  # credit for a word found only as one that begins alike
_MAX_TEXTS, _MIN_GAIN = 3, 0.1  # texts that may support a claim together; share of the claim that a further one adds
_ALIGNED_WORDS, _COPIED_SHARE = 200, 0.8  # the most of a sentence that is aligned; the least of a claim that it repeats

TermScores = dict[int, float]  # item of the claim -> how well it is found, in 0..1


class Terms:
    """The distinct content words of a text, less some, each with its idf as a weight."""

    __slots__ = ("items", "keys", "total", "weights", "words")

    def __init__(self, text_words: tuple[Word, ...], left_out: Collection[str] = ()) -> None:
        self.words = text_words
        distinct: dict[str, Word] = {}
        for word in text_words:
            if word.kind != Kind.FUNCTION and word.key not in left_out:
                distinct.setdefault(word.key, word)
        self.items = list(distinct.values())
        self.keys = {word.key: item for item, word in enumerate(self.items)}
        self.weights = [weight(word) for word in self.items]
        self.total = sum(self.weights)

    def share(self, credits: TermScores) -> float:
        """The weighted share of the items that is found; 0 for a claim without items."""
        held = sum(self.weights[item] * credit for item, credit in credits.items())
        return held / self.total if self.total else 0.0


class SentenceMatch(NamedTuple):
    """The sentence at a place of its passage, and what it holds of a claim."""

    sentence: Sentence
    place: int
    credits: TermScores
    share: float


def find(claim: Terms, source: Passage) -> list[SentenceMatch]:
    """The sentences of `source` that hold anything of `claim`, best first. A title counts for each sentence."""
    hits: dict[int, TermScores] = {}
    for item, word in enumerate(claim.items):
        forms = [(other, _FAMILY_CREDIT) for other in source.family(word.key)] + [(word.key, 1.0)]
        if word.kind == Kind.NUMBER:
            forms += [(key, 1.0) for key in source.numbers if rounds_to(key, word.key)]
        for key, credit in forms:
            for sentence in source.postings.get(key, ()):
                hits.setdefault(sentence, {})[item] = credit
    if source.titled and 0 in hits:
        hits = {place: merged(hits[0], credits) for place, credits in hits.items()}
    evidence = [
        SentenceMatch(source.sentences[place], place, credits, claim.share(credits)) for place, credits in hits.items()
    ]
    return sorted(evidence, key=lambda match: (-match.share, match.place))


def best_windows(claim: Terms, text: str, most: int = MOST_WINDOWS) -> tuple[str, ...]:
    """The few windows of a text, in its order, whose sentences hold most of a claim, at least half of what any does."""
    if len(windows(text)) == 1:
        return (windows(text)[0].text,)
    shares = {match.place: match.share for match in find(claim, passage(text))}

    def best_share(window: Window) -> float:
        return max(shares.get(place, 0.0) for place in range(window.first, window.last))

    best = sorted(windows(text), key=best_share, reverse=True)[:most]
    return tuple(window.text for window in sorted(best) if best_share(window) >= best_share(best[0]) / 2)


def complementary(claim: Terms, texts: Sequence[Held]) -> list[int]:
    """The places of the text that holds most of a claim and of those that add to it; [] where none adds enough."""
    chosen: list[int] = []
    credits: TermScores = {}
    while len(chosen) < _MAX_TEXTS:
        share, best = max((claim.share(merged(credits, text.credits)), -place) for place, text in enumerate(texts))
        if chosen and share - claim.share(credits) < _MIN_GAIN:
            break
        chosen.append(-best)
        credits = merged(credits, texts[-best].credits)
    return sorted(chosen) if len(chosen) > 1 else []


def merged(*parts: TermScores) -> TermScores:
    """The best credit of each item."""
    best: TermScores = {}
    for part in parts:
        for item, credit in part.items():
            best[item] = max(credit, best.get(item, 0.0))
    return best


def exchanges_number(claim: Terms, sentence: Sentence) -> bool:
    """Whether a sentence repeats most of a claim in its order, with another number where the claim has one."""
    mine, theirs = ([(word.key, word.kind) for word in side] for side in (claim.words, sentence.words))
    if max(len(mine), len(theirs)) > _ALIGNED_WORDS or not any(kind == Kind.NUMBER for _, kind in mine):
        return False
    matcher = SequenceMatcher(None, mine, theirs, autojunk=False)
    if sum(block.size for block in matcher.get_matching_blocks()) < _COPIED_SHARE * len(mine):
        return False
    for tag, first, last, start, end in matcher.get_opcodes():
        own = {key for key, kind in mine[first:last] if kind == Kind.NUMBER}
        other = {key for key, kind in theirs[start:end] if kind == Kind.NUMBER}
        if tag == "replace" and own and other and any(not _is_among(key, other) for key in own):
            return True
    return False


def _is_among(number: str, others: Collection[str]) -> bool:
    return number in others or any(rounds_to(other, number) for other in others)


def repeats(claim: Terms, source: Passage) -> bool:
    """Whether a sentence of `source`, or several in a row, holds the claim word for word."""
    wanted = _joined(claim.words)
    joined = [_joined(sentence.words) for sentence in source.sentences]
    text, ends = "".join(joined), {0, *accumulate(map(len, joined))}
    return bool(wanted) and any(text.startswith(wanted, start) and start + len(wanted) in ends for start in ends)


def _joined(text_words: Iterable[Word]) -> str:
    return "".join(f"{word.key}\0" for word in text_words)


class Held(NamedTuple):
    """What a text holds of a claim.

    credits: of its words. best: the sentence that holds most, None where no word is found. verbatim: whether it stands
    there word for word. altered: whether the best sentence repeats it with another number.
    """

    credits: TermScores
    best: SentenceMatch | None
    verbatim: bool
    altered: bool


def held(claim: Terms, text: str) -> Held:
    """What a text holds of a claim."""
    source = passage(text)
    evidence = find(claim, source)
    best = evidence[0] if evidence else None
    credits = merged(*(match.credits for match in evidence))
    altered = best is not None and exchanges_number(claim, best.sentence)
    return Held(credits, best, repeats(claim, source), altered)
