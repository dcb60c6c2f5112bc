"""Metrics of agents: were the right tools called, and does the agent say what they did?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from ragauge.metrics.base import MetricValue, metric, share
from ragauge.metrics.checks import CheckResult, Count, Text, check
from ragauge.metrics.claims import best_share
from ragauge.needs.base import Grades, Supports, Undefined
from ragauge.needs.calls import (
    NO_CALL,
    FlaggedCalls,
    MatchedCalls,
    arguments_said_before,
    calls_failed,
    calls_repeated,
    calls_valid,
    matched_calls,
)
from ragauge.needs.entailment import CALLED, reference_claims_in_trial
from ragauge.needs.nuggets import policy_kept
from ragauge.scores import F1Counts, Share
from ragauge.types import Sample


@metric(matched_calls, parts=("precision", "recall", "f1", "success"), caption="calls as expected")
def tool_calls(calls: MatchedCalls) -> Mapping[str, MetricValue]:
    """Precision, recall and F1 of the tool calls, and success: whether none is missing and none is extra.

    The calls are compared with `reference_tool_calls`, without their ids. With match=effects the data must say which
    tools only read (`read_only_tools`, MCP's readOnlyHint, or the effect of a call), or `reads` does; else the score is
    undefined. A failed call changes nothing. order: in_order counts the most calls that keep the order. arguments: or
    their names, such as id+date. If an expected call lists acceptable values, each of them is right, and texts are
    compared as in BFCL, without case, spaces and ,./-_*^.
    If no call was expected and none was made, F1 and success are 1.
    """
    missing, extra = calls.expected - calls.matched, calls.made - calls.matched
    f1 = F1Counts(calls.matched, extra, missing) if calls.made or calls.expected else 1.0
    precision = Share(calls.matched, calls.made) if calls.made else Undefined(NO_CALL)
    recall = Share(calls.matched, calls.expected) if calls.expected else Undefined("no call was expected")
    return {"precision": precision, "recall": recall, "f1": f1, "success": float(not missing and not extra)}


@metric(calls_valid, caption="calls the tools allow")
def valid_calls(calls: FlaggedCalls) -> Share | Undefined:
    """Share of the calls that name an offered tool, with arguments that its JSON Schema allows.

    The library jsonschema checks them: pip install 'ragauge[checks]'. A tool without `parameters` allows any arguments.
    """
    return share(calls.flags, NO_CALL)


@metric(calls_failed, better="lower", caption="calls that failed")
def failed_calls(calls: FlaggedCalls) -> Share | Undefined:
    """Share of the calls that ended with an error, among those whose outcome is recorded."""
    return share(calls.flags, NO_CALL)


@metric(calls_repeated, better="lower", caption="calls made before")
def repeated_calls(calls: FlaggedCalls) -> Share | Undefined:
    """Share of the calls that repeat an earlier one: the same tool with the same arguments."""
    return share(calls.flags, NO_CALL)


@check(reads=(CALLED,), caption="trials that are short enough")
def steps(sample: Sample, *, n: Annotated[Count, "the most calls"]) -> CheckResult:
    """1 if there are at most n tool calls, else 0."""
    calls = len(sample.counted_calls)
    return calls <= n, f"{calls} calls"


#: The score of a trial by the word for its outcome.
_OUTCOME_SCORES = {
    **dict.fromkeys(("true", "yes", "pass", "passed", "success"), 1.0),
    **dict.fromkeys(("false", "no", "fail", "failed", "failure"), 0.0),
}


@check(reads=lambda column: [f"metadata.{column}"], caption="trials that succeed")
def outcome(sample: Sample, *, column: Annotated[Text, "the column that holds it"] = "outcome") -> CheckResult:
    """How a trial ended, by a column: a number from 0 to 1, or a word such as true, passed or failed."""
    word = str(sample.metadata[column]).strip().casefold()
    try:
        return _OUTCOME_SCORES[word] if word in _OUTCOME_SCORES else float(word)
    except ValueError:
        fix = "give a number from 0 to 1, or a word such as passed or failed"
        raise ValueError(f"the column {column!r} holds {sample.metadata[column]!r}; {fix}") from None


@metric(reference_claims_in_trial, caption="outcome's claims reached")
def goal(in_trial: Supports) -> Share | Undefined:
    """Share of the claims of a reference outcome that the calls and the response show; the best over the references.

    The references say how the trial should end: "The order is cancelled, and 20 euros are refunded."
    """
    return best_share([table.entailed for table in in_trial.tables], "no reference makes a claim")


@metric(policy_kept, caption="rules that are kept")
def policy(grades: Grades) -> Share:
    """Share of the rules that the agent keeps, by what it says and the calls that it makes, as in policy(rules.md).

    rules: a file of text or Markdown with one rule per line; headings and quotations ("> ") are left out. Or the rules
    themselves, as in policy("Never promise a refund."+"Greet the customer."). A rule that does not apply is kept.
    """
    return Share(sum(grades.values), len(grades.values))


@metric(arguments_said_before, caption="arguments that were said")
def argument_support(calls: FlaggedCalls) -> Share | Undefined:
    """Share of the values of arguments that the user or a tool gave before the call, word for word or by entailment.

    The agent made up the others. The system prompt counts as a source; the agent's own texts do not.
    """
    return share(calls.flags, NO_CALL)
