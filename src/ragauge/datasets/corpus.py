"""A corpus: the documents of a folder or file, cut into passages."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragauge.errors import BadData, BadRow
from ragauge.readers.contexts import ID_KEYS, chunks_in
from ragauge.readers.formats import KNOWN, extension, file, lines, opened
from ragauge.readers.values import Malformed
from ragauge.types import Chunk

#: Words of a passage, as in the Wikipedia passages of DPR (Karpukhin et al., 2020).
WORDS = 100

#: Characters that count as a word where a script has no spaces between words.
_LONG_WORD = 10

_ENDS = re.compile(r"[.!?][\"')\]]*\s+|\n\s*\n|[。！？]")
_WORD = re.compile(r"\S{1,400}\s*")
_FENCE = re.compile(r"\s*(```|~~~)")
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*")


def passages(text: str, words: int = WORDS) -> list[str]:
    """The text in pieces of at most `words` words each, in order; together they hold all of it but white space.

    A piece ends with a sentence or a paragraph, unless a single sentence is too long. In scripts without spaces ten
    characters count as a word.
    """
    if _size(text) <= words:
        return [text.strip()] if text.strip() else []
    found: list[str] = []
    start, size = 0, 0
    for begin, end in _pieces(text, words):
        more = _size(text[begin:end])
        if size and size + more > words:
            found.append(text[start:begin].strip())
            start, size = begin, 0
        size += more
    found.append(text[start:].strip())
    return [passage for passage in found if passage]


def _pieces(text: str, words: int) -> Iterator[tuple[int, int]]:
    """Sentences; of a sentence that is too long, its words."""
    for begin, end in pairwise([0, *(found.end() for found in _ENDS.finditer(text)), len(text)]):
        if _size(text[begin:end]) <= words:
            yield begin, end
        else:
            yield from (word.span() for word in _WORD.finditer(text, begin, end))


def _size(text: str) -> int:
    return max(len(text.split()), len(text) // _LONG_WORD if len(text) > _LONG_WORD * (text.count(" ") + 1) else 0)


def sections(markdown: str) -> tuple[str, list[tuple[str, str]]]:
    """The title of a Markdown text, "" where it has none, and its sections: the heading of each and what stands below.

    The title is the first heading of the first level; what stands before any other heading is a section without one.
    """
    title, heading, fenced = "", "", False
    lines: list[str] = []
    found: list[tuple[str, str]] = []
    for line in markdown.splitlines(keepends=True):
        fenced ^= bool(_FENCE.match(line))
        mark = None if fenced else _HEADING.fullmatch(line.rstrip())
        if mark is None:
            lines.append(line)
            continue
        found.append((heading, "".join(lines)))
        lines.clear()
        is_title = mark[1] == "#" and not title
        title, heading = (mark[2], "") if is_title else (title, mark[2])
    return title, [(name, body) for name, body in [*found, (heading, "".join(lines))] if body.strip()]


_MARKDOWN = (".md", ".markdown")
_TEXT = (".txt", ".text", *_MARKDOWN)


class Corpus(NamedTuple):
    """What was read. left_out: how many files of each kind that cannot be read as text, and how many empty ones.

    bad: files and rows that were skipped on request, each as its error message.
    """

    name: str
    passages: list[Chunk]
    left_out: dict[str, int]
    bad: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """A hash of all passages, 32 hex digits."""
        whole = hashlib.sha256()
        for passage in self.passages:
            whole.update(f"{passage.id}\0{passage.passage}\0\0".encode())
        return whole.hexdigest()[:32]


def read_corpus(path: str | Path, words: int = WORDS, *, skip_bad: bool = False) -> Corpus:
    """The passages of a file, or of all files of a folder and its folders, in the order of their names.

    Text (.txt .md) is cut into passages of at most `words` words under the name of its file or, in Markdown, its title
    and the heading. Rows (.jsonl .json .csv .tsv .parquet .arrow) have their text, id and title under the names that
    contexts have them under; rows longer than `words` are cut too. Hidden files are passed over.
    skip_bad: go on after a file or row that should hold text and does not, and keep the error in `Corpus.bad`.

    Raises BadData where there is nothing to read, and at the first file or row that is bad, unless told to skip it.
    """
    root = Path(path)
    files = list(_files(root)) if root.is_dir() else [root]
    left_out = Counter(kind for one in files if (kind := _unread(one)))
    if not root.is_dir() and left_out:
        raise BadData(f"{root}: not a corpus; give a folder, or a file of {' '.join(sorted({*_TEXT, *KNOWN}))}")
    cutting = _Cutting(root if root.is_dir() else root.parent, words, skip_bad)
    found = [passage for one in files if not _unread(one) for passage in cutting.passages(one)]
    if not found:
        why = f"; {cutting.bad[0]}" if cutting.bad else "; put .txt, .md, .jsonl or .parquet files there"
        raise BadData(f"{root}: no text in {len(files)} files{why}")
    return Corpus(str(root), found, dict(left_out), tuple(cutting.bad))


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.is_file() and not hidden:
            yield path


def _unread(path: Path) -> str:
    """Why a file is left out; "" where it is not."""
    kind = extension(path)
    if kind not in _TEXT and kind not in KNOWN:
        return kind or "no extension"
    return "empty" if path.is_file() and not path.stat().st_size else ""


class _Cutting:
    """Cuts files of a corpus into passages. bad: the errors of the files and rows that were skipped."""

    def __init__(self, base: Path, words: int, skip_bad: bool) -> None:
        self.bad: list[str] = []
        self._base, self._words, self._skip_bad = base, words, skip_bad

    def passages(self, path: Path) -> Iterator[Chunk]:
        """The passages of one file. Raises BadData, unless what is bad is to be skipped."""
        name = path.relative_to(self._base).as_posix()
        try:
            yield from self._of_text(path, name) if extension(path) in _TEXT else self._of_rows(path, name)
        except BadData as error:
            self._skip(error)

    def _of_text(self, path: Path, name: str) -> Iterator[Chunk]:
        pieces = [(title, piece) for title, body in _titled(path) for piece in passages(body, self._words)]
        for number, (title, piece) in enumerate(pieces, start=1):
            yield Chunk(piece, f"{name}#{number}", title)

    def _of_rows(self, path: Path, name: str) -> Iterator[Chunk]:
        for number, row in enumerate(file(path).rows(), start=1):
            try:
                whole = _row(row, f"{name}#{number}", str(path), number)
            except BadRow as error:
                self._skip(error)
                continue
            pieces = passages(whole.text, self._words)
            for part, piece in enumerate(pieces, start=1):
                id = f"{whole.id}#{part}" if len(pieces) > 1 else whole.id
                yield Chunk(piece, id, whole.title, whole.metadata)

    def _skip(self, error: BadData) -> None:
        if not self._skip_bad:
            raise error
        self.bad.append(str(error))


def _titled(path: Path) -> list[tuple[str, str]]:
    """The sections of a text file, each under its title."""
    text = _text_of(path)
    if path.suffix.lower() not in _MARKDOWN:
        return [(path.stem, text)]
    title, parts = sections(text)
    title = title or path.stem
    return [(f"{title} – {heading}" if heading else title, body) for heading, body in parts]


def _text_of(path: Path) -> str:
    try:
        with opened(path) as stream:
            return "".join(lines(stream, str(path)))
    except OSError as error:
        raise BadData(f"{path}: cannot be opened ({error.strerror}); check its name and permissions") from None


def _row(row: Any, id: str, where: str, number: int) -> Chunk:
    """The document in a row, under its own id or else this one. Raises BadRow."""
    try:
        if isinstance(row, Malformed):
            raise row
        (found,) = chunks_in([row]) or ()
        own = isinstance(row, Mapping) and any(row.get(key) is not None for key in ID_KEYS)
    except Malformed as error:
        raise BadRow(where, number, None, error.problem.removeprefix("item 1 "), error.fix) from None
    return found if own else msgspec.structs.replace(found, id=id)
