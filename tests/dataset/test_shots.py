from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.datasets import generate
from ragauge.datasets.generator import REFUSAL_SENTENCE, AnswerBrief, answer_prompt, with_shots
from ragauge.errors import BadData
from ragauge.types import Chunk, Sample

DOCUMENTS = tuple(Chunk(f"Text {n}.", str(n)) for n in range(4))
ANSWERS = [Sample(f"a{n}", f"Question {n}?", f"Answer {n} [1].", DOCUMENTS) for n in range(6)]
REFUSALS = [Sample(f"r{n}", f"Question {n}?", "I don't know.", DOCUMENTS) for n in range(3)]
POOL = [*ANSWERS, *REFUSALS]


@given(st.integers(0, 9), st.integers(0, 50))
def test_half_of_the_shots_decline(count: int, seed: int) -> None:
    """Of any number of shots half decline, rounded down, as far as there are such; none is drawn twice."""
    shots = with_shots(AnswerBrief(), POOL, count, seed).shots
    declined = [shot for shot in shots if shot.response == REFUSAL_SENTENCE]
    assert len(shots) == len({shot.id for shot in shots}) == count
    assert len(declined) == max(min(count // 2, 3), count - 6)


def test_the_seed_decides() -> None:
    """The same seed draws the same shots in the same order, and other seeds others."""
    drawn = {tuple(shot.id for shot in with_shots(AnswerBrief(), POOL, 2, seed).shots) for seed in range(20)}
    assert with_shots(AnswerBrief(), POOL, 4, 7) == with_shots(AnswerBrief(), POOL, 4, 7)
    assert len(drawn) > 5


def test_refusals_are_shown_in_the_words_asked_for() -> None:
    """Whatever words a sample declines in, the example declines in those of the instructions; or not at all."""
    shots = with_shots(AnswerBrief(refusal="Nothing found."), POOL, 4, 1).shots
    assert {shot.response for shot in shots if shot.id.startswith("r")} == {"Nothing found."}
    assert all(shot.id.startswith("a") for shot in with_shots(AnswerBrief(refusal=""), POOL, 4, 1).shots)
    reported = Sample("r9", "Question?", "Nope.", DOCUMENTS, metadata={"refusal_sentence": "Nope."})
    assert with_shots(AnswerBrief(refusal="Nothing found."), [reported], 1, 1).shots[0].response == "Nothing found."


def test_shots_stand_before_the_question() -> None:
    """Examples are data in the user's document, the same for every sample, with as many documents as are asked for."""
    brief = with_shots(AnswerBrief(), POOL, 2, 1, top=2)
    document = json.loads(answer_prompt(ANSWERS[0], brief).user)
    assert list(document) == ["examples", "question", "documents"]
    assert [list(example) for example in document["examples"]] == [["question", "documents", "answer"]] * 2
    assert all(list(example["documents"]) == ["1", "2"] for example in document["examples"])


def test_a_reference_may_stand_for_the_answer() -> None:
    """A sample that nobody answered is shown with what people wrote."""
    (shot,) = with_shots(AnswerBrief(), [Sample("1", "q", None, DOCUMENTS, ("Gold [2].",))], 1, 1).shots
    assert shot.response == "Gold [2]."


def test_too_few_shots_are_an_error() -> None:
    """Samples without question, documents or answer cannot be examples; too few of the others is an error."""
    with pytest.raises(BadData, match="samples that can be examples: 1, of 2 that are needed"):
        with_shots(AnswerBrief(), [ANSWERS[0], Sample("x", "q", "a")], 2, 1)


@pytest.mark.parametrize("same", ["query", "id"])
def test_no_sample_is_shown_its_own_row(same: str, system: Any) -> None:
    """Answers to the questions under test are no examples, whatever the seed; too few others are an error."""
    samples = [{"id": f"s{n}", "query": f"Question {n}?", "contexts": ["c"]} for n in range(3)]
    own = [
        {**row, "response": "Gold.", **({"id": f"x{n}"} if same == "query" else {"query": "Other?"})}
        for n, row in enumerate(samples)
    ]
    own[0] |= {"query": "question  0?"} if same == "query" else {}
    other = {"id": "y", "query": "Why?", "contexts": ["c"], "response": "So."}
    for seed in range(5):
        asked = system()
        generate(samples, asked, shots=[*own, other], shot_count=1, seed=seed)
        documents = [json.loads(messages[1]["content"]) for messages in asked.asked]
        assert [[example["answer"] for example in document["examples"]] for document in documents] == [["So."]] * 3
    with pytest.raises(BadData, match="examples: 0, of 1 that are needed; each needs a query that is not among those"):
        generate(samples, system(), shots=own, shot_count=1)


def test_generation_takes_them_from_a_file(tmp_path: Any, system: Any) -> None:
    """A file of answered samples gives the examples."""
    rows = [{"question": f"q{n}", "output": "Yes [1].", "docs": [{"text": "t"}]} for n in range(3)]
    (tmp_path / "shots.json").write_text(json.dumps({"data": rows}))
    asked = system()
    generate([{"query": "q", "contexts": ["c"]}], asked, shots=tmp_path / "shots.json", shot_count=3)
    assert len(json.loads(asked.asked[0][1]["content"])["examples"]) == 3
