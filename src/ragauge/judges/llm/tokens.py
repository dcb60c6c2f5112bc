"""Tokens: how many a text is to a model, estimated without its vocabulary.

A byte-pair vocabulary cuts a text between some of its bytes. tokens.bin holds, for each of the 65,536 pairs of bytes,
how often a cut falls between them, in 255ths; the second byte of a pair is the high half of its index. A text has
about as many tokens as these chances sum to. The sum never falls as a text grows, and a whole has as many tokens as
its parts, give or take one at each joint.

The chances are those of o200k_base, the vocabulary of OpenAI's models since GPT-4o, fitted by training/tokens.py to
1,737 texts in 94 languages and forms: the paragraphs of XQuAD; the translations of Pro Git, of the documentation of
FastAPI, of The Art of Command Line, of the pages on conduct and contributing of free-programming-books, and of Django's
messages; news articles, answers and reports in English; code in Python, JavaScript, C and Perl; descriptions of
packages, JSON, tables, identifiers, escapes and emoji.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from ragauge.judges.llm.calls import Prompt
from ragauge.judges.llm.packing import Pack
from ragauge.judges.llm.prompts import Style
from ragauge.questions import Decompose, Entail, Question, Relevant
from ragauge.types import Span

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RELATIVE_ERROR: Final = 0.08
"""How far off an estimate may be, as a share of it: nine in ten texts of about 4,000 characters are closer.

Measured by training/tokens.py against the counts of o200k_base, each text with a table made without the source that it
is from: 865 texts in English, German, French, Spanish, Portuguese, Italian, Russian, Arabic, Chinese, Japanese and
Korean, in code and in JSON. Other vocabularies differ by more; `prices.token_factor` says how much where it is known.
"""

_CERTAIN: Final = 255

#: Tokens that open a reply; that surround each message.
_REPLY, _MESSAGE = 3, 4

#: Tokens of a verdict; of its reason; of its quote; of the lists of sources of a joint one.
_VERDICT, _WHY, _QUOTE, _LISTS = 9, 18, 24, 11

#: Statements that a sentence makes; tokens of one beside its text; how much longer than its sentence it is told.
_STATEMENTS, _STATEMENT, _RETOLD = 1.4, 11, 1.1


def estimate(text: str) -> float:
    """About how many tokens a text is to a model with a vocabulary like o200k_base; 0 for the empty text."""
    import numpy as np

    data = b"\n" + text.encode("utf-8", "surrogatepass")
    chances = _chances()
    even = np.frombuffer(data, "<u2", len(data) // 2)
    odd = np.frombuffer(data, "<u2", (len(data) - 1) // 2, offset=1)
    return int(chances[even].sum(dtype=np.int64) + chances[odd].sum(dtype=np.int64)) / _CERTAIN


def prompt_tokens(prompt: Prompt) -> int:
    """About the tokens of a call's messages. The schema is not counted: servers differ in what they do with it."""
    return round(_REPLY + sum(_MESSAGE + estimate(message["content"]) for message in prompt.messages))


def completion_tokens(pack: Pack, style: Style) -> int:
    """About how many tokens a good reply to a call is, written without white space and with reasons of a dozen words.

    What a model thinks before it replies is not counted; see `wire.form.thought`.
    """
    if pack.decomposes:
        return round(sum(_taken_apart(question.text, len(spans)) for question, spans in _texts(pack)))
    return _REPLY + sum(_verdict(question, style) for question in pack.questions)


def _texts(pack: Pack) -> Iterator[tuple[Decompose, tuple[Span, ...]]]:
    for question, spans in zip(pack.questions, pack.sentences, strict=True):
        assert isinstance(question, Decompose)
        yield question, spans


def _taken_apart(text: str, sentences: int) -> float:
    return _REPLY + _RETOLD * estimate(text) + _STATEMENTS * _STATEMENT * sentences


def _verdict(question: Question, style: Style) -> int:
    tokens = _VERDICT + (_WHY if style.rationales else 0)
    if style.quotes and isinstance(question, Entail | Relevant):
        tokens += _QUOTE
    return tokens + (_LISTS if isinstance(question, Entail) and len(question.premise) > 1 else 0)


@cache
def _chances() -> NDArray[np.uint8]:
    """How often a token begins within each pair of bytes, in 255ths."""
    import numpy as np

    return np.frombuffer(zlib.decompress(files(__package__).joinpath("tokens.bin").read_bytes()), np.uint8)
