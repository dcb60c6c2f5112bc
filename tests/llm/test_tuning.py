"""Tuning on labels: what is chosen, that the rest measures it, and judge files."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from math import exp, log
from pathlib import Path
from random import Random
from statistics import NormalDist
from typing import Any

import pytest
from tests.llm.conftest import Kit, Request, Script

from ragauge.analysis.tuning import Tuned, Tuner, tuning_view
from ragauge.errors import BadData, BadParameter, RunFailed, UnknownName
from ragauge.judges.base import JudgeSpec
from ragauge.judges.composite import Cascade, Decided
from ragauge.judges.function import judge_from
from ragauge.judges.llm.judge import llm
from ragauge.questions import Correct, Entail, Judgment, Question, Relevant
from ragauge.run.specs import JudgeFile, judge_of_file, load_judge
from ragauge.store import label
from ragauge.types import ChunkVerdict, Label, Verdict

E, N, C, X = Label.ENTAILED, Label.NEUTRAL, Label.CONTRADICTED, Label.NOT_ENTAILED
MODULE = """
import ragauge as rg

def said(premise, hypothesis):
    share = int(hypothesis.rpartition(" ")[2]) / 100
    if share == 0.77:
        raise ValueError("no answer to this one")
    return ("entailed" if share > 0.5 else "neutral"), share

shy = rg.judge_from(entail=said, name="shy/1")
down = rg.judge_from(entail=lambda premise, hypothesis: 1 / 0, name="down/1")
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a module of judges, and a key."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    (tmp_path / "shy_judges.py").write_text(MODULE)
    return tmp_path


def labels(number: int, yes: Callable[[int], bool], negative: Label = N) -> list[Judgment]:
    """Labels of claims numbered from 0, each on a text of its own."""
    asked = [Entail((f"text {at}",), f"share {at % 100}") for at in range(number)]
    return [label(one, Verdict(E if yes(at) else negative), "ann") for at, one in enumerate(asked)]


def tuned(spec: str, given: list[Judgment], **options: Any) -> Tuned:
    """What tuning finds."""
    return asyncio.run(Tuner(spec, given, **options).tune())


def test_the_level_of_probability_is_fitted() -> None:
    """A judge that says yes too late, and once nothing, says it earlier in the file, and the rest shows the gain."""
    found = tuned("python:shy_judges:shy", labels(200, lambda at: at % 100 >= 30))
    (level,) = found.file.thresholds.values()
    assert 0.28 <= level <= 0.32
    assert found.after is not None
    assert found.after.value == pytest.approx(1, abs=0.03)
    assert found.gain.low is not None
    assert found.gain.low > 0
    assert found.adopted
    assert (found.chosen_by, found.measured_by) == (200, 198)  # two claims have no answer
    assert found.before is not None
    assert found.tried["as it is"] == pytest.approx(found.before.value, abs=0.02)  # of the same labels as the level
    judge = judge_of_file(found.file)
    (answer,) = asyncio.run(judge.answer([Entail(("x",), "share 40")]))
    assert isinstance(answer, Verdict)
    assert answer.label is E
    assert dict(judge.identity.settings)["level.entail"] == f"{level:g}"


def test_what_is_good_already_stays() -> None:
    """Where nothing agrees better, the file is the judge as it was, and the gain is 0."""
    found = tuned("python:shy_judges:shy", labels(70, lambda at: at > 50))
    assert found.file.thresholds == {}
    assert found.file.judge == "python:shy_judges:shy"
    assert found.gain.value == 0


def drawn(seed: int, shift: float, number: int = 50) -> tuple[list[Judgment], dict[Question, Verdict]]:
    """Labels of random claims, and the verdicts of a judge whose evidence is normal, 1.6 apart and shifted."""
    random, given, verdicts = Random(seed), list[Judgment](), dict[Question, Verdict]()
    for place in range(number):
        claim, yes = Entail((f"text {place}",), "claim"), place % 2 == 0
        chance = 1 / (1 + exp(-1.6 * random.gauss((0.8 if yes else -0.8) + shift, 1)))
        given.append(label(claim, Verdict(E if yes else N), "ann"))
        verdicts[claim] = Verdict(E if chance >= 0.5 else N, chance, (ChunkVerdict(E if chance >= 0.5 else N, chance),))
    return given, verdicts


def accuracy_at(level: float, shift: float) -> float:
    """The true balanced accuracy of that judge, saying yes from a probability on."""
    cut, normal = log(level / (1 - level)) / 1.6, NormalDist()
    return (1 - normal.cdf(cut - 0.8 - shift) + normal.cdf(cut + 0.8 - shift)) / 2


def tuned_on(given: list[Judgment], verdicts: dict[Question, Verdict]) -> Tuned:
    """What tuning finds of a judge that gives these verdicts."""

    async def answer(_: Any, questions: Any) -> Any:
        return [verdicts[question] for question in questions]

    return asyncio.run(Tuner("lexical", given).tune(answer))


def test_a_gain_that_is_not_shown_is_not_taken() -> None:
    """On 50 labels a small gain leaves the judge as it was, and what it might gain and lose is said."""
    found = tuned_on(*drawn(5, -0.4))
    assert (found.adopted, found.file.thresholds) == (False, {})
    assert found.chosen.startswith("lexical, yes from entail=0.")
    assert found.gain.low is not None
    assert found.gain.high is not None
    assert found.gain.low < 0 < found.gain.high
    shown = " ".join(map(str, tuning_view(found)))
    assert f"it could lose {-found.gain.low:.3f} as well as gain {found.gain.high:.3f}, so the judge stays" in shown


def test_fifty_labels_show_a_large_gain() -> None:
    """A judge that almost never says yes gets its threshold from 50 labels."""
    found = tuned_on(*drawn(1, -1.6))
    assert found.adopted
    assert 0.02 <= found.file.thresholds["entail"] <= 0.3


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0.0, -0.4, -0.9])
def test_intervals_of_gains_cover(shift: float) -> None:
    """Of 200 tunings on 50 labels, 90 % of intervals or more hold the true gain of the level; few gains are false."""
    covered, false = [], 0
    for seed in range(200):
        found = tuned_on(*drawn(seed, shift))
        if found.gain.method == "the same judge":
            continue
        true = accuracy_at(float(found.chosen.rpartition("=")[2]), shift) - accuracy_at(0.5, shift)
        assert found.gain.low is not None
        assert found.gain.high is not None
        covered.append(found.gain.low <= true <= found.gain.high)
        false += found.adopted and true <= 0
    assert len(covered) > 100
    assert sum(covered) / len(covered) >= 0.9
    assert false <= 10


def test_texts_are_in_one_half() -> None:
    """Claims about one text are all in the half that is asked first, or all in the other."""
    asked: list[str] = []

    async def answer(judge: Any, questions: Any) -> Any:
        asked.extend(question.subject for question in questions)
        return await judge.answer(questions)

    given = [
        label(Entail((f"text {at // 4}",), f"share {at % 100}"), Verdict(E if at % 2 else N), "ann")
        for at in range(200)
    ]
    asyncio.run(Tuner("python:shy_judges:shy", given).tune(answer))
    assert len(asked) == 200
    assert set(asked[:100]).isdisjoint(asked[100:])


def test_a_cascade_takes_its_thresholds() -> None:
    """The spec in the file names the lowest confidence from which the first judge is right often enough."""
    found = tuned("cascade(python:shy_judges:shy,lexical)", labels(400, lambda at: at % 100 > 50), accuracy=0.8)
    assert found.thresholds["entail"].threshold == 0.5
    assert found.file.judge == "cascade(python:shy_judges:shy,lexical,entail=0.5)"
    assert isinstance(load_judge(found.file.judge), Cascade)
    assert any("stands from 0.5" in str(line) for line in tuning_view(found))


@pytest.mark.parametrize("own", ["", ",entail=0.6"])
def test_a_cascade_without_a_threshold_that_qualifies_is_its_second_judge(own: str) -> None:
    """Where the first judge is never right enough, the second is to be used alone, whatever the threshold was."""
    found = tuned(f"cascade(python:shy_judges:shy,lexical{own})", labels(40, lambda at: at % 2 == 0))
    assert found.thresholds["entail"].threshold is None
    assert (found.file.judge, found.adopted) == ("lexical", False)
    assert own or found.gain.value == 0.0 == found.gain.low
    assert any("so use the second judge alone" in str(line) for line in tuning_view(found))
    assert not any("the loss that this accepts" in str(line) for line in tuning_view(found))


@pytest.mark.parametrize("accuracy", [0, 1, 1.5])
def test_an_accuracy_is_a_share(accuracy: float) -> None:
    """Perfection cannot be shown, and nothing need not be."""
    with pytest.raises(BadParameter, match="above 0 and below 1"):
        Tuner("cascade(python:shy_judges:shy,lexical)", odd(), accuracy=accuracy)


def test_the_first_judge_of_a_cascade_needs_labels() -> None:
    """Labels that only the second judge could answer fit no threshold."""
    given = [label(Relevant(str(at), "text"), Verdict(Label.YES if at % 2 else Label.NO), "ann") for at in range(40)]
    with pytest.raises(BadData, match="no label is for a verdict that shy/1 can give"):
        tuned("cascade(python:shy_judges:shy,lexical)", given)


def taught(*words: str) -> Script:
    """A model that answers as people do once its instructions hold one of the words, and else always "entailed"."""

    def script(_: int, request: Request) -> Any:
        system, user = (message["content"] for message in request.body["messages"][:2])
        known = any(word in system for word in words)
        claims = [item for group in json.loads(user)["entail"] for item in group["claims"].items()]
        verdicts = {
            key: {"why": f"about {claim}", "label": "neutral" if known and int(claim.split()[1]) % 2 else "entailed"}
            for key, claim in claims
        }
        return Kit().reply(json.dumps(verdicts))

    return script


def tuned_model(kit: Kit, script: Script, given: list[Judgment], folders: list[Path] | None = None) -> Tuned:
    """What tuning finds for a model that is served here."""

    async def tune() -> Tuned:
        async with kit.serving(script) as server:
            return await Tuner(f"openai/m?base_url={server.url}", given, folders or []).tune()

    return asyncio.run(tune())


def odd(negative: Label = N, number: int = 100) -> list[Judgment]:
    """Labels by which claims of odd numbers are not supported."""
    return labels(number, lambda at: at % 2 == 0, negative)


def test_the_wording_that_agrees_best_is_chosen(kit: Kit, place: Path) -> None:
    """Of several folders of prompts the one that makes the model right is in the file, with the gain on the rest."""
    for name, text in (("bad", "Anything goes."), ("good", "Look at the parity.")):
        (place / name).mkdir()
        (place / name / "entail.md").write_text(text)
    found = tuned_model(kit, taught("parity"), odd(number=40), [place / "bad", place / "good"])
    assert list(found.tried.values())[:3] == [0.5, 0.5, 1.0]
    assert found.file.judge.endswith("&prompts=good") or found.file.judge.endswith(f"prompts={place / 'good'}")
    assert found.gain.value == 0.5
    assert "(entail changed)" in dict(load_judge(found.file.judge).identity.settings)["prompts"]


def test_examples_that_help_are_chosen(kit: Kit, place: Path) -> None:
    """Labelled claims become worked examples in the file, with both answers; the judge of the file is sent them."""
    found = tuned_model(kit, taught('"why":"about', '"why":""'), odd())
    assert len(found.file.examples) == 4
    assert {one["answer"]["label"] for one in found.file.examples} == {"entailed", "neutral"}
    assert found.gain.value == 0.5
    (place / "judge.json").write_text(found.file.text())
    judge = load_judge("judge.json", allow_hosts=["127.0.0.1"])
    assert judge.identity == llm(found.file.judge, examples=list(found.file.examples)).identity
    assert dict(judge.identity.settings)["prompts"].endswith("(examples changed)")
    again = asyncio.run(_with(kit, taught("no such word"), odd(number=40)))
    assert json.dumps(again.file.examples) == json.dumps(found.file.examples)


async def _with(kit: Kit, script: Script, given: list[Judgment]) -> Tuned:
    """Tuning a judge file, whose server is another one."""
    async with kit.serving(script) as server:
        file = json.loads(Path("judge.json").read_text())
        Path("again.json").write_text(json.dumps({**file, "judge": f"openai/m?base_url={server.url}"}))
        return await Tuner(JudgeSpec("again.json", ("127.0.0.1",)), given).tune()


def test_examples_that_do_not_help_are_left_out(kit: Kit) -> None:
    """A model that examples do not change stays as it is."""
    assert tuned_model(kit, taught("no such word"), odd()).file.examples == ()


def test_people_who_say_less_give_examples_by_the_judges_word(kit: Kit) -> None:
    """Of a claim that is only called not entailed no example is made where the judge calls it entailed."""
    assert list(tuned_model(kit, taught("no such word"), odd(X)).tried) == ["as it is (on 50)"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (labels(19, lambda at: at % 2 == 0), "19 labels for verdicts that shy/1 can give; tuning needs 20"),
        ([], "0 labels"),
        (labels(40, lambda _: True), "40 of 40 labels say supported or yes; tuning needs 3 or more of either"),
        (labels(40, lambda _: False), "0 of 40 labels say"),
        (labels(40, lambda at: at < 3), "labels of one half of the texts say"),
    ],
)
def test_labels_that_cannot_tune_are_refused(given: list[Judgment], message: str) -> None:
    """Too few labels, or one answer alone, is an error before anything is asked."""
    with pytest.raises(BadData, match=message):
        Tuner("python:shy_judges:shy", given)


def test_prompts_that_cannot_be_tried_are_refused(place: Path) -> None:
    """A folder without a section for the labels, an empty one, a bad example, and a judge without prompts: errors."""
    folder = place / "mine"
    folder.mkdir()
    with pytest.raises(BadData, match="no section of the prompts"):
        Tuner("openai/m", odd(), [folder])
    (folder / "decompose.md").write_text("Take it apart.")
    with pytest.raises(BadData, match=r"lacks a section that the labels are asked with; edit preamble.md or entail.md"):
        Tuner("openai/m", odd(), [folder])
    (folder / "examples.jsonl").write_text("{}")
    with pytest.raises(BadData, match=r"examples.jsonl, line 1"):
        Tuner("openai/m", odd(), [folder])
    with pytest.raises(BadParameter, match="has no prompts"):
        Tuner("lexical", odd(), [folder])


def test_judges_that_cannot_be_tuned_are_refused() -> None:
    """An unknown judge, a cascade of three, and a judge that answers nothing say so."""
    with pytest.raises(UnknownName):
        Tuner("embeded", odd())
    with pytest.raises(BadParameter, match="tune a cascade of two judges"):
        Tuner("cascade(lexical,embedded,openai/m)", odd())
    with pytest.raises(RunFailed, match="down/1 answered no question"):
        tuned("python:shy_judges:down", odd())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "cannot be read as a judge: Expected `object`"),
        ("{", "cannot be read as a judge"),
        ('{"schema": "ragauge.judge/2", "judge": "lexical"}', "Invalid enum value"),
        ('{"judge": "lexical", "treshold": {}}', "unknown field `treshold`"),
        ("{}", "missing required field `judge`"),
        ('{"judge": "other.json"}', "its judge is a file too"),
        ('{"judge": "openai/m", "examples": [{"kind": "entail"}]}', "examples, line 1"),
        ('{"judge": "lexical", "thresholds": {"entail": 2}}', "must be a number from 0 to 1"),
        ('{"judge": "lexical", "thresholds": {"entails": 0.2}}', "entails"),
    ],
)
def test_a_file_that_is_no_judge_is_refused(place: Path, content: str, message: str) -> None:
    """The message names the file, or what in it is wrong."""
    (place / "judge.json").write_text(content)
    with pytest.raises((BadData, BadParameter, UnknownName), match=message):
        load_judge("judge.json")


def test_a_missing_judge_file_is_an_error() -> None:
    """The message names the file and says what makes one."""
    with pytest.raises(BadData, match=r"nowhere.json: cannot be read as a judge.*judges tune -o FILE"):
        load_judge("nowhere.json")


def test_a_file_is_read_as_it_was_written(place: Path) -> None:
    """A judge file keeps its content, and works as a member of other judges."""
    file = JudgeFile(judge="embedded", thresholds={"entail": 0.25}, tuned={"p": 0.5})
    (place / "judge.json").write_text(file.text())
    assert load_judge("judge.json").identity == judge_of_file(file).identity
    assert load_judge("panel(judge.json,lexical)").identity.name == "panel(decided(embedded), lexical)"


@pytest.mark.parametrize(
    ("answer", "level", "expected"),
    [
        (Verdict(N, 0.3, (ChunkVerdict(N, 0.3),)), 0.25, Verdict(E, 0.3, (ChunkVerdict(E, 0.3),))),
        (Verdict(E, 0.6, (ChunkVerdict(E, 0.6),)), 0.7, Verdict(N, 0.6, (ChunkVerdict(N, 0.6),))),
        (Verdict(C, 0.1, (ChunkVerdict(C, 0.1),)), 0.7, Verdict(C, 0.1, (ChunkVerdict(C, 0.1),))),
        (Verdict(E, None, (ChunkVerdict(E),)), 0.7, Verdict(E, None, (ChunkVerdict(E),))),
    ],
)
def test_a_level_decides_the_label(answer: Verdict, level: float, expected: Verdict) -> None:
    """From the level on a verdict is "entailed", below it what asserts least; without a probability it is as it was."""
    judge = judge_from(entail=lambda premise, hypothesis: answer, name="one/1")
    question: Question = Entail(("p",), "h")
    assert asyncio.run(Decided(judge, {"entail": level}).answer([question])) == [expected]
    assert asyncio.run(Decided(judge, {"relevant": level}).answer([question])) == [answer]


@pytest.mark.parametrize(("said", "expected"), [("right", Label.WRONG), ("partly", Label.PARTLY)])
def test_a_level_decides_whether_an_answer_is_right(said: str, expected: Label) -> None:
    """Below the level a right answer is wrong and another label stays; from the level on the answer is right."""
    judge = judge_from(correct=lambda response, references: (said, 0.6), name="one/1")
    question = Correct("q", "a", ("r",))
    assert asyncio.run(Decided(judge, {"correct": 0.7}).answer([question])) == [Verdict(expected, 0.6)]
    assert asyncio.run(Decided(judge, {"correct": 0.5}).answer([question])) == [Verdict(Label.RIGHT, 0.6)]
