from __future__ import annotations

import pytest

from ragauge.errors import BadParameter, UnknownName
from ragauge.judges.nli.models import NliOptions, parse_nli_spec


def test_options_are_read() -> None:
    """A spec is taken apart into the model and its options; a folder may be written with slashes."""
    asked = parse_nli_spec("hf/org/model?revision=v1&device=cuda:1&dtype=float16&labels=entailed:not_entailed")

    assert (asked.spec, asked.model) == ("hf/org/model", "org/model")
    assert asked.options == NliOptions("v1", "cuda:1", "float16", labels="entailed:not_entailed")
    assert parse_nli_spec("hf/./a/b?window=64").model == "./a/b"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("hf/", "write hf/MODEL"),
        ("hf/m?device=tpu", "device: must be cpu, mps, cuda"),
        ("hf/m?window=4", "window: must be a count of tokens, 32 or more"),
        ("hf/m?batch_tokens=0", "batch_tokens: must be"),
        ("hf/m?dtype", "give it a value, as in .dtype=VALUE"),
        ("hf/m?dtype=float16&dtype=float32", "is given twice"),
    ],
)
def test_values_that_cannot_be(spec: str, message: str) -> None:
    """A value out of range is refused, with what it must be."""
    with pytest.raises(BadParameter, match=message):
        parse_nli_spec(spec)


def test_an_unknown_option_is_named() -> None:
    """An option that there is not is refused by its name."""
    with pytest.raises(UnknownName, match="unknown option 'threads'"):
        parse_nli_spec("hf/m?threads=2")
