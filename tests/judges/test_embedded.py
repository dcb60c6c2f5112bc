"""The packaged judge: what it says of claims, that nothing else sways it, and that any text gets an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib.resources import as_file, files
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragauge.judges.embedded.encoder import MODEL, Encoder, encoder, fingerprint
from ragauge.judges.embedded.judge import EmbeddedJudge
from ragauge.judges.embedded.lexical import Lexical
from ragauge.judges.embedded.windows import best_windows, windows
from ragauge.judges.embedded.words import idf, negates, overlap, words
from ragauge.judges.onnx import open_session
from ragauge.questions import Classify, Decompose, Entail, Question, Relevant
from ragauge.text.sentences import sentences
from ragauge.types import Failure, Label, Verdict

CURIE = (
    "Marie Curie, a Polish physicist, won the Nobel Prize in 1903 with her husband Pierre. She was born in Warsaw and "
    "moved to Paris, where she taught at the Sorbonne."
)
TOWER = "The Eiffel Tower was built by Gustave Eiffel's company between 1887 and 1889. It is 330 metres tall."
FILLER = "The harbour was dredged in spring, and the council met on Tuesday to talk about parking. "

VOCABULARY = """the a city company Berlin Marie Curie Paris 1889 1934 ten 10 % $5 million not never rose fell won lost
opened before after larger than was were in of and museum prize women March May 14 Germany German yes no is""".split()
PIECES = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=12).map(lambda picked: " ".join(picked) + ".")
TEXTS = st.lists(PIECES, max_size=3).map(" ".join) | st.text(max_size=60)
QUERIES = st.none() | TEXTS.map(lambda text: text + "?")


@pytest.fixture(scope="module", params=["embedded", "lexical"])
def judge(request: pytest.FixtureRequest) -> EmbeddedJudge:
    """The packaged judge, and the baseline of words alone."""
    return EmbeddedJudge() if request.param == "embedded" else EmbeddedJudge(Lexical(), "lexical")


def answer(judge: EmbeddedJudge, question: Question) -> Verdict:
    """The verdict on one question."""
    [verdict] = asyncio.run(judge.answer([question]))
    assert isinstance(verdict, Verdict)
    return verdict


def entail(premise: Sequence[str], hypothesis: str, query: str | None = None) -> Verdict:
    """The embedded judge's verdict on a hypothesis."""
    return answer(EmbeddedJudge(), Entail(tuple(premise), hypothesis, query))


@pytest.mark.parametrize(
    "claim",
    ["Marie Curie won the Nobel Prize in 1903.", "Marie Curie was born in Warsaw.", "The tower is 330 metres tall."],
)
def test_a_claim_that_one_chunk_states_is_entailed(claim: str) -> None:
    """A claim that one of two chunks states is entailed, and by that chunk alone."""
    verdict = entail([CURIE, TOWER], claim)
    assert verdict.label == Label.ENTAILED
    assert sum(chunk.label == Label.ENTAILED for chunk in verdict.chunks) == 1


@pytest.mark.parametrize(
    "claim",
    [
        "Marie Curie won the Nobel Prize in 1911.",
        "The tower is 250 metres tall.",
        "Marie Curie was not born in Warsaw.",
        "Marie Curie had two daughters.",
        "Parking in the harbour is free on Sundays.",
    ],
)
def test_a_claim_that_no_chunk_states_is_not_entailed(claim: str) -> None:
    """Another value, a negation, and what the chunks are silent about do not follow."""
    assert entail([CURIE, TOWER], claim).label != Label.ENTAILED


def test_an_answer_does_not_depend_on_the_other_questions(judge: EmbeddedJudge) -> None:
    """A question alone, and among many about the same and other texts, gets the same verdict to the last digit."""
    claims = ["Marie Curie won the Nobel Prize in 1911.", "Curie taught in Paris.", "It is tall.", "Pierre was French."]
    questions = [Entail((CURIE, TOWER), claim) for claim in claims] + [Entail((TOWER,), claim) for claim in claims]
    together = asyncio.run(judge.answer(questions))
    assert together == [answer(judge, question) for question in questions]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(f"{CURIE} {TOWER} {FILLER}".split()).map("{} was there.".format), min_size=2))
def test_logits_do_not_depend_on_the_other_claims(claims: list[str]) -> None:
    """The logits of claims of any number and lengths, read together, are those of each read alone."""
    claims = [*claims, " ".join(claims)]
    assert encoder().read(CURIE, claims) == [encoder().read(CURIE, [claim])[0] for claim in claims]


@settings(max_examples=60, deadline=None)
@given(premise=st.lists(TEXTS, max_size=4).map(tuple), hypothesis=TEXTS, query=QUERIES)
def test_any_text_gets_a_sound_verdict(
    judge: EmbeddedJudge, premise: tuple[str, ...], hypothesis: str, query: str | None
) -> None:
    """Nothing raises; probabilities are in 0..1 and fit the label; each chunk is answered, with its span inside it."""
    verdict = answer(judge, Entail(premise, hypothesis, query))
    assert len(verdict.chunks) == len(premise)
    assert verdict.probability is not None
    assert 0 <= verdict.probability <= 1
    assert (verdict.label == Label.ENTAILED) == (verdict.probability >= 0.5)
    for chunk, text in zip(verdict.chunks, premise, strict=True):
        start, end = chunk.span or (0, 0)
        assert 0 <= start <= end <= len(text)


@settings(max_examples=40, deadline=None)
@given(premise=st.lists(TEXTS, min_size=2, max_size=4), hypothesis=TEXTS, query=QUERIES)
def test_the_order_of_chunks_does_not_matter(
    judge: EmbeddedJudge, premise: list[str], hypothesis: str, query: str | None
) -> None:
    """Chunks in reverse give the same verdict on each chunk."""
    forward = answer(judge, Entail(tuple(premise), hypothesis, query))
    backward = answer(judge, Entail(tuple(reversed(premise)), hypothesis, query))
    assert forward.chunks == backward.chunks[::-1]


@settings(max_examples=40, deadline=None)
@given(pieces=st.lists(PIECES, min_size=1, max_size=5), data=st.data())
def test_a_copied_sentence_is_entailed(judge: EmbeddedJudge, pieces: list[str], data: st.DataObject) -> None:
    """A sentence of the premise, word for word, follows from it."""
    text = " ".join(pieces)
    start, end = data.draw(st.sampled_from(sentences(text)))
    assert answer(judge, Entail((text,), text[start:end])).label == Label.ENTAILED


@settings(max_examples=40, deadline=None)
@given(query=TEXTS, text=TEXTS, reference=st.none() | TEXTS)
def test_any_text_gets_a_sound_relevance(judge: EmbeddedJudge, query: str, text: str, reference: str | None) -> None:
    """Relevance is yes exactly from one half on, and its span lies in the text."""
    verdict = answer(judge, Relevant(query, text, reference))
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
    entailed, relevant, refused, parts = asyncio.run(EmbeddedJudge().answer(questions))
    assert isinstance(entailed, Verdict)
    assert isinstance(relevant, Verdict)
    assert (entailed.label, relevant.label) == (Label.ENTAILED, Label.YES)
    assert isinstance(refused, Failure)
    assert len(parts.statements) == 2  # type: ignore[union-attr]


def test_a_long_text_is_read_wherever_the_claim_stands() -> None:
    """In some 5,000 words the one sentence that decides is found at the beginning, in the middle and at the end."""
    for before in (0, 150, 300):
        text = FILLER * before + TOWER + " " + FILLER * (300 - before)
        assert entail([text], "The Eiffel Tower is 330 metres tall.").label == Label.ENTAILED


def test_a_claim_of_several_sentences_needs_each_of_them() -> None:
    """Two sentences are entailed where each stands in another part of a long text, and not if one is nowhere."""
    text = f"{CURIE} {FILLER * 60}{TOWER}"
    true = "Marie Curie taught at the Sorbonne. The Eiffel Tower was built between 1887 and 1889."
    false = "Marie Curie taught at the Sorbonne. The Louvre was rebuilt by a famous architect from Boston."
    assert entail([text], true).label == Label.ENTAILED
    assert entail([text], false).label != Label.ENTAILED


def test_two_neutral_chunks_do_not_entail_a_mixture() -> None:
    """The attribute of one thing is not attached to another that a second chunk is about."""
    verdict = entail(["Tom's car is yellow.", "Ann's car is red."], "Tom owns a red car.")
    assert verdict.label != Label.ENTAILED


def test_relevance_knows_meaning() -> None:
    """A passage that answers a question in other words is more relevant than one on another matter."""
    query = "How high is the landmark in Paris?"
    own, other = (answer(EmbeddedJudge(), Relevant(query, text)) for text in (TOWER, FILLER * 2))
    assert (own.probability or 0) > (other.probability or 0)


@pytest.mark.parametrize(
    ("reference", "text", "label"),
    [
        ("Jørn Utzon", "The Sydney Opera House was designed by Jørn Utzon.", Label.YES),
        ("Jørn Utzon", "The harbour of Sydney is deep and cold.", Label.NO),
    ],
)
def test_a_relevant_chunk_helps_to_produce_the_reference(reference: str, text: str, label: Label) -> None:
    """With a reference, a text is relevant if a sentence of the reference follows from it."""
    assert answer(EmbeddedJudge(), Relevant("Who designed the Opera House?", text, reference)).label == label


def test_bias_is_not_answered() -> None:
    """The judge does not claim to know bias."""
    assert "classify:biased" not in EmbeddedJudge().answers


def test_its_identity_names_what_can_change_an_answer() -> None:
    """The settings hold the version, and hashes of the tables, the encoder and the layers."""
    identity = EmbeddedJudge().identity
    assert {name for name, _ in identity.settings} == {"version", "splitter", "tables", "encoder", "layers"}
    assert ("encoder", fingerprint()) in identity.settings


def test_embeddings_have_length_one_and_are_stable() -> None:
    """A text's vector is a direction, and the same each time."""
    found = encoder().embed([CURIE, TOWER, CURIE])
    assert found.shape == (3, 384)
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    assert (found[0] == found[2]).all()


def test_threads_do_not_change_an_answer() -> None:
    """With any number of threads each text gets what it gets alone, in the order of the texts."""
    texts = [f"{CURIE} {FILLER * count}" for count in range(12)]
    with as_file(files("ragauge.judges.embedded") / MODEL) as path:
        alone, together = (Encoder(open_session(path), workers) for workers in (1, 4))
    expected = [alone.read(text, [TOWER]) for text in texts]
    assert list(together.parallel(lambda text: together.read(text, [TOWER]), texts)) == expected
    assert (together.embed(texts) == alone.embed(texts)).all()


def test_an_empty_or_endless_claim_is_read() -> None:
    """Whatever a claim's length, it gets logits."""
    assert len(encoder().read(CURIE, ["", "word " * 5000])) == 2
    assert len(encoder().read("", ["Something."])) == 1


@given(st.lists(st.integers(1, 60), max_size=30))
def test_windows_cover_a_text_in_order(lengths: list[int]) -> None:
    """Every sentence is in a window; windows follow each other and share one sentence at most; none is too long."""
    text = " ".join(f"Sentence{place}" + " word" * (length - 1) + "." for place, length in enumerate(lengths))
    found = [[word for word in window.split() if word.startswith("Sentence")] for window in windows(text)]
    assert sorted({word for window in found for word in window}) == sorted(
        word for word in text.split() if word.startswith("Sentence")
    )
    assert all(len(set(one) & set(two)) <= 1 for one, two in pairwise(found))
    assert all(
        len(inside) == 1 or len(window.split()) <= 170 for inside, window in zip(found, windows(text), strict=True)
    )


def test_a_title_stands_before_each_window() -> None:
    """What a page is about is read with every part of it; a blank text has no windows."""
    text = "The Lighthouse of Alexandria\n\n" + " ".join(f"Fact {place} is {'here ' * 20}." for place in range(30))
    assert len(windows(text)) > 2
    assert all(window.startswith("The Lighthouse of Alexandria\n") for window in windows(text))
    assert windows(" \n\t") == ()


def test_the_windows_that_hold_a_claim_are_read() -> None:
    """Of a long text the window with the claim's words is among the few that are chosen, in the text's order."""
    text = FILLER * 100 + TOWER + " " + FILLER * 100
    chosen = best_windows(text, "The Eiffel Tower is tall.", most=2)
    assert len(chosen) == 2
    assert any("Eiffel" in window for window in chosen)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,500", "1500"),
        ("three", "3"),
        ("twenty-one", "21"),
        ("3 million", "3,000,000"),
        ("Café", "cafe"),
        ("cats", "cat"),
    ],
)
def test_forms_of_one_word_have_one_key(one: str, other: str) -> None:
    """Numbers in digits and letters, accents and inflections are compared by one key."""
    assert [word.key for word in words(one)] == [word.key for word in words(other)]


def test_overlap_weighs_rare_words_and_counts_what_is_missing() -> None:
    """What a passage holds of a claim: by weight, with the numbers and names that it lacks."""
    held = overlap("The Eiffel Tower in Lisbon is 250 metres tall.", TOWER)
    assert (held.numbers, held.names) == (1, 1)
    assert 0.3 < held.sentence <= held.whole < 1
    assert overlap("", TOWER) == overlap("Entirely unrelated.", "")._replace(names=0)
    assert idf("the") < idf("tower") < idf("sorbonn") <= 1
    assert negates("It can't be.")
    assert not negates("It is notable.")
