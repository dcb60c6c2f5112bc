"""Opinions: whether a sentence carries its author's own belief, demand, judgment or hostility.

Short lists, which err towards an opinion: whether it is biased or toxic is asked afterwards, and one that is missed
here is never asked about. What is quoted or reported of others is no opinion of the author.
"""

from __future__ import annotations

import re

from ragauge.judges.embedded.toxicity import attacks, own_words, slants
from ragauge.text.patterns import any_of, phrases

_FIRST = r"\b(?:i|we)(?:'m|'d|'ve)? (?:(?:am|are|do|don't|would|have|really|just|still|also|never|always|so|\w+ly) )*"
_BELIEF = re.compile(
    phrases(
        rf"{_FIRST}{any_of('think believe guess suppose suspect doubt expect sure convinced recommend suggest')}\b",
        rf"\b(?:in|to) (?:my|our) (?:\w+ )?{any_of('opinion view mind eyes experience')}\b|\bimh?o\b|\bif you ask me\b",
        r"\b(?:should|shouldn't|ought to|must not|mustn't|deserves?|had better|needs? to be)\b",
    )
)
_FEELING = re.compile(
    rf"{_FIRST}{any_of('love hate like dislike despise detest loathe adore enjoy prefer hope wish fear regret want')}\b"
    rf"|{_FIRST}{any_of('proud ashamed glad happy sad afraid angry disgusted disappointed sick tired fed_up')}\b"
    r"|\bmy favou?rite\b"
)
_JUDGMENT = any_of(
    """amazing awesome wonderful fantastic brilliant superb gorgeous beautiful lovely incredible terrific awful terrible
    horrible dreadful ridiculous absurd laughable nonsense useless shameful disgraceful despicable vile nasty hideous
    ugly outrageous appalling boring annoying unbearable evil wicked lazy greedy corrupt dishonest arrogant selfish
    immoral insane crazy inferior incompetent unacceptable disappointing sadly unfortunately"""
)
_JUDGING = re.compile(
    rf"\b{_JUDGMENT}\b|\b(?:the|my) (?:\w+ )?(?:best|worst|greatest|dumbest) \w+ (?:ever|in the world)\b"
)


def stance(sentence: str) -> tuple[bool, bool]:
    """Whether a sentence claims something, and whether it is an opinion; a belief, a demand and a judgment are both."""
    own = own_words(sentence).lower()
    if attacks(sentence) or _FEELING.search(own):
        return False, True
    return True, bool(_BELIEF.search(own) or _JUDGING.search(own) or slants(sentence))
