"""One person's labelling session in a terminal: the questions as text, and the answers that are typed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from ragauge.analysis.labels import Agreement, Labelling, LabelPiece, LabelSummary, SampleDraw
from ragauge.errors import UsageError
from ragauge.questions import Classify, Decompose, Entail, Question, Rate, Relevant, invalid_reason
from ragauge.report.wording import counted, number, printable, with_interval
from ragauge.statistics.intervals import Interval
from ragauge.types import Answer, ChunkVerdict, Grade, Label, Verdict

_DECIDING = (Label.ENTAILED, Label.CONTRADICTED)


class LabelChoice(msgspec.Struct, frozen=True):
    """A possible answer to a question: its key, the label, and the label in words."""

    key: str
    label: Label
    words: str


_ENTAILMENT = (
    LabelChoice("s", Label.ENTAILED, "supported"),
    LabelChoice("n", Label.NEUTRAL, "not supported"),
    LabelChoice("c", Label.CONTRADICTED, "contradicted"),
)
_YES_NO = (LabelChoice("y", Label.YES, "yes"), LabelChoice("n", Label.NO, "no"))


def choices(question: Question) -> tuple[LabelChoice, ...]:
    """The possible labels; empty for a grade, which is a number on the rubric's scale."""
    if isinstance(question, Entail):
        return _ENTAILMENT
    return _YES_NO if isinstance(question, Relevant | Classify) else ()


def question_text(question: Question) -> str:
    """The question in one sentence, without the texts."""
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


def parse_answer(question: Question, typed: str) -> Answer:
    """The answer that was typed.

    A verdict is one key, as in "s". For entailment it may be followed by the numbers of the texts it holds for, and by
    further keys with numbers: "s 2", "s 1 c 3". A grade is a number.

    Args:
        question: The question that is answered.
        typed: What the person typed.

    Returns:
        A Verdict or a Grade.

    Raises:
        UsageError: The text is not an answer to the question; the message lists the possible ones.
    """
    answer: Answer
    if isinstance(question, Rate):
        try:
            answer = Grade(float(typed.replace(",", ".")))
        except ValueError:
            scale = f"{question.rubric.low:g} to {question.rubric.high:g}"
            raise UsageError(f"{typed!r} is not a grade; type a number from {scale}") from None
    else:
        letters = {choice.key: choice.label for choice in choices(question)}
        words = typed.lower().split()
        if not words or words[0] not in letters or (len(words) > 1 and not isinstance(question, Entail)):
            possible = ", ".join(f"{choice.key} ({choice.words})" for choice in choices(question))
            raise UsageError(f"{typed!r} is not an answer; type one of {possible}")
        chunks = _chunks(len(question.premise), words, letters) if isinstance(question, Entail) else ()
        answer = Verdict(letters[words[0]], chunks=chunks)
    if fault := invalid_reason(question, answer):
        raise UsageError(f"the answer does not fit the question: {fault}")
    return answer


def _chunks(size: int, words: list[str], letters: Mapping[str, Label]) -> tuple[ChunkVerdict, ...]:
    """The verdict of each of `size` chunks, from the numbers after the keys; chunks that are not named are neutral.

    If there are several chunks and none is named, a verdict that a chunk decides holds for all of them together and has
    no chunk labels.
    """
    letter, label = words[0], letters[words[0]]
    named: dict[int, Label] = {}
    for word in words[1:]:
        if word in letters:
            letter = word
        elif word.isdecimal():
            named[int(word) - 1] = letters[letter]
        else:
            raise UsageError(f"{word!r} is neither the number of a text nor one of {', '.join(letters)}")
    if any(not 0 <= at < size for at in named):
        raise UsageError(f"there are {size} texts; {sorted(at + 1 for at in named)} is out of range")
    if not named and label in _DECIDING and size > 1:
        return ()
    labels = named or dict.fromkeys(range(size), label)
    return tuple(ChunkVerdict(labels.get(at, Label.NEUTRAL)) for at in range(size))


#: With fewer samples drawn at random than this, the summary warns that intervals are wide.
FEW = 30

_WORDS = {Label.ENTAILED: "supported", Label.NEUTRAL: "not supported", Label.NOT_ENTAILED: "not supported"}


def question_lines(question: Question) -> Iterator[str]:
    """All texts that the judge saw, then the question."""
    for name, text in _texts(question):
        first, *more = text.splitlines() or [""]
        yield f"{name}: {printable(first)}"
        yield from (f"    {printable(line)}".rstrip() for line in more)
    yield question_text(question)


def _texts(question: Question) -> list[tuple[str, str]]:
    match question:
        case Entail(premise, hypothesis, query):
            texts = [
                ("query", query),
                *((f"[{at}]", text) for at, text in enumerate(premise, 1)),
                ("claim", hypothesis),
            ]
        case Relevant(query, text, reference):
            texts = [("query", query), ("reference", reference), ("text", text)]
        case Classify(text) | Decompose(text):
            texts = [("text", text)]
        case Rate(_, graded):
            texts = list(graded)
    return [(name, text) for name, text in texts if text is not None]


def answer_words(answer: Answer | None) -> str:
    """An answer in words, with its probability if it has one."""
    if isinstance(answer, Grade):
        return f"{answer.value:g}"
    if not isinstance(answer, Verdict):
        return "nothing"
    words = _WORDS.get(answer.label, answer.label.value)
    return words if answer.probability is None else f"{words} (probability of support {answer.probability:.2f})"


def keys_line(piece: LabelPiece) -> str:
    """The keys for a question."""
    own = [f"{choice.key} {choice.words}" for choice in choices(piece.question)]
    if isinstance(piece.question, Rate):
        own = [f"{piece.question.rubric.low:g} to {piece.question.rubric.high:g}"]
    numbered = isinstance(piece.question, Entail) and len(piece.question.premise) > 1
    chunks = ["optionally with the numbers of the texts that show it: s 2"] if numbered else []
    return " · ".join([*own, *chunks, "Enter skips", "b back", "? the judge's verdict", "q quits"])


def summary_lines(summaries: Mapping[str, LabelSummary]) -> Iterator[str]:
    """The judge's score, the corrected score and the agreement, metric by metric."""
    for metric, one in summaries.items():
        if not one.labelled:
            continue
        yield f"{metric}: judge {_value(one.judge)} over {counted(one.samples, 'sample')}"
        corrected = "not yet; it needs samples drawn at random and labelled in full"
        if one.corrected.value is not None:
            corrected = f"{_value(one.corrected)}, from {counted(one.counted, 'sample')} drawn at random"
        yield f"  corrected by people: {corrected}"
        yield from (f"  {agreement_words(agreement)}" for agreement in one.agreement)
        if 0 < one.drawn < FEW:
            yield f"  Fewer than {FEW} samples were drawn at random, so the intervals are wide."


def agreement_words(one: Agreement) -> str:
    """Raw agreement and kappa, or for grades the mean difference, with the number of questions."""
    raw = f"raw agreement {_value(one.raw)} on {counted(one.n, 'question')} ({one.kind})"
    if one.apart is not None:
        return f"{raw}, grades differ by {number(one.apart)} on average"
    if one.kappa is None or one.kappa.value is None:
        return f"{raw}, kappa undefined: both always gave the same label"
    return f"{raw}, kappa {_value(one.kappa)}"


def _value(interval: Interval) -> str:
    return with_interval(interval.value, interval.low, interval.high)


class LabelSession:
    """One person's way through the pieces of a metric, forward and back.

    given: number of labels given in this session.
    """

    def __init__(self, labelling: Labelling, metric: str, by: str) -> None:
        self.given = 0
        self._labelling, self._metric, self._by = labelling, metric, by
        self._skipped: list[int] = []
        self._history: list[tuple[SampleDraw, LabelPiece]] = []
        self._at = -1
        self._seen: set[int] = set()
        self._answers: dict[int, Answer] = {}
        self.forward()

    @property
    def piece(self) -> LabelPiece | None:
        """The piece to label now, None at the end."""
        return self._history[self._at][1] if self._at < len(self._history) else None

    @property
    def answer_given(self) -> Answer | None:
        """The answer that this person gave to the piece earlier in the session."""
        return self._answers.get(self._at)

    @property
    def draw(self) -> SampleDraw:
        """The sample of the piece."""
        return self._history[self._at][0]

    @property
    def is_first(self) -> bool:
        """Whether this is the first piece of its sample."""
        return self._at == 0 or self._history[self._at - 1][0] != self.draw

    def answer(self, typed: str) -> None:
        """Store what was typed as this person's label, and go on. Raises UsageError if it is not an answer."""
        assert self.piece is not None
        question = self.piece.question
        answer = parse_answer(question, typed)
        self._labelling.keep(question, answer, self._by, None if self._at in self._seen else self.draw)
        self.given += 1
        self._answers[self._at] = answer
        self.forward()

    def forward(self) -> None:
        """Go to the next piece."""
        self._at += 1
        if self._at == len(self._history):
            self._history.extend(self._more())

    def back(self) -> None:
        """Go to the previous piece, if there is one."""
        self._at = max(0, self._at - 1)

    def reveal(self) -> Answer | None:
        """The judge's answer; a label given after seeing it does not count for agreement and correction."""
        assert self.piece is not None
        self._seen.add(self._at)
        return self.piece.judge

    def _more(self) -> Iterator[tuple[SampleDraw, LabelPiece]]:
        """The unlabelled pieces of the next sample that has any."""
        while (drawn := self._labelling.next(self._metric, self._skipped)) is not None:
            self._skipped.append(drawn.position)
            pieces = self._labelling.open(drawn, self._metric)
            if pieces:
                return iter([(drawn, piece) for piece in pieces])
        return iter(())
