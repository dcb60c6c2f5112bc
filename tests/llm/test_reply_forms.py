"""Malformed replies: each is read as it is meant, asked for again with what is wrong, or ends as a failure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from tests.llm.judging import ask
from tests.llm.models import Model, in_turn, perfect

from ragauge.judges.llm.messages import Completion
from ragauge.kinds.call import PromptStyle
from ragauge.questions import COHERENCE, Classify, Decompose, Entail, Question, Rate, Relevant
from ragauge.types import Decomposition, Failure, Grade, Verdict

ONE: list[Question] = [Entail(("Cats purr.",), "Cats purr at night.")]
JOINT: list[Question] = [Entail(("Cats purr.", "Dogs bark."), "Cats purr and dogs bark.")]
TWO: list[Question] = [Relevant("Who purrs?", "Cats do."), Classify("You fool.", "toxic")]
RATED: list[Question] = [Rate(COHERENCE, (("source", "Cats purr."), ("response", "They purr.")))]
TEXT: list[Question] = [Decompose("Hello! Cats purr.", "Who purrs?")]
TEXTS: list[Question] = [Decompose("Cats purr.", "Who?"), Decompose("Dogs bark at Rex.", "Who?")]

BOXES: list[Question] = [Decompose("Box 67.0 is red.", None), Decompose("Box 67.0.3396 is blue.", None)]
RED = '[{"s": 1, "text": "The red one is 67.0.", "kind": "claim"}]'
BLUE = '[{"s": 1, "text": "Box 67.0.3396 is blue.", "kind": "claim"}]'

HELLO = '{"s": 1, "text": "Hello!", "kind": "neither"}'
PURR = '{"s": 2, "text": "Cats purr.", "kind": "claim"}'
CATS = '[{"s": 1, "text": "Cats purr.", "kind": "claim"}]'
DOGS = '[{"s": 1, "text": "Dogs bark at Rex.", "kind": "claim"}]'

E, N, C, Y, NO = "entailed", "neutral", "contradicted", "yes", "no"

READ: list[tuple[list[Question], str, list[Any]]] = [
    (ONE, '{"1": {"label": "supported"}}', [E]),
    (ONE, '{"1": {"label": "Not supported."}}', [N]),
    (ONE, '{"1": {"label": "refuted"}}', [C]),
    (JOINT, '{"1": {"label": "entailed", "supports": [1, "2"], "contradicts": []}}', [E]),
    (TWO, '{"1": {"label": true}, "2": {"label": "False"}}', [Y, NO]),
    (TWO, '{"1": {"label": "yes"}}\n{"2": {"label": "no"}}', [Y, NO]),
    (TWO, '{"label": "yes"}\n{"label": "no"}', [Y, NO]),
    (TWO, '```\n{"id": "2", "label": "yes"},\n{"id": 1, "label": "no"}\n```', [NO, Y]),
    (ONE, '{"1": "Entailed."}', [E]),
    (ONE, '{"1": "**contradicted**"}', [C]),
    (ONE, '{"1": {"label": " NEUTRAL! "}}', [N]),
    (ONE, '{"1": {"label": "`entailed`"}}', [E]),
    (ONE, "Entailed.", [E]),
    (ONE, '"entailed"', [E]),
    (ONE, '{"label": "entailed"}', [E]),
    (ONE, '[{"label": "entailed"}]', [E]),
    (ONE, '```json\n{"label": "entailed"}\n```', [E]),
    (ONE, '{"1": {"why": null, "label": "entailed"}}', [E]),
    (ONE, '{"1": {"label": "entailed", "supports": ["S1"], "contradicts": []}}', [E]),
    (ONE, '{"1": {"label": "entailed", "confidence": 0.9}}', [E]),
    (ONE, '{"results": {"1": {"label": "entailed"}}}', [E]),
    (ONE, 'Sure!\n{"1": {"label": "entailed",}}', [E]),
    (ONE, '<think>{"1": {"label": "neutral"}}</think>{"1": {"label": "entailed"}}', [E]),
    (JOINT, '{"1": {"label": "entailed", "supports": "S1", "contradicts": null}}', [E]),
    (JOINT, '{"1": {"label": "entailed", "supports": null, "contradicts": null}}', [E]),
    (JOINT, '{"1": {"label": "neutral"}}', [N]),
    (JOINT, '{"1": "neutral"}', [N]),
    (JOINT, '{"1": {"label": "contradicted", "supports": ["S1"], "contradicts": ["S1"]}}', [C]),
    (JOINT, '{"1": {"label": "contradicted", "supports": ["S1", "S1"], "contradicts": ["S2"]}}', [C]),
    (TWO, '[{"label": "yes"}, {"label": "no"}]', [Y, NO]),
    (TWO, '["Yes.", "no"]', [Y, NO]),
    (TWO, '{"answers": [{"label": "yes"}, {"label": "no"}]}', [Y, NO]),
    (TWO, '```\n[{"label": "yes"}, {"label": "no"}]\n```', [Y, NO]),
    (TWO, '{"1": "yes", "2": {"label": "No"}}', [Y, NO]),
    (TWO, '{"1": {"label": "yes"}, "2": {"label": "no"}, "3": {"label": "no"}}', [Y, NO]),
    (TWO, '{"1": {"label": "yes"}, "2": {"label": "no"}', [Y, NO]),
    (TWO, '{"1": {"label": "yes"}}\n{"2": {"label": "no"}}', [Y, NO]),
    (RATED, '{"1": {"grade": "4"}}', [4.0]),
    (RATED, '{"1": {"grade": 4.0}}', [4.0]),
    (RATED, '{"1": 4}', [4.0]),
    (RATED, '{"1": "4"}', [4.0]),
    (RATED, '{"grade": 4}', [4.0]),
    (TEXT, f'{{"T1": [{PURR}, {HELLO}]}}', [["Hello!", "Cats purr."]]),
    (TEXT, f'{{"T1": [{HELLO}, {PURR}, {PURR}]}}', [["Hello!", "Cats purr."]]),
    (TEXT, f"[{HELLO}, {PURR}]", [["Hello!", "Cats purr."]]),
    (TEXT, f'{{"T1": [{HELLO}, {PURR.replace("claim", "Claim.")}]}}', [["Hello!", "Cats purr."]]),
    (TEXT, f'{{"T1": [{HELLO}, {PURR.replace("2", chr(34) + "2" + chr(34))}]}}', [["Hello!", "Cats purr."]]),
    (BOXES, f'{{"T1": {RED}, "T2": {BLUE}}}', [["The red one is 67.0."], ["Box 67.0.3396 is blue."]]),
    (TEXTS, f"[{CATS}, {DOGS}]", [["Cats purr."], ["Dogs bark at Rex."]]),
]

NO_OBJECT = "there is no JSON object"
AGAIN: list[tuple[list[Question], str, str]] = [
    (ONE, "", NO_OBJECT),
    (ONE, "I cannot tell.", NO_OBJECT),
    (ONE, "null", NO_OBJECT),
    (ONE, '{"1": null}', "is null, not an object"),
    (ONE, '{"1": ["entailed"]}', "is a list, not an object"),
    (ONE, '{"1": {}}', 'has as its "label" null'),
    (ONE, '{"1": {"label": "likely"}}', 'has as its "label" some text, not one of entailed'),
    (ONE, '{"1": {"label": "not entailed"}}', 'has as its "label" some text'),
    (ONE, '{"1": {"label": true}}', 'has as its "label" true'),
    (ONE, '{"1": {"label": ["entailed"]}}', 'has as its "label" a list'),
    (ONE, '{"1": {"label": "entailed"}, "1": {"label": "neutral"}}', "is given more than once"),
    (ONE, '{"1": {"label": "entailed"}} or rather {"1": {"label": "neutral"}}', "is given more than once"),
    (ONE, '{"1": {"label": "entailed", "label": "neutral"}}', 'has as its "label"'),
    (ONE, '{"1": {"label": "entailed", "l\\u0061bel": "neutral"}}', 'has as its "label"'),
    (ONE, '{"1": {"why": "a", "label": "entailed", "why": "b"}}', "a field that is given more than once"),
    (ONE, '{"1": {"label": "entailed", "of": [{"a": 1, "a": 2}]}}', "a field that is given more than once"),
    (ONE, '{"1": {"why": "It is', NO_OBJECT),
    (JOINT, '{"1": {"label": "entailed"}}', 'has no list "supports"; it has no list "contradicts"'),
    (JOINT, '{"1": "entailed"}', 'has no list "supports"'),
    (JOINT, '{"1": {"label": "entailed", "supports": ["S3"], "contradicts": []}}', "not one of its sources S1, S2"),
    (JOINT, '{"1": {"label": "entailed", "supports": [3], "contradicts": []}}', "not one of its sources S1, S2"),
    (JOINT, '{"1": {"label": "entailed", "supports": {"S1": 1}, "contradicts": []}}', "an object, not a list"),
    (JOINT, '{"1": {"label": "neutral", "supports": ["S1"], "supports": []}}', 'has as "supports" some text'),
    (JOINT, '{"1": {"label": "neutral", "supports": ["S1"], "contradicts": []}}', "neutral, and yet lists sources"),
    (JOINT, '{"1": {"label": "neutral", "supports": [], "contradicts": ["S1"]}}', "neutral, and yet lists sources"),
    (JOINT, '{"1": {"label": "entailed", "supports": [], "contradicts": ["S1"]}}', "entailed, and yet lists only"),
    (JOINT, '{"1": {"label": "contradicted", "supports": ["S1"], "contradicts": []}}', "contradicted, and yet lists"),
    (JOINT, '{"1": {"label": "so", "supports": ["S9"], "contradicts": 1}}', 'not one of its sources S1, S2; it'),
    (TWO, '[{"label": "yes"}]', NO_OBJECT),
    (TWO, '[{"label": "yes"}, {"label": "no"}, {"label": "no"}]', NO_OBJECT),
    (TWO, '[{"id": "2", "label": "yes"}, {"id": "1", "label": "no"}]', NO_OBJECT),
    (TWO, '{"1": {"label": "yes"}}', '"2": the answer is missing'),
    (RATED, '{"1": {"grade": 6}}', "6, not a whole number from 1 to 5"),
    (RATED, '{"1": {"grade": "4/5"}}', "some text, not a whole number from 1 to 5"),
    (RATED, '{"1": {"grade": 2.5}}', "2.5, not a whole number from 1 to 5"),
    (RATED, '{"1": {"grade": "NaN"}}', "not a whole number from 1 to 5"),
    (RATED, '{"1": {"label": "good"}}', "null, not a whole number from 1 to 5"),
    (TEXT, '{"T1": []}', 'no statement whose "s" is 1, 2; enter a sentence that states nothing as it is'),
    (TEXT, f'{{"T1": [{HELLO}, {PURR[:-1]}, "kind": "neither"}}]}}', 'whose "kind" is some text'),
    (TEXT, '{"T1": null}', "is null, not a list of statements"),
    (TEXT, f'{{"T1": [{PURR}]}}', 'no statement whose "s" is 1'),
    (TEXT, '{"T1": ["Cats purr."]}', "has as a statement some text, not an object"),
    (TEXT, f'{{"T1": [{HELLO}, {{"s": 9, "text": 1, "kind": "fact"}}]}}', '"s" is 9; its sentences are 1 to 2; it has'),
    (TEXT, f'{{"T1": [{HELLO}, {{"s": 9, "text": 1, "kind": "fact"}}]}}', 'whose "kind" is some text'),
    (TEXT, f'{{"T1": [{HELLO}, {PURR.replace("Cats purr.", " ")}]}}', 'no statement whose "s" is 2'),
    (TEXT, f'{{"T1": [{HELLO}, {PURR}], "T1": []}}', "is given more than once"),
    (TEXTS, f'{{"T1": [], "T2": {DOGS}}}', '"T1": the answer has no statement whose "s" is 1'),
    (TEXTS, f'{{"T1": {CATS.replace("Cats purr", "Cats purr at Rex")}, "T2": {DOGS}}}', "in another text alone"),
    (TEXTS, f'{{"T1": {CATS.replace("Cats purr", "Rex purrs")}, "T2": {DOGS}}}', "in another text alone"),
]  # fmt: skip


def value(answer: object) -> object:
    """What an answer says."""
    match answer:
        case Verdict(label):
            return label.value
        case Grade(grade):
            return grade
        case Decomposition(statements):
            return [one.text for one in statements]
    return answer


@pytest.mark.parametrize(("questions", "reply", "meant"), READ, ids=[reply for _, reply, _ in READ])
def test_harmless_forms_are_read(questions: Sequence[Question], reply: str, meant: list[Any]) -> None:
    """A reply whose meaning is beyond doubt costs no second call, whatever its form."""
    model = Model(lambda prompt: reply)
    assert [value(answer) for answer in ask(model, questions)] == meant
    assert len(model.prompts) == 1


@pytest.mark.parametrize(("questions", "reply", "fault"), AGAIN, ids=[f"{reply} {fault}" for _, reply, fault in AGAIN])
def test_faults_are_quoted_and_asked_again(questions: Sequence[Question], reply: str, fault: str) -> None:
    """Everything that is wrong is quoted in one second call, without words of the reply, and its answer counts."""
    model = Model(in_turn(reply, perfect))
    assert not [answer for answer in ask(model, questions) if isinstance(answer, Failure)]
    assert len(model.prompts) == 2
    assert fault in model.prompts[1].turns[0].fault


@pytest.mark.parametrize(("questions", "reply", "fault"), AGAIN[:8] + AGAIN[33:36])
def test_a_fault_that_stays_is_a_failure_with_its_reason(questions: list[Question], reply: str, fault: str) -> None:
    """After four calls the question has failed, and says why."""
    model = Model(lambda prompt: reply)
    (failure,) = ask(model, questions)
    assert isinstance(failure, Failure)
    assert failure.reason == "invalid_answer"
    assert fault in failure.detail
    assert len(model.prompts) == 4


def test_support_outweighs_where_it_is_to() -> None:
    """With conflicts=entailed both lists filled are support, and asked again if the label says the contrary."""
    conflict = '{"1": {"label": "%s", "supports": ["S1"], "contradicts": ["S2"]}}'
    for label, calls in ((E, 1), (C, 2)):
        model = Model(in_turn(conflict % label, conflict % E))
        (answer,) = ask(model, JOINT, style=PromptStyle(conflicts="entailed"))
        assert isinstance(answer, Verdict)
        assert answer.entailed
        assert [chunk.label.value for chunk in answer.chunks] == [E, N]
        assert len(model.prompts) == calls
    (answer,) = ask(Model(lambda _: conflict % C), JOINT)
    assert isinstance(answer, Verdict)
    assert [chunk.label.value for chunk in answer.chunks] == [E, C]


def test_there_are_at_least_sixty_forms() -> None:
    """The table covers what models are known to write."""
    assert len({reply for _, reply, _ in [*READ, *AGAIN]}) >= 60


def test_a_decomposition_that_is_cut_off_keeps_whole_sentences_and_asks_for_the_rest() -> None:
    """Statements of whole sentences are kept, the rest of the text is asked for alone, and spans are of the whole."""
    text = "Cats purr. Dogs bark. Birds sing."
    begun = (
        '{"T1": [{"s": 1, "text": "Cats purr.", "kind": "claim"}, {"s": 2, "text": "Dogs bark.", "kind": "claim"}, {"s"'
    )
    model = Model(in_turn(lambda prompt: Completion(begun, "length"), perfect))
    (answer,) = ask(model, [Decompose(text, "Who?")])
    assert isinstance(answer, Decomposition)
    assert [(one.text, text[slice(*one.span)]) for one in answer.statements if one.span] == [
        (sentence, sentence) for sentence in ("Cats purr.", "Dogs bark.", "Birds sing.")
    ]
    assert len(model.prompts) == 2
    assert json.loads(model.prompts[1].user)["texts"] == {"T1": {"1": "Dogs bark.", "2": "Birds sing."}}


def test_a_text_without_end_is_decomposed_sentence_by_sentence() -> None:
    """A model that never gets beyond two statements still decomposes a text of any length."""
    text = " ".join(f"Box {n} is red." for n in range(9))

    def short(prompt: Any) -> Completion:
        reply = perfect(prompt)
        return Completion(reply if reply.count('"s"') < 3 else reply[: reply.rindex("{", 0, 140)], "length")

    (answer,) = ask(Model(short), [Decompose(text)])
    assert isinstance(answer, Decomposition)
    assert [one.text for one in answer.statements] == [f"Box {n} is red." for n in range(9)]


def test_one_text_has_one_decomposition() -> None:
    """A text that is response and reference at once is asked for once, and both have the same statements."""
    model = Model()
    first, second = ask(model, [Decompose("Cats purr.", "Who?"), Decompose("Cats purr.", "Who?")])
    assert first is second
    assert list(json.loads(model.prompts[0].user)["texts"]) == ["T1"]
