"""Bedrock, Vertex AI and Cohere: their wire forms and credentials, over real HTTP and by their vendors' libraries."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs

import msgspec
import pytest
from tests.llm.stub.fixture import StubFactory
from tests.llm.stub.process import StubServer
from tests.llm.stubbing import QUESTIONS

import ragauge as rg
from ragauge.errors import BadParameter, MissingExtra, UsageError
from ragauge.judges.llm.messages import TokenUsage
from ragauge.judges.llm.providers import PROVIDERS, parse_llm_spec
from ragauge.judges.llm.transport import clouds
from ragauge.judges.llm.transport.session import Fault, ReplyError
from ragauge.questions import Question
from ragauge.types import Failure, Verdict

MODELS = {
    "bedrock": "bedrock/anthropic.claude-haiku-4-5-20251001-v1:0",
    "vertex": "vertex/gemini-2.5-flash",
    "cohere": "cohere/command-a-03-2025",
}
BASES = {"bedrock": "", "vertex": "/v1/projects/p/locations/l", "cohere": "/v2"}
ONE: list[Question] = [one for one in QUESTIONS if type(one).__name__ == "Classify"]
SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No credentials but a test's own."""
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_DEFAULT_REGION", "AWS_BEARER_TOKEN_BEDROCK", "GOOGLE_APPLICATION_CREDENTIALS", "CO_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("GOOGLE_OAUTH_ACCESS_TOKEN", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "COHERE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.setenv("NO_GCE_CHECK", "true")


def answered(server: StubServer, name: str, questions: list[Question] = QUESTIONS, **options: Any) -> list[Any]:
    """What a judge of that provider answers over the stub."""
    judge = rg.llm(MODELS[name], base_url=server.root + BASES[name], **options)
    return list(asyncio.run(judge.answer(questions)))


async def opened(spec: str, **options: Any) -> None:
    """Open a judge and ask nothing."""
    async with rg.llm(spec, **options):
        pass


def recorded(path: Path) -> list[tuple[str, dict[str, str], bytes]]:
    """Path, headers and body of each request that a stub recorded."""
    rows = (msgspec.json.decode(line, type=dict[str, msgspec.Raw]) for line in path.read_bytes().splitlines())
    return [(msgspec.json.decode(row["path"]), msgspec.json.decode(row["headers"]), bytes(row["body"])) for row in rows]


@pytest.mark.parametrize("structured", ["schema", "json", "plain"])
@pytest.mark.parametrize("name", MODELS)
def test_every_kind_of_question_is_answered(name: str, structured: str, stub_server: StubFactory) -> None:
    """The answers are those that the same model gives over OpenAI's protocol, however the reply is constrained."""
    server = stub_server(key="k")
    expected = asyncio.run(rg.llm("openai/m", base_url=server.url, api_key="k").answer(QUESTIONS))
    assert answered(server, name, api_key="k", structured=structured) == expected


@pytest.mark.parametrize("name", MODELS)
def test_a_model_without_schemas_is_asked_in_words(name: str, stub_server: StubFactory) -> None:
    """A refusal that names the field of the schema makes the next attempt do without it."""
    server = stub_server(without=["json_schema"])
    (verdict,) = answered(server, name, ONE, api_key="k")
    assert isinstance(verdict, Verdict)
    assert server.stats()["calls"] == 2


@pytest.mark.parametrize("name", MODELS)
def test_faults_are_told_apart(name: str, stub_server: StubFactory) -> None:
    """Throttling passes; a wrong key ends the run with the variable to set; a prompt that is too long says so."""
    server = stub_server(script="429,503")
    assert isinstance(answered(server, name, ONE, api_key="k")[0], Verdict)
    (failure,) = answered(stub_server(key="other"), name, ONE, api_key="k")
    assert isinstance(failure, Failure)
    assert failure.reason == "unauthorized"
    assert PROVIDERS[name].key_variables[0] in failure.detail
    (failure,) = answered(stub_server(window=5), name, ONE, api_key="k")
    assert isinstance(failure, Failure)
    assert failure.reason == "too_long"


def test_options_have_the_names_of_each_protocol() -> None:
    """Limits, seeds and reasoning stand in the fields of the vendors' references."""
    from tests.llm.test_anthropic import PROMPT

    from ragauge.judges.llm.transport.protocols import initial_features

    def body(spec: str) -> Any:
        server, model, options = parse_llm_spec(spec)
        make = {"bedrock": clouds.bedrock_body, "vertex": clouds.vertex_body, "cohere": clouds.cohere_body}
        return json.loads(make[server.name](PROMPT, model, options, initial_features(server, model, options)))

    bedrock = body("bedrock/m?max_tokens=9&temperature=1&reasoning_effort=low")
    assert bedrock["inferenceConfig"] == {"maxTokens": 9, "temperature": 1}
    assert bedrock["outputConfig"]["effort"] == "low"
    vertex = body("vertex/m?max_tokens=9&seed=3&reasoning_effort=low")["generationConfig"]
    assert vertex.items() >= {"maxOutputTokens": 9, "seed": 3, "thinkingConfig": {"thinkingLevel": "LOW"}}.items()
    cohere = body("cohere/m?max_tokens=9&seed=3&reasoning_effort=none")
    assert cohere.items() >= {"max_tokens": 9, "seed": 3, "thinking": {"type": "disabled"}}.items()
    for spec, said in (("bedrock/m?seed=1", "seed"), ("bedrock/m?temperature=2", "temperature: bedrock")):
        with pytest.raises(BadParameter, match=said):
            parse_llm_spec(spec)


def test_requests_are_signed_as_aws_signs_them(
    stub_server: StubFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signature that arrives is that of botocore over what arrived, and its own client sends the same."""
    session = pytest.importorskip("botocore.session")
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.compat import HTTPHeaders
    from botocore.credentials import Credentials

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_SESSION_TOKEN", "a-token")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    server = stub_server(record=str(tmp_path / "sent"))
    assert isinstance(answered(server, "bedrock", ONE)[0], Verdict)
    ((path, headers, body),) = recorded(tmp_path / "sent")
    assert "/eu-central-1/bedrock/aws4_request" in headers["authorization"]
    assert SECRET not in str(headers)

    client = session.get_session().create_client("bedrock-runtime", "eu-central-1", endpoint_url=server.root)
    request = json.loads(body)
    reply = client.converse(modelId=MODELS["bedrock"].partition("/")[2], **request)
    assert json.loads(reply["output"]["message"]["content"][0]["text"])["1"]["label"] == "no"
    _, (own_path, _, own_body) = recorded(tmp_path / "sent")
    assert (own_path, json.loads(own_body)) == (path, request)

    signed = headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";")
    again = AWSRequest("POST", server.root + raw_path(), {name: headers[name] for name in signed}, body)
    again.context["timestamp"] = headers["x-amz-date"]
    auth = SigV4Auth(Credentials("AKIDEXAMPLE", SECRET, "a-token"), "bedrock", "eu-central-1")
    kept = HTTPHeaders()
    for name in signed:
        kept[name] = headers[name]
    again.headers = kept
    signature = auth.signature(auth.string_to_sign(again, auth.canonical_request(again)), again)
    assert headers["authorization"].endswith(f"Signature={signature}")


def raw_path() -> str:
    """The path of the model, as it is sent."""
    return "/model/anthropic.claude-haiku-4-5-20251001-v1%3A0/converse"


class TokenServer(BaseHTTPRequestHandler):
    """Exchanges a signed assertion for an access token."""

    assertions: list[str]

    def do_POST(self) -> None:
        """Keep the assertion, and answer with a token."""
        sent = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.assertions.append(sent["assertion"][0])
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b'{"access_token": "a-fresh-token", "expires_in": 3600, "token_type": "Bearer"}')

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def token_server() -> Iterator[tuple[str, list[str]]]:
    """The address of a token server, and the assertions that it was sent."""
    assertions: list[str] = []
    handler = type("Handler", (TokenServer,), {"assertions": assertions})
    server = HTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/token", assertions
    server.shutdown()
    server.server_close()


def test_tokens_of_google_are_fetched_once(
    stub_server: StubFactory,
    token_server: tuple[str, list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A service account's signed assertion, which google-auth verifies, buys one token for all requests of a run."""
    pytest.importorskip("google.auth")
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
    from google.auth import jwt

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    address, assertions = token_server
    account = {
        "type": "service_account",
        "project_id": "p",
        "private_key_id": "1",
        "private_key": pem,
        "client_email": "judge@p.iam.gserviceaccount.com",
        "token_uri": address,
    }
    (tmp_path / "account.json").write_text(json.dumps(account))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "account.json"))
    server = stub_server(key="a-fresh-token", record=str(tmp_path / "sent"))
    assert not any(isinstance(one, Failure) for one in answered(server, "vertex", pack="alone"))
    requests = recorded(tmp_path / "sent")
    assert len(requests) == len(QUESTIONS)
    assert {path for path, _, _ in requests} == {
        "/v1/projects/p/locations/l/publishers/google/models/gemini-2.5-flash:generateContent"
    }
    (assertion,) = assertions
    claims = jwt.decode(assertion, certs=public, audience="https://oauth2.googleapis.com/token")
    assert claims["iss"] == "judge@p.iam.gserviceaccount.com"
    assert claims["scope"] == "https://www.googleapis.com/auth/cloud-platform"


def test_credentials_that_are_refused_end_the_run(
    stub_server: StubFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A login that has expired is reported once, and no request is sent."""
    pytest.importorskip("google.auth")
    user = {"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r"}
    (tmp_path / "user.json").write_text(json.dumps(user))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "user.json"))
    for name in ("https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    server = stub_server()
    (failure,) = answered(server, "vertex", ONE)
    assert isinstance(failure, Failure)
    assert (failure.reason, server.stats()["calls"]) == ("unauthorized", 0)
    assert "log in again" in failure.detail


@pytest.mark.parametrize(
    ("name", "library", "extra"), [("bedrock", "botocore.auth", "bedrock"), ("vertex", "google.auth", "vertex")]
)
def test_a_missing_library_is_named(name: str, library: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a key and without its vendor's library, the extra to install is named before anything is sent."""
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    with pytest.raises(MissingExtra, match=rf"pip install 'ragauge\[{extra}\]'"):
        asyncio.run(opened(MODELS[name], base_url="http://127.0.0.1:1"))


def test_keys_need_no_library(stub_server: StubFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """An API key of Bedrock and an access token of Google are sent as they are."""
    for library in ("botocore", "google.auth"):
        monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "k")
    monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", "k")
    server = stub_server(key="k")
    assert isinstance(answered(server, "bedrock", ONE)[0], Verdict)
    assert isinstance(answered(server, "vertex", ONE)[0], Verdict)


@pytest.mark.parametrize(
    ("spec", "environment", "said"),
    [
        ("bedrock/m", {}, "set AWS_REGION or AWS_DEFAULT_REGION"),
        ("bedrock/m", {"AWS_REGION": "us-east-1"}, "no credentials of AWS were found; set AWS_BEARER_TOKEN_BEDROCK"),
        ("bedrock/m", {"AWS_REGION": "evil.com/"}, "AWS_REGION is no name of a region"),
        ("bedrock/m?base_url=http://127.0.0.1:1", {}, "set AWS_REGION, which the signature"),
        ("vertex/m", {"GOOGLE_CLOUD_PROJECT": "p"}, "set GOOGLE_CLOUD_LOCATION and GOOGLE_CLOUD_PROJECT"),
        (
            "vertex/m",
            {"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "global"},
            "gcloud auth application-default login",
        ),
        ("cohere/m", {}, "set CO_API_KEY to your key of cohere"),
    ],
)
def test_what_is_missing_is_said(
    spec: str, environment: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a region, a project or credentials are missing, the message names what to set, and nothing is sent."""
    pytest.importorskip("botocore")
    pytest.importorskip("google.auth")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match=said):
        asyncio.run(opened(spec))


def test_addresses_are_made_of_the_environment() -> None:
    """Region, project and location give the vendors' addresses; the global location has none in its host."""
    cloud = {"GOOGLE_CLOUD_PROJECT": "my-p", "GOOGLE_CLOUD_LOCATION": "europe-west4"}
    assert PROVIDERS["vertex"].base_url_from(cloud) == (
        "https://europe-west4-aiplatform.googleapis.com/v1/projects/my-p/locations/europe-west4"
    )
    assert PROVIDERS["vertex"].base_url_from(cloud | {"GOOGLE_CLOUD_LOCATION": "global"}) == (
        "https://aiplatform.googleapis.com/v1/projects/my-p/locations/global"
    )
    assert PROVIDERS["bedrock"].base_url_from({"AWS_DEFAULT_REGION": "us-west-2"}) == (
        "https://bedrock-runtime.us-west-2.amazonaws.com"
    )
    assert PROVIDERS["bedrock"].base_url_from({"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "https://vpce.example"}) == (
        "https://vpce.example"
    )
    assert PROVIDERS["cohere"].base_url_from({"CO_API_URL": "https://gateway.example"}) == "https://gateway.example/v2"


def test_a_region_is_no_part_of_the_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same model in another region is the same judge; another server is not."""
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    first = rg.llm("bedrock/m").identity
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    assert rg.llm("bedrock/m").identity == first
    assert rg.llm("bedrock/m?base_url=https://vpce.example").identity != first


def test_how_replies_end_and_what_they_count() -> None:
    """Stop reasons and token counts are those of the vendors' references; cached tokens are part of the prompt."""
    usage = {"inputTokens": 5, "outputTokens": 2, "cacheReadInputTokens": 100, "cacheWriteInputTokens": 10}
    reply = {"output": {"message": {"content": [{"reasoningContent": {}}, {"text": "x"}]}}, "stopReason": "max_tokens"}
    read = clouds.read_bedrock(json.dumps(reply | {"usage": usage}).encode())
    assert (read.text, read.finish, read.usage) == ("x", "length", TokenUsage(115, 2, 100))
    counts = {"promptTokenCount": 9, "candidatesTokenCount": 3, "thoughtsTokenCount": 4, "cachedContentTokenCount": 5}
    vertex = clouds.read_vertex(
        json.dumps({"candidates": [{"finishReason": "SAFETY"}], "usageMetadata": counts}).encode()
    )
    assert not isinstance(vertex, Fault)
    assert (vertex.text, vertex.finish, vertex.usage) == ("", "content_filter", TokenUsage(9, 7, 5))
    blocked = clouds.read_vertex(b'{"promptFeedback": {"blockReason": "SAFETY"}}')
    assert not isinstance(blocked, Fault)
    assert blocked.finish == "content_filter"
    assert isinstance(clouds.read_vertex(b'{"error": {"code": 503, "message": "busy"}}'), Fault)
    billed = {"billed_units": {"input_tokens": 4.0, "output_tokens": 2.0}, "tokens": {"input_tokens": 70.0}}
    cohere = clouds.read_cohere(
        json.dumps({"message": {"content": None}, "finish_reason": "MAX_TOKENS", "usage": billed}).encode()
    )
    assert (cohere.text, cohere.finish, cohere.usage) == ("", "length", TokenUsage(4, 2))


@pytest.mark.parametrize("read", [clouds.read_bedrock, clouds.read_vertex, clouds.read_cohere])
@pytest.mark.parametrize("body", [b"", b"<html>", b"{}", b"[]", b'{"message": {}, "finish_reason": "ERROR"}'])
def test_replies_that_make_no_sense(read: Any, body: bytes) -> None:
    """What is no reply is trouble with the server, which may pass."""
    with pytest.raises(ReplyError) as trouble:
        read(body)
    assert trouble.value.reason == "server_error"


def test_batches_are_refused(tmp_path: Path) -> None:
    """A provider without batches here is refused when a batch is made, not when it is sent."""
    from ragauge.run.batch.folder import member_of

    with pytest.raises(BadParameter, match="cannot be asked in a batch"):
        member_of("cohere/command-a-03-2025")
