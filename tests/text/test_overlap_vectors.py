"""Golden vectors of the overlap measures: our own, and the ones that come with the design material."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ragauge.text.overlap import DEFAULT_TYPES, bleu, chrf, exact_match, rouge, token_f1
from ragauge.text.tokens import valor_tokens

Row = dict[str, Any]

GOLDEN: list[Row] = json.loads((Path(__file__).parents[1] / "golden" / "overlap.json").read_text("utf-8"))
MEASURES: dict[str, Callable[..., object]] = {
    "rouge": rouge,
    "bleu": bleu,
    "chrf": lambda *args, **options: 100 * chrf(*args, **options),
    "exact_match": exact_match,
    "token_f1": token_f1,
}


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: f"{row['measure']}: {row['source']}")
def test_golden_rows(row: Row) -> None:
    """Each committed row holds to the last digit; its source says where the value comes from."""
    assert MEASURES[row["measure"]](**row["inputs"]) == row["expected"]


@pytest.fixture
def vectors(golden: Path) -> list[Row]:
    """The rows measured on Valor that concern the overlap measures.

    Skipped are rows about those systems' own objects and argument types: a missing context, a prediction that is not a
    text.
    """
    foreign = {"context", "predictions"}
    rows = rows_in(golden / "systems")
    return [row for row in rows if row["metric"] == "ROUGE(multi-prediction)" or foreign.isdisjoint(row["inputs"])]


def rows_in(folder: Path) -> list[Row]:
    """The rows measured on Valor, RAG Evals and Dataworkz."""
    rows: list[Row] = json.loads((folder / "valor_ragevals_dataworkz.json").read_text("utf-8"))
    return rows


def of_metric(vectors: list[Row], metric: str, system: str = "valor") -> list[Row]:
    """The rows of one metric; there must be some."""
    rows = [row for row in vectors if row["metric"] == metric and row["system"].startswith(system)]
    assert rows
    return rows


@cache
def table(path: Path) -> list[dict[str, str]]:
    """A CSV file's rows."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_valor_rouge_rows(vectors: list[Row]) -> None:
    """Every ROUGE row measured on Valor holds exactly; one text in place of references is Valor's one reference."""
    for row in of_metric(vectors, "ROUGE"):
        given = row["inputs"]
        references = [given["references"]] if isinstance(given["references"], str) else given["references"]
        arguments = given["prediction"], references, given["rouge_types"], given["use_stemmer"]
        if row["expected"] == {"raises": "ValueError"}:
            with pytest.raises(ValueError, match=r"ROUGE type|no references"):
                rouge(*arguments)
        else:
            assert rouge(*arguments) == row["expected"], row


def test_valor_rouge_rows_with_several_predictions(vectors: list[Row]) -> None:
    """The rows of Valor's older interface hold exactly, prediction by prediction."""
    for row in of_metric(vectors, "ROUGE(multi-prediction)"):
        given = row["inputs"]
        pairs = zip(given["predictions"], given["references"], strict=True)
        assert [rouge(reply, golden, DEFAULT_TYPES, given["use_stemmer"]) for reply, golden in pairs] == row["expected"]


def test_valor_bleu_rows(vectors: list[Row]) -> None:
    """Every BLEU row measured on Valor holds exactly, but that negative weights are refused.

    Valor reads one text in place of references letter by letter.
    """
    for row in of_metric(vectors, "BLEU"):
        given = row["inputs"]
        arguments = given["prediction"], list(given["references"]), given["weights"]
        if row["expected"] == {"raises": "ValueError"} or min(given["weights"]) < 0:
            with pytest.raises(ValueError, match="BLEU weights"):
                bleu(*arguments)
        else:
            assert bleu(*arguments) == row["expected"], row


def test_valor_tokenizer_rows(vectors: list[Row]) -> None:
    """Every row of Valor's BLEU tokenizer holds."""
    for row in of_metric(vectors, "BLEU.tokenize"):
        assert valor_tokens(row["inputs"]["text"]) == row["expected"]


@pytest.mark.shared
def test_valor_example_files(shared: Path) -> None:
    """The values measured on the rows of Valor's example files hold exactly."""
    for row in of_metric(rows_in(shared / "vectors"), "ROUGE+BLEU(csv row)"):
        given, expected = row["inputs"], row["expected"]
        sample = table(shared / "data" / "valor" / given["csv"])[given["row"]]
        response, references = sample[given["prediction_col"]], [sample[given["reference_col"]]]
        assert rouge(response, references) == expected["rouge"]
        assert rouge(response, references, stemmer=True) == expected["rouge_stem"]
        assert bleu(response, references) == expected["bleu4"]
        assert bleu(response, references, [1]) == expected["bleu1"]
        assert bleu(response, references, [0.5, 0.5]) == expected["bleu2"]


@pytest.mark.shared
def test_dataworkz_result_file(golden: Path, shared: Path) -> None:
    """Smoothed BLEU and stemmed ROUGE of the Dataworkz rows hold exactly, and to the four decimals of its own file."""
    path = shared / "data" / "dataworkz" / "apple10k_evaluation_result.csv"
    samples = {int(sample["SNo."]): sample for sample in table(path)}
    for row in of_metric(rows_in(golden / "systems"), "row", system="dataworkz-eval"):
        sample, expected = samples[row["inputs"]["sno"]], row["expected"]
        response, references = sample["Candidate Response"], [sample["Golden Response"]]
        smoothed = bleu(response, references, tokenizer="whitespace", smoothing="method1")
        rouges = rouge(response, references, ["rouge1", "rougeL"], stemmer=True)
        assert smoothed == expected["bleu_method1"]
        assert rouges == {"rouge1": expected["rouge1_f"], "rougeL": expected["rougeL_f"]}
        printed = [expected["csv_4dp"][column] for column in ("Bleu Score", "Rouge-1", "Rouge-L")]
        assert [round(value, 4) for value in (smoothed, *rouges.values())] == printed
