"""Citation metrics: what supports a sentence, which citations are called for, and what becomes of those to nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragauge as rg
from ragauge.metrics.registry import select_metrics
from ragauge.needs.citations import citations
from ragauge.needs.gold import gold_labels
from ragauge.questions import Entail, Question
from ragauge.types import Answer, Chunk, ChunkVerdict, Label, Sample, Verdict

if TYPE_CHECKING:
    from tests.metrics.conftest import Drive, Sampling, Valuing

CHUNKS = ["a b", "b c", "d", "!a"]


def words(question: Question) -> Answer:
    """A text supports a sentence whose small letters it all holds, and contradicts one of which it holds "!letter"."""
    assert isinstance(question, Entail)
    reply = {letter for letter in question.hypothesis if letter in "abcd"}

    def label(text: str) -> Label:
        if reply and reply <= set(text.replace("!a", "")):
            return Label.ENTAILED
        return Label.CONTRADICTED if any(f"!{letter}" in text for letter in reply) else Label.NEUTRAL

    return Verdict(
        label(" ".join(question.premise)), chunks=tuple(ChunkVerdict(label(one)) for one in question.premise)
    )


@pytest.mark.parametrize(
    ("response", "recall", "precision"),
    [
        ("A: a [1].", 1.0, 1.0),
        ("A: a [2].", 0.0, 0.0),
        ("A: a.", 0.0, "undefined: the response cites nothing"),
        ("A: a c [1][2].", 1.0, 1.0),
        ("A: b [1][2].", 1.0, 1.0),
        ("A: b [1][3].", 1.0, 0.5),
        ("A: b [1, 3].", 1.0, 0.5),
        ("A: a c [1-3].", 1.0, 2 / 3),
        ("A: b. [1]", 1.0, 1.0),
        ("A: b [1][1].", 1.0, 1.0),
        ("A: b [1][9].", 1.0, 0.5),
        ("A: b [0].", 0.0, 0.0),
        ("In [2020] b [1].", 1.0, 1.0),
        ("A: a [1][4].", 0.0, 0.0),
        ("A: a [1]. I don't know the rest.", 1.0, 1.0),
        ("A: a [1]. D.", 0.5, 1.0),
        ("Hi Eve! Great question. A: a [1]. Is there anything else?", 1.0, 1.0),
        ("Here is what I found:\n- A: a [1]\n- A: b [2]\n\nLet me know if you need more!", 1.0, 1.0),
        ("## Letters\n\n| What | Value |\n|---|---|\n| A | a [1] |\n| B | b [2] |", 1.0, 1.0),
        ("A: a [1].\n```python\nx = a[2]\n```", 1.0, 1.0),
        ("Is it a [3]? A: a [1].", 0.5, 0.5),
        ("**a**", 0.0, "undefined: the response cites nothing"),
        ("No mention of a [1].", 1.0, 1.0),
        ("I'm not sure when, but a [1].", 1.0, 1.0),
        ("I know when, but the documents do not say why [1].", 0.0, 0.0),
        ("A: a [Doc 1]. A: b [ 2 ]. B: b. ([1])", 1.0, 1.0),
        ("[1] It is a now. [2] It is b now. [3] It is d now.", 1.0, 1.0),
        ("A: a [1].\n\nSources:\n[1] http://a.example\n[3] http://d.example", 1.0, 1.0),
        ("I don't know.", "undefined: the response has no sentence that needs a citation", None),
        ("", 0.0, "undefined: the response cites nothing"),
        (" \n", 0.0, "undefined: the response cites nothing"),
        ("[1]", 0.0, 0.0),
    ],
)
def test_the_default_variant(response: str, recall: Any, precision: Any, value: Valuing) -> None:
    """Each defect of the older measures has its stated outcome."""
    given: dict[str, Any] = {"response": response, "contexts": CHUNKS, "answering": words}
    assert value("citation_recall", **given) == recall
    assert value("citation_precision", **given) == (recall if precision is None else precision)


def test_f1_is_made_of_the_counts_of_both(value: Valuing) -> None:
    """The harmonic mean of precision and recall; 0 without any support."""
    given: dict[str, Any] = {"contexts": CHUNKS, "answering": words}
    assert value("citation_f1", response="A: b [1][3]. D.", **given) == pytest.approx(0.5)
    assert value("citation_f1", response="A: a.", **given) == 0.0


def test_a_response_without_documents_cites_nothing_there_is(value: Valuing) -> None:
    """With no documents at all every citation points at nothing; with no word of documents there is no score."""
    given: dict[str, Any] = {"response": "A: a [1].", "answering": words}
    assert value("citation_recall", contexts=[], **given) == 0.0
    assert value("citation_precision", contexts=[], **given) == 0.0
    assert value("citation_precision(variant=trust_eval)", contexts=[], **given) == 0.0
    assert value("citation_recall", **given) == "undefined: the sample has no contexts"


def test_alone_is_reported_by_the_joint_verdict(drive: type[Drive], sample: Sampling) -> None:
    """A sentence with two citations of which one is redundant takes two questions, and one more metric takes none."""
    one = sample(response="A: b [1][3].", contexts=CHUNKS)
    done = drive([one], select_metrics("citation_recall,citation_precision,citation_f1"), words)
    assert [[question.premise for question in asked] for asked in done.rounds] == [[("a b", "d")], [("a b",)]]  # type: ignore[union-attr]


def test_people_who_judged_the_documents_together_are_asked_of_each(drive: type[Drive], sample: Sampling) -> None:
    """Where the joint verdict has no label for each document, each is asked of by itself."""

    def joint(question: Question) -> Answer:
        answer = words(question)
        assert isinstance(answer, Verdict)
        return Verdict(answer.label)

    one = sample(response="A: b [1][3].", contexts=CHUNKS)
    done = drive([one], select_metrics("citation_precision"), joint)
    assert done.scores[0]["citation_precision"].value == 0.5
    assert len(done.questions) == 3


def test_the_query_is_read_with_the_sentence(drive: type[Drive], sample: Sampling) -> None:
    """The default variant asks with the query, and reads items behind it; the others put documents as they do."""
    one = sample(query="Which?", response="b [1], d [3]", contexts=[Chunk("a b", "1", "T"), *CHUNKS[1:3]])
    done = drive([one], select_metrics("citation_recall(units=items)"), words)
    assert [question.hypothesis for question in done.questions] == ["Which? b", "Which? d"]  # type: ignore[union-attr]
    done = drive([one], select_metrics("citation_recall(variant=alce,units=items)"), words)
    assert done.questions[0] == Entail(("Title: T\na b",), "Which? b")


def test_every_sentence_and_citation_is_evidence(drive: type[Drive], sample: Sampling) -> None:
    """Each is shown with its place, its verdict, and what it was for."""
    response = "A: b [1][3]. Nothing else. A: a [9]."
    done = drive([sample(response=response, contexts=CHUNKS)], select_metrics("citation_precision"), words)
    evidence = done.evidence(citations().name)
    shown = [
        (response[slice(*piece.span or (0, 0))], piece.against, piece.label, piece.rationale) for piece in evidence
    ]
    assert shown == [
        ("A: b [1][3].", "citations", Label.ENTAILED, None),
        ("[1]", "contexts[0]", Label.YES, "supports the sentence by itself"),
        ("[3]", "contexts[2]", Label.NO, "redundant: fails by itself, and the others suffice"),
        ("Nothing else.", "citations", Label.NEUTRAL, "cites nothing"),
        ("A: a [9].", "citations", Label.NEUTRAL, "cites no document"),
        ("[9]", "contexts", Label.NO, "points at no document"),
    ]
    assert [chunk.chunk for chunk in evidence[0].chunks] == ["1", "3"]


@pytest.mark.parametrize(
    ("variant", "labels", "precision"),
    [("trust_eval", [[1], [1]], 1.0), ("trust_eval", [[1], [0]], 0.5), ("alce", [[1], [1]], 0.5)],
)
def test_trust_eval_forgives_a_document_with_the_same_answer(
    variant: str, labels: list[list[int]], precision: float, value: Valuing
) -> None:
    """A redundant citation counts there, and nowhere else, if another document cited there has the same answer."""
    chunks = [Chunk(text, metadata={"answers_found": found}) for text, found in zip(["a", "d"], labels, strict=True)]
    metric = f"citation_precision(variant={variant})"
    assert value(metric, response="A: a [1][2].", contexts=chunks, answering=words) == precision


PIECES = st.lists(st.sampled_from(["A: a", "A: b", "C: c", ". ", " [1]", " [2]", "[3]", " [9]", "\n"]), max_size=8)


@given(pieces=PIECES, chunks=st.permutations(range(3)))
def test_recall_does_not_depend_on_the_order_of_documents(pieces: list[str], chunks: list[int], value: Valuing) -> None:
    """Documents in another order, with the citations renumbered, give the same recall and precision."""
    there = [CHUNKS[i] for i in chunks]
    renumbered = [_renumbered(piece, chunks) for piece in pieces]
    for metric in ("citation_recall", "citation_precision"):
        one = value(metric, response="".join(pieces), contexts=CHUNKS[:3], answering=words)
        other = value(metric, response="".join(renumbered), contexts=there, answering=words)
        assert one == other


@given(pieces=PIECES)
def test_a_document_that_is_not_cited_changes_nothing(pieces: list[str], value: Valuing) -> None:
    """One more document behind the last has no part in any score, but for citations that pointed beyond the last."""
    text = "".join(piece for piece in pieces if piece != " [9]")
    for metric in ("citation_recall", "citation_precision", "citation_f1"):
        one = value(metric, response=text, contexts=CHUNKS[:3], answering=words)
        assert one == value(metric, response=text, contexts=[*CHUNKS[:3], "a b c d"], answering=words)


def _renumbered(piece: str, chunks: list[int]) -> str:
    for old in range(3):
        if f"[{old + 1}]" in piece:
            return piece.replace(f"[{old + 1}]", f"[{chunks.index(old) + 1}]")
    return piece


def test_labels_of_other_kinds_forgive_nothing() -> None:
    """Labels that are no zeros and ones are read as none where they only forgive."""
    assert gold_labels(Chunk("a", metadata={"answers_found": ["yes"]})) == ()
    assert gold_labels(Chunk("a", metadata={"answers_found": 1})) == (True,)
    assert gold_labels(Sample("1", contexts=(Chunk("a"),)).contexts[0]) == ()  # type: ignore[index]


@pytest.mark.parametrize(
    "response",
    [
        "Bees hum [d-2].",
        "Bees hum (Doc 1).",
        "Bees hum (1).",
        "Bees hum¹.",
        "Bees hum <sup>1</sup>.",
        "Bees hum 【4:0†bees.md】.",
        "Bees hum [more](https://bees.example).",
        "Bees hum, see https://bees.example.",
    ],
)
def test_citations_in_another_form_are_noted(response: str) -> None:
    """Where responses cite in a form that is not read, the run says that these do not count, and which would."""
    rows = [{"response": response, "contexts": [{"id": "d1", "text": "Bees hum."}]}, {"response": "5 km² [1]."}]
    rows += [{"response": f"Bees hum {end}", "contexts": ["Bees hum."]} for end in ("[1].", "in [2020].", "`a[x_1]`.")]
    run = rg.evaluate(rows, "max_words(9)")
    assert run.record.unmeasured["cited_otherwise"] == 1
    assert (
        "Responses that seem to cite, but no citation of a context can be read: 1. These can: [1]"
        in run._repr_markdown_()
    )


NAMED = [
    {"id": "kb-12", "title": "Egg", "text": "a", "url": "https://bees.example/7", "file": "Ant, section 2"},
    {"id": "kb-13", "title": "Owl", "text": "b"},
    {"id": "kb-14", "title": "Owl", "text": "c"},
]


@pytest.mark.parametrize(
    ("marks", "precision", "recall"),
    [
        ("[kb-12]|[kb-13]", 1, 1),
        ("[kb-13]|[kb-12]", 0, 0),
        ("[source: KB-12]|[id kb-13, p. 5]", 1, 1),
        ("[kb-12, kb-13]|[kb-13 and kb-99]", 0.5, 1),
        ("[Egg]|[Owl]", 1, 1),
        ("[Egg]|[Egg]", 0.5, 0.5),
        ("[source](https://bees.example/7)|[2]", 1, 1),
        ("[Ant, section 2]|[2]", 1, 1),
        ("(https://bees.example/7/)|[2]", 1, 1),
        ("【4:0†Egg】|【4:1†Owl】", 1, 1),
        ("【1:0†bees.md】|【2:0†bats.md】", 0, 0),
        ("[kb-1]|[kb-2]", "undefined: the response cites nothing", 0),
    ],
)
def test_names_of_chunks_cite_them(marks: str, precision: float | str, recall: float, value: Valuing) -> None:
    """The id, title or URL of a chunk in brackets cites it, in a title that several share the one that is needed."""
    first, _, second = marks.partition("|")
    response = f"A: a {first}. B: b {second}."
    assert value("citation_recall", response=response, contexts=NAMED, answering=words) == recall
    assert value("citation_precision", response=response, contexts=NAMED, answering=words) == precision


def test_in_parentheses_ids_alone_are_names(value: Valuing) -> None:
    """Titles may stand there as any other words do."""
    precisions = {"(kb-12)": 1, "(see (kb-12))": 1, "(Egg)": "undefined: the response cites nothing"}
    for mark, precision in precisions.items():
        response = f"A: a {mark}."
        scored = value("citation_precision(style=parentheses)", response=response, contexts=NAMED, answering=words)
        assert scored == precision


def test_an_id_that_no_chunk_has_is_not_read_as_a_position(value: Valuing) -> None:
    """Beside ids such as doc_7, doc_1 is no number of a chunk; a number alone stays one."""
    contexts = [{"id": "doc_7", "text": "a"}, {"id": "doc_8", "text": "b"}]
    recalls = {"[doc_7]": 1, "[doc_1]": 0, "[1]": 1}
    for mark, recall in recalls.items():
        assert value("citation_recall", response=f"A: a {mark}.", contexts=contexts, answering=words) == recall
