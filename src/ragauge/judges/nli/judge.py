"""The NLI judge: an entailment model that runs here, which scores each pair once, pairs of similar length together."""

from __future__ import annotations

import asyncio
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from ragauge.arrays import NDArray, np
from ragauge.judges.base import JudgeBase
from ragauge.judges.embedded.statements import is_fragment
from ragauge.kinds.windows import windows
from ragauge.questions import Entail, Question
from ragauge.types import Answer, ChunkVerdict, Failure, Identity, Label, Verdict

#: The family of a model, which decides the input format of a pair.
Family = Literal["classifier", "hhem", "true", "minicheck", "minicheck-t5"]


class ModelCard(msgspec.Struct, frozen=True, omit_defaults=True):
    """Describes a model.

    source: its name, or that of its folder. revision: the commit on the hub, or a hash of its files. window: the tokens
    of one input. end: the text of the token that ends a sequence. type_ids: whether it has token types. tokenizer:
    NAME@REVISION of the model whose tokenizer it uses, if not its own.
    """

    source: str
    revision: str
    family: Family
    labels: tuple[Label, ...]
    window: int
    pad: int = 0
    end: str = ""
    type_ids: bool = False
    tokenizer: str = ""

    @property
    def three_way(self) -> bool:
        """Whether it distinguishes contradicted from neutral."""
        return Label.CONTRADICTED in self.labels


#: A premise and a hypothesis.
TextPair = tuple[str, str]

#: Increased with every change that can change an answer.
FORM = "3"

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


def pairs_of(question: Entail) -> list[TextPair]:
    """The chunks together, in their order, a line apart, and each alone; each with the hypothesis. Premises may be "".

    A hypothesis or lone premise that is a fragment ("Six days.") is preceded by the query, as in Trust-Align: these
    models are trained on statements, not on answers.
    """
    hypothesis = _with_query(question.hypothesis, question.query)
    texts = [text if text.strip() else "" for text in question.premise]
    if len(texts) == 1:
        return [(_with_query(texts[0], question.query), hypothesis)] * 2
    return [(text, hypothesis) for text in ("\n".join(filter(None, texts)), *texts)]


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


def premise_windows(premise: str, starts: Sequence[int], room: int) -> list[str]:
    """A premise in windows of at most `room` tokens, between sentences, each with a quarter of the one before.

    starts: where in the premise each of its tokens begins.
    """
    size = max(1, len(premise) * room // len(starts))
    while True:
        spans = windows(premise, size, size // 4)
        counts = [bisect_left(starts, stop) - bisect_left(starts, start) for start, stop in spans]
        if size == 1 or max(counts) <= room:
            return [premise[start:stop] for start, stop in spans]
        size = max(1, size * 4 // 5)


#: The probability of each class.
ClassProbabilities = tuple[float, ...]

#: The class probabilities in each window of a premise, or the reason for their absence.
Scores = Sequence[ClassProbabilities] | str

_DECIMALS = 4  # more depend on what else is in a batch
_SLACK_TOKENS = 8  # additional tokens that a text may have where it is cut out of another
_CACHED_PAIRS = 1 << 16  # pairs


class PairModel(Protocol):
    """A model that runs here, in batches of `batch_tokens` with padding."""

    card: ModelCard
    batch_tokens: int
    tokenizer: PairTokenizer

    def logits(self, ids: NDArray[np.int64], mask: NDArray[np.int64], type_ids: NDArray[np.int64]) -> NDArray[Any]:
        """A row for each input, a number for each class. mask: 1 for tokens, 0 for padding."""


class PairScorer:
    """Scores pairs with a model; scores are cached."""

    def __init__(self, model: PairModel) -> None:
        self._model = model
        self._cache: dict[TextPair, ClassProbabilities] = {}

    def scores(self, pairs: Sequence[TextPair], stopped: Callable[[], bool]) -> dict[TextPair, Scores]:
        """The scores of each pair. stopped: whether the caller was cancelled. Raises what the model raises."""
        pairs = list(dict.fromkeys(pairs))
        lengths = [len(tokens.ids) for tokens in self._model.tokenizer.encode(pairs)]
        parts = {
            pair: [pair] if length <= self._model.card.window else self._cut(pair)
            for pair, length in zip(pairs, lengths, strict=True)
        }
        self._score([part for own in parts.values() if not isinstance(own, str) for part in own], stopped)
        scores: dict[TextPair, Scores] = {
            pair: own if isinstance(own, str) else [self._cache[part] for part in own] for pair, own in parts.items()
        }
        while len(self._cache) > _CACHED_PAIRS:
            del self._cache[next(iter(self._cache))]
        return scores

    def _cut(self, pair: TextPair) -> list[TextPair] | str:
        """A pair that is too long, in parts that are not; or why it cannot be cut."""
        premise, hypothesis = pair
        limit, tokenizer = self._model.card.window, self._model.tokenizer
        [without] = tokenizer.encode([("", hypothesis)])
        room = limit - len(without.ids) - _SLACK_TOKENS
        if room >= limit // 4:
            return [(text, hypothesis) for text in premise_windows(premise, tokenizer.starts(premise), room)]
        return (
            f"the hypothesis takes {len(without.ids)} of the {limit} tokens that {self._model.card.source} reads "
            "at once, and leaves no room for a premise; split it first, or use a model with a longer window"
        )

    def _score(self, texts: Sequence[TextPair], stopped: Callable[[], bool]) -> None:
        """Score texts that are not in the cache, and cache their probabilities."""
        new = [text for text in dict.fromkeys(texts) if text not in self._cache]
        tokens = dict(zip(new, self._model.tokenizer.encode(new), strict=True))
        for batch in _batches(tokens, self._model.batch_tokens):
            if stopped():
                raise InterruptedError("the caller was cancelled")
            longest = max(len(tokens[text].ids) for text in batch)
            ids = np.full((len(batch), longest), self._model.card.pad, dtype=np.int64)
            mask, type_ids = np.zeros_like(ids), np.zeros_like(ids)
            for row, text in enumerate(batch):
                read, size = tokens[text], len(tokens[text].ids)
                ids[row, :size], mask[row, :size], type_ids[row, :size] = read.ids, 1, read.type_ids
            self._cache.update(zip(batch, _softmax(self._model.logits(ids, mask, type_ids)), strict=True))


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
    return [tuple(row) for row in (powers / powers.sum(axis=-1, keepdims=True)).round(_DECIMALS).tolist()]


_WEIGHTS = {Label.CONTRADICTED: 2, Label.ENTAILED: 1}


def verdict_of_windows(card: ModelCard, scores: Sequence[ClassProbabilities]) -> ChunkVerdict:
    """The most probable support or contradiction of any window; neither where no window has one.

    So an unrelated window that the model finds weakly contradicting does not outweigh one that clearly supports. Where
    classes of a window are equally probable, the one that asserts less counts.
    """
    deciding = ChunkVerdict(Label.NEUTRAL if card.three_way else Label.NOT_ENTAILED, 0.0)
    weight = (False, -1.0, False)
    for probabilities in scores:
        by_label = dict(zip(card.labels, probabilities, strict=True))
        label = max(by_label, key=lambda label: (by_label[label], -_WEIGHTS.get(label, 0)))
        support = by_label[Label.ENTAILED]
        asserts = label in _WEIGHTS
        own_weight = (asserts, by_label[label] if asserts else support, label is Label.ENTAILED)
        if own_weight > weight:
            deciding, weight = ChunkVerdict(label, support), own_weight
    return deciding


class NliJudge(JudgeBase):
    """Answers entailment questions with a published model; no other kind.

    The chunks together are one premise, and each chunk is scored alone for its own label. A premise longer than the
    model's window is read in overlapping windows; the most probable support or contradiction in any of them decides.
    load: opens the model, at the first question. settings: what else can change an answer, such as the dtype.
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
        entails = (question for question in questions if isinstance(question, Entail) and question.hypothesis.strip())
        pairs = [pair for question in entails for pair in pairs_of(question) if pair[0]]
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
            reason = f"{self.identity.name} answers questions of entailment, not {question.topic}; ask another judge"
            return Failure("unanswerable", reason)
        if not question.hypothesis.strip():
            return Failure("unanswerable", "the hypothesis is empty, so that there is nothing to judge")
        by_pair = [all_scores.get(pair, ()) for pair in pairs_of(question)]
        if fault := next((scores for scores in by_pair if isinstance(scores, str)), None):
            return Failure("judge_error", fault)
        whole, *chunks = (verdict_of_windows(self.card, scores) for scores in by_pair if not isinstance(scores, str))
        return Verdict(whole.label, whole.probability, tuple(chunks))
