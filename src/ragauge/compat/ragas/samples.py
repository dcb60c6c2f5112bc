"""ragas' samples, messages and data sets."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import ragauge as rg
from ragauge.compat import BadInput, parsed, passages_of
from ragauge.host import optional

#: Columns of ragas, current ones and those of 0.1 -> our fields; and our fields without a column in ragas.
_FIELDS = {"user_input": "query", "retrieved_contexts": "contexts", "reference": "references"}
_FIELDS |= {"question": "query", "answer": "response", "ground_truth": "references", "ground_truths": "references"}
_UNKNOWN = ("id", "source", "answers", "answerable", "system", "group")

#: For `map`: ids of contexts are columns of their own, not those of our chunks.
NO_IDS = {"retrieved_context_ids": "", "reference_context_ids": ""}


def _filled(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in pairs if value is not None}


class _Sample:
    """What samples can be asked for."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """The columns that are not None."""
        return self.model_dump(exclude_none=True)

    def model_dump(self, *, exclude_none: bool = False, **_: Any) -> dict[str, Any]:
        """All columns."""
        return asdict(self, dict_factory=_filled if exclude_none else dict)

    def model_dump_json(self, **options: Any) -> str:
        """All columns as JSON."""
        return json.dumps(self.model_dump(**options), ensure_ascii=False)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, **_: Any) -> Self:
        """A copy with some columns replaced."""
        return replace(self, **(update or {}))

    @classmethod
    def model_validate(cls, row: Mapping[str, Any]) -> Self:
        """The sample of a dict. Raises TypeError for other columns."""
        return cls(**row)

    def get_features(self) -> list[str]:
        """The names of the columns that are not None."""
        return list(self.to_dict())


@dataclass(kw_only=True)
class SingleTurnSample(_Sample):
    """A question with its contexts, response and reference. Raises BadInput for a value that is not text."""

    user_input: str | None = None
    retrieved_contexts: list[str] | None = None
    reference_contexts: list[str] | None = None
    retrieved_context_ids: list[str | int] | None = None
    reference_context_ids: list[str | int] | None = None
    response: str | None = None
    multi_responses: list[str] | None = None
    reference: str | None = None
    rubrics: dict[str, str] | None = None
    persona_name: str | None = None
    query_style: str | None = None
    query_length: str | None = None
    tool_calls: list[Any] | None = None
    reference_tool_calls: list[Any] | None = None
    reference_topics: list[str] | None = None
    requests: list[str] | None = None

    def __post_init__(self) -> None:
        for column in ("user_input", "response", "reference"):
            if not isinstance(value := getattr(self, column), str | None):
                raise BadInput(f"{column} must be one text, not {value!r:.80}")

    def turn(self) -> SingleTurnSample:
        """The sample itself."""
        return self

    def row(self) -> dict[str, Any]:
        """The columns for `rg.read`, with the reference contexts as the text of which a response is a summary too.

        With topics, whether each request was answered and is on one of them are the criteria.
        """
        texts, topics = self.reference_contexts, self.reference_topics
        is_answered = "The assistant answers, rather than refuses, this message of the user: "
        is_on_topic = f"This message of the user is on one of the topics {', '.join(topics or ())}: "
        criteria = [text + request for request in self.requests or () for text in (is_answered, is_on_topic)]
        row = {**vars(self), "source_text": None if texts is None else "\n".join(texts)}
        return row if topics is None else row | {"criteria": criteria}


@dataclass
class ToolCall:
    """A tool and its arguments."""

    name: str
    args: dict[str, Any] = field(default_factory=dict)


@dataclass
class Message:
    """A message of a conversation, and the tools that it calls."""

    content: str
    tool_calls: list[ToolCall] | None = None
    metadata: dict[str, Any] | None = None
    type: str = ""

    def __post_init__(self) -> None:
        self.type = type(self).__name__.removesuffix("Message").casefold()
        self.tool_calls = _calls(self.tool_calls)


def _calls(listed: Any) -> Any:
    """Calls of tools, of which some may be dicts."""
    return [ToolCall(**call) if isinstance(call, dict) else call for call in listed] if listed else listed


class HumanMessage(Message):
    """What a person says."""


class AIMessage(Message):
    """What the model says."""


class ToolMessage(Message):
    """What a tool returns."""


_MESSAGES: dict[Any, type[Message]] = {"human": HumanMessage, "ai": AIMessage, "tool": ToolMessage}


@dataclass(kw_only=True)
class MultiTurnSample(_Sample):
    """A conversation, whose messages may be dicts. Metrics read it by `turn`."""

    user_input: list[Message]
    reference: str | None = None
    reference_tool_calls: list[ToolCall] | None = None
    rubrics: dict[str, str] | None = None
    reference_topics: list[str] | None = None

    def __post_init__(self) -> None:
        said = [_MESSAGES[item["type"]](**item) if isinstance(item, dict) else item for item in self.user_input]
        self.user_input, self.reference_tool_calls = said, _calls(self.reference_tool_calls)

    def pretty_repr(self) -> str:
        """The conversation in lines."""
        return "\n".join(
            f"{type(message).__name__.removesuffix('Message')}: {message.content}" for message in self.user_input
        )

    def turn(self) -> SingleTurnSample:
        """The last turn: its answer, what tools returned for it as contexts, and as question all that went before.

        The calls of tools are those of the whole conversation.
        """
        *before, last = self.user_input or [HumanMessage("")]
        if not isinstance(last, AIMessage):
            before, last = list(self.user_input), AIMessage("")
        asked = max((i for i, message in enumerate(before) if isinstance(message, HumanMessage)), default=-1) + 1
        question = MultiTurnSample(user_input=before[:asked])
        returned = [message.content for message in before[asked:] if isinstance(message, ToolMessage)]
        return SingleTurnSample(
            user_input=before[0].content if asked == 1 else question.pretty_repr(),
            retrieved_contexts=returned or None,
            response=last.content,
            reference=self.reference,
            tool_calls=[call for message in self.user_input for call in message.tool_calls or ()],
            reference_tool_calls=self.reference_tool_calls,
            reference_topics=self.reference_topics,
            rubrics=self.rubrics,
            requests=[message.content for message in self.user_input if isinstance(message, HumanMessage)],
        )


class EvaluationDataset(list[Any]):
    """Samples to be evaluated: `MultiTurnSample`s where all rows are conversations of ragas, else `SingleTurnSample`s.

    Args:
        samples: anything that `rg.read` takes, such as `SingleTurnSample`s (also those of ragas), dicts, a
            `datasets.Dataset` or a frame, with the columns of any version of ragas; or `MultiTurnSample`s.
        column_map: name -> the column in its place.
        backend, name: accepted without effect.

    Raises what `rg.read` raises.
    """

    def __init__(
        self, samples: Any, column_map: Mapping[str, str] | None = None, *, backend: Any = None, name: str | None = None
    ) -> None:
        mapped = {_FIELDS.get(name, name): column for name, column in (column_map or {}).items()}
        conversations = [] if mapped else list(map(_conversation, _rows(samples)))
        if conversations and all(conversations):
            super().__init__(conversations)
            return
        if isinstance(samples, list):
            samples = [sample.turn() if isinstance(sample, MultiTurnSample) else sample for sample in samples]
        super().__init__(map(_sample, rg.read(samples, map={**dict.fromkeys(_UNKNOWN, ""), **NO_IDS, **mapped})))

    @classmethod
    def from_list(cls, data: Any, **idle: Any) -> EvaluationDataset:
        """The data set of samples in any form that the class takes."""
        return cls(data, **idle)

    from_dict = from_pandas = from_hf_dataset = from_jsonl = from_csv = from_list
    samples = property(list, doc="The samples as a plain list.")

    def __getitem__(self, place: Any) -> Any:
        item = super().__getitem__(place)
        if isinstance(place, slice):
            part = EvaluationDataset.__new__(EvaluationDataset)
            part.extend(item)
            return part
        return item

    def get_sample_type(self) -> type:
        """SingleTurnSample or MultiTurnSample."""
        return type(self[0])

    def is_multi_turn(self) -> bool:
        """Whether the samples are conversations."""
        return self.get_sample_type() is MultiTurnSample

    def features(self) -> set[str]:
        """The names of the columns of the first sample."""
        return set(self[0].to_dict()) if self else set()

    def to_list(self) -> list[dict[str, Any]]:
        """A dict for each sample, without values of None."""
        return [sample.to_dict() for sample in self]

    def to_pandas(self) -> Any:
        """A frame with a row for each sample. Raises MissingExtra where pandas is not installed."""
        return optional("to_pandas()", "pandas", "pandas").DataFrame(self.to_list())

    def to_csv(self, path: str | Path) -> None:
        """Write a CSV file, lists as JSON. Raises MissingExtra where pandas is not installed."""
        frame = self.to_pandas().map(lambda cell: json.dumps(cell) if isinstance(cell, list | dict) else cell)
        frame.to_csv(path, index=False)

    def to_jsonl(self, path: str | Path) -> None:
        """Write a JSON Lines file."""
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in self.to_list()]
        Path(path).write_text("".join(lines), encoding="utf-8")

    def to_hf_dataset(self) -> Any:
        """A `datasets.Dataset`, whose library must be installed."""
        import datasets

        return datasets.Dataset.from_list(self.to_list())


def _rows(data: Any) -> list[Any]:
    """The rows of a list, a data set, a frame of pandas, a file that `to_jsonl` or `to_csv` wrote; else none."""
    if isinstance(data, list) or hasattr(data, "to_list"):
        return data if isinstance(data, list) else list(data.to_list())
    with suppress(TypeError, OSError, ValueError, OverflowError, csv.Error):
        if type(data).__module__.startswith("pandas"):
            return list(json.loads(data.to_json(orient="records")))
        with Path(data).open(encoding="utf-8", newline="") as file:
            rows = {".jsonl": map(json.loads, file), ".csv": csv.DictReader(file)}
            return list(rows.get(Path(data).suffix, ()))
    return []


def _conversation(row: Any) -> MultiTurnSample | None:
    """The conversation in a row of ragas; None where it is another."""
    if isinstance(row, MultiTurnSample) or not isinstance(row, Mapping):
        return row if isinstance(row, MultiTurnSample) else None
    said = parsed(row.get("user_input"))
    if not isinstance(said, list) or not said or not all(isinstance(item, dict | Message) for item in said):
        return None
    columns: Any = {name: (cell if name == "reference" else parsed(cell)) or None for name, cell in row.items()}
    try:
        return MultiTurnSample(**columns)
    except (TypeError, KeyError):  # other columns, or messages of other systems
        return None


def _sample(sample: rg.Sample) -> SingleTurnSample:
    """The sample as ragas has it, with the first of several references, as in ragas 0.1."""
    texts: Any = passages_of(retrieved_contexts=sample.contexts, reference_contexts=sample.reference_contexts)
    names = SingleTurnSample.__dataclass_fields__.keys() - {"user_input", "response", "reference"} - texts.keys()
    other = {name: parsed(sample.metadata[name]) for name in names if name in sample.metadata}
    calls = {"tool_calls": sample.tool_calls, "reference_tool_calls": sample.reference_tool_calls}
    for name, made in calls.items():
        other |= {name: [{"name": call.name, "arguments": call.arguments} for call in made]} if made is not None else {}
    reference = next(iter(sample.references or ()), None)
    return SingleTurnSample(user_input=sample.query, response=sample.response, reference=reference, **texts, **other)
