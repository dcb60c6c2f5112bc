"""The same said otherwise, by rule: what a sentence supports, though not word for word. Used only for training."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from edits import reworded
from thesaurus import inflected, thesaurus

_DIGITS = "zero one two three four five six seven eight nine ten eleven twelve".split()
_NAME = r"[A-Z][\w'’-]+(?: (?:of|the|de|van) [A-Z][\w'’-]+| [A-Z][\w'’-]+)*"
_OPENING = re.compile(r"(In|On|At|During|After|Before|Since|By|Under|For) ([^,]{3,60}), (.+?)([.])$")
_RELATIVE = re.compile(
    rf"({_NAME}|[Tt]he [a-z]+(?: [a-z]+)?), (?:who|which) ((?:is|was|are|were|has|had|[a-z]+ed)\b[^,]+)(?:,|\.$)"
)
_APPOSITION = re.compile(
    rf"({_NAME}), ((?:an?|the|one of the) [^,.]{{4,70}}),(?= (?:is|was|has|had|said|[a-z]+ed|[a-z]+s)\b)"
)
_PASSIVE = re.compile(
    rf"^({_NAME}|[Tt]he [a-z]+(?: [a-z]+)?) (?:was|were) (\w+ed) by ({_NAME}|the [a-z]+(?: [a-z]+)?)\b"
)
_PARENTHESIS = re.compile(r" \([^()]*\)| -- [^-]+ --")
_ASIDE = re.compile(r", (?:however|moreover|for example|in fact|of course|therefore|for instance|meanwhile|also),")
_TAIL = re.compile(
    r"(?:, (?:which|where|while|whereas|although|but|and|with|who|as|including|making|leaving)|;| because| although"
    r"| while) [^.]{8,}\.$"
)
_CLAUSES = re.compile(r"^(.{20,}?)(?:, and|;|, but) ((?:he|she|it|they|the|this|a|in|there|[A-Z]\w+) .{15,})$")
_PERCENT = re.compile(r"(?<=\d)( ?%| percent\b| per cent\b)")
_GROUPED = re.compile(r"\b\d{1,3}(?:,\d{3})+\b")
_SCALED = re.compile(r"\b(\d+)(?:\.(\d))? (million|billion)\b")
_LARGE = re.compile(r"(?<![\w.,$])(\d{1,3}(?:,\d{3})+|\d{4,7})(?![\w.,]|,\d)")
_DATE = re.compile(
    r"\b(January|February|March|April|May|June|July|August|September|October|November|December) (\d{1,2}), (\d{4})\b"
)
_SMALL = re.compile(r"\b(?:[2-9]|1[0-2]|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b(?![\d.,:/%])")
_LIST = re.compile(r"(\b[\w'-]+), ([\w'-]+),? and ([\w'-]+\b)")
_PAIR = re.compile(r"\b([A-Z][a-z]+|[a-z]{4,}s) and ([A-Z][a-z]+|[a-z]{4,}s)\b(?! of)")
_WORD = re.compile(r"(?<![\w'-])[a-z]{3,}(?![\w'-])")
_SHORTER = (("United States", "US"), ("United Kingdom", "UK"), ("kilometers", "km"), ("versus", "vs."))
_LOOSER = (("began", "started"), ("located", "situated"), ("approximately", "about"), ("purchased", "bought"),
    ("however", "but"), ("because", "since"), ("received", "got"), ("said", "stated"), ("created", "made"),
    ("more than", "over"), ("at least", "no fewer than"), ("in order to", "to"), ("died", "passed away"),
    ("film", "movie"), ("movie", "film"), ("children", "kids"), ("attempted", "tried"), ("obtain", "get"),
    ("such as", "like"), ("assist", "help"), ("ended", "finished"), ("nearly", "almost"), ("often", "frequently"),
    ("many", "numerous"), ("use", "utilize"), ("show", "demonstrate"), ("shows", "indicates"), ("large", "big"),
    ("several", "a number of"), ("must", "have to"), ("can", "is able to"), ("wrote", "authored"),
    ("known as", "called"), ("responsible for", "in charge of"), ("about", "roughly"), ("states that", "says that"),
    ("caused by", "due to"))  # fmt: skip
_CONDITIONAL = re.compile(r"\b(?:if|unless|whether|not only|either)\b", re.IGNORECASE)
_FRAMES = ("According to the text, {}", "The passage says that {}", "It is stated that {}",
    "The document notes that {}", "As mentioned, {}", "{}", "Overall, {}", "It was reported that {}")  # fmt: skip

# A rewording gets a sentence and chance; None where it does not apply.
Rewording = Callable[[str, random.Random], str | None]


def _opening_last(text: str, _chance: random.Random) -> str | None:
    """What stood in front ("In 1903, ...") behind the rest."""
    found = _OPENING.match(text)
    if not found:
        return None
    rest = found[3]
    return f"{rest[0].upper()}{rest[1:]} {found[1].lower()} {found[2]}{found[4]}"


def _without_asides(text: str, _chance: random.Random) -> str | None:
    shorter = _ASIDE.sub("", _PARENTHESIS.sub("", text))
    return shorter if shorter != text else None


def _without_tail(text: str, _chance: random.Random) -> str | None:
    shorter = _TAIL.sub(".", text)
    return shorter if shorter != text and not _CONDITIONAL.search(text) and len(shorter.split()) >= 5 else None


def _relative_alone(text: str, _chance: random.Random) -> str | None:
    found = _RELATIVE.search(text)
    return f"{found[1][0].upper()}{found[1][1:]} {found[2]}." if found else None


def _apposition_alone(text: str, chance: random.Random) -> str | None:
    found = _APPOSITION.search(text)
    return f"{found[1]} {chance.choice(('is', 'was'))} {found[2]}." if found else None


def _without_apposition(text: str, _chance: random.Random) -> str | None:
    found = _APPOSITION.search(text)
    return text.replace(f", {found[2]},", "") if found else None


def _active(text: str, _chance: random.Random) -> str | None:
    found = _PASSIVE.match(text)
    if not found:
        return None
    agent, patient = found[3], found[1]
    patient = "t" + patient[1:] if patient.startswith("The ") else patient
    return f"{agent[0].upper()}{agent[1:]} {found[2]} {patient}{text[found.end() :]}"


def _one_clause(text: str, chance: random.Random) -> str | None:
    found = _CLAUSES.match(text)
    if not found or _CONDITIONAL.search(text):
        return None
    if chance.random() < 0.6 or found[2].split()[0] in ("he", "she", "it", "they", "this"):
        return found[1] + "."
    return found[2][0].upper() + found[2][1:]


def _numbers_otherwise(text: str, chance: random.Random) -> str | None:
    new = _PERCENT.sub(chance.choice(("%", " percent", " per cent")), text)
    new = _GROUPED.sub(lambda found: found[0].replace(",", ""), new) if chance.random() < 0.5 else new
    new = _SCALED.sub(_unscaled, new) if chance.random() < 0.5 else new
    new = _DATE.sub(r"\2 \1 \3", new) if chance.random() < 0.5 else new
    if chance.random() < 0.5:
        new = _SMALL.sub(_small, new)
    return new if new != text else None


def _unscaled(found: re.Match[str]) -> str:
    zeros = 6 if found[3] == "million" else 9
    return f"{int(found[1] + (found[2] or '0')) * 10 ** (zeros - 1):,}"


def _small(found: re.Match[str]) -> str:
    said = found[0]
    return _DIGITS[int(said)] if said.isdigit() else str(_DIGITS.index(said))


def _rounded(text: str, chance: random.Random) -> str | None:
    found = list(_LARGE.finditer(text))
    if not found:
        return None
    at = chance.choice(found)
    value = int(at[0].replace(",", ""))
    if "," not in at[0] and 1000 <= value <= 2100:
        return None
    unit = 10 ** (len(str(value)) - chance.choice((1, 2)))
    down, near = value // unit * unit, round(value / unit) * unit
    said = chance.choice(
        (
            f"more than {down:,}" if down < value else None,
            f"about {near:,}",
            f"nearly {near:,}" if near > value else None,
        )
    )
    return text[: at.start()] + said + text[at.end() :] if said else None


def _listed_otherwise(text: str, chance: random.Random) -> str | None:
    if chance.random() < 0.5:
        return _swap(_LIST, text, r"\3, \1 and \2")
    return _swap(_PAIR, text, r"\2 and \1")


def _swap(pattern: re.Pattern[str], text: str, new: str) -> str | None:
    changed = pattern.sub(new, text, count=1)
    return changed if changed != text else None


def _synonyms(text: str, chance: random.Random) -> str | None:
    """Up to three words by synonyms of WordNet."""
    found = [(at, others) for at in _WORD.finditer(text) if (others := inflected(at[0], thesaurus().synonyms))]
    for at, others in sorted(chance.sample(found, min(len(found), 3)), key=lambda one: -one[0].start()):
        text = text[: at.start()] + chance.choice(others) + text[at.end() :]
    return text if found else None


def _looser(text: str, chance: random.Random) -> str | None:
    fitting = [(one, two) for one, two in _LOOSER + _SHORTER if re.search(rf"\b{one}\b", text)]
    if not fitting:
        return None
    for one, two in chance.sample(fitting, min(2, len(fitting))):
        text = re.sub(rf"\b{one}\b", two, text, count=1)
    return text


def _framed(text: str, chance: random.Random) -> str | None:
    frame = chance.choice(_FRAMES)
    lower = (
        text
        if re.match(r"I\b|[A-Z][\w]*[A-Z]", text)
        or not re.match(
            r"(The|A|An|In|It|This|These|There|They|He|She|For|At|On|Some|Many|Most|His|Her|Its|Their)\b", text
        )
        else text[0].lower() + text[1:]
    )
    return frame.format(lower) if frame != "{}" else None


def _fewer_words(text: str, chance: random.Random) -> str | None:
    shorter = reworded(text, chance)
    return shorter if shorter != text else None


REWORDINGS: tuple[tuple[Rewording, float], ...] = (
    (_opening_last, 2), (_without_asides, 2), (_without_tail, 3), (_relative_alone, 3), (_apposition_alone, 3),
    (_without_apposition, 2), (_active, 3), (_one_clause, 3), (_numbers_otherwise, 2), (_rounded, 2),
    (_listed_otherwise, 1), (_synonyms, 3), (_looser, 2), (_framed, 0.7), (_fewer_words, 1.5),
)  # fmt: skip


def said_otherwise(text: str, chance: random.Random, most: int = 3) -> str:
    """The sentence after up to `most` rewordings that apply, drawn by weight; the sentence itself where none does."""
    for _ in range(chance.randint(0, most)):
        kinds = chance.choices([one for one, _ in REWORDINGS], [weight for _, weight in REWORDINGS], k=4)
        new = next((changed for kind in kinds if (changed := kind(text, chance))), None)
        text = new or text
    return text
