from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.judges.llm.messages import Prompt, Turn
from ragauge.judges.llm.pricing import RELATIVE_ERROR, completion_tokens, estimate, prompt_tokens
from ragauge.judges.llm.prompts import Pack
from ragauge.kinds.call import PromptStyle
from ragauge.questions import Classify, Decompose, Entail

#: Texts written for this test, and how many tokens o200k_base makes of them: counted by tiktoken 0.14.0 with the ranks
#: of js-tiktoken 1.0.21 (npm).
GOLDEN = Path(__file__).parents[1] / "golden/tokens.jsonl"
ROWS = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
COUNTS: dict[str, int] = {row["form"]: row["tokens"] for row in ROWS}
TEXTS: dict[str, str] = {row["form"]: row["text"] for row in ROWS}
#: How far off the estimate of so short a text may be.
BOUNDS = dict.fromkeys(COUNTS, 0.10) | {"English": 0.05, "numbers": 0.20}

any_text = st.text(st.characters(codec=None), max_size=60)


@pytest.mark.parametrize("form", TEXTS)
def test_the_estimate_is_near_the_count_of_a_real_tokenizer(form: str) -> None:
    """Paragraphs of a hundred tokens in many languages, code, JSON and numbers are estimated within their bounds."""
    assert estimate(TEXTS[form]) == pytest.approx(COUNTS[form], rel=BOUNDS[form])


def test_all_of_it_together_is_within_the_stated_error() -> None:
    """Errors of single texts mostly cancel out: their sum keeps within half of the error that plans print."""
    assert sum(map(estimate, TEXTS.values())) == pytest.approx(sum(COUNTS.values()), rel=RELATIVE_ERROR / 2)


def test_escaped_text_costs_more() -> None:
    """JSON that escapes what is not ASCII takes several times the tokens of the text it escapes."""
    text = TEXTS["Russian"]
    assert estimate(text.encode("unicode_escape").decode()) > 4 * estimate(text)


@given(any_text)
def test_an_estimate_is_no_less_than_nothing_and_no_more_than_the_bytes(text: str) -> None:
    """Any text at all, lone surrogates included, has between no tokens and as many as its bytes."""
    assert 0 <= estimate(text) <= len(text.encode("utf-8", "surrogatepass"))


@given(any_text, any_text)
def test_a_longer_text_never_has_fewer_tokens(text: str, more: str) -> None:
    """What is added to the end of a text never lowers its estimate."""
    assert estimate(text + more) >= estimate(text)


@given(any_text, any_text)
def test_a_whole_is_its_parts_up_to_one_token_at_the_joint(text: str, more: str) -> None:
    """The estimate of two texts in a row is the sum of theirs, give or take one."""
    assert estimate(text + more) == pytest.approx(estimate(text) + estimate(more), abs=1.0)


def test_nothing_is_no_tokens() -> None:
    """The empty text has none."""
    assert estimate("") == 0.0


@pytest.mark.parametrize("text", ["a", " ", "\n", "=-", "\u6f22", TEXTS["JSON"]], ids=ascii)
def test_time_is_linear(text: str) -> None:
    """A text of two million characters, however uniform, takes well under half a second."""
    long = text * (2_000_000 // len(text))
    start = time.process_time()
    assert estimate(long) >= 0
    assert time.process_time() - start < 0.5


def test_a_prompt_has_the_tokens_of_its_messages() -> None:
    """Each message costs its text and four tokens more, earlier replies too, and the reply is opened with three."""
    prompt = Prompt(TEXTS["English"], TEXTS["JSON"], {})
    once = 3 + 8 + estimate(TEXTS["English"]) + estimate(TEXTS["JSON"])
    again = Prompt(prompt.system, prompt.user, {}, (Turn("no", "again"),))
    assert prompt_tokens(prompt) == round(once)
    assert prompt_tokens(again) == round(once + 8 + estimate("no") + estimate("again"))


def test_verdicts_cost_what_they_carry() -> None:
    """Reasons, quotes and lists of sources each make the reply longer; a quote is only of a source."""
    one, joint = Entail(("It rains.",), "It rains."), Entail(("It rains.", "It snows."), "It rains.")
    bare, full = PromptStyle(rationales=False), PromptStyle(quotes=True)
    sizes = [completion_tokens(Pack((one,)), style) for style in (bare, PromptStyle(), full)]
    assert sizes == sorted(set(sizes))
    assert completion_tokens(Pack((joint,)), PromptStyle()) > completion_tokens(Pack((one,)), PromptStyle())
    remark = Pack((Classify("You are a pig.", "toxic"),))
    assert completion_tokens(remark, full) == completion_tokens(remark, PromptStyle())
    assert 8 <= sizes[0] <= 15


def test_taking_apart_repeats_the_text() -> None:
    """The reply to a decompose call holds each of its texts again, with what surrounds each statement."""
    short, long = Decompose("It rains."), Decompose(TEXTS["English"])
    expected = completion_tokens(Pack((short, long)), PromptStyle())
    assert expected > 1.1 * estimate(TEXTS["English"]) + 1.1 * estimate("It rains.")
    assert expected == pytest.approx(
        completion_tokens(Pack((short,)), PromptStyle()) + completion_tokens(Pack((long,)), PromptStyle()), abs=1
    )
