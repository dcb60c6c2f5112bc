"""The public names and their modules, for `ragauge.lazy` and type checkers."""

from ragauge.datasets.builder import Built as Built
from ragauge.datasets.builder import build as build
from ragauge.datasets.builder import build_async as build_async
from ragauge.datasets.corpus import Corpus as Corpus
from ragauge.datasets.corpus import read_corpus as read_corpus
from ragauge.datasets.generator import Generated as Generated
from ragauge.datasets.generator import generate as generate
from ragauge.datasets.generator import generate_async as generate_async
from ragauge.datasets.question_set import QuestionSet as QuestionSet
from ragauge.datasets.question_set import difference as difference
from ragauge.datasets.question_set import plan_questions as plan_questions
from ragauge.datasets.question_set import questions as questions
from ragauge.datasets.question_set import questions_async as questions_async

__all__: list[str]
