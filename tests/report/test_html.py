from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

import ragauge as rg
from ragauge.errors import UsageError
from ragauge.report import document
from ragauge.report.document import BITS, BLOCK, Index, page, parts

COUNT = 2 * BLOCK + 3
ROWS: list[dict[str, Any]] = [
    {
        "id": f"r{i}",
        "query": f"what is {i}?",
        "response": f"{i % 5} it is",
        "contexts": [f"{i} it is"],
        "group": f"g{i % 2}",
    }
    for i in range(COUNT)
]


def _entail(premise: str, hypothesis: str) -> str:
    if hypothesis.startswith("4"):
        raise ValueError("four")
    return "entailed" if hypothesis in premise else "contradicted" if hypothesis.startswith("3") else "neutral"


@pytest.fixture(scope="module")
def run() -> rg.Run:
    """Samples in three blocks; a fifth of them fail."""
    judge = rg.judge_from(decompose=lambda text: [text], entail=_entail)
    return rg.evaluate(ROWS, "faithfulness,hallucination,pooled(faithfulness)", judge, name="<i>n</i> <!-- data -->")


@pytest.fixture(scope="module")
def written(run: rg.Run, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report's file."""
    return run.save(tmp_path_factory.mktemp("report") / "r.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def embedded(written: str) -> dict[str, Any]:
    """Its data by part."""
    return embedded_in(written)


def embedded_in(page: str) -> dict[str, Any]:
    """The data of a page by part."""
    found = re.findall(r'<script type="application/gzip" id="data-([\w-]+)">([\w+/=]*)</script>', page)
    return {name: json.loads(gzip.decompress(b64decode(data))) for name, data in found}


def _joined(sample: dict[str, Any]) -> dict[str, Any]:
    """A sample of a block as in the document: evidence under each score."""
    evidence = sample.pop("evidence")

    def whole(scores: dict[str, Any]) -> dict[str, Any]:
        pieces = {
            key: [piece for need in one["evidence"] for piece in evidence.get(need, [])] for key, one in scores.items()
        }
        return {key: {**one, "evidence": pieces[key]} for key, one in scores.items()}

    return {**sample, "scores": whole(sample["scores"]), "counted": whole(sample["counted"])}


def test_the_page_contains_the_whole_document(run: rg.Run, embedded: dict[str, Any]) -> None:
    """Head and blocks together are the document of the run, to the last digit."""
    document = json.loads(json.dumps(run.to_dict()))
    samples = [_joined(sample) for number in range(3) for sample in embedded[f"samples-{number}"]]
    head = {key: embedded["head"][key] for key in ("schema", "run", "estimates", "patterns", "cuts")}
    assert {**head, "samples": samples} == document
    assert set(embedded) == {"head", "index", "texts", "samples-0", "samples-1", "samples-2"}


def test_the_index_has_all_columns(run: rg.Run, embedded: dict[str, Any]) -> None:
    """Columns are as long as the run, with its values, failed scores and verdicts."""
    index = embedded["index"]
    assert index["ids"] == [row["id"] for row in ROWS]
    assert index["groups"][:3] == ["g0", "g1", "g0"]
    assert index["values"]["faithfulness"] == run.values("faithfulness")
    assert index["failed"]["faithfulness"] == [i for i in range(COUNT) if i % 5 == 4]
    assert set(index["values"]) == {"faithfulness", "hallucination"}
    assert index["labels"]["faithfulness"][:4] == [BITS[rg.Label(label)] for label in ("entailed",) * 3 + ("entailed",)]
    assert index["labels"]["faithfulness"][8] == BITS[rg.Label.CONTRADICTED]
    assert index["signs"] == {"refused": [0.0] * COUNT}
    assert embedded["texts"][1] == "r1\nwhat is 1?\n1 it is"


def test_an_empty_run_has_an_empty_index(run: rg.Run) -> None:
    """Without samples the columns have no rows."""
    empty: dict[str, object] = {"ids": [], "titles": [], "signs": {}, "values": {}, "failed": {}, "labels": {}}
    assert Index(run.record).columns() == empty


def test_parts_are_deterministic(run: rg.Run) -> None:
    """The same run gives the same bytes."""
    assert list(parts(run.record, run.records())) == list(parts(run.record, run.records()))


def test_the_page_refers_to_no_other_resource(written: str) -> None:
    """The file has no address of another resource, fetches nothing, and has no handler in its markup."""
    shell = re.sub(r'<script type="application/gzip".*?</script>', "", written)
    assert re.findall(r"""(?:src|href)\s*=\s*["'](?!#|data:,)[^"']*""", shell) == []
    assert set(re.findall(r"https?://[\w./]+", shell)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(
        r"<[^>]* on\w+=|@import|url\(|innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", shell
    )


def test_a_name_is_escaped(written: str) -> None:
    """Markup in the name of a run is text in the title."""
    assert "<title>&lt;i&gt;n&lt;/i&gt; &lt;!-- data --&gt; – ragauge</title>" in written
    assert "<!--" not in re.sub(r"(?s)<script.*?</script>", "", written)


def test_the_policy_allows_this_page_only() -> None:
    """Script and style are allowed by their hashes alone; a served page may also fetch its data."""
    assert "default-src 'none'; script-src 'sha256-" in page("a")
    assert "connect-src 'none'" in page("a")
    assert "connect-src 'self'" in page("a", connect="'self'")
    assert "unsafe" not in page("a")


@pytest.mark.parametrize("entry", ["main", "view"])
def test_a_page_is_one_script(entry: str) -> None:
    """Each module that a page needs is in it once, and nothing remains to be loaded."""
    whole = page("a", entry=entry)
    names = re.findall(r"^modules\.(\w+) = ", whole, re.MULTILINE)
    assert len(set(names)) == len(names) > 10
    assert set(re.findall(r"modules\.(\w+);", whole)) <= set(names)
    assert not re.search(r"^(?:import|export) ", whole, re.MULTILINE)
    assert whole.count("</script") == 1


def test_every_module_is_in_some_page() -> None:
    """Every file in the folder of the page is used; the report has no module of the served page."""
    names = {path.stem for path in (Path(rg.__file__).parent / "page").glob("*.js")}
    report, served = (set(re.findall(r"^modules\.(\w+) = ", page("a", entry=e), re.M)) for e in ("main", "view"))
    assert report | served == names
    assert not {"server", "label", "view"} & report


def test_the_ending_is_listed(run: rg.Run, tmp_path: Path) -> None:
    """`.html` is among the endings that a message names."""
    with pytest.raises(UsageError, match=r"use one of \.json .*\.html"):
        run.save(tmp_path / "run.htm")


def test_the_page_of_a_large_run_holds_some_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a bound the page holds the worst, random ones and some of each pattern, in order, and says so."""
    bounds = {"MOST_SAMPLES": 100, "WORST": 20, "RANDOM": 30, "OF_PATTERN": 5}
    for name, bound in bounds.items():
        monkeypatch.setattr(document, name, bound)
    rows: list[dict[str, Any]] = [
        {"id": f"s{n}", "response": "b " * (n % 50), "references": ["b " * 50]} for n in range(400)
    ]
    rows[7]["answerable"], rows[7]["query"] = False, "Who?"
    run = rg.evaluate(rows, "token_f1")
    page = run.save(tmp_path / "run.html").read_text(encoding="utf-8")
    found = embedded_in(page)
    ids = found["index"]["ids"]
    worst = [f"s{n}" for n in range(0, 400, 50)]
    assert set(worst) <= set(ids)
    assert ids == sorted(ids, key=lambda name: int(name[1:]))
    assert "s7" in ids  # alone in its pattern
    assert 40 < len(ids) < 60
    assert (
        f"This page holds {len(ids)} of 400 samples: the 20 worst by token_f1"
        in found["head"]["words"]["footnotes"][-1]
    )
    assert found["head"]["estimates"]["token_f1"]["n"] == 400
    assert run.save(tmp_path / "again.html").read_text(encoding="utf-8") == page
