"""What does a text state?"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from operator import itemgetter

import msgspec

from ragauge.errors import UsageError
from ragauge.kinds import call as calls
from ragauge.kinds.base import QUERY, BaseQuestion, CallFunction, PackingParts, UnusableReply, span_fault
from ragauge.kinds.windows import SplitQuestion, shifted, windows
from ragauge.text.sentences import sentences
from ragauge.types import Answer, Decomposition, Span, Statement

#: What a statement may be called, with whether it is a claim and whether an opinion.
STATEMENT_KINDS = {"claim": (True, False), "opinion": (False, True), "both": (True, True), "neither": (False, False)}

#: The fields of a statement in a reply.
STATEMENT_FIELDS = frozenset({"s", "text", "kind"})

#: A name or a number; a name does not begin within a word in lower case.
_NAME = re.compile(r"(?<![a-z_])[\d_a-z]*+[^\W\d_a-z]\w*|\d+(?:[.,]\d+)*")

#: Tokens of a list in a reply; statements of a sentence; tokens of a statement in addition to its text; the length of
#: all statements relative to the text.
_LIST_TOKENS, _STATEMENTS_PER_SENTENCE, _STATEMENT_TOKENS, _EXPANSION = 3, 1.4, 11, 1.1


@lru_cache(maxsize=1024)
def sentence_spans(text: str) -> tuple[Span, ...]:
    """The sentences of a text to decompose, at least one."""
    return tuple(sentences(text)) or ((0, len(text)),)


class _StatementsForm(calls.ReplyForm, frozen=True, cache_hash=True):
    """A list of statements, each from one of a number of sentences."""

    sentences: int = 1

    explained = False
    listed = True

    def fields(self) -> calls.Schema:
        numbers = {"type": "integer", "enum": list(range(1, self.sentences + 1))}
        return {"s": numbers, "text": calls.STRING, "kind": calls.enum(STATEMENT_KINDS)}


class Decompose(BaseQuestion, frozen=True):
    """Split a text into statements.

    Args:
        text: the text.
        query: what the text answers; None where it answers nothing.
        history: what was said before the query, oldest first, which explains pronouns and what is left out.
    """

    text: str
    query: str | None = None
    history: tuple[str, ...] = ()

    wording = "Which statements does the text make?"
    answer_type = Decomposition
    comes_first = True
    is_voted = False
    limited_by = "decompose_chars"
    key_prefix = "T"
    explained = False

    def language_texts(self) -> Iterable[str]:
        return (f"{self.text} {self.query or ''}",)

    def fault_of(self, answer: Decomposition, in_full: bool) -> str | None:
        if not all(piece.text.strip() for piece in answer.statements):
            return "a statement is empty"
        return span_fault(self.text, (piece.span for piece in answer.statements))

    def guess(self, statements: Callable[[str, str | None], tuple[Statement, ...]]) -> Decomposition:
        return Decomposition(statements(self.text, self.query))

    @property
    def group(self) -> object:
        return self.kind, self.query, self.history

    def packing_parts(self) -> PackingParts:
        return PackingParts(self.history, "", len(self.text))

    def add_to(self, document: calls.Document, key: str) -> calls.ReplyForm:
        if self.query is not None:
            document.top.setdefault("query", self.query)
        if self.history:
            document.top.setdefault("history", document.history_id(self.history))
        spans = sentence_spans(self.text)
        texts = document.top.setdefault("texts", {})
        texts[key] = {str(place): self.text[start:end] for place, (start, end) in enumerate(spans, 1)}
        return _StatementsForm("statement", sentences=len(spans))

    def parse(self, item: object, call: calls.AskedCall, style: calls.PromptStyle) -> Decomposition:
        """The statements, one or more a sentence. Raises CutOff where only the first sentences have theirs."""
        if not isinstance(item, list):
            raise calls.wrong_type("list of statements", item)
        spans, cut = sentence_spans(self.text), bool(item) and item[-1] == calls.CUT_OFF
        faults: list[str] = []
        pieces = [calls.parse_part(faults, self._numbered, spans, value) for value in (item[:-1] if cut else item)]
        numbered = sorted(filter(None, pieces), key=itemgetter(0))
        stated = {sentence for sentence, piece in numbered if piece.text}
        end = max(stated) if cut and stated else len(spans) + 1
        if len(call.questions) > 1:
            faults += self._foreign_faults(numbered, call)
        written = {sentence for sentence, (start, stop) in enumerate(spans, 1) if self.text[start:stop].strip()}
        missing = ", ".join(str(sentence) for sentence in sorted(written - stated) if sentence < end)
        if missing and not faults:
            faults.append(
                f'has no statement whose "s" is {missing}; enter a sentence that states nothing as it is, '
                'with "kind" "neither"'
            )
        if faults:
            raise calls.InvalidItem(*faults)
        kept = dict.fromkeys(piece for sentence, piece in numbered if piece.text and sentence < end)
        answer = Decomposition(tuple(kept))
        if not cut:
            return answer
        if not stated or end == 1:
            raise calls.InvalidItem("is cut off")
        cut_at = spans[end - 1][0]
        raise calls.CutOff(answer, self._split([(0, cut_at), (cut_at, len(self.text))]))

    def _numbered(self, spans: Sequence[Span], value: object) -> tuple[int, Statement]:
        """The number of a statement's sentence, and the statement."""
        if not isinstance(value, dict):
            raise calls.InvalidItem(f"has as a statement {calls.described(value)}, not an object")
        place, statement, called = calls.number(value.get("s")), value.get("text"), calls.word(value.get("kind"))
        faults = []
        if place is None or place not in range(1, len(spans) + 1):
            shown = calls.described(value.get("s"))
            faults.append(f'has a statement whose "s" is {shown}; its sentences are 1 to {len(spans)}')
        if not isinstance(statement, str):
            faults.append(f'has a statement whose "text" is {calls.described(statement)}, not a string')
        if called not in STATEMENT_KINDS:
            wanted = ", ".join(STATEMENT_KINDS)
            faults.append(f'has a statement whose "kind" is {calls.described(value.get("kind"))}, not one of {wanted}')
        if faults or place is None or not isinstance(statement, str):
            raise calls.InvalidItem(*faults)
        statement, sentence = statement.strip(), int(place)
        span = _located(statement, self.text, spans[sentence - 1])
        return sentence, Statement(statement, span, *STATEMENT_KINDS[called])

    def _foreign_faults(self, numbered: Sequence[tuple[int, Statement]], call: calls.AskedCall) -> list[str]:
        """The fault of statements that name what only another text of the call contains."""
        others = " ".join(other.text for other in call.questions if other is not self and isinstance(other, Decompose))
        own = " ".join([self.text, self.query or "", *self.history]).casefold()
        foreign = sorted({sentence for sentence, piece in numbered if _names_what_is_in(others, own, piece.text)})
        return (
            [f'names in statements with "s" {", ".join(map(str, foreign))} what stands in another text alone']
            if foreign
            else []
        )

    @classmethod
    def looks_like_item(cls, value: object) -> bool:
        """A list of statements."""
        if not isinstance(value, list) or not value:
            return False
        return all(isinstance(piece, dict) and piece.keys() == STATEMENT_FIELDS for piece in value)

    def reply_tokens(self, style: calls.PromptStyle, estimate: Callable[[str], float]) -> float:
        statements = _STATEMENTS_PER_SENTENCE * len(sentence_spans(self.text))
        return _LIST_TOKENS + _EXPANSION * estimate(self.text) + _STATEMENT_TOKENS * statements

    def split_sizes(self) -> tuple[int, int]:
        return len(self.text), len(self.query or "") + sum(map(len, self.history))

    def split(self, size: int, support_outweighs: bool) -> SplitQuestion:
        return self._split(windows(self.text, size, 0))

    def _split(self, spans: Sequence[Span]) -> SplitQuestion:
        parts = tuple(msgspec.structs.replace(self, text=self.text[start:end]) for start, end in spans)
        starts = [start for start, _ in spans]
        return SplitQuestion(parts, lambda answers: _merged(starts, answers))

    async def answer_by(self, call: CallFunction) -> Decomposition:
        (pieces,) = await call((self.text,), query=self.query, history=self.history)
        if isinstance(pieces, str) or not isinstance(pieces, Iterable):
            raise UnusableReply("decompose() must return a list of texts or (text, kind)", pieces)
        statements: list[Statement] = []
        end = 0  # of the last statement that was found in the text
        for piece in pieces:
            written, called = piece if isinstance(piece, tuple) and len(piece) == 2 else (piece, "claim")
            if not isinstance(written, str) or called not in STATEMENT_KINDS:
                kinds = list(STATEMENT_KINDS)
                raise UnusableReply(f"decompose() must return texts, or (text, kind) with kind one of {kinds}", piece)
            start = self.text.find(written, end)
            start = self.text.find(written) if start < 0 else start
            span = (start, start + len(written)) if start >= 0 else None
            statements.append(Statement(written, span, *STATEMENT_KINDS[called]))
            end = max(end, span[1]) if span else end
        return Decomposition(tuple(statements))

    def typed_answer(self, typed: str) -> Answer:
        raise UsageError("statements are not labelled by people")

    @classmethod
    def samples(cls, text: str) -> Sequence[Decompose]:
        return [cls(text, QUERY)]


def _located(statement: str, text: str, sentence: Span) -> Span:
    """Where a sentence contains a statement, with or without its full stop; else the whole sentence."""
    for words in (statement, statement.removesuffix(".")):
        start = text.find(words, *sentence)
        if start >= 0:
            return start, start + len(words)
    return sentence


def _names_what_is_in(others: str, own: str, statement: str) -> bool:
    """Whether a name or number of a statement occurs in other texts of the call alone. own: the text, in lower case.

    The first word always has a capital; it is a name if another text has it within a sentence.
    """
    names = [match for match in _NAME.finditer(statement) if match[0].casefold() not in own and match[0] in others]
    first = len(statement.partition(" ")[0])
    return any(match.start() > first or re.search(rf"[\w,;] {re.escape(match[0])}\b", others) for match in names)


def _merged(starts: Sequence[int], answers: Sequence[Answer]) -> Decomposition:
    """All statements, with their spans in the whole text."""
    statements: list[Statement] = []
    for start, answer in zip(starts, answers, strict=True):
        assert isinstance(answer, Decomposition)
        statements += [
            msgspec.structs.replace(statement, span=shifted(statement.span, start)) for statement in answer.statements
        ]
    return Decomposition(tuple(statements))
