from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import msgspec
import pytest

from ragauge.questions import Entail, Judgment, judgment_key
from ragauge.store import Store
from ragauge.types import ChunkVerdict, Failure, Identity, Label, Verdict

Make: TypeAlias = Callable[..., Judgment]


def test_a_kept_judgment_is_found_by_its_key(store: Store, judgment: Make) -> None:
    """What was kept is found, equal in every part, and an unknown key finds nothing."""
    kept = judgment(1)
    store.keep([kept])
    assert store.find([kept.key, judgment(2).key]) == {kept.key: kept}


def test_judgments_outlive_the_store_object(place: str, judgment: Make) -> None:
    """A store that is closed and opened again holds the same judgments."""
    with Store.open(place) as first:
        first.keep([judgment(1)])
    with Store.open(place) as second:
        assert list(second.judgments()) == [judgment(1)]


def test_the_first_answer_stays(store: Store, judgment: Make) -> None:
    """A second answer under a key changes nothing, whether it comes later or in the same batch."""
    first, second = judgment(1, probability=0.9), judgment(1, probability=0.1)
    assert first.key == second.key
    store.keep([first, second])
    store.keep([second])
    assert list(store.judgments()) == [first]


def test_another_judge_is_another_key(store: Store, judgment: Make) -> None:
    """Two judges' answers to one question are kept side by side."""
    ours, theirs = judgment(1), judgment(1, judge=Identity("other"))
    store.keep([ours, theirs])
    assert store.find([ours.key, theirs.key]) == {ours.key: ours, theirs.key: theirs}


def test_failures_are_refused(store: Store, judgment: Make) -> None:
    """A batch with a failure in it raises and leaves nothing of the batch behind."""
    failed = msgspec.structs.replace(judgment(2), answer=Failure("judge_error", "timed out"))
    with pytest.raises(ValueError, match="judge_error: timed out"):
        store.keep([judgment(1), failed])
    assert list(store.judgments()) == []


def test_more_keys_than_one_query_takes(store: Store, judgment: Make) -> None:
    """1,201 judgments are found at once and listed in the order in which they were kept."""
    kept = [judgment(n) for n in range(1201)]
    store.keep(kept)
    assert store.find([each.key for each in kept]) == {each.key: each for each in kept}
    assert list(store.judgments()) == kept


def test_nothing_asked_and_nothing_kept(store: Store) -> None:
    """Empty batches are allowed."""
    store.keep([])
    assert store.find([]) == {}


def test_listing_does_not_hold_the_store(store: Store, judgment: Make) -> None:
    """While judgments are being listed more can be kept, and those are listed too."""
    store.keep([judgment(n) for n in range(600)])
    listing = store.judgments()
    seen = [next(listing)]
    store.keep([judgment(n) for n in range(600, 700)])
    assert len(seen + list(listing)) == 700


def test_a_shared_text_is_stored_once(file: Store, judgment: Make) -> None:
    """The chunk that 50 questions share is one row; so is the judge."""
    file.keep([judgment(n) for n in range(50)])
    with sqlite3.connect(file.path) as db:
        (texts,) = db.execute("SELECT count(*) FROM texts").fetchone()
    db.close()
    assert texts == 50 + 1 + 1


def test_claims_against_the_same_chunks_take_little_room(tmp_path: Path) -> None:
    """Six claims against five chunks of 600 characters take less than two fifths of the judgments written out."""
    judge = Identity("stub", (("revision", "2026-11-20"), ("sha256", "ab" * 32)))
    kept = [each for seed in range(100) for each in _claims(random.Random(seed), judge)]
    with Store.open(tmp_path) as store:
        store.keep(kept)
    written_out = sum(len(msgspec.json.encode(each)) for each in kept)
    assert (tmp_path / "store.db").stat().st_size < written_out * 2 / 5


def _claims(chance: random.Random, judge: Identity) -> list[Judgment]:
    words = ["".join(chance.choices("etaoinshrdlu", k=chance.randint(2, 9))) for _ in range(300)]
    chunks = tuple(" ".join(chance.choices(words, k=200))[:600] for _ in range(5))
    labels = tuple(ChunkVerdict(Label.NEUTRAL, round(chance.random(), 4)) for _ in chunks)
    questions = [Entail(chunks, " ".join(chance.choices(words, k=14)), "what is known of it?") for _ in range(6)]
    return [
        Judgment(question, Verdict(Label.NEUTRAL, 0.25, labels), judge, judgment_key(question, judge))
        for question in questions
    ]
