"""How fast ragauge measures overlap, compared with rouge-score, NLTK and sacreBLEU, which give the same digits.

Run `python benchmarks/overlap.py`. Each line is the median of several timings of one text pair, tokenisation included,
on generated text whose words follow Zipf's law.
"""

from __future__ import annotations

import gc
import random
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

from nltk.tokenize import RegexpTokenizer
from nltk.translate.bleu_score import sentence_bleu
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.chrf import CHRF

from ragauge.text.overlap import DEFAULT_TYPES, bleu, chrf, rouge

VOCABULARY = 20_000
WORDS_A_LINE = 20
SECONDS_A_TIMING = 0.2
TIMINGS = 5


@dataclass(frozen=True)
class Pair:
    """A response and its one reference."""

    name: str
    response: str
    reference: str


@dataclass(frozen=True)
class Contest:
    """A measure of ours and the library function whose digits it gives."""

    name: str
    ours: Callable[[Pair], object]
    theirs: Callable[[Pair], object]


def pair(name: str, words: int, lines: bool, seed: int) -> Pair:
    """A reference and a response that keeps about two thirds of its words, some of them moved."""
    chance = random.Random(seed)
    vocabulary = ["".join(chance.choices("etaoinshrdlucmfwypvbgk", k=chance.randint(2, 10))) for _ in range(VOCABULARY)]
    zipf = [1 / rank for rank in range(1, VOCABULARY + 1)]
    reference = chance.choices(vocabulary, zipf, k=words)
    other = chance.choices(vocabulary, zipf, k=words)
    response = [kept if chance.random() < 0.65 else new for kept, new in zip(reference, other, strict=True)]
    middle = words // 2
    return Pair(name, _written(response[middle:] + response[:middle], lines), _written(reference, lines))


def _written(words: list[str], lines: bool) -> str:
    size = WORDS_A_LINE if lines else len(words)
    sentences = [" ".join(words[start : start + size]).capitalize() + "." for start in range(0, len(words), size)]
    return "\n".join(sentences)


def contests() -> list[Contest]:
    """What is compared: ROUGE plain and stemmed, BLEU on Valor's tokens and on plain words, chrF and chrF++."""
    plain, stemming = RougeScorer(list(DEFAULT_TYPES)), RougeScorer(list(DEFAULT_TYPES), use_stemmer=True)
    valor = RegexpTokenizer(r"\w+|\$\d+|[^\s.]+")
    chrf_1, chrf_2 = CHRF(), CHRF(word_order=2)
    return [
        Contest(
            "ROUGE 1 2 L Lsum",
            lambda p: rouge(p.response, [p.reference]),
            lambda p: plain.score(p.reference, p.response),
        ),
        Contest(
            "ROUGE, stemmed",
            lambda p: rouge(p.response, [p.reference], stemmer=True),
            lambda p: stemming.score(p.reference, p.response),
        ),
        Contest(
            "BLEU-4",
            lambda p: bleu(p.response, [p.reference]),
            lambda p: sentence_bleu([valor.tokenize(p.reference)], valor.tokenize(p.response)),
        ),
        Contest(
            "BLEU-4, no regexp",
            lambda p: bleu(p.response, [p.reference], tokenizer="whitespace"),
            lambda p: sentence_bleu([p.reference.split()], p.response.split()),
        ),
        Contest(
            "chrF",
            lambda p: chrf(p.response, [p.reference]),
            lambda p: chrf_1.sentence_score(p.response, [p.reference]),
        ),
        Contest(
            "chrF++",
            lambda p: chrf(p.response, [p.reference], words=2),
            lambda p: chrf_2.sentence_score(p.response, [p.reference]),
        ),
    ]


def pairs_per_second(contest: Contest, texts: Pair) -> tuple[float, float]:
    """The median rates of ours and theirs, timed in turn so that a busy machine slows both alike."""
    ours, theirs = _enough_calls(contest.ours, texts), _enough_calls(contest.theirs, texts)
    turns = [(_rate(contest.ours, texts, ours), _rate(contest.theirs, texts, theirs)) for _ in range(TIMINGS)]
    return statistics.median(turn[0] for turn in turns), statistics.median(turn[1] for turn in turns)


def _enough_calls(measure: Callable[[Pair], object], texts: Pair) -> int:
    measure(texts)  # fills caches
    return max(1, int(SECONDS_A_TIMING * _rate(measure, texts, calls=1)))


def _rate(measure: Callable[[Pair], object], texts: Pair, calls: int) -> float:
    gc.collect()
    started = time.perf_counter()
    for _ in range(calls):
        measure(texts)
    return calls / (time.perf_counter() - started)


def main() -> None:
    """Print one line for each text size and measure."""
    warnings.simplefilter("ignore")
    sizes = [
        pair("100 words, one line", 100, lines=False, seed=1),
        pair("2,000 words, one line", 2000, lines=False, seed=2),
        pair("2,000 words, 100 lines", 2000, lines=True, seed=3),
    ]
    print(f"{'text':24}{'measure':18}{'ragauge/s':>12}{'library/s':>12}{'ratio':>9}")
    for texts in sizes:
        for contest in contests():
            ours, theirs = pairs_per_second(contest, texts)
            print(f"{texts.name:24}{contest.name:18}{ours:12,.1f}{theirs:12,.1f}{ours / theirs:9.1f}")


if __name__ == "__main__":
    main()
