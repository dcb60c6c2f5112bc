"""Needs about the tools that an agent called: are they the right ones, well formed, and did they succeed?"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias, cast

from ragauge.needs.base import Need, NothingToCount, QuestionFlow, need, with_verdict
from ragauge.needs.entailment import CALLED
from ragauge.questions import Entail
from ragauge.scores import Evidence
from ragauge.text.json_schema import schema_fault
from ragauge.text.overlap import largest_matching
from ragauge.types import Label, Sample, ToolCall, Turn, Verdict, written

#: Which calls are compared, and whether by their arguments.
Match = Literal["effects", "all", "names"]

#: How far the order of the calls counts.
Order = Literal["any", "in_order", "exact"]

NO_CALL = "no tool was called"


@dataclass(frozen=True)
class MatchedCalls:
    """How many calls were made, how many were expected, and how many are both."""

    made: int
    expected: int
    matched: int
    evidence: tuple[Evidence, ...]


@cache
def matched_calls(
    match: Annotated[Match, "compare calls that change something, all calls, or only the names of all"] = "effects",
    order: Annotated[Order, "any order, the same order, or the same place of each call"] = "any",
    arguments: Annotated[
        tuple[str, ...], "all are equal, the expected ones are there (subset), or the names of those to compare"
    ] = ("equal",),
    reads: Annotated[tuple[str, ...], "the tools that only read, such as get_*+search_*; all others change"] = (),
) -> Need[MatchedCalls]:
    """Which calls are among those that should have been made?"""
    compared = None if arguments in (("equal",), ("subset",)) else arguments
    if match == "names":
        compared = ()
    subset = arguments == ("subset",)

    def flow(sample: Sample) -> QuestionFlow[MatchedCalls]:
        yield from ()
        made = sample.counted_calls
        expected = {f"reference_tool_calls[{i}]": call for i, call in enumerate(sample.reference_tool_calls or ())}
        if match == "effects":
            made = {field: call for field, call in made.items() if _changes(call, reads) and not call.error}
            expected = {field: call for field, call in expected.items() if _changes(call, reads)}
        traits = [_traits(call, compared) for call in made.values()]
        fits = [_fits(wanted, list(made.values()), traits, compared, subset) for wanted in expected.values()]
        pairs = _PAIRED[order](fits, len(made))
        return MatchedCalls(len(made), len(expected), len(pairs), _shown(made, expected, pairs))

    parameters = ",".join((match, order, "+".join(arguments), "+".join(reads)))
    return Need(f"matched_calls({parameters})", (CALLED, "reference_tool_calls"), frozenset(), flow)


def _changes(call: ToolCall, reads: Sequence[str]) -> bool:
    """Whether a call changes something: by the patterns of tools that only read, else by what the data say."""
    if not reads and call.effect is None:
        fix = "name those that do, as in reads=get_*+search_*, or in a column read_only_tools; or use match=all"
        raise NothingToCount(f"nothing says whether the tool {call.name!r} only reads; {fix}")
    return not any(fnmatchcase(call.name, pattern) for pattern in reads) if reads else bool(call.effect)


def _traits(call: ToolCall, compared: Sequence[str] | None) -> frozenset[tuple[str, str]]:
    """The name of a call and those of its arguments that are compared, None for all, each as JSON."""
    named = {name: value for name, value in call.arguments.items() if compared is None or name in compared}
    return frozenset({("", call.name), *((name, canonical(value)) for name, value in named.items())})


def _fits(
    expected: ToolCall,
    made: Sequence[ToolCall],
    traits: Sequence[frozenset[tuple[str, str]]],
    compared: Sequence[str] | None,
    subset: bool,
) -> list[bool]:
    """Whether each call that was made is the expected one. traits: those of the calls that were made.

    With acceptable values its name may have _ for a full stop, which models cannot write there.

    compared: the names of the arguments that count, None for all. subset: whether the call may have others.
    """
    if expected.acceptable is None:
        wanted = _traits(expected, compared)
        return [wanted <= own if subset else wanted == own for own in traits]
    acceptable = {name: value for name, value in expected.acceptable.items() if compared is None or name in compared}
    counted = acceptable if subset else compared
    names = (expected.name, expected.name.replace(".", "_"))
    return [
        call.name in names
        and _are_acceptable(
            {name: call.arguments[name] for name in call.arguments if counted is None or name in counted}, acceptable
        )
        for call in made
    ]


def _are_acceptable(made: Mapping[str, Any], acceptable: Mapping[str, Any]) -> bool:
    """Whether each value is acceptable; one may be missing where "" is acceptable."""
    lists = {name: values if isinstance(values, list) else [values] for name, values in acceptable.items()}
    return made.keys() <= lists.keys() and all(
        any(_is_alike(made[name], value) for value in values) if name in made else "" in values
        for name, values in lists.items()
    )


#: The characters that BFCL ignores, like case, in texts where acceptable values are listed.
_IGNORED = str.maketrans({"'": '"', **dict.fromkeys(" ,./-_*^")})


def _is_alike(made: Any, acceptable: Any) -> bool:
    if isinstance(made, str) and isinstance(acceptable, str):
        return made.lower().translate(_IGNORED) == acceptable.lower().translate(_IGNORED)
    if isinstance(made, Mapping) and isinstance(acceptable, Mapping):
        return _are_acceptable(made, acceptable)
    if isinstance(made, list) and isinstance(acceptable, list):
        return len(made) == len(acceptable) and all(map(_is_alike, made, acceptable))
    return canonical(made) == canonical(acceptable)


def canonical(value: Any) -> str:
    """A value of JSON as text that is equal for equal values: 1 and 1.0 are, 1 and true and "1" are not."""

    def number(digits: str) -> float:
        return int(float(digits)) if float(digits).is_integer() else float(digits)

    return json.dumps(json.loads(json.dumps(value), parse_float=number), sort_keys=True)


def _in_the_same_order(fits: Sequence[Sequence[bool]], made: int) -> dict[int, int]:
    """As many pairs as possible without crossing: the longest common subsequence."""
    best: list[dict[int, int]] = [{}] * (made + 1)  # of the expected calls so far and the first calls that were made
    for wanted, fit in enumerate(fits):
        before, best = best, [{}]
        for call in range(made):
            paired = before[call] | {wanted: call} if fit[call] else {}
            best.append(max(before[call + 1], best[call], paired, key=len))
    return best[-1]


#: How calls are matched by the order that counts: from whether each expected call fits each that was made, and the
#: number of these, to the positions of expected calls and those of the calls that are matched with them.
_PAIRED: Mapping[Order, Callable[[Sequence[Sequence[bool]], int], dict[int, int]]] = {
    "any": lambda fits, _: largest_matching(fits),
    "in_order": _in_the_same_order,
    "exact": lambda fits, made: {place: place for place in range(min(len(fits), made)) if fits[place][place]},
}


def _shown(
    made: Mapping[str, ToolCall], expected: Mapping[str, ToolCall], pairs: Mapping[int, int]
) -> tuple[Evidence, ...]:
    """Each call that was made, then the missing ones, with a call of the same tool that was not expected."""
    taken = set(pairs.values())
    extra = {field: call for place, (field, call) in enumerate(made.items()) if place not in taken}
    pieces = [
        _piece(field, call, "reference_tool_calls", field not in extra, "not expected" if field in extra else None)
        for field, call in made.items()
    ]
    for place, (field, call) in enumerate(expected.items()):
        if place not in pairs:
            nearest = next((other for other in extra.values() if other.name == call.name), None)
            why = "missing" if nearest is None else f"missing; made as {nearest.signature}"
            pieces.append(_piece(field, call, "tool_calls", flag=False, why=why))
    return tuple(pieces)


def _piece(field: str, call: ToolCall, against: str, flag: bool, why: str | None) -> Evidence:
    """A call with a yes or no, and why."""
    return Evidence(call.passage, field, against=against, label=Label.YES if flag else Label.NO, rationale=why)


@dataclass(frozen=True)
class FlaggedCalls:
    """A yes or no for each call, or for each argument of the calls."""

    flags: tuple[bool, ...]
    evidence: tuple[Evidence, ...]


#: Field of a call -> a yes or no, and why.
_Flags: TypeAlias = dict[str, tuple[bool, str | None]]


def _flagged(name: str, flags_of: Callable[[Sample], _Flags], against: str = "") -> Need[FlaggedCalls]:
    """A need that asks a function about the calls of a sample. against: the field that they are compared with."""

    def flow(sample: Sample) -> QuestionFlow[FlaggedCalls]:
        yield from ()
        calls = sample.counted_calls
        if not calls:
            raise NothingToCount(NO_CALL)
        flags = flags_of(sample)
        pieces = (_piece(field, calls[field], against, flag, why) for field, (flag, why) in flags.items())
        return FlaggedCalls(tuple(flag for flag, _ in flags.values()), tuple(pieces))

    return Need(name, (CALLED, *filter(None, [against])), frozenset(), flow)


def _valid(sample: Sample) -> _Flags:
    """Is each call one of an offered tool, with arguments that its JSON Schema allows?"""
    offered = {str(tool.get("name")): tool.get("parameters") for tool in sample.tools or ()}
    flags: _Flags = {}
    for field, call in sample.counted_calls.items():
        fault = None if call.name in offered else "no such tool is offered"
        if (schema := offered.get(call.name)) is not None:
            fault = schema_fault(json.dumps(schema), call.arguments)
        flags[field] = (fault is None, fault)
    return flags


def _failed(sample: Sample) -> _Flags:
    """Did each call whose outcome is recorded fail?"""
    recorded = {field: call for field, call in sample.counted_calls.items() if call.error or call.result is not None}
    if not recorded:
        raise NothingToCount("the data do not say what the calls returned")
    return {field: (bool(call.error), call.error or None) for field, call in recorded.items()}


def _repeated(sample: Sample) -> _Flags:
    """Does each call repeat an earlier one, with the same arguments?"""
    first: dict[str, str] = {}
    flags: _Flags = {}
    for field, call in sample.counted_calls.items():
        earlier = first.setdefault(canonical([call.name, call.arguments]), field)
        flags[field] = (earlier != field, None if earlier == field else f"as {earlier}")
    return flags


calls_valid = _flagged("calls_valid", _valid, "tools")
calls_failed = _flagged("calls_failed", _failed)
calls_repeated = _flagged("calls_repeated", _repeated)


@need(reads=[CALLED], asks=["entail:support"])
def arguments_said_before(sample: Sample) -> QuestionFlow[FlaggedCalls]:
    """Is each value of an argument in what the user and tools said before the call, or does it follow from that?"""
    pieces: list[Evidence] = []
    questions: dict[int, Entail] = {}
    counted = sample.counted_calls
    for field, call, said in _calls_with_past(sample):
        for name, value in _leaves("", call.arguments) if field in counted else ():
            text = written(value)
            pattern = re.compile(rf"(?<!\w){re.escape(text)}(?!\w)", re.IGNORECASE)
            occurs = any(map(pattern.search, said))
            if said and not occurs:
                questions[len(pieces)] = Entail(tuple(said), f"The {name} is {text}.")
            label = Label.ENTAILED if occurs else Label.NEUTRAL
            shown = f"{call.name}: {name} is {text}"
            pieces.append(Evidence(shown, field, against="what was said before", label=label))
    if not pieces:
        raise NothingToCount("no tool was called with an argument")
    judgments = yield list(questions.values())
    for place, judgment in zip(questions, judgments, strict=True):
        pieces[place] = with_verdict(pieces[place], cast(Verdict, judgment.answer), (), judgment.key)
    return FlaggedCalls(tuple(piece.label is Label.ENTAILED for piece in pieces), tuple(pieces))


def _calls_with_past(sample: Sample) -> Iterator[tuple[str, ToolCall, list[str]]]:
    """Each call with its field, and all that was said before it by others than the agent."""
    said: list[str] = []
    fields = iter(sample.calls)
    for turn in (*(sample.turns or ()), Turn("user", sample.query or "", calls=sample.tool_calls or ())):
        said += [turn.text] if turn.role != "assistant" and turn.text.strip() else []
        for call in turn.calls:
            yield next(fields), call, list(said)
            said += [call.result] if call.result else []


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The values in an argument, each with its name or path."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(f"{name}.{key}" if name else key, item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(name, item)
    else:
        yield name, value
