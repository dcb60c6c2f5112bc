"""Metrics of calls of tools: which calls are right, well formed and needed, and how often all runs of a task pass."""

from __future__ import annotations

import gzip
import json
from itertools import combinations, permutations
from math import comb
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragauge as rg
from ragauge.errors import MissingField
from ragauge.types import ToolCall, Turn

FIND = ToolCall("find_order", {"email": "a@b.c"}, result='{"id": 7}')
CANCEL = ToolCall("cancel_order", {"id": 7, "refund": True}, result="ok")
REFUND = ToolCall("refund", {"amount": 20})


def run_of(*made: ToolCall, expected: tuple[ToolCall, ...] = (), **more: Any) -> rg.Sample:
    """A sample with calls that were made and that should have been."""
    fields = {"id": "1", "tool_calls": made, "reference_tool_calls": expected, **more}
    return rg.Sample(**fields)


def values(sample: rg.Sample, spec: str = "tool_calls(match=all)") -> list[float | str | None]:
    """Precision, recall, F1 and success, or why one is undefined."""
    scores = rg.score(sample, spec)
    return [score.undefined if score.value is None else score.value for score in scores.values()]


def test_calls_are_compared_as_values_of_json() -> None:
    """1 and 1.0 are equal, 1 and true and "1" are not; the order of names and the ids of calls do not count."""
    expected = ToolCall("f", {"a": 1, "b": {"c": [2.0], "d": None}}, id="x")
    same = ToolCall("f", {"b": {"d": None, "c": [2]}, "a": 1.0}, id="y")
    assert values(run_of(same, expected=(expected,))) == [1, 1, 1, 1]
    for other in (True, "1"):
        assert values(run_of(ToolCall("f", {"a": other}), expected=(ToolCall("f", {"a": 1}),)))[3] == 0


def test_calls_that_only_read_are_left_out() -> None:
    """By default the calls that change something count; reads=, a column, the call or MCP's hint says which do not."""
    find, cancel = {"name": "find_order", "arguments": {}}, {"name": "cancel_order", "arguments": {"id": 7}}
    row = {"query": "?", "response": "!", "tool_calls": [find, cancel], "reference_tool_calls": [cancel]}
    hints = [
        {"name": "find_order", "annotations": {"readOnlyHint": True}},
        {"name": "cancel_order", "annotations": {"readOnlyHint": False}},
    ]
    for more, spec in (
        ({}, 'tool_calls(reads="find_*"+"get_*")'),
        ({"read_only_tools": ["find_order"]}, "tool_calls"),
        ({"tools": hints}, "tool_calls"),
        ({"tool_calls": [{**find, "effect": False}, {**cancel, "effect": True}], "tools": hints}, "tool_calls"),
    ):
        scores = rg.score({**row, **more}, spec)
        assert [score.value for score in scores.values()] == [1, 1, 1, 1], (more, spec)
    assert values(run_of(FIND, CANCEL, expected=(CANCEL,))) == [0.5, 1, pytest.approx(2 / 3), 0]


def test_without_a_declaration_effects_are_undefined() -> None:
    """Where nothing says whether a tool only reads, no score is made up, and the reason says what to write."""
    scores = rg.score(run_of(FIND, expected=(CANCEL,)), "tool_calls")
    for score in scores.values():
        assert score.value is None
        assert "'find_order' only reads" in (score.undefined or "")
        assert "reads=get_*" in (score.undefined or "")


def test_a_call_that_failed_has_no_effect() -> None:
    """A call that ended with an error changed nothing, so that the repeated one that succeeded is the only one."""
    failure = ToolCall("cancel_order", CANCEL.arguments, error="timeout")
    assert values(run_of(failure, CANCEL, expected=(CANCEL,)), "tool_calls(reads=find_*)") == [1, 1, 1, 1]
    score = rg.score(run_of(failure, CANCEL, REFUND), "failed_calls")["failed_calls"]
    assert (score.counts, score.evidence[0].rationale) == ((1, 2), "timeout")
    silent = rg.score(run_of(REFUND), "failed_calls")["failed_calls"]
    assert silent.undefined == "the data do not say what the calls returned"


def test_nothing_to_do_and_nothing_done_is_a_success() -> None:
    """Without calls made and expected F1 and success are 1, precision and recall undefined; one extra call is a 0."""
    assert values(run_of()) == ["no tool was called", "no call was expected", 1, 1]
    assert values(run_of(REFUND)) == [0, "no call was expected", 0, 0]
    assert values(run_of(expected=(REFUND,))) == ["no tool was called", 0, 0, 0]


def test_each_call_counts_in_its_own_turn() -> None:
    """Per turn, calls of earlier turns are not counted again, though their results are what was said before."""

    def turn(id: int, result: str) -> list[Any]:
        call = {"name": "find", "args": {"id": id}, "id": f"c{id}"}
        made = [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "content": result}] if id else []
        return [{"role": "user", "content": "Find 7."}, *made, {"role": "assistant", "content": "So."}]

    chat = [*turn(7, "Error: late"), *turn(7, "it is 8"), *turn(0, ""), *turn(8, "ok")]
    metrics = "failed_calls,repeated_calls,steps(0),argument_support"
    run = rg.evaluate([{"messages": chat}], metrics, per="turn")
    for key, expected in (
        ("failed_calls", [1, 0, None, 0]),
        ("repeated_calls", [0, 0, None, 0]),
        ("steps", [0, 0, 1, 0]),
        ("argument_support", [1, 1, None, 1]),
    ):
        assert [scores[key].value for scores in run.scores] == expected, key
    assert "turn" not in run.record.unread


def said(user: str, assistant: str = "", *calls: str) -> list[dict[str, Any]]:
    """A request and its answer, with calls of these tools."""
    made = [{"role": "assistant", "tool_calls": [{"name": call, "args": {}}]} for call in calls]
    answer = [{"role": "assistant", "content": assistant}] if assistant else []
    return [{"role": "user", "content": user}, *made, *answer]


def test_expected_calls_are_those_of_the_whole_conversation() -> None:
    """Per turn they are compared where there is one answer alone; elsewhere the reason says what to do, as an error."""
    several = {"messages": [*said("a?", "A.", "f"), *said("b?", "B.", "g"), *said("Thanks!", "Bye.")]}
    several["expected_tools"] = [{"name": "f"}, {"name": "g"}]
    single = {"messages": [{"role": "system", "content": "Be kind."}, *said("a?", "A.", "f")]}
    single["expected_tools"] = [{"name": "f"}]
    metric, key = "tool_calls(match=all)", "tool_calls.success"
    assert [scores[key].value for scores in rg.evaluate([several, single], metric).scores] == [1, 1]
    scores = [scores[key] for scores in rg.evaluate([several, single], metric, per="turn").scores]
    assert [score.value for score in scores] == [None, None, None, 1]
    assert "leave --per turn out" in (scores[2].undefined or "")
    with pytest.raises(MissingField, match=r"no sample has 'reference_tool_calls' .*; leave --per turn out$"):
        rg.evaluate([several], metric, per="turn")


def test_each_turn_keeps_the_rules_or_not() -> None:
    """Per turn a rule is judged by its answer and calls, with what came before; of silence nothing is said."""

    def rate(name: str, *, wording: str, **texts: str) -> float:
        asked.append(texts)
        return float("refund" not in list(texts.values())[-1])

    asked: list[dict[str, str]] = []
    chat = [*said("Hm?", "I promise a refund.", "look"), *said("Thanks!", "Bye.", "close")]
    rows = [{"messages": chat}, {"messages": [{"role": "system", "content": "Be kind."}, *said("Hello?")]}]
    judge, metric = rg.judge_from(rate=rate), 'policy("Never promise a refund.\n")'
    expected: list[tuple[Literal["turn"] | None, list[int | None]]] = [(None, [0, None]), ("turn", [0, 1, None])]
    for per, values in expected:
        scores = [scores["policy"] for scores in rg.evaluate(rows, metric, judge, per=per).scores]
        assert [score.value for score in scores] == values
        assert scores[-1].undefined == "the assistant says and does nothing"
    before = "User: Hm?\n\nAssistant: I promise a refund.\n\nUser: Thanks!\n\nCall: look()"
    assert asked[-1] == {"conversation": before, "response": "Bye.\n\nCall: close()"}


def test_a_turn_is_graded_by_its_own_criteria() -> None:
    """Per turn a criterion is asked of the answer, apart from what was said before."""
    chat = [*said("Hm?", "I promise a refund."), *said("Thanks!", "Bye.")]
    rows = [{"messages": chat, "criteria": ["Promises no refund"]}]
    judge = rg.judge_from(rate=lambda name, conversation, wording: float("refund" not in conversation))
    apart = rg.judge_from(rate=lambda name, conversation, response, wording: float("refund" not in response))
    assert rg.evaluate(rows, "criteria", judge).estimates["criteria"].value == 0
    assert rg.evaluate(rows, "criteria", apart, per="turn").estimates["criteria"].value == 1


def test_order_and_arguments_count_as_they_are_asked_to() -> None:
    """in_order counts as many as keep the order, exact those at their place; arguments name what is compared."""
    swapped = run_of(REFUND, FIND, CANCEL, expected=(FIND, CANCEL, REFUND))
    assert values(swapped)[2] == 1
    assert values(swapped, "tool_calls(match=all,order=in_order)")[2] == pytest.approx(2 / 3)
    assert values(swapped, "tool_calls(match=all,order=exact)")[2] == 0
    more = run_of(CANCEL, expected=(ToolCall("cancel_order", {"id": 7}),))
    assert [
        values(more, f"tool_calls(match=all,arguments={how})")[2] for how in ("equal", "subset", "id", "refund")
    ] == [0, 1, 1, 0]
    assert values(more, "tool_calls(match=names)")[2] == 1


def test_an_argument_that_is_null_is_not_one_that_is_absent() -> None:
    """A call that differs by an extra argument of null is not the expected one."""
    made, expected = ToolCall("f", {"a": 1, "b": None}), ToolCall("f", {"a": 1})
    score = rg.score(run_of(made, expected=(expected,)), "tool_calls(match=all)")["tool_calls.f1"]
    assert score.evidence[1].rationale == "missing; made as f(a=1, b=null)"


def test_evidence_names_missing_and_extra_calls() -> None:
    """Each call that was made is shown, then the missing ones, with how the tool was called instead."""
    late = ToolCall("cancel_order", {"id": 8, "refund": True})
    score = rg.score(run_of(late, REFUND, expected=(CANCEL, REFUND, FIND)), "tool_calls(match=all)")["tool_calls.f1"]
    shown = [(piece.field, piece.label, piece.rationale) for piece in score.evidence]
    assert shown == [
        ("tool_calls[0]", rg.Label.NO, "not expected"),
        ("tool_calls[1]", rg.Label.YES, None),
        ("reference_tool_calls[0]", rg.Label.NO, "missing; made as cancel_order(id=8, refund=true)"),
        ("reference_tool_calls[2]", rg.Label.NO, "missing"),
    ]
    assert score.evidence[2].text == "cancel_order(id=7, refund=true) → ok"


CALLS = st.lists(
    st.builds(
        ToolCall,
        st.sampled_from("fg"),
        st.dictionaries(st.sampled_from("ab"), st.integers(0, 1), max_size=2),
    ),
    max_size=4,
).map(tuple)


@given(CALLS, CALLS)
def test_as_many_calls_are_paired_as_can_be(made: tuple[ToolCall, ...], expected: tuple[ToolCall, ...]) -> None:
    """With arguments=subset the pairs are the most of all assignments, and in order, of all increasing ones."""
    fits = [
        [wanted.name == call.name and wanted.arguments.items() <= call.arguments.items() for call in made]
        for wanted in expected
    ]
    size = min(len(made), len(expected))
    for order, places in (("any", permutations), ("in_order", combinations)):
        best = max(
            (
                sum(fits[wanted][call] for wanted, call in zip(chosen, calls, strict=True))
                for chosen in combinations(range(len(expected)), size)
                for calls in places(range(len(made)), size)
            ),
            default=0,
        )
        if order == "in_order" and size:  # fewer pairs than the shorter list has may keep the order
            best = max(
                sum(fits[wanted][call] for wanted, call in zip(chosen, calls, strict=True))
                for number in range(1, size + 1)
                for chosen in combinations(range(len(expected)), number)
                for calls in combinations(range(len(made)), number)
            )
        recall = values(run_of(*made, expected=expected), f"tool_calls(match=all,arguments=subset,order={order})")[1]
        assert recall == (pytest.approx(best / len(expected)) if expected else "no call was expected")


def test_valid_calls_are_those_that_the_offered_tools_allow() -> None:
    """A call is valid if its tool is offered and the JSON Schema allows the arguments; the evidence says why not."""
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    offered = ({"name": "cancel_order", "parameters": schema}, {"name": "refund"})
    sample = run_of(CANCEL, ToolCall("cancel_order", {"id": "seven"}), REFUND, FIND, tools=offered)
    score = rg.score(sample, "valid_calls")["valid_calls"]
    assert score.counts == (2, 4)
    assert [piece.rationale for piece in score.evidence] == [
        None,
        "$.id: 'seven' is not of type 'integer'",
        None,
        "no such tool is offered",
    ]


def test_a_tool_without_a_schema_fails_the_score() -> None:
    """What is no JSON Schema is an error with its reason, not a number."""
    sample = run_of(CANCEL, tools=({"name": "cancel_order", "parameters": {"type": 7}},))
    assert "7 is not valid" in (rg.score(sample, "valid_calls")["valid_calls"].failed or "")


def test_the_calls_of_earlier_turns_belong_to_the_run() -> None:
    """Calls of earlier turns come first; a call repeats an earlier equal one, and steps counts all of them."""
    before = (Turn("user", "Where is my order?"), Turn("assistant", "Here.", calls=(FIND,)))
    sample = run_of(FIND, CANCEL, turns=before)
    score = rg.score(sample, "repeated_calls")["repeated_calls"]
    assert score.counts == (1, 3)
    assert (score.evidence[1].field, score.evidence[1].rationale) == ("tool_calls[0]", "as turns[1].calls[0]")
    assert [rg.score(sample, f"steps({n})")["steps"].value for n in (2, 3)] == [0, 1]


@pytest.mark.parametrize(("cell", "value"), [(1, 1), (0.25, 0.25), (True, 1), ("passed", 1), (" No ", 0), ("1.0", 1)])
def test_outcome_reads_numbers_and_words(cell: object, value: float) -> None:
    """The outcome of a run is a number or a word in a column."""
    assert rg.score({"response": "", "outcome": cell}, "outcome")["outcome"].value == value


def test_an_outcome_that_is_none_fails_with_its_column() -> None:
    """Another word, or a number off the scale, is a failure that names the column or the scale."""
    failed = rg.score({"response": "", "reward": "maybe"}, "outcome(reward)")["outcome"].failed or ""
    assert "the column 'reward' holds 'maybe'" in failed
    assert "off its scale" in (rg.score({"response": "", "outcome": 3}, "outcome")["outcome"].failed or "")


def trials(*passes: tuple[int, int]) -> list[dict[str, Any]]:
    """Rows of tasks, each with so many passes in so many runs."""
    return [
        {"id": f"{task}.{run}", "response": "", "group": f"task {task}", "outcome": run < passed}
        for task, (passed, runs) in enumerate(passes)
        for run in range(runs)
    ]


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(1, 5)).filter(lambda pair: pair[0] <= pair[1]), min_size=1, max_size=5
    ),
    st.integers(1, 4),
)
def test_pass_all_is_the_share_of_draws_that_all_pass(tasks: list[tuple[int, int]], k: int) -> None:
    """It is the mean over the tasks of the share of draws of k runs that all pass; tasks of fewer runs are left out."""
    shares = []
    for passed, runs in tasks:
        draws = list(combinations([run < passed for run in range(runs)], k))
        shares += [sum(map(all, draws)) / len(draws)] if draws else []
    estimate = rg.evaluate(trials(*tasks), f"pass_all({k})").estimates[f"pass_all({k},outcome)"]
    assert estimate.value == (pytest.approx(sum(shares) / len(shares)) if shares else None)
    assert estimate.n == sum(runs for _, runs in tasks if runs >= k)
    assert estimate.undefined == sum(runs for _, runs in tasks if runs < k)
    assert estimate.low is None or estimate.low <= (estimate.value or 0) <= (estimate.high or 0)


def test_tasks_of_too_few_trials_are_named() -> None:
    """The run says why trials are missing from the value."""
    run = rg.evaluate(trials((1, 1), (2, 2)), "pass_all(2)")
    assert run.record.undefined == {"pass_all(2,outcome)": "too few trials in its group"}


def test_pass_all_of_any_metric_is_compared_between_runs() -> None:
    """Two runs are compared task by task, by a metric that is named."""
    fast = rg.evaluate(trials((4, 4), (3, 4), (0, 4)), "pass_all(2,outcome),pass_all(2,max_words(0))")
    slow = rg.evaluate(trials((2, 4), (2, 4), (0, 4)), "pass_all(2,outcome),pass_all(2,max_words(0))")
    differences = rg.compare(fast, slow).differences
    one = differences["pass_all(2,outcome)"]
    assert [one.a, one.b] == pytest.approx([(1 + comb(3, 2) / 6) / 3, 2 / 6 / 3])
    assert one.difference == pytest.approx((one.b or 0) - (one.a or 0))
    assert one.n == 3
    assert differences["pass_all(2,max_words(n=0))"].a == 1


def test_a_group_of_compare_leaves_the_tasks_of_pass_all() -> None:
    """`compare(group=...)` says what is drawn together: the value stays that of tasks, and its interval widens."""
    columns = [{"doc": str(task // 2), "try": str(trial)} for task in range(12) for trial in range(2)]
    runs = []
    for passed in ([2, 2, 0, 0] * 3, [1, 1, 0, 0, 2, 2] * 2):
        rows = trials(*((count, 2) for count in passed))
        runs.append(
            rg.evaluate([row | column for row, column in zip(rows, columns, strict=True)], "pass_all(2),outcome")
        )
    (a, b), key = runs, "pass_all(2,outcome)"
    by_task, by_doc = (rg.compare(a, b, group=group).differences[key] for group in (None, "doc"))
    assert (by_doc.a, by_doc.b, by_doc.n) == (by_task.a, by_task.b, 12) == (1 / 2, 1 / 3, 12)
    assert by_doc.method != by_task.method
    assert (by_doc.high or 0) - (by_doc.low or 0) > (by_task.high or 0) - (by_task.low or 0)
    split = rg.compare(a, b, group="try")
    assert list(split.differences) == ["outcome"]
    assert split.left_out[key] == "tasks, the groups of the runs, have samples in several groups of 'try'"
    with pytest.raises(rg.errors.UsageError, match="cannot be compared: tasks"):
        rg.compare(a, b, key, group="try")


def test_pass_all_says_what_it_takes() -> None:
    """A number of runs that is none, or a metric that samples do not have, is refused with an example."""
    for spec in ("pass_all(0)", "pass_all(many)", "pass_all(2,outcome,3)"):
        with pytest.raises(rg.errors.UsageError, match="pass_all"):
            rg.evaluate(trials((1, 2)), spec)
    with pytest.raises(rg.errors.UnknownName):
        rg.evaluate(trials((1, 2)), "pass_all(2,tool_calls)")


@pytest.mark.shared
def test_tau_bench_has_its_published_pass_all(shared: Path) -> None:
    """The shared half of tau-bench's runs of gpt-4o on airline tasks has the pass^k that its code computes."""
    with gzip.open(shared / "data" / "eval" / "agent_taubench_airline.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    kept = [{"id": row["id"], "group": row["group"], "response": "", "outcome": row["outcome"]} for row in rows]
    run = rg.evaluate(kept, [f"pass_all({k})" for k in (1, 2, 3, 4)])
    assert [round(estimate.value or 0, 3) for estimate in run.estimates.values()] == [0.398, 0.242, 0.193, 0.182]


def entails(premise: str, hypothesis: str) -> str:
    """A judge that looks for the words before the full stop, and for a failure of the tool that they name."""
    words = hypothesis.strip(".").split()
    if all(word in premise for word in words):
        return "entailed"
    return "contradicted" if words[0] in premise and "error" in premise else "neutral"


JUDGE: dict[str, Any] = {"entail": rg.judge_from(entail=entails), "*": "embedded"}


def test_a_claimed_action_that_failed_is_contradicted_by_its_call() -> None:
    """What the agent says that it did is judged by its calls, each of which is a chunk of the evidence."""
    failed = ToolCall("cancel_order", {"id": 7}, error="not cancellable")
    sample = run_of(FIND, failed, response="cancel_order is ok.\nfind_order.", query="Cancel order 7")
    score = rg.score(sample, "faithfulness(against=calls,units=sentences)", JUDGE)["faithfulness"]
    assert score.counts == (1, 2)
    wrong = score.evidence[0]
    assert (wrong.against, wrong.label) == ("calls", rg.Label.CONTRADICTED)
    assert [(chunk.chunk, chunk.label) for chunk in wrong.chunks] == [
        ("tool_calls[0]", rg.Label.NEUTRAL),
        ("tool_calls[1]", rg.Label.CONTRADICTED),
    ]


def test_what_is_said_without_a_call_is_unsupported() -> None:
    """A message of an agent that called nothing has no support, and no question is asked."""
    run = rg.evaluate([run_of(response="I have cancelled it.")], "faithfulness(against=calls,units=sentences)", JUDGE)
    assert run.estimates["faithfulness"].value == 0
    assert run.record.asked == 0


def test_the_goal_is_reached_as_far_as_calls_and_response_show_it() -> None:
    """Of the claims of the best reference outcome, those count that a call or the response shows."""
    sample = run_of(FIND, CANCEL, response="done.", references=("cancel_order done. refund paid.", "paid."))
    assert rg.score(sample, "goal", {**JUDGE, "decompose": "lexical"})["goal"].value == 0.5


def test_arguments_must_have_been_said_before_the_call() -> None:
    """A value that the user or a tool gave before counts, one that only the agent or a later tool gave does not."""
    turns = (Turn("user", "My mail is A@b.c"), Turn("assistant", "Order 8, 20 euros?", calls=(FIND,)))
    sample = run_of(CANCEL, REFUND, query="Refund TRUE now", turns=turns)
    score = rg.score(sample, "argument_support", JUDGE)["argument_support"]
    assert [(piece.text, piece.label) for piece in score.evidence] == [
        ("find_order: email is a@b.c", rg.Label.ENTAILED),
        ("cancel_order: id is 7", rg.Label.ENTAILED),
        ("cancel_order: refund is true", rg.Label.ENTAILED),
        ("refund: amount is 20", rg.Label.NEUTRAL),
    ]
    assert score.counts == (3, 4)
    assert (score.evidence[0].judgment, bool(score.evidence[3].judgment)) == ("", True)
    assert rg.score(run_of(ToolCall("now")), "argument_support", JUDGE)["argument_support"].undefined


def test_calls_are_measured_by_default_where_there_are_some() -> None:
    """Rows with calls are measured by the metrics that ask no judge, and no note says that calls are not measured."""
    call = {"name": "refund", "arguments": {"amount": 20}, "effect": True, "result": "ok"}
    run = rg.evaluate([{"query": "?", "response": "Done.", "tool_calls": [call], "reference_tool_calls": [call]}])
    values = [run.estimates[key].value for key in ("failed_calls", "repeated_calls", "tool_calls.success")]
    assert values == [0, 0, 1]
    assert "Calls of tools" not in str(run)


def test_missing_columns_of_calls_are_named() -> None:
    """Data without calls are refused with the names of the columns that may hold them."""
    with pytest.raises(
        rg.errors.MissingField,
        match=r"no sample has 'reference_tool_calls' \(the calls that should",
    ):
        rg.evaluate([{"query": "?", "response": "!"}], "tool_calls")
    with pytest.raises(rg.errors.MissingField, match="--map tool_calls=COLUMN"):
        rg.evaluate([{"query": "?", "response": "!"}], "failed_calls")


def test_trajectories_of_tau_bench_are_read_as_they_are() -> None:
    """The calls of all turns, the expected actions, the task as the group and the reward need no option."""
    call = {"id": "c1", "type": "function", "function": {"name": "cancel", "arguments": '{"id": 7}'}}
    trajectory = [
        {"role": "user", "content": "Cancel order 7."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "name": "cancel", "content": "ok"},
        {"role": "assistant", "content": "It is cancelled."},
        {"role": "user", "content": "###STOP###"},
    ]
    task = {"user_id": "ann", "actions": [{"name": "cancel", "kwargs": {"id": 7}}]}
    rows = [
        {"task_id": 4, "trial": trial, "reward": reward, "info": {"task": task}, "traj": trajectory}
        for trial, reward in enumerate((1.0, 0.0))
    ]
    run = rg.evaluate(
        rows, "tool_calls(reads=get_*),pass_all(2,outcome(reward)),pass_all(2,tool_calls(reads=get_*).f1)"
    )
    assert run.estimates["tool_calls.success"].value == 1
    assert run.estimates["pass_all(2,outcome(column=reward))"].value == 0
    assert run.estimates["pass_all(2,tool_calls(reads=get_*).f1)"].value == 1


RULES = "# Refunds\n\n- Refund no more than 100 euros.\n2. Greet the customer.\n"


def test_a_policy_is_judged_rule_by_rule(tmp_path: Path) -> None:
    """Each line of a file is a rule, held against what was said and the calls that were made."""
    file = tmp_path / "rules.md"
    file.write_text(RULES)
    seen: list[str] = []

    def rate(rubric: str, conversation: str, wording: str) -> float:
        seen.append(conversation)
        return float("euros" in wording)

    row = {"query": "Money!", "response": "Done.", "tool_calls": [{"name": "refund", "arguments": {"euros": 90}}]}
    score = rg.score(row, f"policy({file})", rg.judge_from(rate=rate))["policy"]
    assert score.value == 0.5
    assert [piece.text for piece in score.evidence] == ["Refund no more than 100 euros.", "Greet the customer."]
    assert seen[0] == "User: Money!\n\nAssistant: Done.\n\nCall: refund(euros=90)"


def test_rules_may_be_written_in_the_metric() -> None:
    """Texts in quotation marks that are no files are rules, and what a list of rules quotes is none."""
    judge = rg.judge_from(rate=lambda rubric, conversation, wording: float("refund" not in wording), name="blind/1")
    for rules in (
        '"Promise no refund."+"Greet the customer."',
        '"- Promise no refund.\n> a note\n- Greet the customer."',
    ):
        score = rg.score({"query": "Money!", "response": "Hi."}, f"policy({rules})", judge)["policy"]
        assert {piece.text: piece.value for piece in score.evidence} == {
            "Promise no refund.": 0,
            "Greet the customer.": 1,
        }


@pytest.mark.parametrize(
    ("rules", "fault"),
    [("nowhere.md", "cannot be read"), ("my rules.md", "cannot be read"), ("# Rules\n\n", "holds no rule")],
)
def test_a_policy_without_rules_is_refused(rules: str, fault: str) -> None:
    """One line says what is wrong before anything is asked."""
    with pytest.raises(rg.errors.BadParameter, match=fault):
        rg.metrics.registry.metric_named("policy")(rules=rules)
