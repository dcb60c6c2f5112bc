"""The LLM judge and a server that others wrote: llama.cpp's, with a model of random weights.

Its replies mean nothing. What counts is that it takes our requests, and that whatever a grammar made of our schemas
lets through is an answer.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.llm.llama import build
from tests.llm.llama.tiny import write

from ragauge.judges.llm.judge import llm
from ragauge.judges.llm.messages import Prompt
from ragauge.judges.llm.prompts import Pack, PackLimits, packs, prompt_of, repeat_prompt
from ragauge.judges.llm.providers import parse_llm_spec
from ragauge.judges.llm.replies import parse_reply
from ragauge.judges.llm.transport.client import HttpTransport
from ragauge.kinds.call import PromptStyle
from ragauge.questions import COHERENCE, Classify, Decompose, Entail, Question, Rate, Relevant, Rubric
from ragauge.types import Failure

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

LISTENING = re.compile(r"listening on (http://127\.0\.0\.1:\d+)")
COMMAND = ["--host", "127.0.0.1", "--port", "0", "--ctx-size", "65536", "--parallel", "2", "--threads", "1"]
SEEDS = range(5)
STYLES = [PromptStyle(), PromptStyle(rationales=False), PromptStyle(quotes=True)]

CHUNKS = ('Paris has 2,100,000 people, "la ville lumière".', "The Seine flows\nthrough Paris. 東京は首都です。", "{}")
QUESTIONS: list[Question] = [
    Decompose("Paris is the capital of France. The Seine flows there.", "What is Paris?"),
    Decompose("Paris is a capital.", "What is Paris?"),
    *(Entail(CHUNKS, claim, "What is Paris?") for claim in ("Paris is a capital.", "Paris is in Ohio.")),
    Entail(CHUNKS[:1], "Paris is a capital."),
    *(Relevant("What is the capital?", chunk * 20) for chunk in CHUNKS),
    Relevant("What is the capital?", "Fish swim.", "Paris"),
    Classify("That plan is foolish.", "toxic"),
    Rate(COHERENCE, (("source", CHUNKS[0]), ("response", "Paris."))),
]
FRACTION = Rate(
    Rubric("taste", ("query", "response"), 0, 1, "1: good, 0: bad."), (("query", "Why?"), ("response", "So."))
)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A running server's base URL."""
    if reason := build.missing():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("llama")
    log = folder / "log"
    with log.open("w") as written:
        command = [str(build.server()), "--model", str(write(folder / "tiny.gguf")), *COMMAND]
        process = subprocess.Popen(command, stdout=written, stderr=written)
    try:
        yield f"{_address(process, log)}/v1"
    finally:
        process.terminate()
        process.wait(timeout=20)


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    for _ in range(400):
        text = log.read_text(errors="replace")
        if found := LISTENING.search(text):
            return found[1]
        if process.poll() is not None:
            break
        time.sleep(0.05)
    raise RuntimeError(f"llama-server did not start:\n{text[-2000:]}")


def _completions(url: str, asked: Prompt, **options: Any) -> list[str]:
    """What the model says to a prompt, once for each seed."""

    async def main() -> list[str]:
        output = []
        for seed in SEEDS:
            spec = parse_llm_spec(
                "llamacpp/random", base_url=url, temperature=1.0, seed=seed, max_tokens=4000, **options
            )
            async with HttpTransport(*spec, {}) as transport:
                output.append((await transport.send(asked)).text)
        return output

    return asyncio.run(main())


def _packs() -> list[Pack]:
    return packs(QUESTIONS, PackLimits())


#: Faults of replies that no schema prevents.
_BEYOND_SCHEMAS = re.compile('no statement whose "s" is|yet lists')


@pytest.mark.parametrize(
    "pack", _packs(), ids=lambda pack: "+".join(sorted({question.kind for question in pack.questions}))
)
@pytest.mark.parametrize("style", STYLES, ids=str)
def test_what_the_schema_lets_through_is_an_answer(url: str, pack: Pack, style: PromptStyle) -> None:
    """Requests for every kind of question are taken, and random text held to their schemas has a fault only where it
    leaves out a sentence or disagrees with itself."""
    replies = _completions(url, prompt_of(pack, style), structured="schema")
    faults = [fault for reply in replies for fault in parse_reply(pack, reply, style).faults.values()]
    assert [fault for fault in faults if not _BEYOND_SCHEMAS.search(fault)] == []
    assert len(set(replies)) > 1


def test_grades_in_fractions_are_numbers(url: str) -> None:
    """A grade between whole numbers is a number at least; this server's grammars know no bounds for those."""
    pack, style = Pack((FRACTION,)), PromptStyle()
    for reply in _completions(url, prompt_of(pack, style), structured="schema"):
        reading = parse_reply(pack, reply, style)
        assert reading.answers or "not a number from 0 to 1" in reading.faults[0]


def test_a_question_asked_again_is_held_to_its_own_schema(url: str) -> None:
    """A re-ask with an earlier reply and a fault is taken, and its reply has the missing keys alone."""
    pack, style = _packs()[-1], PromptStyle()
    asked = repeat_prompt(prompt_of(pack, style), "{", {1: "is missing", 4: "is missing"})
    for reply in _completions(url, asked, structured="schema"):
        reading = parse_reply(pack, reply, style)
        beyond = {place for place, fault in reading.faults.items() if _BEYOND_SCHEMAS.search(fault)}
        assert set(reading.answers) | beyond == {1, 4}


@pytest.mark.parametrize("structured", ["json", "plain"])
def test_requests_without_a_schema_are_taken(url: str, structured: str) -> None:
    """JSON mode and plain text are taken too; what a random model says then is read without an error."""
    pack, style = _packs()[-1], PromptStyle()
    for reply in _completions(url, prompt_of(pack, style), structured=structured):
        reading = parse_reply(pack, reply, style)
        assert set(reading.answers) | set(reading.faults) == set(range(len(pack.questions)))


def test_the_judge_answers_every_question(url: str) -> None:
    """The whole judge, as users make it, leaves a question of any kind without an answer only where four random replies
    leave out a sentence or disagree with themselves."""
    judge = llm("llamacpp/random", base_url=url, temperature=1.0, seed=1, max_tokens=4000)
    answers = asyncio.run(judge.answer(QUESTIONS))
    failed = [answer for answer in answers if isinstance(answer, Failure)]
    assert [failure for failure in failed if not _BEYOND_SCHEMAS.search(failure.detail)] == []
    assert len(failed) < len(QUESTIONS)
