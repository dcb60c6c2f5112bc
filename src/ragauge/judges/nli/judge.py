"""The NLI judge: an entailment model that runs here, which scores each pair once, pairs of similar length together.

Windows of a long premise overlap. Two sentences that support a claim only together may be too far apart for any window:
so one more text gathers, from the whole premise, the sentences that share most words with the hypothesis.
"""

from __future__ import annotations

import asyncio
import re
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from math import log
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import msgspec

from ragauge.host import LazyModule
from ragauge.judges.base import JudgeBase
from ragauge.judges.embedded.statements import is_fragment
from ragauge.kinds.windows import group_units
from ragauge.questions import Entail, Question, topic
from ragauge.text.sentences import sentences
from ragauge.types import Answer, ChunkVerdict, Failure, Identity, Label, Span, Verdict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = LazyModule("numpy")


#: The family of a model, which decides the input format of a pair.
Family = Literal["classifier", "hhem", "true", "minicheck", "minicheck-t5"]


class ModelCard(msgspec.Struct, frozen=True, omit_defaults=True):
    """Describes a model.

    source: its name, or that of its folder. revision: the commit on the hub, or a hash of its files. window: the tokens
    of one input. end: the text of the token that ends a sequence. type_ids: whether it has token types. quantised:
    8-bit weights. tokenizer: NAME@REVISION of the model whose tokenizer it uses, if not its own.
    """

    source: str
    revision: str
    family: Family
    labels: tuple[Label, ...]
    window: int
    pad: int = 0
    end: str = ""
    type_ids: bool = False
    quantised: bool = False
    tokenizer: str = ""

    @property
    def three_way(self) -> bool:
        """Whether it distinguishes contradicted from neutral."""
        return Label.CONTRADICTED in self.labels


#: A premise and a hypothesis.
TextPair = tuple[str, str]

#: Increased with every change that can change an answer.
FORM = "2"

#: The input of models that take one text; classifiers take a pair.
#: hhem: `modeling_hhem_v2.py` of vectara/hallucination_evaluation_model. true: the card of
#: google/t5_xxl_true_nli_mixture, and ALCE. minicheck: `minicheck/inference.py` of Liyan06/MiniCheck.
FORMS: dict[Family, str] = {
    "hhem": "<pad> Determine if the hypothesis is true given the premise?\n\nPremise: {0}\n\nHypothesis: {1}",
    "true": "premise: {0} hypothesis: {1}",
    "minicheck": "{0}{end}{1}",
    "minicheck-t5": "predict: {0}{end}{1}",
}


def format_pair(card: ModelCard, pair: TextPair) -> str | TextPair:
    """The input of the model for a pair."""
    form = FORMS.get(card.family)
    return form.format(*pair, end=card.end) if form else pair


def joint_premise(question: Entail) -> TextPair:
    """The chunks together, in their order, a line apart; and the hypothesis.

    A hypothesis or lone premise that is a fragment ("Six days.") is preceded by the query, as in Trust-Align: these
    models are trained on statements, not on answers.
    """
    premise = "\n".join(text for text in question.premise if text.strip())
    if len(question.premise) == 1:
        premise = _with_query(premise, question.query)
    return premise, _with_query(question.hypothesis, question.query)


def single_premise(question: Entail) -> list[TextPair]:
    """Each chunk by itself with the hypothesis, in the order of the chunks."""
    if len(question.premise) == 1:
        return [joint_premise(question)]
    hypothesis = _with_query(question.hypothesis, question.query)
    return [(text if text.strip() else "", hypothesis) for text in question.premise]


def _with_query(text: str, query: str | None) -> str:
    return f"{query} {text}" if query and query.strip() and is_fragment(text) else text


class Tokens(NamedTuple):
    """The tokens of a pair, and their types."""

    ids: Sequence[int]
    type_ids: Sequence[int]


class PairTokenizer:
    """Tokenizes pairs. tokenizer: one of the `tokenizers` library."""

    def __init__(self, tokenizer: Any, card: ModelCard) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer, self._card = tokenizer, card

    def encode(self, pairs: Iterable[TextPair]) -> list[Tokens]:
        """The tokens of each pair, not truncated."""
        texts = [format_pair(self._card, pair) for pair in pairs]
        return [Tokens(encoded.ids, encoded.type_ids) for encoded in self._tokenizer.encode_batch(texts)]

    def starts(self, text: str) -> list[int]:
        """Where in a text each of its tokens begins."""
        return [start for start, _ in self._tokenizer.encode(text, add_special_tokens=False).offsets]


#: The share of a window that the previous one also contains.
OVERLAP = 0.25

_WORD = re.compile(r"\w+")


class _Layout(NamedTuple):
    """A text by its tokens. starts: where each token begins. units: sentences, long ones in parts."""

    text: str
    starts: Sequence[int]
    units: Sequence[Span]

    def tokens(self, start: int, stop: int) -> int:
        """How many tokens begin between two characters."""
        return bisect_left(self.starts, stop) - bisect_left(self.starts, start)


class PremiseWindows:
    """Splits premises into windows. starts_of: where in a text each token begins."""

    def __init__(self, starts_of: Callable[[str], Sequence[int]]) -> None:
        self._starts_of = starts_of
        self._layout = lru_cache(maxsize=64)(self._make_layout)

    def of(self, premise: str, hypothesis: str, room: int) -> list[str]:
        """Texts of at most `room` tokens that together hold all of the premise but white space."""
        spans = self.spans(premise, room)
        gathered = _gathered(self._layout(premise, room), hypothesis, room)
        texts = [premise[slice(*span)] for span in spans]
        if gathered and not any(start <= gathered[0][0] and gathered[-1][1] <= stop for start, stop in spans):
            texts.append("\n".join(premise[slice(*unit)] for unit in gathered))
        return texts

    def spans(self, premise: str, room: int) -> list[Span]:
        """The windows as spans of characters, without the gathered text."""
        layout = self._layout(premise, room)
        return group_units(layout.units, layout.tokens, room, room * OVERLAP)

    def _make_layout(self, text: str, room: int) -> _Layout:
        starts, units = self._starts_of(text), []
        longest = max(1, int(room * OVERLAP))
        for start, stop in sentences(text):
            while (cut := bisect_left(starts, start) + longest) < bisect_left(starts, stop) and starts[cut] > start:
                units.append((start, starts[cut]))
                start = starts[cut]
            units.append((start, stop))
        return _Layout(text, starts, units)


def _gathered(layout: _Layout, hypothesis: str, room: int) -> list[Span]:
    """The units that share most words with the hypothesis, weighted by idf, as many as fit, in their order."""
    words = set(_WORD.findall(hypothesis.lower()))
    shared = {unit: words.intersection(_WORD.findall(layout.text[slice(*unit)].lower())) for unit in layout.units}
    counts = Counter(word for found in shared.values() for word in found)
    idf = {word: log(1 + len(shared) / count) for word, count in counts.items()}
    ranked = sorted((unit for unit in shared if shared[unit]), key=lambda unit: -sum(idf[w] for w in shared[unit]))
    found: list[Span] = []
    for unit in ranked:
        size = layout.tokens(*unit) + 1
        if size <= room:
            found.append(unit)
            room -= size
    return sorted(found)


#: The probability of each class.
ClassProbabilities = tuple[float, ...]

#: The class probabilities in each window of a premise, or why there are none.
Scores = Sequence[ClassProbabilities] | str

_DIGITS = 4  # more depend on what else is in a batch
_SLACK = 8  # additional tokens that a text may have where it is cut out of another
_CACHE_SIZE = 1 << 16  # pairs


class PairModel(Protocol):
    """A model that runs here: `workers` batches concurrently, of `batch_tokens` with padding; 0: pair by pair."""

    card: ModelCard
    workers: int
    batch_tokens: int
    tokenizer: PairTokenizer

    def logits(self, ids: NDArray[np.int64], mask: NDArray[np.int64], type_ids: NDArray[np.int64]) -> NDArray[Any]:
        """A row for each input, a number for each class. mask: 1 for tokens, 0 for padding."""


class PairScorer:
    """Scores pairs with a model, in threads of its own; scores are cached."""

    def __init__(self, model: PairModel) -> None:
        self._model = model
        self._windows = PremiseWindows(model.tokenizer.starts)
        self._cache: dict[TextPair, ClassProbabilities] = {}

    def scores(self, pairs: Sequence[TextPair], stopped: Callable[[], bool]) -> dict[TextPair, Scores]:
        """The scores of each pair. stopped: whether the caller was cancelled."""
        texts, tokens = self._tokenize(list(dict.fromkeys(pairs)))
        faults = self._run({text: own for text, own in tokens.items() if text not in self._cache}, stopped)
        found: dict[TextPair, Scores] = {}
        for pair, parts in texts.items():
            if isinstance(parts, str):
                found[pair] = parts
            else:
                fault = next((faults[text] for text in parts if text in faults), None)
                found[pair] = fault or [self._cache[text] for text in parts]
        while len(self._cache) > _CACHE_SIZE:
            del self._cache[next(iter(self._cache))]
        return found

    def _tokenize(
        self, pairs: Sequence[TextPair]
    ) -> tuple[dict[TextPair, Sequence[TextPair] | str], dict[TextPair, Tokens]]:
        """The texts as which each pair is scored, or why it cannot be; and the tokens of all texts."""
        tokens = dict(zip(pairs, self._model.tokenizer.encode(pairs), strict=True))
        texts: dict[TextPair, Sequence[TextPair] | str] = {pair: [pair] for pair in pairs}
        long = [pair for pair in pairs if len(tokens[pair].ids) > self._model.card.window]
        for pair in long:
            del tokens[pair]
            texts[pair] = self._cut(pair)
        parts = [part for pair in long for part in texts[pair] if isinstance(part, tuple)]
        tokens.update(zip(parts, self._model.tokenizer.encode(parts), strict=True))
        return texts, tokens

    def _cut(self, pair: TextPair) -> list[TextPair] | str:
        premise, hypothesis = pair
        limit = self._model.card.window
        [without] = self._model.tokenizer.encode([("", hypothesis)])
        room = limit - len(without.ids) - _SLACK
        if room >= limit // 4:
            return [(text, hypothesis) for text in self._windows.of(premise, hypothesis, room)]
        return (
            f"the hypothesis takes {len(without.ids)} of the {limit} tokens that {self._model.card.source} reads "
            "at once, and leaves no room for a premise; split it first, or use a model with a longer window"
        )

    def _run(self, tokens: dict[TextPair, Tokens], stopped: Callable[[], bool]) -> dict[TextPair, str]:
        """Score texts and cache the results; the texts of batches that failed, and why."""
        faults: dict[TextPair, str] = {}
        with ThreadPoolExecutor(self._model.workers) as pool:
            work = [
                (batch, pool.submit(self._batch, [tokens[text] for text in batch], stopped))
                for batch in _batches(tokens, self._model.batch_tokens)
            ]
            for batch, future in work:
                if (fault := future.exception()) is not None:
                    faults.update(dict.fromkeys(batch, f"{type(fault).__name__}: {fault}"))
                else:
                    self._cache.update(zip(batch, future.result(), strict=True))
        return faults

    def _batch(self, batch: Sequence[Tokens], stopped: Callable[[], bool]) -> list[ClassProbabilities]:
        if stopped():
            raise InterruptedError("the caller was cancelled")
        longest = max(len(tokens.ids) for tokens in batch)
        ids = np.full((len(batch), longest), self._model.card.pad, dtype=np.int64)
        mask, type_ids = np.zeros_like(ids), np.zeros_like(ids)
        for row, tokens in enumerate(batch):
            size = len(tokens.ids)
            ids[row, :size], mask[row, :size], type_ids[row, :size] = tokens.ids, 1, tokens.type_ids
        return _softmax(self._model.logits(ids, mask, type_ids))


def _batches(tokens: dict[TextPair, Tokens], budget: int) -> Iterator[list[TextPair]]:
    """Texts of similar length together, the longest first; the size of a batch with padding is within the budget."""
    batch: list[TextPair] = []
    longest = 0
    for text in sorted(tokens, key=lambda text: -len(tokens[text].ids)):
        if batch and longest * (len(batch) + 1) > budget:
            yield batch
            batch = []
        longest = longest if batch else len(tokens[text].ids)
        batch.append(text)
    if batch:
        yield batch


def _softmax(logits: NDArray[Any]) -> list[ClassProbabilities]:
    shifted = np.asarray(logits, dtype=np.float64)
    if not np.isfinite(shifted).all():
        raise ArithmeticError("the model gave no finite number; with dtype=float32 it may")
    powers = np.exp(shifted - shifted.max(axis=-1, keepdims=True))
    return [tuple(row) for row in (powers / powers.sum(axis=-1, keepdims=True)).round(_DIGITS).tolist()]


_WEIGHTS = {Label.CONTRADICTED: 2, Label.ENTAILED: 1}


class _WindowVerdict(NamedTuple):
    """The most probable class of one window, its probability, and that of entailment."""

    label: Label
    probability: float
    support: float


def _window_verdicts(card: ModelCard, windows: Sequence[ClassProbabilities]) -> list[_WindowVerdict]:
    """The verdict of each window; of classes that are equally probable it is the one that asserts less."""
    found = []
    for probabilities in windows:
        by_label = dict(zip(card.labels, probabilities, strict=True))
        label = max(by_label, key=lambda one: (by_label[one], -_WEIGHTS.get(one, 0)))
        found.append(_WindowVerdict(label, by_label[label], by_label[Label.ENTAILED]))
    return found


def verdict_of_windows(card: ModelCard, windows: Sequence[ClassProbabilities]) -> ChunkVerdict:
    """The most probable support or contradiction of any window; neither where no window has one.

    So an unrelated window that the model finds weakly contradicting does not outweigh one that clearly supports.
    """

    def weight(one: _WindowVerdict) -> tuple[bool, float, bool]:
        asserts = one.label in _WEIGHTS
        return asserts, one.probability if asserts else one.support, one.label is Label.ENTAILED

    if not windows:
        return ChunkVerdict(Label.NEUTRAL if card.three_way else Label.NOT_ENTAILED, 0.0)
    deciding = max(_window_verdicts(card, windows), key=weight)
    return ChunkVerdict(deciding.label, deciding.support)


def disagreement(card: ModelCard, windows: Sequence[ClassProbabilities]) -> str | None:
    """A sentence on windows of which some support the hypothesis and others contradict it; None where none do."""
    verdicts = _window_verdicts(card, windows)
    highest = {
        label: max((one.probability for one in verdicts if one.label is label), default=0.0) for label in _WEIGHTS
    }
    if not all(highest.values()):
        return None
    return (
        f"of {len(windows)} windows of the premise, one supports it with {highest[Label.ENTAILED]:.2f} and one "
        f"contradicts it with {highest[Label.CONTRADICTED]:.2f}"
    )


class NliJudge(JudgeBase):
    """Answers entailment questions with a published model; no other kind.

    The chunks together are one premise, and each chunk is scored by itself for its own label. A premise longer than the
    model's window is read in overlapping windows, of which the most probable support or contradiction decides. load:
    opens the model, at the first question. settings: what else can change an answer, such as the dtype.
    """

    answers: frozenset[str] = frozenset()
    is_checked = True
    batch = 512

    def __init__(
        self, name: str, card: ModelCard, load: Callable[[], PairModel], settings: Sequence[tuple[str, str]] = ()
    ) -> None:
        self.card, self._load = card, load
        labels = ":".join(card.labels)
        described = {"revision": card.revision, "family": card.family, "labels": labels, "window": str(card.window)}
        borrowed = {"tokenizer": card.tokenizer} if card.tokenizer else {}
        self.identity = Identity(name, (*described.items(), *borrowed.items(), ("form", FORM), *settings))
        self.answers = frozenset({"entail" if card.three_way else "entail:support"})
        self._scorer: PairScorer | None = None
        self._lock = threading.Lock()

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """The answers in order, by a thread that ends after the batches in progress where the caller is cancelled."""
        stop = threading.Event()
        try:
            return await asyncio.to_thread(self._answer_all, questions, stop.is_set)
        finally:
            stop.set()

    def _answer_all(self, questions: Sequence[Question], stopped: Callable[[], bool]) -> list[Answer | Failure]:
        entails = (one for one in questions if isinstance(one, Entail) and one.hypothesis.strip())
        pairs = [pair for question in entails for pair in _pairs(question) if pair[0]]
        with self._lock:
            try:
                if self._scorer is None:
                    self._scorer = PairScorer(self._load())
                scores = self._scorer.scores(pairs, stopped)
            except Exception as error:
                return [Failure("judge_error", f"{type(error).__name__}: {error}")] * len(questions)
        return [self._answer(question, scores) for question in questions]

    def _answer(self, question: Question, all_scores: dict[TextPair, Scores]) -> Answer | Failure:
        if not isinstance(question, Entail):
            reason = f"{self.identity.name} answers questions of entailment, not {topic(question)}; ask another judge"
            return Failure("unanswerable", reason)
        if not question.hypothesis.strip():
            return Failure("unanswerable", "the hypothesis is empty, so that there is nothing to judge")
        found = [all_scores.get(pair, ()) for pair in _pairs(question)]
        if fault := next((one for one in found if isinstance(one, str)), None):
            return Failure("judge_error", fault)
        windows = [one for one in found if not isinstance(one, str)]
        whole, *chunks = (verdict_of_windows(self.card, one) for one in windows)
        return Verdict(whole.label, whole.probability, tuple(chunks), rationale=disagreement(self.card, windows[0]))


def _pairs(question: Entail) -> list[TextPair]:
    """The pair of all chunks together and that of each, some with a blank premise."""
    return [joint_premise(question), *single_premise(question)]
