"""Panels and cascades by spec and in runs: how they are written, and that no member is asked twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import ragauge as rg
from ragauge.errors import BadParameter, UnknownName
from ragauge.judges.composite import Cascade, Panel
from ragauge.questions import Question
from ragauge.run.specs import load_judge
from ragauge.store import Store
from ragauge.types import Answer, Failure, Grade, Identity, Sample, Verdict

Rows = Callable[..., list[Sample]]
METRICS = ["faithfulness", "context_recall", "hallucination"]
MODULE = "import ragauge as rg\nmine = rg.judge_from(entail=lambda p, h: (h in p, 0.9), name='mine')\n"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working folder with a judge in a module."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "composed_judges.py").write_text(MODULE)


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("panel(embedded,python:composed_judges:mine)", "panel(embedded, mine)"),
        ("panel( embedded , openai/gpt-4o-mini?temperature=0 )", "panel(embedded, openai/gpt-4o-mini)"),
        ("cascade(embedded,openai/gpt-4o-mini)", "cascade(embedded, openai/gpt-4o-mini)"),
        ("cascade(embedded,openai/gpt-4o-mini,threshold=0.9)", "cascade(embedded, openai/gpt-4o-mini)"),
        ("cascade(embedded,openai/a,openai/b,threshold=0.9)", "cascade(embedded, cascade(openai/a, openai/b))"),
        ("cascade(embedded,panel(openai/a,openai/b),entail=0.9)", "cascade(embedded, panel(openai/a, openai/b))"),
        ("panel(openai/a,cascade(embedded,openai/b,threshold=1))", "panel(openai/a, cascade(embedded, openai/b))"),
    ],
)
def test_specs_are_read_as_written(spec: str, name: str) -> None:
    """Members are separated by commas outside of brackets, and may be made of judges themselves."""
    assert str(load_judge(spec).identity) == name


@pytest.mark.parametrize(
    ("spec", "thresholds"),
    [
        ("threshold=0.9", {"entail": "0.9", "relevant": "0.9", "classify": "0.9", "correct": "0.9"}),
        ("entail=0.95, relevant=0.8", {"entail": "0.95", "relevant": "0.8"}),
        ("threshold=0.9,entail=0.95", {"entail": "0.95", "relevant": "0.9", "classify": "0.9", "correct": "0.9"}),
    ],
)
def test_thresholds_for_all_kinds_or_by_kind(spec: str, thresholds: dict[str, str]) -> None:
    """A threshold counts for all kinds that none is given for by name, and in a chain for every step."""
    judge = load_judge(f"cascade(embedded,openai/a,openai/b,{spec})")
    assert isinstance(judge, Cascade)
    for cascade in (judge, judge.second):
        settings = dict(cascade.identity.settings)
        found = {k.partition(".")[2]: value for k, value in settings.items() if k.startswith("threshold.")}
        assert found == thresholds


@pytest.mark.parametrize(
    ("spec", "error", "fault"),
    [
        ("panel(embedded)", BadParameter, r"panel\(embedded\) needs at least two judges"),
        ("panel()", BadParameter, "needs at least two judges"),
        ("panel(embedded,embedded)", BadParameter, "embedded is there twice"),
        ("panel(embedded,embeded)", UnknownName, "unknown judge 'embeded'; did you mean 'embedded'"),
        ("panel(embedded,openai/a", BadParameter, "cannot read .* close each bracket"),
        ("panel(embedded,openai/a))", BadParameter, "cannot read"),
        ("panel(embedded,openai/a)(openai/b)", BadParameter, "cannot read"),
        ("panel(embedded,openai/a,threshold=0.9)", BadParameter, "judges and nothing else, not threshold"),
        ("panels(embedded,openai/a)", UnknownName, "unknown"),
        ("cascade(embedded,threshold=0.9)", BadParameter, "needs at least two judges"),
        ("cascade(openai/b,openai/a)", BadParameter, "needs a threshold.*ragauge judges tune"),
        ("cascade(embedded,openai/a,threshold=high)", BadParameter, "threshold='high' must be a number"),
        ("cascade(embedded,openai/a,treshold=0.9)", UnknownName, "did you mean 'threshold'"),
    ],
)
def test_what_is_wrong_with_a_spec_is_reported(spec: str, error: type[Exception], fault: str) -> None:
    """A spec that cannot be read, and one that makes no sense, is refused with the way to fix it."""
    with pytest.raises(error, match=fault):
        load_judge(spec)


def test_in_python_they_are_made_of_specs_and_judges(judge: Any) -> None:
    """`rg.panel` and `rg.cascade` take specs and judges alike."""
    panel = rg.panel("embedded", judge, lambda messages: "{}")
    assert isinstance(panel, Panel)
    assert panel.members[1].identity == judge.identity
    cascade = rg.cascade("embedded", panel, threshold={"entail": 0.9})
    assert isinstance(cascade, Cascade)
    assert cascade.second is panel


def test_members_are_never_asked_twice(stub: Any, rows: Rows, tmp_path: Path) -> None:
    """What a member answered alone the panel takes from the store; what it asks is kept under each member's name."""
    a, b, c = (stub(name=name) for name in "abc")
    with Store.open(tmp_path / "store") as store:
        alone = rg.evaluate(rows(3), METRICS, a, store)
        asked = len(a.asked)
        together = rg.evaluate(rows(3), METRICS, rg.panel(a, b, c), store)
        assert len(a.asked) == asked
        assert together.record.asked == len(b.asked) + len(c.asked)
        assert together.estimates == alone.estimates
        again = [rg.evaluate(rows(3), METRICS, one, store).record.asked for one in (rg.panel(a, b, c), c)]
        assert again == [0, sum(question.kind == "decompose" for question in a.asked)]
    assert len(set(map(repr, b.asked))) == len(b.asked)
    assert (
        "panel(a, b, c): all agreed on 12 of 12 entail questions asked now (100%, kappa 1.00)." in together.record.notes
    )


class Sure:
    """Wraps a stub's judgment in a probability, sure of every other hypothesis."""

    def __init__(self, inner: Any) -> None:
        self.identity, self.answers, self._inner = Identity("sure"), inner.answers, inner

    async def answer(self, questions: Sequence[Question]) -> Sequence[Answer | Failure]:
        """The stub's answers, with a probability."""
        answers = await self._inner.answer(questions)
        return [self._sure(question, answer) for question, answer in zip(questions, answers, strict=True)]

    def _sure(self, question: Question, answer: Answer | Failure) -> Answer | Failure:
        if not isinstance(answer, Verdict):
            return answer
        return Verdict(answer.label, 0.99 if len(repr(question)) % 2 else 0.6)


def test_a_cascade_in_a_run(stub: Any, rows: Rows, tmp_path: Path) -> None:
    """The second is asked only what goes up, the first judge's answers are kept, and the record says what was saved."""
    first, second = Sure(stub(name="a")), stub(name="b")
    with Store.open(tmp_path / "store") as store:
        run = rg.evaluate(rows(4), ["answer_relevance"], rg.cascade(first, second, threshold=0.9), store)
        fresh = rg.evaluate(rows(4), ["answer_relevance"], rg.cascade(first, second, threshold=0.5), store)
    assert run.estimates["answer_relevance"].n == 4
    relevant = [question for question in second.asked if question.kind == "relevant"]
    assert 0 < len(relevant) < 12
    assert fresh.record.asked == 0
    assert run.record.notes[0].startswith(f"cascade(sure, b): {4 + len(relevant)} of 16 questions")


def test_a_member_that_fails_is_outvoted_in_a_run(stub: Any, rows: Rows) -> None:
    """A member that raises costs its votes, not the run, and the notes say so."""

    class Broken:
        identity, answers = Identity("broken"), frozenset({"entail"})

        async def answer(self, questions: Sequence[Question]) -> Sequence[Answer | Failure]:
            raise RuntimeError("down")

    panel = rg.panel(stub(name="a"), stub(name="b"), Broken())
    run = rg.evaluate(rows(2), ["faithfulness"], panel)
    assert run.estimates["faithfulness"].n == 2
    assert run.record.notes == (
        "panel(a, b, broken): questions that a member failed at, so that the others decided: broken (judge_error) 6.",
    )


def test_grades_come_from_the_whole_panel(stub: Any, rows: Rows) -> None:
    """A rubric's grade in a run is the mean of the members'."""

    class Low:
        identity, answers = Identity("low"), frozenset({"rate"})

        async def answer(self, questions: Sequence[Question]) -> Sequence[Answer | Failure]:
            return [Grade(0.0)] * len(questions)

    run = rg.evaluate(rows(1), ["chunk_utility"], rg.panel(stub(), Low()))
    assert run.estimates["chunk_utility"].value == 0.5
