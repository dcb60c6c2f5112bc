"""Judges by torch: a model of the hub or of a folder, its card made from its configuration."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ragauge.errors import BadData, MissingExtra
from ragauge.host import disable_telemetry
from ragauge.judges.nli.card import Card, Family
from ragauge.judges.nli.families import classes_of, family_of, window_of
from ragauge.judges.nli.hub import Place, config_of, place_of
from ragauge.judges.nli.judge import NliJudge
from ragauge.judges.nli.options import HF, Options, parse
from ragauge.judges.nli.reading import open_tokenizer

if TYPE_CHECKING:
    from ragauge.judges.nli.torch_model import TorchModel

#: HHEM has no tokenizer of its own.
_FOUNDATION = "google/flan-t5-base"


def hf_judge(spec: str) -> NliJudge:
    """The judge that a spec such as `hf/vectara/hallucination_evaluation_model?device=cpu` asks for.

    Nothing but its settings and its tokenizer is fetched before the first question.

    Raises MissingExtra without torch and transformers, BadData where there is no such model, BadParameter where it
    cannot be told how the model is asked or what its classes mean, UnknownName for an option that there is not.
    """
    asked = parse(spec, HF)
    for library in ("torch", "transformers"):
        if find_spec(library) is None:
            raise MissingExtra(f"{asked.spec} by torch", "hf")
    source = Source(asked.model, asked.options, asked.spec)
    card, dtype = source.card, asked.options.dtype or _dtype(source.card.family, source.device)
    return NliJudge(f"hf/{card.source}", card, lambda: source.load(dtype), (("dtype", dtype),))


class Source:
    """A model that torch can run: its card, its tokenizer, and how to load it."""

    def __init__(self, model: str, options: Options, spec: str) -> None:
        disable_telemetry()  # before torch, transformers and the client of the hub are imported
        place = self.place = place_of(model, options.revision)
        self.options = options
        self.device = options.device or _device()
        config, settings = config_of(place), config_of(place, "tokenizer_config.json")
        family = family_of(config, place.name, options.family, spec)
        self.tokenizer, self._end, borrowed = _tokenizer(place, config, family)
        pad = config.get("pad_token_id")
        self.card = Card(
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
        from ragauge.judges.nli.torch_model import loaded

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


def _tokenizer(place: Place, config: Any, family: Family) -> tuple[Any, str, str]:
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
    place = place_of(name, None)
    path = place.file("tokenizer.json")
    if path is None:
        raise BadData(f"hf/{name}: it has no tokenizer.json, which HHEM needs")
    return open_tokenizer(path), f"{place.name}@{place.revision}"


def _converted(place: Place) -> tuple[Any, str]:
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
