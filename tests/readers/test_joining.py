"""Responses joined to a benchmark by question."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.errors import BadData
from ragauge.readers import join, read
from ragauge.types import Chunk, Sample


def _sample(id: str, query: str | None, *golden: str) -> Sample:
    return Sample(id, query, references=golden)


def _reply(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"question": question, "answer": answer} for question, answer in pairs]


def test_a_file_of_responses_has_questions_and_answers(tmp_path: Path) -> None:
    """Rows that lack either are passed over, an empty answer is one; blocks and tables serve; none is an error."""
    asked = [_sample(query, query, "x") for query in "abd"]
    path = tmp_path / "r.txt"
    path.write_text("question : a\nquestion : b\nanswer : c\nlinks : x\nquestion : d\nanswer :\nlinks : x\n")
    assert [(one.id, one.response) for one in join(asked, path).samples] == [("b", "c"), ("d", "")]
    (tmp_path / "r.csv").write_text("question,answer\na,b\n")
    assert [one.response for one in join(asked, tmp_path / "r.csv").samples] == ["b"]
    path.write_text("question : a\nlinks : x\n")
    with pytest.raises(BadData, match=r"r\.txt: no question with an answer"):
        join(asked, path)
    with pytest.raises(BadData, match=r"r\.tx: no such file|not known"):
        join(asked, tmp_path / "r.tx")


def test_position_case_and_white_space_do_not_matter() -> None:
    """Questions are the same in other words' order of rows; what has no counterpart is left out and named."""
    asked = [_sample("1", "Who  came?", "Ada."), _sample("2", "When?", "Never."), _sample("3", None, "x")]
    samples, report = join(asked, _reply(("why?", "So."), ("who came?\n", "Bob.")))
    assert [(one.id, one.response) for one in samples] == [("1", "Bob.")]
    assert report == {
        "without a response, left out": ["When?", "(none)"],
        "not in the benchmark, left out": ["why?"],
    }


def test_what_stands_twice_is_named() -> None:
    """A question answered twice gets its first answer, one asked twice the same answer in both rows."""
    asked = [_sample("1", "Who?", "Ada."), _sample("2", "who?", "Bob.")]
    samples, report = join(asked, _reply(("Who?", "first"), ("WHO?", "second")))
    assert [one.response for one in samples] == ["first", "first"]
    assert report == {
        "in the benchmark more than once": ["Who?", "who?"],
        "answered more than once, the first counts": ["Who?", "WHO?"],
    }


def test_what_a_spreadsheet_may_have_damaged_is_named() -> None:
    """Bare numbers and dates among the references, which spreadsheets make of $411 or May 24, are named."""
    golden = ["411", "0.25", "2022-10-27 00:00:00", "$411", "000 42.", "27 October", "2830067000000"]
    asked = [_sample(str(n), f"q{n}", text) for n, text in enumerate(golden)]
    samples, report = join(asked, _reply(*((f"q{n}", "a") for n in range(len(golden)))))
    assert len(samples) == len(golden)
    assert list(report.values()) == [["q0", "q1", "q2", "q6"]]


def test_responses_bring_their_contexts_and_system() -> None:
    """What a system retrieved and its name come with its response; what it has not is the benchmark's."""
    asked = [{"id": "a", "query": "Who?", "reference": "Ada.", "contexts": ["golden"], "topic": "people"}]
    row = {"query": "Who?", "response": "Bob.", "contexts": ["Bob came."], "system": "v2", "id": "z"}
    (sample,) = join(asked, [row]).samples
    assert (sample.id, sample.references, sample.metadata) == ("a", ("Ada.",), {"topic": "people"})
    assert (sample.response, sample.contexts, sample.system) == (
        "Bob.",
        (Chunk("Bob came.", "1"),),
        "v2",
    )
    (sample,) = join(asked, [{"query": "Who?", "response": "Bob."}]).samples
    assert sample.contexts == (Chunk("golden", "1"),)


def test_numbers_of_rows_are_no_ids() -> None:
    """Responses without questions are not joined to rows that have no ids, whose numbers could be the ids by chance."""
    asked = [{"query": "Who?", "reference": "Ada."}, {"query": "When?", "reference": "1843"}]
    responses = [{"id": 0, "response": "Ada."}, {"id": 1, "response": "In 1843."}]
    with pytest.raises(BadData, match="no question with an answer, nor ids on both sides"):
        join(asked, responses)
    numbered = [{"id": number, **row} for number, row in enumerate(asked)]
    assert [sample.response for sample in join(numbered, responses).samples] == ["Ada.", "In 1843."]


def test_a_reading_is_joined_as_it_is() -> None:
    """Columns of other names, and rows that cannot be read, are settled by `read`, whose reading is taken."""
    reading = read(
        [{"asked": "Who?", "right": "Ada."}, {"asked": "When?", "right": True}],
        map={"query": "asked", "references": "right"},
        skip_bad_rows=True,
    )
    assert read(reading) is reading
    assert [one.query for one in join(reading, _reply(("who?", "Bob."))).samples] == ["Who?"]
    assert len(reading.bad_rows) == 1


@given(st.lists(st.sampled_from("abcdef"), max_size=8), st.lists(st.sampled_from("ABcdXY"), min_size=1, max_size=8))
def test_every_question_is_joined_or_named(asked: Sequence[str], replied: Sequence[str]) -> None:
    """Whatever stands on either side, a row of the benchmark is joined or reported, and a response used or reported."""
    benchmark = [_sample(str(n), query, "x") for n, query in enumerate(asked)] or [_sample("0", "z", "x")]
    samples, report = join(benchmark, _reply(*((query, f"{query}!") for query in replied)))
    unanswered = report.get("without a response, left out", [])
    assert len(samples) + len(unanswered) == len(benchmark)
    assert all((one.response or "").casefold() == f"{one.query}!" for one in samples)
    unused = report.get("not in the benchmark, left out", [])
    assert {query.casefold() for query in replied} == {str(one.query) for one in samples} | set(
        map(str.casefold, unused)
    )
