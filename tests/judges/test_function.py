"""Judges made of functions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import ragauge as rg
from ragauge.errors import BadParameter, UnanswerableNeed
from ragauge.judges.base import Judge, checked
from ragauge.judges.function import FunctionJudge, judge_from
from ragauge.questions import COHERENCE, Classify, Correct, Decompose, Entail, Question, Rate, Relevant, Rubric
from ragauge.types import Answer, ChunkVerdict, Decomposition, Failure, Grade, Identity, Label, Statement, Verdict

E, N, C, X = Label.ENTAILED, Label.NEUTRAL, Label.CONTRADICTED, Label.NOT_ENTAILED


def ask(judge: FunctionJudge, question: Question) -> Answer | Failure:
    """What a judge answers to one question."""
    (answer,) = asyncio.run(judge.answer([question]))
    return answer


def failed(answer: Answer | Failure) -> Failure:
    """The answer, which must be a failure."""
    assert isinstance(answer, Failure)
    return answer


def test_it_is_a_judge() -> None:
    """A judge from functions has the members of a judge, and the kinds it has functions for."""
    judge = judge_from(entail=lambda p, h: True, rate=lambda rubric, **texts: 1)
    assert isinstance(judge, Judge)
    assert judge.answers == {"entail", "rate"}


def test_answers_come_in_the_order_of_the_questions() -> None:
    """Each question gets its own answer, whatever else is asked with it."""
    judge = judge_from(classify=lambda text, trait: text == trait, relevant=lambda query, text: query == text)
    questions: list[Question] = [Classify("a", "b"), Relevant("a", "a"), Classify("a", "a")]
    answers = asyncio.run(judge.answer(questions))
    assert answers == [Verdict(Label.NO), Verdict(Label.YES), Verdict(Label.YES)]


def test_entailment_is_asked_of_each_chunk_and_of_all_joined() -> None:
    """Several chunks are asked one by one and once together, joined by newlines."""
    calls: list[tuple[str, str]] = []

    def entail(premise: str, hypothesis: str) -> str:
        calls.append((premise, hypothesis))
        return "entailed" if hypothesis in premise else "neutral"

    answer = ask(judge_from(entail=entail), Entail(("a\nb", "c"), "b\nc"))
    assert answer == Verdict(E, chunks=(ChunkVerdict(N), ChunkVerdict(N)))
    assert calls == [("a\nb", "b\nc"), ("c", "b\nc"), ("a\nb\nc", "b\nc")]


def test_a_single_chunk_is_asked_once() -> None:
    """The label of a lone chunk is the joint label, at one call."""
    calls: list[str] = []

    def entail(premise: str, hypothesis: str) -> str:
        calls.append(premise)
        return "contradicted"

    assert ask(judge_from(entail=entail), Entail(("a",), "b")) == Verdict(C, chunks=(ChunkVerdict(C),))
    assert calls == ["a"]


def test_a_bool_is_a_two_way_label_and_shrinks_what_is_answered() -> None:
    """True and False mean supported or not; once they are seen, contradiction is no longer claimed."""
    judge = judge_from(entail=lambda premise, hypothesis: hypothesis in premise, classify=lambda text, trait: False)
    assert judge.answers == {"entail", "classify"}
    assert ask(judge, Entail(("a", "b"), "a")) == Verdict(E, chunks=(ChunkVerdict(E), ChunkVerdict(X)))
    assert ask(judge, Entail(("b",), "a")) == Verdict(X, chunks=(ChunkVerdict(X),))
    assert judge.answers == {"entail:support", "classify"}


def test_labels_keep_all_that_is_answered() -> None:
    """A function that answers with three labels goes on answering entailment three-way."""
    judge = judge_from(entail=lambda premise, hypothesis: Label.NEUTRAL)
    assert ask(judge, Entail(("a",), "b")) == Verdict(N, chunks=(ChunkVerdict(N),))
    assert judge.answers == {"entail"}


def test_asynchronous_functions() -> None:
    """Every function may be a coroutine function."""

    async def decompose(text: str) -> list[str]:
        await asyncio.sleep(0)
        return [text]

    async def entail(premise: str, hypothesis: str, *, query: str | None) -> bool:
        return query == "q"

    async def rate(rubric: str, **texts: str) -> float:
        return 3

    judge = judge_from(decompose=decompose, entail=entail, rate=rate)
    assert ask(judge, Decompose("a")) == Decomposition((Statement("a", (0, 1)),))
    assert ask(judge, Entail(("p",), "h", "q")) == Verdict(E, chunks=(ChunkVerdict(E),))
    assert ask(judge, Rate(COHERENCE, (("source", "s"), ("response", "r")))) == Grade(3.0)


class Recorder:
    """A callable object that takes the query."""

    def __init__(self) -> None:
        self.queries: list[str | None] = []

    def __call__(self, premise: str, hypothesis: str, query: str | None = None) -> bool:
        """Yes, always."""
        self.queries.append(query)
        return True


def test_the_query_is_passed_where_it_is_taken() -> None:
    """decompose and entail get the query if their signature has it, by name or among any keywords."""
    takers: dict[str, Callable[..., list[str]]] = {
        "nothing": lambda text: ["nothing"],
        "q": lambda text, query: [query],
        "q alone": lambda text, *, query=None: [f"{query} alone"],
        "query=q": lambda text, **more: [f"{name}={value}" for name, value in more.items()],
        "q last": lambda *texts, query: [f"{query} last"],
        "t": lambda query: [query],
    }
    for got, decompose in takers.items():
        answer = ask(judge_from(decompose=decompose), Decompose("t", "q"))
        assert isinstance(answer, Decomposition)
        assert [piece.text for piece in answer.statements] == [got]
    recorder = Recorder()
    ask(judge_from(entail=recorder), Entail(("a", "b"), "h", "q"))
    assert recorder.queries == ["q", "q", "q"]


def test_the_reference_is_passed_where_it_is_taken() -> None:
    """relevant gets the reference if its signature has it."""
    judge = judge_from(relevant=lambda query, text, reference="default": reference is None)
    assert ask(judge, Relevant("q", "t", "g")) == Verdict(Label.NO)
    assert ask(judge, Relevant("q", "t")) == Verdict(Label.YES)
    plain = judge_from(relevant=lambda query, text: True)
    assert ask(plain, Relevant("q", "t", "g")) == Verdict(Label.YES)


def test_a_rubric_is_graded_by_name_and_texts() -> None:
    """rate gets the name of the rubric and those of its texts that it takes."""
    judge = judge_from(rate=lambda rubric, response: 5 if (rubric, response) == ("coherence", "r") else 1)
    assert ask(judge, Rate(COHERENCE, (("source", "s"), ("response", "r")))) == Grade(5.0)


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (["ab", "cd"], [Statement("ab", (0, 2)), Statement("cd", (3, 5))]),
        ([("ab", "opinion")], [Statement("ab", (0, 2), claim=False, opinion=True)]),
        ([("ab", "both")], [Statement("ab", (0, 2), claim=True, opinion=True)]),
        ([("ab", "neither")], [Statement("ab", (0, 2), claim=False, opinion=False)]),
        ([("ab", "claim")], [Statement("ab", (0, 2))]),
        (["ab", "ab"], [Statement("ab", (0, 2)), Statement("ab", (6, 8))]),
        (["cd", "ab"], [Statement("cd", (3, 5)), Statement("ab", (6, 8))]),
        (["ab", "ab", "ab"], [Statement("ab", (0, 2)), Statement("ab", (6, 8)), Statement("ab", (0, 2))]),
        (["rewritten", "cd"], [Statement("rewritten"), Statement("cd", (3, 5))]),
        ([], []),
        ((), []),
    ],
)
def test_statements_find_their_places(pieces: list[Any], expected: list[Statement]) -> None:
    """A statement that stands in the text gets its span, looked for behind the one before; a rewritten one has none."""
    judge = judge_from(decompose=lambda text: pieces)
    assert ask(judge, Decompose("ab cd ab")) == Decomposition(tuple(expected))


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        (True, Verdict(Label.RIGHT)),
        ((False, 0.2), Verdict(Label.WRONG, 0.2)),
        ("partly", Verdict(Label.PARTLY)),
        (("right", 0.9), Verdict(Label.RIGHT, 0.9)),
        (Verdict(Label.UNDECIDED, rationale="no year"), Verdict(Label.UNDECIDED, rationale="no year")),
    ],
)
def test_a_function_says_whether_an_answer_is_right(reply: Any, verdict: Verdict) -> None:
    """It is given the answer and its references, and the query if it takes that."""
    given: list[object] = []

    def correct(response: str, references: tuple[str, ...], query: str | None) -> Any:
        given.extend([response, references, query])
        return reply

    assert ask(judge_from(correct=correct), Correct("q", "a", ("r", "s"))) == verdict
    assert given == ["a", ("r", "s"), "q"]


@pytest.mark.parametrize(
    ("kind", "reply", "question", "wanted"),
    [
        ("decompose", "one text", Decompose("t"), "must return a list"),
        ("decompose", None, Decompose("t"), "must return a list"),
        ("decompose", [5], Decompose("t"), "must return texts"),
        ("decompose", [("t", "fact")], Decompose("t"), "kind one of"),
        ("decompose", [("t", "claim", 1)], Decompose("t"), "must return texts"),
        ("entail", "yes", Entail(("p",), "h"), "must return a bool, or 'entailed'"),
        ("entail", "not_entailed", Entail(("p",), "h"), "must return a bool, or 'entailed'"),
        ("entail", None, Entail(("p",), "h"), "must return a bool"),
        ("entail", 1, Entail(("p",), "h"), "must return a bool"),
        ("entail", [True], Entail(("p",), "h"), "must return a bool"),
        ("relevant", "yes", Relevant("q", "t"), "must return a bool"),
        ("relevant", 0.7, Relevant("q", "t"), "must return a bool"),
        ("classify", None, Classify("t", "toxic"), "must return a bool"),
        ("correct", "yes", Correct("q", "a", ("r",)), "must return a bool, or 'right'"),
        ("correct", None, Correct("q", "a", ("r",)), "must return a bool"),
        ("rate", "4", Rate(COHERENCE, (("response", "r"),)), "must return a number"),
        ("rate", True, Rate(COHERENCE, (("response", "r"),)), "must return a number"),
    ],
)
def test_an_unusable_reply_is_a_failure_that_shows_it(kind: str, reply: Any, question: Question, wanted: str) -> None:
    """What a function must not return becomes a failure with the rule it broke and the reply itself."""
    answer = failed(ask(judge_from(**{kind: lambda *args: reply}), question))  # type: ignore[arg-type]
    assert answer.reason == "invalid_answer"
    assert wanted in answer.detail
    assert repr(reply[0] if kind == "decompose" and isinstance(reply, list) else reply)[:20] in answer.detail
    assert answer.raw


@pytest.mark.parametrize("grade", [0, 6, 3.5, float("nan"), float("inf")])
def test_a_grade_off_the_scale_does_not_pass(grade: float) -> None:
    """A number that is no grade of the rubric is refused when the answer is checked."""
    question = Rate(COHERENCE, (("source", "s"), ("response", "r")))
    answer = ask(judge_from(rate=lambda rubric, **texts: grade), question)
    assert failed(checked(question, answer)).reason == "invalid_answer"


def test_an_exception_is_a_failure_and_costs_only_its_question() -> None:
    """A function that raises fails its question with the exception's kind and words; the others are answered."""

    def classify(text: str, trait: str) -> bool:
        if text == "bad":
            raise ConnectionError("no route")
        return True

    questions: list[Question] = [Classify("bad", "toxic"), Classify("good", "toxic")]
    first, second = asyncio.run(judge_from(classify=classify).answer(questions))
    assert failed(first) == Failure("judge_error", "classify() raised ConnectionError: no route")
    assert second == Verdict(Label.YES)


def test_a_kind_without_a_function_is_a_failure() -> None:
    """A judge that is asked what it has no function for fails, and does not raise."""
    assert failed(ask(judge_from(entail=lambda p, h: True), Decompose("t"))).reason == "judge_error"


def test_a_judge_needs_a_function() -> None:
    """A judge without any function is refused with what to give."""
    with pytest.raises(BadParameter, match="at least one function"):
        judge_from()


@pytest.mark.parametrize("given", ["entailed", 5])
def test_what_cannot_be_called_is_refused(given: Any) -> None:
    """Something that is no function is refused when the judge is made."""
    with pytest.raises(BadParameter, match="entail= must be a function"):
        judge_from(entail=given)


def test_a_function_without_a_signature_is_called_plainly() -> None:
    """A function without a readable signature gets its arguments by position and nothing else."""
    answer = ask(judge_from(classify=min), Classify("a", "toxic"))
    assert "must return a bool, not 'a'" in failed(answer).detail


def test_a_name_is_the_whole_identity() -> None:
    """With a name the identity is that name, whatever the functions are."""
    assert judge_from(entail=lambda p, h: True, name="mine").identity == Identity("mine")
    assert judge_from(entail=lambda p, h: False, name="mine").identity == Identity("mine")


def test_without_a_name_the_functions_are_the_identity() -> None:
    """Without a name the identity has one setting for each function, and differs where they do."""

    def yes(premise: str, hypothesis: str) -> bool:
        return True

    def no(premise: str, hypothesis: str) -> bool:
        return False

    one, same, other = (judge_from(entail=function).identity for function in (yes, yes, no))
    assert one == same != other
    assert (one.name, [kind for kind, _ in one.settings]) == ("function", ["entail"])


def test_asynchronous_functions_answer_side_by_side() -> None:
    """Several questions are under way at once; the answers keep their order."""
    under_way, most = 0, 0

    async def entail(premise: str, hypothesis: str) -> bool:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.001)
        under_way -= 1
        return hypothesis in premise

    judge = judge_from(entail=entail, name="slow")
    questions = [Entail(("a b",), word) for word in ("a", "x", "b")]
    answers = asyncio.run(judge.answer(questions))
    assert [answer.label for answer in answers if isinstance(answer, Verdict)] == [
        "entailed",
        "not_entailed",
        "entailed",
    ]
    assert most == 3
    assert judge.batch > 1


@pytest.mark.parametrize(
    ("reply", "label", "probability"),
    [
        ((True, 0.9), "entailed", 0.9),
        (("contradicted", 0.1), "contradicted", 0.1),
        (Verdict(Label.NEUTRAL, 0.4), "neutral", 0.4),
        (numpy.bool_(True), "entailed", None),
    ],
)
def test_a_reply_may_come_with_its_probability(reply: object, label: str, probability: float | None) -> None:
    """An answer alone, with its probability, or a Verdict are all understood."""
    (answer,) = asyncio.run(judge_from(entail=lambda premise, hypothesis: reply).answer([Entail(("p",), "h")]))
    assert isinstance(answer, Verdict)
    assert (answer.label, answer.probability) == (label, probability)


def test_a_rating_function_is_told_what_it_rates() -> None:
    """A function that names them gets the wording and the ends of the scale, beside the texts."""
    seen: list[object] = []

    def rate(rubric: str, *, wording: str, low: float, high: float, **texts: str) -> float:
        seen.extend((rubric, wording, low, high, texts))
        return high

    assert ask(judge_from(rate=rate), Rate(COHERENCE, (("source", "s"), ("response", "r")))) == Grade(5)
    assert seen == ["coherence", COHERENCE.wording, 1, 5, {"source": "s", "response": "r"}]


@pytest.mark.parametrize("metric", ['criterion("It promises no refund",0-1)', 'policy("Promise no refund.")'])
def test_a_function_that_is_not_told_the_rule_is_refused(metric: str) -> None:
    """Rules and criteria, which share a rubric's name, are not graded by a function that does not know which it is."""
    judge = judge_from(rate=lambda rubric, **texts: 1, name="blind/1")
    with pytest.raises(UnanswerableNeed, match=r"blind/1 does not answer rate:.*; let its function take wording="):
        rg.evaluate([{"query": "q", "response": "I promise a refund."}], metric, judge)
    assert failed(ask(judge, Rate(Rubric("policy", ("response",), 0, 1, "?"), (("response", "r"),)))).reason
