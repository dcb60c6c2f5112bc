"""Is an answer right by the references?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from ragauge.kinds.base import CHUNK, QUERY, QUESTION_OVERHEAD, CallFunction, LabelChoice, PackingParts
from ragauge.kinds.call import Document, LabelForm, ReplyForm, SourceTexts
from ragauge.kinds.verdict import VerdictQuestion
from ragauge.types import Label, Statement, Verdict

CORRECTNESS: Mapping[str, Label] = {
    label.value: label for label in (Label.RIGHT, Label.PARTLY, Label.WRONG, Label.UNDECIDED)
}

_FORM = LabelForm("correct", labels=tuple(CORRECTNESS))


class Correct(VerdictQuestion, frozen=True):
    """Is a response a right answer, held against all references together?

    Args:
        query: the question; None where there is none.
        response: the answer.
        references: alternative right answers.
    """

    query: str | None
    response: str
    references: tuple[str, ...]

    wording = "Is the answer right by the references?"
    labels = CORRECTNESS
    no_and_yes = (Label.WRONG, Label.RIGHT)
    choices = (
        LabelChoice("r", Label.RIGHT, "right"),
        LabelChoice("p", Label.PARTLY, "partly: incomplete, or too much"),
        LabelChoice("w", Label.WRONG, "wrong"),
        LabelChoice("u", Label.UNDECIDED, "the references do not decide it"),
    )

    @property
    def subject(self) -> str:
        return self.query or "\n".join(self.references)

    def language_texts(self) -> Iterable[str]:
        """Of the references only the first: others may be names in other languages."""
        return tuple(f"{self.query or ''} {text}" for text in (self.response, *self.references[:1]))

    def guess(self, statements: Callable[[str, str | None], tuple[Statement, ...]]) -> Verdict:
        return Verdict(Label.PARTLY)

    @property
    def group(self) -> object:
        return self.kind, self.query, self.references

    def packing_parts(self) -> PackingParts:
        return PackingParts((self.response, *self.references), self.query or "", QUESTION_OVERHEAD)

    def cite(self, sources: SourceTexts) -> None:
        sources.others += (*self.references, self.response)

    def add_to(self, document: Document, key: str) -> ReplyForm:
        group = document.group(self)
        if not group:
            ids = list(dict.fromkeys(document.sources[text] for text in self.references))
            group.update(document.query(self.query), references=ids, answers={})
        group["answers"][key] = document.sources[self.response]
        return _FORM

    def joint(self, answers: Sequence[Verdict]) -> Verdict:
        """The majority label; without one "partly" if a judge says so, or else "undecided"."""
        whole = super().joint(answers)
        if whole.label in CORRECTNESS.values():
            return whole
        partly = [answer for answer in answers if answer.label is Label.PARTLY]
        if partly:
            return msgspec.structs.replace(whole, label=Label.PARTLY, rationale=partly[0].rationale)
        named = " or ".join(sorted({answer.label.value for answer in answers}))
        return msgspec.structs.replace(whole, label=Label.UNDECIDED, rationale=f"the judges do not agree: {named}")

    async def answer_by(self, call: CallFunction) -> Verdict:
        (reply,) = await call((self.response, self.references), query=self.query)
        return self.verdict_of(reply)

    @classmethod
    def samples(cls, text: str) -> Sequence[Correct]:
        return [cls(QUERY, text, ("1901", text)), cls(None, text, (CHUNK,))]
