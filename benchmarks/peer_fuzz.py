"""Compare values that need no judge with those of the libraries that define them, on random texts.

    python benchmarks/peer_fuzz.py [--count 2000] [--seed 1]

Texts are of words, numbers, punctuation, several scripts and line ends; some pairs share words, some are empty. Prints
for each library how many pairs were compared and how many differ by more than 1e-9; exits with 1 where one does. A
library that is not installed is left out, and named. ragas needs an environment of its own, with ragauge in it.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import random
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

import ragauge as rg
from ragauge.text.overlap import DEFAULT_TYPES, bleu, chrf, rouge

Pair = tuple[str, str]
Values = Callable[[str, str], Sequence[float]]

_WORDS = """the a of ferry ferries leaves leaving nine 9 40 3.5 minutes it's Nine Ada's über Straße
    naïve 船 は 出る 港 … — "quoted" (so) e.g. U.S. a.m. ok! no? \u0301 \u200b 🙂 x_y co-op more""".split()


def texts(random_: random.Random) -> Iterator[Pair]:
    """Pairs of a response and a reference without end."""
    while True:
        reference = [random_.choice(_WORDS) for _ in range(random_.choice((0, 1, 2, 5, 12, 30)))]
        response = [word for word in reference if random_.random() < 0.7]
        response += [random_.choice(_WORDS) for _ in range(random_.choice((0, 0, 1, 3, 10)))]
        if random_.random() < 0.3:
            random_.shuffle(response)
        glue = random_.choice((" ", " ", "\n", ". ", "  "))
        yield glue.join(response), random_.choice((" ", "\n", ". ")).join(reference)


def rouge_score() -> tuple[Values, Values]:
    """ROUGE by rouge-score: F-measure, precision and recall, with and without stems."""
    made = import_module("rouge_score.rouge_scorer").RougeScorer
    scorers = [made(list(DEFAULT_TYPES), use_stemmer=stemmer) for stemmer in (False, True)]
    measures = ("fmeasure", "precision", "recall")

    def theirs(response: str, reference: str) -> list[float]:
        return [
            getattr(score, measure)
            for measure in measures
            for scorer in scorers
            for score in scorer.score(reference, response).values()
        ]

    def ours(response: str, reference: str) -> list[float]:
        return [
            value
            for measure in measures
            for stemmer in (False, True)
            for value in rouge(response, [reference], DEFAULT_TYPES, stemmer, measure=measure).values()
        ]

    return ours, theirs


def nltk() -> tuple[Values, Values]:
    """Sentence BLEU by NLTK, on the tokens that Valor takes."""
    sentence_bleu = import_module("nltk.translate.bleu_score").sentence_bleu
    tokenize = import_module("nltk.tokenize").RegexpTokenizer(r"\w+|\$[\d]+|[^\s\.]+").tokenize
    return (
        lambda response, reference: [bleu(response, [reference])],
        lambda response, reference: [sentence_bleu([tokenize(reference)], tokenize(response), (0.25,) * 4)],
    )


def sacrebleu() -> tuple[Values, Values]:
    """chrF by sacreBLEU."""
    metric = import_module("sacrebleu.metrics.chrf").CHRF()
    return (
        lambda response, reference: [chrf(response, [reference])],
        lambda response, reference: [metric.sentence_score(response, [reference]).score / 100],
    )


def valor() -> tuple[Values, Values]:
    """BLEU of Valor's evaluator, which our door imitates; its ROUGE is rouge-score's, by a script that it downloads."""

    def values(module: Any) -> Values:
        def computed(response: str, reference: str) -> list[float]:
            row = module.QueryResponse("q", response, module.Context([reference], []))
            return [module.Evaluator.compute_sentence_bleu(row).value]

        return computed

    return values(import_module("ragauge.compat.valor")), values(import_module("valor_lite.text_generation"))


def ragas() -> tuple[Values, Values]:
    """The metrics of ragas that compare strings."""
    names = ("ExactMatch", "StringPresence", "NonLLMStringSimilarity", "BleuScore", "RougeScore", "ChrfScore")

    def values(home: str) -> Values:
        package = import_module(home)
        sample = import_module(f"{home.rpartition('.')[0]}.dataset_schema").SingleTurnSample
        metrics = [getattr(package, name)() for name in names]

        async def scores(response: str, reference: str) -> list[float]:
            row = sample(response=response, reference=reference)
            return [float(await metric.single_turn_ascore(row)) for metric in metrics]

        return lambda response, reference: asyncio.run(scores(response, reference))

    return values("ragauge.compat.ragas.metrics"), values("ragas.metrics")


PEERS = {"rouge-score": rouge_score, "NLTK": nltk, "sacreBLEU": sacrebleu, "valor-lite": valor, "ragas": ragas}


def _tried(values: Values, pair: Pair) -> Sequence[float] | str:
    try:
        return values(*pair)
    except (ValueError, TypeError, ZeroDivisionError, rg.errors.UsageError) as error:
        return f"{type(error).__name__}: {error}"


def _same(ours: Sequence[float] | str, theirs: Sequence[float] | str) -> bool:
    if isinstance(ours, str) or isinstance(theirs, str):
        return isinstance(ours, str) and isinstance(theirs, str)  # refused by both
    return all(
        math.isclose(mine, other, abs_tol=1e-9) or (math.isnan(mine) and math.isnan(other))
        for mine, other in zip(ours, theirs, strict=True)
    )


def main() -> None:
    """Compare, and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=PEERS, action="append")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    differing = 0
    for name in options.only or PEERS:
        try:
            ours, theirs = PEERS[name]()
        except ImportError as error:
            print(f"{name}: left out, {error}")
            continue
        source = texts(random.Random(options.seed))
        pairs = [next(source) for _ in range(options.count)]
        different = [pair for pair in pairs if not _same(_tried(ours, pair), _tried(theirs, pair))]
        print(f"{name}: {len(pairs)} pairs compared, {len(different)} differ")
        for pair in different[:5]:
            print(f"  {pair!r}\n    ours {_tried(ours, pair)}\n    theirs {_tried(theirs, pair)}")
        differing += len(different)
    sys.exit(bool(differing))


if __name__ == "__main__":
    main()
