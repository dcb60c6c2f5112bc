"""Clients of the instructor library as models; what needs the library is skipped where it is not installed."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from tests.llm.models import perfect_reply
from tests.llm.stub.fixture import StubFactory

import ragauge as rg
from ragauge.errors import BadParameter
from ragauge.judges.llm.adapters import InstructorTransport, is_instructor
from ragauge.judges.llm.messages import CallFailed, Completion, Prompt, TokenUsage
from ragauge.run.specs import load_judge
from ragauge.testing import PLAIN
from ragauge.types import Answer, Failure

PROMPT = Prompt("Judge.", "{}", {"type": "object", "properties": {"1": {"type": "string"}}, "required": ["1"]})


class Instructor:
    """A stand-in for instructor's client. reply: what comes back, or is raised; calls: what it was called with."""

    def __init__(self, reply: Any, **kwargs: Any) -> None:
        self.reply, self.kwargs, self.calls = reply, kwargs, list[dict[str, Any]]()
        self.client: Any = None
        self.mode, self.provider = SimpleNamespace(value="tool_call"), SimpleNamespace(value="openai")

    def _reply(self, call: dict[str, Any]) -> Any:
        self.calls.append({**self.kwargs, **call})
        if isinstance(self.reply, Exception):
            raise self.reply
        reply = self.reply(call["messages"]) if callable(self.reply) else self.reply
        return SimpleNamespace(model_dump_json=lambda: "{}"), reply

    def create_with_completion(self, **call: Any) -> Any:
        """The parsed reply, and the raw one."""
        return self._reply(call)


class AsyncInstructor(Instructor):
    """The same, to be waited for."""

    async def create_with_completion(self, **call: Any) -> Any:
        """The parsed reply, and the raw one."""
        return self._reply(call)


class Rejected(Exception):
    """What instructor raises for a reply that it does not take."""

    def __init__(self, last_completion: Any = None) -> None:
        super().__init__("rejected")
        self.last_completion = last_completion


class Refused(Exception):
    """An error of the client inside of instructor."""

    status_code = 401
    body = {"message": "Incorrect API key provided: sk-1", "code": "invalid_api_key"}


def raw(text: str | None, finish: str = "stop", arguments: str | None = None, prompt_tokens: int = 10) -> Any:
    """A reply in the form of OpenAI's library."""
    tools = [SimpleNamespace(function=SimpleNamespace(arguments=arguments))] if arguments is not None else None
    usage = SimpleNamespace(
        prompt_tokens=prompt_tokens, completion_tokens=5, prompt_tokens_details=SimpleNamespace(cached_tokens=4)
    )
    message = SimpleNamespace(content=text, tool_calls=tools)
    return SimpleNamespace(
        choices=[SimpleNamespace(message=message, finish_reason=finish)], usage=usage, model="gpt-4o-2"
    )


def raw_message(*blocks: Any, stop: str = "end_turn") -> Any:
    """A reply in the form of Anthropic's library."""
    usage = SimpleNamespace(
        input_tokens=6, output_tokens=5, cache_read_input_tokens=4, cache_creation_input_tokens=None
    )
    return SimpleNamespace(content=list(blocks), stop_reason=stop, usage=usage, model="claude-2")


@pytest.fixture
def _instructor(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-ins, and a stand-in for pydantic, in place of the libraries."""
    library = ModuleType("instructor")
    library.Instructor, library.AsyncInstructor = Instructor, AsyncInstructor  # type: ignore[attr-defined]
    pydantic = ModuleType("pydantic")
    pydantic.BaseModel = type("BaseModel", (), {})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "instructor", library)
    monkeypatch.setitem(sys.modules, "pydantic", pydantic)


def complete(client: Any, **options: Any) -> Completion | Failure:
    """What a transport of the client makes of the prompt."""

    async def completed() -> Completion | Failure:
        async with InstructorTransport(client, **options) as transport:
            try:
                return await transport.send(PROMPT)
            except CallFailed as failed:
                return failed.failure

    return asyncio.run(completed())


USAGE, BARE = TokenUsage(10, 5, 4), TokenUsage(10, 5)
OF_GOOGLE = SimpleNamespace(
    prompt_token_count=10, candidates_token_count=3, thoughts_token_count=2, cached_content_token_count=4
)


@pytest.mark.usefixtures("_instructor")
@pytest.mark.parametrize("make", [Instructor, AsyncInstructor])
@pytest.mark.parametrize(
    ("reply", "completion"),
    [
        (raw('{"1": "a"}'), Completion('{"1": "a"}', "stop", USAGE, "gpt-4o-2")),
        (raw(None, "tool_calls", '{"1": "a"}'), Completion('{"1": "a"}', "stop", USAGE, "gpt-4o-2")),
        (raw_message(SimpleNamespace(type="text", text="{}")), Completion("{}", "stop", USAGE, "claude-2")),
        (
            raw_message(SimpleNamespace(type="tool_use", input={"1": "a"})),
            Completion('{"1":"a"}', "stop", USAGE, "claude-2"),
        ),
        (SimpleNamespace(), Completion("{}")),
        (SimpleNamespace(usage=SimpleNamespace(prompt_tokens=10, completion_tokens=5)), Completion("{}", usage=BARE)),
        (SimpleNamespace(usage_metadata=OF_GOOGLE), Completion("{}", usage=USAGE)),
        (Rejected(raw('{"1": "a', "length")), Completion('{"1": "a', "length", USAGE, "gpt-4o-2")),
        (Rejected(raw_message(stop="max_tokens")), Completion("", "length", USAGE, "claude-2")),
        (Rejected(raw(None, "content_filter")), Completion("", "content_filter", USAGE, "gpt-4o-2")),
        (AssertionError("I will not"), Completion("I will not", "refusal")),
    ],
)
def test_replies_are_read_whether_or_not_instructor_takes_them(make: Any, reply: Any, completion: Completion) -> None:
    """The text, the end and the tokens of a reply come through, also of one that instructor raises about."""
    assert complete(make(reply, model="gpt-4o")) == completion


@pytest.mark.usefixtures("_instructor")
@pytest.mark.parametrize(
    ("provider", "model", "same"),
    [("openai", "gpt-4o-mini", "openai/gpt-4o-mini"), ("genai", "models/gemini-2.5-flash", "gemini/gemini-2.5-flash")],
)
def test_a_known_model_has_its_price(provider: str, model: str, same: str) -> None:
    """A client costs what its model costs, whatever instructor calls the provider, so that a limit can be held."""
    client = Instructor(raw("{}"), model=model)
    client.provider.value = provider
    assert rg.llm(client).price == rg.llm(same).price is not None


@pytest.mark.usefixtures("_instructor")
def test_errors_of_the_client_are_failures() -> None:
    """An error of the server is known by its status, and no key is repeated; any other error is reported unchanged."""
    error = Rejected()
    error.__cause__ = Refused("no")
    failure = complete(Instructor(error, model="gpt-4o"))
    assert isinstance(failure, Failure)
    assert failure.reason == "unauthorized"
    assert "sk-1" not in failure.detail
    failure = complete(AsyncInstructor(TypeError("temprature"), model="gpt-4o"))
    assert failure == Failure("judge_error", "the instructor client raised TypeError: temprature")


@pytest.mark.usefixtures("_instructor")
def test_identity_and_call() -> None:
    """Model, mode and arguments are in the identity, keys are not; instructor is configured not to retry by itself."""
    client = Instructor(raw("{}"), model="gpt-4o", seed=1, api_key="sk-1", timeout=3)
    transport = InstructorTransport(client, temperature=0)
    assert transport.name == "openai/gpt-4o"
    assert transport.settings == (("via", "instructor:tool_call"), ("seed", "1"), ("temperature", "0"))
    complete(client, temperature=0)
    (call,) = client.calls
    assert (call["model"], call["temperature"], call["max_retries"], call["seed"]) == ("gpt-4o", 0, 0, 1)
    assert call["response_model"].model_json_schema() == {"title": "Answers", **PROMPT.schema}
    assert InstructorTransport(client, model="gpt-5").name == "openai/gpt-5"
    with pytest.raises(BadParameter, match="names no model"):
        InstructorTransport(Instructor(raw("{}")))


@pytest.mark.usefixtures("_instructor")
@pytest.mark.parametrize(
    ("base_url", "reported"),
    [
        ("https://api.openai.com/v1/", None),
        ("http://user:secret@127.0.0.1:8000/v1/?key=sk-1", "http://127.0.0.1:8000/v1"),
        ("https://proxy.example/v1", "https://proxy.example/v1"),
    ],
)
def test_another_server_is_another_judge(base_url: str, reported: str | None) -> None:
    """A server that is not the provider's own is in the identity, without secrets, and has no price until given."""
    client = Instructor(raw("{}"), model="gpt-4o")
    client.client = SimpleNamespace(base_url=base_url)
    judge = rg.llm(client)
    assert dict(judge.identity.settings).get("base_url") == reported
    assert (judge.price is None) is (reported is not None)
    assert rg.llm(client, price=(1, 2)).price is not None


@pytest.mark.usefixtures("_instructor")
@pytest.mark.parametrize("make", [Instructor, AsyncInstructor])
def test_a_client_judges(make: Any) -> None:
    """A client is a judge as it is, in `judge=` as in `rg.llm`."""

    def reply(output: list[dict[str, str]]) -> Any:
        return raw(perfect_reply([(one["role"], one["content"]) for one in output]), prompt_tokens=1000)

    client = make(reply, model="gpt-4o")
    assert is_instructor(client)
    judge = load_judge(client)
    assert judge.identity == rg.llm(client).identity
    assert not any(isinstance(answer, Failure) for answer in asyncio.run(judge.answer(PLAIN)))


def test_nothing_is_a_client_where_the_library_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without instructor no object is taken for a client of it, and nothing is imported to find out."""
    monkeypatch.delitem(sys.modules, "instructor", raising=False)
    assert not is_instructor(Instructor(raw("{}")))
    assert "instructor" not in sys.modules


@pytest.fixture
def _quiet() -> Iterator[None]:
    """Without what the library logs about each fault."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.usefixtures("_quiet")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "mode", ["TOOLS", "JSON", *(pytest.param(mode, marks=pytest.mark.slow) for mode in ("JSON_SCHEMA", "MD_JSON"))]
)
@pytest.mark.parametrize("client", ["OpenAI", "AsyncOpenAI"])
def test_the_real_library(client: str, mode: str, stub_server: StubFactory) -> None:
    """Real clients of instructor, sync and async, in each mode, answer all questions over HTTP, through faults."""
    instructor: Any = pytest.importorskip("instructor", minversion="1.7")
    openai: Any = pytest.importorskip("openai")
    server = stub_server(fault={"cut": 0.05, "length": 0.05, "500": 0.05, "429": 0.1})
    plain = getattr(openai, client)(base_url=server.url, api_key="none", max_retries=0)
    made = instructor.from_openai(plain, mode=getattr(instructor.Mode, mode))
    judge = rg.llm(made, model="some-model", temperature=0)

    async def answers() -> list[Answer | Failure]:
        async with judge:
            found = await asyncio.gather(*(judge.answer(PLAIN) for _ in range(5)))
        closed = plain.close()
        if closed is not None:
            await closed
        return [answer for each in found for answer in each]

    assert not [answer for answer in asyncio.run(answers()) if isinstance(answer, Failure)]
    assert server.stats()["calls"] >= 10


def test_the_model_of_a_provider_string(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client made by instructor.from_provider keeps its model out of sight; it is found."""
    instructor: Any = pytest.importorskip("instructor", minversion="1.7")
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    for asynchronous in (False, True):
        client = instructor.from_provider("openai/gpt-4o-mini", async_client=asynchronous)
        assert rg.llm(client).identity.name == "openai/gpt-4o-mini"
