"""What other tools export, as rows that have columns: values at paths, and logs of Inspect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

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
        pairs = [(None, one) for one in case.get("conversation") or ()]
        pairs += [(one.get("actual_invocation"), one.get("expected_invocation")) for one in results]
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
