"""Questions of ours are test sets of ragas and DeepEval."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pytest

import ragauge as rg
from ragauge.compat import NotOffered
from ragauge.compat.deepeval_dataset import EvaluationDataset
from ragauge.compat.ragas import EvaluationDataset as RagasDataset
from ragauge.datasets import questions

TEXTS = [f"The ferry to {town} costs {6 + n} crowns in summer." for n, town in enumerate(("Alva", "Esk", "Hythe"))]


class Model:
    """Writes about the first passage, and reads the documents that name the town of a question."""

    model_name = "writer"

    def __call__(self, messages: list[dict[str, str]]) -> str:
        """The reply to one call."""
        document = json.loads(messages[1]["content"])
        if "passages" in document:
            text = document["passages"]["1"].splitlines()[-1]
            return json.dumps({"question": f"What does the ferry to {text.split()[3]} cost?", "answer": text})
        texts = [text["text"] for text in document.get("documents", {}).values()]
        told = [text for text in texts if text.split()[3] in document["question"]]
        return json.dumps({"answer": next(iter(told), "I do not know.")})


@pytest.fixture
def judge() -> rg.Judge:
    """A text entails what it holds; a passage helps where it names the town."""
    return rg.judge_from(
        decompose=lambda text: [text],
        entail=lambda premise, hypothesis: hypothesis in premise,
        relevant=lambda query, text: any(town in query and town in text for town in ("Alva", "Esk", "Hythe")),
        correct=lambda response, references: response in references,
        name="words",
    )


def test_questions_are_a_data_set_of_ragas(judge: rg.Judge) -> None:
    """The samples have the columns of ragas, and documents of LangChain are a corpus as they are."""
    documents = pytest.importorskip("langchain_core.documents")
    read = [documents.Document(page_content=text, metadata={"source": "a.txt"}) for text in TEXTS]
    made = questions(read, Model(), n=3, kinds=["single"], judge=judge)
    rows = RagasDataset(made.samples).to_list()
    assert sorted(row["reference"] for row in rows) == sorted(TEXTS)
    assert all(row["reference_contexts"] == [row["reference"]] for row in rows)


def test_questions_are_goldens_of_deepeval(tmp_path: Path, judge: rg.Judge) -> None:
    """A file that `ragauge dataset questions` writes holds goldens for DeepEval's data set."""
    made = questions(TEXTS, Model(), n=2, kinds=["single"], judge=judge)
    made.save(tmp_path / "tests.jsonl")
    dataset = EvaluationDataset()
    dataset.add_goldens_from_jsonl_file(tmp_path / "tests.jsonl")
    assert [golden.expected_output for golden in dataset.goldens] == [
        sample.references[0] for sample in made.samples if sample.references
    ]


@pytest.mark.parametrize("module", ["ragas.testset", "ragas.testset.graph", "deepeval.synthesizer"])
def test_what_makes_test_sets_says_what_does_here(module: str) -> None:
    """The generators of both systems are an error with advice."""
    with pytest.raises(NotOffered, match=r"ragauge\.datasets\.questions"):
        _ = import_module(f"ragauge.compat.{module}").Generator
