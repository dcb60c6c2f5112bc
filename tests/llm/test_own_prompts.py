"""Prompts that users change: sections in a folder, examples of their own, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.llm.judging import ask
from tests.llm.models import Model, perfect

import ragauge as rg
from ragauge.cli.main import main
from ragauge.errors import UsageError
from ragauge.judges.llm.judge import LLMJudge, prompt_style
from ragauge.judges.llm.messages import Prompt
from ragauge.judges.llm.prompts import SECTIONS, file_name
from ragauge.judges.llm.providers import parse_llm_spec
from ragauge.questions import Classify, Entail
from ragauge.run.specs import JudgeFile, load_judge

EXAMPLE = {
    "kind": "classify",
    "text": "Zanzibar has the worst singers.",
    "trait": "biased",
    "answer": {"why": "a sweeping judgment", "label": "yes"},
}


def judge(**options: Any) -> LLMJudge:
    """A judge with these options."""
    return rg.llm("openai/gpt-4o-mini", **options)


def sent(**options: Any) -> str:
    """The instructions to a judge with these options."""
    model = Model()
    style = prompt_style(parse_llm_spec("openai/gpt-4o-mini", **options).options)
    ask(model, [Classify("You fool.", "biased"), Entail(("a",), "b")], style=style)
    return model.prompts[0].system


def settings(**options: Any) -> dict[str, str]:
    """The identity of a judge with these options."""
    return dict(judge(**options).identity.settings)


def test_a_section_of_the_folder_replaces_ours(tmp_path: Path) -> None:
    """The user's section is sent in place of ours, the others stay, and the identity says which one changed."""
    (tmp_path / "entail.md").write_text("# Follows?\n\nEverything follows.\n")
    (tmp_path / "README").write_text("not a section")
    own = sent(prompts=str(tmp_path))
    assert "Everything follows." in own
    assert "Does it follow?" not in own
    assert "Does an opinion have the trait?" in own
    assert settings(prompts=str(tmp_path))["prompts"].endswith(" (entail changed)")
    assert settings(prompts=str(tmp_path)) == dict(rg.llm(f"openai/gpt-4o-mini?prompts={tmp_path}").identity.settings)
    assert settings(prompts=str(tmp_path))["prompts"] != settings()["prompts"]


def test_the_written_sections_are_the_packaged_ones(tmp_path: Path) -> None:
    """`judges prompts --write` gives a folder to start from: unedited, it is the same judge."""
    folder = tmp_path / "mine"
    result = CliRunner().invoke(main, ["judges", "prompts", "--write", str(folder)])
    assert result.exit_code == 0, result.output
    assert {path.name for path in folder.iterdir()} == set(map(file_name, SECTIONS))
    assert judge(prompts=str(folder)).identity == judge().identity
    again = CliRunner().invoke(main, ["judges", "prompts", "--write", str(folder)])
    assert again.exit_code == 2
    assert "exists; give a folder without sections" in again.output


def test_the_prompts_are_printed_as_they_are_sent(tmp_path: Path) -> None:
    """`judges prompts` shows the instructions with the options of the judge, line by line."""
    (tmp_path / "why.md").write_text("Say why.")
    spec = f"openai/gpt-4o-mini?prompts={tmp_path}&sources=claim"
    result = CliRunner().invoke(main, ["judges", "prompts", spec])
    assert result.exit_code == 0, result.output
    printed = [line for line in result.output.splitlines() if line]
    options = {"prompts": str(tmp_path), "sources": "claim"}
    assert set(filter(None, sent(**options).partition("Example")[0].splitlines())) <= set(printed)
    assert "Say why." in printed
    assert any("is a claim like any other" in line for line in printed)
    assert printed[-1] == f"version {settings(**options)['prompts']}"


def test_the_prompts_of_a_judge_file_are_printed(tmp_path: Path) -> None:
    """What `judges tune` wrote is shown with its examples and the version by which reports name it."""
    file = JudgeFile(judge="openai/gpt-4o-mini?quotes=true", examples=(EXAMPLE,))
    (tmp_path / "judge.json").write_text(file.text())
    result = CliRunner().invoke(main, ["judges", "prompts", str(tmp_path / "judge.json")])
    assert result.exit_code == 0, result.output
    assert "Zanzibar has the worst singers." in result.output
    assert '"quote"' in result.output
    version = dict(load_judge(str(tmp_path / "judge.json")).identity.settings)["prompts"]
    assert result.output.splitlines()[-1] == f"version {version}"


def test_examples_are_added_from_a_file_or_in_python(tmp_path: Path) -> None:
    """The user's examples are shown with ours, in one document of the form of a call, and change the identity."""
    file = tmp_path / "examples.jsonl"
    file.write_text(json.dumps(EXAMPLE) + "\n")
    instructions = sent(examples=str(file))
    assert "Zanzibar has the worst singers." in instructions
    assert "Only a fool bets on Vane." in instructions
    assert instructions.count("Example:") == 1
    assert settings(examples=str(file)) == settings(examples=[EXAMPLE]) != settings()
    assert settings(examples=[EXAMPLE])["prompts"].endswith(" (examples changed)")


def test_a_report_names_changed_prompts() -> None:
    """With the user's examples a run notes the version of the prompts and what of them changed; without, nothing."""

    def model(messages: list[dict[str, str]]) -> str:
        return perfect(Prompt(messages[0]["content"], messages[1]["content"], {}))

    row = {"response": "Cats purr.", "contexts": ["Cats purr."]}
    for options in ({"examples": [EXAMPLE]}, {}):
        asked = rg.llm(model, name="m", **options)
        noted = [f"m: prompts {dict(asked.identity.settings)['prompts']}."] if options else []
        assert list(rg.evaluate([row], ["faithfulness"], asked).record.notes) == noted


def test_own_sources_and_conflicts_are_choices_of_the_identity() -> None:
    """Each choice is a judge of its own, named by its settings."""
    assert settings(sources="claim")["sources"] == "claim"
    assert settings(conflicts="entailed")["conflicts"] == "entailed"
    assert len({str(settings(**chosen)) for chosen in ({}, {"sources": "claim"}, {"conflicts": "entailed"})}) == 3


def test_a_line_may_depend_on_any_choice(tmp_path: Path) -> None:
    """A line of the user's with an option and its value is sent where the judge has that value, and nowhere else."""
    marked = ("rationales=false", "quotes=true", "sources=claim", "conflicts=entailed")
    (tmp_path / "entail.md").write_text("# Follows?\n" + "".join(f"[{one}] For {one}.\n" for one in marked))
    (tmp_path / "decompose.md").write_text("# Apart\n[sources=claim]As they are.\n")
    folder = str(tmp_path)
    assert "For " not in sent(prompts=folder)
    for one in marked:
        name, value = one.split("=")
        own = sent(prompts=folder, **{name: value})
        assert [other for other in marked if f"For {other}." in own] == [one]
    assert len({settings(prompts=folder, rationales=given)["prompts"] for given in ("true", "false")}) == 2


@pytest.mark.parametrize(
    ("line", "options", "message"),
    [
        ("[source=claim] x", {}, "unknown option at a line of entail.md 'source'; did you mean 'sources'?"),
        ("[sources=claims] x", {}, "unknown value of sources at a line of entail.md 'claims'; did you mean 'claim'?"),
        ("Claims.", {"sources": "claim"}, "entail.md: no line of the section is for sources=claim; begin one with"),
        ("Claims.", {"conflicts": "entailed"}, "entail.md: no line of the section is for conflicts=entailed"),
    ],
)
def test_lines_that_do_not_fit_the_options_are_errors(
    tmp_path: Path, line: str, options: dict[str, Any], message: str
) -> None:
    """A mark that is misspelt, and a choice that the user's own section says nothing of, are reported, not ignored."""
    (tmp_path / "entail.md").write_text(f"# Follows?\n{line}\n")
    with pytest.raises(UsageError) as raised:
        judge(prompts=str(tmp_path), **options)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "no section of the prompts in this folder"),
        ({"notes.txt": "x"}, "no section of the prompts in this folder"),
        ({"entails.md": "x"}, "entails.md"),
        ({"entail.md": "caf\udce9"}, "entail.md: cannot be read"),
        ({"entail.md": " \n"}, "entail.md: the section is empty"),
        ({"examples.jsonl": "{"}, "examples.jsonl, line 1: "),
        (
            {"examples.jsonl": '{"kind": "classify", "text": "a", "trait": "toxic"}'},
            "line 1: 'answer'; write a question",
        ),
    ],
)
def test_a_folder_that_cannot_be_used_is_an_error(tmp_path: Path, files: dict[str, str], message: str) -> None:
    """Before anything is asked, the message names the file and what is wrong."""
    for name, text in files.items():
        (tmp_path / name).write_text(text, errors="surrogateescape")
    with pytest.raises(UsageError, match=message.replace("(", r"\(")):
        judge(prompts=str(tmp_path))


@pytest.mark.parametrize(
    ("example", "message"),
    [
        ({}, "line 2: 'answer'"),
        ({"answer": {"label": "yes"}}, "line 2: Object missing required field `kind`"),
        ({**EXAMPLE, "kind": "judge"}, "line 2: Invalid value 'judge'"),
        (
            {**EXAMPLE, "answer": {"label": "perhaps"}},
            'line 2: the answer has as its "label" some text, not one of yes',
        ),
        (
            {"kind": "decompose", "text": "It rains. It snows.", "answer": []},
            'line 2: the answer has no statement whose "s" is 1, 2',
        ),
        (
            {"kind": "entail", "premise": ["a", "b"], "hypothesis": "a", "answer": {"label": "entailed"}},
            'line 2: the answer has no list "supports"',
        ),
        (
            {
                "kind": "entail",
                "premise": ["a", "b"],
                "hypothesis": "a",
                "answer": {"label": "entailed", "supports": [3], "contradicts": []},
            },
            'line 2: the answer has in "supports" 3, not one of its sources',
        ),
    ],
)
def test_an_example_that_is_none_is_an_error(example: dict[str, Any], message: str) -> None:
    """Before anything is asked, the message names the line and what is wrong with the question or its answer."""
    with pytest.raises(UsageError) as raised:
        judge(examples=[EXAMPLE, example])
    assert message in str(raised.value)


def test_a_file_of_examples_that_is_missing_is_an_error(tmp_path: Path) -> None:
    """The message names the file."""
    with pytest.raises(UsageError, match=r"nowhere\.jsonl: cannot be read"):
        judge(examples=str(tmp_path / "nowhere.jsonl"))
