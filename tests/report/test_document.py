from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import pytest

import ragauge as rg
from ragauge.types import ChunkVerdict, Label, Verdict

LABELS = set(Label)
RUN = {
    "id": str,
    "name": str,
    "started": str,
    "finished": str,
    "status": str,
    "data": str,
    "data_hash": str,
    "metrics": list,
    "judges": dict,
    "version": str,
    "samples": int,
    "asked": int,
    "reused": int,
    "seconds": float,
    "labels": int,
    "labelled": int,
    "left_out": dict,
    "failures": dict,
    "undefined": dict,
    "empty": int,
    "bad_rows": list,
    "gates": list,
    "spent": dict,
    "stopped": str,
    "notes": list,
    "slices": dict,
    "about": dict,
    "captions": dict,
    "fields": dict,
    "columns": list,
    "unmeasured": dict,
    "unread": list,
    "made_by": str,
    "tags": list,
    "archived": bool,
    "to_label": int,
    "groups": int,
    "named": bool,
    "system": dict,
}
SPENT = {"calls", "prompt_tokens", "cached_tokens", "completion_tokens", "cost", "unpriced"}
PIECE = {"text", "field", "span", "against", "label", "value", "probability", "chunks", "rationale", "judgment"}


class Validator:
    """The schema "ragauge.run/1", checked completely: a key that is missing, new or of another type is an error."""

    def __init__(self, document: Any) -> None:
        _keys(document, {"schema", "run", "estimates", "patterns", "cuts", "samples"}, {"sections"})
        assert document["schema"] == "ragauge.run/1"
        self.samples = document["samples"]
        self._run(document["run"])
        for estimate in document["estimates"].values():
            self._estimate(estimate)
        for sample in self.samples:
            self._sample(sample, set(document["estimates"]))
        ids = [sample["id"] for sample in self.samples]
        assert len(set(ids)) == len(ids) == document["run"]["samples"]

    def _run(self, run: Any) -> None:
        _keys(run, set(RUN))
        for key, kind in RUN.items():
            assert isinstance(run[key], kind), key
        _keys(run["spent"], SPENT)
        assert run["status"] in ("finished", "interrupted", "running", "stopped")

    def _estimate(self, estimate: Any) -> None:
        _keys(
            estimate,
            {
                "value",
                "low",
                "high",
                "n",
                "undefined",
                "failed",
                "method",
                "confidence",
                "better",
                "over",
                "scale",
                "counts",
                "judge_error",
            },
        )
        assert estimate["n"] + estimate["undefined"] + estimate["failed"] == len(self.samples)
        numbers = [estimate["low"], estimate["value"], estimate["high"]]
        assert numbers == [None] * 3 if estimate["n"] == 0 else numbers == sorted(map(_number, numbers))

    def _sample(self, sample: Any, metrics: set[str]) -> None:
        _keys(sample, {"id", "sample", "signs", "patterns", "scores", "counted", "failures"})
        assert isinstance(sample["id"], str)
        assert set(sample["scores"]) == {metric for metric in metrics if not metric.startswith("pooled(")}
        assert set(sample["counted"]) == metrics - set(sample["scores"])
        for score in sample["scores"].values():
            self._score(score, {"value", "undefined", "failed"})
        for score in sample["counted"].values():
            self._score(score, {"counts", "undefined", "failed"})

    def _score(self, score: Any, allowed: set[str]) -> None:
        states = set(score) & allowed
        assert len(states) == 1
        _keys(score, {*states, "evidence"}, {"counts"})
        assert "value" not in score or _number(score["value"]) is not None
        assert all(
            isinstance(score.get(state, "why"), str) and score.get(state, "why") for state in ("undefined", "failed")
        )
        for piece in score["evidence"]:
            self._piece(piece)

    def _piece(self, piece: Any) -> None:
        _keys(piece, {"text", "field"}, PIECE)
        assert piece.get("label", "yes") in LABELS
        assert "label" in piece or "value" in piece
        assert 0 <= piece.get("probability", 0) <= 1
        for chunk in piece.get("chunks", []):
            _keys(chunk, {"chunk", "label"}, {"probability", "span"})
            assert chunk["label"] in LABELS


def _keys(found: Any, wanted: set[str], allowed: set[str] | None = None) -> None:
    assert isinstance(found, dict)
    assert wanted <= set(found) <= wanted | (allowed or set())


def _number(value: Any) -> float:
    assert isinstance(value, int | float)
    assert not isinstance(value, bool)
    return value


def _loaded(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} in JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> rg.Run:
    """The packaged data, measured by the lexical judge with all metrics it can answer and two made of others."""
    row = {"query": "a", "response": "a", "contexts": ["a"], "references": ["a"]}
    names = list(rg.plan([row], judge="lexical").by_metric)
    with as_file(files("ragauge.demo") / "baseline.jsonl") as path:
        return rg.evaluate(
            path,
            [*names, "pooled(faithfulness)", "composite(faithfulness=1,bleu=2)"],
            "lexical",
            store=tmp_path_factory.mktemp("store"),
        )


@pytest.fixture(scope="module")
def document(run: rg.Run, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The document read back from its file."""
    path = run.save(tmp_path_factory.mktemp("out") / "run.json")
    return _loaded(path.read_text(encoding="utf-8"))


def _pieces(document: Any) -> Iterator[tuple[Any, Any]]:
    """Each piece of evidence with its sample."""
    for sample in document["samples"]:
        for score in sample["scores"].values():
            for piece in score["evidence"]:
                yield sample["sample"], piece


def test_the_document_follows_its_schema(run: rg.Run, document: Any) -> None:
    """The document of a run with many metrics is valid, as a file and from `to_dict`."""
    assert len(Validator(document).samples) == 36
    Validator(_loaded(json.dumps(run.to_dict(), allow_nan=False)))
    assert len(document["estimates"]) > 20


def test_the_document_has_the_values_of_the_run(run: rg.Run, document: Any) -> None:
    """Values in the document are those of the run, to the last digit."""
    for key, estimate in run.estimates.items():
        assert document["estimates"][key]["value"] == estimate.value
    for sample, scores in zip(document["samples"], run.scores, strict=True):
        assert sample["id"] == scores.sample.id
        for key, score in sample["scores"].items():
            assert score.get("value") == scores[key].value


def test_metrics_of_several_values_are_named_by_part(document: Any) -> None:
    """ROUGE is keyed by type in estimates and scores; pooled values are among the estimates only."""
    rouge = [key for key in document["estimates"] if key.startswith("rouge")]
    assert rouge == ["rouge.rouge1", "rouge.rouge2", "rouge.rougeL", "rouge.rougeLsum"]
    assert set(rouge) <= set(document["samples"][0]["scores"])
    assert "pooled(faithfulness)" in document["estimates"]
    assert "pooled(faithfulness)" not in document["samples"][0]["scores"]


def test_counts_make_the_value(document: Any) -> None:
    """A share's counts are its hits and total, and the value is their quotient."""
    scores = [sample["scores"]["faithfulness"] for sample in document["samples"]]
    valued = [score for score in scores if "value" in score]
    assert len(valued) > 25
    assert all(score["value"] == score["counts"][0] / score["counts"][1] for score in valued)
    assert not any("counts" in score for score in scores if "value" not in score)


def _text(sample: Any, field: str) -> str:
    """The text of a field of evidence, such as "response" or "references[1]"."""
    name, _, position = field.rstrip("]").partition("[")
    value = sample[name] if not position else sample[name][int(position)]
    return value if isinstance(value, str) else _passage(value)


def _passage(chunk: Any) -> str:
    return f"{chunk['title']}\n{chunk['text']}" if chunk.get("title") else str(chunk["text"])


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", re.sub(r"\[\d+]", "", text.lower())))


def test_spans_slice_back_to_the_text(document: Any) -> None:
    """A statement's span holds the statement, in the response or the reference that it names.

    Nearly always word for word; else with a citation mark or a conjunction more or, where a fragment was completed from
    the query or a clause by its subject, with words less: what it says of itself stands there.
    """
    spans = equal = 0
    for sample, piece in _pieces(document):
        if "span" in piece and piece["field"].startswith(("response", "references")):
            found = _text(sample, piece["field"])[slice(*piece["span"])]
            assert len(_words(found) & _words(piece["text"])) >= len(_words(found)) - 1
            spans += 1
            equal += found == piece["text"]
    assert spans > 300
    assert equal > 0.9 * spans


def test_chunks_of_the_evidence_are_chunks_of_the_sample(document: Any) -> None:
    """Evidence against the contexts names each chunk by its id, in order, with spans inside the chunk's passage."""
    spans = 0
    for sample, piece in _pieces(document):
        if piece.get("against") == "contexts" and piece.get("chunks"):
            assert [verdict["chunk"] for verdict in piece["chunks"]] == [chunk["id"] for chunk in sample["contexts"]]
            for verdict, chunk in zip(piece["chunks"], sample["contexts"], strict=True):
                start, end = verdict.get("span", (0, 0))
                assert 0 <= start <= end <= len(_passage(chunk))
                spans += start < end
    assert spans > 100


def test_spans_of_relevance_are_inside_the_text(document: Any) -> None:
    """A span of relevance is inside the chunk or statement that was judged."""
    spans = [
        (sample, piece)
        for sample, piece in _pieces(document)
        if piece.get("label") in ("yes", "no") and "span" in piece
    ]
    assert spans
    for sample, piece in spans:
        start, end = piece["span"]
        assert 0 <= start <= end <= len(_text(sample, piece["field"]))


def test_judgments_are_in_the_store(run: rg.Run, document: Any) -> None:
    """Every judgment that evidence names is in the store, with the same text and answer."""
    named = {piece["judgment"]: piece for _, piece in _pieces(document) if "judgment" in piece}
    found = run.store.find(list(named))
    assert set(found) == set(named)
    assert len(named) > 300
    for key, piece in named.items():
        answer, question = found[key].answer, found[key].question
        assert isinstance(answer, Verdict)
        assert answer.label == piece["label"]
        judged = {"entail": "hypothesis", "correct": "response"}.get(question.kind, "text")
        assert piece["text"] == getattr(question, judged)


def test_missing_values_are_null(tmp_path: Path) -> None:
    """A run in which one sample has nothing to count and another fails is written without NaN, with the reasons."""

    def entail(premise: str, hypothesis: str) -> str:
        raise ValueError("no line")

    rows = [
        {"query": "q", "response": "", "contexts": ["a"], "metadata": {"x": float("nan"), "y": float("inf")}},
        {"query": "q", "response": "a", "contexts": ["a"]},
    ]
    judge = rg.judge_from(decompose=lambda text: [text], entail=entail)
    run = rg.evaluate(rows, "faithfulness,pooled(faithfulness)", judge)
    document = _loaded(run.save(tmp_path / "run.json").read_text(encoding="utf-8"))
    Validator(document)
    none, fails = (sample["scores"]["faithfulness"] for sample in document["samples"])
    assert none == {"undefined": "the response makes no claim", "evidence": []}
    assert fails["failed"] == "judge_error: entail() raised ValueError: no line"
    assert document["estimates"]["faithfulness"] == {
        **dict.fromkeys(("value", "low", "high")), "n": 0, "undefined": 1, "failed": 1,
        "method": document["estimates"]["faithfulness"]["method"], "confidence": 0.95,
        "better": "higher", "over": "samples", "scale": [0.0, 1.0], "counts": None, "judge_error": None,
    }  # fmt: skip


def test_grades_and_rationales_are_shown(tmp_path: Path) -> None:
    """A grade is in the evidence with the judge's rationale; a verdict with that of each chunk."""

    class Talkative:
        identity, answers = rg.judge_from(rate=len).identity, frozenset({"rate", "entail", "decompose"})

        async def answer(self, questions: Any) -> Any:
            return [_reply(question) for question in questions]

    def _reply(question: Any) -> Any:
        match type(question).__name__:
            case "Rate":
                return rg.types.Grade(4, "well put")
            case "Entail":
                chunks = (ChunkVerdict(Label.ENTAILED, 0.9, (0, 1)), ChunkVerdict(Label.CONTRADICTED))
                return Verdict(Label.NEUTRAL, 0.25, chunks, rationale="they disagree")
            case _:
                from ragauge.types import Decomposition

                return Decomposition((rg.types.Statement("a", (0, 1)),))

    row = {"id": "x", "query": "q", "source_text": "ab", "response": "a", "contexts": ["a", "b"]}
    run = rg.evaluate([row], "summary_coherence,faithfulness", Talkative())
    document = _loaded(json.dumps(run.to_dict(), allow_nan=False))
    Validator(document)
    scores = document["samples"][0]["scores"]
    (graded,) = scores["summary_coherence"]["evidence"]
    (judged,) = scores["faithfulness"]["evidence"]
    assert (graded["value"], graded["rationale"], graded["against"]) == (4, "well put", "coherence")
    assert (judged["label"], judged["probability"], judged["rationale"]) == ("neutral", 0.25, "they disagree")
    assert judged["chunks"] == [
        {"chunk": "1", "label": "entailed", "probability": 0.9, "span": [0, 1]},
        {"chunk": "2", "label": "contradicted"},
    ]
