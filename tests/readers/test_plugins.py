"""Readers that other packages register as entry points, from real .dist-info folders on sys.path."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ragauge.datasets.corpus import read_corpus
from ragauge.errors import BadData, BadRow, UsageError
from ragauge.readers import read

#: A package whose files hold a row a line, as "query|response".
BARS = """
def rows(path):
    for line in path.read_text(encoding="utf-8").splitlines():
        query, response = line.split("|")
        yield {"query": query, "response": response}
"""

Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, install_package: Callable[..., Path]) -> Install:
    """Installs a package that registers a reader; returns an empty folder for data."""

    def installed(name: str, source: str, extension: str = "bars", group: str = "ragauge.readers") -> Path:
        install_package(name, f"[{group}]\n{extension} = {name}:rows\n", source)
        data = tmp_path / "data"
        data.mkdir(exist_ok=True)
        return data

    return installed


def test_a_reader_of_another_package_reads_its_files(install: Install) -> None:
    """A file whose extension another package registers is read as its rows, as often as it is asked for."""
    path = install("bars_reader", BARS) / "rows.BARS"
    path.write_text("q1|r1\nq2|r2\n", encoding="utf-8")
    reading = read(str(path))
    assert [(sample.query, sample.response) for sample in reading] == [("q1", "r1"), ("q2", "r2")]
    assert [sample.id for sample in reading] == ["1", "2"]
    assert reading.name == str(path)


def test_a_corpus_may_have_files_of_another_package(install: Install) -> None:
    """Rows of a registered format are documents of a corpus; files of other formats are still skipped."""
    folder = install("corpus_reader", "rows = lambda path: [{'id': 'd', 'text': path.read_text()}]", "note")
    (folder / "a.note").write_text("Tea is hot.", encoding="utf-8")
    (folder / "b.png").write_bytes(b"x")
    corpus = read_corpus(folder)
    assert ([chunk.text for chunk in corpus.passages], corpus.skipped) == (["Tea is hot."], {".png": 1})


def test_formats_that_are_built_in_stay(install: Install) -> None:
    """A package cannot take over an extension that ragauge reads itself."""
    path = install("takes_over", "rows = None", "jsonl") / "rows.jsonl"
    path.write_text('{"query": "q"}\n', encoding="utf-8")
    assert [sample.query for sample in read(path)] == ["q"]


def test_an_unknown_extension_is_still_refused(install: Install) -> None:
    """Entry points of other groups and for other extensions do not count."""
    folder = install("other_group", BARS, group="somebody.readers")
    install("other_extension", BARS, "beams")
    (folder / "rows.bars").write_text("q|r\n", encoding="utf-8")
    with pytest.raises(BadData, match=r"the extension '.bars' is not known; known: .jsonl"):
        read(folder / "rows.bars")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "import no_such_module",
            r"reader of .bars cannot be loaded from 'broken:rows' .*: ModuleNotFoundError: .*; fix",
        ),
        (
            "def rows(path):\n    raise OSError('disk')",
            "its reader rows raised OSError: disk; check the file",
        ),
        ("def rows(path):\n    return 7", "its reader rows raised TypeError"),
        ("def rows(path):\n    yield {'query': 'q'}\n    1 / 0", "its reader rows raised ZeroDivisionError"),
    ],
)
def test_a_reader_that_fails_is_named(
    install: Install, monkeypatch: pytest.MonkeyPatch, source: str, message: str
) -> None:
    """Whatever another package's reader raises is one error that names the file and the reader."""
    monkeypatch.delitem(sys.modules, "broken", raising=False)
    path = install("broken", source) / "rows.bars"
    path.write_text("q|r\n", encoding="utf-8")
    with pytest.raises(UsageError, match=rf"rows\.bars: {message}"):
        list(read(path))


def test_a_row_that_is_not_a_mapping_is_refused(install: Install) -> None:
    """A bad row of another package's reader is an error with its number, as in any other file."""
    path = install("not_mappings", "rows = lambda path: [{'query': 'q'}, ['r']]") / "rows.bars"
    path.write_text("x", encoding="utf-8")
    reading = read(path, skip_bad_rows=True)
    assert [sample.query for sample in reading] == ["q"]
    with pytest.raises(BadRow, match=r"row 2: a list, not an object"):
        list(read(path))


def test_two_readers_of_one_extension_are_refused(install: Install) -> None:
    """Which of two packages reads a file is not left to chance."""
    install("first_reader", BARS)
    path = install("second_reader", BARS) / "rows.bars"
    path.write_text("q|r\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"is offered by .*first_reader:rows.* and .*second_reader:rows.*; uninstall"):
        read(path)
