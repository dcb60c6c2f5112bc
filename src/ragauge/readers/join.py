"""Joining: what a system answered beside a benchmark, where the two come in files of their own."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, NamedTuple

import msgspec

from ragauge.errors import BadData
from ragauge.readers.read import read
from ragauge.types import Sample

#: What a system adds to a sample of a benchmark.
ADDED = ("response", "contexts", "system")

#: What spreadsheets make of $411 or May 24.
BARE = re.compile(r"-?\d+(\.\d+)?|\d{4}-\d\d-\d\d 00:00:00")


class Joined(NamedTuple):
    """samples: those of the benchmark that were answered, in its order. report: a remark -> the questions it is of."""

    samples: list[Sample]
    report: dict[str, list[str]]


def join(benchmark: Any, responses: Any) -> Joined:
    """The samples of a benchmark with the responses to their questions, whatever the order of either.

    benchmark, responses: what `read` reads, a reading too. Questions are the same where they differ only in white space
    and case. Responses bring their contexts and the name of their system, if they have them. What has no counterpart is
    left out, and reported; so are questions that stand twice on a side, of whose responses the first counts, and
    references that a spreadsheet may have damaged.

    Raises BadData where there is no question with a response, and what `read` raises.
    """
    asked, said = list(read(benchmark)), _answered(responses)
    times_asked, times_said = (Counter(map(_question, side)) for side in (asked, said))
    first = {_question(one): one for one in reversed(said)}
    samples = [_joined(one, first[_question(one)]) for one in asked if _question(one) in first]
    remarks = {
        "without a response, left out": [one for one in asked if _question(one) not in first],
        "not in the benchmark, left out": [one for one in said if not times_asked[_question(one)]],
        "in the benchmark more than once": [one for one in asked if times_asked[_question(one)] > 1],
        "answered more than once, the first counts": [one for one in said if times_said[_question(one)] > 1],
        "with a reference that is a bare number or date, as spreadsheets make of $411 or May 24": [
            one for one in samples if any(map(BARE.fullmatch, one.references or ()))
        ],
    }
    return Joined(
        samples, {remark: [one.query or "(none)" for one in them] for remark, them in remarks.items() if them}
    )


def _answered(responses: Any) -> list[Sample]:
    reading = read(responses)
    found = [one for one in reading if one.query and one.response is not None]
    if not found:
        raise BadData(f"{reading.name}: no question with an answer; is it a file of responses?")
    return found


def _question(sample: Sample) -> str:
    return " ".join((sample.query or "").split()).casefold()


def _joined(sample: Sample, said: Sample) -> Sample:
    added = {field: value for field in ADDED if (value := getattr(said, field)) is not None}
    return msgspec.structs.replace(sample, **added)
