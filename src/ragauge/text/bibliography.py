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
_HEADING = re.compile(rf"[*_]*{_TITLE}[*_]*:?[*_]*(?:(?<=[:*_])\s*(?:{MARK}|{_ADDRESS}).*)?", re.IGNORECASE | re.DOTALL)
_ENTRY = re.compile(rf"\[\^\d+\]:\s.*|(?:{MARK}\s*)+[:,.]?\s*{_ADDRESS}[\s.,;]*", re.DOTALL)


def bibliography(text: str, laid_out: Sequence[Block]) -> Iterator[Block]:
    """Those blocks of a text that list its sources: all from "Sources:" or "References" to the next heading.

    A block by itself does if it explains a mark with an address, "[1] https://...", or as a footnote, "[^1]: ...".
    """
    inside = False
    for block in laid_out:
        if _HEADING.fullmatch(text, block.body, block.end):
            inside = True
        elif block.kind == "heading":
            inside = False
        if inside or _ENTRY.fullmatch(text, block.body, block.end):
            yield block
