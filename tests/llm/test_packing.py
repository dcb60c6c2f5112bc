"""Questions in as few calls as they fit in."""

from __future__ import annotations

import json
import random

from hypothesis import given
from hypothesis import strategies as st

from ragauge.judges.llm.prompts import Pack, PackLimits, packs, prompt_of
from ragauge.kinds.base import QUESTION_OVERHEAD
from ragauge.kinds.call import PromptStyle
from ragauge.kinds.relevant import MAX_INLINE_CHARS
from ragauge.questions import (
    CHUNK_UTILITY,
    COHERENCE,
    COMPLETENESS,
    Classify,
    Decompose,
    Entail,
    Question,
    Rate,
    Relevant,
)

TEXTS = st.sampled_from([f"text {n} " + "word " * (n * n) for n in range(12)]) | st.text(max_size=20)
QUERIES = st.none() | st.sampled_from(["Who?", "When?"])
QUESTIONS = st.one_of(
    st.builds(Decompose, TEXTS, QUERIES),
    st.builds(Entail, st.lists(TEXTS, max_size=4).map(tuple), TEXTS, QUERIES),
    st.builds(Relevant, st.sampled_from(["Who?", "When?"]), TEXTS, st.none() | TEXTS),
    st.builds(Classify, TEXTS, st.sampled_from(["biased", "toxic"])),
    st.builds(lambda a, b: Rate(COHERENCE, (("source", a), ("response", b))), TEXTS, TEXTS),
    st.builds(lambda a, b: Rate(CHUNK_UTILITY, (("query", a), ("chunk", b))), TEXTS, TEXTS),
)
MANY = st.lists(QUESTIONS, max_size=60)
ROOMS = st.builds(PackLimits, st.integers(50, 2000), st.integers(1, 12), st.integers(50, 2000))


def chars(pack: Pack) -> int:
    """The characters of texts a pack holds, each shared text once, as the room counts them."""
    queries = {q.query or "" for q in pack.questions if isinstance(q, Relevant | Entail)}
    queries |= {text for q in pack.questions if isinstance(q, Rate) for field, text in q.texts if field == "query"}
    inline = sum(len(q.text) for q in pack.questions if isinstance(q, Classify))
    inline += sum(len(q.text) for q in pack.questions if isinstance(q, Relevant) and q.text not in pack.sources)
    inline += sum(len(q.hypothesis) for q in pack.questions if isinstance(q, Entail))
    return sum(map(len, pack.sources)) + sum(map(len, queries)) + inline + QUESTION_OVERHEAD * len(pack.questions)


@given(MANY, ROOMS, st.booleans())
def test_each_question_is_in_exactly_one_place(questions: list[Question], limits: PackLimits, alone: bool) -> None:
    """Whatever the limits, the packs hold every question once and nothing else, and keys are unique within a pack."""
    found = packs(questions, limits, alone)
    placed = [question for pack in found for question in pack.questions]
    assert sorted(map(repr, placed)) == sorted(map(repr, set(questions)))
    assert all(len(set(pack.keys)) == len(pack.questions) for pack in found)


@given(MANY, ROOMS, st.booleans())
def test_packs_are_a_function_of_the_questions(questions: list[Question], limits: PackLimits, alone: bool) -> None:
    """The same questions give the same packs each time."""
    assert packs(questions, limits, alone) == packs(tuple(questions), limits, alone)


@given(MANY, ROOMS)
def test_no_pack_of_several_exceeds_the_room(questions: list[Question], limits: PackLimits) -> None:
    """A call holds more than it has room for only where a single question does."""
    for pack in packs(questions, limits):
        if len(pack.questions) > 1:
            apart = [len(question.text) for question in pack.questions if isinstance(question, Decompose)]
            assert sum(apart) <= limits.decompose_chars
            assert apart or len(pack.questions) <= limits.verdicts
            assert apart or chars(pack) <= limits.prompt_chars


@given(MANY)
def test_texts_to_take_apart_share_a_query_and_a_call_of_their_own(questions: list[Question]) -> None:
    """A call takes texts apart that answer one query, or it gives verdicts; never both."""
    for pack in packs(questions, PackLimits()):
        asked = [question for question in pack.questions if isinstance(question, Decompose)]
        assert len(asked) in (0, len(pack.questions))
        assert len({question.query for question in asked}) <= 1


@given(MANY)
def test_alone_means_one_question_a_call(questions: list[Question]) -> None:
    """With `alone` there are as many calls as questions."""
    assert len(packs(questions, PackLimits(), alone=True)) == len(set(questions))


def test_a_sample_takes_one_call_to_take_apart_and_one_for_all_verdicts() -> None:
    """26 questions of five metrics over five chunks are one call; response and reference are taken apart in another."""
    chunks = tuple(f"Chunk {n}" for n in range(5))
    questions: list[Question] = [Entail(chunks, f"Claim {n}", "Who?") for n in range(15)]
    questions += [Relevant("Who?", f"Claim {n}") for n in range(6)]
    questions += [Relevant("Who?", chunk, "Reference") for chunk in chunks]
    questions += [Decompose("Response", "Who?"), Decompose("Reference", "Who?")]
    assert [len(pack.questions) for pack in packs(questions, PackLimits())] == [2, 26]


def test_questions_that_share_a_premise_stand_together_whatever_their_order() -> None:
    """Where two calls are needed, shuffled questions send each premise in as few of them as sorted ones."""
    premises = [tuple(f"{name} {n}" for n in range(3)) for name in ("red", "blue")]
    questions: list[Question] = [Entail(premise, f"Claim {n}") for premise in premises for n in range(10)]
    random.Random(3).shuffle(questions)
    first, second = packs(questions, PackLimits(verdicts=10))
    assert len(first.sources) == len(second.sources) == 3


def test_chunks_come_first_and_every_text_once() -> None:
    """Sources are the chunks of premises in their order, then passages, then other texts, none of them twice."""
    chunks = ("First chunk", "Second chunk")
    long = "A passage. " * MAX_INLINE_CHARS
    questions = (
        Relevant("Who?", long),
        Relevant("Who?", "First chunk"),
        Relevant("Who?", "A statement"),
        Entail(("Response",), "Claim"),
        Entail((*chunks, "First chunk"), "Claim", "Who?"),
        Relevant("Who?", "Third chunk", "Reference"),
        Rate(COMPLETENESS, (("query", "Who?"), ("response", "Response"))),
    )
    named = ["First chunk", "Second chunk", long, "Third chunk", "Response", "Reference"]
    assert list(Pack(questions).sources) == named
    assert list(Pack(questions).sources.values()) == ["S1", "S2", "S3", "S4", "S5", "S6"]


def test_a_text_to_take_apart_has_at_least_one_sentence() -> None:
    """Even a blank text has a sentence that a statement can come from."""
    prompt = prompt_of(Pack((Decompose("One. Two."), Decompose(" "))), PromptStyle())
    assert json.loads(prompt.user) == {"texts": {"T1": {"1": "One.", "2": "Two."}, "T2": {"1": " "}}}


def test_the_limit_of_a_question_is_that_of_its_call() -> None:
    """Texts that are taken apart have a limit of their own, since the reply repeats them."""
    limits = PackLimits(prompt_chars=7, decompose_chars=5)
    assert (limits.limit(Decompose("t")), limits.limit(Relevant("q", "t"))) == (5, 7)
