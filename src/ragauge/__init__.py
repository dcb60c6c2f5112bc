"""ragauge measures text written by language models: scores with intervals, and the evidence behind every one.

    import ragauge as rg

    run = rg.evaluate("answers.jsonl", metrics=["faithfulness"], judge="embedded")
    print(run)
    run.scores[0]["faithfulness"].evidence

Names are imported when they are first used, so that `import ragauge` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ragauge.version import VERSION

if TYPE_CHECKING:
    from ragauge.analysis.compare import Comparison as Comparison
    from ragauge.analysis.compare import compare as compare
    from ragauge.analysis.parity import Parity as Parity
    from ragauge.analysis.parity import parity as parity
    from ragauge.analysis.rank import Ranking as Ranking
    from ragauge.analysis.rank import rank as rank
    from ragauge.analysis.trust_eval import trust_eval_block as trust_eval_block
    from ragauge.errors import BadData as BadData
    from ragauge.errors import BadParameter as BadParameter
    from ragauge.errors import BadRow as BadRow
    from ragauge.errors import MissingExtra as MissingExtra
    from ragauge.errors import MissingField as MissingField
    from ragauge.errors import RagaugeError as RagaugeError
    from ragauge.errors import RunFailed as RunFailed
    from ragauge.errors import StoreError as StoreError
    from ragauge.errors import UnanswerableNeed as UnanswerableNeed
    from ragauge.errors import UnknownName as UnknownName
    from ragauge.errors import UsageError as UsageError
    from ragauge.judges.base import Judge as Judge
    from ragauge.judges.function import judge_from as judge_from
    from ragauge.judges.llm.build import llm as llm
    from ragauge.metrics.base import Metric as Metric
    from ragauge.metrics.base import metric as metric
    from ragauge.metrics.checks import check as check
    from ragauge.metrics.claims import ClaimScores as ClaimScores
    from ragauge.metrics.claims import claim_scores as claim_scores
    from ragauge.metrics.registry import value_of as value_of
    from ragauge.metrics.rubrics import criterion as criterion
    from ragauge.metrics.rubrics import graded as graded
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
    from ragauge.questions import Classify as Classify
    from ragauge.questions import Correct as Correct
    from ragauge.questions import Decompose as Decompose
    from ragauge.questions import Entail as Entail
    from ragauge.questions import Judgment as Judgment
    from ragauge.questions import Question as Question
    from ragauge.questions import Rate as Rate
    from ragauge.questions import Relevant as Relevant
    from ragauge.questions import Rubric as Rubric
    from ragauge.readers import join as join
    from ragauge.readers import read as read
    from ragauge.readers.budget import ReadingLimits as ReadingLimits
    from ragauge.report.explain import explain as explain
    from ragauge.report.sections import report_section as report_section
    from ragauge.run.batches import BatchScorer as BatchScorer
    from ragauge.run.cluster import ray as ray
    from ragauge.run.evaluate import Scorer as Scorer
    from ragauge.run.evaluate import evaluate as evaluate
    from ragauge.run.evaluate import evaluate_async as evaluate_async
    from ragauge.run.evaluate import rescore as rescore
    from ragauge.run.evaluate import score as score
    from ragauge.run.evaluate import score_async as score_async
    from ragauge.run.plan import Plan as Plan
    from ragauge.run.plan import plan as plan
    from ragauge.run.results import Run as Run
    from ragauge.run.specs import cascade as cascade
    from ragauge.run.specs import load_judge as load_judge
    from ragauge.run.specs import load_judges as load_judges
    from ragauge.run.specs import panel as panel
    from ragauge.run.specs import repeat as repeat
    from ragauge.run.stream import score_stream as score_stream
    from ragauge.run.sync import blocking as blocking
    from ragauge.scores import ChunkEvidence as ChunkEvidence
    from ragauge.scores import Estimate as Estimate
    from ragauge.scores import Evidence as Evidence
    from ragauge.scores import F1Counts as F1Counts
    from ragauge.scores import Incidence as Incidence
    from ragauge.scores import PrecisionRecall as PrecisionRecall
    from ragauge.scores import Score as Score
    from ragauge.scores import Share as Share
    from ragauge.store import Store as Store
    from ragauge.text.overlap import bertscore as bertscore
    from ragauge.text.overlap import bleu as bleu
    from ragauge.text.overlap import rouge as rouge
    from ragauge.text.overlap import similarity as similarity
    from ragauge.types import Chunk as Chunk
    from ragauge.types import ChunkVerdict as ChunkVerdict
    from ragauge.types import Decomposition as Decomposition
    from ragauge.types import Failure as Failure
    from ragauge.types import Grade as Grade
    from ragauge.types import Identity as Identity
    from ragauge.types import Label as Label
    from ragauge.types import Sample as Sample
    from ragauge.types import Statement as Statement
    from ragauge.types import ToolCall as ToolCall
    from ragauge.types import Turn as Turn
    from ragauge.types import Verdict as Verdict

__version__ = VERSION

#: The module of each public name.
_HOMES = {
    name: module
    for module, names in {
        "analysis.compare": "Comparison compare",
        "analysis.parity": "Parity parity",
        "analysis.rank": "Ranking rank",
        "analysis.trust_eval": "trust_eval_block",
        "errors": "BadData BadParameter BadRow MissingExtra MissingField RagaugeError RunFailed StoreError "
        "UnanswerableNeed UnknownName UsageError",
        "judges.base": "Judge",
        "judges.function": "judge_from",
        "judges.llm.build": "llm",
        "metrics.base": "Metric metric",
        "metrics.checks": "check",
        "metrics.claims": "ClaimScores claim_scores",
        "metrics.registry": "value_of",
        "metrics.rubrics": "criterion graded",
        "needs.base": "EvidenceTable Failed Need NothingToCount QuestionFlow Statements Support Undefined gather need",
        "needs.entailment": "response_in_contexts response_statements",
        "questions": "Classify Correct Decompose Entail Judgment Question Rate Relevant Rubric",
        "readers": "join read",
        "readers.budget": "ReadingLimits",
        "report.explain": "explain",
        "report.sections": "report_section",
        "run.batches": "BatchScorer",
        "run.cluster": "ray",
        "run.evaluate": "Scorer evaluate evaluate_async rescore score score_async",
        "run.plan": "Plan plan",
        "run.results": "Run",
        "run.specs": "cascade load_judge load_judges panel repeat",
        "run.stream": "score_stream",
        "run.sync": "blocking",
        "scores": "ChunkEvidence Estimate Evidence F1Counts Incidence PrecisionRecall Score Share",
        "store": "Store",
        "text.overlap": "bertscore bleu rouge similarity",
        "types": "Chunk ChunkVerdict Decomposition Failure Grade Identity Label Sample Statement ToolCall Turn Verdict",
    }.items()
    for name in names.split()
}

__all__ = sorted(["__version__", *_HOMES])


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ragauge' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"ragauge.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
