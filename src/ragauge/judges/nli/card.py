"""The card of a model: what has to be known of it to put pairs to it, and to read what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from ragauge.errors import BadData
from ragauge.types import Label

#: What a model is, which decides how a pair is written for it; see `ragauge.judges.nli.forms`.
Family = Literal["classifier", "hhem", "true", "minicheck", "minicheck-t5"]

CARD = "ragauge.json"


class Card(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a model is.

    source: its name, or that of its folder. revision: the commit on the hub, or a hash of its files. tokenizer: where
    it has none of its own, the same of the model whose tokenizer it reads with, as NAME@REVISION.
    labels: of its classes, in their order. window: the tokens of one input. pad: the token that fills up a batch.
    end: the text of the token that ends a sequence. type_ids: whether it is told which of two texts a token is of.
    quantised: its weights are whole numbers of eight bits.
    """

    source: str
    revision: str
    family: Family
    labels: tuple[Label, ...]
    window: int
    pad: int = 0
    end: str = ""
    type_ids: bool = False
    quantised: bool = False
    tokenizer: str = ""

    @property
    def three_way(self) -> bool:
        """Whether it tells contradicted from neutral."""
        return Label.CONTRADICTED in self.labels


def read_card(folder: Path) -> Card:
    """The card in the folder of an exported model. Raises BadData where there is none that can be read."""
    try:
        return msgspec.json.decode((folder / CARD).read_bytes(), type=Card)
    except (OSError, msgspec.DecodeError) as error:
        raise BadData(
            f"onnx/{folder}: {error}; the folder must hold what this wrote: ragauge judges export hf/MODEL {folder}"
        ) from error


def write_card(card: Card, folder: Path) -> None:
    """Put the card beside an exported model."""
    (folder / CARD).write_bytes(msgspec.json.format(msgspec.json.encode(card)) + b"\n")
