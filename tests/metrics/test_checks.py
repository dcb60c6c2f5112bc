"""Checks: plain functions of a sample as metrics, those of the package, and what raises."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import ragauge as rg
import ragauge.text.json_schema as schemas
from ragauge.cli.main import main
from ragauge.metrics.registry import parse_metric

ROWS: list[dict[str, Any]] = [
    {"id": "a", "response": "Thank you for asking, we refund.", "latency": 0.5},
    {"id": "b", "response": "No.", "latency": 3},
]


@rg.check
def thanks(sample: rg.Sample, *, word: str = "thank") -> bool:
    """Whether the response thanks."""
    return word in (sample.response or "").lower()


@rg.check(better="lower", scale=(0, 1000))
def characters(sample: rg.Sample) -> tuple[int, str]:
    """The length of the response, with a reason."""
    return len(sample.response or ""), "counted"


def test_a_function_of_a_sample_is_a_metric() -> None:
    """A decorated function gives scores, estimates with intervals, and its reason as the evidence."""
    run = rg.evaluate(ROWS, [thanks, characters, thanks(word="no")])
    assert run.estimates["thanks"].value == 0.5
    assert run.estimates["thanks"].low is not None
    assert run.estimates["thanks(word=no)"].value == 0.5
    assert (run.estimates["characters"].value, run.estimates["characters"].better) == (17.5, "lower")
    (piece,) = run.scores[1]["characters"].evidence
    assert (piece.value, piece.rationale, piece.text) == (3, "counted", "No.")
    assert run.scores[1]["thanks"].evidence[0].label is rg.Label.NO


def test_a_check_that_raises_costs_its_own_scores_only() -> None:
    """An exception fails the score of its sample, with type and message; other samples and metrics have theirs."""

    @rg.check
    def fragile(sample: rg.Sample) -> float:
        return 1 / (len(sample.response or "") - 3)

    run = rg.evaluate(ROWS, [fragile, thanks])
    assert run.scores[1]["fragile"].failed == "fragile() raised ZeroDivisionError: division by zero"
    assert (run.estimates["fragile"].n, run.estimates["fragile"].failed) == (1, 1)
    assert run.estimates["thanks"].n == 2
    assert run.record.status == "finished"


@pytest.mark.parametrize(
    ("result", "failed"),
    [
        ("yes", "it returned 'yes'; return a bool, a number"),
        (None, "it returned None; return a bool, a number"),
        (2.5, "off its scale of 0 to 1; a metric of your own may declare another, as in scale=(0, 1000)"),
        (float("nan"), "off its scale"),
    ],
)
def test_a_check_of_another_type_is_a_failure(result: Any, failed: str) -> None:
    """What is no bool or number on the scale is a failed score that says what was returned."""
    check = rg.check(lambda sample: result)
    assert failed in str(rg.evaluate(ROWS, [check]).scores[0]["<lambda>"].failed)


def test_an_asynchronous_check_is_refused() -> None:
    """A check is called, not awaited, and says so where it is defined."""
    with pytest.raises(rg.errors.BadParameter, match="check waits is asynchronous; write it with def"):

        @rg.check  # type: ignore[arg-type]
        async def waits(sample: rg.Sample) -> bool:
            return True


def test_a_metric_or_need_that_raises_is_a_failure() -> None:
    """The function of any metric, and the flow of any need, may raise without ending the run."""

    @rg.metrics.need(reads=["response"])
    def broken(sample: rg.Sample) -> Any:
        yield from ()
        raise RuntimeError("no luck")

    @rg.metric(broken)
    def of_broken(table: Any) -> float:
        return 1.0

    @rg.metric(rg.metrics.response_in_contexts(units="sentences"))
    def wrong(support: Any) -> float:
        values: dict[str, float] = {}
        return values["x"]

    @rg.metric(rg.metrics.response_in_contexts(units="sentences"))
    def nothing(support: Any) -> Any:
        return None

    rows = [{"response": "Ada sang.", "contexts": ["Ada sang."]}]
    scores = rg.evaluate(rows, [of_broken, wrong, nothing, "faithfulness"]).scores[0]
    assert scores["of_broken"].failed == "broken raised RuntimeError: no luck"
    assert scores["wrong"].failed == "wrong raised KeyError: 'x'"
    assert scores["nothing"].failed == "the metric returned None; return counts, a number or Undefined(reason)"
    assert scores["faithfulness"].value == 1.0


def test_nothing_to_count_in_a_check() -> None:
    """A check may say that there is nothing to count."""

    @rg.check(reads=["query"])
    def asked(sample: rg.Sample) -> bool:
        raise rg.metrics.NothingToCount("no question")

    assert rg.score({"query": "Hm."}, asked)["asked"].undefined == "no question"


def test_two_functions_of_one_name_are_not_confused() -> None:
    """Two checks of one name in one run are refused, also under another key, instead of sharing their results."""

    def made(limit: int) -> rg.metrics.Metric:
        @rg.check
        def long(sample: rg.Sample) -> bool:
            return len(sample.response or "") > limit

        return long

    with pytest.raises(rg.errors.BadParameter, match=r"two different needs are called 'long\(\)'"):
        rg.evaluate(ROWS, [made(1), made(5).renamed("longer")])
    assert rg.evaluate(ROWS, [made(5)]).estimates["long"].value == 0.5


def test_a_plain_function_is_told_to_be_decorated() -> None:
    """A function given as a metric, or decorated without a need, is an error that names @ragauge.check."""
    with pytest.raises(rg.errors.BadParameter, match=r"decorate a function of a sample with @ragauge\.check"):
        rg.evaluate(ROWS, [lambda sample: True])  # type: ignore[list-item]
    with pytest.raises(rg.errors.BadParameter, match=r"decorate a function of a sample with @ragauge\.check"):
        rg.metric()


def test_checks_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packaged checks are named with their parameters in -m, gates use them, and a run is kept and read again."""
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    command = ["run", "rows.jsonl", "-m", 'max_words(3),matches("^(No|Yes), ?|thank"),latency_below(1)', "-o", "o.json"]
    done = CliRunner().invoke(main, [*command, "--fail-under", "max_words=0.6"])
    assert done.exit_code == 3, done.output
    assert "max_words is 0.500, below 0.6" in done.output
    estimates = json.loads(Path("o.json").read_text())["estimates"]
    assert {key: one["value"] for key, one in estimates.items()} == {
        "max_words": 0.5,
        "matches": 0,
        "latency_below": 0.5,
    }
    assert rg.rescore(rg.Run.open(".ragauge")).estimates["max_words"].value == 0.5


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("max_words", r"max_words needs n; write max_words\(n\)"),
        ("max_words(few)", "'few' is not valid; give a whole number of at least 0"),
        ("max_words(3,4)", "was given 2 values; it takes n"),
        ("max_words(3,n=4)", "was given 'n' twice"),
        ('matches("(")', "is no regular expression: missing \\)"),
        ('matches("a', "a quotation mark is not closed"),
        ('contains_any("a)', "a quotation mark is not closed"),
        ("contains_any", "needs texts"),
        ("json_schema(missing.json)", "'missing.json' cannot be read: No such file"),
        ('json_schema("{")', "is no JSON Schema"),
        ('json_schema("{\\"type\\": 3}")', "is no JSON Schema: 3 is not valid"),
        ("latency_below(-1)", "give a number of at least 0"),
        ("language(xx)", "'xx' is no language that can be recognised; give a code such as de, en"),
    ],
)
def test_a_faulty_check_is_refused_before_the_run(spec: str, message: str) -> None:
    """A check with a missing or wrong parameter says what is wrong and how to write it."""
    with pytest.raises((rg.errors.BadParameter, rg.errors.UnknownName), match=message):
        rg.evaluate(ROWS, spec)


def test_a_column_that_is_missing_or_no_number() -> None:
    """A missing column is a usage error that names it; one that is no number fails the sample."""
    for spec, column in (("cost_below(1)", "cost"), ('preference("longer",other=b)', "b")):
        with pytest.raises(rg.errors.MissingField, match=f"has the column '{column}'; add it, or name another"):
            rg.evaluate(ROWS, spec)
    run = rg.evaluate([*ROWS, {"response": "x", "latency": "soon"}], "latency_below(1)")
    assert (run.estimates["latency_below"].n, run.estimates["latency_below"].failed) == (2, 1)
    assert "the column 'latency' holds 'soon'; give a number" in str(run.scores[2]["latency_below"].failed)
    assert rg.evaluate([{"response": "x", "cost": 10**400}], "max_words(3)").record.system.cost is None
    assert rg.evaluate(ROWS, "latency_below(1,column=latency)").estimates["latency_below"].value == 0.5


def test_a_schema_in_a_file_and_the_place_of_the_fault(tmp_path: Path) -> None:
    """A schema is read from a path, and the evidence says where the response departs from it."""
    path = tmp_path / "schema.json"
    path.write_text(json.dumps({"properties": {"n": {"type": "integer"}}}))
    metric = parse_metric(f"json_schema({path})")
    run = rg.evaluate([{"response": '{"n": "x"}'}, {"response": '{"n": 1}'}, {"response": "{"}], [metric])
    assert [scores["json_schema"].value for scores in run.scores] == [0, 1, 0]
    assert run.scores[0]["json_schema"].evidence[0].rationale == "$.n: 'x' is not of type 'integer'"


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "{file}"},
        {"properties": {"n": {"items": {"$ref": "{file}#/properties"}}}},
        {"$id": "{file}", "$ref": "third.json"},
        {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"n": {"$ref": "{file}"}}},
    ],
)
def test_a_schema_opens_no_other_document(tmp_path: Path, schema: dict[str, Any]) -> None:
    """A reference out of the document is an error before anything is measured, even where the file is there."""
    (tmp_path / "other.json").write_text("{}")
    (tmp_path / "schema.json").write_text(json.dumps(schema).replace("{file}", (tmp_path / "other.json").as_uri()))
    with pytest.raises(rg.errors.BadParameter, match="is not in the document; copy it into its"):
        parse_metric(f"json_schema({tmp_path / 'schema.json'})")


def test_a_schema_refers_to_its_own_parts(tmp_path: Path) -> None:
    """References within the document, by pointer, by the id of a part and to a draft's schema, are followed."""
    whole = {"$id": "https://example.com/n", "type": "integer"}
    schema = {"$defs": {"n": whole}, "properties": {"a": {"$ref": "#/$defs/n"}, "b": {"$ref": "https://example.com/n"}}}
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    rows = [{"response": text} for text in ('{"a": 1, "b": 2}', '{"a": "x"}', '{"b": "x"}')]
    run = rg.evaluate(rows, f"json_schema({tmp_path / 'schema.json'})")
    assert [scores["json_schema"].value for scores in run.scores] == [1, 0, 0]
    (tmp_path / "draft.json").write_text('{"$ref": "https://json-schema.org/draft/2020-12/schema"}')
    drafted = rg.evaluate([{"response": '{"type": 3}'}], f"json_schema({tmp_path / 'draft.json'})")
    assert drafted.scores[0]["json_schema"].value == 0


def _schema(**keywords: Any) -> str:
    return f"json_schema({json.dumps(json.dumps(keywords))})"


#: Finding no "P" behind sixty commas takes a backtracking search ages.
#: Small JSON values, some of which Python takes for equal though JSON Schema does not.
VALUES = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 1.0, 2.5, "", "1", "a"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=4,
)

ENDLESS, COMMAS = "(.*?,){20}P", "," * 60


@pytest.mark.parametrize(
    ("spec", "response"),
    [
        ('matches("(.*?,){20}P")', COMMAS),
        (_schema(pattern=ENDLESS), json.dumps(COMMAS)),
        (_schema(patternProperties={ENDLESS: False}), json.dumps({COMMAS: 1})),
    ],
)
def test_a_regular_expression_has_a_limit_of_time(spec: str, response: str) -> None:
    """A pattern that would search for ages fails the score of its sample, and of no other."""
    run = rg.evaluate([{"response": response}, {"response": '"P"'}], spec)
    first, second = (next(iter(scores.values())) for scores in run.scores)
    assert "takes more than 2 s" in (first.failed or "")
    assert second.value is not None


def test_patterns_whose_time_cannot_be_limited() -> None:
    """Patterns that decide which fields are evaluated are refused before the run."""
    with pytest.raises(rg.errors.BadParameter, match="patternProperties beside unevaluatedProperties"):
        parse_metric(_schema(allOf=[{"patternProperties": {ENDLESS: True}}], unevaluatedProperties=False))


def test_a_schema_has_a_limit_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small schema whose parts refer to each other twice, forty levels deep, fails the score and does not hang."""
    monkeypatch.setattr(schemas, "_SCHEMA_SECONDS", 0.2)
    parts = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    run = rg.evaluate([{"response": "1"}], _schema(**{"$ref": "#/$defs/d0", "$defs": {**parts, "d40": {}}}))
    assert "the schema takes more than" in (run.scores[0]["json_schema"].failed or "")


def test_values_that_a_list_holds_twice_are_found_at_once() -> None:
    """Twenty thousand objects are compared without a pair-by-pair search, and one that is there twice is a fault."""
    different = [{"a": number, "b": [number]} for number in range(20_000)]
    responses = [json.dumps(different), json.dumps([*different, {"b": [7], "a": 7}])]
    run = rg.evaluate([{"response": response} for response in responses], _schema(uniqueItems=True))
    assert [scores["json_schema"].value for scores in run.scores] == [1, 0]


@given(st.lists(VALUES, max_size=5))
def test_a_list_is_unique_where_the_library_says_so(values: list[Any]) -> None:
    """Lists of nested values, with numbers and truths that Python takes for equal, are judged as jsonschema does."""
    fault = schemas.schema_fault('{"uniqueItems": true}', values)
    assert (fault is None) == jsonschema.Draft202012Validator({"uniqueItems": True}).is_valid(values)


def test_fields_that_a_pattern_of_a_schema_names(tmp_path: Path) -> None:
    """Fields are held to the pattern that their names match; without one they are additional."""
    schema = {"patternProperties": {"^n": {"type": "integer"}}, "additionalProperties": False}
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    responses = ('{"n1": 1}', '{"n1": "x"}', '{"n1": 1, "m": 1}', "[]")
    rows = [{"response": response} for response in responses]
    run = rg.evaluate(rows, f"json_schema({tmp_path / 'schema.json'})")
    assert [scores["json_schema"].value for scores in run.scores] == [1, 0, 0, 1]


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its library a check says what to install, before the run."""
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(rg.errors.MissingExtra, match=r"pip install 'ragauge\[checks\]'"):
        rg.evaluate(ROWS, 'json_schema("{}")')


@pytest.mark.parametrize(
    ("typo", "suggested"),
    [
        ("fathfulness", "'faithfulness'"),
        ("gruondedness", "'faithfulness'"),
        ("ndgc", "'ndcg'"),
        ("bertscor", "'bertscore'"),
        ("answer_relevancy", "'answer_relevance'"),
        ("xyzzy", "'faithfulness' or 'correctness' or 'context_recall'"),
    ],
)
def test_an_unknown_metric_has_three_suggestions_at_most(typo: str, suggested: str) -> None:
    """A typo, a name of another tool or nonsense is answered by at most three names and how to list all."""
    with pytest.raises(rg.errors.UnknownName) as raised:
        parse_metric(typo)
    message = str(raised.value)
    assert f"did you mean {suggested}" in message
    assert message.endswith("? `ragauge metrics` lists all")
    assert message.count("'") <= 8


def test_a_metric_over_the_data_given_as_an_object() -> None:
    """A metric over the data gives its own aggregate also as an object, as it does by name."""
    from ragauge.metrics.trust import reject_recall

    rows = [{"response": "I don't know.", "answerable": False}, {"response": "It is red.", "answerable": False}]
    rows += [{"response": "Blue.", "answerable": True}]
    for wanted in (reject_recall, "reject_recall"):
        estimate = rg.evaluate(rows, [wanted]).estimates["reject_recall"]
        assert (estimate.value, estimate.over, estimate.undefined) == (0.5, "data", 1)


@pytest.mark.parametrize("text", ["NaN", '{"n": -Infinity}', "[" * 100_000])
def test_what_python_takes_for_json_is_none(text: str) -> None:
    """NaN, Infinity and unreadable depths are no JSON, for json_valid and for json_schema."""
    run = rg.evaluate([{"response": text}], 'json_valid,json_schema("{}")')
    assert {key: score.value for key, score in run.scores[0].items()} == {"json_valid": 0, "json_schema": 0}


@pytest.mark.parametrize("latency", ["nan", "inf", float("inf")])
def test_a_number_that_is_none_fails_the_sample(latency: object) -> None:
    """A latency of NaN or of infinite seconds is no number."""
    run = rg.evaluate([{"response": "x", "latency": 1}, {"response": "x", "latency": latency}], "latency_below(2)")
    assert (run.estimates["latency_below"].n, run.estimates["latency_below"].failed) == (1, 1)
