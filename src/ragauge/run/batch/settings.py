"""The settings of a batch: those of the run whose questions it asks."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ragauge.errors import BadParameter
from ragauge.judges.base import Judge
from ragauge.judges.llm.judge import LLMJudge
from ragauge.judges.llm.providers import LLMSpec, parse_llm_spec
from ragauge.run.specs import judge_of
from ragauge.types import Identity


class BatchSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What `ragauge run` would be called with. Files are kept as absolute paths, so that any folder will do.

    judge: a spec, or specs by kind of question. store: where answers are kept.
    """

    data: str
    store: str
    judge: str | dict[str, str] = "embedded"
    metrics: str | None = None
    map: dict[str, str] = {}
    group: str | None = None
    limit: int | None = None
    skip_bad_rows: bool = False
    labels: str | None = None

    @property
    def judges(self) -> dict[str, str]:
        """The specs by kind; "*" is every kind that is not named."""
        return self.judge if isinstance(self.judge, dict) else {"*": self.judge}

    def command(self) -> str:
        """The `ragauge run` that gives the scores."""
        return shlex.join(["ragauge", "run", *self._arguments()])

    def _arguments(self) -> Iterator[str]:
        yield _shown(self.data)
        if self.metrics is not None:
            yield from ("-m", self.metrics)
        for kind, spec in self.judges.items():
            yield from ("-j", spec if kind == "*" else f"{kind}={spec}")
        for field, column in self.map.items():
            yield from ("--map", f"{field}={column}")
        for option, value in (("--group", self.group), ("--limit", self.limit)):
            if value is not None:
                yield from (option, str(value))
        if self.skip_bad_rows:
            yield "--skip-bad-rows"
        if self.labels is not None:
            yield from ("--labels", _shown(self.labels))
        yield from ("--store", _shown(self.store))

    def difference(self, other: BatchSettings) -> str:
        """The first setting that the other has otherwise, for people; "" where they are equal."""
        mine, others = msgspec.structs.asdict(self), msgspec.structs.asdict(other)
        differing = (name for name in mine if mine[name] != others[name])
        return next((f"{name} ({mine[name]!r}, not {others[name]!r})" for name in differing), "")


def _shown(path: str) -> str:
    """A path as short as it can be said from here."""
    here = Path.cwd()
    return str(Path(path).relative_to(here)) if Path(path).is_relative_to(here) else path


class Member(msgspec.Struct, frozen=True):
    """A model that is asked in a batch. identity: of the judge that a run would ask."""

    spec: str
    identity: Identity
    asked: LLMSpec

    @property
    def name(self) -> str:
        """The model, as "provider/model"."""
        return f"{self.asked.provider.name}/{self.asked.model}"


def bench(specs: Mapping[str, str]) -> tuple[dict[str, Judge], dict[str, Member]]:
    """The judges by kind that answer at once, and the models by kind that are asked in a batch.

    Raises BadParameter where there is no model to ask, or where a judge would ask one by itself.
    """
    members = {kind: member for kind, spec in specs.items() if (member := member_of(spec))}
    if not members:
        raise BadParameter(
            f"no judge of {', '.join(specs.values())} can be asked in a batch; name one by provider and model, "
            "such as -j openai/gpt-4o-mini"
        )
    return {kind: judge_of(spec) for kind, spec in specs.items() if kind not in members}, members


def member_of(spec: str) -> Member | None:
    """The model of a spec; None where the judge is none, and answers at once."""
    judge: Any = judge_of(spec)
    if isinstance(judge, LLMJudge) and not spec.startswith("python:"):
        return Member(spec, judge.identity, parse_llm_spec(spec))
    if hasattr(judge, "members"):
        raise BadParameter(f"{spec} is made of judges; batch each of them by itself, then run {spec}: it asks nothing")
    if isinstance(judge, LLMJudge) or spec.startswith("decisions:"):
        raise BadParameter(f"{spec} cannot be asked in a batch; judge with it in a run, or name a provider/model")
    return None
