"""Antonyms, written by hand as facts of the language: what an edit of a sentence may put in a word's place."""

from __future__ import annotations

from functools import cache

_ANTONYMS = """
increase decrease; rise fall; up down; more less; more fewer; before after; first last; win lose; above below; high
low; higher lower; highest lowest; early late; earlier later; old new; old young; older younger; oldest youngest;
north south; east west; northern southern; eastern western; left right; open close; start end; begin end; buy sell;
accept reject; accept refuse; allow prohibit; allow forbid; allow ban; include exclude; agree disagree; approve
reject; best worst; better worse; large small; larger smaller; largest smallest; long short; longer shorter; strong
weak; stronger weaker; positive negative; gain loss; profit loss; success failure; succeed fail; true false; safe
dangerous; rich poor; hot cold; warm cool; wet dry; fast slow; faster slower; alive dead; male female; man woman;
boy girl; husband wife; father mother; son daughter; brother sister; king queen; maximum minimum; major minor;
majority minority; public private; always never; all none; love hate; like dislike; heavy light; heavier lighter;
hard easy; deep shallow; wide narrow; thick thin; strengthen weaken; improve worsen; improve deteriorate; expand
contract; expand shrink; enter exit; arrive depart; arrive leave; remember forget; permit forbid; legal illegal;
import export; upper lower; inside outside; ancient modern; guilty innocent; victory defeat; ally enemy; attack
defend; day night; morning evening; full empty; often rarely; frequently rarely; common rare; appear disappear;
raise lower; support oppose; encourage discourage; possible impossible; present absent; temporary permanent;
voluntary mandatory; optional mandatory; necessary unnecessary; healthy sick; good bad; happy sad; beautiful ugly;
clean dirty; cheap expensive; add remove; add subtract; borrow lend; create destroy; divorce marry; exceed miss;
outperform underperform; overweight underweight; plural singular; quiet loud; tall short; taller shorter; vacant
occupied; visible invisible; winner loser; stand sit
"""


@cache
def antonyms() -> dict[str, frozenset[str]]:
    """Word to its opposites."""
    found: dict[str, frozenset[str]] = {}
    for group in map(str.split, _ANTONYMS.split(";")):
        for word in group:
            found[word] = found.get(word, frozenset()) | (frozenset(group) - {word})
    return found
