from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import ragauge as rg
from ragauge.cli.main import main
from ragauge.store import Store

Typing = Callable[..., Result]


@pytest.fixture
def typing(store: Store, measured: Callable[..., rg.Run]) -> Typing:
    """Runs `ragauge label` on a run of twelve samples; what is typed is given line by line."""
    measured(12)

    def type_lines(*lines: str, options: tuple[str, ...] = ()) -> Result:
        given = "".join(f"{line}\n" for line in lines)
        return CliRunner().invoke(main, ["label", "--store", str(store.path), "--by", "ann", *options], input=given)

    return type_lines


def test_labels_are_kept_as_they_are_given(typing: Typing, store: Store) -> None:
    """Each answer is kept at once, with who gave it; the end of the input ends the session."""
    result = typing("s 1", "n")
    assert result.exit_code == 0
    assert [dict(label.judge.settings)["by"] for label in store.labels()] == ["ann", "ann"]
    assert len(store.labels(blind=store.run("latest").data_hash)) == 2
    assert "2 labels given." in result.output
    assert "query: What of " in result.output
    assert "[2]: B." in result.output


def test_the_verdict_is_hidden_until_it_is_asked_for(typing: Typing, store: Store) -> None:
    """The judge's verdict comes only when it is asked for; a label given after that does not count for agreement."""
    asked, unasked = typing("?", "s 1", "q").output, typing("s 1", "q").output
    assert "The judge says: supported (probability of support 0.90)" in asked
    assert "The judge says" not in unasked
    assert len(store.labels(blind=store.run("latest").data_hash)) == 1


def test_a_person_goes_back_and_skips(typing: Typing, store: Store) -> None:
    """Enter goes on without an answer, b back to the piece before, whose latest label counts."""
    output = typing("", "s 1", "b", "n", "q").output
    labels = store.labels()
    assert [label.answer.label.value for label in labels] == ["entailed", "neutral"]  # type: ignore[union-attr]
    assert labels[0].question == labels[1].question
    assert output.count("— sample") == 1


def test_mistyping_costs_nothing(typing: Typing, store: Store) -> None:
    """What is no answer is told, and the same piece is asked again."""
    output = typing("maybe", "q").output
    assert "'maybe' is not an answer; type one of s (supported)" in output
    assert store.labels() == []
    assert "0 labels given." in output


def test_a_session_ends_with_what_the_labels_come_to(typing: Typing) -> None:
    """When all is labelled the judge's score, the corrected one and the agreement are told."""
    output = typing(*(["s 1"] * 100)).output
    assert "Nothing is left to label for this metric." in output
    assert "faithfulness: judge 0.938 [" in output
    assert "corrected by people: 1.000 [" in output
    assert "raw agreement 0.938 [" in output
    assert "on 48 questions (entail), kappa 0.000 [" in output


def test_another_session_goes_on(typing: Typing, store: Store) -> None:
    """What was labelled is not asked again, by whoever labels next."""
    typing(*(["s 1"] * 4))
    asked = {label.question for label in store.labels()}
    typing(*(["s 1"] * 3))
    assert len({label.question for label in store.labels()} - asked) == 3


def test_a_wrong_call_is_told(typing: Typing, tmp_path: Path) -> None:
    """A metric without judgments and a store that is not there end with exit code 2."""
    result = typing(options=("-m", "bleu"))
    assert (result.exit_code, "unknown metric" in result.output) == (2, True)
    missing = CliRunner().invoke(main, ["label", "--store", str(tmp_path / "none")])
    assert (missing.exit_code, "there is no store" in missing.output) == (2, True)


def test_labels_go_before_the_judge_in_the_next_run(typing: Typing, store: Store) -> None:
    """A later run over the same store takes people's answers before the judge's."""
    typing("n", "n", "n", "n")
    before = store.run("latest")
    again = rg.rescore(rg.Run.open(store))
    assert again.record.labelled == 4
    assert again.values("faithfulness")[10] == 0
    assert store.values(before.id, "faithfulness")[10] == 1
