from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from ragauge.questions import Classify, Entail, Judgment, judgment_key
from ragauge.store import Store, label
from ragauge.types import Failure, Label, Verdict

QUESTION = Entail(("a chunk",), "a claim")


def test_a_label_is_a_judgment_by_a_person() -> None:
    """A label names its giver and has the key of any judgment."""
    given = label(QUESTION, Verdict(Label.ENTAILED), "ann")
    assert (given.judge.name, given.judge.settings) == ("people", (("by", "ann"),))
    assert given.key == judgment_key(QUESTION, given.judge)


def test_the_latest_label_counts(store: Store) -> None:
    """Of several labels on a question the last is found, whoever gave it, and all are kept."""
    first = label(QUESTION, Verdict(Label.ENTAILED), "ann")
    second = label(QUESTION, Verdict(Label.CONTRADICTED), "bob")
    store.keep_labels([first])
    store.keep_labels([second])
    assert store.find_labels([QUESTION]) == {QUESTION: second}
    assert store.labels() == [first, second]


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
