"""Run the blocks of code in other systems' documentation against our doors, and write the table of what runs.

    python benchmarks/documented_blocks.py ragas=CHECKOUT deepeval=CHECKOUT rag_evals=... trust_eval=... valor=...

The imports of the system are changed to those of its door, and nothing else. The blocks of a page run one after the
other in the same names, as in a notebook, with a server that answers as a model does. A block that fails runs again
with the edits in `EDITS`. No text of the pages is kept here.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import builtins
import io
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import traceback
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from tests.llm.stub.process import StubServer

from ragauge.compat import NotOffered
from ragauge.compat.deepeval import MissingTestCaseParamsError

PAGE = Path(__file__).parents[1] / "docs" / "measured" / "documented-blocks.md"
SECONDS = 180


@dataclass(frozen=True)
class Section:
    """Pages of a system.

    prelude: what a page of the same documentation defines for all, in our names. replaced: what is changed in each
    block besides the imports, as regular expressions and their replacements.
    """

    system: str
    title: str
    pages: Sequence[str]
    without: str = "(?!)"
    prelude: str = ""
    replaced: Sequence[tuple[str, str]] = ()

    def ours(self, code: str) -> str:
        """A block of the pages as it runs here."""
        code = changed(code, PACKAGES.get(self.system, self.system), f"ragauge.compat.{self.system}")
        for pattern, replacement in self.replaced:
            code = re.sub(pattern, replacement, code)
        return code


_METRICS = "docs/concepts/metrics/available_metrics"
_MODEL = """
from ragauge.compat.ragas.embeddings import embedding_factory
from ragauge.compat.ragas.llms import llm_factory
from openai import OpenAI
evaluator_llm = llm_factory("gpt-4o")
evaluator_embeddings = embedding_factory("openai", client=OpenAI())
"""
_DOCS = "docs/content/docs"
_OTHER_INPUT = "agents|sql|multi_modal"

SECTIONS = (
    Section("ragas", "ragas 0.4, metric pages", [f"{_METRICS}/*.md"], _OTHER_INPUT, _MODEL),
    Section(
        "ragas",
        "ragas 0.4, metrics of agents, SQL and images",
        [f"{_METRICS}/{page}*.md" for page in _OTHER_INPUT.split("|")],
        prelude=_MODEL,
    ),
    Section("ragas", "ragas 0.4, get started", ["README.md", "docs/getstarted/*.md"], prelude=_MODEL),
    Section("ragas", "ragas 0.4, how-tos of customization", ["docs/howtos/customizations/**/*.md"], prelude=_MODEL),
    Section(
        "deepeval",
        "DeepEval 4, metric pages for texts",
        [f"{_DOCS}/({group})/*.mdx" for group in ("rag", "custom", "metrics-others", "non-llm", "safety")],
        "arena|conversational|ragas",
    ),
    Section(
        "deepeval", "DeepEval 4, getting started", [f"{_DOCS}/getting-started.mdx", f"{_DOCS}/(use-cases)/*rag.mdx"]
    ),
    Section(
        "deepeval",
        "DeepEval 4, metrics of agents, conversations, images and voice",
        [
            *(f"{_DOCS}/({group})/metrics-*.mdx" for group in ("agentic", "mcp", "multi-turn", "voice")),
            *(f"{_DOCS}/(images)/*.mdx", f"{_DOCS}/(custom)/*arena*.mdx", f"{_DOCS}/(custom)/*conversational*.mdx"),
        ],
    ),
    Section("rag_evals", "RAG Evals, examples", ["examples/*.py"]),
    Section("trust_eval", "Trust-Eval, README and programs", ["trust_eval/README.md", "trust_eval/docs/**/*.py"]),
    Section("valor", "Valor, notebook", ["examples/text_generation.ipynb"]),
)
#: Metrics whose value does not depend on what a model says.
COMPUTED = "NonLLM|IDBased|BleuScore|RougeScore|ChrfScore|ExactMatch|StringPresence|PatternMatch"
PACKAGES = {"valor": "valor_lite.text_generation"}

#: What is changed where a block fails as it stands: a regular expression and its replacement, in a page.
EDITS: Mapping[str, Sequence[tuple[str, str]]] = {
    "rubrics_based": [(r"(evaluate\([^)]*?metrics=\[[^\]]*\])", r"\1, llm=evaluator_llm")],
    "README": [
        (r"(?m)^from (config|evaluator|logging_config|response_generator)", r"from ragauge.compat.trust_eval.\1")
    ],
}

#: An item of our own where Trust-Eval's programs read a data set that is downloaded.
_ITEM = {
    "question": "How long does the ferry take?",
    "answers": [["40 minutes"]],
    "docs": [{"title": "Ferry", "text": "The ferry takes 40 minutes.", "answers_found": [1]}],
}


@dataclass
class Block:
    """A block, and what became of it. shown: the output that the page shows; printed: what it printed here."""

    number: int
    code: str
    outcome: str = ""
    reason: str = ""
    edits: list[str] = field(default_factory=list)
    shown: str = ""
    printed: str = ""


def blocks(path: Path) -> list[Block]:
    """The blocks of Python in a page, a notebook or a program."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".py":
        return [Block(1, text, shown="\n".join(re.findall(r"(?m)^\s*#.*", text)))]
    if path.suffix == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        return [
            Block(number, "".join(cell["source"]), shown=_output(cell["outputs"]))
            for number, cell in enumerate(cells, 1)
        ]
    listed: list[Block] = []
    for fence in re.finditer(r"^([ \t]*)(`{3,})(\w*)[^\n]*\n(.*?)^[ \t]*\2[ \t]*$", text, re.MULTILINE | re.DOTALL):
        body = textwrap.dedent(fence[4])
        if fence[3] in ("python", "py"):
            listed.append(Block(len(listed) + 1, body))
        elif fence[3] in ("", "text", "output") and listed:
            listed[-1].shown += body
    return listed


def _output(outputs: Iterable[Mapping[str, Any]]) -> str:
    return "".join("".join(output.get("text", ())) for output in outputs)


def _number(text: str) -> str:
    numbers = re.findall(r"(?<![\w.])\d+\.\d+(?![\w.]\d)", text)
    return numbers[-1] if len(set(numbers)) == 1 else ""


def changed(code: str, package: str, door: str) -> str:
    """The code with the imports of a package changed to its door."""
    code = re.sub(rf"^(\s*from ){re.escape(package)}(?=[.\s])", rf"\1{door}", code, flags=re.MULTILINE)
    return re.sub(rf"^(\s*import ){re.escape(package)}$", rf"\1{door} as {package}", code, flags=re.MULTILINE)


def placeholder(code: str, defined: set[str]) -> str:
    """Why the code is no program, if it is none. defined: the names of earlier blocks, to which its own are added."""
    try:
        tree = compile(code, "block", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST)
    except (SyntaxError, ValueError) as error:
        return f"no Python: {str(error).partition(' (')[0]}"
    statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value is ... and id(node) not in statements:
            return "`...` in place of a value"
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
    read = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    lacking = [name for name in read if name not in bound | defined and not hasattr(builtins, name)]
    defined |= bound
    return f"`{lacking[0]}` is defined nowhere on the page" if lacking else ""


class _TooLong(BaseException):
    """A block that runs longer than SECONDS."""


def _stop(*_: Any) -> None:
    raise _TooLong


class Runner:
    """Runs the blocks of a page in the same names."""

    def __init__(self, prelude: str) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.loop = asyncio.new_event_loop()
        exec(prelude, self.names)

    def run(self, code: str) -> tuple[BaseException | None, str]:
        """What a block raised, if anything, and what it printed, with the value of its last line."""
        printed = io.StringIO()
        signal.signal(signal.SIGALRM, _stop)
        signal.alarm(SECONDS)
        try:
            with redirect_stdout(printed), redirect_stderr(io.StringIO()), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._execute(code)
        except (Exception, SystemExit, _TooLong) as error:
            return error, printed.getvalue()
        finally:
            signal.alarm(0)
        return None, printed.getvalue()

    def _execute(self, code: str) -> None:
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        tree = compile(code, "block", "exec", flags | ast.PyCF_ONLY_AST)
        assert isinstance(tree, ast.Module)
        if tree.body and isinstance(last := tree.body[-1], ast.Expr):
            shown = ast.parse("print(0)").body[0]
            assert isinstance(shown, ast.Expr)
            assert isinstance(shown.value, ast.Call)
            shown.value.args = [last.value]
            tree.body[-1] = ast.fix_missing_locations(ast.copy_location(shown, last))
        running = eval(compile(tree, "block", "exec", flags), self.names)
        if running is not None:
            self.loop.run_until_complete(running)


def outcome(error: BaseException | None) -> tuple[str, str]:
    """A word for what a block raised, and why."""
    if error is None:
        return "runs", ""
    message = " ".join(str(error).split())
    if isinstance(error, NotOffered):
        return "advice", message.partition("; ")[2]
    if isinstance(error, MissingTestCaseParamsError):
        return "no program", "the test case lacks what the metric reads, which DeepEval refuses too"
    if isinstance(error, NameError):
        return "follows", f"`{error.name}` is missing, since an earlier block did not run"
    if isinstance(error, ModuleNotFoundError) and "ragauge" not in str(error.name):
        return "not tried", f"needs {error.name}"
    if re.search(r"\bHub\b|huggingface|LocalEntryNotFound", message):
        return "not tried", "needs a model or a data set of the Hub"
    if isinstance(error, _TooLong):
        return "not tried", f"longer than {SECONDS} s"
    return "fails", f"{type(error).__name__}: {message}"[:200]


def page_run(path: Path, section: Section, verbose: bool = False) -> list[Block]:
    """The blocks of a page with their outcomes; in a process of its own, in an empty folder."""
    runner = Runner(section.ours(section.prelude))
    defined = set(runner.names)
    listed = blocks(path)
    for block in listed:
        code = section.ours(block.code)
        if reason := placeholder(code, defined):
            block.outcome, block.reason = "no program", reason
            with suppress(Exception):
                runner.run(code)  # what it imports may be needed later
            continue
        error, block.printed = runner.run(code)
        if error is not None:
            for pattern, replacement in EDITS.get(path.stem, ()):
                if (edited := re.sub(pattern, replacement, code)) != code:
                    block.edits.append(f"`{pattern}` → `{replacement}`")
                    code = edited
            if block.edits:
                error, block.printed = runner.run(code)
        if verbose and error is not None and not isinstance(error, NotOffered):
            print(f"--- {path.name} {block.number}\n", *traceback.format_exception(error)[-4:], file=sys.stderr)
        block.outcome, block.reason = outcome(error)
    return listed


def _in_a_folder(work: Any, path: Path) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        if "trust_eval" in path.parts:
            _place_settings(path)
        return work()


def _place_settings(path: Path) -> None:
    """Put what Trust-Eval's programs read into the working folder; a model that the server has is named."""
    settings = path.parent / "configs" / "asqa_closedbook_refusal_baseline.yaml"
    beside = [*path.parent.glob("*.yaml"), *path.parent.glob("docs/docs/*.yaml")]
    for file in [settings] if settings.exists() else beside:
        text = re.sub(r"(?m)^model: .*", "model: openai/gpt-4o-mini", file.read_text(encoding="utf-8"))
        text = re.sub(r"(?m)^posthoc_retriever: .*", "", text)
        Path(file.name).write_text(text, encoding="utf-8")
    sys.argv = [path.name, settings.name]
    Path("data").mkdir()
    Path("data/asqa_eval_top100_calibrated.json").write_text(json.dumps([_ITEM]), encoding="utf-8")


def results(section: Section, checkout: Path, pages_at_once: int, verbose: bool) -> Iterator[tuple[str, list[Block]]]:
    """Each page of a section, with its blocks; each in a process of its own."""
    listed = [path for pattern in section.pages for path in sorted(checkout.glob(pattern))]
    paths = dict.fromkeys(path for path in listed if not re.search(section.without, path.stem))
    with multiprocessing.get_context("spawn").Pool(pages_at_once, maxtasksperchild=1) as pool:
        works = {path: partial(page_run, path, section, verbose) for path in paths}
        running = {path: pool.apply_async(_in_a_folder, (work, path)) for path, work in works.items()}
        for path, page in running.items():
            if done := page.get():
                yield str(path.relative_to(checkout)), done


_HEAD = """# The systems' documented programs

The blocks of code in other systems' documentation, as they stand on {day}, with their imports changed and nothing else.
`python benchmarks/documented_blocks.py` runs them, those of a page one after the other, against a server that answers
as a model does. DeepEval's default model is named as its documentation has it, by `OPENAI_MODEL_NAME` in the
environment, that of Trust-Eval in the settings of its programs. The sources: {sources}.

- *No program*: a block with `...` in place of values, that is no Python, that uses names defined nowhere on its page,
  or that the system itself refuses. These are left out of the shares.
- *Edited*: it runs with the edits that are shown.
- *Advice*: we lack what it imports, and the error says what to use instead; *follows* are blocks that need such a one.
- *Not tried*: it needs a download or a library that is not there.

| documentation | blocks | no program | not tried | run as they stand | edited | advice, follows | fail | share |
|---|---|---|---|---|---|---|---|---|
"""


def _counts(listed: Iterable[Block]) -> str:
    counted = Counter("edited" if block.outcome == "runs" and block.edits else block.outcome for block in listed)
    tried = counted.total() - counted["no program"] - counted["not tried"]
    share = f"{counted['runs'] / tried:.0%}" if tried else ""
    other = [counted[word] for word in ("no program", "not tried", "runs", "edited")]
    return " | ".join(
        map(str, [counted.total(), *other, counted["advice"] + counted["follows"], counted["fails"], share])
    )


def _row(page: str, listed: Sequence[Block]) -> str:
    runs = [block.number for block in listed if block.outcome == "runs" and not block.edits]
    notes = [f"{b.number}: {b.outcome}, {b.reason}" for b in listed if b.outcome not in ("runs", "no program")]
    notes += [f"{b.number}: edited, {'; '.join(b.edits)}" for b in listed if b.edits and b.outcome == "runs"]
    cells = (page, len(listed), ", ".join(map(str, runs)), "; ".join(notes).replace("|", "\\|"))
    return f"| {' | '.join(map(str, cells))} |"


def table(sections: Sequence[tuple[str, list[tuple[str, list[Block]]]]], sources: str) -> str:
    """The page: the shares of all sections, the blocks of each page, and the documented values of computed metrics."""
    lines = [_HEAD.format(day=date.today(), sources=sources).rstrip("\n")]
    lines += [f"| {title} | {_counts(b for _, listed in pages for b in listed)} |" for title, pages in sections]
    for title, pages in sections:
        lines += ["", f"## {title}", "", "| page | blocks | run as they stand | the others |", "|---|---|---|---|"]
        lines += [_row(page.rpartition("/")[2], listed) for page, listed in pages]
    lines += [
        "",
        "## Values of metrics that ask no model",
        "",
        "| page | block | documented | ours |",
        "|---|---|---|---|",
    ]
    for _, pages in sections:
        for page, listed in pages:
            for block in listed:
                documented, ours = _number(block.shown), _number(block.printed)
                if documented and ours and re.search(COMPUTED, block.code):
                    name = page.rpartition("/")[2]
                    lines.append(f"| {name} | {block.number} | {documented} | {ours} |")
    return "\n".join(lines) + "\n"


def commit(checkout: Path) -> str:
    """The commit of a checkout."""
    marked = checkout / "COMMIT"
    if marked.exists():
        return f"`{marked.read_text(encoding='utf-8').strip()}`"
    asked = ["git", "-C", str(checkout), "rev-parse", "--short", "HEAD"]
    return f"`{subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()}`"


def main() -> None:
    """Run the blocks of the systems whose checkouts are named, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkouts", nargs="+", metavar="SYSTEM=CHECKOUT")
    parser.add_argument(
        "--only", default="", help="pages whose path matches this regular expression; nothing is written"
    )
    parser.add_argument("--at-once", type=int, default=2, help="pages that run at the same time")
    parser.add_argument("-v", "--verbose", action="store_true", help="print what is raised")
    options = parser.parse_args()
    checkouts = dict(pair.split("=", 1) for pair in options.checkouts)
    with StubServer() as server:
        os.environ |= {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none", "OPENAI_MODEL_NAME": "gpt-4.1"}
        done = []
        for section in SECTIONS:
            if section.system not in checkouts or not re.search(options.only, " ".join(section.pages)):
                continue
            pages = list(results(section, Path(checkouts[section.system]).resolve(), options.at_once, options.verbose))
            done.append((section.title, pages))
            print(section.title, _counts(block for _, listed in pages for block in listed), flush=True)
            if options.verbose:
                print(*(_row(page, listed) for page, listed in pages), sep="\n")
    if not options.only:
        sources = ", ".join(f"{system} {commit(Path(checkout))}" for system, checkout in checkouts.items())
        PAGE.write_text(table(done, sources), encoding="utf-8")


if __name__ == "__main__":
    main()
