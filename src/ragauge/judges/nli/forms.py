"""How a pair is written for a model: each family's own form."""

from __future__ import annotations

from ragauge.judges.embedded.lexical.answer_forms import is_fragment
from ragauge.judges.nli.card import Card, Family
from ragauge.questions import Entail

#: A premise and a hypothesis.
Pair = tuple[str, str]

#: Raised with every change that can change an answer.
FORM = "2"

#: The one text that a model reads; classifiers read the two as a pair.
#: hhem: `modeling_hhem_v2.py` of vectara/hallucination_evaluation_model. true: the card of
#: google/t5_xxl_true_nli_mixture, and ALCE. minicheck: `minicheck/inference.py` of Liyan06/MiniCheck.
FORMS: dict[Family, str] = {
    "hhem": "<pad> Determine if the hypothesis is true given the premise?\n\nPremise: {0}\n\nHypothesis: {1}",
    "true": "premise: {0} hypothesis: {1}",
    "minicheck": "{0}{end}{1}",
    "minicheck-t5": "predict: {0}{end}{1}",
}


def written(card: Card, pair: Pair) -> str | Pair:
    """What the model reads for a pair."""
    form = FORMS.get(card.family)
    return form.format(*pair, end=card.end) if form else pair


def joint(question: Entail) -> Pair:
    """The chunks together, in their order, a line apart; and the hypothesis.

    A fragment ("Six days.") is read with the query before it, as Trust-Align does where it labels short answers: these
    models know statements and not answers. So is a premise that is a fragment, as an answer is that is held against a
    reference; chunks of a longer premise stand for themselves.
    """
    premise = "\n".join(text for text in question.premise if text.strip())
    if len(question.premise) == 1:
        premise = _told(premise, question.query)
    return premise, _told(question.hypothesis, question.query)


def alone(question: Entail) -> list[Pair]:
    """Each chunk by itself with the hypothesis, in the order of the chunks."""
    if len(question.premise) == 1:
        return [joint(question)]
    hypothesis = _told(question.hypothesis, question.query)
    return [(text if text.strip() else "", hypothesis) for text in question.premise]


def _told(text: str, query: str | None) -> str:
    return f"{query} {text}" if query and query.strip() and is_fragment(text) else text
