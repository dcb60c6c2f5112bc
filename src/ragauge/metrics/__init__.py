"""Floor 2: metrics, pure functions from evidence tables to scores; one file per family, and the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragauge.lazy import public_names

if TYPE_CHECKING:
    from ragauge.metrics.base import Metric as Metric
    from ragauge.metrics.claims import ClaimScores as ClaimScores
    from ragauge.metrics.claims import claim_scores as claim_scores
    from ragauge.metrics.registry import value_of as value_of
    from ragauge.needs.base import EvidenceTable as EvidenceTable
    from ragauge.needs.base import Failed as Failed
    from ragauge.needs.base import Need as Need
    from ragauge.needs.base import NothingToCount as NothingToCount
    from ragauge.needs.base import QuestionFlow as QuestionFlow
    from ragauge.needs.base import Statements as Statements
    from ragauge.needs.base import Support as Support
    from ragauge.needs.base import Undefined as Undefined
    from ragauge.needs.base import gather as gather
    from ragauge.needs.base import need as need
    from ragauge.needs.entailment import response_in_contexts as response_in_contexts
    from ragauge.needs.entailment import response_statements as response_statements
    from ragauge.scores import F1Counts as F1Counts
    from ragauge.scores import Incidence as Incidence
    from ragauge.scores import PrecisionRecall as PrecisionRecall
    from ragauge.scores import Share as Share
    from ragauge.text.overlap import bertscore as bertscore
    from ragauge.text.overlap import bleu as bleu
    from ragauge.text.overlap import rouge as rouge
    from ragauge.text.overlap import similarity as similarity

__getattr__, __dir__, __all__ = public_names(
    __name__,
    {
        "metrics.base": "Metric",
        "metrics.claims": "ClaimScores claim_scores",
        "metrics.registry": "value_of",
        "needs.base": "EvidenceTable Failed Need NothingToCount QuestionFlow Statements Support Undefined gather need",
        "needs.entailment": "response_in_contexts response_statements",
        "scores": "F1Counts Incidence PrecisionRecall Share",
        "text.overlap": "bertscore bleu rouge similarity",
    },
)
