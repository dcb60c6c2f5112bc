"""Does a hypothesis follow from a premise?

Where windows of one chunk differ, support outweighs contradiction: it is likelier that a window shows too little to
judge by than that the text contradicts itself. Where chunks differ, contradiction outweighs support.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from ragauge.errors import UsageError
from ragauge.kinds import call as calls
from ragauge.kinds.base import (
    CHUNK,
    QUERY,
    QUESTION_OVERHEAD,
    CallFunction,
    LabelChoice,
    PackingParts,
    span_fault,
)
from ragauge.kinds.verdict import VerdictQuestion, first, vote
from ragauge.kinds.windows import ACROSS_CHUNKS, OVERLAP, SplitQuestion, shifted, strongest, windows
from ragauge.types import Answer, ChunkVerdict, Label, Statement, Verdict

ENTAILMENT: Mapping[str, Label] = {label.value: label for label in (Label.ENTAILED, Label.NEUTRAL, Label.CONTRADICTED)}

_CHUNK_VERDICTS = {label: ChunkVerdict(label) for label in ENTAILMENT.values()}

#: The priority of labels among windows of one chunk.
_WITHIN_CHUNK = {Label.ENTAILED: 2, Label.CONTRADICTED: 1}

#: Tokens of the lists of sources in a reply.
_LISTS_TOKENS = 11


class _JointForm(calls.LabelForm, frozen=True, cache_hash=True):
    """A label given several sources together, and lists of those that support or contradict alone."""

    ids: tuple[str, ...] = ()

    def fields(self) -> calls.Schema:
        listed = {"type": "array", "items": calls.enum(self.ids)}
        return {**super().fields(), "supports": listed, "contradicts": listed}


class Entail(VerdictQuestion, frozen=True):
    """Does `hypothesis` follow from the chunks of `premise` together, and does each chunk support or contradict it?

    Args:
        premise: the texts of the chunks.
        hypothesis: the statement.
        query: what the hypothesis answers, so that a fragment ("Six days.") can be read as a full statement.
        history: what was said before the query, oldest first, for the same purpose.
    """

    premise: tuple[str, ...]
    hypothesis: str
    query: str | None = None
    history: tuple[str, ...] = ()

    support_topic = "entail:support"
    shared_field = "premise"
    quoted = True
    item_fields = frozenset({"label", "supports", "contradicts"})
    wording = "Do the texts together support the claim, contradict it, or neither?"
    labels = ENTAILMENT
    no_and_yes = (Label.NOT_ENTAILED, Label.ENTAILED)
    choices = (
        LabelChoice("s", Label.ENTAILED, "supported"),
        LabelChoice("n", Label.NEUTRAL, "not supported"),
        LabelChoice("c", Label.CONTRADICTED, "contradicted"),
    )

    def unshared(self) -> dict[str, Any]:
        query = {} if self.query is None else {"query": self.query}
        return {"hypothesis": self.hypothesis, **query, **({"history": self.history} if self.history else {})}

    @property
    def subject(self) -> str:
        return "\n".join(self.premise)

    def language_texts(self) -> Iterable[str]:
        return f"{self.hypothesis} {self.query or ''}", " ".join((*self.premise, self.query or ""))

    def fault_of(self, answer: Verdict, in_full: bool) -> str | None:
        chunks, texts = answer.chunks, self.premise
        if fault := super().fault_of(answer, in_full):
            return fault
        if chunks and len(chunks) != len(texts):
            return f"{len(chunks)} labels for {len(texts)} chunks"
        if in_full and not chunks and len(texts) > 1:
            return f"no labels for {len(texts)} chunks; give Verdict(label, chunks=...) one ChunkVerdict for each"
        faults = (span_fault(text, [chunk.span]) for text, chunk in zip(texts, chunks, strict=False))
        return next(filter(None, faults), None)

    def guess(self, statements: Callable[[str, str | None], tuple[Statement, ...]]) -> Verdict:
        return Verdict(Label.NEUTRAL, chunks=(_CHUNK_VERDICTS[Label.NEUTRAL],) * len(self.premise))

    @property
    def group(self) -> object:
        return self.kind, self.premise, self.query, self.history

    @property
    def rank(self) -> int:
        """The premises of several chunks first."""
        return -len(self.premise)

    def packing_parts(self) -> PackingParts:
        return PackingParts((*self.premise, *self.history), self.query or "", len(self.hypothesis) + QUESTION_OVERHEAD)

    def cite(self, sources: calls.SourceTexts) -> None:
        if self.premise not in sources.premises:
            sources.premises.add(self.premise)
            (sources.together if len(self.premise) > 1 else sources.others).extend(self.premise)
            sources.chunks.update(self.premise)

    def add_to(self, document: calls.Document, key: str) -> calls.ReplyForm:
        group = document.group(self)
        if not group:
            sources = list(dict.fromkeys([document.sources[text] for text in self.premise]))
            if document.shuffled:
                sources.sort(key=lambda source: int(source[1:]))
            group.update(document.query(self.query, self.history), sources=sources, claims={})
        group["claims"][key] = self.hypothesis
        ids = tuple(group["sources"])
        return _JointForm("joint", quoted=True, labels=tuple(ENTAILMENT), ids=ids) if len(ids) > 1 else _SINGLE

    def parse(self, item: object, call: calls.AskedCall, style: calls.PromptStyle) -> Verdict:
        fields = calls.item_of(item, "label")
        ids = [call.sources[text] for text in self.premise]
        if len(ids) > 1 and len(valid_ids := set(ids)) > 1:
            label, by_id = _joint_labels(fields, valid_ids, style.support_outweighs)
            chunks = [_CHUNK_VERDICTS[by_id.get(id, Label.NEUTRAL)] for id in ids]
        else:
            label = calls.label_of(fields, ENTAILMENT)
            chunks = [_CHUNK_VERDICTS[label]] * len(ids)
        if style.quotes and (quote := calls.quote_of(fields)):
            self._place_quote(quote, label, chunks)
        return Verdict(label, chunks=tuple(chunks), rationale=calls.rationale_of(fields, style))

    def _place_quote(self, quote: str, label: Label, chunks: list[ChunkVerdict]) -> None:
        """A quote is of the first chunk that contains it, preferably one with the label of the whole."""
        for place in sorted(range(len(chunks)), key=lambda place: chunks[place].label != label):
            if span := calls.locate_quote(quote, self.premise[place]):
                chunks[place] = ChunkVerdict(chunks[place].label, span=span)
                return

    def with_source_ids(self, item: dict[str, Any], sources: Mapping[str, str]) -> dict[str, Any]:
        ids = {place: sources[text] for place, text in enumerate(self.premise, 1)}
        lists = {name: item[name] for name in ("supports", "contradicts") if isinstance(item.get(name), list)}
        return item | {name: [ids.get(place, place) for place in listed] for name, listed in lists.items()}

    def reply_tokens(self, style: calls.PromptStyle, estimate: Callable[[str], float]) -> float:
        return super().reply_tokens(style, estimate) + _LISTS_TOKENS * (len(self.premise) > 1)

    def split_sizes(self) -> tuple[int, int]:
        return sum(map(len, self.premise)), len(self.hypothesis) + len(self.query or "") + sum(map(len, self.history))

    def split(self, size: int, support_outweighs: bool) -> SplitQuestion:
        """Chunks and windows of long chunks in their order, as many in a part as fit."""
        groups: list[list[_TextPiece]] = []
        left = 0
        for chunk, text in enumerate(self.premise):
            spans = [(0, len(text))] if len(text) <= size else windows(text, size, int(size * OVERLAP))
            for start, stop in spans:
                if not groups or stop - start > left:
                    groups.append([])
                    left = size
                groups[-1].append(_TextPiece(chunk, start, text[start:stop]))
                left -= stop - start
        parts = (msgspec.structs.replace(self, premise=tuple(piece.text for piece in group)) for group in groups)
        n_chunks = len(self.premise)
        return SplitQuestion(tuple(parts), lambda answers: _merged(n_chunks, groups, answers, support_outweighs))

    def joint(self, answers: Sequence[Verdict]) -> Verdict:
        """The joint verdict, also on each chunk; a vote without verdicts on chunks counts as one on its only chunk."""
        whole = super().joint(answers)
        if not any(answer.chunks for answer in answers):
            return whole
        chunks = []
        for votes in zip(*map(_by_piece, answers), strict=True):
            label, probability, agreeing = vote(votes)
            chunks.append(ChunkVerdict(label, probability, first(verdict.span for verdict in agreeing)))
        return msgspec.structs.replace(whole, chunks=tuple(chunks))

    async def answer_by(self, call: CallFunction) -> Verdict:
        """Asks about each chunk and about all together; about a single chunk once."""
        premise = self.premise if len(self.premise) == 1 else (*self.premise, "\n".join(self.premise))
        replies = await call(*((text, self.hypothesis) for text in premise), query=self.query, history=self.history)
        verdicts = [self.verdict_of(reply) for reply in replies]
        chunks = [ChunkVerdict(verdict.label, verdict.probability) for verdict in verdicts]
        whole = verdicts[-1]
        return Verdict(whole.label, whole.probability, tuple(chunks[: len(self.premise)]))

    def typed_answer(self, typed: str) -> Verdict:
        """A key; numbers of the texts it holds for and further keys may follow, as in "s 1 c 3".

        Texts that are not named are neutral. If none of several is named, a label that a text decides holds for all of
        them together, and there are no labels of texts.
        """
        words, size = typed.lower().split() or [""], len(self.premise)
        label = self.typed_label(words[0])
        current, named = label, dict[int, Label]()
        for word in words[1:]:
            if not word.isdecimal():
                current = self.typed_label(word)
            elif 1 <= int(word) <= size:
                named[int(word)] = current
            else:
                raise UsageError(f"there are {size} texts; {word} is out of range")
        if not named and label is not Label.NEUTRAL and size > 1:
            return Verdict(label)
        named = named or dict.fromkeys(range(1, size + 1), label)
        return Verdict(label, chunks=tuple(ChunkVerdict(named.get(n, Label.NEUTRAL)) for n in range(1, size + 1)))

    def example_item(self, label: Label, why: str, judge: Verdict, agrees: bool) -> dict[str, Any] | None:
        """For several chunks the item has the judge's lists, which hold only if the judge agrees."""
        item = super().example_item(label, why, judge, agrees)
        if item is None or len(set(self.premise)) < 2:
            return item
        if not agrees:
            return None
        for name, wanted in (("supports", Label.ENTAILED), ("contradicts", Label.CONTRADICTED)):
            item[name] = [place for place, chunk in enumerate(judge.chunks, 1) if chunk.label is wanted]
        return item

    @classmethod
    def samples(cls, text: str) -> Sequence[Entail]:
        return [cls((CHUNK, text), "The lighthouse was built in 1901.", QUERY), cls((CHUNK,), text)]


_SINGLE = calls.LabelForm("entail", quoted=True, labels=tuple(ENTAILMENT))


def _joint_labels(
    item: calls.ReplyItem, valid_ids: set[str], support_outweighs: bool
) -> tuple[Label, dict[str, Label]]:
    """The label of a claim given all its sources, and those given single ones; a source in both lists contradicts.

    support_outweighs: no source contradicts an entailed claim, since that would make it unsupported.
    """
    faults: list[str] = []
    label = calls.parse_part(faults, calls.label_of, item, ENTAILMENT)
    supports = calls.parse_part(faults, _listed, item, "supports", valid_ids, label is Label.NEUTRAL)
    contradicts = calls.parse_part(faults, _listed, item, "contradicts", valid_ids, label is Label.NEUTRAL)
    if label is None or supports is None or contradicts is None:
        raise calls.InvalidItem(*faults)
    if label is Label.NEUTRAL and (supports or contradicts):
        raise calls.InvalidItem('has the "label" neutral, and yet lists sources that entail or contradict the claim')
    if label is Label.ENTAILED and contradicts and not supports:
        raise calls.InvalidItem('has the "label" entailed, and yet lists only sources that contradict the claim')
    if label is Label.CONTRADICTED and supports and not contradicts:
        raise calls.InvalidItem('has the "label" contradicted, and yet lists only sources that entail the claim')
    if support_outweighs and label is Label.CONTRADICTED and supports:
        raise calls.InvalidItem(
            'has the "label" contradicted, and yet lists sources that entail the claim, which decide'
        )
    if support_outweighs and label is Label.ENTAILED:
        contradicts = []
    return label, dict.fromkeys(supports, Label.ENTAILED) | dict.fromkeys(contradicts, Label.CONTRADICTED)


def _listed(item: calls.ReplyItem, name: str, valid_ids: set[str], optional: bool) -> list[str]:
    if name not in item and not optional:
        raise calls.InvalidItem(f'has no list "{name}"')
    sources = item.get(name)
    if sources is None:
        return []
    if isinstance(sources, str) and sources in valid_ids:
        return [sources]
    if not isinstance(sources, list):
        raise calls.InvalidItem(
            f'has as "{name}" {calls.described(sources)}, not a list of its sources {", ".join(sorted(valid_ids))}'
        )
    return [_source(source, name, valid_ids) for source in sources]


def _source(source: object, name: str, valid_ids: set[str]) -> str:
    """The id of a source in a list, which may be given by its number alone."""
    if isinstance(source, str) and source in valid_ids:
        return source
    if f"S{source}" in valid_ids and valid_ids == {f"S{place}" for place in range(1, len(valid_ids) + 1)}:
        return f"S{source}"
    raise calls.InvalidItem(
        f'has in "{name}" {calls.described(source)}, not one of its sources {", ".join(sorted(valid_ids))}'
    )


class _TextPiece(NamedTuple):
    """A window of one chunk: the chunk's index in the premise, where in the chunk it starts, and its text."""

    chunk: int
    start: int
    text: str


def _merged(
    n_chunks: int, groups: Sequence[Sequence[_TextPiece]], answers: Sequence[Answer], support_outweighs: bool
) -> Verdict:
    """The verdict on each chunk by all its windows, and on the whole by the parts that no other window outweighs."""
    verdicts = [answer for answer in answers if isinstance(answer, Verdict)]
    by_chunk: list[list[ChunkVerdict]] = [[] for _ in range(n_chunks)]
    for group, verdict in zip(groups, verdicts, strict=True):
        for piece, own in zip(group, _by_piece(verdict), strict=True):
            by_chunk[piece.chunk].append(msgspec.structs.replace(own, span=shifted(own.span, piece.start)))
        if len(group) > 1 and len({piece.chunk for piece in group}) == 1:
            by_chunk[group[0].chunk].append(ChunkVerdict(verdict.label, verdict.probability))
    chunks = tuple(strongest(own, _WITHIN_CHUNK) for own in by_chunk)
    pairs = zip(groups, verdicts, strict=True)
    counted = [verdict for group, verdict in pairs if not _outweighed(verdict, group, chunks)]
    priority = _WITHIN_CHUNK if support_outweighs else ACROSS_CHUNKS
    whole = strongest(counted or [Verdict(Label.ENTAILED)], priority)
    if support_outweighs and whole.label is Label.ENTAILED:
        neutral = _CHUNK_VERDICTS[Label.NEUTRAL]
        chunks = tuple(neutral if chunk.label is Label.CONTRADICTED else chunk for chunk in chunks)
    return msgspec.structs.replace(whole, chunks=chunks)


def _by_piece(verdict: Verdict) -> Sequence[ChunkVerdict]:
    return verdict.chunks or (ChunkVerdict(verdict.label, verdict.probability),)


def _outweighed(verdict: Verdict, group: Sequence[_TextPiece], chunks: Sequence[ChunkVerdict]) -> bool:
    """Whether a part is contradicted only by windows of chunks that entail as a whole."""
    if verdict.label is not Label.CONTRADICTED:
        return False
    pairs = zip(group, _by_piece(verdict), strict=True)
    contradicting = [piece for piece, own in pairs if own.label is Label.CONTRADICTED]
    return all(chunks[piece.chunk].label is Label.ENTAILED for piece in contradicting or group)
