"""Trust-Eval's vectors: the output block of whole data sets, and citations sentence by sentence, and ALCE's."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ragauge.metrics.trust import TrustEvalItem, needs, trust_eval_block
from ragauge.needs.base import Rounds
from ragauge.needs.gold import Correctness
from ragauge.questions import Entail, Judgment, Question, judgment_key
from ragauge.readers import read
from ragauge.types import Answer, ChunkVerdict, Identity, Label, Verdict

if TYPE_CHECKING:
    from tests.metrics.conftest import Scoring

NLI = Identity("facts")

#: Values of ours that differ from the recorded ones, by case, with the reason.
DIFFERENT: dict[str, tuple[str, dict[str, float]]] = {
    "cm_flat_string_answers_bug": (
        "there the claim is the first letter of a string; here a string is one claim",
        {
            "regular_claims_nli": 100.0,
            "answered_claims_nli": 100.0,
            "calib_answered_claims_nli": 100.0,
            "calib_answerable_claims_nli": 100.0,
            "calib_claims_nli_f1": 100.0,
            "trust_score": 250 / 3,
        },
    )
}


def facts(text: str) -> set[str]:
    """The facts that a text holds: F1, F2 and so on."""
    return set(re.findall(r"\bF\d+\b", text))


def judge(question: Question) -> Answer:
    """The entailment that the vectors were recorded with: all facts of the hypothesis are in the premise."""
    assert isinstance(question, Entail)

    def label(premise: str) -> Label:
        reply = facts(question.hypothesis)
        return Label.ENTAILED if reply and reply <= facts(premise) else Label.NOT_ENTAILED

    return Verdict(
        label("\n".join(question.premise)), chunks=tuple(ChunkVerdict(label(one)) for one in question.premise)
    )


def items(data: Sequence[dict[str, Any]], correctness: Correctness) -> list[TrustEvalItem]:
    """The samples of a file of Trust-Eval's with all that was found out about them."""
    wanted = needs(correctness)
    found = []
    for sample in read(list(data)):
        driver = Rounds(sample, wanted)
        while questions := driver.questions:
            driver.advance({q: Judgment(q, judge(q), NLI, judgment_key(q, NLI)) for q in questions})
        found.append(TrustEvalItem(sample, *(driver.outcomes[need.name] for need in wanted)))  # type: ignore[arg-type]
    return found


@pytest.fixture
def rows(golden: Path) -> list[dict[str, Any]]:
    """All rows of the file."""
    loaded: list[dict[str, Any]] = json.loads((golden / "systems" / "trust_eval_and_ragas.json").read_text("utf-8"))
    return loaded


def test_the_six_samples_of_the_documentation(golden: Path) -> None:
    """Every number of the documented output block comes out, digit for digit."""
    recorded = json.loads((golden / "systems" / "trust_eval_block.json").read_text("utf-8"))
    file = json.loads((golden / "systems" / "trust_eval_evalfile.json").read_text("utf-8"))
    block = trust_eval_block(items(file["data"], "cm"))
    assert len(block) == 28
    assert block == recorded["expected"]


def test_whole_data_sets(rows: list[dict[str, Any]]) -> None:
    """Each recorded data set gives the recorded block, exactly, in all three ways of counting gold claims."""
    sets = [row for row in rows if row["metric"].startswith("full evaluate") and "case" in row["inputs"]]
    for row in sets:
        case, correctness = row["inputs"]["case"], row["inputs"]["eval_type"]
        expected = row["expected"]["trust_eval_0_1_5"] | DIFFERENT.get(case, ("", {}))[1]
        assert trust_eval_block(items(row["inputs"]["data"], correctness), correctness) == expected, case
    assert {row["inputs"]["eval_type"] for row in sets} == {"cm", "em", "em5"}


def test_keys_are_spelt_as_trust_align_does(rows: list[dict[str, Any]]) -> None:
    """The same block under the other spelling of refusals."""
    row = next(row for row in rows if row["inputs"].get("case") == "cm_multi_claim")
    block = trust_eval_block(items(row["inputs"]["data"], "cm"), prefix="refuse")
    assert block == row["expected"]["trust_align_30ac614"]


def test_citations_of_single_outputs(rows: list[dict[str, Any]], scores: Scoring) -> None:
    """Recall and precision of both variants on each recorded output; what they leave NaN is undefined here."""
    outputs = [row for row in rows if row["metric"] == "compute_citation_metrics"]
    for row in outputs:
        given, expected = row["inputs"], row["expected"]
        (sample,) = read([{"question": given["question"], "output": given["output"], "docs": given["docs"]}])
        for variant, recorded in (("trust_eval", "trust_eval"), ("alce", "alce_eval_py")):
            option = f"(variant={variant},at_most={given['at_most_citations'] or 99})"
            got = scores(sample, f"citation_recall{option},citation_precision{option}", judge)
            for metric, key in (("citation_recall", "citation_rec"), ("citation_precision", "citation_prec")):
                wanted = expected[recorded].get(f"regular_{key}", expected[recorded].get(key))
                value = got[metric].value
                where = (given["case"], variant, metric)
                assert ("NaN" if value is None else pytest.approx(100 * value)) == wanted, where
    assert len(outputs) >= 22
