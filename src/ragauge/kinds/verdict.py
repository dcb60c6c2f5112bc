"""What kinds that are answered by a label have in common.

In a vote a label needs more than half of the ballots. Without such a majority the answer is the one that asserts least:
NO, or NEUTRAL (neither supported nor contradicted), or NOT_ENTAILED where a two-way ballot leaves open which. So the
order of the ballots has no influence, and support is found exactly where more than half find it, however many are
two-way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, ClassVar, TypeVar

from ragauge.errors import UsageError
from ragauge.kinds.base import BaseQuestion, LabelChoice, UnusableReply
from ragauge.kinds.call import AskedCall, LabelForm, PromptStyle, item_of, label_of, rationale_of
from ragauge.types import POSITIVE, ChunkVerdict, Label, Statement, Verdict

T = TypeVar("T")
AnyVerdict = TypeVar("AnyVerdict", Verdict, ChunkVerdict)

YES_NO: Mapping[str, Label] = {label.value: label for label in (Label.YES, Label.NO)}
YES_NO_CHOICES = (LabelChoice("y", Label.YES, "yes"), LabelChoice("n", Label.NO, "no"))

#: The form of yes or no on a text that is inlined in its question.
REMARK = LabelForm("remark", labels=tuple(YES_NO))


class VerdictQuestion(BaseQuestion, frozen=True):
    """A question that is answered by a label, which may come with a probability."""

    answer_type = Verdict
    answer_field = "label"
    item_fields = frozenset({"label"})
    labels: ClassVar[Mapping[str, Label]] = YES_NO
    choices: ClassVar[tuple[LabelChoice, ...]] = YES_NO_CHOICES
    #: The labels of no and of yes.
    no_and_yes: ClassVar[tuple[Label, Label]] = (Label.NO, Label.YES)

    def fault_of(self, answer: Verdict, in_full: bool) -> str | None:
        """What is wrong with its labels or probabilities, or None."""
        allowed = {*self.labels.values(), *self.no_and_yes}
        verdicts: tuple[Verdict | ChunkVerdict, ...] = (answer, *answer.chunks)
        for verdict in verdicts:
            if verdict.label not in allowed:
                return f"{verdict.label.value!r} is not one of {', '.join(sorted(allowed))}"
            if verdict.probability is not None and not 0 <= verdict.probability <= 1:
                return f"the probability {verdict.probability} lies outside 0..1"
        return None

    def guess(self, statements: Callable[[str, str | None], tuple[Statement, ...]]) -> Verdict:
        """No."""
        return Verdict(self.no_and_yes[0])

    def parse(self, item: object, call: AskedCall, style: PromptStyle) -> Verdict:
        """The label, with the reason."""
        fields = item_of(item, "label")
        return Verdict(label_of(fields, self.labels), rationale=rationale_of(fields, style))

    def joint(self, answers: Sequence[Verdict]) -> Verdict:
        """The majority label, with the span and the rationale of the first who gave it."""
        label, probability, agreed = vote(answers)
        span, rationale = first(answer.span for answer in agreed), first(answer.rationale for answer in agreed)
        return Verdict(label, probability, (), span, rationale)

    def typed_answer(self, typed: str) -> Verdict:
        """The label of a key that was typed."""
        return Verdict(self.typed_label(typed.strip().lower()))

    def typed_label(self, key: str) -> Label:
        """The label of a key. Raises UsageError."""
        for choice in self.choices:
            if choice.key == key:
                return choice.label
        possible = ", ".join(f"{choice.key} ({choice.words})" for choice in self.choices)
        raise UsageError(f"{key!r} is not an answer; type one of {possible}")

    def verdict_of(self, reply: Any) -> Verdict:
        """The verdict that a user's function returned, as `answer_and_probability` reads it. Raises UnusableReply."""
        answer, probability = answer_and_probability(reply)
        rationale = reply.rationale if isinstance(reply, Verdict) else None
        if type(answer).__name__ in BOOL_TYPES:
            return Verdict(self.no_and_yes[bool(answer)], probability, rationale=rationale)
        words = () if self.labels is YES_NO else tuple(self.labels)
        if answer in words:
            return Verdict(Label(answer), probability, rationale=rationale)
        possible = f"a bool, or {', '.join(map(repr, words))}" if words else "a bool"
        raise UnusableReply(f"{self.kind}() must return {possible}", reply)

    def example_item(self, label: Label, why: str, judge: Verdict, agrees: bool) -> dict[str, Any] | None:
        """The item of a worked example with this label; None where it cannot be given in full.

        judge: the answer of a judge. agrees: whether its label is the same.
        """
        return {"why": why, "label": label.value}


#: The labels that a two-way judge calls not entailed.
UNSUPPORTED = (Label.NEUTRAL, Label.CONTRADICTED)


def majority(votes: Sequence[Label]) -> Label:
    """The majority label, or the one that asserts least."""
    label, count = Counter(votes).most_common(1)[0]
    if 2 * count > len(votes):
        return label
    if label in (Label.YES, Label.NO):
        return Label.NO
    return Label.NOT_ENTAILED if Label.NOT_ENTAILED in votes else Label.NEUTRAL


def vote(ballots: Sequence[AnyVerdict]) -> tuple[Label, float, list[AnyVerdict]]:
    """The majority label, the mean probability, and the ballots that agree.

    A ballot without a probability counts by its label, as 1 for support, yes or right and else 0, so that without any
    the probability is the share of votes.
    """
    label = majority([ballot.label for ballot in ballots])
    probability = mean(
        [float(ballot.label in POSITIVE) if ballot.probability is None else ballot.probability for ballot in ballots]
    )
    agreed = {label, *UNSUPPORTED} if label == Label.NOT_ENTAILED else {label}
    agreeing = [ballot for ballot in ballots if ballot.label in agreed]
    return label, probability, agreeing


def mean(values: Sequence[float]) -> float:
    """The mean of values, kept within their range despite rounding."""
    return min(max(fmean(values), min(values)), max(values))


def first(values: Iterable[T | None]) -> T | None:
    """The first value that is not empty."""
    return next(filter(None, values), None)


#: The names of the types of True and False; the second is numpy's.
BOOL_TYPES = ("bool", "bool_")
_BOOLS = {Label.YES: True, Label.NO: False, Label.NOT_ENTAILED: False}


def answer_and_probability(reply: Any) -> tuple[Any, float | None]:
    """The answer and probability that a function returned: as a pair, as a Verdict, or as an answer alone."""
    if isinstance(reply, Verdict):
        return _BOOLS.get(reply.label, reply.label.value), reply.probability
    if isinstance(reply, tuple) and len(reply) == 2 and isinstance(reply[1], int | float):
        return reply[0], float(reply[1])
    return reply, None
