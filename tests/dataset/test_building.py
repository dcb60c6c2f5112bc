from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ragauge as rg
from ragauge.datasets import Built, build, generate
from ragauge.datasets.corpus import Corpus
from ragauge.errors import BadParameter, MissingField, UnanswerableNeed
from ragauge.types import Chunk, Sample

CORPUS = Corpus("c", [Chunk("Tea is hot. Ice is cold.", "x"), Chunk("Tea is green.", "y"), Chunk("Salt.", "z")], {})
QUESTION = {"question": "How is tea?", "gold_answer": "Tea is hot; Tea is green; Tea is dear"}


def _found(sample: Sample) -> list[list[int]]:
    return [chunk.metadata["answers_found"] for chunk in sample.contexts or ()]


def test_labels_say_which_document_holds_the_answer(judge: rg.judges.Judge) -> None:
    """The whole gold answer is one claim, and each document is labelled by itself."""
    row = {"question": "How is tea?", "gold_answer": "Tea is green."}
    (sample,) = build([row], CORPUS, judge=judge).samples
    assert sample.answers == (("Tea is green.",),)
    assert {chunk.id: chunk.metadata["answers_found"] for chunk in sample.contexts or ()} == {"x": [0], "y": [1]}
    assert sample.answerable is True


def test_a_judge_takes_gold_answers_apart(judge: rg.judges.Judge) -> None:
    """With a judge of claims there is a label for each claim that it finds, and each document has its own."""
    (sample,) = build([QUESTION], CORPUS, judge=judge, claims=judge).samples
    assert sample.answers == (("Tea is hot",), ("Tea is green",), ("Tea is dear",))
    assert sorted(_found(sample)) == [[0, 1, 0], [1, 0, 0]]


def test_a_judge_that_abstains_leaves_a_failure_with_its_reason() -> None:
    """Where the judge decides nothing the gold answer stays, and the sample says why it has no labels."""
    german = {"question": "Wie ist der Tee?", "gold_answer": "Der Tee in dieser Kanne ist noch immer sehr heiß."}
    docs = [{"text": "Der Tee, den wir heute Morgen gekocht haben, ist inzwischen ganz kalt geworden."}]
    built = build([{**german, "docs": docs}])
    assert (built.without_gold, built.failures["labels"]) == (0, 1)
    assert built.samples[0].references == (german["gold_answer"],)
    assert "reads English" in built.samples[0].metadata["failed"]["labels"]


def test_further_references_are_other_wordings(judge: rg.judges.Judge) -> None:
    """Several correct answers are one claim in several wordings."""
    (sample,) = build([{"question": "How is tea?", "references": ["Hot.", "Tea is hot."]}], CORPUS, judge=judge).samples
    assert sample.answers == (("Hot.", "Tea is hot."),)


@pytest.mark.parametrize("column", ["answer", "answers", "reference", "gold_answer"])
def test_the_only_answer_beside_a_question_is_gold(column: str, judge: rg.judges.Judge) -> None:
    """Whatever its column is called, it is no response of a system; a generator of rows can be read too."""
    (sample,) = build(({"question": "How is tea?", column: "Tea is hot."} for _ in "1"), CORPUS, judge=judge).samples
    assert (sample.references, sample.response) == (("Tea is hot.",), None)
    assert sample.answers == (("Tea is hot.",),)


def test_documents_and_labels_in_the_data_are_kept(judge: rg.judges.Judge) -> None:
    """Without a corpus the first documents of the data are taken; where they are labelled nothing is asked."""
    docs = [{"text": f"Text {n}.", "answers_found": [n % 2]} for n in range(9)]
    built = build([{"question": "q", "answers": [["x"]], "docs": docs}], judge=judge, top=4)
    assert _found(built.samples[0]) == [[0], [1], [0], [1]]
    assert (built.asked, built.samples[0].answerable) == (0, True)


@pytest.mark.parametrize("answerable", [True, False])
def test_people_who_call_a_question_answerable_have_the_last_word(answerable: bool, judge: rg.judges.Judge) -> None:
    """The sample's own label stays, whatever the judge says of its documents; of an unanswerable one none is asked."""
    row = {"question": "q", "answers": [["x" if answerable else "Tea"]], "docs": ["Tea."], "answerable": answerable}
    built = build([row], judge=judge)
    assert built.samples[0].answerable is answerable
    assert (_found(built.samples[0]), built.asked) == ([[0]], int(answerable))


def test_labels_of_some_documents_are_kept(judge: rg.judges.Judge) -> None:
    """A labelled document keeps its label when the judge is asked about another; odd labels are made anew."""
    docs = [{"text": "Tea", "answers_found": [0]}, {"text": "Tea"}, {"text": "Ice", "answers_found": [1, 0]}]
    (sample,) = build([{"question": "q", "answers": [["Tea"]], "docs": docs}], judge=judge).samples
    assert (_found(sample), sample.answerable) == ([[0], [1], [0]], True)
    docs[1] = {"text": "Ice"}
    (sample,) = build([{"question": "q", "answers": [["Tea"]], "docs": docs}], judge=judge).samples
    assert (_found(sample), sample.answerable) == ([[0], [0], [0]], False)


def test_fewer_documents_may_hold_no_answer(judge: rg.judges.Judge, system: Any) -> None:
    """That a question is answerable from all its documents says nothing of the first; that it is not does."""
    docs = [{"text": "Ice.", "answers_found": [0]}, {"text": "Tea.", "answers_found": [1]}]
    row = {"question": "q", "answers": [["x"]], "docs": docs, "answerable": True}
    assert build([row], judge=judge, top=1).samples[0].answerable is False
    assert build([row], judge=judge, top=2).samples[0].answerable is True
    assert generate([row], system(), top=1).samples[0].answerable is None
    assert generate([{**row, "answerable": False}], system(), top=1).samples[0].answerable is False


@pytest.mark.parametrize("wordings", [["The Big Apple", "Tea is hot."], ["Tea is hot.", "The Big Apple"]])
def test_any_wording_of_a_gold_answer_counts(wordings: list[str], judge: rg.judges.Judge) -> None:
    """The order of several correct answers does not decide whether a document holds the answer."""
    (sample,) = build([{"question": "How is tea?", "references": wordings}], CORPUS, judge=judge).samples
    assert {chunk.id: chunk.metadata["answers_found"] for chunk in sample.contexts or ()} == {"x": [1], "y": [0]}
    assert sample.answerable is True


def test_further_references_that_are_not_taken_apart_are_counted(judge: rg.judges.Judge) -> None:
    """With a judge of claims the first of several correct answers alone is decomposed, and the result says so."""
    rows = [{"question": "How is tea?", "references": ["Tea is hot; Tea is green", "Hot; green"]}, QUESTION]
    built = build(rows, CORPUS, judge=judge, claims=judge)
    assert built.samples[0].answers == (("Tea is hot",), ("Tea is green",))
    assert built.first_of_several == 1
    assert build(rows, CORPUS, judge=judge).first_of_several == 0


def test_a_retriever_is_named(judge: rg.judges.Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text names a retriever in a Python module as it names a judge; another text is none."""
    (tmp_path / "finding.py").write_text("def find(query):\n    return 'Tea is green.'\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    row = {"question": "How is tea?", "gold_answer": "Tea is green."}
    (sample,) = build([row], retriever="python:finding:find", judge=judge).samples
    assert [chunk.text for chunk in sample.contexts or ()] == ["Tea is green."]
    for spec, message in (("python:finding:lost", "lost"), ("find", "is not a retriever; give a function")):
        with pytest.raises(BadParameter, match=message):
            build([row], retriever=spec, judge=judge)


def test_labels_that_the_new_documents_lack_are_made_anew(judge: rg.judges.Judge) -> None:
    """Documents of a corpus replace those in the data, and their labels."""
    docs = [{"text": "Other.", "answers_found": [1]}]
    (sample,) = build([{"question": "Salt?", "answers": [["Pepper"]], "docs": docs}], CORPUS, judge=judge).samples
    assert [chunk.id for chunk in sample.contexts or ()] == ["z"]
    assert sample.answerable is False


def test_labels_are_those_that_the_metrics_would_ask_for(judge: rg.judges.Judge, tmp_path: Path) -> None:
    """After a data set was built, `trust` asks nothing more of the documents, and counts what the labels say."""
    built = build([QUESTION], CORPUS, judge=judge, store=tmp_path)
    (sample,) = built.samples
    answered = [{"question": sample.query, "docs": list(sample.contexts or ()), "answers": [list(sample.answers[0])]}]  # type: ignore[index]
    run = rg.evaluate([{**answered[0], "output": "I don't know."}], "answerable_recall,reject_recall", judge, tmp_path)
    assert run.record.asked == 0
    assert run.estimates["reject_recall"].value == 1.0


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.fixed_dictionaries(
            {"question": st.sampled_from(["How is tea?", "", "Salt and ice?", "?"])},
            optional={"gold_answer": st.sampled_from(["Tea is hot.", "Salt", ""])},
        ),
        min_size=1,
        max_size=6,
    )
)
def test_no_sample_is_lost(judge: rg.judges.Judge, rows: list[dict[str, str]]) -> None:
    """Each question comes out, in order, labelled claim by claim and document by document, or counted as lacking."""
    if all("gold_answer" not in row and not row["question"] for row in rows):
        return
    built = build(rows, CORPUS, judge=judge)
    assert [sample.id for sample in built.samples] == [str(n) for n in range(1, len(rows) + 1)]
    for sample, row in zip(built.samples, rows, strict=True):
        assert (sample.answers is None) == (not row.get("gold_answer"))
        assert (sample.contexts is None) == (not row["question"]) == ("failed" in sample.metadata)
        if sample.answers and sample.contexts is not None:
            assert sample.answerable is any(map(any, _found(sample)))
            assert all(len(found) == len(sample.answers) for found in _found(sample))
    assert built.without_gold == sum(sample.answers is None for sample in built.samples)
    assert built.without_documents == sum(not sample.contexts for sample in built.samples)
    assert built.failures["documents"] == sum(not row["question"] for row in rows)


def test_failures_are_kept_and_asked_again(tmp_path: Path) -> None:
    """A sample that a judge or a retriever fails is there with the reason; another attempt gives what is missing."""
    broken = [True]

    def entail(premise: str, hypothesis: str) -> bool:
        if broken[0]:
            raise OSError("no memory")
        return True

    def find(query: str) -> list[str]:
        if query == "bad" and broken[0]:
            raise OSError("no index")
        return [query]

    def made() -> Built:
        rows = [{"question": "good", "gold_answer": "x"}, {"question": "bad", "gold_answer": "y"}]
        return build(rows, retriever=find, judge=rg.judge_from(entail=entail, name="e"), store=tmp_path)

    first = made()
    assert first.samples[0].metadata["failed"]["labels"].startswith("judge_error: entail() raised OSError: no memory")
    assert first.samples[1].metadata["failed"]["documents"].startswith("retriever_error: the retriever raised OSError")
    assert first.failures == {"labels": 1, "documents": 1}
    broken[0] = False
    second = made()
    assert all(sample.answerable and "failed" not in sample.metadata for sample in second.samples)
    assert (made().asked, made().reused) == (0, 2)


def test_written_samples_are_read_back(judge: rg.judges.Judge, tmp_path: Path) -> None:
    """What is saved is what `read` gives, character for character."""
    built = build([QUESTION, {"question": "Schnee – ‘雪’?"}], CORPUS, judge=judge)
    assert list(rg.read(built.save(tmp_path / "new" / "samples.jsonl"))) == built.samples
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["samples.jsonl"]


def _decomposing(text: str) -> list[str]:
    return [text]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"corpus": CORPUS, "retriever": len}, BadParameter, "a corpus or a retriever, not both"),
        ({"corpus": CORPUS, "top": 0}, BadParameter, "top=0 must be 1 or more"),
        ({}, MissingField, "no documents; give a corpus"),
        ({"corpus": CORPUS, "map": {"query": ""}}, MissingField, "no column of questions"),
        (
            {"corpus": CORPUS, "judge": rg.judge_from(decompose=_decomposing)},
            UnanswerableNeed,
            "does not answer entail:support",
        ),
    ],
)
def test_what_cannot_be_built_is_reported_first(options: dict[str, Any], error: type[Exception], message: str) -> None:
    """Mistakes of the call and of the data end with an error before any judge is asked."""
    with pytest.raises(error, match=message):
        build([QUESTION], **options)


def test_progress_counts_samples(judge: rg.judges.Judge) -> None:
    """Progress is called with the number of samples done, up to all of them."""
    seen: list[int] = []
    note: Callable[[int], None] = seen.append
    build([QUESTION] * 3, CORPUS, judge=judge, progress=note)
    assert seen == [1, 2, 3]
