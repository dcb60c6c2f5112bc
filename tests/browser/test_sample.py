from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.browser.watching import Watched

import ragauge as rg
from ragauge.types import ChunkVerdict, Decomposition, Failure, Grade, Label, Statement, Verdict

expect = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed").expect

pytestmark = pytest.mark.slow

#: The characters of each judged piece, and of what decides, as the page marks them: [text, piece, classes].
MARKS = "[...document.querySelectorAll('mark')].map((m) => [m.textContent, m.dataset.piece ?? null, m.className])"

RESPONSE = "😀 Ada 👩‍🚀 wrote it 𝒾n 1843. <img src=x onerror=alert(1)> \u202eBob\u202c did not, عدا."
CHUNK = "🚀 In 1843 Ada wrote the 𝒩otes. <script>alert(2)</script>"
ROW = {
    "id": "<b>odd</b>",
    "query": "Who wrote </script><script>alert(3)</script>?",
    "response": RESPONSE,
    "contexts": [{"id": "k<1>", "title": "T😀", "text": CHUNK}, "nothing"],
    "references": ["Ada 👩‍🚀"],
    "metadata": {"note": "<i>m</i>"},
}


def _span(text: str, part: str) -> tuple[int, int]:
    return text.index(part), text.index(part) + len(part)


class Odd:
    """A judge whose claims overlap, and that says something of every sort."""

    identity = rg.judge_from(rate=len).identity
    answers = frozenset({"decompose", "entail", "relevant", "rate"})

    async def answer(self, questions: Any) -> Any:
        """One answer, or failure, for each question."""
        return [self._reply(question) for question in questions]

    def _reply(self, question: Any) -> Any:
        match type(question).__name__:
            case "Decompose":
                parts = ["Ada 👩‍🚀 wrote it 𝒾n 1843.", "𝒾n 1843", "1843. <img src=x", "not in the text"]
                found = [Statement(part, _span(question.text, part)) for part in parts if part in question.text]
                return Decomposition((*found, Statement("said in other words")))
            case "Entail":
                return self._entailed(question)
            case "Relevant":
                return Failure("invalid_answer", "no <b>JSON</b>", "I think <i>so</i>")
            case _:
                return Grade(0.5, "rationale <u>of</u> a grade")

    def _entailed(self, question: Any) -> Any:
        passage = question.premise[0]
        if "𝒩otes" not in passage:
            return Verdict(Label.NEUTRAL, 0.25)
        deciding = ChunkVerdict(Label.CONTRADICTED, 0.125, _span(passage, "Ada wrote the 𝒩otes"))
        other = ChunkVerdict(Label.ENTAILED, 0.875, (0, 4))
        label = Label.CONTRADICTED if question.hypothesis == "𝒾n 1843" else Label.ENTAILED
        return Verdict(label, 0.125, (deciding, other), rationale="because <em>so</em>")


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report on a sample of emoji, two directions of writing and markup."""
    metrics = "faithfulness,answer_relevance,claim_recall,chunk_utility,bleu"
    return rg.evaluate([ROW], metrics, Odd()).save(tmp_path_factory.mktemp("odd") / "report.html")


def test_texts_are_shown_as_they_stand(odd: Path, watched: Watched) -> None:
    """Markup in any text of the data is only text, and no character is lost."""
    page = watched.open(odd, sample="<b>odd</b>")
    assert page.locator("h1").text_content() == "Sample <b>odd</b>"
    assert page.locator(".query .passage").text_content() == ROW["query"]
    assert page.locator(".response .passage").text_content() == RESPONSE
    assert page.locator(".contexts .passage").first.text_content() == f"T😀\n{CHUNK}"
    assert "<em>so</em>" in page.locator(".reasons q").first.inner_text()
    expect(page.locator("main img, main script, main b:not(.scores b), main em")).to_have_count(0)


def test_spans_count_characters_as_python_does(odd: Path, watched: Watched) -> None:
    """Each claim's marks are its characters, also behind emoji and where claims overlap; so is what decides."""
    page = watched.open(odd, sample="<b>odd</b>", metric="faithfulness")
    marks = page.evaluate(MARKS)
    own = [[text, piece] for text, piece, _ in marks if piece is not None]
    assert own == [["Ada 👩‍🚀 wrote it ", "0"], ["𝒾n ", "1"], ["1843", "1"], [".", "2"], [" <img src=x", "2"]]
    assert [text for text, piece, shade in marks if "bad-ring" in shade] == ["Ada wrote the 𝒩otes"]
    page.locator("#piece-2").click()
    assert [text for text, _, shade in page.evaluate(MARKS) if "opened" in shade] == ["1843", ".", " <img src=x"]


def test_the_verdict_is_reported_with_its_reasons(odd: Path, watched: Watched) -> None:
    """An opened claim tells its verdict, rationale, probability, judge and judgment, and what each chunk says."""
    page = watched.open(odd, sample="<b>odd</b>", metric="faithfulness")
    opened = page.locator(".piece[aria-expanded=true]")
    assert opened.inner_text() == "✗ contradicted 𝒾n 1843"
    reasons = page.locator(".reasons").inner_text()
    for part in ("because", "probability of support 0.13", "judged by function", "judgment "):
        assert part in reasons
    assert "✗ contradicted by context 1, k<1>: Ada wrote the 𝒩otes" in reasons
    assert "✓ supported by context 2: noth" in reasons
    badges = page.locator(".contexts .badge").all_inner_texts()
    assert badges == ["✗ contradicts", "✓ supports"]


def test_claims_are_read_by_keyboard_and_mouse(odd: Path, watched: Watched) -> None:
    """Arrow keys move from claim to claim, a click on a mark opens the narrowest claim there."""
    page = watched.open(odd, sample="<b>odd</b>", metric="faithfulness")
    page.locator("#piece-1").focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.id") == "piece-2"
    assert page.locator("#piece-2").get_attribute("aria-expanded") == "true"
    page.locator(".response mark", has_text="𝒾n").click()
    assert page.locator("#piece-1").get_attribute("aria-expanded") == "true"
    page.locator(".reasons .jump").first.click()
    assert page.evaluate("document.activeElement.id") == "text-contexts[0]"


def test_missing_scores_tell_why(odd: Path, watched: Watched) -> None:
    """A failed score says so, with what the judge replied."""
    page = watched.open(odd, sample="<b>odd</b>", metric="answer_relevance")
    assert "failed: invalid_answer: no <b>JSON</b>" in page.locator(".explanation").inner_text()
    assert page.locator("pre").first.inner_text() == "I think <i>so</i>"
    expect(page.locator(".scores a[aria-current]")).to_have_text("answer_relevance failed")


def test_grades_are_shown(odd: Path, watched: Watched) -> None:
    """A graded piece shows its grade and rationale under the name of its rubric."""
    page = watched.open(odd, sample="<b>odd</b>", metric="chunk_utility")
    assert "Graded: chunk_utility" in page.locator(".pieces").inner_text()
    assert "· 0.5 context 1: " in page.locator(".piece").first.inner_text()
    assert "rationale <u>of</u> a grade" in page.locator(".reasons").inner_text()


def test_references_show_what_was_found_and_missed(watched: Watched, report: Path) -> None:
    """The statements of a reference are coloured by whether the response has them."""
    page = watched.open(report, sample="q01", metric="claim_recall")
    pieces = page.locator(".pieces").inner_text()
    assert "Claims of reference 1, checked against response" in pieces
    assert "○ missed Once a week." in pieces
    shades = page.locator(".references mark").evaluate_all("marks => marks.map((m) => [m.textContent, m.className])")
    assert shades[0] == ["Once a week.", "weak opened"]
    assert shades[1][1] == "good"


def test_citations_show_their_verdict(watched: Watched, candidate: rg.Run, tmp_path: Path) -> None:
    """A cited sentence and each of its citations are judged pieces of the response, one within the other."""
    page = watched.open(candidate.save(tmp_path / "report.html"), sample="q23", metric="citation_precision")
    pieces = page.locator(".pieces").inner_text()
    assert "Claims of the response, checked against citations" in pieces
    assert "Citations" in pieces
    assert "○ not called for [2]" in pieces
    assert page.locator(".response mark", has_text="[2]").count() == 1


def test_metrics_and_neighbours_are_links(watched: Watched, report: Path) -> None:
    """Another metric, the next sample and the list are a click away, in the order of the list."""
    page = watched.open(report, view="samples", pattern="missed")
    ids = watched.shown()
    watched.follow(page.locator(".rows a").first, "sample")
    page.locator("summary", has_text="more score").click()
    page.locator(".scores a", has_text="context_relevance").click()
    page.get_by_role("heading", name="Contexts, checked against query").wait_for()
    page.get_by_text("next →").click()
    page.get_by_role("heading", name=f"Sample {ids[1]}").wait_for()
    assert page.locator(".scores a[aria-current]").inner_text().startswith("context_relevance ")
    assert f"2 of {len(ids)}" in page.locator(".steps").inner_text()


def test_a_metric_without_pieces_says_so(odd: Path, watched: Watched) -> None:
    """A metric that judges nothing shows its value, or why it has none, and the texts."""
    page = watched.open(odd, sample="<b>odd</b>", metric="bleu")
    assert "Nothing was judged for this metric." in page.locator(".explanation").inner_text()
    expect(page.locator("mark")).to_have_count(0)


def test_an_unknown_sample_is_reported(watched: Watched, report: Path) -> None:
    """An address with an id that the run lacks says so."""
    page = watched.open(report, sample="q99")
    assert page.get_by_role("alert").inner_text() == "This run has no sample called q99."


def test_every_mark_is_the_text_of_its_span(watched: Watched, report: Path, baseline: rg.Run) -> None:
    """In all samples of the demo, the marks of a claim that overlaps no other are its characters in the response."""
    page = watched.open(report, sample="q01", metric="faithfulness")
    seen = 0
    for record in baseline.records():
        page.evaluate("id => { location.hash = `#sample=${id}&metric=faithfulness` }", record.sample.id)
        page.get_by_role("heading", name=f"Sample {record.sample.id}").wait_for()
        marks = dict.fromkeys(page.locator(".response mark").all_text_contents())
        pieces = record.score("faithfulness").evidence
        wanted = [(record.sample.response or "")[slice(*piece.span)] for piece in pieces if piece.span]
        assert list(marks) == sorted(set(wanted), key=wanted.index)
        seen += len(wanted)
    assert seen > 50


def test_a_conversation_is_read_as_a_chat(tmp_path: Path, watched: Watched) -> None:
    """The turns before the query stand above it, by speaker, with the calls of tools and what became of them."""
    calls = [{"name": "find", "arguments": {"x": "<b>"}, "error": "no such thing"}]
    said = [{"role": "user", "text": "Earlier?"}, {"role": "assistant", "text": "<i>Yes</i>", "calls": calls}]
    row = {"id": "c", "query": "And now?", "response": "Yes.", "contexts": ["Yes."], "turns": said}
    report = rg.evaluate([row], "faithfulness", "lexical").save(tmp_path / "report.html")
    page = watched.open(report, sample="c")
    turns = page.locator(".chat li")
    assert turns.nth(0).text_content() == "user Earlier?"
    assert turns.nth(1).text_content() == 'assistant <i>Yes</i>find({"x":"<b>"}) → failed: no such thing'
    assert page.locator(".chat + .query .passage").text_content() == "And now?"
