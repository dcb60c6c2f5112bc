"""Stances: the phrases by which authors show that they believe, feel, or demand something themselves."""

from __future__ import annotations

from ragauge.judges.embedded.statements.phrases import cue
from ragauge.text.patterns import any_of

_BETWEEN = any_of(
    r"\w+ly do don't would must am are have can can't cannot just still also not very so too never always"
)
_FIRST = rf"\b(?:i|we)(?:'m|'d|'ve|'ll|'re)?(?: {_BETWEEN})*"
_BELIEVE = any_of("""think believe guess suppose suspect feel doubt reckon imagine assume expect sure certain
    convinced skeptical sceptical confident""")
_LIKE = any_of(r"""love like(?!_to\b) hate dislike despise detest loathe adore admire enjoy appreciate value prefer
    hope wish fear worry regret agree disagree resent envy pity proud ashamed glad happy pleased delighted sad
    afraid angry furious disgusted disappointed excited amazed impressed sick tired fed_up""")
_WEIGHTY = any_of("important essential crucial vital imperative advisable wrong time a_shame a_pity")
_NOTE = any_of("note remember mention recognize recognise understand consider keep")
_SIGHS = """sadly unfortunately regrettably thankfully fortunately luckily hopefully shamefully disgracefully leider
    desafortunadamente malheureusement"""

BELIEF = cue(
    "i we my our me us imo imho ich meiner creo pienso opino opinión je avis",
    rf"{_FIRST} {_BELIEVE}\b",
    rf"\b(?:in|to) (?:my|our) (?:\w+ )?{any_of('opinion view mind eyes judgment judgement experience')}\b",
    rf"\bmy (?:\w+ )?{any_of('opinion view belief feeling guess impression take')}\b",
    r"\bimh?o\b",
    r"\bif you ask (?:me|us)\b",
    r"\bseems to (?:me|us)\b",
    rf"\bich {any_of('denke glaube finde meine vermute')}\b",
    r"\bmeiner (?:meinung|ansicht) nach\b",
    r"\b(?:creo|pienso|opino) que\b",
    r"\ben mi opinión\b",
    r"\bje (?:pense|crois|trouve) que\b",
    r"\bà mon avis\b",
)
ATTITUDE = cue(
    "i we my ich me odio j",
    rf"{_FIRST} {_LIKE}\b",
    rf"{_FIRST} want {any_of('them him her it all every these those')}\b",
    r"\bmy favou?rite\b",
    r"\bi'd rather\b",
    r"\bich (?:liebe|hasse|mag)\b",
    r"\bme encanta\b",
    r"\bodio\b",
    r"\bj'(?:adore|aime)\b",
)
SIGH = cue(_SIGHS, rf"\b{any_of(_SIGHS)}\b")
DEMAND = cue(
    "i we should shouldn ought better deserve deserves has have need needs it sollte sollten debería deberían devrait",
    rf"\b(?:should|shouldn't|ought)\b(?! {any_of('you the he she it they we i any')}\b)(?! be noted)",
    rf"{_FIRST} (?:recommend|suggest)\b",
    r"\bhad better\b",
    r"\bdeserves?\b",
    r"\b(?:has|have) no (?:right|business|place)\b",
    rf"\bneeds? to be {any_of('stopped banned fired removed taught punished jailed')}\b",
    rf"\bit(?:'s| is| was) (?:\w+ly )?{_WEIGHTY} (?:to|that|for)\b(?! {_NOTE}\b)",
    r"\b(?:sollten?|debería[ns]?|devrait)\b",
)
