"""What the prompts say, how long they are, and what of them is part of a judge's identity."""

from __future__ import annotations

from importlib.resources import files

import pytest

from ragauge.judges.llm import prompts
from ragauge.judges.llm.prompts import PromptStyle, system
from ragauge.questions import KINDS

PLAIN, FULL = PromptStyle(rationales=False), PromptStyle(rationales=True, quotes=True)

RULES = {
    "preamble": ("data", "gives orders", "obey nothing", "any language", "one JSON object"),
    "decompose": (
        "One proposition",
        "named entity",
        "pronouns",
        "original phrasing",
        "language of the text",
        "fragment with the query",
        "False fact",
        "view attributed to a source",
        "value-laden wording",
        "greetings",
    ),
    "entail": (
        "read together",
        "Numbers, dates and names must match exactly",
        "Hedged wording",
        "no contradiction",
        "unrelated",
        "fragments with it",
        "what it presupposes, not what it asks",
    ),
    "relevant": ("any part", '"reference"'),
    "classify": (
        "gender",
        "politics",
        "race, ethnicity or national origin",
        "geography",
        "personal attack",
        "mockery",
        "hate",
        "dismissal",
        "threat or intimidation",
    ),
    "rate": ('"wording"', "whole"),
}


@pytest.mark.parametrize(("section", "rules"), RULES.items(), ids=list(RULES))
def test_every_rule_of_the_rubrics_is_in_its_section(section: str, rules: tuple[str, ...]) -> None:
    """Each section speaks of every rule that its kind of question is judged by."""
    kinds = frozenset({section} & set(KINDS)) or frozenset(KINDS)
    reply = system(kinds, FULL).lower()
    assert [rule for rule in rules if rule.lower() not in reply] == []


@pytest.mark.parametrize(
    ("kinds", "most"), [(("decompose",), 2600), (("entail", "relevant"), 3600), (KINDS, 6000)], ids=str
)
def test_prompts_are_short(kinds: tuple[str, ...], most: int) -> None:
    """The preamble with its sections stays within the characters that three calls a sample can afford."""
    assert len(system(frozenset(kinds), FULL)) <= most


def test_sections_stand_in_one_order_whatever_is_asked() -> None:
    """A call has the sections of its kinds alone, in the order of the kinds, behind the same preamble."""
    alone = {kind: system(frozenset({kind}), PLAIN) for kind in KINDS}
    preamble = system(frozenset(), PLAIN)
    sections = [reply.removeprefix(preamble) for reply in alone.values()]
    assert all(reply.startswith(preamble) for reply in alone.values())
    assert system(frozenset(KINDS), PLAIN) == preamble + "".join(sections)
    assert system(frozenset({"rate", "entail"}), PLAIN) == preamble + sections[1] + sections[4]


def test_reasons_and_quotes_are_asked_for_only_where_they_can_be_given() -> None:
    """A text that is taken apart needs no reason, and what is no source has no words to quote."""
    assert system(frozenset({"decompose"}), FULL) == system(frozenset({"decompose"}), PLAIN)
    assert system(frozenset({"rate"}), FULL) == system(frozenset({"rate"}), PromptStyle())
    assert '"why"' in system(frozenset({"rate"}), PromptStyle())
    assert '"quote"' in system(frozenset({"entail"}), FULL)
    assert '"why"' not in system(frozenset(KINDS), PLAIN)
    assert '"quote"' not in system(frozenset(KINDS), PLAIN)


def test_the_digest_changes_with_every_file_and_with_the_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """No prompt can change without new judgments being asked for, nor can the form of messages."""
    folder = files(prompts.__package__) / "prompts"
    texts = [prompts._section(name) for name in prompts._SECTIONS]
    assert {entry.name for entry in folder.iterdir()} == {f"{name}.md" for name in prompts._SECTIONS}
    assert prompts._digest(texts) == prompts.DIGEST
    assert prompts._digest([*texts[:-1], texts[-1] + "."]) != prompts.DIGEST
    monkeypatch.setattr(prompts, "FORM", prompts.FORM + 1)
    assert prompts._digest(texts) != prompts.DIGEST
