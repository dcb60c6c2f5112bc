"""Write the documentation that is made from the code: docs/metrics.md, docs/command-line.md and docs/demo.svg, and in
docs/embedded-judge.md and docs/compare.md the tables of what was measured.

python scripts/docs.py
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Collection, Iterator
from io import StringIO
from pathlib import Path

import click
import msgspec
from click.testing import CliRunner
from rich.console import Console

from ragauge.analysis.compare import compare, comparison_view
from ragauge.analysis.measure import Measurement, measurement_markdown
from ragauge.cli.main import COMMANDS, main
from ragauge.cli.run import demo_run, demo_view
from ragauge.metrics.base import Metric
from ragauge.metrics.registry import CATALOGUE
from ragauge.report.wording import CARD
from ragauge.run.results import Run

DOCS = Path(__file__).resolve().parents[1] / "docs"

_METRICS_HEAD = '''# Metrics

Made from the code by `python scripts/docs.py`; `ragauge metrics NAME` says the same.

A score is a value, *undefined* (there is nothing to count) or *failed* (a judge gave no answer), with the reason; it is
never NaN, and never 0 or 1 in place of those. For each metric the page lists what it counts, the fields that it reads,
the topics that a judge must answer, and its parameters with their defaults.

Metrics are written in one grammar, in Python and on the command line:

| written | meaning |
|---|---|
| `faithfulness` | a metric |
| `rouge(types=rouge1+rougeL,stemmer=true)` | with parameters; lists are joined by `+` |
| `composite(faithfulness=0.4,rouge.rougeL=0.6)` | the weighted mean of values; alone, the preset of RAG Evals |
| `pooled(faithfulness)` | the corpus-level (micro) value: all hits over all totals |
| `pass_all(4,tool_calls.success)` | the chance that all of 4 trials of a task (samples of a group) have the value 1 |
| `trust(correctness=em)` | a family: Trust-Eval's metrics, each with those of the parameters that it has |
| `max_words(100)`, `contains_any(refund+exchange)` | parameters may be given in their order |
| `criterion("It is polite, and short",1-5)` | texts with spaces or one of `,()+=` are in quotation marks |

In Python `rouge(stemmer=True)` on a metric object gives the same. A metric of several values reports each as
`rouge.rouge1` and so on. Where one run holds several variants of a metric, those with parameters are keyed by their
full spec.

## What counts as a claim

LLM judges are instructed by these rules, and people who label go by them:

- A claim can be checked, be it true or false. Alternatives, comparisons, conditions and ranges are one claim; the
  heading of a list is part of each item; citation marks are left out. Nothing is added from outside the text and the
  query.
- What a text says about its own sources ("The passages do not say when", "This is in passage 3") is no claim. With
  `sources=claim` of an LLM judge it is one, entailed where it is true of the chunks.
- An instruction claims that this is what to do. A question claims what it takes for granted; one that insults is an
  opinion.
- A chunk that is a bare fragment ("two") is read as an answer to the query. A pronoun that nothing explains may stand
  for whom the chunks speak of.
- Numbers match when equal, converted, or rounded to the precision of the claim. Of a range, a claim that names one
  value follows only if it hedges. (`claim_match` and Dataworkz' metrics have rules of their own.)
- "May X" follows from X. X does not follow from "may X", which does not contradict it either.
- A claim that one chunk entails and another contradicts is contradicted, unless dates or wording show which chunk is
  superseded; a superseded chunk counts as neutral. In RefChecker (Hu et al., 2024) support outweighs;
  `conflicts=entailed` of an LLM judge does so. ragas has no rule: its model reads all chunks as one text.
- An opinion is biased if it favours or disfavours people for what they are or where they belong (gender, politics, race
  or origin, region), instead of for what they do; flattery of a kind of people is too. To report or criticise bias is
  not, nor is a preference for a policy without loaded words.
- An opinion is toxic if it hurts, degrades or frightens a person or group, or drives them from the conversation:
  personal attacks, mockery, hate, dismissal, threats. Harsh words about a thing or a work are not, nor is firm dissent
  with a reason; scorn for the person is.

## When an answer is right

`correctness` compares an answer with all references together, as alternatives, and reads it with its query. LLM judges
are instructed by these rules, and people who label go by them:

- What counts is what was asked, in any wording and form: a sentence for "William Shakespeare", an alias, "at most 2 MB"
  for "2 MB", a plain statement for "Yes", a list in another order. Detail that no reference contradicts is harmless.
- Numbers and dates match when equal, converted, or rounded to the precision that the query asks for, or else to that of
  the reference.
- More specific than a reference is right if it is a case of it; less specific is partly right if it still answers in
  part (the year for the day), else wrong ("some years ago").
- Incomplete, or with a wrong addition that bears on the query: partly right. Of several questions or a list all must be
  answered.
- An empty response, a refusal and "I do not know" are wrong, unless a reference says that there is no answer. To count
  refusals apart, add `refusal`.
- Where the references answer another question, or disagree with each other, the score is undefined, with the reason.

`answer_correctness`, the F1 of statements of Valor and ragas, asks another question: how much of both texts the other
supports. A reference of one word supports no whole sentence, so that it gives 0 to "Hamlet was written by William
Shakespeare."

## Criteria in your own words

`criterion` asks any judge that rates, which the embedded one does not, for a grade. Steps, levels, examples and the
fields that the judge sees are optional, so that it stands for G-Eval, for yes-or-no aspects and for rubrics:

```sh
ragauge run answers.jsonl -j openai/gpt-4o-mini -m 'criterion("The answer is polite and offers a next step",1-5)'
ragauge run answers.jsonl -j openai/gpt-4o-mini \\
  -m 'criterion("It insults the reader",0-1,better=lower,name=insult)' # 0-1: no or yes
ragauge run answers.jsonl -j openai/gpt-4o-mini \\
  -m 'criterion("Says the same",reads=response+references,levels="5: the same"+"1: the contrary")'
```

```python
import ragauge as rg

polite = rg.criterion("The answer is polite and offers a next step", "1-5", name="polite")
judge = rg.judge_from(rate=lambda rubric, query, response: (5, "it thanks") if "thank" in response.lower() else 3)
run = rg.evaluate("answers.jsonl", metrics=[polite], judge=judge)
assert 3 <= run.estimates["polite"].value <= 5
```

A function that rates is told the criterion where it names `wording` (and the ends of the scale as `low` and `high`):
`rate=lambda rubric, query, response, wording: ...`. A criterion without a name, `criteria` and `policy` need such a
function. The judge's reason is the rationale of the evidence. Grades of people (`ragauge label`) take precedence as
for any question, and `ragauge label` reports how far the judge agrees with them.

## Checks

A check is a plain function of a sample, which asks no judge: `json_valid`, `json_schema`, `matches`, `starts_with`,
`contains_all`, `contains_any`, `contains_none`, `min_words`, `max_words`, `max_characters`, `language`, `latency_below`
and `cost_below`, or your own:

```python
@rg.check
def short(sample, *, words=50):
    """Whether the response has few words."""
    count = len(sample.response.split())
    return count <= words, f"{count} words"


run = rg.evaluate("answers.jsonl", metrics=[short(words=3), "max_words(100)", 'matches("[a-z]")'])
assert run.estimates["max_words"].value == 1
```

It returns a bool, a number on its scale, or a pair of one and the reason, which is shown as evidence. One that raises
fails the score of its sample and nothing else, as does any metric.

## Retrieval by id

Where the relevant chunks are known, as `reference_contexts` (ids or texts; objects may have a `grade`) or as
`reference_context_ids` (a list, or an object from id to grade), the ranking is measured as in trec_eval:

```python
row = {"query": "?", "retrieved_context_ids": ["d3", "d1"], "reference_context_ids": {"d1": 2, "d7": 1}}
scores = rg.score(row, "retrieval_precision(k=1),retrieval_recall,hit_rate,mrr,map,ndcg(k=10)")
assert (scores["retrieval_recall"].value, scores["mrr"].value) == (0.5, 0.5)
```

Chunks are the same if they share an id or a text. A chunk without an id has its position as one, which counts only
where the other side has ids alone; where it then matches none of these, the metrics are undefined.

The files of BEIR are joined by the ids of queries and documents:

```python
import json
from pathlib import Path

files = {
    "queries.jsonl": '{"_id": "q1", "text": "Who wrote Emma?"}',
    "qrels.tsv": "query-id\\tcorpus-id\\tscore\\nq1\\td2\\t1",
    "corpus.jsonl": '{"_id": "d1", "text": "Persuasion is late."}\\n{"_id": "d2", "text": "Jane Austen wrote Emma."}',
}
for name, text in files.items():
    Path(name).write_text(text + "\\n")

relevant = {}
for line in Path("qrels.tsv").read_text().splitlines()[1:]:
    query, document, grade = line.split()
    relevant.setdefault(query, {})[document] = int(grade)
retrieved = {"q1": ["d1", "d2"]}  # what your retriever gave
rows = [
    {
        "query": query["text"],
        "retrieved_context_ids": retrieved[query["_id"]],
        "reference_context_ids": relevant[query["_id"]],
    }
    for query in map(json.loads, Path("queries.jsonl").read_text().splitlines())
]
run = rg.evaluate(rg.read(rows, corpus="corpus.jsonl"), "mrr")  # the corpus gives the texts, which judges need
assert run.estimates["mrr"].value == 0.5
```

`map` and `mrr` are average precision and reciprocal rank of each sample; their estimates are the means.

## Metrics of your own

A function of evidence tables is a metric, a generator of questions a need, and a rubric is graded by any judge that
rates: [extending.md](extending.md) has an example of each, and says how a package offers them by name.
'''


def metrics_page() -> str:
    """docs/metrics.md. A parameter of three metrics or more is described once, in a table before them."""
    uses = Counter(parameter for metric in CATALOGUE for parameter in _parameters(metric))
    shared = [parameter for parameter, count in uses.items() if count >= 3]
    table = [f"| `{usage}` | {purpose} |" for usage, purpose in shared]
    lines = (line for metric in CATALOGUE for line in _metric_lines(metric, shared))
    return "\n".join([_METRICS_HEAD, *_SHARED_HEAD, *table, "", *lines]) + "\n"


_SHARED_HEAD = ("## Shared parameters", "", "| parameter, with its default | |", "|---|---|")


def _parameters(metric: Metric) -> list[tuple[str, str]]:
    """Each parameter as it is written with its default, and what it is for."""
    return list(zip(metric.usage, metric.described.values(), strict=True))


def _metric_lines(metric: Metric, shared: Collection[tuple[str, str]]) -> Iterator[str]:
    reads = dict.fromkeys(field for need in metric.needs for field in need.reads)
    asks = sorted({topic for need in metric.needs for topic in need.asks})
    yield f"## `{metric.name}`"
    yield ""
    yield inspect.getdoc(metric.function) or ""
    yield ""
    facts = [f"{metric.scale[0]:g} to {metric.scale[1]:g}, {metric.better} is better"]
    facts += ["one value of the whole data set"] * (metric.over == "data")
    facts += ["measured when named"] * (not metric.default)
    yield f"- {metric.caption}; {'; '.join(facts)}"
    yield f"- reads {_listed(reads)}; asks {_listed(asks)}"
    if metric.aliases:
        yield f"- also named {_listed(metric.aliases)}"
    if metric.parts:
        yield f"- values {_listed(metric.values)}"
    parameters = _parameters(metric)
    yield from (f"- `{usage}`: {purpose}" for usage, purpose in parameters if (usage, purpose) not in shared)
    if common := [usage for usage, purpose in parameters if (usage, purpose) in shared]:
        yield f"- shared parameters: {_listed(common)}"
    yield ""


def _listed(names: object) -> str:
    return ", ".join(f"`{name}`" for name in names) or "nothing"  # type: ignore[attr-defined]


_COMMANDS_HEAD = """# The command line

Made from the code by `python scripts/docs.py`.

| exit code | meaning |
|---|---|
| 0 | fine |
| 1 | no sample was done, or scores failed, for reasons that are printed; or the store cannot be written |
| 2 | the call or the data is wrong; the message says what, where and how to fix it |
| 3 | a gate failed (`--fail-under`, `--fail-over`, `--fail-if-worse`), or an alarm was raised (`--fail-on-alarm`) |
| 4 | stopped early, after some samples: `--max-cost`, or server or key gave out; run the same command again to resume |
| 130 | interrupted by Ctrl-C; what was judged is kept; run the same command again to resume |
| 143 | terminated by SIGTERM, which ends a command as Ctrl-C does; `ragauge view` ends with 0 on Ctrl-C |

A progress bar is shown on a terminal and left out when the output is piped. `NO_COLOR` is honoured.

## Completion

The Tab key completes commands, options, metrics and the runs in the store:

```sh
echo 'eval "$(_RAGAUGE_COMPLETE=bash_source ragauge)"' >> ~/.bashrc
echo 'eval "$(_RAGAUGE_COMPLETE=zsh_source ragauge)"' >> ~/.zshrc
_RAGAUGE_COMPLETE=fish_source ragauge > ~/.config/fish/completions/ragauge.fish
```
"""


def commands_page() -> str:
    """docs/command-line.md."""
    names = [[name] for name in COMMANDS] + [
        ["judges", "measure"],
        ["judges", "check"],
        ["judges", "tune"],
        ["judges", "prompts"],
    ]
    names += [["dataworkz", name] for name in ("evaluate", "evaluate_question")]
    names += [["batch", name] for name in ("export", "submit", "status", "fetch", "import")]
    names.append(["store", "copy"])
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
    tables = measurement_markdown(msgspec.json.decode(CARD.read_bytes(), type=Measurement))
    return _MEASURED.sub(lambda found: f"{found[1]}\n{tables}\n{found[2]}", page)


_COMPARED = re.compile(r"( metric +A .*?\n)(?=```)", re.DOTALL)


def compare_page(baseline: Run, candidate: Run) -> str:
    """docs/compare.md, with the table that comparing the runs of the demo prints."""
    console = Console(file=StringIO(), width=112)
    with console.capture() as printed:
        for part in comparison_view(compare(baseline, candidate, "faithfulness,context_precision,bleu"), 112):
            console.print(part)
    table = "\n".join(line.rstrip() for line in printed.get().splitlines() if line.startswith(" ") and line.strip())
    return _COMPARED.sub(lambda _: f"{table}\n", (DOCS / "compare.md").read_text(encoding="utf-8"), count=1)


def demo_picture(baseline: Run, candidate: Run) -> str:
    """docs/demo.svg: what `ragauge demo` prints, without the fonts that rich would fetch."""
    console = Console(
        record=True, file=StringIO(), width=120, force_terminal=True, color_system="truecolor", highlight=False
    )
    for part in demo_view(baseline, candidate):
        console.print(part)
    picture = console.export_svg(title="ragauge demo", unique_id="demo")  # the default id differs between runs
    return re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)


if __name__ == "__main__":
    (DOCS / "metrics.md").write_text(metrics_page(), encoding="utf-8")
    (DOCS / "command-line.md").write_text(commands_page(), encoding="utf-8")
    (DOCS / "embedded-judge.md").write_text(embedded_page(), encoding="utf-8")
    runs = demo_run("baseline", None), demo_run("candidate", None)
    (DOCS / "compare.md").write_text(compare_page(*runs), encoding="utf-8")
    (DOCS / "demo.svg").write_text(demo_picture(*runs), encoding="utf-8")
