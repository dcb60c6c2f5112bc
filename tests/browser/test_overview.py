from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.browser.watching import Watched

import ragauge as rg
from ragauge.report import sections
from ragauge.report.document import CUTS, PATTERNS, patterns_of, signs_of
from ragauge.report.explain import headline_metrics, worst
from ragauge.report.wording import interval, number

expect = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed").expect

pytestmark = pytest.mark.slow


def test_estimates_are_those_of_the_run(watched: Watched, report: Path, baseline: rg.Run) -> None:
    """Each metric has a row with its value, interval, n, undefined and failed as the run has them, and a chart."""
    page = watched.open(report)
    page.locator(".estimates summary").click()
    rows = page.locator(".estimates tbody tr")
    assert rows.count() == len(baseline.estimates)
    headline = headline_metrics(baseline.record)
    for i, key in enumerate(sorted(baseline.estimates, key=lambda key: key not in headline)):
        estimate = baseline.estimates[key]
        cells = [cell.strip() for cell in rows.nth(i).locator("th, td").all_inner_texts()]
        counts = [str(estimate.n), *(str(each or "") for each in (estimate.undefined, estimate.failed))]
        assert [cells[0].split()[0], cells[1], cells[2], *cells[4:]] == [
            key,
            number(estimate.value),
            interval(estimate),
            *counts,
        ]
    expect(page.locator(".histogram")).to_have_count(len(baseline.estimates))


def test_a_distribution_counts_every_value(watched: Watched, report: Path, baseline: rg.Run) -> None:
    """The bars of a histogram hold as many samples as have a value, and each leads to its samples."""
    page = watched.open(report)
    page.locator("summary", has_text="more metric").click()
    bars = page.locator(".estimates tr", has_text="context_relevance").locator(".histogram .bar")
    titles = [title.split()[0] for title in bars.locator("title").all_text_contents()]
    assert sum(map(int, titles)) == baseline.estimates["context_relevance"].n
    watched.follow(bars.nth(1), "samples")
    assert watched.count() == f"{titles[1]} of 36 samples"


def test_what_is_known_of_the_run_is_reported(watched: Watched, report: Path, baseline: rg.Run) -> None:
    """Judge, cost, time, data, versions, what was left out, and how far to trust the embedded judge are on the page."""
    page = watched.open(report)
    facts = page.locator(".facts").inner_text()
    for fact in (
        baseline.id,
        baseline.record.data_hash,
        "embedded (rules",
        "no model was called",
        f"ragauge {rg.__version__}",
        "ragauge.run/1",
    ):
        assert fact in facts
    assert "Not measured: bias: embedded does not answer classify:biased" in page.locator("main").inner_text()
    assert (
        "agreed with people on" in page.get_by_role("heading", name="How far to trust this").locator("..").inner_text()
    )


def test_patterns_are_those_of_the_document(watched: Watched, report: Path, baseline: rg.Run) -> None:
    """At the usual cuts the page finds each pattern in as many samples as Python does, and lists these."""
    found: dict[str, list[str]] = {pattern.name: [] for pattern in PATTERNS}
    for record in baseline.records():
        for name in patterns_of(record, signs_of(record)):
            found[name].append(record.sample.id)
    page = watched.open(report, view="samples")
    assert sum(map(bool, found.values())) > 5
    for name, ids in found.items():
        page.select_option("[aria-label=Pattern]", name)
        assert watched.count() == f"{len(ids)} of 36 samples"
        assert sorted(watched.shown()) == ids


def test_thresholds_can_be_changed(watched: Watched, report: Path) -> None:
    """A pattern says its thresholds; with another one it finds other samples, here and in the list."""
    page = watched.open(report)
    pattern = page.locator(".patterns > li", has_text="Retrieval missed it")
    assert f"context_recall below {CUTS['context_recall']}" in pattern.inner_text()
    before = pattern.locator(".pattern").inner_text()
    page.locator(".thresholds summary").click()
    page.get_by_role("spinbutton", name="context_recall").fill("0.9")
    assert pattern.locator(".pattern").inner_text() != before
    assert "context_recall below 0.9" in pattern.inner_text()
    count = pattern.locator(".pattern").inner_text().split()[-2]
    watched.follow(pattern.locator(".pattern"), "samples")
    assert watched.count() == f"{count} of 36 samples"


def test_the_worst_answer_and_its_contradicted_claim_are_one_click_away(watched: Watched, report: Path) -> None:
    """The first of the worst answers opens on its contradicted claim, with the passage that contradicts it in sight."""
    page = watched.open(report)
    watched.follow(page.locator(".examples a").first, "sample")
    opened = page.locator(".piece[aria-expanded=true]")
    assert "contradicted" in opened.inner_text()
    assert "in a water bath at 160 °C" in opened.inner_text()
    passage = page.locator(".given mark.bad-ring").first
    assert "in a water bath at 140 °C" in passage.inner_text()
    page.wait_for_timeout(50)
    box = passage.bounding_box()
    assert box is not None
    assert 0 <= box["y"] < 900


@pytest.mark.parametrize("name", ["failed", "undefined"])
def test_missing_scores_lead_to_their_samples(name: str, watched: Watched, tmp_path: Path) -> None:
    """The numbers of undefined and failed samples lead to just these."""

    def entail(premise: str, hypothesis: str) -> str:
        if "b" in hypothesis:
            raise ValueError("no line")
        return "entailed"

    rows = [{"id": text or "none", "query": "q", "response": text, "contexts": ["a"]} for text in ("a", "b", "")]
    judge = rg.judge_from(decompose=lambda text: [text] if text else [], entail=entail)
    page = watched.open(rg.evaluate(rows, "faithfulness", judge).save(tmp_path / "report.html"))
    row = page.locator(".estimates tbody tr")
    watched.follow(row.locator("td a").nth(["undefined", "failed"].index(name) - 2), "samples")
    assert watched.shown() == ["b" if name == "failed" else "none"]


def test_a_registered_section_is_on_the_page(
    watched: Watched, baseline: rg.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function registered with report_section has its title, description and table on the page, as text."""
    title = "<b>Lengths</b>"
    monkeypatch.setattr(sections, "SECTIONS", {})

    @rg.report.report_section(title)
    def lengths(run: rg.Run) -> list[dict[str, object]]:
        """Characters of each response."""
        return [{"2": one.sample.id, "1": len(one.sample.response or "")} for one in run.records()]

    page = watched.open(baseline.save(tmp_path / "report.html"))
    section = page.locator("section.added").last
    assert section.locator("h2").inner_text() == title
    assert section.locator("p").inner_text() == "Characters of each response."
    assert section.locator("thead th").all_inner_texts() == ["2", "1"]
    assert section.locator("tbody tr").count() == 36
    assert section.locator("tbody td.figure").count() == 36


def test_the_worst_answers_show_their_response_and_claim(watched: Watched, report: Path) -> None:
    """Each of the worst answers has its response, the claim that decides and a source against it; metrics are said."""
    page = watched.open(report)
    first = page.locator("ol.examples > li").first
    verdict = first.locator(".badge").inner_text()
    assert first.locator(".answer").count() == {"✗ contradicted": 3, "○ not supported": 2}[verdict]
    assert "claims contexts contradict" in page.locator(".estimates").inner_text()


def test_ties_are_in_the_order_of_the_terminal(watched: Watched, report: Path, baseline: rg.Run) -> None:
    """Equal scores: contradicted ones first, then those of which the judge was surest, as `run.worst()` has them."""
    page = watched.open(report)
    shown = [item.get_attribute("href") or "" for item in page.locator("ol.examples > li > a").all()]
    expected = worst(baseline.records(), "faithfulness", baseline.estimates["faithfulness"], len(shown))
    assert [re.findall(r"sample=([^&]+)", href)[0] for href in shown] == [one.sample.id for one in expected]


def test_a_comparison_is_a_page(watched: Watched, baseline: rg.Run, candidate: rg.Run, tmp_path: Path) -> None:
    """The page of a comparison shows every compared metric and what changed, without links that lead nowhere."""
    written = rg.compare(baseline, candidate, "faithfulness,bleu").save(tmp_path / "compared.html")
    page = watched.open(written)
    expect(page.locator("tr[data-metric]")).to_have_count(2)
    expect(page.locator("main a[href]")).to_have_count(0)
    shown = page.locator("main").inner_text()
    assert "Largest changes" in shown
    assert "Not known: no difference is larger than chance would make it." in shown
    assert "`" not in shown
