"""Tokenizers of the small world, in the forms of BERT and T5."""

from __future__ import annotations

from typing import Any

from tests.nli.weather import WORDS

_CHARACTERS = [chr(code) for code in range(33, 127)]


def bert_tokenizer() -> Any:
    """Word pieces, with [CLS] and [SEP] around the two texts."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS]
    pieces += [piece for piece in _CHARACTERS if piece not in pieces] + [f"##{piece}" for piece in _CHARACTERS]
    vocabulary = {piece: at for at, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=400))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [(name, vocabulary[name]) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
    )
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    return tokenizer


def t5_tokenizer() -> Any:
    """Pieces of a unigram model, with </s> at the end."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    special = ["<pad>", "</s>", "<unk>"]
    words = [f"▁{word}" for word in WORDS if word not in ("0",)]
    pieces = [*[(token, 0.0) for token in special], ("▁", -3.0), *[(word, -2.0) for word in words]]
    pieces += [(character, -9.0) for character in _CHARACTERS]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=2))
    tokenizer.normalizer = normalizers.Replace(Regex(r"\s+"), " ")
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    tokenizer.add_special_tokens(special)
    return tokenizer
