"""Clusters: samples that belong together (one document, one user) are added up and then count as one draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: The name of each sample's cluster; a sample of None stands alone. None for the whole: all stand alone.
Clusters: TypeAlias = Sequence[str | None] | None


def sums_by_cluster(rows: NDArray[np.float64], clusters: Clusters) -> NDArray[np.float64]:
    """The sums of `rows` (samples x columns) within each cluster; `rows` itself where there are no clusters."""
    import numpy as np

    if clusters is None:
        return rows
    places: dict[str | int, int] = {}
    place_of = [places.setdefault(at if name is None else name, len(places)) for at, name in enumerate(clusters)]
    sums = np.zeros((len(places), rows.shape[1]))
    np.add.at(sums, place_of, rows)
    return sums
