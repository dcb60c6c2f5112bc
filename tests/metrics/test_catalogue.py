"""The grammar in which metrics are named."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragauge as rg
from ragauge.errors import BadParameter, UnknownName, UsageError
from ragauge.metrics.base import Metric
from ragauge.metrics.checks import rouge
from ragauge.metrics.registry import (
    ALIASES,
    CATALOGUE,
    METRICS,
    metric_named,
    parse_metric,
    select_metrics,
    split_specs,
    value_of,
)


def test_every_name_is_its_own_spec() -> None:
    """Each name of the catalogue, aliases too, reads as the metric that is written and keyed by that name."""
    for name in [*(one.name for one in METRICS), *ALIASES]:
        assert (parse_metric(name).spec, parse_metric(name).key) == (name, name)


def test_names_are_unique() -> None:
    """No two metrics of the catalogue share a name, and no alias hides one."""
    names = [*(one.name for one in METRICS), *ALIASES]
    assert len(set(names)) == len(names)


def test_an_alias_is_the_same_metric() -> None:
    """An alias counts as its metric does, and differs only in name."""
    assert metric_named("chunk_precision").function is metric_named("context_relevance").function


def test_every_parameter_is_described() -> None:
    """Each parameter of each metric has a line that says what it is for."""
    described = [text for metric in CATALOGUE for text in metric.described.values()]
    assert len(described) > 50
    assert all(described)
    assert "(any, in_order, exact)" in metric_named("tool_calls").described["order"]


def test_a_metric_says_that_it_is_measured_by_default() -> None:
    """The places of the metrics measured by default are those from 1, each once."""
    assert [metric.default for metric in METRICS] == list(range(1, len(METRICS) + 1))


@pytest.mark.parametrize(
    ("spec", "canonical"),
    [
        ("rouge(types=rouge1+rougeL,stemmer=true)", "rouge(types=rouge1+rougeL,stemmer=true)"),
        (" rouge ( stemmer = true , types = rouge2 ) ", "rouge(stemmer=true,types=rouge2)"),
        ("rouge()", "rouge"),
        ("rouge(stemmer=false)", "rouge"),
        ("rouge(stemmer=1)", "rouge(stemmer=true)"),
        ("bleu(weights=0.5+0.5)", "bleu(weights=0.5+0.5)"),
        ("chrf(beta=1)", "chrf(beta=1.0)"),
        ("claim_f1(counting=common)", "claim_f1(counting=common)"),
        ("claim_recall@contexts", "claim_recall@contexts"),
        ("pooled(faithfulness(units=sentences))", "pooled(faithfulness(units=sentences))"),
        ("pooled( chunk_precision )", "pooled(chunk_precision)"),
        ("composite", "composite(faithfulness=0.4,chunk_precision=0.3,relevance_rubric.overall=0.3)"),
        ("composite()", "composite(faithfulness=0.4,chunk_precision=0.3,relevance_rubric.overall=0.3)"),
        ("composite(faithfulness=0.4,rouge.rougeL=0.6)", "composite(faithfulness=0.4,rouge.rougeL=0.6)"),
        (
            "composite(chrf(beta=1.5)=1,rouge( stemmer=true ).rouge1=1e2)",
            "composite(chrf(beta=1.5)=1.0,rouge(stemmer=true).rouge1=100.0)",
        ),
    ],
)
def test_a_spec_is_read_and_written(spec: str, canonical: str) -> None:
    """A spec is read with free spacing and written back in one form, which reads as itself."""
    assert parse_metric(spec).spec == canonical
    assert parse_metric(canonical).spec == canonical


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("faithfulnes", UnknownName, "unknown metric 'faithfulnes'; did you mean 'faithfulness'"),
        ("chunk_precison", UnknownName, "chunk_precision"),
        ("composit", UnknownName, "composite"),
        ("rouge(typs=rouge1)", UnknownName, "unknown parameter of rouge 'typs'; did you mean 'types'"),
        ("rouge(types)", BadParameter, r"'types' is not valid; choose from rouge1, "),
        ("composite(rouge)", BadParameter, r"'rouge' is not of the form parameter=value"),
        ("rouge(types=rouge1,types=rouge2)", BadParameter, "gives 'types' twice"),
        ("composite(faithfulness=1,faithfulness=2)", BadParameter, "gives 'faithfulness' twice"),
        ("composite(faithfulness=much)", BadParameter, "'much' is not a number"),
        ("composite(faithfulness)", BadParameter, "parameter=value"),
        ("composite(rouge=1)", UnknownName, "unknown value of rouge"),
        ("rouge(", BadParameter, "cannot read"),
        ("rouge)", BadParameter, "cannot read"),
        ("rouge(types=rouge1))", BadParameter, "choose from"),
        ("(rouge)", BadParameter, "cannot read"),
        ("rouge bleu", BadParameter, "cannot read"),
        ("pooled()", BadParameter, "cannot read"),
        ("pooled", BadParameter, "cannot read"),
        ("", BadParameter, "cannot read"),
    ],
)
def test_what_cannot_be_read_is_refused(spec: str, error: type[UsageError], message: str) -> None:
    """A spec that is misspelt or misformed is refused with its fault and a close name or the right form."""
    with pytest.raises(error, match=message):
        parse_metric(spec)


def test_specs_are_split_at_commas_outside_brackets() -> None:
    """One text may list several metrics; commas inside brackets belong to the metric."""
    assert split_specs(" a, b(c=1,d=2) ,,e(f(g,h)) ") == ["a", "b(c=1,d=2)", "e(f(g,h))"]
    assert [one.spec for one in select_metrics("bleu, rouge(types=rouge1,stemmer=true)")] == [
        "bleu",
        "rouge(types=rouge1,stemmer=true)",
    ]


def test_metrics_are_chosen_in_any_form_and_once() -> None:
    """Text, lists of text and metrics themselves may be mixed; what is asked for twice is measured once."""
    got = select_metrics(["bleu, faithfulness", rouge, "rouge", "bleu"])
    assert [one.key for one in got] == ["bleu", "faithfulness", "rouge"]
    assert [one.key for one in select_metrics(rouge(stemmer=True))] == ["rouge"]


def test_variants_in_one_run_are_keyed_by_their_spec() -> None:
    """Two variants of a metric are distinguished by their specs; the one without parameters keeps the plain name."""
    plain, stemmed = select_metrics("rouge, rouge(stemmer=true,types=rouge1)")
    assert (plain.key, stemmed.key) == ("rouge", "rouge(stemmer=true,types=rouge1)")
    assert stemmed.values == ("rouge(stemmer=true,types=rouge1).rouge1",)
    one, other = select_metrics(["composite(bleu=1,chrf=1)", "composite(bleu=1,chrf=2)"])
    assert one.key == "composite(bleu=1.0,chrf=1.0)"
    assert other.key == "composite(bleu=1.0,chrf=2.0)"


def test_what_is_no_metric_is_refused() -> None:
    """An empty choice and a thing that is no metric are refused as such."""
    with pytest.raises(BadParameter, match="no metric was requested"):
        select_metrics(" , ")
    with pytest.raises(BadParameter, match="5 is not a metric"):
        select_metrics(["bleu", 5])  # type: ignore[list-item]


@pytest.mark.parametrize("name", ["faithfulness", "em", "pooled"])
def test_names_of_the_package_are_refused_for_other_metrics(name: str) -> None:
    """A metric of one's own cannot go by a name that the package defines, by its own name or by a later one."""

    @rg.check(name=name)
    def mine(sample: rg.Sample) -> bool:
        return True

    for metric in (mine, rouge.renamed(name)):
        with pytest.raises(BadParameter, match=f"ragauge has a metric called '{name}'; give yours another name"):
            select_metrics(metric)


def test_every_metric_says_what_its_value_is_a_share_of() -> None:
    """Each metric has a caption of a few words, and so have the forms that combine metrics."""
    captions = {one.name: one.caption for one in (*CATALOGUE, parse_metric("composite"), parse_metric("pooled(bias)"))}
    assert [name for name, caption in captions.items() if not 2 <= len(caption.split()) <= 6] == []


@pytest.mark.parametrize(
    ("spec", "caption"),
    [
        ("faithfulness", "claims contexts support"),
        ("faithfulness(against=calls)", "claims calls support"),
        ("faithfulness(against=source,units=sentences)", "sentences the source supports"),
        ("pooled(faithfulness(memory=all))", "claims the conversation supports"),
        ("claim_recall(of=source)", "source claims in it"),
    ],
)
def test_captions_follow_the_parameters(spec: str, caption: str) -> None:
    """A metric that is asked about other texts says so in its caption."""
    assert parse_metric(spec).caption == caption


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "types": st.lists(st.sampled_from(["rouge1", "rouge2", "rougeL"]), min_size=1, unique=True).map(tuple),
    "stemmer": st.booleans(),
    "tokenizer": st.sampled_from(["unicode"]),
    "weights": st.lists(st.floats(0, 1), min_size=1, max_size=4).filter(any).map(tuple),
    "smoothing": st.sampled_from(["none", "method1"]),
    "order": st.integers(1, 10**6),
    "beta": st.floats(1e-300, 100),
    "words": st.integers(0, 5),
    "units": st.sampled_from(["claims", "sentences"]),
    "counting": st.sampled_from(["own", "common"]),
    "measure": st.sampled_from(["fmeasure", "precision", "recall"]),
    "memory": st.sampled_from(["turn", "all"]),
    "against": st.sampled_from(["references", "response"]),
    "of": st.sampled_from(["references", "source"]),
    "variant": st.sampled_from(["default", "valor"]),
}


@given(st.data())
def test_what_is_written_reads_as_the_same_metric(data: st.DataObject) -> None:
    """Any metric with any parameters in range writes a spec that reads as a metric with the same parameters."""
    one = data.draw(st.sampled_from(METRICS))
    names = data.draw(st.lists(st.sampled_from(sorted(one.defaults)), unique=True)) if one.defaults else []
    other = {"against": st.sampled_from(["contexts", "source", "calls"])} if one.name == "faithfulness" else {}
    bound = one(**{name: data.draw((VALUES | other)[name], label=name) for name in names})
    again = parse_metric(bound.spec)
    assert isinstance(again, Metric)
    assert {**one.defaults, **again.params} == {**one.defaults, **bound.params}
    assert again.spec == bound.spec
    assert again.values == bound.values


@given(
    st.dictionaries(
        st.sampled_from(["faithfulness", "rouge.rougeL", "chrf(beta=1.5)", "rouge(stemmer=true).rouge1"]),
        st.floats(min_value=0, max_value=1e300, exclude_min=True),
        min_size=1,
    )
)
def test_a_composite_reads_as_it_is_written(weights: dict[str, float]) -> None:
    """A composite of any parts and weights writes a spec that reads as the same weighted mean."""
    spec = f"composite({','.join(f'{value}={weight!r}' for value, weight in weights.items())})"
    assert parse_metric(parse_metric(spec).spec) == parse_metric(spec)


@given(st.text(alphabet="abrougelpd_@(),=+. \n1", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Whatever is written where metrics are named is either read or refused as a caller's mistake."""
    try:
        assert select_metrics(text)
    except UsageError as refused:
        assert str(refused)  # noqa: PT017


@pytest.mark.parametrize(
    ("name", "spec", "key"),
    [
        ("faithfulness", "faithfulness", "faithfulness"),
        ("rouge.rougeL", "rouge", "rouge.rougeL"),
        ("rouge(types=rougeL).rougeL", "rouge(types=rougeL)", "rouge(types=rougeL).rougeL"),
        ("bleu(tokenizer=whitespace)", "bleu(tokenizer=whitespace)", "bleu(tokenizer=whitespace)"),
        ("chunk_precision", "chunk_precision", "chunk_precision"),
    ],
)
def test_one_value_by_its_name(name: str, spec: str, key: str) -> None:
    """A value is found by its metric's spec and its part, under a key of its own among variants."""
    metric, found = value_of(name)
    assert (metric.spec, found) == (spec, key)
    assert key in metric.values


@pytest.mark.parametrize(
    ("name", "error", "reported"),
    [
        ("rouge", UnknownName, "unknown value of rouge 'rouge'; known: rouge.rouge1"),
        ("rouge.rougeX", UnknownName, "did you mean"),
        ("faithfulnes", UnknownName, "did you mean 'faithfulness'"),
        ("macro_f1", BadParameter, "macro_f1 is a metric over the data set"),
    ],
)
def test_no_one_value(name: str, error: type[Exception], reported: str) -> None:
    """A metric of several values, one over the data set, and a wrong name are no name of one value."""
    with pytest.raises(error, match=reported):
        value_of(name)
