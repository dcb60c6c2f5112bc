"""The public names and their modules, for `ragauge.lazy` and type checkers."""

from ragauge.analysis.compare import Comparison as Comparison
from ragauge.analysis.preference import Ranking as Ranking
from ragauge.analysis.trust_eval import trust_eval_block as trust_eval_block

__all__: list[str]
