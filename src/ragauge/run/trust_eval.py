"""Trust-Eval's output block of a run, from the judgments that its store holds."""

from __future__ import annotations

from typing import NoReturn, get_args

from ragauge.errors import BadData, BadParameter, RunFailed, UsageError
from ragauge.judges.base import JudgeRouter, LookupJudge
from ragauge.metrics import trust
from ragauge.metrics.trust import RefusalPrefix, TrustEvalItem
from ragauge.needs.base import EvidenceTable, Need, Undefined
from ragauge.needs.gold import Correctness
from ragauge.rounds import Rounds
from ragauge.run.keeping import Keeper
from ragauge.run.run import Run
from ragauge.scores import SampleRecord


def trust_eval_block(
    run: Run, correctness: Correctness = "cm", prefix: RefusalPrefix = "reject", at_most: int = 3
) -> dict[str, float | None]:
    """What Trust-Eval returns for a data set (Song et al., ICLR 2025): its keys, in per cent, with its own zeros.

    run: one that measured `trust(variant=trust_eval,labels=given)` with the same correctness and at_most; nothing is
    asked. correctness: "cm", "em" or "em5". prefix: how the keys about refusals begin. at_most: the citations of a
    sentence that count. A value is None where Trust-Eval has NaN, the mean of nothing.

    Raises BadData where a sample lacks gold claims, or a document its labels; RunFailed where a question has no answer;
    UsageError where the run did not ask it, or a parameter is wrong.
    """
    for given, known in ((correctness, get_args(Correctness)), (prefix, get_args(RefusalPrefix))):
        if given not in known:
            raise BadParameter(f"{given!r} is none of {', '.join(known)}")
    wanted = trust.needs(correctness, at_most)
    bench = JudgeRouter({kind: LookupJudge(identity) for kind, identity in run.record.judges.items()})
    keeper = Keeper(bench, run.store, {})
    items = [_item(record, wanted, keeper) for record in run.records()]
    return trust.trust_eval_block(items, correctness, prefix)


def _item(record: SampleRecord, wanted: tuple[Need[EvidenceTable], ...], keeper: Keeper) -> TrustEvalItem:
    """A sample with everything that the run found out about it."""
    waves = Rounds(record.sample, wanted)
    while questions := waves.questions:
        known = keeper.known(questions)
        if len(known) < len(questions):
            _unanswered(record)
        waves.advance(known)
    outcomes = [waves.outcomes[need.name] for need in wanted]
    for outcome in outcomes:
        if isinstance(outcome, Undefined):
            fix = "samples need 'answers' and documents 'answers_found', which `ragauge dataset build` makes"
            fix = "give its 'output', or leave it out" if record.sample.response is None else fix
            raise BadData(f"sample {record.sample.id}: {outcome.reason}; {fix}")
    return TrustEvalItem(record.sample, *outcomes)  # type: ignore[arg-type]  # each need returns what the field of its place is


def _unanswered(record: SampleRecord) -> NoReturn:
    if record.failures:
        fix = "with a store, the same run again asks only for what is missing"
        raise RunFailed(f"sample {record.sample.id}: {record.failures[0]}; {fix}")
    raise UsageError(
        f"sample {record.sample.id}: the run did not ask what Trust-Eval counts; measure "
        "'trust(variant=trust_eval,labels=given)' with the same correctness and at_most"
    )
