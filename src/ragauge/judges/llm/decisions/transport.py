"""What carries requests to a decisions endpoint."""

from __future__ import annotations

from ragauge.judges.llm.calls import Completion, Prompt
from ragauge.judges.llm.decisions.messages import received
from ragauge.judges.llm.wire.client import HttpTransport


class DecisionsTransport:
    """A Transport whose prompts are requests: the user's message is the whole body, the reply's text the whole reply.

    path: of the endpoint, below the base URL.
    """

    def __init__(self, http: HttpTransport, path: str) -> None:
        self._http, self._path = http, path

    @property
    def name(self) -> str:
        """The model, as "provider/model"."""
        return self._http.name

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """What else can change a reply."""
        return self._http.settings

    def notes(self) -> list[str]:
        """What is to be said of how its calls went."""
        return self._http.notes()

    async def __aenter__(self) -> DecisionsTransport:
        """Open the session. Raises UsageError where the key or the address is missing; nothing is sent."""
        await self._http.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Close the session."""
        await self._http.__aexit__(*exc)

    async def complete(self, prompt: Prompt) -> Completion:
        """The reply to a request. Raises CallFailed."""
        reply = await self._http.post(self._path, prompt.user.encode())
        if reply.status != 200:
            raise self._http.failed(reply)
        return received(reply.body)
