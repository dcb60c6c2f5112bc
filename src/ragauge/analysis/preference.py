"""Preference: whose responses are better, sample by sample, by a criterion that a judge is asked, or by claims.

`rank` orders several runs by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragauge.analysis.differences import (
    HEAD,
    Cell,
    Cells,
    ComparedRunInfo,
    Difference,
    cell_of,
    check_run,
    compared,
    compared_runs,
    count_groups,
    differences_table,
    groups_of,
    of_pairs,
    paired,
)
from ragauge.arrays import np
from ragauge.errors import BadParameter, UsageError
from ragauge.judges.base import JudgeLike
from ragauge.metrics.base import Measure, Metric
from ragauge.metrics.registry import registered_metrics
from ragauge.metrics.rubrics import preference, preference_flip
from ragauge.report.files import save_text
from ragauge.report.text import RenderableType, plain_text, rich_table
from ragauge.report.wording import counted, printable, shortened, signed
from ragauge.run.evaluate import evaluate
from ragauge.run.plan import Plan, plan
from ragauge.run.results import Run
from ragauge.scores import SampleRecord
from ragauge.statistics.intervals import Clusters, Interval
from ragauge.statistics.ranking import ranked
from ragauge.types import Label, Sample

#: The criterion that asks nothing: the claims of the responses, as judged in both runs.
BY_CLAIMS = "claims"

#: The key of preferences among the differences of a comparison.
PREFERRED = "preferred"

#: The needs whose evidence says which claims are correct, the best first, and by what; one that all runs have is taken.
_JUDGED_CLAIMS = {
    "response_in_references": "references",
    "response_claims_in_references": "references",
    "response_in_contexts(claims)": "contexts",
}


class Preference(msgspec.Struct, frozen=True, kw_only=True):
    """How responses were preferred.

    by: the criterion, or "claims against references" or "contexts". judge: who was asked; "" for claims. samples: how
    often two responses were compared; asked: how often they differ, and were asked about in both orders. flips: how
    often of these the judge preferred another one once they were swapped, which makes a tie. run: the id of the run
    that keeps each preference with its reason. failure: why a preference is missing, the first reason. stopped: why not
    all were asked.
    """

    by: str
    judge: str = ""
    samples: int
    asked: int = 0
    flips: int = 0
    run: str = ""
    failure: str = ""
    stopped: str = ""

    def __str__(self) -> str:
        if not self.judge:
            return (
                f"{PREFERRED}: by {self.by}, as judged in the runs: correct ones that B gains less contradicted ones, "
                "as a share of those of both. Nothing was asked."
            )
        flips = f"on {self.flips} of {counted(self.asked, 'pair')} that changed the answer, which is a tie"
        if 2 * self.flips > self.asked:
            flips += "; this judge goes by the order more than by the criterion, so take another"
        words = [f"{PREFERRED}: by {self.judge}, “{shortened(self.by, 100)}”, asked in both orders; {flips}"]
        words += [f"failed because: {self.failure}"] if self.failure else []
        words += [f"stopped: {self.stopped}"] if self.stopped else []
        return f"{'; '.join(words)}. Each with its reason: ragauge report {self.run}"


class Contest(NamedTuple):
    """Two runs over the samples that they share. pairs: the positions of each sample in both."""

    a: Run
    b: Run
    pairs: Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Preferences:
    """The preferences of contests.

    about: how they were made. measure: the metric behind them, on the scale of one half, since half of a preference
    counts for each of two runs. values: of each contest, by how much the response of `b` is preferred, or why that is
    unknown.
    """

    about: Preference
    measure: Metric
    values: list[list[Cell]]


def halved(preferred: Iterable[Cell]) -> Cells:
    """Preferences as values of two runs: half of each counts for either, so that the difference is the preference."""
    return [(-value / 2, value / 2) if isinstance(value, float) else (value, value) for value in preferred]


def preferences(
    contests: Sequence[Contest],
    criterion: str,
    judge: JudgeLike,
    max_cost: float | None,
    progress: Callable[[int], None] | None = None,
    planned: Callable[[Plan], None] | None = None,
) -> Preferences:
    """By how much the response of each second run is preferred; the answers are kept in the store of the first contest.

    planned: called with the plan before anything is asked. Raises UsageError where claims were not judged in all runs,
    or as `evaluate`.
    """
    if criterion == BY_CLAIMS:
        return _by_claims(contests)
    if not criterion.strip():
        raise BadParameter('prefer is empty; give a criterion, such as "more complete, without errors", or "claims"')
    a, b, _ = contests[0]
    asked, flipped = preference(criterion), preference_flip(criterion)
    metrics = [asked, flipped]
    samples = list(_samples(contests))
    if planned:
        planned(plan(samples, metrics, judge, b.store))
    name = f"preferred: {_name(b)} to {_name(a)}" if len(contests) == 1 else "preferred"
    run = evaluate(
        samples, metrics, judge, b.store, max_cost=max_cost, name=name, progress=progress or (lambda _: None)
    )
    cells: list[Cell] = []
    flips: list[bool] = []
    for record in run.records():
        cells.append(cell_of(record.scores[asked.key]))
        flip = record.score(flipped.key)
        if flip.value is not None and any(piece.judgment for piece in flip.evidence):  # equal texts are not asked about
            flips.append(flip.value == 1)
    values = iter(cells)
    return Preferences(
        Preference(
            by=criterion,
            judge=str(next(iter(run.record.judges.values()))),
            samples=run.record.samples,
            asked=len(flips),
            flips=sum(flips),
            run=run.id,
            failure=run.record.failures.get(asked.key, ""),
            stopped=run.record.stopped,
        ),
        replace(asked, scale_of=(-1.0, 1.0)),
        [[next(values, "absent") for _ in contest.pairs] for contest in contests],
    )


def _samples(contests: Sequence[Contest]) -> Iterator[Sample]:
    """Each pair of responses as a sample, that of the first run as the metadata "other"."""
    samples = {run.id: [record.sample for record in run.records()] for contest in contests for run in contest[:2]}
    for a, b, pairs in contests:
        names = f"{_name(b)} to {_name(a)}"
        for first, second in pairs:
            other, sample = samples[a.id][first].response, samples[b.id][second]
            metadata: dict[str, Any] = {} if other is None else {"other": other}
            if len(contests) > 1:
                metadata["pair"] = names
            yield msgspec.structs.replace(
                sample,
                id=sample.id if len(contests) == 1 else f"{sample.id}, {names}",
                group=sample.group if len(contests) == 1 else sample.group or sample.id,
                metadata=metadata,
            )


def _by_claims(contests: Sequence[Contest]) -> Preferences:
    """Preferences from the claims of stored runs."""
    runs = {run.id: run for contest in contests for run in contest[:2]}
    measures = {id: _measures_of_claims(run) for id, run in runs.items()}
    need = next((name for name in _JUDGED_CLAIMS if all(name in named for named in measures.values())), None)
    if need is None:
        raise UsageError(
            "the runs have no judged claims in common; measure answer_correctness (against references) or faithfulness "
            "(against contexts) in each, or prefer by a criterion of your own"
        )
    claims = {id: [_claims(record, need, measures[id][need]) for record in run.records()] for id, run in runs.items()}
    values = [
        [_gained(claims[a.id][row], claims[b.id][other_row]) for row, other_row in pairs] for a, b, pairs in contests
    ]
    measure = measures[contests[0].b.id][need]
    about = Preference(by=f"claims against {_JUDGED_CLAIMS[need]}", samples=sum(map(len, values)))
    return Preferences(about, replace(measure, better_of="higher", scale_of=(-0.5, 0.5)), values)


def _measures_of_claims(run: Run) -> dict[str, Metric]:
    """The first metric of a run that counts each need."""
    measures = [measure for measure in registered_metrics(run.record) if isinstance(measure, Metric)]
    return {need.name: measure for measure in reversed(measures) for need in measure.needs}


class _Claims(NamedTuple):
    """The claims of a response. net: correct ones less contradicted ones, by the reference that agrees best."""

    net: int
    total: int


def _claims(record: SampleRecord, need: str, measure: Metric) -> _Claims | Cell:
    if record.sample.response is not None and not record.sample.response.strip():
        return _Claims(0, 0)
    pieces = record.evidence.get(need, ())
    if not pieces:
        score = cell_of(record.scores[measure.values[0]])
        return _Claims(0, 0) if isinstance(score, float) else score  # it claims nothing
    net: dict[str, list[int]] = {}
    for piece in pieces:
        labels = {piece.label, *(chunk.label for chunk in piece.chunks)}
        net.setdefault(piece.against, []).append(-1 if Label.CONTRADICTED in labels else Label.ENTAILED in labels)
    return max((_Claims(sum(counts), len(counts)) for counts in net.values()), key=lambda claims: claims.net)


def _gained(first: _Claims | Cell, second: _Claims | Cell) -> Cell:
    """By how many correct, not contradicted claims the second is ahead, as a share of the claims of both."""
    if isinstance(first, _Claims) and isinstance(second, _Claims):
        return (second.net - first.net) / max(1, first.total + second.total)
    return "failed" if "failed" in (first, second) else "undefined"


SCHEMA = "ragauge.rank/1"

RANKING_WRITERS = (".json",)

#: The columns of differences that say something of a pair.
_PAIR_HEAD = tuple(head for head in HEAD if head not in ("A", "B"))


class RankedRun(msgspec.Struct, frozen=True):
    """A run among others.

    strength: by Bradley and Terry, with its 95 % interval; the log-odds of being preferred to the average run here,
        None where no comparison of the run has a result.
    wins, ties, losses: the number of comparisons with others, over all samples.
    """

    run: ComparedRunInfo
    strength: Interval
    wins: int
    ties: int
    losses: int


class Ranking(msgspec.Struct, frozen=True):
    """Runs by strength, the strongest first, and the preferences between each two, adjusted for their number.

    samples: how many all runs share. groups: how many groups these are in, None where samples are independent.
    """

    runs: tuple[RankedRun, ...]
    pairs: dict[str, Difference]
    samples: int
    groups: int | None
    preference: Preference

    def to_dict(self) -> dict[str, Any]:
        """The ranking as one document of schema "ragauge.rank/1"; see docs/compare.md."""
        return {"schema": SCHEMA, **msgspec.to_builtins(self)}

    def save(self, path: str | Path) -> Path:
        """Write the ranking to a .json file. Raises UsageError for other endings."""
        return save_text(Path(path), {".json": lambda: msgspec.json.encode(self.to_dict()).decode() + "\n"})

    def __str__(self) -> str:
        return plain_text(ranking_view(self, 140), 140)


def rank(
    runs: Sequence[Run],
    prefer: str,
    *,
    judge: JudgeLike = "embedded",
    group: str | None = None,
    max_cost: float | None = None,
    progress: Callable[[int], None] | None = None,
    planned: Callable[[Plan], None] | None = None,
) -> Ranking:
    """Rank runs over the same samples by whose responses are preferred, each two compared.

    Args:
        runs: Two or more.
        prefer: A criterion by which the judge is asked, in both orders, or "claims"; as for `compare`.
        judge, max_cost, progress: As for `evaluate`. The answers are kept in the store of the second run.
        group, planned: As for `compare`.

    Returns:
        The runs, the strongest first, with intervals by the Bayesian bootstrap over samples, or groups.

    Raises:
        UsageError: There are fewer than two runs, they have no sample in common, or as `compare`.
    """
    contests, groups = _contests(runs, group)
    preferred = preferences(contests, prefer, judge, max_cost, progress, planned)
    names = [f"{_name(b)} over {_name(a)}" for a, b, _ in contests]
    cells = dict(zip(names, map(halved, preferred.values), strict=True))
    measures: dict[str, Measure] = dict.fromkeys(names, preferred.measure)
    differences = compared(names, cells.__getitem__, groups, measures, dict.fromkeys(names, "higher"))
    count = len(contests[0].pairs)
    outcomes = np.zeros((count, len(runs), len(runs)))
    for (first, second), values in zip(combinations(range(len(runs)), 2), preferred.values, strict=True):
        for sample, value in enumerate(values):
            if isinstance(value, float):
                outcomes[sample, second, first] = (np.sign(value) + 1) / 2
                outcomes[sample, first, second] = 1 - outcomes[sample, second, first]
    entries = [
        RankedRun(
            ComparedRunInfo.of(run),
            strength,
            wins=int((outcomes[:, place] == 1).sum()),
            ties=int((outcomes[:, place] == 0.5).sum()),
            losses=int((outcomes[:, :, place] == 1).sum()),
        )
        for place, (run, strength) in enumerate(zip(runs, ranked(outcomes, groups), strict=True))
    ]
    return Ranking(
        tuple(sorted(entries, key=_by_strength)),
        {name: of_pairs(difference) for name, difference in differences.items()},
        count,
        count_groups(groups),
        preferred.about,
    )


def _by_strength(entry: RankedRun) -> float:
    return inf if entry.strength.value is None else -entry.strength.value


def _contests(runs: Sequence[Run], group: str | None = None) -> tuple[list[Contest], Clusters]:
    """Each two of the runs over the samples that all have, and the groups of these samples. Raises as `rank`."""
    if len(runs) < 2 or len({run.id for run in map(check_run, runs)}) < len(runs):
        raise BadParameter("give two or more different runs to compare")
    sides = compared_runs([run.records() for run in runs], group=group)
    matched = [dict(paired(sides[0].rows, other.rows).pairs) for other in sides[1:]]
    common = [position for position in range(len(sides[0].rows)) if all(position in places for places in matched)]
    if not common:
        raise UsageError("the runs have no sample in common; each two have some, but no sample is in all")
    positions = [common, *([places[position] for position in common] for places in matched)]
    rows = [[run_side.rows[place] for place in places] for run_side, places in zip(sides, positions, strict=True)]
    contests = [
        Contest(runs[first], runs[second], list(zip(positions[first], positions[second], strict=True)))
        for first, second in combinations(range(len(runs)), 2)
    ]
    return contests, groups_of(zip(*rows, strict=True))


def _name(run: Run) -> str:
    return run.record.name or run.id


def ranking_view(ranking: Ranking, width: int) -> list[RenderableType]:
    """The runs by strength, and the preferences between each two."""
    groups = f" in {counted(ranking.groups, 'group')}" if ranking.groups is not None else ""
    rows = [
        [
            printable(str(entry.run)),
            signed(entry.strength.value),
            f"[{signed(entry.strength.low)}, {signed(entry.strength.high)}]",
            f"{entry.wins}/{entry.ties}/{entry.losses}",
        ]
        for entry in ranking.runs
    ]
    missing = {key: ranking.samples - pair.n for key, pair in ranking.pairs.items()}
    names = ", ".join(f"{printable(key)} {number}" for key, number in missing.items() if number)
    return [
        f"{counted(len(ranking.runs), 'run')} over {counted(ranking.samples, 'sample')}{groups} that all share.",
        rich_table(("run", "strength", "95 % interval", "won/tied/lost"), rows, left=("run",)),
        "strength: the log-odds of being preferred to the average of these runs (Bradley and Terry).",
        "",
        differences_table(ranking.pairs, width, _PAIR_HEAD),
        f"p and intervals are adjusted for {counted(len(ranking.pairs), 'test')} (Holm).",
        *([f"Samples without a preference: {names}."] if names else []),
        str(ranking.preference),
    ]
