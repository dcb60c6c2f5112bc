"""`rank`: several runs in the order in which their responses are preferred."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import inf
from pathlib import Path
from typing import Any

import msgspec

from ragauge.analysis.differences import HEAD, Difference, compared, differences_table, of_pairs
from ragauge.analysis.pairing import ComparedRunInfo, check_run, compared_runs, count_groups, groups_of, paired
from ragauge.analysis.preference import Contest, Preference, halved, preferences
from ragauge.arrays import np
from ragauge.errors import BadParameter, UsageError
from ragauge.judges.base import JudgeLike
from ragauge.metrics.base import Measure
from ragauge.report.files import save_text
from ragauge.report.text import RenderableType, plain_text, rich_table
from ragauge.report.wording import counted, printable, signed
from ragauge.run.plan import Plan
from ragauge.run.results import Run
from ragauge.statistics.intervals import Clusters, Interval
from ragauge.statistics.ranking import ranked

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
