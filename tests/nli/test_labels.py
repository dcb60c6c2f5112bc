from __future__ import annotations

import pytest

from ragauge.errors import BadParameter
from ragauge.judges.nli.models import labels_of
from ragauge.types import Label

_C, _E, _N, _NOT = Label.CONTRADICTED, Label.ENTAILED, Label.NEUTRAL, Label.NOT_ENTAILED


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        ({"0": "contradiction", "1": "entailment", "2": "neutral"}, (_C, _E, _N)),
        ({"2": "CONTRADICTION", "1": "NEUTRAL", "0": "ENTAILMENT"}, (_E, _N, _C)),
        ({0: "entailment", 1: "not_entailment"}, (_E, _NOT)),
        ({"0": "SUPPORTS", "1": "REFUTES", "2": "NOT ENOUGH INFO"}, (_E, _C, _N)),
        ({"0": "not entailed", "1": "entailed"}, (_NOT, _E)),
    ],
)
def test_names_of_classes_are_read(names: dict[object, str], labels: tuple[Label, ...]) -> None:
    """The names that published models give their classes are known, in any case and order."""
    assert labels_of({"id2label": names}, None, "hf/m") == labels


@pytest.mark.parametrize(
    "names",
    [
        {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"},
        {"0": "entailment", "1": "neutral"},
        {"0": "entailment", "1": "entailed"},
        {"0": "LABEL_0"},
        {},
    ],
)
def test_names_that_say_nothing_are_refused(names: dict[str, str]) -> None:
    """Classes without telling names end in an error that shows how to name them."""
    with pytest.raises(BadParameter, match=r"hf/m\?labels=contradicted:entailed:neutral"):
        labels_of({"id2label": names}, None, "hf/m")


def test_the_caller_may_name_the_classes() -> None:
    """What the caller says goes before what the model says, but must be as many classes."""
    config = {"id2label": {"0": "LABEL_0", "1": "LABEL_1"}}

    assert labels_of(config, "not_entailed:entailed", "hf/m") == (_NOT, _E)
    with pytest.raises(BadParameter, match="names 3 classes, and the model has 2"):
        labels_of(config, "contradicted:entailed:neutral", "hf/m")
