"""Every function that reads whole texts, and texts of repeated pieces that make careless patterns slow."""

from __future__ import annotations

import random
from collections.abc import Callable

from ragauge.datasets.corpus import passages, sections
from ragauge.judges.embedded.encoder import WordPiece, vocabulary
from ragauge.judges.embedded.lexical import entail, polarity, relevant
from ragauge.judges.embedded.passages import windows
from ragauge.judges.embedded.statements import decompose, is_fragment
from ragauge.judges.embedded.toxicity import attacks, cues, pieces, stance, units
from ragauge.judges.llm.prompts import Pack
from ragauge.judges.llm.replies import extract_object, parse_reply
from ragauge.kinds.call import PromptStyle, locate_quote
from ragauge.questions import Decompose, Entail, Relevant
from ragauge.readers.formats import block_rows
from ragauge.readers.values import text, to_chunks, to_gold_claims, to_references
from ragauge.text import overlap, tokens, trust_eval
from ragauge.text.citations import citation_marks, citations_in, cites_otherwise
from ragauge.text.cited import cited_items, cited_sentences, without_citations
from ragauge.text.markdown import blocks
from ragauge.text.overlap import bleu, chrf, rouge
from ragauge.text.refusals import claims_nothing, is_refusal_sentence, refusal
from ragauge.text.sentences import punkt_sentences, sentences
from ragauge.text.tokens import TOKENIZERS, tokenizer_named
from ragauge.types import Chunk

#: What texts are made of. Some stand for a kind: a digit, a letter, white space, a mark of Markdown, a language.
PIECES = (
    *("7 ", "1,000", "1989 ", "12:30", "3.5 kg ", "$5 ", "IV ", " ", "\n", "\t", "\xa0", "\r\n", "\u2028"),
    *("(", ")", "[", "]", "{", '{"a": ', "<", ">", '"', "'", "“", "’", "`", "```\n", "~", "*", "_", "#", "\\"),
    *("-", " - ", "–", ", ", ". ", "...", ":", "; ", "!", "? ", "/", "|", "&", "=", "^", "%", "@"),
    *(
        "| a | 1 |\n",
        "- a\n",
        "1. ",
        "[1]",
        "[1, 2] ",
        "【1†",
        "(Ada, 1989)",
        "a.b.",
        "e.g. ",
        "Ada L. ",
        "www.a.b",
        "http://a",
    ),
    *("a", "A", "Ada ", "the ", "and ", "not ", "no, ", "yes ", "you ", "it is ", "of May ", "who ", "which is red, "),
    *(
        "said that ",
        "because ",
        "I cannot ",
        "what can I ",
        "two hundred ",
        "fat 9 and ",
        "é",
        "e\u0301",
        "ſ",
        "漢",
        "の",
    ),
    *("und ", "\u200d", "\ufeff", "😀", "\x00", "Reading the ", "red, ", "as if ", "costs "),
)

SIZE = 20_000

_QUESTION = "How much fat does the harbour of Ada have in 1989, and why?"
_CLAIM = "Ada has 9 fat and the harbour, which is red, costs $5 in May 1989."
_PACK = Pack((Entail((_CLAIM, "Another."), _CLAIM), Relevant(_QUESTION, _CLAIM)))
_LABELS = ("1", "2")
_CHUNKS = [Chunk("a", "a", "b"), Chunk("b", "http://a", "b")]
_WORDS = WordPiece(vocabulary())

#: A function of a text, by a name.
READERS: dict[str, Callable[[str], object]] = {
    "block file": lambda given: list(block_rows(given.splitlines(), "file")),
    "bleu": lambda given: bleu(given, [given[1:]]),
    "chrf": lambda given: chrf(given, [given[1:]]),
    "citations": lambda given: (
        citation_marks(given),
        list(citations_in(given, _CHUNKS)),
        cites_otherwise(given, []),
    ),
    "cited": lambda given: (
        cited_sentences(given, 2),
        cited_items(given, 2),
        without_citations(given, 2),
    ),
    "claim": lambda given: entail((_CLAIM,), given),
    "claim and text": lambda given: entail((given + _CLAIM,), given),
    "contexts": to_chunks,
    "decompose": decompose,
    "decompose to a query": lambda given: decompose(given[:200], given),
    "golden": lambda given: (to_references(given, True), to_references(given, False), to_gold_claims(given)),
    "markdown": blocks,
    "opinions": lambda given: (stance(given), attacks(given), claims_nothing(given), is_fragment(given)),
    "passages": lambda given: (passages(given), [*sections(given.splitlines(keepends=True), "text")]),
    "polarity": polarity,
    "punkt": punkt_sentences,
    "query and text": lambda given: relevant(given, _CLAIM),
    "refusals": lambda given: (refusal(given), is_refusal_sentence(given)),
    "relevance": lambda given: relevant(_QUESTION, given, None),
    "reply": lambda given: parse_reply(_PACK, given, PromptStyle()),
    "reply after a brace": lambda given: extract_object('{"1": ' + given, _LABELS),
    "reply: quote": lambda given: locate_quote(given, f" {given}x"),
    "rouge": lambda given: rouge(given, [given[1:]], stemmer=True),
    "rouge in unicode": lambda given: rouge(given, [given[1:]], tokenizer="unicode"),
    "sentences": sentences,
    "split": lambda given: (Entail((given,), _CLAIM).in_parts(500), Decompose(given).in_parts(500)),
    "squad": lambda given: (tokens.squad_normalise(given), overlap.token_f1(given, [given])),
    "text": lambda given: entail((given,), _CLAIM),
    "tokens": lambda given: [tokenizer_named(name)(given) for name in TOKENIZERS],
    "toxicity": lambda given: (units(given), pieces(given), cues(given)),
    "trust-eval": lambda given: (
        trust_eval.without_citations(given),
        trust_eval.citations(given),
        trust_eval.list_items(given),
    ),
    "trust-eval: refusal": lambda given: (trust_eval.is_refusal(given), trust_eval.contains(given, ["Ada"])),
    "values": text,
    "windows": windows.__wrapped__,
    "word pieces": _WORDS.encode,
}


def made_of(*pieces: str) -> str:
    """A text of SIZE characters that repeats some pieces."""
    unit = "".join(pieces)
    return (unit * (SIZE // len(unit) + 1))[:SIZE]


def texts(pairs: int) -> list[str]:
    """A text of each piece, and of a number of pairs of them, drawn with a fixed seed."""
    chance = random.Random(0)
    return [made_of(piece) for piece in PIECES] + [made_of(*chance.sample(PIECES, 2)) for _ in range(pairs)]
