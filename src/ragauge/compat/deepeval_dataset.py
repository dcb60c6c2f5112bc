"""DeepEval's data sets, and the functions of a program whose test cases are measured while one is iterated."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from functools import wraps
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any, TypeVar

import ragauge as rg
from ragauge.compat import BadInput, not_offered, parsed, passages_of
from ragauge.compat.deepeval import FIELDS, LLMTestCase, ToolCall, evaluate


@dataclass
class Golden(LLMTestCase):
    """A question, what is expected of its answer, and where it is from."""

    source_file: str | None = None
    custom_column_key_values: dict[str, str] | None = None


Case = TypeVar("Case", bound=LLMTestCase)

#: For `map`: parts of test cases that are taken as they are.
_AS_THEY_ARE = {"tool_calls": "", "reference_tool_calls": "", "metadata": ""}


def _adds(kind: type[LLMTestCase], attribute: str, bar: str = "") -> Callable[..., None]:
    """The method that adds what a file holds. bar: what separates chunks in columns of other names than DeepEval's."""

    def add(self: EvaluationDataset, file_path: str | Path, **options: Any) -> None:
        """Add what a JSON, JSONL or CSV file holds.

        input_key_name="question" or input_col_name= names its columns, context_col_delimiter=";" what separates chunks.
        """
        named = {re.sub("_(col|key)_name$", "", key): column for key, column in options.items() if column}
        map = _AS_THEY_ARE | {
            FIELDS[part]: column for part, column in named.items() if part in FIELDS and column != part
        }
        reader = rg.read(file_path, map=map)
        is_ideal = reader.columns.get("contexts") == "context"
        lists = (
            {"context": "contexts"} if is_ideal else {"context": "reference_contexts", "retrieval_context": "contexts"}
        )
        columns = {*reader.columns.values(), *reader.unused}
        is_split = "input" in columns and not columns.isdisjoint({"actual_output", "retrieval_context"})
        splits: dict[str, str] = {}
        for part, our in lists.items():
            delimiter = named.get(f"{part}_col_delimiter") or ("" if is_split and our not in map else bar)
            splits |= {f"{our}.split": delimiter} if delimiter and our in reader.columns else {}
        samples = rg.read(file_path, map=map | splits)
        getattr(self, attribute).extend(case_of(kind, sample, named, is_ideal) for sample in samples)

    return add


def case_of(kind: type[Case], sample: rg.Sample, named: Mapping[str, str] = {}, is_ideal: bool = False) -> Case:
    """The sample as a test case or golden.

    named: the columns of other parts, where their names differ. is_ideal: whether its contexts should be retrieved.
    """
    retrieved, ideal = (None, sample.contexts) if is_ideal else (sample.contexts, sample.reference_contexts)
    parts: dict[str, Any] = {**passages_of(retrieval_context=retrieved, context=ideal)}
    cells = _by_part(sample.metadata)
    for part in kind.__dataclass_fields__.keys() - FIELDS.keys():
        parts[part] = parsed(cells.get(named.get(part, part)) or None)
    for part in ("tools_called", "expected_tools"):
        calls = parts[part] if isinstance(parts[part], list | None) else [parts[part]]
        parts[part] = None if calls is None else list(map(_tool, calls))
    expected = next(iter(sample.references or ()), None)
    return kind(sample.query or "", actual_output=sample.response, expected_output=expected, **parts)


def _by_part(cells: Mapping[str, Any]) -> dict[str, Any]:
    """Cells by the names of parts, also of those that DeepEval writes as in "inputParameters"."""
    return {re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower(): cell for name, cell in cells.items()} | {**cells}


def _tool(item: Any) -> ToolCall:
    """The call of a tool in a file, or of a tool's name alone."""
    cells: Any = _by_part(item if isinstance(item, Mapping) else {"name": item})
    return ToolCall(**{part: cells.get(part) for part in ToolCall.__dataclass_fields__})


@dataclass
class EvaluationDataset:
    """Goldens, and the test cases that are made of them. Raises BadInput for other objects."""

    goldens: list[Golden] = field(default_factory=list)
    test_cases: list[LLMTestCase] = field(default_factory=list)

    def __post_init__(self) -> None:
        if other := [golden for golden in self.goldens if not isinstance(golden, Golden)]:
            raise BadInput(f"goldens must be a list of Golden(input=...), not {other[0]!r:.80}")

    def add_golden(self, golden: Golden) -> None:
        """Add a golden."""
        self.goldens.append(golden)

    def add_test_case(self, test_case: LLMTestCase) -> None:
        """Add a test case."""
        self.test_cases.append(test_case)

    add_goldens_from_json_file = add_goldens_from_jsonl_file = _adds(Golden, "goldens")
    add_goldens_from_csv_file = _adds(Golden, "goldens", "|")
    add_test_cases_from_json_file = _adds(LLMTestCase, "test_cases")
    add_test_cases_from_csv_file = _adds(LLMTestCase, "test_cases", "|")

    def save_as(self, file_type: str, directory: str | Path, file_name: str = "goldens", **_: Any) -> str:
        """Write the goldens as "json" or "jsonl"; returns the path."""
        if file_type not in ("json", "jsonl"):
            raise BadInput(f"file_type={file_type!r} must be 'json' or 'jsonl'")
        path = Path(directory) / f"{file_name}.{file_type}"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(asdict(golden), ensure_ascii=False) for golden in self.goldens]
        path.write_text(f"[{', '.join(lines)}]" if file_type == "json" else "\n".join(lines), encoding="utf-8")
        return str(path)

    def evals_iterator(self, metrics: Sequence[Any] = (), **_: Any) -> Iterator[Golden]:
        """The goldens. What observed functions set for them is measured at the end. Raises BadInput for metrics."""
        if metrics:
            raise BadInput("metrics of traces are not offered; give them to @observe(metrics=[...])")
        measured: list[tuple[Sequence[Any], LLMTestCase]] = []
        _MEASURED.set(measured)
        yield from self.goldens
        _MEASURED.set(None)
        for chosen in {id(metrics): metrics for metrics, _ in measured}.values():
            evaluate([case for metrics, case in measured if metrics is chosen], chosen)

    def __getattr__(self, name: str) -> Any:
        return not_offered("deepeval_dataset")(name)


#: The metrics and test cases of observed functions, while a data set is iterated.
_MEASURED: ContextVar[list[tuple[Sequence[Any], LLMTestCase]] | None] = ContextVar("_MEASURED", default=None)

#: The test case of the observed function that runs, where it has been set, in a list.
_SPAN: ContextVar[list[LLMTestCase] | None] = ContextVar("_SPAN", default=None)


@contextmanager
def _observed(metrics: Sequence[Any]) -> Iterator[None]:
    cases: list[LLMTestCase] = []
    token = _SPAN.set(cases)
    try:
        yield
    finally:
        _SPAN.reset(token)
    if metrics and (measured := _MEASURED.get()) is not None:
        if not cases:
            raise BadInput("an observed function has metrics and no test case; call update_current_span(test_case=...)")
        measured.append((metrics, cases[0]))


def observe(function: Any = None, *, metrics: Sequence[Any] = (), **_: Any) -> Any:
    """A function whose test case, set by `update_current_span`, is measured while a data set is iterated."""
    if function is None:
        return lambda function: observe(function, metrics=metrics)

    if not iscoroutinefunction(function):
        return _observed(metrics)(function)

    @wraps(function)
    async def awaited(*args: Any, **more: Any) -> Any:
        with _observed(metrics):
            return await function(*args, **more)

    return awaited


def update_current_span(test_case: LLMTestCase | None = None, **parts: Any) -> None:
    """Set the test case of the observed function that runs, or parts of it: input=, output=, retrieval_context=."""
    if (cases := _SPAN.get()) is None:
        return
    had = vars(cases[0]) if cases else {"input": ""}
    named = {"actual_output" if part == "output" else part: value for part, value in parts.items()}
    fields = {name: value for name, value in named.items() if name in LLMTestCase.__dataclass_fields__}
    cases[:] = [test_case or LLMTestCase(**{**had, **fields})]


__getattr__ = not_offered("deepeval_dataset")
