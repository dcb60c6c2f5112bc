"""What is done with runs: comparing them, parity with other systems, measuring judges, people's labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragauge.lazy import public_names

if TYPE_CHECKING:
    from ragauge.analysis.compare import Comparison as Comparison
    from ragauge.analysis.rank import Ranking as Ranking
    from ragauge.analysis.trust_eval import trust_eval_block as trust_eval_block

__getattr__, __dir__, __all__ = public_names(
    __name__,
    {
        "analysis.compare": "Comparison",
        "analysis.rank": "Ranking",
        "analysis.trust_eval": "trust_eval_block",
    },
)
