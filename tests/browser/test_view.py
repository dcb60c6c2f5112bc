from __future__ import annotations

import re
import webbrowser
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path

import msgspec
import pytest
from tests.browser.watching import Watched
from tests.serving import serving

import ragauge as rg
from ragauge.cli.runs import opened_in_browser
from ragauge.scores import SystemFacts
from ragauge.store import Store
from ragauge.types import Grade
from ragauge.view import Server

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: pip install -e '.[dev]'")
expect = sync_api.expect


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with runs over the demo's two systems."""
    folder = tmp_path_factory.mktemp("kept")
    for name in ("baseline", "candidate"):
        with as_file(files("ragauge.demo") / f"{name}.jsonl") as path:
            metrics = "faithfulness,hallucination,answer_relevance,context_precision,bleu"
            rg.evaluate(path, metrics, "lexical", store=folder, name=name).store.close()
    return folder


@pytest.fixture
def store(kept: Path, tmp_path: Path) -> Iterator[Store]:
    """A copy of that store."""
    copy = tmp_path / "store.db"
    copy.write_bytes((kept / "store.db").read_bytes())
    with Store.open(copy) as opened:
        yield opened


@pytest.fixture
def served(store: Store) -> Iterator[str]:
    """The address of a server over that store."""
    with serving(Server(store, "ann")) as server:
        yield server.address


def _run(store: Store, name: str = "baseline") -> str:
    return store.run(name).id


def test_runs_are_listed_and_opened(watched: Watched, served: str, store: Store) -> None:
    """The list has every run, the newest first; a run opens with its overview and samples, and leads back."""
    page = watched.open(served)
    expect(page.locator("h1")).to_have_text("2 runs")
    expect(page.locator(".runs tbody th a")).to_have_text(["candidate", "baseline"])
    watched.follow(page.get_by_role("link", name="baseline"), "overview")
    expect(page.locator("h1")).to_have_text("baseline")
    assert page.title() == "baseline – ragauge"
    watched.follow(page.locator(".examples a").first, "sample")
    assert page.locator(".piece").count() > 0
    assert f"run={_run(store)}" in page.url
    page.reload()
    watched.ready()
    assert page.locator("h1").inner_text().startswith("Sample ")
    watched.follow(page.get_by_role("link", name="Runs"), "runs")


def test_runs_of_one_name_are_drawn_over_time(watched: Watched, served: str, store: Store) -> None:
    """Runs of the newest one's name are points from the oldest on, which lead to them; an archived run is nowhere."""
    first = _run(store, "candidate")
    rg.rescore(rg.Run.open(store, "candidate"))
    record = store.run("candidate")
    record.tags, record.system = ("release",), SystemFacts(("gpt-x",), 0.5, 0.01)
    store.finish(record)
    page = watched.open(served)
    said = page.locator(".trend title").last.text_content() or ""
    assert said.splitlines()[3:7] == [
        "gpt-x",
        "latency 0.500 s",
        "cost $0.010 a sample",
        f"judge lexical: {record.seconds:.3f} s",
    ]
    expect(page.locator(".trend .dot")).to_have_count(2)
    expect(page.locator("svg.trend")).to_have_attribute("aria-label", re.compile("^faithfulness over 2 runs, from 0"))
    expect(page.locator("figcaption")).to_have_text("faithfulness of candidate")
    expect(page.locator(".runs tbody th").first).to_contain_text("release")
    page.locator(".trend .dot").first.click()
    watched.ready()
    assert f"run={first}" in page.url
    record.archived = True
    store.finish(record)
    page = watched.open(served)
    expect(page.locator("h1")).to_have_text("2 runs")
    expect(page.locator(".trend")).to_have_count(0)


#: The elements that end beyond the right edge, of those that are seen.
OFF_SCREEN = """() => [...document.querySelectorAll("body *")]
  .filter((one) => one.checkVisibility() && one.getBoundingClientRect().width && !one.closest(".grid, .skip"))
  .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
  .map((one) => `${one.tagName} ${one.textContent.slice(0, 30)}`)"""


@pytest.mark.parametrize(
    ("route", "seen"),
    [
        ({}, ["Theme: auto", "estimate", "95 % interval"]),
        ({"run": "baseline"}, ["Theme: auto", "value", "95 % interval"]),
        ({"run": "baseline", "view": "samples"}, ["Theme: auto"]),
        ({"run": "baseline", "sample": "q33"}, ["Theme: auto"]),
        ({"run": "baseline", "view": "label"}, ["Theme: auto"]),
        ({"a": "baseline", "b": "candidate"}, ["B − A", "95 % interval", "B is"]),
        ({"a": "baseline", "b": "candidate", "sample": "q33", "metric": "faithfulness"}, ["Theme: auto"]),
    ],
)
def test_a_phone_shows_everything(watched: Watched, served: str, route: dict[str, str], seen: list[str]) -> None:
    """At 390 pixels nothing is beyond the edge: not the theme button, an estimate, an interval or a verdict."""
    watched.page.set_viewport_size({"width": 390, "height": 844})
    page = watched.open(served, **route)
    assert page.evaluate(OFF_SCREEN) == []
    for words in seen:
        expect(page.get_by_text(words, exact=True).locator("visible=true").first).to_be_visible()


@pytest.mark.parametrize(("route", "label"), [({}, "Runs"), ({"run": "baseline", "view": "samples"}, "Samples")])
def test_two_keys_lead_to_a_list(watched: Watched, served: str, route: dict[str, str], label: str) -> None:
    """Tab and Enter on the first link focus the list, and the address stays."""
    page = watched.open(served, **route)
    address = page.url
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.getAttribute('aria-label')") == label
    assert page.url == address


def test_the_browser_is_led_to_the_page(watched: Watched, served: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file that the browser is started with leads on to the page."""
    asked: list[str] = []
    monkeypatch.setattr(webbrowser, "open", asked.append)
    with opened_in_browser(served):
        watched.page.goto(asked[0])
        watched.page.wait_for_selector("html[data-ready=runs]")
    assert watched.page.url == served


@pytest.mark.slow
def test_a_served_page_asks_only_its_server(watched: Watched, served: str, store: Store) -> None:
    """Whatever is looked at, nothing but the server's own address is asked for."""
    for route in ({}, {"run": _run(store)}, {"run": _run(store), "view": "label"}, {"a": "baseline", "b": "candidate"}):
        watched.open(served, **route)
    assert all(address.startswith((served, "about:blank", "data:,")) for address in watched.asked)


@pytest.mark.slow
def test_two_runs_are_compared(watched: Watched, served: str, store: Store) -> None:
    """Two runs of the list are compared; a sample that changed is shown in both, side by side."""
    page = watched.open(served, run=_run(store), view="samples")
    watched.follow(page.get_by_role("link", name="Runs"), "runs")
    page.get_by_label("A: baseline").check()
    page.get_by_label("B: candidate").check()
    watched.follow(page.get_by_role("button", name="Compare A and B"), "compare")
    row = page.locator("tr[data-metric=context_precision]")
    assert "better" in row.inner_text()
    table = page.locator(".wide", has=row).bounding_box()
    assert table
    assert table["height"] > 100
    assert "Is B better than A?" in page.locator("h1").inner_text()
    page.locator(".examples > li > a").first.click()
    page.wait_for_selector(".sides section:nth-of-type(2) .response")
    expect(page.locator(".sides > section")).to_have_count(2)
    responses = page.locator(".sides .response .passage").all_inner_texts()
    assert len(set(responses)) == 2
    page.keyboard.press("Escape")
    page.get_by_role("heading", name="Is B better than A?").wait_for()


@pytest.mark.slow
def test_a_verdict_is_corrected_by_keyboard(watched: Watched, served: str, store: Store) -> None:
    """On a sample a key corrects the opened verdict; the human value is next to the judge's, also after a restart."""
    page = watched.open(served, run=_run(store), sample="q04", metric="faithfulness")
    judged = page.locator(".scores a[aria-current]").inner_text()
    page.locator(".piece[aria-expanded=true]").focus()
    page.keyboard.press("1")
    page.keyboard.press("s")
    page.get_by_text("ann says: supported").wait_for()
    moved = page.locator(".scores a[aria-current]").inner_text()
    assert moved.startswith(judged)
    assert re.search(r"people \d\.\d{3}$", moved)
    assert len(store.labels()) == 1
    with serving(Server(store, "bob")) as again:
        page = watched.open(again.address, run=_run(store), sample="q04", metric="faithfulness")
        expect(page.locator(".scores a[aria-current]")).to_have_text(moved)


def test_a_verdict_is_accepted_by_keyboard(watched: Watched, served: str, store: Store) -> None:
    """One key accepts the verdict as it is, chunk by chunk, so that no score moves."""
    page = watched.open(served, run=_run(store), sample="q16", metric="faithfulness")
    page.locator(".piece[aria-expanded=true]").focus()
    page.keyboard.press("a")
    page.get_by_text("ann says: ").wait_for()
    expect(page.locator(".scores .people")).to_have_count(0)
    (label,) = store.labels()
    assert len(label.answer.chunks) == len(label.question.premise)  # type: ignore[union-attr]


def test_a_grade_is_typed_wherever_the_focus_is(watched: Watched, store: Store) -> None:
    """A digit goes into the field of the grade, and keys work after a click elsewhere on the page."""
    rows = [{"id": str(n), "query": "Who?", "response": f"Ada {n}."} for n in range(2)]
    judge = rg.judge_from(rate=lambda *_, wording, **__: 3)
    rg.evaluate(rows, [rg.criterion("It is polite")], judge, store=store, name="graded")
    with serving(Server(store, "ann")) as server:
        page = watched.open(server.address, run=_run(store, "graded"), view="label")
        status = page.locator("main [role=status]")
        first = status.inner_text()
        page.locator(".top").click(position={"x": 1, "y": 1})
        page.keyboard.press("4")
        page.keyboard.press("Enter")
        expect(status).not_to_have_text(first)
        assert [label.answer for label in store.labels()] == [Grade(4.0)]


def test_arrows_scroll_a_table_that_has_the_focus(watched: Watched, served: str, store: Store) -> None:
    """An arrow goes to the next question, but in a table that is wider than its place it scrolls."""
    page = watched.open(served, run=_run(store), view="label", metric="hallucination")
    status, table = page.locator("main [role=status]"), page.locator(".wide").first
    first = status.inner_text()
    page.get_by_role("button", name="Show figures").click()
    table.evaluate("table => { table.style.width = '4rem'; }")
    table.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("table => table.scrollLeft > 0", arg=table.element_handle())
    assert status.inner_text() == first
    table.evaluate("table => { table.style.width = ''; }")
    page.keyboard.press("ArrowRight")
    expect(status).not_to_have_text(first)


@pytest.mark.slow
def test_labels_are_given_blind(watched: Watched, served: str, store: Store) -> None:
    """Pieces come one after the other, the verdict hidden; labels correct the score, and are there after a reload."""
    run = _run(store)
    page = watched.open(served, run=run, view="label")
    status, cells = page.locator("main [role=status]"), page.locator("tr[data-metric=faithfulness] td")
    assert "drawn at random" in status.inner_text()
    expect(page.locator(".judge")).to_have_count(0)
    figures = page.get_by_role("button", name="Show figures")
    figures.click()
    judge, corrected = cells.nth(0).inner_text(), cells.nth(1).inner_text()
    assert corrected == "–"
    for given in range(1, 10):
        before = status.inner_text()
        page.keyboard.press("n")
        expect(status).not_to_have_text(before)
        assert len(store.labels()) == given
        if "drawn as most informative" in status.inner_text():
            break
    expect(cells).to_have_count(0)
    figures.click()
    expect(cells.nth(2)).to_have_text("1 of 33")
    corrected = cells.nth(1).inner_text()
    assert re.fullmatch(r"\d\.\d{3} \[\d\.\d{3}, \d\.\d{3}\]", corrected)
    expect(cells.nth(0)).to_have_text(judge)
    assert len(store.labels(blind=store.run(run).data_hash, chance=True)) == given
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("s")
    expect(cells).to_have_count(0)
    assert len(store.labels()) == given + 1
    assert len(store.labels(blind=store.run(run).data_hash)) == given  # what is changed after the figures is not blind
    store.keep_labels(store.labels(blind=store.run(run).data_hash), blind=store.run(run).data_hash, chance=True)
    page.reload()
    figures.click()
    expect(cells.nth(1)).to_have_text(corrected)
    watched.follow(page.get_by_role("link", name="Overview"), "overview")
    expect(page.locator("#labels tr[data-metric=faithfulness] td").nth(1)).to_have_text(corrected)


def test_a_person_asks_for_the_verdict_and_goes_back(watched: Watched, served: str, store: Store) -> None:
    """The verdict is shown on demand, and the label then does not count as blind; arrows go on and back."""
    page = watched.open(served, run=_run(store), view="label", metric="hallucination")
    judge, status = page.locator(".judge"), page.locator("main [role=status]")
    first = status.inner_text()
    page.keyboard.press("?")
    expect(judge).to_contain_text("The judge says: ")
    page.keyboard.press("ArrowRight")
    expect(status).not_to_have_text(first)
    expect(judge).to_have_count(0)
    page.keyboard.press("ArrowLeft")
    expect(status).to_have_text(first)
    expect(judge).to_have_count(1)
    page.keyboard.press("s")
    expect(status).not_to_have_text(first)
    assert len(store.labels()) == 1
    assert store.labels(blind=store.run("baseline").data_hash) == []


@pytest.mark.slow
def test_a_run_under_way_grows(watched: Watched, served: str, store: Store) -> None:
    """The list and the overview of a run follow it while it is under way."""
    record = store.run("baseline")
    samples = list(store.samples(record.id))
    running = msgspec.structs.replace(
        record, id="20300101-000000-000000", name="running", status="running", data_hash="", samples=0, estimates={}
    )
    store.begin(running)
    store.keep_samples(running.id, 0, samples[:5])
    page = watched.open(served)
    row = page.locator(f"tr[data-run='{running.id}']")
    expect(row).to_contain_text("under way")
    expect(row.locator("td").nth(4)).to_have_text("5")
    store.keep_samples(running.id, 5, samples[5:9])
    expect(row.locator("td").nth(4)).to_have_text("9")
    watched.follow(row.get_by_role("link", name="running"), "overview")
    page.get_by_text("9 samples so far").wait_for()
    store.keep_samples(running.id, 9, samples[9:])
    page.get_by_text("36 samples so far").wait_for(timeout=20_000)
    store.finish(msgspec.structs.replace(record, id=running.id, name="running"))
    expect(page.get_by_role("link", name="Label")).to_have_count(1)
    expect(page.locator(".top [role=status]")).to_have_text("")


def test_what_is_not_there_is_reported(watched: Watched, served: str) -> None:
    """The page reports a run that the store lacks."""
    with watched.page.expect_console_message(lambda reply: "404 (Not Found)" in reply.text):
        page = watched.open(served, run="none")
    assert "unknown run 'none'" in page.get_by_role("alert").inner_text()
    page.wait_for_load_state("networkidle")
    assert [text for text in watched.complaints if "404 (Not Found)" not in text] == []
    watched.complaints.clear()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", ["runs", "label", "compare", "sample", "beside"])
def test_the_served_page_is_accessible(view: str, scheme: str, watched: Watched, served: str, store: Store) -> None:
    """axe finds nothing to object to in what only the served page has, in both themes."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    run = _run(store)
    routes = {
        "runs": {},
        "label": {"run": run, "view": "label"},
        "compare": {"a": "baseline", "b": "candidate"},
        "sample": {"run": run, "sample": "q16", "metric": "faithfulness"},
        "beside": {"a": "baseline", "b": "candidate", "sample": "q16", "metric": "faithfulness"},
    }
    watched.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    found = axe.Axe().run(watched.open(served, **routes[view]))
    violations = [(one["id"], node["html"]) for one in found.response["violations"] for node in one["nodes"]]
    assert violations == []


def test_a_row_of_a_test_set_is_edited(watched: Watched, served: str, store: Store) -> None:
    """Question, references and nuggets are changed on the page of the sample, and shown when it is opened again."""
    mark = {"test_set": {"id": "s1"}}
    row = {"id": "q1", "query": "Which?", "references": ["Marit"], "answers": [["Marit"]], "response": "It.", **mark}
    rg.evaluate([row], "bleu", store=store, name="reviewed")
    for text in ("Which?", "Which ferry sails?"):
        page = watched.open(served, run=_run(store, "reviewed"), sample="q1", metric="bleu")
        page.get_by_text("Edit this row of the test set").click()
        expect(page.get_by_label("Question")).to_have_value(text)
        page.get_by_label("Question").fill("Which ferry sails?")
        page.get_by_label("Reference 2").fill("The Marit")
        page.get_by_label("Nuggets, one a line").fill("Marit\nIt sails")
        page.get_by_role("button", name="Save").click()
        page.get_by_text("saved as ann").wait_for()
    edit = store.row_edits("s1")[-1]
    assert (edit.query, edit.references, edit.answers) == (
        "Which ferry sails?",
        ("Marit", "The Marit"),
        (("Marit",), ("It sails",)),
    )


def test_runs_preselected_for_comparison_are_of_the_same_data(watched: Watched, store: Store, tmp_path: Path) -> None:
    """The newest run is compared with the one before it on its data, although another run is between them."""
    for name, data in (("older", "a"), ("other", "b"), ("newest", "a")):
        file = tmp_path / f"{data}.jsonl"
        file.write_text('{"response": "Yes."}')
        rg.evaluate(file, "max_words(9)", store=store, name=name)
    with serving(Server(store, "ann")) as server:
        page = watched.open(server.address)
        expect(page.get_by_label("A: older")).to_be_checked()
        expect(page.get_by_label("B: newest")).to_be_checked()
