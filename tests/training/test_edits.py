"""Claims made for training: what the labels say of them is so."""

from __future__ import annotations

import random
import re
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

edits: Any = import_module("edits")
groups: Any = import_module("groups")

WORDNET: Path = import_module("thesaurus").FOLDER
needs_wordnet = pytest.mark.skipif(not WORDNET.exists(), reason="WordNet is not installed: Debian's wordnet-base")

DOCUMENT = (
    "The Harlow bridge was opened on 3 May 1932 by the engineer Anna Berg. It is 330 metres long, and 12,000 cars "
    "cross it every day. The old ferry, which Peter Lund had run since 1897, was sold to a museum in Oslo. Most of "
    "the workers came from Bergen because the shipyards there had closed. In winter the bridge is not open to heavy "
    "lorries. The council rejected a larger bridge, although the merchants had supported it. Anna Berg later moved "
    "to Paris, where she taught until 1951. Some of her drawings are kept in the library of the town."
)
NEIGHBOUR = (
    "The Milford canal was dug in 1811 by French prisoners under Captain Jones. It has nine locks, of which two were "
    "rebuilt in June 1988. Few boats use the canal today, since the railway took the trade in coal and iron. The town "
    "of Milford bought the towpath in 1975 and opened it to walkers."
)
SENTENCES = edits.plain_sentences(DOCUMENT)
OTHERS = edits.plain_sentences(NEIGHBOUR)
seeds = st.integers(0, 100_000).map(random.Random)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", text)


@given(seeds, st.sampled_from([text for text in SENTENCES if re.search(r"\d", text)]))
def test_another_number_is_the_only_change(chance: random.Random, text: str) -> None:
    """One number is replaced by one of another value, and the rest of the sentence stays."""
    edited = edits.other_number(text, OTHERS, chance)
    assume(edited is not None)
    gone, new = (Counter(_words(one)) - Counter(_words(other)) for one, other in ((text, edited), (edited, text)))
    assert new
    assert all(re.fullmatch(r"[\d,-]+", word) for word in (*gone, *new))


@given(seeds, st.sampled_from(SENTENCES))
def test_exchanged_roles_keep_all_words(chance: random.Random, text: str) -> None:
    """Two names stand in each other's place: the same words in another order."""
    edited = edits.roles_exchanged(text, OTHERS, chance)
    assume(edited is not None)
    assert edited != text
    assert Counter(_words(edited)) == Counter(_words(text))


@given(seeds, st.sampled_from(SENTENCES))
def test_a_negation_is_one_word(chance: random.Random, text: str) -> None:
    """A "not" is put in or taken out, and nothing else."""
    edited = edits.negated(text, OTHERS, chance)
    assume(edited is not None)
    assert abs(edited.split().count("not") - text.split().count("not")) == 1
    assert [word for word in edited.split() if word != "not"] == [word for word in text.split() if word != "not"]


@given(st.lists(st.sampled_from("a b c d ,".split())), st.lists(st.sampled_from("a b c d ,".split())))
def test_what_changed_is_marked_and_nothing_else(before: list[str], after: list[str]) -> None:
    """Without the characters marked, the words that remain stand in the text before, in their order."""
    text = " ".join(after)
    spans = groups.changed(" ".join(before), text)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    left = iter(before)
    kept = [at for at in re.finditer(r"\S", text) if not any(start <= at.start() < end for start, end in spans)]
    assert all(any(at.group() == word for word in left) for at in kept)
    assert groups.changed(text, text) == []


@needs_wordnet
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_claims_about_a_document_are_labelled_as_they_were_made(seed: int) -> None:
    """The seed fixes all; a supported claim has nothing wrong, and a contradicted one is not in the premise."""
    group = groups.about(DOCUMENT, NEIGHBOUR, random.Random(seed))
    assert group == groups.about(DOCUMENT, NEIGHBOUR, random.Random(seed))
    assert group is not None
    assert group["claims"]
    for claim in group["claims"]:
        assert (claim["label"] == "entailment") == (claim["wrong"] == [])
        assert all(claim["text"][start:end] for start, end in claim["wrong"] or ())
        assert claim["label"] != "contradiction" or claim["text"] not in group["premise"]
