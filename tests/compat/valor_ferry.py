"""A response as Valor has them, and who judges it."""

from __future__ import annotations

import json
import threading
from urllib.request import Request, urlopen

import ragauge as rg
from ragauge.compat.valor import Context, QueryResponse

FERRY = QueryResponse(
    query="When does the ferry leave, and how long does it take?",
    response="The ferry leaves at nine. It takes 40 minutes.",
    context=Context(
        groundtruth=["The ferry leaves at nine.", "The ferry leaves at nine and takes 40 minutes."],
        prediction=["The ferry leaves the harbour at nine.", "The ferry takes 40 minutes.", "Gulls are white."],
    ),
)


class Client:
    """A client as people write them for Valor: it posts the messages to a server. most: calls that it had at once."""

    model_name = "my-model"

    def __init__(self, url: str) -> None:
        self.calls = self.most = 0
        self._url, self._busy, self._lock = url, 0, threading.Lock()

    def __call__(self, messages: list[dict[str, str]]) -> str:
        """What the server replies."""
        with self._lock:
            self.calls, self._busy = self.calls + 1, self._busy + 1
            self.most = max(self.most, self._busy)
        body = json.dumps({"model": self.model_name, "messages": messages}).encode()
        with urlopen(Request(f"{self._url}/chat/completions", body, {"Content-Type": "application/json"})) as reply:
            text: str = json.load(reply)["choices"][0]["message"]["content"]
        with self._lock:
            self._busy -= 1
        return text


def judge(*statements: str, kind: str = "both") -> rg.judges.Judge:
    """A judge who finds the same statements in every text, and says yes to all but entailment."""
    return rg.judge_from(
        decompose=lambda text: [(statement, kind) for statement in statements],
        entail=lambda premise, hypothesis: "entailed" if hypothesis in premise else "neutral",
        relevant=lambda query, text: True,
        classify=lambda text, trait: True,
        rate=lambda rubric, **texts: 4,
        name="always",
    )
