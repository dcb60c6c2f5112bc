"""Does a text carry a trait?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ragauge.kinds.base import QUESTION_OVERHEAD, CallFunction, PackingParts
from ragauge.kinds.call import Document, ReplyForm
from ragauge.kinds.verdict import REMARK, VerdictQuestion
from ragauge.types import Verdict


class Classify(VerdictQuestion, frozen=True):
    """Does the opinion in `text` carry `trait` ("biased" or "toxic")?"""

    text: str
    trait: str

    has_topics = True

    @property
    def topic(self) -> str:
        return f"{self.kind}:{self.trait}"

    @property
    def subject(self) -> str:
        return self.text

    def language_texts(self) -> Iterable[str]:
        return (self.text,)

    @property
    def group(self) -> object:
        return self.kind, self.trait

    def packing_parts(self) -> PackingParts:
        return PackingParts((), "", len(self.text) + QUESTION_OVERHEAD)

    def add_to(self, document: Document, key: str) -> ReplyForm:
        group = document.group(self)
        group["trait"] = self.trait
        group.setdefault("opinions", {})[key] = self.text
        return REMARK

    async def answer_by(self, call: CallFunction) -> Verdict:
        (reply,) = await call((self.text, self.trait))
        return self.verdict_of(reply)

    @property
    def wording(self) -> str:
        return f"Is it {self.trait}?"

    @classmethod
    def samples(cls, text: str) -> Sequence[Classify]:
        return [cls(text, "toxic")]
