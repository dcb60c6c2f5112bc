"""Is an answer right by its references? The encoder reads the two against each other; words, numbers and dates help."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from ragauge.judges.embedded.encoder import Logits, Reading, log_odds
from ragauge.judges.embedded.layer import coefficients, predict
from ragauge.judges.embedded.lexical import polarity
from ragauge.judges.embedded.matching import Terms, best_windows, held
from ragauge.judges.embedded.words import Kind, Word, is_year, key_of, rounds_to, words
from ragauge.questions import Correct
from ragauge.types import Label, Verdict

_BRIEF_WORDS = 8  # the most of an answer that a reference should hold completely
_OTHER_DATE = 0.01  # probability to be right with another date: 4 of 409 answers written for training are, 13 partly
_MONTHS = frozenset(
    map(key_of, "january february march april may june july august september october november december".split())
)
_WEEKDAYS = frozenset(map(key_of, "monday tuesday wednesday thursday friday saturday sunday".split()))
_CURRENCIES = frozenset({"dollar", "euro", "pound", "yen"})

#: Sorts of values that are no words: parts of a date, and numbers without a unit.
_YEAR, _MONTH, _WEEKDAY, _DAY, _BARE = "Year", "Month", "Weekday", "Day", ""
_DATES = frozenset({_YEAR, _MONTH, _WEEKDAY, _DAY})


def as_answer(query: str, windows: Sequence[str], reference: str) -> tuple[Reading, ...]:
    """A reference read against an answer: alone, and both ways behind the query."""
    asked = tuple(f"{query} {window}".strip() for window in windows)
    expected = f"{query} {reference}".strip()
    return Reading(tuple(windows), reference), Reading(asked, expected), Reading((expected,), asked[0])


def answer_readings(question: Correct) -> list[tuple[Reading, ...]]:
    """For each reference the readings of the answer; a long answer is read by the windows that hold most."""
    query, response = (question.query or "").strip(), question.response
    windows = (best_windows(Terms(words(reference)), response) or (response,) for reference in question.references)
    pairs = zip(windows, question.references, strict=True)
    return [as_answer(query, parts, reference) for parts, reference in pairs]


def answer_values(question: Correct, reference: str, read: Sequence[Logits]) -> Mapping[str, float]:
    """The values of a reference for the layers. read: the logits of its readings.

    By name: how far the answer entails the reference, and the reverse, which counts less for an answer that is long and
    so says more; the share of the reference's words that the answer holds, for a bare yes or no of the query's; whether
    a number is another; and 1 where both open with the same yes or no, -1 where one opens with yes and the other with
    no.
    """
    stands, behind, back = (log_odds(*logits) for logits in read)
    length = len(question.response.split())
    opening, expected = polarity(question.response)[0], polarity(reference)[0]
    agreement = 1.0 if opening == expected else -1.0
    wording = Terms(words(reference))
    if not wording.items and question.query:
        wording = Terms(words(question.query))
    return {
        "forth": (stands + behind) / 2,
        "back": back * min(1.0, _BRIEF_WORDS / max(1, length)),
        "share": wording.share(held(wording, question.response).credits),
        "conflict": float(bool(conflicting(question.response, reference))),
        "polarity": 0.0 if opening is None or expected is None else agreement,
    }


def has_other_date(text: str, reference: str) -> bool:
    """Whether a text has a year, month, day or weekday where its reference has another."""
    return not conflicting(text, reference).isdisjoint(_DATES)


def conflicting(text: str, reference: str) -> frozenset[str]:
    """The sorts of numbers and dates that a text and its reference both have, and of which none is the same.

    Numbers of other units are of another sort: "two years" conflicts with "three years", and not with "36 months". A
    number without a unit counts where the reference has no other, and is compared with every number.
    """
    wanted, there = _by_sort(reference), _by_sort(text)
    if len(wanted) > 1:
        wanted.pop(_BARE, None)
    numbers = (values for sort, values in there.items() if sort not in _DATES - {_YEAR})
    there[_BARE] = set().union(*numbers)
    return frozenset(
        sort
        for sort, values in wanted.items()
        if there.get(sort) and not any(_same(value, other) for value in values for other in there[sort])
    )


def _same(value: str, other: str) -> bool:
    """Whether a value of a reference is that of a text; of a decade or century each of its years is."""
    if value == other or not value[0] == other[0] == "#":
        return value == other
    if value.endswith("s") or other.endswith("s"):
        return value.endswith("s") and other.startswith(value.rstrip("0s"))
    return rounds_to(value, other) or rounds_to(other, value)


def _by_sort(text: str) -> dict[str, set[str]]:
    """The values of a text: years, months, days of a month, weekdays, numbers by the word behind them."""
    by_sort: dict[str, set[str]] = defaultdict(set)
    read = words(text)
    for before, word, after in zip((None, *read), read, (*read[1:], None), strict=False):
        if word.kind is Kind.NUMBER:
            is_decade = is_year(word.key) and after is not None and after.key == "s"
            by_sort[_sort(word, before, after)].add(word.key + "s" * is_decade)
        elif text[word.start].isupper() and word.key in _MONTHS | _WEEKDAYS:  # "may" is no month
            by_sort[_MONTH if word.key in _MONTHS else _WEEKDAY].add(word.key)
    return by_sort


def _sort(number: Word, before: Word | None, after: Word | None) -> str:
    if is_year(number.key):
        return _YEAR
    if any(beside and beside.key in _MONTHS for beside in (before, after)):
        return _DAY
    if before and before.key in _CURRENCIES:
        return before.key
    return after.key if after and after.kind is Kind.CONTENT else _BARE


def judged_answer(values: Sequence[Mapping[str, float]]) -> Verdict:
    """The verdict by the reference that makes the answer likeliest to be right.

    Args:
        values: of each reference, but for those that have another date.
    """
    if not values:
        return Verdict(Label.WRONG, _OTHER_DATE, rationale="its date is another than the reference's")
    layers = coefficients("correct")
    nearest = max(values, key=lambda by_name: predict(layers["right"], by_name))
    probability = predict(layers["right"], nearest)
    if probability >= 0.5:
        return Verdict(Label.RIGHT, round(probability, 4))
    partly = predict(layers["partly"], nearest) >= 0.5
    return Verdict(Label.PARTLY if partly else Label.WRONG, round(probability, 4))
