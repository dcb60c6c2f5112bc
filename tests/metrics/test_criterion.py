"""Criteria in a user's own words: what is asked, what is measured, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

import ragauge as rg
from ragauge.cli.main import main
from ragauge.metrics.registry import parse_metric, select_metrics

ROWS = [
    {"query": "Can I return it?", "response": "Yes, please send it back."},
    {"query": "Can I return it?", "response": "No."},
]
POLITE = 'criterion("The answer is polite, and offers a next step",1-5)'


def by_please(rubric: str, query: str, response: str, wording: str) -> tuple[int, str]:
    """A judge that likes the word please where it is asked about politeness."""
    assert "polite" in wording
    return (5, "it says please") if "please" in response else (1, "it is curt")


class Reading:
    """A judge that grades everything 0.5 and keeps what it was asked."""

    identity = rg.types.Identity("reading")
    answers = frozenset({"rate"})

    def __init__(self) -> None:
        self.asked: list[rg.questions.Rate] = []

    async def answer(self, questions: Sequence[rg.questions.Question]) -> list[rg.types.Grade]:
        """The grades."""
        self.asked += [one for one in questions if isinstance(one, rg.questions.Rate)]
        return [rg.types.Grade(0.5) for _ in questions]


def test_a_criterion_is_graded_by_any_judge_that_rates() -> None:
    """The grade is the score, on the scale of the criterion, with an interval and the judge's reason as evidence."""
    run = rg.evaluate(ROWS, POLITE, judge=rg.judge_from(rate=by_please))
    estimate = run.estimates["criterion"]
    assert (estimate.value, estimate.n, estimate.scale) == (3.0, 2, (1.0, 5.0))
    assert [scores["criterion"].value for scores in run.scores] == [5, 1]
    assert run.record.captions["criterion"].startswith("your own criterion, 1 to 5")
    (piece,) = run.scores[1]["criterion"].evidence
    assert (piece.text, piece.value, piece.rationale, piece.against) == ("No.", 1, "it is curt", "criterion")


def test_a_scale_may_begin_below_0() -> None:
    """The caption names both numbers of the scale, the sign of the lowest with it."""
    judge = rg.judge_from(rate=lambda rubric, wording, **_: -2)
    run = rg.evaluate(ROWS, rg.criterion("It is polite", scale="-2-2"), judge=judge)
    assert run.estimates["criterion"].scale == (-2.0, 2.0)
    assert run.record.captions["criterion"].startswith("your own criterion, -2 to 2")


def test_everything_that_is_said_reaches_the_judge() -> None:
    """Text, steps, levels and examples are in the rubric that the judge reads, and so are the fields asked for."""
    judge = Reading()
    metric = rg.criterion(
        "Says the same",
        "0.0-1.0",
        reads=("response", "references"),
        steps=("Read both.", "Compare dates."),
        levels=("1: the same", "0: nothing of it"),
        examples=("0.5: half (of it)",),
        name="same",
    )
    row = {"response": "r", "references": ["one", "two"]}
    run = rg.evaluate([row], metric, judge=judge)
    ((rubric, texts),) = [(one.rubric, one.texts) for one in judge.asked]
    assert rubric.wording == (
        "Says the same\nStep 1: Read both.\nStep 2: Compare dates.\n1: the same\n0: nothing of it\n"
        "An example of 0.5: half (of it)"
    )
    assert (rubric.name, rubric.whole, texts) == (
        "same",
        False,
        (("response", "r"), ("references", "one\n\ntwo")),
    )
    assert run.estimates["same"].value == 0.5


def test_a_fault_may_be_the_criterion() -> None:
    """With better=lower the estimate and its gates know that low grades are good; 0-1 takes yes or no."""
    metric = parse_metric('criterion("It insults the reader",0-1,better=lower,name=insult)')
    assert (metric.better, metric.scale, metric.key) == ("lower", (0.0, 1.0), "insult")
    judge = rg.judge_from(rate=lambda rubric, query, response: 0.5)
    failed = rg.evaluate(ROWS[:1], metric, judge=judge).scores[0]["insult"].failed
    assert "0.5 is not a whole number" in str(failed)


def test_its_defaults_can_be_written() -> None:
    """The parameters as `ragauge metrics criterion` shows them can be typed, and change nothing."""
    metric = rg.criterion("Short")
    assert metric.usage[0] == "text"
    assert parse_metric(f"criterion(Short,{','.join(metric.usage[1:])})") == metric


def test_two_criteria_in_one_run_have_keys_of_their_own() -> None:
    """Two criteria are kept apart by their specs or names, and equal ones count once."""
    measures = select_metrics(f'{POLITE},criterion("Short"),criterion("Short",1-5),criterion("Kind",name=kind)')
    assert [one.key for one in measures] == [
        'criterion(text="The answer is polite, and offers a next step")',
        "criterion(text=Short)",
        "kind",
    ]


@given(st.text(min_size=1).filter(str.strip), st.lists(st.text(min_size=1), max_size=3).map(tuple))
@example("0", ('""',))
def test_any_text_is_read_as_it_is_written(text: str, steps: tuple[str, ...]) -> None:
    """A criterion of any text writes a spec that reads as the same criterion, among other specs too."""
    metric = rg.criterion(text, steps=steps)
    assert parse_metric(metric.spec) == metric
    assert select_metrics(f"faithfulness,{metric.spec}")[1] == metric


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("criterion", "criterion needs text; write criterion"),
        ('criterion("  ")', "give the criterion in words"),
        ('criterion("x",good)', "'good' is not valid; give the lowest and the highest grade, such as 1-5"),
        ('criterion("x",5-1)', "low < high"),
        ('criterion("x",levels="very polite")', "levels.*give texts such as"),
        ('criterion("x",examples="9: fine")', "the grade of '9: fine' is not on the scale 1-5"),
        ('criterion("x",reads=answer)', "choose from query, response"),
        ('criterion("x",name="a b")', "give a name of letters, digits and underscores"),
        ('criterion("x",stepps="y")', "did you mean 'steps'"),
    ],
)
def test_a_faulty_criterion_is_refused(spec: str, message: str) -> None:
    """A criterion without a text, or with a wrong option, says what is wrong before a judge is asked."""
    with pytest.raises(rg.errors.UsageError, match=message):
        rg.evaluate(ROWS, spec)


def test_a_judge_that_cannot_rate_and_a_missing_field_are_named() -> None:
    """The embedded judge refuses a criterion, and a file without queries names the field."""
    with pytest.raises(rg.errors.UnanswerableNeed, match="embedded does not answer rate;"):
        rg.evaluate(ROWS, POLITE)
    with pytest.raises(rg.errors.MissingField, match="no sample has 'query'"):
        rg.evaluate([{"response": "r"}], POLITE, judge=rg.judge_from(rate=by_please))


def test_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A criterion in quotation marks runs with a judge of one's own, is described, and gates by its name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    Path("kind_judge.py").write_text(
        "import ragauge as rg\n"
        "judge = rg.judge_from(rate=lambda rubric, query, response: 5 if 'please' in response else 2)\n"
    )
    spec = 'criterion("The answer is polite, and offers a next step", 1-5, name=polite)'
    command = ["run", "rows.jsonl", "-m", spec, "-j", "python:kind_judge:judge", "--fail-under", "polite=4"]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 3, done.output
    assert "polite is 3.500, below 4" in done.output
    shown = CliRunner().invoke(main, ["metrics", "criterion"]).output
    assert "parameters: text, scale=1-5, reads=query+response" in shown
