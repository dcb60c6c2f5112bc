"""Joining a benchmark with the responses of a system, where the two come in separate files."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, NamedTuple

import msgspec

from ragauge.errors import BadData
from ragauge.readers.read import read
from ragauge.types import Sample

#: The fields that come from the responses.
RESPONSE_FIELDS = ("response", "contexts", "system")

#: What spreadsheets turn $411 and May 24 into.
_SPREADSHEET_VALUE = re.compile(r"-?\d+(\.\d+)?|\d{4}-\d\d-\d\d 00:00:00")


class Joined(NamedTuple):
    """The samples of the benchmark that have a response, in its order; and remarks -> the questions they apply to."""

    samples: list[Sample]
    report: dict[str, list[str]]


def join(benchmark: Any, responses: Any) -> Joined:
    """The samples of a benchmark with the responses to their questions, whatever the order of either.

    Questions are equal where they differ only in white space and case. Responses bring their contexts and the name of
    their system, if they have them. The report lists what has no counterpart and is left out, questions that occur
    more than once on a side, of whose responses the first is taken, and references that a spreadsheet may have damaged.

    Args:
        benchmark: the samples, in any form that `read` takes, or a SampleReader.

    Raises:
        BadData: no question has a response; and what `read` raises.
    """
    questions, reader = list(read(benchmark)), read(responses)
    responded = [one for one in reader if one.query and one.response is not None]
    if not responded:
        raise BadData(f"{reader.name}: no question with an answer; is it a file of responses?")
    asked, answered = (Counter(map(_question, side)) for side in (questions, responded))
    first = {_question(one): one for one in reversed(responded)}
    samples = [_joined(one, first[_question(one)]) for one in questions if _question(one) in first]
    remarks = {
        "without a response, left out": [one for one in questions if _question(one) not in first],
        "not in the benchmark, left out": [one for one in responded if not asked[_question(one)]],
        "in the benchmark more than once": [one for one in questions if asked[_question(one)] > 1],
        "answered more than once, the first counts": [one for one in responded if answered[_question(one)] > 1],
        "with a reference that is a bare number or date, as spreadsheets make of $411 or May 24": [
            one for one in samples if any(map(_SPREADSHEET_VALUE.fullmatch, one.references or ()))
        ],
    }
    report = {remark: [one.query or "(none)" for one in rows] for remark, rows in remarks.items() if rows}
    return Joined(samples, report)


def _question(sample: Sample) -> str:
    """The question in the form in which questions are compared."""
    return " ".join((sample.query or "").split()).casefold()


def _joined(sample: Sample, response: Sample) -> Sample:
    added = {field: value for field in RESPONSE_FIELDS if (value := getattr(response, field)) is not None}
    return msgspec.structs.replace(sample, **added)
