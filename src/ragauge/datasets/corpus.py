"""Passages of a corpus: text, Markdown, HTML, PDF and rows, with their headings as titles and tables kept whole."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from hashlib import blake2b
from heapq import heappush, heappushpop
from importlib.util import find_spec
from itertools import chain, islice, pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from ragauge.errors import BadData, BadRow
from ragauge.host import optional
from ragauge.readers.budget import default_limits
from ragauge.readers.formats import EXTENSIONS, decoded_lines, extension, file_source, is_readable, open_bytes
from ragauge.readers.values import ID_KEYS, Malformed, to_chunks
from ragauge.report.wording import counted
from ragauge.types import Chunk

T = TypeVar("T")

#: Words of a passage, as in the Wikipedia passages of DPR (Karpukhin et al., 2020).
WORDS = 100
#: Characters that count as one word in scripts without spaces.
_LONG_WORD = 10
#: Characters of a text that are cut into passages at once.
_SECTION = 1_000_000
#: The lines of Markdown within which front matter ends.
_FRONT_MATTER_LINES = 200

_ENDS = re.compile(r"[.!?][\"')\]]*\s+|\n\s*\n|[。！？]")
_WORD = re.compile(r"\S{1,400}\s*")
_FENCE = re.compile(r"\s*(```|~~~)")
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*")
_YAML_KEY = re.compile(r"[\w-]+:(\s|\Z)")
_TABLE = re.compile(r"^[ \t]*\|.*\n[ \t]*\|[ \t:|-]+\n(?:[ \t]*\|.*(?:\n|\Z))+", re.MULTILINE)


def passages(text: str, words: int = WORDS) -> list[str]:
    """The text as passages of at most `words` words, in order, without loss but of white space.

    A passage ends with a sentence or paragraph, if no sentence is too long. A Markdown table is kept whole, or is cut
    between its rows, and every part has its header. Ten characters of a script without spaces count as a word.
    """
    if _size(text) <= words:
        return [text.strip()] if text.strip() else []
    packed: list[str] = []
    passage: list[str] = []
    size = 0
    for piece in _pieces(text, words):
        added = _size(piece)
        if size and size + added > words:
            packed.append("".join(passage).strip())
            passage, size = [], 0
        passage.append(piece)
        size += added
    packed.append("".join(passage).strip())
    return [passage for passage in packed if passage]


def _pieces(text: str, words: int) -> Iterator[str]:
    """Sentences, the words of a sentence that is too long, and tables or parts of them."""
    start = 0
    for table in _TABLE.finditer(text):
        yield from _sentences(text[start : table.start()], words)
        yield from _table_parts(table[0], words)
        start = table.end()
    yield from _sentences(text[start:], words)


def _sentences(text: str, words: int) -> Iterator[str]:
    for begin, end in pairwise([0, *(match.end() for match in _ENDS.finditer(text)), len(text)]):
        if _size(text[begin:end]) <= words:
            yield text[begin:end]
        else:
            yield from (word[0] for word in _WORD.finditer(text, begin, end))


def _table_parts(table: str, words: int) -> Iterator[str]:
    first, ruler, *rows = table.splitlines(keepends=True)
    header = first + ruler
    part = header
    for row in rows:
        if _size(header + row) > words:
            yield from _sentences(table, words)
            return
        if part != header and _size(part + row) > words:
            yield part
            part = header
        part += row
    yield part


def _size(text: str) -> int:
    return max(len(text.split()), len(text) // _LONG_WORD if len(text) > _LONG_WORD * (text.count(" ") + 1) else 0)


def sections(lines: Iterable[str], name: str, *, markdown: bool = True) -> Iterator[tuple[str, str]]:
    """The sections of a text, each with its title: that of the text, then the headings above the section.

    lines: with their ends. name: the title of a text without a heading of level 1, the first of which is its title. Of
    plain text, which has no headings, and of long sections, parts of about a million characters.
    """
    title, above, fenced = name, dict[int, str](), False
    body: list[str] = []
    size = 0
    for line in lines:
        fenced ^= bool(_FENCE.match(line))
        mark = _HEADING.fullmatch(line.rstrip()) if markdown and not fenced else None
        if mark is None:
            body.append(line)
            size += len(line)
            if size < _SECTION or (line.strip() and size < 2 * _SECTION):
                continue
        yield " – ".join([title, *above.values()]), "".join(body)
        body.clear()
        size = 0
        if mark is not None:
            level = len(mark[1])
            above = {upper: heading for upper, heading in above.items() if upper < level}
            if level == 1 and title == name:
                title = mark[2]
            else:
                above[level] = mark[2]
    yield " – ".join([title, *above.values()]), "".join(body)


_MARKDOWN = (".md", ".markdown")
_TEXT = (".txt", ".text", *_MARKDOWN)
#: The library of the extra `documents` that reads each of these.
_LIBRARIES = {".html": "markdownify", ".htm": "markdownify", ".pdf": "pypdf"}
#: Elements of a page that are not its content.
_ASIDE = ("script", "style", "template", "noscript", "nav", "footer", "aside", "form")


class Corpus(NamedTuple):
    """The passages of a folder or file, in the order of the files' names.

    skipped: extension -> the number of files that cannot be read as text; "empty" -> of empty files. bad: the errors of
    files and rows that were skipped on request. total: the number of distinct passages, of which `passages` may be a
    draw. repeated: the number of passages that were left out since an earlier one has the same text.
    """

    name: str
    passages: list[Chunk]
    skipped: dict[str, int]
    bad: tuple[str, ...] = ()
    total: int = 0
    repeated: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether no passage was left out of a draw."""
        return len(self.passages) >= self.total


def read_corpus(
    path: str | Path | Iterable[Any],
    words: int = WORDS,
    *,
    skip_bad: bool = False,
    most: int | None = None,
    seed: int = 0,
) -> Corpus:
    """The distinct passages of a file, or of all files of a folder and its subfolders but hidden ones.

    Text, Markdown, HTML and PDF are split into passages titled by their title and headings, or the name of the file.
    Rows (.jsonl .json .csv .tsv .parquet .arrow) have text, id and title under the names that contexts have them under.

    Args:
        path: the file or folder; or documents: texts, dicts, or objects of LangChain and LlamaIndex.
        words: the most words of a passage.
        skip_bad: keep the error of a file or row in `Corpus.bad` instead of raising BadData.
        most: the most passages to hold; of more, as many are drawn by `seed`.
        seed: of the draw.

    Raises:
        BadData: a file or row cannot be read, or there is no text.
    """
    drawn = Draw[Chunk](attrgetter("text"), most, seed)
    bad: list[str] = []

    def sound(results: Iterable[Chunk | BadData]) -> Iterator[Chunk]:
        for result in results:
            if isinstance(result, Chunk):
                yield result
            elif skip_bad:
                bad.append(str(result))
            else:
                raise result

    if not isinstance(path, str | Path):
        drawn.add(sound(_row_passages(path, "documents", "documents", words)))
        return Corpus("documents", drawn.items(), {}, tuple(bad), drawn.total, drawn.repeated)
    root = Path(path)
    files = _files_in(root)
    extensions = {*map(extension, files)}
    readable = {kind for kind in extensions if kind in _TEXT or kind in _LIBRARIES or is_readable(kind)}
    reasons = {file: reason for file in files if (reason := _skip_reason(file, readable))}
    if not root.is_dir() and reasons and "documents" not in reasons[root]:
        raise BadData(
            f"{root}: not a corpus; give a folder, or a file of {' '.join(sorted({*_TEXT, *_LIBRARIES, *EXTENSIONS}))}"
        )
    skipped = Counter(reasons.values())
    base = root if root.is_dir() else root.parent
    for file in files:
        if file not in reasons:
            drawn.add(sound(_file_passages(file, file.relative_to(base).as_posix(), words, skipped)))
    if not drawn.total:
        why = f"; {bad[0]}" if bad else "; put .txt, .md, .jsonl or .parquet files there"
        left_out = "".join(f"; skipped: {number} {reason}" for reason, number in skipped.items())
        raise BadData(f"{root}: no text in {counted(len(files), 'file')}{why}{left_out}")
    return Corpus(str(root), drawn.items(), dict(skipped), tuple(bad), drawn.total, drawn.repeated)


def _files_in(root: Path) -> list[Path]:
    if not root.is_dir():
        return [root]
    files = [path for path in sorted(root.rglob("*")) if path.is_file()]
    return [path for path in files if not any(part.startswith(".") for part in path.relative_to(root).parts)]


def _skip_reason(path: Path, readable: Collection[str]) -> str:
    """Why a file is skipped: its extension, or "empty"; "" where it is read."""
    kind = extension(path)
    if kind not in readable:
        return kind or "no extension"
    if kind in _LIBRARIES and find_spec(_LIBRARIES[kind]) is None:
        return f"{kind}, which takes pip install 'ragauge[documents]'"
    return "empty" if path.is_file() and not path.stat().st_size else ""


class Draw(Generic[T]):
    """Distinct items as they come; of more than `most` a uniform draw, those whose texts have the lowest hashes.

    total: of distinct ones. repeated: of those left out, which have the text of another.
    """

    def __init__(self, text_of: Callable[[T], str], most: int | None, seed: int) -> None:
        self.total = self.repeated = 0
        self._drawn: list[tuple[int, int, T]] = []
        self._seen = set[bytes]()
        self._text_of, self._most, self._seed = text_of, most, str(seed).encode()

    def add(self, items: Iterable[T]) -> None:
        """Take those that are new and within the draw."""
        for item in items:
            text = " ".join(self._text_of(item).split())
            digest = blake2b(text.encode(errors="surrogatepass"), digest_size=8, key=self._seed).digest()
            if digest in self._seen:
                self.repeated += 1
                continue
            self._seen.add(digest)
            self.total += 1
            within = self._most is None or self.total <= self._most
            push = heappush if within else heappushpop
            push(self._drawn, (-int.from_bytes(digest), self.total, item))

    def items(self) -> list[T]:
        """Those that were drawn, in their order."""
        return [item for _, _, item in sorted(self._drawn, key=lambda drawn: drawn[1])]


def _file_passages(path: Path, name: str, words: int, skipped: Counter[str]) -> Iterator[Chunk | BadData]:
    """The passages of a file, and errors in place of what cannot be read. name: begins their ids."""
    kind = extension(path)
    try:
        if kind not in _TEXT and kind not in _LIBRARIES:
            yield from _row_passages(file_source(path).rows(), name, str(path), words)
            return
        pieces = ((title, piece, where) for title, text, where in _parts(path, kind) for piece in passages(text, words))
        number = 0
        for number, (title, piece, where) in enumerate(pieces, start=1):
            yield Chunk(piece, f"{name}#{number}", title, where)
        if kind == ".pdf" and not number:
            skipped[".pdf without text, which takes text recognition first"] += 1
    except BadData as error:
        yield error


def _parts(path: Path, kind: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The pages or sections of a file: the title and text of each, and as metadata the number of a page."""
    if kind == ".pdf":
        for page, text in enumerate(_pdf_pages(path), start=1):
            yield path.stem, text, {"page": page}
        return
    lines = _html_lines(path) if kind in _LIBRARIES else _lines(path)
    if kind in _MARKDOWN:
        lines = _without_front_matter(lines)
    for title, text in sections(lines, path.stem, markdown=kind in _LIBRARIES or kind in _MARKDOWN):
        yield title, text, {}


def _row_passages(rows: Iterable[Any], name: str, where: str, words: int) -> Iterator[Chunk | BadData]:
    """The passages of documents in rows, and errors in place of bad ones. name: begins the ids of those without one."""
    for number, row in enumerate(rows, start=1):
        try:
            document = _document(row, f"{name}#{number}", where, number)
        except BadRow as error:
            yield error
            continue
        pieces = passages(document.text, words)
        for part, piece in enumerate(pieces, start=1):
            id = f"{document.id}#{part}" if len(pieces) > 1 else document.id
            yield Chunk(piece, id, document.title, document.metadata)


def _lines(path: Path) -> Iterator[str]:
    try:
        with open_bytes(path) as stream:
            yield from decoded_lines(stream, str(path), default_limits())
    except OSError as error:
        raise BadData(f"{path}: cannot be opened ({error.strerror}); check its name and permissions") from None


def _without_front_matter(lines: Iterator[str]) -> Iterator[str]:
    """The lines of a Markdown file without YAML keys between two lines of "---" at its top."""
    top = list(islice(lines, _FRONT_MATTER_LINES))
    if top and top[0].rstrip() == "---":
        end = next((number for number, line in enumerate(top) if number and line.rstrip() in ("---", "...")), 0)
        if end > 1 and _YAML_KEY.match(top[1]):
            del top[: end + 1]
    return chain(top, lines)


def _html_lines(path: Path) -> Iterator[str]:
    """The content of a page as Markdown, its title as a heading where it has no other of level 1."""
    markdownify = optional("reading HTML", "documents", "markdownify")
    soup_of = optional("reading HTML", "documents", "bs4").BeautifulSoup
    default_limits().check_held(path, path.stat().st_size, "a page")
    try:
        page = soup_of(path.read_bytes(), "html.parser")
        for element in page(_ASIDE):
            element.decompose()
        content = page.find("main") or page.find("article") or page.body or page
        plain = {"escape_asterisks": False, "escape_underscores": False, "escape_misc": False}
        converter = markdownify.MarkdownConverter(heading_style="ATX", strip=["a", "img"], **plain)
        text: str = converter.convert_soup(content)
        title = page.title.get_text(" ", strip=True) if page.title and not content.find("h1") else ""
    except Exception as error:  # a library that parses what anybody wrote
        raise BadData(f"{path}: not a page that can be read ({type(error).__name__}: {error}); save it anew") from error
    yield from (f"# {title}\n\n{text}" if title else text).splitlines(keepends=True)


def _pdf_pages(path: Path) -> Iterator[str]:
    pypdf = optional("reading PDF", "documents", "pypdf")
    try:
        for page in pypdf.PdfReader(path).pages:
            yield page.extract_text()
    except Exception as error:  # a library that parses what anybody wrote
        problem = "encrypted; save it without a password" if "decrypt" in str(error) else f"{error}; save it anew"
        raise BadData(f"{path}: not a PDF that can be read: {problem}") from error


def _document(row: Any, id: str, where: str, number: int) -> Chunk:
    """The document in a row, with `id` where it has none of its own. Raises BadRow."""
    try:
        if isinstance(row, Malformed):
            raise row
        (chunk,) = to_chunks([row]) or ()
        named = isinstance(row, Mapping) and any(row.get(key) is not None for key in ID_KEYS)
        has_id = named or (isinstance(row, Chunk) and row.id != "")
    except Malformed as error:
        raise BadRow(where, number, None, error.problem.removeprefix("item 1").lstrip(": "), error.fix) from None
    return chunk if has_id else msgspec.structs.replace(chunk, id=id)
