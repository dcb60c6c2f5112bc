"""Word pieces are those of Hugging Face's `tokenizers`, each with the characters it stands for."""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragauge.judges.embedded.encoder import WordPiece, vocabulary

_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
_WORDS = "the cat sat ##s un ##aff ##able a ##b istanbul cafe sep ss ß ﬁ ##ﬁ 中 文 ᄀ ##ᅡ ##ᆨ 豈 α ##ς ##σ क ##ो".split()
_CHARACTERS = sorted({chr(code).lower() for code in range(33, 0x180) if chr(code).isprintable()})
_PIECES = list(dict.fromkeys([*_SPECIAL, *_WORDS, *_CHARACTERS, *(f"##{piece}" for piece in _CHARACTERS)]))
SMALL = WordPiece(_PIECES)

EDGES = [
    "",
    " \t\r\n",
    "\u0301",
    "unaffable cats, don't!",
    "tab\tand\nline\r\nend\x0bvertical\x0cform\x85next\u2028line\u3000wide\u00a0hard",
    "nul\x00in\x7fside\x1f \u200bzero\u200d\ufeff\u00ad \ufffd\ue000",
    "Café cafe\u0301 \u0301cafe e\u0301\u0301x ǖ Å \u212b \u0344",
    "İstanbul ISTANBUL I\u0307s ß ẞ ΣΑΣ ﬁ ﬁﬁ K",
    "中文 a中b 中\u0301文 豈 \ufa6e \U00020000 \U0002b830 ひら カタ ﾊﾟ 가각",
    "≠ \u037e \u1fef a≠b ¿que? «x» — ‘y’ … $5+3=8 x^2 `a|b~",
    "🙂 a🙂b 👩\u200d🔬 ❤\ufe0f 🇩🇪",
    "[SEP] [CLS][MASK] [UNK] ##s [pad]",
    "x" * 99 + " " + "x" * 100 + " " + "x" * 101 + " " + "é" * 100 + " " + "e\u0301" * 101,
    "क\u094b का \u0958 \u166d\u1734\U000111c9 a\u1ac0b a\u2e50b \u08e2 \U0001e2aeb \U00011938",
]
TEXTS = st.text(st.characters(codec="utf-8")) | st.text(st.sampled_from("aAbBsS é\u0301İß中文\x00\t.,-[]#\u200b가🙂"))


@cache
def theirs() -> Any:
    """The same tokenizer, of the other library."""
    tokenizers = pytest.importorskip("tokenizers")
    model = tokenizers.models.WordPiece({piece: id for id, piece in enumerate(_PIECES)}, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    return tokenizer


def check_parity(text: str) -> None:
    """Both libraries find the same pieces at the same places."""
    other, own = theirs().encode(text, add_special_tokens=False), SMALL.encode(text)
    assert own.ids == other.ids
    assert own.spans == other.offsets


@pytest.mark.parametrize("text", EDGES)
def test_edges_are_those_of_tokenizers(text: str) -> None:
    """Marks, controls, wide spaces, Chinese, emoji, long words and special names are read as there."""
    check_parity(text)


@given(TEXTS)
def test_any_text_is_that_of_tokenizers(text: str) -> None:
    """No text is found whose pieces or spans differ from those of `tokenizers`."""
    check_parity(text)


@pytest.mark.slow
def test_every_character_is_that_of_tokenizers() -> None:
    """Whatever Unicode Python has, a character inside a word is dropped, kept, split or bared as in `tokenizers`."""
    theirs()
    for first in [*range(0, 0x20000, 64), *range(0x2A600, 0x2FB00, 64), *range(0xE0000, 0xE0200, 64)]:
        characters = [chr(code) for code in range(first, first + 64) if unicodedata.category(chr(code)) != "Cs"]
        check_parity(" ".join(f"a{character}b" for character in characters))


@given(TEXTS)
@example("\ud800 a")
def test_spans_are_in_order_and_cover_every_piece(text: str) -> None:
    """Each piece has an id and characters of the text, in order."""
    ids, spans = SMALL.encode(text)
    assert len(ids) == len(spans)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(0 <= id < len(_PIECES) for id in ids)
    assert spans == sorted(spans)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Unaffable cats", [("un", "Un"), ("##aff", "aff"), ("##able", "able"), ("cat", "cat"), ("##s", "s")]),
        ("a\x00b Cafe\u0301", [("a", "a"), ("##b", "b"), ("cafe", "Cafe")]),
        ("ab中 İstanbul", [("a", "a"), ("##b", "b"), ("中", "中"), ("istanbul", "İstanbul")]),
        ("각", [("ᄀ", "각"), ("##ᅡ", "각"), ("##ᆨ", "각")]),
        ("cat 🙂!", [("cat", "cat"), ("[UNK]", "🙂"), ("!", "!")]),
        ("[SEP]", [("[", "["), ("sep", "SEP"), ("]", "]")]),
        ("s" * 101, [("[UNK]", "s" * 101)]),
    ],
)
def test_a_piece_stands_for_these_characters(text: str, expected: list[tuple[str, str]]) -> None:
    """By hand, with no other library: the pieces of a text, each with the characters of its span."""
    ids, spans = SMALL.encode(text)
    assert [(_PIECES[id], text[start:end]) for id, (start, end) in zip(ids, spans, strict=True)] == expected


def test_the_packaged_vocabulary_is_that_of_bert() -> None:
    """Known pieces have the places at which the models were trained."""
    pieces = WordPiece(vocabulary())
    assert (len(set(vocabulary())), pieces.unknown, pieces.cls, pieces.sep) == (30_522, 100, 101, 102)
    assert pieces.encode("Hello, world! Tokenization").ids == [7592, 1010, 2088, 999, 19204, 3989]
