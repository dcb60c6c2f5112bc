"""Dataworkz' evaluation framework, which `ragauge dataworkz` runs on files; see docs/migrating/dataworkz.md."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import ragauge as rg

#: The metrics, as for `ragauge run --metrics`.
METRICS = "claim_f1(counting=common),bleu(tokenizer=whitespace,smoothing=method1),rouge(types=rouge1+rougeL,stemmer=1)"

_TEXTS = ("SNo.", "Question", "Golden Context", "Golden Response", "Candidate Response", "Comments/Actions")
_WORDING = {"Bleu Score": "bleu", "Rouge-1": "rouge.rouge1", "Rouge-L": "rouge.rougeL"}
_BERT = ("Bert Precision", "Bert Recall", "Bert Score F1")
_COSINE = ("Similarity Score",)
LLM = ("LLM Recall", "LLM Precision", "LLM F1")
_SIDES = ("Golden Response", "Candidate Response", "Common")
_COUNTS = tuple(f"{side} Claim Count" for side in _SIDES)
_CLAIMS = tuple(f"{side} Claims" for side in _SIDES)

#: The columns that have a mean, and all columns of an evaluation file: Dataworkz' 22 in order, then the verdicts.
SCORES = (*_WORDING, *_BERT, *_COSINE, *LLM)
COLUMNS = (*_TEXTS, *SCORES, *_COUNTS, *_CLAIMS, "Explanation")

#: The scores, given the numbers of golden claims, candidate claims, and golden claims that the candidate implies.
scores_of_counts = rg.metrics.claim_scores


@dataclass(frozen=True, repr=False)
class Evaluation:
    """The results of an evaluation.

    rows: for each question the value by column, None if missing; claims are {"1": claim, ...}. run: the ragauge run,
    with intervals and all evidence. report: remark -> the questions it applies to. missing: why columns are empty.
    """

    rows: list[dict[str, Any]]
    run: rg.Run
    report: dict[str, list[str]]
    missing: list[str]

    @property
    def means(self) -> dict[str, tuple[float | None, int]]:
        """Column -> its mean over the rows that have a value, and the number of these."""
        values = {column: [row[column] for row in self.rows if row[column] is not None] for column in SCORES}
        return {column: (fmean(scores) if scores else None, len(scores)) for column, scores in values.items()}

    @property
    def micro(self) -> rg.metrics.ClaimScores:
        """The scores of all rows' claims, pooled; rows whose claims have no scores are left out."""
        judged = [row for row in self.rows if row["LLM F1"] is not None]
        return scores_of_counts(*(sum(row[column] for row in judged) for column in _COUNTS))

    def save(self, path: str | Path) -> None:
        """Write the rows as CSV. Raises UsageError."""
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            with Path(path).open("w", encoding="utf-8", newline="") as file:
                table = csv.DictWriter(file, COLUMNS)
                table.writeheader()
                table.writerows(self.rows)
        except OSError as error:
            raise rg.errors.UsageError(f"cannot write {path}: {error.strerror}; choose another place") from error


def evaluate(benchmark: Any, responses: Any, *, extras: bool = True, **options: Any) -> Evaluation:
    """Compare responses with the golden responses of a benchmark, in its order.

    Args:
        benchmark: a file (.xlsx, .csv, ...) with Query, Golden Response and Golden Context, or anything else that
            `ragauge.read` takes or returns.
        responses: a response file, or other data of questions and answers.
        extras: whether to add BERTScore and similarity, where installed.
        options: of `ragauge.evaluate`, such as judge and store.

    Raises:
        BadData: no question of the benchmark has a response; and what `ragauge.evaluate` raises.
    """
    reading = rg.read(benchmark)
    joined, report = rg.join(reading, responses)
    samples = [sample for sample in joined if len(sample.references or ()) == 1]
    if unsound := [sample.query or "" for sample in joined if len(sample.references or ()) != 1]:
        report["without one golden response, left out"] = unsound
    if reading.bad_rows:
        report["in rows that cannot be read, left out"] = [str(bad) for bad in reading.bad_rows]
    if not samples:
        raise rg.errors.BadData(
            f"no row has a golden response and a response: {'; '.join(report)}; read: {reading.columns}"
        )
    run = rg.evaluate(samples, METRICS, **options)
    rows = [_row(scores.sample, scores) for scores in run.scores]
    return Evaluation(rows, run, report, _add_extras(rows) if extras else [])


def evaluate_question(question: str, golden_response: str, candidate_response: str, **options: Any) -> Evaluation:
    """Compare one response with a golden response.

    Args:
        question: what was asked.
        golden_response: the correct response.
        candidate_response: the response to judge.
        options: as for `evaluate`, which also says what is raised.
    """
    row = {"query": question, "reference": golden_response}
    return evaluate([row], [{"query": question, "response": candidate_response}], **options)


def _row(sample: rg.Sample, scores: Mapping[str, rg.scores.Score]) -> dict[str, Any]:
    context = "\n\n".join(chunk.passage for chunk in sample.reference_contexts or ())
    texts = (sample.id, sample.query, context, *(sample.references or ()), sample.response)
    row_texts = dict(zip(_TEXTS, (*texts, sample.metadata.get("Comments/Actions")), strict=True))
    wording = {column: scores[key].value for column, key in _WORDING.items()}
    return dict.fromkeys(COLUMNS) | row_texts | wording | _claim_cells(scores["claim_f1"], sample.response or "")


def _claim_cells(score: rg.scores.Score, response: str) -> dict[str, Any]:
    if score.is_unanswered:
        return {"Explanation": rg.explain(score)}
    golden, implied = _claims(score.evidence, "references[0]", "response")
    candidate, _ = _claims(score.evidence, "response", "references[0]")
    common = [claim for claim in golden if claim.entailed]
    scores = scores_of_counts(len(golden), len(candidate), len(common))
    notes = [f"undefined: {scores.undefined}"] if scores.undefined else []
    for number, claim in enumerate(golden, start=1):
        passages = (f"“{response[slice(*chunk.span)]}”" for chunk in claim.chunks if chunk.span)
        why = claim.rationale or " ".join(passages)
        notes.append(f"golden claim {number}: {claim.label}" + (f", {why}" if why else ""))
    notes += [f"left out, since the question implies it: {claim.text}" for claim in implied]
    values = (scores.recall, scores.precision, scores.f1)
    counts = (len(golden), scores.candidate, len(common))
    claims = [{str(number): claim.text for number, claim in enumerate(side, 1)} for side in (golden, candidate, common)]
    cells = (*values, *counts, *claims, "\n".join(notes))
    return dict(zip((*LLM, *_COUNTS, *_CLAIMS, "Explanation"), cells, strict=True))


def _claims(
    evidence: Sequence[rg.scores.Evidence], side: str, other: str
) -> tuple[list[rg.scores.Evidence], list[rg.scores.Evidence]]:
    """The claims of one side as judged against the other, and those that the question implies."""
    judged = [piece for piece in evidence if (piece.field, piece.against) == (side, other)]
    implied = [piece.entailed for piece in evidence if (piece.field, piece.against) == (side, "query")]
    sides: dict[bool, list[rg.scores.Evidence]] = {False: [], True: []}
    for piece, is_implied in zip(judged, implied, strict=True):
        sides[is_implied].append(piece)
    return sides[False], sides[True]


def _add_extras(rows: list[dict[str, Any]]) -> list[str]:
    """Fill in the columns of optional models in place; return which columns stay empty, and why."""
    missing: list[str] = []
    rows = [row for row in rows if row["Candidate Response"].strip()]
    if not rows:
        return missing
    candidates, golden = ([row[side] for row in rows] for side in ("Candidate Response", "Golden Response"))
    measures: dict[Any, Any] = {_BERT: rg.metrics.bertscore, _COSINE: lambda *texts: [rg.metrics.similarity(*texts)]}
    for columns, measured in measures.items():
        try:
            for column, values in zip(columns, measured(candidates, golden), strict=True):
                for row, value in zip(rows, values, strict=True):
                    row[column] = value
        except Exception as error:  # other libraries may raise anything; the other columns are kept
            missing.append(f"{', '.join(columns)}: empty; {' '.join(str(error).split())}")
    return missing
