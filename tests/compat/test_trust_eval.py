from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragauge as rg
from ragauge import datasets
from ragauge.compat import llama_index, trust_eval
from ragauge.compat.trust_eval import Config, Evaluator, Item, ResponseGenerator, TrustScoreEvaluator, evaluate

MINI = Path(datasets.__file__).parent / "mini"
REFUSAL = "I apologize, but I couldn't find an answer to your question in the search results."
DOCS = [
    {"title": "Tea", "text": "Tea is hot.", "answers_found": [1]},
    {"title": "Ice", "text": "Ice is cold.", "answers_found": [0]},
]


def item(output: str, **fields: Any) -> Item:
    """An answered item with one gold claim, which its first document holds."""
    return {"question": "How is tea?", "answers": [["Tea is hot"]], "docs": DOCS, "output": output, **fields}


class Words:
    """Entailment by words: every word of the hypothesis stands in the premise. It remembers the pairs."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def __call__(self, premise: str, hypothesis: str) -> bool:
        """Whether the premise has the words."""
        self.asked.append((premise, hypothesis))
        return set(re.findall(r"\w+", hypothesis.lower())) <= set(re.findall(r"\w+", premise.lower()))


@pytest.fixture
def words() -> Words:
    """A judge that has not been asked yet."""
    return Words()


@pytest.fixture
def model(stub_server: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> str:
    """A model that answers over HTTP, from documents alone."""
    monkeypatch.setenv("OPENAI_BASE_URL", stub_server().url)
    return "openai/gpt-4o-mini"


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


#: The steps that Trust-Eval documents for LlamaIndex, with the import changed: no argument but the pairs.
PROGRAM = """
from ragauge.compat.llama_index import TrustScoreEvaluator

questions = [f"How deep is harbour number {number}?" for number in range(6)]
answers = [f"Harbour number {number} is {number + 3} metres deep." for number in range(6)]
evaluator = TrustScoreEvaluator()
evaluator.create_dataset(questions=questions, answers=answers)
evaluator.run()
result = evaluator.evaluate()
"""


@pytest.mark.filterwarnings("ignore:no corpus was given")
def test_the_workflow_of_the_documentation(golden: Path, model: str, workplace: Path) -> None:
    """The documented steps run without arguments, read their settings from YAML and give the 28 documented keys."""
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    documented = json.loads((golden / "systems" / "trust_eval_block.json").read_text("utf-8"))["expected"]
    Path("generator_config.yaml").write_text(f"model: {model}\n", encoding="utf-8")
    Path("eval_config.yaml").write_text("eval_file: output/custom_data.json\n", encoding="utf-8")
    names: dict[str, Any] = {}
    exec(compile(PROGRAM, "program", "exec"), names)
    assert list(names["result"]) == list(documented)
    assert names["result"]["num_samples"] == 6
    assert names["result"]["reject_rec"] == 100.0
    assert json.loads(Path("results/custom_data.json").read_text("utf-8")) == names["result"]


@pytest.mark.slow
def test_a_corpus_of_ones_own(model: str, workplace: Path) -> None:
    """With the corpus named, answers are found, cited and measured; each file is where it was asked for."""
    rows = [json.loads(line) for line in (MINI / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    Path("settings.json").write_text(json.dumps({"model": model, "corpus": str(MINI / "corpus")}), encoding="utf-8")
    evaluator = llama_index.TrustScoreEvaluator(generator_config="settings.json", eval_config={"store": "kept"})
    data = evaluator.create_dataset([row["question"] for row in rows], [row["gold_answer"] for row in rows])
    assert data[0]["answers"] == [rows[0]["gold_answer"]]
    assert set(data[0]["docs"][0]) == {"id", "title", "text", "score", "answers_found"}
    answered = evaluator.run("a/answers.json")
    result = evaluator.evaluate("b/result.json")
    assert json.loads(Path("a/answers.json").read_text("utf-8"))["data"] == answered
    assert result == json.loads(Path("b/result.json").read_text("utf-8")) == evaluate("a/answers.json")
    assert result["trust_score"] is not None
    assert result["trust_score"] > 70
    assert rg.Run.open("kept").record.samples == len(rows)


def test_the_parts_one_after_the_other(model: str, workplace: Path, words: Words) -> None:
    """Retrieval, labels, answers and numbers are the steps of the whole; labels ask for each document by itself."""
    config = trust_eval.ResponseGeneratorConfig(model=model, autoais_model=words, corpus=str(MINI / "corpus"))
    queries = ["How long does the ferry from Skerholm take?", "Who keeps the lighthouse?"]
    docs = trust_eval.retrieve(queries, top_k=2, corpus=config.corpus)
    assert docs[0] == trust_eval.retrieve(queries[0], 2, config.corpus)
    data = trust_eval.construct_data(queries, ["The ferry", "No idea"], docs, config)
    pairs = [
        (f"{doc['title']} {doc['text']}", claim)
        for found, claim in zip(docs, ["The ferry", "No idea"], strict=True)
        for doc in found
    ]
    assert sorted(words.asked) == sorted(pairs)
    generator = ResponseGenerator(config)
    assert generator.generate_responses(data) == generator.eval_data
    generator.save_responses("answers.json")
    evaluator = Evaluator(trust_eval.EvaluationConfig(eval_file="answers.json", autoais_model=words))
    assert evaluator.compute_metrics() == evaluate(generator.eval_data, "cm", words)
    evaluator.save_results()
    assert json.loads(Path("results/cm_evaluation.json").read_text("utf-8")) == evaluator.result


def test_documents_of_one_question_may_stand_by_themselves(words: Words) -> None:
    """What `retrieve` gives for a single text is good for the data of a single question, empty or not."""
    docs = [{"title": "Tea", "text": "Tea is hot."}, {"text": "Ice"}]
    config = Config(autoais_model=words)
    (built,) = trust_eval.construct_data(["How is tea?"], ["hot"], docs, config)
    assert [doc["answers_found"] for doc in built["docs"]] == [[1], [0]]
    assert trust_eval.construct_data(["How?"], ["hot"], [[]], config)[0]["docs"] == []


def test_pairs_are_those_of_trust_eval(words: Words) -> None:
    """The answer without citations holds claims; documents hold sentences together, then alone, then without one."""
    block = evaluate([item("Tea is hot and ice is cold [1][2]. Tea is hot [1].")] * 2, "cm", words)
    tea, ice = "Title: Tea\nTea is hot.", "Title: Ice\nIce is cold."
    both = "Tea is hot and ice is cold."
    assert len(words.asked) == len(set(words.asked))
    assert set(words.asked) == {
        ("Tea is hot and ice is cold. Tea is hot.", "Tea is hot"),
        (f"{tea}\n{ice}", both),
        (tea, "Tea is hot."),
    }
    assert block["regular_citation_rec"] == 50.0
    evaluate([item("Ice, hot tea [1][2].")], "cm", words)
    assert words.asked[3:] == [
        ("Ice, hot tea.", "Tea is hot"),
        (f"{tea}\n{ice}", "Ice, hot tea."),
        (tea, "Ice, hot tea."),
        (ice, "Ice, hot tea."),
    ]


def test_functions_may_wait_and_loops_may_run(words: Words) -> None:
    """An asynchronous function gives the same numbers, and so does a call under a running event loop."""
    items = [item("Tea is hot [1]."), item(REFUSAL)]

    async def waiting(premise: str, hypothesis: str) -> bool:
        await asyncio.sleep(0)
        return words(premise, hypothesis)

    async def within() -> trust_eval.Result:
        return evaluate(items, "cm", waiting)

    assert asyncio.run(within()) == evaluate(items, "cm", waiting) == evaluate(items, "cm", words)


def test_any_judge_serves() -> None:
    """The embedded judge is taken unless another is named, and one that was made of a function is taken as it is."""
    items = [item("Tea is hot [1].")]
    judge = rg.judge_from(entail=lambda premise, hypothesis: "hot" in premise)
    assert evaluate(items)["trust_score"] == evaluate(items, "cm", "embedded")["trust_score"]
    assert evaluate(items, "cm", judge) == evaluate(items, "cm", {"entail": judge})


def test_what_a_store_keeps_is_not_asked_again(tmp_path: Path) -> None:
    """The second time the store answers, and the run in it has the evidence."""
    asked = str(tmp_path / "asked")

    def entail(premise: str, hypothesis: str) -> bool:
        with Path(asked).open("a") as file:
            file.write("x")
        return "hot" in premise

    items = [item("Tea is hot [1]."), item("Ice is cold [2].")]
    first = evaluate(items, "cm", entail, store=tmp_path / "store")
    times = len(Path(asked).read_text())
    assert evaluate(items, "cm", entail, store=tmp_path / "store") == first
    assert len(Path(asked).read_text()) == times > 0
    assert rg.Run.open(tmp_path / "store").scores[0]["citation_recall"].evidence


def test_parts_of_the_numbers(words: Words) -> None:
    """Without correctness or citations their keys are left out, with the trust score, and nothing is asked for them."""
    evaluator = Evaluator(Config(autoais_model=words), [item("Tea is hot [1].")])
    whole = evaluator.compute_metrics()
    words.asked.clear()
    assert evaluator.compute_metrics(citations=False) == {
        key: value for key, value in whole.items() if "citation" not in key and key != "trust_score"
    }
    assert words.asked == [("Tea is hot.", "Tea is hot")]
    words.asked.clear()
    assert evaluator.compute_metrics(correctness=False) == {
        key: value for key, value in whole.items() if "claims_nli" not in key and key != "trust_score"
    }
    assert words.asked == [("Title: Tea\nTea is hot.", "Tea is hot.")]


@pytest.mark.parametrize(
    ("data_type", "eval_type"), [("asqa", "em"), ("qampari", "em5"), ("eli5", "cm"), ("mine", "em")]
)
def test_the_data_say_how_claims_are_counted(data_type: str, eval_type: trust_eval.EvalType) -> None:
    """Known data sets have a way of counting of their own; for others it is the one that is given."""
    config = Config(data_type=data_type, eval_type="em")
    assert config.eval_type == eval_type
    assert config.eval_file == f"eval_data/{data_type}_eval_top100_calibrated.json"
    assert Config().eval_type == "cm"


def test_answers_to_a_file_of_items(workplace: Path, model: str) -> None:
    """Without data the generator reads the data_file, as many of it as wanted, and keeps the documents shown."""
    given = [{key: value for key, value in item("").items() if key != "output"}] * 3
    Path("items.json").write_text(json.dumps({"data": given}), encoding="utf-8")
    generator = ResponseGenerator(Config(model=model, data_file="items.json", quick_test=2, ndoc=1, rejection=False))
    answered = generator.generate_responses()
    assert [len(one["docs"]) for one in answered] == [1, 1]
    assert all(one["output"] and not one["output"].startswith("I apologize") for one in answered)


def test_settings_that_cannot_be_had() -> None:
    """Unknown settings are named, those of Trust-Eval's that change numbers are refused, idle ones are warned of."""
    with pytest.raises(rg.errors.UnknownName, match=r"foo, modell.*did you mean 'model'"):
        Config(modell="openai/gpt-4o-mini", foo=1)
    with pytest.raises(rg.errors.BadParameter, match="rejection_threshold can only be 85 here, not 90"):
        Config(refusal_threshold=90)
    with pytest.warns(UserWarning, match="without effect here: temperature, vllm"):
        config = Config(vllm=True, temperature=0.5, refusal=False, rejection_threshold=85)
    assert not config.rejection


@pytest.mark.parametrize("text", ["- a list", "", "a: [1", None], ids=["list", "empty", "broken", "absent"])
def test_files_that_hold_no_settings(text: str | None, tmp_path: Path) -> None:
    """The file is named, with the way to fix it."""
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    path = tmp_path / "settings.yaml"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(
        rg.errors.BadData, match=r"(?s)settings\.yaml: no settings by name.*fix it, or give them as arguments"
    ):
        Config.from_yaml(path)


def test_yaml_without_its_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where PyYAML is missing the message says what to install."""
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(rg.errors.MissingExtra, match=r"ragauge\[yaml\]"):
        Config.from_yaml(tmp_path / "settings.yaml")


@pytest.mark.parametrize(
    ("items", "options", "error", "message"),
    [
        ([], {}, rg.errors.BadData, "0 rows"),
        ([{"question": "q", "docs": DOCS, "answers": ["a"]}], {}, rg.errors.UnknownName, "unknown column 'output'"),
        (
            [item("o"), {**item("o"), "output": None}],
            {},
            rg.errors.BadData,
            "sample 2: the sample has no response; give its 'output'",
        ),
        ([item("o", answers=[])], {}, rg.errors.BadData, "sample 1: .*no gold claim"),
        ([item("o", docs=[{"title": "t", "text": "t"}])], {}, rg.errors.BadData, "sample 1: .*answers_found"),
        ([item("o", docs=[{"text": "t", "answers_found": [1, 0]}])], {}, rg.errors.BadData, "for each of 1 answers"),
        ([item("o")], {"eval_type": "mc"}, rg.errors.BadParameter, "choose from cm, em, em5"),
        ([item("o")], {"prefix": "decline"}, rg.errors.BadParameter, "'reject', 'refuse' or 'refusal'"),
        (
            [item("o")],
            {"entail": lambda premise, hypothesis: 1 / 0},
            rg.errors.RunFailed,
            "sample 1: .*ZeroDivisionError",
        ),
        ([item("o")], {"entail": lambda premise, hypothesis: "maybe"}, rg.errors.RunFailed, "must return a bool"),
        ([item("o")], {"entail": 3}, rg.errors.BadParameter, "not a judge"),
    ],
)
def test_what_cannot_be_evaluated(items: list[Item], options: Any, error: type[Exception], message: str) -> None:
    """Bad data, options and replies are errors that say where they are, and never a number."""
    with pytest.raises(error, match=message):
        evaluate(items, **options)


def test_what_cannot_be_made(model: str) -> None:
    """Lists of different lengths, a missing model, and answers that a model failed to give are errors."""
    with pytest.raises(rg.errors.BadData, match="1 questions, 2 answers and 0 lists"):
        trust_eval.construct_data(["q"], ["a", "b"], [], Config())
    with pytest.raises(rg.errors.BadParameter, match="no model is named"):
        TrustScoreEvaluator({}, {}).run()
    with pytest.raises(rg.errors.RunFailed, match="1 of 1 items lack response: no_query"):
        ResponseGenerator(Config(model=model)).generate_responses([item("", question="")])


@pytest.mark.parametrize("text", [None, "{", "3", '{"items": []}'], ids=["absent", "broken", "number", "no data"])
def test_steps_in_another_order(text: str | None, workplace: Path) -> None:
    """Without items, or with items without output, an error says which step comes first."""
    if text is not None:
        Path("items.json").write_text(text, encoding="utf-8")
    evaluator = TrustScoreEvaluator({"model": len, "data_file": "items.json"}, {})
    with pytest.raises(rg.errors.BadData, match=r"items\.json: .*; call create_dataset\(\) or fix it"):
        evaluator.run()
    evaluator.data = [{"question": "q", "docs": DOCS, "answers": ["a"]}]
    with pytest.raises(rg.errors.UsageError, match=r"no output yet; call run\(\) first"):
        evaluator.evaluate()


def _by_name(*, premise: str, hypothesis: str) -> bool:
    return hypothesis in premise


@pytest.mark.parametrize("entail", [lambda *pair: pair[1] in pair[0], _by_name], ids=["starred", "by name"])
def test_functions_of_a_pair_in_any_form(entail: Any) -> None:
    """What can take a premise and a hypothesis is asked about entailment, however it takes them."""
    items = [item("Tea is hot [1].")]
    assert evaluate(items, "cm", entail) == evaluate(items, "cm", lambda premise, hypothesis: hypothesis in premise)


def test_the_packaged_corpus_is_announced() -> None:
    """Where no corpus is named the one that is searched is not the caller's, and a warning says so."""
    with pytest.warns(UserWarning, match="no corpus was given"):
        assert trust_eval.retrieve("When does the ferry leave?")[0]["id"].startswith("ferry")


OUTPUTS = st.lists(
    st.sampled_from(["Tea is hot [1].", "Ice is cold [1][2].", REFUSAL, "", "Tea [3]. Ice."]), min_size=1
)


@settings(max_examples=8)
@given(OUTPUTS, st.randoms(use_true_random=False))
def test_numbers_hold_together(outputs: list[str], chance: Any) -> None:
    """Per cents are per cents, the trust score is the mean of its parts, and the order of items does not matter."""
    items = [item(output, docs=DOCS[i % 2 :]) for i, output in enumerate(outputs)]
    block = evaluate(items, "cm", Words())
    known = {key: value for key, value in block.items() if value is not None}
    assert all(0 <= value <= 100 for key, value in known.items() if "length" not in key and "num" not in key)
    parts = [known[key] for key in ("macro_f1", "calib_claims_nli_f1", "answered_citation_f1")]
    assert known["trust_score"] == pytest.approx(sum(parts) / 3)
    chance.shuffle(items)
    assert evaluate(items, "cm", Words()) == pytest.approx(block)
