"""The fingerprint of functions: equal where the answers must be equal, in whatever process."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from math import sqrt
from pathlib import Path
from re import findall
from types import ModuleType
from typing import Any

import pytest

import ragauge as rg
from ragauge.judges.function import fingerprint

SOURCE = """
import re
from math import sqrt
from re import findall

WORDS = {"a": 1, "b": [2, 3.5, None, True]}
LIMIT = __limit__

def helper(text):
    return [word for word in findall("[a-z]+", text) if word in {"x", "y", "zebra", "apple"}]

def make(weight):
    async def entail(premise, hypothesis, *, query=("default", b"bytes")):
        try:
            return sqrt(weight) < len(helper(premise)) + WORDS["a"] + len(re.split(" ", hypothesis))
        except ValueError:
            return LIMIT
    return entail
"""


def written(limit: int = 1, weight: float = 2.0, source: str = SOURCE) -> str:
    """The fingerprint of the function that SOURCE makes."""
    names: dict[str, Any] = {"__name__": "written"}
    exec(source.replace("__limit__", str(limit)), names)
    return hashed(names["make"](weight))


def hashed(function: Callable[..., Any]) -> str:
    """The fingerprint of one function."""
    ((kind, digest),) = fingerprint({"entail": function}).settings
    assert kind == "entail"
    return digest


def test_another_process_gives_the_same_fingerprint(tmp_path: Path) -> None:
    """Equal code, defaults, globals and closures have equal fingerprints in a process with other hash seeds."""
    script = tmp_path / "script.py"
    script.write_text(
        f"from ragauge.judges.function import fingerprint\n{SOURCE.replace('__limit__', '1')}\n"
        "print(fingerprint({'entail': make(2.0)}).settings[0][1])"
    )
    environment = {"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": "7"}
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=environment, check=True, timeout=60
    )
    assert done.stdout.strip() == written()
    assert re.fullmatch("[0-9a-f]{16}", written())


@pytest.mark.parametrize(
    "change",
    [
        lambda: written(weight=2.5),
        lambda: written(weight=2),
        lambda: written(limit=2),
        lambda: written(source=SOURCE.replace('"b": [2', '"b": [4')),
        lambda: written(source=SOURCE.replace('"zebra"', '"zebras"')),
        lambda: written(source=SOURCE.replace("<", "<=")),
        lambda: written(source=SOURCE.replace("query=", "question=")),
        lambda: written(source=SOURCE.replace('"default"', '"other"')),
        lambda: written(source=SOURCE.replace("ValueError", "TypeError")),
        lambda: written(source=SOURCE.replace("async def", "def")),
        lambda: written(source=SOURCE.replace("len(helper", "max(helper")),
        lambda: written(source=SOURCE.replace("from math import sqrt", "from math import exp as sqrt")),
    ],
)
def test_whatever_can_change_an_answer_changes_the_fingerprint(change: Callable[[], str]) -> None:
    """A change of code, of a parameter's name, of a default, of a global, of a helper or of the closure is seen."""
    assert change() != written()


def test_names_and_places_do_not_matter() -> None:
    """The same code in another file, under another name and at another line has the same fingerprint."""
    assert written(source="\n\n# moved\n" + SOURCE) == written()
    assert written(source=SOURCE.replace("def entail", "def renamed").replace("return entail", "return renamed")) == (
        written()
    )


class Own:
    """A class whose code can change under the same name."""

    def method(self, premise: str, hypothesis: str) -> bool:
        """A method that may use the state of its object."""
        return True

    other = reply = method


OBJECT = Own()
MODULE = ModuleType("own_module")
VERSIONED = ModuleType("released")
VERSIONED.__version__ = "1.0"  # type: ignore[attr-defined]
LATER: list[Any] = []
LATER.append(LATER)


def unfilled() -> Callable[..., Any]:
    """A function that uses a variable which is not there yet."""
    later: int

    def entail() -> object:
        return later

    if entail is None:
        later = 1
    return entail


@pytest.mark.parametrize(
    "function",
    [
        lambda: OBJECT,
        lambda: Own(),
        lambda: MODULE.score,
        lambda: LATER,
        lambda made=OBJECT: made,
        partial(sqrt),
        OBJECT.method,
        OBJECT,
        unfilled(),
    ],
)
def test_what_cannot_be_told_is_new_every_time(function: Any) -> None:
    """A function that uses an object, a class or a module of the caller's own never has the same fingerprint twice."""
    first, second = hashed(function), hashed(function)
    assert first.startswith("process-")
    assert first != second


@pytest.mark.parametrize(
    "function",
    [
        lambda text: sqrt(len(text)),
        lambda text: findall("a", text),
        lambda text: re.findall("a", text),
        lambda text: Path(text).name,
        lambda text: VERSIONED.score(text),
        lambda text: isinstance(text, str) and ...,
    ],
)
def test_the_standard_library_and_released_modules_can_be_told(function: Callable[..., Any]) -> None:
    """What comes with Python, and a module that states its version, have the same fingerprint every time."""
    assert not hashed(function).startswith("process-")
    assert hashed(function) == hashed(function)


def test_the_version_of_a_module_is_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version of a module makes another fingerprint."""

    def score(text: str) -> object:
        return VERSIONED.score(text)

    before = hashed(score)
    monkeypatch.setattr(VERSIONED, "__version__", "1.1")
    assert hashed(score) != before


def test_functions_that_call_each_other_end() -> None:
    """Recursion, direct and through each other, is walked once."""
    assert not hashed(even).startswith("process-")
    assert hashed(even) != hashed(odd)


def even(n: int) -> bool:
    """Whether n is even."""
    return n == 0 or odd(n - 1)


def odd(n: int) -> bool:
    """Whether n is odd."""
    return n != 0 and even(n - 1)


def test_each_kind_has_its_own_setting() -> None:
    """The settings are sorted by kind, whatever order the functions are given in."""
    one, two = (lambda text: text), (lambda text: [text])
    assert fingerprint({"rate": one, "entail": two}) == fingerprint({"entail": two, "rate": one})
    assert [kind for kind, _ in fingerprint({"rate": one, "entail": two}).settings] == ["entail", "rate"]


def own(premise: str, hypothesis: str) -> bool:
    """An importable function that uses an object."""
    return OBJECT.method(premise, hypothesis)


def test_an_importable_function_is_known_by_its_name_and_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that uses an object has one fingerprint while it can be imported and its code is the same."""
    first = fingerprint({"entail": own})
    assert first == fingerprint({"entail": own})
    assert (first.settings[0][1].startswith("process-"), first.notes) == (False, ())
    monkeypatch.setattr(own, "__code__", (lambda premise, hypothesis: OBJECT.method(hypothesis, premise)).__code__)
    assert hashed(own) != first.settings[0][1]
    monkeypatch.setattr(sys.modules[__name__], "own", None)
    assert hashed(own).startswith("process-")


def test_what_needs_a_name_says_so() -> None:
    """A judge whose answers cannot be reused notes which function uses what, and that a name helps."""
    (note,) = rg.judge_from(entail=lambda premise, hypothesis: OBJECT).notes()
    assert "entail: the function uses an object of Own" in note
    assert "name='my-judge-1'" in note
    (note,) = rg.llm(lambda messages: OBJECT.method(messages, messages)).notes()
    assert "an object of Own" in note
    assert rg.judge_from(entail=lambda premise, hypothesis: OBJECT, name="mine").notes() == ()


def test_a_value_that_is_nested_too_deeply_is_new_every_time() -> None:
    """Values nested deeper than Python's recursion limit have no fingerprint, and are no error."""
    nested: list[Any] = []
    for _ in range(sys.getrecursionlimit() * 2):
        nested = [nested]
    assert hashed(lambda text: nested).startswith("process-")
