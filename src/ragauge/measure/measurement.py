"""A measurement: a judge on all sets of a folder, as a file."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ragauge.errors import BadData
from ragauge.measure.figures import Measured
from ragauge.report.writing import check_ending, replacing
from ragauge.types import Identity

SCHEMA = "ragauge.measured/1"

#: The endings of files that a measurement is written to.
WRITERS = (".json", ".md")


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """A judge on several sets. beside: the judge that it is compared with. limit: rows drawn of each set, None for all.

    schema: changes where the form does.
    """

    schema: str = SCHEMA
    judge: Identity
    beside: Identity | None
    limit: int | None
    sets: tuple[Measured, ...]

    def save(self, path: Path) -> Path:
        """Write it: .json for programs, or .md for people.

        Raises UsageError for another ending, or where the file cannot be written.
        """
        from ragauge.measure.report import measurement_markdown

        check_ending(path, WRITERS)
        as_json = path.suffix.lower() == ".json"
        text = msgspec.json.format(msgspec.json.encode(self).decode(), indent=1) + "\n" if as_json else ""
        with replacing(path) as part:
            part.write_text(text or measurement_markdown(self), encoding="utf-8")
        return path


def read_measurement(path: Path) -> Measurement:
    """What `save` wrote as .json. Raises BadData for anything else."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Measurement)
    except (OSError, msgspec.MsgspecError) as error:
        raise BadData(f"{path}: {error}; it must be what `ragauge judges measure -o FILE.json` wrote") from error
    if found.schema != SCHEMA:
        raise BadData(f"{path}: {found.schema!r} is not {SCHEMA!r}; measure anew")
    return found
