"""How many pairs the encoder in the wheel classifies in a second, compared with a cross-encoder of the same weights.

    python benchmarks/encoder.py [--rounds 3]

Pairs of a text of a given length and a claim of some 20 word pieces, on all cores. "alone": a new text for each
claim. "ten": ten claims about each text. The cross-encoder reads text and claim as one sequence, each pair anew, with
the same graph. Medians of the rounds. Texts are drawn from words; the model's time does not depend on what they say.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time

from ragauge.judges.embedded.encoder import Encoder, encoder

WORDS = "harbour council spring ship water north engine paper light stone river letter market tower house".split()
PAIRS = 60


def main() -> None:
    """Print pairs a second and ratios."""
    options = argparse.ArgumentParser()
    options.add_argument("--rounds", type=int, default=3)
    rounds = options.parse_args().rounds
    chance, opened = random.Random(0), encoder()
    opened.classify(["A text."], ["A claim."])
    print(f"{'pieces':>7}{'alone':>9}{'ten':>9}{'cross-encoder':>15}{'alone x':>9}{'ten x':>7}   pairs a second")
    for pieces in (128, 256):
        rates = [
            statistics.median(way(opened, pieces, chance) for _ in range(rounds)) for way in (alone, ten, cross_encoder)
        ]
        ratios = (rates[0] / rates[2], rates[1] / rates[2])
        print(f"{pieces:7}{rates[0]:9.0f}{rates[1]:9.0f}{rates[2]:15.0f}{ratios[0]:9.2f}{ratios[1]:7.2f}")


def drawn(chance: random.Random, pieces: int) -> str:
    """A text of a given number of words, each of which is one piece."""
    return " ".join(chance.choice(WORDS) for _ in range(pieces))


def alone(opened: Encoder, pieces: int, chance: random.Random) -> float:
    """Each claim with a text of its own."""
    pairs = [(drawn(chance, pieces - 22), drawn(chance, 20)) for _ in range(PAIRS)]
    begun = time.perf_counter()
    list(opened.map(lambda pair: opened.classify([pair[0]], [pair[1]]), pairs))
    return PAIRS / (time.perf_counter() - begun)


def ten(opened: Encoder, pieces: int, chance: random.Random) -> float:
    """Ten claims about each text."""
    groups = [(drawn(chance, pieces - 22), [drawn(chance, 20) for _ in range(10)]) for _ in range(PAIRS // 6)]
    begun = time.perf_counter()
    list(opened.map(lambda group: opened.classify([group[0]], group[1]), groups))
    return 10 * len(groups) / (time.perf_counter() - begun)


def cross_encoder(opened: Encoder, pieces: int, chance: random.Random) -> float:
    """Text and claim as one sequence."""
    pairs = [drawn(chance, pieces - 2) for _ in range(PAIRS)]
    begun = time.perf_counter()
    list(opened.map(opened.encoded, pairs))
    return PAIRS / (time.perf_counter() - begun)


if __name__ == "__main__":
    main()
