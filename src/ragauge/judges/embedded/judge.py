"""The judge in the wheel: offline, deterministic; words and a small encoder, weighed by fitted layers.

Each token of the claim, encoded alone, is compared with the tokens of a text: the late interaction of ColBERT (Khattab
and Zaharia 2020, arXiv:2004.12832). A small network sees of each token its similarity to the nearest token of all
texts, to the nearest in the sentence that holds most of its own sentence, and to the nearest that is the same word
piece; its weight; and the kind of its word. Of the values that it gives to tokens, it weighs the mean and the soft
minimum over the claim (training/fit_matching.py).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ragauge.host import LazyModule
from ragauge.judges.base import JudgeBase
from ragauge.judges.embedded.encoder import Encoder, Floats, Logits, encoder, fingerprint
from ragauge.judges.embedded.layer import coefficients, logit, packaged, predict
from ragauge.judges.embedded.lexical import (
    MOST_WINDOWS,
    VERBATIM,
    Analysis,
    Finding,
    Lexical,
    Terms,
    analyse,
    best_windows,
    chunk_verdict,
    is_empty_answer,
    is_short_answer,
    merged,
    read_query,
    relevant,
    select_sentences,
    verdict,
    yes_no,
)
from ragauge.judges.embedded.passages import passage
from ragauge.judges.embedded.statements import decompose
from ragauge.judges.embedded.toxicity import toxicity
from ragauge.judges.embedded.words import Kind, weight, words
from ragauge.questions import Classify, Decompose, Entail, Question, Relevant, language, topic
from ragauge.text.sentences import splitter
from ragauge.types import Answer, Decomposition, Failure, Identity, Label, Verdict

if TYPE_CHECKING:
    import numpy as np
else:
    np = LazyModule("numpy")

_MIN_SHARE_TO_ENCODE = 0.1  # of a claim, by words in one sentence of a chunk
_MIN_GAIN_ACROSS_CHUNKS = 0.15  # share of a claim that sentences of several chunks hold beyond the best one
_CONTRADICTION_THRESHOLD = 0.9  # the layer was fitted where half were, and one in ten is more usual
_LONG_CLAIM_WORDS = 15  # from which a claim is judged by words as much as any
_MIN_WORDS_FOR_LANGUAGE = 8
_ENGLISH_STOPWORDS = frozenset(
    """the of and is to are were for with by from that has have it its this be not he she they his their who which at
    had been will can after or as""".split()
)
_MAX_CACHED = 3000  # outputs, and questions, that are kept from one batch to the next
_MAX_LOGIT = 6.0

_RULES = "18"  # increased with every change that can change an answer
_QUESTIONS_PER_YIELD = 32  # then other coroutines may run

FEATURES = 4 + len(Kind)  # of a token, for the network
MIN_TOKEN_WEIGHT = 0.05
SHARPNESS = 4.0  # how near the soft minimum is to the minimum
RARE_WORD_WEIGHT = 5.0


class Similarity(NamedTuple):
    """Cosines of a claim with a text."""

    whole: float  # of both whole
    nearest: Floats  # (sentences of the text, tokens of the claim): with the nearest token in that sentence
    same: Floats  # (tokens of the claim): with the nearest that is the same word piece, or 0


def similarity(encoder: Encoder, text: str, claim: str) -> Similarity:
    """The similarity of a claim to a text, as far as the encoder reads both."""
    theirs, mine = encoder.encoded(text), encoder.encoded(claim)
    whole = float(theirs.embedding @ mine.embedding)
    if not len(theirs.ids):
        nothing = np.zeros((1, len(mine.ids)), np.float32)
        return Similarity(whole, nothing, nothing[0])
    cosines = theirs.tokens.astype(np.float32) @ mine.tokens.astype(np.float32).T
    same = np.where(theirs.ids[:, None] == mine.ids, cosines, 0).max(axis=0)
    starts = [start for start, _ in theirs.spans]
    opening = np.searchsorted(starts, [sentence.start for sentence in passage(text).sentences]).tolist()
    sentences = sorted({0, *(place for place in opening if place < len(starts))})
    return Similarity(whole, np.maximum.reduceat(cosines, sentences), same)


class TokenWeights(NamedTuple):
    """The weight of each token of a sentence, and the kind of its word: (tokens, kinds), a 1 in each row."""

    weights: Floats
    kinds: Floats


@lru_cache(maxsize=1024)
def token_weights(sentence: str, spans: Sequence[tuple[int, int]], query_length: int) -> TokenWeights:
    """Each token has its share of the weight of its word.

    The first `query_length` characters have no weight, and neither do function words. Where no word has weight all
    tokens weigh alike.
    """
    weights = np.zeros(len(spans), np.float32)
    kinds = np.zeros((len(spans), len(Kind)), np.float32)
    kinds[:, Kind.FUNCTION] = 1
    for word in words(sentence):
        inside = [at for at, (start, end) in enumerate(spans) if start < word.end and end > word.start]
        kinds[inside] = np.eye(len(Kind))[word.kind]
        if word.kind != Kind.FUNCTION and word.start >= query_length:
            weights[inside] += weight(word) / max(len(inside), 1)
    return TokenWeights(weights if weights.any() else np.ones_like(weights), kinds)


def token_features(similarities: Sequence[Similarity], own: TokenWeights) -> Floats:
    """What the network sees of a sentence of a claim: (tokens, FEATURES). similarities: to each text, one or more."""
    nearest = np.concatenate([one.nearest for one in similarities])
    holds_most = nearest[(nearest @ own.weights).argmax()]
    same = np.max([one.same for one in similarities], axis=0)
    seen = (nearest.max(axis=0), holds_most, same, own.weights / RARE_WORD_WEIGHT)
    return np.concatenate([np.stack(seen, axis=1), own.kinds], axis=1)


def support_logit(tokens: Floats) -> float:
    """The logit that a claim is supported. tokens: (tokens, FEATURES), of all its sentences."""
    if not len(tokens):
        return 0.0
    values, (*hidden, projection, output) = tokens, _network()
    for weights, biases in hidden:
        values = np.maximum(values @ weights + biases, 0)
    values = values @ projection[0] + projection[1]
    token_weight = tokens[:, 3] * RARE_WORD_WEIGHT + MIN_TOKEN_WEIGHT
    mean = token_weight @ values / token_weight.sum()
    lowest = values.min(axis=0)
    soft = lowest - np.log(np.exp(-SHARPNESS * (values - lowest)).sum(axis=0)) / SHARPNESS
    return float((np.concatenate([mean, soft]) @ output[0] + output[1])[0])


@cache
def _network() -> tuple[tuple[Floats, Floats], ...]:
    """The linear steps of data/matching.json: weights, (values in, values out), and biases."""
    return tuple(
        (np.array(step["weights"], np.float32).T, np.array(step["constants"], np.float32))
        for step in json.loads(packaged("matching.json"))
    )


class Comparison(NamedTuple):
    """A sentence of a claim given a window of a text."""

    logits: Logits
    similarity: Similarity


class SentenceComparison(NamedTuple):
    """A sentence of a claim given each of some windows, the weights of its tokens, and the number of its words."""

    windows: Sequence[Comparison]
    weights: TokenWeights
    words: int


class _Case(NamedTuple):
    """A question of entailment: its analysis by words, for each chunk of the premise the windows to encode, and one of
    sentences of several chunks where these hold more of the claim than any chunk."""

    analysis: Analysis
    windows: tuple[tuple[str, ...], ...]
    across: tuple[str, ...]


class Trained(Lexical):
    """Answers with the encoder in the wheel, which is opened with the first question that needs it.

    least: the share of a claim that some sentence of a chunk must hold by words for the chunk to be encoded. most:
    windows of a chunk that are compared with a claim. benchmarks/skipping.py measures how many verdicts that changes.
    """

    answers = frozenset({"entail", "relevant", "classify:toxic"})

    def __init__(self, least: float = _MIN_SHARE_TO_ENCODE, most: int = MOST_WINDOWS) -> None:
        self._least, self._most = least, most
        self._cases: dict[Entail, _Case] = {}
        self._comparisons: dict[tuple[str, str], Comparison] = {}

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """Hashes of the tables, of the encoder and of the layers, for the identity."""
        layers = "".join(packaged(f"{name}.json") for name in ("matching", "trained", "toxicity"))
        digest = hashlib.sha256(layers.encode()).hexdigest()[:12]
        return (*super().settings, ("encoder", fingerprint()), ("layers", digest))

    def prepare(self, questions: Sequence[Question]) -> Iterator[None]:
        """Encode what questions of entailment need, each window once with all claims about it; a step for each."""
        if max(len(self._comparisons), len(self._cases)) > _MAX_CACHED:
            self._comparisons.clear()
            self._cases.clear()
        wanted: dict[str, dict[str, None]] = {}
        for question in questions:
            if isinstance(question, Entail):
                case = self._cases[question] = self._case(question)
                for window in chain(case.across, *case.windows):
                    new = (one for one in case.analysis.sentences if (window, one) not in self._comparisons)
                    wanted.setdefault(window, {}).update(dict.fromkeys(new))
        pending = [(window, list(sentences)) for window, sentences in wanted.items() if sentences]
        if not pending:
            return
        results = encoder().map(lambda one: _compared(*one), pending)
        for (window, sentences), compared in zip(pending, results, strict=True):
            self._comparisons.update(zip([(window, one) for one in sentences], compared, strict=True))
            yield

    def verdict(self, question: Question) -> Verdict | None:
        """The verdict on a question of entailment, relevance or toxicity; None for others."""
        match question:
            case Entail():
                return self._entailment(question)
            case Relevant(query, text, reference):
                return _relevant(query, text, reference)
            case Classify(text, "toxic"):
                return yes_no(toxicity(text, encoder().embed))
        return None

    def _entailment(self, question: Entail) -> Verdict:
        case = self._cases.get(question) or self._case(question)
        lexical = case.analysis.findings.alone
        alone = [
            _refined(finding, self._sentences(case.analysis, windows))
            for finding, windows in zip(lexical, case.windows, strict=True)
        ]
        return _combined(_refined(*self.joint(question)), alone, lexical)

    def joint(self, question: Entail) -> tuple[Finding, Sequence[SentenceComparison]]:
        """The verdict by words on all chunks together, and the comparisons of the claim with their windows."""
        case = self._cases.get(question) or self._case(question)
        by_words, windows = verdict(*case.analysis.findings), (*case.across, *chain.from_iterable(case.windows))
        return Finding(by_words.label, by_words.probability or 0.0), self._sentences(case.analysis, windows)

    def _case(self, question: Entail) -> _Case:
        analysis = analyse(question.premise, question.hypothesis, question.query)
        claim_words = " ".join(analysis.sentences).lower().split()
        known = not _ENGLISH_STOPWORDS.isdisjoint(claim_words)
        english = known or len(claim_words) < _MIN_WORDS_FOR_LANGUAGE  # which is all that the encoder reads
        windows = tuple(
            best_windows(analysis.claim, text, self._least, self._most)
            if english and plain and finding.probability < VERBATIM
            else ()
            for text, plain, finding in zip(question.premise, analysis.plain, analysis.findings.alone, strict=True)
        )
        return _Case(analysis, windows, _across(analysis, windows))

    def _sentences(self, analysis: Analysis, windows: Sequence[str]) -> list[SentenceComparison]:
        """The comparisons of each sentence of a claim; nothing where there are no windows."""
        found: list[SentenceComparison] = []
        if not windows:
            return found
        for sentence in analysis.sentences:
            known = [self._comparisons.get((one, sentence)) or _compared(one, [sentence])[0] for one in windows]
            weights = token_weights(sentence, encoder().encoded(sentence).spans, analysis.query_length)
            found.append(SentenceComparison(known, weights, len(sentence.split())))
        return found


def _across(analysis: Analysis, windows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The sentences of the encoded chunks that hold most of a claim each, as one window; () where that adds little."""
    findings = [finding.best for finding, own in zip(analysis.findings.alone, windows, strict=True) if own]
    chosen = select_sentences(analysis.claim, [best for best in findings if best])
    held = analysis.claim.share(merged(*(one.credits for one in chosen)))
    if len(chosen) < 2 or held < chosen[0].share + _MIN_GAIN_ACROSS_CHUNKS:
        return ()
    return (" ".join(one.sentence.text for one in chosen),)


def _compared(window: str, sentences: Sequence[str]) -> list[Comparison]:
    similarities = (similarity(encoder(), window, one) for one in sentences)
    return list(map(Comparison, encoder().classify(window, sentences), similarities))


def _refined(lexical: Finding, sentences: Sequence[SentenceComparison]) -> Finding:
    """A lexical verdict refined by the encoder; clear contradictions stand, as does all where nothing is encoded."""
    if not sentences:
        return lexical
    values = claim_features(lexical, sentences)
    probability = predict(coefficients("trained")["entailed"], values)
    if lexical.label == Label.CONTRADICTED:
        return Finding(Label.CONTRADICTED, _halved(probability), lexical.best)
    if probability >= 0.5:
        return Finding(Label.ENTAILED, probability, lexical.best)
    contradicted = predict(coefficients("trained")["contradicted"], values) >= _CONTRADICTION_THRESHOLD
    return Finding(Label.CONTRADICTED if contradicted else Label.NEUTRAL, probability, lexical.best)


def _halved(probability: float) -> float:
    """What is left of a probability where words clearly contradict a claim: one half at most, in the same order."""
    return probability / (1 + probability)


def _combined(joint: Finding, alone: Sequence[Finding], lexical: Sequence[Finding]) -> Verdict:
    """All chunks together: no less likely than any one of them.

    Contradicted where a chunk contradicts the claim and none supports it, or by its very words although one does.
    """
    probability = max([joint.probability, *(one.probability for one in alone)])
    label = Label.ENTAILED if probability >= 0.5 else joint.label
    against = [by_words for one, by_words in zip(alone, lexical, strict=True) if one.label == Label.CONTRADICTED]
    if label == Label.ENTAILED and any(by_words.label == Label.CONTRADICTED for by_words in against):
        label, probability = Label.CONTRADICTED, _halved(probability)
    elif label == Label.NEUTRAL and against:
        label = Label.CONTRADICTED
    return Verdict(label, round(probability, 4), tuple(map(chunk_verdict, alone)))


def claim_features(lexical: Finding, sentences: Sequence[SentenceComparison]) -> Mapping[str, float]:
    """The features of a claim for the regressions. lexical: the verdict by words on the same texts.

    A sentence may have its support in any window; a claim is supported no better than its weakest sentence. Of a short
    claim its words say less than of a long one, and the encoder more.
    """
    short = max(0.0, min(0.5, -math.log(max(sum(one.words for one in sentences), 1) / _LONG_CLAIM_WORDS)))
    by_words = logit(lexical.probability)
    entailed = min(max(_log_odds(*one.logits) for one in sentence.windows) for sentence in sentences)
    return {
        "words": by_words,
        "short_words": short * by_words,
        "words_against": float(lexical.label == Label.CONTRADICTED),
        "entailed": entailed,
        "short_entailed": short * entailed,
        "against": max(_against(one) for sentence in sentences for one in sentence.windows),
        "near": min(max(one.similarity.whole for one in sentence.windows) for sentence in sentences),
        "matched": support_logit(tokens_of(sentences)),
    }


def tokens_of(sentences: Sequence[SentenceComparison]) -> Floats:
    """What the network of `support_logit` sees of each token of a claim."""
    return np.concatenate(
        [token_features([one.similarity for one in sentence.windows], sentence.weights) for sentence in sentences]
    )


def _against(one: Comparison) -> float:
    """The log-odds of "contradicted", less where window and claim are about different things."""
    entailed, neutral, contradicted = one.logits
    return _log_odds(contradicted, neutral, entailed) + min(0.0, 8 * (one.similarity.whole - 0.5))


def _log_odds(one: float, two: float, three: float) -> float:
    """The logit of the first class against the other two, clipped."""
    others = max(two, three) + math.log1p(math.exp(-abs(two - three)))
    return max(-_MAX_LOGIT, min(_MAX_LOGIT, one - others))


def _relevant(query: str, text: str, reference: str | None) -> Verdict:
    """By words, and by the similarity of query and text where no reference is to be produced."""
    by_words = relevant(query, text, reference)
    source = passage(text)
    if reference or not source.sentences or is_empty_answer(query, source) or is_short_answer(source):
        return by_words
    layer = "relevant" if len(source.sentences) > 1 else "answers"
    return yes_no(predict(coefficients("trained")[layer], relevance(query, text, by_words)), by_words.span)


def relevance(query: str, text: str, by_words: Verdict) -> Mapping[str, float]:
    """What the layers of relevance weigh; `by_words` is the verdict of `relevant` on a text that is not blank."""
    windows = best_windows(Terms(read_query(query).words), text)
    near = encoder().embed(windows) @ encoder().embed([query])[0]
    return {"words": logit(by_words.probability or 0.0), "near": float(near.max())}


class EmbeddedJudge(JudgeBase):
    """Decomposes texts by rules; judges entailment (three-way), relevance and toxicity by a small model and by words.

    It grades nothing and knows no bias: these are not in `answers`. Of other languages than English it splits texts,
    and abstains from verdicts.

    backend: `Trained` by default, or `Lexical` for verdicts by words alone, in any language. name: for the identity.

    threshold: the confidence, by kind, from which its verdicts are accepted in a cascade that is given none. It was
    found for words alone, on pairs that had no part in fitting them; tune a cascade on labels of your own where much
    depends on it.
    """

    answers: frozenset[str] = frozenset()
    is_typed = True
    threshold = MappingProxyType({"entail": 0.96})
    batch = 128  # questions at once: claims about one passage are read together

    def __init__(self, backend: Lexical | None = None, name: str = "embedded") -> None:
        self._backend = backend or Trained()
        self.answers = frozenset({"decompose", *self._backend.answers})
        self._english_only = backend is None
        languages = (("reads", "en"),) if self._english_only else ()
        own = (("rules", _RULES), ("splitter", splitter()), *languages)
        self.identity = Identity(name, (*own, *self._backend.settings))

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """The answers in the order of the questions; a kind it does not answer gives a Failure."""
        for _ in self._backend.prepare(questions):
            await asyncio.sleep(0)
        answers: list[Answer | Failure] = []
        for count, question in enumerate(questions):
            if count % _QUESTIONS_PER_YIELD == 0:
                await asyncio.sleep(0)
            answers.append(self._answer(question))
        return answers

    def _answer(self, question: Question) -> Answer | Failure:
        if isinstance(question, Decompose):
            return Decomposition(decompose(question.text, question.query))
        if self._english_only and (code := language(question)) != "en":
            reason = f"the {self.identity} judge reads English, and this is {code!r}; name a judge for it, as in"
            return Failure("abstained", f"{reason} --judge {code}=PROVIDER/MODEL")
        unanswerable = f"the {self.identity} judge does not answer {topic(question)}; ask another judge"
        return self._backend.verdict(question) or Failure("unanswerable", unanswerable)
