"""ragas 0.4 and 0.1: change `ragas` to `ragauge.compat.ragas` in imports; docs/migrating/ragas.md."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from statistics import fmean
from typing import Any

import ragauge as rg
from ragauge.compat import BadInput as BadInput
from ragauge.compat.ragas import metrics as named
from ragauge.compat.ragas.metrics import SingleTurnSample as SingleTurnSample

#: Columns of ragas, current ones and those of 0.1 -> our fields; and our fields without a column in ragas.
_FIELDS = {"user_input": "query", "retrieved_contexts": "contexts", "reference": "references"}
_FIELDS |= {"question": "query", "answer": "response", "ground_truth": "references", "ground_truths": "references"}
_UNKNOWN = ("id", "source", "answers", "answerable", "system", "group")

#: Arguments of ragas' `evaluate` without effect here.
_IDLE = "callbacks run_config token_usage_parser show_progress batch_size allow_nest_asyncio in_ci".split()


def __getattr__(name: str) -> Any:
    """The metrics, which ragas has in this module too."""
    return getattr(named, name)


class EvaluationDataset(list[SingleTurnSample]):
    """Samples to be evaluated.

    Args:
        samples: anything that `rg.read` takes, such as `SingleTurnSample`s (also those of ragas), dicts, a
            `datasets.Dataset` or a frame, with the columns of any version of ragas.
        column_map: name -> the column in its place.

    Raises what `rg.read` raises.
    """

    def __init__(self, samples: Any, column_map: Mapping[str, str] | None = None) -> None:
        mapped = {_FIELDS.get(name, name): column for name, column in (column_map or {}).items()}
        super().__init__(map(_sample, rg.read(samples, map={**dict.fromkeys(_UNKNOWN, ""), **mapped})))

    @classmethod
    def from_list(cls, data: Any) -> EvaluationDataset:
        """The data set of samples in any form that the class takes."""
        return cls(data)

    from_dict = from_pandas = from_hf_dataset = from_jsonl = from_list
    samples = property(list, doc="The samples as a plain list.")

    def to_list(self) -> list[dict[str, Any]]:
        """A dict for each sample, without values of None."""
        return [sample.to_dict() for sample in self]

    def to_pandas(self) -> Any:
        """A frame with a row for each sample. Raises MissingExtra where pandas is not installed."""
        try:
            import pandas
        except ImportError:
            raise rg.MissingExtra("to_pandas()", "pandas") from None
        return pandas.DataFrame(self.to_list())


def _sample(sample: rg.Sample) -> SingleTurnSample:
    """The sample as ragas has it, with the first of several references, as in ragas 0.1."""
    both = {"retrieved_contexts": sample.contexts, "reference_contexts": sample.reference_contexts}
    texts = {name: [chunk.passage for chunk in chunks] for name, chunks in both.items() if chunks is not None}
    reference = next(iter(sample.references or ()), None)
    return SingleTurnSample(user_input=sample.query, response=sample.response, reference=reference, **texts)


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
        return {metric: fmean(found) if found else nan for metric, found in values.items()}

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
    remaining = chosen = _checked(metrics, samples)
    opened = rg.Store.temporary() if store is None else store
    found = [{metric.key: nan for metric in chosen} for _ in samples]
    runs: dict[str, rg.Run] = {}
    while remaining:
        judge = remaining[0].judge(llm)
        group = [metric for metric in remaining if metric.judge(llm) == judge]
        remaining = [metric for metric in remaining if metric not in group]
        run = await rg.evaluate_async(
            samples, [one.measure for one in group], judge, opened, name=experiment_name or ""
        )
        for metric, reason in run.record.failures.items():
            if raise_exceptions:
                raise rg.RunFailed(f"{metric}: {reason}")
            warnings.warn(f"{metric} is NaN for some samples: {reason}", stacklevel=2)
        for values, scores, sample in zip(found, run.scores, samples, strict=True):
            values |= {metric.key: metric.value(scores, sample) for metric in group}
        runs |= {metric.key: run for metric in group}
    return EvaluationResult(found, samples, {metric.key: runs[metric.key] for metric in chosen})


evaluate = rg.blocking(aevaluate, "evaluate")


def _checked(metrics: Sequence[named.Metric] | None, samples: EvaluationDataset) -> Sequence[named.Metric]:
    if metrics is None:
        metrics = [named.answer_relevancy, named.context_precision, named.faithfulness, named.context_recall]
    listed = isinstance(metrics, list | tuple) and all(isinstance(one, named.Metric) for one in metrics)
    if not listed or not metrics:
        raise BadInput("metrics must be a list of objects, such as metrics=[faithfulness, NoiseSensitivity()]")
    for metric in metrics:
        for column in metric.columns:
            if all(getattr(sample, column) is None for sample in samples):
                raise BadInput(f"{metric.name} needs {column}; no row has any; try column_map={{{column!r}: NAME}}")
        if metric.differs:
            warnings.warn(f"{metric.name} is not ragas': {metric.__doc__}", stacklevel=2)
    return metrics
