"""What every kind of question has to supply, whichever kinds there are."""

from __future__ import annotations

import inspect
import json

import msgspec
import pytest

from ragauge.judges.embedded import decompose
from ragauge.judges.function import judge_from
from ragauge.judges.llm.prompts import Pack, example_calls, prompt_of
from ragauge.judges.llm.replies import parse_reply
from ragauge.kinds.base import BaseQuestion, complete
from ragauge.kinds.call import PromptStyle
from ragauge.kinds.verdict import VerdictQuestion
from ragauge.questions import KIND_TYPES, KINDS, Question, invalid_reason
from ragauge.types import Failure

TEXT = "The lighthouse was built in 1901."
EVERY = pytest.mark.parametrize("kind", KIND_TYPES.values(), ids=list(KIND_TYPES))
STYLES = (PromptStyle(), PromptStyle(rationales=False, quotes=True, shuffle=1))


@EVERY
def test_a_question_is_itself_again_from_json(kind: type[Question]) -> None:
    """Samples, plain and odd, survive their encoding, which names the kind."""
    for question in (*kind.samples(TEXT), *kind.samples("")):
        encoded = msgspec.json.encode(question)
        assert msgspec.json.decode(encoded, type=Question) == question
        assert json.loads(encoded)["kind"] == kind.kind == question.kind


@EVERY
def test_a_guess_is_a_valid_answer(kind: type[Question]) -> None:
    """What a plan assumes fits its question, and an answer of another type does not."""
    for question in (*kind.samples(TEXT), *kind.samples("A text.")):
        guess = question.guess(decompose)
        assert invalid_reason(question, guess, in_full=True) is None
        others = {type(other.samples(TEXT)[0].guess(decompose)): other for other in KIND_TYPES.values()}
        for type_, other in others.items():
            reason = invalid_reason(question, other.samples(TEXT)[0].guess(decompose))
            assert type_ is kind.answer_type or f"does not answer a question of kind {kind.kind!r}" in str(reason)


@EVERY
@pytest.mark.parametrize("style", STYLES, ids=["reasons", "quotes"])
def test_a_call_asks_it_and_its_example_answers(kind: type[Question], style: PromptStyle) -> None:
    """Each sample has a place in a document and a schema, the worked examples are valid, and nonsense is a fault."""
    for question in (*kind.samples(TEXT), *kind.samples(" ")):
        pack = Pack((question,), style.shuffle)
        prompt = prompt_of(pack, style)
        assert kind.prompt[:40] in prompt.system
        assert list(prompt.schema["properties"]) == list(pack.keys)
        assert question.reply_tokens(style, len) > 0
        for item in (None, True, 1e99, "nonsense", [3], {}, {"label": "odd", "grade": None}):
            assert list(parse_reply(pack, json.dumps({pack.keys[0]: item}), style).faults) == [0]
    shown = list(example_calls(style, frozenset({kind.kind})))
    assert shown
    for pack, reply in shown:
        assert len(parse_reply(pack, json.dumps(reply), style).answers) == len(pack.questions)


@EVERY
def test_people_can_read_it(kind: type[Question]) -> None:
    """It has a sentence to show, and each key that is offered gives a valid answer."""
    for question in kind.samples(TEXT):
        assert question.wording
        for choice in question.choices:
            assert invalid_reason(question, question.typed_answer(choice.key)) is None


@EVERY
def test_parts_of_a_long_text_make_one_answer(kind: type[Question]) -> None:
    """Where a long text can be split, valid answers to the parts are merged into a valid answer to the whole."""
    question = kind.samples("The lamp is lit at dusk. " * 400)[0]
    if question.split_sizes():
        parted = question.split(2_000, support_outweighs=False)
        merged = parted.answer({part: part.guess(decompose) for part in parted.parts})
        assert len(parted.parts) > 1
        assert not isinstance(merged, Failure)
        assert invalid_reason(question, merged, in_full=True) is None


def test_a_judge_can_be_made_of_a_function_of_each_kind() -> None:
    """`judge_from` has a keyword for each kind."""
    assert set(inspect.signature(judge_from).parameters) == {*KINDS, "name"}


def test_a_missing_piece_is_named_at_import() -> None:
    """A kind without a method or its prompt is an error that names the piece and the place."""

    class Prefer(BaseQuestion, frozen=True):
        text: str

    class Choose(VerdictQuestion, frozen=True):
        text: str

    lacking = r"the kind of question 'prefer' lacks add_to; define it in tests\.judges\.test_kinds"
    with pytest.raises(TypeError, match=lacking):
        complete(Prefer, 5)  # type: ignore[type-abstract]
    for name in {name for name in dir(Choose) if getattr(getattr(Choose, name), "__isabstractmethod__", False)}:
        setattr(Choose, name, None)
    with pytest.raises(OSError, match=r"test_kinds\.md"):
        complete(Choose, 5)  # type: ignore[type-abstract]
