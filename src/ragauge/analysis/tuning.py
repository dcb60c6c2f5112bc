"""Tuning a judge on people's labels: what one half chooses the other measures, and it is taken if that shows a gain."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from ragauge.analysis.measure import AnswerFunction, ask, figure
from ragauge.errors import BadData, BadParameter, RunFailed
from ragauge.judges.base import Judge, JudgeSpec, adapted, can_answer
from ragauge.judges.composite import VERDICTS
from ragauge.judges.llm.judge import prompt_style
from ragauge.judges.llm.prompts import system
from ragauge.judges.llm.providers import PROVIDERS, parse_llm_spec
from ragauge.judges.thresholds import FittedThreshold, fit_thresholds, says_yes
from ragauge.kinds.verdict import VerdictQuestion
from ragauge.questions import Judgment, Question
from ragauge.report.text import rich_table
from ragauge.report.wording import counted, number, p_value, signed, with_interval
from ragauge.run.specs import JudgeFile, arguments_of, judge_file, judge_of_file, load_judge
from ragauge.statistics.agreement import balanced_accuracy
from ragauge.statistics.intervals import Interval
from ragauge.statistics.paired import Paired, paired_mean
from ragauge.types import Answer, Failure, Label, Verdict

if TYPE_CHECKING:
    from rich.console import RenderableType

#: The fewest labels, and the fewest of either answer in each half.
MIN_LABELS, MIN_OF_EACH = 20, 3

#: Worked examples in a set, half of them of either answer; how many sets are tried; the most characters of an example.
_EXAMPLES, _SETS, _EXAMPLE_CHARS = 4, 3, 1500

#: The id of a source, as in "S1 says so".
_SOURCE = re.compile(r"\bS\d")

Answers = Mapping[Question, Answer | Failure]


class Tuned(msgspec.Struct, frozen=True):
    """A tuned judge. tried: the balanced accuracy on the labels to choose by; before, after, gain: that on the rest.

    adopted: whether the file is the judge that was chosen: a cascade, or one whose gain is shown, as its interval
    excludes 0; else it is the judge as it was. chosen: that judge in words.
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


class Tuner:
    """Tunes the judge of a spec on people's labels; all input is checked before anything is asked.

    accuracy: how often the first judge of a cascade has to be right. Raises BadParameter, UnknownName or BadData.
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
        self._first = judge_file(spec)
        self._is_model = self._first.judge.partition("/")[0] in PROVIDERS
        self._is_cascade = self._first.judge.startswith("cascade(")
        if self._is_cascade:
            self._first = msgspec.structs.replace(self._first, judge=_startable(self._first.judge))
        self.judge = judge_of_file(self._first)
        self._accuracy, self._seed = accuracy, seed
        labels = {label.question: label.answer for label in labelled if label.question.kind in VERDICTS}
        self._people = {question: label for question, label in labels.items() if can_answer(self.judge, question)}
        self._yes = {question: says_yes(label) for question, label in self._people.items()}
        self._check_labels(self._yes, "")
        self._choosing = self._half()
        self._rest = [question for question in self._people if question not in self._choosing]
        for half in (self._choosing, self._rest):
            self._check_labels(half, " of one half of the texts")
        self._wordings = [(f"prompts={folder}", self._wording(folder)) for folder in prompts]
        self._tried: dict[str, float | None] = {}
        self._best = self._first
        self._answers: Answers = {}

    async def tune(self, answer: AnswerFunction | None = None) -> Tuned:
        """Choose and measure. Raises RunFailed if the judge answers nothing."""
        self._answer = answer
        if self._is_cascade:
            return await self._measured(await self._with_thresholds())
        for name, file in (("as it is", self._first), *self._wordings):
            await self._try(name, file, self._choosing)
        if self._is_model:
            sets = list(self._example_sets())
            shown = {question.subject for _, _, questions in sets for question in questions}
            unseen = [question for question in self._choosing if question.subject not in shown]
            if unseen:
                for name, file, _ in sets:
                    await self._try(f"{name} (on {len(unseen)})", file, unseen)
        return await (self._measured({}) if self._best is not self._first else self._with_levels())

    async def _try(self, name: str, file: JudgeFile, questions: Sequence[Question]) -> None:
        """Ask a judge; it is the best if it agrees more often than the best so far on the same questions."""
        answers = await self._asked(judge_of_file(file), questions)
        score = self._agreement(answers)
        so_far = {question: self._answers[question] for question in questions} if self._tried else None
        if so_far is None or (score or 0.0) > (self._agreement(so_far) or 0.0):
            self._best, self._answers = file, answers
        self._tried[name] = score

    async def _asked(self, judge: Judge, questions: Sequence[Question]) -> dict[Question, Answer | Failure]:
        answers = await ask(judge, _by_subject(questions).values(), self._answer)
        failures = [answer for answer in answers.values() if isinstance(answer, Failure)]
        if len(failures) == len(answers):
            raise RunFailed(f"{judge.identity} answered no question, the first because: {failures[0]}")
        return answers

    def _agreement(self, answers: Answers, levels: Mapping[str, float] = {}) -> float | None:
        """Balanced accuracy, saying yes from levels on; a missing answer counts as a wrong one."""
        verdicts = [
            says_yes(answer, levels.get(asked.kind)) if isinstance(answer, Verdict) else not self._yes[asked]
            for asked, answer in answers.items()
        ]
        return balanced_accuracy([self._yes[question] for question in answers], verdicts)

    def _check_labels(self, questions: Collection[Question], where: str) -> None:
        if not where and len(questions) < MIN_LABELS:
            raise BadData(
                f"{len(questions)} labels for verdicts that {self.judge.identity} can give; tuning needs {MIN_LABELS} "
                "or more, half of them to choose by and half to measure by"
            )
        yes = sum(self._yes[question] for question in questions)
        if min(yes, len(questions) - yes) < MIN_OF_EACH:
            raise BadData(
                f"{yes} of {len(questions)} labels{where} say supported or yes; tuning needs {MIN_OF_EACH} or more of "
                "either answer in each half, on different texts"
            )

    def _half(self) -> list[Question]:
        """Half of the labelled questions; those about one text are in the same half."""
        groups = _by_subject(self._people)
        order = sorted(groups, key=lambda text: hashlib.sha256(f"{self._seed}\0{text}".encode()).digest())
        by_answer = sorted(order, key=lambda text: 2 * sum(self._yes[q] for q in groups[text]) > len(groups[text]))
        return [question for text in by_answer[::2] for question in groups[text]]

    def _wording(self, folder: Path) -> JudgeFile:
        """The judge with a folder of prompts. Raises BadData if it changes nothing of what is asked."""
        spec = self._first.judge
        if not self._is_model:
            raise BadParameter(f"--prompts: {spec} has no prompts; leave it out, or name an LLM judge")
        named = f"{spec}{'&' if '?' in spec else '?'}prompts={quote(str(folder), safe='/')}"
        file = msgspec.structs.replace(self._first, judge=named)
        judge_of_file(file)
        kinds = frozenset(question.kind for question in self._people)
        before, after = (system(kinds, prompt_style(parse_llm_spec(judge).options)) for judge in (spec, file.judge))
        if before == after:
            wanted = " or ".join(f"{name}.md" for name in ("preamble", *sorted(kinds)))
            raise BadData(f"{folder}: it lacks a section that the labels are asked with; edit {wanted} in it")
        return file

    def _example_sets(self) -> Iterator[tuple[str, JudgeFile, list[Question]]]:
        """Sets of worked examples, the first with the judge's mistakes; none where there are too few labels."""
        if len(self._choosing) < 2 * _EXAMPLES * _SETS:
            return
        rows = ((question, self._people[question], self._answers[question]) for question in self._choosing)
        made = {row[0]: example for row in rows if (example := _example(*row))}
        for place in range(1, _SETS + 1):
            drawn = Random(f"{self._seed}/{place}").sample(list(made), len(made))
            if place == 1:
                drawn.sort(key=lambda question: says_yes(self._answers[question]) == self._yes[question])
            halves = ([question for question in drawn if self._yes[question] is yes] for yes in (True, False))
            chosen = [question for half in halves for question in half[: _EXAMPLES // 2]]
            if len(chosen) < _EXAMPLES:
                return
            file = msgspec.structs.replace(self._best, examples=tuple(made[question] for question in chosen))
            yield f"{len(chosen)} examples, {'its mistakes first' if place == 1 else f'draw {place}'}", file, chosen

    async def _with_levels(self) -> Tuned:
        """Choose the probability from which the judge says yes: on all labels, each half measured by what the other
        chooses.
        """
        answers = {**self._answers, **await self._asked(self.judge, self._rest)}
        level_of: dict[Question, float | None] = {}
        for half, other in ((self._choosing, self._rest), (self._rest, self._choosing)):
            levels = self._levels({question: answers[question] for question in other})
            level_of.update((question, levels.get(question.kind)) for question in half)
        if levels := self._levels(answers):
            self._best = msgspec.structs.replace(self._first, thresholds=levels)
            self._tried[f"yes from {_named(levels)}"] = self._agreement(answers, levels)
        after = {question: says_yes(answer, level_of[question]) for question, answer in answers.items()}
        return self._tuned(answers, after if levels else _verdicts(answers), len(answers), {})

    def _levels(self, answers: Answers) -> dict[str, float]:
        """By kind the probability from which yes agrees best with people, where that is more often than the judge."""
        chosen = {}
        levels = sorted((step / 100 for step in range(1, 100)), key=lambda level: abs(level - 0.5))
        for name in dict.fromkeys(question.kind for question in answers):
            of_kind = ((question, answer) for question, answer in answers.items() if question.kind == name)
            own = {question: answer for question, answer in of_kind if isinstance(answer, Verdict)}
            sure = [answer.probability for answer in own.values() if answer.probability is not None]
            if own and len(sure) == len(own):
                people = [self._yes[question] for question in own]
                agreement = {level: balanced_accuracy(people, [p >= level for p in sure]) or 0.0 for level in levels}
                level = max(agreement, key=agreement.__getitem__)
                if agreement[level] > (self._agreement(own) or 0.0):
                    chosen[name] = level
        return chosen

    async def _with_thresholds(self) -> dict[str, FittedThreshold]:
        """Fit thresholds to the first judge of the cascade; the best is the cascade with those that qualify."""
        (first, second), _ = arguments_of(self._first.judge)
        judge = load_judge(first)
        asked = [question for question in self._choosing if can_answer(judge, question)]
        if not asked:
            raise BadData(
                f"no label is for a verdict that {judge.identity} can give; `ragauge docs judges` shows labels"
            )
        fitted = fit_thresholds(self._yes, await self._asked(judge, asked), self._accuracy)
        qualified = {name: fit.threshold for name, fit in fitted.items() if fit.threshold is not None}
        if qualified:
            self._best = JudgeFile(judge=f"cascade({first},{second},{_named(qualified)})")
        return fitted

    async def _measured(self, thresholds: dict[str, FittedThreshold]) -> Tuned:
        """The gain of the best judge on the rest of the labels."""
        before = await self._asked(self.judge, self._rest)
        best = self._best
        after = before if best is self._first else await self._asked(judge_of_file(best), self._rest)
        return self._tuned(before, _verdicts(after), len(self._choosing), thresholds)

    def _tuned(
        self, answers: Answers, after: Mapping[Question, bool], chosen_by: int, thresholds: dict[str, FittedThreshold]
    ) -> Tuned:
        """The best judge, if it is a cascade or agrees more often than the first. after: whether it says yes."""
        before = _verdicts(answers)
        both = [question for question in before if question in after]
        labels, texts = [float(self._yes[question]) for question in both], [question.subject for question in both]
        own, others = ([float(said[question]) for question in both] for said in (before, after))
        same = Paired(Interval(0.0, 0.0, 0.0, "the same judge"), 1.0)
        gain = same if self._best is self._first else _gain(labels, own, others, texts)
        adopted = self._is_cascade or (gain.interval.low or 0.0) > 0
        file = self._best if adopted else self._first
        tuned = Tuned(
            file,
            adopted,
            _in_words(self._best),
            chosen_by=chosen_by,
            measured_by=len(both),
            tried=self._tried,
            before=figure(labels, own, texts, balanced_accuracy),
            after=figure(labels, others, texts, balanced_accuracy),
            gain=gain.interval,
            p=gain.p,
            thresholds=thresholds,
        )
        record = {name: value for name, value in msgspec.to_builtins(tuned).items() if name != "file"}
        return msgspec.structs.replace(tuned, file=msgspec.structs.replace(file, tuned=record))


def _verdicts(answers: Answers) -> dict[Question, bool]:
    """Whether each answer that is a verdict says yes."""
    return {question: says_yes(answer) for question, answer in answers.items() if isinstance(answer, Verdict)}


def _gain(labels: Sequence[float], before: Sequence[float], after: Sequence[float], texts: Sequence[str]) -> Paired:
    """The difference of two balanced accuracies on the same questions, by clusters of those on one text.

    It is the mean over questions of whether the second is right less whether the first is, the questions of either
    answer weighing one half together.
    """
    yes = sum(labels)
    if not 0 < yes < len(labels):
        return Paired(Interval(None, None, None, "halves"), None)
    weights = {1.0: len(labels) / yes / 2, 0.0: len(labels) / (len(labels) - yes) / 2}
    largest = max(weights.values())
    right = ((other == label) - (own == label) for label, own, other in zip(labels, before, after, strict=True))
    weighted = [weights[label] * change for label, change in zip(labels, right, strict=True)]
    return paired_mean(weighted, scale=(-largest, largest), clusters=texts)


def _by_subject(questions: Iterable[Question]) -> dict[str, list[Question]]:
    groups: dict[str, list[Question]] = {}
    for question in questions:
        groups.setdefault(question.subject, []).append(question)
    return groups


def _named(values: Mapping[str, float]) -> str:
    return ",".join(f"{name}={value:g}" for name, value in values.items())


def _startable(spec: str) -> str:
    """The spec of a cascade of two; one without thresholds leaves everything to its second judge."""
    judges, options = arguments_of(spec)
    if len(judges) != 2:
        raise BadParameter(f"{spec}: tune a cascade of two judges; its second may be a cascade")
    has_own = options or adapted(load_judge(judges[0])).threshold is not None
    return spec if has_own else f"cascade({judges[0]},{judges[1]},threshold=2)"


def _example(question: Question, people: Answer | Failure, judge: Answer | Failure) -> dict[str, Any] | None:
    """A worked example of people's answer, with the judge's reason and sources where the judge agrees.

    A reason that names sources by their ids in a call is left out. None if the example is long, or if it is not known
    whether a claim that people call not entailed is neutral or contradicted.
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
    return example if len(msgspec.json.encode(example)) <= _EXAMPLE_CHARS else None


def tuning_view(tuned: Tuned) -> Iterator[RenderableType]:
    """What was tried, what was chosen, and the gain."""
    if tuned.tried:
        yield f"Tried on {counted(tuned.chosen_by, 'label')}, by balanced accuracy:"
        yield rich_table(("", "agreement"), [[name, number(share)] for name, share in tuned.tried.items()], left=[""])
    for name, fitted in tuned.thresholds.items():
        stands = "no threshold qualifies" if fitted.threshold is None else f"stands from {fitted.threshold:g}"
        yield f"{name}: the first judge {stands}; {fitted.share:.0%} of {counted(fitted.labelled, 'label')} lie beyond"
    low, high = tuned.gain.low or 0.0, tuned.gain.high or 0.0
    loss = f"; the loss that this accepts is at most {-low:.3f}" if low < 0 else ""
    missed = f"; it could lose {max(-low, 0):.3f} as well as gain {max(high, 0):.3f}, so the judge stays as it was"
    yield f"chosen: {tuned.chosen}{loss if tuned.adopted else missed if tuned.chosen != _in_words(tuned.file) else ''}"
    before, after = (
        "–" if share is None else with_interval(share.value, share.low, share.high)
        for share in (tuned.before, tuned.after)
    )
    gain = with_interval(tuned.gain.value, tuned.gain.low, tuned.gain.high, signed)
    rest = f"{counted(tuned.measured_by, 'label')} that did not choose"
    yield f"balanced accuracy on {rest}: before {before}, after {after}, gain {gain}, p {p_value(tuned.p)}"


def _in_words(file: JudgeFile) -> str:
    """A judge with its examples and thresholds."""
    added = f", {len(file.examples)} examples" if file.examples else ""
    levels = f", yes from {_named(file.thresholds)}" if file.thresholds else ""
    return f"{file.judge}{added}{levels}"
