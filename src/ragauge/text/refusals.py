"""Refusals: sentences that say there is no answer, instead of giving one, and responses that do no more than that."""

from __future__ import annotations

import re

from ragauge.text.citations import citation_marks, unmarked
from ragauge.text.phrases import any_of, phrases
from ragauge.text.refusal_phrases import ANYWHERE, HINT, SOURCE, TELL, TREATS, UNCITED
from ragauge.text.sentences import sentences
from ragauge.types import Span

_ANYWHERE, _UNCITED = re.compile(phrases(*ANYWHERE)), re.compile(phrases(*UNCITED))
_HINT = re.compile(HINT)
_CONCESSION = re.compile(r"(?:although|though|while|even though|whereas)\b[^,]*, ")
_EXAMINED = 400

_ABOUT = any_of("""discuss focus cover deal talk describe concern mention contain are_about is_about do_not
    does_not""")
_INSTEAD, _MOSTLY = any_of("however instead but though rather"), "(?:only |mainly |mostly )?"
_ASIDE = re.compile(
    phrases(
        r"(?:(?:i'm |i am )?(?:very |so )?sorry|i apologi[sz]e|(?:my )?apologies|unfortunately)\Z",
        r"(?:(?:es )?tut mir leid|leider|(?:je suis )?désolée?|lo siento|mi dispiace|desculpe|het spijt me)\Z",
        r"(?:please|if you|let me know|feel free|i (?:recommend|suggest|can help)|you (?:may|might|could|can))\b",
        rf"(?:{_INSTEAD},? )?(?:they|it|these) {_MOSTLY}{_ABOUT}",
        rf"(?:{_INSTEAD},? )?{SOURCE} {_MOSTLY}(?:{_ABOUT}|{TREATS})",
        r"(?:bitte|wenn sie|por favor|veuillez|per favore)\b",
    )
)
_NEGATION = re.compile(rf"(?:not|nor|nothing|never|(?:do|does)(?: not|n't) {TELL})\b")
_TURN = re.compile(r"[,;]?\s(?:but|however|though|aber|pero|mais|ma|mas)\s|;\s")
_QUOTED = re.compile(
    r"""\"[^\"]{1,200}\"|“[^”]{1,200}”|„[^“”]{1,200}[“”]|«[^»]{1,200}»
      |(?<!\w)['‘](?:[^'’]|(?<=\w)['’](?=\w)){1,200}['’](?!\w)""",
    re.VERBOSE,
)
_TITLE = re.compile(r"\b[A-Z][\w'’]*(?:\s[A-Z][\w'’]*){2,}")


def is_refusal_sentence(sentence: str, told: str = "", *, cited: bool = False) -> bool:
    """Does the sentence, instead of an answer, say that the speaker or the sources have none, and tell nothing besides?

    told: what the speaker was told to say in place of an answer; its sentences are refusals, whatever they are.
    cited: whether it cites something, as it also does by a mark in it. It may still say that the sources do not say, or
    the speaker does not know; "There is no mention of slavery" is then taken for what the source tells.

    "I don't know.", "The documents do not say when." What goes on to tell something ("Although the text gives no date,
    it names the place.") is no refusal, nor are words that are quoted or a title. English; the commonest forms in
    German, Spanish, French, Italian, Portuguese, Dutch, Japanese and Chinese.
    """
    if _is_told(sentence, told):
        return True
    if not _HINT.search(_plain(sentence)):
        return False
    marks = citation_marks(sentence)
    said = _CONCESSION.sub("", _said(unmarked(sentence, (0, len(sentence)), marks)), count=1)
    cited = cited or bool(marks)
    return _refuses(said, cited) and all(_adds_nothing(clause, cited) for clause in _TURN.split(said))


def _refuses(said: str, cited: bool) -> bool:
    return bool(_ANYWHERE.search(said) or (not cited and _UNCITED.search(said)))


def _adds_nothing(clause: str, cited: bool) -> bool:
    """Whether a clause refuses too, is an apology, a word on what the sources are about, or a mere "not its price"."""
    return _refuses(clause, cited) or bool(_ASIDE.match(clause) or _NEGATION.match(clause))


def _said(sentence: str) -> str:
    """The sentence in small letters, without what it quotes, or gives as a title, unless it is nothing else."""
    for reported in (_QUOTED, _TITLE):
        if any(map(str.isalnum, reported.sub("", sentence))):
            sentence = reported.sub("x", sentence)
    return _plain(sentence)


def refusal(text: str, told: str = "") -> list[Span]:
    """The sentences by which a response declines to answer; none where it answers, if only in part.

    told: what the system was told to say in place of an answer.

    Apologies, advice and words on what the documents are about instead may stand beside them. A sentence that tells
    something, or that cites a document, makes the whole an answer. An empty text is no refusal.
    """
    refuses = {span: is_refusal_sentence(text[slice(*span)], told) for span in sentences(text)}
    others = [text[slice(*span)] for span, refusing in refuses.items() if not refusing]
    return [span for span, refusing in refuses.items() if refusing] if all(map(_is_aside, others)) else []


def _is_told(sentence: str, told: str) -> bool:
    """Whether a sentence is one of those that were to be said, but for case, spaces, citations and the full stop."""
    said = _plain(unmarked(sentence, (0, len(sentence)), citation_marks(sentence)))
    return bool(told) and said in {_plain(told[slice(*span)]) for span in sentences(told)}


def _is_aside(sentence: str) -> bool:
    return not citation_marks(sentence) and bool(_ASIDE.match(_plain(sentence)))


def _plain(sentence: str) -> str:
    return " ".join(sentence[:_EXAMINED].replace("’", "'").lower().split()).strip(" .!\"'*。")
