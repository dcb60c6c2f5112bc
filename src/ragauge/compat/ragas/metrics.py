"""ragas' metrics under its names, as instances and as classes; docs/metrics.md defines the metrics behind them."""

from __future__ import annotations

import copy
import operator
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from math import hypot, nan
from typing import Any, Self

import ragauge as rg
from ragauge.compat import BadInput, Described, not_offered, runs_of
from ragauge.compat.ragas.samples import NO_IDS, MultiTurnSample, SingleTurnSample
from ragauge.host import optional

#: Our fields -> the columns of ragas.
_COLUMNS = {"query": "user_input", "contexts": "retrieved_contexts", "response": "response", "references": "reference"}
_COLUMNS["reference_contexts"] = "reference_contexts"

#: What metrics of precision and recall can be.
_MODES = ("f1", "precision", "recall")

#: Arguments of ragas' metrics that change nothing here.
_IDLE = {"embeddings", "max_retries", "device", "batch_size", "required_columns", "strictness"}


@dataclass(eq=False)
class MetricResult:
    """A value, and the reason for it, None where it is computed from the texts alone. It behaves as the value does."""

    value: Any
    reason: str | None = None
    traces: dict[str, Any] | None = None

    def __float__(self) -> float:
        return float(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __hash__(self) -> int:
        return hash(self.value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "value":
            raise AttributeError(name)
        return getattr(self.value, name)  # such as the methods of a text

    def to_dict(self) -> dict[str, Any]:
        """The value under "result", and the reason."""
        return {"result": self.value, "reason": self.reason}


def _on_values(operation: Any, is_reflected: bool = False) -> Any:
    """An operation of a result with another, or with a plain value."""

    def operate(result: MetricResult, other: Any) -> Any:
        pair = result.value, other.value if isinstance(other, MetricResult) else other
        return operation(*(reversed(pair) if is_reflected else pair))

    return operate


for _name in ("eq", "ne", "lt", "le", "gt", "ge", "add", "sub", "mul", "truediv"):
    setattr(MetricResult, f"__{_name}__", _on_values(getattr(operator, _name)))
for _name in ("add", "sub", "mul", "truediv"):
    setattr(MetricResult, f"__r{_name}__", _on_values(getattr(operator, _name), is_reflected=True))


class Metric(Described):
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
    measure: Any = None
    columns: Sequence[str] = ()

    def __init__(self, llm: Any = None, *, judge: Any = None, name: str | None = None, **idle: Any) -> None:
        if unknown := idle.keys() - _IDLE:
            raise BadInput(f"{self.name} has no argument {min(unknown)!r}")
        self.llm, self.entail, self.name = llm, judge or self.entail, name or self.name
        self.key = f"{self.name}(mode={self.mode})" if self.mode else self.name
        if self.ours:
            self.measure, self._score = rg.metrics.value_of(self.ours)
            columns = {**_COLUMNS, "source": "reference_contexts"}
            self.columns = [columns[field] for need in self.measure.needs for field in need.reads if field in columns]

    def on(self, samples: Collection[SingleTurnSample]) -> Self:
        """The metric for some samples; see `Graded`."""
        return self

    def judge(self, llm: Any) -> Any:
        """The judge, where `evaluate` was called with `llm`."""
        judge = llm if self.llm is None else self.llm
        judge = getattr(judge, "langchain_llm", "embedded" if judge is None else judge)  # which ragas wraps
        if self.entail is None:
            return judge
        return {**(judge if isinstance(judge, Mapping) else {"*": judge}), "entail": self.entail}

    def value(self, scores: Mapping[str, rg.scores.Score], sample: SingleTurnSample) -> Any:
        """The value of a sample, NaN where there is none. scores: its scores in a run of `measure`."""
        score = scores[self._score]
        if score.value is not None:
            return self.counted(score.value, score.counts)
        complete = None not in [getattr(sample, column) for column in self.columns]
        return nan if not complete or score.is_unanswered else self.nothing

    def counted(self, value: float, counts: Sequence[float]) -> Any:
        """ragas' value, from ours and the counts behind it."""
        return value

    async def abatch_score(self, inputs: Sequence[Mapping[str, Any]]) -> list[MetricResult]:
        """A result for each dict of columns. Raises BadInput for wrong columns, RunFailed where the judge is silent."""
        llm = next((cells["llm"] for cells in inputs if "llm" in cells), None)
        samples = []
        for cells in inputs:
            columns = {name: value for name, value in cells.items() if name != "llm"}
            try:
                if isinstance(columns.get("user_input"), list):
                    samples.append(MultiTurnSample(**columns).turn())
                else:
                    samples.append(SingleTurnSample(**columns))
            except TypeError as error:
                raise BadInput(f"{self.name}: {error}; it reads {', '.join(SingleTurnSample().model_dump())}") from None
        metric = self.on(samples)
        for column in metric.columns:
            if any(getattr(sample, column) is None for sample in samples):
                raise BadInput(f"{self.name} needs {column}; give {', '.join(f'{name}=' for name in metric.columns)}")
        rows = [sample.row() for sample in samples]
        (run,) = await runs_of(rows, [(metric.measure, metric.judge(llm))], map=NO_IDS)
        for name, failure in run.record.failures.items():
            raise rg.errors.RunFailed(f"{name}: {failure}")
        results = []
        for scores, sample in zip(run.scores, samples, strict=True):
            score = scores[metric._score]
            judged = score.value is None or any(piece.judgment for piece in score.evidence)
            reason = scores.explain(metric._score) if judged else None
            results.append(MetricResult(metric.value(scores, sample), reason))
        return results

    async def ascore(self, **columns: Any) -> MetricResult:
        """The result for user_input=, response=, and what else the metric reads. Raises as `abatch_score`."""
        return (await self.abatch_score([columns]))[0]

    batch_score, score = rg.blocking(abatch_score, "batch_score"), rg.blocking(ascore, "score")

    async def single_turn_ascore(self, sample: SingleTurnSample, callbacks: Any = None) -> Any:
        """The value of one sample. Raises as `abatch_score`."""
        return (await self.ascore(**{name: value for name, value in vars(sample).items() if value is not None})).value

    async def multi_turn_ascore(self, sample: MultiTurnSample, callbacks: Any = None) -> Any:
        """The value of the last turn of a conversation. Raises as `abatch_score`."""
        return await self.single_turn_ascore(sample.turn())

    _single_turn_ascore = single_turn_ascore  # which programs call too
    single_turn_score = rg.blocking(single_turn_ascore, "single_turn_score")
    multi_turn_score = rg.blocking(multi_turn_ascore, "multi_turn_score")


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

    def __init__(self, llm: Any = None, *, mode: str = "relevant", **options: Any) -> None:
        self.mode, self.ours = mode, f"noise_sensitivity.{mode}"
        super().__init__(llm, **options)


class FactualCorrectness(Metric, name="factual_correctness", ours="answer_correctness"):
    """The response's claims against the reference and the reverse, to two decimals; 0 without claims.

    tp, fp: response claims that the reference supports or not; fn: reference claims that the response lacks.
    mode: "precision" tp / (tp + fp), "recall" tp / (tp + fn), or "f1", in which recall weighs `beta` times as much.
    atomicity, coverage: "low" or "high", accepted without effect: here claims have one granularity, for which ragas has
    instructions of its own.
    """

    def __init__(self, llm: Any = None, *, mode: str = "f1", beta: float = 1.0, **options: Any) -> None:
        if mode not in _MODES:
            raise rg.errors.UnknownName("mode of factual_correctness", mode, _MODES)
        granularity = {options.pop("atomicity", "low"), options.pop("coverage", "low")}
        if unknown := granularity - {"low", "high"}:
            raise BadInput(f"atomicity and coverage are 'low' or 'high', not {min(unknown)!r}")
        self.mode, self.beta, self.differs = mode, beta, "high" in granularity
        super().__init__(llm, **options)

    def counted(self, value: float, counts: Sequence[float]) -> float:
        """The value of the mode."""
        (tp, fp, fn), weight = counts, self.beta**2
        whole = {"precision": tp + fp, "recall": tp + fn, "f1": tp + (weight * fn + fp) / (1 + weight)}[self.mode]
        return round(100 * tp / whole) / 100 if tp else 0.0


class AnswerCorrectness(Metric, name="answer_correctness", ours="answer_correctness"):
    """F1 of the statements; ragas', without weights=[1, 0], is its mean with a cosine of embeddings."""

    def __init__(self, llm: Any = None, *, weights: Sequence[float] = (0.75, 0.25), **options: Any) -> None:
        super().__init__(llm, **options)
        self.differs = weights[1] > 0


class SummarizationScore(Metric, name="summary_score", ours="claim_recall(of=source)", differs=True):
    """Share of the claims of the reference contexts that the response entails, weighed against its length.

    ragas' counts answers to questions that it generates from the contexts in place of claims. coeff: the weight of
    conciseness, which is 1 minus the length of the response in characters over that of the contexts.
    """

    def __init__(self, llm: Any = None, *, length_penalty: bool = True, coeff: float = 0.5, **options: Any) -> None:
        super().__init__(llm, **options)
        self.weight = coeff if length_penalty else 0.0

    def value(self, scores: Mapping[str, rg.scores.Score], sample: SingleTurnSample) -> Any:
        """The weighted mean; NaN without a claim."""
        length = len("\n".join(sample.reference_contexts or ())) + 1e-10
        conciseness = 1 - min(len(sample.response or ""), length) / length
        return (1 - self.weight) * super().value(scores, sample) + self.weight * conciseness


class RougeScore(Metric, name="rouge_score"):
    """ROUGE with Porter's stemmer. rouge_type: "rougeL" or "rouge1"; mode: "fmeasure", "precision" or "recall"."""

    def __init__(self, *, rouge_type: str = "rougeL", mode: str = "fmeasure", **options: Any) -> None:
        self.mode, self.ours = mode, f"rouge(types={rouge_type},stemmer=true,measure={mode}).{rouge_type}"
        super().__init__(**options)


class ChrfScore(Metric, name="chrf_score", ours="chrf"):
    """Character n-gram F-score, as in sacreBLEU."""


class Computed(Metric):
    """A metric that asks no judge: each class has `columns`, and `_compared` or `_value`."""

    columns = ("response", "reference")
    _compared: Any

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        reads = [field for field, column in _COLUMNS.items() if column in self.columns]
        self._score = f"ragas_{self.name}"
        self.measure = rg.check(name=self._score, reads=reads)(lambda sample: self._value(sample))

    def _value(self, sample: rg.Sample) -> float:
        return float(self._compared(sample.response or "", (sample.references or ("",))[0]))


class ExactMatch(Computed, name="exact_match", _compared=operator.eq):
    """1 if the response is the reference, letter for letter, else 0."""


class StringPresence(Computed, name="string_present", _compared=operator.contains):
    """1 if the reference occurs in the response, else 0."""


class DistanceMeasure(Enum):
    """Distances of strings, by their names in rapidfuzz."""

    LEVENSHTEIN = "Levenshtein"
    HAMMING = "Hamming"
    JARO = "Jaro"
    JARO_WINKLER = "JaroWinkler"


class NonLLMStringSimilarity(Computed, name="non_llm_string_similarity"):
    """1 minus a normalised distance of response and reference. Raises MissingExtra without rapidfuzz."""

    def __init__(self, *, distance_measure: Any = DistanceMeasure.LEVENSHTEIN, **options: Any) -> None:
        super().__init__(**options)
        self.distance_measure = getattr(distance_measure, "distance_measure", distance_measure)
        rapidfuzz = optional("a distance of strings", "ragas", "rapidfuzz", "rapidfuzz.distance")
        self._distance = getattr(rapidfuzz.distance, self.distance_measure.value)

    def _compared(self, response: str, reference: str) -> float:
        return 1 - float(self._distance.normalized_distance(reference, response))


class BleuScore(Computed, name="bleu_score"):
    """Corpus BLEU by sacreBLEU over the pieces between full stops. kwargs: options of its corpus_bleu.

    Raises MissingExtra without sacreBLEU.
    """

    def __init__(self, *, kwargs: Mapping[str, Any] | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.kwargs = dict(kwargs or {})
        self._corpus_bleu = optional("BLEU as ragas has it", "ragas", "sacrebleu").corpus_bleu

    def _compared(self, response: str, reference: str) -> float:
        references = [[piece] for piece in reference.split(". ")]
        return float(self._corpus_bleu(response.split(". "), references, **self.kwargs).score) / 100


class SemanticSimilarity(Computed, name="semantic_similarity"):
    """Cosine of the embeddings of response and reference; with a threshold, 1 if it reaches that, else 0.

    embeddings: anything with LangChain's `embed_documents`, or those of `embedding_factory` with a client. Raises
    BadInput for other embeddings, or none.
    """

    def __init__(self, *, embeddings: Any = None, threshold: float | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.threshold = threshold
        wrapped = getattr(embeddings, "embeddings", embeddings)  # by ragas
        self._embed: Any = getattr(wrapped, "embed_documents", None)
        if self._embed is None:
            fix = "needs embeddings=embedding_factory(client=OpenAI()), or LangChain's; or use rg.metrics.similarity"
            raise BadInput(f"{self.name} {fix}")

    def _compared(self, response: str, reference: str) -> float:
        first, second = self._embed([response, reference])
        cosine = sum(map(operator.mul, first, second)) / (hypot(*first) * hypot(*second))
        return cosine if self.threshold is None else float(cosine >= self.threshold)


class IDBasedContextPrecision(Computed, name="id_based_context_precision"):
    """Share of the retrieved ids that are among the reference ids."""

    columns = ("retrieved_context_ids", "reference_context_ids")

    def _value(self, sample: rg.Sample) -> float:
        counted, others = ({str(text) for text in sample.metadata[column]} for column in self.columns)
        if not counted:
            raise rg.metrics.NothingToCount(f"there are no {self.columns[0]}")
        return len(counted & others) / len(counted)


class IDBasedContextRecall(IDBasedContextPrecision, name="id_based_context_recall"):
    """Share of the reference ids that are among the retrieved ids."""

    columns = ("reference_context_ids", "retrieved_context_ids")


class NonLLMContextRecall(NonLLMStringSimilarity, name="non_llm_context_recall"):
    """Share of the reference contexts that are more similar than `threshold` to a retrieved one."""

    columns = ("reference_contexts", "retrieved_contexts")

    def __init__(self, *, threshold: float = 0.5, **options: Any) -> None:
        super().__init__(**options)
        self.threshold = threshold

    def _value(self, sample: rg.Sample) -> float:
        sides = {"reference_contexts": sample.reference_contexts, "retrieved_contexts": sample.contexts}
        counted, others = ([chunk.text for chunk in sides[column] or ()] for column in self.columns)
        if not counted:
            raise rg.metrics.NothingToCount(f"there are no {self.columns[0]}")
        return self._share([max((self._compared(text, other) for other in others), default=0.0) for text in counted])

    def _share(self, nearest: list[float]) -> float:
        return sum(similarity > self.threshold for similarity in nearest) / len(nearest)


class NonLLMContextPrecisionWithReference(NonLLMContextRecall, name="non_llm_context_precision_with_reference"):
    """Mean precision at the ranks of retrieved contexts at least as similar as `threshold` to a reference context."""

    columns = ("retrieved_contexts", "reference_contexts")

    def _share(self, nearest: list[float]) -> float:
        similar = [similarity >= self.threshold for similarity in nearest]
        ranks = [sum(similar[:k]) / k for k, hit in enumerate(similar, 1) if hit]
        return sum(ranks) / len(ranks) if ranks else 0.0


class ToolCallAccuracy(Computed, name="tool_call_accuracy", columns=("tool_calls", "reference_tool_calls")):
    """Mean share of the arguments of the reference calls that are equal as texts; 0 unless the same tools were called.

    strict_order: whether in the same order. arg_comparison_metric: another comparison of texts, such as
    NonLLMStringSimilarity().
    """

    def __init__(self, *, strict_order: bool = True, arg_comparison_metric: Any = None, **options: Any) -> None:
        super().__init__(**options)
        self.strict_order, self.arg_comparison_metric = strict_order, arg_comparison_metric or ExactMatch()

    def _value(self, sample: rg.Sample) -> float:
        made, expected = list(sample.calls.values()), list(sample.reference_tool_calls or ())
        if not self.strict_order:
            made, expected = sorted(made, key=_call_key), sorted(expected, key=_call_key)
        if [call.name for call in made] != [call.name for call in expected]:
            return 0.0
        pairs = zip(made, expected, strict=True)
        shares = [self._share(call.arguments, wanted.arguments) for call, wanted in pairs]
        return sum(shares) / len(shares) if shares else 1.0

    def _share(self, made: Mapping[str, Any], expected: Mapping[str, Any]) -> float:
        if not expected:
            return float(not made)
        texts = ((str(made[name]), str(text)) for name, text in expected.items() if name in made)
        return sum(float(self.arg_comparison_metric._compared(*pair)) for pair in texts) / len(expected)


def _call_key(call: rg.types.ToolCall) -> tuple[str, ...]:
    return call.name, *(str(text) for argument in sorted(call.arguments.items()) for text in argument)


class ToolCallF1(Computed, name="tool_call_f1", columns=("tool_calls", "reference_tool_calls")):
    """F1 of the distinct calls, equal by name and arguments, to four decimals; 0 where none is expected or made."""

    def _value(self, sample: rg.Sample) -> float:
        made, expected = map(_distinct, (sample.calls.values(), sample.reference_tool_calls or ()))
        return round(2 * sum(call in expected for call in made) / max(1, len(made) + len(expected)), 4)


def _distinct(calls: Iterable[rg.types.ToolCall]) -> list[tuple[str, Any]]:
    pairs = [(call.name, call.arguments) for call in calls]
    return [pair for place, pair in enumerate(pairs) if pair not in pairs[:place]]


class AgentGoalAccuracyWithReference(Metric, name="agent_goal_accuracy", ours="goal", differs=True):
    """1 if calls and response show all that the reference says, else 0; ragas' compares summaries of a model."""

    def counted(self, value: float, counts: Sequence[float]) -> float:
        """Whether nothing is missing."""
        return float(value == 1)


class TopicAdherence(Metric, name="topic_adherence", ours="criteria", differs=True):
    """Share of the answered messages that are on topic, of those on topic that are answered, or F1, the default.

    mode: "precision", "recall" or "f1". ragas has a model list the topics of the conversation and asks about each; here
    each message of the user counts: was it answered, rather than refused, and is it on a reference topic?
    """

    def __init__(self, llm: Any = None, *, mode: str = "f1", **options: Any) -> None:
        if mode not in _MODES:
            raise rg.errors.UnknownName("mode of topic_adherence", mode, _MODES)
        self.mode = mode
        super().__init__(llm, **options)
        self.columns = ["reference_topics"]

    def value(self, scores: Mapping[str, rg.scores.Score], sample: SingleTurnSample) -> float:
        """The value of the mode; 0 where no message counts, as in ragas, and NaN where a judgment is missing."""
        grades = [piece.value for piece in scores[self._score].evidence]
        is_answered, is_on_topic = ([float(grade or 0) for grade in grades[half::2]] for half in (0, 1))
        if None in grades or not grades:
            return nan
        answered, on_topic = sum(is_answered), sum(is_on_topic)
        counted = {"precision": answered, "recall": on_topic, "f1": (answered + on_topic) / 2}[self.mode]
        return float(sum(map(operator.mul, is_answered, is_on_topic)) / (counted or 1))


class Graded(Metric):
    """A metric that a judge grades; it needs an llm, since the embedded judge grades nothing.

    wording: the instruction. reads: the columns; all that every sample has unless given. scale: its ends, of whole
    numbers if `whole`.
    """

    whole = True

    def __init__(self, name: str, llm: Any, wording: str, reads: Any = (), scale: Any = (0, 1), **options: Any) -> None:
        super().__init__(llm, name=name, **options)
        self.wording, self.columns = wording, list(reads)
        self.scale: tuple[float, float] = scale

    def on(self, samples: Collection[SingleTurnSample]) -> Self:
        """The metric with a rubric that reads the columns that all samples have."""
        made = copy.copy(self)
        had = [name for name in _COLUMNS.values() if all(getattr(sample, name) is not None for sample in samples)]
        made.columns = self.columns or had
        fields = tuple(field for field, column in _COLUMNS.items() if column in made.columns)
        made._score = re.sub(r"\W+", "_", f"ragas_{self.name}")
        made.measure = rg.graded(rg.questions.Rubric(made._score, fields, *self.scale, self.wording, whole=self.whole))
        return made

    def judge(self, llm: Any) -> Any:
        """The judge. Raises BadInput where none is named."""
        if self.llm is None and llm is None:
            raise BadInput(f"{self.name} asks a model; name one, as in llm='openai/gpt-4o-mini'")
        return super().judge(llm)

    def counted(self, value: float, counts: Sequence[float]) -> Any:
        """The grade, as a whole number where the scale is of those."""
        return int(value) if self.whole else value


class AspectCritic(Graded):
    """1 if the definition, a question of yes or no, applies to a sample, else 0."""

    def __init__(self, name: str, definition: str, llm: Any = None, **options: Any) -> None:
        self.definition = definition
        super().__init__(name, llm, f"Does this apply? {definition} 1: yes. 0: no.", **options)


class AgentGoalAccuracyWithoutReference(Graded):
    """1 if the agent reached what the user wanted, else 0; ragas' compares two summaries of a model."""

    def __init__(self, llm: Any = None, **options: Any) -> None:
        wording = "Did the assistant reach all that the user wanted, as far as the conversation shows? 1: yes. 0: no."
        super().__init__("agent_goal_accuracy", llm, wording, **options)


_STEPS = (
    "Wrong.",
    "Right in part, with grave errors or gaps.",
    "Mostly right.",
    "Right, with small gaps.",
    "Complete.",
)


class RubricsScore(Graded):
    """The grade on a scale whose steps are described: {"score1_description": "...", "score2_description": "..."}."""

    def __init__(
        self, name: str = "domain_specific_rubrics", rubrics: Any = None, llm: Any = None, **options: Any
    ) -> None:
        self.rubrics = rubrics or {f"score{step}_description": text for step, text in enumerate(_STEPS, 1)}
        steps = {int("".join(re.findall(r"\d", key))): text for key, text in self.rubrics.items()}
        wording = "\n".join(["How good is the response?", *(f"{step}: {text}" for step, text in steps.items())])
        super().__init__(name, llm, wording, scale=(min(steps), max(steps)), **options)


class SimpleCriteriaScore(Graded):
    """A grade from 0 to 5 by a definition, such as "How polite is the response?"."""

    def __init__(self, name: str, definition: str, llm: Any = None, **options: Any) -> None:
        self.definition = definition
        super().__init__(name, llm, f"{definition} 0: not at all. 5: wholly.", scale=(0, 5), **options)


class AnswerAccuracy(Graded, name="nv_accuracy", differs=True, columns=("user_input", "response", "reference")):
    """How well the response agrees with the reference: 0, 0.5 or 1. ragas' is the mean of two prompts."""

    asked = "Is the response the answer that the reference gives to the query? 0: no. 1: in part. 2: it is."

    def __init__(self, llm: Any = None, **options: Any) -> None:
        super().__init__(self.name, llm, self.asked, self.columns, (0, 2), **options)

    def counted(self, value: float, counts: Sequence[float]) -> float:
        """The grade as a share."""
        return value / 2


class ContextRelevance(AnswerAccuracy, name="nv_context_relevance", columns=("user_input", "retrieved_contexts")):
    """How far the contexts hold an answer to the query: 0, 0.5 or 1. ragas' is the mean of two prompts."""

    asked = "Do the contexts hold what answers the query? 0: none of it. 1: part of it. 2: all of it."


class ResponseGroundedness(AnswerAccuracy, name="nv_response_groundedness", columns=("response", "retrieved_contexts")):
    """How far the contexts support the response: 0, 0.5 or 1. ragas' is the mean of two prompts."""

    asked = "Do the contexts support what the response says? 0: none of it. 1: part of it. 2: all of it."


class NumericMetric(Graded):
    """A number between the ends of allowed_values, by a prompt that reads columns, such as "How kind? {response}"."""

    def __init__(
        self, name: str, prompt: str, allowed_values: Any = (0.0, 1.0), llm: Any = None, *, whole: bool = False
    ) -> None:
        reads = list(dict.fromkeys(re.findall(r"{(\w+)}", prompt)))
        if unknown := [column for column in reads if column not in _COLUMNS.values()]:
            raise BadInput(f"the prompt of {name} reads {{{unknown[0]}}}; use {', '.join(_COLUMNS.values())}")
        wording = re.sub(r"{(\w+)}", r"(the \1 below)", prompt)
        ends = (min(allowed_values), max(allowed_values))
        super().__init__(name, llm, wording, reads, ends)
        self.whole = whole or isinstance(allowed_values, range)


class DiscreteMetric(NumericMetric):
    """One of allowed_values, texts or numbers, by a prompt as that of NumericMetric."""

    def __init__(
        self, name: str, prompt: str, allowed_values: Sequence[Any] = ("pass", "fail"), llm: Any = None
    ) -> None:
        self.allowed_values = list(allowed_values)
        steps = " ".join(f"{step}: {value}." for step, value in enumerate(self.allowed_values))
        asked = f"{prompt}\nThe grade stands for the answer: {steps}"
        super().__init__(name, asked, range(len(self.allowed_values)), llm)

    def counted(self, value: float, counts: Sequence[float]) -> Any:
        """The allowed value."""
        return self.allowed_values[int(value)]


TopicAdherenceScore = TopicAdherence
FaithfulnesswithHHEM, LLMContextRecall, ResponseRelevancy = FaithulnesswithHHEM, ContextRecall, AnswerRelevancy
LLMContextPrecisionWithReference = partial(ContextPrecision, name="llm_context_precision_with_reference")
LLMContextPrecisionWithoutReference = partial(ContextUtilization, name="llm_context_precision_without_reference")
AnswerSimilarity, SimpleCriteriaScoreWithReference = SemanticSimilarity, SimpleCriteriaScore
ContextPrecisionWithReference, ContextPrecisionWithoutReference = ContextPrecision, ContextUtilization
RubricsScoreWithReference = RubricsScoreWithoutReference = RubricsScore
AspectCriticWithReference, SummaryScore = AspectCritic, SummarizationScore

faithfulness, answer_relevancy, answer_correctness = Faithfulness(), AnswerRelevancy(), AnswerCorrectness()
context_precision, context_recall, context_utilization = ContextPrecision(), ContextRecall(), ContextUtilization()
summarization_score = SummarizationScore()
rubrics_score_with_reference = RubricsScore("rubrics_score_with_reference")
rubrics_score_without_reference = RubricsScore("rubrics_score_without_reference")

__getattr__ = not_offered("ragas")
