"""What a comparison of two runs comes to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from ragauge.errors import UnknownName, UsageError
from ragauge.report.writing import check_ending, replacing
from ragauge.scores import Better
from ragauge.statistics.paired import holm

SCHEMA = "ragauge.compare/1"

#: What counts as significant: the chance of any false alarm among all metrics that are compared.
LEVEL = 0.05

#: The endings of files that a comparison is written to.
WRITERS = (".json", ".md")


class Missing(msgspec.Struct, frozen=True):
    """Samples of a metric without a value, among those that both runs have.

    undefined_a, undefined_b, failed_a, failed_b: how many in each run. p: two-sided, of the two runs being undefined
    equally often; p_adjusted: by Holm over all metrics. None where the same samples are undefined in both.
    """

    undefined_a: int
    undefined_b: int
    failed_a: int
    failed_b: int
    p: float | None
    p_adjusted: float | None = None


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One value of one metric in two runs, over the n samples where it has a value in both.

    a, b: the two values over those samples. difference: b - a; low, high: its 95 % interval, by `method`. p: two-sided,
    of there being no difference; p_adjusted: by Holm over all values that are compared. All these are None where one of
    the values is undefined. better: which way the metric is better.
    wins, ties, losses: the samples on which b is better, equal, worse. detectable: the smallest true difference that so
    many samples would show in 80 of 100 comparisons, None where that cannot be told. All these are None for a metric
    over the data set. missing: the samples without a value.
    """

    a: float | None
    b: float | None
    difference: float | None
    low: float | None
    high: float | None
    method: str
    p: float | None
    p_adjusted: float | None = None
    better: Better
    n: int
    wins: int | None = None
    ties: int | None = None
    losses: int | None = None
    detectable: float | None = None
    missing: Missing

    @property
    def verdict(self) -> str:
        """What is shown of b: "better", "worse", or "" where no difference is.

        One is shown where p_adjusted is below 0.05 and the interval leaves 0 out.
        """
        if self.p_adjusted is None or self.low is None or self.high is None:
            return ""
        if self.p_adjusted >= LEVEL or self.low <= 0 <= self.high:
            return ""
        return "better" if (self.low > 0) == (self.better == "higher") else "worse"


class Piece(msgspec.Struct, frozen=True):
    """A judged piece that made the difference: of which run ("a" or "b"), and what was said of it, for people."""

    run: str
    said: str


class Change(msgspec.Struct, frozen=True):
    """A sample on which a metric differs: its values in both runs, and the pieces that made the difference.

    They tell against the worse response alone; where nothing does, they tell for the better one alone.
    """

    metric: str
    id: str
    query: str
    a: float
    b: float
    pieces: tuple[Piece, ...]


class Compared(msgspec.Struct, frozen=True):
    """A run that is compared: its id, its name ("" for none), and the data it was made of."""

    id: str
    name: str
    data: str

    def __str__(self) -> str:
        return f"{self.name or self.data} ({self.id})"


class Comparison(msgspec.Struct, frozen=True):
    """Two runs over the same samples; `b` is compared with `a`.

    samples: how many both have, matched `by` "id" or "query"; only_a, only_b: how many only one has. groups: how many
    groups of samples there are, None where each stands for itself. differences: by metric. changes: the samples that
    changed most. left_out: metrics not compared, with the reason. notes: what a reader must know first, such as that
    different judges judged.
    """

    a: Compared
    b: Compared
    samples: int
    by: str
    only_a: int
    only_b: int
    groups: int | None
    differences: dict[str, Difference]
    changes: tuple[Change, ...]
    left_out: dict[str, str]
    notes: tuple[str, ...]

    def worse(self, metrics: Sequence[str]) -> list[str]:
        """Those of `metrics` in which b is worse than a, the p-values adjusted over `metrics` alone.

        Raises UnknownName for one that was not compared, UsageError for one that has no value in both runs.
        """
        among = {metric: self._valued(metric) for metric in metrics}
        adjusted = holm({metric: one.p for metric, one in among.items() if one.p is not None})
        changed = {metric: msgspec.structs.replace(among[metric], p_adjusted=p) for metric, p in adjusted.items()}
        return [metric for metric, one in changed.items() if one.verdict == "worse"]

    def _valued(self, metric: str) -> Difference:
        if metric in self.left_out:
            raise UsageError(f"{metric} cannot be compared: {self.left_out[metric]}")
        if metric not in self.differences:
            raise UnknownName("metric of this comparison", metric, self.differences)
        found = self.differences[metric]
        if found.p is None:
            raise UsageError(f"{metric} cannot be compared: it has no value over the samples of both runs")
        return found

    def to_dict(self) -> dict[str, Any]:
        """The comparison as one document of schema "ragauge.compare/1"; see docs/compare.md."""
        plain = msgspec.to_builtins(self)
        for key, one in self.differences.items():
            plain["differences"][key]["verdict"] = one.verdict
        return {"schema": SCHEMA, **plain}

    def save(self, path: str | Path) -> Path:
        """Write it to a file, as its ending says: .json or .md. Raises UsageError for others."""
        from ragauge.comparison.report import comparison_markdown

        path = Path(path)
        check_ending(path, WRITERS)
        as_json = path.suffix.lower() == ".json"
        text = msgspec.json.encode(self.to_dict()).decode() + "\n" if as_json else comparison_markdown(self)
        with replacing(path) as part:
            part.write_text(text, encoding="utf-8")
        return path

    def __str__(self) -> str:
        from ragauge.comparison.report import comparison_text

        return comparison_text(self)

    def _repr_markdown_(self) -> str:
        from ragauge.comparison.report import comparison_markdown

        return comparison_markdown(self)
