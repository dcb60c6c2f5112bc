"""Questions too long for a model, in parts."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.kinds.base import WINDOW_SHARE
from ragauge.kinds.windows import windows
from ragauge.questions import CONCISENESS, Classify, Decompose, Entail, Question, Rate, Relevant
from ragauge.types import Answer, ChunkVerdict, Decomposition, Failure, Label, Statement, Verdict

WORDS = st.text("abcdefgh", min_size=1, max_size=9)
SENTENCES = st.lists(WORDS, min_size=1, max_size=9).map(lambda words: f"{' '.join(words).capitalize()}.")
PROSE = st.lists(SENTENCES, max_size=30).flatmap(
    lambda found: st.lists(st.sampled_from([" ", "\n\n", "  "]), min_size=len(found), max_size=len(found)).map(
        lambda gaps: "".join(map("".join, zip(found, gaps, strict=True)))
    )
)
TEXTS = PROSE | st.text(max_size=300)
LIMITS = st.integers(20, 400)

E, N, C = (Verdict(label) for label in (Label.ENTAILED, Label.NEUTRAL, Label.CONTRADICTED))
LONG = " ".join(f"Sentence number {n} is here." for n in range(40))


def sizes(question: Question) -> int:
    """The characters of a question's texts."""
    match question:
        case Decompose(text, query):
            return len(text) + len(query or "")
        case Relevant(query, text, reference):
            return len(query) + len(text) + len(reference or "")
        case Entail(premise, hypothesis, query):
            return sum(map(len, premise)) + len(hypothesis) + len(query or "")
    raise AssertionError


@given(TEXTS, LIMITS, st.integers(0, 9))
def test_windows_hold_the_whole_text(text: str, room: int, tenths: int) -> None:
    """Windows go forward, none exceeds its room, and no character but white space is left out."""
    found = windows(text, room, room * tenths // 20)
    inside = set().union(*(range(*span) for span in found))
    assert all(text[i].isspace() for i in range(len(text)) if i not in inside)
    assert all(0 <= stop - start <= room for start, stop in found)
    assert found == sorted(set(found))


@given(PROSE, LIMITS)
def test_windows_without_overlap_share_nothing(text: str, room: int) -> None:
    """What is taken apart is taken apart once."""
    found = windows(text, room, 0)
    assert all(before[1] <= after[0] for before, after in pairwise(found))


def test_windows_end_between_sentences_and_overlap_by_whole_ones() -> None:
    """A window ends where a sentence does, and the next begins with the last sentence before."""
    found = [LONG[slice(*span)] for span in windows(LONG, 200, 40)]
    assert all(re.fullmatch(r"Sentence .* here\.", window) for window in found)
    for before, after in pairwise(found):
        assert before.endswith(after.split(". ")[0] + ".")


def test_windows_end_with_paragraphs_where_they_can() -> None:
    """A paragraph that ends in the second half of a window ends the window."""
    text = "One is here. Two is here.\n\nThree is here. Four is here."
    assert [text[slice(*span)] for span in windows(text, 45, 0)] == text.split("\n\n")


@given(TEXTS, st.lists(TEXTS, max_size=4).map(tuple), SENTENCES, st.none() | SENTENCES, LIMITS)
def test_every_part_fits(text: str, premise: tuple[str, ...], short: str, query: str | None, limit: int) -> None:
    """A question is split where it does not fit and its other texts leave room; then each part fits."""
    for question in (Decompose(text, query), Relevant(short, text, query), Entail(premise, short, query)):
        found = question.in_parts(limit)
        if found:
            assert sizes(question) > limit
            assert all(type(part) is type(question) and sizes(part) <= limit for part in found.parts)
        elif sizes(question) > limit:
            assert len(short) + len(query or "") > limit - int(limit * WINDOW_SHARE) - 1


@pytest.mark.parametrize(
    "question",
    [
        Decompose("short"),
        Entail((LONG,), LONG),
        Relevant("q", LONG, LONG),
        Classify(LONG, "toxic"),
        Rate(CONCISENESS, (("query", LONG), ("response", LONG))),
    ],
    ids=lambda question: type(question).__name__,
)
def test_what_fits_or_cannot_be_split_is_left_as_it_is(question: Question) -> None:
    """A short question, one with a long claim or reference, a trait and a grade are not split."""
    assert question.in_parts(500) is None


def _repeated(part: Question) -> Answer:
    assert isinstance(part, Decompose)
    found = [(found.start(), found.end()) for found in re.finditer(r"[^.]+\.", part.text)]
    return Decomposition((*(Statement(part.text[a:b], (a, b)) for a, b in found), Statement("Rewritten")))


def test_statements_lie_where_they_are_in_the_whole_text() -> None:
    """Spans of statements are shifted by where their part begins, and a statement without a span stays without."""
    found = Decompose(LONG, "Which?").in_parts(300)
    assert found is not None
    merged = found.merge([_repeated(part) for part in found.parts])
    assert isinstance(merged, Decomposition)
    spans = [piece.span for piece in merged.statements if piece.span]
    assert len(spans) == 40
    assert [LONG[slice(*span)] for span in spans] == [piece.text for piece in merged.statements if piece.span]
    assert sum(piece.span is None for piece in merged.statements) == len(found.parts)


def test_a_passage_is_relevant_if_any_window_is() -> None:
    """One yes among the windows decides, with its reason and the place of its words in the whole text."""
    found = Relevant("Where is number 30?", LONG).in_parts(400)
    assert found is not None
    votes: list[Answer] = []
    for part in found.parts:
        assert isinstance(part, Relevant)
        at = part.text.find("number 30")
        votes.append(Verdict(Label.NO) if at < 0 else Verdict(Label.YES, span=(at, at + 9), rationale="there"))
    merged = found.merge(votes)
    assert isinstance(merged, Verdict)
    assert (merged.label, merged.rationale) == (Label.YES, "there")
    assert merged.span is not None
    assert LONG[slice(*merged.span)] == "number 30"
    assert found.merge([Verdict(Label.NO)] * len(found.parts)) == Verdict(Label.NO)


def _about(part: Question, words: str, label: Label) -> Verdict:
    """What a judge says to whom the chunks that hold the words say so, and all others nothing."""
    assert isinstance(part, Entail)
    chunks = tuple(ChunkVerdict(label if words in text else Label.NEUTRAL) for text in part.premise)
    return Verdict(label if any(words in text for text in part.premise) else Label.NEUTRAL, chunks=chunks)


@pytest.mark.parametrize("label", [Label.ENTAILED, Label.CONTRADICTED])
@pytest.mark.parametrize("number", [0, 17, 39])
def test_each_chunk_gets_the_label_of_its_windows(label: Label, number: int) -> None:
    """Whichever window of whichever chunk decides, the chunk and the whole get its label, the others stay neutral."""
    premise = ("A short chunk.", LONG, "Another short chunk.")
    question = Entail(premise, "Number seventeen.", "Which?")
    found = question.in_parts(400)
    assert found is not None
    merged = found.merge([_about(part, f"number {number} ", label) for part in found.parts])
    assert isinstance(merged, Verdict)
    assert merged.label == label
    assert [chunk.label for chunk in merged.chunks] == [Label.NEUTRAL, label, Label.NEUTRAL]


def test_short_chunks_share_windows() -> None:
    """Neighbouring chunks stand in one window as many as fit, so that two of them can support a claim together."""
    chunks = tuple(f"Chunk {n} says this." for n in range(20))
    found = Entail(chunks, "Claim.", None).in_parts(200)
    assert found is not None
    premises = [part.premise for part in found.parts if isinstance(part, Entail)]
    assert sum(premises, ()) == chunks
    assert {len(premise) for premise in premises[:-1]} == {8}


def test_claims_of_one_premise_have_the_same_windows() -> None:
    """How long a claim is does not move the windows, so that one call can hold many claims against each."""
    parts = []
    for claim in ("Short.", "A claim that is longer."):
        found = Entail((LONG, LONG[:100]), claim).in_parts(400)
        assert found is not None
        parts.append([part.premise for part in found.parts if isinstance(part, Entail)])
    assert parts[0] == parts[1]


@pytest.mark.parametrize(("votes", "label"), [((E, N, C), C), ((N, E, N), E), ((N, N, N), N), ((E, C, E), C)])
def test_a_contradiction_outweighs_support(votes: tuple[Verdict, ...], label: Verdict) -> None:
    """The joint label is a contradiction where any window contradicts, support where any supports, else neutral."""
    found = Entail(("a " * 100, "b " * 100, "c " * 100), "h").in_parts(270)
    assert found is not None
    merged = found.merge(votes)
    assert isinstance(merged, Verdict)
    assert merged.label == label.label
    assert [chunk.label for chunk in merged.chunks] == [verdict.label for verdict in votes]


@given(st.lists(SENTENCES.filter(lambda one: len(one) < 60), min_size=1, max_size=30), st.integers(300, 900), st.data())
def test_a_sentence_of_a_chunk_is_entailed_however_it_is_split(
    votes: list[str], limit: int, data: st.DataObject
) -> None:
    """Windows that do not show a sentence of their chunk cannot contradict it, whatever other chunks there are."""
    text, claim = " ".join(votes), data.draw(st.sampled_from(votes))
    premise = (*data.draw(st.lists(st.just("0"), max_size=2)), text, *data.draw(st.lists(st.just("1"), max_size=2)))
    found = Entail(premise, claim).in_parts(limit)
    if found is None:
        return
    merged = found.merge([_partial_view(part, claim) for part in found.parts])
    assert isinstance(merged, Verdict)
    assert merged.label is Label.ENTAILED
    assert [chunk.label for chunk in merged.chunks] == [E.label if len(one) > 1 else N.label for one in premise]


def _partial_view(part: Question, claim: str) -> Verdict:
    """What a judge says that takes what it does not see in a window for contradicted; short chunks say nothing."""
    assert isinstance(part, Entail)
    unseen = [Label.NEUTRAL if text in ("0", "1") else Label.CONTRADICTED for text in part.premise]
    labels = [Label.ENTAILED if claim in text else other for text, other in zip(part.premise, unseen, strict=True)]
    joint = max(labels, key=[Label.NEUTRAL, Label.CONTRADICTED, Label.ENTAILED].index)
    return Verdict(joint, chunks=tuple(map(ChunkVerdict, labels)))


def test_a_chunk_that_contradicts_outweighs_one_that_supports() -> None:
    """Windows of one chunk give way to the window that supports; another chunk that contradicts does not."""
    chunks = (LONG[:500], LONG[500:1000])
    found = Entail(chunks, "Claim.").in_parts(400)
    assert found is not None
    votes = [E if isinstance(part, Entail) and part.premise[0] in chunks[0] else C for part in found.parts]
    assert len(votes) > 2
    merged = found.merge(votes)
    assert isinstance(merged, Verdict)
    assert merged.label is Label.CONTRADICTED
    assert [chunk.label for chunk in merged.chunks] == [Label.ENTAILED, Label.CONTRADICTED]


def test_support_outweighs_a_chunk_that_contradicts_where_it_is_to() -> None:
    """With support outweighing, one part that entails is enough, and what contradicts it counts as neutral."""
    question = Entail(("one " * 30, "two " * 30), "h")
    found = question.in_parts(200, support_outweighs=True)
    assert found is not None
    whole = found.merge([C, E])
    assert isinstance(whole, Verdict)
    assert whole.entailed
    assert [chunk.label for chunk in whole.chunks] == [Label.NEUTRAL, Label.ENTAILED]
    assert found.merge([C, C]) == Verdict(Label.CONTRADICTED, chunks=(ChunkVerdict(Label.CONTRADICTED),) * 2)


def test_the_most_probable_verdict_decides_among_equals() -> None:
    """Of two windows that say the same, probability and reason are those of the more probable."""
    found = Relevant("q", LONG).in_parts(1000)
    assert found is not None
    sure, unsure = Verdict(Label.YES, 0.9, rationale="sure"), Verdict(Label.YES, 0.6)
    assert len(found.parts) == 2
    assert found.merge([unsure, sure]) == sure


def test_a_long_blank_text_is_one_empty_part() -> None:
    """White space alone is still a text that is answered."""
    found = Relevant("q", " " * 500).in_parts(100)
    assert found is not None
    assert found.parts == (Relevant("q", ""),)
    assert found.merge([Verdict(Label.NO)]) == Verdict(Label.NO)


def test_a_question_in_parts_fails_as_its_first_part_that_failed() -> None:
    """A part without an answer is the answer to the whole, and what would have followed need not have been asked."""
    parted = Relevant("q", f"{LONG} " * 5).in_halves(False)
    assert parted is not None
    first, second, *_ = parted.parts
    yes, failed = Verdict(Label.YES), Failure("refused")
    assert parted.answer(dict.fromkeys(parted.parts, yes)) == yes
    assert parted.answer({first: yes, second: failed}) == failed


def test_a_question_that_is_short_already_is_not_halved() -> None:
    """Halves of a question are asked down to a least length."""
    assert Relevant("q", LONG).in_halves(False) is None
