"""What holds for every text: the same answer each time, whatever the order of chunks, and never an error."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.judges.embedded.judge import EmbeddedJudge
from ragauge.judges.embedded.lexical import entail, relevant
from ragauge.questions import Classify, Decompose, Entail, Relevant
from ragauge.text.sentences import sentences
from ragauge.types import Failure, Label, Verdict

WORDS = """the a city company Berlin Marie Curie Paris 1889 1934 ten 10 % $5 million not never rose fell won lost
opened before after larger than was were in of and museum prize women March May 14 Germany German yes no is""".split()
PIECES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(lambda picked: " ".join(picked) + ".")
TEXTS = st.lists(PIECES, max_size=3).map(" ".join) | st.text(max_size=60)
FOREIGN = ("Unrelated text on cats.", "Owls hunt mice", "Green tea needs hot water, says grandmother; coffee too. " * 9)


@given(st.lists(TEXTS, max_size=4).map(tuple), TEXTS)
def test_any_text_gets_a_sound_verdict(premise: tuple[str, ...], hypothesis: str) -> None:
    """Nothing raises; probabilities are in 0..1 and fit the label; each chunk is answered, with spans inside it."""
    verdict = entail(premise, hypothesis)
    assert len(verdict.chunks) == len(premise)
    assert verdict.probability is not None
    assert 0 <= verdict.probability <= 1
    assert (verdict.label == Label.ENTAILED) == (verdict.probability >= 0.5)
    for chunk, text in zip(verdict.chunks, premise, strict=True):
        start, end = chunk.span or (0, 0)
        assert 0 <= start <= end <= len(text)


@given(st.lists(TEXTS, max_size=4).map(tuple), TEXTS)
def test_the_same_question_gets_the_same_answer(premise: tuple[str, ...], hypothesis: str) -> None:
    """Asked twice, it says the same."""
    assert entail(premise, hypothesis) == entail(premise, hypothesis)


@given(st.lists(TEXTS, min_size=2, max_size=4), TEXTS)
def test_the_order_of_chunks_does_not_matter(premise: list[str], hypothesis: str) -> None:
    """Chunks in reverse give the same joint label and the same verdict on each chunk."""
    forward = entail(tuple(premise), hypothesis)
    backward = entail(tuple(reversed(premise)), hypothesis)
    assert forward.label == backward.label
    assert forward.chunks == backward.chunks[::-1]


@given(st.lists(TEXTS, min_size=1, max_size=3).map(tuple), PIECES, st.sampled_from(FOREIGN))
def test_a_chunk_about_something_else_changes_nothing(premise: tuple[str, ...], hypothesis: str, foreign: str) -> None:
    """A chunk that shares no word with the claim makes nothing entailed and nothing less entailed."""
    before, after = entail(premise, hypothesis), entail((*premise, foreign), hypothesis)
    assert (before.label == Label.ENTAILED) == (after.label == Label.ENTAILED)


@given(st.lists(PIECES, min_size=1, max_size=5), st.data())
def test_a_copied_sentence_is_entailed(pieces: list[str], data: st.DataObject) -> None:
    """A sentence of the premise, word for word, follows from it."""
    text = " ".join(pieces)
    start, end = data.draw(st.sampled_from(sentences(text)))
    assert entail((text,), text[start:end]).label == Label.ENTAILED


@given(TEXTS, TEXTS, st.none() | TEXTS)
def test_any_text_gets_a_sound_relevance(query: str, text: str, reference: str | None) -> None:
    """Relevance is yes exactly from one half on, and its span lies in the text."""
    verdict = relevant(query, text, reference)
    assert verdict.probability is not None
    assert (verdict.label == Label.YES) == (verdict.probability >= 0.5)
    start, end = verdict.span or (0, 0)
    assert 0 <= start <= end <= len(text)


def test_the_judge_answers_in_order() -> None:
    """Answers come in the order of the questions, and a kind it does not answer gives a failure, not a guess."""
    questions = (
        Entail(("The bridge opened in 1932.",), "The bridge opened in 1932."),
        Relevant("When did the bridge open?", "The bridge opened in 1932."),
        Classify("What a day.", "biased"),
        Decompose("The bridge opened in 1932. It is long."),
    )
    entailed, relevant, refused, taken = asyncio.run(EmbeddedJudge().answer(questions))
    assert isinstance(entailed, Verdict)
    assert isinstance(relevant, Verdict)
    assert (entailed.label, relevant.label) == (Label.ENTAILED, Label.YES)
    assert isinstance(refused, Failure)
    assert len(taken.statements) == 2  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("query", "text", "label"),
    [
        ("Who designed the Sydney Opera House?", "The Sydney Opera House was designed by Jørn Utzon.", Label.YES),
        ("Who designed the Sydney Opera House?", "Bananas are rich in potassium.", Label.NO),
        ("Who designed the Sydney Opera House?", "", Label.NO),
    ],
)
def test_relevance_is_about_the_query(query: str, text: str, label: Label) -> None:
    """A text is relevant if it speaks of what is asked, or has the form of the answer."""
    assert relevant(query, text, None).label == label


@pytest.mark.parametrize(
    ("reference", "text", "label"),
    [
        ("Jørn Utzon", "The Sydney Opera House was designed by Jørn Utzon.", Label.YES),
        ("Jørn Utzon", "The Sydney Opera House was opened by the queen.", Label.NO),
        ("Yes", "The Sydney Opera House was designed abroad.", Label.YES),
    ],
)
def test_a_reference_must_be_reachable(reference: str, text: str, label: Label) -> None:
    """With a reference, a text is relevant if it helps to produce it; a bare yes leaves only the query."""
    assert relevant("Was the Sydney Opera House designed abroad?", text, reference).label == label


def test_its_identity_names_rules_and_tables() -> None:
    """The settings hold what can change an answer: the rules, and hashes of the tables, the encoder and the layers."""
    identity = EmbeddedJudge().identity
    assert identity.name == "embedded"
    named = {"rules", "rules.decompose", "splitter", "reads", "tables", "encoder", "layers", "layers.correct"}
    assert {name for name, _ in identity.settings} == named
