"""Measuring a judge on labelled sets: the right question for each, and figures that mean what they say."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ragauge.errors import BadData, RunFailed
from ragauge.judges.embedded.judge import EmbeddedJudge
from ragauge.measure import Measured, adjusted, measure
from ragauge.measure.sets import overlap, read_cases
from ragauge.nouns.answers import Answer, Decomposition, Failure, Grade, Label, Verdict
from ragauge.nouns.identity import Identity
from ragauge.nouns.statements import Statement
from ragauge.questions import Classify, Decompose, Entail, Question, Rate, Relevant
from ragauge.statistics.intervals import Interval

SETS: dict[str, dict[str, Any]] = {
    "ent_a": {"premise": "p", "claim": "c", "label": 1},
    "cit_a": {"question": "q", "statement": "s", "citations": [{"id": 1, "text": "t"}], "label_supported": 0},
    "rag_a": {"question": "q", "contexts": ["x"], "response": "One. Two.", "label": 1},
    "rel_a": {"question": "q", "passage": "p", "label": 0},
    "ans_a": {"question": "q", "references": ["r", "s"], "answer": "a", "label": 1},
    "resp_a": {"question": "q", "response": "r", "irrelevant": 1},
    "coh_a": {"source": "s", "summary": "t", "human_scores": {"coherence": 4.5}},
    "tox_a": {"text": "t", "label": 1},
}


class Stub:
    """Entails what begins with "good", takes a text apart at full stops, and fails on "broken"."""

    identity = Identity("stub")
    answers = frozenset({"decompose", "entail"})

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """An answer for each question."""
        return [self._one(question) for question in questions]

    def _one(self, question: Question) -> Answer | Failure:
        if isinstance(question, Decompose):
            return Decomposition(tuple(Statement(part.strip()) for part in question.text.split(".") if part.strip()))
        assert isinstance(question, Entail)
        if question.hypothesis == "broken":
            return Failure("judge_error")
        good = question.hypothesis.startswith("good")
        return Verdict(Label.ENTAILED if good else Label.NEUTRAL, 0.9 if good else 0.1)


class Sampler:
    """Works by samples, two at a time; entails what begins with "good", without a probability; a grade is a length.

    entered: how often. most: how many waves it had at once. waves: what it was asked together.
    """

    identity = Identity("sampler")
    answers = frozenset({"entail", "rate"})
    by_sample = 2

    def __init__(self) -> None:
        self.entered = self.most = self._busy = 0
        self.waves: list[list[Question]] = []

    async def __aenter__(self) -> Sampler:
        """Counts."""
        self.entered += 1
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Nothing to close."""

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """An answer for each question, a moment later."""
        self.waves.append(list(questions))
        self._busy += 1
        self.most = max(self.most, self._busy)
        await asyncio.sleep(0.001)
        self._busy -= 1
        return [self._one(question) for question in questions]

    def _one(self, question: Question) -> Answer:
        if isinstance(question, Rate):
            return Grade(len(dict(question.texts)["response"]))
        assert isinstance(question, Entail)
        return Verdict(Label.ENTAILED if question.hypothesis.startswith("good") else Label.NEUTRAL)


def write(folder: Path, name: str, rows: list[dict[str, Any]]) -> Path:
    """A labelled set as a compressed file."""
    file = folder / f"{name}.jsonl.gz"
    with gzip.open(file, "wt", encoding="utf-8") as lines:
        lines.writelines(json.dumps(row) + "\n" for row in rows)
    return file


def measured(judge: Any, folder: Path, limit: int | None = None, beside: Any = None) -> list[Measured]:
    """All results of a folder."""

    async def collect() -> list[Measured]:
        return [one async for one in measure(judge, folder, limit, beside=beside)]

    return asyncio.run(collect())


def value(one: Interval | None) -> float | None:
    """The figure without its interval."""
    return one.value if one else None


@pytest.mark.parametrize(
    ("name", "kinds", "label"),
    [
        ("ent_a", [Entail], 1),
        ("cit_a", [Entail], 0),
        ("rag_a", [Entail], 1),
        ("rel_a", [Relevant], 0),
        ("ans_a", [Entail, Entail], 1),
        ("resp_a", [Rate], 0),
        ("coh_a", [Rate], 1),
        ("tox_a", [Classify], 1),
    ],
)
def test_each_kind_of_set_asks_its_question(tmp_path: Path, name: str, kinds: list[type], label: int) -> None:
    """The prefix of the file decides what is asked and what counts as a 1."""
    (case,) = read_cases(write(tmp_path, name, [SETS[name]])) or []
    assert [type(question) for question in case.questions] == kinds
    assert case.label == label


def test_a_set_nobody_can_ask_about_is_named(tmp_path: Path) -> None:
    """An unknown prefix is reported with a note, and so is a set whose question the judge does not answer."""
    write(tmp_path, "other_a", [{"text": "t"}])
    write(tmp_path, "tox_a", [SETS["tox_a"]])
    other, tox = measured(Stub(), tmp_path)
    assert other.note == "no question fits this kind of set"
    assert tox.note == "not answered: classify:toxic"


def test_figures_of_a_judge_that_is_always_right(tmp_path: Path) -> None:
    """Right probabilities and labels give 1; a question without an answer is counted as failed, not as wrong."""
    claims = [("good one", 1), ("good two", 1), ("bad one", 0), ("bad two", 0), ("broken", 1)]
    write(tmp_path, "ent_a", [{"premise": text, "claim": text, "label": label} for text, label in claims])
    (one,) = measured(Stub(), tmp_path)
    assert (one.rows, one.failed, value(one.auc), value(one.balanced_accuracy)) == (4, 1, 1.0, 1.0)
    assert value(one.words) == 0.5


def test_a_judge_that_works_by_samples_gets_rows_side_by_side(tmp_path: Path) -> None:
    """Each row is a wave of its own, as many at once as the judge takes; it is entered once, and asked once."""
    rows = [SETS["ans_a"] | {"answer": str(n // 2), "label": n % 2} for n in range(10)]
    write(tmp_path, "ans_a", rows)
    write(tmp_path, "ent_a", [SETS["ent_a"] | {"claim": f"good {n}", "label": n % 2} for n in range(4)])
    judge = Sampler()
    measured(judge, tmp_path)
    assert (judge.entered, judge.most) == (1, 2)
    assert [len(wave) for wave in judge.waves] == [2] * 5 + [1] * 4


def test_a_judge_without_probabilities_has_a_balanced_accuracy_alone(tmp_path: Path) -> None:
    """Labels are no probabilities: there is no AUC, and the balanced accuracy has its own interval."""
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


def test_a_grade_says_yes_from_where_people_do(tmp_path: Path) -> None:
    """From 4 on people's grades count as coherent, and so do the judge's; their order is compared too."""
    rows = [SETS["coh_a"] | {"summary": "s" * grade, "human_scores": {"coherence": grade}} for grade in (2, 3, 4, 5)]
    write(tmp_path, "coh_a", rows)
    (one,) = measured(Sampler(), tmp_path)
    assert (value(one.auc), value(one.balanced_accuracy), value(one.correlation)) == (1.0, 1.0, 1.0)


def test_documents_are_resampled_for_the_correlation_of_grades(tmp_path: Path) -> None:
    """Summaries of one source are drawn together: with two sources the interval ends where one of them would."""
    grades = [("a", 2, 2), ("a", 3, 3), ("a", 5, 4), ("b", 2, 5), ("b", 3, 2), ("b", 4, 4)]
    rows = [
        {"source": source, "summary": "s" * said, "human_scores": {"coherence": grade}}
        for source, said, grade in grades
    ]
    write(tmp_path, "coh_a", rows)
    (one,) = measured(Sampler(), tmp_path)
    assert one.correlation is not None
    assert one.correlation.low == pytest.approx(-0.5)
    assert one.correlation.high == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("categories", "label", "kept"),
    [
        ({"H": 1, "S": 0}, 1, [1]),
        ({"V2": 1}, 1, [1]),
        ({"H": 0, "SH": 0}, 0, [0]),
        ({"H": 0, "SH": 1}, 1, []),
        ({"S": 1, "S3": 0}, 1, []),
        ({"S": 0, "S3": 0}, 0, []),
    ],
)
def test_a_toxic_text_is_hostile_to_somebody(
    tmp_path: Path, categories: dict[str, int], label: int, kept: list[int]
) -> None:
    """Hate, harassment and violence are toxic; a text of another category alone, or labelled for none, is left out."""
    row = {"text": "t", "label": label, "categories": categories}
    cases = read_cases(write(tmp_path, "tox_a", [row])) or []
    assert [case.label for case in cases] == kept
    assert all(case.words is None for case in cases)


def test_a_judge_that_answers_nothing_is_an_error(tmp_path: Path) -> None:
    """Where no row of a set has an answer the first failure is raised, with set and judge, after the last set."""
    write(tmp_path, "ent_a", [SETS["ent_a"] | {"claim": "broken"}] * 2)
    write(tmp_path, "ent_b", [SETS["ent_a"] | {"claim": "good"}])
    results: list[Measured] = []

    async def collect() -> None:
        async for one in measure(Stub(), tmp_path):
            results.append(one)

    with pytest.raises(RunFailed, match="ent_a: stub answered no row, the first because: judge_error"):
        asyncio.run(collect())
    assert [(one.name, one.rows, one.failed, one.failure) for one in results] == [
        ("ent_a", 0, 2, "judge_error"),
        ("ent_b", 1, 0, ""),
    ]


def test_a_failure_is_told_beside_the_figures(tmp_path: Path) -> None:
    """Rows without an answer are counted with the first reason; what takes texts apart needs a judge that does."""
    write(tmp_path, "ent_a", [SETS["ent_a"] | {"claim": claim} for claim in ("good", "broken")])
    write(tmp_path, "rag_a", [SETS["rag_a"]])
    (one, _), (_, whole) = measured(Stub(), tmp_path), measured(Sampler(), tmp_path)
    assert (one.rows, one.failed, one.failure) == (1, 1, "judge_error")
    assert whole.note == "not answered: decompose"


def test_a_response_is_as_good_as_all_its_claims(tmp_path: Path) -> None:
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


def test_a_limit_draws_the_same_rows_each_time(tmp_path: Path) -> None:
    """A seeded sample of the asked size."""
    file = write(tmp_path, "ent_a", [SETS["ent_a"] | {"claim": str(at)} for at in range(50)])
    first, again = read_cases(file, limit=5), read_cases(file, limit=5)
    assert first == again
    assert first is not None
    assert len(first) == 5


def test_improper_questions_and_citations_without_text_are_left_out(tmp_path: Path) -> None:
    """Rows that people marked as unfit are not measured."""
    answers = write(tmp_path, "ans_a", [SETS["ans_a"] | {"improper": True}])
    citations = write(tmp_path, "cit_a", [SETS["cit_a"] | {"has_text": False}])
    assert read_cases(answers) == []
    assert read_cases(citations) == []


def test_bad_folders_and_rows_are_said_to_be_bad(tmp_path: Path) -> None:
    """An empty folder and a row without its fields end in BadData that names the place."""
    with pytest.raises(BadData, match="no labelled sets"):
        measured(Stub(), tmp_path)
    write(tmp_path, "ent_a", [{"premise": "p"}])
    with pytest.raises(BadData, match="ent_a"):
        measured(Stub(), tmp_path)


def test_the_lexical_baseline_is_the_share_of_tokens_found() -> None:
    """Two of three tokens stand in the premise; a text without tokens has none."""
    assert overlap("a b c", "A, b!") == pytest.approx(2 / 3)
    assert overlap("...", "a") == 0.0


class Guesser(Stub):
    """Says one and the same of everything."""

    identity = Identity("guesser")

    def _one(self, question: Question) -> Answer | Failure:
        if isinstance(question, Entail) and question.hypothesis == "good but broken":
            return Failure("judge_error")
        return Verdict(Label.NEUTRAL, 0.5)


def claims(count: int) -> list[dict[str, Any]]:
    """Claims of which "good" ones are supported, each about a text of its own."""
    words = ("good", "bad")
    return [
        {"premise": f"{words[n % 2]} {n}", "claim": f"{words[n % 2]} {n}", "label": 1 - n % 2} for n in range(count)
    ]


def test_two_judges_are_compared_on_the_same_rows(tmp_path: Path) -> None:
    """A judge that is right beside one that guesses is better, the other way round worse; rows are those of both."""
    extra = {"premise": "p", "claim": "good but broken", "label": 1}
    write(tmp_path, "ent_a", [*claims(40), extra])
    (better,), (worse,) = measured(Stub(), tmp_path, beside=Guesser()), measured(Guesser(), tmp_path, beside=Stub())
    assert better.against is not None
    assert worse.against is not None
    assert (better.rows, better.against.rows, worse.rows) == (41, 40, 40)
    assert (better.against.by, better.against.one, better.against.other) == ("auc", 1.0, 0.5)
    assert better.against.difference.value == 0.5
    assert (better.against.verdict, worse.against.verdict) == ("better", "worse")


def test_a_judge_is_not_told_apart_from_itself(tmp_path: Path) -> None:
    """The difference is 0, its interval too, and p is 1."""
    write(tmp_path, "ent_a", claims(40))
    (one,) = measured(Stub(), tmp_path, beside=Stub())
    assert one.against is not None
    assert (one.against.difference.low, one.against.difference.high, one.against.p) == (0.0, 0.0, 1.0)
    assert one.against.verdict == "not told apart"


def test_judges_are_compared_by_what_both_tell(tmp_path: Path) -> None:
    """Where one tells no probabilities it is by balanced accuracy; where one answers no such question, not at all."""
    write(tmp_path, "ent_a", claims(20))
    write(tmp_path, "rag_a", [SETS["rag_a"] | {"response": text} for text in ("good.", "bad.")])
    entailed, taken_apart = measured(Stub(), tmp_path, beside=Sampler())
    assert entailed.against is not None
    assert entailed.against.by == "balanced_accuracy"
    assert taken_apart.rows == 2
    assert taken_apart.against is None


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
    (one,) = measured(Stub(), tmp_path, beside=Stub())
    assert one.f1 is not None
    assert (one.rows, one.failed, one.f1.value) == (2, 0, 0.75)
    assert one.f1.low is not None
    assert one.f1.high is not None
    assert one.f1.low < 0.75 < one.f1.high
    assert one.against is not None
    assert (one.against.by, one.against.one, one.against.other, one.against.p) == ("f1", 0.75, 0.75, 1.0)


def test_a_judge_that_takes_nothing_apart_has_no_claims(tmp_path: Path) -> None:
    """The set is named with its note, and another judge that cannot do it is not compared."""
    write(tmp_path, "claims_a", [taken_apart("Ann left.", "Ann left")])
    (unable,), (alone,) = measured(Sampler(), tmp_path), measured(Stub(), tmp_path, beside=Sampler())
    assert unable.note == "not answered: decompose"
    assert alone.rows == 1
    assert alone.against is None


def test_many_sets_raise_no_false_alarm(tmp_path: Path) -> None:
    """What is told apart on one set alone is not among twenty, whose p-values are adjusted together."""
    write(tmp_path, "ent_a", claims(12))
    (one,) = measured(Stub(), tmp_path, beside=Guesser())
    assert one.against is not None
    near = msgspec.structs.replace(one, against=msgspec.structs.replace(one.against, p=0.01))
    many = adjusted([msgspec.structs.replace(near, name=str(at)) for at in range(20)] + [Measured("none", note="why")])
    assert near.against is not None
    assert near.against.verdict == "better"
    assert [found.against.verdict for found in many if found.against] == ["not told apart"] * 20


@pytest.mark.shared
def test_the_embedded_judge_beats_counting_words(shared: Path, tmp_path: Path) -> None:
    """On claims against web pages its AUC is clearly above the share of words found."""
    name = "ent_wice_oracle_chunks.jsonl.gz"
    (tmp_path / name).symlink_to(shared / "data/eval" / name)
    (one,) = measured(EmbeddedJudge(), tmp_path, limit=400)
    auc, words = value(one.auc), value(one.words)
    assert auc is not None
    assert words is not None
    assert auc > words + 0.04
