"""The judge that puts questions to a decisions endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Protocol

from ragauge.errors import UsageError
from ragauge.judges.llm.calls import CallFailed
from ragauge.judges.llm.decisions.asks import Ask, Said, Sheet
from ragauge.judges.llm.decisions.dialects import Dialect
from ragauge.judges.llm.decisions.messages import Reply, digest, read, request
from ragauge.judges.llm.wire.client import Reply as Response
from ragauge.nouns.answers import Answer, Failure
from ragauge.nouns.identity import Identity
from ragauge.questions import Question

#: How often an ask is put to the model before its answer counts as unusable.
TRIES = 3

#: What is wrong with a request may be wrong with one ask of it, and halves are shorter.
_DIVISIBLE = frozenset({"too_long", "bad_request"})


class Carrier(Protocol):
    """What carries requests to a server, as `HttpTransport` does."""

    @property
    def name(self) -> str:
        """The model, as "provider/model"."""

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """What else can change a reply."""

    async def __aenter__(self) -> Carrier:
        """Open what it needs; it may be entered more than once. Raises UsageError where something is missing."""

    async def __aexit__(self, *exc: object) -> None:
        """Close it, where it is left as often as it was entered."""

    async def post(self, path: str, body: bytes) -> Response:
        """The reply to JSON posted to a path below the base URL. Raises CallFailed."""

    def failed(self, reply: Response) -> CallFailed:
        """What to raise for an error reply."""


class DecisionsJudge:
    """A judge whose answers are the probabilities of a decisions endpoint; it cannot take texts apart.

    carrier: to the server. dialect: the protocol that the server speaks. model: as the server knows it.
    """

    answers = frozenset({"entail", "relevant", "classify", "rate"})
    by_sample = 256

    def __init__(self, carrier: Carrier, dialect: Dialect, model: str) -> None:
        self._carrier, self._dialect, self._model = carrier, dialect, model
        settings = (("dialect", dialect.name), ("wording", digest(dialect)), *carrier.settings)
        self.identity = Identity(f"decisions:{carrier.name}", settings)

    async def __aenter__(self) -> DecisionsJudge:
        """Open the connection. Raises UsageError where the key or the address is missing."""
        await self._carrier.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Close the connection."""
        await self._carrier.__aexit__(*exc)

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """Answers with probabilities, in as few requests as the protocol allows. Does not raise."""
        sheet = Sheet(questions)
        starts = range(0, len(sheet.asks), self._dialect.most)
        packs = [sheet.asks[start : start + self._dialect.most] for start in starts]
        try:
            async with self:
                parts = await asyncio.gather(*(self._said(pack, sheet.sources) for pack in packs))
        except UsageError as error:
            return [Failure("judge_error", str(error))] * len(questions)
        return sheet.answers({ask: said for part in parts for ask, said in part.items()})

    async def _said(self, asks: list[Ask], sources: Mapping[str, str], tries: int = TRIES) -> dict[Ask, Said | Failure]:
        """What is said to each ask. Those without a usable answer are put again, a refused request in halves."""
        try:
            reply = await self._call(asks, sources)
        except CallFailed as failed:
            if failed.failure.reason not in _DIVISIBLE or len(asks) == 1:
                return dict.fromkeys(asks, failed.failure)
            middle = len(asks) // 2
            halves = (self._said(half, sources, tries) for half in (asks[:middle], asks[middle:]))
            one, other = await asyncio.gather(*halves)
            return one | other
        said = dict(zip(asks, reply.said, strict=True))
        unusable = [ask for ask, heard in said.items() if isinstance(heard, Failure) and heard.reason != "refused"]
        return said | await self._said(unusable, sources, tries - 1) if unusable and tries > 1 else said

    async def _call(self, asks: Sequence[Ask], sources: Mapping[str, str]) -> Reply:
        """One call, the tokens of which are in the reply's `usage`. Raises CallFailed."""
        response = await self._carrier.post(self._dialect.path, request(self._dialect, self._model, sources, asks))
        if response.status != 200:
            raise self._carrier.failed(response)
        return read(self._dialect, response.body, asks)
