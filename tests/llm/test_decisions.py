"""Decisions endpoints as judges: questions shared out among requests, and what a refusal costs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.llm.deciding import BOTH, QUESTIONS, SYSTEMONE, ask, reply_to

from ragauge.judges.llm.decisions import DecisionsJudge, Dialect, completion_of
from ragauge.judges.llm.messages import CallFailed, Completion, Prompt
from ragauge.questions import Decompose, Entail, Question, Relevant
from ragauge.testing import check_judge
from ragauge.types import Failure, Label, Verdict


class Server:
    """A transport that answers at once, unless `refuses` gives a reason; it keeps what was sent."""

    name, settings = "some/model", (("base_url", "http://here/v1"),)

    def __init__(self, refuses: Callable[[dict[str, Any]], str | None] = lambda _: None) -> None:
        self.sent: list[dict[str, Any]] = []
        self._refuses = refuses

    async def __aenter__(self) -> Server:
        """Nothing to open."""
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Nothing to close."""

    async def complete(self, prompt: Prompt) -> Completion:
        """The reply to a request."""
        sent = json.loads(prompt.user)
        self.sent.append(sent)
        if refusal := self._refuses(sent):
            raise CallFailed(Failure(refusal, "refused by the test"), fatal=refusal == "quota")
        return completion_of(json.dumps(reply_to(sent)).encode())


@BOTH
def test_the_judge_keeps_its_contract(dialect: Dialect) -> None:
    """The contract test of judges passes, with odd texts and kinds that it does not claim."""
    check_judge(lambda: DecisionsJudge(Server(), dialect, "model"))
    assert DecisionsJudge(Server(), dialect, "model").identity.settings[-1] == ("base_url", "http://here/v1")


@BOTH
def test_a_sample_takes_one_request(dialect: Dialect) -> None:
    """All questions of a sample go together."""
    server = Server()
    ask(DecisionsJudge(server, dialect, "model"), QUESTIONS)
    assert len(server.sent) == 1


def test_a_request_carries_no_more_than_the_protocol_allows() -> None:
    """What goes beyond 64 questions goes into further requests, each with the sources it needs, and all is answered."""
    server = Server()
    questions = [Entail((f"chunk {n}", f"other {n}"), "claim") for n in range(50)]
    answers = ask(DecisionsJudge(server, SYSTEMONE, "model"), questions)
    assert {type(answer) for answer in answers} == {Verdict}
    assert [len(sent["questions"]) for sent in server.sent] == [64, 64, 22]
    assert len(json.loads(server.sent[2]["state"])["sources"]) == 15


def test_a_request_that_is_too_much_is_halved() -> None:
    """A server that takes one question at a time, and none about a bad chunk, leaves only that chunk's unanswered."""

    def refuses(sent: dict[str, Any]) -> str | None:
        if len(sent["questions"]) > 1:
            return "too_long"
        return "bad_request" if "bad" in sent["state"] else None

    questions: list[Question] = [Relevant("query", text) for text in ("one", "bad", "three")]
    one, bad, three = ask(DecisionsJudge(Server(refuses), SYSTEMONE, "model"), questions)
    assert one == three == Verdict(Label.YES, 0.7)
    assert bad == Failure("bad_request", "refused by the test")


def test_other_failures_are_the_failures_of_all() -> None:
    """A refusal that halving does not avoid is asked once, and is what each question fails with."""
    server = Server(lambda _: "unauthorized")
    answers = ask(DecisionsJudge(server, SYSTEMONE, "model"), [*QUESTIONS, Decompose("text")])
    reasons = [answer.reason for answer in answers if isinstance(answer, Failure)]
    assert reasons == ["unauthorized"] * 5 + ["no_judge"]
    assert len(server.sent) == 1
