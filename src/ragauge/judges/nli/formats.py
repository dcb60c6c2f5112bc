"""Formats of NLI models: families, input formats, labels, cards and options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from ragauge.errors import BadData, BadParameter
from ragauge.judges.embedded.statements import is_fragment
from ragauge.judges.options import OptionParser
from ragauge.questions import Entail
from ragauge.types import Label

TWO_WAY = (Label.NOT_ENTAILED, Label.ENTAILED)

_NAMES = {
    Label.ENTAILED: "entailment entailed entail entails support supports supported consistent",
    Label.NEUTRAL: "neutral notenoughinfo",
    Label.CONTRADICTED: "contradiction contradicted contradict contradicts contradictory refute refutes refuted",
    Label.NOT_ENTAILED: "notentailment notentailed nonentailment unsupported notsupported inconsistent notsupport",
}
_BY_NAME = {name: label for label, names in _NAMES.items() for name in names.split()}

_WAYS = ({Label.ENTAILED, Label.NEUTRAL, Label.CONTRADICTED}, {*TWO_WAY})


def labels_of(config: Mapping[str, Any], given: str | None, spec: str) -> tuple[Label, ...]:
    """The labels of a classifier's classes in their order, from its `id2label`, or as given: "not_entailed:entailed".

    Raises BadParameter where the names do not identify the classes.
    """
    named = config.get("id2label") or {}
    names = given.split(":") if given else [str(named[key]) for key in sorted(named, key=int)]
    found = [_BY_NAME.get("".join(filter(str.isalpha, name.lower()))) for name in names]
    labels = tuple(label for label in found if label is not None)
    if len(labels) != len(names) or len(set(labels)) != len(labels) or set(labels) not in _WAYS:
        unclear = f"its classes are called {', '.join(names)}, which does not say which is which"
        raise BadParameter(
            f"{spec}: {unclear if names else 'the model does not name its classes'}; name them in its order, which its "
            f"card says, as in {spec}?labels=contradicted:entailed:neutral, or ?labels=not_entailed:entailed for two "
            "classes"
        )
    if given and named and len(named) != len(labels):
        raise BadParameter(f"{spec}: labels={given} names {len(labels)} classes, and the model has {len(named)}")
    return labels


#: The family of a model, which decides the input format of a pair.
Family = Literal["classifier", "hhem", "true", "minicheck", "minicheck-t5"]

CARD = "ragauge.json"


class ModelCard(msgspec.Struct, frozen=True, omit_defaults=True):
    """Describes a model.

    source: its name, or that of its folder. revision: the commit on the hub, or a hash of its files. window: the tokens
    of one input. end: the text of the token that ends a sequence. type_ids: whether it has token types. quantised:
    8-bit weights. tokenizer: NAME@REVISION of the model whose tokenizer it uses, if not its own.
    """

    source: str
    revision: str
    family: Family
    labels: tuple[Label, ...]
    window: int
    pad: int = 0
    end: str = ""
    type_ids: bool = False
    quantised: bool = False
    tokenizer: str = ""

    @property
    def three_way(self) -> bool:
        """Whether it distinguishes contradicted from neutral."""
        return Label.CONTRADICTED in self.labels


def read_card(folder: Path) -> ModelCard:
    """The card in the folder of an exported model. Raises BadData where there is none that can be read."""
    try:
        return msgspec.json.decode((folder / CARD).read_bytes(), type=ModelCard)
    except (OSError, msgspec.DecodeError) as error:
        raise BadData(
            f"onnx/{folder}: {error}; the folder must hold what this wrote: ragauge judges export hf/MODEL {folder}"
        ) from error


def write_card(card: ModelCard, folder: Path) -> None:
    """Write the card next to an exported model."""
    (folder / CARD).write_bytes(msgspec.json.format(msgspec.json.encode(card)) + b"\n")


#: The tokens of one input where a model's positions are relative and have no maximum, or the family splits documents:
#: MiniCheck into pieces of 500 words for Flan-T5, about 700 tokens, and of 400 of 512 tokens for the others.
_WINDOWS: dict[Family, int] = {"hhem": 2048, "true": 2048, "minicheck-t5": 768, "minicheck": 512}

_DEFAULT_WINDOW = 512
_SHIFTED = ("roberta", "xlm-roberta", "camembert", "mpnet")  # their positions begin after that of the padding
_RELATIVE = ("deberta", "deberta-v2")
_TRUE = re.compile(r"(?<![a-z])true")  # t5_xxl_true_nli_mixture, t5_11b_trueteacher_and_anli
_MAX_WINDOW = 1_000_000  # tokenizers without a limit give an enormous one


def family_of(config: Mapping[str, Any], name: str, given: str | None, spec: str) -> Family:
    """The family of a model from its configuration, or as the caller gives it. Raises BadParameter where it is unclear.

    Text-to-text models differ only in their prompt, and MiniCheck's classifiers look like any other: these are
    recognised by their name.
    """
    architecture = str((config.get("architectures") or [""])[0])
    generates = architecture.endswith("ForConditionalGeneration")
    known = given or _guessed(architecture, f"{name} {config.get('_name_or_path', '')}".lower())
    families: dict[str, Family | None] = {
        "minicheck": "minicheck-t5" if generates else "minicheck",
        "true": "true" if generates else None,
        "hhem": "hhem",
        "classifier": "classifier" if architecture.endswith("ForSequenceClassification") else None,
    }
    if found := families.get(known):
        return found
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


def window_of(
    family: Family, config: Mapping[str, Any], tokenizer: Mapping[str, Any], given: int | None, spec: str
) -> int:
    """The tokens of one input. Raises BadParameter for more than the model has positions for."""
    model, positions = config.get("model_type"), config.get("max_position_embeddings")
    if positions and model in _SHIFTED:
        positions = int(positions) - int(config.get("pad_token_id") or 1) - 1
    if given and positions and given > positions and model not in _RELATIVE:
        raise BadParameter(f"{spec}: window={given}, but the model has positions for {positions} tokens; give no more")
    if given:
        return given
    fixed = None if model in _RELATIVE and family != "classifier" else positions
    limits = (_WINDOWS.get(family), fixed, tokenizer.get("model_max_length") if family == "classifier" else None)
    return min((int(limit) for limit in limits if limit and limit < _MAX_WINDOW), default=_DEFAULT_WINDOW)


#: A premise and a hypothesis.
TextPair = tuple[str, str]

#: Increased with every change that can change an answer.
FORM = "2"

#: The input of models that take one text; classifiers take a pair.
#: hhem: `modeling_hhem_v2.py` of vectara/hallucination_evaluation_model. true: the card of
#: google/t5_xxl_true_nli_mixture, and ALCE. minicheck: `minicheck/inference.py` of Liyan06/MiniCheck.
FORMS: dict[Family, str] = {
    "hhem": "<pad> Determine if the hypothesis is true given the premise?\n\nPremise: {0}\n\nHypothesis: {1}",
    "true": "premise: {0} hypothesis: {1}",
    "minicheck": "{0}{end}{1}",
    "minicheck-t5": "predict: {0}{end}{1}",
}


def format_pair(card: ModelCard, pair: TextPair) -> str | TextPair:
    """The input of the model for a pair."""
    form = FORMS.get(card.family)
    return form.format(*pair, end=card.end) if form else pair


def joint_premise(question: Entail) -> TextPair:
    """The chunks together, in their order, a line apart; and the hypothesis.

    A hypothesis or lone premise that is a fragment ("Six days.") is preceded by the query, as in Trust-Align: these
    models are trained on statements, not on answers.
    """
    premise = "\n".join(text for text in question.premise if text.strip())
    if len(question.premise) == 1:
        premise = _with_query(premise, question.query)
    return premise, _with_query(question.hypothesis, question.query)


def single_premise(question: Entail) -> list[TextPair]:
    """Each chunk by itself with the hypothesis, in the order of the chunks."""
    if len(question.premise) == 1:
        return [joint_premise(question)]
    hypothesis = _with_query(question.hypothesis, question.query)
    return [(text if text.strip() else "", hypothesis) for text in question.premise]


def _with_query(text: str, query: str | None) -> str:
    return f"{query} {text}" if query and query.strip() and is_fragment(text) else text


_Count = Annotated[int, msgspec.Meta(ge=1)]


class NliOptions(msgspec.Struct, frozen=True):
    """The options of an NLI judge. None: chosen by model and machine."""

    revision: str | None = None
    device: Annotated[str, msgspec.Meta(pattern=r"^(cpu|mps|cuda(:\d+)?)$")] | None = None
    dtype: Literal["float32", "bfloat16", "float16"] | None = None
    batch_tokens: _Count | None = None
    labels: str | None = None
    family: Literal["classifier", "hhem", "true", "minicheck"] | None = None
    window: Annotated[int, msgspec.Meta(ge=32)] | None = None
    threads: _Count | None = None


#: What each option must be, with an example; for messages.
_EXPECTED = {
    "revision": "a branch, tag or commit, such as revision=main",
    "device": "cpu, mps, cuda or cuda:NUMBER, such as device=cuda:0",
    "dtype": "float32, bfloat16 or float16, such as dtype=bfloat16",
    "batch_tokens": "a count of tokens, such as batch_tokens=4096",
    "labels": "the classes in their order, such as labels=contradicted:entailed:neutral",
    "family": "classifier, hhem, true or minicheck, such as family=true",
    "window": "a count of tokens, 32 or more, such as window=512",
    "threads": "a count of threads, such as threads=2",
}
_PARSER = OptionParser(NliOptions, _EXPECTED)

#: The options of each kind of judge. Those of a model are fixed when it is exported.
HF = frozenset(_EXPECTED) - {"threads"}
ONNX = frozenset({"batch_tokens", "threads"})


class NliSpec(NamedTuple):
    """A parsed spec. spec: without its options. model: a name on the hub, or a folder."""

    spec: str
    model: str
    options: NliOptions


def parse_nli_spec(spec: str, known: frozenset[str]) -> NliSpec:
    """Read a spec such as `hf/cross-encoder/nli-deberta-v3-base?revision=main`.

    Raises UnknownName for an option that is not among the `known`, BadParameter for an invalid value.
    """
    name, options = _PARSER.split(spec)
    kind, _, model = name.partition("/")
    if not model:
        raise BadParameter(f"judge {spec!r}: write {kind}/MODEL, such as hf/cross-encoder/nli-deberta-v3-base")
    return NliSpec(name, model, _PARSER.parse(options, known))
