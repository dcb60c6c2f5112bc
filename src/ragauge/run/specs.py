"""Judges as they are asked for: by name, as objects, or by kind."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from ragauge.errors import BadData, BadParameter, UnknownName
from ragauge.judges.base import Judge, JudgeRouter

JudgeLike = Any  # a spec, a Judge, a client or model of another library, a function, or a mapping from kind to these


def _embedded(argument: str) -> Judge:
    from ragauge.judges.embedded.judge import EmbeddedJudge

    if argument:
        raise BadParameter("the embedded judge takes no argument; write 'embedded'")
    return EmbeddedJudge()


def _lexical(argument: str) -> Judge:
    from ragauge.judges.embedded.judge import EmbeddedJudge
    from ragauge.judges.embedded.lexical.heart import Lexical

    if argument:
        raise BadParameter("the lexical judge takes no argument; write 'lexical'")
    return EmbeddedJudge(Lexical(), "lexical")


def _recording(argument: str) -> Judge:
    from ragauge.judges.base import RecordingJudge
    from ragauge.store import Store, read_judgments

    path = Path(argument)
    if not argument or not path.exists():
        raise BadData(f"recording {argument!r} does not exist; give a file of judgments (.jsonl) or a store")
    if path.suffix == ".jsonl":
        return RecordingJudge(read_judgments(path))
    with Store.open(path, to_read=True) as store:
        return RecordingJudge(store.judgments())


def python_object(argument: str) -> Any:
    """What "MODULE:NAME" names; MODULE.py may be in this folder. Raises BadParameter where there is no such thing."""
    module, _, name = argument.partition(":")
    if not name:
        raise BadParameter(f"python:{argument}: write python:MODULE:NAME, such as python:judges:mine")
    sys.path.insert(0, str(Path.cwd()))
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise BadParameter(f"python:{argument}: {error}; MODULE.py must be in this folder or installed") from error
    finally:
        sys.path.remove(str(Path.cwd()))


def _python(argument: str) -> Judge:
    found = python_object(argument)
    if not isinstance(found, Judge):
        raise BadParameter(f"python:{argument} is {type(found).__name__}, not a judge; make one with judge_from(...)")
    return found


def _decisions(argument: str) -> Judge:
    from ragauge.judges.llm.decisions_judge import decisions_judge

    return decisions_judge(argument)


def _hf(spec: str) -> Judge:
    from ragauge.judges.nli.models import hf_judge

    return hf_judge(spec)


def _onnx(spec: str) -> Judge:
    from ragauge.judges.nli.models import onnx_judge

    return onnx_judge(spec)


def _composed(spec: str) -> Judge:
    from ragauge.run.composing import composed

    return composed(spec)


def _model(spec: str) -> Judge:
    from ragauge.judges.llm.build import llm
    from ragauge.judges.llm.providers import PROVIDERS

    provider = spec.partition("/")[0]
    if provider not in PROVIDERS:
        raise UnknownName("provider", provider, [*PROVIDERS, *DESCRIPTIONS])
    return llm(spec)


#: What comes before the colon of a spec, and who makes the judge of what comes after it.
MAKERS: dict[str, Callable[[str], Judge]] = {
    "embedded": _embedded,
    "lexical": _lexical,
    "recording": _recording,
    "python": _python,
    "decisions": _decisions,
}

#: What comes before the first slash of a spec of a model that runs here, and who makes the judge of the whole spec.
LOCAL: dict[str, Callable[[str], Judge]] = {"hf": _hf, "onnx": _onnx}

#: Judges made of judges, written with these in brackets.
COMPOSED = ("panel", "cascade")

DESCRIPTIONS = {
    "embedded": "in the package: CPU, offline, no key, deterministic",
    "lexical": "the same by words alone: the lightest judge, and the baseline of `judges measure`",
    "PROVIDER/MODEL": "any LLM, with options behind it: openai/gpt-4o-mini, ollama/qwen3:8b?concurrency=2",
    "decisions:PROVIDER/MODEL": "an endpoint that answers typed questions with probabilities; cannot decompose",
    "hf/MODEL": "an NLI model of the hub or of a folder, run here by torch; answers entail alone",
    "onnx/FOLDER": "the same without torch, from what `ragauge judges export` wrote",
    "panel(JUDGE,JUDGE,...)": "several judges vote, and how far they agree is reported",
    "cascade(JUDGE,JUDGE,threshold=T)": "the first answers where it is sure, the rest goes up to the next",
    "recording:PATH": "exact replay of a store or of a file of judgments (.jsonl)",
    "python:MODULE:NAME": "a judge of your own, made by judge_from(...) in a Python module",
}


def judge_of(spec: JudgeLike) -> Judge:
    """One judge from its spec, such as "embedded" or "openai/gpt-4o-mini", or the judge itself.

    A client of the `instructor` library, a chat model of LangChain or LlamaIndex, and a function from messages to text
    become LLM judges.

    Raises UnknownName for a name that no judge has, BadParameter for anything that is no judge.
    """
    if isinstance(spec, str):
        return _named(spec)
    if isinstance(spec, Judge):
        return spec
    from ragauge.judges.llm.build import is_langchain, is_llama_index, is_model, langchain_judge, llama_index_judge, llm

    if is_langchain(spec):
        return langchain_judge(spec)
    if is_llama_index(spec):
        return llama_index_judge(spec)
    if is_model(spec):
        return llm(spec)
    raise BadParameter(
        f"{spec!r} is not a judge; give a name, rg.judge_from(...), rg.llm(...), or an object with identity, answers "
        "and answer()"
    )


def _named(spec: str) -> Judge:
    name, _, argument = spec.partition(":")
    if name in MAKERS:
        return MAKERS[name](argument)
    if "(" in spec and spec.partition("(")[0] in COMPOSED:
        return _composed(spec)
    if "/" in spec.partition("?")[0]:
        return LOCAL.get(spec.partition("/")[0], _model)(spec)
    looks_like_a_model = any(character.isdigit() or character == "-" for character in spec)
    raise UnknownName("judge", spec, [*DESCRIPTIONS, *([f"openai/{spec}"] if looks_like_a_model else [])])


def bench_of(judge: JudgeLike) -> JudgeRouter:
    """The bench for what the caller gave as `judge=`: one judge, or a mapping from kinds to judges."""
    if isinstance(judge, JudgeRouter):
        return judge
    if isinstance(judge, Mapping):
        return JudgeRouter({kind: judge_of(one) for kind, one in judge.items()})
    return JudgeRouter({"*": judge_of(judge)})
