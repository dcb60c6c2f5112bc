"""Models by torch and by ONNX Runtime, from the hub or a folder.

Source: `modeling_hhem_v2.py` beside the weights of vectara/hallucination_evaluation_model (Apache-2.0), which
transformers 5 cannot load. It is FLAN-T5-base's encoder in a `T5ForTokenClassification` of two labels.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ragauge.errors import BadData, BadParameter, MissingExtra
from ragauge.host import disable_telemetry
from ragauge.judges.nli.formats import (
    HF,
    ONNX,
    Family,
    ModelCard,
    NliOptions,
    classes_of,
    family_of,
    parse_nli_spec,
    read_card,
    window_of,
)
from ragauge.judges.nli.judge import NliJudge
from ragauge.judges.nli.scoring import PairTokenizer, first_token, open_tokenizer
from ragauge.judges.onnx import open_session, processors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_CONTENT = frozenset({".safetensors", ".bin", ".onnx", ".data", ".json", ".model", ".txt"})


class ModelLocation(NamedTuple):
    """Where a model's files are. origin: the folder, or the name on the hub. revision: what pins its content."""

    origin: str
    revision: str
    local: bool

    @property
    def name(self) -> str:
        """The name on the hub, or that of the folder."""
        return Path(self.origin).resolve().name if self.local else self.origin

    @property
    def pinned(self) -> dict[str, str]:
        """What transformers takes to load just this revision."""
        return {} if self.local else {"revision": self.revision}

    def file(self, name: str) -> Path | None:
        """One file of it, fetched where it is not here yet; None where it has no such file."""
        if self.local:
            path = Path(self.origin) / name
            return path if path.is_file() else None
        return fetched(self.origin, name, self.revision)


def locate_model(model: str, revision: str | None) -> ModelLocation:
    """The place of a folder or of a model on the hub, of the latter at the commit that `revision` stands for now.

    Where HF_HUB_OFFLINE is set, nothing is fetched, and the commit is that in the cache. Raises BadData where there is
    no such model, BadParameter for a revision of a folder.
    """
    if Path(model).expanduser().is_dir():
        if revision is not None:
            raise BadParameter(
                f"hf/{model}: revision={revision}, but a folder has no revisions: the one that is there is read; leave "
                "the option out, or name the model as the hub does"
            )
        folder = Path(model).expanduser()
        return ModelLocation(str(folder), content_hash(folder), local=True)
    if model.startswith((".", "/", "~")) or model.count("/") > 1:
        raise BadData(f"hf/{model}: there is no such folder; give one that holds a model, or a name on the hub")
    config = fetched(model, "config.json", revision)
    if config is None:
        raise BadData(f"hf/{model}: the model has no config.json; it must be one for transformers")
    return ModelLocation(model, config.parent.name, local=False)


def config_of(place: ModelLocation, name: str = "config.json") -> Mapping[str, Any]:
    """What a file of settings says; nothing where there is none. Raises BadData where it is not JSON."""
    path = place.file(name)
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path else {}
    except (ValueError, RecursionError) as error:
        raise BadData(f"{path}: {error}; it must be JSON") from error
    return found if isinstance(found, dict) else {}


def fetched(model: str, name: str, revision: str | None) -> Path | None:
    """A file from the hub or its cache; None where the model has no such file.

    Raises BadData where the hub does not know the model, or cannot be reached and the cache has nothing.
    """
    if find_spec("huggingface_hub") is None:
        raise MissingExtra(f"hf/{model}", "hf")
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    try:
        return Path(hf_hub_download(model, name, revision=revision))
    except LocalEntryNotFoundError as error:
        if _known_absent(model, name, revision):
            return None
        raise _unreachable(model, error) from error
    except EntryNotFoundError:
        return None
    except Exception as error:  # the hub's errors have no root of their own
        raise _unreachable(model, error) from error


def _known_absent(model: str, name: str, revision: str | None) -> bool:
    """Whether the cache holds the model, or knows of the file that there is none."""
    from huggingface_hub import try_to_load_from_cache

    config = try_to_load_from_cache(model, "config.json", revision=revision)
    return (
        name != "config.json"
        and isinstance(config, str)
        and not isinstance(try_to_load_from_cache(model, name, revision=revision), str)
    )


def _unreachable(model: str, error: Exception) -> BadData:
    first = str(error).strip().partition("\n")[0]
    return BadData(
        f"hf/{model}: {type(error).__name__}: {first}; check the name, or give a folder that holds the model, as in "
        "hf/./folder (HF_TOKEN opens models that ask for consent)"
    )


def content_hash(folder: Path) -> str:
    """A hash of the files that make a model what it is, its weights among them (16 hex digits)."""
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.suffix in _CONTENT and path.is_file():
            with path.open("rb") as file:
                digest.update(path.name.encode() + b"\0" + hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]


_PREFIX = "t5."
_LAYER = re.compile(r"transformer\.encoder\.block\.(\d+)\.")
_FIRST = "transformer.encoder.block.0.layer"
_SHARED = "transformer.shared.weight"
_EMBEDDED = "transformer.encoder.embed_tokens.weight"


def load_hhem(place: ModelLocation, options: dict[str, Any]) -> Any:
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


#: From a network, tokens, a mask and perhaps types of tokens to a row of class logits for each input.
Say = Callable[..., Any]

#: Tokens at once: a processor gains nothing from more.
_TORCH_MODEL_BUDGET = {"cpu": 2048}
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
        self, network: Any, say: Say, card: ModelCard, reader: PairTokenizer, device: str, batch_tokens: int | None
    ) -> None:
        self.network, self.say, self.card, self.reader = network, say, card, reader
        self.device = f"{device}, {network.dtype}".replace("torch.", "")
        self.batch_tokens = batch_tokens or _TORCH_MODEL_BUDGET.get(device, _BUDGET_OF_OTHERS)

    def logits(self, ids: NDArray[np.int64], mask: NDArray[np.int64], type_ids: NDArray[np.int64]) -> NDArray[Any]:
        """A row for each input, a number for each class."""
        import torch

        arrays = (ids, mask, type_ids) if self.card.type_ids else (ids, mask)
        with torch.inference_mode():
            given = [torch.from_numpy(array).to(self.network.device) for array in arrays]
            said: NDArray[Any] = self.say(self.network, *given).float().cpu().numpy()
        return said


def loaded(
    place: ModelLocation,
    card: ModelCard,
    tokenizer: Any,
    device: str,
    dtype: str,
    batch_tokens: int | None,
    attention: str | None,
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
    return TorchModel(network, say, card, PairTokenizer(tokenizer, card), device, batch_tokens)


def _network(place: ModelLocation, card: ModelCard, tokenizer: Any, options: dict[str, Any]) -> tuple[Any, Say]:
    from transformers import AutoModelForSeq2SeqLM, AutoModelForSequenceClassification

    if card.family == "hhem":
        return load_hhem(place, options), said_of_the_first
    options = {**options, **place.pinned, "trust_remote_code": False}
    if card.family in ("true", "minicheck-t5"):
        writer = AutoModelForSeq2SeqLM.from_pretrained(place.origin, **options)
        return writer, first_written(first_token(tokenizer, "0"), first_token(tokenizer, "1"))
    return AutoModelForSequenceClassification.from_pretrained(place.origin, **options), classified


#: HHEM has no tokenizer of its own.
_FOUNDATION = "google/flan-t5-base"


def hf_judge(spec: str) -> NliJudge:
    """The judge that a spec such as `hf/vectara/hallucination_evaluation_model?device=cpu` asks for.

    Nothing but its settings and its tokenizer is fetched before the first question.

    Raises MissingExtra without torch and transformers, BadData where there is no such model, BadParameter where it
    cannot be told how the model is asked or what its classes mean, UnknownName for an option that there is not.
    """
    asked = parse_nli_spec(spec, HF)
    for library in ("torch", "transformers"):
        if find_spec(library) is None:
            raise MissingExtra(f"{asked.spec} by torch", "hf")
    source = ModelSource(asked.model, asked.options, asked.spec)
    card, dtype = source.card, asked.options.dtype or _dtype(source.card.family, source.device)
    return NliJudge(f"hf/{card.source}", card, lambda: source.load(dtype), (("dtype", dtype),))


class ModelSource:
    """A model that torch can run: its card, its tokenizer, and how to load it."""

    def __init__(self, model: str, options: NliOptions, spec: str) -> None:
        disable_telemetry()  # before torch, transformers and the client of the hub are imported
        place = self.place = locate_model(model, options.revision)
        self.options = options
        self.device = options.device or _device()
        config, settings = config_of(place), config_of(place, "tokenizer_config.json")
        family = family_of(config, place.name, options.family, spec)
        self.tokenizer, self._end, borrowed = _tokenizer(place, config, family)
        pad = config.get("pad_token_id")
        self.card = ModelCard(
            source=place.name,
            revision=place.revision,
            family=family,
            labels=classes_of(family, config, options.labels, spec),
            window=window_of(family, config, settings, options.window, spec),
            pad=0 if pad is None else pad,
            end=self._end if family.startswith("minicheck") else "",
            type_ids=int(config.get("type_vocab_size") or 0) > 1,
            tokenizer=borrowed,
        )

    def load(self, dtype: str, attention: str | None = None) -> TorchModel:
        """The model, its weights fetched where they are not here yet."""

        return loaded(self.place, self.card, self.tokenizer, self.device, dtype, self.options.batch_tokens, attention)


def _device() -> str:
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _dtype(family: Family, device: str) -> str:
    """Half the bits where that is faster and no published score is at stake; T5 overflows in float16."""
    if device == "cpu" or family == "hhem":
        return "float32"
    if family in ("true", "minicheck-t5"):
        return "bfloat16"
    return "float16"


def _tokenizer(place: ModelLocation, config: Any, family: Family) -> tuple[Any, str, str]:
    """The tokenizer, the text of the token that ends a sequence, and where the tokenizer is from, if from elsewhere."""
    path = place.file("tokenizer.json")
    if path is not None:
        settings = config_of(place, "tokenizer_config.json")
        return open_tokenizer(path), _text(settings.get("eos_token") or settings.get("sep_token") or "</s>"), ""
    if family == "hhem":
        tokenizer, origin = _foundation(str(config.get("foundation") or _FOUNDATION))
        return tokenizer, "", origin
    return *_converted(place), ""


def _foundation(name: str) -> tuple[Any, str]:
    """The tokenizer of the model that HHEM was made from, and which one it is."""
    place = locate_model(name, None)
    path = place.file("tokenizer.json")
    if path is None:
        raise BadData(f"hf/{name}: it has no tokenizer.json, which HHEM needs")
    return open_tokenizer(path), f"{place.name}@{place.revision}"


def _converted(place: ModelLocation) -> tuple[Any, str]:
    """The tokenizer of a model that has it in an older form."""
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(place.origin, **place.pinned, trust_remote_code=False)
        return tokenizer.backend_tokenizer, str(tokenizer.eos_token or tokenizer.sep_token or "</s>")
    except Exception as error:
        raise BadData(
            f"hf/{place.origin}: its tokenizer cannot be read ({error}); it needs a tokenizer.json"
        ) from error


def _text(token: Any) -> str:
    """A special token is written as a text, or as an object with one."""
    return str(token["content"] if isinstance(token, dict) else token)


MODEL = "model.onnx"
TOKENIZER = "tokenizer.json"

_ONNX_BUDGET = 2048


def onnx_judge(spec: str) -> NliJudge:
    """The judge that a spec such as `onnx/models/minilm?threads=2` asks for.

    Raises MissingExtra without onnxruntime and tokenizers, BadData where the folder does not hold an exported model,
    UnknownName for an option that there is not.
    """
    asked = parse_nli_spec(spec, ONNX)
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

    def __init__(self, folder: Path, card: ModelCard, options: NliOptions) -> None:
        self.card = card
        self.reader = PairTokenizer(open_tokenizer(folder / TOKENIZER), card)
        self.workers = options.threads or processors()
        self.device = f"cpu by ONNX Runtime, {'int8' if card.quantised else 'float32'}, threads: {self.workers}"
        self.batch_tokens = 0 if card.quantised else options.batch_tokens or _ONNX_BUDGET
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
