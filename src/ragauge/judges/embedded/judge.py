"""The judge in the wheel, offline and deterministic: a small encoder reads claims, and layers make it a probability."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from threading import Event, Lock
from types import MappingProxyType
from typing import NamedTuple

from ragauge.judges.base import JudgeBase, in_context
from ragauge.judges.embedded.answers import answer_readings, answer_values, as_answer, has_other_date, judged_answer
from ragauge.judges.embedded.encoder import Logits, Reading, encoder, fingerprint, log_odds
from ragauge.judges.embedded.layer import coefficients, packaged, predict
from ragauge.judges.embedded.lexical import (
    VERBATIM,
    Finding,
    Lexical,
    agreement,
    combined,
    decided,
    polarity,
    related,
    yes_no,
)
from ragauge.judges.embedded.matching import MOST_WINDOWS, Held, Terms, best_windows, complementary, held
from ragauge.judges.embedded.passages import passage
from ragauge.judges.embedded.statements import decompose, is_fragment
from ragauge.judges.embedded.toxicity import toxicity
from ragauge.judges.embedded.words import words
from ragauge.questions import Correct, Decompose, Entail, Question, Relevant, language
from ragauge.text.sentences import splitter
from ragauge.types import Answer, Decomposition, Failure, Identity, Label, Verdict

_SHORT_WORDS = 4  # the most of a fragment that is read behind its query, which completes it
_ANSWER_WORDS = 25  # the most of a lone text that is also read as an answer to the query
_MAX_CACHED_OUTPUTS = 3000  # outputs, and questions, that are kept from one batch to the next

_RULES, _SPLITTING = "20", "24"  # of verdicts and of decomposition; increased with every change of an answer


class Case(NamedTuple):
    """A question of entailment: the claim, what its texts hold of it by words, and what is to be read.

    chunks: for each chunk the readings of each sentence of the claim; () where it is not read. across: the readings of
    several chunks at once, where these hold more of the claim than any one. answer: whether the readings are of a short
    text as an answer to the query, in several ways. is_no: whether they are of the yes that a bare no denies.
    """

    claim: Terms
    texts: tuple[Held, ...]
    chunks: tuple[tuple[Reading, ...], ...]
    across: tuple[Reading, ...] = ()
    answer: bool = False
    is_no: bool = False


class Trained(Lexical):
    """Answers with the encoder in the wheel, which is opened with the first question that needs it.

    most: windows of a chunk that are read, those that hold most words of a claim. benchmarks/skipping.py measures how
    many verdicts that changes.
    """

    answers = frozenset({*Lexical.answers, "classify:toxic"})

    def __init__(self, most: int = MOST_WINDOWS) -> None:
        self._most = most
        self._cases: dict[Entail, Case] = {}
        self._logits: dict[Reading, Logits] = {}

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """Hashes of the tables, of the encoder and of the layers, for the identity."""
        texts = {
            "layers": packaged("trained.json") + packaged("toxicity.json"),
            "layers.correct": packaged("correct.json"),
        }
        digests = ((name, hashlib.sha256(text.encode()).hexdigest()[:12]) for name, text in texts.items())
        return (*super().settings, ("encoder", fingerprint()), *digests)

    def prepare(self, questions: Sequence[Question]) -> Iterator[None]:
        """Read what questions need, each premise once with all claims about it; a step for each."""
        if max(len(self._logits), len(self._cases)) > _MAX_CACHED_OUTPUTS:
            self._logits.clear()
            self._cases.clear()
        wanted: dict[tuple[str, ...], dict[Reading, None]] = {}
        for question in questions:
            if isinstance(question, Entail):
                case = self._cases[question] = self.case(question)
                readings, texts = chain(case.across, *case.chunks), question.premise
            elif isinstance(question, Correct) and not decided(question):
                readings, texts = chain(*answer_readings(question)), question.references
            else:
                continue
            new = dict.fromkeys(reading for reading in readings if reading not in self._logits)
            wanted.setdefault(texts, {}).update(new)
        for read in encoder().map(_read, [list(together) for together in wanted.values() if together]):
            self._logits.update(read)
            yield

    def entailment(self, question: Entail) -> Verdict:
        """The verdict of the encoder on what is no copy."""
        case = self.case(question)
        if settled := _by_opening(case.claim, question):
            return combined(settled, [settled], case.texts)
        pairs = zip(case.texts, case.chunks, strict=True)
        alone = [_finding(case.claim, [text], self._values(case, [readings])) for text, readings in pairs]
        return combined(_finding(case.claim, case.texts, self.joint(question)), alone, case.texts)

    def relevance(self, question: Relevant) -> Verdict:
        """The verdict of words and similarity."""
        query = in_context(question.query, question.history)
        by_words = related(query, question.text, question.reference)
        probability = by_words.settled
        if probability is None:
            values = relevance(query, question.text, by_words.share)
            probability = predict(coefficients("trained")[by_words.layer], values)
        return by_words.verdict(probability)

    def correctness(self, question: Correct) -> Verdict:
        """The verdict of the encoder, which reads the answer and each reference against each other."""
        return decided(question) or judged_answer(self.answered(question))

    def answered(self, question: Correct) -> list[Mapping[str, float]]:
        """The values for the layers, of each reference but those of which the answer has another date."""
        read = (list(map(self._read, readings)) for readings in answer_readings(question))
        return [
            answer_values(question, reference, logits)
            for reference, logits in zip(question.references, read, strict=True)
            if not has_other_date(question.response, reference)
        ]

    def toxicity(self, text: str) -> Verdict:
        """The verdict of cues and of the meaning of each sentence."""
        return yes_no(toxicity(text, encoder().embed))

    def joint(self, question: Entail) -> Mapping[str, float]:
        """The values for the layers of a claim and all chunks together; {} where none is read."""
        case = self.case(question)
        return self._values(case, [*case.chunks, case.across])

    def case(self, question: Entail) -> Case:
        """What the texts of a question hold, and what to read for it."""
        return self._cases.get(question) or self._case(question)

    def _case(self, question: Entail) -> Case:
        query = (in_context(question.query, question.history) or "").strip()
        opening, statement = polarity(question.hypothesis)
        claim = Terms(words(statement))
        texts = tuple(held(claim, text) for text in question.premise)
        is_bare = opening is not None and not claim.items
        lone = len(question.premise) == 1 and len(question.premise[0].split()) <= _ANSWER_WORDS
        if query and lone and not is_bare and not texts[0].verbatim and question.premise[0].strip():
            return Case(claim, texts, (as_answer(query, question.premise, statement),), answer=True)
        sentences = _sentences(statement if claim.items else question.hypothesis)
        if query and is_bare:
            sentences = (f"{query} Yes.",)
        elif query and len(statement.split()) <= _SHORT_WORDS and is_fragment(statement):
            sentences = (f"{query} {statement}",)
        claims = [(sentence, Terms(words(sentence))) for sentence in sentences]
        chunks = tuple(
            () if own.verbatim or _only_asks(text) else tuple(self._readings(claims, text))
            for text, own in zip(question.premise, texts, strict=True)
        )
        places = complementary(claim, texts) if sum(map(bool, chunks)) > 1 else []
        across = tuple(_at_once([chunks[place] for place in places]))
        return Case(claim, texts, chunks, across, is_no=is_bare and not opening)

    def _readings(self, claims: Sequence[tuple[str, Terms]], text: str) -> Iterator[Reading]:
        """Each sentence with the windows of a text; nothing of a blank text."""
        for sentence, terms in claims if text.strip() else ():
            yield Reading(best_windows(terms, text, self._most), sentence)

    def _values(self, case: Case, texts: Sequence[Sequence[Reading]]) -> Mapping[str, float]:
        """The values for the layers of a claim as it is read against texts; {} where it is read against none."""
        logits = [list(map(self._read, readings)) for readings in texts if readings]
        if not logits:
            return {}
        values = claim_features(logits, answer=case.answer)
        return {"entailed": values["contradicted"], "contradicted": values["entailed"]} if case.is_no else values

    def _read(self, reading: Reading) -> Logits:
        return self._logits.get(reading) or encoder().classify(reading.windows, [reading.sentence])[0]


def _by_opening(claim: Terms, question: Entail) -> Finding | None:
    """The finding on a bare yes or no by the yes or no that a lone text opens with; None without both."""
    if claim.items or len(question.premise) != 1:
        return None
    said, expected = polarity(question.hypothesis)[0], polarity(question.premise[0])[0]
    if said is None or expected is None:
        return None
    agrees = said == expected
    return Finding(Label.ENTAILED if agrees else Label.CONTRADICTED, agreement(agrees))


def _sentences(hypothesis: str) -> tuple[str, ...]:
    """The sentences of a hypothesis; one without a word of content ("She did not.") stays with the one before it."""
    kept: list[str] = []
    for sentence in passage(hypothesis).sentences:
        if Terms(sentence.words).items:
            kept.append(sentence.text)
        elif kept:
            kept[-1] = f"{kept[-1]} {sentence.text}"
    return tuple(kept) or (hypothesis,)


def _only_asks(text: str) -> bool:
    """Whether a text is questions alone, which state nothing that the encoder could read."""
    return text.rstrip().endswith("?") and all(sentence.text.endswith("?") for sentence in passage(text).sentences)


def _at_once(chunks: Sequence[Sequence[Reading]]) -> Iterator[Reading]:
    """Each sentence of a claim read against the windows of several chunks."""
    for readings in zip(*filter(None, chunks), strict=True):
        yield Reading(tuple(chain.from_iterable(reading.windows for reading in readings)), readings[0].sentence)


def _read(readings: Sequence[Reading]) -> dict[Reading, Logits]:
    """The logits of readings; those of the same windows together."""
    by_windows: dict[tuple[str, ...], list[Reading]] = {}
    for reading in readings:
        by_windows.setdefault(reading.windows, []).append(reading)
    logits: dict[Reading, Logits] = {}
    for windows, own in by_windows.items():
        logits.update(zip(own, encoder().classify(windows, [reading.sentence for reading in own]), strict=True))
    return logits


def claim_features(logits: Sequence[Sequence[Logits]], *, answer: bool = False) -> Mapping[str, float]:
    """The values of a claim for the layers. logits: for each text the logits of each sentence of the claim.

    A sentence may have its support in any text; a claim is supported no better than its weakest sentence. It is
    contradicted by the text that says most about it. An answer is read in several ways, whose mean counts.
    """
    entailed = [[log_odds(*sentence) for sentence in text] for text in logits]
    support = sum(entailed[0]) / len(entailed[0]) if answer else min(map(max, zip(*entailed, strict=True)))
    nearest = [min(sentence, key=lambda reading: reading.neutral) for sentence in zip(*logits, strict=True)]
    return {
        "entailed": support,
        "contradicted": max(log_odds(reading.contradicted, reading.neutral, reading.entailed) for reading in nearest),
    }


def _finding(claim: Terms, texts: Sequence[Held], values: Mapping[str, float]) -> Finding:
    """The finding of the encoder; where it read nothing, whether a text is a copy of the claim.

    Only texts that have a word of the claim contradict it, unless it is a bare yes or no.
    """
    best = next((text.best for text in texts if text.best), None)
    if not values:
        copied = any(text.verbatim for text in texts)
        return Finding(Label.ENTAILED, VERBATIM, best) if copied else Finding(Label.NEUTRAL, 0.0, best)
    layers = coefficients("trained")
    probability = predict(layers["entailed"], values)
    if probability >= 0.5:
        return Finding(Label.ENTAILED, probability, best)
    related_by_words = best is not None or not claim.items
    against = related_by_words and values["contradicted"] >= layers["thresholds"]["contradicted"]
    return Finding(Label.CONTRADICTED if against else Label.NEUTRAL, probability, best)


def relevance(query: str, text: str, share: float) -> Mapping[str, float]:
    """The values for the layers of relevance, of a text that is not blank. share: of the query's words in it."""
    windows = best_windows(Terms(words(query)), text)
    near = encoder().embed(windows) @ encoder().embed([query])[0]
    return {"share": share, "near": float(near.max())}


class EmbeddedJudge(JudgeBase):
    """Decomposes texts by rules; judges entailment (three-way), relevance and toxicity by a small model and by words.

    It grades nothing and knows no bias: these are not in `answers`. In languages other than English it splits texts,
    and abstains from verdicts.

    backend: `Trained` by default, or `Lexical` for verdicts by words alone, in any language. name: for the identity.

    threshold: the confidence, by kind, from which its verdicts are accepted in a cascade that is given none: some five
    in six were right there on rows kept from the fit. Tune a cascade on labels of your own where much depends on it.
    """

    answers: frozenset[str] = frozenset()
    is_checked = True
    unable = frozenset({"entail:conversation", "relevant:conversation"})  # docs/conversations.md has the figures
    threshold = MappingProxyType({"entail": 0.85})
    batch = 128  # questions at once: claims about one passage are read together

    def __init__(self, backend: Lexical | None = None, name: str = "embedded") -> None:
        self._backend = backend or Trained()
        self.answers = frozenset({"decompose", *self._backend.answers})
        self._english_only = backend is None
        languages = (("reads", "en"),) if self._english_only else ()
        own = (("rules", _RULES), ("rules.decompose", _SPLITTING), ("splitter", splitter()), *languages)
        self.identity = Identity(name, (*own, *self._backend.settings))
        self._lock = Lock()

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """The answers in order, by a thread that ends after the step in progress where the caller is cancelled."""
        stop = Event()
        try:
            return await asyncio.to_thread(self._answer_all, questions, stop)
        finally:
            stop.set()

    def _answer_all(self, questions: Sequence[Question], stop: Event) -> list[Answer | Failure]:
        with self._lock:
            steps = self._backend.prepare(questions)
            if any(stop.is_set() for _ in steps):
                return []
            return [self._answer(question) for question in questions if not stop.is_set()]

    def _answer(self, question: Question) -> Answer | Failure:
        if isinstance(question, Decompose):
            return Decomposition(decompose(question.text, question.query))
        if self._english_only and (code := language(question)) != "en":
            reason = f"the {self.identity} judge reads English, and this is {code!r}; name a judge for it:"
            return Failure("abstained", f"{reason} {code}=PROVIDER/MODEL")
        unanswerable = f"the {self.identity} judge does not answer {question.topic}; ask another judge"
        return self._backend.verdict(question) or Failure("unanswerable", unanswerable)
