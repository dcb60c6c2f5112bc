"""Counts tokens as the servers' tokenizers do, near enough, without their vocabularies.

Texts are cut as the pre-tokenizers of cl100k, o200k and Llama 3 cut them: a word with the space before it, up to three
digits, a run of other signs, white space. Vocabularies then say which parts of a word are one token; here those are
pieces of at most 8 letters in Latin script, 3 in other alphabets, 1 in scripts without spaces. Against Llama 3's own
vocabulary (cl100k's with more) that is within 0.3 % on the RAG and summarization files of Valor, and within 3 % on
English sentence pairs and Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

_PIECE = re.compile(
    r"[^\r\n\w]?[A-Za-z\u00c0-\u024f]{1,8}"  # Latin
    r"|\d{1,3}"
    r"|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"  # Chinese, Japanese, Korean
    r"|[^\r\n\w]?[^\W\d_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{1,3}"  # other letters
    r"| ?(?:[^\s\w]|_)+[\r\n]*"  # signs
    r"|\s+(?!\S)|\s+"
)
A_MESSAGE = 4  # tokens around a message: its start, its role, its end
A_REPLY = 3  # tokens that open the reply


@lru_cache(maxsize=512)
def tokens(text: str) -> int:
    """Number of tokens of a text."""
    return _PIECE.subn("", text)[1]


def prompt_tokens(texts: Iterable[str]) -> int:
    """Number of tokens of a call's messages; JSON schemas are not counted."""
    return A_REPLY + sum(A_MESSAGE + tokens(text) for text in texts)


def head(text: str, limit: int) -> str:
    """The first `limit` tokens of a text."""
    for number, piece in enumerate(_PIECE.finditer(text)):
        if number == limit:
            return text[: piece.start()]
    return text
