"""Judges as they are asked for: by name, as objects, by kind, as panels and cascades."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from itertools import accumulate
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, cast

import msgspec

from ragauge.errors import BadData, BadParameter, UnknownName
from ragauge.host import installed, load_only, read_file
from ragauge.judges.base import Judge, JudgeLike, JudgeRouter, JudgeSpec, OneJudge, UnloadedJudge, adapted
from ragauge.judges.composite import (
    VERDICTS,
    ByLanguage,
    Cascade,
    Decided,
    Panel,
    Repeat,
    fewest_labels,
    fit_thresholds,
    says_yes,
)
from ragauge.metrics.registry import split_specs
from ragauge.report.wording import counted
from ragauge.types import Identity

if TYPE_CHECKING:
    from ragauge.store import Place, Store


def _packaged(name: str, argument: str) -> Judge:
    from ragauge.judges.embedded.judge import EmbeddedJudge
    from ragauge.judges.embedded.lexical import Lexical

    if argument:
        raise BadParameter(f"the {name} judge takes no argument; write {name!r}")
    return EmbeddedJudge(Lexical(), name) if name == "lexical" else EmbeddedJudge()


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
    """What "MODULE:NAME" or "FILE.py:NAME" names; MODULE.py may be in this folder.

    Raises BadParameter where it cannot be imported, or has no such name.
    """
    module, _, name = argument.rpartition(":")
    if not module:
        raise BadParameter(f"python:{argument}: write python:MODULE:NAME, such as python:judges:mine")
    is_file = module.endswith(".py")
    folder = str(Path(module).parent.absolute() if is_file else Path.cwd())
    sys.path.insert(0, folder)
    try:
        loaded = _module_of(Path(module)) if is_file else import_module(module)
    except (ImportError, FileNotFoundError) as error:
        fix = "check the path" if is_file else "MODULE.py must be in this folder or installed"
        raise BadParameter(f"python:{argument}: {error}; {fix}") from error
    except Exception as error:  # importing runs the code of the module
        raise BadParameter(f"python:{argument}: importing it raised {type(error).__name__}: {error}; fix it") from error
    finally:
        sys.path.remove(folder)
    if not hasattr(loaded, name):
        names = [key for key in vars(loaded) if not key.startswith("_")]
        raise BadParameter(f"python:{argument}: {UnknownName(f'name in {module}', name, names)}")
    return getattr(loaded, name)


def _module_of(path: Path) -> ModuleType:
    """The module in a file, which others cannot import, since another module may be called as the file is.

    So its functions are sent to other processes with their code.
    """
    name = f"ragauge_file_{path.stem}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python module")
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module


def _by_torch(spec: str) -> Judge:
    from ragauge.judges.nli.models import hf_judge

    return hf_judge(spec)


class JudgeFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A judge as a file, such as `ragauge judges tune` writes it.

    examples: worked examples for an LLM judge. thresholds: by kind of verdict the probability from which the answer is
    yes. tuned: how these were chosen, for readers.
    """

    schema: Literal["ragauge.judge/1"] = "ragauge.judge/1"
    judge: str
    examples: tuple[dict[str, Any], ...] = ()
    thresholds: dict[str, float] = {}
    tuned: dict[str, Any] = {}

    def text(self) -> str:
        """The content of the file."""
        fields = {"schema": self.schema, **msgspec.to_builtins(self)}
        return msgspec.json.format(msgspec.json.encode(fields).decode(), indent=1) + "\n"


def judge_of_file(file: JudgeFile) -> Judge:
    """The judge that a file describes. Raises as `load_judge` does, and BadData for examples that are none."""
    from ragauge.judges.llm.judge import llm

    made = llm(file.judge, examples=file.examples) if file.examples else load_judge(file.judge)
    return Decided(made, file.thresholds) if file.thresholds else made


def judge_file(file: str | JudgeSpec) -> JudgeFile:
    """The judge file that a spec names, or one of that judge alone.

    Raises BadData for a file that is none, that would run code, or that names a host which is not allowed.
    """
    spec, allowed = (file, ()) if isinstance(file, str) else (file.spec, file.allow_hosts)
    if not spec.endswith(".json"):
        return JudgeFile(judge=spec)
    try:
        described = msgspec.json.decode(read_file(Path(spec)), type=JudgeFile)
    except (OSError, ValueError) as error:
        fix = "give a judge file, such as `ragauge judges tune -o FILE` writes"
        raise BadData(f"{spec}: cannot be read as a judge: {error}; {fix}") from None
    if described.judge.endswith(".json"):
        raise BadData(f"{spec}: its judge is a file too, {described.judge}; name the judge itself")
    check_shared(described.judge, spec, allowed)
    return described


def check_shared(judge: str, source: str, allow_hosts: Collection[str] = ()) -> None:
    """Check the spec of a judge in a file, which may be somebody else's. source: the file, for messages.

    Raises BadData where the judge is code, or a server other than its provider's own that is not among `allow_hosts`.
    """
    if code := code_in(judge):
        raise BadData(f"{source}: {code} is code, which no file can have run; give it yourself, as in -j {code}")
    allowed = {host.lower().strip("[]") for host in allow_hosts}
    if host := next((host for host in foreign_hosts(judge) if host not in allowed), ""):
        raise BadData(
            f"{source}: it sends texts and your key to {host}, which is not its provider's own server; if you trust "
            f"that host, add --allow-host {host} (in Python: rg.load_judge(..., allow_hosts=[{host!r}]))"
        )


def code_in(judge: str) -> str:
    """The `python:MODULE:NAME` in the spec of a judge; "" where there is none."""
    return next((spec for spec in _members(judge) if spec.startswith("python:")), "")


def foreign_hosts(judge: str) -> list[str]:
    """The hosts that the spec of a judge names, but for those of its providers themselves."""
    from ragauge.judges.llm.providers import foreign_host, parse_llm_spec

    asked = [spec for spec in _members(judge) if _names_model(spec)]
    return [host for spec in asked if (host := foreign_host(parse_llm_spec(spec), os.environ))]


def _names_model(spec: str) -> bool:
    """Whether a spec names a provider and its model."""
    is_made = spec.partition(":")[0] in MAKERS or spec.startswith("hf/")
    return "/" in spec.partition("?")[0] and not is_made


def _members(spec: str) -> Iterator[str]:
    """The specs that a panel, cascade or repetition is made of, or the spec itself."""
    if "(" not in spec or spec.partition("(")[0] not in COMPOSITES:
        yield spec
        return
    for member in arguments_of(spec)[0]:
        yield from _members(member)


def _model(spec: str) -> Judge:
    from ragauge.judges.llm.judge import llm
    from ragauge.judges.llm.providers import PROVIDERS

    provider = spec.partition("/")[0]
    if provider not in PROVIDERS:
        raise UnknownName("provider", provider, [*PROVIDERS, *DESCRIPTIONS])
    return llm(spec)


#: What comes before the colon of a spec, and what makes the judge of what comes after it.
MAKERS: dict[str, Callable[[str], Any]] = {
    "embedded": partial(_packaged, "embedded"),
    "lexical": partial(_packaged, "lexical"),
    "recording": _recording,
    "python": python_object,
}

#: The entry points of other packages, NAME = "module:factory"; the factory is given what follows "NAME:" in a spec.
ENTRY_POINTS = "ragauge.judges"

DESCRIPTIONS = {
    "embedded": "in the package: CPU, offline, no key, deterministic",
    "lexical": "the same by words alone: the lightest judge, and the baseline of `judges measure`",
    "PROVIDER/MODEL": "any LLM, with options behind it: openai/gpt-4o-mini, ollama/qwen3:8b?concurrency=2",
    "hf/MODEL": "an NLI model of the hub or of a folder, run here by torch; answers entail alone",
    "panel(JUDGE,JUDGE,...)": "several judges vote, and how far they agree is reported",
    "cascade(JUDGE,JUDGE,threshold=T)": "the first answers where it is sure, the rest goes up to the next; or risk=R",
    "repeat(JUDGE,N)": "an LLM judge asked N times in other orders votes, and its flip rate is reported",
    "FILE.json": "what `ragauge judges tune` chose: a judge with examples and thresholds",
    "recording:PATH": "exact replay of a store or of a file of judgments (.jsonl)",
    "python:MODULE:NAME": "a judge of your own, made by judge_from(...) in a Python module",
}


def load_judge(spec: OneJudge, allow_hosts: Collection[str] = ()) -> Judge:
    """One judge from its spec, such as "embedded" or "openai/gpt-4o-mini", or the judge itself.

    A client of the `instructor` library, a chat model of LangChain or LlamaIndex, and a function from messages to text
    become LLM judges.

    Args:
        spec: the spec, the judge, the client, the model or the function.
        allow_hosts: hosts to which a judge file may send prompts and keys, in addition to the providers' own.

    Returns:
        The judge.

    Raises:
        UnknownName: no judge has this name.
        BadData: a judge file cannot be read, would run code, or names a host that is not allowed.
        BadParameter: this is no judge.
    """
    if isinstance(spec, str):
        spec = JudgeSpec(spec, tuple(allow_hosts))
    if isinstance(spec, JudgeSpec):
        made = _maker(spec)()
        if not isinstance(made, Judge):
            raise BadParameter(f"{spec.spec} is {type(made).__name__}, not a judge; make one with judge_from(...)")
        return made
    if isinstance(spec, Judge):
        if not isinstance(spec.identity, Identity):
            name = type(spec).__name__
            raise BadParameter(f"{name}.identity is {spec.identity!r}; write rg.types.Identity({name.lower()!r})")
        return spec
    from ragauge.judges.llm.adapters import is_model
    from ragauge.judges.llm.judge import llm

    if is_model(spec):
        return llm(spec)
    raise BadParameter(f"{spec!r} is not a judge; give a name, rg.judge_from(...), rg.llm(...) or a rg.judges.Judge")


def _maker(judge_spec: JudgeSpec) -> Callable[[], Any]:
    """What makes the judge of a spec. Raises UnknownName for a name that no judge has."""
    spec = judge_spec.spec
    name, _, argument = spec.partition(":")
    if not judge_spec.imports and (name == "python" or spec.startswith("hf/")):
        return partial(UnloadedJudge, spec)
    if name in MAKERS:
        return partial(MAKERS[name], argument)
    if "(" in spec and spec.partition("(")[0] in COMPOSITES:
        judges, options = arguments_of(spec)
        members = [msgspec.structs.replace(judge_spec, spec=member) for member in judges]
        return partial(COMPOSITES[spec.partition("(")[0]], members, options)
    if spec.endswith(".json"):
        return partial(judge_of_file, judge_file(judge_spec))
    if "/" in spec.partition("?")[0]:
        return partial(_by_torch if spec.startswith("hf/") else _model, spec)
    points = installed(ENTRY_POINTS)
    if matching := [point for point in points if point.name == name]:
        return partial(load_only(matching, f"judge {name!r}"), argument)
    from ragauge.judges.llm.providers import PROVIDERS

    if spec in PROVIDERS:
        raise BadParameter(f"judge {spec!r}: name a model of it, as in {spec}/MODEL")
    looks_like_a_model = any(character.isdigit() or character == "-" for character in spec)
    others = [point.name for point in points]
    raise UnknownName("judge", spec, [*DESCRIPTIONS, *others, *([f"openai/{spec}"] if looks_like_a_model else [])])


def with_settings(judge: JudgeLike, **settings: Any) -> JudgeLike:
    """The judges with settings of `JudgeSpec`, where they are specs."""

    def changed(member: OneJudge) -> OneJudge:
        spec = JudgeSpec(member) if isinstance(member, str) else member
        return msgspec.structs.replace(spec, **settings) if isinstance(spec, JudgeSpec) else spec

    if isinstance(judge, Mapping):
        return {key: changed(member) for key, member in judge.items()}
    return judge if isinstance(judge, JudgeRouter) else changed(judge)


def load_judges(judge: JudgeLike, allow_hosts: Collection[str] = (), store: Store | Place | None = None) -> JudgeRouter:
    """The judges of what was given as `judge=`: one judge, or a mapping to judges from kinds, or from languages.

    Args:
        judge: what stands for the judges.
        allow_hosts: as for `load_judge`.
        store: of the labels by which a cascade shows its risk; None for ".ragauge".

    Raises:
        BadParameter: a mapping from kinds and languages; and what `JudgeRouter`, `ByLanguage` and `load_judge` raise.
    """
    if store is not None:
        judge = with_settings(judge, store=store)
    if isinstance(judge, JudgeRouter):
        return judge
    if not isinstance(judge, Mapping):
        return JudgeRouter({"*": load_judge(judge, allow_hosts)})
    made = {key: load_judge(spec, allow_hosts) for key, spec in judge.items()}
    languages = [key for key in made if re.fullmatch("[a-z]{2,3}", key)]
    if not languages:
        return JudgeRouter(made)
    if made.keys() - {*languages, "*"}:
        raise BadParameter(f"judges of {', '.join(made)}: name them by language or by kind, with '*' for the rest")
    return JudgeRouter({"*": ByLanguage(made)})


Threshold = float | Mapping[str, float]


def panel(*judges: OneJudge) -> Panel:
    """A judge whose members vote; see `ragauge.judges.composite.Panel` and docs/judges.md.

        rg.panel("embedded", "openai/gpt-4o-mini", "anthropic/claude-haiku-4-5")

    judges: at least two, as specs or judges. Their order decides who takes texts apart: the first that can.
    Raises BadParameter for fewer than two, and for one that is there twice, UnknownName for a name that no judge has.
    """
    return Panel([load_judge(judge) for judge in judges])


def repeat(judge: OneJudge, times: int = 3) -> Repeat:
    """A judge that is asked several times and votes; see `ragauge.judges.composite.Repeat` and docs/judges.md.

        rg.repeat("openai/gpt-4o-mini?temperature=0.7", 3)

    judge: an LLM judge, as a spec or judge. times: how often it is asked.
    Raises BadParameter for a judge that answers alike each time, and for fewer than two times.
    """
    return Repeat(load_judge(judge), times)


def cascade(
    *judges: OneJudge, threshold: Threshold | None = None, risk: float | None = None, store: Store | Place = ".ragauge"
) -> Cascade:
    """A judge that asks the first of several, and the next where that is not sure enough.

        rg.cascade("embedded", "openai/gpt-4o-mini", threshold=0.95)
        rg.cascade("embedded", "openai/gpt-4o-mini", threshold={"entail": 0.95, "relevant": 0.9})
        rg.cascade("embedded", "openai/gpt-4o-mini", risk=0.05)

    Args:
        judges: at least two, as specs or judges, the cheapest first; the last answers whatever is left.
        threshold: the confidence, max(p, 1 - p), from which a verdict stands; for all kinds of verdict ("entail",
            "relevant", "classify"), or by kind, and then verdicts of other kinds go up. It is the same at every step;
            nest cascades for others. No threshold suits all texts: `ragauge judges tune` finds one on labels of yours.
            By default it is that of the first judge's `threshold`, which the embedded judge has.
        risk: instead of a threshold, how often a verdict that stands may be wrong, such as 0.05; at 95 % confidence.
            The threshold is the lowest for which people's labels in `store` show that, by the judge's answers that
            are stored there too.
        store: where labels and answers are, for `risk`.

    Raises:
        BadParameter: Fewer than two judges, one of them twice, no threshold, or one that is no confidence.
        BadData: Fewer labels than can show the risk.
        UnknownName: No judge has the name.
    """
    made = [load_judge(judge) for judge in judges]
    names = ",".join(str(judge.identity) for judge in made)
    if len(made) < 2:
        raise BadParameter(f"cascade({names}) needs at least two judges, the cheapest first: cascade(embedded,JUDGE)")
    if risk is not None and (threshold is not None or not 0 < risk < 1):
        raise BadParameter(f"cascade({names}): give a risk above 0 and below 1, as in risk=0.05, and no threshold")
    stands = adapted(made[0]).threshold if threshold is None else threshold
    if stands is None and risk is None:
        fix = f"as in cascade({names},threshold=0.95); `ragauge judges tune` finds one on labels of yours"
        raise BadParameter(f"cascade({names}) needs a threshold, {fix}")
    *firsts, last = made
    for judge in reversed(firsts):
        last = Cascade(judge, last, (stands or 0.0) if risk is None else _thresholds_for(risk, judge, store))
    return cast(Cascade, last)


def _thresholds_for(risk: float, judge: Judge, store: Store | Place) -> dict[str, float]:
    """By kind, the confidence from which a judge is wrong no oftener than `risk`, as labels in a store show."""
    from ragauge.run.judge_error import stored_judgments
    from ragauge.store import Store, opinions, settled

    if not isinstance(store, Store) and not Store.exists(store):
        raise BadData(f"there is no store at {store} with labels to show a risk by; see `ragauge label`")
    opened = store if isinstance(store, Store) else Store.open(store, to_read=True)
    of_verdicts = [judgment for judgment in opened.labels() if judgment.question.kind in VERDICTS]
    labels = {question: judgment.answer for question, judgment in settled(opinions(of_verdicts)).items()}
    stored = stored_judgments(labels, lambda _: judge.identity, opened)
    answers = {question: judgment.answer for question, judgment in stored.items()}
    fitted = fit_thresholds({question: says_yes(answer) for question, answer in labels.items()}, answers, 1 - risk)
    shown = {name: fit.threshold for name, fit in fitted.items() if fit.threshold is not None}
    if not shown:
        raise BadData(
            f"{opened.place}: {counted(len(answers), 'labelled verdict')} of {judge.identity} do not show a risk of "
            f"{risk:g}; it takes {fewest_labels(1 - risk)} or more that it is sure of, all right (more, where some are "
            "wrong): have it judge, and label with `ragauge label`"
        )
    return shown


def arguments_of(spec: str) -> tuple[list[str], dict[str, str]]:
    """The judges and options in a spec such as `cascade(a,b,threshold=0.9)`. Raises BadParameter if it has no end."""
    name, _, inside = spec.partition("(")
    depths = accumulate(((char == "(") - (char == ")") for char in inside), initial=1)
    if next((position for position, depth in enumerate(depths) if depth == 0), None) != len(inside):
        raise BadParameter(f"cannot read {spec!r}; write {name}(JUDGE,JUDGE), and close each bracket")
    pieces = [(piece, re.fullmatch(r"\s*(\w+)\s*=(.*)", piece, re.DOTALL)) for piece in split_specs(inside[:-1])]
    judges = [piece for piece, option in pieces if option is None]
    return judges, {option[1]: option[2].strip() for _, option in pieces if option}


def _panel(judges: list[JudgeSpec], options: dict[str, str]) -> Panel:
    if options:
        raise BadParameter(f"panel() takes judges and nothing else, not {', '.join(options)}")
    return panel(*judges)


def _repeat(arguments: list[JudgeSpec], options: dict[str, str]) -> Repeat:
    if options or len(arguments) != 2 or not arguments[1].spec.isdecimal():
        written = ", ".join([*(argument.spec for argument in arguments), *options])
        raise BadParameter(f"repeat({written}): write repeat(JUDGE,N), as in repeat(JUDGE,3)")
    return repeat(arguments[0], int(arguments[1].spec))


def _cascade(judges: list[JudgeSpec], options: dict[str, str]) -> Cascade:
    names = ("threshold", *VERDICTS, "risk")
    levels: dict[str, float] = {}
    for name, text in options.items():
        if name not in names:
            raise UnknownName("option of cascade()", name, names)
        try:
            levels[name] = float(text)
        except ValueError:
            raise BadParameter(f"cascade(): {name}={text!r} must be a number, such as {name}=0.95") from None
    for_all, risk = levels.pop("threshold", None), levels.pop("risk", None)
    if levels and for_all is not None:
        levels = {**dict.fromkeys(VERDICTS, for_all), **levels}
    store = judges[0].store if judges else ".ragauge"
    return cascade(*judges, threshold=levels or for_all, risk=risk, store=store)


COMPOSITES: dict[str, Callable[[list[JudgeSpec], dict[str, str]], Judge]] = {
    "panel": _panel,
    "cascade": _cascade,
    "repeat": _repeat,
}
