"""What the measures that compare a response with references ask of those references."""

from __future__ import annotations

from collections.abc import Sequence


def checked(references: Sequence[str]) -> Sequence[str]:
    """The references, if there is at least one.

    ValueError if there is none: a comparison with nothing has no value. TypeError for a bare string, which would
    otherwise be read as one reference a letter.
    """
    if isinstance(references, str):
        raise TypeError("references must be a sequence of texts, not one text; put it in a list: [text]")
    if not references:
        raise ValueError("no references to compare with; give at least one text")
    return references
