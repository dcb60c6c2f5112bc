"""Does a text help to answer a query?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from ragauge.kinds import call as calls
from ragauge.kinds.base import CHUNK, QUERY, QUESTION_OVERHEAD, CallFunction, PackingParts, span_fault
from ragauge.kinds.verdict import REMARK, YES_NO, VerdictQuestion
from ragauge.kinds.windows import ACROSS_CHUNKS, OVERLAP, SplitQuestion, shifted, strongest, windows
from ragauge.types import Answer, Verdict

#: Texts up to this many characters are inlined in the question, as statements are.
MAX_INLINE_CHARS = 240

_PASSAGE = calls.LabelForm("passage", quoted=True, labels=tuple(YES_NO))


class Relevant(VerdictQuestion, frozen=True):
    """Does any part of `text` help to answer `query` (with a reference: to produce that reference)?

    Args:
        query: the question or request.
        text: the passage or statement.
        reference: an answer; None where any help to answer counts.
        history: what was said before the query, oldest first, which says what a query such as "And the second?" asks.
    """

    query: str
    text: str
    reference: str | None = None
    history: tuple[str, ...] = ()

    quoted = True

    @property
    def subject(self) -> str:
        return self.query

    def language_texts(self) -> Iterable[str]:
        return self.query, self.text

    def fault_of(self, answer: Verdict, in_full: bool) -> str | None:
        return super().fault_of(answer, in_full) or span_fault(self.text, [answer.span])

    @property
    def group(self) -> object:
        return self.kind, self.query, self.reference, self.history

    def packing_parts(self) -> PackingParts:
        return PackingParts((self.text, self.reference or "", *self.history), self.query, QUESTION_OVERHEAD)

    def cite(self, sources: calls.SourceTexts) -> None:
        """A text is inlined if it is short, needed nowhere else, and not compared with a reference."""
        if self.reference is not None:
            sources.others.append(self.reference)
        if self.reference is not None or len(self.text) > MAX_INLINE_CHARS or self.text in sources.chunks:
            sources.passages.append(self.text)

    def add_to(self, document: calls.Document, key: str) -> calls.ReplyForm:
        group = document.group(self)
        if not group:
            group.update(document.query(self.query, self.history))
            if self.reference is not None:
                group["reference"] = document.sources[self.reference]
        source = document.sources.get(self.text)
        if source is None:
            group.setdefault("texts", {})[key] = self.text
            return REMARK
        group.setdefault("sources", {})[key] = source
        return _PASSAGE

    def parse(self, item: object, call: calls.AskedCall, style: calls.PromptStyle) -> Verdict:
        verdict = super().parse(item, call, style)
        if style.quotes and (quote := calls.quote_of(calls.item_of(item, "label"))):
            return msgspec.structs.replace(verdict, span=calls.locate_quote(quote, self.text))
        return verdict

    def split_sizes(self) -> tuple[int, int]:
        return len(self.text), len(self.query) + len(self.reference or "") + sum(map(len, self.history))

    def split(self, size: int, support_outweighs: bool) -> SplitQuestion:
        """Windows of the text; one that is relevant makes the whole relevant."""
        spans = windows(self.text, size, int(size * OVERLAP))
        parts = tuple(msgspec.structs.replace(self, text=self.text[start:end]) for start, end in spans)
        starts = [start for start, _ in spans]
        return SplitQuestion(parts, lambda answers: _merged(starts, answers))

    async def answer_by(self, call: CallFunction) -> Verdict:
        (reply,) = await call((self.query, self.text), reference=self.reference, history=self.history)
        return self.verdict_of(reply)

    @property
    def wording(self) -> str:
        aim = "answer the query" if self.reference is None else "give the reference as an answer"
        return f"Does any part of the text help to {aim}?"

    @classmethod
    def samples(cls, text: str) -> Sequence[Relevant]:
        return [cls(QUERY, text), cls(text, CHUNK, text)]


def _merged(starts: Sequence[int], answers: Sequence[Answer]) -> Verdict:
    verdicts = [
        msgspec.structs.replace(answer, span=shifted(answer.span, start))
        for start, answer in zip(starts, answers, strict=True)
        if isinstance(answer, Verdict)
    ]
    return strongest(verdicts, ACROSS_CHUNKS)
