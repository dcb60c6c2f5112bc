"""Files that other systems wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragauge.readers import read


@pytest.mark.shared
def test_valor_rag_file(shared: Path) -> None:
    """Valor's RAG outputs: fifty rows, contexts in JSON and in Python spelling, and fragments as references."""
    reading = read(shared / "data/valor/valor_rag_data.csv")
    samples = list(reading)
    assert reading.columns == {
        "query": "query",
        "response": "prediction",
        "contexts": "context_list",
        "references": "groundtruth",
    }
    assert len(samples) == 50
    assert {len(sample.contexts or ()) for sample in samples} == {2}
    assert (samples[1].references, samples[1].response) == (("give birth",), "Otters give birth.")
    assert all(not chunk.text.startswith(("[", "'", '"[')) for sample in samples for chunk in sample.contexts or ())


@pytest.mark.shared
def test_valor_summaries(shared: Path) -> None:
    """Valor's summaries: `text` is what was summarised."""
    samples = list(read(shared / "data/valor/valor_summarization_data.csv"))
    assert len(samples) == 50
    assert all(sample.source and sample.response and sample.references and not sample.query for sample in samples)
    assert all(not sample.metadata for sample in samples)


@pytest.mark.shared
def test_valor_content_generation(shared: Path) -> None:
    """Valor's generated texts: three queries with predictions, line breaks within cells kept."""
    samples = list(read(shared / "data/valor/valor_content_generation_data.csv"))
    assert len(samples) == 3
    assert all("\n" in (sample.response or "") for sample in samples)


@pytest.mark.shared
def test_dataworkz_results(shared: Path) -> None:
    """The Dataworkz result file: a hundred rows under their own ids, golden contexts, and 17 columns of metadata."""
    reading = read(shared / "data/dataworkz/apple10k_evaluation_result.csv")
    samples = list(reading)
    assert len(samples) == len({sample.id for sample in samples}) == 100
    assert samples[0].id == "18"
    assert len(reading.unused) == 17
    assert samples[0].metadata["LLM F1"] == "0.0000"
    assert all(len(sample.reference_contexts or ()) == 1 and sample.contexts is None for sample in samples)


@pytest.mark.parametrize("name", ["trust_eval_block.json", "trust_eval_evalfile.json"])
def test_trust_eval_files(golden: Path, name: str) -> None:
    """Both file formats of Trust-Eval: gold claims and labelled documents."""
    samples = list(read(golden / "systems" / name))
    assert len(samples) == 6
    assert samples[0].answers == (("Claim says F1",),)
    assert all(len(sample.contexts or ()) == 5 for sample in samples)
    first = (samples[0].contexts or ())[0]
    assert (first.title, first.text, first.id, first.metadata) == ("T1", "Text F1 body.", "1", {"answers_found": [1]})
