"""Tuning a judge on people's labels: one half chooses a variant, the other half measures whether it is a gain."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import msgspec

from ragauge.analysis.measure import AnswerFunction, ask, figure
from ragauge.errors import BadData, BadParameter, RunFailed
from ragauge.judges.base import Judge, JudgeSpec, adapted, can_answer
from ragauge.judges.composite import VERDICTS, FittedThreshold, fit_thresholds, says_yes
from ragauge.judges.llm.judge import prompt_style
from ragauge.judges.llm.prompts import system
from ragauge.judges.llm.providers import PROVIDERS, parse_llm_spec
from ragauge.kinds.verdict import VerdictQuestion
from ragauge.questions import Judgment, Question
from ragauge.report.text import RenderableType, rich_table
from ragauge.report.wording import counted, number, p_value, signed, with_interval
from ragauge.run.specs import JudgeFile, arguments_of, judge_file, judge_of_file, load_judge
from ragauge.statistics.agreement import balanced_accuracy
from ragauge.statistics.intervals import Interval
from ragauge.statistics.paired import Paired, paired_mean
from ragauge.store import opinions, settled
from ragauge.types import Answer, Failure, Label, Verdict

#: The fewest labels, and the fewest with each answer in each half.
MIN_LABELS, MIN_OF_EACH = 20, 3

#: The worked examples, half of them with each answer; the fewest labels that choose them; the most bytes of an example.
_EXAMPLES, _LABELS_FOR_EXAMPLES, _EXAMPLE_BYTES = 4, 24, 1500

#: The id of a source, as in "S1 says so".
_SOURCE = re.compile(r"\bS\d")

#: The threshold of a cascade that no verdict of the first judge reaches.
_ALL_UP = "threshold=2"

Answers = Mapping[Question, Answer | Failure]


class Tuned(msgspec.Struct, frozen=True):
    """A tuned judge. file: the judge to use, which is the chosen one if `adopted`, else the judge as it was.

    adopted: whether the chosen judge is a cascade, or the interval of its gain is above 0. Of a cascade of which no
    threshold qualifies, `file` is its second judge alone. chosen: the chosen judge in words.
    chosen_by, measured_by: numbers of labels. tried: variant -> its balanced accuracy on the labels that choose.
    before, after, gain, p: of balanced accuracy on the labels that measure. crossed: whether all labels choose, and the
    gain is measured on each half with what the other half chooses.
    """

    file: JudgeFile
    adopted: bool
    chosen: str
    chosen_by: int
    measured_by: int
    tried: dict[str, float | None]
    before: Interval | None
    after: Interval | None
    gain: Interval
    p: float | None
    thresholds: dict[str, FittedThreshold] = {}
    crossed: bool = False


class Tuner:
    """Tunes a judge on people's labels; all input is checked before anything is asked.

    Args:
        spec: the judge.
        labelled: people's labels; those that are not verdicts, or that the judge cannot give, are left out.
        prompts: folders with prompts to try.
        accuracy: for a cascade, how often the first judge has to be right where it decides, in 0..1.
        seed: of the halves and of the worked examples.

    Raises:
        BadParameter, UnknownName, BadData: what is given cannot be used, or there are too few labels.
    """

    def __init__(
        self,
        spec: str | JudgeSpec,
        labelled: Iterable[Judgment],
        prompts: Sequence[Path] = (),
        accuracy: float = 0.95,
        seed: int = 0,
    ) -> None:
        if not 0 < accuracy < 1:
            raise BadParameter(f"accuracy={accuracy!r} must be above 0 and below 1, as in accuracy=0.95")
        self._original = judge_file(spec)
        self._is_model = self._original.judge.partition("/")[0] in PROVIDERS
        self._is_cascade = self._original.judge.startswith("cascade(")
        if self._is_cascade:
            self._original = msgspec.structs.replace(self._original, judge=_with_threshold(self._original.judge))
        self.judge = judge_of_file(self._original)
        self._accuracy, self._seed = accuracy, seed
        said = opinions(label for label in labelled if label.question.kind in VERDICTS)
        verdicts = {question: label.answer for question, label in settled(said).items()}
        self._labels = {question: label for question, label in verdicts.items() if can_answer(self.judge, question)}
        self._yes = {question: says_yes(label) for question, label in self._labels.items()}
        if len(self._labels) < MIN_LABELS:
            raise BadData(
                f"{len(self._labels)} labels for verdicts that {self.judge.identity} can give; tuning needs "
                f"{MIN_LABELS} or more, half of them to choose by and half to measure by"
            )
        self._check_answers(self._yes)
        self._choosing = self._half()
        self._measuring = [question for question in self._labels if question not in self._choosing]
        for half in (self._choosing, self._measuring):
            self._check_answers(half, " of one half of the texts")
        self._wordings = [(f"prompts={folder}", self._wording(folder)) for folder in prompts]

    async def tune(self, answer: AnswerFunction | None = None) -> Tuned:
        """Choose and measure. Raises RunFailed if the judge answers nothing."""
        self._answer = answer
        if self._is_cascade:
            return await self._with_thresholds()
        answers = await self._answers_of(self.judge, self._choosing)
        best, tried = await self._best_variant(answers)
        if best is self._original:
            return await self._with_levels(answers, tried)
        before = _verdicts(await self._answers_of(self.judge, self._measuring))
        after = _verdicts(await self._answers_of(judge_of_file(best), self._measuring))
        return self._tuned(best, before, after, len(self._choosing), tried, {})

    async def _best_variant(self, answers: Answers) -> tuple[JudgeFile, dict[str, float | None]]:
        """The judge with the prompts and worked examples that agree best, if better, and how often each agrees.

        answers: of the original judge to the labels that choose. Examples are compared on texts that they do not show.
        """
        best, tried = self._original, {f"as it is (on {len(answers)})": self._agreement(answers)}
        for name, file in self._wordings:
            said = await self._answers_of(judge_of_file(file), self._choosing)
            agreement = tried[f"{name} (on {len(said)})"] = self._agreement(said)
            if (agreement or 0.0) > (self._agreement(answers) or 0.0):
                best, answers = file, said
        examples = self._examples(answers) if self._is_model else {}
        shown = {question.subject for question in examples}
        unseen = {question: answer for question, answer in answers.items() if question.subject not in shown}
        if examples and unseen:
            file = msgspec.structs.replace(best, examples=tuple(examples.values()))
            agreement = self._agreement(await self._answers_of(judge_of_file(file), list(unseen)))
            without = self._agreement(unseen)
            tried[f"{len(examples)} examples, its mistakes first (on {len(unseen)})"] = agreement
            tried[f"without examples (on {len(unseen)})"] = without
            best = file if (agreement or 0.0) > (without or 0.0) else best
        return best, tried

    async def _answers_of(self, judge: Judge, questions: Sequence[Question]) -> dict[Question, Answer | Failure]:
        """Ask a judge. Raises RunFailed if it answers nothing."""
        answers = await ask(judge, _by_subject(questions).values(), self._answer)
        failures = [answer for answer in answers.values() if isinstance(answer, Failure)]
        if len(failures) == len(answers):
            raise RunFailed(f"{judge.identity} answered no question, the first because: {failures[0]}")
        return answers

    def _agreement(self, answers: Answers, levels: Mapping[str, float] = {}) -> float | None:
        """Balanced accuracy; missing answers count as wrong. levels: kind -> the probability from which yes is said."""
        verdicts = [
            says_yes(answer, levels.get(question.kind)) if isinstance(answer, Verdict) else not self._yes[question]
            for question, answer in answers.items()
        ]
        return balanced_accuracy([self._yes[question] for question in answers], verdicts)

    def _check_answers(self, questions: Collection[Question], where: str = "") -> None:
        """Raise BadData if too few of the labels say yes, or no."""
        yes = sum(self._yes[question] for question in questions)
        if min(yes, len(questions) - yes) < MIN_OF_EACH:
            raise BadData(
                f"{yes} of {len(questions)} labels{where} say supported or yes; tuning needs {MIN_OF_EACH} or more of "
                "either answer in each half, on different texts"
            )

    def _half(self) -> list[Question]:
        """A random half of the labelled questions; those about one text are in the same half."""
        groups = _by_subject(self._labels)
        texts = sorted(groups, key=lambda text: hashlib.sha256(f"{self._seed}\0{text}".encode()).digest())
        yes = {text: sum(self._yes[question] for question in questions) for text, questions in groups.items()}
        texts.sort(key=lambda text: 2 * yes[text] > len(groups[text]))  # so that each half has its share of these
        return [question for text in texts[::2] for question in groups[text]]

    def _wording(self, folder: Path) -> JudgeFile:
        """The judge with a folder of prompts. Raises BadData if the folder does not change what is asked."""
        spec = self._original.judge
        if not self._is_model:
            raise BadParameter(f"--prompts: {spec} has no prompts; leave it out, or name an LLM judge")
        separator = "&" if "?" in spec else "?"
        with_prompts = f"{spec}{separator}prompts={quote(str(folder), safe='/')}"
        file = msgspec.structs.replace(self._original, judge=with_prompts)
        judge_of_file(file)
        kinds = frozenset(question.kind for question in self._labels)
        before, after = (system(kinds, prompt_style(parse_llm_spec(judge).options)) for judge in (spec, file.judge))
        if before == after:
            wanted = " or ".join(f"{name}.md" for name in ("preamble", *sorted(kinds)))
            raise BadData(f"{folder}: it lacks a section that the labels are asked with; edit {wanted} in it")
        return file

    def _examples(self, answers: Answers) -> dict[Question, dict[str, Any]]:
        """Worked examples, first those of the judge's mistakes; none if there are too few labels."""
        examples: dict[Question, dict[str, Any]] = {}
        for question in self._choosing:
            if example := _example(question, self._labels[question], answers[question]):
                examples[question] = example
        drawn = Random(f"{self._seed}/1").sample(list(examples), len(examples))
        drawn.sort(key=lambda question: says_yes(answers[question]) == self._yes[question])
        yes = [question for question in drawn if self._yes[question]]
        no = [question for question in drawn if not self._yes[question]]
        chosen = [*yes[: _EXAMPLES // 2], *no[: _EXAMPLES // 2]]
        is_enough = len(chosen) == _EXAMPLES and len(self._choosing) >= _LABELS_FOR_EXAMPLES
        return {question: examples[question] for question in chosen} if is_enough else {}

    async def _with_levels(self, answers: Answers, tried: dict[str, float | None]) -> Tuned:
        """Choose the probabilities from which the judge says yes.

        All labels choose them; the gain is measured on each half with those that the other half chooses.
        """
        answers = {**answers, **await self._answers_of(self.judge, self._measuring)}
        best = self._original
        before = after = _verdicts(answers)
        if levels := self._levels(answers):
            best = msgspec.structs.replace(self._original, thresholds=levels)
            tried["as it is"] = self._agreement(answers)
            tried[f"yes from {_thresholds_text(levels)}"] = self._agreement(answers, levels)
            level_of: dict[Question, float | None] = {}
            for half, other in ((self._choosing, self._measuring), (self._measuring, self._choosing)):
                learned = self._levels({question: answers[question] for question in other})
                level_of.update((question, learned.get(question.kind)) for question in half)
            after = {question: says_yes(answer, level_of[question]) for question, answer in answers.items()}
        return self._tuned(best, before, after, len(answers), tried, {})

    def _levels(self, answers: Answers) -> dict[str, float]:
        """For each kind the probability from which yes agrees best with people, if better than the judge's verdicts."""
        levels = {}
        for kind in dict.fromkeys(question.kind for question in answers):
            of_kind = {question: answer for question, answer in answers.items() if question.kind == kind}
            best, agreement = self._best_level(of_kind)
            if agreement > (self._agreement(_only_verdicts(of_kind)) or 0.0):
                levels[kind] = best
        return levels

    def _best_level(self, answers: Answers) -> tuple[float, float]:
        """The level that agrees best with people, and its agreement; 0 if a verdict has no probability."""
        verdicts = _only_verdicts(answers)
        probabilities = [verdict.probability for verdict in verdicts.values() if verdict.probability is not None]
        if len(probabilities) < len(verdicts):
            return 0.5, 0.0
        people = [self._yes[question] for question in verdicts]
        levels = sorted((step / 100 for step in range(1, 100)), key=lambda level: abs(level - 0.5))
        agreement = {level: balanced_accuracy(people, [p >= level for p in probabilities]) or 0.0 for level in levels}
        best = max(agreement, key=agreement.__getitem__)
        return best, agreement[best]

    async def _with_thresholds(self) -> Tuned:
        """Fit thresholds to the cascade's first judge; the best judge is the cascade with those that qualify.

        Where none does, all verdicts would go to the second judge, which is then the best alone.
        """
        (first, second), _ = arguments_of(self._original.judge)
        judge = load_judge(first)
        questions = [question for question in self._choosing if can_answer(judge, question)]
        if not questions:
            raise BadData(
                f"no label is for a verdict that {judge.identity} can give; `ragauge docs judges` shows labels"
            )
        fitted = fit_thresholds(self._yes, await self._answers_of(judge, questions), self._accuracy)
        qualified = {kind: fit.threshold for kind, fit in fitted.items() if fit.threshold is not None}
        spec = f"cascade({first},{second},{_thresholds_text(qualified)})" if qualified else second
        best = self._original if spec == self._original.judge else JudgeFile(judge=spec)
        is_second = not qualified and self._original.judge == f"cascade({first},{second},{_ALL_UP})"
        before = after = _verdicts(await self._answers_of(self.judge, self._measuring))
        if best is not self._original and not is_second:
            after = _verdicts(await self._answers_of(judge_of_file(best), self._measuring))
        return self._tuned(best, before, after, len(self._choosing), {}, fitted)

    def _tuned(
        self,
        best: JudgeFile,
        before: Mapping[Question, bool],
        after: Mapping[Question, bool],
        chosen_by: int,
        tried: dict[str, float | None],
        thresholds: dict[str, FittedThreshold],
    ) -> Tuned:
        """The result: the best judge, if it comes of a cascade or its gain is shown, else the original one.

        before, after: whether the original and the best judge say yes; the same where these are the same judge.
        """
        both = [question for question in before if question in after]
        labels = [float(self._yes[question]) for question in both]
        texts = [question.subject for question in both]
        before_yes, after_yes = ([float(verdicts[question]) for question in both] for verdicts in (before, after))
        if after is before:
            gain = Paired(Interval(0.0, 0.0, 0.0, "the same judge"), 1.0)
        else:
            gain = _gain(labels, before_yes, after_yes, texts)
        has_threshold = any(fitted.threshold is not None for fitted in thresholds.values())
        adopted = has_threshold or (gain.interval.low or 0.0) > 0
        file = best if adopted or self._is_cascade else self._original
        tuned = Tuned(
            file,
            adopted,
            _in_words(best),
            chosen_by=chosen_by,
            measured_by=len(both),
            tried=tried,
            before=figure(labels, before_yes, texts, balanced_accuracy),
            after=figure(labels, after_yes, texts, balanced_accuracy),
            gain=gain.interval,
            p=gain.p,
            thresholds=thresholds,
            crossed=chosen_by == len(self._labels),
        )
        record = {name: value for name, value in msgspec.to_builtins(tuned).items() if name != "file"}
        return msgspec.structs.replace(tuned, file=msgspec.structs.replace(file, tuned=record))


def _verdicts(answers: Answers) -> dict[Question, bool]:
    """Whether each answer that is a verdict says yes."""
    return {question: says_yes(verdict) for question, verdict in _only_verdicts(answers).items()}


def _only_verdicts(answers: Answers) -> dict[Question, Verdict]:
    return {question: answer for question, answer in answers.items() if isinstance(answer, Verdict)}


def _gain(labels: Sequence[float], before: Sequence[float], after: Sequence[float], texts: Sequence[str]) -> Paired:
    """The difference of two balanced accuracies on the same questions, clustered by text.

    It is a weighted mean of the change from wrong (0) to right (1): labels of yes and labels of no weigh one half each.
    """
    yes = sum(labels)
    if not 0 < yes < len(labels):
        return Paired(Interval(None, None, None, "halves"), None)
    weights = {1.0: len(labels) / yes / 2, 0.0: len(labels) / (len(labels) - yes) / 2}
    largest = max(weights.values())
    changes = [
        weights[label] * ((new == label) - (old == label))
        for label, old, new in zip(labels, before, after, strict=True)
    ]
    return paired_mean(changes, scale=(-largest, largest), clusters=texts)


def _by_subject(questions: Iterable[Question]) -> dict[str, list[Question]]:
    groups: dict[str, list[Question]] = {}
    for question in questions:
        groups.setdefault(question.subject, []).append(question)
    return groups


def _thresholds_text(thresholds: Mapping[str, float]) -> str:
    return ",".join(f"{kind}={threshold:g}" for kind, threshold in thresholds.items())


def _with_threshold(spec: str) -> str:
    """The spec of a cascade of two judges; without thresholds of its own, it leaves everything to the second."""
    judges, options = arguments_of(spec)
    if len(judges) != 2:
        raise BadParameter(f"{spec}: tune a cascade of two judges; its second may be a cascade")
    has_own = options or adapted(load_judge(judges[0])).threshold is not None
    return spec if has_own else f"cascade({judges[0]},{judges[1]},{_ALL_UP})"


def _example(question: Question, people: Answer | Failure, judge: Answer | Failure) -> dict[str, Any] | None:
    """A worked example: people's answer, with the judge's reason and sources if the judge agrees.

    A reason that names sources by their ids in a call is left out. None for a long example, and for a claim that people
    call not entailed if the judge does not tell whether it is neutral or contradicted.
    """
    if not isinstance(question, VerdictQuestion) or not isinstance(people, Verdict) or not isinstance(judge, Verdict):
        return None
    label = people.label
    if label is Label.NOT_ENTAILED and judge.label is not Label.ENTAILED:
        label = judge.label
    if label is Label.NOT_ENTAILED:
        return None
    agrees = label is judge.label
    why = judge.rationale if agrees and judge.rationale and not _SOURCE.search(judge.rationale) else ""
    item = question.example_item(label, why, judge, agrees)
    if item is None:
        return None
    example = {**msgspec.to_builtins(question), "answer": item}
    return example if len(msgspec.json.encode(example)) <= _EXAMPLE_BYTES else None


def tuning_view(tuned: Tuned) -> Iterator[RenderableType]:
    """What was tried, what was chosen, and the gain."""
    if tuned.tried:
        yield f"Tried on {counted(tuned.chosen_by, 'label')}, by balanced accuracy:"
        yield rich_table(("", "agreement"), [[name, number(share)] for name, share in tuned.tried.items()], left=[""])
    for kind, fitted in tuned.thresholds.items():
        beyond = f"{fitted.share:.0%} of {counted(fitted.labelled, 'label')} lie beyond"
        if fitted.threshold is not None:
            yield f"{kind}: the first judge stands from {fitted.threshold:g}; {beyond}"
            continue
        yield f"{kind}: no threshold of the first judge qualifies"
        if fitted.nearest:
            yield f"  {fitted.nearest}"
    low, high = tuned.gain.low or 0.0, tuned.gain.high or 0.0
    remark = ""
    if tuned.adopted and low < 0:
        remark = f"; the loss that this accepts is at most {-low:.3f}"
    if tuned.thresholds and not any(fitted.threshold is not None for fitted in tuned.thresholds.values()):
        remark = ": no threshold qualifies, so use the second judge alone"
    elif not tuned.adopted and tuned.chosen != _in_words(tuned.file):
        remark = f"; it could lose {max(-low, 0):.3f} as well as gain {max(high, 0):.3f}, so the judge stays as it was"
    yield f"chosen: {tuned.chosen}{remark}"
    before, after, gain = with_interval(tuned.before), with_interval(tuned.after), with_interval(tuned.gain, signed)
    labels = counted(tuned.measured_by, "label")
    measuring = f"{labels}, each by what the other half chooses" if tuned.crossed else f"{labels} that did not choose"
    yield f"balanced accuracy on {measuring}: before {before}, after {after}, gain {gain}, p {p_value(tuned.p)}"


def _in_words(file: JudgeFile) -> str:
    """A judge with its examples and thresholds."""
    added = f", {len(file.examples)} examples" if file.examples else ""
    levels = f", yes from {_thresholds_text(file.thresholds)}" if file.thresholds else ""
    return f"{file.judge}{added}{levels}"
