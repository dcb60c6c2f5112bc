"""Faults: the claims of a response that do not hold, each once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Literal, NamedTuple

from ragauge.report.wording import chunk_words, shortened
from ragauge.scores import Evidence, SampleRecord
from ragauge.types import Label

#: contradicted: by the contexts, what it cites, or a reference. unsupported: by the contexts, or what it cites.
Kind = Literal["contradicted", "unsupported"]

_ENTAILMENT = (Label.ENTAILED, Label.NEUTRAL, Label.NOT_ENTAILED, Label.CONTRADICTED)


class Fault(NamedTuple):
    """A claim that does not hold. piece: its verdict."""

    kind: Kind
    piece: Evidence


def faults(record: SampleRecord) -> list[Fault]:
    """The claims of the response that the contexts, or what they cite, do not support or contradict; each once.

    A claim that one chunk supports and another contradicts is contradicted, as it is for faithfulness. References are
    alternatives: a claim that one contradicts is a fault unless another supports it. One that they do not mention is
    none.
    """
    pieces = [piece for evidence in record.evidence.values() for piece in evidence if _is_claim(piece)]
    right = {_claim(piece) for piece in pieces if _on_reference(piece) and piece.label is Label.ENTAILED}
    found: dict[object, Fault] = {}
    for fault in _of_pieces(pieces, right):
        known = found.setdefault(_claim(fault.piece), fault)
        if (known.kind, fault.kind) == ("unsupported", "contradicted"):
            found[_claim(fault.piece)] = fault
    return list(found.values())


def _of_pieces(pieces: Iterable[Evidence], right: Collection[object]) -> Iterator[Fault]:
    """right: the claims that a reference supports."""
    for piece in pieces:
        contradicted = _is_contradicted(piece)
        if piece.against in ("contexts", "citations") and (contradicted or piece.label is not Label.ENTAILED):
            yield Fault("contradicted" if contradicted else "unsupported", piece)
        elif _on_reference(piece) and contradicted and _claim(piece) not in right:
            yield Fault("contradicted", piece)


def fault_words(fault: Fault, record: SampleRecord) -> str:
    """What is wrong in one sentence: the claim, what says otherwise, and the judge's reason."""
    said = [line for line in chunk_words(fault.piece, record) if line.startswith(Label.CONTRADICTED.value)]
    against = f"{fault.kind if fault.kind == 'contradicted' else 'not supported'} by {fault.piece.against}"
    reason = f" ({shortened(fault.piece.rationale)})" if fault.piece.rationale else ""
    return f"“{shortened(fault.piece.text)}” is {' and '.join(said) or against}{reason}."


def _is_claim(piece: Evidence) -> bool:
    return piece.field == "response" and piece.label in _ENTAILMENT


def _is_contradicted(piece: Evidence) -> bool:
    return Label.CONTRADICTED in (piece.label, *(said.label for said in piece.chunks))


def _on_reference(piece: Evidence) -> bool:
    return piece.against.startswith("references[")


def _claim(piece: Evidence) -> object:
    return piece.span, piece.text
