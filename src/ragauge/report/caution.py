"""How far to trust the judges in the package, in one sentence, by what was measured of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files

import msgspec

from ragauge.scores import RunRecord
from ragauge.types import Identity

#: What `ragauge judges measure embedded -o FILE.json` wrote of the packaged judge.
CARD = files("ragauge") / "judges" / "embedded" / "data" / "measured.json"

_LEXICAL = (
    "The lexical judge compares words, numbers and names, not meaning: it misses paraphrase, and claims in the text's "
    "own words pass too easily; docs/embedded-judge.md has the figures."
)
_UNMEASURED = (
    "Nothing was measured of this version of the embedded judge; `ragauge judges measure embedded` measures the one "
    "that is installed, and docs/embedded-judge.md says where it fails."
)

#: What a judge has to tell apart, by the prefixes of the sets that show it.
_RANKED = {
    "supported from unsupported claims": ("ent", "cit", "rag"),
    "right from wrong answers": ("ans",),
    "relevant from other passages": ("rel",),
    "toxic from other texts": ("tox",),
}


class _Figure(msgspec.Struct, frozen=True):
    value: float


class _Set(msgspec.Struct, frozen=True):
    name: str
    auc: _Figure | None = None


class _Card(msgspec.Struct, frozen=True):
    judge: Identity
    sets: tuple[_Set, ...]


def caution(run: RunRecord) -> str:
    """How far the judges in the package can be trusted; empty where they had no part in the run."""
    return " ".join(_cautions(list(run.judges.values())))


def _cautions(judges: list[Identity]) -> Iterator[str]:
    embedded = [judge for judge in judges if re.search(r"\bembedded\b", judge.name)]
    if embedded:
        card = msgspec.json.decode(CARD.read_bytes(), type=_Card)
        yield _measured(card) if all(_is_of(card, judge) for judge in embedded) else _UNMEASURED
    if any(re.search(r"\blexical\b", judge.name) for judge in judges):
        yield _LEXICAL


def _is_of(card: _Card, judge: Identity) -> bool:
    """Whether a judge is, or has for a member, the one that was measured; how sentences are split may differ."""
    own = {(name.rpartition(".")[2], value) for name, value in judge.settings}
    return {setting for setting in card.judge.settings if setting[0] != "splitter"} <= own


def _measured(card: _Card) -> str:
    told = [f"{what} with an AUC of {reached}" for what, kinds in _RANKED.items() if (reached := _reached(card, kinds))]
    if not told:
        return _UNMEASURED
    listed = " and ".join(filter(None, (", ".join(told[:-1]), told[-1])))
    return (
        f"On public sets the embedded judge tells {listed} (0.5 is chance) by people's labels; have a model or people "
        "judge where a single verdict matters, and see docs/embedded-judge.md for where it fails."
    )


def _reached(card: _Card, kinds: tuple[str, ...]) -> str:
    """From which to which AUC the sets of some kinds reach; empty where none was measured."""
    found = [one.auc.value for one in card.sets if one.auc and one.name.partition("_")[0] in kinds]
    ends = dict.fromkeys(f"{value:.2f}" for value in (min(found), max(found))) if found else {}
    return " to ".join(ends)
