"""Several runs in the order in which their responses are preferred."""

from __future__ import annotations

import json
from itertools import combinations
from math import log
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.comparison.test_preference import COMPLETE, Grading, claims_run, longer, run_of

import ragauge as rg
from ragauge.errors import BadParameter, UsageError
from ragauge.statistics.ranking import bradley_terry, ranked
from ragauge.store import Store


def test_runs_are_ranked_by_preference(tmp_path: Path) -> None:
    """The run with the longest responses is first, each two are compared, and the files say what the terminal says."""
    store = Store.temporary()
    texts = {"long": "a b c d", "middle": "a b c", "short": "a"}
    runs = [run_of([text] * 12, store) for text in texts.values()]
    for run, name in zip(runs, texts, strict=True):
        run.record.name = name
    judge = Grading(longer)
    ranking = rg.rank(runs, COMPLETE, judge=judge)
    assert [entry.run.name for entry in ranking.runs] == ["long", "middle", "short"]
    assert [(entry.wins, entry.ties, entry.losses) for entry in ranking.runs] == [(24, 0, 0), (12, 0, 12), (0, 0, 24)]
    assert sum(map(len, judge.calls)) == 3 * 12 * 2  # pairs, samples, orders
    assert {key: pair.verdict for key, pair in ranking.pairs.items()} == dict.fromkeys(
        ("middle over long", "short over long", "short over middle"), "worse"
    )
    assert ranking.preference.samples == 36
    assert "long (" in str(ranking)
    written = json.loads(ranking.save(tmp_path / "ranking.json").read_text())
    assert written["schema"] == "ragauge.rank/1"
    assert written["runs"][0]["strength"]["low"] <= written["runs"][0]["strength"]["value"]


def test_claims_rank_without_asking() -> None:
    """Three runs are ranked by their claims, over the samples that all have, in groups of these."""
    runs = [claims_run([text] * 7) for text in ("Bob stayed.", "Ann came. Bob left.", "Ann came.")]
    ranking = rg.rank(runs, "claims")
    assert [entry.run.id for entry in ranking.runs] == [runs[1].id, runs[2].id, runs[0].id]
    assert (ranking.samples, ranking.groups) == (7, None)


def test_what_cannot_be_ranked_is_refused() -> None:
    """One run, the same run twice, and runs without a common sample are refused."""
    first = run_of(["a", "b"])
    for runs in ([first], [first, first]):
        with pytest.raises(BadParameter, match="two or more different runs"):
            rg.rank(runs, "claims")
    other = rg.evaluate([{"id": "9", "query": "else", "response": "c"}], "max_words(9)")
    with pytest.raises(UsageError, match="no sample in common"):
        rg.rank([first, other], "claims")


@given(st.lists(st.integers(0, 30), min_size=6, max_size=6))
def test_strengths_reverse_with_the_outcomes(counts: list[int]) -> None:
    """Strengths have mean 0, are negated where all outcomes are, and are finite for any outcomes."""
    wins = np.zeros((3, 3))
    wins[~np.eye(3, dtype=bool)] = counts
    strengths = bradley_terry(wins)
    assert np.isfinite(strengths).all()
    assert strengths.sum() == pytest.approx(0, abs=1e-6)
    assert strengths == pytest.approx(-bradley_terry(wins.T), abs=1e-6)


def test_two_runs_have_the_log_odds() -> None:
    """Of two systems the difference is the log-odds of their wins, with a tie added."""
    first, second = bradley_terry(np.array([[0.0, 17.0], [5.0, 0.0]]))
    assert first - second == pytest.approx(log(17.5 / 5.5))


def test_one_sided_outcomes_have_wide_intervals() -> None:
    """Where one run wins six of six, or three of three, no interval has width 0, and three samples show nothing."""
    for samples in (6, 3):
        store = Store.temporary()
        runs = [run_of([text] * samples, store) for text in ("a b c", "a")]
        stronger, weaker = (entry.strength for entry in rg.rank(runs, COMPLETE, judge=Grading(longer)).runs)
        assert stronger.value == pytest.approx(log((samples + 0.5) / 0.5) / 2)
        assert stronger.low is not None
        assert stronger.high is not None
        assert (stronger.low > 0) == (samples == 6)
        assert stronger.high > 2 > stronger.low + 1
        assert (weaker.low, weaker.high) == pytest.approx((-stronger.high, -stronger.low))


def test_a_run_without_a_comparison_has_no_strength() -> None:
    """A run whose judgments all failed comes last, without a strength, and does not move the others."""

    def grade(response: str, other: str) -> float:
        return 7.0 if "bad" in response + other else longer(response, other)

    store = Store.temporary()
    ranking = rg.rank([run_of([text] * 3, store) for text in ("bad", "a", "a b")], COMPLETE, judge=Grading(grade))
    strengths = [entry.strength.value for entry in ranking.runs]
    assert strengths == [pytest.approx(log(7) / 2), pytest.approx(-log(7) / 2), None]
    assert "[–, –]" in str(ranking)
    missing = f"{ranking.runs[1].run.id} over {ranking.runs[2].run.id} 3"
    assert "Samples without a preference: " in str(ranking)
    assert missing in " ".join(str(ranking).split())


@pytest.mark.slow
@pytest.mark.parametrize("samples", [3, 6, 12])
@pytest.mark.parametrize("true", [(0.0, 0.0, 0.0), (1.0, 0.0, -1.0), (1.7, -1.7)])
def test_intervals_of_strengths_cover(samples: int, true: tuple[float, ...]) -> None:
    """Of 100 simulated rankings over few samples, 93 % of intervals or more hold the true strength, however unequal."""
    random = np.random.default_rng(1)
    covered = []
    for _ in range(100):
        outcomes = np.zeros((samples, len(true), len(true)))
        for one, other in combinations(range(len(true)), 2):
            outcomes[:, one, other] = random.random(samples) < 1 / (1 + np.exp(true[other] - true[one]))
            outcomes[:, other, one] = 1 - outcomes[:, one, other]
        for interval, strength in zip(ranked(outcomes, resamples=400), true, strict=True):
            assert interval.low is not None
            assert interval.high is not None
            covered.append(interval.low <= strength <= interval.high)
    assert np.mean(covered) >= 0.93
