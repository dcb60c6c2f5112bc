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
    """Runs `ragauge label` on a run of twelve samples with the given lines as input."""
    measured(12)

    def type_lines(*lines: str, options: tuple[str, ...] = ()) -> Result:
        given = "".join(f"{line}\n" for line in lines)
        return CliRunner().invoke(main, ["label", "--store", str(store.path), "--by", "ann", *options], input=given)

    return type_lines


def test_each_label_is_stored_at_once(typing: Typing, store: Store) -> None:
    """Each answer is stored with the person's name; the end of the input ends the session."""
    result = typing("s 1", "n")
    assert result.exit_code == 0
    assert [dict(label.judge.settings)["by"] for label in store.labels()] == ["ann", "ann"]
    assert len(store.labels(blind=store.run("latest").data_hash)) == 2
    assert "2 labels given." in result.output
    assert "query: What of " in result.output
    assert "[2]: B." in result.output


def test_the_verdict_is_hidden_until_requested(typing: Typing, store: Store) -> None:
    """The judge's verdict is shown on request; a label given after that does not count for agreement."""
    asked, unasked = typing("?", "s 1", "q").output, typing("s 1", "q").output
    assert "The judge says: supported (probability of support 0.90)" in asked
    assert "The judge says" not in unasked
    assert len(store.labels(blind=store.run("latest").data_hash)) == 1


def test_a_person_can_skip_and_go_back(typing: Typing, store: Store) -> None:
    """Enter skips a piece, b returns to the one before, whose latest label counts."""
    output = typing("", "s 1", "b", "n", "q").output
    labels = store.labels()
    assert [label.answer.label.value for label in labels] == ["entailed", "neutral"]  # type: ignore[union-attr]
    assert labels[0].question == labels[1].question
    assert output.count("— sample") == 1


def test_invalid_input_is_asked_again(typing: Typing, store: Store) -> None:
    """Invalid input is an error message, and the same piece is asked again."""
    output = typing("maybe", "q").output
    assert "'maybe' is not an answer; type one of s (supported)" in output
    assert store.labels() == []
    assert "0 labels given." in output


def test_a_session_ends_with_a_summary(typing: Typing) -> None:
    """When everything is labelled, the judge's score, the corrected one and the agreement are printed."""
    output = typing(*(["s 1"] * 100)).output
    assert "Nothing is left to label for this metric." in output
    assert "faithfulness: judge 0.938 [" in output
    assert "corrected by people: 1.000 [" in output
    assert "raw agreement 0.938 [" in output
    assert "on 48 questions (entail), kappa 0.000 [" in output


def test_another_session_continues(typing: Typing, store: Store) -> None:
    """Labelled pieces are not asked again, whoever labels next."""
    typing(*(["s 1"] * 4))
    asked = {label.question for label in store.labels()}
    typing(*(["s 1"] * 3))
    assert len({label.question for label in store.labels()} - asked) == 3


def test_wrong_calls_end_with_2(typing: Typing, tmp_path: Path) -> None:
    """A metric without judgments and a missing store end with exit code 2."""
    result = typing(options=("-m", "bleu"))
    assert (result.exit_code, "unknown metric" in result.output) == (2, True)
    missing = CliRunner().invoke(main, ["label", "--store", str(tmp_path / "none")])
    assert (missing.exit_code, "there is no store" in missing.output) == (2, True)


def test_labels_take_precedence_in_the_next_run(typing: Typing, store: Store) -> None:
    """A later run over the same store takes human labels before the judge's answers."""
    typing("n", "n", "n", "n")
    before = store.run("latest")
    again = rg.rescore(rg.Run.open(store))
    assert again.record.labelled == 4
    assert again.values("faithfulness")[10] == 0
    assert store.values(before.id, "faithfulness")[10] == 1
