"""Tuning a judge on people's labels: what is chosen on one half is measured on the rest."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from ragauge.analysis.measure import AnswerFunction, figure, first_failure, judge_session
from ragauge.analysis.thresholds import FittedThreshold, fit_threshold, says_yes, subject
from ragauge.errors import BadData, BadParameter, RunFailed
from ragauge.judges.base import Judge, can_answer
from ragauge.judges.composite import VERDICTS
from ragauge.judges.llm.judge import prompt_style
from ragauge.judges.llm.prompts import system
from ragauge.judges.llm.providers import PROVIDERS, parse_llm_spec
from ragauge.questions import Entail, Judgment, Question, kind
from ragauge.report.text import rich_table
from ragauge.report.wording import counted, number, p_value, signed, with_interval
from ragauge.run.specs import JudgeFile, arguments_of, judge_of_file, load_judge, read_judge_file
from ragauge.statistics.agreement import balanced_accuracy, group_difference
from ragauge.statistics.intervals import Interval
from ragauge.types import Answer, Failure, Label, Verdict

#: The fewest labels, and the fewest of either answer in each half.
MIN_LABELS, MIN_OF_EACH = 20, 3

#: Worked examples in a set, half of them of either answer; how many sets are tried; the most characters of an example.
_EXAMPLES, _SETS, _EXAMPLE_CHARS = 4, 3, 1500

if TYPE_CHECKING:
    from rich.console import RenderableType

#: The id of a source, as in "S1 says so".
_SOURCE = re.compile(r"\bS\d")

Answers = Mapping[Question, Answer | Failure]


class Tuned(msgspec.Struct, frozen=True):
    """A tuned judge.

    file: what was chosen. chosen_by: the number of labels to choose by; measured_by: that of the rest. tried: the
    balanced accuracy of what was tried on the former; None if undefined. before, after: that on the rest, gain: the
    difference, with 95 % intervals by texts. p: two-sided, for no gain. thresholds: those fitted to the first judge of
    a cascade.
    """

    file: JudgeFile
    chosen_by: int
    measured_by: int
    tried: dict[str, float | None]
    before: Interval | None
    after: Interval | None
    gain: Interval
    p: float | None
    thresholds: dict[str, FittedThreshold] = {}


class _Trials:
    """What was tried, and the best of it: the first with the highest agreement, on the questions asked of both."""

    def __init__(self, yes: Mapping[Question, bool], answer: AnswerFunction | None) -> None:
        self.tried: dict[str, float | None] = {}
        self.answers: Answers = {}
        self._yes, self._answer = yes, answer

    async def add(self, name: str, file: JudgeFile, questions: Sequence[Question]) -> None:
        """Ask another judge."""
        found = await _asked(judge_of_file(file), questions, self._answer)
        score = _agreement(self._yes, found)
        best = {question: self.answers[question] for question in questions} if self.tried else None
        if best is None or (score or 0.0) > (_agreement(self._yes, best) or 0.0):
            self.best, self.answers = file, found
        self.tried[name] = score


def _agreement(yes: Mapping[Question, bool], answers: Answers) -> float | None:
    """Balanced accuracy; a missing answer counts as a wrong one."""
    given = [says_yes(one) if isinstance(one, Verdict) else not yes[question] for question, one in answers.items()]
    return balanced_accuracy([yes[question] for question in answers], given)


class Tuner:
    """Tunes a judge; all input is checked before anything is asked.

    Args:
        spec: The judge, as for `load_judge`.
        labelled: People's labels; those of verdicts that the judge can give count, the last one of a question.
        prompts: Folders of prompts to try with an LLM judge.
        accuracy: How often the first judge of a cascade has to be right, as for `fit_threshold`.
        seed: Of the split and of the examples that are drawn.

    Raises:
        BadParameter, UnknownName: The judge cannot be made, or not with these prompts.
        BadData: There are too few labels or only one answer among them, or a folder or an example cannot be used.
    """

    def __init__(
        self,
        spec: str,
        labelled: Iterable[Judgment],
        prompts: Sequence[Path] = (),
        accuracy: float = 0.95,
        seed: int = 0,
    ) -> None:
        self._first = read_judge_file(spec) if spec.endswith(".json") else JudgeFile(judge=spec)
        self._is_model = self._first.judge.partition("/")[0] in PROVIDERS
        self._is_cascade = self._first.judge.startswith("cascade(")
        if self._is_cascade:
            self._first = msgspec.structs.replace(self._first, judge=_startable(self._first.judge))
        self.judge = judge_of_file(self._first)
        self._accuracy, self._seed = accuracy, seed
        labels = {one.question: one for one in labelled if kind(one.question) in VERDICTS}
        self._labels = {question: one for question, one in labels.items() if can_answer(self.judge, question)}
        self._yes = {question: says_yes(one.answer) for question, one in self._labels.items()}
        self._check_labels(self._yes, "")
        self._choosing = self._half()
        self._rest = [question for question in self._labels if question not in self._choosing]
        for half in (self._choosing, self._rest):
            self._check_labels(half, " of one half of the texts")
        self._wordings = [(f"prompts={folder}", self._wording(folder)) for folder in prompts]

    async def tune(self, answer: AnswerFunction | None = None) -> Tuned:
        """Choose and measure. answer: answers in a judge's name, as for `measure`.

        Raises UsageError if the judge lacks something, such as a key, and RunFailed if it answers nothing.
        """
        if self._is_cascade:
            file, fitted = await self._with_thresholds(answer)
            return await self._measured(file, {}, fitted, answer)
        trials = _Trials(self._yes, answer)
        await trials.add("as it is", self._first, self._choosing)
        for name, file in self._wordings:
            await trials.add(name, file, self._choosing)
        if self._is_model:
            sets = list(self._example_sets(trials.best, trials.answers))
            shown = {subject(question) for _, _, questions in sets for question in questions}
            unseen = [question for question in self._choosing if subject(question) not in shown]
            for name, file, _ in sets if unseen else ():
                await trials.add(f"{name} (on {len(unseen)})", file, unseen)
        elif levels := self._levels(trials.answers):
            file = msgspec.structs.replace(trials.best, thresholds=levels)
            await trials.add(f"yes from {_named(levels)}", file, self._choosing)
        return await self._measured(trials.best, trials.tried, {}, answer)

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
        groups: dict[str, list[Question]] = {}
        for question in self._labels:
            groups.setdefault(subject(question), []).append(question)
        order = sorted(groups, key=lambda text: hashlib.sha256(f"{self._seed}\0{text}".encode()).digest())
        by_answer = sorted(order, key=lambda text: 2 * sum(self._yes[one] for one in groups[text]) > len(groups[text]))
        return [question for text in by_answer[::2] for question in groups[text]]

    def _wording(self, folder: Path) -> JudgeFile:
        """The judge with a folder of prompts. Raises BadData if it changes nothing of what is asked."""
        spec = self._first.judge
        if not self._is_model:
            raise BadParameter(f"--prompts: {spec} has no prompts; leave it out, or name an LLM judge")
        named = f"{spec}{'&' if '?' in spec else '?'}prompts={quote(str(folder), safe='/')}"
        file = msgspec.structs.replace(self._first, judge=named)
        judge_of_file(file)
        kinds = frozenset(map(kind, self._labels))
        before, after = (system(kinds, prompt_style(parse_llm_spec(one).options)) for one in (spec, file.judge))
        if before == after:
            wanted = " or ".join(f"{name}.md" for name in ("preamble", *sorted(kinds)))
            raise BadData(f"{folder}: it lacks a section that the labels are asked with; edit {wanted} in it")
        return file

    def _example_sets(self, best: JudgeFile, answers: Answers) -> Iterator[tuple[str, JudgeFile, list[Question]]]:
        """Sets of worked examples, the first with the judge's mistakes; none where there are too few labels."""
        pool = [
            (question, example, says_yes(answers[question]) != self._yes[question])
            for question in self._choosing
            if (example := _example(question, self._labels[question].answer, answers[question])) is not None
        ]
        for place in range(1, _SETS + 1):
            random_one = Random(f"{self._seed}/{place}")
            drawn = random_one.sample(pool, len(pool))
            if place == 1:
                drawn.sort(key=lambda one: not one[2])
            chosen = [
                one
                for answer in (True, False)
                for one in [one for one in drawn if self._yes[one[0]] is answer][: _EXAMPLES // 2]
            ]
            if len(chosen) < _EXAMPLES or len(self._choosing) < 2 * _EXAMPLES * _SETS:
                return
            file = msgspec.structs.replace(best, examples=tuple(example for _, example, _ in chosen))
            name = f"{len(chosen)} examples, {'its mistakes first' if place == 1 else f'draw {place}'}"
            yield name, file, [question for question, *_ in chosen]

    def _levels(self, answers: Answers) -> dict[str, float]:
        """By kind the probability from which yes agrees best with people, where that is more often than the judge."""
        found = {}
        for name in dict.fromkeys(map(kind, answers)):
            own = {question: one for question, one in answers.items() if kind(question) == name}
            if all(isinstance(one, Verdict) and one.probability is not None for one in own.values()):
                levels = sorted((step / 100 for step in range(1, 100)), key=lambda level: abs(level - 0.5))
                at = {level: _agreement(self._yes, _decided(own, level)) or 0.0 for level in levels}
                level = max(at, key=at.__getitem__)
                if at[level] > (_agreement(self._yes, own) or 0.0):
                    found[name] = level
        return found

    async def _with_thresholds(self, answer: AnswerFunction | None) -> tuple[JudgeFile, dict[str, FittedThreshold]]:
        (first, second), _ = arguments_of(self._first.judge)
        labels = [self._labels[question] for question in self._choosing]
        fitted = await fit_threshold(load_judge(first), labels, self._accuracy, answer)
        given = {name: one.threshold for name, one in fitted.items() if one.threshold is not None}
        if not given:
            return self._first, fitted
        return JudgeFile(judge=f"cascade({first},{second},{_named(given)})"), fitted

    async def _measured(
        self,
        best: JudgeFile,
        tried: dict[str, float | None],
        thresholds: dict[str, FittedThreshold],
        answer: AnswerFunction | None,
    ) -> Tuned:
        one = await _asked(self.judge, self._rest, answer)
        other = one if best is self._first else await _asked(judge_of_file(best), self._rest, answer)
        both = [q for q in self._rest if isinstance(one[q], Verdict) and isinstance(other[q], Verdict)]
        labels, texts = [float(self._yes[question]) for question in both], [subject(question) for question in both]
        before, after = ([float(says_yes(found[question])) for question in both] for found in (one, other))
        tested = group_difference(labels, after, before, texts, balanced_accuracy)
        found = Tuned(
            best,
            chosen_by=len(self._choosing),
            measured_by=len(both),
            tried=tried,
            before=figure(labels, before, texts, balanced_accuracy),
            after=figure(labels, after, texts, balanced_accuracy),
            gain=tested.interval,
            p=tested.p,
            thresholds=thresholds,
        )
        record = {name: value for name, value in msgspec.to_builtins(found).items() if name != "file"}
        return msgspec.structs.replace(found, file=msgspec.structs.replace(best, tuned=record))


async def _asked(
    judge: Judge, questions: Sequence[Question], answer: AnswerFunction | None
) -> dict[Question, Answer | Failure]:
    """The judge's answers. Raises RunFailed if there is none."""
    rounds: dict[str, list[Question]] = {}
    for question in questions:
        rounds.setdefault(subject(question), []).append(question)
    async with judge_session(judge, answer) as session:
        found = await session.answers(rounds.values())
    if all(isinstance(one, Failure) for one in found.values()):
        raise RunFailed(f"{judge.identity} answered no question, the first because: {first_failure(found.values())}")
    return found


def _named(values: Mapping[str, float]) -> str:
    return ",".join(f"{name}={value:g}" for name, value in values.items())


def _startable(spec: str) -> str:
    """The spec of a cascade of two; one without thresholds leaves everything to its second judge."""
    judges, options = arguments_of(spec)
    if len(judges) != 2:
        raise BadParameter(f"{spec}: tune a cascade of two judges; its second may be a cascade")
    has_own = options or getattr(load_judge(judges[0]), "threshold", None) is not None
    return spec if has_own else f"cascade({judges[0]},{judges[1]},threshold=2)"


def _decided(answers: Answers, level: float) -> Answers:
    """Verdicts with probabilities, with yes from a probability on."""
    return {
        question: Verdict(Label.YES if isinstance(one, Verdict) and (one.probability or 0.0) >= level else Label.NO)
        for question, one in answers.items()
    }


def _example(question: Question, people: Answer | Failure, judge: Answer | Failure) -> dict[str, Any] | None:
    """A worked example of people's answer, with the judge's reason and sources where the judge agrees.

    A reason that names sources by the ids they had in its call is left out.

    None where it is not known whether a claim that people call not entailed is neutral or contradicted, for the judge
    calls it entailed, and for a long one.
    """
    if not isinstance(people, Verdict) or not isinstance(judge, Verdict):
        return None
    label = people.label
    if label is Label.NOT_ENTAILED and judge.label is not Label.ENTAILED:
        label = judge.label
    if label is Label.NOT_ENTAILED:
        return None
    agrees = label is judge.label
    why = judge.rationale if agrees and judge.rationale and not _SOURCE.search(judge.rationale) else ""
    item: dict[str, Any] = {"why": why, "label": label.value}
    if isinstance(question, Entail) and len(set(question.premise)) > 1:
        if not agrees:
            return None
        for name, wanted in (("supports", Label.ENTAILED), ("contradicts", Label.CONTRADICTED)):
            item[name] = [place for place, chunk in enumerate(judge.chunks, 1) if chunk.label is wanted]
    example = {**msgspec.to_builtins(question), "answer": item}
    return example if len(msgspec.json.encode(example)) <= _EXAMPLE_CHARS else None


def tuning_view(tuned: Tuned) -> Iterator[RenderableType]:
    """What was tried, what was chosen, and the gain."""
    if tuned.tried:
        yield f"Tried on {counted(tuned.chosen_by, 'label')}, by balanced accuracy:"
        yield rich_table(("", "agreement"), [[name, number(one)] for name, one in tuned.tried.items()], left=[""])
    for name, fitted in tuned.thresholds.items():
        at = "no threshold qualifies" if fitted.threshold is None else f"stands from {fitted.threshold:g}"
        yield f"{name}: the first judge {at}; {fitted.share:.0%} of {counted(fitted.labelled, 'label')} lie beyond"
    added = f", {len(tuned.file.examples)} examples" if tuned.file.examples else ""
    levels = f", yes from {_named(tuned.file.thresholds)}" if tuned.file.thresholds else ""
    yield f"chosen: {tuned.file.judge}{added}{levels}"
    before, after = (
        "–" if one is None else with_interval(one.value, one.low, one.high) for one in (tuned.before, tuned.after)
    )
    gain = with_interval(tuned.gain.value, tuned.gain.low, tuned.gain.high, signed)
    rest = counted(tuned.measured_by, "other label")
    yield f"balanced accuracy on {rest}: before {before}, after {after}, gain {gain}, p {p_value(tuned.p)}"
