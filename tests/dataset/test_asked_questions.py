from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import ragauge as rg
from ragauge.cli.main import main
from ragauge.datasets import plan_questions, questions, real_questions
from ragauge.datasets.drafting import ASKED_KINDS

TOWNS = ("Alva", "Brennt", "Corley", "Dunmar", "Esk", "Falmor", "Gorran", "Hythe")
HOUSES = ("Quill", "Rendt", "Sorrel", "Tavish")
REFUSAL = "I apologize, but I couldn't find an answer in the documents."


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A folder with a document of each town: who built its tower, and of what."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    for n, town in enumerate(TOWNS):
        text = f"The tower of {town} is {20 + n} metres high. The mason {town}sen built it of red brick in {1800 + n}."
        text += f" It belongs to the house of {HOUSES[n // 2]}."
        (folder / f"{town}.md").write_text(text)
    return folder


class Writer:
    """A model: writes questions about towers, reads documents, and knows the tower of Alva by heart.

    change: makes another draft of one. asked: the drafts that were asked for.
    """

    model_name = "writer"

    def __init__(self, change: Callable[[dict[str, str]], dict[str, str]] = dict) -> None:
        self.asked: list[dict[str, Any]] = []
        self._change = change

    def __call__(self, messages: list[dict[str, str]]) -> str:
        """The reply to one call."""
        document = json.loads(messages[1]["content"])
        if "passages" in document:
            self.asked.append(document)
            return json.dumps(self._change(self._draft(messages[0]["content"], document["passages"])))
        texts = [text["text"] for text in document.get("documents", {}).values()]
        if "documents" not in document:
            texts = [text for text in ("The tower of Alva is 20 metres high.",) if "Alva" in document["question"]]
        return json.dumps({"answer": self._read(document["question"], texts)})

    def _draft(self, system: str, passages: dict[str, str]) -> dict[str, str]:
        towns = [re.search(r"tower of (\w+)", text)[1] for text in passages.values()]  # type: ignore[index]
        heights = [re.search(r"(\d+) metres", text)[1] for text in passages.values()]  # type: ignore[index]
        town = towns[0]
        question, answer = f"How high is the tower of {town}?", f"The tower of {town} is {heights[0]} metres high."
        if '"missing"' in system:
            return {"question": f"How many steps has the tower of {town}?", "missing": "steps"}
        if '"standalone"' in system:
            said = {
                "earlier_question": f"Who built the tower of {towns[0]}?",
                "earlier_answer": f"{towns[0]}sen built it",
            }
            return {**said, "question": "And how high is it?", "standalone": question, "answer": answer}
        if "both passages" in system:
            question = f"How high are the towers of {town} and {towns[1]}?"
            answer = f"{answer} The tower of {towns[1]} is {heights[1]} metres high."
        return {"question": question, "answer": answer}

    def _read(self, question: str, texts: list[str]) -> str:
        if "steps" in question:
            return REFUSAL
        sentences = [sentence for text in texts for sentence in re.findall(r"[^.]+ metres high\.", text)]
        told = [
            sentence.strip() for sentence in sentences if any(town in question and town in sentence for town in TOWNS)
        ]
        return " ".join(dict.fromkeys(told)) or REFUSAL


@pytest.fixture
def judge() -> rg.Judge:
    """Takes texts apart at full stops; a text entails, and an answer is right, by its words."""

    def words(text: str) -> set[str]:
        return set(re.findall(r"\w+", text.lower()))

    return rg.judge_from(
        decompose=lambda text: [piece.strip() + "." for piece in text.split(".") if piece.strip()],
        entail=lambda premise, hypothesis: words(hypothesis) <= words(premise),
        relevant=lambda query, text: any(town in query and town in text for town in TOWNS) and "steps" not in query,
        correct=lambda response, references: words(references[0]) <= words(response),
        name="words",
    )


def test_questions_of_each_kind_are_written_and_proven(corpus: Path, judge: rg.Judge) -> None:
    """Every kind has its share; answers have their claims, and what the model knows by itself is marked."""
    made = questions(corpus, Writer(), n=10, judge=judge)
    assert made.kinds == dict.fromkeys(ASKED_KINDS, 2)
    rows = {kind: [one for one in made.samples if one.metadata["kind"] == kind] for kind in ASKED_KINDS}
    for sample in [*rows["bridge"], *rows["comparison"]]:
        assert len(sample.reference_contexts or ()) == len(sample.answers or ()) == 2
    for sample in rows["unanswerable"]:
        assert (sample.answerable, sample.references, sample.metadata["missing"]) == (False, None, "steps")
    for sample in rows["follow-up"]:
        assert sample.query == "And how high is it?"
        assert [turn.role for turn in sample.turns or ()] == ["user", "assistant"]
        assert "tower of" in sample.metadata["standalone"]
    single = questions(corpus, Writer(), n=8, kinds=["single"], judge=judge)
    assert len(single.samples) == 8
    for sample in single.samples:
        assert sample.metadata["known"] == ("Alva" in (sample.query or ""))
        assert sample.references == (sample.answers or ((),))[0]
    assert rg.read(single.samples)


def _with(field: str, value: str) -> Callable[[dict[str, str]], dict[str, str]]:
    return lambda draft: {**draft, **({field: value} if field in draft else {})}


@pytest.mark.parametrize(
    ("kind", "change", "reason"),
    [
        ("single", _with("answer", "It is 99 metres high."), "a claim of its answer does not follow from its passages"),
        ("single", _with("question", "Who sells tea?"), "a passage does not help to answer it"),
        ("single", _with("answer", ""), "the model found nothing to ask"),
        ("single", _with("answer", "."), "its answer makes no claim"),
        ("follow-up", _with("standalone", "And how high is it?"), "it is understood without the conversation"),
        ("follow-up", _with("earlier_answer", "A giant"), "the conversation before it says what its passage does not"),
        ("unanswerable", _with("question", "How high is the tower of Alva?"), "the corpus helps to answer it"),
        (
            "single",
            lambda draft: {
                **draft,
                "question": draft["question"].replace("How high is", "What of")[:17] + "s of Alva?",
            },
            "the same question again",
        ),
    ],
)
def test_what_does_not_hold_is_dropped(kind: str, change: Any, reason: str, corpus: Path, judge: rg.Judge) -> None:
    """Each fault of a draft is found, counted and shown with the first draft that has it."""
    made = questions(corpus, Writer(change), n=4, kinds=[kind], judge=judge, attempts=1)
    assert made.made[kind] == 4
    assert reason in made.dropped
    assert reason in made.first_dropped
    assert made.made.total() == len(made.samples) + made.dropped.total()


def test_a_bridge_is_asked_between_passages_that_share_a_name(corpus: Path, judge: rg.Judge) -> None:
    """The two passages of a bridge name the same; where nothing is named twice, no bridge is asked for."""
    writer = Writer()
    questions(corpus, writer, n=8, kinds=["bridge"], judge=judge, attempts=1)
    houses = [[re.search(r"house of (\w+)", text)[1] for text in asked["passages"].values()] for asked in writer.asked]  # type: ignore[index]
    assert len(houses) == 8
    assert all(first == second for first, second in houses)
    for town in TOWNS:
        (corpus / f"{town}.md").write_text(f"The tower of {town} is old. It is made of wood.")
    none = questions(corpus, writer, n=8, kinds=["bridge"], judge=judge)
    assert (len(writer.asked), none.made.total()) == (8, 0)


def test_a_bridge_that_one_passage_answers_is_dropped(corpus: Path, judge: rg.Judge) -> None:
    """Where one of the two passages entails the answer alone, nobody needs both."""
    first = lambda draft: {**draft, "answer": draft["answer"].partition(". ")[0] + "."}  # noqa: E731
    made = questions(corpus, Writer(first), n=2, kinds=["bridge"], judge=judge, attempts=1)
    assert made.dropped == {"one passage answers it alone": 2}


@pytest.mark.parametrize("kind", ["single", "follow-up"])
def test_every_passage_with_the_answer_is_named(kind: str, corpus: Path, judge: rg.Judge) -> None:
    """Whoever finds another passage that entails the answer has found what was asked for, in whatever text it is."""
    (corpus / "z.md").write_text("Bring shoes: the tower of Esk is 24 metres high. The mason Esksen built it.")
    made = questions(corpus, Writer(), n=8, kinds=[kind], judge=judge)
    relevant = {sample.references: [chunk.id for chunk in sample.reference_contexts or ()] for sample in made.samples}
    assert sorted(relevant["The tower of Esk is 24 metres high.",]) == ["Esk.md#1", "z.md#1"]
    assert relevant["The tower of Alva is 20 metres high.",] == ["Alva.md#1"]


def test_a_comparison_that_another_passage_answers_is_dropped(corpus: Path, judge: rg.Judge) -> None:
    """Where a third passage says all of the answer, nobody needs two."""
    (corpus / "all.md").write_text(
        " ".join(f"The tower of {town} is {20 + n} metres high." for n, town in enumerate(TOWNS))
    )
    made = questions(corpus, Writer(), n=8, kinds=["comparison"], judge=judge, attempts=1)
    assert set(made.dropped) <= {"one passage answers it alone", "the same question again"}
    assert not made.samples


def test_a_question_that_can_mean_several_things_is_dropped(corpus: Path, judge: rg.Judge) -> None:
    """A judge that grades by rubrics is asked whether each question means one thing; it sees the conversation."""
    asked = []

    def rate(rubric: rg.questions.Rubric, conversation: str) -> int:
        asked.append(conversation)
        return int("Alva" not in conversation)

    grading = {"rate": rg.judge_from(rate=rate, name="clear"), "*": judge}
    made = questions(corpus, Writer(), n=8, kinds=("follow-up",), judge=grading)
    assert made.dropped == {"it can mean several things, or nobody would ask it": 1}
    assert "user: Who built the tower of Alva?\nassistant: Alvasen built it\nuser: And how high is it?" in asked


def test_a_question_that_a_reader_takes_otherwise_is_dropped(corpus: Path, judge: rg.Judge) -> None:
    """A reader who sees the passage among others must give the answer."""

    class Reader(Writer):
        def _read(self, question: str, texts: list[str]) -> str:
            return "It is 3 metres high."

    made = questions(corpus, Reader(), n=3, kinds=["single"], judge=judge, attempts=1)
    assert made.dropped == {"a reader of its passages among others answers something else, or nothing": 3}


def test_no_two_questions_say_the_same(tmp_path: Path, judge: rg.Judge) -> None:
    """Of two questions that entail each other with their answers, the first is kept."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text(f"The tower of Esk is 24 metres high. This is the copy of {name}.")
    ways = iter(("How high is the tower of Esk?", "The tower of Esk is how high?"))
    change = lambda draft: {**draft, "question": next(ways)}  # noqa: E731
    made = questions(tmp_path, Writer(change), n=2, kinds=["single"], judge=judge, attempts=1)
    assert [sample.query for sample in made.samples] == ["How high is the tower of Esk?"]
    assert made.first_dropped == {"the same question again": "The tower of Esk is how high?"}


def test_a_model_that_repeats_itself_is_given_up(corpus: Path, judge: rg.Judge) -> None:
    """The number of drafts is bounded, whatever the model writes."""
    writer = Writer(_with("question", "How high is the tower of Alva?"))
    made = questions(corpus, writer, n=3, kinds=["single"], judge=judge, attempts=2)
    assert made.made["single"] == len(writer.asked) == 6
    assert len(made.samples) <= 1


def test_what_is_stored_is_not_asked_again(corpus: Path, judge: rg.Judge, tmp_path: Path) -> None:
    """The same call with the same store asks nothing and makes the same set; language and style are passed on."""
    options: dict[str, Any] = {"n": 6, "judge": judge, "store": tmp_path / "store", "language": "de", "style": "brief"}
    writer, again = Writer(), Writer()
    first = questions(corpus, writer, **options)
    second = questions(corpus, again, **options)
    assert {(document["language"], document["style"]) for document in writer.asked} == {("de", "brief")}
    assert (second.asked, again.asked) == (0, [])
    assert first.samples == second.samples
    assert first.samples[0].metadata["test_set"].keys() == {"id", "seed", "words", "model", "judge", "prompts"}


def test_the_price_comes_first_and_is_kept(corpus: Path, stub_server: Callable[..., Any], tmp_path: Path) -> None:
    """A plan sends nothing; a run stops at its limit, and what was written until then is kept for the next."""
    server = stub_server()
    model = f"openai/gpt-4o-mini?base_url={server.url}"
    plan = plan_questions(corpus, model, n=5)
    assert plan.cost.calls > 15
    assert plan.cost.dollars
    command = ["dataset", "questions", str(corpus), "-j", model, "-n", "5", "-o", str(tmp_path / "t.jsonl")]
    command += ["--store", str(tmp_path / "store")]
    planned = CliRunner().invoke(main, [*command, "--plan"])
    assert planned.exit_code == 0, planned.output
    assert "if each draft holds: " in planned.output
    assert "price $" in planned.output
    stopped = CliRunner().invoke(main, [*command, "--max-cost", "0.0000001"])
    assert stopped.exit_code == 4, stopped.output
    assert "limit" in stopped.output


def test_a_judge_that_writes_nothing_is_no_model(corpus: Path) -> None:
    """The embedded judge cannot write questions, and is refused before anything is asked."""
    with pytest.raises(rg.errors.UsageError, match="embedded writes no questions; name a model"):
        questions(corpus, "embedded", n=2, kinds=["single"])
    assert (
        "nothing, since no model is asked"
        in CliRunner()
        .invoke(main, ["dataset", "questions", str(corpus), "--plan", "-o", str(corpus / "t.jsonl")])
        .output
    )


class Citing(Writer):
    """Answers with the numbers of the documents that it goes by, and puts questions in full."""

    def __call__(self, messages: list[dict[str, str]]) -> str:
        """The reply to one call."""
        document = json.loads(messages[1]["content"])
        if "conversation" in document:
            town = re.search(r"tower of (\w+)", document["conversation"])[1]  # type: ignore[index]
            return json.dumps({"question": f"How high is the tower of {town}?"})
        return super().__call__(messages)

    def _read(self, question: str, texts: list[str]) -> str:
        told = [(number, super(Citing, self)._read(question, [text])) for number, text in enumerate(texts, start=1)]
        return " ".join(f"{text.rstrip('.')} [{number}]." for number, text in told if text != REFUSAL) or REFUSAL


def _asked(*queries: str) -> list[dict[str, Any]]:
    return [{"id": f"t{number}", "query": query} for number, query in enumerate(queries)]


def test_questions_of_users_are_answered_and_proven(corpus: Path, judge: rg.Judge) -> None:
    """The model answers from passages that are found; what it cites is the context, and what nothing answers is kept.

    Each question counts once, and of the answers only those hold that are proven as those of written questions are.
    """
    height, steps = "How high is the tower of Esk?", "How many steps has the tower of Hythe?"
    made = questions(corpus, Citing(), n=9, traces=_asked(height, steps, height, "Who sells tea?"), judge=judge)
    assert (made.real, made.kinds, made.wanted) == (3, {"real": 3}, 9)
    rows = {sample.query: sample for sample in made.samples}
    assert rows[height].references == ("The tower of Esk is 24 metres high.",)
    assert [chunk.id for chunk in rows[height].reference_contexts or ()] == ["Esk.md#1"]
    assert rows[height].metadata["asked_in"] == "t0"
    assert (rows[steps].answerable, rows[steps].references) == (False, None)
    uncited = questions(corpus, Writer(), n=1, traces=_asked(height), judge=judge)
    assert uncited.dropped == {"its answer names no passage": 1}


def test_a_question_in_a_conversation_is_put_in_full(corpus: Path, judge: rg.Judge) -> None:
    """What goes on from a conversation is searched and answered in full, and kept with the conversation."""
    said = [{"role": "user", "content": "Who built the tower of Alva?"}, {"role": "assistant", "content": "Alvasen"}]
    made = questions(corpus, Citing(), n=1, traces=[{"turns": said, "query": "And how high is it?"}], judge=judge)
    (sample,) = made.samples
    assert sample.metadata["standalone"] == "How high is the tower of Alva?"
    assert sample.references == ("The tower of Alva is 20 metres high.",)
    assert [turn.text for turn in sample.turns or ()] == ["Who built the tower of Alva?", "Alvasen"]


@pytest.mark.parametrize("doubtful", ["Esk", "Hythe"])
@pytest.mark.parametrize("how", ["confidence", "scores"])
def test_what_the_judge_doubted_is_drawn_first(doubtful: str, how: str, corpus: Path, judge: rg.Judge) -> None:
    """Of questions that are alike, the one comes first on whose answer the judge was least sure."""

    def doubt(town: str) -> dict[str, Any]:
        probability = 0.5 if town == doubtful else 0.95
        piece = {"text": "High.", "field": "response", "label": "entailed", "probability": probability}
        scores = {"faithfulness": {"value": 1.0, "evidence": [piece]}}
        return {"confidence": probability} if how == "confidence" else {"scores": scores}

    rows = [{"sample": {"query": f"How high is the tower of {town}?"}, **doubt(town)} for town in ("Esk", "Hythe")]
    made = questions(corpus, Citing(), n=1, traces=rows, judge=judge)
    assert [sample.query for sample in made.samples] == [f"How high is the tower of {doubtful}?"]


def test_personal_data_are_masked_offline(corpus: Path, judge: rg.Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody sees an address, a number or a card: neither the model nor the set; and nothing is looked up for it."""
    pytest.importorskip("presidio_analyzer")

    def refuse(*arguments: Any) -> Any:
        raise AssertionError(f"a name was looked up: {arguments}")

    monkeypatch.setattr("socket.getaddrinfo", refuse)
    query = "I am ann@example.org, +49 30 901820, card 4111 1111 1111 1111. How high is the tower of Esk?"
    made = questions(corpus, Citing(), n=1, traces=_asked(query), mask=True, judge=judge)
    assert [sample.query for sample in made.samples] == [
        "I am <EMAIL_ADDRESS>, <PHONE_NUMBER>, card <CREDIT_CARD>. How high is the tower of Esk?"
    ]


def test_masking_without_its_library_is_said(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the library is not installed, nothing is asked, and the message says what to install."""
    real_questions.recognizers.cache_clear()
    monkeypatch.setitem(sys.modules, "presidio_analyzer.predefined_recognizers", None)
    with pytest.raises(rg.errors.UsageError, match=re.escape("pip install 'ragauge[masking]'")):
        questions(corpus, Citing(), n=1, traces=_asked("How high is it?"), mask=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"traces": [{"response": "Yes."}]}, "no row has a question"),
        ({"traces": _asked("Why?"), "kinds": ["single"]}, "take a model that answers them, and no kinds"),
        ({"traces": _asked("Why?"), "model": None}, "take a model that answers them"),
        ({"mask": True}, "give them with traces"),
        ({"kinds": ["real"]}, "'real' is not one of single, bridge"),
    ],
)
def test_questions_of_users_with_other_options_are_refused(options: Any, message: str, corpus: Path) -> None:
    """What has no effect on questions of users, or nothing to be taken from, is an error before anything is asked."""
    with pytest.raises(rg.errors.UsageError, match=message):
        questions(corpus, **{"model": Citing(), **options})


def test_traces_that_are_skipped_are_counted(corpus: Path, judge: rg.Judge) -> None:
    """Rows that cannot be read and are left out on request are named with the set."""
    rows = [*_asked("How high is the tower of Esk?"), {"id": "t9", "query": ["no", 1]}]
    made = questions(corpus, Citing(), n=1, traces=rows, skip_bad_rows=True, judge=judge)
    assert (len(made.samples), len(made.bad_rows)) == (1, 1)
    assert "row 2" in made.bad_rows[0]


def test_traces_are_priced_before_they_are_asked(corpus: Path, tmp_path: Path) -> None:
    """The command takes traces, and plans them without a key."""
    rows = [{"trace": {"input": query}} for query in ("How high is the tower of Esk?", "Who built it?")]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    command = ["dataset", "questions", str(corpus), "--from", str(tmp_path / "rows.jsonl"), "-o", "t.jsonl", "--plan"]
    planned = CliRunner().invoke(main, [*command, "--map", "query=trace.input", "-j", "openai/gpt-4o-mini"])
    assert planned.exit_code == 0, planned.output
    assert re.search(r"if each draft holds: 1[0-9] calls", planned.output)
