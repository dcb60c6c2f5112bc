"""The trained backend: how the packaged encoder classifies claims, and that nothing else sways it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib.resources import as_file, files

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragauge.judges.embedded.encoder import MODEL, Encoder, encoder, fingerprint, open_session
from ragauge.judges.embedded.judge import EmbeddedJudge, Trained
from ragauge.questions import Classify, Correct, Entail, Relevant, judgment_key
from ragauge.types import Identity, Label, Verdict

CURIE = (
    "Marie Curie, a Polish physicist, won the Nobel Prize in 1903 with her husband Pierre. She was born in Warsaw and "
    "moved to Paris, where she taught at the Sorbonne."
)
TOWER = "The Eiffel Tower was built by Gustave Eiffel's company between 1887 and 1889. It is 330 metres tall."
FILLER = "The harbour was dredged in spring, and the council met on Tuesday to talk about parking. "


def _entail(premise: Sequence[str], hypothesis: str) -> Verdict:
    verdict = Trained().verdict(Entail(tuple(premise), hypothesis))
    assert verdict is not None
    return verdict


@pytest.mark.parametrize(
    "claim",
    ["Marie Curie won the Nobel Prize in 1903.", "Marie Curie was born in Warsaw.", "The tower is 330 metres tall."],
)
def test_what_is_reported_is_entailed(claim: str) -> None:
    """A claim that one of two chunks tells is entailed, and that chunk says so."""
    verdict = _entail([CURIE, TOWER], claim)
    assert verdict.label == Label.ENTAILED
    assert sum(chunk.label == Label.ENTAILED for chunk in verdict.chunks) == 1


def test_a_transcript_without_full_stops_is_read() -> None:
    """What is said somewhere in thousands of words without a full stop is found, and what is not is not."""
    said = FILLER.lower().translate({ord(mark): None for mark in ".,"}) * 100
    transcript = f"{said} marie curie was born in warsaw {said}"
    assert _entail([transcript], "Marie Curie was born in Warsaw.").label == Label.ENTAILED
    assert _entail([transcript], "Marie Curie was born in Paris.").label != Label.ENTAILED


def test_a_question_states_nothing() -> None:
    """A claim that answers a question is not entailed by the question."""
    assert _entail(["What is the capital of France?"], "Paris is the capital of France.").label == Label.NEUTRAL


@pytest.mark.parametrize("claim", ["Marie Curie won the Nobel Prize in 1911.", "Marie Curie was not born in Warsaw."])
def test_another_value_or_a_negation_contradicts(claim: str) -> None:
    """One number with another in its place, and a negation, speak against a text."""
    assert _entail([CURIE, TOWER], claim).label == Label.CONTRADICTED


@pytest.mark.parametrize(
    "claim",
    [
        "Marie Curie had two daughters.",
        "Parking in the harbour is free on Sundays.",
        "The tower is 250 metres tall.",
    ],
)
def test_what_is_not_stated_is_not_entailed(claim: str) -> None:
    """A claim on which the texts are silent, or which has another value, is not entailed, whoever it is about."""
    assert _entail([CURIE, TOWER], claim).label != Label.ENTAILED


def test_an_answer_does_not_depend_on_what_else_is_asked() -> None:
    """A question alone, and among many about the same and other texts, gets the same verdict to the last digit."""
    claims = ["Marie Curie won the Nobel Prize in 1911.", "Curie taught in Paris.", "It is tall.", "Pierre was French."]
    questions = [Entail((CURIE, TOWER), claim) for claim in claims] + [Entail((TOWER,), claim) for claim in claims]
    together = asyncio.run(EmbeddedJudge().answer(questions))
    alone = [asyncio.run(EmbeddedJudge().answer([question]))[0] for question in questions]
    assert together == alone


@pytest.mark.slow
@settings(max_examples=25)
@given(st.lists(st.sampled_from(f"{CURIE} {TOWER} {FILLER}".split()).map("{} was there.".format), min_size=2))
def test_no_bit_of_what_is_reported_of_a_claim_depends_on_the_claims_beside_it(claims: list[str]) -> None:
    """The logits of claims of any number and lengths, read together, are those of each read alone."""
    claims = [*claims, " ".join(claims)]
    opened = encoder()
    assert opened.classify([CURIE], claims) == [opened.classify([CURIE], [claim])[0] for claim in claims]


def test_a_long_text_is_read_wherever_the_claim_stands() -> None:
    """In some 5,000 words the one sentence that tells is found, at the beginning, in the middle and at the end."""
    for before in (0, 150, 300):
        text = FILLER * before + TOWER + " " + FILLER * (300 - before)
        assert _entail([text], "The Eiffel Tower is 330 metres tall.").label == Label.ENTAILED


def test_a_claim_may_draw_on_two_chunks() -> None:
    """What two chunks tell a part of each is entailed by both together, and by neither alone."""
    one, two = "Anna Berg founded the Oslo Tea Company in 1921.", "The Oslo Tea Company closed in 1974."
    verdict = _entail([one, two], "The Oslo Tea Company was founded in 1921 and closed in 1974.")
    assert verdict.label == Label.ENTAILED
    assert all(chunk.label != Label.CONTRADICTED for chunk in verdict.chunks)


@pytest.mark.parametrize(
    ("context", "claim", "query"),
    [
        ("The final in Belo Horizonte ended 1-7; Germany won.", "Germany beat Brazil that night.", "Who won?"),
        ("Guests may cancel up to two days before arrival.", "A booking can be called off.", "Can I cancel?"),
        ("It is not possible to reserve a parking space ahead.", "You cannot book a parking space in advance", None),
    ],
)
def test_every_claim_is_read_by_the_encoder(context: str, claim: str, query: str | None) -> None:
    """No list of verbs or stop words, no query and no lack of common words keeps a claim from the encoder."""
    assert Trained().joint(Entail((FILLER, context), claim, query))


def test_an_answer_of_few_words_is_completed_by_its_query() -> None:
    """Up to four words are read behind the query, and so depend on what was asked."""
    born, won = ("Where was Marie Curie born?", "What did Marie Curie win?")
    asked = [Trained().joint(Entail((FILLER, CURIE), "In Warsaw.", query)) for query in (born, won)]
    assert asked[0]["entailed"] > asked[1]["entailed"]


def test_a_sentence_with_another_number_contradicts_its_copy() -> None:
    """Whatever the encoder says, a copy of a sentence with one number changed is contradicted by that chunk."""
    verdict = _entail([TOWER, CURIE], "It is 230 metres tall.")
    assert verdict.label == verdict.chunks[0].label == Label.CONTRADICTED
    assert (verdict.probability or 0) < 0.5


def test_a_claim_attends_to_several_texts_at_once() -> None:
    """What two texts tell a half of each is likelier given both than given either."""
    one, two = "Anna Berg founded the Oslo Tea Company in 1921.", "The Oslo Tea Company closed in 1974."
    claim = "The Oslo Tea Company was founded in 1921 and closed in 1974."
    together, first, second = (encoder().classify(texts, [claim])[0] for texts in ([one, two], [one], [two]))
    assert together.entailed - together.neutral > max(first.entailed - first.neutral, second.entailed - second.neutral)


def test_relevance_knows_meaning_besides_words() -> None:
    """A passage that answers a question in other words is nearer to it than one on another matter."""
    backend = Trained()
    own = backend.verdict(Relevant("How high is the landmark in Paris?", TOWER))
    other = backend.verdict(Relevant("How high is the landmark in Paris?", FILLER * 2))
    assert own is not None
    assert other is not None
    assert (own.probability or 0) > (other.probability or 0)


def test_a_threat_is_toxic_and_a_complaint_is_not() -> None:
    """The judge answers whether an opinion is toxic; criticism of a thing is none."""
    backend = Trained()
    threat = backend.verdict(Classify("I will find you and make you suffer, you worthless idiot.", "toxic"))
    complaint = backend.verdict(Classify("I was disappointed by the slow delivery.", "toxic"))
    assert threat is not None
    assert complaint is not None
    assert (threat.label, complaint.label) == (Label.YES, Label.NO)


def test_bias_is_not_answered() -> None:
    """The judge does not claim to know bias."""
    assert Trained().verdict(Classify("Women drive badly.", "biased")) is None
    assert "classify:biased" not in EmbeddedJudge().answers


def test_the_model_is_part_of_the_identity() -> None:
    """Answers of another model are never taken for those of this one."""
    assert ("encoder", fingerprint()) in EmbeddedJudge().identity.settings


def test_embeddings_have_length_one_and_are_kept() -> None:
    """A text's vector is a direction; asked twice it is the same."""
    found = encoder().embed([CURIE, TOWER, CURIE])
    assert found.shape == (3, 384)
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    assert (found[0] == found[2]).all()


def test_texts_encoded_in_threads_are_encoded_alike() -> None:
    """With however many threads texts are read, each gets what it gets alone, in the order of the texts."""
    texts = [f"{CURIE} {FILLER * count}" for count in range(12)]
    with as_file(files("ragauge.judges.embedded") / MODEL) as path:
        alone, together = (Encoder(open_session(path), workers) for workers in (1, 4))
    reply = [alone.classify([text], [TOWER]) for text in texts]
    assert list(together.map(lambda text: together.classify([text], [TOWER]), texts)) == reply
    assert (together.embed(texts) == alone.embed(texts)).all()


def test_an_empty_or_endless_claim_is_read() -> None:
    """Whatever a claim's length, it gets a verdict."""
    opened = encoder()
    assert len(opened.classify([CURIE], ["", "word " * 5000])) == 2
    assert len(opened.classify([""], ["Something."])) == 1


def test_a_claim_of_several_sentences_is_read_sentence_by_sentence() -> None:
    """Two sentences are entailed where each stands in another stretch of a long text, and not if one is nowhere."""
    text = f"{CURIE} {FILLER * 60}{TOWER}"
    true = "Marie Curie taught at the Sorbonne. The Eiffel Tower was built between 1887 and 1889."
    false = "Marie Curie taught at the Sorbonne. The Louvre was rebuilt by a famous architect from Boston."
    assert _entail([text], true).label == Label.ENTAILED
    assert _entail([text], false).label != Label.ENTAILED


def test_a_right_answer_may_say_more_than_its_reference() -> None:
    """A sentence is right by a reference of two words, and another person is not; a refusal is wrong."""
    backend, query, reference = Trained(), "Who wrote Hamlet?", ("William Shakespeare",)

    def label(response: str) -> Label:
        verdict = backend.verdict(Correct(query, response, reference))
        assert verdict is not None
        return verdict.label

    assert label("Hamlet was written by William Shakespeare.") is Label.RIGHT
    assert label("the william shakespeare") is Label.RIGHT
    assert label("Hamlet was written by Christopher Marlowe.") is not Label.RIGHT
    assert label("I could not find an answer in the documents.") is Label.WRONG


def test_references_without_words_decide_nothing() -> None:
    """Where no reference says anything the answer is undecided, with the reason."""
    verdict = Trained().verdict(Correct("Who?", "Ada.", (" ", "...")))
    assert verdict == Verdict(Label.UNDECIDED, rationale="the references say nothing")


def test_the_layers_of_a_kind_count_for_that_kind_alone() -> None:
    """Judgments of other kinds keep their keys when the layers on correct answers are fitted again."""
    judge = EmbeddedJudge().identity
    changed = Identity(judge.name, tuple((k, "x" if k == "layers.correct" else v) for k, v in judge.settings))
    claim, answer = Entail(("p",), "h"), Correct("q", "a", ("r",))
    assert judgment_key(claim, judge) == judgment_key(claim, changed)
    assert judgment_key(answer, judge) != judgment_key(answer, changed)
