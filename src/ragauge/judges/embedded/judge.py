"""The judge in the wheel, offline and deterministic: a small encoder reads claims, and a layer weighs it with words."""

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
    complementary,
    decided,
    is_empty_answer,
    is_short_answer,
    polarity,
    read_query,
    relevant,
    verdict,
    yes_no,
)
from ragauge.judges.embedded.passages import passage
from ragauge.judges.embedded.statements import decompose
from ragauge.judges.embedded.toxicity import toxicity
from ragauge.judges.embedded.words import words
from ragauge.questions import Correct, Decompose, Entail, Question, Relevant, language
from ragauge.text.sentences import splitter
from ragauge.types import Answer, Decomposition, Failure, Identity, Label, Verdict

_SHORT_WORDS = 4  # the most of an answer on which words alone decide, where the query completes it
_ANSWER_WORDS = 25  # the most of a lone text that is also read as an answer to the query
_MAX_CACHED_OUTPUTS = 3000  # outputs, and questions, that are kept from one batch to the next

_RULES, _SPLITTING = "19", "24"  # of verdicts and of decomposition; increased with every change of an answer


class Case(NamedTuple):
    """A question of entailment: its analysis by words, and what is to be read.

    chunks: for each chunk the readings of each sentence of the claim; () where words alone decide. across: the readings
    of several chunks at once, where these hold more of the claim than any one. answer: whether the readings are of a
    short text as an answer to the query, in several ways.
    """

    analysis: Analysis
    chunks: tuple[tuple[Reading, ...], ...]
    across: tuple[Reading, ...] = ()
    answer: bool = False


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
        """The verdict of words and encoder."""
        case = self.case(question)
        alone = [
            _finding(by_words, self._values(case, [readings], by_words))
            for by_words, readings in zip(case.analysis.findings.alone, case.chunks, strict=True)
        ]
        return _combined(_finding(*self.joint(question)), alone, case.analysis.altered)

    def relevance(self, question: Relevant) -> Verdict:
        """The verdict of words and similarity."""
        return _relevant(in_context(question.query, question.history), question.text, question.reference)

    def correctness(self, question: Correct) -> Verdict:
        """The verdict of words and encoder, which reads the answer and each reference against each other."""
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

    def joint(self, question: Entail) -> tuple[Finding, Mapping[str, float]]:
        """The verdict by words on all chunks together, and the values for the layers; {} where words alone decide."""
        case = self.case(question)
        by_words = verdict(*case.analysis.findings)
        finding = Finding(by_words.label, by_words.probability or 0.0)
        return finding, self._values(case, [*case.chunks, case.across], finding)

    def case(self, question: Entail) -> Case:
        """The analysis of a question, and what to read for it."""
        return self._cases.get(question) or self._case(question)

    def _case(self, question: Entail) -> Case:
        query = (in_context(question.query, question.history) or "").strip()
        hypothesis = question.hypothesis
        short = len(hypothesis.split()) <= _SHORT_WORDS
        lone = len(question.premise) == 1 and len(question.premise[0].split()) <= _ANSWER_WORDS
        analysis = analyse(question.premise, hypothesis, query if short or lone else None)
        read = [
            plain and finding.probability < VERBATIM and not _only_asks(text)
            for text, plain, finding in zip(question.premise, analysis.plain, analysis.findings.alone, strict=True)
        ]
        if query and lone and polarity(hypothesis)[1] and analysis.findings.joint.probability < VERBATIM:
            return Case(analysis, (as_answer(query, question.premise, hypothesis),), answer=True)
        claims = [(sentence, Terms(words(sentence))) for sentence in analysis.sentences]
        texts = [text if wanted else "" for text, wanted in zip(question.premise, read, strict=True)]
        chunks = tuple(tuple(self._readings(claims, text)) for text in texts)
        across = complementary(analysis.claim, question.premise) if sum(map(bool, chunks)) > 1 else []
        return Case(analysis, chunks, tuple(_at_once([chunks[place] for place in across])))

    def _readings(self, claims: Sequence[tuple[str, Terms]], text: str) -> Iterator[Reading]:
        """Each sentence with the windows of a text; nothing of a blank text."""
        for sentence, terms in claims if text.strip() else ():
            yield Reading(best_windows(terms, text, self._most), sentence)

    def _values(self, case: Case, texts: Sequence[Sequence[Reading]], by_words: Finding) -> Mapping[str, float]:
        """The values for the layers of a claim as it is read against texts; {} where it is read against none."""
        logits = [list(map(self._read, readings)) for readings in texts if readings]
        return claim_features(by_words, logits, answer=case.answer) if logits else {}

    def _read(self, reading: Reading) -> Logits:
        return self._logits.get(reading) or encoder().classify(reading.windows, [reading.sentence])[0]


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


def claim_features(
    by_words: Finding, logits: Sequence[Sequence[Logits]], *, answer: bool = False
) -> Mapping[str, float]:
    """The values of a claim for the layers. logits: for each text the logits of each sentence of the claim.

    A sentence may have its support in any text; a claim is supported no better than its weakest sentence. It is
    contradicted by the text that says most about it. An answer is read in several ways, whose mean counts.
    """
    entailed = [[log_odds(*sentence) for sentence in text] for text in logits]
    support = sum(entailed[0]) / len(entailed[0]) if answer else min(map(max, zip(*entailed, strict=True)))
    nearest = [min(sentence, key=lambda reading: reading.neutral) for sentence in zip(*logits, strict=True)]
    return {
        "entailed": support,
        "words": logit(by_words.probability),
        "contradicted": max(log_odds(reading.contradicted, reading.neutral, reading.entailed) for reading in nearest),
    }


def _finding(by_words: Finding, values: Mapping[str, float]) -> Finding:
    """The finding of words and encoder together; of words alone where the encoder read nothing.

    Only a text that has a word of the claim contradicts it.
    """
    if not values:
        return by_words
    layers = coefficients("trained")
    probability = predict(layers["entailed"], values)
    if probability >= 0.5:
        return Finding(Label.ENTAILED, probability, by_words.best)
    surely = values["contradicted"] >= layers["thresholds"]["contradicted"]
    against = (surely and by_words.best is not None) or by_words.label == Label.CONTRADICTED
    return Finding(Label.CONTRADICTED if against else Label.NEUTRAL, probability, by_words.best)


def _combined(joint: Finding, alone: Sequence[Finding], altered: Sequence[bool]) -> Verdict:
    """All chunks together: no less likely than any one; contradicted where a chunk does and none supports the claim.

    altered: whether a chunk repeats the claim with another number, which contradicts it unless a chunk has its words.
    """
    alone = [_contradicted(finding) if other else finding for finding, other in zip(alone, altered, strict=True)]
    whole = joint._replace(probability=max([joint.probability, *(finding.probability for finding in alone)]))
    if any(altered) and whole.probability < VERBATIM:
        whole = _contradicted(whole)
    label = Label.ENTAILED if whole.probability >= 0.5 else whole.label
    if label == Label.NEUTRAL and any(finding.label == Label.CONTRADICTED for finding in alone):
        label = Label.CONTRADICTED
    return Verdict(label, round(whole.probability, 4), tuple(map(chunk_verdict, alone)))


def _contradicted(finding: Finding) -> Finding:
    """The finding as a contradiction, at a probability of one half at most, in the same order."""
    return Finding(Label.CONTRADICTED, finding.probability / (1 + finding.probability), finding.best)


def _relevant(query: str, text: str, reference: str | None) -> Verdict:
    """The verdict by words, and without a reference also by the similarity of query and text."""
    by_words = relevant(query, text, reference)
    source = passage(text)
    if reference or not source.sentences or is_empty_answer(query, source) or is_short_answer(source):
        return by_words
    layer = "relevant" if len(source.sentences) > 1 else "answers"
    return yes_no(predict(coefficients("trained")[layer], relevance(query, text, by_words)), by_words.span)


def relevance(query: str, text: str, by_words: Verdict) -> Mapping[str, float]:
    """The values for the layers of relevance. by_words: the verdict of `relevant` on a text that is not blank."""
    windows = best_windows(Terms(read_query(query).words), text)
    near = encoder().embed(windows) @ encoder().embed([query])[0]
    return {"words": logit(by_words.probability or 0.0), "near": float(near.max())}


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
