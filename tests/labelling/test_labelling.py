from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.labelling.conftest import lenient, truth

import ragauge as rg
from ragauge.analysis.labels import Labelling, SampleDraw, parse_answer
from ragauge.errors import UnknownName, UsageError
from ragauge.store import Store, label
from ragauge.types import Label, Verdict

Measured = Callable[..., rg.Run]
Answered = Callable[[Labelling, int], list[int]]


def test_a_piece_has_its_question(measured: Measured) -> None:
    """A piece of evidence has the question that was judged with all texts, the judge's answer, and no label."""
    pieces = Labelling(measured()).pieces(0, "faithfulness")
    kinds = ("unclear", "false", "true", "true")
    assert [piece.evidence.text for piece in pieces] == [f"Claim 0.{at} is {kind}." for at, kind in enumerate(kinds)]
    first = pieces[0]
    assert (first.question.premise, first.question.hypothesis) == (("A.", "B."), "Claim 0.0 is unclear.")  # type: ignore[union-attr]
    assert isinstance(first.judge, Verdict)
    assert (first.judge.label, first.judge.probability, first.label) == (Label.ENTAILED, 0.55, None)


def test_labels_change_the_scores_of_a_sample(measured: Measured) -> None:
    """A label replaces the judge's answer in every metric that counts it; the run itself stays unchanged."""
    run = measured()
    labelling = Labelling(run)
    piece = labelling.pieces(1, "faithfulness")[0]
    labelling.keep(piece.question, parse_answer(piece.question, "c 2"), "ann")
    scores = labelling.scores(1)
    assert (scores["faithfulness"].value, scores["hallucination"].value) == (0.75, 0.5)
    assert labelling.pieces(1, "faithfulness")[0].label is not None
    assert run.values("faithfulness")[1] == 1.0
    assert Labelling(rg.Run.open(run.store, run.id)).scores(1) == scores


def test_a_label_without_chunk_verdicts(measured: Measured) -> None:
    """A verdict on two chunks together corrects faithfulness; metrics that need the verdict of each chunk fail."""
    labelling = Labelling(measured())
    piece = labelling.pieces(1, "faithfulness")[0]
    labelling.keep(piece.question, parse_answer(piece.question, "c"), "ann")
    scores = labelling.scores(1)
    assert scores["faithfulness"].value == 0.75
    assert scores["hallucination"].failed == "several chunks were judged only together, without a label for each"


def test_half_of_the_samples_are_drawn_at_random(measured: Measured, answered: Answered) -> None:
    """They are the beginning of a random order that depends on the data alone, not on the judge."""
    labelling = Labelling(measured(20))
    by_chance = answered(labelling, 10)
    other = Labelling(measured(20, lenient(0.8)))
    assert 4 <= labelling.summaries()["faithfulness"].drawn <= 6
    assert set(by_chance) <= set(other._order[:6])
    assert other._order == labelling._order != sorted(labelling._order)


def test_the_others_are_the_most_informative(measured: Measured, answered: Answered) -> None:
    """Between random draws come the samples that the judge is least sure of."""
    labelling = Labelling(measured(20))
    answered(labelling, 1)
    drawn = labelling.next("faithfulness")
    assert drawn is not None
    assert (drawn.at_random, drawn.position % 3) == (False, 0)


def test_a_judge_that_is_equally_sure_of_all_has_all_drawn_at_random(measured: Measured, answered: Answered) -> None:
    """Where no sample is more informative than the next of the random order, that one is drawn, and counts as such."""
    equally_sure = rg.judge_from(decompose=lambda text: text.split(". "), entail=lambda premise, claim: True)
    labelling = Labelling(measured(10, equally_sure))
    assert len(answered(labelling, 10)) == 10


def test_labels_of_random_draws_correct_the_score(measured: Measured, answered: Answered) -> None:
    """Judge's and corrected score are separate; once everything is labelled the latter is the human mean."""
    run = measured(12)
    labelling = Labelling(run)
    before = labelling.summaries()["faithfulness"]
    assert (before.corrected.value, before.drawn, before.agreement) == (None, 0, ())
    answered(labelling, 4)
    during = labelling.summaries()["faithfulness"]
    assert (during.judge.value, during.drawn, during.counted, during.labelled) == (before.judge.value, 2, 2, 4)
    while (drawn := labelling.next("faithfulness")) is not None:
        for piece in labelling.open(drawn, "faithfulness"):
            labelling.keep(piece.question, parse_answer(piece.question, truth(piece.question)), "ann", drawn)
    after = labelling.summaries()["faithfulness"]
    people = sum(1 - (n % 3 == 0) / 4 - (n % 4 == 0) / 4 for n in range(12)) / 12
    assert after.corrected.value == pytest.approx(people)
    assert after.judge.value == before.judge.value == run.estimates["faithfulness"].value
    assert (after.drawn, after.samples) == (12, 12)


def test_agreement_is_of_random_draws(measured: Measured, answered: Answered) -> None:
    """Raw agreement and kappa count the questions of random draws, with a confusion table."""
    labelling = Labelling(measured(12))
    by_chance = answered(labelling, 6)
    (agreement,) = labelling.summaries(["faithfulness"])["faithfulness"].agreement
    unclear = sum(at % 3 == 0 for at in by_chance)
    passed = agreement.samples - len(by_chance)  # labelled for another reason, and then passed by the random order
    assert (agreement.kind, agreement.n) == ("entail", 4 * agreement.samples)
    assert agreement.raw.value is not None
    assert unclear <= round(agreement.n * (1 - agreement.raw.value)) <= unclear + passed
    assert sum(times for _, _, times in agreement.table) == agreement.n
    assert agreement.kappa is not None


def test_other_labels_do_not_count(measured: Measured, answered: Answered) -> None:
    """Labels given outside a draw change their sample, not the corrected score or the agreement."""
    labelling = Labelling(measured(12))
    for position in range(6):
        for piece in labelling.pieces(position, "faithfulness"):
            labelling.keep(piece.question, parse_answer(piece.question, "n"), "ann")
    standing = labelling.summaries()["faithfulness"]
    assert (standing.labelled, standing.drawn, standing.corrected.value, standing.agreement) == (6, 0, None, ())
    drawn = labelling.next("faithfulness")
    assert drawn is not None
    assert drawn.at_random
    assert len(labelling.open(drawn, "faithfulness")) == 4


def test_labels_count_for_every_judge_of_the_same_data(measured: Measured, answered: Answered) -> None:
    """Draws for one run hold for a run of another judge over the same data, and not for other data."""
    labelling = Labelling(measured(12))
    answered(labelling, 6)
    other = measured(12, lenient(0.8))
    assert other.record.labelled
    assert Labelling(other).summaries()["faithfulness"].drawn == labelling.summaries()["faithfulness"].drawn > 0
    assert Labelling(measured(13)).summaries()["faithfulness"].drawn == 0


def test_the_judge_is_measured_alone(measured: Measured, answered: Answered) -> None:
    """A run made with labels is corrected by the judge's own answers."""
    first = Labelling(measured(12))
    answered(first, 8)
    again = measured(12)
    assert again.record.labelled
    assert again.estimates != first.run.estimates
    assert Labelling(again).summaries() == first.summaries()


def test_a_repeated_sample_counts_in_its_turn(store: Store) -> None:
    """A sample that repeats another has its labels too, but counts only from its place in the random order."""
    row = {"query": "q", "response": "It is true.", "contexts": ["A."]}
    rows = [{**row, "id": f"n{n}", "response": f"It is {n} and true."} for n in range(9)]
    run = rg.evaluate([*rows, {**row, "id": "a"}, {**row, "id": "b"}], "faithfulness", lenient(), store)
    labelling = Labelling(run)
    first, last = sorted((9, 10), key=labelling._order.index)
    (piece,) = labelling.pieces(first, "faithfulness")
    labelling.keep(piece.question, parse_answer(piece.question, "s"), "ann", SampleDraw(first, True))
    assert labelling.summaries()["faithfulness"].drawn == 1
    later = labelling._order[-1]
    if later != last:
        (piece,) = labelling.pieces(later, "faithfulness")
        labelling.keep(piece.question, parse_answer(piece.question, "s"), "ann", SampleDraw(later, True))
        assert labelling.summaries()["faithfulness"].drawn == 3


def test_only_judgments_can_be_labelled(measured: Measured, store: Store) -> None:
    """A metric without judgments is refused, and so is a run that has not ended."""
    run = measured(3)
    with pytest.raises(UnknownName, match="unknown metric with judgments in this run 'bleu'"):
        Labelling(run).metric("bleu")
    assert Labelling(run).metric() == "faithfulness"
    running = msgspec.structs.replace(run.record, id="20300101-000000", status="running", data_hash="")
    store.begin(running)
    with pytest.raises(UsageError, match="has not ended; label it when it has"):
        Labelling(rg.Run.open(store, running.id))
    unjudged = rg.evaluate([{"response": "a", "references": ["a"]}], "rouge", store=store)
    with pytest.raises(UsageError, match="has no metric over samples that counts judgments"):
        Labelling(unjudged).metric()


def test_labels_from_a_file_are_human_labels(measured: Measured, store: Store, tmp_path: Path) -> None:
    """A run made with a file of labels shows them as human, and its judge alone if that was asked before."""
    plain = measured(4)
    piece = Labelling(plain).pieces(1, "faithfulness")[0]
    samples = [record.sample for record in plain.records()]
    given = [label(piece.question, Verdict(Label.NEUTRAL), "file")]
    run = rg.evaluate(samples, "faithfulness", lenient(), store, labels=given)
    labelling = Labelling(run)
    assert run.values("faithfulness")[1] == 0.75
    assert labelling.pieces(1, "faithfulness")[0].judge == piece.judge
    assert labelling.scores(1)["faithfulness"].value == 0.75
    assert labelling.summaries()["faithfulness"].judge.value == plain.estimates["faithfulness"].value
