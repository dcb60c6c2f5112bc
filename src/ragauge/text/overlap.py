"""Overlap and similarity of texts, bit-identical to the reference implementations.

ROUGE is that of Google's rouge-score 0.1.2 (Lin, 2004), BLEU that of NLTK 3.10's `sentence_bleu` (Papineni et al.,
2002), chrF that of sacreBLEU 2.6's `sentence_chrf` with its defaults (Popović, 2015 and 2017): case kept, whitespace
removed, and averaged over the orders for which both texts have n-grams.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, reduce
from itertools import chain
from operator import or_
from typing import Any, NamedTuple

from ragauge.host import disable_telemetry, optional
from ragauge.text.tokens import chrf_characters, chrf_words, squad_normalise, squad_tokens, stem_tokens, tokenizer_named


class BitColumns(NamedTuple):
    """The lines of a response as bit masks: the positions of each token, all tokens, and the last of each line."""

    positions: dict[str, int]
    tokens: int
    line_ends: int


def bit_columns(lines: Sequence[Sequence[str]]) -> BitColumns:
    """The bit masks of lines of tokens, with one gap bit below each line."""
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
    """The length of the longest common subsequence of a reference and a response of one line."""
    tokens, positions = response.tokens, response.positions
    row = tokens
    for token in reference:
        if token in positions:
            matches = row & positions[token]
            row = ((row + matches) | (row ^ matches)) & tokens
    return (tokens ^ row).bit_count()


def union_lcs(reference: Sequence[str], response: BitColumns) -> list[str]:
    """The tokens of a reference line that are in its longest common subsequence with any line of the response.

    Of several it takes the one that rouge-score backtracks to: from the last cell, through a match where there is one,
    else to the previous response token if that cell is strictly larger, else to the previous reference token.
    """
    columns = response.line_ends
    used = []
    for token, matches, leftward in reversed(_lcs_steps(reference, response)):
        moving = columns & (matches | leftward)
        if moving:
            used.append(token)
            columns ^= moving | _before_match(moving, matches)
    return used


def _lcs_steps(reference: Sequence[str], response: BitColumns) -> list[tuple[str, int, int]]:
    """For each reference token in the response: its columns, and the columns from which backtracking goes left.

    A match opens a run of columns in which the row grows earlier than the row above, and the addition carries through
    exactly that run. Inside it the left neighbour exceeds the upper one; the run begins with a match, so a path that
    turns left in a row always ends in a match of that row.
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
    matched = 0
    while moving:
        matched |= moving & matches
        moving = (moving & ~matches) >> 1
    return matched >> 1


def ngrams(tokens: Sequence[str], order: int) -> Iterable[Hashable]:
    """The n-grams of one order, as tuples; for order 1, the tokens themselves."""
    return tokens if order == 1 else zip(*[tokens[start:] for start in range(order)], strict=False)


def clipped_matches(ngrams_found: Iterable[Hashable], limits: Counter[Hashable]) -> int:
    """How many n-grams match, each at most as often as `limits` allows. Uses up `limits`."""
    matches = 0
    for ngram in ngrams_found:
        left = limits.get(ngram)
        if left:
            matches += 1
            limits[ngram] = left - 1
    return matches


def check_references(references: Sequence[str]) -> Sequence[str]:
    """The references. Raises ValueError where there is none, TypeError for a text, which would be one per character."""
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
    measure: str = "fmeasure",
) -> dict[str, float]:
    """ROUGE (Lin, 2004), equal to the rouge-score library.

    Args:
        response: the text to score; a text without tokens scores 0.
        references: reference texts; per type the maximum over them counts.
        types: rouge1 to rouge9 (clipped n-gram overlap), rougeL (longest common subsequence of the whole texts),
            rougeLsum (union of the longest common subsequences of their lines, split at newlines).
        stemmer: apply the English Porter stemmer to tokens longer than three characters.
        tokenizer: a name from `ragauge.text.tokens.TOKENIZERS`. "rouge", the reference implementation's, knows only
            a-z and 0-9, so other scripts score 0; use "unicode" for them.
        measure: "fmeasure", "precision" or "recall".

    Returns:
        The measure of each type, in 0..1.

    Raises:
        ValueError: an unknown type, tokenizer or measure, or no references.
    """
    if measure not in MEASURES:
        raise ValueError(f"unknown measure {measure!r}; use {', '.join(MEASURES)}")
    for name in types:
        if not re.fullmatch("rouge([1-9]|L|Lsum)", name):
            raise ValueError(f"unknown ROUGE type {name!r}; use rouge1 to rouge9, rougeL or rougeLsum")
    read = _RougeText(response, tokenizer, stemmer)
    expected = [_RougeText(text, tokenizer, stemmer) for text in check_references(references)]
    values = [_rouge(read, text, types, MEASURES[measure]) for text in expected]
    return {name: max(scores) for name, *scores in zip(types, *values, strict=True)}


def ascii_share(text: str) -> float:
    """The share of the letters of a text that are in a-z, in 0..1; 1 for a text without letters."""
    letters = [letter.isascii() for letter in text if letter.isalpha()]
    return sum(letters) / len(letters) if letters else 1.0


class _RougeText:
    """The tokens of the lines of a text, with what several ROUGE types share computed once."""

    def __init__(self, text: str, tokenizer: str, stemmer: bool) -> None:
        tokenize = tokenizer_named(tokenizer)
        lines = [tokens for line in text.split("\n") if (tokens := tokenize(line))]
        self.lines = [stem_tokens(line) for line in lines] if stemmer else lines
        self.tokens = list(chain.from_iterable(self.lines))

    @cached_property
    def as_one_line(self) -> BitColumns:
        return bit_columns([self.tokens])

    @cached_property
    def as_lines(self) -> BitColumns:
        return bit_columns(self.lines)


def _rouge(
    response: _RougeText, reference: _RougeText, types: Sequence[str], measure: Callable[[int, int, int], float]
) -> Iterator[float]:
    """The measure of each type for a response and one reference."""
    written, expected = response.tokens, reference.tokens
    single = len(response.lines) <= 1 and len(reference.lines) <= 1
    longest = cache(lambda: lcs_length(expected, response.as_one_line))
    for name in types:
        order = int(name[-1]) if name[-1].isdigit() else 1
        if name == "rougeL" or (name == "rougeLsum" and single):
            hits = longest()
        elif name == "rougeLsum":  # tokens in the union of common subsequences, clipped by their count in the response
            used = chain.from_iterable(union_lcs(line, response.as_lines) for line in reference.lines)
            hits = clipped_matches(used, Counter(written))
        else:
            hits = clipped_matches(ngrams(written, order), Counter(ngrams(expected, order)))
        yield measure(hits, len(written) - order + 1, len(expected) - order + 1)


def _f1(hits: int, written: int, expected: int) -> float:
    if not hits:
        return 0.0
    precision, recall = hits / written, hits / expected
    return 2 * precision * recall / (precision + recall)


#: ROUGE's measures of hits, n-grams of the response, and n-grams of the reference.
MEASURES: Mapping[str, Callable[[int, int, int], float]] = {
    "fmeasure": _f1,
    "precision": lambda hits, written, _: hits / written if hits else 0.0,
    "recall": lambda hits, _, expected: hits / expected if hits else 0.0,
}


def bleu(
    response: str,
    references: Sequence[str],
    weights: Sequence[float] = (0.25, 0.25, 0.25, 0.25),
    tokenizer: str = "valor",
    smoothing: str = "none",
) -> float:
    """Sentence BLEU (Papineni et al., 2002), equal to NLTK.

    Args:
        response: the text to score; 0 without a token shared with any reference.
        references: reference texts; they clip jointly, and the one closest in length sets the brevity penalty.
        weights: one weight per n-gram order from 1; they need not sum to 1.
        tokenizer: a name from `ragauge.text.tokens.TOKENIZERS`.
        smoothing: how a precision without a match is replaced. "none": by the smallest positive float, and a result
            below 1e-9 by 0 (Valor). "method1": by that of 0.1 matches (Chen and Cherry, 2014; the Dataworkz framework,
            with `tokenizer="whitespace"`).

    Returns:
        The score, in 0..1.

    Raises:
        ValueError: no references, an unknown tokenizer or smoothing, or weights that are empty, negative or not finite
            (NLTK accepts negative and infinite ones and then leaves 0..1).
    """
    if not weights or not all(math.isfinite(weight) and weight >= 0 for weight in weights):
        raise ValueError(f"BLEU weights must be one or more finite numbers of at least 0, not {weights!r}")
    if smoothing not in ("none", "method1"):
        raise ValueError(f"unknown BLEU smoothing {smoothing!r}; use none or method1")
    tokenize = tokenizer_named(tokenizer)
    tokens = tokenize(response)
    reference_tokens = [tokenize(reference) for reference in check_references(references)]
    matches = _bleu_matches(tokens, reference_tokens, len(weights))
    if not matches[0]:
        return 0.0
    totals = [max(1, len(tokens) - order) for order in range(len(weights))]
    instead = [sys.float_info.min if smoothing == "none" else 0.1 / total for total in totals]
    by_order = zip(matches, totals, instead, strict=True)
    logs = [math.log(hits / total if hits else replaced) for hits, total, replaced in by_order]
    mean = math.exp(math.fsum(weight * log for weight, log in zip(weights, logs, strict=True)))
    closest = min(map(len, reference_tokens), key=lambda length: (abs(length - len(tokens)), length))
    brevity_penalty = 1.0 if len(tokens) > closest else math.exp(1 - closest / len(tokens))
    value = brevity_penalty * mean
    return 0.0 if smoothing == "none" and value < 1e-9 else value


def _bleu_matches(response: Sequence[str], references: Sequence[Sequence[str]], orders: int) -> list[int]:
    """The clipped matches of each order from 1; zero from the first order without any."""
    matches: list[int] = []
    for order in range(1, orders + 1):
        limits = reduce(or_, (Counter(ngrams(tokens, order)) for tokens in references))  # the maximum over references
        matches.append(clipped_matches(ngrams(response, order), limits))
        if not matches[-1]:
            break
    return matches + [0] * (orders - len(matches))


def chrf(response: str, references: Sequence[str], order: int = 6, beta: float = 2.0, words: int = 0) -> float:
    """Character n-gram F-score, the maximum over the references; 100 times the value is sacreBLEU's score.

    order, words: the highest orders of character and word n-grams. beta: how many times more recall weighs. Raises
    ValueError for other numbers than those, or without references.
    """
    if order < 1 or words < 0 or not 0 < beta < math.inf:
        raise ValueError(
            f"chrF needs order >= 1, words >= 0 and a finite beta > 0, not order={order}, words={words}, beta={beta}"
        )
    return max(_chrf(response, reference, order, beta, words) for reference in check_references(references))


def _chrf(response: str, reference: str, order: int, beta: float, words: int) -> float:
    counts = [*_matches_by_order(chrf_characters(response), chrf_characters(reference), order)]
    counts += _matches_by_order(chrf_words(response), chrf_words(reference), words)
    precision = recall = 0.0
    for matches, in_response, in_reference in counts:  # added one by one: since Python 3.12 sum() rounds differently
        precision += matches / in_response
        recall += matches / in_reference
    if not precision:
        return 0.0
    precision, recall = precision / len(counts), recall / len(counts)
    factor = beta**2
    return (1 + factor) * precision * recall / (factor * precision + recall)


def _matches_by_order(response: Sequence[str], reference: Sequence[str], order: int) -> Iterator[tuple[int, int, int]]:
    """Clipped matches, response n-grams and reference n-grams, for each order that both texts have."""
    for n in range(1, min(order, len(response), len(reference)) + 1):
        matches = clipped_matches(ngrams(response, n), Counter(ngrams(reference, n)))
        yield matches, len(response) - n + 1, len(reference) - n + 1


def exact_match(response: str, references: Sequence[str]) -> bool:
    """Whether the response equals any reference after SQuAD normalisation."""
    normalised = squad_normalise(response)
    return any(normalised == squad_normalise(reference) for reference in check_references(references))


def token_f1(response: str, references: Sequence[str]) -> float:
    """The F1 of the tokens shared with a reference after SQuAD normalisation; 1 where both are empty."""
    tokens = squad_tokens(response)
    values = []
    for reference in check_references(references):
        expected = squad_tokens(reference)
        if tokens and expected:
            values.append(_f1(clipped_matches(tokens, Counter(expected)), len(tokens), len(expected)))
        else:
            values.append(float(tokens == expected))
    return max(values)


def largest_matching(fits: Iterable[Sequence[bool]]) -> dict[int, int]:
    """As many pairs of a row and a column that fits it as possible, each at most once (Berge, 1957): row -> column."""
    rows = list(fits)
    taker_of: dict[int, int] = {}

    def place(row: int, tried: set[int]) -> bool:
        """Give a row a column, along an augmenting path if necessary."""
        for column, fit in enumerate(rows[row]):
            if fit and column not in tried:
                tried.add(column)
                if column not in taker_of or place(taker_of[column], tried):
                    taker_of[column] = row
                    return True
        return False

    for row in range(len(rows)):
        place(row, set())
    return {row: column for column, row in taker_of.items()}


class BertScores(NamedTuple):
    """Precision, recall and F1 of each response."""

    precision: list[float]
    recall: list[float]
    f1: list[float]


def bertscore(responses: Sequence[str], references: Sequence[str]) -> BertScores:
    """BERTScore (Zhang et al., 2020) of English responses, by the library `bert_score`.

    With its default English model (roberta-large, 1.4 GB), rescaled by its baseline: 0 is the score of random pairs of
    texts, and values may be negative.

    Args:
        responses: the texts to score.
        references: one reference per response, in the same order.

    Returns:
        Precision, recall and F1, a list each.

    Raises:
        MissingExtra: the library is not installed.
    """
    disable_telemetry()
    scorer_class = optional("BERTScore", "bertscore", "bert_score").BERTScorer
    scorer = _loaded(scorer_class, lang="en", rescale_with_baseline=True)
    measured = scorer.score(list(responses), list(references))
    return BertScores(*([float(value) for value in values] for values in measured))


@cache
def _loaded(load: Callable[..., Any], *model: str, **options: object) -> Any:
    return load(*model, **options)


def similarity(responses: Sequence[str], references: Sequence[str]) -> list[float]:
    """The cosine similarity of the embeddings of responses and references, by `sentence_transformers`.

    With its model all-MiniLM-L6-v2 (90 MB), which truncates long texts.

    Args:
        responses: the texts to score.
        references: one reference per response, in the same order.

    Returns:
        The cosine per response, in -1..1.

    Raises:
        MissingExtra: the library is not installed.
    """
    disable_telemetry()
    model = optional("similarity", "similarity", "sentence_transformers").SentenceTransformer
    encode = _loaded(model, "all-MiniLM-L6-v2").encode
    of_responses, of_references = (encode(list(texts), normalize_embeddings=True) for texts in (responses, references))
    return [float(value) for value in (of_responses * of_references).sum(axis=1)]
