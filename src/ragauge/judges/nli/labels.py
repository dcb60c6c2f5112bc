"""The labels of a model's classes: under whatever names, in whatever order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ragauge.errors import BadParameter
from ragauge.types import Label

TWO_WAY = (Label.NOT_ENTAILED, Label.ENTAILED)

_NAMES = {
    Label.ENTAILED: "entailment entailed entail entails support supports supported consistent",
    Label.NEUTRAL: "neutral notenoughinfo",
    Label.CONTRADICTED: "contradiction contradicted contradict contradicts contradictory refute refutes refuted",
    Label.NOT_ENTAILED: "notentailment notentailed nonentailment unsupported notsupported inconsistent notsupport",
}
_BY_NAME = {name: label for label, names in _NAMES.items() for name in names.split()}

_WAYS = (
    frozenset({Label.ENTAILED, Label.NEUTRAL, Label.CONTRADICTED}),
    frozenset({Label.ENTAILED, Label.NOT_ENTAILED}),
)


def labels_of(config: Mapping[str, Any], given: str | None, spec: str) -> tuple[Label, ...]:
    """The labels of a classifier's classes in their order, from its `id2label`, or as the caller gives them.

    given: names with colons between them, such as "contradicted:entailed:neutral"; the first is that of class 0.

    Raises BadParameter where the names do not say which class is which.
    """
    named = config.get("id2label") or {}
    names = given.split(":") if given else [str(named[key]) for key in sorted(named, key=int)]
    found = [_BY_NAME.get(_plain(name)) for name in names]
    labels = tuple(label for label in found if label is not None)
    if len(labels) != len(names) or len(set(labels)) != len(labels) or frozenset(labels) not in _WAYS:
        raise BadParameter(_unclear(names, spec))
    if given and named and len(named) != len(labels):
        raise BadParameter(f"{spec}: labels={given} names {len(labels)} classes, and the model has {len(named)}")
    return labels


def _plain(name: str) -> str:
    """A name without case and punctuation: "NOT_ENTAILMENT" and "not entailment" are one."""
    return "".join(character for character in name.lower() if character.isalpha())


def _unclear(names: Sequence[str], spec: str) -> str:
    said = f"its classes are called {', '.join(names)}, which does not say which is which"
    return (
        f"{spec}: {said if names else 'the model does not name its classes'}; name them in its order, which its card "
        f"says, as in {spec}?labels=contradicted:entailed:neutral, or ?labels=not_entailed:entailed for two classes"
    )
