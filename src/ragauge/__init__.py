"""ragauge measures text written by language models: scores with intervals, and the evidence behind every one.

    import ragauge as rg

    run = rg.evaluate("answers.jsonl", metrics=["faithfulness"], judge="embedded")
    print(run)
    run.scores[0]["faithfulness"].evidence

What is used often is here; the rest is in `rg.analysis`, `rg.errors`, `rg.judges`, `rg.metrics`, `rg.questions`,
`rg.readers`, `rg.report`, `rg.scores`, `rg.statistics` and `rg.types`. Names are imported when they are first used, so
that `import ragauge` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragauge.lazy import public_names
from ragauge.version import VERSION

if TYPE_CHECKING:
    from ragauge import analysis as analysis
    from ragauge import errors as errors
    from ragauge import judges as judges
    from ragauge import metrics as metrics
    from ragauge import questions as questions
    from ragauge import readers as readers
    from ragauge import report as report
    from ragauge import scores as scores
    from ragauge import statistics as statistics
    from ragauge import types as types
    from ragauge.analysis.compare import compare as compare
    from ragauge.analysis.parity import parity as parity
    from ragauge.analysis.rank import rank as rank
    from ragauge.errors import RagaugeError as RagaugeError
    from ragauge.judges.function import judge_from as judge_from
    from ragauge.judges.llm.build import llm as llm
    from ragauge.metrics.base import metric as metric
    from ragauge.metrics.checks import check as check
    from ragauge.metrics.rubrics import criterion as criterion
    from ragauge.metrics.rubrics import graded as graded
    from ragauge.readers import join as join
    from ragauge.readers import read as read
    from ragauge.report.explain import explain as explain
    from ragauge.run.batches import BatchScorer as BatchScorer
    from ragauge.run.cluster import ray as ray
    from ragauge.run.evaluate import Scorer as Scorer
    from ragauge.run.evaluate import evaluate as evaluate
    from ragauge.run.evaluate import evaluate_async as evaluate_async
    from ragauge.run.evaluate import rescore as rescore
    from ragauge.run.evaluate import score as score
    from ragauge.run.evaluate import score_async as score_async
    from ragauge.run.plan import plan as plan
    from ragauge.run.results import Run as Run
    from ragauge.run.specs import cascade as cascade
    from ragauge.run.specs import load_judge as load_judge
    from ragauge.run.specs import load_judges as load_judges
    from ragauge.run.specs import panel as panel
    from ragauge.run.specs import repeat as repeat
    from ragauge.run.stream import score_stream as score_stream
    from ragauge.run.sync import blocking as blocking
    from ragauge.store import Store as Store
    from ragauge.types import Label as Label
    from ragauge.types import Sample as Sample

__version__ = VERSION

__getattr__, __dir__, __all__ = public_names(
    __name__,
    {
        "analysis.compare": "compare",
        "analysis.parity": "parity",
        "analysis.rank": "rank",
        "errors": "RagaugeError",
        "judges.function": "judge_from",
        "judges.llm.build": "llm",
        "metrics.base": "metric",
        "metrics.checks": "check",
        "metrics.rubrics": "criterion graded",
        "readers": "join read",
        "report.explain": "explain",
        "run.batches": "BatchScorer",
        "run.cluster": "ray",
        "run.evaluate": "Scorer evaluate evaluate_async rescore score score_async",
        "run.plan": "plan",
        "run.results": "Run",
        "run.specs": "cascade load_judge load_judges panel repeat",
        "run.stream": "score_stream",
        "run.sync": "blocking",
        "store": "Store",
        "types": "Label Sample",
    },
    themes="analysis errors judges metrics questions readers report scores statistics types",
    moved={
        "analysis": "Comparison Ranking trust_eval_block",
        "errors": "BadData BadParameter BadRow MissingExtra MissingField RunFailed StoreError "
        "UnanswerableNeed UnknownName UsageError",
        "judges": "Judge",
        "metrics": "ClaimScores EvidenceTable F1Counts Failed Incidence Metric Need NothingToCount "
        "PrecisionRecall QuestionFlow Share Statements Support Undefined bertscore bleu "
        "claim_scores gather need response_in_contexts response_statements rouge similarity "
        "value_of",
        "questions": "Classify Correct Decompose Entail Judgment Question Rate Relevant Rubric",
        "readers": "ReadingLimits",
        "report": "report_section",
        "scores": "ChunkEvidence Estimate Evidence Score",
        "types": "Chunk ChunkVerdict Decomposition Failure Grade Identity Statement ToolCall Turn Verdict",
    },
    gone={"Parity": "rg.parity returns a ragauge.analysis.Comparison"},
)
__all__.append("__version__")
