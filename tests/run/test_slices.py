"""Estimates over the samples with each value of a metadata column."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pyarrow.parquet
import pytest
from tests.report.judged import decompose, entail

import ragauge as rg
from ragauge.errors import BadParameter, UnknownName, UsageError
from ragauge.scores import Gate


def rows(good: int = 30, bad: int = 30) -> list[dict[str, Any]]:
    """Samples in two languages: of `good` German ones every claim is in the contexts, of `bad` English ones none."""
    made = []
    for i in range(good + bad):
        german = i < good
        context = f"{i} is a." if german else "nothing"
        made.append({"id": str(i), "query": "q", "response": f"{i} is a.", "contexts": [context], "size": i})
        made[-1] |= {"lang": "de" if german else "en", "tags": ["x", i]}
    del made[0]["lang"]
    return made


def measured(**options: Any) -> rg.Run:
    """A run over these samples."""
    judge = rg.judge_from(decompose=decompose, entail=entail)
    return rg.evaluate(rows(), "faithfulness,hallucination", judge, **options)


def test_the_measured_system_is_a_slice() -> None:
    """A run is sliced by the column "model", which is read as the system that responded, under both names."""
    data = [{"response": "x", "model": name} for name in ("m1", "m2", "m2")] + [{"response": "x"}]
    run = rg.evaluate(data, "max_words(3)")
    for column in ("model", "system"):
        assert {part.value: part.samples for part in run.by(column)} == {"m1": 1, "m2": 2, "(none)": 1}
    with pytest.raises(UnknownName):
        rg.evaluate([*data[3:], {"response": "x", "lang": "en"}], "max_words(3)").by("model")


def test_slices_have_their_own_estimates_the_worst_first() -> None:
    """Each slice has the estimate of its samples alone; samples without the column are a slice too."""
    found = measured().by("lang")
    assert [(part.value, part.samples) for part in found] == [("en", 30), ("(none)", 1), ("de", 29)]
    assert [part.estimates["faithfulness"].value for part in found] == [0, 1, 1]
    alone = rg.evaluate(rows(1, 30)[1:], "faithfulness", rg.judge_from(decompose=decompose, entail=entail))
    assert found[0].estimates["faithfulness"] == alone.estimates["faithfulness"]


def test_only_a_slice_that_is_worse_beyond_chance_is_marked() -> None:
    """Thirty bad samples of sixty are marked; of one bad sample in thirty nothing can be said."""
    assert [part.worse for part in measured().by("lang")] == [("faithfulness",), (), ()]
    judge = rg.judge_from(decompose=decompose, entail=entail)
    few = rg.evaluate(rows(29, 1), "faithfulness", judge).by("lang")
    assert (few[0].value, few[0].estimates["faithfulness"].value, few[0].worse) == ("en", 0, ())


def test_a_slice_is_compared_with_all_others() -> None:
    """Seven right of 20 against 31 of 40 is worse, with the interval of the difference; six of eight shows nothing."""

    def halves(right: int, samples: int, others: int, other_samples: int) -> rg.Run:
        sides = [("a", right, samples), ("b", others, other_samples)]
        return rg.evaluate(
            [
                {"response": "Ada", "references": ["Ada" if n < right else "Bob"], "side": side}
                for side, right, samples in sides
                for n in range(samples)
            ],
            "exact_match,token_f1",
        )

    worse, better = halves(7, 20, 31, 40).by("side")
    difference, mirrored = (part.differences["exact_match"] for part in (worse, better))
    assert (worse.value, worse.worse, better.worse) == ("a", ("exact_match", "token_f1"), ())
    assert difference.value == pytest.approx(7 / 20 - 31 / 40)
    assert -0.75 < difference.low < difference.value < difference.high < 0
    assert (mirrored.low, mirrored.high) == pytest.approx((-difference.high, -difference.low))
    few = halves(6, 8, 40, 40)
    assert [part.worse for part in few.by("side")] == [(), ()]
    assert "None is shown to be worse than all other samples together (5 % over 2 " in " ".join(str(few).split())


def test_a_slice_of_all_samples_is_compared_with_none() -> None:
    """Where a column has one value, its slice has no difference, and the report says that there are no others."""
    run = rg.evaluate([{"response": "a", "references": ["a"], "side": "only"}] * 3, "exact_match")
    (whole,) = run.by("side")
    assert (whole.samples, whole.worse, whole.differences) == (3, (), {})
    assert "All samples are in this slice, so that there are no others to compare it with." in str(run)


def test_reports_show_the_slices(tmp_path: Path) -> None:
    """Once asked for, slices are in the terminal, in notebooks, in Markdown, on the page and in the document."""
    run = measured(store=tmp_path / "store")
    assert "By lang" not in str(run)
    run.by("lang")
    run.hold_to({})
    again = rg.Run.open(tmp_path / "store")
    for text in (str(again), again._repr_markdown_()):
        assert "By lang" in text
        assert "▼ is shown to be worse than all other samples together (5 % over 6 " in " ".join(text.split())
    document = again.to_dict()
    assert document["run"]["slices"]["lang"][0]["value"] == "en"
    assert document["sections"][0]["columns"] == ["lang", "samples", "faithfulness ↑", "hallucination ↓"]


def test_a_slice_says_on_how_many_samples_a_value_rests() -> None:
    """Where samples of a slice have nothing to count, the number of the others stands beside the value."""
    data = [{"response": response, "contexts": ["a."], "lang": "de"} for response in ("a.", "", "")]
    run = rg.evaluate(data, "faithfulness,hallucination", rg.judge_from(decompose=decompose, entail=entail))
    run.by("lang")
    ((_, samples, faithfulness, hallucination),) = run.sections()[0].rows
    assert samples == 3
    assert str(faithfulness).startswith("1.000 [")
    assert str(faithfulness).endswith("], n 1")
    assert str(hallucination).endswith("]")


def test_the_table_of_slices_follows_the_metrics() -> None:
    """Metrics that were named have a column each and are compared; of the default ones the table has three of six.

    What is wider than the terminal becomes several tables, each with the values of the column.
    """
    data = [{"response": "a", "references": ["a"], "lang": lang, "x": "y"} for lang in ("de", "en") * 8]
    names = "exact_match,token_f1,bleu,chrf,rouge(types=rouge1+rouge2+rougeL)"
    named, default = rg.evaluate(data, names), rg.evaluate(data)
    for run, columns, compared in ((named, 7, 7), (default, 3, 6)):
        run.by("lang")
        (section,) = (section for section in run.sections() if section.title == "By lang")
        assert len(section.columns) == 2 + columns
        assert f"over {compared} comparisons" in section.description
    heads = [line.split() for line in str(named).splitlines() if line.startswith((" lang", "lang"))]
    assert [head[0] for head in heads] == ["lang", "lang"]
    assert len({*heads[0], *heads[1]} - {"lang", "samples", "↑"}) == 7


def test_gates_on_slices(tmp_path: Path) -> None:
    """A gate on a slice is about its samples alone, in Python and in JUnit, with the worst of its samples."""
    run = measured()
    run.hold_to({"faithfulness@lang=de": 0.9, "faithfulness@lang=en": 0.5, "faithfulness@lang=fr": 0.5})
    held, failed, empty = (gate.failure(run.record) for gate in run.record.gates)
    assert held is None
    assert failed == "faithfulness@lang=en is 0.000, below 0.5"
    assert empty == "faithfulness@lang=fr has no value: lang is one of en, (none), de"
    assert run.record.gates[1] == Gate("faithfulness", 0.5, "below", "lang", "en")
    suite = ElementTree.parse(run.save(tmp_path / "r.xml")).getroot()
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    assert cases["faithfulness@lang=de"].find("failure") is None
    text = cases["faithfulness@lang=en"].find("failure").text  # type: ignore[union-attr]
    assert text is not None
    assert [line.split(" “")[0].strip() for line in text.splitlines()[1:]] == ["30", "31", "32", "33", "34"]


def test_what_cannot_be_sliced() -> None:
    """An unknown column, one of too many values, samples without columns, and a gate on an unknown metric."""
    run = measured()
    with pytest.raises(UnknownName, match="unknown metadata column 'lnag'; did you mean 'lang'"):
        run.by("lnag")
    with pytest.raises(UsageError, match="'size' has more than 50 values; slice by one of few"):
        run.by("size")
    with pytest.raises(UnknownName, match="did you mean 'faithfulness'"):
        run.hold_to({"faithfullness@lang=de": 0.5})
    with pytest.raises(BadParameter, match="off the scale"):
        run.hold_to({"faithfulness@lang=de": 5})
    bare = rg.evaluate([{"response": "a", "references": ["a"]}], "exact_match")
    with pytest.raises(UsageError, match="no column 'lang': the samples have no columns beyond the known fields"):
        bare.by("lang")


def test_files_have_the_metadata(tmp_path: Path) -> None:
    """Data frame, CSV and Parquet have a column for each metadata column; lists are JSON, and numbers stay numbers."""
    run = measured()
    assert list(run.to_pandas()["size"]) == list(range(60))
    with run.save(tmp_path / "r.csv").open(encoding="utf-8") as file:
        first, second, *_ = csv.DictReader(file)
    assert (first["lang"], second["lang"], second["size"], second["tags"]) == ("", "de", "1", '["x", 1]')
    table = pyarrow.parquet.read_table(run.save(tmp_path / "r.parquet")).to_pylist()
    assert (table[0]["lang"], table[1]["lang"], table[1]["size"]) == (None, "de", 1)
    assert json.loads(table[1]["tags"]) == ["x", 1]


def test_the_column_of_groups_is_in_the_tables_and_a_slice(tmp_path: Path) -> None:
    """The column that groups samples keeps its name in files, and is sliced and held to gates as any other."""
    run = measured(group="lang")
    with run.save(tmp_path / "r.csv").open(encoding="utf-8") as file:
        table = csv.DictReader(file)
        assert [row["lang"] for row in table] == ["", *["de"] * 29, *["en"] * 30]
        assert list(table.fieldnames or ()).count("lang") == 1
    assert list(run.to_pandas()["lang"])[1:3] == ["de", "de"]
    assert pyarrow.parquet.read_table(run.save(tmp_path / "r.parquet"))["lang"].to_pylist()[:2] == [None, "de"]
    assert [(part.value, part.samples) for part in run.by("lang")] == [("en", 30), ("(none)", 1), ("de", 29)]
    run.hold_to({"faithfulness@lang=en": 0.5})
    failed = ElementTree.parse(run.save(tmp_path / "r.xml")).getroot().find(".//failure")
    assert failed is not None
    assert "  30 “q”: " in str(failed.text)
    with pytest.raises(UnknownName, match="did you mean 'lang'"):
        run.by("lnag")


def test_a_metric_of_ones_own_is_sliced_too() -> None:
    """A custom metric has estimates by slice in the process that measured it."""

    @rg.metric(rg.metrics.response_in_contexts())
    def supported(support: Any) -> rg.metrics.Share:
        """Share of supported claims."""
        return rg.metrics.Share(support.entailed.count(True), len(support.entailed))

    run = rg.evaluate(rows(), [supported], rg.judge_from(decompose=decompose, entail=entail))
    assert {part.value: part.estimates["supported"].value for part in run.by("lang")} == {"en": 0, "(none)": 1, "de": 1}


def test_the_worst_samples_are_those_with_contradictions_first() -> None:
    """`run.worst()` lists equal scores by contradiction, then by certainty, and prints the deciding claim."""
    answers = {"0 is a.": (0.4, "neutral"), "1 is a.": (0.1, "neutral"), "2 is a.": (0.3, "contradicted")}

    def judged(premise: str, hypothesis: str) -> Any:
        probability, label = answers[hypothesis]
        return rg.types.Verdict(rg.Label(label), probability)

    judge = rg.judge_from(decompose=lambda text: [text], entail=judged)
    data = [{"id": str(i), "query": f"q{i}", "response": f"{i} is a.", "contexts": ["c"]} for i in range(3)]
    run = rg.evaluate(data, "faithfulness", judge)
    found = run.worst()
    assert [scores.sample.id for scores in found] == ["2", "1", "0"]
    assert "✗ “2 is a.” is contradicted by context 1, 70% sure" in repr(found)
    assert "○ not supported by contexts: “1 is a.”, 90% sure" in repr(found)
    assert repr(found[0]) == "<2: faithfulness 0.000>"
    with pytest.raises(UnknownName, match="did you mean 'faithfulness'"):
        run.worst(metric="faithfulnes")


def test_answers_that_are_perfect_are_not_shown_as_the_worst() -> None:
    """What has the best value, or wins by preference, is no worst answer in the terminal."""

    @rg.check
    def named(sample: rg.Sample) -> bool:
        return "Ada" in (sample.response or "")

    data = [{"id": name, "query": "Who?", "response": f"{name}.", "other": "x"} for name in ("Ada", "Bob")]
    assert "Bob." in repr(rg.evaluate(data, named).worst())
    assert "Ada." not in repr(rg.evaluate(data, named).worst())
    perfect = rg.evaluate(data[:1], named)
    assert repr(perfect.worst()) == "No answer is less than perfect by named."
    assert (len(perfect.worst()), "Ada." in perfect._repr_markdown_()) == (0, False)
    judge = rg.judge_from(rate=lambda name, response, other, **_: {"Ada.": 1, "Bob.": -1}.get(response, 0))
    preferred = rg.evaluate(data, 'preference("It names somebody",reads=query)', judge)
    assert "Ada." not in repr(preferred.worst())


def test_a_metric_called_like_a_preference_is_none() -> None:
    """A check whose name begins as that of preferences has its failures among the worst."""

    @rg.check
    def preference_kept(sample: rg.Sample) -> bool:
        return False

    assert "Ada." in repr(rg.evaluate([{"response": "Ada."}], preference_kept).worst())


def test_a_notebook_has_a_progress_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """Below the cell of a notebook a bar follows the samples; a single scored sample has none."""
    shown: list[str] = []

    class Bar:
        update = staticmethod(shown.append)

    display = SimpleNamespace(HTML=str, display=lambda _text, display_id: Bar)
    shell = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=True), display=display)
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    judge = rg.judge_from(decompose=decompose, entail=entail)
    rg.evaluate(rows(2, 2), "faithfulness", judge)
    assert shown[-1] == '<progress max="4" value="4"></progress> 4 samples judged'
    del shown[:]
    rg.score(rows(2, 2)[1], "faithfulness", judge)
    assert shown == []
