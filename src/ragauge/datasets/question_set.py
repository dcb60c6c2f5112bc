"""Test sets from documents: questions with references and the passages that they are about."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Literal, get_args

import msgspec

from ragauge.datasets.corpus import WORDS, Corpus, read_corpus
from ragauge.datasets.drawing import PassageMap
from ragauge.datasets.offline_questions import OfflineQuestions
from ragauge.datasets.samples import SampleSet, add_metadata
from ragauge.errors import BadParameter
from ragauge.run.sync import blocking
from ragauge.types import Sample

#: What questions are made without a model.
OfflineKind = Literal["cloze", "heading"]
OFFLINE_KINDS: tuple[OfflineKind, ...] = get_args(OfflineKind)

#: The most passages that are held; of a larger corpus as many are drawn.
MOST_PASSAGES = 50_000

#: The key of a sample's metadata for the kind of its question, and for the test set that it is of.
KIND, TEST_SET = "kind", "test_set"


@dataclass(kw_only=True)
class QuestionSet(SampleSet):
    """A test set that was made from a corpus.

    identity: a hash of its rows. wanted: the number of questions asked for. kinds: kind -> the number of questions.
    """

    corpus: Corpus
    wanted: int
    identity: str = ""
    kinds: Counter[str] = field(default_factory=Counter)

    def add(self, kind: str, question: Sample) -> None:
        """Add a question, with its kind and an id that its content gives."""
        ids = [chunk.id for chunk in question.reference_contexts or ()]
        digest = hashlib.sha256(msgspec.json.encode([kind, question.query, ids])).hexdigest()[:10]
        self.kinds[kind] += 1
        self.samples.append(add_metadata(msgspec.structs.replace(question, id=f"{kind}-{digest}"), **{KIND: kind}))

    def seal(self, **origin: Any) -> None:
        """Give each row the identity of the set, and what it was made with."""
        self.identity = hashlib.sha256(msgspec.json.encode(self.samples)).hexdigest()[:12]
        mark = {TEST_SET: {"id": self.identity, **origin}}
        self.samples = [add_metadata(sample, **mark) for sample in self.samples]


async def questions_async(
    corpus: str | Path | Corpus,
    *,
    n: int = 200,
    kinds: Sequence[str] | None = None,
    words: int = WORDS,
    seed: int = 42,
    skip_bad_rows: bool = False,
) -> QuestionSet:
    """Make a test set from documents; `questions` is the synchronous form.

    Args:
        corpus: a folder or file of documents; see `read_corpus`.
        n: how many questions, at least 1; fewer where the corpus does not give as many.
        kinds: "cloze" for a sentence with a gap, "heading" for the heading of a section.
        words: the most words of a passage.
        seed: of all draws; the same corpus and seed give the same set.
        skip_bad_rows: leave out files and rows that cannot be read, and count them.

    Raises:
        BadParameter: a kind is not known, or n is below 1.
        BadData: the corpus cannot be read or has no text.
    """
    chosen = tuple(kinds or OFFLINE_KINDS)
    if unknown := [kind for kind in chosen if kind not in OFFLINE_KINDS]:
        raise BadParameter(f"kinds: {unknown[0]!r} is not one of {', '.join(OFFLINE_KINDS)}")
    if n < 1:
        raise BadParameter(f"n={n} must be 1 or more")
    if not isinstance(corpus, Corpus):
        corpus = read_corpus(corpus, words, skip_bad=skip_bad_rows, distinct=True, most=MOST_PASSAGES, seed=seed)
    made = QuestionSet(corpus=corpus, wanted=n)
    passages = PassageMap([passage.passage for passage in corpus.passages])
    order = passages.covering_order(n, Random(seed))
    offline = OfflineQuestions(corpus.passages, passages)
    makers = {"cloze": offline.cloze, "heading": offline.heading}
    streams = {kind: makers[kind](order) for kind in chosen}
    while streams and len(made.samples) < n:
        for kind, stream in list(streams.items())[: n - len(made.samples)]:
            if question := next(stream, None):
                made.add(kind, question)
            else:
                del streams[kind]
    made.seal(seed=seed, words=words)
    return made


questions = blocking(questions_async, "questions")
