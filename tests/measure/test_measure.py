"""Measuring a judge on labelled sets."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.measure.labelled import SETS, Sampler, Stub, measured, value, write

from ragauge.analysis.measure import SetResult, measure
from ragauge.errors import BadData, RunFailed
from ragauge.judges.embedded.judge import EmbeddedJudge


def test_a_set_that_cannot_be_measured_has_a_note(tmp_path: Path) -> None:
    """An unknown prefix has a note, and so has a set with questions that the judge does not answer."""
    write(tmp_path, "other_a", [{"text": "t"}])
    write(tmp_path, "tox_a", [SETS["tox_a"]])
    other, tox = measured(Stub(), tmp_path)
    assert other.note.startswith("no question fits this kind of set; a set's name begins with ent_, cit_")
    assert tox.note == "not answered: classify:toxic"


def test_figures_of_a_judge_that_is_always_right(tmp_path: Path) -> None:
    """Right probabilities and labels give 1; a question without an answer is failed, not wrong."""
    claims = [("good one", 1), ("good two", 1), ("bad one", 0), ("bad two", 0), ("broken", 1)]
    write(tmp_path, "ent_a", [{"premise": text, "claim": text, "label": label} for text, label in claims])
    (one,) = measured(Stub(), tmp_path)
    assert (one.rows, one.failed, value(one.auc), value(one.balanced_accuracy)) == (4, 1, 1.0, 1.0)
    assert value(one.words) == 0.5


def test_a_judge_by_sample_is_asked_concurrently(tmp_path: Path) -> None:
    """Each row is its own call, as many concurrent as the judge allows; it is opened for each set, and asked once."""
    rows = [SETS["ans_a"] | {"answer": str(n // 2), "label": n % 2} for n in range(10)]
    write(tmp_path, "ans_a", rows)
    write(tmp_path, "ent_a", [SETS["ent_a"] | {"claim": f"good {n}", "label": n % 2} for n in range(4)])
    judge = Sampler()
    measured(judge, tmp_path)
    assert (judge.entered, judge.most) == (2, 2)
    assert [len(asked) for asked in judge.rounds] == [2] * 5 + [1] * 4


def test_a_judge_without_probabilities_has_no_auc(tmp_path: Path) -> None:
    """Labels are no probabilities: only balanced accuracy is given, with its interval."""
    claims = [("good one", 1), ("bad one", 0), ("good two", 0), ("bad two", 0)] * 10
    rows = [
        {"premise": f"{text} {n}", "claim": f"{text} {n}", "label": label} for n, (text, label) in enumerate(claims)
    ]
    write(tmp_path, "ent_a", rows)
    (one,) = measured(Sampler(), tmp_path)
    assert (one.rows, one.auc) == (40, None)
    found = one.balanced_accuracy
    assert found is not None
    assert found.value == pytest.approx(5 / 6)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 5 / 6 < found.high < 1


def test_grades_have_a_threshold(tmp_path: Path) -> None:
    """Grades of 4 and more count as coherent, people's and the judge's; their ranks are compared too."""
    rows = [SETS["coh_a"] | {"summary": "s" * grade, "human_scores": {"coherence": grade}} for grade in (2, 3, 4, 5)]
    write(tmp_path, "coh_a", rows)
    (one,) = measured(Sampler(), tmp_path)
    assert (value(one.auc), value(one.balanced_accuracy), value(one.correlation)) == (1.0, 1.0, 1.0)


def test_the_correlation_resamples_documents(tmp_path: Path) -> None:
    """Summaries of one source are drawn together: with two sources the interval is wider than that of six."""
    grades = [("a", 2, 2), ("a", 3, 3), ("a", 5, 4), ("b", 2, 5), ("b", 3, 2), ("b", 4, 4)]
    rows = [
        {"source": source, "summary": "s" * given, "human_scores": {"coherence": grade}}
        for source, given, grade in grades
    ]
    write(tmp_path, "coh_a", rows)
    write(tmp_path, "coh_b", [row | {"source": f"{number}"} for number, row in enumerate(rows)])
    of_two, of_six = (result.correlation for result in measured(Sampler(), tmp_path))
    assert of_two is not None
    assert of_six is not None
    assert of_two.low is not None
    assert of_six.low is not None
    assert -1 <= of_two.low < of_six.low


def test_a_judge_that_answers_nothing_is_an_error(tmp_path: Path) -> None:
    """If no row of a set has an answer, the first failure is raised with set and judge, after the last set."""
    write(tmp_path, "ent_a", [SETS["ent_a"] | {"claim": "broken"}] * 2)
    write(tmp_path, "ent_b", [SETS["ent_a"] | {"claim": "good"}])
    results: list[SetResult] = []

    async def collect() -> None:
        async for one in measure(Stub(), tmp_path):
            results.append(one)

    with pytest.raises(RunFailed, match="ent_a: stub answered no row, the first because: judge_error"):
        asyncio.run(collect())
    assert [(one.name, one.rows, one.failed, one.failure) for one in results] == [
        ("ent_a", 0, 2, "judge_error"),
        ("ent_b", 1, 0, ""),
    ]


def test_failures_are_counted(tmp_path: Path) -> None:
    """Rows without an answer are counted with the first reason; decomposition needs a judge that can do it."""
    write(tmp_path, "ent_a", [SETS["ent_a"] | {"claim": claim} for claim in ("good", "broken")])
    write(tmp_path, "rag_a", [SETS["rag_a"]])
    (one, _), (_, whole) = measured(Stub(), tmp_path), measured(Sampler(), tmp_path)
    assert (one.rows, one.failed, one.failure) == (1, 1, "judge_error")
    assert whole.note == "not answered: decompose"


def test_a_response_depends_on_all_its_claims(tmp_path: Path) -> None:
    """One bad claim among good ones lowers a whole response, and two lower it further."""
    for name, better, worse in (
        ("rag_a", "good. good. good.", "good. bad. good."),
        ("rag_b", "good. bad. good.", "bad. bad. good."),
    ):
        rows = [SETS["rag_a"] | {"response": text, "label": label} for text, label in ((better, 1), (worse, 0))]
        write(tmp_path, name, rows)
    one, two = measured(Stub(), tmp_path)
    assert (value(one.auc), value(one.balanced_accuracy)) == (1.0, 1.0)
    assert value(two.auc) == 1.0


def test_labels_are_words_and_sets_are_tables(tmp_path: Path) -> None:
    """Words of verdicts and booleans are labels, and a set is read from any format if its name says its kind."""
    labels = ["entailed", "yes", True, "1", "neutral", "contradicted", "no", False]
    write(
        tmp_path,
        "ent_a",
        [{"premise": "p", "claim": "good" if n < 4 else "bad", "label": label} for n, label in enumerate(labels)],
    )
    (tmp_path / "ent_b.csv").write_text("premise,claim,label\np,good,1\np,bad,0\n")
    (tmp_path / "notes.txt").write_text("no set")
    assert [(one.name, one.rows, value(one.auc)) for one in measured(Stub(), tmp_path)] == [
        ("ent_a", 8, 1.0),
        ("ent_b.csv", 2, 1.0),
    ]


def test_bad_folders_and_rows(tmp_path: Path) -> None:
    """An empty folder is BadData; a set with an incomplete row has a note that names the line."""
    with pytest.raises(BadData, match="no labelled sets"):
        measured(Stub(), tmp_path)
    write(tmp_path, "ent_a", [{"premise": "p"}])
    (one,) = measured(Stub(), tmp_path)
    assert one.note.startswith(f"not measured: {tmp_path / 'ent_a.jsonl'}")


def test_a_set_of_one_label_has_the_share_right(tmp_path: Path) -> None:
    """Without both labels there is no AUC and no balanced accuracy: a note says so; accuracy is the share right."""
    write(tmp_path, "ent_a", [SETS["ent_a"] | {"claim": f"good {n}", "label": 1} for n in range(10)])
    (one,) = measured(Stub(), tmp_path)
    assert one.note == "all 10 labels are 1; AUC and balanced accuracy need both"
    assert value(one.accuracy) == 1.0


def test_probabilities_are_held_against_labels(tmp_path: Path) -> None:
    """Of each set the error of the probabilities, how many are right by confidence, and what a threshold would gain."""
    rows = [SETS["ent_a"] | {"claim": claim, "label": label} for claim, label in (("good", 1), ("bad", 0), ("bad.", 1))]
    write(tmp_path, "ent_a", rows)
    (one,) = measured(Stub(), tmp_path)
    assert one.calibration is not None
    assert sum(tenth.share for tenth in one.calibration.confident) == pytest.approx(1)
    assert one.calibration.best == pytest.approx(0.75)
    assert one.calibration.lost == pytest.approx(0)
    assert 0 < one.calibration.error < 1


def taken_apart(text: str, *claims: str, kind: str = "factual") -> dict[str, Any]:
    """A text of one sentence with the claims that people found in it."""
    sentence = {"text": text, "claims": list(claims), "claim_checkworthiness": [kind] * len(claims)}
    return {"question": "q", "text": text, "sentences": [sentence]}


def test_claims_are_matched_with_those_of_people(tmp_path: Path) -> None:
    """The F1 of each text and its mean; opinions are no claims; a text without claims is left out."""
    rows = [
        taken_apart("Ann left. Bob came.", "Ann left", "Bob came"),
        taken_apart("Ann left. Bob came.", "Ann left", "Cid sang", kind="factual"),
        taken_apart("It is nice.", "It is nice", kind="opinion"),
    ]
    rows[1]["text"] += " "
    write(tmp_path, "claims_a", rows)
    (one,) = measured(Stub(), tmp_path, baseline=Stub())
    assert one.f1 is not None
    assert (one.rows, one.failed, one.f1.value) == (2, 0, 0.75)
    assert one.f1.low is not None
    assert one.f1.high is not None
    assert one.f1.low < 0.75 < one.f1.high
    assert one.against is not None
    assert (one.against.by, one.against.one, one.against.other, one.against.p) == ("f1", 0.75, 0.75, 1.0)


def test_claims_need_a_judge_that_decomposes(tmp_path: Path) -> None:
    """The set has a note, and another judge that cannot decompose is not compared."""
    write(tmp_path, "claims_a", [taken_apart("Ann left.", "Ann left")])
    (unable,), (alone,) = measured(Sampler(), tmp_path), measured(Stub(), tmp_path, baseline=Sampler())
    assert unable.note == "not answered: decompose"
    assert alone.rows == 1
    assert alone.against is None


@pytest.mark.slow
@pytest.mark.shared
def test_the_embedded_judge_beats_word_overlap(shared: Path, tmp_path: Path) -> None:
    """On claims against web pages its AUC is clearly above that of the share of words found."""
    name = "ent_wice_oracle_chunks.jsonl.gz"
    (tmp_path / name).symlink_to(shared / "data/eval" / name)
    (one,) = measured(EmbeddedJudge(), tmp_path, limit=400)
    auc, words = value(one.auc), value(one.words)
    assert auc is not None
    assert words is not None
    assert auc > words + 0.04
