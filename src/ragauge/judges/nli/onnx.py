"""Judges by ONNX Runtime: a folder that `ragauge judges export` wrote. No torch is needed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragauge.errors import BadData, MissingExtra
from ragauge.judges.nli.card import Card, read_card
from ragauge.judges.nli.hub import content_hash
from ragauge.judges.nli.judge import NliJudge
from ragauge.judges.nli.options import ONNX, Options, parse
from ragauge.judges.nli.reading import Reader, open_tokenizer
from ragauge.judges.onnx_session import open_session, processors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MODEL = "model.onnx"
TOKENIZER = "tokenizer.json"

_BUDGET = 2048


def onnx_judge(spec: str) -> NliJudge:
    """The judge that a spec such as `onnx/models/minilm?threads=2` asks for.

    Raises MissingExtra without onnxruntime and tokenizers, BadData where the folder does not hold an exported model,
    UnknownName for an option that there is not.
    """
    asked = parse(spec, ONNX)
    for library in ("onnxruntime", "tokenizers"):
        if find_spec(library) is None:
            raise MissingExtra(asked.spec, "onnx")
    folder = Path(asked.model).expanduser()
    card = read_card(folder)
    for name in (MODEL, TOKENIZER):
        if not (folder / name).is_file():
            raise BadData(f"{asked.spec}: the folder has no {name}; export the model again")
    pinned = (("files", content_hash(folder)), ("source", card.source))
    return NliJudge(f"onnx/{folder.resolve().name}", card, lambda: OnnxModel(folder, card, asked.options), pinned)


class OnnxModel:
    """An exported model, open; see `ragauge.judges.nli.scoring.Model`.

    Each batch is one thread's work, as many side by side as there are threads: on short texts that is faster than all
    threads on one batch. A quantised model reads pair by pair, since it takes its scales from all it is given at once,
    and a pair's answer would change with the others in its batch.
    """

    def __init__(self, folder: Path, card: Card, options: Options) -> None:
        self.card = card
        self.reader = Reader(open_tokenizer(folder / TOKENIZER), card)
        self.workers = options.threads or processors()
        self.device = f"cpu by ONNX Runtime, {'int8' if card.quantised else 'float32'}, threads: {self.workers}"
        self.batch_tokens = 0 if card.quantised else options.batch_tokens or _BUDGET
        self._session = _session(folder / MODEL)
        self._inputs = [each.name for each in self._session.get_inputs()]

    def logits(self, ids: NDArray[np.int64], mask: NDArray[np.int64], type_ids: NDArray[np.int64]) -> NDArray[Any]:
        """A row for each input, a number for each class."""
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": type_ids}
        said: NDArray[Any] = self._session.run(None, {name: given[name] for name in self._inputs})[0]
        return said


def _session(path: Path) -> Any:
    try:
        return open_session(path)
    except Exception as error:  # the runtime raises nothing narrower
        raise BadData(f"{path}: {error}; export the model again") from error
