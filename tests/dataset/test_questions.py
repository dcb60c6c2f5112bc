from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

import ragauge as rg
from ragauge.cli.main import main
from ragauge.datasets import QuestionSet, build, difference, questions
from ragauge.datasets.corpus import read_corpus
from ragauge.datasets.drawing import PassageMap
from ragauge.datasets.offline_questions import GAP

MINI = Path(rg.__file__).parent / "datasets" / "mini" / "corpus"


def _call(*arguments: object) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def _kinds(made: QuestionSet) -> dict[str, list[rg.Sample]]:
    return {kind: [one for one in made.samples if one.metadata["kind"] == kind] for kind in made.kinds}


def test_a_cloze_asks_for_words_of_its_passage() -> None:
    """The gap, filled with the reference, is a sentence of the passage, whose characters are given."""
    made = questions(MINI, kinds=["cloze"])
    assert len(made.samples) >= 10
    for sample in made.samples:
        assert sample.query
        assert sample.references
        assert sample.reference_contexts
        chunk, answer = sample.reference_contexts[0], sample.references[0]
        start, end = chunk.metadata["span"]
        assert " ".join(chunk.text[start:end].split()) == sample.query.replace(GAP, answer)
        assert answer not in sample.query
        assert sample.answers == ((answer,),)


def test_a_heading_is_about_all_passages_of_its_section(tmp_path: Path) -> None:
    """Each heading with enough words is asked once; what is relevant is every passage below it, and nothing else."""
    body = " ".join(f"Sentence number {n} is here." for n in range(30))
    (tmp_path / "a.md").write_text(
        f"# The old harbour\n\n{body}\n\n## Rules for guests\n\nBe quiet.\n\n## Short\n\nNo.\n"
    )
    made = questions(tmp_path, kinds=["heading"])
    asked = {sample.query: [chunk.id for chunk in sample.reference_contexts or ()] for sample in made.samples}
    assert asked == {
        "The old harbour": ["a.md#1", "a.md#2"],
        "The old harbour: Rules for guests": ["a.md#3"],
        "The old harbour: Short": ["a.md#4"],
    }


def test_the_same_seed_gives_the_same_set() -> None:
    """Set and identity are those of the corpus and the seed; another seed draws others."""
    first, again, other = (questions(MINI, n=6, seed=seed) for seed in (1, 1, 2))
    assert first.samples == again.samples
    assert first.identity == again.identity != other.identity
    assert {sample.metadata["test_set"]["id"] for sample in first.samples} == {first.identity}
    assert len({sample.id for sample in first.samples}) == 6


def test_the_same_rows_are_the_same_set_in_any_order() -> None:
    """Where two seeds draw all the questions that there are, the sets have one identity and runs on them compare."""
    first, other = (questions(MINI, n=1000, seed=seed) for seed in (1, 2))
    assert [sample.id for sample in first.samples] != [sample.id for sample in other.samples]
    assert first.identity == other.identity


def test_the_draw_covers_the_corpus() -> None:
    """Of a corpus that is mostly about one thing, the first passages drawn are about all."""
    rng = Random(1)
    words = {topic: [f"{topic}{n}" for n in range(12)] for topic in ("tea", "rust", "moss")}
    texts = [" ".join(rng.choices(words[topic], k=20)) for topic in ["tea"] * 80 + ["rust"] * 4 + ["moss"] * 4]
    order = PassageMap(texts).covering_order(12, Random(3))
    assert sorted(order) == list(range(len(texts)))
    assert {texts[position][:3] for position in order[:12]} == {"tea", "rus", "mos"}


def test_a_sentence_in_several_passages_has_them_all(tmp_path: Path) -> None:
    """Whoever finds another passage with the same sentence has found what was asked for."""
    shared = "The keeper Ida Lunde polishes the heavy brass lamp on every Monday morning."
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text(f"{shared}\n\nThis is the copy of {name}.")
    for n in range(50):
        (tmp_path / f"z{n}.txt").write_text(f"Stones lie on the shore, which is number {n}.")
    made = questions(tmp_path, kinds=["cloze"])
    (sample,) = {one.query: one for one in made.samples if "brass" in (one.query or "") or "Lunde" in str(one)}.values()
    assert {chunk.id for chunk in sample.reference_contexts or ()} == {"a.txt#1", "b.txt#1"}


def test_from_documents_to_the_figures_of_a_retriever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions, retrieval by BM25 and its recall, on the command line and without any model."""
    monkeypatch.chdir(tmp_path)
    made = _call("dataset", "questions", MINI, "-n", 12, "-o", "tests.jsonl")
    assert made.exit_code == 0, made.output
    assert "12 questions: 6 cloze, 6 heading" in made.output
    assert _call("dataset", "build", "tests.jsonl", "--corpus", MINI, "-o", "samples.jsonl").exit_code == 0
    assert _call("run", "samples.jsonl", "-m", "retrieval_recall,ndcg", "-o", "run.json").exit_code == 0
    estimates = json.loads(Path("run.json").read_text(encoding="utf-8"))["estimates"]
    assert estimates["retrieval_recall"]["n"] == 12
    assert estimates["retrieval_recall"]["value"] > 0.8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kinds": ["clozes"]}, "kinds: 'clozes' is not one of cloze, heading"),
        ({"n": 0}, "n=0 must be 1 or more"),
        ({"attempts": 0}, "attempts=0 above 0"),
        ({"language": "de"}, "without a model nothing is judged"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], message: str) -> None:
    """An unknown kind and a number below one are refused before anything is read."""
    with pytest.raises(rg.errors.UsageError, match=message):
        questions(MINI, **options)


def test_a_corpus_that_gives_less_is_said(tmp_path: Path) -> None:
    """Fewer questions than were asked for, repeated texts and unreadable files are said; none at all is a failure."""
    (tmp_path / "a.txt").write_text("Too short.")
    (tmp_path / "b.txt").write_text("Too  short.")
    (tmp_path / "c.png").write_bytes(b"\x89PNG")
    nothing = _call("dataset", "questions", tmp_path, "-o", tmp_path / "out.jsonl")
    assert nothing.exit_code == 1
    assert "1 passage; 1 more repeat one of them; files skipped: 1 .png" in nothing.output
    assert "0 questions, not 200: there are no more\n" in nothing.output
    assert "gives no question, and nothing is written; see `ragauge docs" in nothing.output
    few = _call("dataset", "questions", MINI, "-n", 100, "-o", tmp_path / "out.jsonl")
    assert "not 100: there are no more" in few.output


@pytest.mark.parametrize(
    ("content", "message"), [(b"", "no text in 1 file"), (b"\x00\xff\x00\xff", "not text but binary")]
)
def test_an_empty_or_binary_corpus_is_an_error(content: bytes, message: str, tmp_path: Path) -> None:
    """A corpus without text ends in an error that says so."""
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(rg.errors.UsageError, match=message):
        questions(tmp_path)


def test_a_large_corpus_is_drawn_from(tmp_path: Path) -> None:
    """Questions are made of the passages that were drawn, and the size of the whole is known."""
    lines = (f"The traveller {n} of Harbour Street bought {n + 7} crates of ripe oranges in town." for n in range(400))
    (tmp_path / "a.txt").write_text("\n\n".join(lines))
    corpus = read_corpus(tmp_path, words=15, most=30)
    made = questions(corpus, n=10)
    drawn = {chunk.id for chunk in corpus.passages}
    assert (len(drawn), corpus.total) == (30, 400)
    assert {chunk.id for sample in made.samples for chunk in sample.reference_contexts or ()} <= drawn


def test_versions_of_a_set_are_told_apart(tmp_path: Path) -> None:
    """Rows that were added, removed and edited are named with what was edited, and other columns apart.

    What a system adds to a row changes nothing.
    """
    made = questions(MINI, n=4, kinds=["cloze"])
    made.save(tmp_path / "a.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines()]
    first, second, third, _ = rows
    second["references"] = ["something else"]
    third["difficulty"] = "high"
    rows = [{**first, "response": "an answer", "contexts": []}, second, third, {"id": "own", "query": "Who?"}]
    (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    found = difference(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    before = made.samples[1].references
    assert found == {
        "added": ["own"],
        "removed": [made.samples[3].id],
        "changed": {second["id"]: {"references": (before, ("something else",))}},
        "columns": {"difficulty": [third["id"]]},
    }
    shown = _call("dataset", "diff", tmp_path / "a.jsonl", tmp_path / "b.jsonl").output.splitlines()
    assert shown[:2] == ["added: 1", "  own"]
    assert f'  {second["id"]}: references {json.dumps(before)} → ["something else"]' in shown
    assert shown[-2:] == ["columns: 1", "  difficulty: 1 row"]
    query = {"id": "own", "query": f"{'Who? ' * 50}Ada", "references": None}
    (tmp_path / "c.jsonl").write_text(json.dumps(query), encoding="utf-8")
    (tmp_path / "d.jsonl").write_text(json.dumps({**query, "query": f"{'Who? ' * 50}Bob"}), encoding="utf-8")
    long = _call("dataset", "diff", tmp_path / "c.jsonl", tmp_path / "d.jsonl").output.splitlines()
    assert '  own: query …Who? Who? Who? Who? Ada" → …Who? Who? Who? Who? Bob"' in long


def test_building_a_set_changes_no_row(tmp_path: Path) -> None:
    """Documents, and labels of answerability, that `dataset build` adds to a test set are no change of its rows."""
    made = questions(MINI, n=4, kinds=["cloze"])
    made.save(tmp_path / "a.jsonl")
    build(tmp_path / "a.jsonl", MINI).save(tmp_path / "b.jsonl")
    assert any(sample.answerable for sample in rg.read(tmp_path / "b.jsonl"))
    assert difference(tmp_path / "a.jsonl", tmp_path / "b.jsonl")["changed"] == {}


def test_questions_and_retrieval_have_the_same_passages(tmp_path: Path) -> None:
    """A copy of a passage counts once in both, so that no place of a ranking goes to it."""
    for name in ("a", "copy"):
        (tmp_path / f"{name}.txt").write_text("The keeper Ida Lunde polishes the heavy brass lamp on every Monday.")
    made = questions(tmp_path, n=1)
    built = build(made.samples, tmp_path)
    assert built.corpus is not None
    assert (built.corpus.passages, built.corpus.repeated) == (made.corpus.passages, 1)
    assert [chunk.id for chunk in built.samples[0].contexts or ()] == ["a.txt#1"]


def test_no_question_writes_nothing(tmp_path: Path) -> None:
    """Where no question can be made, a test set stays as it is, and the message says where to read on."""
    (tmp_path / "a.md").write_text("# Cards\n## Fees\nEight euros.", encoding="utf-8")
    (tmp_path / "kept.jsonl").write_text("kept", encoding="utf-8")
    result = _call("dataset", "questions", tmp_path / "a.md", "-o", tmp_path / "kept.jsonl", "--no-store")
    assert (result.exit_code, (tmp_path / "kept.jsonl").read_text(encoding="utf-8")) == (1, "kept")
    assert "see `ragauge docs test-sets`" in result.stderr


def test_runs_of_two_sets_are_compared_only_on_request(tmp_path: Path) -> None:
    """Two runs of one set are compared; of two sets, only where what they have in common is asked for."""
    runs = []
    for seed in (1, 1, 2):
        made = questions(MINI, n=11, kinds=["cloze"], seed=seed)
        answered = [msgspec.structs.replace(sample, response="It is known.") for sample in made.samples]
        runs.append(rg.evaluate(answered, "exact_match", store=tmp_path / "store"))
    assert rg.compare(runs[0], runs[1]).samples == 11
    with pytest.raises(rg.errors.UsageError, match=r"the runs are of two test sets, .*--force"):
        rg.compare(runs[0], runs[2])
    assert 0 < rg.compare(runs[0], runs[2], force=True).samples <= 11
