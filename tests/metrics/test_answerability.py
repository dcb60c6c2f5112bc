"""Which documents hold which gold claim: where the labels come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.metrics.labelled import doc, row

from ragauge.metrics.registry import select_metrics
from ragauge.questions import Entail
from ragauge.types import Label, Verdict

if TYPE_CHECKING:
    from tests.metrics.conftest import Answering, Drive


def test_what_documents_hold_is_asked_where_labels_are_missing(drive: type[Drive], words: Answering) -> None:
    """A label of the sample goes before those of documents, these before the judge, who is asked of the rest once."""
    asked = row("a", (doc("a"), doc("b", 1, 0), doc("c")), (("a",), ("q",)))
    done = drive([asked], select_metrics("reject_f1,calibrated_f1(correctness=em)"), words)
    assert done.questions == [Entail(("a", "c"), "a"), Entail(("a", "c"), "q")]
    for known in (
        row("a", (doc("a", 1),), None),
        row("a", (doc("a", 1),), (("a",),)),
        row("a", (doc("a"),), (("a",),), answerable=False),
        row("a", (), (("a",),)),
    ):
        assert drive([known], select_metrics("reject_f1,calibrated_f1(correctness=em)"), words).questions == []


def test_labels_of_some_documents_count_beside_the_judge(drive: type[Drive], words: Answering) -> None:
    """What the data says of a document stands; the evidence shows each document's label, whoever gave it."""
    sample = row("a", (doc("a", 0), doc("b", 1), doc("c")), (("a",),))
    done = drive([sample], select_metrics("answerable_recall"), words)
    (piece,) = done.evidence("answerability(asked)")
    assert done.scores[0]["answerable_recall"].counts == (1, 1)
    assert [chunk.label for chunk in piece.chunks] == [Label.NO, Label.YES, Label.NEUTRAL]
    assert (piece.field, piece.label) == ("answers[0]", Label.YES)
    held_by_none = row("a", (doc("a", 0), doc("c")), (("a",),))
    assert drive([held_by_none], select_metrics("answerable_recall"), words).scores[0]["answerable_recall"].undefined


@pytest.mark.parametrize("wordings", [("apple", "york"), ("york", "apple")])
def test_the_order_of_wordings_decides_nothing(wordings: tuple[str, str], drive: type[Drive], words: Answering) -> None:
    """Of a claim in several wordings the one that stands in a text is asked about, wherever it is in the list."""
    sample = row("It is York.", (doc("z"), doc("york")), (wordings,))
    done = drive([sample], select_metrics("answerable_recall,claim_match"), words)
    assert done.questions == [Entail(("z", "york"), "york"), Entail(("It is York.",), "york")]
    assert done.scores[0]["answerable_recall"].counts == (1, 1)


@pytest.mark.parametrize("wordings", [("a&b", "c&d"), ("c&d", "a&b"), ("x", "C&D!", "c&d", "a&b")])
def test_where_no_wording_stands_in_a_text_each_is_asked(
    wordings: tuple[str, ...], drive: type[Drive], words: Answering
) -> None:
    """A judge may find a wording in other words, and again the order decides nothing; Trust-Eval tries the first."""
    done = drive([row("d c", (doc("d c"),), (wordings,))], select_metrics("answerable_recall,claim_match"), words)
    assert len(done.questions) == len({one.strip("!").lower() for one in wordings})
    assert done.scores[0]["answerable_recall"].counts == (1, 1)
    assert done.scores[0]["claim_match"].value == 1.0
    theirs = drive([row("d c", (doc("d c"),), (wordings,))], select_metrics("claim_match(variant=trust_eval)"), words)
    assert [question.hypothesis for question in theirs.questions] == [wordings[0]]  # type: ignore[union-attr]


def test_people_may_judge_documents_together(drive: type[Drive], words: Answering) -> None:
    """A label for all documents at once says that they hold the claim, and not which of them does."""

    def together(question: Any) -> Any:
        return Verdict(words(question).label)  # type: ignore[union-attr]

    sample = row("a", (doc("a"), doc("b", 0), doc("c")), (("a",),))
    done = drive([sample], select_metrics("answerable_recall"), together)
    assert done.scores[0]["answerable_recall"].counts == (1, 1)
    assert done.evidence("answerability(asked)")[0].chunks == ()
