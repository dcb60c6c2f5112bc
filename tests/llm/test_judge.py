"""The LLM judge: questions in, answers or typed failures out, whatever the model says."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.llm.models import Model, Reply, Till, failing, in_turn, perfect

from ragauge.errors import BadParameter, UsageError
from ragauge.judges.desk import Consulting, Expecting
from ragauge.judges.judge import Judge, checked
from ragauge.judges.llm.calls import CallFailed, Completion, Prompt, Usage
from ragauge.judges.llm.judge import LLMJudge
from ragauge.judges.llm.prices import Price
from ragauge.judges.llm.wire.form import THOUGHT
from ragauge.nouns.answers import Answer, Decomposition, Failure, Label, Verdict
from ragauge.nouns.scores import Share
from ragauge.questions import Classify, Decompose, Entail, Question, Relevant, kind
from ragauge.testing import PLAIN, check_judge, pack_agreement

CLAIMS: list[Question] = [Entail(("Ann has 3 cats.", "Bob has a dog."), f"Ann has {n} cats.") for n in range(1, 9)]
TEXT = Decompose("Ann has three cats. Bob has a dog.", "Who has what?")
PRICE = Price(1.0, 0.1, 2.0)


def ask(model: Model, questions: Sequence[Question], **options: Any) -> list[Answer | Failure]:
    """What a judge of that model answers."""
    return asyncio.run(LLMJudge(model, **options).answer(questions))


def consult(model: Model, questions: Sequence[Question], till: Till, **options: Any) -> list[Answer | Failure]:
    """What a judge of that model answers at a desk."""

    async def consulted() -> list[Answer | Failure]:
        async with LLMJudge(model, **options) as judge:
            return await judge.consult(questions, till)

    return asyncio.run(consulted())


def reasons(answers: Sequence[Answer | Failure]) -> list[str]:
    """The reason of each failure; "" for an answer."""
    return [answer.reason if isinstance(answer, Failure) else "" for answer in answers]


def without(*keys: str) -> Callable[[Prompt], str]:
    """A good reply but for these keys."""
    return lambda prompt: json.dumps(
        {key: said for key, said in json.loads(perfect(prompt)).items() if key not in keys}
    )


def cut(share: float = 0.6) -> Callable[[Prompt], str]:
    """A good reply that ends in the middle."""
    return lambda prompt: perfect(prompt)[: int(len(perfect(prompt)) * share)]


def never(word: str, reply: Reply) -> Callable[[Prompt], Reply]:
    """A model that does well unless a word is in the user's message."""
    return lambda prompt: reply if word in prompt.user else perfect(prompt)


def test_it_is_a_judge_that_consults_and_expects() -> None:
    """It has the members of a judge, of one that uses a desk, and of one that knows its calls beforehand."""
    judge = LLMJudge(Model())
    assert isinstance(judge, Judge)
    assert isinstance(judge, Consulting)
    assert isinstance(judge, Expecting)
    assert judge.by_sample > 1


def test_it_keeps_the_contract() -> None:
    """It passes the contract that anybody's judge can run, packed and alone."""
    check_judge(lambda: LLMJudge(Model()))
    check_judge(lambda: LLMJudge(Model(), pack="alone", rationales=False, quotes=True))
    assert LLMJudge(Model()).answers == {"decompose", "entail", "relevant", "classify", "rate"}


def test_packed_and_alone_can_be_compared() -> None:
    """The agreement of a judge with itself asking one thing a call is reported by kind."""
    told = pack_agreement(LLMJudge(Model()), LLMJudge(Model(), pack="alone"))
    assert told == {
        kind: Share(total, total) for kind, total in (("entail", 2), ("relevant", 2), ("classify", 1), ("rate", 3))
    }
    assert pack_agreement(LLMJudge(Model()), LLMJudge(Model(lambda prompt: "no"))) == {}


def test_a_wave_takes_as_few_calls_as_it_fits_in() -> None:
    """Texts to take apart go into one call, all verdicts into another; a question given twice is asked once."""
    model = Model()
    questions = [*CLAIMS, TEXT, *PLAIN[1:], *CLAIMS]
    answers = ask(model, questions)
    assert len(model.prompts) == 2
    assert answers[:8] == answers[-8:]
    assert [checked(question, answer) for question, answer in zip(questions, answers, strict=True)] == answers
    assert not any(reasons(answers))


def test_alone_asks_one_question_a_call() -> None:
    """With pack="alone" there are as many calls as questions."""
    model = Model()
    ask(model, [*CLAIMS, TEXT], pack="alone")
    assert len(model.prompts) == 9


def test_no_questions_no_calls() -> None:
    """Nothing asked, nothing sent."""
    model = Model()
    assert ask(model, []) == []
    assert model.prompts == []


def test_only_what_is_missing_is_asked_again() -> None:
    """What is right in a reply is kept; one re-ask quotes what is wrong, and asks for no more than that."""
    model = Model(in_turn(without("2", "5"), perfect))
    till = Till()
    assert not any(reasons(consult(model, CLAIMS, till)))
    first, second = model.prompts
    assert second.schema["required"] == ["2", "5"]
    assert '"5": the answer is missing' in second.turns[0].fault
    assert (second.system, second.user) == (first.system, first.user)
    assert [call.asked for call in till.calls] == [8, 2]
    assert till.answered == [[claim for claim in CLAIMS if claim not in (CLAIMS[1], CLAIMS[4])], [CLAIMS[1], CLAIMS[4]]]
    assert till.calls[0].fault == "invalid_answer: the answer is missing"
    assert till.calls[1].fault == ""


def test_the_first_good_answer_counts() -> None:
    """A re-ask that also changes what was not asked again changes nothing."""
    no = json.dumps({str(number): {"why": "", "label": "no"} for number in (1, 2)})
    model = Model(in_turn(json.dumps({"1": {"why": "", "label": "yes"}}), no))
    first, second = ask(model, [Classify("You fool.", "toxic"), Classify("Hello.", "toxic")])
    assert [answer.label for answer in (first, second) if isinstance(answer, Verdict)] == [Label.YES, Label.NO]


@pytest.mark.parametrize("finish", ["stop", "length"])
def test_a_reply_that_is_cut_keeps_its_whole_answers(finish: Any) -> None:
    """What is whole in a reply that ends in the middle is kept, and the rest is asked again."""
    model = Model(in_turn(lambda prompt: Completion(cut()(prompt), finish), perfect))
    till = Till()
    assert not any(reasons(consult(model, CLAIMS, till)))
    assert till.calls[0].fault.startswith("truncated" if finish == "length" else "invalid_answer")
    assert len(till.answered[0]) > 2
    assert sum(map(len, till.answered)) == 8


def test_a_reply_without_end_is_asked_for_in_halves() -> None:
    """A model that has room for a few answers a call gives all of them, without being asked for the same again."""
    model = Model(lambda prompt: Completion(perfect(prompt)[:300], "length" if len(perfect(prompt)) > 300 else "stop"))
    assert not any(reasons(ask(model, CLAIMS)))
    assert not any(prompt.turns for prompt in model.prompts)


def test_one_answer_without_end_is_a_failure() -> None:
    """A single answer that is cut off each time is told to be brief, tried anew, and then is a truncated failure."""
    model = Model(lambda prompt: Completion('{"T1": [{"s": 1', "length"))
    (failure,) = ask(model, [TEXT])
    assert isinstance(failure, Failure)
    assert (failure.reason, failure.raw) == ("truncated", '{"T1": [{"s": 1')
    assert "raise max_tokens" in failure.detail
    assert len(model.prompts) == 4


@pytest.mark.parametrize(
    ("reply", "reason", "calls"),
    [
        ("I would rather not say.", "invalid_answer", 18),
        (Completion("", "content_filter"), "content_filter", 9),
        (Completion("I cannot help with that.", "refusal"), "refused", 9),
        (failing("too_long"), "too_long", 9),
        (failing("content_filter"), "content_filter", 9),
    ],
)
def test_the_culprit_is_found(reply: Reply, reason: str, calls: int) -> None:
    """A question that the model will not answer, in whatever way, fails alone; the others of its pack are answered."""
    questions = [*CLAIMS, Entail(("Ann has 3 cats.",), "The poison is here.")]
    model = Model(never("poison", reply))
    answers = ask(model, questions)
    assert reasons(answers) == [""] * 8 + [reason]
    assert len(model.prompts) <= calls


def test_a_failure_keeps_the_reply() -> None:
    """A question that nothing helps has a failure with what was wrong and what the model said, cut to a page."""
    model = Model(lambda prompt: '{"1": {"label": "maybe", "why": "' + "x" * 10_000 + '"}}')
    (failure,) = ask(model, [Classify("Hello.", "toxic")])
    assert isinstance(failure, Failure)
    assert failure.reason == "invalid_answer"
    assert failure.detail.startswith('the answer has as its "label" some text, not one of yes, no')
    assert failure.raw is not None
    assert failure.raw.startswith('{"1": {"label": "maybe"')
    assert len(failure.raw) == 4000
    assert len(model.prompts) == 4


def test_a_call_that_fails_costs_its_questions() -> None:
    """A call without a reply fails its own questions, with its reason, and no others; it is not made again."""
    questions = [*CLAIMS, TEXT]
    model = Model(never('"texts"', failing("timeout")))
    assert reasons(ask(model, questions)) == [""] * 8 + ["timeout"]
    assert len(model.prompts) == 2


def test_an_error_of_the_transport_is_a_failure() -> None:
    """What a transport should not raise is a failure too."""
    (failure,) = ask(Model(lambda prompt: KeyError("oops")), [TEXT])
    assert failure == Failure("judge_error", "model: the call raised KeyError: 'oops'")


def test_calls_that_were_never_sent_are_not_recorded() -> None:
    """Where a transport knows beforehand that nobody answers, no call is recorded, no money stays set aside."""
    till = Till()
    known = CallFailed(Failure("quota", "spent"), fatal=True, sent=False)

    async def consulted() -> LLMJudge:
        async with LLMJudge(Model(lambda prompt: known), price=PRICE) as judge:
            assert judge.ended is None
            assert reasons(await judge.consult([*CLAIMS, TEXT], till)) == ["quota"] * 9
        return judge

    assert asyncio.run(consulted()).ended == known.failure
    assert (till.calls, till.open) == ([], [])
    assert till.reserved


def test_a_call_that_waited_for_its_money_is_not_made_after_the_end() -> None:
    """A judge that has ended while a call waited to be paid for sends it no more, and gives the money back."""

    class Slow(Till):
        async def reserve(self, dollars: float) -> bool:
            granted = await super().reserve(dollars)
            await asyncio.sleep(0.01 * len(self.reserved))
            return granted

    till, model = Slow(), Model(lambda prompt: failing("unauthorized", fatal=True))
    assert reasons(consult(model, [*CLAIMS, TEXT], till)) == ["unauthorized"] * 9
    assert (len(model.prompts), len(till.calls), till.open) == (1, 1, [])


def test_a_fatal_failure_ends_all_calls() -> None:
    """After a failure that no call escapes, further questions have it without one, until the judge is opened anew."""
    model = Model(in_turn(failing("unauthorized", fatal=True), perfect))

    async def answers() -> list[list[Answer | Failure]]:
        judge = LLMJudge(model)
        async with judge:
            found = [await judge.answer([TEXT]), await judge.answer(CLAIMS)]
        return [*found, await judge.answer([TEXT])]

    first, second, third = asyncio.run(answers())
    assert first == [Failure("unauthorized", "unauthorized, says the server")]
    assert second == first * 8
    assert not any(reasons(third))
    assert len(model.prompts) == 2


def test_a_call_that_may_not_be_paid_for_is_not_made() -> None:
    """Where the desk refuses, questions fail with max_cost, nothing is sent, and nothing is recorded."""
    till, model = Till(calls=1), Model(without("2"))
    answers = consult(model, CLAIMS, till)
    assert reasons(answers) == ["", "max_cost", "", "", "", "", "", ""]
    assert "max_cost" in str(answers[1])
    assert len(model.prompts) == len(till.calls) == 1
    assert till.open == []


def test_calls_are_recorded() -> None:
    """A record has a new id, what was asked, the server's counts and name, and the price of these."""
    till = Till()
    model = Model(
        in_turn("?", lambda prompt: Completion(perfect(prompt), usage=Usage(2000, 300, 1000), model="model-2"))
    )
    consult(model, CLAIMS, till, price=PRICE)
    first, second = till.calls
    assert first.id != second.id
    assert (first.model, first.asked, first.prompt_tokens, first.completion_tokens) == ("model-1", 8, 1000, 100)
    assert first.cost == pytest.approx((1000 * 1.0 + 100 * 2.0) / 1e6)
    assert second.cached_tokens == 1000
    assert second.cost == pytest.approx((1000 * 1.0 + 1000 * 0.1 + 300 * 2.0) / 1e6)
    assert first.fault.startswith("invalid_answer: the answer is missing")
    assert till.open == []
    assert min(till.reserved) > 0


def test_an_unknown_price_is_none() -> None:
    """Without a price nothing is reserved, and no cost is made up; the same where the server does not count."""
    till = Till()
    consult(Model(), CLAIMS, till)
    consult(Model(lambda prompt: Completion(perfect(prompt))), CLAIMS, till, price=PRICE)
    consult(Model(lambda prompt: failing("timeout")), CLAIMS, till, price=PRICE)
    consult(Model(lambda prompt: failing("bad_request")), CLAIMS, till, price=PRICE)
    assert [call.cost for call in till.calls] == [None, None, None, 0.0]
    assert till.reserved[0] == 0


def test_ids_are_unique_over_processes() -> None:
    """Two openings of a judge, as in two processes, number their calls apart."""
    till = Till()
    judge = LLMJudge(Model())

    async def twice() -> None:
        for _ in range(2):
            async with judge:
                await judge.consult(CLAIMS, till)
                await judge.consult(CLAIMS, till)

    asyncio.run(twice())
    assert len({call.id for call in till.calls}) == 4


def test_cancellation_passes_and_is_recorded() -> None:
    """A judge that is cancelled stops at once, and the calls under way are recorded as cancelled."""
    till = Till()

    class Slow(Model):
        async def complete(self, prompt: Prompt) -> Completion:
            self.prompts.append(prompt)
            await asyncio.sleep(3600)
            raise AssertionError

    async def cancelled() -> None:
        model = Slow()
        async with LLMJudge(model, price=PRICE) as judge:
            task = asyncio.ensure_future(judge.consult([*CLAIMS, TEXT], till))
            while len(model.prompts) < 2 and not task.done():
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.sleep(0)

    asyncio.run(cancelled())
    assert [(call.fault, call.cost) for call in till.calls] == [("cancelled", None)] * 2
    assert till.open == []


LONG = " ".join(f"Fact number {n} is that box {n} holds {n} stones." for n in range(1200))


def test_long_texts_are_judged_in_parts() -> None:
    """What is longer than the window is split, each part is sent, and the answers come back as one to the whole."""
    model, till = Model(), Till()
    questions: list[Question] = [
        Entail((LONG, "Boxes are blue."), "Box 1111 holds 1111 stones."),
        Relevant("Which box holds 700 stones?", LONG),
        Decompose(LONG),
    ]
    answers = consult(model, questions, till, context=8000)
    assert not any(reasons(answers))
    assert [checked(question, answer) for question, answer in zip(questions, answers, strict=True)] == answers
    assert len(model.prompts) > 5
    assert max(len(prompt.user) for prompt in model.prompts) < 16_000
    assert isinstance(answers[2], Decomposition)
    assert len(answers[2].statements) == 1200
    assert {question for answered in till.answered for question in answered} == set(questions)


def test_a_part_that_fails_fails_the_whole() -> None:
    """A question in parts has an answer only where each part has one."""
    (failure,) = ask(Model(never("number 1100 ", "?")), [Relevant("Which box?", LONG)], context=8000)
    assert isinstance(failure, Failure)
    assert failure.reason == "invalid_answer"


def test_what_the_server_finds_too_long_is_split() -> None:
    """A question that fits by our measure and not by the server's is asked in smaller parts."""
    model = Model(lambda prompt: failing("too_long") if len(prompt.user) > 9000 else perfect(prompt))
    answers = ask(model, [Relevant("Which box holds 700 stones?", LONG[:40_000]), *CLAIMS])
    assert not any(reasons(answers))
    hopeless = Model(lambda prompt: failing("too_long"))
    assert reasons(ask(hopeless, [Relevant("Which box?", LONG[:40_000])])) == ["too_long"]
    assert len(hopeless.prompts) < 8


def test_a_window_is_found_out_once() -> None:
    """What the server found too long is not sent again as long in the same run; the identity stays as it was."""
    model = Model(lambda prompt: failing("too_long") if len(prompt.user) > 9000 else perfect(prompt))
    judge = LLMJudge(model)
    identity = judge.identity
    texts = [Relevant("Which box holds 700 stones?", LONG[start : start + 30_000]) for start in range(3)]

    async def refused() -> list[int]:
        counts = []
        for _ in range(2):
            async with judge:
                for text in texts:
                    before = sum(len(prompt.user) > 9000 for prompt in model.prompts)
                    assert not any(reasons(await judge.answer([text])))
                    counts.append(sum(len(prompt.user) > 9000 for prompt in model.prompts) - before)
        return counts

    assert asyncio.run(refused()) == [2, 0, 0, 2, 0, 0]
    assert judge.identity == identity


def _partial_view(prompt: Prompt) -> str:
    """What a model says that takes each claim which it does not see among the sources for contradicted."""
    document, said = json.loads(prompt.user), {}
    for group in document["entail"]:
        seen = group["sources"]
        for key, claim in group["claims"].items():
            holding = [name for name in seen if claim in document["sources"][name]]
            label = "entailed" if holding else "contradicted"
            said[key] = {"why": "", "label": label, "supports": holding, "contradicts": []}
    return json.dumps(said)


@pytest.mark.parametrize("context", [None, 4000, 8000])
def test_a_copy_of_its_context_is_supported_however_that_is_split(context: int | None) -> None:
    """A text that is its own premise is entailed sentence by sentence, also where windows show a part of it each."""
    sentences = [f"{sentence}." for sentence in LONG.split(". ")[:300]]
    questions: list[Question] = [Entail((" ".join(sentences),), sentence) for sentence in sentences]
    answers = ask(Model(_partial_view), questions, context=context)
    assert {answer.label for answer in answers if isinstance(answer, Verdict)} == {Label.ENTAILED}
    assert not any(reasons(answers))


def test_thought_is_paid_for() -> None:
    """Calls to models that think are expected, and money is set aside for them, with THOUGHT tokens more each."""

    class Thinking(Model):
        name = "openai/o3-mini"

    plain, thinking, tills = LLMJudge(Model(), price=PRICE), LLMJudge(Thinking(), price=PRICE), (Till(), Till())
    for judge, till in zip((plain, thinking), tills, strict=True):
        asyncio.run(judge.consult(CLAIMS, till))
    (less,), (more,) = plain.expect(CLAIMS), thinking.expect(CLAIMS)
    assert more.completion_tokens == less.completion_tokens + THOUGHT
    assert tills[1].reserved[0] - tills[0].reserved[0] == pytest.approx(THOUGHT * PRICE.completion / 1e6, abs=2e-6)


def test_it_is_open_while_anybody_uses_it() -> None:
    """The transport is opened once and closed once however often the judge is entered in between."""
    model = Model()

    async def nested() -> None:
        judge = LLMJudge(model)
        async with judge, judge:
            await judge.answer(CLAIMS)
            assert (model.opened, model.closed) == (1, 0)
        assert (model.opened, model.closed) == (1, 1)
        await asyncio.gather(judge.answer(CLAIMS), judge.answer([TEXT]))

    asyncio.run(nested())
    assert (model.opened, model.closed) == (2, 2)


def test_what_is_missing_to_begin_is_told() -> None:
    """A missing key ends a run before it begins; a judge that is only asked has it as a failure."""

    class Keyless(Model):
        async def __aenter__(self) -> Model:
            raise UsageError("set MODEL_API_KEY to your key")

    async def entered() -> None:
        judge = LLMJudge(Keyless())
        for _ in range(2):
            with pytest.raises(UsageError, match="MODEL_API_KEY"):
                await judge.__aenter__()

    asyncio.run(entered())
    assert ask(Keyless(), [TEXT]) == [Failure("judge_error", "set MODEL_API_KEY to your key")]


def test_expected_calls_are_those_that_are_made() -> None:
    """What is expected without sending anything are the calls that good replies make it, with their price."""
    model, till = Model(), Till()
    questions = [*CLAIMS, Decompose(" ".join(TEXT.text for _ in range(20))), *PLAIN, Relevant("Which box?", LONG)]
    expected = LLMJudge(model, price=PRICE, context=8000).expect(questions)
    assert model.prompts == []
    consult(model, questions, till, price=PRICE, context=8000)
    assert [len(set(call.questions)) for call in expected] == [len(set(answered)) for answered in till.answered]
    assert all(
        call.cost and 0.6 * call.cost < reserved < 1.7 * call.cost
        for call, reserved in zip(expected, till.reserved, strict=True)
    )
    assert all(call.prompt_tokens > 100 and call.completion_tokens > 5 for call in expected)
    assert [call.cost for call in LLMJudge(model).expect(CLAIMS)] == [None]


def test_identity_tells_what_can_change_an_answer() -> None:
    """Model, prompts, packing and what answers carry are in the identity; equal settings are equal, also pickled."""
    judges = [
        LLMJudge(Model()),
        LLMJudge(Model(), pack="alone"),
        LLMJudge(Model(), rationales=False),
        LLMJudge(Model(), quotes=True),
        LLMJudge(Model(), context=8000),
    ]
    assert len({judge.identity for judge in judges}) == 5
    assert LLMJudge(Model(), price=PRICE).identity == judges[0].identity
    assert pickle.loads(pickle.dumps(judges[0].identity)) == judges[0].identity
    assert "prompts" in dict(judges[0].identity.settings)


@pytest.mark.parametrize("options", [{"pack": "sample"}, {"context": 2000}])
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    """A way of packing that there is not, and a window without room, are refused with what would do."""
    with pytest.raises(BadParameter, match=r"must be"):
        LLMJudge(Model(), **options)


def _mangled(draw: Callable[[st.SearchStrategy[Any]], Any], text: str) -> Reply:
    """A reply with something wrong in it."""
    sort = draw(st.sampled_from(["whole", "cut", "keys", "noise", "values", "failed", "end"]))
    if sort == "whole":
        return text
    if sort == "cut":
        return text[: draw(st.integers(0, len(text)))]
    if sort == "failed":
        return failing(draw(st.sampled_from(["timeout", "too_long", "content_filter", "bad_request"])))
    if sort == "noise":
        return str(draw(st.text(max_size=30)))
    said = json.loads(text)
    if sort == "keys":
        return json.dumps({draw(st.sampled_from([key, "0", "T9", "x"])): value for key, value in said.items()})
    if sort == "end":
        return Completion(text, draw(st.sampled_from(["stop", "length", "content_filter", "refusal"])))
    junk = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), st.lists, max_leaves=3)
    return json.dumps({key: draw(st.one_of(st.just(value), junk)) for key, value in said.items()})


@settings(max_examples=150)
@given(st.data())
def test_whatever_comes_back_every_question_ends(data: st.DataObject) -> None:
    """Any garbage leads to answers that fit or typed failures, in order, in at most four calls a question."""
    questions = data.draw(st.lists(st.sampled_from([*CLAIMS, TEXT, *PLAIN]), min_size=1, max_size=6, unique=True))
    model, till = Model(lambda prompt: _mangled(data.draw, perfect(prompt))), Till()
    answers = consult(model, questions, till, quotes=True)
    assert len(answers) == len(questions)
    for question, answer in zip(questions, answers, strict=True):
        assert checked(question, answer) is answer, (kind(question), answer)
        assert not isinstance(answer, Failure) or answer.detail
    assert len(model.prompts) <= 4 * len(questions)
    assert len(till.calls) == len(model.prompts)
    assert till.open == []
