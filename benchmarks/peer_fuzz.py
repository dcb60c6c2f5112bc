"""Compare values that need no judge with those of the libraries that define them, on random texts.

    python benchmarks/peer_fuzz.py [--count 2000] [--seed 1]

Texts are of words, numbers, punctuation, several scripts and line ends; some pairs share words, some are empty. Prints
for each library how many pairs were compared and how many differ by more than 1e-9; exits with 1 where one does. A
library that is not installed is left out, and named. ragas needs an environment of its own, with ragauge in it; a blank
reference, for which it has numbers, is a missing one here, so each pair has a reference. For Trust-Eval each pair makes
a data set of 1, 2 or 20 answered items; its sources, in trust_eval of declare-lab/trust-align, are on PYTHONPATH, with
fuzzywuzzy, python-Levenshtein and colorlog installed, and punkt in place of NLTK's data.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import logging
import math
import random
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO
from itertools import islice
from types import ModuleType
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

    sys.modules.setdefault("langchain_community.chat_models.vertexai", _Hollow("vertexai"))  # gone from new versions

    def values(home: str) -> Values:
        package = import_module(home)
        sample = import_module(f"{home.rpartition('.')[0]}.dataset_schema").SingleTurnSample
        metrics = [getattr(package, name)() for name in names]

        async def scores(response: str, reference: str) -> list[float]:
            row = sample(response=response, reference=reference)
            return [float(await metric.single_turn_ascore(row)) for metric in metrics]

        return lambda response, reference: asyncio.run(scores(response, reference))

    return values("ragauge.compat.ragas.metrics"), values("ragas.metrics")


def trust_eval() -> tuple[Values, Values]:
    """Trust-Eval's numbers for made items, by the same verdicts; its checkout's folder trust_eval is on the path.

    Of it the evaluator alone is imported, without vllm and without its model.
    """
    place = importlib.util.find_spec("trust_eval")
    if place is None:
        raise ImportError("trust_eval is not on the path")
    sys.modules["trust_eval"] = importlib.util.module_from_spec(place)
    for name in ("vllm", "vllm.transformers_utils", "vllm.transformers_utils.tokenizers"):
        sys.modules.setdefault(name, _Hollow(name))
    evaluator, config = import_module("trust_eval.evaluator"), import_module("trust_eval.config")
    metrics = import_module("trust_eval.metrics")
    metrics._run_nli_autoais = lambda passage, claim, _: int(_verdict(passage, claim))
    metrics.tqdm = lambda items, **_: items
    metrics.sent_tokenize = import_module("punkt").sent_tokenize  # NLTK's, with its data
    logging.disable(logging.WARNING)

    def theirs(response: str, reference: str) -> list[float]:
        data_type, items = _items(response, reference)
        settings = config.EvaluationConfig("", data_type=data_type)
        evaluator.Evaluator.load_data = lambda _: items
        with redirect_stdout(StringIO()):
            block = evaluator.Evaluator(settings).compute_metrics()
        return [float(block[key]) for key in sorted(block.keys() - {"num_samples"})]

    def ours(response: str, reference: str) -> list[float]:
        data_type, items = _items(response, reference)
        door = import_module("ragauge.compat.trust_eval")
        block = door.evaluate(items, door._EVAL_TYPES[data_type], _verdict, prefix="refuse")
        numbers = (block[key] for key in sorted(block.keys() - {"num_samples"}))
        return [math.nan if number is None else number for number in numbers]

    return ours, theirs


class _Hollow(ModuleType):
    """A module that is not there, of which only the names of types are needed."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def _verdict(premise: str, hypothesis: str) -> bool:
    """A verdict that depends on the words of the texts alone; no for a sentence of citations, which we do not ask."""
    return (
        any(map(str.isalnum, hypothesis)) and zlib.crc32(" ".join(f"{premise} | {hypothesis}".split()).encode()) % 5 < 3
    )


_REFUSALS = (
    "I apologize, but I couldn't find an answer to your question in the search results.",
    "I apologise, but I could not find the answer [1]",
    "I apologize, but I couldn't find",
)


def _items(response: str, reference: str) -> tuple[str, list[dict[str, Any]]]:
    """A type of data and up to twenty answered items, which depend on the texts alone."""
    random_ = random.Random(repr((response, reference)))
    words = [*response.split(), *reference.split(), "nine"]

    def words_of(most: int) -> str:
        return " ".join(random_.choice(words) for _ in range(random_.randint(1, most)))

    def cited() -> str:
        marks = "".join(f"[{random_.randint(1, 4)}]" for _ in range(random_.choice((0, 1, 1, 2, 4))))
        return f"{words_of(6)} {marks}".strip()

    def output(data_type: str) -> str:
        if random_.random() < 0.25:
            return random_.choice(_REFUSALS) + random_.choice(("", " " + words_of(5), f" [{random_.randint(1, 3)}]"))
        glue = ", " if data_type == "qampari" else ". "
        return glue.join(cited() for _ in range(random_.randint(1, 6))) + random_.choice((".", "", ","))

    data_type = random_.choice(("asqa", "qampari", "eli5"))
    items: list[dict[str, Any]] = []
    for _ in range(random_.choice((1, 2, 20))):
        answers = [[words_of(2) for _ in range(random_.randint(1, 2))] for _ in range(random_.randint(1, 7))]
        found = random_.choice((0.0, 0.3, 0.8))
        docs = [
            {
                "title": words_of(2),
                "text": words_of(20),
                "answers_found": [int(random_.random() < found) for _ in answers],
            }
            for _ in range(random_.randint(1, 4))
        ]
        items.append({"question": words_of(5), "answers": answers, "docs": docs, "output": output(data_type)})
    return data_type, items


PEERS = {
    "rouge-score": rouge_score,
    "NLTK": nltk,
    "sacreBLEU": sacrebleu,
    "valor-lite": valor,
    "ragas": ragas,
    "Trust-Eval": trust_eval,
}


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
        made = (pair for pair in texts(random.Random(options.seed)) if pair[1].strip() or name != "ragas")
        pairs = list(islice(made, options.count))
        different = [pair for pair in pairs if not _same(_tried(ours, pair), _tried(theirs, pair))]
        print(f"{name}: {len(pairs)} pairs compared, {len(different)} differ")
        for pair in different[:5]:
            print(f"  {pair!r}\n    ours {_tried(ours, pair)}\n    theirs {_tried(theirs, pair)}")
        differing += len(different)
    sys.exit(bool(differing))


if __name__ == "__main__":
    main()
