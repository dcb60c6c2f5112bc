from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from ragauge.questions import (
    RUBRIC_FIELDS,
    Classify,
    Decompose,
    Entail,
    Judgment,
    Rate,
    Relevant,
    Rubric,
    invalid_reason,
    judgment_key,
)
from ragauge.scores import ChunkEvidence, Evidence, RunRecord, SampleRecord, ScoreRecord
from ragauge.store import Store, label, read_judgments, write_judgments
from ragauge.types import (
    Chunk,
    ChunkVerdict,
    Decomposition,
    Failure,
    Grade,
    Identity,
    Label,
    Sample,
    Statement,
    ToolCall,
    Turn,
    Verdict,
)

number = st.floats(allow_nan=False, allow_infinity=False)
share = st.floats(0, 1)
text = st.text() | st.text(min_size=100, max_size=300) | st.sampled_from(['{"$": 1}', "word " * 100])
word = st.text(max_size=8)
metric_name = word.map(lambda drawn: drawn.replace("\0", ""))  # PostgreSQL keeps no NUL in a name
span = st.tuples(st.integers(0, 99), st.integers(0, 99))
label_ = st.sampled_from(Label)
entailment = st.sampled_from([Label.ENTAILED, Label.NEUTRAL, Label.CONTRADICTED, Label.NOT_ENTAILED])


def maybe(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """A value or None."""
    return st.none() | strategy


def many(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    """A short tuple."""
    return st.lists(strategy, max_size=4).map(tuple)


def few(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    """A tuple of at most two."""
    return st.lists(strategy, max_size=2).map(tuple)


statement = st.builds(Statement, text, maybe(span), st.booleans(), st.booleans())
chunk_verdict = st.builds(ChunkVerdict, entailment, maybe(share), maybe(span))
decomposition = st.builds(Decomposition, many(statement))
entailed = st.builds(Verdict, entailment, maybe(share), many(chunk_verdict), st.none(), maybe(text))
checked = st.builds(
    Verdict, st.sampled_from([Label.YES, Label.NO]), maybe(share), st.just(()), maybe(span), maybe(text)
)
fields = st.lists(st.sampled_from(RUBRIC_FIELDS), min_size=1, max_size=3).map(tuple)
rubric = st.builds(Rubric, text, fields, st.floats(-10, 0), st.floats(1, 10), text)
identity = st.builds(Identity, text, many(st.tuples(text, text)))

answered = st.one_of(
    st.tuples(st.builds(Decompose, text, maybe(text)), decomposition),
    st.tuples(st.builds(Entail, many(text), text, maybe(text)), entailed),
    st.tuples(st.builds(Relevant, text, text, maybe(text)), checked),
    st.tuples(st.builds(Classify, text, text), checked),
    st.tuples(st.builds(Rate, rubric, many(st.tuples(text, text))), st.builds(Grade, share, maybe(text))),
)
judgment = st.tuples(answered, identity).map(
    lambda drawn: Judgment(drawn[0][0], drawn[0][1], drawn[1], judgment_key(drawn[0][0], drawn[1]))
)
judgments = st.lists(judgment, max_size=8, unique_by=lambda each: each.key)

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | number | word,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(word, inner, max_size=2),
    max_leaves=4,
)
metadata = st.dictionaries(word, plain, max_size=2)
chunk = st.builds(Chunk, word, word, word, metadata)
call = st.builds(ToolCall, word, metadata, word, maybe(word), word, maybe(st.booleans()))
turn = st.builds(Turn, st.sampled_from(["user", "assistant"]), word, maybe(few(chunk)), few(call))
sample = st.builds(
    Sample,
    word,
    *[maybe(word)] * 2,
    maybe(few(chunk)),
    maybe(few(word)),
    maybe(word),
    maybe(few(chunk)),
    maybe(few(few(word))),
    maybe(st.booleans()),
    *[maybe(word)] * 2,
    metadata,
    maybe(few(turn)),
    *[maybe(few(call))] * 2,
    maybe(few(metadata)),
)
score = st.builds(ScoreRecord, maybe(number), maybe(word), maybe(word), few(number), few(word))
chunk_evidence = st.builds(ChunkEvidence, word, label_, maybe(share), maybe(span))
evidence = st.builds(
    Evidence,
    *[word] * 2,
    maybe(span),
    word,
    maybe(label_),
    *[maybe(number)] * 2,
    few(chunk_evidence),
    maybe(word),
    word,
)
record = st.builds(
    SampleRecord,
    sample,
    st.dictionaries(metric_name, score, max_size=2),
    st.dictionaries(word, few(evidence), max_size=2),
)


@settings(max_examples=25)
@given(judgment)
def test_a_key_is_a_hash_of_the_judge_and_the_question(kept: Judgment) -> None:
    """However the key is computed, stores that were written before know the judgment under it."""
    encoded = msgspec.json.encode(kept.judge) + msgspec.json.encode(kept.question)
    assert kept.key == hashlib.sha256(encoded).hexdigest()[:32]


@settings(max_examples=25)
@given(judgments)
def test_what_is_found_is_what_was_kept(fresh: Callable[[], Store], kept: list[Judgment]) -> None:
    """Judgments of all kinds of question come back equal, by key and in order."""
    with fresh() as store:
        store.keep(kept)
        assert store.find([each.key for each in kept]) == {each.key: each for each in kept}
        assert list(store.judgments()) == kept


@settings(max_examples=20)
@given(judgments)
def test_what_is_read_from_a_recording_is_what_was_written(written: list[Judgment]) -> None:
    """Judgments that fit are read back from a file equal, keys included, though keys are not in the file."""
    written = [
        each
        for each in written
        if not isinstance(each.answer, Failure) and not invalid_reason(each.question, each.answer)
    ]
    with TemporaryDirectory() as folder:
        path = Path(folder, "recorded.jsonl")
        assert write_judgments(path, written) == len(written)
        assert list(read_judgments(path)) == written


@given(st.lists(record, min_size=1, max_size=2))
def test_samples_come_back_as_they_were(fresh: Callable[[], Store], records: list[SampleRecord]) -> None:
    """Sample records, with evidence and any metadata, come back equal; so do the values of each metric."""
    with fresh() as store:
        store.begin(RunRecord("r", "2026-11-20T00:00:00Z", "data", (), {}, "0"))
        store.keep_samples("r", 0, records)
        assert list(store.samples("r")) == records
        for metric in {name for each in records for name in each.scores}:
            scores = [each.scores.get(metric) for each in records]
            assert store.values("r", metric) == [each.value if each else None for each in scores]


@given(st.lists(answered, max_size=6, unique_by=lambda each: each[0]))
def test_labels_are_found_by_their_question(fresh: Callable[[], Store], given_: list[tuple[object, object]]) -> None:
    """Labels on questions of every kind are found with the answer that was given."""
    labels = [label(question, answer, "ann") for question, answer in given_]  # type: ignore[arg-type]
    with fresh() as store:
        store.keep_labels(labels)
        assert store.find_labels([each.question for each in labels]) == {each.question: each for each in labels}
        assert store.labels() == labels
