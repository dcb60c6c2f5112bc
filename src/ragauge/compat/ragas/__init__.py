"""ragas 0.4 and 0.1: change `ragas` to `ragauge.compat.ragas` in imports; docs/migrating/ragas.md."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import isawaitable
from math import isnan, nan
from statistics import fmean
from typing import Any

import ragauge as rg
from ragauge.compat import BadInput as BadInput
from ragauge.compat import Idle, open_modules, runs_of
from ragauge.compat.ragas import metrics as named
from ragauge.compat.ragas.samples import NO_IDS
from ragauge.compat.ragas.samples import EvaluationDataset as EvaluationDataset
from ragauge.compat.ragas.samples import SingleTurnSample as SingleTurnSample
from ragauge.host import optional

open_modules("ragas")

#: Arguments of ragas' `evaluate` without effect here.
_IDLE = "callbacks run_config token_usage_parser show_progress batch_size allow_nest_asyncio in_ci".split()


def __getattr__(name: str) -> Any:
    """The metrics and samples, which ragas has in this module too."""
    return getattr(named, name)


def llm_factory(
    model: str,
    provider: str = "openai",
    client: Any = None,
    adapter: str = "auto",  # noqa: ARG001 - its place in ragas
    **options: Any,
) -> Any:
    """A judge that asks a model.

    Args:
        model: the name of the model.
        provider: whose it is, as in `rg.llm`; "google" is Gemini.
        client: a client of the provider's library, which instructor must know, or of instructor; without one the key
            is in the environment.
        adapter: accepted without effect.
        options: of the calls, such as temperature=.

    Raises:
        MissingExtra: a client is given, and instructor is not installed.
    """
    if client is None:
        return rg.llm(f"{'gemini' if provider == 'google' else provider}/{model}", **options)
    if not hasattr(client, "create"):
        instructor = optional("llm_factory(client=...)", "instructor", "instructor")
        client = getattr(instructor, f"from_{'genai' if provider == 'google' else provider}")(client)
    return rg.llm(client, model=model, **options)


def LangchainLLMWrapper(model: Any, *_: Any, **__: Any) -> Any:  # noqa: N802 - a class of ragas
    """The model itself, of LangChain or LlamaIndex: a judge, or embeddings."""
    return model


LlamaIndexLLMWrapper = LangchainEmbeddingsWrapper = LlamaIndexEmbeddingsWrapper = LangchainLLMWrapper
RunConfig = Idle


class OpenAIEmbeddings:
    """Embeddings by a client with `embeddings.create`, sync or async; without a client only metrics take them."""

    def __init__(self, client: Any = None, model: str = "text-embedding-3-small", **_: Any) -> None:
        self.client, self.model = client, model

    async def aembed_texts(self, texts: list[str]) -> list[list[float]]:
        """A vector for each text. Raises BadInput without a client."""
        if self.client is None:
            raise BadInput("embeddings need a client, as in embedding_factory('openai', client=OpenAI())")
        reply = self.client.embeddings.create(model=self.model, input=list(texts))
        return [piece.embedding for piece in (await reply if isawaitable(reply) else reply).data]

    embed_texts = embed_documents = rg.blocking(aembed_texts, "embed_texts", shared=True)


HuggingFaceEmbeddings = HuggingfaceEmbeddings = OpenAIEmbeddings


def embedding_factory(
    provider: str = "openai",  # noqa: ARG001 - the client knows its provider
    model: str = "text-embedding-3-small",
    run_config: Any = None,  # noqa: ARG001 - its place in ragas
    client: Any = None,
    **_: Any,
) -> OpenAIEmbeddings:
    """Embeddings by a client; see `OpenAIEmbeddings`."""
    return OpenAIEmbeddings(client, model)


@dataclass(repr=False)
class EvaluationResult:
    """scores: metric -> value for each sample, NaN where there is none. runs: by metric; those of a judge share one."""

    scores: list[dict[str, float]]
    dataset: EvaluationDataset
    runs: dict[str, rg.Run]

    def __getitem__(self, metric: str) -> list[float]:
        return [scores[metric] for scores in self.scores]

    @property
    def run(self) -> rg.Run:
        """The run of the first metric, with the evidence behind its scores and the reasons for missing ones."""
        return next(iter(self.runs.values()))

    @property
    def means(self) -> dict[str, float]:
        """The mean of each metric over the samples with a value, whose number is in `run.estimates`."""
        values = {metric: [value for value in self[metric] if not isnan(value)] for metric in self.runs}
        return {metric: fmean(scores) if scores else nan for metric, scores in values.items()}

    def to_pandas(self) -> Any:
        """A frame with a row for each sample: its columns, then its scores. Raises MissingExtra without pandas."""
        return self.dataset.to_pandas().assign(**{metric: self[metric] for metric in self.runs})

    def __repr__(self) -> str:
        return "{" + ", ".join(f"'{metric}': {mean:.4f}" for metric, mean in self.means.items()) + "}"


async def aevaluate(
    dataset: Any,
    metrics: Sequence[named.Metric] | None = None,
    llm: Any = None,
    embeddings: Any = None,  # noqa: ARG001 - its place in ragas
    experiment_name: str | None = None,
    *,
    raise_exceptions: bool = False,
    column_map: Mapping[str, str] | None = None,
    store: Any = None,
    **idle: Any,
) -> EvaluationResult:
    """Evaluate a data set, with a warning for each metric that ragas defines differently.

    `evaluate` is the same without await, in scripts, in notebooks and inside a running event loop.

    Args:
        dataset: see EvaluationDataset.
        metrics: ragas' default four unless given.
        llm: a chat model of LangChain, or any judge of `rg.evaluate`, such as "openai/gpt-4o-mini"; by default the
            embedded judge, which calls no model.
        embeddings: accepted without effect, as are ragas' other arguments.
        experiment_name: the name of the run.
        raise_exceptions: raise RunFailed where a judge has no answer, instead of a score of NaN and a warning.
        column_map: see EvaluationDataset.
        store: the store for judgments and runs.

    Raises:
        BadInput: for an object that is not a metric, a missing column or an unknown argument.

    It also raises what `rg.read` and `rg.evaluate` raise.
    """
    if unknown := idle.keys() - set(_IDLE):
        raise BadInput(f"evaluate() has no argument {min(unknown)!r}")
    samples = EvaluationDataset(dataset, column_map)
    turns = [sample.turn() for sample in samples]
    chosen = _checked(metrics, turns)
    rows = [turn.row() for turn in turns]
    runs = await runs_of(
        rows, [(metric.measure, metric.judge(llm)) for metric in chosen], store, name=experiment_name or "", map=NO_IDS
    )
    for run in dict.fromkeys(runs):
        abstained = {
            name: score.undefined for scores in run.scores for name, score in scores.items() if score.abstained
        }
        for name, reason in {**abstained, **run.record.failures}.items():
            if raise_exceptions:
                raise rg.errors.RunFailed(f"{name}: {reason}")
            warnings.warn(f"{name} is NaN for some samples: {reason}", stacklevel=2)
    by_sample: list[dict[str, float]] = [{} for _ in samples]
    for metric, run in zip(chosen, runs, strict=True):
        for values, scores, turn in zip(by_sample, run.scores, turns, strict=True):
            values[metric.key] = metric.value(scores, turn)
    return EvaluationResult(by_sample, samples, {metric.key: run for metric, run in zip(chosen, runs, strict=True)})


evaluate = rg.blocking(aevaluate, "evaluate")


def _checked(metrics: Sequence[named.Metric] | None, samples: list[SingleTurnSample]) -> Sequence[named.Metric]:
    if metrics is None:
        metrics = [named.answer_relevancy, named.context_precision, named.faithfulness, named.context_recall]
    listed = isinstance(metrics, list | tuple) and all(isinstance(metric, named.Metric) for metric in metrics)
    if not listed or not metrics:
        raise BadInput("metrics must be a list of objects, such as metrics=[faithfulness, NoiseSensitivity()]")
    metrics = [metric.on(samples) for metric in metrics]
    for metric in metrics:
        for column in metric.columns:
            if all(getattr(sample, column) is None for sample in samples):
                raise BadInput(f"{metric.name} needs {column}; no row has any; try column_map={{{column!r}: NAME}}")
        if metric.differs:
            warnings.warn(f"{metric.name} is not ragas': {metric.__doc__}", stacklevel=2)
    return metrics
