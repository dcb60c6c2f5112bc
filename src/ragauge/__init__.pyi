"""The public names and their modules, for `ragauge.lazy` and type checkers."""

from typing import Any

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
from ragauge.analysis.preference import rank as rank
from ragauge.errors import RagaugeError as RagaugeError
from ragauge.judges.function import judge_from as judge_from
from ragauge.judges.llm.judge import llm as llm
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

__version__: str
__all__: list[str]

def __getattr__(name: str) -> Any: ...  # names that have moved
