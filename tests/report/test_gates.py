from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.report.judged import measured

import ragauge as rg
from ragauge.needs.base import Support
from ragauge.needs.entailment import response_in_contexts
from ragauge.scores import Gate


def test_the_worse_side_of_a_bound_fails() -> None:
    """A bound is the minimum if higher is better, and the maximum if lower is."""
    run = measured()
    run.hold_to({"faithfulness": 0.5, "hallucination": 0.5})
    assert run.record.gates == (Gate("faithfulness", 0.5, "below"), Gate("hallucination", 0.5, "above"))
    assert [gate.failure(run.record) for gate in run.record.gates] == ["faithfulness is 0.444, below 0.5", None]
    assert [str(gate) for gate in run.record.gates] == ["faithfulness ≥ 0.5", "hallucination ≤ 0.5"]


def test_an_estimate_on_its_bound_passes() -> None:
    """Equality passes on either side."""
    run = measured()
    value = run.estimates["hallucination"].value
    assert value is not None
    gates = [Gate("hallucination", value, "above"), Gate("hallucination", value, "below")]
    assert [gate.failure(run.record) for gate in gates] == [None, None]


def test_gates_are_kept_with_the_run(tmp_path: Path) -> None:
    """A run that is opened again has its gates, and so has its document; new ones replace them."""
    run = measured(store=tmp_path / "store")
    run.hold_to({"faithfulness": 0.5})
    again = rg.Run.open(tmp_path / "store")
    (kept,) = again.to_dict()["run"]["gates"]
    assert kept == {
        "metric": "faithfulness",
        "bound": 0.5,
        "fails": "below",
        "column": "",
        "value": "",
        "min_measured": 0.0,
    }
    again.hold_to({"hallucination": 0.1})
    assert [gate.metric for gate in rg.Run.open(tmp_path / "store").record.gates] == ["hallucination"]


@pytest.mark.parametrize(
    ("bounds", "complaint"),
    [({"faithfulnes": 0.5}, "did you mean 'faithfulness'"), ({"faithfulness": "high"}, "the bound of faithfulness is")],
)
def test_invalid_bounds_are_refused(bounds: dict[str, float], complaint: str) -> None:
    """A metric that was not measured, or a bound that is no number, is an error."""
    with pytest.raises(rg.errors.UsageError, match=complaint):
        measured().hold_to(bounds)
    with pytest.raises(rg.errors.BadParameter, match="give a number"):
        measured().hold_to({"faithfulness": float("nan")})


@pytest.mark.parametrize("again", [False, True], ids=["fresh", "from the store"])
def test_gates_that_cannot_be_meant_are_refused(tmp_path: Path, again: bool) -> None:
    """A bound off the scale, and a gate on the side where its metric is better, are errors; nothing is kept of them.

    So it is for a metric of one's own, and for a run that is read from its store.
    """
    metrics = ["faithfulness", "hallucination", _length]
    run = measured(metrics=metrics, store=tmp_path / "store")
    run = rg.Run.open(tmp_path / "store") if again else run
    with pytest.raises(rg.errors.BadParameter, match="off the scale of faithfulness; give a number from 0 to 1"):
        run.hold_to({"faithfulness": 5})
    with pytest.raises(rg.errors.BadParameter, match="off the scale of hallucination; give a number from 0 to 1"):
        run.hold_to({"hallucination": -0.1})
    with pytest.raises(rg.errors.BadParameter, match="off the scale of _length; give a number from 0 to 500"):
        run.hold_to({"_length": 501})
    with pytest.raises(rg.errors.BadParameter, match=r'lower is better for hallucination.*give fails="above"'):
        run.hold_to([Gate("hallucination", 0.1)])
    assert run.record.gates == ()


@rg.metric(response_in_contexts(), scale=(0, 500))
def _length(support: Support) -> float:
    """How many claims there are."""
    return float(len(support.entailed))


def test_each_failing_gate_shows_its_worst_samples(tmp_path: Path) -> None:
    """Two failing gates each show the samples that are worst by their own metric, worst first, and no perfect one."""
    rows = [
        {"id": f"{n}", "response": f"a is {n}.", "contexts": [f"a is {n}.", *["not: a is 0", "x"][: n % 2]]}
        for n in range(9)
    ]
    rows[3]["response"] = "a is 0."
    run = measured([*rows, {"id": "none", "response": "b.", "contexts": ["x"]}])
    run.hold_to({"faithfulness": 1, "hallucination": 0})
    suite = ElementTree.parse(run.save(tmp_path / "results.xml")).getroot()[0]
    texts = {case.get("name"): case.findtext("failure") or "" for case in suite.iter("testcase")}
    assert [line.split(":")[0].strip() for line in texts["faithfulness"].splitlines()[1:]][:2] == ["3", "none"]
    assert texts["hallucination"].splitlines()[1].startswith("  3: ")
    assert len(texts["faithfulness"].splitlines()) == 3


def test_a_gate_says_how_many_samples_it_rests_on(tmp_path: Path) -> None:
    """A gate on one sample of three holds with a caution in every form, and fails where a greater share is demanded."""
    rows = [{"response": "", "contexts": ["a is 1."]}] * 2
    run = measured([{"response": "a is 1.", "contexts": ["a is 1."]}, *rows], metrics=["faithfulness"])
    run.hold_to({"faithfulness": 0.9})
    held = "faithfulness ≥ 0.9 (1 of 3 samples: less than half are measured)"
    assert f"- ✅ {held}" in run.save(tmp_path / "a.md").read_text(encoding="utf-8")
    assert held in run.save(tmp_path / "a.xml").read_text(encoding="utf-8")
    run.hold_to({"faithfulness": 0.9}, min_measured=0.5)
    short = "faithfulness is 1.000, but measured on less than 50% of the samples"
    assert run.record.gates[0].failure(run.record) == short
    assert f"❌ **{short} (1 of 3 samples)**" in run.save(tmp_path / "b.md").read_text(encoding="utf-8")
    for share in (50, float("nan")):
        with pytest.raises(rg.errors.BadParameter, match="from 0 to 1"):
            run.hold_to({"faithfulness": 0.9}, min_measured=share)


def test_a_gate_holds_that_rests_on_just_the_share() -> None:
    """Rounding does not make 7 of 25 samples less than .28 of them."""
    rows = [{"response": "a", "references": ["a"] if n < 7 else None} for n in range(25)]
    run = rg.evaluate(rows, "exact_match")
    run.hold_to({"exact_match": 1.0}, min_measured=0.28)
    assert run.record.gates[0].failure(run.record) is None
