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

from ragauge.lazy import public_names
from ragauge.version import VERSION

__version__ = VERSION

__getattr__, __dir__, __all__ = public_names(
    __name__,
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
