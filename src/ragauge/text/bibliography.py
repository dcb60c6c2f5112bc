"""The list of sources that an answer closes with: it says where things stand, and nothing that needs support."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ragauge.text.citations import MARK
from ragauge.text.markdown import Block
from ragauge.text.phrases import any_of

_TITLE = any_of("""sources? references? citations? bibliography footnotes? works_cited sources_cited further_reading
    quellen(?:angaben|verzeichnis)? literatur(?:verzeichnis)? fuentes referencias références fonti bronnen""")
_ADDRESS = r"<?(?:https?://|www\.)\S+"
_HEADING = re.compile(rf"[*_]*{_TITLE}[*_]*:?[*_]*", re.IGNORECASE)
_BEGINNING = re.compile(rf"[*_]*{_TITLE}[*_]*:[*_]*\s*(?:{MARK}|{_ADDRESS}).*", re.IGNORECASE | re.DOTALL)
_ENTRY = re.compile(rf"\[\^\d+\]:\s.*|(?:{MARK}\s*)+[:,.]?\s*{_ADDRESS}[\s.,;]*", re.DOTALL)
_MARKED = re.compile(rf"{MARK}.*", re.DOTALL)
_ANYTHING = re.compile(r".*", re.DOTALL)


def bibliography(text: str, laid_out: Sequence[Block]) -> Iterator[Block]:
    """Those blocks of a text that list its sources.

    After a line that is no more than "Sources:" or "References" these are all up to the next heading; after one that
    goes on with the first source ("Sources: [1] Bee Journal") those that begin with a mark. A block by itself is one if
    it gives the address of a mark, "[1] https://...", or is a footnote, "[^1]: ...".
    """
    going_on = _ENTRY
    for block in laid_out:
        heading = _HEADING.fullmatch(text, block.body, block.end)
        if heading or _BEGINNING.fullmatch(text, block.body, block.end):
            going_on = _ANYTHING if heading else _MARKED
            yield block
        elif block.kind == "heading" or not going_on.fullmatch(text, block.body, block.end):
            going_on = _ENTRY
        else:
            yield block
