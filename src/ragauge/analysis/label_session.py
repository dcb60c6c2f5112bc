"""One person's labelling session: what is shown, and what is answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from ragauge.analysis.label_summary import Agreement, LabelSummary
from ragauge.analysis.labels import Labelling, LabelPiece, SampleDraw
from ragauge.errors import UsageError
from ragauge.questions import Classify, Decompose, Entail, Question, Rate, Relevant, invalid_reason
from ragauge.report.wording import counted, number, printable
from ragauge.statistics.intervals import Interval
from ragauge.types import Answer, ChunkVerdict, Grade, Label, Verdict

#: The letters for the labels of entailment, and of the other verdicts.
ENTAILMENT: Mapping[str, Label] = {"s": Label.ENTAILED, "n": Label.NEUTRAL, "c": Label.CONTRADICTED}
YES_NO: Mapping[str, Label] = {"y": Label.YES, "n": Label.NO}

_DECIDING = (Label.ENTAILED, Label.CONTRADICTED)


class LabelChoice(msgspec.Struct, frozen=True):
    """One thing that can be said of a question: the letter for it and, in words, what it means."""

    key: str
    label: Label
    words: str


def choices(question: Question) -> tuple[LabelChoice, ...]:
    """What can be said of a verdict; nothing for a grade, which is a number on the rubric's scale."""
    match question:
        case Entail():
            words = {"s": "supported", "n": "not supported", "c": "contradicted"}
            return tuple(LabelChoice(key, label, words[key]) for key, label in ENTAILMENT.items())
        case Relevant() | Classify():
            return tuple(LabelChoice(key, label, label.value) for key, label in YES_NO.items())
    return ()


def asked(question: Question) -> str:
    """What a person is asked, in one sentence."""
    match question:
        case Entail():
            return "Do the texts together support the claim, contradict it, or neither?"
        case Relevant(_, _, reference):
            aim = "answer the query" if reference is None else "give the reference as an answer"
            return f"Does any part of the text help to {aim}?"
        case Classify(_, trait):
            return f"Is it {trait}?"
        case Rate(rubric):
            return f"{rubric.name}, {rubric.low:g} to {rubric.high:g}: {rubric.wording}"
        case Decompose():
            return "Which statements does the text make?"


def reply(question: Question, typed: str) -> Answer:
    """The answer that was typed.

    A verdict is its letter. For entailment the numbers of the chunks that say so may follow, and what others say behind
    them: "s 2", "s 1 c 3". A grade is a number. Raises UsageError for anything else, with what can be said.
    """
    if isinstance(question, Rate):
        return _fitting(question, _grade(question, typed))
    letters = {choice.key: choice.label for choice in choices(question)}
    words = typed.lower().split()
    if not words or words[0] not in letters or (len(words) > 1 and not isinstance(question, Entail)):
        said = ", ".join(f"{choice.key} ({choice.words})" for choice in choices(question))
        raise UsageError(f"{typed!r} is no answer; say one of {said}")
    if isinstance(question, Entail):
        return Verdict(letters[words[0]], chunks=_chunks(question, words))
    return Verdict(letters[words[0]])


def verdict(question: Question, label: Label, chunks: Mapping[int, Label]) -> Answer:
    """A verdict with what single chunks say, by position; chunks that are not named say neither.

    Where several chunks decide together and none is named, nothing is told of each. Raises UsageError where the label
    does not fit the question, or there is no such chunk.
    """
    if not isinstance(question, Entail):
        return _fitting(question, Verdict(label))
    size = len(question.premise)
    if any(not 0 <= at < size for at in chunks):
        raise UsageError(f"there are {size} texts, and one of {sorted(at + 1 for at in chunks)} was named")
    if not chunks and label in _DECIDING and size > 1:
        return Verdict(label)
    told = dict(chunks) if chunks else dict.fromkeys(range(size), label)
    each = tuple(ChunkVerdict(told.get(at, Label.NEUTRAL)) for at in range(size))
    return _fitting(question, Verdict(label, chunks=each))


def _chunks(question: Entail, words: list[str]) -> tuple[ChunkVerdict, ...]:
    """What each chunk says, by the numbers behind the letters."""
    named: dict[int, Label] = {}
    letter = words[0]
    for word in words[1:]:
        if word in ENTAILMENT:
            letter = word
        elif word.isdecimal():
            named[int(word) - 1] = ENTAILMENT[letter]
        else:
            raise UsageError(f"{word!r} is neither the number of a text nor one of {', '.join(ENTAILMENT)}")
    told = verdict(question, ENTAILMENT[words[0]], named)
    assert isinstance(told, Verdict)
    return told.chunks


def _grade(question: Rate, typed: str) -> Grade:
    try:
        return Grade(float(typed.replace(",", ".")))
    except ValueError:
        rubric = question.rubric
        raise UsageError(f"{typed!r} is no grade; say a number from {rubric.low:g} to {rubric.high:g}") from None


def _fitting(question: Question, answer: Answer) -> Answer:
    fault = invalid_reason(question, answer)
    if fault:
        raise UsageError(f"the answer does not fit the question: {fault}")
    return answer


#: Below so many samples drawn at random the figures say little.
FEW = 30

_WORDS = {Label.ENTAILED: "supported", Label.NEUTRAL: "not supported", Label.NOT_ENTAILED: "not supported"}


def question_lines(question: Question) -> Iterator[str]:
    """Everything that the judge saw, text by text, and what is asked."""
    for name, text in _texts(question):
        first, *more = text.splitlines() or [""]
        yield f"{name}: {printable(first)}"
        yield from (f"    {printable(line)}".rstrip() for line in more)
    yield asked(question)


def _texts(question: Question) -> list[tuple[str, str]]:
    match question:
        case Entail(premise, hypothesis, query):
            texts = [(f"[{at}]", text) for at, text in enumerate(premise, 1)]
            return [*_optional("query", query), *texts, ("claim", hypothesis)]
        case Relevant(query, text, reference):
            return [("query", query), *_optional("reference", reference), ("text", text)]
        case Classify(text) | Decompose(text):
            return [("text", text)]
        case Rate(_, texts):
            return list(texts)


def _optional(name: str, text: str | None) -> list[tuple[str, str]]:
    return [] if text is None else [(name, text)]


def answer_words(answer: Answer | None) -> str:
    """What was said, in a word or two; with the probability where there is one."""
    if isinstance(answer, Grade):
        return f"{answer.value:g}"
    if not isinstance(answer, Verdict):
        return "nothing"
    said = _WORDS.get(answer.label, answer.label.value)
    return said if answer.probability is None else f"{said} (probability of support {answer.probability:.2f})"


def keys_line(piece: LabelPiece) -> str:
    """Which keys there are for a question."""
    own = [f"{choice.key} {choice.words}" for choice in choices(piece.question)]
    if isinstance(piece.question, Rate):
        own = [f"{piece.question.rubric.low:g} to {piece.question.rubric.high:g}"]
    numbered = isinstance(piece.question, Entail) and len(piece.question.premise) > 1
    chunks = ["with the numbers of the texts that say so, as in: s 2"] if numbered else []
    return " · ".join([*own, *chunks, "Enter skips", "b back", "? the judge's verdict", "q quits"])


def summary_lines(standings: Mapping[str, LabelSummary]) -> Iterator[str]:
    """What the labels come to, metric by metric."""
    for metric, one in standings.items():
        if not one.labelled:
            continue
        yield f"{metric}: the judge gives {_value(one.judge)} over {counted(one.samples, 'sample')}"
        yield f"  corrected by people: {_corrected(one)}"
        yield from (f"  {agreement_words(agreement)}" for agreement in one.agreement)
        if 0 < one.drawn < FEW:
            yield f"  That is little: intervals are wide below {FEW} samples drawn at random."


def _corrected(one: LabelSummary) -> str:
    if one.corrected.value is None:
        return "not yet; it takes samples that were drawn at random and answered in full"
    return f"{_value(one.corrected)}, by {counted(one.counted, 'sample')} drawn at random"


def agreement_words(one: Agreement) -> str:
    """Raw agreement and kappa, or how far grades lie apart, with what they rest on."""
    same = f"judge and people agree on {_value(one.raw)} of {counted(one.n, 'question')} ({one.kind})"
    if one.apart is not None:
        return f"{same}, grades lie {number(one.apart)} apart"
    undefined = one.kappa is None or one.kappa.value is None
    return f"{same}, kappa {'undefined: both gave one and the same label' if undefined else _value(one.kappa)}"


def _value(interval: Interval | None) -> str:
    if interval is None or interval.value is None:
        return "–"
    return f"{number(interval.value)} [{number(interval.low)}, {number(interval.high)}]"


class Session:
    """The way of one person through the pieces of a metric.

    given: how many labels were given. piece: what is asked now, None at the end. said: what was answered to it here.
    """

    def __init__(self, labelling: Labelling, metric: str, by: str) -> None:
        self.given = 0
        self._labelling, self._metric, self._by = labelling, metric, by
        self._passed: list[int] = []
        self._history: list[tuple[SampleDraw, LabelPiece]] = []
        self._at = -1
        self._seen: set[int] = set()
        self._said: dict[int, Answer] = {}
        self.forward()

    @property
    def piece(self) -> LabelPiece | None:
        """What is asked now."""
        return self._history[self._at][1] if self._at < len(self._history) else None

    @property
    def said(self) -> Answer | None:
        """What this person said of it before they came back to it."""
        return self._said.get(self._at)

    @property
    def draw(self) -> SampleDraw:
        """The sample that is asked about now."""
        return self._history[self._at][0]

    @property
    def is_first(self) -> bool:
        """Whether the sample was not shown before this piece."""
        return self._at == 0 or self._history[self._at - 1][0] != self.draw

    def answer(self, typed: str) -> None:
        """Keep what was typed as this person's label, and go on. Raises UsageError where it is no answer."""
        assert self.piece is not None
        question = self.piece.question
        answer = reply(question, typed)
        self._labelling.keep(question, answer, self._by, None if self._at in self._seen else self.draw)
        self.given += 1
        self._said[self._at] = answer
        self.forward()

    def forward(self) -> None:
        """Go on, without an answer."""
        self._at += 1
        if self._at == len(self._history):
            self._history.extend(self._more())

    def back(self) -> None:
        """Go back to the piece before; at the first there is none."""
        self._at = max(0, self._at - 1)

    def reveal(self) -> Answer | None:
        """What the judge says of this piece; an answer after that does not count for agreement and correction."""
        assert self.piece is not None
        self._seen.add(self._at)
        return self.piece.judge

    def _more(self) -> Iterator[tuple[SampleDraw, LabelPiece]]:
        """The open pieces of the next sample that has some."""
        while (drawn := self._labelling.next(self._metric, self._passed)) is not None:
            self._passed.append(drawn.position)
            pieces = self._labelling.open(drawn, self._metric)
            if pieces:
                return iter([(drawn, piece) for piece in pieces])
        return iter(())
