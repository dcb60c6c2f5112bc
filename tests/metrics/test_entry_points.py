"""Metrics of other packages: found by entry points, written with public names alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import ragauge as rg
from ragauge.cli import main
from ragauge.errors import BadParameter, UnknownName
from ragauge.metrics.registry import parse_metric

#: A package with a need and metrics of its own; it imports nothing but `ragauge`.
MODULE = '''
from __future__ import annotations

from dataclasses import dataclass

import ragauge as rg


@dataclass(frozen=True)
class Echo:
    """Whether the response follows from the query alone."""

    judgment: rg.questions.Judgment | None

    @property
    def echoed(self) -> bool:
        return self.judgment is not None and self.judgment.answer.entailed

    @property
    def evidence(self) -> tuple[rg.scores.Evidence, ...]:
        if self.judgment is None:
            return ()
        question, answer = self.judgment.question, self.judgment.answer
        return (rg.scores.Evidence(question.hypothesis, "response", against="query", label=answer.label),)


@rg.metrics.need(reads=["query", "response"], asks=["entail:support"])
def response_in_query(sample: rg.Sample) -> rg.metrics.QuestionFlow[Echo]:
    if not sample.response:
        raise rg.metrics.NothingToCount("the response is empty")
    (judgment,) = yield [rg.questions.Entail((sample.query,), sample.response)]
    return Echo(judgment)


@rg.metric(response_in_query, better="lower")
def echo(echoed: Echo) -> rg.metrics.Share:
    """Whether the response only repeats the query."""
    return rg.metrics.Share(echoed.echoed, 1)


@rg.metric(rg.metrics.response_in_contexts)
def support_count(support: rg.metrics.Support, *, at_least: int = 1) -> rg.metrics.Share | rg.metrics.Undefined:
    """Whether enough claims are supported."""
    if not support.verdicts:
        return rg.metrics.Undefined("the response makes no claim")
    return rg.metrics.Share(sum(support.entailed) >= at_least, 1)


@rg.metric(response_in_query, over="data")
def echo_f1(echoed: Echo) -> rg.metrics.F1Counts:
    """F1 of echoing, over the data set."""
    return rg.metrics.F1Counts(echoed.echoed, 0, not echoed.echoed)


def plain(sample):
    return 1.0
'''

Install = Callable[..., Path]


@pytest.fixture
def install(install_package: Callable[..., Path]) -> Install:
    """Installs a package that offers metrics."""

    def installed(entries: str, name: str = "echo_metrics") -> Path:
        return install_package(name, f"[ragauge.metrics]\n{entries}\n", MODULE)

    return installed


SAMPLE = {"id": "1", "query": "Ada sang.", "response": "Ada sang.", "contexts": ["Ada sang."]}
JUDGE = rg.judge_from(
    decompose=lambda text, query: [text],
    entail=lambda premise, hypothesis: hypothesis in premise,
    name="substring",
)


def test_a_metric_of_another_package_is_found_by_name(install: Install) -> None:
    """A metric that an installed package offers is scored like ours, with its evidence and its parameters."""
    install("echo = echo_metrics:echo\nenough = echo_metrics:support_count")
    scores = rg.score(SAMPLE, "echo, enough(at_least=2), faithfulness", judge=JUDGE)
    assert {name: score.value for name, score in scores.items()} == {"echo": 1.0, "enough": 0.0, "faithfulness": 1.0}
    assert scores["echo"].evidence[0].against == "query"
    assert parse_metric("enough(at_least=2)").spec == "enough(at_least=2)"


def test_a_metric_of_another_package_may_be_over_the_data(install: Install) -> None:
    """A metric declared over the data set makes one value of the counts of all samples."""
    install("echo_f1 = echo_metrics:echo_f1")
    run = rg.evaluate([SAMPLE, {**SAMPLE, "id": "2", "response": "Bob ran."}], "echo_f1", judge=JUDGE)
    assert run.estimates["echo_f1"].value == pytest.approx(2 / 3)
    assert run.estimates["echo_f1"].over == "data"


def test_our_names_cannot_be_taken(install: Install) -> None:
    """An entry point with the name of one of our metrics changes nothing, and `ragauge metrics` says so."""
    install("faithfulness = echo_metrics:echo")
    shown = CliRunner().invoke(main, ["metrics"]).stdout
    assert "'echo_metrics', is not used, as ragauge has one of that name; rename it" in shown
    assert parse_metric("faithfulness").summary == "Share of the response's claims that the contexts entail."


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("odd = echo_metrics:plain", "'echo_metrics:plain' of the package 'echo_metrics', is not a metric; decorate"),
        ("odd = echo_metrics:gone", "'odd' cannot be loaded from .* AttributeError: .*; fix or uninstall it"),
        ("odd = no_such_module:gone", "'odd' cannot be loaded from .* ModuleNotFoundError: .*; fix or uninstall it"),
    ],
)
def test_what_cannot_be_loaded_is_named(install: Install, entry: str, message: str) -> None:
    """An entry point that is no metric, or does not load, is an error that names the package and the fix."""
    install(entry)
    with pytest.raises(BadParameter, match=message):
        parse_metric("odd")


def test_two_packages_that_offer_one_name_are_named(install: Install) -> None:
    """A name that two packages offer is an error, never a choice by chance."""
    install("echo = echo_metrics:echo")
    install("echo = other_metrics:echo", name="other_metrics")
    with pytest.raises(BadParameter, match=r"offered by .*'echo_metrics' and .*'other_metrics'; uninstall all but one"):
        parse_metric("echo")


def test_installed_names_are_suggested(install: Install) -> None:
    """A misspelled name is answered with the names that installed packages offer, too."""
    install("echo_metric = echo_metrics:echo")
    with pytest.raises(UnknownName, match="did you mean 'echo_metric'"):
        parse_metric("echo_metrik")


def test_the_command_lists_metrics_of_installed_packages(install: Install) -> None:
    """`ragauge metrics` lists them after ours, and names those that cannot be loaded."""
    install("echo = echo_metrics:echo\nodd = echo_metrics:gone")
    shown = CliRunner().invoke(main, ["metrics"]).stdout
    assert re.search(r"\n echo +↓ +query, ", shown)
    assert "metric 'odd' cannot be loaded" in shown
