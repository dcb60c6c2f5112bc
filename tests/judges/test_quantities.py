"""Quantities and eras that two texts tell in other words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.judges.embedded.lexical.eras import eras
from ragauge.judges.embedded.lexical.heart import Lexical
from ragauge.judges.embedded.lexical.quantities import quantities
from ragauge.judges.embedded.lexical.units import UNITS
from ragauge.judges.embedded.lexical.words import words
from ragauge.types import Label

SAME = [
    ("18 months", "a year and a half"),
    ("90 minutes", "one and a half hours"),
    ("90 minutes", "1 hour and 30 minutes"),
    ("two weeks", "a fortnight"),
    ("half an hour", "30 min"),
    ("a quarter of a mile", "402 metres"),
    ("6 feet 2 inches", "188 cm"),
    ("5 miles", "8 km"),
    ("2 kg", "two thousand grams"),
    ("100 °C", "212 degrees Fahrenheit"),
    ("a third of a mile", "536 m"),
    ("a quarter", "25 %"),
    ("67 per cent", "two thirds"),
    ("a third", "33 percent"),
]
OTHER = [
    ("91 minutes", "one and a half hours"),
    ("51 weeks", "52 weeks"),
    ("a year", "51 weeks"),
    ("5 km", "5 miles"),
    ("a quarter", "24 %"),
    ("2 kg", "200 grams"),
    ("100 °C", "100 °F"),
    ("2 pounds", "2 hours"),
    ("the third year", "36 months"),
    ("the fifth", "20 %"),
    ("$5 a day", "24 hours"),
    ("twice a day", "24 hours"),
]
TOLD = [
    ("The trial lasted 18 months and ended in 1923.", "The trial lasted a year and a half."),
    ("The film runs for 90 minutes.", "The film runs for an hour and a half."),
    ("25 percent of the voters stayed at home.", "A quarter of the voters stayed at home."),
    ("The bridge is long and was opened in 1895.", "The bridge was opened in the 1890s."),
    ("The bridge is long and was opened in 1895.", "The bridge was opened in the late 19th century."),
    ("The shop closes at noon on Sundays.", "The shop closes at 12 pm on Sundays."),
]
NOT_TOLD = [
    ("The trial lasted 18 months and ended in 1923.", "The trial lasted two years."),
    ("25 percent of the voters stayed at home.", "A third of the voters stayed at home."),
    ("The bridge is long and was opened in 1895.", "The bridge was opened in the 1880s."),
    ("The bridge is long and was opened in 1895.", "The bridge was opened in the early 19th century."),
    ("The bridge was opened in the 1890s.", "The bridge was opened in 1895."),
    ("It took 15 minutes to climb and 48 hours to rest.", "It took 48 minutes to climb and 15 hours to rest."),
]


def is_told(claim: str, text: str) -> bool:
    """Whether a text states the one quantity of a claim."""
    [one] = quantities(words(claim))
    return one.is_told(words(text))


@pytest.mark.parametrize(("one", "other"), SAME)
def test_a_quantity_is_found_in_other_units(one: str, other: str) -> None:
    """The same amount in other units, or as a part of a whole, is the same, whichever of the two is the claim."""
    assert is_told(one, other)
    assert is_told(other, one)


@pytest.mark.parametrize(("claim", "text"), OTHER)
def test_another_quantity_is_not_found(claim: str, text: str) -> None:
    """An amount that is not the same, a place in a row, and an amount for each day are not found."""
    assert not any(one.is_told(words(text)) for one in quantities(words(claim)))


@pytest.mark.parametrize("text", ["3 miles (4.8 km)", "1 mile (1.6 km)", "100 °C (212 °F)", "6 feet, or 183 cm"])
def test_what_is_reported_twice_is_not_added(text: str) -> None:
    """A quantity repeated in another unit is two equal ones, not a sum."""
    one, other = quantities(words(text))
    assert one.is_told(words(text))
    assert other.is_told(words(text))


def test_a_quantity_is_reported_as_exactly_as_it_is_claimed() -> None:
    """ "5 miles" is entailed by 8 km, which are 4.97; "4.9 miles" does not."""
    assert is_told("5 miles", "8 km")
    assert not is_told("4.9 miles", "8 km")


@given(st.integers(1, 500), st.sampled_from(sorted(UNITS)))
def test_the_same_words_are_no_other_words(amount: int, unit: str) -> None:
    """A quantity does not contradict its own words; comparing these is left to the comparison of words."""
    found = words(f"{amount} {unit}")
    assert not any(one.is_told(found) for one in quantities(found))


@given(st.integers(1, 300), st.sampled_from(["days", "hours", "minutes"]))
def test_units_are_put_in_each_other(amount: int, unit: str) -> None:
    """A number of days, hours or minutes is 24 or 60 times that of the next smaller unit."""
    times, smaller = {"days": (24, "hours"), "hours": (60, "minutes"), "minutes": (60, "seconds")}[unit]
    assert is_told(f"{amount} {unit}", f"{times * amount} {smaller}")
    assert is_told(f"{times * amount} {smaller}", f"{amount} {unit}")
    assert not is_told(f"{amount} {unit}", f"{2 * times * amount} {smaller}")


@given(st.text(alphabet=st.sampled_from("0159 aehlnfortdaywksgmmiuc/%°.'-"), max_size=60))
def test_places_lie_in_the_text(text: str) -> None:
    """Whatever a text is, its quantities and eras begin and end within its words, one behind the other."""
    found = words(text)
    for several in (list(quantities(found)), list(eras(found))):
        places = [place for one in several for place in (one.first, one.behind)]
        assert all(one.first < one.behind for one in several)
        assert not places or (min(places) >= 0 and max(places) <= len(found))
    ends = [place for one in quantities(found) for place in (one.first, one.behind)]
    assert ends == sorted(ends)


@given(st.integers(1000, 2099))
def test_a_year_lies_in_its_decade_and_century(year: int) -> None:
    """A year is found by its decade, and no other decade; by its century, as far as it is its year 1 to 99."""
    sentence = words(f"It was built in {year}.")
    decade, another = (words(f"in the {year // 10 * 10 + more}s") for more in (0, 10))
    assert all(one.is_told(sentence) for one in eras(decade))
    assert len(list(eras(decade))) == 1
    assert not any(one.is_told(sentence) for one in eras(another))
    [century] = eras(words(f"in the {year // 100 + 1}th century"))
    assert century.is_told(sentence)


def test_years_before_christ_are_left_alone() -> None:
    """A century before Christ is no century after."""
    assert not list(eras(words("in the 4th century BC")))
    [fourth] = eras(words("in the 4th century"))
    assert not fourth.is_told(words("in the year 350 BC"))


@pytest.mark.parametrize("text", ["She died in her 90s.", "She died in her late nineties."])
def test_an_age_is_no_era(text: str) -> None:
    """Tens of years of somebody's age are no decade of the calendar."""
    assert not list(eras(words(text)))


@pytest.mark.parametrize(("text", "claim"), TOLD)
def test_a_claim_in_other_units_is_entailed(text: str, claim: str) -> None:
    """A sentence that has the quantity of a claim in another unit, or a year of its era, supports it."""
    assert Lexical().entail((text,), claim, None).label == Label.ENTAILED


@pytest.mark.parametrize(("text", "claim"), NOT_TOLD)
def test_a_claim_with_another_quantity_is_not_entailed(text: str, claim: str) -> None:
    """Another quantity or era does not, nor one that stands with other words, nor an era where a year is claimed."""
    assert Lexical().entail((text,), claim, None).label != Label.ENTAILED


def test_an_answer_in_other_units_is_right() -> None:
    """A short answer gives the reference in another unit."""
    query = "How long does it take?"
    assert Lexical().entail(("about a fortnight",), "two weeks", query).label == Label.ENTAILED
    assert Lexical().entail(("about a month",), "two weeks", query).label != Label.ENTAILED


def test_a_rounded_answer_is_right() -> None:
    """A bare rounded number matches one that rounds to it, even without a unit."""
    query = "How many people live there?"
    assert Lexical().entail(("331 million",), "about 330 million", query).label == Label.ENTAILED
    assert Lexical().entail(("350 million",), "about 330 million", query).label != Label.ENTAILED
