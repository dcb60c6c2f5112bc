"""The panel: the result of votes, who is asked, and the notes on agreement."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.judges.saying import Open, Priced, Saying

from ragauge.errors import BadParameter, UsageError
from ragauge.judges.base import checked
from ragauge.judges.composite import Panel
from ragauge.judges.embedded.judge import EmbeddedJudge
from ragauge.judges.function import judge_from
from ragauge.questions import COHERENCE, CONCISENESS, Classify, Correct, Decompose, Entail, Question, Rate, Relevant
from ragauge.testing import PLAIN, check_judge
from ragauge.types import Answer, ChunkVerdict, Decomposition, Failure, Grade, Label, Statement, Verdict

E, N, C, X = Label.ENTAILED, Label.NEUTRAL, Label.CONTRADICTED, Label.NOT_ENTAILED
YES, NO = Label.YES, Label.NO
CLAIM = Entail(("p",), "h")
CHUNKED = Entail(("one", "two"), "h")
PASSAGE = Relevant("q", "a text")
COHERENT = Rate(COHERENCE, (("source", "s"), ("response", "r")))
CONCISE = Rate(CONCISENESS, (("query", "q"), ("response", "r")))

chances = st.none() | st.floats(0, 1)
entailments = st.sampled_from([E, N, C])
claims = st.builds(
    lambda label, chance, chunks: Verdict(label, chance, tuple(chunks), rationale=f"{label} {chance}"),
    entailments,
    chances,
    st.lists(st.builds(ChunkVerdict, entailments, chances), min_size=2, max_size=2),
)


def panel_of(*replies: Answer | Failure) -> Panel:
    """A panel of judges, each of which says one thing."""
    return Panel([Saying(f"judge {at}", one) for at, one in enumerate(replies)])


def ask(panel: Panel, *questions: Question) -> list[Answer | Failure]:
    """The panel's answers."""
    return list(asyncio.run(panel.answer(questions)))


def label(question: Question, *labels: Label) -> Label:
    """What a panel makes of the members' labels."""
    (answer,) = ask(panel_of(*map(Verdict, labels)), question)
    assert isinstance(answer, Verdict)
    return answer.label


@pytest.mark.parametrize(
    ("votes", "replies"),
    [
        ((E, E, N), E),
        ((E, N, N), N),
        ((C, C, E), C),
        ((E, N, C), N),
        ((E, C), N),
        ((N, C), N),
        ((E, E, C, C), N),
        ((E, E, C, C, N), N),
        ((X, X, E), X),
        ((E, E, X), E),
        ((E, X), X),
        ((X, N, C), X),
        ((X, C, C), C),
    ],
)
def test_a_label_takes_more_than_half_of_the_votes(votes: tuple[Label, ...], replies: Label) -> None:
    """Support and contradiction take more than half of the votes; otherwise it is neither, two-way if a vote is."""
    assert label(CLAIM, *votes) == replies


@pytest.mark.parametrize("question", [PASSAGE, Classify("t", "toxic")])
def test_yes_takes_more_than_half(question: Question) -> None:
    """A tie between yes and no is no."""
    assert label(question, YES, YES, NO) == YES
    assert label(question, YES, NO) == NO
    assert label(question, NO, YES) == NO


def test_without_a_majority_an_answer_is_partly_right_or_undecided() -> None:
    """A tie is partly right if a judge says so; right against wrong decides nothing, and the reason says so."""
    question, right, wrong = Correct("q", "a", ("r",)), Verdict(Label.RIGHT), Verdict(Label.WRONG)
    partly = Verdict(Label.PARTLY, rationale="no day")
    assert ask(panel_of(right, right, wrong), question) == [Verdict(Label.RIGHT, 2 / 3)]
    assert ask(panel_of(right, partly), question) == [Verdict(Label.PARTLY, 0.5, rationale="no day")]
    assert ask(panel_of(right, wrong, partly), question) == [Verdict(Label.PARTLY, 1 / 3, rationale="no day")]
    (tie,) = ask(panel_of(wrong, right), question)
    assert tie == Verdict(Label.UNDECIDED, 0.5, rationale="the judges do not agree: right or wrong")


def test_chunks_are_voted_on_one_by_one() -> None:
    """Each chunk's label is that of the majority, with the span of the first that agrees."""
    one = Verdict(E, 1.0, (ChunkVerdict(E, 0.75, (0, 1)), ChunkVerdict(N, 0.25)))
    two = Verdict(E, 0.75, (ChunkVerdict(N, 0.0, (1, 2)), ChunkVerdict(N, 0.5)))
    three = Verdict(N, 0.5, (ChunkVerdict(N, 0.0, (0, 3)), ChunkVerdict(C, 0.0)))
    (answer,) = ask(panel_of(one, two, three), CHUNKED)
    assert isinstance(answer, Verdict)
    assert (answer.label, answer.probability) == (E, 0.75)
    assert answer.chunks == (ChunkVerdict(N, 0.25, (1, 2)), ChunkVerdict(N, 0.25))


def test_of_one_chunk_the_verdict_speaks() -> None:
    """A member that gives no label for the only chunk votes on it with its verdict."""
    (answer,) = ask(panel_of(Verdict(E, 0.5, (ChunkVerdict(E, 0.5),)), Verdict(E, 1.0)), CLAIM)
    assert answer == Verdict(E, 0.75, (ChunkVerdict(E, 0.75),))


def test_without_probabilities_the_share_of_votes_is_one() -> None:
    """A member that gives none counts as its vote, in chunks too; the identity says so."""
    assert ask(panel_of(Verdict(YES, 0.9), Verdict(YES)), PASSAGE) == [Verdict(YES, 0.95)]
    assert ask(panel_of(Verdict(YES), Verdict(YES), Verdict(NO), Verdict(NO)), PASSAGE) == [Verdict(NO, 0.5)]
    votes = [Verdict(label, chunks=(ChunkVerdict(label), ChunkVerdict(N))) for label in (E, E, C)]
    (answer,) = ask(panel_of(*votes), CHUNKED)
    assert isinstance(answer, Verdict)
    assert answer.probability == pytest.approx(2 / 3)
    assert answer.chunks == (ChunkVerdict(E, pytest.approx(2 / 3)), ChunkVerdict(N, 0.0))  # type: ignore[arg-type]
    assert dict(panel_of(*votes).identity.settings)["probability"] == "of the members, or their votes"


def test_the_reason_is_the_first_of_the_majority() -> None:
    """The rationale and the span are those of the first member that voted as the panel decides."""
    first, second = Verdict(NO, rationale="off topic"), Verdict(YES, span=(0, 2), rationale="on topic")
    assert ask(panel_of(first, second, Verdict(YES, rationale="too")), PASSAGE) == [
        Verdict(YES, 2 / 3, span=(0, 2), rationale="on topic")
    ]


def test_grades_are_averaged() -> None:
    """On a scale of real numbers the mean counts, on one of whole numbers the median, rounded down."""
    assert ask(panel_of(Grade(0.0), Grade(1.0), Grade(0.5)), CONCISE) == [Grade(0.5)]
    assert ask(panel_of(Grade(1), Grade(5, "fine"), Grade(4, "good")), COHERENT) == [Grade(4, "good")]
    assert ask(panel_of(Grade(2), Grade(5)), COHERENT) == [Grade(3)]


@given(st.lists(st.floats(0, 1), min_size=2, max_size=5))
def test_a_grade_stays_among_those_given(values: list[float]) -> None:
    """The panel's grade lies between the lowest and the highest of its members."""
    (answer,) = ask(panel_of(*map(Grade, values)), CONCISE)
    assert isinstance(answer, Grade)
    assert min(values) <= answer.value <= max(values)


@given(claims, st.integers(2, 5))
def test_equals_answer_as_each_alone(replies: Verdict, members: int) -> None:
    """A panel of judges that say the same says that; without probabilities all votes are for one label."""
    (answer,) = ask(panel_of(*[replies] * members), CHUNKED)
    given = [replies.probability, *(chunk.probability for chunk in replies.chunks)]
    assert isinstance(answer, Verdict)
    voted = [answer.probability, *(chunk.probability for chunk in answer.chunks)]
    labels = [replies.label, *(chunk.label for chunk in replies.chunks)]
    assert voted == [
        float(label is E) if chance is None else chance for chance, label in zip(given, labels, strict=True)
    ]
    assert [answer.label, *(chunk.label for chunk in answer.chunks)] == labels
    assert answer.rationale == replies.rationale


def test_equal_embedded_judges_answer_as_one() -> None:
    """Two embedded judges under different names answer every plain question as one does."""
    twins = [EmbeddedJudge(), EmbeddedJudge()]
    twins[1].identity = Saying("twin", Failure("")).identity
    alone = asyncio.run(twins[0].answer(PLAIN))
    kept = [isinstance(answer, Failure) for answer in alone]
    together = ask(Panel(twins), *PLAIN)
    assert [one for one, failed in zip(together, kept, strict=True) if not failed] == [
        one for one in alone if not isinstance(one, Failure)
    ]


@given(st.lists(claims, min_size=2, max_size=5), st.randoms(use_true_random=False))
def test_the_order_of_members_decides_no_verdict(votes: list[Verdict], random: object) -> None:
    """Labels and probabilities do not depend on who comes first, ties included."""
    shuffled = list(votes)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = (ask(panel_of(*replies), CHUNKED)[0] for replies in (votes, shuffled))
    assert isinstance(one, Verdict)
    assert isinstance(other, Verdict)
    assert one.label == other.label
    assert [chunk.label for chunk in one.chunks] == [chunk.label for chunk in other.chunks]
    assert one.probability == (None if other.probability is None else pytest.approx(other.probability))


@given(st.lists(st.sampled_from([E, N, C, X]), min_size=2, max_size=6))
def test_support_is_what_more_than_half_support(votes: list[Label]) -> None:
    """The panel says "entailed" just where more than half of its members do, two-way or not, and its answer fits."""
    (answer,) = ask(panel_of(*map(Verdict, votes)), CLAIM)
    assert isinstance(answer, Verdict)
    assert (answer.label == E) == (2 * votes.count(E) > len(votes))
    assert checked(CLAIM, answer) is answer


def test_texts_are_taken_apart_by_the_first_that_can() -> None:
    """Only the first member that takes texts apart is asked to, and the next only where it fails."""
    parts = Decomposition((Statement("a"),))
    first = Saying("first", lambda question: Failure("down") if question == Decompose("x") else parts)
    second = Saying("second", Decomposition(()))
    verdicts = Saying("verdicts", Failure("never asked"), "entail")
    assert ask(Panel([verdicts, first, second]), Decompose("text"), Decompose("x")) == [parts, Decomposition(())]
    assert second.asked == [Decompose("x")]
    assert verdicts.asked == []


def test_a_failure_is_outvoted() -> None:
    """As long as more than half of the members answer they decide; otherwise the first Failure is the answer."""
    down, slow = Failure("server_error"), Failure("timeout")
    assert ask(panel_of(down, Verdict(YES), Verdict(YES)), PASSAGE) == [Verdict(YES, 1.0)]
    assert ask(panel_of(Verdict(YES), down), PASSAGE) == [down]
    assert ask(panel_of(slow, Verdict(YES), down), PASSAGE) == [slow]


def test_an_answer_that_does_not_fit_is_a_failure() -> None:
    """A member's grade for a verdict is no vote."""
    (answer,) = ask(panel_of(Grade(1), Verdict(YES)), PASSAGE)
    assert isinstance(answer, Failure)
    assert answer.reason == "invalid_answer"


def test_where_the_money_ends_nobody_decides() -> None:
    """A member that may not spend more is not outvoted: with more money it would have its say."""
    broke = Failure("max_cost")
    assert ask(panel_of(Verdict(YES), Verdict(YES), broke), PASSAGE) == [broke]
    assert ask(panel_of(broke, Decomposition(())), Decompose("text")) == [broke]


def test_its_topics_are_those_of_all() -> None:
    """It answers what all members answer; two-way if one is; and takes texts apart if one does."""
    one = Saying("one", Grade(1), "decompose", "entail", "classify", "rate:coherence")
    two = Saying("two", Grade(1), "entail:support", "classify:toxic", "rate", "relevant")
    panel = Panel([one, two])
    assert panel.answers == {"decompose", "entail:support", "classify:toxic", "rate:coherence"}
    (failure,) = ask(panel, PASSAGE)
    assert failure == Failure("unanswerable", "a member of panel(one, two) does not answer this")


def test_its_identity_is_made_of_theirs() -> None:
    """Everything that can change a member's answer, and the members' order, is in the panel's identity."""
    a, b, cold = Saying("a", Grade(1)), Saying("b", Grade(1)), Saying("b", Grade(1), temperature="0")
    made = [Panel([a, b]), Panel([b, a]), Panel([a, cold]), Panel([a, Panel([b, cold])])]
    identities = [panel.identity for panel in made]
    assert len(set(identities)) == 4
    assert str(identities[0]) == "panel(a, b)"
    assert dict(identities[3].settings)["2.2.temperature"] == "0"
    assert pickle.loads(pickle.dumps(identities)) == identities


@pytest.mark.parametrize(
    ("members", "fault"),
    [([], "at least two judges"), (["a"], r"panel\(a\) needs at least two"), (["a", "a"], "a is there twice")],
)
def test_a_panel_takes_two_different_judges(members: Sequence[str], fault: str) -> None:
    """Fewer than two members, and one member twice, are refused."""
    with pytest.raises(BadParameter, match=fault):
        Panel([Saying(name, Grade(1)) for name in members])


def test_members_are_open_while_it_is() -> None:
    """Entering the panel enters its members, nested too, and leaving it leaves them; `answer` does both by itself."""
    member, other = Open("a", Verdict(YES)), Open("b", Verdict(YES))
    panel = Panel([Saying("c", Verdict(YES)), Panel([member, other])])

    async def nested() -> None:
        async with panel:
            async with panel:
                assert (member.entered, other.entered) == (2, 2)
            await panel.answer([PASSAGE])
            assert member.entered == 1

    asyncio.run(nested())
    assert (member.entered, other.entered) == (0, 0)
    assert ask(panel, PASSAGE) == [Verdict(YES, 1.0)]


class Locked(Open):
    """Has no key."""

    async def __aenter__(self) -> Open:
        raise UsageError("no key")


def test_a_member_that_cannot_be_entered_leaves_nothing_open() -> None:
    """The members entered before it are left, and `answer` says why there is no answer."""
    first = Open("first", Verdict(YES))
    panel = Panel([first, Locked("locked", Verdict(YES))])
    assert ask(panel, PASSAGE) == [Failure("judge_error", "no key")]
    assert first.entered == 0


def test_it_works_sample_by_sample_if_a_member_does() -> None:
    """It works on as many samples at once as the widest member, and keeps as little at once as the narrowest."""
    plain = Panel([Saying("a", Verdict(YES)), judge_from(entail=lambda premise, hypothesis: True)])
    assert (plain.by_sample, plain.batch) == (0, 1)
    assert Panel([Saying("a", Verdict(YES)), Priced("b", Verdict(YES))]).by_sample == 8


def test_its_calls_are_those_of_its_members() -> None:
    """Every member that makes calls is expected to be called for the verdicts, and one for the texts."""
    a, b, c = Priced("a", Grade(1)), Priced("b", Grade(1)), Saying("c", Grade(1), "entail")
    calls = Panel([c, a, b]).expect([Decompose("t"), CLAIM])
    assert [list(call.questions) for call in calls] == [[Decompose("t")], [CLAIM], [CLAIM]]


def test_agreement_is_reported() -> None:
    """Its notes say on how many questions all agreed, with kappa, how far grades lay apart, and who was missing."""
    a, b, c, d = (Relevant("q", text) for text in "abcd")
    yes, no = Verdict(YES), Verdict(NO)
    replies: list[dict[Question, Answer | Failure]] = [
        {a: yes, b: no, c: yes, d: yes, CONCISE: Grade(1)},
        {a: yes, b: no, c: no, d: Failure("down"), CONCISE: Grade(0.5)},
        {a: yes, b: no, c: yes, d: yes, CONCISE: Grade(0.75)},
    ]
    panel = Panel([Saying(name, answers.__getitem__) for name, answers in zip("xyz", replies, strict=True)])
    assert panel.notes() == []
    ask(panel, *replies[0])
    assert panel.notes() == [
        "panel(x, y, z): all agreed on 2 of 3 relevant questions asked now (67%, kappa 0.57).",
        "panel(x, y, z): grades lay 50% of their scale apart on average (1).",
        "panel(x, y, z): questions that a member failed at, so that the others decided: y (down) 1.",
    ]


def test_two_way_members_agree_on_what_they_can_tell() -> None:
    """Where a member tells support two-way, neutral and contradicted agree with its "not entailed"."""
    panel = Panel(
        [Saying("a", lambda q: Verdict(N if q == CLAIM else E)), Saying("b", lambda q: Verdict(X if q == CLAIM else E))]
    )
    ask(panel, CLAIM, Entail(("p",), "other"))
    assert panel.notes() == ["panel(a, b): all agreed on 2 of 2 entail questions asked now (100%, kappa 1.00)."]


def test_agreement_on_support_is_reported_apart() -> None:
    """Where members differ between neutral and contradicted, it also says how often they agree on support alone."""
    other, third = Entail(("p",), "other"), Entail(("p",), "third")
    labels: dict[str, dict[Question, Label]] = {
        "a": {CLAIM: N, other: E, third: C},
        "b": {CLAIM: C, other: E, third: E},
    }

    def saying(name: str) -> Saying:
        return Saying(name, lambda question: Verdict(labels[name][question]))

    panel = Panel([saying("a"), saying("b")])
    ask(panel, CLAIM, other, third)
    assert panel.notes() == [
        "panel(a, b): all agreed on 1 of 3 entail questions asked now (33%, kappa 0.00); "
        "on 2 in whether a claim is supported (67%, kappa 0.40)."
    ]


def test_it_keeps_the_contract() -> None:
    """A panel passes the contract that anybody's judge can run."""
    functions = {"entail": lambda premise, hypothesis: hypothesis in premise, "relevant": lambda query, text: True}
    check_judge(lambda: Panel([EmbeddedJudge(), judge_from(**functions, name="functions")]))
    assert Panel([EmbeddedJudge(), judge_from(**functions, name="functions")]).answers
