"""What others published of larger models on the benchmarks that labelled sets come from."""

from __future__ import annotations

from collections.abc import Collection

import msgspec


class Published(msgspec.Struct, frozen=True):
    """A published figure.

    benchmark: of what. sets: the labelled sets that come from it; a figure is held beside that of a set where there is
    but one. system: what was measured, with its size where that is known. figure: which one. value: between 0 and 1.
    source: where it stands. differs: how it differs from what is measured here.
    """

    benchmark: str
    sets: tuple[str, ...]
    system: str
    figure: str
    value: float
    source: str
    differs: str


_LABAN = "Laban et al., SummEdits, EMNLP 2023, arXiv:2305.14540"
_FACTUAL_NLG = "table in the README of github.com/salesforce/factualNLG, 2023"
_HHEM = "model card of vectara/hallucination_evaluation_model, huggingface.co, 2024, table RAGTruth-QA"
_AGGREFACT = "leaderboard of LLM-AggreFact, llm-aggrefact.github.io, 2024"
_TEN_DOMAINS = "the mean of ten domains; here all rows together, of eight"
_ALL_ROWS = "all rows of that test split; here those in the folder"
_ELEVEN_SETS = "the mean of eleven sets; ExpertQA, RAGTruth and WiCE are among them, cut into rows in another way"

_SUMM_EDITS = ("SummEdits", ("ent_summedits",))
_RAG_TRUTH = ("RAGTruth QA", ("rag_ragtruth_qa_test",))
_ATTRIBUTION_BENCH = ("AttributionBench", ("cit_attributionbench",))
_LLM_AGGREFACT = ("LLM-AggreFact", ("cit_expertqa", "ent_wice_oracle_chunks", "rag_ragtruth_qa_test"))
_SUMM_EVAL = ("SummEval", ("coh_summeval",))

#: Only figures whose source could be read, each with how it differs.
PUBLISHED = (
    Published(*_SUMM_EDITS, "people", "balanced accuracy", 0.909, _LABAN, f"estimated, {_TEN_DOMAINS}"),
    Published(*_SUMM_EDITS, "GPT-4", "balanced accuracy", 0.824, _LABAN, _TEN_DOMAINS),
    Published(*_SUMM_EDITS, "PaLM-bison", "balanced accuracy", 0.690, _FACTUAL_NLG, _TEN_DOMAINS),
    Published(*_SUMM_EDITS, "QAFactEval", "balanced accuracy", 0.655, _FACTUAL_NLG, _TEN_DOMAINS),
    Published(*_SUMM_EDITS, "SummaC-Conv", "balanced accuracy", 0.571, _FACTUAL_NLG, _TEN_DOMAINS),
    Published(*_RAG_TRUTH, "HHEM-2.1-Open (0.1B)", "balanced accuracy", 0.743, _HHEM, _ALL_ROWS),
    Published(*_RAG_TRUTH, "GPT-4-0613", "balanced accuracy", 0.741, _HHEM, _ALL_ROWS),
    Published(*_RAG_TRUTH, "GPT-3.5-Turbo", "balanced accuracy", 0.562, _HHEM, _ALL_ROWS),
    Published(
        *_ATTRIBUTION_BENCH,
        "GPT-3.5, fine-tuned on it",
        "macro-F1",
        0.80,
        "Li et al., AttributionBench, Findings of ACL 2024, arXiv:2402.15089, abstract",
        "around 80 %, on its test sets; here the development set is among the rows",
    ),
    Published(*_LLM_AGGREFACT, "Bespoke-MiniCheck (7B)", "balanced accuracy", 0.774, _AGGREFACT, _ELEVEN_SETS),
    Published(*_LLM_AGGREFACT, "GPT-4o", "balanced accuracy", 0.759, _AGGREFACT, _ELEVEN_SETS),
    Published(
        *_SUMM_EVAL,
        "G-Eval (GPT-4)",
        "rank correlation",
        0.514,
        "Liu et al., G-Eval, EMNLP 2023, arXiv:2303.16634, abstract",
        "the mean over coherence and three other qualities, and within documents; here over all rows",
    ),
)


def published(names: Collection[str]) -> list[Published]:
    """The figures that can be held beside one of the sets called `names`."""
    return [one for one in PUBLISHED if any(name in names for name in one.sets)]
