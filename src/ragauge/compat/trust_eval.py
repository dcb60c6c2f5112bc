"""Trust-Eval 0.1.5 (Song et al., ICLR 2025): its data, keys and classes; docs/migrating/trust-eval.md."""

from __future__ import annotations

import inspect
import json
import logging
import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import ragauge as rg
from ragauge.compat import open_modules
from ragauge.datasets import Built, Generated, build, generate
from ragauge.host import optional

open_modules("trust_eval")
logger = logging.getLogger(__name__)

Item = dict[str, Any]
Result = dict[str, float | None]
EvalType = Literal["cm", "em", "em5"]
Prefix = Literal["reject", "refuse", "refusal"]

#: The NLI model that Trust-Eval has by default, of 11 billion parameters, and the words by which it knows a refusal.
TRUE = "google/t5_xxl_true_nli_mixture"
FLAG = "I apologize, but I couldn't find an answer"

_MAP = {"query": "question", "response": "output", "contexts": "docs", "answers": "answers", "id": "", "answerable": ""}


def evaluate(
    data: Any,
    eval_type: EvalType = "cm",
    entail: Any = "embedded",
    *,
    prefix: Prefix = "reject",
    at_most_citations: int = 3,
    store: Any = None,
) -> Result:
    """Trust-Eval's numbers for answered items, under its keys, in per cent.

    Args:
        data: a list of items, {"data": [...]}, or the path of a JSON file with either.
        eval_type: how gold claims are matched: "cm" by entailment, "em" as strings, "em5" as items of a list.
        entail: a function of premise and hypothesis, sync or async, called once for each pair for which Trust-Eval
            calls its NLI model; TRUE; or any judge of `rg.evaluate`.
        prefix: how the keys about refusals begin.
        at_most_citations: the number of citations of a sentence that count.
        store: the store for judgments and for the run with its evidence.

    Returns:
        Key -> number; None for a mean of nothing, where Trust-Eval has NaN.

    Raises:
        UsageError: the data or an option is wrong.
        RunFailed: the judge does not answer a question.
    """
    if prefix not in ("reject", "refuse", "refusal"):
        raise rg.errors.BadParameter(f"prefix={prefix!r} must be 'reject', 'refuse' or 'refusal'")
    options = f"correctness={eval_type},variant=trust_eval,labels=given,at_most={at_most_citations}"
    run = rg.evaluate(data, f"trust({options})", _judge(entail), store, map=_MAP)
    return rg.analysis.trust_eval_block(run, eval_type, prefix, at_most_citations)


def _judge(entail: Any, alone: Collection[str] = ()) -> Any:
    """The judge. alone: the only premises that a function is called with, without combinations of them."""
    if entail == TRUE:
        return f"hf/{TRUE}"
    if isinstance(entail, rg.judges.Judge) or not callable(entail):
        return entail
    taken = inspect.signature(entail).parameters
    places = sum((p.kind <= p.VAR_POSITIONAL) + (p.kind == p.VAR_POSITIONAL) for p in taken.values())
    if places < 2 and not {"premise", "hypothesis"} <= taken.keys():
        return entail

    async def answer(premise: str, hypothesis: str) -> Any:
        if alone and premise not in alone:
            return False
        reply = entail(premise, hypothesis) if places > 1 else entail(premise=premise, hypothesis=hypothesis)
        reply = await reply if inspect.isawaitable(reply) else reply
        return bool(reply) if reply in (0, 1) else reply

    return rg.judge_from(entail=answer)


def retrieve(queries: str | Sequence[str], top_k: int = 5, corpus: Any = None, store: Any = None) -> list[Any]:
    """The most relevant documents: a list for each query, or one list where `queries` is a single text.

    Args:
        queries: one query, or several.
        top_k: documents per query.
        corpus: a folder or file that is searched by BM25, or a retriever as for `ragauge.datasets.build`; None searches
            that of generator_config.yaml, else the packaged toy corpus about a fictional island.
        store: the store for the index.

    Raises:
        MissingExtra: a folder or file is searched, and bm25s is not installed.
    """
    if corpus is None and (corpus := _configured(None, "generator_config.yaml").corpus) is None:
        corpus = Path(str(resources.files("ragauge.datasets") / "mini" / "corpus"))
        warnings.warn("no corpus was given: the toy corpus that is searched answers no real question", stacklevel=2)
    rows = {"query": [queries] if isinstance(queries, str) else list(queries)}
    searched = {"corpus" if isinstance(corpus, str | Path) else "retriever": corpus}
    built = [sample.contexts or () for sample in _samples(build(rows, top=top_k, store=store, **searched))]
    documents = [
        [{**doc.metadata, "id": doc.id, "title": doc.title, "text": doc.text} for doc in docs] for docs in built
    ]
    return documents[0] if isinstance(queries, str) else documents


def construct_data(questions: Sequence[str], answers: Sequence[str], raw_docs: list[Any], config: Config) -> list[Item]:
    """Items whose gold claim is the whole answer, each document labelled by whether it entails it: `answers_found`.

    raw_docs: a list of documents for each question, as `retrieve` gives them.
    """
    docs = [raw_docs] if raw_docs and isinstance(raw_docs[0], Mapping) else raw_docs
    if not len(questions) == len(answers) == len(docs):
        counts = f"{len(questions)} questions, {len(answers)} answers and {len(docs)} lists of documents"
        raise rg.errors.BadData(f"{counts}; give as many of each")
    passages = [[f"{doc.get('title') or ''} {doc['text']}".strip() for doc in retrieved] for retrieved in docs]
    columns = {"query": list(questions), "answers": [[[answer]] for answer in answers], "contexts": passages}
    judge = _judge(config.autoais_model, {text for texts in passages for text in texts})
    samples = _samples(build(columns, judge=judge, top=max(1, *map(len, docs)), store=config.store))
    labels = [
        [{"answers_found": chunk.metadata["answers_found"]} for chunk in sample.contexts or ()] for sample in samples
    ]
    return [
        {"question": q, "answers": [a], "docs": [{**doc, **label} for doc, label in zip(d, marks, strict=True)]}
        for q, a, d, marks in zip(questions, answers, docs, labels, strict=True)
    ]


def _samples(made: Built | Generated) -> Sequence[rg.Sample]:
    """What was built or generated. Raises RunFailed where a sample lacks something."""
    for part, reason in made.failures.first.items():
        raise rg.errors.RunFailed(f"{made.failures[part]} of {len(made.samples)} items lack {part}: {reason}")
    return made.samples


#: Settings of Trust-Eval that can only have their defaults.
_FIXED = {"rejection_flag": FLAG, "rejection_threshold": 85, "num_samples": 1, "parametric": True, "calib": True}

#: Settings of Trust-Eval without effect here: of its prompts and examples, and of its model's sampling and loading.
_UNUSED = """compute_citations compute_correctness is_qampari lora_path max_retry posthoc_retriever temperature top_p
    azure azure_openai_api ndoc_in_demo no_demo openai_api posthoc_retriever_device retry seed sft_model shot yaml_path
    data_generation fewer_doc_in_demo max_length max_new_tokens no_doc_in_demo overwrite prompt_file vllm""".split()

_EVAL_TYPES: dict[str, EvalType] = {"asqa": "em", "qampari": "em5", "eli5": "cm"}


@dataclass(init=False)
class Config:
    """The settings of generation and of evaluation, which may be in one file.

    data_type: "asqa", "qampari" or "eli5" stand for the eval_type "em", "em5" or "cm", whichever is given.
    model: what answers, as for `ragauge.datasets.generate`. ndoc: the documents an item keeps. rejection: whether the
    model is asked to refuse where they hold no answer. corpus: as for `retrieve`.
    posthoc: whether the model answers without documents, and autoais_model adds the citations.
    data_file: items to be answered, whose documents external_docs cannot replace; quick_test: how many of them.
    eval_file: answered items. result_path: the numbers.
    autoais_model: as `entail` of `evaluate`; prefix, at_most_citations: as there. store: keeps answers and judgments.
    Raises UnknownName for settings that neither system knows, BadParameter for values that cannot be had here.
    """

    data_type: str = ""
    eval_type: EvalType = "cm"
    model: Any = None
    ndoc: int = 5
    rejection: bool = True
    posthoc: bool = False
    corpus: Any = None
    data_file: str = ""
    external_docs: str | None = None
    quick_test: int | None = None
    eval_file: str = ""
    result_path: str = ""
    autoais_model: Any = "embedded"
    at_most_citations: int = 3
    prefix: Prefix = "reject"
    store: Any = None

    def __init__(self, **settings: Any) -> None:
        chosen = {name.replace("refusal", "rejection"): value for name, value in settings.items()}
        own = {field.name for field in fields(self)}
        if unknown := sorted(chosen.keys() - {*own, *_FIXED, *_UNUSED}):
            raise rg.errors.UnknownName("setting", ", ".join(unknown), own)
        if fixed := [name for name, value in _FIXED.items() if chosen.get(name, value) != value]:
            raise rg.errors.BadParameter(f"{fixed[0]} can only be {_FIXED[fixed[0]]!r} here, not {chosen[fixed[0]]!r}")
        if unused := sorted(chosen.keys() & {*_UNUSED}):
            warnings.warn(f"settings without effect here: {', '.join(unused)}", stacklevel=2)
        vars(self).update({name: value for name, value in chosen.items() if name in own})
        if self.external_docs not in (None, self.data_file):
            raise rg.errors.BadParameter(f"external_docs={self.external_docs!r} must be data_file")
        self.eval_type = _EVAL_TYPES.get(self.data_type, self.eval_type)
        file = f"{self.data_type or 'eli5'}_eval_top100_calibrated.json"
        self.data_file, self.eval_file = self.data_file or f"data/{file}", self.eval_file or f"eval_data/{file}"
        self.result_path = self.result_path or f"results/{self.eval_type}_evaluation.json"

    @classmethod
    def from_yaml(cls, yaml_path: str | Path) -> Config:
        """The settings in a YAML or JSON file. Raises BadData where it cannot be read, or names code or
        a server, MissingExtra for YAML without its library."""
        is_json = Path(yaml_path).suffix == ".json"
        load = json.loads if is_json else optional(str(yaml_path), "yaml", "yaml").safe_load
        try:
            content = dict(load(Path(yaml_path).read_text(encoding="utf-8")))
        except Exception as error:
            fault = f"{yaml_path}: no settings by name: {error}; fix it, or give them as arguments"
            raise rg.errors.BadData(fault) from error
        for setting in ("model", "autoais_model"):
            if re.search("python:|base_url=", str(content.get(setting))):  # the file may be somebody else's
                raise rg.errors.BadData(f"{yaml_path}: {setting} names code or a server; give it as an argument")
        return cls(**content)


ResponseGeneratorConfig = EvaluationConfig = Config


@dataclass
class ResponseGenerator:
    """Has a model answer items, dicts of "question" and "docs", from their documents. eval_data: with "output"."""

    config: Config
    eval_data: list[Item] = field(default_factory=list)

    def generate_responses(self, data: Sequence[Item] | None = None) -> list[Item]:
        """The items, those of data_file unless given, answered. Raises RunFailed where one has no output."""
        if (config := self.config).model is None:
            raise rg.errors.BadParameter("no model is named; add the setting model='openai/gpt-4o-mini' or another")
        try:
            rg.load_judge(config.model if isinstance(config.model, str) else "embedded")
        except rg.errors.UnknownName as error:
            raise rg.errors.BadParameter(f"{error}; serve a model of the Hub: model='vllm/{config.model}'") from None
        if data is None:
            try:
                content = json.loads(Path(config.data_file).read_text(encoding="utf-8"))
                data = (content["data"] if isinstance(content, Mapping) else content)[: config.quick_test]
            except (OSError, ValueError, LookupError, TypeError) as error:
                raise rg.errors.BadData(
                    f"{config.data_file}: {error!r:.80}; call create_dataset() or fix it"
                ) from error
        form: Literal["list", "prose"] = "list" if config.data_type == "qampari" else "prose"
        if form == "prose":  # raises MissingExtra before a model is paid for answers that cannot be evaluated
            made_up = {"question": "Q?", "response": "A. B.", "contexts": ["A."]}
            rg.plan([made_up], "citation_recall(variant=trust_eval)", _judge(config.autoais_model))
        refusal = f"{FLAG} in the documents." if config.rejection and not config.posthoc else ""
        shown = [{"question": item["question"], "docs": [] if config.posthoc else item["docs"]} for item in data]
        options: Item = {"form": form, "top": config.ndoc or None, "store": config.store}
        made = generate(shown, config.model, refusal=refusal, **options)
        outputs = [sample.response or "" for sample in _samples(made)]
        if config.posthoc:
            outputs = [self._cited(item, output, options) for item, output in zip(data, outputs, strict=True)]
        pairs = zip(data, outputs, strict=True)
        self.eval_data = [{**item, "docs": item["docs"][: config.ndoc], "output": output} for item, output in pairs]
        return self.eval_data

    def _cited(self, item: Item, output: str, options: Item) -> str:
        """The output with citations of the documents that support its sentences."""
        shown, reply = {"question": item["question"], "docs": item["docs"]}, json.dumps({"answer": output})
        cited = generate([shown], lambda _: reply, refusal="", cite=_judge(self.config.autoais_model), **options)
        return _samples(cited)[0].response or ""

    def save_responses(self, output_path: str | Path | None = None) -> None:
        """Write the answered items as JSON: {"data": ..., "config": ...}."""
        _write(output_path or self.config.eval_file, {"data": self.eval_data, "config": vars(self.config)})


@dataclass
class Evaluator:
    """Evaluates answered items: those of the eval_file, unless data is given. result: the numbers."""

    config: Config
    eval_data: Any = None
    result: Result = field(default_factory=dict)

    def compute_metrics(self, correctness: bool = True, citations: bool = True) -> Result:
        """The numbers, as `evaluate` gives them, without those of a part that is not wanted."""
        config, data = self.config, self.eval_data or self.config.eval_file
        counted: EvalType = "em" if config.eval_type == "cm" and not correctness else config.eval_type
        cited: Item = {"prefix": config.prefix, "at_most_citations": config.at_most_citations if citations else 0}
        block = evaluate(data, counted, config.autoais_model, store=config.store, **cited)
        unwanted = [] if correctness else ["claims_nli", "str_em", "qampari", "num_preds", "trust_score"]
        unwanted += [] if citations else ["citation", "trust_score"]
        self.result = {key: value for key, value in block.items() if not any(part in key for part in unwanted)}
        return self.result

    def save_results(self, output_path: str | Path | None = None) -> None:
        """Write the numbers as JSON."""
        _write(output_path or self.config.result_path, self.result)


class TrustScoreEvaluator:
    """From questions and answers to Trust-Eval's numbers. data: the items.

    generator_config, eval_config: a file of settings, settings by name, or a Config; without them the files
    generator_config.yaml and eval_config.yaml, where they are there.
    """

    def __init__(self, generator_config: Any = None, eval_config: Any = None) -> None:
        self.generator_config = _configured(generator_config, "generator_config.yaml")
        self.eval_config = _configured(eval_config, "eval_config.yaml")
        self.data: list[Item] | None = None

    def create_dataset(self, questions: Sequence[str], answers: Sequence[str]) -> list[Item]:
        """Items with documents from the corpus, labelled; see `retrieve` and `construct_data`."""
        config = self.generator_config
        documents = retrieve(list(questions), config.ndoc, config.corpus, config.store)
        self.data = construct_data(questions, answers, documents, config)
        return self.data

    def run(self, output_path: str | Path = "output/custom_data.json") -> list[Item]:
        """The items with the answers of the model, which are written too; see `ResponseGenerator`."""
        generator = ResponseGenerator(self.generator_config)
        self.data = generator.generate_responses(self.data)
        generator.save_responses(output_path)
        return self.data

    def evaluate(self, output_path: str | Path = "results/custom_data.json") -> Result:
        """The numbers, which are written too; see `evaluate`."""
        if any("output" not in item for item in self.data or ()):
            raise rg.errors.UsageError("the items have no output yet; call run() first")
        evaluator = Evaluator(self.eval_config, self.data)
        evaluator.compute_metrics()
        evaluator.save_results(output_path)
        return evaluator.result


def _configured(config: Any, usual: str) -> Config:
    if isinstance(config, Config):
        return config
    if isinstance(config, Mapping):
        return Config(**config)
    return Config.from_yaml(config or usual) if config or Path(usual).is_file() else Config()


def _write(path: str | Path, document: Any) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(json.dumps(document, indent=4, default=str), encoding="utf-8")
