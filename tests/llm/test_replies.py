"""Replies read: every instance of the schema is an answer, what is right is kept, and what is wrong is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.judges.base import checked
from ragauge.judges.llm import prompts
from ragauge.judges.llm.prompts import Pack, PackLimits, packs
from ragauge.judges.llm.replies import ParsedReply, parse_reply
from ragauge.kinds.call import PromptStyle, locate_quote
from ragauge.questions import COHERENCE, CONCISENESS, Classify, Decompose, Entail, Question, Rate, Relevant
from ragauge.types import Answer, ChunkVerdict, Decomposition, Grade, Label, Statement, Verdict

STYLES = [PromptStyle(why, quotes) for why in (True, False) for quotes in (True, False)]
PLAIN = PromptStyle(rationales=False)
CHUNKS = ("Cats purr at night.", "Dogs bark.", "Cats purr at night.")

TEXTS = st.sampled_from(["Cats purr.", "Dogs bark.", "Birds sing. Fish swim.", "yes", "no", ""]) | st.text(max_size=30)
VERDICTS = st.one_of(
    st.builds(Entail, st.lists(TEXTS, max_size=4).map(tuple), TEXTS, st.none() | TEXTS),
    st.builds(Relevant, TEXTS, TEXTS, st.none() | TEXTS),
    st.builds(Classify, TEXTS, st.sampled_from(["biased", "toxic"])),
    st.builds(lambda a, b: Rate(COHERENCE, (("source", a), ("response", b))), TEXTS, TEXTS),
    st.builds(lambda a, b: Rate(CONCISENESS, (("query", a), ("response", b))), TEXTS, TEXTS),
)
DECOMPOSE = st.builds(Decompose, TEXTS, st.just("Why?"))
PACKS = st.one_of(
    st.lists(VERDICTS, min_size=1, max_size=12, unique=True), st.lists(DECOMPOSE, min_size=1, max_size=4, unique=True)
).map(lambda questions: Pack(tuple(questions)))

FOUR = Pack(
    (
        Entail(CHUNKS, "Cats purr.", "Who?"),
        Entail(("One source.",), "A claim."),
        Relevant("Who purrs?", CHUNKS[0]),
        Rate(COHERENCE, (("source", "s"), ("response", "r"))),
    )
)
GOOD: dict[str, Any] = {
    "1": {"why": "said", "label": "entailed", "supports": ["S1"], "contradicts": ["S2"]},
    "2": {"why": "unsaid", "label": "neutral"},
    "3": {"why": "names them", "label": "yes"},
    "4": {"why": "holds together", "grade": 4},
}
E, N, C = (ChunkVerdict(label) for label in (Label.ENTAILED, Label.NEUTRAL, Label.CONTRADICTED))
ANSWERS: dict[int, Answer] = {
    0: Verdict(Label.ENTAILED, chunks=(E, C, E), rationale="said"),
    1: Verdict(Label.NEUTRAL, chunks=(N,), rationale="unsaid"),
    2: Verdict(Label.YES, rationale="names them"),
    3: Grade(4.0, "holds together"),
}
HELLO = {"s": 1, "text": "Hello.", "kind": "neither"}
GREETED = {1: Decomposition((Statement("Hello.", (0, 6), False, False),))}
TEXT = Pack((Decompose("Cats purr. They bark, hiss and bite!", "Who?"), Decompose("Hello.", "Who?")))


def instances(schema: dict[str, Any], defs: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Anything that a schema of ours allows."""
    if "$ref" in schema:
        return instances(defs[schema["$ref"].removeprefix("#/$defs/")], defs)
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema["type"]:
        case "object":
            return st.fixed_dictionaries({key: instances(inner, defs) for key, inner in schema["properties"].items()})
        case "array":
            return st.lists(instances(schema["items"], defs), max_size=3)
        case "integer":
            return st.integers(schema["minimum"], schema["maximum"])
        case "number":
            return st.floats(schema["minimum"], schema["maximum"])
    return st.text(max_size=20)


@given(PACKS, st.sampled_from(STYLES), st.data())
def test_every_instance_of_the_schema_is_a_reply_without_fault(
    pack: Pack, style: PromptStyle, data: st.DataObject
) -> None:
    """A server that keeps to the schema and to itself is never asked twice, and its answers fit their questions."""
    schema = prompts.prompt_of(pack, style).schema
    reply = {key: agreeing(item) for key, item in data.draw(instances(schema, schema["$defs"])).items()}
    for key, text in json.loads(prompts.prompt_of(pack, style).user).get("texts", {}).items():
        reply[key] = [{**piece, "text": text[str(piece["s"])]} for piece in reply[key]]
        reply[key] += [{"s": int(number), "text": words, "kind": "neither"} for number, words in text.items()]
    reading = parse_reply(pack, json.dumps(reply, ensure_ascii=data.draw(st.booleans())), style)
    assert reading.faults == {}
    for position, question in enumerate(pack.questions):
        answer = reading.answers[position]
        assert checked(question, answer) is answer


def agreeing(item: Any) -> Any:
    """A verdict without the lists of sources that its label denies."""
    denied = {"neutral": ("supports", "contradicts"), "entailed": ("contradicts",), "contradicted": ("supports",)}
    return item | {name: [] for name in denied.get(item.get("label"), ()) if name in item} if "label" in item else item


def _follows(source: str, claim: str) -> str:
    """What the made-up judge of these tests says of one source and a claim."""
    return ("entailed", "neutral", "contradicted")[(len(source) + len(claim)) % 3]


def _joint(labels: list[str]) -> str:
    """What that judge says of all sources of a claim."""
    return next((label for label in ("contradicted", "entailed") if label in labels), "neutral")


def _helps(text: str, query: str, reference: str | None) -> str:
    return ("yes", "no")[(len(text) + len(query) + len(reference or "")) % 2]


def _written(document: dict[str, Any]) -> dict[str, Any]:
    """What that judge replies to a call, of which it sees the document alone."""
    sources, queries = document.get("sources", {}), document.get("queries", {})
    reply: dict[str, dict[str, Any]] = {}
    for group in document.get("entail", []):
        for key, claim in group["claims"].items():
            output = {name: _follows(sources[name], claim) for name in group["sources"]}
            reply[key] = {"label": _joint(list(output.values()))}
            if len(output) > 1:
                reply[key]["supports"] = [name for name, label in output.items() if label == "entailed"]
                reply[key]["contradicts"] = [name for name, label in output.items() if label == "contradicted"]
    for group in document.get("relevant", []):
        items = {key: sources[name] for key, name in group.get("sources", {}).items()} | group.get("texts", {})
        reference = sources[group["reference"]] if "reference" in group else None
        reply |= {key: {"label": _helps(text, queries[group["query"]], reference)} for key, text in items.items()}
    for group in document.get("classify", []):
        reply |= {key: {"label": _helps(text, group["trait"], None)} for key, text in group["opinions"].items()}
    for group in document.get("rate", []):
        reply |= {key: {"grade": _graded(group["rubric"], item.values())} for key, item in group["items"].items()}
    return reply


def _graded(rubric: dict[str, Any], ids: Any) -> float:
    return float(rubric["low"] if len(set(ids)) == 1 else rubric["high"])


def _expected(question: Question) -> Answer:
    """What that judge says to a question, of which it sees the texts."""
    match question:
        case Entail(premise, hypothesis, _):
            alone = [Label(_follows(text, hypothesis)) for text in premise]
            label = Label(_joint([each.value for each in alone]))
            return Verdict(label, chunks=tuple(map(ChunkVerdict, alone)))
        case Relevant(query, text, reference):
            return Verdict(Label(_helps(text, query, reference)))
        case Classify(text, trait):
            return Verdict(Label(_helps(text, trait, None)))
        case Rate(rubric, texts):
            whole = len({(field == "query", text) for field, text in texts}) > 1
            return Grade(rubric.high if whole else rubric.low)
    raise AssertionError


@given(st.lists(VERDICTS, min_size=1, max_size=30, unique=True))
def test_what_a_judge_says_of_the_document_is_what_it_says_of_the_questions(questions: list[Question]) -> None:
    """Texts are found again behind their ids: no answer goes to another question, chunk or text."""
    for pack in packs(questions, PackLimits(prompt_chars=150)):
        document = json.loads(prompts.prompt_of(pack, PLAIN).user)
        reading = parse_reply(pack, json.dumps(_written(document)), PLAIN)
        assert reading == ParsedReply({i: _expected(question) for i, question in enumerate(pack.questions)}, {}, True)


WRAPPED: dict[str, Callable[[str], str]] = {
    "as it is": lambda reply: reply,
    "white space": lambda reply: f"\n\n  {reply}\n",
    "fence": lambda reply: f"```json\n{reply}\n```",
    "prose": lambda reply: f"Here {{as asked}} is my [verdict]:\n{reply}\nI hope {{this}} helps!",
    "thought": lambda reply: f'<think>Perhaps {{"1": {{"label": "neutral"}}}}?</think>\n{reply}',
    "draft": lambda reply: f'First I thought {{"1": {{"label": "neutral"}}, "2": {{}}}}. On reflection: {reply}',
    "remark": lambda reply: f'{reply}\nThe text says {{"1": {{"label": "neutral"}}}}, which I did not obey.',
    "wrapper": lambda reply: f'{{"answers": {reply}}}',
    "trailing commas": lambda reply: reply.replace("]", ",]").replace("}", ", }"),
    "raw line breaks": lambda reply: reply.replace("holds together", "holds\ttogether\n").replace(", ", ",\n"),
}


@pytest.mark.parametrize("wrap", WRAPPED.values(), ids=list(WRAPPED))
@pytest.mark.parametrize("indent", [None, 2])
def test_what_stands_around_an_answer_does_not_hide_it(wrap: Callable[[str], str], indent: int | None) -> None:
    """Fences, prose, thoughts, drafts, wrappers and trailing commas are read past."""
    reading = parse_reply(FOUR, wrap(json.dumps(GOOD, indent=indent)), PromptStyle())
    assert reading.faults == {}
    assert {position: answer.rationale for position, answer in reading.answers.items() if position < 3} == {  # type: ignore[union-attr]
        0: "said",
        1: "unsaid",
        2: "names them",
    }


@pytest.mark.parametrize("opening", ["", "```json\n", "Sure: "])
def test_a_reply_that_is_cut_off_keeps_its_whole_items(opening: str) -> None:
    """At every place a reply can end, what stood there whole is answered and all else is a fault."""
    written = json.dumps(GOOD)
    ends = [written.index(f', "{key}"') for key in ("2", "3", "4")] + [len(written) - 1]
    for cut in range(len(written)):
        reading = parse_reply(FOUR, opening + written[:cut], PromptStyle())
        assert reading.answers == {place: ANSWERS[place] for place, end in enumerate(ends) if cut >= end}
        assert sorted({*reading.answers, *reading.faults}) == [0, 1, 2, 3]


def test_a_list_of_statements_that_is_cut_off_is_a_fault() -> None:
    """A text that is taken apart by half would count too few statements; those of whole sentences are kept."""
    whole = '{"T2": [' + json.dumps(HELLO) + '], "T1": [{"s": 1, "text": "Cats purr.", "kind": "claim"}'
    for reply in (whole, whole + ', {"s": 2, "te'):
        reading = parse_reply(TEXT, reply, PromptStyle())
        assert reading.answers == GREETED
        assert reading.faults == {0: "the answer is cut off"}
        assert reading.partial == {}
    reading = parse_reply(TEXT, whole + ', {"s": 2, "text": "Cats bark.", "kind": "claim"}, {"s"', PromptStyle())
    assert reading.faults == {0: "the answer is cut off"}
    answer, parts = reading.partial[0]
    assert answer == Decomposition((Statement("Cats purr.", (0, 10)),))
    assert [part.text for part in parts.parts if isinstance(part, Decompose)] == [
        "Cats purr. ",
        "They bark, hiss and bite!",
    ]


BAD = [
    ("1", {"label": "entailed", "supports": ["S9"], "contradicts": []}, 'has in "supports" some text, not one of'),
    ("1", {"label": "entailed", "supports": [9], "contradicts": []}, 'has in "supports" 9, not one of its sources S1'),
    ("1", {"label": "entailed", "supports": ["S1"]}, 'has no list "contradicts"'),
    ("1", {"label": "entailed", "supports": "S9", "contradicts": []}, 'has as "supports" some text, not a list'),
    ("2", {"label": "likely"}, 'has as its "label" some text, not one of entailed, neutral, contradicted'),
    ("2", {"label": ["yes"]}, 'has as its "label" a list, not one of entailed, neutral, contradicted'),
    ("3", {"label": 1}, 'has as its "label" 1, not one of yes, no'),
    ("3", {}, 'has as its "label" null, not one of yes, no'),
    ("3", "perhaps", 'has as its "label" some text, not one of yes, no'),
    ("4", {"grade": 6}, 'has as its "grade" 6, not a whole number from 1 to 5'),
    ("4", {"grade": 2.5}, 'has as its "grade" 2.5, not a whole number from 1 to 5'),
    ("4", {"grade": True}, 'has as its "grade" true, not a whole number from 1 to 5'),
    ("4", {"grade": {"nan": 1}}, 'has as its "grade" an object, not a whole number from 1 to 5'),
    ("4", {"grade": "nan"}, 'has as its "grade" some text, not a whole number from 1 to 5'),
    ("4", {"grade": 10**400}, 'has as its "grade" 1000000000'),
]  # fmt: skip


@pytest.mark.parametrize(("key", "item", "fault"), BAD)
def test_an_item_that_is_no_answer_is_named_and_the_rest_kept(key: str, item: object, fault: str) -> None:
    """The fault says what is wrong with this item; all other answers stand."""
    reading = parse_reply(FOUR, json.dumps({**GOOD, key: item}), PromptStyle())
    place = int(key) - 1
    assert reading.answers == {position: answer for position, answer in ANSWERS.items() if position != place}
    assert list(reading.faults) == [place]
    assert reading.faults[place].startswith(f"the answer {fault}")
    assert len(reading.faults[place]) < 150


@pytest.mark.parametrize("second", ['{"label": "neutral"}', '{"label": "contradicted"}'])
def test_a_key_that_is_answered_twice_is_not_answered(second: str) -> None:
    """Which of two items is meant cannot be determined."""
    reading = parse_reply(FOUR, json.dumps(GOOD)[:-1] + f', "2": {second}}}', PromptStyle())
    assert reading.faults == {1: "the answer is given more than once"}
    assert len(reading.answers) == 3
    twice = parse_reply(
        TEXT, f'{{"T1": [], "T2": [{json.dumps(HELLO)}], "T1": [{{"s": 1, "text": "C", "kind": "claim"}}]}}', PLAIN
    )
    assert twice.faults == {0: "the answer is given more than once"}


def test_a_reason_may_hold_what_looks_like_markup() -> None:
    """Only what stands before an answer is taken for a thought, and words in strings are not taken for keys."""
    output = {**GOOD["2"], "why": 'It says </think> and "label" twice: "label", "label", {"2": {"label": "entailed"}}.'}
    answer = parse_reply(FOUR, json.dumps({**GOOD, "2": output}), PromptStyle()).answers[1]
    assert answer == Verdict(Label.NEUTRAL, chunks=(N,), rationale=output["why"])


@given(st.text() | st.text('{}[]",:1 \\'))
def test_no_text_is_beyond_reading(text: str) -> None:
    """Whatever comes back, every question has an answer or a fault."""
    for pack in (FOUR, TEXT):
        reading = parse_reply(pack, text, PromptStyle(quotes=True))
        assert sorted((*reading.answers, *reading.faults)) == list(range(len(pack.questions)))


@pytest.mark.parametrize(
    "text", ["", "I cannot help with that.", "[]", "{}", "null", '{"a": 1}', "[" * 9999, '{"' * 9999]
)
def test_a_reply_without_an_answer_faults_every_question(text: str) -> None:
    """A refusal or an empty object answers nothing, and deep nesting ends reading instead of the process."""
    reading = parse_reply(FOUR, text, PromptStyle())
    assert reading.answers == {}
    assert set(reading.faults.values()) == {"the answer is missing: there is no JSON object that holds any of the keys"}


DENSE = {
    "deep": lambda n: '{"a":' * n + "1" + "}" * n,
    "open": lambda n: '{"a":' * n,
    "lists": lambda n: '{"a":' + "[" * n + "]" * n + "}",
    "objects": lambda n: '{"a":[' + "{}," * n + "{}]}",
    "cut": lambda n: '{"a":' * 50 + "[" + "1," * n,
    "many": lambda n: '{"a":1}x' * n,
}


@pytest.mark.parametrize("dense", DENSE.values(), ids=list(DENSE))
def test_a_text_beyond_any_answer_is_not_read(dense: Callable[[int], str]) -> None:
    """A reply of a megabyte, in any form, answers nothing, even where an answer stands in it."""
    reading = parse_reply(FOUR, dense(300_000) + json.dumps(GOOD), PromptStyle())
    assert reading.answers == {}
    assert not reading.well_formed


def test_half_a_surrogate_pair_is_no_answer() -> None:
    """What cannot be written as text cannot be kept, so it is asked again."""
    assert set(parse_reply(FOUR, json.dumps(GOOD).replace("unsaid", "\\ud800"), PromptStyle()).faults) == {0, 1, 2, 3}


def test_case_white_space_and_numbers_in_quotes_are_read_as_meant() -> None:
    """Labels in capitals and grades as text are unambiguous; keys that nobody asked for are passed over."""
    output = {"2": {"label": " Neutral\n"}, "3": {"label": "YES"}, "4": {"grade": " 4.0 "}, "5": {"label": "no"}}
    reading = parse_reply(FOUR, json.dumps({**GOOD, **output}), PLAIN)
    assert reading.faults == {}
    assert [reading.answers[place] for place in (1, 2, 3)] == [
        Verdict(Label.NEUTRAL, chunks=(N,)),
        Verdict(Label.YES),
        Grade(4.0),
    ]


def test_a_chunk_said_to_support_and_contradict_contradicts() -> None:
    """A contradiction weighs more, as in the metrics."""
    output = {"label": "contradicted", "supports": ["S1", "S2"], "contradicts": ["S2"]}
    answer = parse_reply(FOUR, json.dumps({**GOOD, "1": output}), PromptStyle()).answers[0]
    assert answer == Verdict(Label.CONTRADICTED, chunks=(E, C, E))


def test_a_claim_may_be_borne_out_by_chunks_together_alone() -> None:
    """The joint label is the reply's; chunks it does not list are neutral."""
    output = {"label": "entailed", "supports": [], "contradicts": []}
    answer = parse_reply(FOUR, json.dumps({**GOOD, "1": output}), PromptStyle()).answers[0]
    assert answer == Verdict(Label.ENTAILED, chunks=(N, N, N))


def test_statements_lie_where_their_words_are() -> None:
    """Verbatim words, with or without a full stop, give their span, others that of their sentence, in its order."""
    pieces = [
        {"s": 2, "text": "Cats bark.", "kind": "claim"},
        {"s": "2", "text": "hiss.", "kind": "Opinion"},
        {"s": 1, "text": " Cats purr. ", "kind": "both"},
        {"s": 1, "text": " ", "kind": "claim"},
        {"s": 2, "text": "Cats bark.", "kind": "claim"},
        {"s": 2, "text": "bite!", "kind": "neither"},
    ]
    answer = parse_reply(TEXT, json.dumps({"T1": pieces, "T2": [HELLO]}), PromptStyle()).answers[0]
    assert answer == Decomposition(
        (
            Statement("Cats purr.", (0, 10), True, True),
            Statement("Cats bark.", (11, 36)),
            Statement("hiss.", (22, 26), False, True),
            Statement("bite!", (31, 36), False, False),
        )
    )


@pytest.mark.parametrize(
    ("piece", "fault"),
    [
        ({"s": 3, "text": "t", "kind": "claim"}, 'has a statement whose "s" is 3; its sentences are 1 to 2'),
        ({"s": 1.5, "text": "t", "kind": "claim"}, 'has a statement whose "s" is 1.5; its sentences are 1 to 2'),
        ({"s": 1, "kind": "claim"}, 'has a statement whose "text" is null, not a string'),
        ({"s": 1, "text": "t", "kind": "fact"}, 'has a statement whose "kind" is some text, not one of claim, opinion'),
        ("Cats purr.", "has as a statement some text, not an object"),
    ],
)
def test_a_statement_that_cannot_be_used_faults_its_text(piece: object, fault: str) -> None:
    """A text is taken apart as a whole, so one bad statement has it asked again, and it alone."""
    reading = parse_reply(TEXT, json.dumps({"T1": [piece], "T2": [HELLO]}), PromptStyle())
    assert reading.answers == GREETED
    assert reading.faults[0].startswith(f"the answer {fault}")


def test_quoted_words_become_spans() -> None:
    """A quote marks the chunk that contains it, up to case and white space; unknown words mark nothing."""
    quotes = PromptStyle(rationales=False, quotes=True)
    pack = Pack((Entail(("Dogs  bark\nloud.", "No, dogs bark."), "h"), Relevant("q", "x" * 250), Entail(("p",), "h")))
    reply = {
        "1": {"quote": "dogs bark", "label": "entailed", "supports": ["S1"], "contradicts": []},
        "2": {"quote": "not there", "label": "yes"},
        "3": {"quote": "", "label": "neutral"},
    }
    assert parse_reply(pack, json.dumps(reply), quotes).answers == {
        0: Verdict(Label.ENTAILED, chunks=(ChunkVerdict(Label.ENTAILED, span=(0, 10)), N)),
        1: Verdict(Label.YES),
        2: Verdict(Label.NEUTRAL, chunks=(N,)),
    }


@given(st.text(min_size=1), st.text(), st.text())
def test_words_are_found_in_any_text_that_has_them(quote: str, before: str, after: str) -> None:
    """What is in a text is found there."""
    text = before + quote + after
    start, stop = locate_quote(quote, text) or (0, 0)
    assert text[start:stop] == quote
