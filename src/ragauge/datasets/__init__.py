"""Above the run: making data sets, and having language models answer their questions."""

from __future__ import annotations

from ragauge.datasets.builder import Built, build, build_async
from ragauge.datasets.corpus import Corpus, read_corpus
from ragauge.datasets.generator import Generated, generate, generate_async
from ragauge.datasets.question_set import QuestionSet, difference, plan_questions, questions, questions_async

__all__ = [
    "Built",
    "Corpus",
    "Generated",
    "QuestionSet",
    "build",
    "build_async",
    "difference",
    "generate",
    "generate_async",
    "plan_questions",
    "questions",
    "questions_async",
    "read_corpus",
]
