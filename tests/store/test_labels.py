from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import msgspec
import pytest

from ragauge.questions import COHERENCE, Classify, Entail, Judgment, Rate, judgment_key
from ragauge.store import Store, label, opinions, read_labels, write_labels
from ragauge.types import Failure, Grade, Label, Verdict

QUESTION = Entail(("a chunk",), "a claim")


def test_a_label_is_a_judgment_by_a_person() -> None:
    """A label names its giver and has the key of any judgment."""
    given = label(QUESTION, Verdict(Label.ENTAILED), "ann")
    assert (given.judge.name, given.judge.settings) == ("people", (("by", "ann"),))
    assert given.key == judgment_key(QUESTION, given.judge)


def test_the_latest_label_of_a_person_counts(store: Store) -> None:
    """Of several labels of one person on a question the last is found, and all are kept."""
    first, second = (label(QUESTION, Verdict(answer), "ann") for answer in (Label.ENTAILED, Label.CONTRADICTED))
    store.keep_labels([first])
    store.keep_labels([second])
    assert store.find_labels([QUESTION]) == {QUESTION: second}
    assert store.labels() == [first, second]


@pytest.mark.parametrize(
    "given", list(permutations([("ann", "s"), ("bob", "c"), ("cy", "n"), ("dee", "c"), ("eve", "c")]))
)
def test_the_majority_counts(given: list[tuple[str, str]]) -> None:
    """What more than half of the people say counts, in whatever order they said it."""
    answers = {"s": Label.ENTAILED, "c": Label.CONTRADICTED, "n": Label.NEUTRAL}
    labels = [label(QUESTION, Verdict(answers[answer]), person) for person, answer in given]
    (people,) = opinions(labels).values()
    assert people.disputed
    assert people.settled == label(QUESTION, Verdict(Label.CONTRADICTED), "bob")
    (most,) = opinions(labels[1:]).values()
    agreeing = [answer for _, answer in given[1:]].count("c")
    assert (most.settled is None) == (agreeing <= 2)


def test_a_label_that_settles_a_difference_decides(store: Store, tmp_path: Path) -> None:
    """It outweighs others, before and after it, until its giver changes it; a file keeps that it does."""
    votes = [label(QUESTION, Verdict(Label.ENTAILED), person) for person in ("ann", "bob")]
    referee = label(QUESTION, Verdict(Label.NEUTRAL), "cy", decides=True)
    store.keep_labels([votes[0], referee, votes[1]])
    assert store.find_labels([QUESTION]) == {QUESTION: referee}
    assert not store.opinions([QUESTION])[QUESTION].disputed
    write_labels(tmp_path / "labels.jsonl", store.labels())
    assert list(read_labels(tmp_path / "labels.jsonl")) == store.labels() == [votes[0], referee, votes[1]]
    changed = label(QUESTION, Verdict(Label.CONTRADICTED), "cy")
    store.keep_labels([changed])
    assert store.find_labels([QUESTION]) == {QUESTION: changed}


def test_grades_have_a_mean(store: Store) -> None:
    """Of the different grades of several people the mean counts."""
    question = Rate(COHERENCE, (("source", "a"), ("response", "b")))
    store.keep_labels([label(question, Grade(value), f"person {value}") for value in (1.0, 4.0, 4.5)])
    (found,) = store.find_labels([question]).values()
    assert found.answer == Grade(9.5 / 3)


def test_labels_are_not_judgments_of_the_store(store: Store) -> None:
    """A label answers its own question only, and is no judgment that a judge made."""
    given = label(QUESTION, Verdict(Label.ENTAILED), "ann")
    store.keep_labels([given])
    assert store.find_labels([Classify("a claim", "toxic")]) == {}
    assert store.find([given.key]) == {}


def test_only_answers_of_people_are_labels(store: Store, judgment: Callable[..., Judgment]) -> None:
    """A machine's judgment and a failure are refused."""
    with pytest.raises(ValueError, match="judge stub is not a person"):
        store.keep_labels([judgment()])
    failed = msgspec.structs.replace(label(QUESTION, Verdict(Label.YES), "ann"), answer=Failure("unsure"))
    with pytest.raises(ValueError, match="unsure"):
        store.keep_labels([failed])
    assert store.labels() == []


def test_a_label_says_how_it_came_about(store: Store) -> None:
    """Labels given blind are found by their data, those on random draws among them; other labels are distinguished."""
    given = [label(QUESTION, Verdict(each), "ann") for each in (Label.ENTAILED, Label.NEUTRAL, Label.CONTRADICTED)]
    store.keep_labels(given[:1], blind="data", chance=True)
    store.keep_labels(given[1:2], blind="data")
    store.keep_labels(given[2:])
    assert store.labels(blind="data", chance=True) == given[:1]
    assert store.labels(blind="data") == given[:2]
    assert store.labels(blind="other data") == []
    assert store.labels(by_doubt=False) == [given[0], given[2]]
    assert store.labels() == given
