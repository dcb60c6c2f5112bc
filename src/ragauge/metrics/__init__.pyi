"""The public names and their modules, for `ragauge.lazy` and type checkers."""

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

__all__: list[str]
