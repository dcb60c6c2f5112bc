"""Evaluate: samples in, scores with evidence out."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Mapping, Sized
from typing import TYPE_CHECKING, Any

from ragauge.errors import BadParameter, RunFailed
from ragauge.judges.base import JudgeLike, JudgeRouter, LookupJudge
from ragauge.metrics.registry import value_of
from ragauge.needs.base import missing_fields
from ragauge.readers import read
from ragauge.readers.conversations import Per
from ragauge.run.prepare import LabelsLike, MetricsLike, RunRequest, StoreLike, opened_store, prepared
from ragauge.run.results import Run, SampleScores
from ragauge.run.scoring import Evaluation
from ragauge.run.specs import load_judges
from ragauge.run.sync import blocking

if TYPE_CHECKING:
    from ragauge.run.cluster import RayEngine


async def evaluate_async(
    data: Any,
    metrics: MetricsLike = None,
    judge: JudgeLike = "embedded",
    store: StoreLike = None,
    *,
    labels: LabelsLike = None,
    map: Mapping[str, str] | None = None,
    group: str | None = None,
    limit: int | None = None,
    skip_bad_rows: bool = False,
    max_cost: float | None = None,
    per: Per | None = None,
    corpus: str | None = None,
    name: str = "",
    progress: Callable[[int], None] | None = None,
    engine: str | RayEngine | None = None,
) -> Run:
    """Score a data set with metrics, and return the run.

    `evaluate` works in scripts, in notebooks and under a running event loop; `evaluate_async` is to be awaited.

    Args:
        data: a path (.jsonl .json .csv .tsv .xlsx .parquet), a list of dicts or samples, a pandas, Polars or Arrow
            frame, or a Hugging Face data set; see docs/data.md.
        metrics: names and specs, as one string ("faithfulness,rouge(stemmer=true)") or a list. None: every metric that
            the data and the judge allow; `Run.left_out` has the others, with the reasons.
        judge: a spec such as "embedded", "openai/gpt-4o-mini" or "recording:PATH", a judge, a client or model of
            another library, or a mapping from kinds of question to these, such as {"entail": ..., "*": "embedded"}, or
            from languages, such as {"de": ..., "*": "embedded"}.
        store: a folder or file that keeps judgments and the run. None: both live only as long as the returned Run.
        labels: people's labels, as a file or as judgments; they take precedence over any judge.
        map: field -> column, for columns under names of your own.
        group: the column that says which samples are not independent (same document, same user); intervals account
            for it.
        limit: score only the first `limit` samples.
        skip_bad_rows: skip rows that cannot be read, and count them, instead of ending with an error.
        max_cost: dollars; the run stops before its calls cost more, and keeps what is done.
        per: "turn" scores each answer of a conversation, with the turns before it; "conversation" all its answers as
            one response; None the last answer. See docs/conversations.md.
        corpus: a file of documents with ids and texts, for contexts of which the data hold ids alone.
        name: a name for the run.
        progress: called with the number of samples done; None: a bar in notebooks, nothing elsewhere.
        engine: "ray", "ray:HOST:PORT" or `rg.ray(...)` to score in several processes or on several machines, and to
            read folders, patterns such as `answers/*.parquet`, and buckets; see docs/scale.md. None: this process.

    Returns:
        The run: estimates with intervals, scores with evidence.

    Raises:
        UsageError: a metric, judge, column or row is wrong, or a key is missing; nothing is asked before metrics and
            fields have been checked.
        RunFailed: the judge cannot answer at all, or `max_cost` is below the expected cost of one sample.
        StoreError: the store cannot be read or written.
    """
    total = len(data) if isinstance(data, Sized) and not isinstance(data, str) else None
    show_progress = progress or notebook_progress(limit or total)
    request = RunRequest(data, metrics, judge, store, labels, map, group, limit, skip_bad_rows, max_cost, per, corpus)
    if engine is not None:
        from ragauge.run.cluster import evaluate_on_ray

        return await evaluate_on_ray(engine, request, name, show_progress)
    return await Evaluation(prepared(request), name).run(show_progress)


evaluate = blocking(evaluate_async, "evaluate")


def notebook_progress(total: int | None) -> Callable[[int], None] | None:
    """A function that shows the number of samples done, as a bar below the cell of a notebook; None elsewhere.

    total: the number of samples, None if that is not known.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if not hasattr(shell, "kernel"):
        return None
    from IPython.display import HTML, display

    length = "" if total is None else f' max="{total}"'
    bar = display(HTML(f"<progress{length}></progress>"), display_id=True)

    def show(done: int) -> None:
        value = "" if total is None else f' value="{done}"'
        bar.update(HTML(f"<progress{length}{value}></progress> {done} samples judged"))

    return show


async def score_async(
    sample: Any,
    metrics: MetricsLike = None,
    judge: JudgeLike = "embedded",
    store: StoreLike = None,
    *,
    attempts: int = 1,
    strict: bool = False,
    **options: Any,
) -> SampleScores:
    """The scores of one sample, for programs that score an answer right away; `score` is the synchronous form.

        rg.score({"query": "Who wrote it?", "response": "Ada.", "contexts": ["Ada wrote it."]})["faithfulness"]

    Make a judge that is used repeatedly once, with `load_judge` or `load_judges`; threads may share it through `score`.
    For many samples `evaluate` is faster.

    Args:
        sample: a dict, or anything else that can be a row of `evaluate`.
        metrics, judge, store, options: as for `evaluate`.
        attempts: the most runs that are made while a score fails; a retry asks only the unanswered questions.
        strict: raise RunFailed if a score still fails.

    Returns:
        The scores by metric key.

    Raises:
        RunFailed: a score failed and `strict` is set; also as `evaluate`.
        UsageError, StoreError: as `evaluate`.
    """
    if attempts < 1:
        raise BadParameter(f"attempts={attempts} must be 1 or more")
    open_store = opened_store(store)
    options = {"progress": lambda _: None, **options}
    for _ in range(attempts):
        run = await evaluate_async([sample], metrics, judge, open_store, **options)
        if not run.record.failures:
            break
    if strict and run.record.failures:
        metric, reason = next(iter(run.record.failures.items()))
        raise RunFailed(f"{metric}: {reason}")
    return run.scores[0]


score = blocking(score_async, "score", shared=True)


class Scorer:
    """Scores a sample by one metric at a time, as evaluators of other libraries do, with the calls of all at once.

        scorer = rg.Scorer(["faithfulness", "answer_relevance"], judge="openai/gpt-4o-mini")
        scores = await scorer.score_async("faithfulness", {"query": ..., "response": ..., "contexts": [...]})

    Args:
        metrics: values of metrics, such as "faithfulness" or "rouge.rougeL"; `values` maps each to its metric and the
            key of its score.
        judge, store, options: as for `evaluate`; without a store, judgments live as long as the scorer.

    Raises:
        UsageError: a metric or judge is unknown.
    """

    def __init__(
        self, metrics: Iterable[str], judge: JudgeLike = "embedded", store: StoreLike = None, **options: Any
    ) -> None:
        self.values = {name: value_of(name) for name in metrics}
        self.router, self._store, self._options = load_judges(judge, store=store), opened_store(store), options
        self._in_flight: dict[Any, asyncio.Task[SampleScores]] = {}

    async def score_async(self, name: str, row: Any) -> SampleScores:
        """The scores of one metric, and of the others that the sample has the fields for.

        Concurrent requests for other metrics of the same sample share one run. Raises as `evaluate` does.
        """
        (sample,) = read([row])
        requested, _ = self.values[name]
        metrics = [
            metric
            for metric, _ in self.values.values()
            if metric is requested or not missing_fields(metric.needs, [sample])
        ]
        key = (asyncio.get_running_loop(), repr(sample), tuple(metric.spec for metric in metrics))
        scoring = self._in_flight.get(key)
        if scoring is None:
            work = score_async(sample, metrics, self.router, self._store, **self._options)
            scoring = self._in_flight[key] = asyncio.ensure_future(work)
            scoring.add_done_callback(lambda _: self._in_flight.pop(key))
        return await asyncio.shield(scoring)

    score = blocking(score_async, "score", shared=True)


def rescore(run: Run, metrics: MetricsLike = None) -> Run:
    """Score the samples of a run again from the judgments in its store; no judge is asked.

    Args:
        run: a run whose store is open.
        metrics: as for `evaluate`; None: those of the run.

    Returns:
        The new run, kept in the same store. A score that needs a judgment which is not there is failed, and says so.

    Raises:
        UsageError: as `evaluate`.
    """
    router = JudgeRouter({kind: LookupJudge(identity) for kind, identity in run.record.judges.items()})
    samples = (record.sample for record in run.records())
    scored = evaluate(samples, metrics or run.record.metrics, router, run.store, name=run.record.name)
    scored.index = run.index
    return scored
