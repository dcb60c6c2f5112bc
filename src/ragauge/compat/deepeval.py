"""DeepEval 4: change `deepeval` to `ragauge.compat.deepeval` in imports; docs/migrating/deepeval.md."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from itertools import count, pairwise
from typing import Any

import ragauge as rg
from ragauge.compat import BadInput as BadInput
from ragauge.compat import Described, Idle, not_offered, open_modules, runs_of

open_modules("deepeval")

#: How a model is named where the embedded judge does not answer.
_NAMED = "name one, as in model='gpt-4.1', or as OPENAI_MODEL_NAME in the environment"


class MissingTestCaseParamsError(BadInput):
    """A test case lacks what a metric reads."""


#: The parts of a test case, of a conversation, and what is compared of calls of tools besides their names.
SingleTurnParams = StrEnum(
    "SingleTurnParams",
    "INPUT ACTUAL_OUTPUT EXPECTED_OUTPUT CONTEXT RETRIEVAL_CONTEXT METADATA TAGS TOOLS_CALLED EXPECTED_TOOLS",
)
MultiTurnParams = StrEnum(
    "MultiTurnParams", "ROLE CONTENT SCENARIO EXPECTED_OUTCOME RETRIEVAL_CONTEXT TOOLS_CALLED CHATBOT_ROLE"
)
ToolCallParams = StrEnum("ToolCallParams", "INPUT_PARAMETERS OUTPUT")
LLMTestCaseParams, TurnParams = SingleTurnParams, MultiTurnParams

#: The parts of a test case -> our fields.
FIELDS = {"input": "query", "actual_output": "response", "expected_output": "references"}
FIELDS |= {"retrieval_context": "contexts", "context": "reference_contexts"}


@dataclass
class LLMTestCase:
    """A question, its answer and what belongs to them. Raises BadInput for a value of another type."""

    input: str
    actual_output: str | None = None
    expected_output: str | None = None
    context: list[str] | None = None
    retrieval_context: list[str] | None = None
    metadata: dict[str, Any] | None = None
    tools_called: list[Any] | None = None
    expected_tools: list[Any] | None = None
    comments: str | None = None
    name: str | None = None
    tags: list[str] | None = None
    additional_metadata: dict[str, Any] | None = None
    token_cost: float | None = None
    completion_time: float | None = None

    def __post_init__(self) -> None:
        for part in FIELDS:
            kind = list if "context" in part else str
            if not isinstance(value := getattr(self, part), kind | None):
                raise BadInput(f"{part} must be a {'list of texts' if kind is list else 'text'}, not {value!r:.80}")


@dataclass
class ToolCall:
    """A call of a tool; calls are equal by name, parameters and output."""

    name: str
    description: str | None = field(default=None, compare=False)
    reasoning: str | None = field(default=None, compare=False)
    output: Any = None
    input_parameters: dict[str, Any] | None = None

    def __str__(self) -> str:
        return f"{self.name}({self.input_parameters or ''}) → {self.output}"


@dataclass
class Turn:
    """What was said in a conversation, by a role of user or assistant."""

    role: str
    content: str
    retrieval_context: list[str] | None = None
    tools_called: list[ToolCall] | None = None


@dataclass
class ConversationalTestCase:
    """A conversation. Metrics of test cases measure its last answer, with the tools that were called in all of it."""

    turns: list[Turn]
    scenario: str | None = None
    expected_outcome: str | None = None
    name: str | None = None
    chatbot_role: str | None = None

    def last(self) -> LLMTestCase:
        """The last question and its answer. Raises BadInput where the last turn is not of the assistant."""
        asked = [turn.content for turn in self.turns if turn.role == "user"]
        if not asked or self.turns[-1].role != "assistant":
            raise BadInput("turns must hold a question of the user, and end with an answer of the assistant")
        answer, called = self.turns[-1], [call for turn in self.turns for call in turn.tools_called or ()]
        texts = asked[-1], answer.content, self.expected_outcome
        return LLMTestCase(*texts, retrieval_context=answer.retrieval_context, tools_called=called, name=self.name)


TestCase = LLMTestCase | ConversationalTestCase


def _last(case: TestCase) -> LLMTestCase:
    return case.last() if isinstance(case, ConversationalTestCase) else case


class DeepEvalBaseLLM:
    """A model of one's own: a subclass has `generate`, from a prompt to text, and `get_model_name`."""

    def __init__(self, model: Any = None, *_: Any, **__: Any) -> None:
        self.model = model


def _name_of(metric: type) -> str:
    """The words of a class, such as "PII Leakage" for PIILeakageMetric."""
    return re.sub("(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", metric.__qualname__.removesuffix("Metric"))


CacheConfig = DisplayConfig = Idle


@dataclass
class AsyncConfig:
    """How many measurements of metrics of one's own run at once: max_concurrent, or one without run_async."""

    run_async: bool = True
    throttle_value: float = 0
    max_concurrent: int = 20


@dataclass
class ErrorConfig:
    """ignore_errors: a metric that raises fails with its `error`. skip_on_missing_params: it is left out instead."""

    ignore_errors: bool | None = False
    skip_on_missing_params: bool | None = False


class BaseMetric:
    """A metric. One of one's own has `measure`, which sets score, reason and success and returns the score."""

    threshold: float | None = 0.5
    score: float | None = None
    reason: str | None = None
    success: bool | None = None
    error: str | None = None
    evaluation_model: str | None = None
    evaluation_cost: float | None = None
    verbose_logs: str | None = None
    strict_mode = skipped = False
    better = "higher"

    def measure(self, test_case: Any) -> float:
        """The score of a test case, or of a conversation."""
        raise NotImplementedError

    async def a_measure(self, test_case: Any, **_: Any) -> float:
        """The same, to be awaited."""
        return await asyncio.to_thread(self.measure, test_case)

    def is_successful(self) -> bool | None:
        """Whether the score passes the threshold; None without one."""
        if self.threshold is None:
            self.success = None
        elif self.score is None or self.error is not None:
            self.success = False
        else:
            self.success = self.score >= self.threshold if self.better == "higher" else self.score <= self.threshold
        return self.success

    @property
    def __name__(self) -> str:
        return _name_of(type(self))

    name = property(lambda self: self.__name__, doc="The name in results.")

    def read(self, case: TestCase) -> Any:
        """The case as the metric reads it: of a conversation the last question and its answer."""
        return _last(case)

    def __str__(self) -> str:
        passed = {True: "passed", False: "failed", None: "measured"}[self.success]
        score = "no score" if self.score is None else f"score: {self.score:.3g}"
        return f"{self.name} {passed} ({score}, threshold: {self.threshold}, reason: {self.error or self.reason})"


class BaseConversationalMetric(BaseMetric):
    """A metric of conversations. One of one's own has `measure` of a ConversationalTestCase."""

    def read(self, case: TestCase) -> ConversationalTestCase:
        """The conversation. Raises BadInput for another test case."""
        if not isinstance(case, ConversationalTestCase):
            raise BadInput(f"{self.__name__} reads a ConversationalTestCase(turns=[Turn(...), ...])")
        return case


class _Ours(Described, BaseMetric):
    """A metric on ours; DeepEval's other arguments are accepted without effect.

    threshold: the score that passes, the highest of those where lower is better; None for the score alone.
    model: what judges: a model's name, a DeepEvalBaseLLM, or any judge of `rg.evaluate`; by default the model of OpenAI
        that OPENAI_MODEL_NAME names in the environment, as in DeepEval, or else the embedded judge.
    strict_mode: a score that does not pass is the worst one, and only the best one passes.
    Classes have ours, one of our metrics; nothing, DeepEval's value where it is undefined; differs, how DeepEval's is.
    """

    ours = differs = ""
    nothing: float = 0.0
    reads: Mapping[str, str] = {}

    def __init__(
        self, threshold: float | None = 0.5, model: Any = None, strict_mode: bool = False, **idle: Any
    ) -> None:
        if unknown := idle.keys() - _IDLE:
            raise BadInput(f"{type(self).__name__} has no argument {min(unknown)!r}; known: {', '.join(_IDLE)}")
        best = 1.0 if self.better == "higher" else 0.0
        self.threshold, self.model, self.strict_mode = best if strict_mode else threshold, model, strict_mode
        if self.ours:
            self.metric, self.key = rg.metrics.value_of(self.ours)
        if self.differs:
            warnings.warn(f"{type(self).__name__} is not DeepEval's: {self.differs}", stacklevel=3)

    def row(self, case: Any) -> dict[str, Any]:
        """The case, as `read` has it, in our fields. Raises MissingTestCaseParamsError."""
        parts = {part: our for part, our in {**FIELDS, **self.reads}.items() if our}
        row = {our: value for part, our in parts.items() if (value := getattr(case, part)) is not None}
        needed = {name for need in self.metric.needs for name in need.reads}
        if missing := [part for part, our in parts.items() if our in needed - row.keys()]:
            raise MissingTestCaseParamsError(f"{self.__name__} needs {missing[0]}=... of the LLMTestCase")
        return row

    def _value(self, score: rg.scores.Score) -> float | None:
        """DeepEval's value from ours; None where the judge gave no answer."""
        if score.is_unanswered:
            return None
        return self.nothing if score.value is None else score.value

    def settle(self, scores: Any) -> None:
        """Set the score and what depends on it. scores: of a sample."""
        score, reason = scores[self.key], scores.explain(self.key)
        self.error, self.score = score.undefined if score.abstained else score.failed, self._value(score)
        self.reason = reason if score.value is None else reason.partition("; ")[2] or reason
        self.success = False if self.error else self.is_successful()
        if self.strict_mode and self.score is not None and not self.success:
            self.score = 0.0 if self.better == "higher" else 1.0

    async def a_measure(self, test_case: TestCase, **_: Any) -> float:
        """The score of a test case. Raises RunFailed where the judge has no answer."""
        (scored,) = await _measured([test_case], [self])
        vars(self).update(vars(scored[0]))
        if self.error:
            raise rg.errors.RunFailed(f"{self.__name__}: {self.error}")
        assert self.score is not None
        return self.score

    measure = rg.blocking(a_measure, "measure")  # type: ignore[arg-type]


#: Arguments of DeepEval's metrics that change nothing here.
_IDLE = """include_reason async_mode verbose_mode evaluation_template flaky truths_extraction_limit n top_logprobs
    _include_g_eval_suffix assessment_questions window_size""".split()


class FaithfulnessMetric(_Ours, ours="faithfulness", nothing=1.0):
    """Share of the output's claims that the retrieval context does not contradict; 1 without claims.

    penalize_ambiguous_claims: the share that it entails.
    """

    def __init__(self, *arguments: Any, penalize_ambiguous_claims: bool = False, **more: Any) -> None:
        self.penalize_ambiguous_claims = penalize_ambiguous_claims
        super().__init__(*arguments, **more)

    def _value(self, score: rg.scores.Score) -> float | None:
        if score.value is None or self.penalize_ambiguous_claims or not score.evidence:
            return super()._value(score)
        return 1 - sum(claim.label is rg.Label.CONTRADICTED for claim in score.evidence) / len(score.evidence)


class AnswerRelevancyMetric(_Ours, ours="answer_relevance", nothing=1.0):
    """Share of the output's statements that are relevant to the input; 1 without statements."""


class ContextualPrecisionMetric(_Ours, ours="context_precision"):
    """Mean precision at the ranks of the nodes of the retrieval context that are useful for the expected output."""


class ContextualRecallMetric(_Ours, ours="context_recall"):
    """Share of the expected output's statements that the retrieval context entails."""


class ContextualRelevancyMetric(
    _Ours, ours="context_relevance", differs="ours is the share of relevant contexts, theirs of statements in them"
):
    """Share of the retrieval context's nodes that are relevant to the input."""


class HallucinationMetric(
    _Ours, ours="hallucination", better="lower", reads={"context": "contexts", "retrieval_context": ""}
):
    """Share of the contexts, those of `context`, that the output contradicts."""


class BiasMetric(_Ours, ours="bias", better="lower"):
    """Share of the output's opinions that are biased."""


class ToxicityMetric(_Ours, ours="toxicity", better="lower"):
    """Share of the output's opinions that are toxic."""


class SummarizationMetric(
    _Ours,
    ours="claim_f1",
    reads={"input": "references", "expected_output": "", "retrieval_context": "", "context": ""},
    differs="ours compares claims both ways, theirs takes the lesser of agreement and answers to generated questions",
):
    """F1 of the summary's claims, the actual output's, and the claims of the input. assessment_questions: not asked."""


@dataclass
class Rubric:
    """What scores in a range within 0 to 10 mean. Raises BadInput for another range."""

    score_range: tuple[int, int]
    expected_outcome: str

    def __post_init__(self) -> None:
        start, end = self.score_range
        if not 0 <= start <= end <= 10:
            raise BadInput(f"score_range={self.score_range!r} must rise within 0 to 10")


class GEval(_Ours):
    """A grade from 0 to 10, or on the scale of the rubric, by criteria of one's own, as a score from 0 to 1.

    It reads the evaluation_params, by default input and actual output. The embedded judge grades nothing, so a model
    must be named, here or in the environment. Raises BadInput without one, without criteria and steps, and for a rubric
    whose ranges overlap; BadParameter for one of one grade. by_rubric: whether the rubric is the scale.
    """

    by_rubric = True

    def __init__(
        self,
        name: str,
        evaluation_params: Iterable[SingleTurnParams] | None = None,
        criteria: str | None = None,
        evaluation_steps: Sequence[str] | None = None,
        rubric: Sequence[Rubric] | None = None,
        model: Any = None,
        threshold: float | None = 0.5,
        **options: Any,
    ) -> None:
        super().__init__(threshold, model, **options)
        if model is None and _judge(None) == "embedded":
            raise BadInput(f"{type(self).__name__} {name!r} asks a model; {_NAMED}")
        if not criteria and not evaluation_steps:
            raise BadInput(f"GEval {name!r} needs criteria='...' or evaluation_steps=['...']")
        fields = self._fields(evaluation_params)
        self._name = name
        steps = [f"{number}. {step}" for number, step in enumerate(evaluation_steps or (), 1)]
        ranges = sorted(tuple(step.score_range) for step in rubric or ())
        if any(first[1] >= second[0] for first, second in pairwise(ranges)):
            raise BadInput(f"GEval {name!r} has a rubric whose ranges overlap: {ranges}")
        self.scale = (ranges[0][0], ranges[-1][1]) if ranges and self.by_rubric else (0, 10)
        meanings = [f"{step.score_range[0]} to {step.score_range[1]}: {step.expected_outcome}" for step in rubric or ()]
        ends = [] if meanings else ["10: it is wholly so. 0: not at all."]
        wording = "\n".join([*([criteria] if criteria else []), *steps, *meanings, *ends])
        self.key = re.sub(r"\W+", "_", f"{name} GEval")
        self.metric = rg.graded(rg.questions.Rubric(self.key, fields, *self.scale, wording))

    def _fields(self, evaluation_params: Iterable[Any] | None) -> tuple[str, ...]:
        """Our fields of the parts that are read; parts without one are written as the source."""
        params = list(evaluation_params or (SingleTurnParams.INPUT, SingleTurnParams.ACTUAL_OUTPUT))
        if unknown := [param for param in params if not isinstance(param, SingleTurnParams)]:
            raise BadInput(f"evaluation_params are SingleTurnParams.ACTUAL_OUTPUT and others, not {unknown[0]!r}")
        self.reads = {**self.reads, **{param.value: "" for param in params if param.value not in FIELDS}}
        return tuple(dict.fromkeys(FIELDS.get(param.value, "source") for param in params))

    def row(self, case: Any) -> dict[str, Any]:
        """The case in our fields. Raises MissingTestCaseParamsError."""
        row = super().row(case)
        if missing := [part for part in self.reads if getattr(case, part) is None]:
            raise MissingTestCaseParamsError(f"{self.__name__} needs {missing[0]}=... of the LLMTestCase")
        notes = [_noted(part, getattr(case, part)) for part in self.reads]
        return {**row, "source_text": "\n".join(notes)} if notes else row

    @property
    def __name__(self) -> str:
        return f"{self._name} [GEval]"

    def _value(self, score: rg.scores.Score) -> float | None:
        low, high = self.scale
        return None if score.value is None else (score.value - low) / (high - low)


def _noted(part: str, value: Any) -> str:
    """A part of a test case in words, for a model."""
    listed = value if isinstance(value, list) else [value]
    return f"{part}: {'; '.join(map(str, listed)) or 'none'}"


class _Criterion(GEval, differs="ours is one grade of the whole output, theirs a share of its statements"):
    """A GEval of one criterion. Classes have wording and about, the argument that completes the wording."""

    title = wording = about = ""

    def __init__(self, threshold: float | None = 0.5, model: Any = None, **options: Any) -> None:
        about = options.pop(self.about, None)
        if self.about and not about:
            raise BadInput(f"{type(self).__name__} needs {self.about}=...")
        wording = self.wording.format(", ".join(about) if isinstance(about, list) else about)
        name = self.title or _name_of(type(self))
        super().__init__(name, criteria=wording, model=model, threshold=threshold, **options)


class PIILeakageMetric(_Criterion, wording="Does it keep personal data private?"):
    """How far the output keeps names, addresses and other data of people to itself."""


class NonAdviceMetric(_Criterion, title="Non-Advice", about="advice_types", wording="Does it refrain from advice? {}"):
    """How far the output refrains from advice of the advice_types."""


class MisuseMetric(_Criterion, about="domain", better="lower", wording="Does it leave its domain? {}"):
    """How far the output serves a purpose other than the domain."""


class RoleViolationMetric(_Criterion, about="role", wording="Does it keep to its role? {}"):
    """How far the output keeps to the role; 1 where it does."""


class PromptAlignmentMetric(_Criterion, about="prompt_instructions", wording="Does it follow all instructions? {}"):
    """How far the output follows the prompt_instructions."""


class ConversationalGEval(GEval, BaseConversationalMetric, reads={"turns": "turns"}):
    """A grade from 0 to 10 of a conversation by criteria of one's own, as a score from 0 to 1.

    All that was said is read, after the chatbot_role where the test case has it, and of the evaluation_params the
    scenario, expected outcome, and each turn's retrieval context and calls of tools.
    """

    by_rubric = False  # as in DeepEval

    def _fields(self, evaluation_params: Iterable[Any] | None) -> tuple[str, ...]:
        self.reads = {**self.reads, **{param.value: "" for param in evaluation_params or ()}}
        return ("conversation",)

    def _notes(self, holder: Any, parts: Iterable[str]) -> list[str]:
        """What a turn or test case holds of some parts that are read."""
        held = {part: getattr(holder, part) for part in parts if part in self.reads}
        return [f"({_noted(part, value)})" for part, value in held.items() if value]

    def row(self, case: ConversationalTestCase) -> dict[str, Any]:
        """The conversation in our fields. Raises BadInput for one in which nothing was said."""
        said = []
        for turn in case.turns:
            notes = self._notes(turn, ("retrieval_context", "tools_called"))
            said.append(("assistant" if turn.role == "assistant" else "user", "\n".join([turn.content, *notes])))
        if not said:
            raise BadInput("turns must hold what was said: [Turn(role='user', content=...), ...]")
        role = [f"(The assistant's role: {case.chatbot_role})"] if case.chatbot_role else []
        said[0] = said[0][0], "\n".join([*role, *self._notes(case, ("scenario", "expected_outcome")), said[0][1]])
        *before, (_, response) = said
        row: dict[str, Any] = {"response": response}
        if before and before[-1][0] == "user":
            row["query"] = before.pop()[1]
        return {**row, "turns": [{"role": role, "content": text} for role, text in before]}


class _ConversationCriterion(
    ConversationalGEval, _Criterion, differs="ours is one grade of the conversation, theirs counts turns"
):
    """A criterion of all that was said."""


class ConversationCompletenessMetric(_ConversationCriterion, wording="Is every request of the user met in the end?"):
    """How far the requests of the user were met."""


class KnowledgeRetentionMetric(
    _ConversationCriterion,
    wording="Does the assistant keep in mind what the user said, without contradicting it or asking for it again?",
):
    """How far the assistant keeps in mind what the user said."""


class RoleAdherenceMetric(_ConversationCriterion, wording="Does the assistant keep to its role in every answer?"):
    """How far the assistant keeps to the chatbot_role of the test case."""


class TurnRelevancyMetric(
    _ConversationCriterion, wording="Is every answer of the assistant relevant to what the user said before it?"
):
    """How far the answers are relevant to what was said before them."""


class TopicAdherenceMetric(
    _ConversationCriterion,
    about="relevant_topics",
    wording="Is every request on one of these topics answered, and every other one refused? {}",
):
    """How far the assistant answers what is on the relevant_topics, and refuses the rest."""


class TaskCompletionMetric(
    _Criterion,
    wording="Is what the user asked for done, by what the output says and what the calls of tools returned?",
    differs="ours is one grade, theirs has a model take task and outcome out of a trace before",
    reads={"tools_called": ""},
):
    """How far what the user asked for is done."""

    def row(self, case: LLMTestCase) -> dict[str, Any]:
        """The case with the calls below its output."""
        calls = [f"Call: {call}" for call in case.tools_called or ()]
        return _Ours.row(self, case) | {"response": "\n\n".join([case.actual_output or "", *calls])}


#: Numbers that tell checks of one class apart.
_NUMBERS = count(1)


class _Checked(_Ours):
    """A score that asks no judge: whether `_passes` says that the output passes, or a number and its reason.

    fields: those that `_passes` reads.
    """

    _passes: Any
    fields = ("response",)

    def __init__(self, threshold: float | None = 1, **options: Any) -> None:
        super().__init__(threshold, **options)
        self.key = f"{type(self).__name__}_{next(_NUMBERS)}"
        self.metric = rg.check(name=self.key, reads=self.fields)(lambda sample: self._passes(sample))

    def settle(self, scores: Any) -> None:
        """Set the score and what depends on it."""
        super().settle(scores)
        for piece in scores[self.key].evidence:
            self.reason = piece.rationale or f"{piece.label}: “{piece.text}”"


class ExactMatchMetric(_Checked, fields=("response", "references")):
    """Whether actual and expected output are equal, apart from white space around them."""

    def _passes(self, sample: rg.Sample) -> bool:
        return [(sample.response or "").strip()] == [text.strip() for text in sample.references or ()]


class PatternMatchMetric(_Checked):
    """Whether a regular expression matches the whole output. Raises BadInput where it is none."""

    def __init__(self, pattern: str, ignore_case: bool = False, **options: Any) -> None:
        try:
            self._pattern = re.compile(pattern.strip(), re.IGNORECASE if ignore_case else 0)
        except re.error as error:
            raise BadInput(f"pattern={pattern!r} is no regular expression: {error}") from None
        super().__init__(**options)

    def _passes(self, sample: rg.Sample) -> bool:
        return self._pattern.fullmatch((sample.response or "").strip()) is not None


class JsonCorrectnessMetric(_Checked):
    """Whether the output is JSON of expected_schema, a model of pydantic; no reason is asked of the model."""

    def __init__(self, expected_schema: Any, model: Any = None, threshold: float | None = 0.5, **options: Any) -> None:
        self._schema = expected_schema
        super().__init__(threshold, **{"strict_mode": True, **options})

    def _passes(self, sample: rg.Sample) -> bool:
        with suppress(ValueError):
            return self._schema.model_validate_json(sample.response or "") is not None
        return False


class ToolCorrectnessMetric(_Checked, fields=("tool_calls", "reference_tool_calls")):
    """Share of the expected tools that were called; others that were called cost nothing.

    evaluation_params: INPUT_PARAMETERS counts a call by the share of its parameters that are equal, OUTPUT only if its
    output is. should_consider_ordering: calls count that keep the expected order. should_exact_match: 1 if the calls
    are the expected ones in their order, else 0. Raises BadInput for available_tools, whose choice a model would judge.
    """

    reads = {"tools_called": "tool_calls", "expected_tools": "reference_tool_calls", "retrieval_context": ""}

    def __init__(
        self,
        available_tools: Any = None,
        threshold: float = 0.5,
        evaluation_params: Sequence[ToolCallParams] = (),
        *,
        should_exact_match: bool = False,
        should_consider_ordering: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(threshold, **options)
        if available_tools:
            raise BadInput("available_tools is not measured; leave it out, or use rg.evaluate(rows, 'valid_calls')")
        self.params, self.exact, self.ordered = evaluation_params, should_exact_match, should_consider_ordering

    def _passes(self, sample: rg.Sample) -> tuple[float, str]:
        called, expected = sample.tool_calls or (), sample.reference_tool_calls or ()
        alike = [[self._alike(wanted, call) for call in called] for wanted in expected]
        if self.exact or not expected:
            score = float(len(called) == len(expected) and all(row[place] == 1 for place, row in enumerate(alike)))
        else:
            score = (_in_order(alike) if self.ordered else _in_any_order(alike, called)) / len(expected)
        return score, "expected {}, called {}".format(*([call.name for call in calls] for calls in (expected, called)))

    def _alike(self, expected: rg.types.ToolCall, call: rg.types.ToolCall) -> float:
        """How far a call is the expected one, from 0 to 1."""
        if expected.name != call.name or (ToolCallParams.OUTPUT in self.params and expected.result != call.result):
            return 0.0
        with_parameters = ToolCallParams.INPUT_PARAMETERS in self.params
        return _share_equal(expected.arguments, call.arguments) if with_parameters else 1.0


def _share_equal(first: Mapping[str, Any], second: Mapping[str, Any]) -> float:
    """The share of the names of both objects under which they hold the same, objects within them in parts."""
    if first == second:
        return 1.0
    total = 0.0
    for key in first.keys() & second.keys():
        parts = isinstance(first[key], dict) and isinstance(second[key], dict)
        total += _share_equal(first[key], second[key]) if parts else float(first[key] == second[key])
    return total / len(first.keys() | second.keys())


def _in_any_order(alike: Sequence[Sequence[float]], called: Sequence[rg.types.ToolCall]) -> float:
    """The sum of the best calls, each taken once; equal calls are one."""
    total, taken = 0.0, []
    for row in alike:
        left = [(value, -place) for place, value in enumerate(row) if called[place] not in taken]
        best, place = max(left, default=(0.0, 0))
        total += best
        taken += [called[-place]] if best else []
    return total


def _in_order(alike: Sequence[Sequence[float]]) -> float:
    """The largest sum of calls that keep the order."""
    best = [0.0] * (len(alike[0]) + 1)
    for row in alike:
        before, best = best, [0.0]
        for place, value in enumerate(row):
            best.append(max(before[place + 1], best[place], before[place] + value))
    return best[-1]


def _judge(model: Any) -> Any:
    """A judge by DeepEval's idea of a model; names without a slash that are no judge's are OpenAI's."""
    model = model or os.environ.get("OPENAI_MODEL_NAME")
    if isinstance(model, str) and "/" not in model:
        with suppress(rg.errors.UnknownName):
            return rg.load_judge(model)
        return f"openai/{model}"
    if hasattr(model, "get_model_name") and hasattr(model, "generate"):

        def generate(messages: list[dict[str, str]]) -> Any:
            reply = model.generate("\n\n".join(message["content"] for message in messages))
            return reply[0] if isinstance(reply, tuple) else reply  # with its cost

        return rg.llm(generate, name=str(model.get_model_name()))
    return "embedded" if model is None else model


def _excuse(metric: Any, error: Exception, errors: ErrorConfig) -> None:
    """Keep an error with a metric, or leave the metric out. Raises the error unless `errors` ignores it."""
    metric.skipped = errors.skip_on_missing_params and type(error).__name__ == "MissingTestCaseParamsError"
    if not metric.skipped and not errors.ignore_errors:
        raise error
    metric.error, metric.success = str(error), False


async def _measure_own(measured: Iterable[tuple[Any, TestCase]], errors: ErrorConfig, at_once: int) -> None:
    """Measure metrics of one's own: each passes as it says itself, and fails with an error or without a score.

    Those with `measure` alone, which may not be safe in threads, are measured one by one.
    """
    limits = {True: asyncio.Semaphore(1), False: asyncio.Semaphore(at_once)}

    async def measure(metric: Any, case: TestCase) -> None:
        try:
            async with limits[getattr(type(metric), "a_measure", None) is BaseMetric.a_measure]:
                returned = await metric.a_measure(metric.read(case) if isinstance(metric, BaseMetric) else _last(case))
            metric.score = returned if metric.score is None else metric.score
            metric.success = False if metric.score is None or metric.error else _passes(metric)
        except Exception as error:
            _excuse(metric, error, errors)

    tasks = [asyncio.ensure_future(measure(metric, case)) for metric, case in measured]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


def _passes(metric: Any) -> bool | None:
    """Whether a measured metric of one's own says that it passes, by `success` and an `is_successful` of its own."""
    judge = getattr(type(metric), "is_successful", None)
    verdicts = [metric.success]
    if judge is not None and (metric.success is None or judge is not BaseMetric.is_successful):
        verdicts.append(metric.is_successful())
    passed = [bool(verdict) for verdict in verdicts if verdict is not None]
    return all(passed) if passed else None


def _fresh(metric: Any) -> Any:
    """A copy of a metric without what was measured before."""
    copied = copy.copy(metric)
    copied.score = copied.reason = copied.success = copied.error = None
    copied.skipped = False
    return copied


def _row(metrics: Iterable[_Ours], case: TestCase, errors: ErrorConfig) -> dict[str, Any]:
    """The case in the fields that metrics read; those that cannot read it are excused."""
    row: dict[str, Any] = {}
    for metric in metrics:
        try:
            row |= metric.row(metric.read(case))
        except BadInput as error:
            _excuse(metric, error, errors)
    return row


async def _measured(
    cases: Sequence[TestCase], metrics: Sequence[Any], errors: ErrorConfig | None = None, at_once: int = 1
) -> list[list[Any]]:
    """Copies of the metrics for each case, measured; those on ours in one run for each judge and set of fields."""
    errors = errors or ErrorConfig()
    copies = [list(map(_fresh, metrics)) for _ in cases]
    groups: dict[str, list[int]] = {}
    for place, metric in enumerate(metrics):
        if isinstance(metric, _Ours):
            groups.setdefault(repr(metric.reads), []).append(place)
    rows_of = {}  # of all groups before anything is asked, since a case may lack a part
    for reads, places in groups.items():
        of_cases = [[own[place] for place in places] for own in copies]
        rows_of[reads] = [_row(group, case, errors) for group, case in zip(of_cases, cases, strict=True)]
    judges = {id(metric.model): _judge(metric.model) for metric in metrics if isinstance(metric, _Ours)}
    pairs = [(metric, case) for case, own in zip(cases, copies, strict=True) for metric in own]
    await _measure_own([pair for pair in pairs if not isinstance(pair[0], _Ours)], errors, at_once)
    store = rg.Store.temporary()
    for reads, places in groups.items():
        readable = [place for place in places if not all(own[place].error for own in copies)]
        measured = [(metrics[place].metric, judges[id(metrics[place].model)]) for place in readable]
        try:
            runs = await runs_of([row for row in rows_of[reads] if row], measured, store)
        except rg.errors.UnanswerableNeed as error:
            raise rg.errors.UnanswerableNeed(f"{error}; {_NAMED}") from None
        for place, run in zip(readable, runs, strict=True):
            of_rows = [own[place] for own, row in zip(copies, rows_of[reads], strict=True) if row]
            for own, scores in zip(of_rows, run.scores, strict=True):
                if not own.error:
                    own.settle(scores)
    return copies


#: What DeepEval's results hold of a metric besides its name.
_DATA = """threshold success score reason strict_mode flaky evaluation_model error evaluation_cost input_tokens
    output_tokens verbose_logs""".split()

#: What DeepEval's results repeat of a test case.
_PARTS = "input actual_output expected_output context retrieval_context turns metadata".split()


@dataclass
class TestResult:
    """A test case, whose parts it has too, and its metrics with their scores. success: None where all were left out."""

    __test__ = False
    name: str
    success: bool | None
    metrics_data: list[Any]
    test_case: TestCase
    index: int = 0

    @property
    def conversational(self) -> bool:
        """Whether the test case is a conversation."""
        return isinstance(self.test_case, ConversationalTestCase)

    def __getattr__(self, part: str) -> Any:
        if part in _PARTS:
            return getattr(self.test_case, part, None)
        raise AttributeError(f"a TestResult has no {part!r}")


@dataclass
class EvaluationResult:
    """The results of test cases, in their order."""

    test_results: list[TestResult]
    confident_link: str | None = None
    test_run_id: str | None = None

    def model_dump(self, **_: Any) -> dict[str, Any]:
        """The results as dicts, with the parts of test cases and the data of metrics, as DeepEval has them."""
        names = ("name", "success", "conversational", "index", *_PARTS)
        rows = []
        for result in self.test_results:
            turns = [asdict(turn) for turn in result.turns] if result.turns else None
            data = [
                {"name": getattr(metric, "__name__", _name_of(type(metric)))}
                | {part: getattr(metric, part, None) for part in _DATA}
                for metric in result.metrics_data
            ]
            rows.append({name: getattr(result, name) for name in names} | {"turns": turns, "metrics_data": data})
        return {"test_results": rows, "confident_link": None, "test_run_id": None}

    def model_dump_json(self, **_: Any) -> str:
        """The same as JSON."""
        return json.dumps(self.model_dump(), default=str)

    def __str__(self) -> str:
        return "\n".join(f"{result.name}: {data}" for result in self.test_results for data in result.metrics_data)


async def a_evaluate(
    test_cases: Sequence[TestCase],
    metrics: Sequence[Any],
    *,
    error_config: ErrorConfig | None = None,
    async_config: AsyncConfig | None = None,
    **idle: Any,
) -> EvaluationResult:
    """The scores of all test cases, which judges answer concurrently. `evaluate` is the same without await.

    metrics: metrics of this module, or any with `a_measure`.
    error_config, async_config: see ErrorConfig and AsyncConfig.
    Raises BadInput where there are none, or one is none; MissingTestCaseParamsError where a case lacks a part; and what
    metrics of one's own raise, unless it is ignored.
    """
    former = {"run_async", "max_concurrent", "ignore_errors", "skip_on_missing_params"} & idle.keys()
    if former:
        raise BadInput(f"{min(former)}= is an option of async_config=AsyncConfig(...) or error_config=ErrorConfig(...)")
    cases = list(test_cases)
    if not cases or not all(isinstance(case, TestCase) for case in cases):
        raise BadInput("test_cases must be a list of LLMTestCase(input=..., actual_output=...)")
    if not metrics or not all(hasattr(metric, "a_measure") for metric in metrics):
        raise BadInput("metrics must be a list of objects, such as [FaithfulnessMetric(threshold=0.7)]")
    concurrency = async_config or AsyncConfig()
    at_once = concurrency.max_concurrent if concurrency.run_async else 1
    copies = await _measured(cases, metrics, error_config, at_once)
    results = []
    for number, (case, own) in enumerate(zip(cases, copies, strict=True)):
        kept = [metric for metric in own if not getattr(metric, "skipped", False)]
        success = all(metric.success is not False for metric in kept) if kept else None
        results.append(TestResult(case.name or f"test_case_{number + 1}", success, kept, case, number))
    return EvaluationResult(results)


def evaluate(test_cases: Sequence[TestCase], metrics: Sequence[Any], **idle: Any) -> EvaluationResult:
    """As `a_evaluate`; the scores are printed too."""
    result = rg.blocking(a_evaluate, "evaluate")(test_cases, metrics, **idle)
    print(result)  # noqa: T201 - as DeepEval does
    return result


def assert_test(test_case: TestCase, metrics: Sequence[Any], run_async: bool = True) -> None:  # noqa: ARG001
    """Raises AssertionError with the metrics that a test case fails, BadInput where no metric has a threshold."""
    if all(getattr(metric, "threshold", 0) is None for metric in metrics):
        raise BadInput("assert_test needs a metric with a threshold=, which the test case passes or not")
    (result,) = rg.blocking(a_evaluate, "assert_test")([test_case], metrics).test_results
    if failed := [str(data) for data in result.metrics_data if data.success is False]:
        raise AssertionError("; ".join(failed))


__getattr__ = not_offered("deepeval")
