"""Trust-Eval's vectors through its front door: whole data sets, citations, refusals and strings."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ragauge.compat.trust_eval import Item, evaluate

#: The claims of this case are plain strings; there the claim is the first letter of each, here the string.
OF_STRINGS = {
    **dict.fromkeys(("regular_claims_nli", "answered_claims_nli", "calib_answered_claims_nli"), 100.0),
    **dict.fromkeys(("calib_answerable_claims_nli", "calib_claims_nli_f1"), 100.0),
    "trust_score": 250 / 3,
}


class Facts:
    """The entailment that the vectors were recorded with: all facts of the hypothesis, F1 and so on, are given."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def __call__(self, premise: str, hypothesis: str) -> int:
        """1 or 0, as the model of the original says it."""
        self.asked.append((premise, hypothesis))
        reply = set(re.findall(r"\bF\d+\b", hypothesis))
        return int(bool(reply) and reply <= set(re.findall(r"\bF\d+\b", premise)))


@pytest.fixture
def facts() -> Facts:
    """A judge of facts that has not been asked yet."""
    return Facts()


@pytest.fixture
def rows(golden: Path) -> list[dict[str, Any]]:
    """All rows of the file."""
    loaded: list[dict[str, Any]] = json.loads((golden / "systems" / "trust_eval_and_ragas.json").read_text("utf-8"))
    return loaded


def item(**fields: Any) -> Item:
    """An answered item with one gold claim and one document."""
    doc = {"title": "T", "text": "Text.", "answers_found": [1]}
    return {"question": "q", "output": "An answer.", "answers": [["x"]], "docs": [doc], **fields}


def test_the_output_block_of_the_documentation(golden: Path, facts: Facts) -> None:
    """The file that reproduces it gives every number of the documented output block, under its keys in its order."""
    shown = json.loads((golden / "systems" / "trust_eval_block.json").read_text("utf-8"))["expected"]
    block = evaluate(golden / "systems" / "trust_eval_evalfile.json", "cm", facts)
    assert block == pytest.approx(shown, rel=1e-12)
    assert list(block) == list(shown)
    assert len(block) == 28


def test_whole_data_sets(rows: list[dict[str, Any]], facts: Facts) -> None:
    """Each recorded data set gives the recorded block, exactly, in all three ways of counting gold claims."""
    sets = [row for row in rows if row["metric"].startswith("full evaluate")]
    for row in sets:
        case, data, eval_type = (row["inputs"].get(key) for key in ("case", "data", "eval_type"))
        expected = row["expected"].get("trust_eval_0_1_5", row["expected"])
        expected |= OF_STRINGS if case == "cm_flat_string_answers_bug" else {}
        assert evaluate(data, eval_type, facts) == expected, case
        assert evaluate({"data": data}, eval_type, facts) == expected, case
    assert {row["inputs"]["eval_type"] for row in sets} == {"cm", "em", "em5"}


def test_keys_as_trust_align_spells_them(rows: list[dict[str, Any]], facts: Facts) -> None:
    """The same block under the other names of the keys about refusals."""
    row = next(row for row in rows if row["inputs"].get("case") == "cm_multi_claim")
    spelt = evaluate(row["inputs"]["data"], "cm", facts, prefix="refuse")
    assert spelt == row["expected"]["trust_align_30ac614"]
    assert "refusal_f1" in evaluate(row["inputs"]["data"], "cm", facts, prefix="refusal")


@pytest.mark.slow
def test_citations_of_single_outputs(rows: list[dict[str, Any]]) -> None:
    """Each recorded output gives the recorded numbers, asks no pair twice, and no more pairs than were asked there."""
    outputs = [row for row in rows if row["metric"] == "compute_citation_metrics"]
    for row in outputs:
        given, expected, facts = row["inputs"], row["expected"]["trust_eval"], Facts()
        answers = [["x"]] * len(given["docs"][0]["answers_found"])
        one = {"question": given["question"], "output": given["output"], "docs": given["docs"], "answers": answers}
        block = evaluate([one], "em", facts, at_most_citations=given["at_most_citations"] or 99)
        assert {key: "NaN" if block[key] is None else block[key] for key in expected} == expected, given["case"]
        assert len(set(facts.asked)) == len(facts.asked) <= row["expected"]["n_nli_calls"], given["case"]
    assert len(outputs) >= 22


@pytest.mark.slow
def test_refusals(rows: list[dict[str, Any]]) -> None:
    """An output counts as answered exactly where the original does not take it for a refusal."""
    texts = [row for row in rows if row["metric"] == "refusal"]
    for row in texts:
        block = evaluate([item(output=row["inputs"]["output"])], "em")
        assert block["answered_num"] == (not row["expected"]["refused"]), row["inputs"]
    assert len(texts) >= 18


def test_strings(rows: list[dict[str, Any]]) -> None:
    """An output holds a short answer exactly where the original finds it there."""
    texts = [row for row in rows if row["metric"] == "exact_presence"]
    for row in texts:
        given = row["inputs"]
        block = evaluate([item(output=given["context"], answers=[given["short_answers"]])], "em")
        assert block["regular_str_em"] == 100.0 * row["expected"], given
    assert len(texts) >= 6


@pytest.mark.slow
def test_words_without_citations(rows: list[dict[str, Any]]) -> None:
    """The length of an output is that of the text which the original leaves of it."""
    texts = [row for row in rows if row["metric"].startswith("remove_citations")]
    for row in texts:
        block = evaluate([item(output=row["inputs"]["text"])], "em")
        assert block["regular_length"] == len(row["expected"]["removed"].split()), row["inputs"]
    assert len(texts) >= 8


def test_the_counts_of_the_documented_example(rows: list[dict[str, Any]]) -> None:
    """Ten answers as documented for ASQA, five of them refusals, two of these amiss, give its values of refusals."""
    (row,) = (row for row in rows if row["metric"].startswith("ASQA example"))
    refusal = "I apologize, but I couldn't find an answer."
    absent = [{"title": "T", "text": "Text.", "answers_found": [0]}]
    answered = [item(output="It says x.")] * 5
    block = evaluate([*answered, *[item(output=refusal)] * 2, *[item(output=refusal, docs=absent)] * 3], "em")
    named = [key for key in row["expected"] if key.startswith(("reject", "answerable", "macro", "calib"))]
    assert [block[key] for key in named] == pytest.approx([row["expected"][key] for key in named])
    assert len(named) >= 8
