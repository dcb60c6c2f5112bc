"""Nuggets and criteria that belong to a question: how they are read, credited and scored."""

from __future__ import annotations

from typing import Any

import pytest

import ragauge as rg
from ragauge.errors import BadRow
from ragauge.types import Criterion, Failure, Sample

RESPONSE = "The tower is old. It is red."


def judge(**changed: Any) -> rg.judges.Judge:
    """Takes texts apart at semicolons; a text entails what it holds, and meets a criterion that it holds."""
    functions: dict[str, Any] = {
        "decompose": lambda text: [piece.strip() for piece in text.split(";") if piece.strip()],
        "entail": lambda premise, hypothesis: hypothesis in premise,
        "rate": lambda rubric, response, wording: float("red" in response),
        "name": "words",
    }
    return rg.judge_from(**{**functions, **changed})


def score(metric: str, row: dict[str, Any], **changed: Any) -> Any:
    """The score of one row."""
    scores = rg.score({"query": "What is it like?", "response": RESPONSE, **row}, metric, judge(**changed))
    return scores[metric.partition("(")[0]]


NUGGETS = [
    {"text": "The tower is old", "vital": True},
    {"text": "It is red; It is tall", "vital": False},
    {"text": "It is round", "weight": 3},
    {"text": "It is huge", "wordings": ["It is vast", "It is red"], "importance": "okay"},
]


def test_weights_are_read_in_all_their_forms() -> None:
    """A weight, vital or not, and nuggetizer's words are weights; what has none counts 1."""
    (sample,) = rg.read(
        [{"query": "?", "answers": [*NUGGETS, {"text": "It leans", "importance": "vital"}, "It stands"]}]
    )
    assert sample.answer_weights == (1, 0.5, 3, 0.5, 1, 1)
    assert sample.answers is not None
    assert sample.answers[3] == ("It is huge", "It is vast", "It is red")


def test_plain_gold_claims_have_no_weights() -> None:
    """Lists of wordings, texts and numbers are gold claims as ever."""
    for answers in ([["a", "b"], ["c"]], ["a", "c"], [1889, 1931]):
        (sample,) = rg.read([{"query": "?", "answers": answers, "claims": "", "references": ["x"]}])
        assert (len(sample.answers or ()), sample.answer_weights) == (2, None)


def test_credit_is_the_share_of_a_nuggets_own_claims() -> None:
    """A nugget of two claims, one given, has a half; the best wording counts."""
    assert score("nugget_recall", {"answers": NUGGETS}).value == pytest.approx((1 + 0.5 * 0.5 + 0 + 0.5) / 5)
    assert score("nugget_recall(weights=equal)", {"answers": NUGGETS}).value == pytest.approx(2.5 / 4)
    assert score("nugget_recall(weights=vital)", {"answers": NUGGETS}).value == pytest.approx(1 / 4)


def test_an_empty_response_gives_nothing() -> None:
    """Its credit is 0, and no vital nugget is undefined."""
    assert score("nugget_recall", {"answers": NUGGETS, "response": ""}).value == 0
    assert score("nugget_recall(weights=vital)", {"answers": NUGGETS[1:2]}).undefined == "no gold claim is vital"


def test_a_missing_judgment_is_a_failure_and_no_half() -> None:
    """Where the judge fails on one claim or criterion, the score is failed."""

    def entail(premise: str, hypothesis: str) -> Any:
        return Failure("judge_error", "gone") if "tall" in hypothesis else hypothesis in premise

    failed = score("nugget_recall", {"answers": NUGGETS}, entail=entail)
    assert (failed.value, "judge_error" in failed.failed) == (None, True)

    def rate(rubric: str, response: str, wording: str) -> float:
        raise ValueError(f"{rubric} of {response}: {wording}")

    assert score("criteria", {"criteria": ["It is red"]}, rate=rate).failed


CRITERIA = [
    {"text": "Names the colour", "points": 4},
    {"text": "Lies", "points": -6},
    {"text": "Is polite", "points": 1},
]


def met(*numbers: int) -> Any:
    """A judge's function that finds these criteria met, by their order."""
    grades = iter(float(number in numbers) for number in range(len(CRITERIA)))
    return lambda rubric, response, wording: next(grades)


@pytest.mark.parametrize(
    ("numbers", "value"), [((0, 2), 1), ((0,), 4 / 5), ((0, 1), -2 / 5), ((1,), -1), ((), 0)], ids=str
)
def test_points_gained_over_points_possible(numbers: tuple[int, ...], value: float) -> None:
    """A fault takes points off, to -1 at least."""
    assert score("criteria", {"criteria": CRITERIA}, rate=met(*numbers)).value == pytest.approx(value)


def test_healthbench_rows_are_read_as_they_are() -> None:
    """The prompt is a conversation, its rubrics are criteria, a completion is the response."""
    row = {
        "prompt_id": "p1",
        "prompt": [
            {"role": "user", "content": "I fell."},
            {"role": "assistant", "content": "Does it hurt?"},
            {"role": "user", "content": "Yes."},
        ],
        "completion": "See a doctor.",
        "rubrics": [{"criterion": "Advises to see a doctor", "points": 5, "tags": ["level:example"]}],
    }
    (sample,) = rg.read([row])
    assert (sample.id, sample.query, sample.response) == ("p1", "Yes.", "See a doctor.")
    assert sample.criteria == (Criterion("Advises to see a doctor", 5.0),)
    assert [turn.text for turn in sample.turns or ()] == ["I fell.", "Does it hurt?"]


def test_the_weight_of_a_criterion_is_its_points() -> None:
    """A fault with a negative weight takes points off, and the evidence shows what each criterion is worth."""
    criteria = [{"text": "Says how long", "weight": 4}, {"text": "Insults", "weight": -2}]
    judge = rg.judge_from(rate=lambda rubric, query, response, wording: 1)
    score = rg.score({"query": "?", "response": "!", "criteria": criteria}, "criteria", judge)["criteria"]
    assert score.value == 0.5
    assert [piece.text for piece in score.evidence] == ["Says how long (+4)", "Insults (-2)"]


def test_other_numbers_of_a_criterion_do_no_harm_beside_its_points() -> None:
    """An index beside the points is left out, and null is no number of points."""
    criteria = [{"criterion": "polite", "points": 3, "index": 1}, {"text": "short", "points": None, "weight": None}]
    (sample,) = rg.read([{"query": "?", "response": "!", "criteria": criteria}])
    assert sample.criteria == (Criterion("polite", 3.0), Criterion("short", 1.0))


def test_rubrics_of_ragas_are_no_criteria() -> None:
    """A description for each grade goes to the metadata."""
    (sample,) = rg.read([{"user_input": "?", "response": "!", "rubrics": {"score1_description": "bad"}}])
    assert (sample.criteria, sample.metadata["rubrics"]) == (None, {"score1_description": "bad"})


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"answers": [{"text": "", "vital": True}]}, "item 1 has no text"),
        ({"nuggets": [{"importance": "vital"}]}, "item 1 has no text"),
        ({"answers": [{"text": "a", "weight": 0}]}, "item 1 has the weight 0"),
        ({"nuggets": [{"text": "a", "importance": "some"}]}, "item 1 has the weight 'some'"),
        ({"criteria": [{"points": 3}]}, "criterion 1 has no text"),
        ({"criteria": ["a", {"text": "b", "points": "many"}]}, "item 2 has the points 'many'"),
        ({"criteria": [{"text": "a", "weight": "some"}]}, "item 1 has the points 'some'"),
        ({"criteria": [{"text": "a", "pointz": -2}]}, "criterion 1 has the number 'pointz'; call it points"),
    ],
    ids=str,
)
def test_bad_nuggets_and_criteria_are_named_before_anything_is_asked(row: dict[str, Any], message: str) -> None:
    """One line names row and column, and says what to write."""
    with pytest.raises(BadRow, match=message):
        list(rg.read([{"query": "?", "response": "!", **row}]))


def test_samples_with_weights_and_criteria_survive_a_round_trip() -> None:
    """A sample that was written is read as it was."""
    import msgspec

    sample = Sample(
        "1", "?", "!", answers=(("a", "b"), ("c",)), answer_weights=(1.0, 0.5), criteria=(Criterion("d", -2),)
    )
    (again,) = rg.read([msgspec.to_builtins(sample)])
    assert again == sample


def test_they_are_measured_by_default_where_the_data_have_them() -> None:
    """Rows with weights or criteria have their metrics without a request."""
    rows = [{"query": "?", "response": RESPONSE, "answers": NUGGETS, "criteria": CRITERIA}]
    assert {"nugget_recall", "criteria"} <= rg.evaluate(rows, judge=judge()).estimates.keys()
