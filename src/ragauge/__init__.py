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
    from ragauge.judges.function import judge_from
    from ragauge.judges.judge import Judge
    from ragauge.judges.llm.making import llm
    from ragauge.metrics.metric import metric
    from ragauge.metrics.relevance import graded
    from ragauge.needs.need import Undefined
    from ragauge.nouns.answers import Failure, Grade, Label, Verdict
    from ragauge.nouns.samples import Chunk, Sample
    from ragauge.nouns.scores import Estimate, Evidence, Score, Share
    from ragauge.nouns.statements import Statement
    from ragauge.readers import read
    from ragauge.rubrics import Rubric
    from ragauge.run.composing import cascade, panel
    from ragauge.run.evaluate import evaluate, evaluate_async
    from ragauge.run.planning import Plan, plan
    from ragauge.run.rescoring import rescore
    from ragauge.run.run import Run
    from ragauge.store import Store

_HOMES = {
    "BadData": "errors",
    "BadParameter": "errors",
    "BadRow": "errors",
    "Chunk": "nouns.samples",
    "Estimate": "nouns.scores",
    "Evidence": "nouns.scores",
    "Failure": "nouns.answers",
    "Grade": "nouns.answers",
    "Judge": "judges.judge",
    "Label": "nouns.answers",
    "MissingExtra": "errors",
    "MissingField": "errors",
    "Plan": "run.planning",
    "RagaugeError": "errors",
    "Rubric": "rubrics",
    "Run": "run.run",
    "RunFailed": "errors",
    "Sample": "nouns.samples",
    "Score": "nouns.scores",
    "Share": "nouns.scores",
    "Statement": "nouns.statements",
    "Store": "store",
    "StoreError": "errors",
    "UnanswerableNeed": "errors",
    "Undefined": "needs.need",
    "UnknownName": "errors",
    "UsageError": "errors",
    "Verdict": "nouns.answers",
    "cascade": "run.composing",
    "evaluate": "run.evaluate",
    "evaluate_async": "run.evaluate",
    "graded": "metrics.relevance",
    "judge_from": "judges.function",
    "llm": "judges.llm.making",
    "metric": "metrics.metric",
    "panel": "run.composing",
    "plan": "run.planning",
    "read": "readers",
    "rescore": "run.rescoring",
}

__all__ = [
    "BadData",
    "BadParameter",
    "BadRow",
    "Chunk",
    "Estimate",
    "Evidence",
    "Failure",
    "Grade",
    "Judge",
    "Label",
    "MissingExtra",
    "MissingField",
    "Plan",
    "RagaugeError",
    "Rubric",
    "Run",
    "RunFailed",
    "Sample",
    "Score",
    "Share",
    "Statement",
    "Store",
    "StoreError",
    "UnanswerableNeed",
    "Undefined",
    "UnknownName",
    "UsageError",
    "Verdict",
    "__version__",
    "cascade",
    "evaluate",
    "evaluate_async",
    "graded",
    "judge_from",
    "llm",
    "metric",
    "panel",
    "plan",
    "read",
    "rescore",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ragauge' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"ragauge.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
