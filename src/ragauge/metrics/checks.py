"""Metrics that ask no judge: checks, which are plain functions of a sample, and similarity to the references."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial, wraps
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Literal, overload

from msgspec import Meta

from ragauge.errors import BadParameter
from ragauge.host import read_file
from ragauge.metrics.base import Metric, listed, metric
from ragauge.needs.base import Measured, Need, NothingToCount, Texts, Undefined
from ragauge.needs.checks import bertscore_to_references, measured_by, similarity_to_references
from ragauge.needs.entailment import response_and_references
from ragauge.scores import Better, Scale
from ragauge.text import overlap
from ragauge.text.json_schema import json_schema_validator, schema_fault
from ragauge.text.language import known_languages, language_of
from ragauge.text.patterns import bounded_search, check_pattern
from ragauge.types import Sample

#: What a check returns: a bool or a number, or one with the reason.
CheckResult = bool | float | tuple[bool | float, str]
CheckFunction = Callable[..., CheckResult]


@overload
def check(function: CheckFunction, /) -> Metric: ...
@overload
def check(**options: Any) -> Callable[[CheckFunction], Metric]: ...
def check(  # type: ignore[misc]  # the options are the keywords below
    function: CheckFunction | None = None,
    /,
    *,
    name: str = "",
    reads: Sequence[str] | Callable[..., Sequence[str]] = ("response",),
    better: Better = "higher",
    scale: Scale = (0.0, 1.0),
    valid: Callable[..., object] | None = None,
    caption: str = "",
) -> Any:
    """Decorate a function of a `Sample` to make it a metric that asks no judge.

        @rg.check
        def short(sample, *, words=50):
            return len(sample.response.split()) <= words

    It returns a bool or a number, or a pair of one and the reason, which is shown as evidence. Where it raises, the
    score of the sample is failed and says why; where it raises `NothingToCount`, it is undefined. Its further
    parameters are those of the metric.

    Args:
        function: the function, where the decorator is used without parentheses.
        name: the name of the metric; that of the function if empty.
        reads: the fields that a sample must have, "metadata.KEY" for another column; or a function from parameters to
            these.
        better, scale: whether higher or lower is better, and the lowest and highest value.
        valid: is called with the parameters before anything is measured; a ValueError says what is wrong.
        caption: in about four words, what its value is a share of: "responses that pass". Reports show it.
    """
    if function is None:
        return partial(check, name=name, reads=reads, better=better, scale=scale, valid=valid, caption=caption)
    key = name or function.__name__
    if inspect.iscoroutinefunction(function):
        raise BadParameter(f"check {key} is asynchronous; write it with def, or ask a judge of your own (judge_from)")
    _, *others = inspect.signature(function).parameters.values()
    made: dict[str, Need[Measured]] = {}

    @wraps(function)
    def need_of(**params: Any) -> Need[Measured]:
        if valid and all(params[p.name] != "" for p in others if p.default is p.empty):
            valid(**params)
        need = f"{key}({', '.join(f'{name}={value!r}' for name, value in params.items())})"
        fields = reads(**params) if callable(reads) else reads
        return made.setdefault(need, measured_by(need, fields, lambda sample: function(sample, **params)))

    need_of.__signature__ = inspect.Signature(others)  # type: ignore[attr-defined]

    def value(measured: Measured) -> float:
        return measured.values[""]

    value.__doc__ = function.__doc__
    return metric(need_of, name=key, better=better, scale=scale, caption=caption)(value)


_passing = partial(check, caption="responses that pass")

Count = Annotated[int, Meta(ge=0, description="a whole number of at least 0")]
Amount = Annotated[float, Meta(ge=0, description="a number of at least 0")]
Text = Annotated[str, Meta(min_length=1, description="a text that is not empty")]
Wordings = Annotated[
    tuple[Text, ...], Meta(min_length=1, description="texts that are not empty, such as refund+exchange")
]

Sought = Annotated[Wordings, "the texts to look for"]
CaseSensitive = Annotated[bool, "whether capitals must match"]
Column = Annotated[Text, "the column that holds the number"]


def _response(sample: Sample) -> str:
    return sample.response or ""


@_passing
def json_valid(sample: Sample) -> CheckResult:
    """1 if the response is one JSON value and nothing else, else 0."""
    try:
        _json(_response(sample))
    except ValueError as error:
        return False, str(error)
    return True


def _json(text: str) -> Any:
    """The value of a JSON text. Raises ValueError, also for NaN and Infinity, which Python takes for JSON."""
    try:
        return json.loads(text, parse_constant=_refused_constant)
    except RecursionError as error:
        raise ValueError("its arrays and objects are nested too deeply") from error


def _refused_constant(name: str) -> Any:
    raise ValueError(f"{name} is no value of JSON")


def _schema(schema: str) -> str:
    """The text of a JSON Schema that is given as text or as a path. Raises ValueError for what is none."""
    try:
        text = schema if schema.lstrip().startswith("{") else read_file(Path(schema))
    except OSError as error:
        raise ValueError(
            f"{schema!r} cannot be read: {error.strerror}; give the path of a schema, or a schema"
        ) from error
    try:
        json_schema_validator(text)
    except ValueError as error:
        raise ValueError(f"{schema!r} is no JSON Schema: {str(error).partition(chr(10))[0]}") from error
    return text


@_passing(valid=_schema)
def json_schema(sample: Sample, *, schema: Annotated[Text, "the JSON Schema, or the path of its file"]) -> CheckResult:
    """1 if the response is JSON that a JSON Schema allows, else 0.

    schema: the path of the schema, or the schema itself, without references to other documents. By the library
    jsonschema: pip install 'ragauge[checks]'.
    """
    try:
        value = _json(_response(sample))
    except ValueError as error:
        return False, str(error)
    fault = schema_fault(_schema(schema), value)
    return (False, fault) if fault else True


@_passing(valid=check_pattern)
def matches(sample: Sample, *, pattern: Annotated[Text, "the regular expression"]) -> CheckResult:
    """1 if a regular expression matches somewhere in the response, else 0. (?i) ignores case.

    By the library regex, which takes what Python's re does; looking for a match may take two seconds.
    """
    match = bounded_search(pattern, _response(sample))
    return bool(match), f"found {match[0]!r}" if match else f"nothing matches {pattern!r}"


@_passing
def starts_with(sample: Sample, *, text: Annotated[Text, "how the response is to start"]) -> CheckResult:
    """1 if the response starts with a text, white space before it aside, else 0."""
    return _response(sample).lstrip().startswith(text)


def _contained(sample: Sample, texts: Sequence[str], case: bool) -> list[str]:
    """Those of the texts that the response contains."""
    response = _response(sample) if case else _response(sample).casefold()
    return [text for text in texts if (text if case else text.casefold()) in response]


@_passing
def contains_all(sample: Sample, *, texts: Sought, case: CaseSensitive = False) -> CheckResult:
    """1 if the response contains all of the texts, such as contains_all(refund+"30 days"), else 0."""
    present = _contained(sample, texts, case)
    missing = [text for text in texts if text not in present]
    return not missing, f"missing: {', '.join(missing)}" if missing else "all are there"


@_passing
def contains_any(sample: Sample, *, texts: Sought, case: CaseSensitive = False) -> CheckResult:
    """1 if the response contains one of the texts at least, else 0."""
    present = _contained(sample, texts, case)
    return bool(present), f"found: {', '.join(present)}" if present else "none is there"


@_passing
def contains_none(sample: Sample, *, texts: Sought, case: CaseSensitive = False) -> CheckResult:
    """1 if the response contains none of the texts, such as forbidden words, else 0."""
    present = _contained(sample, texts, case)
    return not present, f"found: {', '.join(present)}" if present else "none is there"


@_passing
def min_words(sample: Sample, *, n: Annotated[Count, "the fewest words"]) -> CheckResult:
    """1 if the response has n words at least, separated by white space, else 0."""
    words = len(_response(sample).split())
    return words >= n, f"{words} words"


@_passing
def max_words(sample: Sample, *, n: Annotated[Count, "the most words"]) -> CheckResult:
    """1 if the response has n words at most, separated by white space, else 0."""
    words = len(_response(sample).split())
    return words <= n, f"{words} words"


@_passing
def max_characters(sample: Sample, *, n: Annotated[Count, "the most characters"]) -> CheckResult:
    """1 if the response has n characters at most, else 0."""
    return len(_response(sample)) <= n, f"{len(_response(sample))} characters"


def _known_language(code: str) -> None:
    if code not in known_languages():
        raise ValueError(f"{code!r} is no language that can be recognised; give a code such as de, en, es or fr")


@_passing(valid=_known_language)
def language(sample: Sample, *, code: Annotated[Text, "the ISO 639-1 code, such as en"]) -> CheckResult:
    """1 if the response is in a language, such as language(en), else 0; undefined without letters.

    code: in ISO 639. By the library py3langid, which errs on texts of few words.
    """
    if not any(map(str.isalpha, _response(sample))):
        raise NothingToCount("the response has no letters")
    detected = language_of(_response(sample))
    return detected == code, f"it reads as {detected!r}"


def _column(column: str, **_: object) -> list[str]:
    return [f"metadata.{column}"]


def column_number(sample: Sample, column: str) -> float:
    """The finite number in a column of the metadata. Raises ValueError, or KeyError where there is no such column."""
    with suppress(TypeError, ValueError, OverflowError):
        if isfinite(number := float(sample.metadata[column])):
            return number
    raise ValueError(f"the column {column!r} holds {sample.metadata[column]!r}; give a number")


@_passing(reads=_column)
def latency_below(
    sample: Sample, *, seconds: Annotated[Amount, "less than how many"], column: Column = "latency"
) -> CheckResult:
    """1 if the sample took less than some seconds by the column "latency", or another that is named, else 0."""
    number = column_number(sample, column)
    return number < seconds, f"{number:g} seconds"


@_passing(reads=_column)
def cost_below(
    sample: Sample, *, dollars: Annotated[Amount, "less than how many"], column: Column = "cost"
) -> CheckResult:
    """1 if the sample cost less than some dollars by the column "cost", or another that is named, else 0."""
    number = column_number(sample, column)
    return number < dollars, f"{number:g} dollars"


RougeType = Literal[
    "rouge1", "rouge2", "rouge3", "rouge4", "rouge5", "rouge6", "rouge7", "rouge8", "rouge9", "rougeL", "rougeLsum"
]
RougeTypes = Annotated[tuple[RougeType, ...], Meta(min_length=1)]
Order = Annotated[int, Meta(ge=1)]
Beta = Annotated[float, Meta(gt=0, le=100)]
Weights = Annotated[tuple[Annotated[float, Meta(ge=0, le=1)], ...], Meta(min_length=1)]


_UNREAD = "most letters are not in a-z, all that this tokenizer reads; write rouge(tokenizer=unicode)"


@listed(default=24)
@metric(response_and_references, parts=lambda types: types, caption="word sequences shared")
def rouge(
    texts: Texts,
    *,
    types: Annotated[RougeTypes, "rouge1 to rouge9, rougeL, rougeLsum"] = ("rouge1", "rouge2", "rougeL", "rougeLsum"),
    stemmer: Annotated[bool, "whether words are reduced to stems (Porter)"] = False,
    tokenizer: Annotated[Literal["rouge", "unicode"], "a-z and 0-9 alone, or every script"] = "rouge",
    measure: Annotated[Literal["fmeasure", "precision", "recall"], "fmeasure, precision or recall"] = "fmeasure",
) -> Mapping[str, float | Undefined]:
    """ROUGE F-measures (Lin, 2004), equal to the rouge-score library; per type the maximum over the references.

    Undefined where the tokenizer reads less than half of the letters of the response or of the references.
    """
    read = (overlap.ascii_share(texts.response), max(map(overlap.ascii_share, texts.references)))
    if tokenizer == "rouge" and min(read) < 0.5:
        return dict.fromkeys(types, Undefined(_UNREAD))
    return overlap.rouge(texts.response, texts.references, types, stemmer, tokenizer, measure)


def _texts_for_bleu(weights: tuple[float, ...]) -> Need[Texts]:
    """The texts, once the weights are known to have a positive sum."""
    if not sum(weights) > 0:
        raise ValueError("weights must add up to more than 0")
    return response_and_references


@listed(default=25)
@metric(_texts_for_bleu, caption="word sequences shared")
def bleu(
    texts: Texts,
    *,
    weights: Annotated[Weights, "of the n-gram orders from 1"] = (0.25, 0.25, 0.25, 0.25),
    tokenizer: Annotated[Literal["valor", "whitespace", "unicode"], "how words are split"] = "valor",
    smoothing: Annotated[Literal["none", "method1"], "of orders without a match, as in NLTK"] = "none",
) -> float:
    """Sentence BLEU (Papineni et al., 2002), equal to NLTK; several references clip jointly.

    Dataworkz has it with tokenizer=whitespace and smoothing=method1.
    """
    return overlap.bleu(texts.response, texts.references, weights, tokenizer, smoothing)


@listed(default=26)
@metric(response_and_references, caption="character sequences shared")
def chrf(
    texts: Texts,
    *,
    order: Annotated[Order, "the longest character n-gram"] = 6,
    beta: Annotated[Beta, "how much recall weighs against precision"] = 2.0,
    words: Annotated[Count, "the longest word n-gram; 2 gives chrF++"] = 0,
) -> float:
    """Character n-gram F-score (Popović, 2015) in 0..1, equal to sacreBLEU; words=2 gives chrF++."""
    return overlap.chrf(texts.response, texts.references, order, beta, words)


@listed(default=27)
@metric(response_and_references, caption="responses equal to a reference")
def exact_match(texts: Texts) -> float:
    """1 if the response equals a reference after SQuAD normalisation (Rajpurkar et al., 2016), else 0."""
    return float(overlap.exact_match(texts.response, texts.references))


@listed(default=28)
@metric(response_and_references, caption="words in a reference")
def token_f1(texts: Texts) -> float:
    """F1 of the words shared with a reference after SQuAD normalisation; the best over the references.

    Words stand between spaces: in Japanese, Chinese or Thai a whole phrase is one, and `chrf` says more.
    """
    return overlap.token_f1(texts.response, texts.references)


@metric(similarity_to_references, scale=(-1.0, 1.0), caption="embeddings, cosine")
def similarity(measured: Measured) -> float:
    """Cosine of the sentence embeddings of the response and a reference; the best over the references.

    By sentence-transformers with all-MiniLM-L6-v2, which truncates long texts: pip install 'ragauge[similarity]'.
    """
    return measured.values[""]


@metric(
    bertscore_to_references, scale=(-1.0, 1.0), parts=("precision", "recall", "f1"), caption="token embeddings, cosine"
)
def bertscore(measured: Measured) -> Mapping[str, float]:
    """BERTScore (Zhang et al., 2020) of English texts, rescaled by its baseline; the best F1 over the references.

    0 is the score of random pairs of texts. By the library bert_score: pip install 'ragauge[bertscore]'.
    """
    return measured.values
