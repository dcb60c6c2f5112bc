"""Models by torch, from the hub or a folder."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from ragauge.arrays import NDArray, np
from ragauge.errors import BadData, BadParameter, MissingExtra
from ragauge.host import disable_telemetry
from ragauge.judges.base import must_be, parsed_options, split_options
from ragauge.judges.nli.judge import Family, ModelCard, NliJudge, PairTokenizer
from ragauge.types import Label

_Count = Annotated[int, msgspec.Meta(ge=1)]
_Window = Annotated[int, msgspec.Meta(ge=32)]
_Device = Annotated[str, msgspec.Meta(pattern=r"^(cpu|mps|cuda(:\d+)?)$")]
_Dtype = Literal["float32", "bfloat16", "float16"]
_Named = Literal["classifier", "hhem", "true", "minicheck"]


class NliOptions(msgspec.Struct, frozen=True):
    """The options of an NLI judge. None: chosen by model and machine."""

    revision: Annotated[str | None, must_be("a branch, tag or commit, such as revision=main")] = None
    device: Annotated[_Device | None, must_be("cpu, mps, cuda or cuda:NUMBER, such as device=cuda:0")] = None
    dtype: Annotated[_Dtype | None, must_be("float32, bfloat16 or float16, such as dtype=bfloat16")] = None
    batch_tokens: Annotated[_Count | None, must_be("a count of tokens, such as batch_tokens=4096")] = None
    labels: Annotated[
        str | None, must_be("the classes in their order, such as labels=contradicted:entailed:neutral")
    ] = None
    family: Annotated[_Named | None, must_be("classifier, hhem, true or minicheck, such as family=true")] = None
    window: Annotated[_Window | None, must_be("a count of tokens, 32 or more, such as window=512")] = None


class NliSpec(NamedTuple):
    """A parsed spec. spec: without its options. model: a name on the hub, or a folder."""

    spec: str
    model: str
    options: NliOptions


def parse_nli_spec(spec: str) -> NliSpec:
    """Read a spec such as `hf/MODEL?revision=main`. Raises UnknownName for an unknown option, and BadParameter."""
    name, options = split_options(spec)
    _, _, model = name.partition("/")
    if not model:
        raise BadParameter(f"judge {spec!r}: write hf/MODEL, such as hf/cross-encoder/nli-deberta-v3-base")
    return NliSpec(name, model, parsed_options(NliOptions, options))


TWO_WAY = (Label.NOT_ENTAILED, Label.ENTAILED)

_NAMES = {
    Label.ENTAILED: "entailment entailed entail entails support supports supported consistent",
    Label.NEUTRAL: "neutral notenoughinfo",
    Label.CONTRADICTED: "contradiction contradicted contradict contradicts contradictory refute refutes refuted",
    Label.NOT_ENTAILED: "notentailment notentailed nonentailment unsupported notsupported inconsistent notsupport",
}
_BY_NAME = {name: label for label, names in _NAMES.items() for name in names.split()}

_WAYS = ({Label.ENTAILED, Label.NEUTRAL, Label.CONTRADICTED}, {*TWO_WAY})


def labels_of(config: Mapping[str, Any], named_labels: str | None, spec: str) -> tuple[Label, ...]:
    """The labels of a classifier's classes in their order, from its `id2label`, or as named: "not_entailed:entailed".

    Raises BadParameter where they do not identify the classes.
    """
    named = config.get("id2label") or {}
    names = named_labels.split(":") if named_labels else [str(named[key]) for key in sorted(named, key=int)]
    by_name = [_BY_NAME.get("".join(filter(str.isalpha, name.lower()))) for name in names]
    labels = tuple(label for label in by_name if label is not None)
    if len(labels) != len(names) or len(set(labels)) != len(labels) or set(labels) not in _WAYS:
        unclear = f"its classes are called {', '.join(names)}, which does not say which is which"
        raise BadParameter(
            f"{spec}: {unclear if names else 'the model does not name its classes'}; name them in its order, which its "
            f"card says, as in {spec}?labels=contradicted:entailed:neutral, or ?labels=not_entailed:entailed for two "
            "classes"
        )
    if named_labels and named and len(named) != len(labels):
        raise BadParameter(f"{spec}: labels={named_labels} names {len(labels)} classes, and the model has {len(named)}")
    return labels


#: The tokens of one input where a model's positions are relative and have no maximum, or the family splits documents:
#: MiniCheck into pieces of 500 words for Flan-T5, about 700 tokens, and of 400 of 512 tokens for the others.
_WINDOWS: dict[Family, int] = {"hhem": 2048, "true": 2048, "minicheck-t5": 768, "minicheck": 512}

_DEFAULT_WINDOW = 512
_SHIFTED = ("roberta", "xlm-roberta", "camembert", "mpnet")  # their positions begin after that of the padding
_RELATIVE = ("deberta", "deberta-v2")
_TRUE = re.compile(r"(?<![a-z])true")  # t5_xxl_true_nli_mixture, t5_11b_trueteacher_and_anli
_MAX_WINDOW = 1_000_000  # tokenizers without a limit give an enormous one


def family_of(config: Mapping[str, Any], name: str, named: str | None, spec: str) -> Family:
    """The family of a model from its configuration, or as the caller gives it. Raises BadParameter where it is unclear.

    Text-to-text models differ only in their prompt, and MiniCheck's classifiers look like any other: these are
    recognised by their name.
    """
    architecture = str((config.get("architectures") or [""])[0])
    generates = architecture.endswith("ForConditionalGeneration")
    name_of_family = named or _guessed(architecture, f"{name} {config.get('_name_or_path', '')}".lower())
    families: dict[str, Family | None] = {
        "minicheck": "minicheck-t5" if generates else "minicheck",
        "true": "true" if generates else None,
        "hhem": "hhem",
        "classifier": "classifier" if architecture.endswith("ForSequenceClassification") else None,
    }
    if family := families.get(name_of_family):
        return family
    raise BadParameter(
        f"{spec}: {'its input format is unknown' if generates else f'{architecture or config} is no NLI model'}; "
        f"write {spec}?family=NAME, with true for 'premise: ... hypothesis: ...' answered by 1, or minicheck, hhem, "
        "classifier"
    )


def _guessed(architecture: str, name: str) -> str:
    if architecture.startswith("HHEMv2"):
        return "hhem"
    if "minicheck" in name:
        return "minicheck"
    if architecture.endswith("ForConditionalGeneration"):
        return "true" if _TRUE.search(name) else ""
    return "classifier"


def window_of(family: Family, config: Mapping[str, Any], tokenizer_limit: int, window: int | None, spec: str) -> int:
    """The tokens of one input. Raises BadParameter for more than the model has positions for."""
    model, positions = config.get("model_type"), config.get("max_position_embeddings")
    if positions and model in _SHIFTED:
        positions = int(positions) - int(config.get("pad_token_id") or 1) - 1
    if window and positions and window > positions and model not in _RELATIVE:
        raise BadParameter(f"{spec}: window={window}, but the model has positions for {positions} tokens; give no more")
    if window:
        return window
    fixed = None if model in _RELATIVE and family != "classifier" else positions
    limits = (_WINDOWS.get(family), fixed, tokenizer_limit if family == "classifier" else None)
    return min((int(limit) for limit in limits if limit and limit < _MAX_WINDOW), default=_DEFAULT_WINDOW)


#: The endings of the files of a folder that define a model.
_CONTENT = frozenset({".safetensors", ".bin", ".json", ".model", ".txt"})


class ModelLocation(NamedTuple):
    """Where a model is, and its configuration.

    origin: its name on the hub, or the path of a folder. revision: identifies its content. pinned: the arguments with
    which transformers loads this revision.
    """

    origin: str
    config: Mapping[str, Any]
    revision: str
    pinned: Mapping[str, str] = {}

    @property
    def name(self) -> str:
        """The name on the hub, or that of the folder."""
        return self.origin if self.pinned else Path(self.origin).resolve().name


def locate_model(model: str, revision: str | None) -> ModelLocation:
    """The place of a folder, or of a model on the hub at the commit that `revision` currently names (offline: cached).

    Of a model on the hub the configuration is downloaded. Raises BadData where there is no such model, BadParameter for
    a revision of a folder.
    """
    folder = Path(model).expanduser()
    is_folder = folder.is_dir()
    if is_folder and revision is not None:
        raise BadParameter(
            f"hf/{model}: revision={revision}, but a folder has no revisions; leave "
            "the option out, or name the model as the hub does"
        )
    if not is_folder and (model.startswith((".", "/", "~")) or model.count("/") > 1):
        raise BadData(f"hf/{model}: there is no such folder; give one that holds a model, or a name on the hub")
    try:
        if is_folder:
            path = folder / "config.json"
        else:
            from transformers.utils import cached_file

            path = Path(str(cached_file(model, "config.json", revision=revision)))
        config = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, ValueError) as error:
        first = str(error).strip().partition("\n")[0]
        raise BadData(
            f"hf/{model}: {first}; check the name, or give a folder that holds a model, as in hf/./folder (HF_TOKEN "
            "opens models that ask for consent)"
        ) from error
    if is_folder:
        return ModelLocation(str(folder), config, content_hash(folder))
    commit = path.parent.name
    return ModelLocation(model, config, commit, {"revision": commit})


def content_hash(folder: Path) -> str:
    """A hash of all files that define a model, with its weights (16 hex digits)."""
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.suffix in _CONTENT and path.is_file():
            with path.open("rb") as file:
                digest.update(path.name.encode() + b"\0" + hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]


#: HHEM is the encoder of this model with a token classifier, and has no tokenizer and no configuration of its own.
_FOUNDATION = "google/flan-t5-base"


def foundation_of(place: ModelLocation) -> ModelLocation:
    """The model whose encoder HHEM is. Raises as `locate_model`."""
    return locate_model(str(place.config.get("foundation") or _FOUNDATION), None)


def load_hhem(place: ModelLocation, options: Mapping[str, Any]) -> Any:
    """HHEM, whose own code transformers 5 cannot load, as transformers' own T5.

    As `modeling_hhem_v2.py`, published with vectara/hallucination_evaluation_model (Apache-2.0). Raises BadData where
    the weights are not HHEM's.
    """
    from transformers import T5Config, T5ForTokenClassification

    config = T5Config.from_dict({**foundation_of(place).config, "num_labels": len(TWO_WAY)})
    network, loaded = T5ForTokenClassification.from_pretrained(
        place.origin,
        config=config,
        key_mapping={r"^t5\.": ""},
        ignore_mismatched_sizes=True,  # they are reported below
        output_loading_info=True,
        **options,
    )
    lacking = [*loaded["missing_keys"], *(name for name, *_ in loaded["mismatched_keys"])]
    if lacking:
        raise BadData(f"hf/{place.origin}: these are not the weights of HHEM-2.1-Open: {min(lacking)} is missing")
    return network


#: Tokens of a batch: larger batches are not faster on a CPU.
_CPU_BATCH_TOKENS = 2048
_GPU_BATCH_TOKENS = 65_536


def class_logits(network: Any, ids: Any, mask: Any, *type_ids: Any, family: Family, digits: Sequence[int] = ()) -> Any:
    """The logits of each class.

    Of a model that generates "0" or "1", whose `digits` these are: those of its first token. Of HHEM: those of the
    first token that it reads, a padding token that stands for the pair.
    """
    read = {"input_ids": ids, "attention_mask": mask, **({"token_type_ids": type_ids[0]} if type_ids else {})}
    if digits:
        start = ids.new_full((ids.shape[0], 1), network.config.decoder_start_token_id)
        return network(**read, decoder_input_ids=start, use_cache=False).logits[:, 0, [*digits]]
    logits = network(**read).logits
    return logits[:, 0] if family == "hhem" else logits


def hf_judge(spec: str) -> NliJudge:
    """The judge of a spec such as `hf/vectara/hallucination_evaluation_model?device=cpu`, not downloaded yet.

    Raises MissingExtra without torch and transformers, BadData where there is no such model, BadParameter where its
    input format or the meaning of its classes is not clear, UnknownName for an unknown option.
    """
    parsed = parse_nli_spec(spec)
    if not all(map(find_spec, ("torch", "transformers"))):
        raise MissingExtra(f"{parsed.spec} by torch", "hf")
    model = TorchModel(parsed)
    return NliJudge(f"hf/{model.card.source}", model.card, model.load, (("dtype", model.dtype),))


class TorchModel:
    """A `PairModel` of transformers; its weights are there once it is loaded."""

    def __init__(self, parsed: NliSpec) -> None:
        disable_telemetry()  # before torch, transformers and the client of the hub are imported
        spec, model, options = parsed
        place = self._place = locate_model(model, options.revision)
        config = place.config
        family = family_of(config, place.name, options.family, spec)
        reader = foundation_of(place) if family == "hhem" else place
        tokenizer = load_tokenizer(reader)
        self.card = ModelCard(
            source=place.name,
            revision=place.revision,
            family=family,
            labels=labels_of(config, options.labels, spec) if family == "classifier" or options.labels else TWO_WAY,
            window=window_of(family, config, tokenizer.model_max_length, options.window, spec),
            pad=config.get("pad_token_id") or 0,
            end=str(tokenizer.eos_token or tokenizer.sep_token or "</s>") if family.startswith("minicheck") else "",
            type_ids=int(config.get("type_vocab_size") or 0) > 1,
            tokenizer="" if reader is place else f"{reader.name}@{reader.revision}",
        )
        self._backend = tokenizer.backend_tokenizer
        self._digits: list[int] = []
        self._device = options.device or _device()
        self.dtype = options.dtype or _dtype(family, self._device)
        self.batch_tokens = options.batch_tokens or (_CPU_BATCH_TOKENS if self._device == "cpu" else _GPU_BATCH_TOKENS)

    def load(self) -> TorchModel:
        """The model with its weights, downloaded where they are not cached. Raises BadData."""
        import torch

        try:
            network = self._opened({"dtype": getattr(torch, self.dtype)})
            self._network = network.to(torch.device(self._device)).eval()
            self.tokenizer = PairTokenizer(self._backend, self.card)
        except (OSError, RuntimeError, ValueError, KeyError) as error:
            raise BadData(f"hf/{self._place.origin}: {error}") from error
        return self

    def _opened(self, options: dict[str, Any]) -> Any:
        from transformers import AutoModelForSeq2SeqLM, AutoModelForSequenceClassification

        options = {**options, **self._place.pinned, "trust_remote_code": False}
        if self.card.family == "hhem":
            return load_hhem(self._place, options)
        if self.card.family in ("true", "minicheck-t5"):
            self._digits = [self._backend.encode(digit, add_special_tokens=False).ids[0] for digit in "01"]
            return AutoModelForSeq2SeqLM.from_pretrained(self._place.origin, **options)
        return AutoModelForSequenceClassification.from_pretrained(self._place.origin, **options)

    def logits(self, ids: NDArray[np.int64], mask: NDArray[np.int64], type_ids: NDArray[np.int64]) -> NDArray[Any]:
        """A row for each input, a number for each class."""
        import torch

        arrays = (ids, mask, type_ids) if self.card.type_ids else (ids, mask)
        with torch.inference_mode():
            inputs = [torch.from_numpy(array).to(self._network.device) for array in arrays]
            logits = class_logits(self._network, *inputs, family=self.card.family, digits=self._digits)
        numbers: NDArray[Any] = logits.float().cpu().numpy()
        return numbers


def _device() -> str:
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _dtype(family: Family, device: str) -> str:
    """16 bits where that is faster and does not change published scores; T5 overflows in float16."""
    if device == "cpu" or family == "hhem":
        return "float32"
    return "bfloat16" if family in ("true", "minicheck-t5") else "float16"


def load_tokenizer(place: ModelLocation) -> Any:
    """The tokenizer of a model, as transformers has it. Raises BadData."""
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(place.origin, **place.pinned, trust_remote_code=False)
    except Exception as error:
        raise BadData(
            f"hf/{place.origin}: its tokenizer cannot be read ({error}); it needs a tokenizer.json"
        ) from error
