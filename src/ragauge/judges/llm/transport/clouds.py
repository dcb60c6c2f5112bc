"""Amazon Bedrock's Converse, Vertex AI's generateContent and Cohere's chat: requests, replies and credentials.

Source: the API references of Amazon Bedrock ("Converse"), Vertex AI ("GenerateContentResponse", "GenerationConfig") and
Cohere ("Chat" of API v2, "Structured Outputs").
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import msgspec

from ragauge.errors import UsageError
from ragauge.host import optional
from ragauge.judges.llm.messages import FINISHES, TOP_LOGPROBS, CallFailed, Completion, Prompt, ReplyToken, usage_of
from ragauge.judges.llm.providers import LLMOptions, Provider
from ragauge.judges.llm.transport import protocols
from ragauge.judges.llm.transport.session import Fault, ReplyError
from ragauge.redaction import redacted
from ragauge.types import Failure

T = TypeVar("T")

#: The headers that authenticate one request, of its method, address and body.
Signer = Callable[[str, str, bytes], Awaitable[dict[str, str]]]

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


def bedrock_body(prompt: Prompt, _model: str, options: LLMOptions, features: protocols.ServerFeatures) -> bytes:
    """The body of a request to Bedrock, as JSON.

    Constrained to its schema by `outputConfig` ("schema"), by the forced use of a tool ("json", for models without the
    former), or by words alone ("plain").
    """
    plain = features.structured == "plain"
    turns = prompt.messages[1:]
    messages = [{"role": turn["role"], "content": [{"text": turn["content"]}]} for turn in turns]
    system = [{"text": protocols.system_with_schema(prompt) if plain else prompt.system}]
    request: dict[str, Any] = {"system": system, "messages": messages}
    inference = protocols.given(temperature=protocols.temperature(options, features), maxTokens=options.max_tokens)
    config = protocols.given(effort=options.reasoning_effort)
    if features.structured == "schema":
        schema = {"name": "reply", "schema": msgspec.json.encode(protocols.supported_schema(prompt.schema)).decode()}
        config["textFormat"] = {"type": "json_schema", "structure": {"jsonSchema": schema}}
    elif features.structured == "json":
        tool = {"name": "reply", "description": "Gives the reply.", "inputSchema": {"json": prompt.schema}}
        request["toolConfig"] = {"tools": [{"toolSpec": tool}], "toolChoice": {"tool": {"name": "reply"}}}
    return msgspec.json.encode(
        request | protocols.given(inferenceConfig=inference or None, outputConfig=config or None)
    )


def vertex_body(prompt: Prompt, _model: str, options: LLMOptions, features: protocols.ServerFeatures) -> bytes:
    """The body of a request to Vertex AI, as JSON, with the schema as `responseJsonSchema` ("schema") or in words."""
    schema = features.structured == "schema"
    system = prompt.system if schema else protocols.system_with_schema(prompt)
    effort = options.reasoning_effort
    config = protocols.given(
        temperature=protocols.temperature(options, features),
        maxOutputTokens=options.max_tokens,
        seed=options.seed,
        responseMimeType=None if features.structured == "plain" else "application/json",
        responseJsonSchema=prompt.schema if schema else None,
        thinkingConfig=None if effort is None else {"thinkingLevel": effort.upper()},
        responseLogprobs=options.logprobs or None,
        logprobs=TOP_LOGPROBS if options.logprobs else None,
    )
    roles = {"user": "user", "assistant": "model"}
    turns = prompt.messages[1:]
    contents = [{"role": roles[turn["role"]], "parts": [{"text": turn["content"]}]} for turn in turns]
    request = {"systemInstruction": {"parts": [{"text": system}]}, "contents": contents, "generationConfig": config}
    return msgspec.json.encode(request)


def cohere_body(prompt: Prompt, model: str, options: LLMOptions, features: protocols.ServerFeatures) -> bytes:
    """The body of a request to Cohere, as JSON, with the schema in its response format ("schema") or in words."""
    messages, schema = prompt.messages, features.structured == "schema"
    form = {
        "type": "json_object",
        **protocols.given(json_schema=protocols.supported_schema(prompt.schema) if schema else None),
    }
    if not schema:
        messages[0]["content"] = protocols.system_with_schema(prompt)
    effort = options.reasoning_effort
    fields = protocols.given(
        temperature=protocols.temperature(options, features),
        max_tokens=options.max_tokens,
        seed=options.seed,
        response_format=None if features.structured == "plain" else form,
        thinking=None if effort is None else {"type": "disabled" if effort == "none" else "enabled"},
    )
    return msgspec.json.encode({"model": model, "messages": messages, "stream": False, **fields})


def read_bedrock(body: bytes) -> Completion:
    """Read a reply of Bedrock. Its input tokens leave out what the cache held. Raises ReplyError."""
    with protocols.reading(body, "none of Bedrock") as reply:
        text = ""
        for block in reply["output"]["message"]["content"]:
            tool = block.get("toolUse")
            text += msgspec.json.encode(tool["input"]).decode() if tool else block.get("text", "")
        prompt, cached = "inputTokens cacheWriteInputTokens cacheReadInputTokens", "cacheReadInputTokens"
        usage = usage_of(reply.get("usage"), prompt, "outputTokens", cached)
        return Completion(text, FINISHES.get(reply.get("stopReason") or "", "stop"), usage)


def read_vertex(body: bytes) -> Completion | Fault:
    """Read a reply of Vertex AI without its thoughts; a blocked prompt has no candidates. Raises ReplyError."""
    written = "candidatesTokenCount thoughtsTokenCount"
    with protocols.reading(body, "none of Vertex AI") as reply:
        usage = usage_of(reply.get("usageMetadata"), "promptTokenCount", written, "cachedContentTokenCount")
        model = str(reply.get("modelVersion") or "")
        if not reply.get("candidates"):
            if not reply.get("error") and reply.get("promptFeedback", {}).get("blockReason"):
                return Completion("", "content_filter", usage, model)
            return protocols.fault_without("candidates", reply.get("error"))
        candidate = protocols.only(reply["candidates"], lambda candidate: candidate.get("content"))
        parts = candidate.get("content", {}).get("parts", ())
        text = "".join(part.get("text", "") for part in parts if not part.get("thought"))
        logprobs, tokens = candidate.get("logprobsResult", {}), []
        for chosen, top in zip(logprobs.get("chosenCandidates", ()), logprobs.get("topCandidates", ()), strict=False):
            alternatives = {
                str(token["token"]): float(token["logProbability"]) for token in (chosen, *top["candidates"])
            }
            tokens.append(ReplyToken(str(chosen["token"]), alternatives))
        return Completion(text, FINISHES.get(candidate.get("finishReason") or "", "stop"), usage, model, tuple(tokens))


def read_cohere(body: bytes) -> Completion:
    """Read a reply of Cohere, with the tokens that are billed. Raises ReplyError."""
    with protocols.reading(body, "none of Cohere") as reply:
        finish, counts = reply.get("finish_reason"), reply.get("usage") or {}
        if finish in ("ERROR", "TIMEOUT"):
            raise ReplyError("server_error", f"the reply ended with {finish!r}")
        text = protocols.text_of(reply["message"].get("content"))
        usage = usage_of(counts.get("billed_units") or counts.get("tokens"), "input_tokens", "output_tokens")
        return Completion(text, FINISHES.get(finish or "", "stop"), usage)


async def signer(provider: Provider, name: str, environment: Mapping[str, str]) -> Signer | None:
    """The signer of requests to a provider without a key, by the library of its vendor; None for other providers.

    Raises:
        MissingExtra: The library is not installed.
        UsageError: It finds no credentials.
    """
    find = {"bedrock": _aws_signer, "vertex": _google_signer}.get(provider.protocol)
    return await asyncio.to_thread(find, name, environment) if find else None


def _aws_signer(name: str, environment: Mapping[str, str]) -> Signer:
    """Signatures of AWS, version 4, with the credentials that AWS's own tools would find."""
    parts = ("botocore.auth", "botocore.awsrequest", "botocore.session")
    botocore = optional(f"{name} without AWS_BEARER_TOKEN_BEDROCK", "bedrock", "botocore", *parts)
    region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    if not region:
        raise UsageError(f"{name}: set AWS_REGION, which the signature of each request names")
    try:
        credentials = botocore.session.get_session().get_credentials()
    except Exception as error:
        raise UsageError(f"{name}: the credentials of AWS cannot be read: {error}") from error
    if credentials is None:
        raise UsageError(
            f"{name}: no credentials of AWS were found; set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
        )

    def signed(method: str, url: str, body: bytes) -> dict[str, str]:
        request = botocore.awsrequest.AWSRequest(method, url, {"Content-Type": "application/json"}, body)
        botocore.auth.SigV4Auth(credentials.get_frozen_credentials(), "bedrock", region).add_auth(request)
        return dict(request.headers.items())

    async def sign(method: str, url: str, body: bytes) -> dict[str, str]:
        return await _authenticated(name, signed, method, url, body)

    return sign


def _google_signer(name: str, _environment: Mapping[str, str]) -> Signer:
    """Access tokens of Google's application default credentials, fetched when the last one expires."""
    what = f"{name} without GOOGLE_OAUTH_ACCESS_TOKEN"
    auth = optional(what, "vertex", "google.auth", "google.auth.transport.requests")
    try:
        credentials, _ = auth.default(scopes=[_SCOPE])
    except Exception as error:
        raise UsageError(
            f"{name}: no credentials of Google were found; run gcloud auth application-default login, or set "
            f"GOOGLE_APPLICATION_CREDENTIALS or GOOGLE_OAUTH_ACCESS_TOKEN ({error})"
        ) from error
    refreshing = asyncio.Lock()

    async def sign(_method: str, _url: str, _body: bytes) -> dict[str, str]:
        async with refreshing:
            if not credentials.valid:
                await _authenticated(name, credentials.refresh, auth.transport.requests.Request())
        return {"Authorization": f"Bearer {credentials.token}"}

    return sign


async def _authenticated(name: str, act: Callable[..., T], *args: Any) -> T:
    """The result of a library's function, which may ask a server. Raises CallFailed, so that all further calls fail."""
    try:
        return await asyncio.to_thread(act, *args)
    except Exception as error:
        fault = f"{type(error).__name__}: {redacted(str(error)):.300}"
        detail = f"{name}: its credentials cannot be used: {fault}; log in again"
        raise CallFailed(Failure("unauthorized", detail), fatal=True) from error
