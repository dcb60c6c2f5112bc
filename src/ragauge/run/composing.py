"""Panels and cascades as they are asked for: in Python, and by spec."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from ragauge.errors import BadParameter, UnknownName
from ragauge.judges.base import Judge
from ragauge.judges.composite import VERDICTS, Cascade, Panel
from ragauge.metrics.registry import split_specs
from ragauge.run.specs import JudgeLike, judge_of

Threshold = float | Mapping[str, float]


def panel(*judges: JudgeLike) -> Panel:
    """A judge whose members vote; see `ragauge.judges.composite.Panel` and docs/judges.md.

        rg.panel("embedded", "openai/gpt-4o-mini", "anthropic/claude-haiku-4-5")

    judges: at least two, as specs or judges. Their order decides who takes texts apart: the first that can.
    Raises BadParameter for fewer than two, and for one that is there twice, UnknownName for a name that no judge has.
    """
    return Panel([judge_of(judge) for judge in judges])


def cascade(*judges: JudgeLike, threshold: Threshold | None = None) -> Cascade:
    """A judge that asks the first of several, and the next where that is not sure enough.

        rg.cascade("embedded", "openai/gpt-4o-mini", threshold=0.95)
        rg.cascade("embedded", "openai/gpt-4o-mini", threshold={"entail": 0.95, "relevant": 0.9})

    judges: at least two, as specs or judges, the cheapest first; the last answers whatever is left.
    threshold: the confidence, max(p, 1 - p), from which a verdict stands; for all kinds of verdict ("entail",
    "relevant", "classify"), or by kind, and then verdicts of other kinds go up. It is the same at every step; nest
    cascades for others. None is right for all texts: `ragauge judges fit` finds one on labels of yours. Without one it
    is that of the first judge's `threshold`, which the embedded judge has.

    Raises BadParameter for fewer than two judges, one that is there twice, no threshold, or a threshold that is none;
    UnknownName for a name that no judge has.
    """
    made = [judge_of(judge) for judge in judges]
    names = ",".join(str(judge.identity) for judge in made)
    if len(made) < 2:
        raise BadParameter(f"cascade({names}) needs at least two judges, the cheapest first: cascade(embedded,JUDGE)")
    if threshold is None:
        threshold = getattr(made[0], "threshold", None)
    if threshold is None:
        raise BadParameter(
            f"cascade({names}) needs a threshold, the confidence from which the first judge's word stands, as in "
            f"cascade({names},threshold=0.95); find it on labels of yours with: ragauge judges fit {made[0].identity} "
            "--labels FILE (docs/judges.md says how sure the embedded judge is, and how right)"
        )
    *rest, first, last = made
    found = Cascade(first, last, threshold)
    for judge in reversed(rest):
        found = Cascade(judge, found, threshold)
    return found


def composed(spec: str) -> Judge:
    """The judge that a spec such as `panel(a,b,c)` or `cascade(a,b,threshold=0.9)` writes; specs may be nested.

    Raises BadParameter for a spec that cannot be read, and what the judges in it raise.
    """
    name, _, inside = spec.partition("(")
    if not inside.endswith(")") or not _closes_last(inside):
        raise BadParameter(f"cannot read {spec!r}; write {name}(JUDGE,JUDGE), and close each bracket")
    pieces = [(piece, re.fullmatch(r"\s*(\w+)\s*=(.*)", piece, re.DOTALL)) for piece in split_specs(inside[:-1])]
    judges = [piece for piece, option in pieces if option is None]
    options = {option[1]: option[2].strip() for _, option in pieces if option}
    return MAKERS[name](judges, options)


def _panel(judges: list[str], options: dict[str, str]) -> Panel:
    if options:
        raise BadParameter(f"panel() takes judges and nothing else, not {', '.join(options)}")
    return panel(*judges)


def _cascade(judges: list[str], options: dict[str, str]) -> Cascade:
    known = ("threshold", *VERDICTS)
    for name in options:
        if name not in known:
            raise UnknownName("option of cascade()", name, known)
    given = {name: _number(name, value) for name, value in options.items()}
    for_all = given.pop("threshold", None)
    if given and for_all is not None:
        given = {**dict.fromkeys(VERDICTS, for_all), **given}
    return cascade(*judges, threshold=given or for_all)


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadParameter(f"cascade(): {name}={text!r} must be a number, such as {name}=0.95") from None


def _closes_last(inside: str) -> bool:
    """Whether the bracket opened before `inside` is closed at its very end."""
    depth = 1
    for at, character in enumerate(inside):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return at == len(inside) - 1
    return False


MAKERS: dict[str, Callable[[list[str], dict[str, str]], Judge]] = {"panel": _panel, "cascade": _cascade}
