"""Results of calls of functions scored by `tool_calls` and by the checker of the Berkeley Function Calling Leaderboard.

    python benchmarks/bfcl.py FOLDER

FOLDER: berkeley-function-call-leaderboard in a copy of its repository. For each question of its Python sets a result is
made: calls with values drawn from the acceptable ones, 15 % of which are changed, some calls and arguments left out or
added. Prints, for each set, the share of right results by each, on how many they agree, and what the checker says of
the others.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import ragauge as rg

SETS = ("simple_python", "multiple", "parallel", "parallel_multiple")
SETS += tuple(f"live_{name}" for name in ("simple", "multiple", "parallel", "parallel_multiple"))


def checker(folder: Path) -> Any:
    """The checker's function. It reads one setting of a model, so that the clients of all models are not loaded."""
    models = ModuleType("bfcl_eval.constants.model_config")
    models.MODEL_CONFIG_MAPPING = {"made": SimpleNamespace(underscore_to_dot=False)}  # type: ignore[attr-defined]
    sys.modules[models.__name__] = models
    sys.path.insert(0, str(folder))
    from bfcl_eval.constants.enums import Language
    from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker

    def check(question: Any, calls: Any, answer: Any, name: str) -> Any:
        return ast_checker(question["function"], calls, answer["ground_truth"], Language.PYTHON, name, "made")

    return check


def drawn(value: Any, rng: random.Random) -> Any:
    """An acceptable value, with one drawn for each name within it."""
    if isinstance(value, dict):
        choices = {name: rng.choice(values or [0]) for name, values in value.items() if isinstance(values, list)}
        plain = {name: held for name, held in value.items() if name not in choices}
        return plain | {name: drawn(choice, rng) for name, choice in choices.items() if choice != ""}
    return [drawn(item, rng) for item in value] if isinstance(value, list) else value


def changed(value: Any, rng: random.Random) -> Any:
    """The value, or with a chance of 15 % another."""
    if rng.random() < 0.85:
        return value
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return rng.choice([value.upper(), value + ".", value + "x", value.replace(" ", "-")])
    if isinstance(value, int | float):
        return value + 1
    return [*value, *value[:1]] if isinstance(value, list) else {**(value or {}), "other": 1}


def result(answer: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """A row of a file of results, as models that call functions give them."""
    calls = []
    for name, acceptable in ((name, values) for call in answer["ground_truth"] for name, values in call.items()):
        arguments = {key: changed(value, rng) for key, value in drawn(acceptable, rng).items()}
        if rng.random() < 0.05:
            arguments.pop(next(iter(arguments), None), None)
        arguments |= {"other": 1} if rng.random() < 0.03 else {}
        calls.append({name: json.dumps(arguments)})
    rng.shuffle(calls)
    return {"id": answer["id"], "result": calls[: -1 if rng.random() < 0.05 else None], "input_token_count": 1}


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file of JSON Lines."""
    yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


def main(folder: Path) -> None:
    """Print the table."""
    check, rng, faults, total = checker(folder), random.Random(1), Counter[str](), Counter[bool]()
    data = folder / "bfcl_eval" / "data"
    for name in SETS:
        paths = (data / f"BFCL_v4_{name}.json", data / "possible_answer" / f"BFCL_v4_{name}.json")
        questions, answers = ({row["id"]: row for row in rows(path)} for path in paths)
        results = {id: result(answer, rng) for id, answer in answers.items()}
        samples = rg.join(rg.join(*paths).samples, list(results.values())).samples
        scores = {row.sample.id: row for row in rg.evaluate(samples, "tool_calls(match=all)").scores}
        right = Counter[str]()
        for id, made in results.items():
            calls = [{key: json.loads(value) for key, value in call.items()} for call in made["result"]]
            theirs = check(questions[id], calls, answers[id], name)
            ours = scores[id]["tool_calls.success"].value == 1
            right.update(theirs=theirs["valid"], ours=ours)
            total[theirs["valid"] == ours] += 1
            faults.update([theirs.get("error_type", "right")] if theirs["valid"] != ours else [])
        shares = (f"{by} {right[by] / len(answers):.3f}" for by in ("theirs", "ours"))
        print(f"{name}: {len(answers)} results, right by {', '.join(shares)}")
    print(f"agreement on {total[True]} of {total.total()}; of the others the checker says {dict(faults)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
