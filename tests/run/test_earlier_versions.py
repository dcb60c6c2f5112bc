"""Stores and batches from before the prompts changed: what version 0.1.0 wrote, in the folder `written`, can be read;
answers count for as long as the prompts of their kind are the same.

store.db.gz: two runs over the rows of `ROWS`, by a model and by the same with a section of its own.
recording.jsonl: the judgments of the first. batch.db.gz: a batch folder in which FOLDER stands for where it was.
"""

from __future__ import annotations

import gzip
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.llm import batching
from tests.llm.models import Model, failing

import ragauge as rg
from ragauge.errors import UsageError
from ragauge.judges.base import RecordingJudge
from ragauge.judges.llm import prompts
from ragauge.judges.llm.judge import LLMJudge
from ragauge.kinds.call import PromptStyle
from ragauge.questions import KIND_TYPES, KINDS, identity_for
from ragauge.run.batch.folder import Folder
from ragauge.store import Store
from ragauge.store.recording import read_judgments

WRITTEN = Path(__file__).parent / "written"
ROWS = [{**row, "response": f"{row['response']} I think it is a fine book."} for row in batching.samples(2)]
METRICS = [*batching.METRICS.split(","), "toxicity", "relevance_rubric"]
CACHES = (prompts.packaged, prompts.digest, prompts.kind_digest, prompts.system)


def unpacked(name: str, folder: Path) -> Path:
    """A written file, unpacked into a folder."""
    path = folder / name.removesuffix(".gz")
    path.write_bytes(gzip.decompress((WRITTEN / name).read_bytes()))
    return path


@pytest.fixture(params=["sqlite", "postgres"])
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """The written store, in either database."""
    with Store.open(unpacked("store.db.gz", tmp_path)) as file:
        if request.param == "sqlite":
            yield file
            return
        with Store.open(request.getfixturevalue("postgres").new()) as other:
            file.copy_to(other)
            yield other


@pytest.fixture
def packaged() -> Iterator[None]:
    """What was made of packaged prompts is made anew after the test."""
    yield
    for cached in CACHES:
        cached.cache_clear()


def asked_by(style: PromptStyle, store: Store) -> list[str]:
    """The kinds of the questions that a run asks a model of this style, and nobody answers."""
    model = Model(lambda _: failing("gone"))
    run = rg.evaluate(ROWS, METRICS, LLMJudge(model, style=style), store)
    assert model.prompts or run.record.reused >= 14
    return [kind for kind in KINDS if any(f'"{kind}":' in prompt.user for prompt in model.prompts)]


def test_answers_to_other_prompts_are_asked_again(written: Store) -> None:
    """Prompts that have changed since ask anew, beginning with texts to take apart; what is stored stays."""
    before = {judgment.key for judgment in written.judgments()}
    assert asked_by(PromptStyle(), written) == ["relevant", "rate"]
    assert {judgment.key for judgment in written.judgments()} == before


def test_runs_of_an_earlier_version_are_read(written: Store) -> None:
    """Each judgment is found under the key that it was stored with."""
    judgments = {judgment.key: judgment for judgment in written.judgments()}
    assert written.find(list(judgments)) == judgments


@pytest.mark.usefixtures("packaged")
def test_an_edited_section_asks_its_own_kind_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A word changed in one prompt, the packaged or one's own, leaves the answers to all other kinds as they are."""
    with Store.open(tmp_path / "store") as store:
        rg.evaluate(ROWS, METRICS, LLMJudge(Model()), store)
        assert asked_by(PromptStyle(), store) == []
        for own in ("entail", "rate"):
            style = PromptStyle(sections=((own, "Otherwise."),))
            assert asked_by(style, store) == [own]
        monkeypatch.setattr(KIND_TYPES["relevant"], "prompt", "Otherwise.")
        for cached in CACHES:
            cached.cache_clear()
        assert asked_by(PromptStyle(), store) == ["relevant"]


@pytest.mark.parametrize(
    ("section", "kinds"),
    [
        ("preamble", KINDS),
        *((kind, (kind,)) for kind in KINDS),
        ("why", [kind for kind in KINDS if KIND_TYPES[kind].explained]),
        ("quote", ()),
        ("examples", KINDS),
    ],
)
def test_a_section_counts_for_the_kinds_it_is_sent_with(section: str, kinds: tuple[str, ...]) -> None:
    """The identity for a kind changes with the sections that its calls hold, and with no other."""
    packaged, changed = (
        LLMJudge(Model(), style=PromptStyle(sections=sections)).identity for sections in ((), ((section, ""),))
    )
    assert [kind for kind in KINDS if identity_for(kind, packaged) != identity_for(kind, changed)] == list(kinds)


def test_a_recording_answers_what_it_answered(written: Store) -> None:
    """Recorded judgments have the keys that they were stored with, and answer a run."""
    recorded = list(read_judgments(WRITTEN / "recording.jsonl"))
    stored = written.find([judgment.key for judgment in recorded])
    assert {key: judgment.answer for key, judgment in stored.items()} == {one.key: one.answer for one in recorded}
    run = rg.evaluate(ROWS, METRICS, RecordingJudge(recorded))
    assert run.record.failures == {}


def test_a_batch_by_other_prompts_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replies to the former prompts would be kept as answers to these: one line says what differs, and what to do."""
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    place = tmp_path / "batch"
    place.mkdir()
    ledger = unpacked("batch.db.gz", place)
    with sqlite3.connect(ledger) as db:
        db.execute("UPDATE facts SET value = replace(value, 'FOLDER', ?) WHERE name = 'manifest'", (str(tmp_path),))
    db.close()
    batching.data_file(tmp_path, 2)
    with pytest.raises(UsageError, match=r"exported by ragauge 0\.1\.0: prompts.* differ; .*another folder"):
        Folder.open(place)


def test_data_keep_their_hash() -> None:
    """The hash by which blind labels are found again is that of version 0.1.0, with and without ids of contexts."""
    row = {"query": "q", "response": "It is 5.", "references": ["5"]}
    for contexts, expected in (
        (["a is 5.", "b"], "a236bd502ab5d5825edb409a45a7ab46"),
        ([{"id": "x", "text": "a is 5."}, {"id": "y", "text": "b"}], "e785e4eccdb4c92ecc72cc1888e905f1"),
    ):
        assert rg.evaluate([{**row, "contexts": contexts}], "token_f1").record.data_hash == expected
