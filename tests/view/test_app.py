from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from tests.view.conftest import Client

import ragauge as rg
from ragauge.cli.main import main
from ragauge.datasets import difference, questions
from ragauge.datasets.edits import edited
from ragauge.report.document import parts
from ragauge.store import Store


def _next(client: Client, run: str = "first", passed: str = "") -> Any:
    return client.get(f"api/runs/{run}/next?metric=faithfulness&passed={passed}").json()


def _label(client: Client, given: Any, answer: str, run: str = "first", blind: bool = True) -> Any:
    """Label all pieces of a drawn sample."""
    for piece in given["pieces"]:
        body = {"position": given["draw"]["position"], "metric": given["metric"], "judgment": piece["judgment"]}
        reply = client.post(
            f"api/runs/{run}/labels", {**body, "answer": answer, "draw": given["draw"] if blind else None}
        )
        assert reply.status == 200, reply.body
    return reply.json()


def test_all_runs_are_listed(client: Client, store: Store) -> None:
    """The newest run comes first, with its main metric."""
    runs = client.get("api/runs").json()
    assert [(run["name"], run["status"], run["samples"]) for run in runs] == [
        ("second", "finished", 60),
        ("first", "finished", 60),
    ]
    assert (runs[0]["metric"], runs[0]["judges"]) == ("faithfulness", ["lenient"])
    assert runs[0]["estimate"]["value"] == rg.Run.open(store, "second").estimates["faithfulness"].value


def test_parts_are_those_of_the_single_file(client: Client, store: Store) -> None:
    """Every part of a run that is in a single file is served, byte for byte."""
    run = rg.Run.open(store, "first")
    wanted = dict(parts(run.record, run.records()))
    served = {name: client.get(f"api/runs/{run.id}/parts/{name}").body for name in wanted}
    assert served == wanted
    assert "samples-1" in wanted


def test_a_running_run_grows(client: Client, store: Store) -> None:
    """A running run is listed with the samples stored so far, and its parts have those."""
    record = store.run("first")
    samples = list(store.samples(record.id))
    running = msgspec.structs.replace(record, id="20300101-000000-0", status="running", data_hash="", samples=0)
    store.begin(running)
    store.keep_samples(running.id, 0, samples[:32])
    assert client.get("api/runs").json()[0]["samples"] == 32
    assert len(client.get(f"api/runs/{running.id}/parts/index").json()["ids"]) == 32
    store.keep_samples(running.id, 32, samples[32:40])
    live = client.get(f"api/runs/{running.id}/live").json()
    assert (live["samples"], live["status"]) == (40, "running")
    assert len(client.get(f"api/runs/{running.id}/parts/index").json()["ids"]) == 40
    head = client.get(f"api/runs/{running.id}/parts/head").json()
    assert head["estimates"]["faithfulness"]["n"] == 40
    store.keep_samples(running.id, 40, samples[40:])
    store.finish(msgspec.structs.replace(record, id=running.id))
    assert client.get(f"api/runs/{running.id}/parts/head").json()["estimates"]["faithfulness"]["n"] == 60
    assert client.get(f"api/runs/{running.id}/labels").status == 200


def test_a_running_run_is_not_labelled(client: Client, store: Store) -> None:
    """Labels are for runs that have ended."""
    store.begin(msgspec.structs.replace(store.run("first"), id="20300101-000000-0", status="running", data_hash=""))
    labelled = client.get("api/runs/20300101-000000-0/labels")
    assert (labelled.status, "has not ended" in labelled.json()["error"]) == (400, True)


def test_runs_are_compared(client: Client) -> None:
    """The comparison of two runs is the document of `ragauge compare`."""
    found = client.get("api/compare?a=first&b=second").json()
    assert found["schema"] == "ragauge.compare/1"
    assert (found["samples"], list(found["differences"])) == (60, ["faithfulness"])


def test_labels_move_the_corrected_score_and_survive(
    client: Client, store: Store, serve: Callable[[Store], Client]
) -> None:
    """Labels change the corrected score, not the judge's, and are there for the next server."""
    before = client.get("api/runs/first/labels?metric=faithfulness").json()["summaries"]["faithfulness"]
    assert before["corrected"]["value"] is None
    for _ in range(4):
        _label(client, _next(client), "n")
    after = client.get("api/runs/first/labels?metric=faithfulness").json()["summaries"]["faithfulness"]
    assert after["judge"] == before["judge"]
    assert after["corrected"]["value"] < after["judge"]["value"]
    assert after["drawn"] >= 2
    assert after["agreement"][0]["n"] == 2 * after["drawn"]
    assert {dict(label.judge.settings)["by"] for label in store.labels()} == {"ann"}
    again = serve(store)
    assert again.get("api/runs/first/labels?metric=faithfulness").json()["summaries"]["faithfulness"] == after


def test_skipped_samples_are_not_offered_again(client: Client) -> None:
    """A sample that was skipped is not given again."""
    first = _next(client)
    second = _next(client, passed=str(first["draw"]["position"]))
    assert first["draw"]["at_random"]
    assert first["draw"]["position"] != second["draw"]["position"]
    assert first["pieces"][0]["asked"].startswith("Do the texts together")
    assert [choice["key"] for choice in first["pieces"][0]["choices"]] == ["s", "n", "c"]


def test_a_label_on_a_shown_sample(client: Client) -> None:
    """A label given after seeing the verdict changes that sample's score, and counts for nothing else."""
    shown = client.get("api/runs/first/samples/1?metric=faithfulness").json()
    assert shown["scores"]["faithfulness"]["value"] == 1.0
    given = {"draw": {"position": 1}, "metric": "faithfulness", "pieces": shown["pieces"][:1]}
    after = _label(client, given, "c 2", blind=False)
    assert (after["scores"]["faithfulness"]["value"], after["scores"]["hallucination"]["value"]) == (0.5, 0.5)
    assert after["pieces"][0]["label"]["by"] == "ann"
    standing = client.get("api/runs/first/labels?metric=faithfulness").json()["summaries"]["faithfulness"]
    assert (standing["labelled"], standing["drawn"]) == (1, 0)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"judgment": "none"}, "sample 1 has no judgment 'none' behind faithfulness"),
        ({"answer": "maybe"}, "'maybe' is not an answer"),
        ({"metric": "bleu"}, "unknown metric"),
        ({"position": "x"}, "not a label"),
        ({"more": 1}, "not a label"),
    ],
)
def test_invalid_labels_are_refused(client: Client, store: Store, change: dict[str, Any], fault: str) -> None:
    """A label that fits no piece is refused with the reason, and nothing is stored."""
    judgment = client.get("api/runs/first/samples/1?metric=faithfulness").json()["pieces"][0]["judgment"]
    body = {"position": 1, "metric": "faithfulness", "judgment": judgment, "answer": "s", **change}
    reply = client.post("api/runs/first/labels", body)
    assert reply.status in (400, 404)
    assert fault in reply.json()["error"]
    assert store.labels() == []


@pytest.mark.parametrize("position", [60, -1, 2**63 - 1, 2**63, 10**30, -(10**30)])
def test_a_position_beyond_the_run_is_not_found(client: Client, position: int) -> None:
    """Positions without a sample, even integers of more than 64 bits, are errors in every request."""
    body = {"position": position, "metric": "faithfulness", "judgment": "none", "answer": "s"}
    reply = client.post("api/runs/first/labels", body)
    assert (reply.status, "has no sample at position" in reply.json()["error"]) == (404, True)
    for path in ("samples/{}?metric=faithfulness", "next?passed={}", "parts/samples-{}"):
        reply = client.get(f"api/runs/first/{path.format(position)}")
        assert reply.status in (200, 400, 404)


@pytest.mark.parametrize(
    "path",
    [
        "api", "api/runs/none/parts/head", "api/runs/first/parts/none", "api/runs/first/samples/99?metric=faithfulness",
        "api/runs/first/parts/..%2f..%2fstore.db", "api/compare?a=none&b=first", "x/../api/runs",
    ],
)  # fmt: skip
def test_unknown_resources_are_not_found(client: Client, path: str) -> None:
    """Unknown runs, parts and samples, and other paths, are a 404 with the reason."""
    reply = client.get(path)
    assert reply.status == 404
    assert reply.json()["error"]


def test_a_position_is_a_number(client: Client) -> None:
    """A position that is no number is an error."""
    assert client.get("api/runs/first/samples/-1?metric=faithfulness").status == 400
    assert client.post("api/runs/first/labels", b"{").status == 400
    assert client.post("api/runs", {}).status == 404


@pytest.fixture
def reviewed(tmp_path: Path, store: Store) -> Path:
    """A test set of one question with two nuggets, over which a run in the store was made."""
    samples = questions(
        [{"id": "d", "text": "The ferry Marit sails from Skerholm to Tavnoy at 7:30 on weekdays."}], n=1
    ).samples
    answers, weights = (("Marit", "the Marit"), ("7:30",)), (1.0, 0.5)
    rows = [
        msgspec.structs.replace(row, contexts=row.reference_contexts, answers=answers, answer_weights=weights)
        for row in samples
    ]
    rg.evaluate(rows, "retrieval_recall", store=store, name="reviewed")
    path = tmp_path / "tests.jsonl"
    path.write_bytes(msgspec.json.Encoder().encode_lines(rows))
    return path


def test_an_edited_row_is_kept_and_written(client: Client, store: Store, reviewed: Path, tmp_path: Path) -> None:
    """What a person changes in the page is in the set that the command writes, which has an identity of its own.

    A nugget that stays keeps its wordings and its weight; the latest change counts.
    """
    change = {"position": 0, "query": "Which ferry?", "references": ["Marit"], "claims": ["Marit", "It is a ferry."]}
    assert client.get("api/runs/reviewed/samples/0?metric=retrieval_recall").json()["edit"] is None
    client.post("api/runs/reviewed/edits", {**change, "query": "Which one?"})
    reply = client.post("api/runs/reviewed/edits", change)
    assert (reply.json()["edit"]["query"], reply.json()["edit"]["by"]) == ("Which ferry?", "ann")
    output = tmp_path / "edited.jsonl"
    command = ["dataset", "edited", str(reviewed), "-o", str(output), "--store", str(tmp_path / "kept")]
    assert CliRunner().invoke(main, command).exit_code == 0
    (before,), (after,) = rg.read(reviewed), rg.read(output)
    assert (after.query, after.references, after.metadata["edited_by"]) == ("Which ferry?", ("Marit",), "ann")
    assert (after.answers, after.answer_weights) == ((("Marit", "the Marit"), ("It is a ferry.",)), (1.0, 1.0))
    origin = after.metadata["test_set"]
    assert origin["edited_from"] == before.metadata["test_set"]["id"] != origin["id"]
    assert difference(reviewed, output)["changed"].keys() == {before.id}
    assert difference(reviewed, output)["added"] == []


@pytest.mark.parametrize(
    ("run", "change", "fault"),
    [
        ("reviewed", {"query": " "}, "the question is empty"),
        ("reviewed", {"claims": "one"}, "not an edit"),
        ("first", {}, "is not of a test set"),
    ],
)
def test_an_edit_that_cannot_be_kept_is_refused(
    run: str, change: dict[str, Any], fault: str, client: Client, reviewed: Path, tmp_path: Path
) -> None:
    """An empty question, and rows that belong to no test set, are refused; a set that nobody edited is not written."""
    body = {"position": 0, "query": "Why?", "references": [], "claims": [], **change}
    reply = client.post(f"api/runs/{run}/edits", body)
    assert (reply.status, fault in reply.json()["error"]) == (400, True)
    with pytest.raises(rg.errors.BadData, match="nobody has edited a row of"):
        edited(reviewed, tmp_path / "kept")


def test_an_edit_is_of_its_set_alone(client: Client, store: Store, reviewed: Path, tmp_path: Path) -> None:
    """A row of another set is as it was, though its id is that of a row that was edited and left the file."""
    client.post("api/runs/reviewed/edits", {"position": 0, "query": "Which?", "references": [], "claims": []})
    (row,) = rg.read(reviewed)
    kept = msgspec.structs.replace(row, id="kept")
    other = msgspec.structs.replace(row, metadata={"test_set": {"id": "other"}})
    with pytest.raises(rg.errors.BadData, match="which ann edited, is not in the set"):
        edited([kept, other], store)


def test_an_edit_that_finds_no_row_is_named(client: Client, store: Store, reviewed: Path, tmp_path: Path) -> None:
    """A change of a row that the file lacks, as of one answer of a conversation, is not left out silently."""
    client.post("api/runs/reviewed/edits", {"position": 0, "query": "Which?", "references": [], "claims": []})
    (row,) = rg.read(reviewed)
    rg.evaluate([msgspec.structs.replace(row, id=f"{row.id}#2")], "retrieval_recall", store=store, name="turns")
    client.post("api/runs/turns/edits", {"position": 0, "query": "Why?", "references": [], "claims": []})
    command = ["dataset", "edited", str(reviewed), "-o", str(tmp_path / "e.jsonl"), "--store", str(tmp_path / "kept")]
    result = CliRunner().invoke(main, command)
    assert (result.exit_code, f"row '{row.id}#2', which ann edited, is not in the set" in result.output) == (0, True)
