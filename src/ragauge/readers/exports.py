"""What other tools export, as rows that have columns: logs of Inspect, sets of ADK and BFCL, values at paths."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from ragauge.readers.values import Malformed, parse_object

#: Where Google's ADK keeps the cases of an evaluation set, and the results of one.
ADK_KEYS = ("eval_cases", "eval_case_results")


def value_under(value: Any, path: str) -> Any:
    """The value at a path, of whose points some may be part of names."""
    if not isinstance(value, Mapping) or path in value:
        return value[path] if isinstance(value, Mapping) else None
    name, _, rest = path.partition(".")
    return value_under(value.get(name), rest) if rest else None


def inspect_rows(log: Mapping[str, Any], samples: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The samples of a log of Inspect, without its events; epochs are a group, and one that failed has no answer."""
    repeated = value_under(log, "eval.config.epochs") not in (None, 1)
    for row in samples:
        dropped = {"events", "events_data", "attachments", *(["output", "messages"] if row.get("error") else [])}
        kept = {column: value for column, value in row.items() if column not in dropped}
        epoch = {"id": f"{row.get('id')}, epoch {row.get('epoch')}", "group": str(row.get("id"))} if repeated else {}
        yield {**kept, **epoch}


def adk_rows(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The invocations of an evaluation set of Google's ADK, or of its results, each with those before it.

    A set holds what is expected: references and reference calls. Results hold the answers and calls that were made too.
    """
    for case in document.get(ADK_KEYS[0]) or document.get(ADK_KEYS[1]) or ():
        results = case.get("eval_metric_result_per_invocation") or ()
        pairs = [(None, expected) for expected in case.get("conversation") or ()]
        pairs += [(result.get("actual_invocation"), result.get("expected_invocation")) for result in results]
        turns: list[dict[str, Any]] = []
        for number, (actual, expected) in enumerate(pairs, start=1):
            said = actual or expected or {}
            query, answer = (said.get(part) for part in ("user_content", "final_response"))
            row = {
                "id": f"{case.get('eval_id')}#{number}",
                "group": str(case.get("eval_id")),
                "turns": [*turns],
                "query": _adk_text(query),
                "references": [text] if (text := _adk_text((expected or {}).get("final_response"))) else None,
                "reference_tool_calls": value_under(expected or {}, "intermediate_data.tool_uses"),
            }
            made = value_under(actual or {}, "intermediate_data.tool_uses")
            yield row | ({"response": _adk_text(answer), "tool_calls": made} if actual else {})
            spoken = (("user", row["query"]), ("assistant", _adk_text(answer)))
            turns += [{"role": role, "content": text} for role, text in spoken if text]


def _adk_text(content: Any) -> str | None:
    parts = content.get("parts") if isinstance(content, Mapping) else None
    return "\n".join(part["text"] for part in parts or () if isinstance(part.get("text"), str)) or None


#: Types of arguments in BFCL -> those of JSON Schema.
_BFCL_TYPES = {"dict": "object", "float": "number", "tuple": "array"}

#: Columns of which the first row of a file of BFCL has one.
BFCL_COLUMNS = {"function", "involved_classes", "ground_truth", "result"}


def _is_bfcl(row: Any) -> bool:
    """Whether a row is of BFCL's files: a question with functions, acceptable answers, or a model's result."""
    if not isinstance(row, Mapping) or not isinstance(row.get("id"), str):
        return False
    question, answer = (_item(row.get(key)) for key in ("question", "ground_truth"))
    called = next(iter(answer.values()), None) if isinstance(answer, Mapping) else None
    is_answer = row.keys() == {"id", "ground_truth"} and (isinstance(answer, list) or isinstance(called, Mapping))
    is_result = "result" in row and not {"input_token_count", "traceback"}.isdisjoint(row)
    return isinstance(question, list) or ((is_result or is_answer) and "question" not in row)


def _item(value: Any) -> Any:
    """The first item of a list; None for any other value."""
    return value[0] if isinstance(value, list) and value else None


def bfcl_row(row: Any) -> Any:
    """A row of BFCL's files with columns of known names; a Malformed for what only its own checker can score."""
    if not _is_bfcl(row):
        return row
    question, answer, result = (row.get(key) for key in ("question", "ground_truth", "result"))
    made = _python_calls(result) if isinstance(result, str) else result
    if fault := _bfcl_fault(row, answer, made):
        return fault
    read = {key: value for key, value in row.items() if key not in ("question", "function", "ground_truth", "result")}
    read |= {"response": result} if isinstance(result, str) else {}
    if question:
        read |= {"messages": question[0], "tools": _json_schema(row.get("function"))}
    if answer or row["id"].removeprefix("live_").startswith("irrelevance"):
        read["reference_tool_calls"] = _bfcl_calls(answer or (), "acceptable")
    if made is not None:
        read["tool_calls"] = _bfcl_calls(made, "arguments")
    return read


def _bfcl_calls(calls: Iterable[Mapping[str, Any]], key: str) -> list[dict[str, Any]]:
    return [{"name": name, key: values} for call in calls for name, values in call.items()]


def _bfcl_fault(row: Mapping[str, Any], answer: Any, made: Any) -> Malformed | None:
    """Why a row is not scored by its calls. made: those of the model."""
    if row["id"].removeprefix("simple_").startswith("java"):
        problem = "its arguments are source text of Java or JavaScript, which is not compared"
        return Malformed(problem, "measure the other sets, or leave it out")
    if "traceback" in row:
        return Malformed(f"no answer of the model ({row.get('result')})", "run that question again, or leave it out")
    if len(row.get("question") or ()) > 1 or any(isinstance(_item(calls), list) for calls in (answer, made)):
        problem = "calls of several turns or steps, which BFCL scores by the state of its own programs after them"
        return Malformed(problem, "score them by BFCL's checker, or leave them out")
    listed = [calls for calls in (answer, made) if calls is not None]
    if all(isinstance(calls, list) and all(isinstance(call, Mapping) for call in calls) for calls in listed):
        return None
    return Malformed("an answer or result that is no list of calls", 'write [{"f": {"a": 1}}]')


def _json_schema(value: Any) -> Any:
    """Functions of BFCL with the types of JSON Schema, without those that allow anything."""
    value = parse_object(value) or value if isinstance(value, str) else value
    if isinstance(value, list):
        return list(map(_json_schema, value))
    if not isinstance(value, Mapping):
        return value
    kept = {key: _json_schema(item) for key, item in value.items() if (key, item) != ("type", "any")}
    return {**kept, "type": _BFCL_TYPES.get(kept["type"], kept["type"])} if isinstance(kept.get("type"), str) else kept


def _python_calls(text: str) -> list[dict[str, Any]]:
    """The calls in a text such as [f(a=1), g(b="x")]; none in any other text."""
    inner = text.strip("`[] \n")
    with suppress(SyntaxError, ValueError, TypeError, AttributeError, RecursionError, MemoryError):
        tree: Any = ast.parse(f"[{inner}]", mode="eval").body
        return [{ast.unparse(call.func): _python_arguments(call)} for call in tree.elts]
    return []


def _python_arguments(call: Any) -> dict[str, Any]:
    """The arguments of a call: constants, and the source text of other expressions; those without a name by place."""
    values = {str(place): value for place, value in enumerate(call.args, start=1)}
    arguments: dict[str, Any] = {}
    for name, value in [*values.items(), *((str(keyword.arg), keyword.value) for keyword in call.keywords)]:
        arguments[name] = ast.unparse(value)
        with suppress(ValueError):
            arguments[name] = ast.literal_eval(value)
    return arguments
