"""Sentences by Punkt: equal to NLTK's on the same parameters."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer
from punkt import load_model

from ragauge.errors import MissingExtra
from ragauge.metrics.registry import parse_metric
from ragauge.needs.citations import citations
from ragauge.text import sentences
from ragauge.text.sentences import punkt_sentences


@pytest.fixture(scope="module")
def nltk() -> PunktSentenceTokenizer:
    """NLTK's own tokenizer."""
    known, parameters = load_model("english"), PunktParameters()
    parameters.abbrev_types, parameters.collocations = set(known.abbrev_types), set(known.collocations)
    parameters.sent_starters = set(known.sent_starters)
    parameters.ortho_context = defaultdict(int, known.ortho_context)
    return PunktSentenceTokenizer(parameters)


PIECES = st.sampled_from(
    'Wow|Dr|U.S|No|5|3.14|.|!|?| | |  |\n|\n\n|[1]|(a|b)|"|’|“|…|...|. . .|--|e.g|I|the|The|J|Smith|1|,|;|»'.split("|")
)


@given(text=st.lists(PIECES, max_size=14).map("".join))
def test_sentences_are_those_of_nltk(text: str, nltk: PunktSentenceTokenizer) -> None:
    """Any mixture of words, stops, quotes and marks is cut where NLTK cuts it."""
    assert punkt_sentences(text) == list(nltk.span_tokenize(text))


def test_a_missing_package_is_named_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package of parameters a metric that needs it is refused, and the error says what to install."""
    monkeypatch.setattr(sentences, "find_spec", lambda name: None)
    citations.cache_clear()
    with pytest.raises(MissingExtra, match=r"ragauge\[trust\]"):
        parse_metric("citation_recall(variant=trust_eval)")
    assert parse_metric("citation_recall").spec == "citation_recall"


def test_sentences_are_those_of_the_vectors(golden: Path) -> None:
    """Trust-Eval's sentences on its recorded texts."""
    rows = json.loads((golden / "systems" / "trust_eval_and_ragas.json").read_text("utf-8"))
    ours = [row for row in rows if row["metric"].startswith("nltk sent_tokenize")]
    for row in ours:
        text = row["inputs"]["text"]
        assert [text[a:b] for a, b in punkt_sentences(text)] == row["expected"]
    assert len(ours) >= 11
