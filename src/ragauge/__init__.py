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

from ragauge.version import VERSION as __version__

if TYPE_CHECKING:
    from ragauge.analysis.compare import compare
    from ragauge.analysis.comparison import Comparison
    from ragauge.analysis.parity import parity
    from ragauge.analysis.parity_results import Parity
    from ragauge.errors import (
        BadData,
        BadParameter,
        BadRow,
        MissingExtra,
        MissingField,
        RagaugeError,
        RunFailed,
        StoreError,
        UnanswerableNeed,
        UnknownName,
        UsageError,
    )
    from ragauge.judges.base import Judge
    from ragauge.judges.function import judge_from
    from ragauge.judges.llm.build import llm
    from ragauge.metrics.base import Metric, metric
    from ragauge.metrics.claims import ClaimScores, claim_scores
    from ragauge.metrics.registry import value_of
    from ragauge.metrics.retrieval import graded
    from ragauge.needs.base import (
        EvidenceTable,
        Failed,
        Need,
        NothingToCount,
        QuestionFlow,
        Undefined,
        gather,
        need,
    )
    from ragauge.needs.entailment import response_in_contexts, response_statements
    from ragauge.needs.evidence import Statements, Support
    from ragauge.questions import Classify, Decompose, Entail, Judgment, Question, Rate, Relevant, Rubric
    from ragauge.readers import join, read
    from ragauge.report.explain import explain
    from ragauge.report.sections import report_section
    from ragauge.run.evaluate import evaluate, evaluate_async
    from ragauge.run.plan import Plan, plan
    from ragauge.run.results import Run, trust_eval_block
    from ragauge.run.score import Scorer, rescore, score, score_async
    from ragauge.run.specs import cascade, load_judge, load_judges, panel
    from ragauge.run.sync import blocking
    from ragauge.scores import ChunkEvidence, Estimate, Evidence, F1Counts, Incidence, PrecisionRecall, Score, Share
    from ragauge.store import Store
    from ragauge.text.overlap import bleu, rouge
    from ragauge.text.similarity import bertscore, similarity
    from ragauge.types import (
        Chunk,
        ChunkVerdict,
        Decomposition,
        Failure,
        Grade,
        Identity,
        Label,
        Sample,
        Statement,
        Verdict,
    )

_HOMES = {
    "BadData": "errors",
    "BadParameter": "errors",
    "BadRow": "errors",
    "Chunk": "types",
    "ChunkEvidence": "scores",
    "ChunkVerdict": "types",
    "ClaimScores": "metrics.claims",
    "Classify": "questions",
    "Comparison": "analysis.comparison",
    "Decompose": "questions",
    "Decomposition": "types",
    "Entail": "questions",
    "Estimate": "scores",
    "Evidence": "scores",
    "EvidenceTable": "needs.base",
    "F1Counts": "scores",
    "Failed": "needs.base",
    "Failure": "types",
    "Grade": "types",
    "Identity": "types",
    "Incidence": "scores",
    "Judge": "judges.base",
    "Judgment": "questions",
    "Label": "types",
    "Metric": "metrics.base",
    "MissingExtra": "errors",
    "MissingField": "errors",
    "Need": "needs.base",
    "NothingToCount": "needs.base",
    "Parity": "analysis.parity_results",
    "Plan": "run.plan",
    "PrecisionRecall": "scores",
    "Question": "questions",
    "QuestionFlow": "needs.base",
    "RagaugeError": "errors",
    "Rate": "questions",
    "Relevant": "questions",
    "Rubric": "questions",
    "Run": "run.results",
    "RunFailed": "errors",
    "Sample": "types",
    "Score": "scores",
    "Scorer": "run.score",
    "Share": "scores",
    "Statement": "types",
    "Statements": "needs.evidence",
    "Store": "store",
    "StoreError": "errors",
    "Support": "needs.evidence",
    "UnanswerableNeed": "errors",
    "Undefined": "needs.base",
    "UnknownName": "errors",
    "UsageError": "errors",
    "Verdict": "types",
    "bertscore": "text.similarity",
    "bleu": "text.overlap",
    "blocking": "run.sync",
    "cascade": "run.specs",
    "claim_scores": "metrics.claims",
    "compare": "analysis.compare",
    "evaluate": "run.evaluate",
    "evaluate_async": "run.evaluate",
    "explain": "report.explain",
    "gather": "needs.base",
    "graded": "metrics.retrieval",
    "join": "readers",
    "judge_from": "judges.function",
    "llm": "judges.llm.build",
    "load_judge": "run.specs",
    "load_judges": "run.specs",
    "metric": "metrics.base",
    "need": "needs.base",
    "panel": "run.specs",
    "parity": "analysis.parity",
    "plan": "run.plan",
    "read": "readers",
    "report_section": "report.sections",
    "rescore": "run.score",
    "response_in_contexts": "needs.entailment",
    "response_statements": "needs.entailment",
    "rouge": "text.overlap",
    "score": "run.score",
    "score_async": "run.score",
    "similarity": "text.similarity",
    "trust_eval_block": "run.results",
    "value_of": "metrics.registry",
}

__all__ = [
    "BadData",
    "BadParameter",
    "BadRow",
    "Chunk",
    "ChunkEvidence",
    "ChunkVerdict",
    "ClaimScores",
    "Classify",
    "Comparison",
    "Decompose",
    "Decomposition",
    "Entail",
    "Estimate",
    "Evidence",
    "EvidenceTable",
    "F1Counts",
    "Failed",
    "Failure",
    "Grade",
    "Identity",
    "Incidence",
    "Judge",
    "Judgment",
    "Label",
    "Metric",
    "MissingExtra",
    "MissingField",
    "Need",
    "NothingToCount",
    "Parity",
    "Plan",
    "PrecisionRecall",
    "Question",
    "QuestionFlow",
    "RagaugeError",
    "Rate",
    "Relevant",
    "Rubric",
    "Run",
    "RunFailed",
    "Sample",
    "Score",
    "Scorer",
    "Share",
    "Statement",
    "Statements",
    "Store",
    "StoreError",
    "Support",
    "UnanswerableNeed",
    "Undefined",
    "UnknownName",
    "UsageError",
    "Verdict",
    "__version__",
    "bertscore",
    "bleu",
    "blocking",
    "cascade",
    "claim_scores",
    "compare",
    "evaluate",
    "evaluate_async",
    "explain",
    "gather",
    "graded",
    "join",
    "judge_from",
    "llm",
    "load_judge",
    "load_judges",
    "metric",
    "need",
    "panel",
    "parity",
    "plan",
    "read",
    "report_section",
    "rescore",
    "response_in_contexts",
    "response_statements",
    "rouge",
    "score",
    "score_async",
    "similarity",
    "trust_eval_block",
    "value_of",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ragauge' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"ragauge.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
