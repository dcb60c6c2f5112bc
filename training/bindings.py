"""Made documents in which several things have values of one kind, with claims that exchange or convert them.

    python training/bindings.py NLI_PAIRS OUT [--groups 12000] [--seed 1]

NLI_PAIRS: nli_pairs.jsonl.gz, whose sentences stand between the made ones. A document describes two to four plans,
devices, places, people, companies or courses in prose with pronouns, as a list or as a table; and who did what to whom;
and conditions. Claims give a value to its own thing or to another, in the same unit, in another, or wrongly converted;
compare things; turn a relation round; or fall within or without a condition. All by template, so that each group costs
nothing and its labels are right by construction; the wording is poor, which is why this is a small share of a mixture.
The seed fixes all.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rows import Row, read, write_groups

from ragauge.text.sentences import sentences

Chance = random.Random
NUMBER_WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()
MONTHS = "January February March April May June July August September October November December".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()


class Value(NamedTuple):
    """A value: how it may be written, ways to write a wrong one, and its size for comparisons."""

    ways: list[str]
    wrong: list[str]
    size: float | None = None


Values = dict[tuple[str, str], Value]  # by the thing and the attribute


def words_of(number: int) -> str:
    """A number as it is written out where it is small."""
    return NUMBER_WORDS[number] if number < len(NUMBER_WORDS) else f"{number:,}"


def plural(number: float, unit: str) -> str:
    """A number of units."""
    written = f"{number:g}" if number != int(number) else f"{int(number):,}"
    return f"{written} {unit}" if number == 1 else f"{written} {unit}s"


def money(chance: Chance) -> Value:
    """A price."""
    amount = chance.choice([*range(3, 60), *range(60, 400, 5), 450, 500, 750, 990, 1200])
    sign, name = chance.choice([("$", "dollars"), ("€", "euros"), ("£", "pounds")])
    others = [amount + chance.choice([1, 2, 5, 10, 20]), amount * 10, max(1, amount // 2)]
    return Value([f"{sign}{amount:,}", f"{amount:,} {name}"], [f"{sign}{other:,}" for other in others], amount)


#: Units from small to large, with how many of each make one of the next.
SCALES = {
    "duration": [("second", 60), ("minute", 60), ("hour", 24), ("day", 7), ("week", 0)],
    "span": [("month", 12), ("year", 10), ("decade", 0)],
    "length": [("millimetre", 10), ("centimetre", 100), ("metre", 1000), ("kilometre", 0)],
    "weight": [("gram", 1000), ("kilogram", 1000), ("tonne", 0)],
    "volume": [("millilitre", 1000), ("litre", 0)],
    "storage": [("megabyte", 1000), ("gigabyte", 1000), ("terabyte", 0)],
}
SHORT = {
    "millimetre": "mm", "centimetre": "cm", "metre": "m", "kilometre": "km", "gram": "g", "kilogram": "kg",
    "millilitre": "ml", "litre": "l", "megabyte": "MB", "gigabyte": "GB", "terabyte": "TB",
    "minute": "min", "hour": "h",
}  # fmt: skip
IDIOMS = {
    (90, "minute"): "an hour and a half", (30, "minute"): "half an hour", (15, "minute"): "a quarter of an hour",
    (14, "day"): "a fortnight", (6, "month"): "half a year", (18, "month"): "a year and a half",
    (500, "gram"): "half a kilogram", (500, "metre"): "half a kilometre", (45, "minute"): "three quarters of an hour",
}  # fmt: skip


def measure(scale: str, chance: Chance) -> Value:
    """A measure of a scale of units."""
    units = SCALES[scale]
    place = chance.randrange(len(units))
    unit, factor = units[place]
    if factor and chance.random() < 0.6:
        steps = [factor // 2, factor, factor * 2, factor * 3, factor * 5, factor * 3 // 2, factor * 5 // 2]
        number = chance.choice([step for step in steps if step])
    else:
        number = chance.choice([2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 24, 25, 30, 40, 45, 48, 60, 90])
    ways = [plural(number, unit)]
    if unit in SHORT:
        ways.append(f"{number:,} {SHORT[unit]}")
    if number < len(NUMBER_WORDS):
        ways.append(f"{words_of(number)} {unit}{'' if number == 1 else 's'}")
    if (number, unit) in IDIOMS:
        ways.append(IDIOMS[number, unit])
    wrong = [plural(number, other) for other, _ in units if other != unit]
    if factor and number % factor == 0:
        ways.append(plural(number // factor, units[place + 1][0]))
        ways.append(f"{words_of(number // factor)} {units[place + 1][0]}{'' if number == factor else 's'}")
        wrong.append(plural(number // factor + chance.choice([1, 2]), units[place + 1][0]))
    elif factor and (number * 2) % factor == 0:
        ways.append(plural(number / factor, units[place + 1][0]))
        wrong.append(plural(number / factor + 1, units[place + 1][0]))
    if place and number * units[place - 1][1] <= 90000:
        ways.append(plural(number * units[place - 1][1], units[place - 1][0]))
        wrong.append(plural(number * units[place - 1][1] * 10, units[place - 1][0]))
    wrong += [plural(number + chance.choice([1, 2, 5, 10]), unit), plural(number * 10, unit)]
    size = float(number)
    for _, step in units[:place]:
        size *= step
    return Value(ways, wrong, size)


def percent(chance: Chance) -> Value:
    """A share."""
    shares = {10: "one in ten", 20: "a fifth", 25: "a quarter", 50: "half", 75: "three quarters", 80: "four fifths"}
    number = chance.choice([*shares, 5, 8, 12, 15, 30, 35, 40, 60, 65, 85, 90])
    ways = [f"{number} %", f"{number} percent", f"{number}%"] + ([shares[number]] if number in shares else [])
    others = [other for other in shares if other != number]
    return Value(ways, [f"{number + chance.choice([3, 5, 7])} %", shares[chance.choice(others)]], number)


def count(chance: Chance) -> Value:
    """A number of things."""
    number = chance.choice([*range(2, 13), 15, 18, 20, 24, 30, 36, 40, 48, 60, 75, 80, 100, 120, 150, 200, 250, 400])
    dozens = {12: "a dozen", 24: "two dozen", 36: "three dozen"}
    ways = [f"{number:,}", words_of(number)] + ([dozens[number]] if number in dozens else [])
    return Value(ways, [f"{number + chance.choice([1, 2, 3, 10]):,}", words_of(max(2, number // 2) + 1)], number)


def date(chance: Chance) -> Value:
    """A day of a year."""
    day, month, year = chance.randint(1, 28), chance.randrange(12), chance.randint(1950, 2026)
    other, next_year = MONTHS[(month + chance.randint(1, 11)) % 12], year + chance.choice([-10, -1, 1, 2, 10])
    ways = [f"on {day} {MONTHS[month]} {year}", f"on {MONTHS[month]} {day}, {year}", f"in {MONTHS[month]} {year}"]
    ways += [f"in {year}"]
    wrong = [
        f"on {day} {other} {year}",
        f"in {other} {year}",
        f"in {next_year}",
        f"on {MONTHS[month]} {day}, {next_year}",
    ]
    return Value(ways, wrong, year * 372 + month * 31 + day)


def clock(chance: Chance) -> Value:
    """A time of the day."""
    hour, minute = chance.choice([*range(6, 12), *range(13, 23)]), chance.choice(["00", "00", "15", "30", "45"])
    half = "am" if hour < 12 else "pm"
    short = f"{hour % 12 or 12}" + ("" if minute == "00" else f":{minute}")
    day = "in the morning" if hour < 12 else "in the afternoon" if hour < 18 else "in the evening"
    ways = [f"at {short} {half}", f"at {hour}:{minute}", f"at {short} {day}"]
    flipped = "pm" if half == "am" else "am"
    wrong = [f"at {short} {flipped}", f"at {(hour + chance.choice([1, 2, 3])) % 24}:{minute}"]
    return Value(ways, wrong, hour * 60 + int(minute))


def choice(texts: Sequence[str], chance: Chance) -> Value:
    """Any of these."""
    text = chance.choice(texts)
    return Value([text], [chance.choice([other for other in texts if other != text])])


FIRST = {
    "she": "Anna Maria Sofia Clara Helen Ruth Nadia Priya Mei Fatima Ingrid Laura Olga Carmen Alice".split(),
    "he": "Peter Omar David Luis Hans Ivan Kofi Rajesh Tom Felix Marco Henry Paul Erik Jorge".split(),
}
LAST = """Berger Okafor Lindqvist Moreno Patel Sato Novak Keller Dubois Hughes Romano Silva Jensen Haddad Kowalski
    Fischer Mbeki Costa Larsen Weber Quinn Adler Ortiz Nilsson Park Chen Walsh Murphy Stone""".split()
STEMS = """Arden Boreal Calder Delta Ember Falcon Garnet Halden Ibis Juniper Kestrel Lumen Marlow Nimbus Orchid Pinnacle
    Quartz Ridge Summit Tundra Umber Vesper Willow Zephyr Harbour Mill Station Castle Bridge Forest""".split()
CITIES = "Lyon Porto Graz Leeds Turin Aarhus Ghent Malmo Krakow Seville Basel Tampere Cork Split Bergen Utrecht".split()


def person(chance: Chance) -> tuple[str, str]:
    """A name and its pronoun."""
    pronoun = chance.choice(["she", "he"])
    return f"{chance.choice(FIRST[pronoun])} {chance.choice(LAST)}", pronoun


def thing(nouns: Sequence[str], chance: Chance) -> tuple[str, str]:
    """A name such as "the Falcon plan", and what it is called afterwards."""
    noun = chance.choice(nouns)
    name = f"the {chance.choice(STEMS)} {noun}" if chance.random() < 0.7 else f"the {noun} in {chance.choice(CITIES)}"
    return name, chance.choice(["it", "it", f"this {noun}"])


class Attribute(NamedTuple):
    """What things of a kind have: its name, its values, sentences and claims on it, and how two compare."""

    name: str
    values: str | list[str]
    says: list[str]
    claims: list[str]
    more: list[str]  # {a} has the larger value
    less: list[str]


TEMPLATES = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
KINDS = [(kind["of"], [Attribute(**attribute) for attribute in kind["attributes"]]) for kind in TEMPLATES["kinds"]]
OBJECT = {"he": "him", "she": "her"}


def value_of(attribute: Attribute, chance: Chance) -> Value:
    """A value of an attribute, drawn."""
    if isinstance(attribute.values, list):
        return choice(attribute.values, chance)
    if attribute.values == "person":
        return Value([person(chance)[0]], [person(chance)[0]])
    kind, _, scale = attribute.values.partition(" ")
    makers = {"money": money, "count": count, "date": date, "clock": clock, "percent": percent}
    return measure(scale, chance) if scale else makers[kind](chance)


def capital(text: str) -> str:
    """With a capital, and a full stop."""
    text = text.strip()
    return text[0].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")


def claim(text: str, label: str) -> Row:
    """A claim of a group."""
    return {"text": capital(text), "label": label, "source": "bindings", "wrong": None}


def things(chance: Chance) -> tuple[list[str], list[Row]]:
    """Sentences or one table about several things of a kind, and claims on them."""
    kind, attributes = chance.choice(KINDS)
    named: dict[str, str] = {}
    while len(named) < chance.choice([2, 2, 3, 3, 4]):
        name, pronoun = person(chance) if kind == "person" else thing(kind, chance)
        named.setdefault(name, pronoun)
    chosen = chance.sample(attributes, chance.randint(2, min(4, len(attributes) - 1)))
    silent = [attribute for attribute in attributes if attribute not in chosen]
    values = {(name, attribute.name): value_of(attribute, chance) for name in named for attribute in chosen}
    left_out = {key for key in values if chance.random() < 0.12}
    form = chance.random()
    if form < 0.25:
        texts = [table(list(named), chosen, values, left_out, chance)]
    elif form < 0.4:
        texts = [
            f"- {capital(name)[:-1]}: "
            + ", ".join(
                f"{attribute.name.lower()} {values[name, attribute.name].ways[0]}"
                for attribute in chosen
                if (name, attribute.name) not in left_out
            )
            for name in named
        ]
        texts = ["\n".join(texts)]
    else:
        texts = prose(named, chosen, values, left_out, chance)
    claims: list[Row] = []
    for name in named:
        for attribute in chance.sample(chosen, min(2, len(chosen))):
            claims += about(name, attribute, list(named), values, left_out, chance)
    if silent and chance.random() < 0.5:
        attribute = chance.choice(silent)
        text = chance.choice(attribute.claims).format(
            s=chance.choice(list(named)), v=chance.choice(value_of(attribute, chance).ways)
        )
        claims.append(claim(text, "neutral"))
    return texts, claims


def prose(
    named: dict[str, str],
    chosen: Sequence[Attribute],
    values: Values,
    left_out: set[tuple[str, str]],
    chance: Chance,
) -> list[str]:
    """A paragraph on each, in which it is named once, or sentences in which two are set against each other."""
    texts = []
    for name, pronoun in named.items():
        said, subject = [], name
        for attribute in chance.sample(chosen, len(chosen)):
            if (name, attribute.name) in left_out:
                continue
            value = values[name, attribute.name].ways
            pattern = chance.choice(attribute.says)
            named_here = subject if pattern.startswith("{s} ") else name
            said.append(pattern.format(s=named_here, v=value[min(len(value) - 1, chance.choice([0, 0, 1]))]))
            subject = pronoun if chance.random() < 0.8 else name
        if len(said) > 1 and chance.random() < 0.3:
            said[:2] = [f"{said[0]} and {said[1]}"]
        texts.append(" ".join(map(capital, said)))
    return [text for text in texts if text]


def table(
    names: Sequence[str],
    chosen: Sequence[Attribute],
    values: Values,
    left_out: set[tuple[str, str]],
    chance: Chance,
) -> str:
    """A table in Markdown, or its cells between semicolons or tabs."""
    left, between, right = chance.choice([("| ", " | ", " |"), ("", "; ", ""), ("", "\t", ""), ("", " | ", "")])
    head = left + between.join(["Name", *(attribute.name for attribute in chosen)]) + right
    rows = [
        left
        + between.join(
            [
                capital(name.removeprefix("the "))[:-1],
                *(
                    "–" if (name, attribute.name) in left_out else _cell(values[name, attribute.name].ways[0])
                    for attribute in chosen
                ),
            ]
        )
        + right
        for name in names
    ]
    rule = [left + between.join("---" for _ in range(len(chosen) + 1)) + right] if left else []
    return "\n".join([head, *rule, *rows])


def _cell(text: str) -> str:
    return text.removeprefix("on ").removeprefix("at ").removeprefix("in ").removeprefix("by ")


def about(
    name: str,
    attribute: Attribute,
    names: Sequence[str],
    values: Values,
    left_out: set[tuple[str, str]],
    chance: Chance,
) -> Iterator[Row]:
    """Claims on one value: true in some wording, with another's value, with a wrong one, and a comparison."""
    value, key = values[name, attribute.name], (name, attribute.name)
    pattern = chance.choice([*attribute.claims, *attribute.claims, *attribute.says])
    others = [
        values[other, attribute.name] for other in names if other != name and (other, attribute.name) not in left_out
    ]
    if key in left_out:
        if others:
            yield claim(pattern.format(s=name, v=chance.choice(others).ways[0]), "neutral")
        return
    yield claim(pattern.format(s=name, v=chance.choice(value.ways)), "entailment")
    apart = [other for other in others if not set(other.ways) & set(value.ways)]
    wrong = chance.choice(value.wrong)
    if apart and chance.random() < 0.55:
        wrong = chance.choice(chance.choice(apart).ways)
    if wrong not in value.ways:
        yield claim(pattern.format(s=name, v=wrong), "contradiction")
    other = chance.choice([other for other in names if other != name])
    rival = values[other, attribute.name]
    if (
        attribute.more
        and (other, attribute.name) not in left_out
        and value.size != rival.size
        and chance.random() < 0.4
    ):
        is_more = (value.size or 0.0) > (rival.size or 0.0)
        if chance.random() < 0.5:
            yield claim(
                chance.choice(attribute.more).format(a=name, b=other), "entailment" if is_more else "contradiction"
            )
        else:
            yield claim(
                chance.choice(attribute.less).format(a=name, b=other), "contradiction" if is_more else "entailment"
            )


def relations(chance: Chance) -> tuple[list[str], list[Row]]:
    """Who did what to whom, and claims with the two exchanged or the sentence turned."""
    texts, claims = [], []
    for active, passive in chance.sample(TEMPLATES["relations"], chance.randint(1, 3)):
        people = chance.random() < 0.6
        first = person(chance)[0] if people else chance.choice(STEMS)
        second = person(chance)[0] if people else chance.choice([stem for stem in STEMS if stem != first])
        said, turned = (active, passive) if chance.random() < 0.6 else (passive, active)
        when = chance.choice(["", "", f" in {chance.randint(1960, 2026)}", f", as reported on {chance.choice(DAYS)}"])
        texts.append(capital(said.format(a=first, b=second) + when))
        for wording in (turned, chance.choice([said, turned])):
            true, false = wording.format(a=first, b=second), wording.format(a=second, b=first)
            claims += [claim(true, "entailment"), claim(false, "contradiction")]
    return texts, claims


def pronouns(chance: Chance) -> tuple[list[str], list[Row]]:
    """A man and a woman are named; then what "he" or "she" did to the other."""
    woman = f"{chance.choice(FIRST['she'])} {chance.choice(LAST)}"
    man = f"{chance.choice(FIRST['he'])} {chance.choice(LAST)}"
    pair = chance.sample([(woman, "she"), (man, "he")], 2)
    meeting = chance.choice(TEMPLATES["meetings"])
    texts, claims = [f"{pair[0][0]} {meeting.format(b=pair[1][0], c=chance.choice(CITIES))}."], []
    for act in chance.sample(TEMPLATES["acts"], 2):
        (doer, pronoun), (other, other_pronoun) = chance.sample(pair, 2)
        texts.append(
            capital(f"{chance.choice(['', 'later ', 'the next day '])}{pronoun} {act.format(o=OBJECT[other_pronoun])}")
        )
        claims += [
            claim(f"{doer} {act.format(o=other)}", "entailment"),
            claim(f"{other} {act.format(o=doer)}", "contradiction"),
        ]
    return texts, claims


def conditions(chance: Chance) -> tuple[list[str], list[Row]]:
    """A rule with a bound, and claims on cases within and without it."""
    bounds = [
        (12, 9, 15),
        (18, 16, 20),
        (30, 21, 45),
        (14, 10, 20),
        (60, 50, 75),
        (6, 4, 8),
        (100, 80, 120),
        (25, 20, 40),
    ]
    bound, small, large = chance.choice(bounds)
    names = {
        "bound": bound,
        "small": small,
        "large": large,
        "subject": chance.choice(STEMS),
        "day": chance.choice(DAYS),
    }
    texts, claims = [], []
    for rule, true, false in chance.sample(TEMPLATES["conditions"], 2):
        rule, true, false = (text.format(**names) for text in (rule, true, false))
        texts.append(capital(rule))
        claims += [claim(true, "entailment"), claim(false, "contradiction")]
    return texts, claims


def group(chance: Chance, fillers: Sequence[str]) -> Row:
    """A document, its made parts among sentences from elsewhere, and at most eight claims."""
    make = chance.choices([things, relations, pronouns, conditions], [6, 2, 1, 1.5])[0]
    texts, claims = make(chance)
    if chance.random() < 0.35:
        more, others = chance.choice([relations, pronouns, conditions])(chance)
        texts, claims = texts + more, claims + others
    for _ in range(chance.choice([0, 0, 1, 2, 3])):
        texts.insert(chance.randint(0, len(texts)), chance.choice(fillers))
    between = chance.choice([" ", "\n", "\n\n"])
    return {"premise": between.join(texts), "claims": chance.sample(claims, min(8, len(claims)))}


def main() -> None:
    """Make the groups and write them."""
    options = argparse.ArgumentParser()
    options.add_argument("pairs", type=Path)
    options.add_argument("out", type=Path)
    options.add_argument("--groups", type=int, default=12000)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    chance = random.Random(given.seed)
    fillers: list[str] = []
    for row in read(given.pairs):
        if len(fillers) > 20000:
            break
        spans = sentences(row["premise"]) if len(row["premise"]) > 300 else ()
        fillers += [row["premise"][start:end].strip() for start, end in spans if 40 < end - start < 200][:1]
    write_groups(given.out, [group(chance, fillers) for _ in range(given.groups)])


if __name__ == "__main__":
    main()
