from __future__ import annotations

import asyncio
import json
import logging
import re
from base64 import b64encode
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.llm.conftest import Act, Kit, Request, Script
from tests.llm.stub import chat, oracle

import ragauge as rg

KEY = "sk-test/9f8e7d6c+5b4a39281706f5e4d3c2b1a0="
ROW = {"query": "Who wrote it?", "response": "Ada wrote it.", "contexts": ["Ada wrote it."]}

#: Ways in which a server repeats a key.
FORMS = {
    "whole": KEY,
    "beginning": KEY[:12],
    "url": quote(KEY, safe=""),
    "url, lower case": KEY.replace("/", "%2f").replace("-", "%2d").replace("+", "%2b").replace("=", "%3d"),
    "base64": b64encode(KEY.encode()).decode(),
    "bearer": b64encode(f"Bearer {KEY}".encode()).decode(),
    "user": b64encode(f"user:{KEY}".encode()).decode(),
}


def _ran(kit: Kit, script: Script, folder: Path, options: str = "") -> tuple[rg.Run, str]:
    """A run on a server, and all that it leaves in its store and its reports."""

    async def run() -> rg.Run:
        async with kit.serving(script) as server:
            judge = rg.llm(f"openai/m?base_url={server.url}&structured=plain{options}", api_key=KEY)
            return await rg.evaluate_async([ROW], ["faithfulness"], judge, folder / "store")

    done = asyncio.run(run())
    for name in ("run.json", "run.jsonl", "run.csv", "run.html", "run.md", "run.xml", "run.sarif"):
        done.save(folder / name)
    kept = done.store.judgments() if done.record.failures == {} else ()
    texts = [path.read_text() for path in folder.glob("run.*")]
    return done, "\n".join([*texts, repr(done.record), repr(list(kept)), *map(repr, done.records())])


def _repeats_key(text: str) -> bool:
    """Whether a text has ten characters in a row of the key in any of its forms, or the beginning of the key."""
    pieces = {form[start : start + 10] for form in FORMS.values() for start in range(4, len(form) - 13)}
    return KEY[:8] in text or any(piece in text for piece in pieces)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("before", [0, 470, 492])
def test_an_error_does_not_repeat_the_key(
    kit: Kit, tmp_path: Path, caplog: pytest.LogCaptureFixture, form: str, before: int
) -> None:
    """Wherever a server repeats the key in an error, also where the error is cut, no output has it or its beginning."""
    caplog.set_level(logging.DEBUG)
    message = f"{'x' * before} {FORMS[form]} was refused"
    script: Script = lambda number, request: kit.refusal(400, message)  # noqa: E731
    run, left = _ran(kit, script, tmp_path)
    assert run.record.failures
    assert not _repeats_key(left + caplog.text)


@pytest.mark.parametrize("text", [FORMS["whole"], FORMS["url"], KEY.replace("/", "\\/"), "\\u0073" + KEY[1:]])
def test_a_rationale_does_not_repeat_the_key(kit: Kit, tmp_path: Path, text: str) -> None:
    """A key within a reason is left out of it, also where JSON writes it otherwise; the verdict is kept."""

    def script(number: int, request: Request) -> Act:
        reply = oracle.reply(chat.read(json.dumps(request.body).encode(), frozenset()), "claims")
        return kit.reply(re.sub(r'"why": ?"[^"]*"', lambda _: f'"why":"it says {text} there"', reply))

    run, left = _ran(kit, script, tmp_path)
    assert run.estimates["faithfulness"].value == 1
    assert "it says [key] there" in left
    assert not _repeats_key(left)


def test_a_malformed_reply_does_not_repeat_the_key(kit: Kit, tmp_path: Path) -> None:
    """A reply that is no JSON is quoted in the failure and kept raw without the key."""
    script: Script = lambda number, request: kit.reply(f"I cannot, {KEY}")  # noqa: E731
    run, left = _ran(kit, script, tmp_path)
    assert run.record.failures
    assert not _repeats_key(left)


def test_a_function_does_not_repeat_the_environments_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a client that is called by a function raises is kept without the key of the environment."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "ant-0123456789")

    def model(messages: list[dict[str, Any]]) -> str:
        raise ValueError("wrong key ant-0123456789")

    run = rg.evaluate([ROW], ["faithfulness"], rg.llm(model, name="m"))
    assert "wrong key [key]" in str(run.record.failures)


def test_words_are_no_keys(kit: Kit, tmp_path: Path) -> None:
    """A key of less than eight characters, such as a local server's EMPTY, changes no text."""

    async def run() -> rg.Run:
        async with kit.serving(lambda number, request: kit.refusal(400, "EMPTY field")) as server:
            judge = rg.llm(f"vllm/m?base_url={server.url}", api_key="EMPTY")
            return await rg.evaluate_async([ROW], ["faithfulness"], judge)

    assert "EMPTY field" in str(asyncio.run(run()).record.failures)
