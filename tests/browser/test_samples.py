from __future__ import annotations

from pathlib import Path

import pytest
from tests.browser.watching import Watched

import ragauge as rg

expect = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed").expect

pytestmark = pytest.mark.slow


def _ids(run: rg.Run, metric: str, low: float, high: float) -> set[str]:
    """The samples whose value of a metric lies between two bounds."""
    values = zip((record.sample.id for record in run.records()), run.values(metric), strict=True)
    return {id for id, value in values if value is not None and low <= value <= high}


def test_samples_are_filtered_by_a_metric(watched: Watched, report: Path, baseline: rg.Run) -> None:
    """A range of values lets just the samples within it pass; several conditions must all hold."""
    page = watched.open(report, view="samples")
    page.get_by_role("button", name="+ metric or verdict").click()
    page.get_by_label("to", exact=True).fill("0.5")
    assert set(watched.shown()) == _ids(baseline, "faithfulness", 0, 0.5)
    page.get_by_role("button", name="+ metric or verdict").click()
    page.get_by_label("Metric").nth(1).select_option("context_recall")
    page.get_by_label("from", exact=True).nth(1).fill("0.9")
    both = _ids(baseline, "faithfulness", 0, 0.5) & _ids(baseline, "context_recall", 0.9, 1)
    assert set(watched.shown()) == both
    page.get_by_label("Remove this condition").first.click()
    assert watched.count() == f"{len(_ids(baseline, 'context_recall', 0.9, 1))} of 36 samples"


def test_samples_are_filtered_by_verdict(watched: Watched, report: Path, baseline: rg.Run) -> None:
    """Samples in which a metric's evidence has a contradicted piece are found by that verdict."""
    page = watched.open(report, view="samples", where="hallucination~~~contradicted")
    contradicted = {
        record.sample.id
        for record, scores in zip(baseline.records(), baseline.scores, strict=True)
        if any(piece.label == "contradicted" for piece in scores["hallucination"].evidence)
    }
    assert contradicted
    assert set(watched.shown()) == contradicted
    values = zip((record.sample.id for record in baseline.records()), baseline.values("hallucination"), strict=True)
    without = {id for id, value in values if value is None}
    page.get_by_label("Verdict").select_option("undefined")
    page.get_by_text(f"{len(without)} of 36 samples").wait_for()
    assert set(watched.shown()) == without


def test_samples_are_found_by_their_text(watched: Watched, report: Path, baseline: rg.Run) -> None:
    """Words are looked for in query, response and id, in any case; all must be there."""
    page = watched.open(report, view="samples")
    texts = {one.sample.id: f"{one.sample.id} {one.sample.query} {one.sample.response}" for one in baseline.records()}
    wanted = {id for id, text in texts.items() if "d640" in text.lower() and "filter" in text.lower()}
    page.locator("#text").fill("FILTER D640")
    page.get_by_text(f"{len(wanted)} of 36 samples").wait_for()
    assert set(watched.shown()) == wanted
    page.locator("#text").fill("q07")
    page.get_by_text("1 of 36 samples").wait_for()
    assert watched.shown() == ["q07"]


def test_samples_are_sorted(watched: Watched, report: Path, baseline: rg.Run) -> None:
    """From the worst or the best by any metric, where lower may be better; samples without a value come last."""
    page = watched.open(report, view="samples", sort="claim_hallucination")
    ids = [record.sample.id for record in baseline.records()]
    values = dict(zip(ids, baseline.values("claim_hallucination"), strict=True))
    first = values[watched.shown()[0]]
    assert first == max(value for value in values.values() if value is not None)
    page.keyboard.press("Tab")
    page.get_by_label("Order").select_option("best")
    assert values[watched.shown()[0]] == 0
    page.locator(".grid").focus()
    page.keyboard.press("End")
    assert values[watched.shown()[-1]] is None
    page.get_by_label("Sort by").select_option("")
    assert watched.shown()[:3] == ["q36", "q35", "q34"]


def test_a_list_is_read_by_keyboard(watched: Watched, report: Path) -> None:
    """Arrows, Page Down, Home and End move through the list, Enter opens, Escape comes back to the same row."""
    page = watched.open(report, view="samples")
    grid = page.locator(".grid")
    grid.focus()
    first = page.locator(".row.active .id").inner_text()
    page.keyboard.press("ArrowDown")
    second = page.locator(".row.active .id").inner_text()
    assert second != first
    page.keyboard.press("End")
    assert page.locator(".row.active").get_attribute("id") == "row-35"
    page.keyboard.press("Home")
    page.keyboard.press("PageDown")
    chosen = page.locator(".row.active .id").inner_text()
    assert chosen not in (first, second)
    assert grid.get_attribute("aria-activedescendant") == page.locator(".row.active").get_attribute("id")
    page.keyboard.press("Enter")
    page.wait_for_selector("html[data-ready=sample]")
    expect(page.locator("h1")).to_have_text(f"Sample {chosen}")
    page.keyboard.press("Escape")
    page.wait_for_selector("html[data-ready=samples]")
    expect(page.locator(".row.active .id")).to_have_text(chosen)
    assert page.evaluate("document.activeElement.className") == "grid"


def test_addresses_lead_back(watched: Watched, report: Path) -> None:
    """What is filtered and sorted stands in the address: a reload, and the way back from a sample, show it again."""
    page = watched.open(report, view="samples")
    page.locator("#text").fill("the")
    page.get_by_label("Pattern").select_option("missed")
    page.get_by_label("Sort by").select_option("rouge.rougeL")
    page.wait_for_timeout(50)
    before, count = watched.shown(), watched.count()
    page.reload()
    watched.ready()
    assert (watched.shown(), watched.count()) == (before, count)
    watched.follow(page.locator(".rows a").first, "sample")
    page.go_back()
    page.wait_for_selector("html[data-ready=samples]")
    assert watched.shown() == before


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run of 5,000 samples in three groups."""
    rows = [
        {"id": f"n{i}", "query": f"what is {i}?", "response": f"{i}", "references": [f"{i % 7}"], "group": f"g{i % 3}"}
        for i in range(5000)
    ]
    return rg.evaluate(rows, "token_f1,exact_match").save(tmp_path_factory.mktemp("long") / "report.html")


def test_a_long_list_draws_what_is_in_sight(long: Path, watched: Watched) -> None:
    """Of thousands of rows some dozens are drawn, wherever the list is scrolled to, and samples of any block open."""
    page = watched.open(long, view="samples", sort="")
    assert page.locator(".rows .row").count() < 60
    page.locator(".grid").focus()
    page.keyboard.press("End")
    page.wait_for_selector("#row-4999")
    assert page.locator(".rows .row").count() < 60
    assert page.locator(".grid").get_attribute("aria-rowcount") == "5001"
    page.keyboard.press("Enter")
    page.wait_for_selector("html[data-ready=sample]")
    expect(page.locator(".query .passage")).to_have_text("what is 4999?")
    page.keyboard.press("ArrowLeft")
    page.get_by_text("what is 4998?").wait_for()
    expect(page.locator("h1")).to_have_text("Sample n4998")


def test_samples_are_filtered_by_group(long: Path, watched: Watched) -> None:
    """Where the data has groups, one of them can be looked at alone."""
    page = watched.open(long, view="samples")
    page.get_by_label("Group").select_option("g1")
    assert watched.count() == "1,667 of 5,000 samples"
    assert all(int(id[1:]) % 3 == 1 for id in watched.shown())


def test_a_printed_list_shows_more_than_the_window(long: Path, watched: Watched) -> None:
    """On paper the list is not cut at the window's edge: its first 200 rows are drawn."""
    page = watched.open(long, view="samples")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator(".rows .row")).to_have_count(200)
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator(".rows .row").count() < 200
