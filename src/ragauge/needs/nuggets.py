"""Needs about what an answer should hold: nuggets with the share of each that is given, criteria, rules of a policy."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Annotated, cast

import msgspec

from ragauge.host import read_file
from ragauge.needs.base import Checks, Grades, Need, NothingToCount, QuestionFlow, Statements, Support, gather, need
from ragauge.needs.checks import graded_text
from ragauge.needs.entailment import history, response_of, support
from ragauge.needs.gold import gold_answers
from ragauge.questions import Decompose, Entail, Rate, Relevant, Rubric
from ragauge.scores import Evidence
from ragauge.text.overlap import token_f1
from ragauge.types import Sample, Statement, ToolCall, Verdict


@dataclass(frozen=True)
class NuggetCredits:
    """For each nugget the share of its claims that the response entails, and how much the nugget counts."""

    credits: tuple[float, ...]
    weights: tuple[float, ...]
    evidence: tuple[Evidence, ...]


@need(reads=["response", "answers"], asks=["decompose", "entail:support"])
def nuggets_in_response(sample: Sample) -> QuestionFlow[NuggetCredits]:
    """How much of each gold claim does the response give? By the best of its wordings."""
    answers, turns = gold_answers(sample), history(sample)
    weights = sample.answer_weights or (1.0,) * len(answers)
    if len(weights) != len(answers):
        raise ValueError(f"{len(weights)} weights for {len(answers)} answers")
    wordings = [(claim, text) for claim, texts in enumerate(answers) for text in texts]
    judgments = yield [Decompose(text, sample.query, turns) for _, text in wordings]
    response = [("response", response_of(sample))]
    flows = []
    for (claim, text), judgment in zip(wordings, judgments, strict=True):
        parts = Statements.of("answers", judgment).claims.pieces or (Statement(text),)
        pieces = tuple(Statement(part.text) for part in parts)
        flows.append(support(Statements(f"answers[{claim}]", pieces), "response", response, sample.query, turns))
    best: dict[int, Support] = {}
    for (claim, _), table in zip(wordings, (yield from gather(flows)), strict=True):
        best[claim] = max(best.get(claim, table), table, key=_credit)
    evidence = tuple(piece for table in best.values() for piece in table.evidence)
    return NuggetCredits(tuple(map(_credit, best.values())), weights, evidence)


def _credit(table: Support) -> float:
    return sum(table.entailed) / len(table)


@dataclass(frozen=True)
class MetCriteria(Grades):
    """Whether the response meets each criterion. points: what each is worth."""

    points: tuple[float, ...]


_IS_CRITERION_MET = (
    "Does the response meet the criterion? 1: it does, in full. 0: it does not, or not in full. A criterion that "
    "describes a fault is met where the response has that fault. The criterion: "
)


@need(reads=["response", "criteria"], asks=["rate:criterion"])
def criteria_met(sample: Sample) -> QuestionFlow[MetCriteria]:
    """Which of its criteria does the response meet?"""
    criteria = sample.criteria or ()
    if not any(criterion.points > 0 for criterion in criteria):
        raise NothingToCount("no criterion of the sample has points above 0")
    fields = ("query", "response") if sample.query else ("response",)
    texts = _said(sample) if sample.turns else tuple((field, graded_text(sample, field)) for field in fields)
    judgments = yield [
        Rate(Rubric("criterion", tuple(dict(texts)), 0, 1, f"{_IS_CRITERION_MET}{criterion.text}", whole=True), texts)
        for criterion in criteria
    ]
    pieces = tuple(
        Evidence(f"{criterion.text} ({criterion.points:+g})", f"criteria[{i}]", against="response")
        for i, criterion in enumerate(criteria)
    )
    return MetCriteria(pieces, tuple(judgments), tuple(criterion.points for criterion in criteria))


def _said(sample: Sample, earlier_calls: str = "", calls: str = "") -> tuple[tuple[str, str], ...]:
    """The whole conversation; where the sample is one of its turns, the response apart from what was said before it."""
    if not sample.is_turn:
        return (("conversation", graded_text(sample, "conversation") + calls),)
    before = graded_text(msgspec.structs.replace(sample, response=None), "conversation")
    return ("conversation", before + earlier_calls), ("response", (sample.response or "") + calls)


_IS_RULE_KEPT = (
    "Does the agent keep the rule, by what it says and by the calls of tools that it makes? 1: it does, or the rule "
    "does not apply here. 0: it breaks it. The rule: "
)

_OF_THE_RESPONSE = "Judge the response alone; the conversation is what was said and done before it. "

#: What stands before a rule in a list.
_BULLET = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s+")


@cache
def policy_kept(
    rules: Annotated[tuple[str, ...], "a file of rules, one a line, or rules in words, joined by +"],
) -> Need[Grades]:
    """Which rules does the agent keep? Raises ValueError where the file cannot be read, or holds none."""
    lines = [line.strip() for text in rules for line in _lines_of(text)]
    wordings = [_BULLET.sub("", line, count=1) for line in lines if line and not line.startswith(("#", ">"))]
    if rules and not wordings:
        raise ValueError(f"{' and '.join(rules)!r} holds no rule; write one a line")

    def flow(sample: Sample) -> QuestionFlow[Grades]:
        counted = sample.counted_calls
        answers = [turn.text for turn in sample.turns or () if turn.role == "assistant" and not sample.is_turn]
        if not counted and not "".join((*answers, sample.response or "")).strip():
            raise NothingToCount("the assistant says and does nothing")
        earlier = [call for place, call in sample.calls.items() if place not in counted]
        texts = _said(sample, _listed(earlier), _listed(counted.values()))
        fields = tuple(dict(texts))
        wording = f"{_OF_THE_RESPONSE if sample.is_turn else ''}{_IS_RULE_KEPT}"
        rubrics = [Rubric("policy", fields, 0, 1, f"{wording}{rule}", whole=True) for rule in wordings]
        judgments = yield [Rate(rubric, texts) for rubric in rubrics]
        return Grades(tuple(Evidence(rule, "policy", against=fields[-1]) for rule in wordings), tuple(judgments))

    digest = hashlib.sha256("\n".join(wordings).encode()).hexdigest()[:8]
    return Need(f"policy_kept({digest})", ("response or tool_calls or turns",), frozenset({"rate:policy"}), flow)


def _listed(calls: Iterable[ToolCall]) -> str:
    return "".join(f"\n\nCall: {call.passage}" for call in calls)


def _lines_of(rules: str) -> list[str]:
    """The lines of a file, or of a text that is no file: it has several lines, or words and no ending such as .md."""
    try:
        return rules.splitlines() if "\n" in rules else read_file(Path(rules)).splitlines()
    except OSError as error:
        if " " in rules and not re.search(r"\.\w+\Z", rules):
            return [rules]
        fix = 'give a file of rules, one a line, or a rule in words, as in policy("Never promise a refund.")'
        raise ValueError(f"{rules!r} cannot be read: {error.strerror}; {fix}") from error


#: What a nugget is worth to an answer.
NUGGET = Rubric(
    "nugget",
    ("query", "response"),
    0,
    2,
    "How much does a good answer to the query need to say this? 2: vital, an answer without it is incomplete. "
    "1: okay, good to have. 0: not needed.",
    whole=True,
)

#: The least token F1 of two statements that a judge is asked to compare, since they may say the same.
_MIN_SHARED_F1 = 0.4


@need(
    reads=["query", "references or contexts or reference_contexts"],
    asks=["decompose", "relevant", "entail:support", "rate:nugget"],
)
def nuggets_of_question(sample: Sample) -> QuestionFlow[Grades]:
    """What should an answer say? Claims of the references and of relevant chunks, each once, with its worth."""
    query = sample.query or ""
    field = "contexts" if sample.contexts else "reference_contexts"
    chunks = {chunk.passage: f"{field}[{i}]" for i, chunk in enumerate(getattr(sample, field) or ())}
    relevant = Checks((), tuple((yield [Relevant(query, passage) for passage in chunks])))
    useful = [passage for passage, is_useful in zip(chunks, relevant.passed, strict=True) if is_useful]
    texts = [text for text in sample.references or () if text.strip()]
    places = [f"references[{i}]" for i, _ in enumerate(texts)] + [chunks[passage] for passage in useful]
    judgments = yield [Decompose(text, query) for text in (*texts, *useful)]
    stated = [
        (claim.text, place)
        for place, judgment in zip(places, judgments, strict=True)
        for claim in Statements.of(place, judgment).claims.pieces
    ]
    from_texts = dict(reversed(stated))
    distinct = list(dict.fromkeys(claim for claim, _ in stated))
    relevant = Checks((), tuple((yield [Relevant(query, claim) for claim in distinct])))
    kept = [claim for claim, is_useful in zip(distinct, relevant.passed, strict=True) if is_useful]
    nuggets = yield from _once_each(kept)
    if not nuggets:
        raise NothingToCount("neither references nor contexts say anything that helps to answer the query")
    grades = yield [Rate(NUGGET, (("query", query), ("response", nugget))) for nugget in nuggets]
    pieces = tuple(Evidence(nugget, from_texts[nugget], against="query") for nugget in nuggets)
    return Grades(pieces, tuple(grades))


def _once_each(claims: Sequence[str]) -> QuestionFlow[list[str]]:
    """The claims without those that say the same as an earlier one: each follows from the other."""
    pairs = [pair for pair in combinations(claims, 2) if token_f1(pair[0], [pair[1]]) >= _MIN_SHARED_F1]
    judgments = yield [Entail((premise,), claim) for pair in pairs for premise, claim in (pair, pair[::-1])]
    follows = [cast(Verdict, judgment.answer).entailed for judgment in judgments]
    repeated: set[str] = set()
    for (first, second), both_follow in zip(pairs, zip(follows[::2], follows[1::2], strict=True), strict=True):
        if all(both_follow) and first not in repeated:
            repeated.add(second)
    return [claim for claim in claims if claim not in repeated]
