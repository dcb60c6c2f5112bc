"""What the stub says to prompts, ours and others."""

from __future__ import annotations

import msgspec
import pytest
from tests.llm.stub import oracle
from tests.llm.stub.asks import Ask
from tests.llm.stub.instances import instance
from tests.llm.stub.texts import spoil
from tests.llm.stubbing import QUESTIONS

from ragauge.judges.llm.prompts import Pack, PackLimits, packs, prompt_of, repeat_prompt
from ragauge.judges.llm.replies import parse_reply
from ragauge.kinds.call import PromptStyle
from ragauge.types import Decomposition, Grade, Label, Verdict


def ask(pack: Pack, style: PromptStyle, structured: bool) -> Ask:
    """A pack as the stub sees it."""
    asked = prompt_of(pack, style)
    wording = [(message["role"], message["content"]) for message in asked.messages]
    return Ask("m", wording, asked.schema if structured else None)


@pytest.mark.parametrize("answers", ["claims", "split", "none"])
@pytest.mark.parametrize("structured", [True, False])
@pytest.mark.parametrize("style", [PromptStyle(), PromptStyle(rationales=False), PromptStyle(quotes=True)])
def test_the_oracle_answers_every_kind_of_question(style: PromptStyle, structured: bool, answers: str) -> None:
    """Its replies to our messages have no faults, with and without a schema."""
    for pack in packs(QUESTIONS, PackLimits()):
        reply = oracle.reply(ask(pack, style, structured), answers)
        reading = parse_reply(pack, reply, style)
        assert not reading.faults
        assert set(msgspec.json.decode(reply)) == set(pack.keys)


def test_the_oracle_judges_by_shared_words() -> None:
    """Shared words entail, other numbers contradict, nothing shared is neutral; the rest goes by shared words too."""
    [taken_apart, judged] = packs(QUESTIONS, PackLimits())
    style = PromptStyle()
    answers = parse_reply(judged, oracle.reply(ask(judged, style, True), "claims"), style).answers
    labels = [answer.label if isinstance(answer, Verdict) else answer for answer in answers.values()]
    assert labels[:4] == [Label.ENTAILED, Label.CONTRADICTED, Label.NEUTRAL, Label.ENTAILED]
    assert labels[4:7] == [Label.YES, Label.NO, Label.NO]
    assert isinstance(labels[7], Grade)
    assert labels[7].value == 5
    split = parse_reply(taken_apart, oracle.reply(ask(taken_apart, style, True), "split"), style).answers
    assert [len(answer.statements) for answer in split.values() if isinstance(answer, Decomposition)] == [3, 1]


@pytest.mark.parametrize("structured", [True, False])
def test_a_question_asked_again_gets_only_what_it_lacks(structured: bool) -> None:
    """A re-ask is answered by the keys it names, from its schema or from its last message."""
    [_, pack] = packs(QUESTIONS, PackLimits())
    style = PromptStyle()
    asked = repeat_prompt(prompt_of(pack, style), "{}", {1: "is missing", 4: "is missing"})
    wording = [(message["role"], message["content"]) for message in asked.messages]
    reply = oracle.reply(Ask("m", wording, asked.schema if structured else None), "claims")
    assert list(msgspec.json.decode(reply)) == ["2", "5"]


def test_other_prompts_get_a_small_instance_of_their_schema() -> None:
    """A prompt that is not ours is answered from its schema: enums, bounds, references, lists and nested objects."""
    schema = {
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
            "score": {"type": "integer", "minimum": 3, "maximum": 9},
            "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["items", "score", "maybe"],
        "$defs": {"item": {"type": "object", "properties": {"kind": {"enum": ["a", "b"]}}, "required": ["kind"]}},
    }
    assert instance(schema) == {"items": [{"kind": "a"}], "score": 3, "maybe": "text"}
    assert oracle.reply(Ask("m", [("user", "hi")]), "claims") == "{}"


@pytest.mark.parametrize(
    ("example", "sections", "expected"),
    [
        ('{"claims": ["It rained."]}', "Text:\nIt is late. It is dark.", {"claims": ["It is late.", "It is dark."]}),
        ('{"verdicts": []}', "Context List:\n['a']\n\nClaims:\n['b', \"c's\"]", 2),
        ('{"TP": []}', "Query:\nwhy?\n\nPrediction Statements:\n['a']", {"TP": ["a"], "FP": [], "FN": []}),
    ],
)
def test_prompts_of_valor_are_answered(example: str, sections: str, expected: object) -> None:
    """A prompt that ends in titled sections is answered in the keys of its example, one verdict for each claim."""
    text = f"Example:\n{example}\n===== END OF EXAMPLE ======\n{sections}\n\nJSON:\n"
    found = msgspec.json.decode(oracle.reply(Ask("m", [("user", text)]), "claims"))
    assert (len(found["verdicts"]) if isinstance(expected, int) else found) == expected


@pytest.mark.parametrize("fault", ["cut", "length", "malformed", "invalid", "empty"])
def test_spoilt_replies_lack_answers(fault: str) -> None:
    """A reply with a fault in its text cannot be used as a whole."""
    [_, pack] = packs(QUESTIONS, PackLimits())
    reply = oracle.reply(ask(pack, PromptStyle(), True), "claims")
    assert parse_reply(pack, spoil(reply, fault), PromptStyle()).faults
