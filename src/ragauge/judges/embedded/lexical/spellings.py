"""Other spellings of a word: British ones, units in short, Roman numerals.

All are written by hand, as facts of the language; none is drawn from a data set.
"""

from __future__ import annotations

import re

from ragauge.text.patterns import any_of

UNITS = {
    "m": "meter", "cm": "centimeter", "mm": "millimeter", "ft": "foot", "lb": "pound", "lbs": "pound", "mi": "mile",
    "hr": "hour", "hrs": "hour", "min": "minute", "mins": "minute", "sec": "second", "secs": "second", "yr": "year",
    "yrs": "year", "oz": "ounce", "g": "gram", "l": "liter",
}  # fmt: skip
"""Units in short, which mean that behind a number alone."""

EXPANDED = {
    "wwi": ("world", "war", "1"), "ww1": ("world", "war", "1"), "wwii": ("world", "war", "2"),
    "ww2": ("world", "war", "2"), "noon": ("12", "pm"), "midnight": ("12", "am"), "twice": ("two", "times"),
    "n't": ("not",), "n’t": ("not",),
} | {
    f"{verb}n": (verb, "not")  # of "does n't" and "doesn 't", as some corpora are written
    for verb in "is are was were does did has have had could would should must need".split()
}  # fmt: skip
"""Words that stand for several."""

ALIASES = {
    "us": "america", "usa": "america", "uk": "britain", "eu": "europe", "un": "unitednations",
    "pct": "percent", "dollars": "dollar", "kilometers": "km", "kilometer": "km", "kilograms": "kg", "kilogram": "kg",
    "kilos": "kg", "kilo": "kg", "bucks": "dollar", "junior": "jr",
    "mr": "mister", "st": "saint", "bce": "bc", "okay": "ok",
}  # fmt: skip
"""Other names of one word."""

PAIRS = {
    ("united", "states"): "america",
    ("united", "kingdom"): "britain",
    ("united", "nations"): "unitednations",
    ("per", "cent"): "percent",
}
"""Two words that are one name."""

_WHOLE = {
    "grey": "gray", "greys": "grays", "defence": "defense", "offence": "offense", "licence": "license",
    "practise": "practice", "programme": "program", "programmes": "programs", "catalogue": "catalog",
    "catalogues": "catalogs", "jewellery": "jewelry", "aluminium": "aluminum", "tyre": "tire", "tyres": "tires",
    "plough": "plow", "moustache": "mustache", "pyjamas": "pajamas", "mould": "mold", "whiskey": "whisky",
    "yoghurt": "yogurt", "doughnut": "donut", "doughnuts": "donuts", "sceptical": "skeptical", "maths": "math",
    "centred": "centered", "manoeuvre": "maneuver", "oestrogen": "estrogen", "oesophagus": "esophagus",
    "anaemia": "anemia", "haemoglobin": "hemoglobin", "leukaemia": "leukemia", "foetus": "fetus", "mum": "mom",
    "paediatric": "pediatric", "encyclopaedia": "encyclopedia", "analyse": "analyze", "analysed": "analyzed",
    "catalyse": "catalyze", "paralysed": "paralyzed", "draught": "draft", "cosy": "cozy", "kerb": "curb",
}  # fmt: skip
_OUR = any_of("""col hon fav lab harb neighb flav behavi hum rum arm tum vap vig od sav end ard cand clam glam parl
    rig splend val""")
_RE = any_of("cent theat met centimet kilomet millimet lit millilit fib calib lust sab somb spect")
_ISE = any_of("""organ real recogn critic special emphas apolog memor minim maxim colon legal modern industrial
    author final stabil symbol summar util character civil standard popular privat national neutral normal optim
    polar pressur random ration reorgan revolution social steril synthes urban visual crystall fertil ideal
    immun material mobil monopol patron penal prior scrutin subsid sympath terror victim""")
_DOUBLED = any_of("travel cancel label model fuel signal level channel tunnel counsel quarrel marvel")
_RULES = (
    (re.compile(rf"({_OUR})our(?=s?\b|ed\b|ing\b|ers?\b|al\b|able\b|ful\b|ite\b|less\b|hoods?\b)"), r"\1or"),
    (re.compile(rf"\b({_RE})re(?=s?\b)"), r"\1er"),
    (re.compile(rf"\b({_ISE})is(?=e[sdr]?\b|ers\b|ing\b|ations?\b|able\b)"), r"\1iz"),
    (re.compile(rf"\b({_DOUBLED})l(?=ed\b|ing\b|ers?\b)"), r"\1"),
)
_ROMAN = re.compile(r"(X{0,3})(IX|IV|V?I{0,3})\Z")
_ONES = {"": 0, "I": 1, "II": 2, "III": 3, "IV": 4, "V": 5, "VI": 6, "VII": 7, "VIII": 8, "IX": 9}

NUMBERED = frozenset(
    """war part type class phase stage chapter volume act title article category tier level book section schedule
    division elizabeth charles james george nicholas francis napoleon paul mary richard edward william frederick
    ferdinand philip alexander catherine otto leopold wilhelm henry louis""".split()
)
"""Words behind which even a single "I" is a number."""


def american(lower: str) -> str:
    """The American spelling of a word in lower case."""
    if lower in _WHOLE:
        return _WHOLE[lower]
    for pattern, new in _RULES:
        lower = pattern.sub(new, lower)
    return lower


def roman(raw: str) -> int:
    """The value of a Roman numeral in capitals up to XXXIX; 0 for anything else."""
    match = _ROMAN.match(raw)
    return 10 * len(match.group(1)) + _ONES[match.group(2)] if match else 0
