"""Rows as ragas has them, and judges who read them letter for letter."""

from __future__ import annotations

import re
from typing import Any

from tests.judges.saying import Saying

from ragauge.questions import Decompose, Entail, Question, Relevant
from ragauge.types import Answer, ChunkVerdict, Decomposition, Label, Statement, Verdict

#: Rows in the columns of ragas 0.1; of the two statements of each answer the contexts hold the first.
OLDER: list[dict[str, Any]] = [
    {
        "question": "When does the ferry leave?",
        "answer": "The ferry leaves at nine. Gulls like bread.",
        "contexts": ["The ferry leaves at nine.", "The ferry is white."],
        "ground_truth": "The ferry leaves at nine.",
    },
    {
        "question": "How long does the ferry take?",
        "answer": "The ferry takes 40 minutes. Gulls like fish.",
        "contexts": ["The ferry takes 40 minutes."],
        "ground_truth": "The ferry takes 40 minutes.",
    },
]

#: The same in the columns of today.
ROWS: list[dict[str, Any]] = [
    {
        "user_input": row["question"],
        "retrieved_contexts": row["contexts"],
        "response": row["answer"],
        "reference": row["ground_truth"],
    }
    for row in OLDER
]


def sentences(text: str) -> Decomposition:
    """Each sentence as a statement."""
    return Decomposition(tuple(Statement(f"{sentence}.") for sentence in re.findall(r"[^.]+(?=\.)", text)))


def literally(question: Question) -> Answer:
    """What a judge answers who takes sentences for statements, and looks for them letter for letter."""
    match question:
        case Decompose(text):
            return sentences(text)
        case Entail(premise, hypothesis):
            labels = [Label.ENTAILED if hypothesis.strip() in text else Label.NEUTRAL for text in premise]
            joint = Label.ENTAILED if Label.ENTAILED in labels else Label.NEUTRAL
            return Verdict(joint, chunks=tuple(map(ChunkVerdict, labels)))
        case Relevant(query, text, reference):
            return Verdict(Label.YES if text in (reference or query) else Label.NO)
    raise AssertionError(question)


def literal() -> Saying:
    """Such a judge, who remembers what it was asked."""
    return Saying("literal", literally)


def two_way(label: Label) -> Saying:
    """A model that says the same of all that it checks, in the place of HHEM."""

    def says(question: Question) -> Answer:
        assert isinstance(question, Entail)
        return Verdict(label, chunks=(ChunkVerdict(label),) * len(question.premise))

    return Saying("hhem", says, "entail:support")
