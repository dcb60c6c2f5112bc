"""Write the documentation that is made from the code: docs/metrics.md, docs/command-line.md and docs/demo.svg, and in
docs/embedded-judge.md the tables of what was measured.

python scripts/docs.py
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib.resources import as_file
from io import StringIO
from pathlib import Path

import click
from click.testing import CliRunner
from rich.console import Console

from ragauge.analysis.measurement import measurement_markdown, read_measurement
from ragauge.cli.main import COMMANDS, main
from ragauge.metrics.base import Metric
from ragauge.metrics.registry import ALIASES, CATALOGUE, METRICS, OVER_DATA
from ragauge.report.wording import CARD

DOCS = Path(__file__).resolve().parents[1] / "docs"

_METRICS_HEAD = '''# Metrics

Made from the code by `python scripts/docs.py`; `ragauge metrics NAME` says the same.

A score is a value, *undefined* (there is nothing to count) or *failed* (a judge gave no answer), with the reason; it is
never NaN, and never 0 or 1 in place of those. "Reads" are the fields a sample must have; "asks" are the topics a judge
must be able to answer, so that it is known beforehand what can be measured.

Metrics are written in one grammar, in Python and on the command line:

| written | meaning |
|---|---|
| `faithfulness` | a metric |
| `rouge(types=rouge1+rougeL,stemmer=true)` | with parameters; lists are joined by `+` |
| `composite(faithfulness=0.4,rouge.rougeL=0.6)` | the weighted mean of values; alone, the preset of RAG Evals |
| `pooled(faithfulness)` | over the whole data set: all hits over all totals |
| `trust(correctness=em)` | a family: Trust-Eval's metrics, each with those of the parameters that it has |

In Python `rouge(stemmer=True)` on a metric object gives the same. A metric of several values reports each as
`rouge.rouge1` and so on. Where one run holds several variants of a metric, those with parameters are keyed by their
full spec.

## Metrics of your own

A metric is a function from the evidence tables of its needs to counts, a number, or `Undefined(reason)`; the decorator
declares the needs. Equal questions of several metrics are asked once.

```python
import ragauge as rg


@rg.metric(rg.response_in_contexts(), better="lower")
def unsupported(support):
    """Share of the response's claims that the contexts do not entail."""
    return rg.Share(support.entailed.count(False), len(support.entailed))


run = rg.evaluate("answers.jsonl", metrics=["faithfulness", unsupported])
assert abs(run.estimates["unsupported"].value + run.estimates["faithfulness"].value - 1) < 1e-9
```

A need of your own is a generator that yields questions (`Decompose`, `Entail`, `Relevant`, `Classify` or `Rate`), is
sent their judgments, and returns a table with the `evidence` to show:

```python
class Echo:
    def __init__(self, verdict, evidence):
        self.verdict, self.evidence = verdict, evidence


@rg.need(reads=["query", "response"], asks=["entail:support"])
def response_in_query(sample):
    if not sample.response:
        raise rg.NothingToCount("the response is empty")
    (judgment,) = yield [rg.Entail((sample.query,), sample.response)]
    verdict = judgment.answer
    piece = rg.Evidence(sample.response, "response", against="query", label=verdict.label, judgment=judgment.key)
    return Echo(verdict, (piece,))


@rg.metric(response_in_query, better="lower")
def echo(echoed):
    """Whether the response only repeats the query."""
    return rg.Share(echoed.verdict.entailed, 1)


assert rg.score({"query": "Ada sang.", "response": "Ada sang."}, echo)["echo"].value == 1
```

A metric declared with `over="data"` is one value of the counts of the whole data set when it is asked for by name.

An installed package offers metrics by name with an entry point of the group `ragauge.metrics`; `echo` then works
wherever a metric is named, on the command line too. Names of ragauge's own metrics cannot be taken.

```toml
[project.entry-points."ragauge.metrics"]
echo = "echo_metrics:echo"
```

A rubric of your own is graded by any judge that answers `rate`:

```python
politeness = rg.Rubric("politeness", ("response",), 1, 5, "How polite is the response? 5: very. 1: rude.", whole=True)
judge = rg.judge_from(rate=lambda rubric, response: 5 if "please" in response.lower() else 3)
run = rg.evaluate("answers.jsonl", metrics=[rg.graded(politeness)], judge=judge)
assert 3 <= run.estimates["politeness"].value <= 5
```
'''


def metrics_page() -> str:
    """docs/metrics.md."""
    return "\n".join([_METRICS_HEAD, *(line for metric in CATALOGUE for line in _metric_lines(metric))]) + "\n"


def _metric_lines(metric: Metric) -> Iterator[str]:
    aliases = [alias for alias, name in ALIASES.items() if name == metric.name]
    reads = dict.fromkeys(field for need in metric.needs for field in need.reads)
    asks = sorted({topic for need in metric.needs for topic in need.asks})
    yield f"## `{metric.name}`" + "".join(f", also `{alias}`" for alias in aliases)
    yield ""
    yield inspect.getdoc(metric.function) or ""
    yield ""
    yield f"- {metric.scale[0]:g} to {metric.scale[1]:g}, {metric.better} is better"
    if metric in OVER_DATA:
        yield "- one value of the whole data set"
    if metric not in METRICS:
        yield "- measured when asked for by name"
    yield f"- reads: {_listed(reads)}"
    yield f"- asks: {_listed(asks)}"
    if metric.parts:
        yield f"- values: {_listed(metric.values)}"
    if metric.defaults:
        yield f"- parameters: {_listed(f'{key}={value}' for key, value in metric.defaults.items())}"
    yield ""


def _listed(names: object) -> str:
    return ", ".join(f"`{name}`" for name in names) or "nothing"  # type: ignore[attr-defined]


_COMMANDS_HEAD = """# The command line

Made from the code by `python scripts/docs.py`.

| exit code | meaning |
|---|---|
| 0 | fine |
| 1 | the run failed: no score has a value, or the store cannot be written |
| 2 | the call or the data is wrong; the message says what, where and how to fix it |
| 3 | a gate failed (`--fail-under`, `--fail-over`, `--fail-if-worse`) |
| 4 | stopped early: `--max-cost`, or server or key gave out; what is done is kept, the same command goes on |
| 130 | interrupted by Ctrl-C; what was judged is kept, and the same command goes on from there |
| 143 | terminated by SIGTERM, which ends a command as Ctrl-C does; `ragauge view` ends with 0 on Ctrl-C |

A progress bar is shown on a terminal and left out when the output is piped. `NO_COLOR` is honoured.
"""


def commands_page() -> str:
    """docs/command-line.md."""
    names = [[name] for name in COMMANDS] + [["judges", "measure"], ["judges", "fit"], ["judges", "export"]]
    names += [["dataworkz", name] for name in ("evaluate", "evaluate_question")]
    names += [["batch", name] for name in ("export", "submit", "status", "fetch", "import")]
    return "\n".join([_COMMANDS_HEAD, *(_help(name) for name in names)])


def _help(command: list[str]) -> str:
    shown = CliRunner().invoke(main, [*command, "--help"], prog_name="ragauge", terminal_width=100)
    if shown.exit_code:
        raise click.ClickException(shown.output)
    return f"## `ragauge {' '.join(command)}`\n\n```text\n{shown.output.strip()}\n```\n"


_MEASURED = re.compile(r"(<!-- measured[^>]*-->\n).*?(<!-- end -->)", re.DOTALL)


def embedded_page() -> str:
    """docs/embedded-judge.md, with what the package says was measured of its judge."""
    page = (DOCS / "embedded-judge.md").read_text(encoding="utf-8")
    with as_file(CARD) as path:
        tables = measurement_markdown(read_measurement(path))
    return _MEASURED.sub(lambda found: f"{found[1]}\n{tables}\n{found[2]}", page)


def demo_picture() -> str:
    """docs/demo.svg: what `ragauge demo` prints, without the fonts that rich would fetch."""
    from ragauge.cli import run

    console = Console(
        record=True, file=StringIO(), width=112, force_terminal=True, color_system="truecolor", highlight=False
    )
    run.show_runs(console, run.measured(None), count=2)
    picture = console.export_svg(title="ragauge demo", unique_id="demo")  # the default id differs between runs
    return re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)


if __name__ == "__main__":
    (DOCS / "metrics.md").write_text(metrics_page(), encoding="utf-8")
    (DOCS / "command-line.md").write_text(commands_page(), encoding="utf-8")
    (DOCS / "embedded-judge.md").write_text(embedded_page(), encoding="utf-8")
    (DOCS / "demo.svg").write_text(demo_picture(), encoding="utf-8")
