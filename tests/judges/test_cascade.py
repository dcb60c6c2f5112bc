"""The cascade: what is accepted, what is escalated, and its notes."""

from __future__ import annotations

import asyncio
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.judges.saying import Open, Priced, Saying, Says

import ragauge as rg
from ragauge.errors import BadData, BadParameter, UnknownName
from ragauge.judges.composite import Cascade, Panel, confidence, fit_thresholds
from ragauge.judges.embedded.judge import EmbeddedJudge
from ragauge.judges.function import judge_from
from ragauge.questions import (
    CONCISENESS,
    KINDS,
    Classify,
    Decompose,
    Entail,
    Judgment,
    Question,
    Rate,
    Relevant,
    judgment_key,
)
from ragauge.store import Store, label
from ragauge.testing import check_judge
from ragauge.types import Answer, ChunkVerdict, Decomposition, Failure, Grade, Label, Verdict

E, N = Label.ENTAILED, Label.NEUTRAL
CLAIM = Entail(("p",), "h")
CONCISE = Rate(CONCISENESS, (("query", "q"), ("response", "r")))
MIXED: list[Question] = [Decompose("t"), CLAIM, Relevant("q", "t"), Classify("t", "toxic"), CONCISE]

chances = st.none() | st.floats(0, 1)
claims = st.lists(st.builds(Entail, st.just(("p",)), st.text(min_size=1)), unique=True, max_size=8)


def answer_of(question: Question, chance: float | None) -> Answer:
    """An answer that fits, with a probability where it has one."""
    answers: dict[str, Answer] = {
        "decompose": Decomposition(()),
        "entail": Verdict(E, chance),
        "relevant": Verdict(Label.YES, chance),
        "classify": Verdict(Label.YES, chance),
        "rate": Grade(1 if chance is None else chance),
    }
    return answers[question.kind]


def at(chance: float | None) -> Says:
    """Answers everything, verdicts with this probability."""
    return lambda question: answer_of(question, chance)


def ask(cascade: Cascade, *questions: Question) -> list[Answer | Failure]:
    """The cascade's answers."""
    return list(asyncio.run(cascade.answer(questions)))


@pytest.mark.parametrize(
    ("answer", "sure"),
    [
        (Verdict(E, 0.9), 0.9),
        (Verdict(N, 0.2), 0.8),
        (Verdict(E, 0.9, (ChunkVerdict(E, 0.99), ChunkVerdict(N, 0.4))), 0.6),
        (Verdict(E, 0.9, (ChunkVerdict(E, 0.99), ChunkVerdict(N))), 0.9),
        (Verdict(E), 0.0),
        (Grade(1), 0.0),
        (Decomposition(()), 0.0),
        (Failure("down"), 0.0),
    ],
)
def test_confidence_is_that_of_the_least_sure_label(answer: Answer | Failure, sure: float) -> None:
    """It is max(p, 1 - p), the least of all labels, and nothing where one of them has no probability."""
    assert confidence(answer) == pytest.approx(sure)


def test_what_is_unsure_goes_up() -> None:
    """The first's verdicts stand from the threshold on; the second is asked the rest and nothing else."""
    sure, edge, unsure, failed = (Entail(("p",), name) for name in ("sure", "edge", "unsure", "failed"))
    message: dict[Question, Answer | Failure] = {
        sure: Verdict(N, 0.05),
        edge: Verdict(E, 0.9),
        unsure: Verdict(E, 0.89),
        failed: Failure("down"),
    }
    second = Saying("second", Verdict(N, 0.5))
    answers = ask(Cascade(Saying("first", message.__getitem__), second, 0.9), *message)
    assert answers == [Verdict(N, 0.05), Verdict(E, 0.9), Verdict(N, 0.5), Verdict(N, 0.5)]
    assert second.asked == [unsure, failed]


@given(claims, st.lists(chances, min_size=8, max_size=8), st.floats(1, 10, exclude_min=True))
def test_above_one_it_is_the_second(questions: list[Entail], chances: list[float | None], threshold: float) -> None:
    """Above a threshold of 1 it answers as the second alone, whatever the first is sure of."""
    by_question = dict(zip(questions, chances, strict=False))
    first = Saying("first", lambda question: Verdict(E, by_question[question]))  # type: ignore[index]
    assert ask(Cascade(first, Saying("second", Verdict(N)), threshold), *questions) == [Verdict(N)] * len(questions)


@given(claims, st.lists(chances, min_size=8, max_size=8))
def test_at_nothing_it_is_the_first(questions: list[Entail], chances: list[float | None]) -> None:
    """With a threshold of 0 every verdict of the first stands, and the second is asked none."""
    by_question = dict(zip(questions, chances, strict=False))
    first = Saying("first", lambda question: Verdict(E, by_question[question]))  # type: ignore[index]
    second = Saying("second", Verdict(N))
    expected = [Verdict(E, by_question[question]) for question in questions]
    assert ask(Cascade(first, second, 0), *questions) == expected
    assert second.asked == []


@given(chances, st.floats(0, 1), st.floats(0, 1))
def test_a_higher_threshold_sends_more_up(chance: float | None, one: float, other: float) -> None:
    """What goes up at a threshold goes up at every higher one."""
    low, high = sorted((one, other))
    kept = [ask(Cascade(Saying("a", Verdict(E, chance)), Saying("b", Verdict(N)), t), CLAIM)[0] for t in (low, high)]
    assert kept != [Verdict(N), Verdict(E, chance)]


def test_grades_and_texts_go_up_unasked() -> None:
    """What has no confidence is for the second; the first is not even asked."""
    first, second = Saying("first", at(0.99)), Saying("second", at(0.5))
    answers = ask(Cascade(first, second, 0.9), *MIXED)
    assert answers == [answer_of(question, 0.99 if question in MIXED[1:4] else 0.5) for question in MIXED]
    assert first.asked == MIXED[1:4]
    assert second.asked == [MIXED[0], MIXED[4]]


def test_thresholds_by_kind() -> None:
    """A kind that is not named goes up."""
    first, second = Saying("first", at(0.95)), Saying("second", at(0.5))
    answers = ask(Cascade(first, second, {"entail": 0.9, "relevant": 0.96}), *MIXED)
    assert answers[1:4] == [Verdict(E, 0.95), Verdict(Label.YES, 0.5), Verdict(Label.YES, 0.5)]
    assert first.asked == MIXED[1:3]


def test_what_only_one_can_answer_that_one_answers() -> None:
    """The first keeps what the second cannot answer, sure or not; the second has what the first cannot."""
    first, second = Saying("first", at(0.6), "decompose", "entail"), Saying("second", at(0.5), "classify", "rate")
    cascade = Cascade(first, second, 0.9)
    assert cascade.answers == {"decompose", "entail", "classify", "rate"}
    answers = ask(cascade, *MIXED)
    assert answers[:2] == [Decomposition(()), Verdict(E, 0.6)]
    assert answers[2] == Failure("unanswerable", "neither judge of the cascade answers relevant")
    assert answers[3:] == [Verdict(Label.YES, 0.5), Grade(0.5)]


def test_it_is_two_way_if_one_is() -> None:
    """A cascade promises no more than its weaker member tells."""
    two_way, full = Saying("two-way", at(1), "entail:support"), Saying("full", at(1))
    assert Cascade(two_way, full, 0.9).answers == Cascade(full, two_way, 0.9).answers
    assert Cascade(two_way, full, 0.9).answers == {*KINDS, "entail:support"} - {"entail"}


def test_failures_of_the_second_stand() -> None:
    """An unsure answer of the first is not taken in the place of a Failure of the second."""
    assert ask(Cascade(Saying("a", at(0.6)), Saying("b", Failure("down")), 0.9), CLAIM) == [Failure("down")]


def test_where_the_money_ends_nothing_goes_up() -> None:
    """A first judge that may not spend more does not hand over to a dearer one."""
    second = Saying("second", at(1))
    assert ask(Cascade(Saying("a", Failure("max_cost")), second, 0.9), CLAIM) == [Failure("max_cost")]
    assert second.asked == []


def test_an_answer_that_does_not_fit_goes_up() -> None:
    """A sure probability on the wrong label is a Failure."""
    first = Saying("first", Verdict(Label.YES, 1.0))
    assert ask(Cascade(first, Saying("second", at(0.5)), 0.9), CLAIM) == [Verdict(E, 0.5)]


def test_its_identity_has_its_thresholds() -> None:
    """Cascades of other thresholds or of another order are other judges."""
    a, b = Saying("a", at(1)), Saying("b", at(1))
    made = [Cascade(a, b, 0.9), Cascade(a, b, 0.8), Cascade(b, a, 0.9), Cascade(a, b, {"entail": 0.9})]
    assert len({cascade.identity for cascade in made}) == 4
    assert str(made[0].identity) == "cascade(a, b)"
    assert (
        Cascade(a, b, {"relevant": 0.8, "entail": 0.9}).identity
        == Cascade(a, b, {"entail": 0.9, "relevant": 0.8}).identity
    )


@pytest.mark.parametrize("threshold", [-0.1, float("nan"), float("inf"), True, "0.9", None])
def test_a_threshold_is_a_number(threshold: float) -> None:
    """Anything but a number from 0 on is refused."""
    with pytest.raises(BadParameter, match="must be a number"):
        Cascade(Saying("a", at(1)), Saying("b", at(1)), threshold)


def test_a_threshold_is_for_a_kind_of_verdict() -> None:
    """A threshold for grades, or of no kind, is refused."""
    with pytest.raises(UnknownName, match=r"'rate'.*classify, correct, entail, relevant"):
        Cascade(Saying("a", at(1)), Saying("b", at(1)), {"rate": 0.9})


def test_savings_are_reported() -> None:
    """Its notes say what share went up and why, and what calls and dollars were not spent."""
    questions = [Entail(("p",), name) for name in "abcd"]
    first = Saying("a", lambda question: Verdict(E, 0.99 if question in questions[:2] else 0.6))
    cascade = Cascade(first, Priced("b", at(1)), 0.9)
    assert cascade.notes() == []
    ask(cascade, *questions, Decompose("t"))
    ask(cascade, questions[0])
    assert cascade.notes() == [
        "cascade(a, b): 3 of 6 questions asked now (50%) went up to b, 2 of them because "
        "the first judge was not sure enough or failed.",
        "cascade(a, b): 3 questions were not asked of b, which saved about 1 of its calls and $0.03.",
    ]


@pytest.mark.parametrize(
    ("second", "message"),
    [(Saying("b", at(1)), "were not asked of b."), (Priced("b", at(1)), "about 1 of its calls.")],
)
def test_what_is_not_known_is_not_reported(second: Saying, message: str) -> None:
    """Of a second judge that makes no calls, or whose price is not known, no calls or dollars are made up."""
    if isinstance(second, Priced):
        second.cent = None
    cascade = Cascade(Saying("a", at(0.99)), second, 0.9)
    ask(cascade, CLAIM)
    assert cascade.notes()[1].endswith(message)


def test_its_calls_are_at_most_all() -> None:
    """What it expects is what there would be if everything went up."""
    first, second = Priced("a", at(1)), Priced("b", at(1), "entail", "decompose")
    calls = Cascade(first, second, 0.9).expect(MIXED)
    assert [list(call.questions) for call in calls] == [[CLAIM, *MIXED[2:]], [Decompose("t"), CLAIM]]


def test_members_are_open_while_it_is() -> None:
    """Both members are entered and left with it, as deep as cascades are nested."""
    judges = [Open(name, at(0.6)) for name in "abc"]
    cascade = Cascade(judges[0], Cascade(judges[1], judges[2], 0.9), 0.9)
    assert ask(cascade, CLAIM) == [Verdict(E, 0.6)]
    assert [judge.entered for judge in judges] == [0, 0, 0]


def test_it_keeps_the_contract() -> None:
    """A cascade passes the contract that anybody's judge can run."""
    functions = {"entail": lambda premise, hypothesis: hypothesis in premise, "classify": lambda text, trait: False}
    check_judge(lambda: Cascade(EmbeddedJudge(), judge_from(**functions, name="functions"), 0.9))
    assert Cascade(EmbeddedJudge(), judge_from(**functions, name="functions"), 0.9).answers


def staged(number: int, seed: int = 0) -> tuple[dict[Question, bool], dict[Question, Verdict]]:
    """Claims with the truth, and a judge that errs on 15 %, on four fifths of these below .8; where it is right it is
    above .8 in nine of ten.
    """
    random, truth, said = Random(seed), dict[Question, bool](), dict[Question, Verdict]()
    for place in range(number):
        claim, supported = Entail((f"text {place}",), "claim"), random.random() < 0.5
        wrong = random.random() < 0.15
        low = random.random() < (0.8 if wrong else 0.1)
        sure = random.uniform(0.5, 0.8) if low else random.uniform(0.8, 1)
        says = supported != wrong
        chance = sure if says else 1 - sure
        truth[claim] = supported
        said[claim] = Verdict(E if says else N, chance, (ChunkVerdict(E if says else N, chance),))
    return truth, said


def test_a_first_stage_with_probabilities_keeps_most() -> None:
    """At least 70 % of claims stay with the first, and of those passed on only the second's errors remain."""
    truth, said = staged(2000)
    slip = Random(9)
    second = {claim: Verdict(E if yes != (slip.random() < 0.02) else N, 0.5) for claim, yes in truth.items()}
    cascade = Cascade(Saying("first", said.__getitem__), Saying("second", second.__getitem__), 0.8)
    answers = dict(zip(truth, ask(cascade, *truth), strict=True))
    passed = [claim for claim in truth if answers[claim] is second[claim]]
    assert len(passed) <= 0.3 * len(truth)
    wrong = [claim for claim in passed if (second[claim].label is E) != truth[claim]]
    assert len(wrong) <= 0.04 * len(passed)
    assert all(answers[claim] is said[claim] for claim in truth if claim not in set(passed))


def test_votes_make_a_first_stage() -> None:
    """Three judges without probabilities are sure where they agree, and pass on where one of them does not."""
    claims = [Entail((f"text {place}",), "claim") for place in range(3)]
    doubting_first = Saying("a", lambda claim: Verdict(N if claim == claims[0] else E))
    doubting_next = Saying("b", lambda claim: Verdict(N if claim == claims[1] else E))
    second = Saying("second", Verdict(N))
    cascade = Cascade(Panel([doubting_first, doubting_next, Saying("c", Verdict(E))]), second, 0.9)
    assert ask(cascade, *claims) == [Verdict(N), Verdict(N), Verdict(E, 1.0)]
    assert second.asked == claims[:2]


def labelled_store(truth: dict[Question, bool], said: dict[Question, Verdict], judge: rg.types.Identity) -> Store:
    """A store with people's labels and the judge's answers."""
    store = Store.temporary()
    store.keep_labels([label(claim, Verdict(E if yes else Label.NOT_ENTAILED), "ann") for claim, yes in truth.items()])
    store.keep([Judgment(claim, said[claim], judge, judgment_key(claim, judge)) for claim in truth])
    return store


def test_a_risk_sets_the_threshold() -> None:
    """The lowest threshold that labels in the store show is in the identity; with too few it is refused, with the n."""
    truth, said = staged(1500)
    first, second = Saying("first", said.__getitem__), Saying("second", Verdict(N))
    cascade = rg.cascade(first, second, risk=0.06, store=labelled_store(truth, said, first.identity))
    assert 0.75 <= float(dict(cascade.identity.settings)["threshold.entail"]) <= 0.85
    few = labelled_store({claim: truth[claim] for claim in list(truth)[:58]}, said, first.identity)
    shown = r"58 labelled verdicts of first do not show a risk of 0.05; it takes 59 or more"
    with pytest.raises(BadData, match=shown):
        rg.cascade(first, second, risk=0.05, store=few)
    with pytest.raises(BadData, match="there is no store at nowhere"):
        rg.cascade(first, second, risk=0.05, store="nowhere")
    with pytest.raises(BadParameter, match="risk above 0 and below 1"):
        rg.cascade(first, second, risk=1.5)
    with pytest.raises(BadParameter, match="and no threshold"):
        rg.cascade(first, second, risk=0.05, threshold=0.9)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_stated_risk_holds() -> None:
    """In 950 of 1,000 draws of 300 labels or more, verdicts that stand are wrong no oftener than stated."""
    truth, said = staged(20_000, seed=1)
    sure = np.array([confidence(answer) for answer in said.values()])
    wrong = np.array([(answer.label is E) != truth[claim] for claim, answer in said.items()])
    claims, fitted, broken = list(truth), 0, 0
    for draw in range(1000):
        drawn = Random(draw).sample(claims, 300)
        answers: dict[Question, Answer | Failure] = {claim: said[claim] for claim in drawn}
        fit = fit_thresholds({claim: truth[claim] for claim in drawn}, answers, 0.92)["entail"]
        if fit.threshold is not None:
            fitted += 1
            broken += bool(wrong[sure >= fit.threshold].mean() > 0.08)
    assert fitted > 100
    assert broken <= 50
