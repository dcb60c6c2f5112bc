"""Calibrate the estimate of tokens: how often a token begins between two bytes.

    python training/tokens.py RANKS TEXTS

RANKS is `dist/ranks/o200k_base.js` of the npm package js-tiktoken 1.0.21: the vocabulary of OpenAI's models since
GPT-4o. TEXTS is a folder LANGUAGE/SOURCE/*.txt of about 4,000 characters each: the paragraphs of
XQuAD; the translations of Pro Git, of the documentation of FastAPI, of The Art of Command Line, of the pages on conduct
and contributing of free-programming-books, and of Django's messages; news articles, answers and reports in English;
code in Python, JavaScript, C and Perl; descriptions of packages, JSON, tables, identifiers, escapes and emoji. Every
language and, within it, every source weighs the same, whatever its length; those of EMPHASIS weigh more.
First each pair of bytes gets the share of its occurrences in which a token begins between them; then the shares are
moved, in proportion, until the sums over whole texts agree with the counts. Writes tokens.bin and prints, for each
language, the mean and the root mean square of the relative error: of the texts themselves, and of each source when
the table is made without it. Needs the package tiktoken.
"""

from __future__ import annotations

import base64
import json
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tiktoken

TABLE = Path(__file__).parents[1] / "src/ragauge/judges/llm/tokens.bin"
PAIRS = 1 << 16
EMPHASIS = {"en": 6.0} | dict.fromkeys("ar code de es fr it ja json ko pt ru zh".split(), 3.0)
ROUNDS, FIRM, PRIOR = 400, 0.05, 0.01
Array = np.ndarray


class Text(NamedTuple):
    """A text as its pairs of bytes. begins: how often a token begins within each. tokens: how many there are in all."""

    language: str
    source: str
    pairs: Array
    times: Array
    begins: Array
    tokens: int


def main(ranks: Path, folder: Path) -> None:
    """Fit, report and write the table."""
    texts = list(read(folder, vocabulary(ranks)))
    table = fitted(texts)
    TABLE.write_bytes(zlib.compress(np.rint(table * 255).astype(np.uint8).tobytes(), 9))
    print(f"{len(texts)} texts, {TABLE.stat().st_size} bytes")
    kept_out: dict[int, float] = {}
    for source in sorted({text.source for text in texts}):
        other = fitted([text for text in texts if text.source != source])
        kept_out |= {id(text): error(other, text) for text in texts if text.source == source}
    for language in sorted({text.language for text in texts}):
        group = [text for text in texts if text.language == language]
        fit, apart = [error(table, text) for text in group], [kept_out[id(text)] for text in group]
        print(f"{language:10} {len(group):4} texts  fitted {summary(fit)}  source kept out {summary(apart)}")


def vocabulary(ranks: Path) -> tiktoken.Encoding:
    """The tokenizer from a file of js-tiktoken: lines of "! first-rank token token ..."."""
    said = ranks.read_text(encoding="utf-8")
    form = json.loads(said[said.index("{") : said.rindex("}") + 1])
    found: dict[bytes, int] = {}
    for line in filter(None, form["bpe_ranks"].split("\n")):
        _, first, *tokens = line.split(" ")
        found |= {base64.b64decode(token): rank for rank, token in enumerate(tokens, int(first))}
    return tiktoken.Encoding(
        ranks.stem, pat_str=form["pat_str"], mergeable_ranks=found, special_tokens=form["special_tokens"]
    )


def read(folder: Path, encoding: tiktoken.Encoding) -> Iterator[Text]:
    """The texts of the folder with what the tokenizer makes of them, each as if a new line went before it."""
    for path in sorted(folder.glob("*/*/*.txt")):
        data = path.read_bytes()
        tokens = encoding.encode_ordinary(data.decode())
        starts = np.zeros(len(data))
        lengths = [len(encoding.decode_single_token_bytes(token)) for token in tokens]
        starts[np.cumsum([0, *lengths[:-1]])] = 1
        codes = np.frombuffer(b"\n" + data, np.uint8).astype(np.int64)
        pairs, at, times = np.unique(codes[:-1] | codes[1:] << 8, return_inverse=True, return_counts=True)
        begins = np.bincount(at, weights=starts, minlength=len(pairs))
        yield Text(path.parts[-3], path.parts[-2], pairs, times, begins, len(tokens))


def weights(texts: Sequence[Text]) -> list[float]:
    """What each text weighs, 1 on average."""
    sources = {language: {text.source for text in texts if text.language == language} for language, *_ in texts}
    sizes = Counter((text.language, text.source) for text in texts)
    raw = [EMPHASIS.get(one, 1.0) / len(sources[one]) / sizes[one, source] for one, source, *_ in texts]
    return [weight * len(raw) / sum(raw) for weight in raw]


def fitted(texts: Sequence[Text]) -> Array:
    """For each pair of bytes, the chance that a token begins between them."""
    tokens = np.array([text.tokens for text in texts], float)
    weight = np.array(weights(texts))
    owner = np.repeat(np.arange(len(texts)), [len(text.pairs) for text in texts])
    pairs = np.concatenate([text.pairs for text in texts])
    times = np.concatenate([text.times for text in texts]) * (weight / tokens)[owner]
    begins = np.concatenate([text.begins for text in texts]) * (weight / tokens)[owner]
    seen = np.bincount(pairs, times, PAIRS)
    table = shares(seen, np.bincount(pairs, begins, PAIRS))
    firmness = seen / (seen + FIRM)
    for _ in range(ROUNDS):
        part = table[pairs] * times
        estimates = np.bincount(owner, part)
        part *= (weight / estimates)[owner]
        wanted = np.bincount(pairs, part * (weight / estimates)[owner], PAIRS)
        step = np.divide(wanted, np.bincount(pairs, part, PAIRS), out=np.ones(PAIRS), where=seen > 0) - 1
        table = np.minimum(table * (1 + firmness * step), 1)
    return table


def shares(seen: Array, begins: Array) -> Array:
    """Begins over occurrences; a pair that is hardly seen takes after all pairs with its second byte."""
    by_second, begins_by_second = seen.reshape(256, 256).sum(1), begins.reshape(256, 256).sum(1)
    prior = (begins_by_second + PRIOR * begins.sum() / seen.sum()) / (by_second + PRIOR)
    return (begins + PRIOR * np.repeat(prior, 256)) / (seen + PRIOR)


def error(table: Array, text: Text) -> float:
    """The estimate over the count, less one."""
    return float(table[text.pairs] @ text.times) / text.tokens - 1


def summary(errors: Sequence[float]) -> str:
    """Mean and root mean square, in percent."""
    found = np.array(errors) * 100
    return f"{found.mean():+5.1f} {np.sqrt((found**2).mean()):5.1f} %"


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
