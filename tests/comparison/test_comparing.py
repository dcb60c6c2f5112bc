"""Is one run better than another, and where?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.comparison.conftest import run_of

import ragauge as rg
from ragauge.analysis.compare import cautions
from ragauge.errors import UnknownName, UsageError
from ragauge.metrics.registry import parse_metric
from ragauge.scores import RunRecord
from ragauge.statistics.paired import paired_mean
from ragauge.types import Chunk, Criterion, Identity, Sample, ToolCall

Make = Callable[..., rg.Run]

LOW = [0.0, 0.25, 0.5, 0.25, 0.0, 0.5, 0.25, 0.0, 0.5, 0.25]
HIGH = [0.5, 1.0, 0.75, 1.0, 0.75, 0.5, 1.0, 0.25, 1.0, 1.0]


def test_a_better_run(run: Make) -> None:
    """The difference is the mean over samples of B minus A, with interval, p, and the samples won, tied and lost."""
    found = rg.compare(run({"faithfulness": LOW}), run({"faithfulness": HIGH}))
    one = found.differences["faithfulness"]
    expected = paired_mean([high - low for low, high in zip(LOW, HIGH, strict=True)])
    assert (one.a, one.b, one.difference) == pytest.approx((0.25, 0.775, 0.525))
    assert (one.low, one.high, one.p) == (expected.interval.low, expected.interval.high, expected.p)
    assert (one.n, one.wins, one.ties, one.losses) == (10, 9, 1, 0)
    assert (one.verdict, one.p_adjusted) == ("better", one.p)
    assert (found.samples, found.by, found.groups, found.notes) == (10, "id", None, ())


@settings(max_examples=25)
@given(st.lists(st.tuples(*[st.sampled_from([0.0, 0.25, 0.5, 1.0, None])] * 2), min_size=1, max_size=12))
def test_the_other_way_round(pairs: list[tuple[float | None, float | None]]) -> None:
    """Comparing A with B mirrors the comparison of B with A."""
    a, b = (run_of({"faithfulness": values}) for values in zip(*pairs, strict=True))
    there, back = (rg.compare(*runs).differences["faithfulness"] for runs in ((a, b), (b, a)))
    assert (there.a, there.b, there.n, there.p) == (back.b, back.a, back.n, back.p)
    assert (there.wins, there.losses) == (back.losses, back.wins)
    assert (there.missing.undefined_a, there.missing.p) == (back.missing.undefined_b, back.missing.p)
    if there.low is not None and there.high is not None:
        assert (back.low, back.high) == pytest.approx((-there.high, -there.low))
    assert {there.verdict, back.verdict} in ({""}, {"better", "worse"})


def test_two_definitions_of_correctness_are_not_compared(run: Make) -> None:
    """Where one run has `correctness` and the other `answer_correctness`, both say what the other has."""
    a, b = run({"faithfulness": LOW, "answer_correctness": LOW}), run({"faithfulness": LOW, "correctness": HIGH})
    left = rg.compare(a, b).left_out
    assert left["answer_correctness"].startswith(
        "only the first run has it, the other has correctness, which is defined"
    )
    assert left["correctness"].endswith("measure both with -m correctness")


def test_where_lower_is_better(run: Make) -> None:
    """A metric of which less is better is won if B is lower."""
    a, b = run({"hallucination": HIGH}, better="lower"), run({"hallucination": LOW}, better="lower")
    one = rg.compare(a, b).differences["hallucination"]
    assert one.difference is not None
    assert one.difference < 0
    assert (one.wins, one.losses, one.verdict) == (9, 0, "better")


def test_only_samples_with_a_value_in_both_count(run: Make) -> None:
    """Samples with an undefined or failed score in either run are left out of both means, and counted."""
    a = run({"faithfulness": [None, 0.5, "down", 0.25, 1.0]})
    b = run({"faithfulness": [1.0, None, 1.0, 0.75, 1.0]})
    one = rg.compare(a, b).differences["faithfulness"]
    assert (one.n, one.a, one.b) == (2, 0.625, 0.875)
    assert one.missing == type(one.missing)(1, 1, 1, 0, p=1.0, p_adjusted=1.0)


def test_a_system_that_refuses_more_often(run: Make) -> None:
    """Refusals drop out of faithfulness: the means are equal, and undefined scores are compared."""
    a = run({"faithfulness": [0.5] * 12, "token_f1": [0.5] * 12})
    b = run({"faithfulness": [0.5] * 4 + [None] * 8, "token_f1": [0.5] * 12})
    found = rg.compare(a, b)
    one = found.differences["faithfulness"]
    assert (one.difference, one.verdict) == (0, "")
    assert (one.missing.undefined_a, one.missing.undefined_b) == (0, 8)
    assert one.missing.p == pytest.approx(2 / 2**8)
    assert found.differences["token_f1"].missing.p is None
    assert "faithfulness 0 and 8 (p 0.008)" in " ".join(str(found).split())


def test_no_sample_with_a_value_in_both(run: Make) -> None:
    """If no sample has a value in both runs there is no number and no verdict."""
    one = rg.compare(run({"bleu": [None, 0.5]}), run({"bleu": [0.5, None]})).differences["bleu"]
    assert (one.a, one.b, one.difference, one.low, one.high, one.p, one.p_adjusted) == (None,) * 7
    assert (one.n, one.wins, one.verdict, one.detectable) == (0, 0, "", None)


def test_p_values_are_adjusted_over_metrics(run: Make) -> None:
    """A difference in one metric is not significant among twenty equal ones, but can be gated on."""
    noise = {f"own {at}": [0.0, 0.5] * 5 for at in range(19)}
    a, b = (
        run({"bleu": [0.2] * 10, **noise}),
        run({"bleu": [0.3, 0.4, 0.5, 0.6, 0.3, 0.4, 0.5, 0.1, 0.4, 0.5], **noise}),
    )
    found = rg.compare(b, a, "all")
    one = found.differences["bleu"]
    assert one.p is not None
    assert one.p < 0.01
    assert one.p_adjusted == pytest.approx(20 * one.p)
    assert one.verdict == ""
    assert found.worse(["bleu"]) == ["bleu"]
    assert found.worse(["own 1"]) == []
    assert found.worse([]) == []


def test_significance_requires_the_interval(run: Make) -> None:
    """If all samples differ by the same amount, p alone is not enough: the interval must exclude 0 as well."""
    one = rg.compare(run({"bleu": [0.2] * 8}), run({"bleu": [0.25] * 8})).differences["bleu"]
    assert one.p_adjusted is not None
    assert one.low is not None
    assert one.p_adjusted < 0.05
    assert one.low < 0
    assert one.verdict == ""


def test_metrics_measured_differently_are_left_out(run: Make) -> None:
    """Metrics with other parameters, or of one run only, are left out with the reason; requesting one is an error."""
    a = run({"rouge.rougeL": LOW, "bleu": LOW, "own": LOW}, metrics=("rouge", "bleu", "own"))
    b = run({"rouge.rougeL": LOW, "chrf": LOW, "own": LOW}, metrics=("rouge(stemmer=true)", "chrf", "own"))
    found = rg.compare(a, b)
    assert list(found.differences) == ["own"]
    assert found.left_out == {
        "bleu": "only the first run has it",
        "chrf": "only the second run has it",
        "rouge.rougeL": "it was measured as rouge in the first run and as rouge(stemmer=true) in the second",
    }
    for name in ("bleu", "chrf", "rouge.rougeL", "rouge"):
        with pytest.raises(UsageError, match="cannot be compared: "):
            rg.compare(a, b, [name])
        with pytest.raises(UsageError, match=r"cannot be compared: |unknown metric of this comparison 'rouge'"):
            found.worse([name])
    assert rg.compare(a, b, ["own"]).left_out == {}


def test_a_custom_metric_with_a_known_name(run: Make) -> None:
    """A custom metric is not compared with the one of the catalogue of the same name."""
    a, b = run({"bleu": LOW, "x": LOW}, metrics=("mine", "x")), run({"bleu": LOW, "x": LOW}, metrics=("bleu", "x"))
    left = rg.compare(a, b).left_out
    assert left == {"bleu": "it was measured as a custom metric in the first run and as bleu in the second"}


def test_custom_metrics_of_one_name_that_differ_are_left_out(run: Make) -> None:
    """Values of one name are not compared where another end of the scale is better, or the scale is another."""
    a, b = run({"mine": LOW, "own": LOW}), run({"mine": LOW, "own": LOW}, better="lower")
    with pytest.raises(UsageError, match="mine cannot be compared: higher is better in the first run and lower in the"):
        rg.compare(a, b, "mine")
    first, second = (_length_run(scale) for scale in ((0, 100), (0, 1000)))
    with pytest.raises(UsageError, match="its scale is 0 to 100 in the first run and 0 to 1000 in the second"):
        rg.compare(first, second, "length")


def _length_run(scale: tuple[float, float]) -> rg.Run:
    @rg.check(scale=scale)
    def length(sample: Sample) -> float:
        return len(sample.response or "")

    return rg.evaluate([{"query": "Who?", "response": "Ada."}], length)


def test_metrics_are_chosen_by_key_or_name(run: Make) -> None:
    """A key chooses one value, a metric's name all of its values; a metric of neither run is an error."""
    values = {"rouge.rouge1": LOW, "rouge.rougeL": LOW, "bleu": LOW}
    a, b = (run(values, metrics=("rouge(types=rouge1+rougeL)", "bleu")) for _ in "ab")
    assert list(rg.compare(a, b, ["rouge"]).differences) == ["rouge.rouge1", "rouge.rougeL"]
    assert list(rg.compare(a, b, ["bleu", "rouge.rougeL"]).differences) == ["rouge.rougeL", "bleu"]
    assert list(rg.compare(a, b, "bleu, rouge.rouge1").differences) == ["rouge.rouge1", "bleu"]
    with pytest.raises(UnknownName, match="unknown metric of both runs 'blue'; did you mean 'bleu'"):
        rg.compare(a, b, ["blue"])
    with pytest.raises(UsageError, match="no metric in common; measure both with the same -m"):
        rg.compare(a, run({"chrf": LOW}))


def test_six_metrics_are_tested_unless_more_are_named(run: Make) -> None:
    """By default the six that a run shows first, and those of gates, are compared; `all` compares all."""
    shown = ["faithfulness", "correctness", "answer_relevance", "context_recall", "context_precision", "claim_f1"]
    a, b = (run(dict.fromkeys([*shown, "bleu", "chrf"], values)) for values in (LOW, HIGH))
    found = rg.compare(a, b)
    assert list(found.differences) == shown
    assert found.left_out.keys() == {"bleu", "chrf"}
    assert rg.compare(a, b, gated=["bleu"]).worse(["bleu"]) == []
    assert list(rg.compare(a, b, "all").differences) == [*shown, "bleu", "chrf"]
    assert rg.compare(a, b, "chrf", gated=["bleu"]).differences.keys() == {"bleu", "chrf"}
    with pytest.raises(UnknownName):
        rg.compare(a, b, "all,nosuch")


def test_a_custom_metric_with_its_own_scale(run: Make) -> None:
    """Values beyond 0 to 1 are compared on the scale that they span."""
    a, b = run({"pages": [3.0, 5.0, -2.0, 4.0]}), run({"pages": [3.0, 5.0, 40.0, 4.0]})
    one = rg.compare(a, b).differences["pages"]
    assert one.difference == 10.5
    assert one.low is not None
    assert -42 <= one.low <= 0


def test_over_the_data_set() -> None:
    """Pooled values and the trust score, with ten counts a sample, are compared by the counts of both runs."""
    rows = [
        {
            "query": f"What is {n}?",
            "response": f"{n} is a number [1].",
            "contexts": [f"{n} is a number."],
            "answers": [[f"{n} is a number"]],
        }
        for n in range(8)
    ]
    worse = [{**row, "response": f"{n} is a bird [1]. It sings."} for n, row in enumerate(rows)]
    a, b = (rg.evaluate(data, metrics=["pooled(faithfulness)", "trust_score"]) for data in (rows, worse))
    found = rg.compare(a, b, ["pooled(faithfulness)", "trust_score"])
    for key, one in found.differences.items():
        assert (one.a, one.b, one.n) == (a.estimates[key].value, b.estimates[key].value, 8)
        assert (one.wins, one.ties, one.losses, one.detectable) == (None,) * 4
        assert one.difference is not None
        assert one.low is not None
        assert -1 <= one.low <= one.difference < 0
    assert "n 8" in str(found)


def test_a_custom_metric_over_the_data_set_is_left_out() -> None:
    """Its formula is not in the store, so it is not compared, with that reason."""
    metric = parse_metric("pooled(faithfulness)").renamed("mine")
    rows = [{"query": "q", "response": "Ada.", "contexts": ["Ada."]}]
    run = rg.evaluate(rows, metrics=[metric, "faithfulness"])
    run.record.metrics = ("mine", "faithfulness")
    found = rg.compare(run, run)
    assert found.left_out == {"mine": "the formula of a custom metric over the data set is not known"}


def test_groups_of_the_runs_and_of_a_column(run: Make) -> None:
    """Samples of one group are swapped together, whether the runs have groups or a column is given."""
    values = {"bleu": [0.1] * 24}, {"bleu": [0.2] * 12 + [0.3] * 12}
    houses = [str(at // 4) for at in range(24)]
    grouped = [Sample(str(at), query=f"q {at}", group=house) for at, house in enumerate(houses)]
    kept = [Sample(str(at), query=f"q {at}", metadata={"house": house}) for at, house in enumerate(houses)]
    a, b = (run(one, samples=grouped) for one in values)
    by_run = rg.compare(a, b)
    a, b = (run(one, samples=kept) for one in values)
    by_column, alone = rg.compare(a, b, group="house"), rg.compare(a, b)
    assert (by_run.groups, by_column.groups, alone.groups) == (6, 6, None)
    assert by_run.differences == by_column.differences
    assert by_run.differences["bleu"].p == pytest.approx(2 / 2**6)
    assert alone.differences["bleu"].p == pytest.approx(1e-4, abs=2e-4)
    assert "24 samples in 6 groups in both, matched by id." in str(by_column)
    assert "– where fewer than 6 groups differ." in " ".join(str(by_column).split())
    assert "– where fewer than 6 samples differ." in " ".join(str(alone).split())


def test_groups_of_one_run_count(run: Make) -> None:
    """A sample's group counts if only one run was made with groups; a sample without one is its own group."""
    plain = [Sample(str(at), query=f"q {at}") for at in range(8)]
    grouped = [msgspec.structs.replace(one, group="a" if at < 3 else None) for at, one in enumerate(plain)]
    for samples in ((plain, grouped), (grouped, plain)):
        a, b = (run({"bleu": values}, samples=kept) for values, kept in zip((LOW[:8], HIGH[:8]), samples, strict=True))
        assert rg.compare(a, b).groups == 6


def _judged(**fields: Any) -> RunRecord:
    given = {"judges": {"*": Identity("embedded")}, "version": "0.1", "status": "finished", "samples": 3, **fields}
    return RunRecord(id=str(sorted(fields)), started="", data="", metrics=(), **given)


GPT = Identity("openai/gpt-4o-mini", (("temperature", "0"), ("prompts", "v1")))
HOT = Identity("openai/gpt-4o-mini", (("temperature", "1"), ("prompts", "v1")))


@pytest.mark.parametrize(
    ("b", "metric", "expected"),
    [
        (
            {"judges": {"*": GPT}},
            "faithfulness",
            ["Different judges (decompose, entail): embedded and openai/gpt-4o-mini."],
        ),
        ({"judges": {"*": GPT}}, "bleu", []),
        (
            {"judges": {"*": Identity("embedded"), "entail": GPT}},
            "faithfulness",
            ["Different judges (entail): embedded and openai/gpt-4o-mini."],
        ),
        ({"judges": {"entail": Identity("embedded"), "decompose": Identity("embedded")}}, "faithfulness", []),
        (
            {"judges": {"rate": Identity("embedded")}},
            "context_relevance",
            ["Different judges (relevant): embedded and no judge."],
        ),
        ({"labelled": 2}, "bleu", ["People answered 0 questions of A and 2 of B, judges the others."]),
        ({"version": "0.2"}, "bleu", ["A was made by ragauge 0.1 and B by 0.2, which may measure differently."]),
        ({"status": "interrupted"}, "bleu", ["B is interrupted: only its first 3 samples are compared."]),
    ],
)
def test_cautions(b: dict[str, Any], metric: str, expected: list[str]) -> None:
    """Different judges of what metrics ask, human labels, another version, and an unfinished run are noted."""
    words = list(cautions(_judged(), _judged(**b), [parse_metric(metric)]))
    assert [one.partition(" The difference")[0] for one in words] == expected


def test_judges_of_one_name_differ_by_settings(run: Make) -> None:
    """Two judges with different settings are different judges, and what differs is named."""
    a, b = (run({"faithfulness": LOW}, judges={"*": judge}, name=str(at)) for at, judge in enumerate((GPT, HOT)))
    (note,) = rg.compare(a, b).notes
    assert note.startswith(
        "Different judges (decompose, entail): openai/gpt-4o-mini with other temperature. The difference"
    )
    (own,) = cautions(a.record, b.record, [None])
    assert "rate" in own


def test_a_run_compared_with_itself(run: Make) -> None:
    """A run compared with itself is noted."""
    one = run({"bleu": LOW})
    found = rg.compare(one, one)
    assert found.notes == ("A and B are the same run.",)
    assert found.differences["bleu"].difference == 0
    assert found.changes == ()


@pytest.mark.parametrize(
    ("field", "before", "after"),
    [
        ("references", ("Ada",), ("Ada Bell",)),
        ("answers", (("Ada",),), (("Ada",), ("Bell",))),
        ("answer_weights", (1.0,), (0.5,)),
        ("criteria", (Criterion("polite"),), (Criterion("polite", 2),)),
        ("reference_contexts", (Chunk("Ada.", "a"),), (Chunk("Ada.", "b"),)),
        ("reference_tool_calls", (ToolCall("find"),), (ToolCall("get"),)),
    ],
)
def test_a_gate_is_not_held_by_other_references(run: Make, field: str, before: Any, after: Any) -> None:
    """Where runs have other references, a note and the document count the samples, and a gate needs force."""
    a, b = (
        run(
            {"token_f1": values},
            samples=[Sample(str(n), query=f"q {n}", **{field: changed if n < 3 else before}) for n in range(10)],
        )
        for values, changed in ((HIGH, before), (LOW, after))
    )
    found = rg.compare(a, b)
    words = f"3 of 10 samples have other {field.replace('_', ' ')} in B"
    assert found.notes == (f"{words}, from which a difference may come.",)
    assert found.to_dict()["changed_gold"] == {field: 3}
    with pytest.raises(UsageError, match=f"^{words}.*--force"):
        rg.compare(a, b, gated=["token_f1"])
    assert rg.compare(a, b, gated=["token_f1"], force=True).worse(["token_f1"]) == ["token_f1"]


def test_references_of_one_run_alone_are_no_others(run: Make) -> None:
    """References that only one run has are no others: what reads them is undefined in the other run."""
    a, b = (
        run({"bleu": LOW}),
        run({"bleu": LOW}, samples=[Sample(str(n), query=f"query {n}", references=("Ada",)) for n in range(10)]),
    )
    assert rg.compare(a, b, gated=["bleu"]).changed_gold == {}


def test_an_interrupted_run(run: Make) -> None:
    """The samples that an interrupted run has are compared, and the others of the other run counted as left out."""
    found = rg.compare(run({"bleu": LOW}, name="a"), run({"bleu": HIGH[:4]}, status="interrupted", name="b"))
    assert (found.samples, found.only_a, found.only_b) == (4, 6, 0)
    assert found.notes == ("B is interrupted: only its first 4 samples are compared.",)
    assert "Left out: 6 only in A." in str(found)


def _judge() -> rg.judges.Judge:
    return rg.judge_from(
        decompose=lambda text: [one for one in text.split(". ") if one],
        entail=lambda premise, hypothesis: (
            "contradicted" if f"not {hypothesis}" in premise else "entailed" if hypothesis in premise else "neutral"
        ),
        relevant=lambda query, text: "Ada" in text,
    )


def _evaluated(response: Sequence[str], metric: str, context: str = "Ada wrote it") -> rg.Run:
    rows = [{"query": f"who {at}?", "response": one, "contexts": [context]} for at, one in enumerate(response)]
    return rg.evaluate(rows, metrics=[metric], judge=_judge())


def test_the_claims_that_made_the_difference() -> None:
    """The samples that changed most come first, with the pieces that count against one response only."""
    a = _evaluated(["Ada wrote it", "Bob sang. Ada wrote it. Eve ran", "Ada wrote it"], "faithfulness")
    b = _evaluated(["Eve ran", "Ada wrote it. Eve ran", "Ada wrote it"], "faithfulness")
    first, second = rg.compare(a, b).changes
    assert (first.id, first.query, first.a, first.b) == ("1", "who 0?", 1, 0)
    assert [(piece.run, piece.said) for piece in first.pieces] == [("b", "not supported by contexts: “Eve ran”")]
    assert (second.id, second.b) == ("2", 0.5)
    assert second.a == pytest.approx(1 / 3)
    assert [(piece.run, piece.said) for piece in second.pieces] == [("a", "not supported by contexts: “Bob sang”")]
    assert [change.id for change in rg.compare(a, b, show=1).changes] == ["1"]
    assert rg.compare(a, b, show=0).changes == ()


def test_a_refusal_that_became_an_invented_answer_is_listed() -> None:
    """A sample that is undefined in one run alone is among the changes, with its value in the other and the pieces."""
    a = _evaluated(["", "Ada wrote it", "Ada wrote it"], "faithfulness")
    b = _evaluated(["Bob sang", "", "Ada wrote it"], "faithfulness")
    found = rg.compare(a, b)
    assert [(change.id, change.a, change.b) for change in found.changes] == [("1", None, 0), ("2", 1, None)]
    assert [piece.said for piece in found.changes[0].pieces] == ["not supported by contexts: “Bob sang”"]
    assert "faithfulness undefined → 0.000, sample 1:" in found._repr_markdown_()


def test_a_sample_that_changed_in_several_metrics_is_one_line(run: Make) -> None:
    """What changed most has a line a sample, and none where values differ by rounding alone."""
    a, b = run({"bleu": [0.0, 1.0], "chrf": [0.0, 1.0]}), run({"bleu": [1.0, 1 - 1e-12], "chrf": [1.0, 1.0]})
    text = rg.compare(a, b)._repr_markdown_()
    assert text.count(", sample ") == 1
    assert "bleu 0.000 → 1.000, chrf 0.000 → 1.000, sample 0: query 0" in text


def test_pieces_for_the_better_response() -> None:
    """If the worse response only lacks something, the pieces that support the better one are shown."""
    a = _evaluated(["Ada wrote. Ada wrote it. Eve ran"], "faithfulness")
    b = _evaluated(["Ada wrote it. Eve ran"], "faithfulness")
    (change,) = rg.compare(a, b).changes
    assert [(piece.run, piece.said) for piece in change.pieces] == [("a", "supported by context 1: “Ada wrote”")]


def test_pieces_of_a_metric_of_which_less_is_better() -> None:
    """The pieces that raise the value are those that made the difference."""
    a = _evaluated(["Ada wrote it. Bob sang"], "hallucination", "not Bob sang")
    b = _evaluated(["Ada wrote it"], "hallucination", "not Bob sang")
    (change,) = rg.compare(a, b).changes
    assert (change.a, change.b) == (1, 0)
    assert [(piece.run, piece.said) for piece in change.pieces] == [("a", "“Bob sang” is contradicted by context 1")]


@pytest.mark.slow
def test_runs_of_the_demo() -> None:
    """The demo's two systems, measured by the embedded judge: the candidate retrieves better."""
    from importlib.resources import as_file, files

    runs = []
    for system in ("baseline", "candidate"):
        with as_file(files("ragauge.demo") / f"{system}.jsonl") as path:
            runs.append(rg.evaluate(path, metrics=["faithfulness", "context_precision"]))
    baseline, candidate = runs
    found = rg.compare(baseline, candidate)
    assert [one.verdict for one in found.differences.values()] == ["", "better"]
    assert found.worse(["context_precision"]) == []
    assert rg.compare(candidate, baseline).worse(["context_precision"]) == ["context_precision"]


@given(st.lists(st.lists(st.sampled_from([-1.0, -0.25, 0.0, 0.25, 0.5, 1.0]), min_size=14, max_size=14), max_size=5))
@settings(deadline=None, max_examples=25)
def test_a_row_says_one_thing(apart: list[list[float]]) -> None:
    """The interval of a row excludes 0 where B is better or worse, and contains it where nothing is shown."""
    rises = [[0.0] * 5 + [0.5] * 9, *apart]
    a = run_of({f"m{i}": [0.0] * 14 for i in range(len(rises))})
    b = run_of({f"m{i}": values for i, values in enumerate(rises)})
    for one in rg.compare(a, b).differences.values():
        assert one.low_adjusted is not None
        assert one.high_adjusted is not None
        excludes_zero = not one.low_adjusted <= 0 <= one.high_adjusted
        assert bool(one.verdict) == excludes_zero
        assert excludes_zero <= (one.p_adjusted is not None and one.p_adjusted < 0.05)


def test_how_far_to_trust_a_comparison() -> None:
    """A comparison has the caution on the judge once, and how sure it was in each run."""
    rows = [{"response": "Ada wrote it.", "contexts": ["Ada wrote it in May."]}]
    a, b = (rg.evaluate(rows, ["faithfulness"], name=name) for name in "ab")
    trust, *sure = rg.compare(a, b).judging
    assert "`ragauge docs embedded-judge`" in trust
    assert [one[:22] for one in sure] == ["A: The judge was unsur", "B: The judge was unsur"]
