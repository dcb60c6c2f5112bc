"""ragas' TestsetGenerator and DeepEval's Synthesizer make questions that are proven, in their systems' forms."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import ragauge as rg
from ragauge.compat import NotOffered
from ragauge.compat.deepeval_dataset import EvaluationDataset
from ragauge.compat.ragas import testset as ragas

Synthesizer = import_module("ragauge.compat.deepeval.synthesizer").Synthesizer

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


def test_a_generator_makes_rows_as_ragas_has_them(judge: rg.Judge) -> None:
    """Documents in, rows with user_input, reference and reference_contexts out, which evaluate() takes."""
    documents: list[Any] = [{"text": text} for text in TEXTS]
    generator = ragas.TestsetGenerator(llm=Model(), embedding_model=None)
    testset = generator.generate_with_langchain_docs(documents, testset_size=3, kinds=["single"], judge=judge)
    rows = testset.to_list()
    assert sorted(row["reference"] for row in rows) == sorted(TEXTS)
    assert {row["synthesizer_name"] for row in rows} == {"single"}
    assert all(row["reference_contexts"] == [row["reference"]] for row in rows)
    assert len(testset.to_evaluation_dataset()) == len(testset.samples) == 3
    pandas = pytest.importorskip("pandas")
    assert isinstance(testset.to_pandas(), pandas.DataFrame)


def test_documents_of_langchain_are_read(judge: rg.Judge) -> None:
    """Documents of LangChain are a corpus as they are."""
    documents = pytest.importorskip("langchain_core.documents")
    made = [documents.Document(page_content=text, metadata={"source": "a.txt"}) for text in TEXTS]
    generator = ragas.TestsetGenerator.from_langchain(Model(), None)
    testset = generator.generate_with_langchain_docs(made, 2, kinds=["single"], judge=judge)
    assert len(testset.samples) == 2


def test_a_synthesizer_makes_goldens(tmp_path: Path, judge: rg.Judge) -> None:
    """Files in, goldens out, which DeepEval's data set writes and reads again, as it reads our own file."""
    for number, text in enumerate(TEXTS):
        (tmp_path / f"{number}.txt").write_text(text)
    synthesizer = Synthesizer(model=Model())
    paths = [tmp_path / f"{number}.txt" for number in range(3)]
    goldens = synthesizer.generate_goldens_from_docs(paths, include_expected_output=True, kinds=["single"], judge=judge)
    assert sorted(golden.expected_output or "" for golden in goldens) == sorted(TEXTS)
    assert {golden.source_file for golden in goldens} == {"0.txt", "1.txt", "2.txt"}
    written = synthesizer.save_as("json", tmp_path / "out")
    dataset = EvaluationDataset()
    dataset.add_goldens_from_json_file(written)
    assert [golden.input for golden in dataset.goldens] == [golden.input for golden in goldens]
    of_contexts = Synthesizer(Model()).generate_goldens_from_contexts([TEXTS[:1]], 1, kinds=["single"], judge=judge)
    assert [golden.context for golden in of_contexts] == [[TEXTS[0]]]


def test_goldens_and_test_sets_of_ours_are_read(tmp_path: Path, judge: rg.Judge) -> None:
    """A file that `ragauge dataset questions` writes holds goldens for DeepEval's data set."""
    made = ragas.TestsetGenerator(Model()).generate_with_chunks(TEXTS, 2, kinds=["single"], judge=judge).made
    made.save(tmp_path / "tests.jsonl")
    dataset = EvaluationDataset()
    dataset.add_goldens_from_jsonl_file(tmp_path / "tests.jsonl")
    assert [golden.expected_output for golden in dataset.goldens] == [
        one.references[0] for one in made.samples if one.references
    ]


def test_what_is_not_offered_says_what_is(judge: rg.Judge) -> None:
    """Graphs and distributions are an error with advice, and an unknown argument is an error."""
    with pytest.raises(NotOffered, match=r"docs/test-sets\.md"):
        _ = import_module("ragauge.compat.ragas.testset.graph").KnowledgeGraph
    for name, message in {"query_distribution": "give kinds", "personas": "unexpected keyword"}.items():
        with pytest.raises(TypeError, match=message):
            ragas.TestsetGenerator(Model()).generate_with_langchain_docs(TEXTS, 2, judge=judge, **{name: []})
