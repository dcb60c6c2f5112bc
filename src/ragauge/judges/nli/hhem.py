"""HHEM-2.1-Open without its own code: the encoder of T5 with a head that labels tokens, and the published weights.

Source: `modeling_hhem_v2.py` beside the weights of vectara/hallucination_evaluation_model (Apache-2.0), which
transformers 5 cannot load. It is FLAN-T5-base's encoder in a `T5ForTokenClassification` of two labels.
"""

from __future__ import annotations

import re
from typing import Any

from ragauge.errors import BadData
from ragauge.judges.nli.hub import Place

_PREFIX = "t5."
_LAYER = re.compile(r"transformer\.encoder\.block\.(\d+)\.")
_FIRST = "transformer.encoder.block.0.layer"
_SHARED = "transformer.shared.weight"
_EMBEDDED = "transformer.encoder.embed_tokens.weight"


def load_hhem(place: Place, options: dict[str, Any]) -> Any:
    """The model, from the weights in `model.safetensors`. Raises BadData where they are not HHEM's."""
    from safetensors.torch import load_file
    from transformers import T5ForTokenClassification

    path = place.file("model.safetensors")
    if path is None:
        raise BadData(f"hf/{place.origin}: HHEM's weights must be in model.safetensors")
    weights = {name.removeprefix(_PREFIX): tensor for name, tensor in load_file(path).items()}
    weights.setdefault(_SHARED, weights.get(_EMBEDDED))
    weights.setdefault(_EMBEDDED, weights.get(_SHARED))
    try:
        config = _config(weights, options.get("attn_implementation"))
    except (KeyError, AttributeError) as error:
        raise BadData(f"hf/{place.origin}: these are not the weights of HHEM-2.1-Open: {error} is missing") from error
    model = T5ForTokenClassification(config)
    model.load_state_dict(weights)
    return model.to(options["dtype"])


def _config(weights: dict[str, Any], attention: str | None) -> Any:
    """The sizes, which the weights tell; what they do not tell is as in FLAN-T5."""
    from transformers import T5Config

    bias = weights[f"{_FIRST}.0.SelfAttention.relative_attention_bias.weight"]
    query = weights[f"{_FIRST}.0.SelfAttention.q.weight"]
    vocabulary, width = weights[_SHARED].shape
    layers = {match[1] for name in weights if (match := _LAYER.match(name))}
    return T5Config(
        vocab_size=vocabulary,
        d_model=width,
        d_kv=query.shape[0] // bias.shape[1],
        d_ff=weights[f"{_FIRST}.1.DenseReluDense.wi_0.weight"].shape[0],
        num_layers=len(layers),
        num_heads=bias.shape[1],
        relative_attention_num_buckets=bias.shape[0],
        relative_attention_max_distance=128,
        feed_forward_proj="gated-gelu",
        num_labels=weights["classifier.weight"].shape[0],
        tie_word_embeddings=False,
        attn_implementation=attention,
    )
