"""Overlap of wording: ROUGE, BLEU, chrF, exact match and token F1.

One bit stands for one token of the response, a gap bit parts its lines, and one integer is one row of the textbook
table of lengths: its set bits are the columns at which that row does not grow. A row follows from the one before by one
addition (Crochemore et al., "A fast and practical bit-vector algorithm for the longest common subsequence problem",
2001; Hyyrö, "Bit-parallel LCS-length computation revisited", 2004), for all lines of the response at once.

Lin, "ROUGE: a package for automatic evaluation of summaries", 2004, as computed by Google's rouge-score 0.1.2, the
library behind Hugging Face `evaluate` and Valor. Every value equals that library's to the last digit.

Papineni et al., "BLEU: a method for automatic evaluation of machine translation", 2002, as computed by NLTK 3.10's
`sentence_bleu`, which Valor and the Dataworkz framework use. Every value equals theirs to the last digit.

Popović, "chrF: character n-gram F-score for automatic MT evaluation", 2015, and "chrF++: words helping character
n-grams", 2017, as computed by sacreBLEU 2.6's `sentence_chrf` with its defaults: case kept, whitespace left out, and
only those orders averaged of which both texts have n-grams.

Rajpurkar et al., "SQuAD: 100,000+ questions for machine comprehension of text", 2016; the empty cases are those of the
SQuAD 2.0 evaluation (Rajpurkar, Jia and Liang, "Know what you don't know", 2018).
"""

from __future__ import annotations

import math
import re
import string
import sys
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import chain
from operator import or_
from typing import Final

from ragauge.text.tokens import stemmed, tokenizer_named


@dataclass(frozen=True, slots=True)
class BitColumns:
    """The lines of a response as bits: where each token stands, all tokens, and the last token of each line."""

    positions: dict[str, int]
    tokens: int
    line_ends: int


def bit_columns(lines: Sequence[Sequence[str]]) -> BitColumns:
    """Lay lines of tokens out as bits; below each line lies one gap bit."""
    positions: dict[str, int] = {}
    gaps, bit = 1, 1
    for line in lines:
        for token in line:
            bit <<= 1
            positions[token] = positions.get(token, 0) | bit
        bit <<= 1
        gaps |= bit
    return BitColumns(positions, tokens=(bit - 1) & ~gaps, line_ends=gaps >> 1)


def lcs_length(reference: Sequence[str], response: BitColumns) -> int:
    """The length of the longest common subsequence of a token list and a response laid out as one line."""
    tokens, positions = response.tokens, response.positions
    row = tokens
    for token in reference:
        if token in positions:
            matches = row & positions[token]
            row = ((row + matches) | (row ^ matches)) & tokens
    return (tokens ^ row).bit_count()


def union_lcs(reference: Sequence[str], response: BitColumns) -> list[str]:
    """The tokens of a reference line that belong to its common subsequence with any line of the response.

    Where several longest subsequences exist, the one is taken that rouge-score 0.1.2 reads from its table: backwards
    from the last corner, through a match where there is one, else to the previous response token if that corner is
    strictly larger, else to the previous reference token.
    """
    here = response.line_ends
    used = []
    for token, matches, leftward in reversed(_steps(reference, response)):
        moving = here & (matches | leftward)
        if moving:
            used.append(token)
            here ^= moving | _before_match(moving, matches)
    return used


def _steps(reference: Sequence[str], response: BitColumns) -> list[tuple[str, int, int]]:
    """For each reference token that the response has: its columns, and those from which the way back leads left.

    A match opens a stretch in which the table grows earlier than it did one row above, and the addition carries through
    exactly that stretch. Inside it the left neighbour exceeds the upper one; the stretch begins with a match, so a way
    that turns left in a row always ends in a match of that row.
    """
    steps = []
    row = response.tokens
    for token in reference:
        if token in response.positions:
            positions = response.positions[token]
            matches = row & positions
            total = row + matches
            carries = total ^ row ^ matches
            steps.append((token, positions, carries & carries >> 1))
            row = (total | (row ^ matches)) & response.tokens
    return steps


def _before_match(moving: int, matches: int) -> int:
    """The columns just before the nearest match at or before each moving column."""
    landed = 0
    while moving:
        landed |= moving & matches
        moving = (moving & ~matches) >> 1
    return landed >> 1


def ngrams(tokens: Sequence[str], order: int) -> Iterable[Hashable]:
    """Each run of `order` neighbouring tokens, as a tuple; for order 1, each token as it is."""
    return tokens if order == 1 else zip(*[tokens[start:] for start in range(order)], strict=False)


def ngram_overlap(said: Iterable[Hashable], golden: Iterable[Hashable]) -> int:
    """How many items said are among the golden ones, none more often than it is there."""
    return draw_ngrams(said, Counter(golden))


def draw_ngrams(items: Iterable[Hashable], stock: Counter[Hashable]) -> int:
    """How many of the items can be drawn, one after another, from a stock, which loses them."""
    drawn = 0
    for item in items:
        left = stock.get(item)
        if left:
            drawn += 1
            stock[item] = left - 1
    return drawn


def check_references(references: Sequence[str]) -> Sequence[str]:
    """The references, if there is at least one.

    ValueError if there is none: a comparison with nothing has no value. TypeError for a bare string, which would
    otherwise be read as one reference a letter.
    """
    if isinstance(references, str):
        raise TypeError("references must be a sequence of texts, not one text; put it in a list: [text]")
    if not references:
        raise ValueError("no references to compare with; give at least one text")
    return references


DEFAULT_TYPES = ("rouge1", "rouge2", "rougeL", "rougeLsum")


def rouge(
    response: str,
    references: Sequence[str],
    types: Sequence[str] = DEFAULT_TYPES,
    stemmer: bool = False,
    tokenizer: str = "rouge",
) -> dict[str, float]:
    """The F-measure in 0..1 of each ROUGE type; with several references, the maximum over them, type by type.

    `types` are any of rouge1 to rouge9 (clipped n-gram overlap), rougeL (longest common subsequence of the whole texts)
    and rougeLsum (union of the common subsequences of their lines, parted by newlines). A text without tokens scores 0.
    `stemmer` applies the English Porter stemmer to tokens longer than three characters. `tokenizer` is a name from
    `ragauge.text.tokens.TOKENIZERS`; "rouge", the reference implementation's, knows only a-z and 0-9, so that other
    scripts score 0: use "unicode" for them. Raises ValueError for an unknown type or tokenizer and for no references.
    """
    for name in types:
        _check_type(name)
    said = _RougeText.read(response, tokenizer, stemmer)
    pairs = [
        _RougePair(said, _RougeText.read(reference, tokenizer, stemmer)) for reference in check_references(references)
    ]
    return {name: max(pair.f_measure(name) for pair in pairs) for name in types}


def _check_type(name: str) -> None:
    if not re.fullmatch("rouge([1-9]|L|Lsum)", name):
        raise ValueError(f"unknown ROUGE type {name!r}; use rouge1 to rouge9, rougeL or rougeLsum")


@dataclass
class _RougeText:
    """A text in tokens; what several types need of it is made once."""

    lines: list[list[str]]

    @classmethod
    def read(cls, text: str, tokenizer: str, stemmer: bool) -> _RougeText:
        tokenize = tokenizer_named(tokenizer)
        lines = [tokens for line in text.split("\n") if (tokens := tokenize(line))]
        return cls([stemmed(line) for line in lines] if stemmer else lines)

    @cached_property
    def tokens(self) -> list[str]:
        return self.lines[0] if len(self.lines) == 1 else list(chain.from_iterable(self.lines))

    @cached_property
    def as_one_line(self) -> BitColumns:
        return bit_columns([self.tokens])

    @cached_property
    def as_lines(self) -> BitColumns:
        return bit_columns(self.lines)


@dataclass
class _RougePair:
    """A response beside one reference."""

    response: _RougeText
    reference: _RougeText

    def f_measure(self, name: str) -> float:
        order = int(name[-1]) if name[-1].isdigit() else 1
        hits = self._hits(name, order)
        if not hits:
            return 0.0
        precision = hits / (len(self.response.tokens) - order + 1)
        recall = hits / (len(self.reference.tokens) - order + 1)
        return 2 * precision * recall / (precision + recall)

    def _hits(self, name: str, order: int) -> int:
        if name == "rougeL":
            return self._common
        if name == "rougeLsum":
            return self._common_by_line
        return ngram_overlap(ngrams(self.response.tokens, order), ngrams(self.reference.tokens, order))

    @cached_property
    def _common(self) -> int:
        return lcs_length(self.reference.tokens, self.response.as_one_line)

    @cached_property
    def _common_by_line(self) -> int:
        """Reference tokens in the union of common subsequences, no token more often than the response has it."""
        if len(self.response.lines) <= 1 and len(self.reference.lines) <= 1:
            return self._common
        used = chain.from_iterable(union_lcs(line, self.response.as_lines) for line in self.reference.lines)
        return ngram_overlap(used, self.response.tokens)


DEFAULT_WEIGHTS: Final = (0.25, 0.25, 0.25, 0.25)
_NEGLIGIBLE: Final = 1e-9
_EPSILON: Final = 0.1


def bleu(
    response: str,
    references: Sequence[str],
    weights: Sequence[float] = DEFAULT_WEIGHTS,
    tokenizer: str = "valor",
    smoothing: str = "none",
) -> float:
    """Sentence BLEU in 0..1; several references clip jointly and the one closest in length sets the penalty.

    `weights` has one weight for each n-gram order from 1; they need not sum to 1. `tokenizer` is a name from
    `ragauge.text.tokens.TOKENIZERS`. `smoothing` says what a precision without a match counts as: "none", the smallest
    positive float, with a result below 1e-9 taken as 0 (Valor); "method1", 0.1 matches (Chen and Cherry, 2014; the
    Dataworkz framework, with `tokenizer="whitespace"`). Without a single shared token the value is 0.

    Raises ValueError for no references, an unknown tokenizer or smoothing, and weights that are empty, negative or not
    finite; NLTK accepts the last two and then leaves 0..1.
    """
    _check(weights, smoothing)
    tokenize = tokenizer_named(tokenizer)
    said = tokenize(response)
    golden = [tokenize(reference) for reference in check_references(references)]
    matches = _matches(said, golden, len(weights))
    if not matches[0]:
        return 0.0
    totals = [max(1, len(said) - order) for order in range(len(weights))]
    logs = [math.log(_precision(hits, total, smoothing)) for hits, total in zip(matches, totals, strict=True)]
    mean = math.exp(math.fsum(weight * log for weight, log in zip(weights, logs, strict=True)))
    value = _brevity_penalty(len(said), [len(tokens) for tokens in golden]) * mean
    return 0.0 if smoothing == "none" and value < _NEGLIGIBLE else value


def _check(weights: Sequence[float], smoothing: str) -> None:
    if not weights or not all(math.isfinite(weight) and weight >= 0 for weight in weights):
        raise ValueError(f"BLEU weights must be one or more finite numbers of at least 0, not {weights!r}")
    if smoothing not in ("none", "method1"):
        raise ValueError(f"unknown BLEU smoothing {smoothing!r}; use none or method1")


def _matches(said: Sequence[str], golden: Sequence[Sequence[str]], orders: int) -> list[int]:
    """For each order from 1, the response's n-grams found in the references; zero from the first order without any."""
    matches: list[int] = []
    for order in range(1, orders + 1):
        matches.append(draw_ngrams(ngrams(said, order), _most_in_any(golden, order)))
        if not matches[-1]:
            break
    return matches + [0] * (orders - len(matches))


def _most_in_any(golden: Sequence[Sequence[str]], order: int) -> Counter[Hashable]:
    """Each n-gram as often as the reference that has it most."""
    return reduce(or_, (Counter(ngrams(tokens, order)) for tokens in golden))


def _precision(hits: int, total: int, smoothing: str) -> float:
    if hits:
        return hits / total
    return sys.float_info.min if smoothing == "none" else _EPSILON / total


def _brevity_penalty(length: int, reference_lengths: Sequence[int]) -> float:
    closest = min(reference_lengths, key=lambda other: (abs(other - length), other))
    return 1.0 if length > closest else math.exp(1 - closest / length)


_PUNCTUATION: Final = frozenset(string.punctuation)


def chrf(response: str, references: Sequence[str], order: int = 6, beta: float = 2.0, words: int = 0) -> float:
    """The chrF score in 0..1; with several references, the maximum over them. `words=2` gives chrF++.

    `order` and `words` are the largest n of the character and the word n-grams, `beta` says how many times more recall
    weighs than precision. 100 times the value is sacreBLEU's score to the last digit. A text without characters scores
    0. Raises ValueError for no references, `order` below 1, `words` below 0 and `beta` not positive and finite.
    """
    if order < 1 or words < 0 or not 0 < beta < math.inf:
        raise ValueError(
            f"chrF needs order >= 1, words >= 0 and a finite beta > 0, not order={order}, words={words}, beta={beta}"
        )
    return max(_f_score(response, reference, order, beta, words) for reference in check_references(references))


def _f_score(response: str, reference: str, order: int, beta: float, words: int) -> float:
    shared = _shared(_characters(response), _characters(reference), order)
    shared += _shared(_words(response), _words(reference), words)
    precision = recall = 0.0
    for hits, said, golden in shared:  # one by one: from Python 3.12 on, sum() rounds differently
        precision += hits / said
        recall += hits / golden
    if not precision:
        return 0.0
    precision, recall = precision / len(shared), recall / len(shared)
    factor = beta**2
    return (1 + factor) * precision * recall / (factor * precision + recall)


def _shared(said: Sequence[str], golden: Sequence[str], order: int) -> list[tuple[int, int, int]]:
    """The n-grams that both share, those of the one and those of the other, for each order that both have any of."""
    return [
        (ngram_overlap(ngrams(said, n), ngrams(golden, n)), len(said) - n + 1, len(golden) - n + 1)
        for n in range(1, min(order, len(said), len(golden)) + 1)
    ]


def _characters(text: str) -> str:
    return "".join(text.split())


def _words(text: str) -> list[str]:
    return [part for word in text.split() for part in _part_punctuation(word)]


def _part_punctuation(word: str) -> list[str]:
    """A word and one punctuation mark at its end, or else at its start, as two tokens."""
    if len(word) == 1:
        return [word]
    if word[-1] in _PUNCTUATION:
        return [word[:-1], word[-1]]
    return [word[0], word[1:]] if word[0] in _PUNCTUATION else [word]


_ARTICLE: Final = re.compile(r"\b(?:a|an|the)\b")
_WITHOUT_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)


def squad_normalise(text: str) -> str:
    """The text lower-cased, without ASCII punctuation and the articles a, an and the, its words parted by one space."""
    plain = text.lower().translate(_WITHOUT_PUNCTUATION)
    return " ".join(_ARTICLE.sub(" ", plain).split())


def exact_match(response: str, references: Sequence[str]) -> bool:
    """Whether the response equals any reference once both are normalised; ValueError without references."""
    said = squad_normalise(response)
    return any(said == squad_normalise(reference) for reference in check_references(references))


def token_f1(response: str, references: Sequence[str]) -> float:
    """The F1 in 0..1 of the words the response shares with a reference, normalised; the maximum over the references.

    If nothing is left of either text, 1 if nothing is left of both and else 0. ValueError without references.
    """
    said = squad_normalise(response).split()
    return max(_f1(said, squad_normalise(reference).split()) for reference in check_references(references))


def _f1(said: Sequence[str], golden: Sequence[str]) -> float:
    if not said or not golden:
        return float(said == golden)
    hits = ngram_overlap(said, golden)
    if not hits:
        return 0.0
    precision, recall = hits / len(said), hits / len(golden)
    return 2 * precision * recall / (precision + recall)
