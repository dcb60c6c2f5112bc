"""The first example of each documented page of other systems, retold with the import changed, and their table.

`python -m tests.compat.first_examples` writes docs/measured/first-examples.md, which a test compares.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).resolve().parents[2] / "docs" / "measured" / "first-examples.md"


class Example(NamedTuple):
    """A page of a system, and its first example as a program, or why there is none. files: what the program reads."""

    system: str
    page: str
    program: str = ""
    reason: str = ""
    files: tuple[tuple[str, str], ...] = ()


_QUERY = 'user_input="How long does the ferry take?"'
_RESPONSE = 'response="The ferry takes 40 minutes."'
_REFERENCE = 'reference="The ferry takes 40 minutes. It leaves at nine."'
_CONTEXTS = 'retrieved_contexts=["The ferry takes 40 minutes.", "The museum opens at eleven."]'
_IDEAL = 'reference_contexts=["The ferry takes 40 minutes.", "It leaves at nine."]'


def _collections(page: str, metric: str, *columns: str, given: str = "llm=llm") -> Example:
    """A page of ragas 0.4 whose first example scores one row with `ascore`."""
    program = f"""
from openai import AsyncOpenAI
from ragauge.compat.ragas.embeddings.base import embedding_factory
from ragauge.compat.ragas.llms import llm_factory
from ragauge.compat.ragas.metrics.collections import {metric}

client = AsyncOpenAI()
llm = llm_factory("gpt-4o-mini", client=client)
embeddings = embedding_factory("openai", model="text-embedding-3-small", client=client)
scorer = {metric}({given})
result = await scorer.ascore({", ".join(columns)})
value = result.value
assert scorer.batch_score([dict({", ".join(columns)})])[0].value == scorer.score({", ".join(columns)}).value == value
"""
    return Example("ragas 0.4", page, program)


def _single_turn(page: str, metric: str, columns: str, *given: str, home: str = "metrics") -> Example:
    """A page of ragas whose first example of the older form scores one sample with `single_turn_ascore`."""
    program = f"""
from ragauge.compat.ragas.dataset_schema import SingleTurnSample
from ragauge.compat.ragas.{home} import {metric}

sample = SingleTurnSample({columns})
scorer = {metric}({", ".join(given)})
value = await scorer.single_turn_ascore(sample)
"""
    return Example("ragas, single turn", page, program)


def _discrete(page: str, name: str, values: str) -> Example:
    program = f"""
from openai import AsyncOpenAI
from ragauge.compat.ragas.dataset_schema import SingleTurnSample
from ragauge.compat.ragas.llms import llm_factory
from ragauge.compat.ragas.metrics import DiscreteMetric

llm = llm_factory("gpt-4o-mini", client=AsyncOpenAI())
metric = DiscreteMetric(
    name="{name}",
    allowed_values={values},
    prompt="Is this {name}?\\n\\nResponse: {{response}}\\n\\nAnswer with the value alone.",
    llm=llm,
)
sample = SingleTurnSample({_QUERY}, {_RESPONSE})
value = (await metric.ascore(response=sample.response)).value
assert value in {values}
"""
    return Example("ragas 0.4", page, program)


_GPT = '"openai/gpt-4o-mini"'

RAGAS = (
    Example(
        "ragas 0.4",
        "README",
        f"""
from ragauge.compat.ragas.llms import llm_factory
from ragauge.compat.ragas.metrics.collections import AspectCritic

llm = llm_factory("gpt-4o")
metric = AspectCritic(name="summary_accuracy", definition="Does the summary have the key facts?", llm=llm)
score = await metric.ascore({_QUERY}, {_RESPONSE})
value = score.value
assert score.reason
""",
    ),
    _collections(
        "answer_correctness", "AnswerCorrectness", _QUERY, _RESPONSE, _REFERENCE, given="llm=llm, embeddings=embeddings"
    ),
    _collections("answer_relevance", "AnswerRelevancy", _QUERY, _RESPONSE, given="llm=llm, embeddings=embeddings"),
    _discrete("aspect_critic", "harmful", '["safe", "unsafe"]'),
    Example(
        "ragas 0.4", "context_entities_recall", reason="entities are not extracted; context recall counts statements"
    ),
    _collections("context_precision", "ContextPrecision", _QUERY, _REFERENCE, _CONTEXTS),
    _collections("context_precision: utilization", "ContextUtilization", _QUERY, _RESPONSE, _CONTEXTS),
    _collections("context_recall", "ContextRecall", _QUERY, _CONTEXTS, _REFERENCE),
    _collections("factual_correctness", "FactualCorrectness", _RESPONSE, _REFERENCE),
    _collections("faithfulness", "Faithfulness", _QUERY, _RESPONSE, _CONTEXTS),
    _discrete("general_purpose: scores", "clear", "list(range(0, 11))"),
    _collections("nvidia_metrics: answer accuracy", "AnswerAccuracy", _QUERY, _RESPONSE, _REFERENCE),
    _collections("nvidia_metrics: context relevance", "ContextRelevance", _QUERY, _CONTEXTS),
    _collections("nvidia_metrics: response groundedness", "ResponseGroundedness", _RESPONSE, _CONTEXTS),
    _collections("noise_sensitivity", "NoiseSensitivity", _QUERY, _RESPONSE, _REFERENCE, _CONTEXTS),
    _collections("semantic_similarity", "SemanticSimilarity", _REFERENCE, _RESPONSE, given="embeddings=embeddings"),
    _collections("summarization_score", "SummaryScore", _IDEAL, _RESPONSE),
    _collections("traditional: string similarity", "NonLLMStringSimilarity", _REFERENCE, _RESPONSE, given=""),
    _collections("traditional: BLEU", "BleuScore", _REFERENCE, _RESPONSE, given=""),
    _collections(
        "traditional: ROUGE", "RougeScore", _REFERENCE, _RESPONSE, given='rouge_type="rougeL", mode="fmeasure"'
    ),
    _collections("traditional: exact match", "ExactMatch", _REFERENCE, _RESPONSE, given=""),
    _collections("traditional: string presence", "StringPresence", _REFERENCE, _RESPONSE, given=""),
    Example(
        "ragas 0.4",
        "agents",
        reason="topics are not extracted; `ToolCallAccuracy`, `ToolCallF1` and goals are measured",
    ),
    Example("ragas 0.4", "sql", reason="queries and their results are not compared"),
    Example("ragas 0.4", "multi_modal_faithfulness, multi_modal_relevance", reason="images are not read"),
    Example(
        "ragas 0.4",
        "experiments_quickstart",
        reason="no experiments with a back end of files; `rg.evaluate` and a store",
    ),
    Example(
        "ragas 0.4",
        "rag_testset_generation",
        reason="a model writes test questions (docs/test-sets.md), and none is called here",
    ),
    _single_turn("faithfulness", "Faithfulness", f"{_QUERY}, {_RESPONSE}, {_CONTEXTS}", f"llm={_GPT}"),
    _single_turn("answer_relevance", "ResponseRelevancy", f"{_QUERY}, {_RESPONSE}", f"llm={_GPT}", "embeddings=None"),
    _single_turn(
        "context_recall", "LLMContextRecall", f"{_QUERY}, {_RESPONSE}, {_REFERENCE}, {_CONTEXTS}", f"llm={_GPT}"
    ),
    _single_turn("context_recall: without a model", "NonLLMContextRecall", f"{_CONTEXTS}, {_IDEAL}"),
    _single_turn(
        "context_recall: ids", "IDBasedContextRecall", 'retrieved_context_ids=["a", 2], reference_context_ids=["a"]'
    ),
    _single_turn(
        "context_precision", "LLMContextPrecisionWithReference", f"{_QUERY}, {_REFERENCE}, {_CONTEXTS}", f"llm={_GPT}"
    ),
    _single_turn("context_precision: without a model", "NonLLMContextPrecisionWithReference", f"{_CONTEXTS}, {_IDEAL}"),
    _single_turn(
        "context_precision: ids",
        "IDBasedContextPrecision",
        'retrieved_context_ids=["a", 2], reference_context_ids=["a"]',
    ),
    _single_turn(
        "factual_correctness",
        "FactualCorrectness",
        f"{_RESPONSE}, {_REFERENCE}",
        f"llm={_GPT}",
        'mode="precision"',
        home="metrics._factual_correctness",
    ),
    _single_turn(
        "general_purpose: aspect critic",
        "AspectCritic",
        f"{_QUERY}, {_RESPONSE}",
        'name="kindness"',
        'definition="Is it kind?"',
        f"llm={_GPT}",
    ),
    _single_turn(
        "general_purpose: simple criteria",
        "SimpleCriteriaScore",
        f"{_QUERY}, {_RESPONSE}",
        'name="kindness"',
        'definition="How kind is it?"',
        f"llm={_GPT}",
    ),
    _single_turn(
        "general_purpose: rubrics",
        "RubricsScore",
        f"{_RESPONSE}, {_REFERENCE}",
        'rubrics={"score1_description": "Wrong.", "score2_description": "Right."}',
        f"llm={_GPT}",
    ),
    _single_turn(
        "traditional: string similarity",
        "NonLLMStringSimilarity",
        f"{_RESPONSE}, {_REFERENCE}",
        home="metrics._string",
    ),
    Example(
        "ragas, evaluate",
        "answer_correctness",
        """
from datasets import Dataset
from ragauge.compat.ragas import evaluate
from ragauge.compat.ragas.metrics import answer_correctness

rows = {
    "question": ["How long does the ferry take?", "When does it leave?"],
    "answer": ["The ferry takes 40 minutes.", "It leaves at nine."],
    "ground_truth": ["The ferry takes 40 minutes.", "The ferry leaves at ten."],
}
score = evaluate(Dataset.from_dict(rows), metrics=[answer_correctness], llm="openai/gpt-4o-mini")
value = score.to_pandas()["answer_correctness"][0]
""",
    ),
    Example(
        "ragas, evaluate",
        "getstarted/evals",
        f"""
from ragauge.compat.ragas import EvaluationDataset, evaluate
from ragauge.compat.ragas.dataset_schema import SingleTurnSample
from ragauge.compat.ragas.metrics import Faithfulness

dataset = EvaluationDataset(samples=[SingleTurnSample({_QUERY}, {_RESPONSE}, {_REFERENCE}, {_CONTEXTS})])
dataset.to_jsonl("rows.jsonl")
dataset.to_csv("rows.csv")
assert EvaluationDataset.from_jsonl("rows.jsonl") == dataset == EvaluationDataset.from_csv("rows.csv")
assert dataset[0].model_dump(exclude_none=True) == dataset[:1].to_hf_dataset()[0]
value = evaluate(dataset=dataset, metrics=[Faithfulness()], llm="openai/gpt-4o-mini")["faithfulness"][0]
""",
    ),
)

_IMPORT_RAG_EVALS = """
import asyncio
import instructor
{imports}

client = instructor.from_provider("openai/gpt-4o-mini", async_client=True)
row = dict(
    question="How long does the ferry take?",
    answer="The ferry takes 40 minutes. It leaves at nine.",
    context=["The ferry takes 40 minutes.", "The museum opens at eleven."],
    client=client,
)


async def main():
    result = await {metric}.grade(**row)
    for {each}
    both = await asyncio.gather({metric}.grade(**row), {metric}.grade(**row))
    assert both[0] == both[1] == result
    return result.{score}


value = await main()
"""


def _rag_evals(page: str, metric: str, imports: str, each: str, score: str = "score") -> Example:
    program = _IMPORT_RAG_EVALS.format(imports=imports, metric=metric, each=each, score=score)
    return Example("RAG Evals", page, program)


RAG_EVALS = (
    _rag_evals(
        "examples/check_faithfulness.py",
        "Faithfulness",
        "from ragauge.compat.rag_evals import Faithfulness, FaithfulnessResult",
        "one in result.statements:\n        print(one.statement, one.is_supported, one.supporting_chunk_ids)",
    ),
    _rag_evals(
        "examples/check_precision.py",
        "ChunkPrecision",
        "from ragauge.compat.rag_evals.base import ChunkBinaryScore, ChunkGradedBinary\n"
        "from ragauge.compat.rag_evals.metrics.precision import ChunkPrecision",
        "one in result.graded_chunks:\n        print(one.id_chunk, one.score)",
    ),
    _rag_evals(
        "examples/check_relevance.py",
        "AnswerRelevance",
        "from ragauge.compat.rag_evals.metrics.relevance import AnswerRelevance, RelevanceScore",
        "one in (result.topical_match, result.completeness, result.conciseness):\n        print(one)",
        "overall_score",
    ),
    Example(
        "RAG Evals", "docs/usage: score_faithfulness", reason="never in the package itself; use `Faithfulness.grade`"
    ),
)


def _deepeval(
    page: str, metric: str, case: str, given: str = 'threshold=0.7, model="gpt-4.1", include_reason=True'
) -> Example:
    """A page of DeepEval whose first example evaluates one test case."""
    program = f"""
from ragauge.compat.deepeval import evaluate
from ragauge.compat.deepeval.metrics import {metric}
from ragauge.compat.deepeval.test_case import LLMTestCase

metric = {metric}({given})
test_case = LLMTestCase(input="How long does the ferry take?", {case})
result = evaluate(test_cases=[test_case], metrics=[metric])
(data,) = result.test_results[0].metrics_data
metric.measure(test_case)
value = data.score
assert (metric.score, metric.reason) == (data.score, data.reason)
"""
    return Example("DeepEval", page, program)


_ACTUAL = 'actual_output="The ferry takes 40 minutes."'
_EXPECTED = 'expected_output="It takes 40 minutes."'
_RETRIEVED = 'retrieval_context=["The ferry takes 40 minutes."]'
_BARE = "threshold=0.5"  # OPENAI_MODEL_NAME names the model
_GEVAL = """
import pytest
from ragauge.compat.deepeval import assert_test
from ragauge.compat.deepeval.metrics import GEval
from ragauge.compat.deepeval.test_case import LLMTestCase, SingleTurnParams


def test_correctness(threshold):
    metric = GEval(
        name="Correctness",
        criteria="Is the actual output correct, going by the expected output?",
        evaluation_params=[SingleTurnParams.ACTUAL_OUTPUT, SingleTurnParams.EXPECTED_OUTPUT],
        threshold=threshold,
    )
    test_case = LLMTestCase(
        input="How long does the ferry take?",
        actual_output="The ferry takes 40 minutes.",
        expected_output="The ferry takes 40 minutes.",
    )
    assert_test(test_case, [metric])
    return metric.threshold


value = test_correctness(0.5)
with pytest.raises(AssertionError, match="Correctness"):
    test_correctness(1.1)
"""

_COMPONENT = """
from ragauge.compat.deepeval.dataset import EvaluationDataset, Golden
from ragauge.compat.deepeval.metrics import AnswerRelevancyMetric
from ragauge.compat.deepeval.test_case import LLMTestCase
from ragauge.compat.deepeval.tracing import observe, update_current_span


@observe(metrics=[AnswerRelevancyMetric()])
def answer(query):
    update_current_span(test_case=LLMTestCase(input=query, actual_output="The ferry takes 40 minutes."))


@observe
def app(query):
    answer(query)


dataset = EvaluationDataset(goldens=[Golden(input="How long does the ferry take?")])
for golden in dataset.evals_iterator():
    app(golden.input)
value = len(dataset.goldens)
"""

DEEPEVAL = (
    Example("DeepEval", "getting-started", _GEVAL),
    _deepeval("metrics-faithfulness", "FaithfulnessMetric", f"{_ACTUAL}, {_RETRIEVED}"),
    _deepeval("metrics-answer-relevancy", "AnswerRelevancyMetric", _ACTUAL),
    _deepeval("metrics-contextual-precision", "ContextualPrecisionMetric", f"{_ACTUAL}, {_EXPECTED}, {_RETRIEVED}"),
    _deepeval("metrics-contextual-recall", "ContextualRecallMetric", f"{_ACTUAL}, {_EXPECTED}, {_RETRIEVED}"),
    _deepeval("metrics-contextual-relevancy", "ContextualRelevancyMetric", f"{_ACTUAL}, {_RETRIEVED}"),
    _deepeval("metrics-hallucination", "HallucinationMetric", f'{_ACTUAL}, context=["It takes an hour."]', _BARE),
    _deepeval("metrics-bias", "BiasMetric", _ACTUAL, _BARE),
    _deepeval("metrics-toxicity", "ToxicityMetric", _ACTUAL, _BARE),
    _deepeval(
        "metrics-summarization", "SummarizationMetric", _ACTUAL, f'{_BARE}, assessment_questions=["Is it long?"]'
    ),
    _deepeval(
        "metrics-llm-evals",
        "GEval",
        f"{_ACTUAL}, {_EXPECTED}",
        'name="Tone", criteria="Is it kind?", evaluation_steps=["Look for kind words"]',
    ),
    _deepeval("metrics-pii-leakage", "PIILeakageMetric", _ACTUAL, _BARE),
    _deepeval("metrics-role-violation", "RoleViolationMetric", _ACTUAL, 'role="ferryman", threshold=0.5'),
    _deepeval("metrics-prompt-alignment", "PromptAlignmentMetric", _ACTUAL, 'prompt_instructions=["Be brief"]'),
    _deepeval("metrics-exact-match", "ExactMatchMetric", f"{_ACTUAL}, {_EXPECTED}", "threshold=1.0"),
    _deepeval("metrics-pattern-match", "PatternMatchMetric", _ACTUAL, 'pattern=r".*minutes.", ignore_case=False'),
    Example("DeepEval", "metrics-answer-relevancy: within components", _COMPONENT),
    Example(
        "DeepEval",
        "getting-started: conversations",
        reason="of a conversation the last answer is measured, not its coherence",
    ),
    Example(
        "DeepEval",
        "getting-started-agents",
        reason="agents are not run under a tracer; the calls of a test case are measured",
    ),
)

_SETTINGS = "model: openai/gpt-4o-mini\nmax_length: 8192\n"
_ITEMS = """[{"question": "How long does the ferry take?", "answers": [["40 minutes"]],
"docs": [{"title": "Ferry", "text": "The ferry takes 40 minutes.", "answers_found": [1]}]}]"""
_DOTTED = """
from ragauge.compat.trust_eval.config import EvaluationConfig, ResponseGeneratorConfig
from ragauge.compat.trust_eval.evaluator import Evaluator
from ragauge.compat.trust_eval.logging_config import logger
from ragauge.compat.trust_eval.response_generator import ResponseGenerator
"""
_MAIN = f"""
import argparse
{_DOTTED}
parser = argparse.ArgumentParser()
parser.add_argument("config", type=str)
args = parser.parse_args(["closed.yaml"])
generator_config = ResponseGeneratorConfig.from_yaml(yaml_path=args.config)
for key, value in vars(generator_config).items():
    logger.info(f"  {{key}}: {{value}}")
generator = ResponseGenerator(generator_config)
generator.generate_responses()
generator.save_responses()
evaluation_config = EvaluationConfig.from_yaml(yaml_path=args.config)
evaluator = Evaluator(evaluation_config)
evaluator.compute_metrics()
evaluator.save_results()
value = evaluator.result["num_samples"]
"""
_CLOSED = """
data_type: "asqa"
prompt_file: prompts/asqa_closedbook_refusal.json
data_file: data/asqa.json
ndoc: 5
vllm: True
temperature: 0.5
posthoc: True
posthoc_retriever: nli
external_docs: data/asqa.json
eval_type: em
eval_file: eval_data/asqa.json
result_path: results/asqa.json
"""

TRUST_EVAL = (
    Example(
        "Trust-Eval",
        "docs/custom: custom_example.py",
        f"""{_DOTTED}
from ragauge.compat.trust_eval.data import construct_data
from ragauge.compat.trust_eval.retrieval import retrieve

questions = ["How long does the ferry take?", "Who built the pier?"]
answers = ["The ferry takes 40 minutes.", "Ada built the pier."]
generator_config = ResponseGeneratorConfig.from_yaml(yaml_path="generator_config.yaml")
logger.info(generator_config)
raw_docs = retrieve(questions, top_k=5)
assert raw_docs[0][0]["text"] == "The ferry takes 40 minutes."
data = construct_data(questions, answers, raw_docs, generator_config)
generator = ResponseGenerator(generator_config)
data = generator.generate_responses(data)
generator.save_responses(output_path="output/custom_data.json")
evaluation_config = EvaluationConfig.from_yaml(yaml_path="eval_config.yaml")
evaluator = Evaluator(evaluation_config)
evaluator.compute_metrics()
evaluator.save_results(output_path="results/custom_data.json")
value = evaluator.result["trust_score"]
""",
        files=(
            ("generator_config.yaml", f"{_SETTINGS}corpus: town\n"),
            ("eval_config.yaml", "eval_file: output/custom_data.json\n"),
            ("town/ferry.txt", "The ferry takes 40 minutes."),
        ),
    ),
    Example(
        "Trust-Eval",
        "docs/experiments: main.py, closed book",
        _MAIN,
        files=(("closed.yaml", f"{_SETTINGS}{_CLOSED}"), ("data/asqa.json", _ITEMS)),
    ),
    Example(
        "Trust-Eval",
        "README",
        _MAIN,
        files=(
            ("closed.yaml", f'data_type: "asqa"\n{_SETTINGS}eval_file: eval_data/a.json\n'),
            ("data/asqa_eval_top100_calibrated.json", _ITEMS),
        ),
    ),
)

VALOR = (
    Example(
        "Valor",
        "examples/text_generation.ipynb",
        """
from ragauge.compat.valor import Context, Evaluator, QueryResponse

evaluator = Evaluator.openai(model_name="gpt-4o-mini", retries=3)
response = QueryResponse(
    query="How long does the ferry take?",
    response="The ferry takes 40 minutes. It leaves at nine.",
    context=Context(groundtruth=["40 minutes."], prediction=["The ferry takes 40 minutes."]),
)
results = evaluator.compute_all(response)
value = len([metric.to_dict() for metrics in results.values() for metric in metrics])
""",
    ),
)

DATAWORKZ = (
    Example(
        "Dataworkz",
        "README: evaluate",
        """
from click.testing import CliRunner
from ragauge.cli import main

files = ["--benchmark", "gold.csv", "--dataworkz_response_file", "said.txt", "--evaluation_file", "out.csv"]
done = CliRunner().invoke(main, ["dataworkz", "evaluate", *files, "--judge", "openai/gpt-4o-mini", "--no-extras"])
assert done.exit_code == 0, done.output
value = len(open("out.csv").readlines())
""",
        files=(
            ("gold.csv", "Query,Golden Response,Golden Context\nHow long?,40 minutes.,It takes 40 minutes.\n"),
            ("said.txt", "question : How long?\nanswer : It takes 40 minutes.\nlinks : []\n"),
        ),
    ),
    Example(
        "Dataworkz",
        "README: evaluate_question",
        """
from click.testing import CliRunner
from ragauge.cli import main

texts = ["--question", "Who built it?", "--golden_response", "Ada built it."]
texts += ["--candidate_response", "It was built by Ada.", "--judge", "openai/gpt-4o-mini", "--no-extras"]
done = CliRunner().invoke(main, ["dataworkz", "evaluate_question", *texts])
assert done.exit_code == 0, done.output
value = "LLM Recall" in done.output
""",
    ),
)

EXAMPLES = (*RAGAS, *RAG_EVALS, *TRUST_EVAL, *DEEPEVAL, *VALOR, *DATAWORKZ)


def table() -> str:
    """The page: which examples run, and why the others do not."""
    rows = [f"| {one.system} | {one.page} | {'runs' if one.program else f'no: {one.reason}'} |" for one in EXAMPLES]
    runs = sum(bool(one.program) for one in EXAMPLES)
    head = f"""# First examples

Made by `python -m tests.compat.first_examples`; the tests run each example, with our own texts, with one import
changed, against a server that answers as a model does; for DeepEval, `OPENAI_MODEL_NAME` in the environment names it.
{runs} of {len(EXAMPLES)} run. [What is documented](documented-blocks.md) has been run as it stands, too.

| system | page | |
|---|---|---|
"""
    return head + "\n".join(rows) + "\n"


if __name__ == "__main__":
    PAGE.write_text(table(), encoding="utf-8")
