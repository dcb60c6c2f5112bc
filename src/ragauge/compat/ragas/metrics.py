"""ragas' metrics under its names, as instances and as classes; docs/metrics.md defines the metrics behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import nan
from typing import Any

import ragauge as rg
from ragauge.compat import BadInput

#: Our fields -> the columns of ragas.
_COLUMNS = {"query": "user_input", "contexts": "retrieved_contexts", "response": "response", "references": "reference"}


@dataclass(kw_only=True)
class SingleTurnSample:
    """A question with its contexts, response and reference. Raises BadInput for a value that is not text."""

    user_input: str | None = None
    retrieved_contexts: list[str] | None = None
    reference_contexts: list[str] | None = None
    response: str | None = None
    reference: str | None = None

    def __post_init__(self) -> None:
        for column in ("user_input", "response", "reference"):
            if not isinstance(value := getattr(self, column), str | None):
                raise BadInput(f"{column} must be one text, not {value!r:.80}")

    def to_dict(self) -> dict[str, Any]:
        """The columns that are not None."""
        return {column: value for column, value in vars(self).items() if value is not None}


class Metric:
    """A metric of ragas.

    Each class has the attributes ours, the value of our metrics behind it; nothing, ragas' value where ours is
    undefined; and differs, whether ragas computes another number, which the class then explains.

    Args:
        llm: its judge, in place of that of `evaluate`.
        judge: another judge of entailment, which checks the claims.
        name: the name of its scores.
    """

    name = ours = mode = ""
    nothing, differs = nan, False
    entail: Any = None

    def __init_subclass__(cls, **attributes: Any) -> None:
        for attribute, value in attributes.items():
            setattr(cls, attribute, value)

    def __init__(self, *, llm: Any = None, judge: Any = None, name: str | None = None, **idle: Any) -> None:
        if unknown := idle.keys() - {"embeddings", "max_retries", "device", "batch_size"}:  # which change nothing
            raise BadInput(f"{self.name} has no argument {min(unknown)!r}")
        self.llm, self.entail, self.name = llm, judge or self.entail, name or self.name
        self.key = f"{self.name}(mode={self.mode})" if self.mode else self.name
        self.measure, self._score = rg.value_of(self.ours)
        self.columns = [_COLUMNS[field] for need in self.measure.needs for field in need.reads]

    def judge(self, llm: Any) -> Any:
        """The judge, where `evaluate` was called with `llm`."""
        judge = llm if self.llm is None else self.llm
        judge = getattr(judge, "langchain_llm", "embedded" if judge is None else judge)  # which ragas wraps
        if self.entail is None:
            return judge
        return {**(judge if isinstance(judge, Mapping) else {"*": judge}), "entail": self.entail}

    def value(self, scores: Mapping[str, rg.Score], sample: SingleTurnSample) -> float:
        """The value of a sample, NaN where there is none. scores: its scores in a run of `measure`."""
        score = scores[self._score]
        if score.value is not None:
            return self.counted(score.value, score.counts)
        complete = None not in [getattr(sample, column) for column in self.columns]
        return self.nothing if complete and score.failed is None else nan

    def counted(self, value: float, counts: Sequence[float]) -> float:
        """ragas' value, from ours and the counts behind it."""
        return value

    async def single_turn_ascore(self, sample: SingleTurnSample, callbacks: Any = None) -> float:
        """The value of one sample. Raises RunFailed where the judge has no answer."""
        return self.value(await rg.score_async(sample, [self.measure], self.judge(None), strict=True), sample)

    single_turn_score = rg.blocking(single_turn_ascore, "single_turn_score")


class Faithfulness(Metric, name="faithfulness", ours="faithfulness"):
    """Share of the response's claims that the contexts entail; NaN without a claim."""


class FaithulnesswithHHEM(Faithfulness, name="faithfulness_with_hhem"):
    """Faithfulness for which the llm finds the claims, and HHEM-2.1-Open checks them.

    judge: another judge of entailment, or a folder that holds HHEM: "hf/./FOLDER?device=cuda".
    """

    entail = "hf/vectara/hallucination_evaluation_model"


class AnswerRelevancy(Metric, name="answer_relevancy", ours="answer_relevance", differs=True):
    """Share of the response's statements that are relevant to the query; ragas' is a mean cosine of embeddings."""


class ContextPrecision(Metric, name="context_precision", ours="context_precision", nothing=0.0):
    """Mean of precision@k over the ranks k of contexts that are useful for the reference; 0 without contexts."""


class ContextUtilization(Metric, name="context_utilization", ours="context_precision(against=response)", nothing=0.0):
    """Context precision with the response in place of the reference; ours of this name is another, RAGChecker's."""


class ContextRecall(Metric, name="context_recall", ours="context_recall"):
    """Share of the reference's statements that the contexts entail; NaN without a statement."""


class NoiseSensitivity(Metric, name="noise_sensitivity"):
    """Share of the response's claims that are wrong and from a relevant context, or only from others ("irrelevant")."""

    def __init__(self, *, mode: str = "relevant", **given: Any) -> None:
        self.mode, self.ours = mode, f"noise_sensitivity.{mode}"
        super().__init__(**given)


class FactualCorrectness(Metric, name="factual_correctness", ours="answer_correctness"):
    """The response's claims against the reference and the reverse, to two decimals; 0 without claims.

    tp, fp: response claims that the reference supports or not; fn: reference claims that the response lacks.
    mode: "precision" tp / (tp + fp), "recall" tp / (tp + fn), or "f1", in which recall weighs `beta` times as much.
    """

    def __init__(self, *, mode: str = "f1", beta: float = 1.0, **given: Any) -> None:
        if mode not in ("f1", "precision", "recall"):
            raise rg.UnknownName("mode of factual_correctness", mode, ["f1", "precision", "recall"])
        self.mode, self.beta = mode, beta
        super().__init__(**given)

    def counted(self, value: float, counts: Sequence[float]) -> float:
        """The value of the mode."""
        (tp, fp, fn), weight = counts, self.beta**2
        whole = {"precision": tp + fp, "recall": tp + fn, "f1": tp + (weight * fn + fp) / (1 + weight)}[self.mode]
        return round(100 * tp / whole) / 100 if tp else 0.0


class AnswerCorrectness(Metric, name="answer_correctness", ours="answer_correctness"):
    """F1 of the statements; ragas', without weights=[1, 0], is its mean with a cosine of embeddings."""

    def __init__(self, *, weights: Sequence[float] = (0.75, 0.25), **given: Any) -> None:
        super().__init__(**given)
        self.differs = weights[1] > 0


class RougeScore(Metric, name="rouge_score", mode="fmeasure"):
    """ROUGE F-measure with Porter's stemmer. rouge_type: "rougeL" or "rouge1"."""

    def __init__(self, *, rouge_type: str = "rougeL", **given: Any) -> None:
        self.ours = f"rouge(types={rouge_type},stemmer=true).{rouge_type}"
        super().__init__(**given)


class ChrfScore(Metric, name="chrf_score", ours="chrf"):
    """Character n-gram F-score, as in sacreBLEU."""


FaithfulnesswithHHEM, LLMContextRecall, ResponseRelevancy = FaithulnesswithHHEM, ContextRecall, AnswerRelevancy
LLMContextPrecisionWithReference = partial(ContextPrecision, name="llm_context_precision_with_reference")
LLMContextPrecisionWithoutReference = partial(ContextUtilization, name="llm_context_precision_without_reference")

faithfulness, answer_relevancy, answer_correctness = Faithfulness(), AnswerRelevancy(), AnswerCorrectness()
context_precision, context_recall, context_utilization = ContextPrecision(), ContextRecall(), ContextUtilization()
