"""The small world as an ONNX graph written by hand: what an exported cross-encoder of three classes looks like."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from tests.nli.tokens import bert_tokenizer
from tests.nli.weather import CONTRARY, MAKES

from ragauge.judges.nli.judge import ModelCard
from ragauge.judges.nli.models import write_card
from ragauge.types import Label

LABELS = (Label.NEUTRAL, Label.CONTRADICTED, Label.ENTAILED)


def write_graph(folder: Path, window: int = 64, revision: str = "by-hand") -> Path:
    """A folder such as `ragauge judges export` writes, with a model that is always right about the weather."""
    import onnx

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = bert_tokenizer()
    onnx.save(_model(tokenizer), str(folder / "model.onnx"))
    tokenizer.save(str(folder / "tokenizer.json"))
    write_card(ModelCard("by-hand", revision, "classifier", LABELS, window, type_ids=True), folder)
    return folder


def _model(tokenizer: Any) -> Any:
    from onnx import TensorProto, helper, numpy_helper

    size = tokenizer.get_vocab_size()
    constants = {
        "size": np.array(size, dtype=np.int64),
        "values": np.array([0.0, 1.0], dtype=np.float32),
        "makes": _matrix(tokenizer, MAKES),
        "contrary": _matrix(tokenizer, CONTRARY),
        "minus": np.array([-1], dtype=np.int64),
        "weights": _WEIGHTS,
        "bias": np.array([2.0, -4.0, 0.0], dtype=np.float32),
    }
    tokens = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["pairs", "tokens"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    logits = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["pairs", 3])]
    held = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(
        [helper.make_node(*node, **more) for node, more in _NODES], "weather", tokens, logits, held
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx_checked(made)
    return made


def onnx_checked(model: Any) -> None:
    """The graph is one that ONNX allows."""
    import onnx

    onnx.checker.check_model(model)


def _matrix(tokenizer: Any, pairs: dict[str, str]) -> np.ndarray[Any, np.dtype[np.float32]]:
    size = tokenizer.get_vocab_size()
    matrix = np.zeros((size, size), dtype=np.float32)
    for claim, word in pairs.items():
        matrix[tokenizer.token_to_id(claim), tokenizer.token_to_id(word)] = 1
    return matrix


#: From (claims there are, what they lack, what contradicts them), each 0 or 1, to neutral, contradicted, entailed.
_WEIGHTS = np.array([[0, 0, 8], [0, 0, -20], [0, 20, -20]], dtype=np.float32)

_NODES: list[tuple[tuple[str, list[str], list[str]], dict[str, Any]]] = [
    (("OneHot", ["input_ids", "size", "values"], ["words"]), {"axis": -1}),
    (("Cast", ["token_type_ids"], ["second"]), {"to": 1}),
    (("Cast", ["attention_mask"], ["there"]), {"to": 1}),
    (("Sub", ["there", "second"], ["first"]), {}),
    (("Unsqueeze", ["first", "minus"], ["first3"]), {}),
    (("Unsqueeze", ["second", "minus"], ["second3"]), {}),
    (("Mul", ["words", "first3"], ["premise3"]), {}),
    (("Mul", ["words", "second3"], ["hypothesis3"]), {}),
    (("ReduceMax", ["premise3"], ["premise"]), {"axes": [1], "keepdims": 0}),
    (("ReduceMax", ["hypothesis3"], ["hypothesis"]), {"axes": [1], "keepdims": 0}),
    (("MatMul", ["hypothesis", "makes"], ["wanted"]), {}),
    (("Sub", ["wanted", "premise"], ["short"]), {}),
    (("Relu", ["short"], ["lacking"]), {}),
    (("MatMul", ["hypothesis", "contrary"], ["against"]), {}),
    (("Mul", ["against", "premise"], ["contradicting"]), {}),
    (("ReduceMax", ["wanted"], ["a"]), {"axes": [1], "keepdims": 1}),
    (("ReduceMax", ["lacking"], ["b"]), {"axes": [1], "keepdims": 1}),
    (("ReduceMax", ["contradicting"], ["c"]), {"axes": [1], "keepdims": 1}),
    (("Concat", ["a", "b", "c"], ["seen"]), {"axis": 1}),
    (("Gemm", ["seen", "weights", "bias"], ["logits"]), {}),
]
