"""Entailment of the embedded judge: cases written by hand, each with the label a reader would give."""

from __future__ import annotations

import pytest

from ragauge.judges.embedded.lexical import entail as lexical_entail
from ragauge.types import Label, Verdict

EINSTEIN = (
    "Albert Einstein (born 14 March 1879) was a German-born theoretical physicist, widely held to be one of the "
    "greatest and most influential scientists of all time"
)
TOWER = "The Eiffel Tower was completed in 1889. It is 330 metres tall and stands in Paris."
FIRM = "Acme Corporation reported revenue of $1.5 billion in 2021, up 10% from the year ago. It employs 1,000 people."
TREATY = "The treaty was signed on 14 March 1879 in Berlin by five countries."
MATCH = "Real Madrid defeated Juventus 4-1 in the final in Cardiff."
PACT = "On 27 February 2009, a free trade agreement with the bloc of ten countries and Australia was signed."
SCHOLAR = "At the age of 17, Ibn Khaldun lost both his parents to the Black Death, a plague that hit Tunis in 1348."
PLANS = "The pro plan costs $50 and the basic plan costs $20 a month."
ENERGY = "A gram of fat gives about 9 kilocalories, a gram of alcohol about 7."
REPORTS = "Hand in the expense report within 30 calendar days of the last day of the trip, with receipts above €15."

SUPPORTED = [
    (EINSTEIN, "Einstein was born in Germany on 14th March 1879."),
    (EINSTEIN, "Albert Einstein was born on March 14, 1879."),
    (EINSTEIN, "Albert Einstein was a German physicist."),
    (EINSTEIN, "Einstein was a theoretical physicist born in Germany."),
    (TOWER, "The Eiffel Tower was completed in 1889."),
    (TOWER, "The Eiffel Tower stands in Paris."),
    (FIRM, "Acme Corporation reported revenue of $1,500 million in 2021."),
    (FIRM, "Acme reported revenues of 1.5 billion dollars in 2021."),
    (FIRM, "Acme Corporation employs one thousand people."),
    (FIRM, "Acme Corporation employs 1000 people."),
    (FIRM, "Revenue of Acme was up 10 percent."),
    (TREATY, "The treaty was signed in Berlin."),
    (TREATY, "Five countries signed the treaty."),
    (TREATY, "5 countries signed the treaty."),
    (TREATY, "The treaty was signed on the 14th of March, 1879."),
    (MATCH, "Juventus was defeated in Cardiff."),
    ("She went to the market and bought three apples.", "She bought 3 apples."),
    ("The children wrote letters to their teacher.", "A child wrote a letter to the teacher."),
    ("Marie Curie wasn't the first winner.", "Marie Curie was not the first winner."),
    ("The twentieth century began in 1901.", "The 20th century began in 1901."),
    ("Two-thirds of the members voted for the motion.", "Two thirds of the members voted for the motion."),
    ("Der Fluss fließt durch München.", "Der Fluss fließt durch München."),
    ("Wilhelm Röntgen won the prize.", "Wilhelm Rontgen won the prize."),
    (PLANS, "The basic plan costs $20."),
    (ENERGY, "Alcohol gives about 7 kilocalories per gram."),
    ("北京是中国的首都。", "中国的首都是北京。"),
    ("東京は日本の首都です。", "日本の首都は東京です。"),
    (PACT, "Australia signed a free trade agreement on 27 February 2009."),
    (SCHOLAR, "Khaldun lost his parents at 17."),
    ("The play was adapted for films in 1949 and 1987.", "The play was adapted for films in 1987."),
    (
        "The engine is an inline 6-cylinder of 2.5 litres or 3 litres.",
        "The engine is an inline 6-cylinder of 3 litres.",
    ),
]

CONTRADICTED = [
    (TOWER, "The Eiffel Tower was completed in 1899."),
    ("The meeting starts at 9:30 on Monday.", "The meeting starts at 8:30 on Monday."),
    (REPORTS, "Expense reports are due within 60 calendar days of the last day of the trip."),
    ("Profit grew by 3.14 % in May.", "Profit grew by 3.2 % in May."),
    ("The city has 7,382,000 people.", "The city has 7.5 million people."),
    ("It runs with Python 3.14 on the server.", "It runs with Python 3.1 on the server."),
]

UNSUPPORTED = [
    (EINSTEIN, "Einstein played the violin."),
    (EINSTEIN, "Einstein won the Nobel Prize in 1921."),
    (TOWER, "Gustave Eiffel was an engineer."),
    (TOWER, "The tower attracts seven million visitors a year."),
    (FIRM, "Acme Corporation was founded in Ohio by two brothers."),
    (FIRM, "Globex reported a loss of $3 million."),
    (MATCH, "Barcelona won the league."),
    (MATCH, "The referee showed two red cards."),
    ("The weather was fine.", "The harvest failed because of drought."),
    ("", "Anything at all is claimed here."),
    ("   ", "Anything at all is claimed here."),
    ("北京是中国的首都。", "上海是中国最大的城市。"),
    ("Bananas are rich in potassium.", "Oranges are rich in vitamin C."),
    ("The two sisters had their hair braided in the morning.", "One of the sisters had her hair braided at noon."),
    ("The firm has 22,000 machines in Australia.", "The firm has over twenty thousand people in Australia."),
]


def entail(premise: tuple[str, ...] | str, hypothesis: str) -> Verdict:
    """The verdict of the lexical backend."""
    return lexical_entail((premise,) if isinstance(premise, str) else premise, hypothesis)


@pytest.mark.parametrize(("premise", "hypothesis"), SUPPORTED)
def test_what_the_premise_says_is_entailed(premise: str, hypothesis: str) -> None:
    """The same fact in another form of number or word, or in another order, is entailed."""
    verdict = entail(premise, hypothesis)
    assert verdict.label == Label.ENTAILED
    assert verdict.probability is not None
    assert verdict.probability >= 0.5


@pytest.mark.parametrize(("premise", "hypothesis"), CONTRADICTED)
def test_a_changed_detail_contradicts(premise: str, hypothesis: str) -> None:
    """The same words with one number or year changed are contradicted."""
    verdict = entail(premise, hypothesis)
    assert verdict.label == Label.CONTRADICTED
    assert verdict.probability is not None
    assert verdict.probability < 0.5


@pytest.mark.parametrize(("premise", "hypothesis"), UNSUPPORTED)
def test_what_the_premise_lacks_is_neutral(premise: str, hypothesis: str) -> None:
    """A premise that merely lacks a claim neither supports nor contradicts it."""
    assert entail(premise, hypothesis).label == Label.NEUTRAL


def test_two_chunks_support_only_together() -> None:
    """A claim whose halves stand in two chunks is entailed by both and by neither alone."""
    chunks = ("The bridge by Halvorsen was painted green.", "Its tolls were abolished by the council.")
    verdict = entail(chunks, "Halvorsen's bridge is green, and the council abolished its tolls.")
    assert verdict.label == Label.ENTAILED
    assert [chunk.label for chunk in verdict.chunks] == [Label.NEUTRAL, Label.NEUTRAL]


def test_one_chunk_supports_and_another_contradicts() -> None:
    """Both are said of their chunks; the claim as a whole is supported, since a chunk has its words."""
    chunks = ("The bridge was opened in 1932.", "The bridge was opened in 1934.")
    verdict = entail(chunks, "The bridge was opened in 1932.")
    assert [chunk.label for chunk in verdict.chunks] == [Label.ENTAILED, Label.CONTRADICTED]
    assert verdict.label == Label.ENTAILED


def test_the_same_event_in_another_year_is_no_contradiction() -> None:
    """A sentence whose year and figure both differ speaks of another year."""
    chunks = ("Revenue was $5 million in 2019.", "Revenue was $6 million in 2020.")
    verdict = entail(chunks, "Revenue was $5 million in 2019.")
    assert verdict.label == Label.ENTAILED
    assert verdict.chunks[1].label == Label.NEUTRAL


def test_the_span_is_the_deciding_sentence() -> None:
    """The characters given for a chunk are those of the sentence that says most."""
    start, end = entail(TOWER, "The Eiffel Tower was completed in 1889.").chunks[0].span or (0, 0)
    assert TOWER[start:end] == "The Eiffel Tower was completed in 1889."


def test_no_premise_supports_nothing() -> None:
    """Without any chunk a claim is neutral and no chunk is spoken of."""
    verdict = entail((), "The bridge was opened in 1932.")
    assert (verdict.label, verdict.chunks) == (Label.NEUTRAL, ())


def test_a_title_counts_in_every_sentence() -> None:
    """A chunk's title line says what its sentences are about."""
    chunk = "Halvorsted D640 manual\nThe filter must be rinsed once a week. The seal is wiped once a month."
    claim = "The filter of the Halvorsted D640 must be rinsed once a week."
    assert entail(chunk, claim).label == Label.ENTAILED
    assert entail(chunk.partition("\n")[2], claim).label == Label.NEUTRAL
