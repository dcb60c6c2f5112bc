"""Retrieval: the documents of a question, by BM25 over the passages of a corpus or by any retriever.

Robertson and Zaragoza, "The probabilistic relevance framework: BM25 and beyond", 2009, with the inverse document
frequency of Lucene, which is never negative. The index is that of the library bm25s (Lù, "BM25S", 2024).
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from inspect import isawaitable, iscoroutinefunction
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Protocol

import msgspec

from ragauge.datasets.samples import add_metadata
from ragauge.errors import BadData, BadParameter, BadRow
from ragauge.host import optional
from ragauge.readers.formats import EXTENSIONS, decoded_lines, extension, file_source, is_readable, open_bytes
from ragauge.readers.values import ID_KEYS, Malformed, is_single, to_chunks
from ragauge.text.tokens import rouge_tokens, stem_tokens, unicode_tokens
from ragauge.types import Chunk

#: Words of a passage, as in the Wikipedia passages of DPR (Karpukhin et al., 2020).
WORDS = 100

#: Characters that count as one word in scripts without spaces.
_LONG_WORD = 10

_ENDS = re.compile(r"[.!?][\"')\]]*\s+|\n\s*\n|[。！？]")
_WORD = re.compile(r"\S{1,400}\s*")
_FENCE = re.compile(r"\s*(```|~~~)")
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*")


def passages(text: str, words: int = WORDS) -> list[str]:
    """The text as passages of at most `words` words each, in order, without loss but of white space.

    A passage ends with a sentence or a paragraph, unless a single sentence is too long. In scripts without spaces ten
    characters count as a word.
    """
    if _size(text) <= words:
        return [text.strip()] if text.strip() else []
    found: list[str] = []
    start, size = 0, 0
    for begin, end in _pieces(text, words):
        added = _size(text[begin:end])
        if size and size + added > words:
            found.append(text[start:begin].strip())
            start, size = begin, 0
        size += added
    found.append(text[start:].strip())
    return [passage for passage in found if passage]


def _pieces(text: str, words: int) -> Iterator[tuple[int, int]]:
    """The spans of sentences, or of the words of a sentence that is too long."""
    for begin, end in pairwise([0, *(found.end() for found in _ENDS.finditer(text)), len(text)]):
        if _size(text[begin:end]) <= words:
            yield begin, end
        else:
            yield from (word.span() for word in _WORD.finditer(text, begin, end))


def _size(text: str) -> int:
    """The length of a text in words."""
    return max(len(text.split()), len(text) // _LONG_WORD if len(text) > _LONG_WORD * (text.count(" ") + 1) else 0)


def sections(markdown: str) -> tuple[str, list[tuple[str, str]]]:
    """The title of a Markdown text, "" where it has none, and its sections, each a heading and the text below it.

    The title is the first heading of level 1; text before any other heading is a section without a heading.
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
    """The passages of a folder or file, in the order of the files' names.

    Attributes:
        skipped: extension -> the number of files that cannot be read as text; "empty" -> the number of empty files.
        bad: the error messages of the files and rows that were skipped on request.
    """

    name: str
    passages: list[Chunk]
    skipped: dict[str, int]
    bad: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """A hash of all passages, 32 hex digits."""
        whole = hashlib.sha256()
        for passage in self.passages:
            whole.update(f"{passage.id}\0{passage.passage}\0\0".encode())
        return whole.hexdigest()[:32]


def read_corpus(path: str | Path, words: int = WORDS, *, skip_bad: bool = False) -> Corpus:
    """The passages of a file, or of all files of a folder and its subfolders.

    Text (.txt .md) is split into passages titled by the name of the file or, in Markdown, by its title and heading.
    Rows (.jsonl .json .csv .tsv .parquet) have their text, id and title under the names that contexts have them
    under; long rows are split too. Hidden files are ignored.

    Args:
        path: the file or folder.
        words: the maximum length of a passage.
        skip_bad: continue after a file or row that cannot be read, and keep the error in `Corpus.bad`.

    Raises:
        BadData: there is nothing to read; unless `skip_bad`, the first file or row that cannot be read.
    """
    root = Path(path)
    files = [root]
    if root.is_dir():
        below = [path for path in sorted(root.rglob("*")) if path.is_file()]
        files = [path for path in below if not any(part.startswith(".") for part in path.relative_to(root).parts)]
    formats = {kind for kind in set(map(extension, files)) if kind in _TEXT or is_readable(kind)}
    reasons = {one: reason for one in files if (reason := _skip_reason(one, formats))}
    if not root.is_dir() and reasons:
        raise BadData(f"{root}: not a corpus; give a folder, or a file of {' '.join(sorted({*_TEXT, *EXTENSIONS}))}")
    splitter = _Splitter(root if root.is_dir() else root.parent, words, skip_bad)
    found = [passage for one in files if one not in reasons for passage in splitter.passages(one)]
    if not found:
        why = f"; {splitter.bad[0]}" if splitter.bad else "; put .txt, .md, .jsonl or .parquet files there"
        raise BadData(f"{root}: no text in {len(files)} files{why}")
    return Corpus(str(root), found, dict(Counter(reasons.values())), tuple(splitter.bad))


def _skip_reason(path: Path, formats: Collection[str]) -> str:
    """Why a file is skipped: its extension, or "empty"; "" where it is read."""
    kind = extension(path)
    if kind not in formats:
        return kind or "no extension"
    return "empty" if path.is_file() and not path.stat().st_size else ""


class _Splitter:
    """Splits the files of a corpus into passages, and collects the errors of those that are skipped."""

    def __init__(self, base: Path, words: int, skip_bad: bool) -> None:
        self.bad: list[str] = []
        self._base, self._words, self._skip_bad = base, words, skip_bad

    def passages(self, path: Path) -> Iterator[Chunk]:
        """The passages of one file. Raises BadData, unless bad files and rows are skipped."""
        name = path.relative_to(self._base).as_posix()
        try:
            yield from self._text_passages(path, name) if extension(path) in _TEXT else self._row_passages(path, name)
        except BadData as error:
            self._skip(error)

    def _text_passages(self, path: Path, name: str) -> Iterator[Chunk]:
        pieces = [(title, piece) for title, body in _titled_sections(path) for piece in passages(body, self._words)]
        for number, (title, piece) in enumerate(pieces, start=1):
            yield Chunk(piece, f"{name}#{number}", title)

    def _row_passages(self, path: Path, name: str) -> Iterator[Chunk]:
        for number, row in enumerate(file_source(path).rows(), start=1):
            try:
                document = _document(row, f"{name}#{number}", str(path), number)
            except BadRow as error:
                self._skip(error)
                continue
            pieces = passages(document.text, self._words)
            for part, piece in enumerate(pieces, start=1):
                id = f"{document.id}#{part}" if len(pieces) > 1 else document.id
                yield Chunk(piece, id, document.title, document.metadata)

    def _skip(self, error: BadData) -> None:
        if not self._skip_bad:
            raise error
        self.bad.append(str(error))


def _titled_sections(path: Path) -> list[tuple[str, str]]:
    """The sections of a text file, each under its title."""
    try:
        with open_bytes(path) as stream:
            text = "".join(decoded_lines(stream, str(path)))
    except OSError as error:
        raise BadData(f"{path}: cannot be opened ({error.strerror}); check its name and permissions") from None
    if path.suffix.lower() not in _MARKDOWN:
        return [(path.stem, text)]
    title, parts = sections(text)
    title = title or path.stem
    return [(f"{title} – {heading}" if heading else title, body) for heading, body in parts]


def _document(row: Any, id: str, where: str, number: int) -> Chunk:
    """The document in a row, with `id` where it has none of its own. Raises BadRow."""
    try:
        if isinstance(row, Malformed):
            raise row
        (found,) = to_chunks([row]) or ()
        has_id = isinstance(row, Mapping) and any(row.get(key) is not None for key in ID_KEYS)
    except Malformed as error:
        raise BadRow(where, number, None, error.problem.removeprefix("item 1").lstrip(": "), error.fix) from None
    return found if has_id else msgspec.structs.replace(found, id=id)


#: Term frequency saturation and length normalisation; Lucene's values.
K1, B = 1.2, 0.75


def load_bm25s() -> Any:
    """The library that indexes. Raises MissingExtra where it is not installed."""
    return optional("searching a corpus", "retrieval", "bm25s")


class Hit(NamedTuple):
    """A passage that was found: its position in the corpus, from 0, and its BM25 score, above 0."""

    position: int
    score: float


class BM25:
    """An index of passages; build one with `BM25.build`, or read one with `BM25.load`."""

    def __init__(self, index: Any) -> None:
        self._index = index
        self._stopwords = frozenset(load_bm25s().stopwords.STOPWORDS_EN_PLUS)

    def __len__(self) -> int:
        return int(self._index.scores["num_docs"])

    @classmethod
    def build(cls, texts: Iterable[str]) -> BM25:
        """Index texts, which are identified by their positions. Raises MissingExtra without bm25s."""
        import numpy as np

        index = load_bm25s().BM25(k1=K1, b=B, method="atire", idf_method="lucene")
        words: dict[str, int] = {}
        passages = [[words.setdefault(word, len(words)) for word in _words(text)] for text in texts]
        terms: dict[str, int] = {}
        term_of = [terms.setdefault(term, len(terms)) for term in stem_tokens(words)]
        ids = [[term_of[word] for word in passage] for passage in passages]
        with np.errstate(invalid="ignore"):  # the mean length of passages without a word is 0
            index.index((ids or [[]], terms), create_empty_token=False, show_progress=False)
        return cls(index)

    def search(self, query: str, top: int = 5) -> list[Hit]:
        """The `top` best passages, best first, ties in the order of the corpus; only those that share a word.

        English stop words in the query are ignored, unless it has no other words.
        """
        import numpy as np

        words = _words(query)
        content = [word for word in words if word not in self._stopwords] or words
        terms = self._index.get_tokens_ids(list(dict.fromkeys(stem_tokens(content))))
        if not terms:
            return []
        scores = self._index.get_scores_from_ids(terms)
        least = np.partition(scores, -top)[-top] if len(scores) > top else 0.0
        found = np.flatnonzero((scores >= least) & (scores > 0))
        order = found[np.argsort(-scores[found], kind="stable")][:top]
        return [Hit(int(position), float(scores[position])) for position in order]

    def save(self, folder: Path) -> None:
        """Write the index as a folder of files, whole or not at all; one that is there is replaced. Raises OSError."""
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as scratch:
            whole = Path(scratch, "index")
            self._index.save(whole, show_progress=False)
            shutil.rmtree(folder, ignore_errors=True)
            try:
                whole.rename(folder)
            except OSError:
                if not folder.is_dir():  # else another process has just put its index there
                    raise

    @classmethod
    def load(cls, folder: Path) -> BM25:
        """Read an index that `save` wrote. Raises BadData where it is missing, damaged or of an earlier version."""
        if folder.is_file():
            raise BadData(
                f"{folder}: an index file of an earlier version of ragauge; delete it and build the index again"
            )
        try:
            return cls(load_bm25s().BM25.load(folder, show_progress=False))
        except Exception as error:  # a damaged file may raise anything in the library
            raise BadData(f"{folder}: not a whole index ({error}); delete it and build the index again") from None


def _words(text: str) -> list[str]:
    """Words in any script, case folded; the two tokenizers agree on ASCII, where the first is faster."""
    return rouge_tokens(text) if text.isascii() else unicode_tokens(text)


#: Methods of retrievers, the asynchronous one of each library first: LlamaIndex; LangChain, new and old.
_METHODS = ("aretrieve", "retrieve", "ainvoke", "invoke", "get_relevant_documents")


class Retriever(Protocol):
    """Finds the documents of a question."""

    async def retrieve(self, query: str, top: int) -> tuple[Chunk, ...]:
        """The `top` most relevant documents, best first; fewer where there are no more."""


class CorpusRetriever:
    """Retrieves passages of a corpus by BM25; each has its score in its metadata.

    folder: where the index is kept, under the hash of the corpus, so that it is built once; None keeps none.
    built: whether the index had to be built.
    """

    def __init__(self, corpus: Corpus, folder: Path | None = None) -> None:
        self._passages = corpus.passages
        path = folder / f"bm25-{corpus.digest}" if folder else None
        kept = _kept_index(path, len(corpus.passages)) if path else None
        self.built = kept is None
        self._index = kept or BM25.build(passage.passage for passage in corpus.passages)
        if path and self.built:
            self._index.save(path)
            path.with_suffix(".npz").unlink(missing_ok=True)  # the same index in the form of earlier versions

    async def retrieve(self, query: str, top: int) -> tuple[Chunk, ...]:
        """The `top` best passages; none where none shares a word with the question."""
        return tuple(
            add_metadata(self._passages[position], score=round(score, 4))
            for position, score in self._index.search(query, top)
        )


def _kept_index(path: Path, size: int) -> BM25 | None:
    """The index that is kept at `path`; None where there is none, or one that is damaged or of another size."""
    try:
        index = BM25.load(path)
    except BadData:
        return None
    return index if len(index) == size else None


class RetrieverError(Exception):
    """A retriever of the caller's raised, or returned something other than documents."""


class RetrieverAdapter:
    """Retrieves documents by a function of the question, or by a retriever of LlamaIndex or LangChain.

    Its results are read as contexts are: texts, objects with a text, LangChain's documents, LlamaIndex's nodes; or one
    of these alone, which is one document. A retriever that blocks is called in a thread.
    """

    def __init__(self, retriever: Any) -> None:
        method = next((getattr(retriever, name) for name in _METHODS if hasattr(retriever, name)), retriever)
        if not callable(method):
            raise BadParameter(
                f"{retriever!r} is not a retriever; give a function of the question, an object with one, or "
                "python:MODULE:NAME, which names either"
            )
        self._call: Callable[[str], Any] = method

    async def retrieve(self, query: str, top: int) -> tuple[Chunk, ...]:
        """The first `top` documents. Raises RetrieverError."""
        try:
            found = await self._results(query)
            return (to_chunks(found if is_single(found) else list(found)) or ())[:top]
        except Malformed as error:
            raise RetrieverError(f"the retriever's {error}") from error
        except Exception as error:
            raise RetrieverError(f"the retriever raised {type(error).__name__}: {error}") from error

    async def _results(self, query: str) -> Any:
        is_async = iscoroutinefunction(self._call) or iscoroutinefunction(getattr(self._call, "__call__", None))  # noqa: B004
        found = self._call(query) if is_async else await asyncio.to_thread(self._call, query)
        return await found if isawaitable(found) else found
