"""Probabilities of verdicts from log-probabilities of the tokens of their labels."""

from __future__ import annotations

import asyncio
import json
import re
from math import log
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.llm.models import perfect_reply
from tests.llm.stub.fixture import StubFactory

import ragauge as rg
from ragauge.errors import BadParameter, UsageError
from ragauge.judges.llm.messages import Completion, Prompt, ReplyToken, tokens_of
from ragauge.judges.llm.providers import parse_llm_spec
from ragauge.judges.llm.replies import label_probabilities
from ragauge.judges.llm.transport import clouds, protocols
from ragauge.judges.llm.transport.session import ReplyError
from ragauge.kinds.entail import ENTAILMENT
from ragauge.questions import Classify, Entail, Question, Relevant
from ragauge.run.specs import load_judge
from ragauge.types import Label, Verdict

CHUNKS = ("Paris is the capital of France.", "The Seine flows through Paris.")
QUESTIONS: list[Question] = [
    Entail(CHUNKS, "Paris is the capital of France."),
    Entail(CHUNKS[:1], "Berlin lies in Germany."),
    Relevant("What is the capital of France?", "Fish swim."),
    Classify("That plan is foolish.", "toxic"),
]
ROW = {"query": "What is it?", "response": "Paris is the capital of France.", "contexts": list(CHUNKS)}


def spec(url: str) -> str:
    """A model on a server, asked for log-probabilities."""
    return f"vllm/gpt-4o-mini?base_url={url}&logprobs=true"


def test_verdicts_have_the_probabilities_of_their_labels_tokens(stub_server: StubFactory) -> None:
    """Of a label, and of the tokens that begin another, the share of the positive one, over HTTP."""
    server = stub_server()
    judge = rg.llm(spec(f"http://127.0.0.1:{server.port}/v1"))
    answers = asyncio.run(judge.answer(QUESTIONS))
    expected = {Label.ENTAILED: 0.8, Label.NEUTRAL: 0.3, Label.NO: 0.4, Label.YES: 0.8}
    verdicts = [answer for answer in answers if isinstance(answer, Verdict)]
    assert len(verdicts) == len(QUESTIONS)
    assert [verdict.probability for verdict in verdicts] == pytest.approx([expected[one.label] for one in verdicts])
    assert ("logprobs", "true") in judge.identity.settings
    assert any("probabilities of verdicts are those of the tokens of their labels" in note for note in judge.notes())


def test_a_judge_without_the_option_gives_none(stub_server: StubFactory) -> None:
    """Nothing is asked for, and stored judgments count on under the identity that they had."""
    judge = rg.llm(spec(f"http://127.0.0.1:{stub_server().port}/v1").replace("&logprobs=true", ""))
    (answer,) = asyncio.run(judge.answer(QUESTIONS[:1]))
    assert isinstance(answer, Verdict)
    assert answer.probability is None
    assert "logprobs" not in dict(judge.identity.settings)


@pytest.mark.parametrize("without", ["logprobs", "silent_logprobs"])
def test_a_server_that_gives_none_is_found_out_before_a_question(without: str, stub_server: StubFactory) -> None:
    """One line says what and how, after a call of a few tokens; no question was sent."""
    server = stub_server(without=[without])
    with pytest.raises(UsageError, match=r"gives no log-probabilities; leave out logprobs, or take shares of votes"):
        rg.evaluate([ROW], "faithfulness", spec(f"http://127.0.0.1:{server.port}/v1"))
    assert server.stats()["calls"] == 1


@pytest.mark.parametrize("provider", ["anthropic", "bedrock", "cohere", "mistral", "groq", "gemini"])
def test_providers_without_them_are_refused(provider: str) -> None:
    """What is known to be missing is said as the judge is named."""
    with pytest.raises(BadParameter, match=f"logprobs: {provider} gives none; take shares of votes instead: repeat"):
        rg.llm(f"{provider}/model?logprobs=true")


def test_a_cascade_keeps_what_is_sure(stub_server: StubFactory) -> None:
    """Verdicts of .8 stay at .75 and go up at .85, also those on several chunks."""
    for threshold, chances in ((0.75, 0.8), (0.85, None)):
        first = spec(f"http://127.0.0.1:{stub_server().port}/v1")
        second = rg.judge_from(entail=lambda premise, hypothesis: True, name="second")
        cascade = rg.cascade(rg.llm(first), second, threshold=threshold)
        (answer,) = asyncio.run(cascade.answer(QUESTIONS[:1]))
        assert isinstance(answer, Verdict)
        assert answer.probability == (None if chances is None else pytest.approx(chances))


def test_vertex_has_a_form_of_its_own() -> None:
    """The request asks by `responseLogprobs`, and the reply has chosen and top candidates."""
    provider, model, options = parse_llm_spec("vertex/gemini-2.0-flash?logprobs=true")
    prompt = Prompt("Judge.", "{}", {"type": "object"})
    body = json.loads(clouds.vertex_body(prompt, model, options, protocols.initial_features(provider, model, options)))
    assert {name: body["generationConfig"][name] for name in ("responseLogprobs", "logprobs")} == {
        "responseLogprobs": True,
        "logprobs": 5,
    }
    chosen = {"token": "ent", "tokenId": 1, "logProbability": -0.1}
    other = {"token": "neu", "tokenId": 2, "logProbability": -2.4}
    candidate = {
        "content": {"parts": [{"text": "ent"}]},
        "logprobsResult": {"chosenCandidates": [chosen], "topCandidates": [{"candidates": [chosen, other]}]},
    }
    completion = clouds.read_vertex(json.dumps({"candidates": [candidate]}).encode())
    assert isinstance(completion, Completion)
    assert completion.tokens == (ReplyToken("ent", {"ent": -0.1, "neu": -2.4}),)
    other["logProbability"] = "low"
    with pytest.raises(ReplyError, match="none of Vertex AI"):
        clouds.read_vertex(json.dumps({"candidates": [candidate]}).encode())


def tokens(text: str, cuts: list[int], shares: dict[str, dict[str, float]]) -> list[ReplyToken]:
    """A text cut into tokens. shares: of the alternatives of a token that begins a label, by that label."""
    ends = sorted({cut % len(text) for cut in cuts} | {len(text)})
    pieces = [text[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True) if end > start]
    return [
        ReplyToken(piece, {piece: 0.0, **{key: log(value) for key, value in shares.get(piece, {}).items()}})
        for piece in pieces
    ]


@given(st.lists(st.integers(0, 500)), st.permutations(list(ENTAILMENT)))
def test_any_cut_of_a_reply_into_tokens_is_read(cuts: list[int], labels: list[str]) -> None:
    """However a reply is cut, a label that is sure of itself has the probability 1 or 0."""
    items = {str(n): {"why": 'it says "label": x', "label": label} for n, label in enumerate(labels, 1)}
    found = label_probabilities(tokens(json.dumps(items), cuts, {}), items, dict.fromkeys(items, ENTAILMENT))
    for key, probability in found.items():
        assert probability == float(items[key]["label"] == "entailed")
    assert len(found) == 3 or cuts


@pytest.mark.parametrize(
    ("alternatives", "probability"),
    [
        ({"ent": 0.6, "neutral": 0.2, "contr": 0.2}, 0.6),
        ({"ent": 0.3, "neutral": 0.1, "The": 0.6}, 0.75),
        ({"ent": 1.0}, 1.0),
        ({"Ent": 0.5, "contradicted": 0.5}, 0.5),
        ({"x": 0.9}, None),
    ],
)
def test_the_share_is_that_of_labels_alone(alternatives: dict[str, float], probability: float | None) -> None:
    """Tokens that begin no label do not count; with none that does there is no probability."""
    items = {"1": {"label": "entailed"}}
    first = ReplyToken("ent", {text: log(share) for text, share in alternatives.items()})
    reply = [ReplyToken('{"1": {"label": "', {}), first, ReplyToken('ailed"}}', {})]
    found = label_probabilities(reply, items, {"1": ENTAILMENT})
    assert found == ({} if probability is None else {"1": pytest.approx(probability)})


def test_a_reply_that_was_not_read_as_a_whole_has_no_probabilities() -> None:
    """Where another object stands beside the one that was read, places cannot be told apart."""
    items = {"1": {"label": "entailed"}}
    text = '{"label": "neutral"} {"1": {"label": "entailed"}}'
    assert label_probabilities([ReplyToken(text, {text: 0.0})], items, {"1": ENTAILMENT}) == {}


def test_logprobs_of_openai_are_read() -> None:
    """A token has its alternatives and itself; a reply without any has no tokens."""
    top = [{"token": "yes", "logprob": -0.5, "bytes": None}, {"token": "no", "logprob": -1.0, "bytes": None}]
    choice = {
        "message": {"content": "yes"},
        "finish_reason": "stop",
        "logprobs": {
            "content": [{"token": "yes", "logprob": -0.5, "bytes": None, "top_logprobs": top}],
            "refusal": None,
        },
    }
    read = protocols.read_chat(json.dumps({"choices": [choice]}).encode())
    assert isinstance(read, Completion)
    assert read.tokens == (ReplyToken("yes", {"yes": -0.5, "no": -1.0}),)
    bare = protocols.read_chat(json.dumps({"choices": [{**choice, "logprobs": None}]}).encode())
    assert isinstance(bare, Completion)
    assert bare.tokens == ()


def replying(with_tokens: bool) -> Any:
    """A function from messages to a good reply, whose labels are sure to 80 %; with_tokens: as a Completion."""

    def reply(messages: list[dict[str, str]]) -> str | Completion:
        text = perfect_reply([(message["role"], message["content"]) for message in messages])
        return Completion(text, tokens=tokens_of(as_logprobs(text))) if with_tokens else text

    return reply


def as_logprobs(text: str) -> dict[str, Any]:
    """The tokens of a reply in the form of chat completions; another label is one time in five likely."""
    pieces = re.findall(r"\w+|\W", text)
    return {
        "content": [
            {
                "token": piece,
                "logprob": log(0.8),
                "top_logprobs": [
                    {"token": piece, "logprob": log(0.8)},
                    {"token": "neutral" if piece == "entailed" else "entailed", "logprob": log(0.2)},
                ],
            }
            for piece in pieces
        ]
    }


def test_a_function_may_return_them() -> None:
    """Tokens that a function returns give probabilities; it is another judge than without them."""
    judge = rg.llm(replying(with_tokens=True), name="own", logprobs=True)
    (answer,) = asyncio.run(judge.answer(QUESTIONS[:1]))
    assert isinstance(answer, Verdict)
    assert answer.probability in (pytest.approx(0.8), pytest.approx(0.2))
    assert judge.identity != rg.llm(replying(with_tokens=True), name="own").identity
    assert any("tokens of their labels" in note for note in judge.notes())


def test_a_function_that_promised_them_is_found_out() -> None:
    """One line says so before a question is asked."""
    with pytest.raises(
        UsageError, match=r"own gives no log-probabilities; leave out logprobs, or take shares of votes"
    ):
        rg.evaluate([ROW], "faithfulness", rg.llm(replying(with_tokens=False), name="own", logprobs=True))


def test_those_of_the_reply_alone_are_not_enough() -> None:
    """A function whose tokens have no alternatives, as of a client without top_logprobs, is told what to ask for."""

    def reply(_: object) -> Completion:
        return Completion('{"label": "yes"}', tokens=(ReplyToken('{"label": "yes"}', {'{"label": "yes"}': -0.1}),))

    with pytest.raises(UsageError, match="of other tokens than it wrote; ask it for top_logprobs=5"):
        rg.evaluate([ROW], "faithfulness", rg.llm(reply, name="own", logprobs=True))


@pytest.mark.parametrize("is_bound", [True, False])
def test_a_model_of_langchain_gives_them(is_bound: bool) -> None:
    """Where a chat model is made or bound with logprobs=True, its messages' log-probabilities count."""
    models: Any = pytest.importorskip("langchain_core.language_models")
    messages: Any = pytest.importorskip("langchain_core.messages")
    outputs: Any = pytest.importorskip("langchain_core.outputs")

    class Chat(models.BaseChatModel):  # type: ignore[misc]
        """A chat model that gives log-probabilities where it is told to."""

        model_name: str = "own"
        logprobs: bool | None = None
        _llm_type = "own"

        def _generate(self, said: Any, stop: Any = None, run_manager: Any = None, **options: Any) -> Any:
            roles = {"human": "user", "ai": "assistant", "system": "system"}
            text = perfect_reply([(roles[message.type], message.content) for message in said])
            given = options.get("logprobs", self.logprobs)
            metadata = {"logprobs": as_logprobs(text) if given and options.get("top_logprobs", 5) else None}
            message = messages.AIMessage(content=text, response_metadata=metadata)
            return outputs.ChatResult(generations=[outputs.ChatGeneration(message=message)])

    model = Chat().bind(logprobs=True) if is_bound else Chat(logprobs=True)
    judge = load_judge(model)
    (answer,) = asyncio.run(judge.answer(QUESTIONS[:1]))
    assert isinstance(answer, Verdict)
    assert answer.probability is not None
    assert str(judge.identity).startswith("langchain/Chat(model_name=own, logprobs=True)")
    with pytest.raises(UsageError, match="gives no log-probabilities"):
        rg.evaluate([ROW], "faithfulness", Chat().bind(logprobs=True, top_logprobs=0))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_client_of_instructor_gives_them(stub_server: StubFactory) -> None:
    """The library's own client over HTTP, in a mode without tools; a server without them is found out by one call."""
    instructor: Any = pytest.importorskip("instructor", minversion="1.7")
    openai: Any = pytest.importorskip("openai")

    servers = stub_server(), stub_server(without=["silent_logprobs"])
    clients = [openai.OpenAI(base_url=server.url, api_key="none", max_retries=0) for server in servers]
    made = (instructor.from_openai(client, mode=instructor.Mode.JSON) for client in clients)
    giving, silent = (rg.llm(client, model="some-model", logprobs=True) for client in made)
    (answer,) = asyncio.run(giving.answer(QUESTIONS[:1]))
    assert isinstance(answer, Verdict)
    assert answer.probability is not None
    with pytest.raises(UsageError, match="gives no log-probabilities"):
        rg.evaluate([ROW], "faithfulness", silent)
    assert servers[1].stats()["calls"] == 1
    for client in clients:
        client.close()
