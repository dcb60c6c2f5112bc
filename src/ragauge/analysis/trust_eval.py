"""Trust-Eval's block of numbers, from a run that measured its variant of `trust`."""

from __future__ import annotations

from typing import get_args

from ragauge.errors import BadData, BadParameter, RunFailed, UsageError
from ragauge.metrics import trust
from ragauge.metrics.trust import RefusalPrefix, TrustEvalItem
from ragauge.needs.base import EvidenceTable, Need, Rounds, Undefined
from ragauge.needs.gold import Correctness
from ragauge.run.judge_error import stored_judgments
from ragauge.run.results import Run
from ragauge.scores import SampleRecord


def trust_eval_block(
    run: Run, correctness: Correctness = "cm", prefix: RefusalPrefix = "reject", at_most: int = 3
) -> dict[str, float | None]:
    """The result of Trust-Eval for a data set (Song et al., ICLR 2025): its keys, in per cent, with its own zeros.

    Args:
        run: a run that measured `trust(variant=trust_eval,labels=given)` with the same correctness and at_most;
            no judge is asked.
        correctness: "cm", "em" or "em5".
        prefix: the prefix of the keys about refusals.
        at_most: the number of citations of a sentence that count.

    Returns:
        key -> value; None where Trust-Eval has NaN, the mean of nothing.

    Raises:
        BadData: a sample lacks gold claims, or a document its labels.
        RunFailed: a question has no answer.
        UsageError: the run did not ask it, or a parameter is wrong.
    """
    for value, allowed in ((correctness, get_args(Correctness)), (prefix, get_args(RefusalPrefix))):
        if value not in allowed:
            raise BadParameter(f"{value!r} is none of {', '.join(allowed)}")
    needs = trust.needs(correctness, at_most)
    items = [_item(record, needs, run) for record in run.records()]
    return trust.trust_eval_block(items, correctness, prefix)


def _item(record: SampleRecord, needs: tuple[Need[EvidenceTable], ...], run: Run) -> TrustEvalItem:
    """The evidence of a sample, from stored answers. Raises as `trust_eval_block` does."""
    rounds = Rounds(record.sample, needs)
    while questions := rounds.questions:
        stored = stored_judgments(questions, run.record.judge_of, run.store) | run.store.find_labels(questions)
        is_incomplete = len(stored) < len(questions)
        if is_incomplete and record.failures:
            fix = "with a store, the same run again asks only for what is missing"
            raise RunFailed(f"sample {record.sample.id}: {record.failures[0]}; {fix}")
        if is_incomplete:
            raise UsageError(
                f"sample {record.sample.id}: the run did not ask what Trust-Eval counts; measure "
                "'trust(variant=trust_eval,labels=given)' with the same correctness and at_most"
            )
        rounds.advance(stored)
    outcomes = [rounds.outcomes[need.name] for need in needs]
    if undefined := next((outcome for outcome in outcomes if isinstance(outcome, Undefined)), None):
        fix = "give its 'output', or leave it out"
        if record.sample.response is not None:
            fix = "samples need 'answers' and documents 'answers_found', which `ragauge dataset build` makes"
        raise BadData(f"sample {record.sample.id}: {undefined.reason}; {fix}")
    return TrustEvalItem(record.sample, *outcomes)  # type: ignore[arg-type]  # each need returns what the field of its place is
