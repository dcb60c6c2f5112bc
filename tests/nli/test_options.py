from __future__ import annotations

import pytest

from ragauge.errors import BadParameter, UnknownName
from ragauge.judges.nli.models import HF, ONNX, NliOptions, parse_nli_spec


def test_options_are_read() -> None:
    """A spec is taken apart into the model and its options; a folder may be written with slashes."""
    asked = parse_nli_spec("hf/org/model?revision=v1&device=cuda:1&dtype=float16&labels=entailed:not_entailed", HF)

    assert (asked.spec, asked.model) == ("hf/org/model", "org/model")
    assert asked.options == NliOptions("v1", "cuda:1", "float16", labels="entailed:not_entailed")
    assert parse_nli_spec("onnx/./a/b?threads=1", ONNX).model == "./a/b"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("hf/", "write hf/MODEL"),
        ("hf/m?device=tpu", "device: must be cpu, mps, cuda"),
        ("hf/m?window=4", "window: must be a count of tokens, 32 or more"),
        ("hf/m?batch_tokens=0", "batch_tokens: must be"),
        ("hf/m?dtype", "give it a value, as in .dtype=bfloat16"),
        ("hf/m?dtype=float16&dtype=float32", "is given twice"),
    ],
)
def test_values_that_cannot_be(spec: str, message: str) -> None:
    """A value out of range is refused, with what it must be."""
    with pytest.raises(BadParameter, match=message):
        parse_nli_spec(spec, HF)


def test_options_of_another_kind_of_judge_are_unknown() -> None:
    """What an exported model is was settled by its export: the family is no option of it."""
    with pytest.raises(UnknownName, match="unknown option 'family'"):
        parse_nli_spec("onnx/m?family=true", ONNX)
