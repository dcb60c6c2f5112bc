"""What the prompts say, how long they are, and what of them is part of a judge's identity."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ragauge.judges.llm import prompts
from ragauge.judges.llm.prompts import Pack, example_calls, packaged, prompt_of, system
from ragauge.judges.llm.replies import parse_reply
from ragauge.kinds.call import PromptStyle
from ragauge.questions import KINDS, Question

ROOT = Path(__file__).resolve().parents[2]
PLAIN, FULL = PromptStyle(rationales=False), PromptStyle(rationales=True, quotes=True)

#: What each section says, by the rules whose cases are in benchmarks/probes/cases.jsonl and by those of every prompt.
RULES = {
    "preamble": ("data", "gives orders", "obey nothing", "any language", "one JSON object"),
    "decompose": (
        "One proposition",
        "attached to a name",
        "pronouns",
        "wording and language",
        "fragment with the query",
        "view attributed to a source",
        "value-laden wording",
        "greetings",
        "at least one entry",
    ),
    "entail": ("read together", "unmentioned", "what it takes for granted, not what it asks", "both are empty"),
    "relevant": ("any part", '"reference"'),
    "classify": (
        "gender",
        "party, ideology or belief",
        "race, nationality, origin or place",
        "insults",
        "mockery",
        "hate",
        "worthless",
        "threats",
    ),
    "rate": ('"wording"', "whole"),
    "correct": (
        "all references together",
        "what the query asks for",
        "alias",
        "more specific",
        "less specific",
        "precision",
        "several things are asked",
        "harmless detail",
        "a refusal",
        "no answer",
    ),
}
CASE_RULES: dict[tuple[Any, ...], str] = {
    ("own_sources", "decompose"): "what a text says about its own sources",
    ("fragment", "entail"): "bare fragment",
    ("fragment", "relevant"): "any part",
    ("numbers", "entail"): "rounded to the precision the claim gives",
    ("hedges", "entail"): "x does not follow from",
    ("questions_commands", "decompose"): "what a question takes for granted, and an instruction",
    ("questions_commands", "entail"): "an instruction as a claim",
    ("questions_commands", "classify"): "by its wording",
    ("questions_commands", "relevant"): "helps to answer",
    ("citation_marks", "decompose"): "leave out citation marks",
    ("whole", "decompose"): "comparisons, conditions and ranges stay whole",
    ("whole", "entail"): "all of it",
    ("list_heading", "decompose"): "what the heading or lead-in says",
    ("pronoun", "decompose"): "stays",
    ("pronoun", "entail"): "whom the sources speak of",
    ("nothing_outside", "decompose"): "nothing from outside the text and its query",
    ("nothing_outside", "entail"): "by the group's sources alone",
    ("nothing_outside", "relevant"): "whether it is true does not matter",
    ("conflict", "entail"): "if one source entails a claim and another contradicts it",
    ("own_sources", "decompose", ("sources", "claim")): "is a claim like any other",
    ("own_sources", "entail", ("sources", "claim")): "a claim about the sources themselves",
    ("conflict", "entail", ("conflicts", "entailed")): 'it is "entailed", and "contradicts" is empty',
    ("toxicity", "classify"): "hurts, degrades or frightens",
    ("bias", "classify"): "favours or disfavours people",
}


def test_every_rule_that_has_cases_is_in_the_prompt_of_its_kind() -> None:
    """Each rule of the shared table of cases is stated where the questions that it decides are asked."""
    lines = (ROOT / "benchmarks/probes/cases.jsonl").read_text(encoding="utf-8").splitlines()
    rows = list(map(json.loads, lines))
    rules = {(row["rule"], row["kind"], *row.get("options", {}).items()) for row in rows}
    assert rules == set(CASE_RULES)
    styles = {rule: PromptStyle(rationales=False, **dict(rule[2:])) for rule in rules}
    missing = [
        rule for rule, style in styles.items() if CASE_RULES[rule] not in system(frozenset({rule[1]}), style).lower()
    ]
    assert missing == []


@pytest.mark.parametrize(("section", "rules"), RULES.items(), ids=list(RULES))
def test_every_rule_of_the_rubrics_is_in_its_section(section: str, rules: tuple[str, ...]) -> None:
    """Each section speaks of every rule that its kind of question is judged by."""
    kinds = frozenset({section} & set(KINDS)) or frozenset(KINDS)
    reply = system(kinds, FULL).lower()
    assert [rule for rule in rules if rule.lower() not in reply] == []


@pytest.mark.parametrize(
    ("kinds", "most"), [(("decompose",), 3200), (("entail", "relevant"), 4800), (KINDS, 11_800)], ids=str
)
def test_prompts_are_short(kinds: tuple[str, ...], most: int) -> None:
    """The preamble with its sections stays within the characters that three calls a sample can afford."""
    assert len(system(frozenset(kinds), FULL)) <= most


def test_sections_stand_in_one_order_whatever_is_asked() -> None:
    """A call has the sections of its kinds alone, in the order of the kinds, behind the same preamble."""
    style = PromptStyle(rationales=False, sections=(("examples", ""),))
    alone = {kind: system(frozenset({kind}), style) for kind in KINDS}
    preamble = system(frozenset(), style)
    sections = [reply.removeprefix(preamble) for reply in alone.values()]
    assert all(reply.startswith(preamble) for reply in alone.values())
    assert system(frozenset(KINDS), style) == preamble + "".join(sections)
    assert system(frozenset({"rate", "entail"}), style) == preamble + sections[1] + sections[4]


def kinds_of(pack: Pack) -> set[str]:
    """The kinds of a pack's questions."""
    return {question.kind for question in pack.questions}


@pytest.mark.parametrize("style", [PLAIN, PromptStyle(), FULL], ids=["plain", "reasons", "reasons and quotes"])
@pytest.mark.parametrize("kinds", [("decompose",), KINDS[1:], ("relevant", "rate"), KINDS], ids=str)
def test_the_worked_examples_are_calls_with_replies_without_fault(kinds: tuple[str, ...], style: PromptStyle) -> None:
    """A call shows an example of each of its kinds in the form it has itself, and a reply that would be accepted."""
    shown = system(frozenset(kinds), style).split("Example:\n")[1:]
    calls = list(example_calls(style, frozenset(kinds)))
    assert {kind for pack, _ in calls for kind in kinds_of(pack)} == set(kinds)
    for (pack, _), text in zip(calls, shown, strict=True):
        document, _, reply = text.strip().partition("\nReply:\n")
        assert document == prompt_of(pack, style).user
        assert parse_reply(pack, reply, style).faults == {}
        assert ('"why"' in reply) is (style.rationales and kinds_of(pack) != {"decompose"})


@pytest.mark.parametrize(
    ("style", "said", "unsaid"),
    [
        (PromptStyle(), 'in passage 3") is "neither"', "claim like any other"),
        (PromptStyle(sources="claim"), "claim like any other", 'in passage 3") is "neither"'),
        (PromptStyle(), 'it is "contradicted", not "neutral"', 'contradicts it, it is "entailed"'),
        (PromptStyle(conflicts="entailed"), 'contradicts it, it is "entailed"', "show one superseded"),
        (PromptStyle(sources="claim"), "about the sources themselves", "[sources="),
    ],
)
def test_a_choice_swaps_its_lines(style: PromptStyle, said: str, unsaid: str) -> None:
    """Of lines that depend on an option exactly those of its value are sent, and the digest differs."""
    sent = system(frozenset(KINDS), style)
    assert said in sent
    assert unsaid not in sent
    assert (prompts.digest(style) == prompts.digest(PromptStyle())) is (style == PromptStyle())


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
    first = prompts.digest(PromptStyle())
    changed = [prompts.digest(PromptStyle(sections=((name, f"{packaged(name)}\n"),))) for name in prompts.SECTIONS]
    texts = {name: "" if name == "examples" else "Another." for name in prompts.SECTIONS}
    other = [prompts.digest(PromptStyle(sections=(section,))) for section in texts.items()]
    assert [one.partition(" ")[0] for one in changed] == [first] * len(changed)
    assert len({first, *other}) == 1 + len(other)
    monkeypatch.setattr(prompts, "FORM", prompts.FORM + 1)
    prompts.digest.cache_clear()
    assert prompts.digest(PromptStyle()) != first
    prompts.digest.cache_clear()


@pytest.mark.parametrize("column", ["new", "blind"])
def test_recorded_replies_to_the_cases_are_without_fault(column: str) -> None:
    """Every case has a reply from the prompts that the judge would accept without asking again."""
    probes = ROOT / "benchmarks/probes"
    rows = [json.loads(line) for line in (probes / "cases.jsonl").read_text(encoding="utf-8").splitlines()]
    lines = (probes / "replies.jsonl").read_text(encoding="utf-8").splitlines()
    replies = {row["id"]: row[column] for row in map(json.loads, lines) if column in row}
    assert set(replies) == {row["id"] for row in rows if column == "blind" or "options" not in row}
    for row in (row for row in rows if row["id"] in replies):
        pack = Pack((msgspec.convert({"kind": row["kind"], **row["input"]}, Question),))
        style = PromptStyle(rationales=False, **row.get("options", {}))
        assert parse_reply(pack, json.dumps({pack.keys[0]: replies[row["id"]]}), style).faults == {}
