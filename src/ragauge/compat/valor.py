"""Valor 0.39: change `valor_lite.text_generation` to `ragauge.compat.valor` in imports; docs/migrating/valor.md."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import ragauge as rg
from ragauge.compat import BadInput as BadInput
from ragauge.compat import UndefinedScore as UndefinedScore
from ragauge.compat import open_modules

open_modules("valor")

SYSTEM_PROMPT = "You are a helpful assistant."
ROUGE_TYPES = ("rouge1", "rouge2", "rougeL", "rougeLsum")
BLEU_WEIGHTS = (0.25, 0.25, 0.25, 0.25)


class MetricType(str, Enum):  # noqa: UP042  # str() of it is Valor's, "MetricType.Bias"
    """The metrics; all but BLEU and ROUGE ask a model."""

    AnswerCorrectness = "AnswerCorrectness"
    AnswerRelevance = "AnswerRelevance"
    Bias = "Bias"
    BLEU = "BLEU"
    ContextPrecision = "ContextPrecision"
    ContextRecall = "ContextRecall"
    ContextRelevance = "ContextRelevance"
    Faithfulness = "Faithfulness"
    Hallucination = "Hallucination"
    ROUGE = "ROUGE"
    SummaryCoherence = "SummaryCoherence"
    Toxicity = "Toxicity"


#: Valor's metrics that ask a model, in the order of `compute_all` -> our names.
_OURS = {kind: re.sub("(?<=[a-z])(?=[A-Z])", "_", kind).lower() for kind in MetricType if kind not in ("BLEU", "ROUGE")}
#: Valor's values where ours are undefined.
_EMPTY = {"AnswerCorrectness": 0.0, "AnswerRelevance": 0.0, "ContextPrecision": 0.0, "Faithfulness": 1.0}


@dataclass
class Metric:
    """A value, or of type "Error" the reason for its absence. evidence: what is behind it, which `to_dict` omits."""

    type: str
    value: int | float | dict[str, Any]
    parameters: dict[str, Any]
    evidence: tuple[rg.scores.Evidence, ...] = field(default=(), repr=False, compare=False)

    def __post_init__(self) -> None:
        named = isinstance(self.parameters, dict) and all(isinstance(key, str) for key in self.parameters)
        if not (isinstance(self.type, str) and isinstance(self.value, int | float | dict) and named):
            raise BadInput(f"a metric has a text, a number or dict, and a dict with texts as keys; not {self!r:.200}")

    def to_dict(self) -> dict[str, Any]:
        """Type, value and parameters."""
        return {"type": self.type, "value": self.value, "parameters": self.parameters}


@dataclass
class Context:
    """Correct answers, and the contexts that were retrieved, best first."""

    groundtruth: list[str] = field(default_factory=list)
    prediction: list[str] = field(default_factory=list)


@dataclass
class QueryResponse:
    """A question and its answer, or a text and its summary."""

    query: str
    response: str
    context: Context | None = None


#: A model of one's own: from messages (dicts with "role" and "content") to text, with its name as `model_name`.
ClientWrapper = Callable[[list[dict[str, str]]], str]


class _Hosted:
    """A model of a provider. api_key: in place of the environment's."""

    provider: str

    def __init__(self, model_name: str, api_key: str | None = None, seed: int | None = None) -> None:
        self.model_name = model_name
        self.judge = rg.llm(f"{self.provider}/{model_name}", seed=seed, api_key=api_key)


OpenAIWrapper: type[_Hosted] = type("OpenAIWrapper", (_Hosted,), {"provider": "openai"})
MistralWrapper: type[_Hosted] = type("MistralWrapper", (_Hosted,), {"provider": "mistral"})


def _computes(kind: str, meaning: str) -> Callable[[Evaluator, QueryResponse], Metric]:
    """A method that computes one metric."""

    def compute(self: Evaluator, response: QueryResponse) -> Metric:
        metric = self._judged([MetricType(kind)], response)[MetricType(kind)]
        if isinstance(metric.value, dict) and metric.value["type"] == UndefinedScore.__name__:
            raise UndefinedScore(metric.value["message"])
        return metric

    compute.__doc__ = meaning
    return compute


class Evaluator:
    """Computes metrics of one response after the other.

    client: an `OpenAIWrapper` or `MistralWrapper`, a model of one's own (`ClientWrapper`), or what `rg.evaluate` takes
    for a judge, such as "embedded"; ROUGE and BLEU need none. retries: how often what got no usable reply is asked
    again before the metric is of type "Error". default_system_prompt: not sent. store: where judgments are kept.

    Methods raise BadInput for a response that lacks what they read, UnanswerableNeed for a judge that cannot judge what
    they ask, and RunFailed for one that cannot be reached.
    """

    def __init__(
        self, client: Any = None, retries: int = 0, default_system_prompt: str = SYSTEM_PROMPT, *, store: Any = None
    ) -> None:
        if retries < 0:
            raise BadInput(f"retries={retries} must be 0 or more")
        if default_system_prompt != SYSTEM_PROMPT:
            warnings.warn("default_system_prompt is not sent: judges have instructions of their own", stacklevel=2)
        self.client, self.retries, self.default_system_prompt = client, retries, default_system_prompt
        judge = client.judge if isinstance(client, _Hosted) else client
        self.judge, self.store = rg.llm(judge, concurrency=1) if callable(judge) else judge, store

    @classmethod
    def openai(
        cls,
        model_name: str = "gpt-3.5-turbo",
        api_key: str | None = None,
        retries: int = 0,
        seed: int | None = None,
        **settings: Any,
    ) -> Evaluator:
        """With a model of OpenAI. Raises BadInput for retries with a seed, which get the same reply."""
        if seed is not None and retries:
            raise BadInput("retries with a seed get the same reply; leave out one of the two")
        return cls(OpenAIWrapper(model_name, api_key, seed), retries, **settings)

    @classmethod
    def mistral(
        cls, model_name: str = "mistral-small-latest", api_key: str | None = None, retries: int = 0, **settings: Any
    ) -> Evaluator:
        """With a model of Mistral."""
        return cls(MistralWrapper(model_name, api_key), retries, **settings)

    compute_answer_correctness = _computes("AnswerCorrectness", "F1 of statements, the best over ground truths, or 0.")
    compute_answer_relevance = _computes("AnswerRelevance", "Share of statements relevant to the query, or 0.")
    compute_bias = _computes("Bias", "Share of the response's opinions that are biased, or 0.")
    compute_context_precision = _computes("ContextPrecision", "Mean precision at the ranks of useful contexts.")
    compute_context_recall = _computes("ContextRecall", "Share of a ground truth's statements that the contexts imply.")
    compute_context_relevance = _computes("ContextRelevance", "Share of contexts relevant to the query, or 0.")
    compute_faithfulness = _computes("Faithfulness", "Share of the response's claims that the contexts imply.")
    compute_hallucination = _computes("Hallucination", "Share of the contexts that the response contradicts.")
    compute_summary_coherence = _computes("SummaryCoherence", "How well the response sums up the query, from 1 to 5.")
    compute_toxicity = _computes("Toxicity", "Share of the response's opinions that are toxic, or 0.")

    @staticmethod
    def compute_rouge(
        response: QueryResponse, rouge_types: Sequence[str] = ROUGE_TYPES, use_stemmer: bool = False
    ) -> list[Metric]:
        """ROUGE F-measures: for each type a metric, the best over the ground truths."""
        scores = _overlap(MetricType.ROUGE, rg.metrics.rouge, response, rouge_types, use_stemmer).items()
        return [Metric(MetricType.ROUGE, value, {"rouge_type": t, "use_stemmer": use_stemmer}) for t, value in scores]

    @staticmethod
    def compute_sentence_bleu(response: QueryResponse, weights: Sequence[float] = BLEU_WEIGHTS) -> Metric:
        """Sentence BLEU; the ground truths clip jointly."""
        value = _overlap(MetricType.BLEU, rg.metrics.bleu, response, weights)
        return Metric(MetricType.BLEU, value, {"weights": list(weights)})

    def compute_all(
        self,
        response: QueryResponse,
        bleu_weights: Sequence[float] = BLEU_WEIGHTS,
        rouge_types: Sequence[str] = ROUGE_TYPES,
        rouge_use_stemmer: bool = False,
    ) -> dict[MetricType, list[Metric]]:
        """All metrics, from one run: what several of them need is asked once."""
        rouge = self.compute_rouge(response, rouge_types, rouge_use_stemmer)
        bleu = self.compute_sentence_bleu(response, bleu_weights)
        judged = self._judged(list(_OURS), response).items()
        return {kind: [metric] for kind, metric in judged} | {MetricType.ROUGE: rouge, MetricType.BLEU: [bleu]}

    def _judged(self, kinds: Sequence[MetricType], response: QueryResponse) -> dict[MetricType, Metric]:
        """Metrics that ask a model, which is asked nothing where the lists alone decide."""
        if self.client is None:
            raise BadInput(f"{kinds[0].value} asks a model; name one, as in Evaluator('openai/gpt-4o-mini')")
        sample = sample_of(response)
        settled = {_OURS[kind]: _settled(kind, response) for kind in kinds}
        scores = {name: rg.scores.Score(value) for name, value in settled.items() if value is not None}
        if asked := [name for name in settled if name not in scores]:
            scores |= rg.score(sample, asked, self.judge, self.store, attempts=1 + self.retries)
        return {kind: self._metric(kind, scores[_OURS[kind]]) for kind in kinds}

    def _metric(self, kind: MetricType, score: rg.scores.Score) -> Metric:
        name = getattr(self.client, "model_name", None) or getattr(self.client, "identity", self.client)
        parameters = {"evaluator": str(name), "retries": self.retries}
        value = score.value if score.is_unanswered or score.undefined is None else _EMPTY.get(kind)
        if value is None:
            fault = "InvalidLLMResponseError" if score.is_unanswered else UndefinedScore.__name__
            error = {"type": fault, "message": f"{kind.value}: {score.failed or score.undefined}"}
            return Metric("Error", error, parameters, score.evidence)
        return Metric(kind, int(value) if kind == "SummaryCoherence" else value, parameters, score.evidence)


def sample_of(response: QueryResponse, id: str = "1") -> rg.Sample:
    """A response as a sample for `rg.evaluate`. Raises BadInput for a value that is not text."""
    query, answer = _texts("[query, response]", [response.query, response.response])
    if (context := response.context) is None:
        return rg.Sample(id, query, answer, source=query)
    retrieved = enumerate(_texts("context.prediction", context.prediction), 1)
    chunks = tuple(rg.types.Chunk(text, str(number)) for number, text in retrieved)
    return rg.Sample(id, query, answer, chunks, _texts("context.groundtruth", context.groundtruth), query)


def _settled(kind: MetricType, response: QueryResponse) -> float | None:
    """The value that the lists alone decide, if they do. Raises BadInput where one is missing."""
    if kind in ("AnswerRelevance", "Bias", "SummaryCoherence", "Toxicity"):
        return None
    context = _context(kind, response)
    gold, retrieved = bool(context.groundtruth), bool(context.prediction)
    if kind in ("ContextPrecision", "ContextRecall"):
        return None if gold and retrieved else float(gold == retrieved)
    if kind == "Hallucination" and not retrieved:
        raise BadInput("Hallucination is a share of the contexts, and context.prediction is empty")
    return None if (gold if kind == "AnswerCorrectness" else retrieved) else 0.0


def _context(kind: MetricType, response: QueryResponse) -> Context:
    if response.context is None:
        raise BadInput(f"{kind.value} reads the context, which is None; give Context(groundtruth=..., prediction=...)")
    return response.context


def _texts(name: str, texts: Any) -> tuple[str, ...]:
    if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
        raise BadInput(f"{name} must be a list of texts, not {texts!r:.200}")
    return tuple(texts)


def _overlap(kind: MetricType, measure: Callable[..., Any], response: QueryResponse, *options: Any) -> Any:
    """ROUGE or BLEU. A single text may be the ground truth for ROUGE, as in Valor."""
    (answer,) = _texts("[response]", [response.response])
    gold = _context(kind, response).groundtruth
    is_single = kind is MetricType.ROUGE and isinstance(gold, str)
    try:
        return measure(answer, _texts("context.groundtruth", [gold] if is_single else gold), *options)
    except (TypeError, ValueError) as error:
        raise BadInput(str(error)) from error
