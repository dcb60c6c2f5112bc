"""ragas' TestsetGenerator and DeepEval's Synthesizer: questions about documents, of which only the proven are kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ragauge as rg
from ragauge.compat import BadInput
from ragauge.compat.deepeval_dataset import EvaluationDataset as GoldenSet
from ragauge.compat.deepeval_dataset import Golden, case_of
from ragauge.compat.ragas.samples import EvaluationDataset
from ragauge.datasets import QuestionSet, questions, read_corpus
from ragauge.host import optional

#: The kinds that both systems have: questions on one passage, and on two.
_KINDS = ("single", "bridge", "comparison")

#: Arguments of either system without effect here.
_IDLE = """transforms transforms_llm transforms_embedding_model run_config callbacks token_usage_parser raise_exceptions
    with_debugging_logs include_expected_output context_construction_config source_files""".split()


def _made(documents: Any, model: Any, n: int, options: dict[str, Any]) -> QuestionSet:
    """The questions; arguments that neither system nor `questions` has raise a TypeError."""
    if "query_distribution" in options:
        raise BadInput("query_distribution has no effect; give kinds, such as kinds=['single', 'bridge']")
    chosen = {"kinds": _KINDS, **{name: value for name, value in options.items() if name not in _IDLE}}
    return questions(documents, model, n=n, **chosen)


class Testset(list[rg.Sample]):
    """Test questions. made: with the reasons for those that were dropped."""

    def __init__(self, made: QuestionSet) -> None:
        super().__init__(made.samples)
        self.made = made

    samples = property(list, doc="The questions as a plain list.")

    def to_evaluation_dataset(self) -> EvaluationDataset:
        """The questions as `evaluate` takes them, once they have responses."""
        return EvaluationDataset(list(self))

    def to_list(self) -> list[dict[str, Any]]:
        """A row for each: user_input, reference_contexts, reference, and its kind as synthesizer_name."""
        rows = zip(self.to_evaluation_dataset().to_list(), self, strict=True)
        return [{**row, "synthesizer_name": sample.metadata["kind"]} for row, sample in rows]

    def to_pandas(self) -> Any:
        """A frame of the rows. Raises MissingExtra where pandas is not installed."""
        return optional("to_pandas()", "pandas", "pandas").DataFrame(self.to_list())


class TestsetGenerator:
    """Has a model write questions about documents.

    Args:
        llm: as for `rg.llm`, or a model of LangChain or LlamaIndex; it proves the questions too, unless judge= is given
            where they are made.
        idle: embeddings, graphs and personas are accepted without effect.
    """

    def __init__(self, llm: Any, *_: Any, **idle: Any) -> None:
        self._llm = llm

    @classmethod
    def from_langchain(cls, llm: Any, *idle: Any, **more: Any) -> TestsetGenerator:
        """The same."""
        return cls(llm, *idle, **more)

    from_llama_index = from_langchain

    def generate_with_langchain_docs(self, documents: Iterable[Any], testset_size: int, **options: Any) -> Testset:
        """Questions about documents.

        Args:
            documents: of LangChain or LlamaIndex, texts, or dicts with a text.
            testset_size: how many questions, fewer where no more can be proven.
            options: of `ragauge.datasets.questions`, such as kinds=["single"] in place of a query_distribution.

        Raises BadInput for a query_distribution, TypeError for an unknown argument, and what `questions` raises.
        """
        return Testset(_made(list(documents), self._llm, testset_size, options))

    generate_with_llamaindex_docs = generate_with_chunks = generate_with_langchain_docs


@dataclass
class Synthesizer:
    """Has a model write goldens about documents.

    model: as for `rg.llm`. synthetic_goldens: all that were made. idle: further arguments have no effect.
    """

    model: Any = None
    synthetic_goldens: list[Golden] = field(default_factory=list)

    def generate_goldens_from_docs(
        self, document_paths: Sequence[str | Path], max_goldens_per_context: int = 2, **options: Any
    ) -> list[Golden]:
        """Goldens about files or folders, as many for each three passages of a document at most.

        Raises what `ragauge.datasets.questions` raises, whose options are taken.
        """
        passages = [passage for path in document_paths for passage in read_corpus(path).passages]
        return self._goldens(passages, min(3 * len(document_paths), len(passages)) * max_goldens_per_context, options)

    def generate_goldens_from_contexts(
        self, contexts: Sequence[Sequence[str]], max_goldens_per_context: int = 2, **options: Any
    ) -> list[Golden]:
        """Goldens about texts. Raises what `ragauge.datasets.questions` raises, whose options are taken."""
        texts = [text for context in contexts for text in context]
        return self._goldens(texts, len(contexts) * max_goldens_per_context, options)

    def _goldens(self, documents: Sequence[Any], n: int, options: dict[str, Any]) -> list[Golden]:
        made = []
        for sample in _made(documents, self.model or "openai/gpt-4.1", n, options).samples:
            golden = case_of(Golden, sample)
            golden.source_file = (sample.reference_contexts or ())[0].id.partition("#")[0]
            golden.custom_column_key_values = {"kind": sample.metadata["kind"]}
            made.append(golden)
        self.synthetic_goldens += made
        return made

    def save_as(self, file_type: str, directory: str | Path, file_name: str = "goldens", **_: Any) -> str:
        """Write the goldens as "json" or "jsonl"; returns the path."""
        return GoldenSet(self.synthetic_goldens).save_as(file_type, directory, file_name)
