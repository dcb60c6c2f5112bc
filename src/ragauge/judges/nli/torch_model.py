"""Models by torch, each made to say one number a class."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ragauge.errors import BadData
from ragauge.judges.nli.card import Card
from ragauge.judges.nli.hhem import load_hhem
from ragauge.judges.nli.hub import Place
from ragauge.judges.nli.reading import Reader, first_token

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: From a network, tokens, a mask and perhaps types of tokens to a row of class logits for each input.
Say = Callable[..., Any]

#: Tokens at once: a processor gains nothing from more.
_BUDGET = {"cpu": 2048}
_BUDGET_OF_OTHERS = 65_536


def classified(network: Any, ids: Any, mask: Any, *type_ids: Any) -> Any:
    """What a sequence classifier says."""
    more = {"token_type_ids": type_ids[0]} if type_ids else {}
    return network(input_ids=ids, attention_mask=mask, **more).logits


def said_of_the_first(network: Any, ids: Any, mask: Any) -> Any:
    """HHEM labels tokens; what it says of the first, a padding token put there for it, is said of the pair."""
    return network(input_ids=ids, attention_mask=mask).logits[:, 0]


def first_written(zero: int, one: int) -> Say:
    """Of a model that writes "0" or "1": how likely each is as the first token that it writes."""

    def say(network: Any, ids: Any, mask: Any) -> Any:
        start = ids.new_full((ids.shape[0], 1), network.config.decoder_start_token_id)
        said = network(input_ids=ids, attention_mask=mask, decoder_input_ids=start, use_cache=False)
        return said.logits[:, 0, [zero, one]]

    return say


class TorchModel:
    """A model in memory; see `ragauge.judges.nli.scoring.Model`. network: the model of transformers. say: asks it."""

    workers = 1

    def __init__(
        self, network: Any, say: Say, card: Card, reader: Reader, device: str, batch_tokens: int | None
    ) -> None:
        self.network, self.say, self.card, self.reader = network, say, card, reader
        self.device = f"{device}, {network.dtype}".replace("torch.", "")
        self.batch_tokens = batch_tokens or _BUDGET.get(device, _BUDGET_OF_OTHERS)

    def logits(self, ids: NDArray[np.int64], mask: NDArray[np.int64], type_ids: NDArray[np.int64]) -> NDArray[Any]:
        """A row for each input, a number for each class."""
        import torch

        arrays = (ids, mask, type_ids) if self.card.type_ids else (ids, mask)
        with torch.inference_mode():
            given = [torch.from_numpy(array).to(self.network.device) for array in arrays]
            said: NDArray[Any] = self.say(self.network, *given).float().cpu().numpy()
        return said


def loaded(
    place: Place, card: Card, tokenizer: Any, device: str, dtype: str, batch_tokens: int | None, attention: str | None
) -> TorchModel:
    """The model of a place. attention: how it is computed, where not as the library prefers.

    Raises BadData where the weights are not those of such a model.
    """
    import torch

    options = {"dtype": getattr(torch, dtype), **({"attn_implementation": attention} if attention else {})}
    try:
        network, say = _network(place, card, tokenizer, options)
        network = network.to(torch.device(device)).eval()
    except (OSError, RuntimeError, ValueError, KeyError) as error:
        raise BadData(f"hf/{place.origin}: {error}") from error
    return TorchModel(network, say, card, Reader(tokenizer, card), device, batch_tokens)


def _network(place: Place, card: Card, tokenizer: Any, options: dict[str, Any]) -> tuple[Any, Say]:
    from transformers import AutoModelForSeq2SeqLM, AutoModelForSequenceClassification

    if card.family == "hhem":
        return load_hhem(place, options), said_of_the_first
    options = {**options, **place.pinned, "trust_remote_code": False}
    if card.family in ("true", "minicheck-t5"):
        writer = AutoModelForSeq2SeqLM.from_pretrained(place.origin, **options)
        return writer, first_written(first_token(tokenizer, "0"), first_token(tokenizer, "1"))
    return AutoModelForSequenceClassification.from_pretrained(place.origin, **options), classified
