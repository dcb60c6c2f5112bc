"""What a kind of question supplies, as class attributes and methods of its questions.

A kind is a subclass of `BaseQuestion` in a file of its own, with its prompt and worked examples next to it, and a place
in the list of `ragauge.kinds`. Every kind defines what is abstract here; `complete` checks that on import.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pkgutil import get_data
from typing import Any, ClassVar, NamedTuple

import msgspec

from ragauge.kinds.call import AskedCall, Document, PromptStyle, ReplyForm, SourceTexts, word
from ragauge.kinds.windows import SplitQuestion
from ragauge.types import Answer, Label, Span, Statement

#: Characters that a question takes in a call in addition to its texts: its number, quotes and brackets.
QUESTION_OVERHEAD = 24

#: A query and a text of plain questions, which the contract of judges asks.
QUERY = "When was the lighthouse built?"
CHUNK = "The lighthouse was built in 1901 by two brothers."

#: The share of the limit that a window may fill. The rest is for the other texts of a question, which many questions
#: with the same windows may then put into one call; a question whose other texts need more than that is not split.
WINDOW_SHARE = 0.75

#: Characters below which a question is not halved any further, however long a server finds it.
MIN_SPLIT_CHARS = 4000

#: Tokens of the reply to a question that is answered by a word or number; of its reason; of its quote.
_REPLY_TOKENS, _WHY_TOKENS, _QUOTE_TOKENS = 9, 18, 24


class LabelChoice(msgspec.Struct, frozen=True):
    """A possible answer of people to a question: its key, the label, and the label in words."""

    key: str
    label: Label
    words: str


class PackingParts(NamedTuple):
    """The room that a question takes in a call: texts and a query that others may share, and its own characters."""

    shared: Sequence[str]
    query: str
    own: int


#: Calls a user's function once for each tuple of arguments by position, side by side, and gives its results. Keywords
#: are arguments, of which the function gets those that it takes; `named` has those that it gets by name alone.
CallFunction = Callable[..., Awaitable[list[Any]]]


class UnusableReply(Exception):
    """A user's function returned something that is no answer."""

    def __init__(self, message: str, reply: object) -> None:
        super().__init__(f"{message}, not {reply!r:.200}")
        self.reply = reply


class BaseQuestion(
    msgspec.Struct, frozen=True, gc=False, cache_hash=True, omit_defaults=True, tag=str.lower, tag_field="kind"
):
    """A question of one kind. As JSON it names its kind.

    kind: the name of the class in lower case. order: its place in the list of kinds. prompt: its section of the system
    message. examples: questions with their answers as items of a reply, as JSON lines.
    """

    kind: ClassVar[str]
    order: ClassVar[int]
    prompt: ClassVar[str]
    examples: ClassVar[str]

    #: The type of its answers.
    answer_type: ClassVar[type[Answer]]
    #: Whether judges may answer a part of the kind, a topic such as "classify:toxic".
    has_topics: ClassVar[bool] = False
    #: Topics that questions of one name share: a function tells them apart only by this keyword.
    told_apart: ClassVar[Mapping[str, str]] = {}
    #: The topic of judges that tell support from its absence, and no more.
    support_topic: ClassVar[str] = ""
    #: The first field, where many questions share its long texts: they are hashed and encoded once.
    shared_field: ClassVar[str] = ""
    #: Whether other questions follow from the answer: it is asked before them, in calls of its own.
    comes_first: ClassVar[bool] = False
    #: Whether answers of several judges can be joined by a vote.
    is_voted: ClassVar[bool] = True
    #: The field of `PackLimits` that limits the texts of a call.
    limited_by: ClassVar[str] = "prompt_chars"
    #: What stands before the number of an item in a call and its reply.
    key_prefix: ClassVar[str] = ""
    #: Whether a reply gives reasons and quotes, where the style asks for them.
    explained: ClassVar[bool] = True
    quoted: ClassVar[bool] = False
    #: The field of an item of a reply that holds the answer, "" where an item is a list; all that it may have besides a
    #: reason and a quote.
    answer_field: ClassVar[str] = ""
    item_fields: ClassVar[frozenset[str]] = frozenset()
    #: The labels of an answer, by their words in a reply; what people choose among.
    labels: ClassVar[Mapping[str, Label]] = {}
    choices: ClassVar[tuple[LabelChoice, ...]] = ()

    # What is asked, and which answers fit.

    @property
    def topic(self) -> str:
        """The topic: "classify:toxic", "rate:coherence", or the kind alone."""
        return self.kind

    @property
    def subject(self) -> str:
        """The text that it is about; questions about one text are not independent."""
        return repr(self)

    @abstractmethod
    def language_texts(self) -> Iterable[str]:
        """The texts that show which language it is in, the most telling first."""

    @abstractmethod
    def fault_of(self, answer: Any, in_full: bool) -> str | None:
        """What is wrong with an answer of `answer_type`, or None.

        in_full: whether it must have what people may leave out, such as a label of each chunk.
        """

    @abstractmethod
    def guess(self, statements: Callable[[str, str | None], tuple[Statement, ...]]) -> Answer:
        """A valid answer, to plan what would be asked next. statements: takes a text apart, read with a query."""

    def unshared(self) -> dict[str, Any]:
        """The other fields as JSON has them; only where there is a `shared_field`."""
        raise NotImplementedError

    # Calls to models.

    @property
    @abstractmethod
    def group(self) -> object:
        """What questions that stand together in a call have in common; hashable."""

    @property
    def rank(self) -> int:
        """The order of groups of its kind, lowest first."""
        return 0

    @abstractmethod
    def packing_parts(self) -> PackingParts:
        """The room that it takes in a call."""

    def cite(self, sources: SourceTexts) -> None:
        """Add the texts that the call's document gives an id."""
        return

    @abstractmethod
    def add_to(self, document: Document, key: str) -> ReplyForm:
        """Add it to the document of a call under its key; the form of its answer."""

    @abstractmethod
    def parse(self, item: object, call: AskedCall, style: PromptStyle) -> Answer:
        """The answer that an item of a reply to the call gives. Raises InvalidItem for any other item."""

    @classmethod
    def looks_like_item(cls, value: object) -> bool:
        """Whether a value without its key can be an item: it has nothing but the fields of one, or is a label alone."""
        if isinstance(value, dict):
            return bool(value) and value.keys() <= {"why", "quote", *cls.item_fields}
        return word(value) in cls.labels

    def with_source_ids(self, item: dict[str, Any], sources: Mapping[str, str]) -> dict[str, Any]:
        """The item of a worked example with the ids of a call's sources in place of numbers."""
        return item

    def reply_tokens(self, style: PromptStyle, estimate: Callable[[str], float]) -> float:
        """The approximate tokens of a good answer. estimate: those of a text."""
        return _REPLY_TOKENS + _WHY_TOKENS * style.rationales + _QUOTE_TOKENS * (style.quotes and self.quoted)

    # Texts that are too long for a call.

    def split_sizes(self) -> tuple[int, int] | None:
        """Characters of the text that can be split, and of those that every part repeats; None if none can be split."""
        return None

    def in_parts(self, limit: int, support_outweighs: bool = False) -> SplitQuestion | None:
        """The question in parts whose texts have at most `limit` characters each.

        None where it fits as it is, and where it cannot be split: a trait and a grade are of a text as a whole, and a
        long hypothesis, query or reference leaves no room. support_outweighs: whether a claim that one chunk entails
        and another contradicts is entailed.
        """
        size, sizes = int(limit * WINDOW_SHARE), self.split_sizes()
        if sizes is None:
            return None
        length, repeated = sizes
        if length + repeated <= limit or repeated > limit - size:
            return None
        return self.split(size, support_outweighs)

    def in_halves(self, support_outweighs: bool) -> SplitQuestion | None:
        """The question, which a model found too long, in parts of half its size; None where it cannot be split."""
        size = len(msgspec.json.encode(self).decode())
        return self.in_parts(size // 2, support_outweighs) if size > MIN_SPLIT_CHARS else None

    def split(self, size: int, support_outweighs: bool) -> SplitQuestion:
        """The question in parts whose texts have at most `size` characters; only where `split_sizes` is not None."""
        raise NotImplementedError

    # Judges made of functions, panels, people, and the contract of judges.

    @abstractmethod
    async def answer_by(self, call: CallFunction) -> Answer:
        """The answer of a user's function. Raises UnusableReply, and what the function raises."""

    def joint(self, answers: Sequence[Any]) -> Answer:
        """The joint answer of several judges, by vote; only where `is_voted`."""
        raise NotImplementedError

    @property
    def scale(self) -> tuple[float, float] | None:
        """The ends of the scale of grades, None where it is not graded."""
        return None

    @property
    @abstractmethod
    def wording(self) -> str:
        """The question in one sentence for people, without the texts."""

    @abstractmethod
    def typed_answer(self, typed: str) -> Answer:
        """The answer that a person typed. Raises UsageError."""

    @classmethod
    @abstractmethod
    def samples(cls, text: str) -> Sequence[Any]:
        """Questions about a text, such as the contract of judges asks, that which can be split first."""


def complete(kind: type[BaseQuestion], order: int) -> None:
    """Give a kind its name, place and prompt. TypeError or FileNotFoundError names what is missing."""
    kind.kind, kind.order = kind.__name__.lower(), order
    missing = [name for name in dir(kind) if getattr(getattr(kind, name), "__isabstractmethod__", False)]
    missing += [] if hasattr(kind, "answer_type") else ["answer_type"]
    if missing:
        raise TypeError(f"the kind of question {kind.kind!r} lacks {missing[0]}; define it in {kind.__module__}")
    stem = kind.__module__.rpartition(".")[2]
    texts = (get_data(kind.__module__, f"{stem}{suffix}") or b"" for suffix in (".md", ".jsonl"))
    kind.prompt, kind.examples = (text.decode().strip() for text in texts)


def span_fault(text: str, spans: Iterable[Span | None]) -> str | None:
    """What is wrong with spans of a text, or None."""
    for span in spans:
        if span is not None and not 0 <= span[0] <= span[1] <= len(text):
            return f"the span {span} lies outside the text of {len(text)} characters"
    return None
