"""Retrieval: the documents of a question, by any retriever, or by BM25 over the passages of a corpus.

Robertson and Zaragoza, 2009, with the inverse document frequency of Lucene, by the library bm25s (Lù, "BM25S", 2024).
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from inspect import isawaitable, iscoroutinefunction
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple

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
    """The text as passages of at most `words` words, in order, without loss but of white space.

    A passage ends with a sentence or paragraph, if no sentence is too long. Ten characters of a script without spaces
    count as a word.
    """
    if _size(text) <= words:
        return [text.strip()] if text.strip() else []
    passages: list[str] = []
    start, size = 0, 0
    for begin, end in _pieces(text, words):
        added = _size(text[begin:end])
        if size and size + added > words:
            passages.append(text[start:begin].strip())
            start, size = begin, 0
        size += added
    passages.append(text[start:].strip())
    return [passage for passage in passages if passage]


def _pieces(text: str, words: int) -> Iterator[tuple[int, int]]:
    """The spans of sentences, or of the words of a sentence that is too long."""
    for begin, end in pairwise([0, *(match.end() for match in _ENDS.finditer(text)), len(text)]):
        if _size(text[begin:end]) <= words:
            yield begin, end
        else:
            yield from (word.span() for word in _WORD.finditer(text, begin, end))


def _size(text: str) -> int:
    return max(len(text.split()), len(text) // _LONG_WORD if len(text) > _LONG_WORD * (text.count(" ") + 1) else 0)


def sections(markdown: str) -> tuple[str, list[tuple[str, str]]]:
    """The title of a Markdown text, its first heading of level 1 or "", and its sections by heading, "" for none."""
    title, heading, fenced = "", "", False
    lines: list[str] = []
    parts: list[tuple[str, str]] = []
    for line in markdown.splitlines(keepends=True):
        fenced ^= bool(_FENCE.match(line))
        mark = None if fenced else _HEADING.fullmatch(line.rstrip())
        if mark is None:
            lines.append(line)
            continue
        parts.append((heading, "".join(lines)))
        lines.clear()
        is_title = mark[1] == "#" and not title
        title, heading = (mark[2], "") if is_title else (title, mark[2])
    return title, [(name, body) for name, body in [*parts, (heading, "".join(lines))] if body.strip()]


_MARKDOWN = (".md", ".markdown")
_TEXT = (".txt", ".text", *_MARKDOWN)


class Corpus(NamedTuple):
    """The passages of a folder or file, in the order of the files' names.

    skipped: extension -> the number of files that cannot be read as text; "empty" -> of empty files. bad: the errors of
    files and rows that were skipped on request.
    """

    name: str
    passages: list[Chunk]
    skipped: dict[str, int]
    bad: tuple[str, ...] = ()


def read_corpus(path: str | Path, words: int = WORDS, *, skip_bad: bool = False) -> Corpus:
    """The passages of a file, or of all files of a folder and its subfolders but hidden ones, of at most `words` words.

    Text (.txt .md) is split into passages titled by the name of the file or, in Markdown, by its title and heading.
    Rows (.jsonl .json .csv .tsv .parquet .arrow) have text, id and title under the names that contexts have them under.
    skip_bad: keep the error of a file or row in `Corpus.bad` instead of raising BadData.
    """
    root = Path(path)
    files = [root]
    if root.is_dir():
        below = [path for path in sorted(root.rglob("*")) if path.is_file()]
        files = [path for path in below if not any(part.startswith(".") for part in path.relative_to(root).parts)]
    formats = {kind for kind in set(map(extension, files)) if kind in _TEXT or is_readable(kind)}
    reasons = {file: reason for file in files if (reason := _skip_reason(file, formats))}
    if not root.is_dir() and reasons:
        raise BadData(f"{root}: not a corpus; give a folder, or a file of {' '.join(sorted({*_TEXT, *EXTENSIONS}))}")
    bad: list[str] = []

    def skip(error: BadData) -> None:
        if not skip_bad:
            raise error
        bad.append(str(error))

    base = root if root.is_dir() else root.parent
    read = [_passages_of(file, file.relative_to(base).as_posix(), words, skip) for file in files if file not in reasons]
    passages = list(chain.from_iterable(read))
    if not passages:
        why = f"; {bad[0]}" if bad else "; put .txt, .md, .jsonl or .parquet files there"
        raise BadData(f"{root}: no text in {len(files)} files{why}")
    return Corpus(str(root), passages, dict(Counter(reasons.values())), tuple(bad))


def _skip_reason(path: Path, formats: Collection[str]) -> str:
    """Why a file is skipped: its extension, or "empty"; "" where it is read."""
    kind = extension(path)
    if kind not in formats:
        return kind or "no extension"
    return "empty" if path.is_file() and not path.stat().st_size else ""


def _passages_of(path: Path, name: str, words: int, skip: Callable[[BadData], None]) -> Iterator[Chunk]:
    """The passages of a file. skip: raises the error of a file or row, or has it skipped."""
    try:
        if extension(path) not in _TEXT:
            yield from _row_passages(path, name, words, skip)
            return
        pieces = [(title, piece) for title, body in _titled_sections(path) for piece in passages(body, words)]
        for number, (title, piece) in enumerate(pieces, start=1):
            yield Chunk(piece, f"{name}#{number}", title)
    except BadData as error:
        skip(error)


def _row_passages(path: Path, name: str, words: int, skip: Callable[[BadData], None]) -> Iterator[Chunk]:
    for number, row in enumerate(file_source(path).rows(), start=1):
        try:
            document = _document(row, f"{name}#{number}", str(path), number)
        except BadRow as error:
            skip(error)
            continue
        pieces = passages(document.text, words)
        for part, piece in enumerate(pieces, start=1):
            id = f"{document.id}#{part}" if len(pieces) > 1 else document.id
            yield Chunk(piece, id, document.title, document.metadata)


def _titled_sections(path: Path) -> list[tuple[str, str]]:
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
        (chunk,) = to_chunks([row]) or ()
        has_id = isinstance(row, Mapping) and any(row.get(key) is not None for key in ID_KEYS)
    except Malformed as error:
        raise BadRow(where, number, None, error.problem.removeprefix("item 1").lstrip(": "), error.fix) from None
    return chunk if has_id else msgspec.structs.replace(chunk, id=id)


#: Term frequency saturation and length normalisation; Lucene's values.
K1, B = 1.2, 0.75


def load_bm25s() -> Any:
    """The library that indexes. Raises MissingExtra where it is not installed."""
    return optional("searching a corpus", "retrieval", "bm25s")


class BM25:
    """An index of texts, which are identified by their positions. Raises MissingExtra without bm25s."""

    def __init__(self, texts: Iterable[str]) -> None:
        import numpy as np

        self._index = load_bm25s().BM25(k1=K1, b=B, method="atire", idf_method="lucene")
        self._stopwords = frozenset(load_bm25s().stopwords.STOPWORDS_EN_PLUS)
        words: dict[str, int] = {}
        passages = [[words.setdefault(word, len(words)) for word in _words(text)] for text in texts]
        terms: dict[str, int] = {}
        term_of = [terms.setdefault(term, len(terms)) for term in stem_tokens(words)]
        ids = [[term_of[word] for word in passage] for passage in passages]
        with np.errstate(invalid="ignore"):  # the mean length of passages without a word is 0
            self._index.index((ids or [[]], terms), create_empty_token=False, show_progress=False)

    def search(self, query: str, top: int = 5) -> list[tuple[int, float]]:
        """The `top` best passages that share a word, best first, ties in the order of the corpus: position and score.

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
        matching = np.flatnonzero((scores >= least) & (scores > 0))
        order = matching[np.argsort(-scores[matching], kind="stable")][:top]
        return [(int(position), float(scores[position])) for position in order]


def _words(text: str) -> list[str]:
    """Words in any script, case folded; the two tokenizers agree on ASCII, where the first is faster."""
    return rouge_tokens(text) if text.isascii() else unicode_tokens(text)


#: Methods of retrievers, the asynchronous one of each library first: LlamaIndex; LangChain, new and old.
_METHODS = ("aretrieve", "retrieve", "ainvoke", "invoke", "get_relevant_documents")


class CorpusRetriever:
    """Retrieves passages of a corpus by BM25; each has its score in its metadata."""

    def __init__(self, corpus: Corpus) -> None:
        self._passages = corpus.passages
        self._index = BM25(passage.passage for passage in corpus.passages)

    async def retrieve(self, query: str, top: int) -> tuple[Chunk, ...]:
        """The `top` best passages; none where none shares a word with the question."""
        return tuple(
            add_metadata(self._passages[position], score=round(score, 4))
            for position, score in self._index.search(query, top)
        )


class RetrieverError(Exception):
    """A retriever of the caller's raised, or returned something other than documents."""


class RetrieverAdapter:
    """Retrieves documents by a function of the question, or by a retriever of LlamaIndex or LangChain.

    Its results are read as contexts are; a single one is one document. A retriever that blocks is called in a thread.
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
            call = self._call
            is_async = iscoroutinefunction(call) or iscoroutinefunction(getattr(call, "__call__", None))  # noqa: B004
            documents = call(query) if is_async else await asyncio.to_thread(call, query)
            documents = await documents if isawaitable(documents) else documents
            return (to_chunks(documents if is_single(documents) else list(documents)) or ())[:top]
        except Malformed as error:
            raise RetrieverError(f"the retriever's {error}") from error
        except Exception as error:
            raise RetrieverError(f"the retriever raised {type(error).__name__}: {error}") from error
