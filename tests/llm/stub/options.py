"""Options of the stub, as arguments of its command line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import msgspec
from tests.llm.stub.faults import NAMES


class Options(msgspec.Struct):
    """How the stub behaves; see `parser` for what each means."""

    port: int = 0
    latency: float = 0.0
    jitter: float = 0.0
    fault: list[str] = []
    script: str = ""
    seed: int = 1
    retry_after: str = ""
    rpm: int | None = None
    tpm: int | None = None
    burst: float = 1.0
    room: int | None = None
    key: str = ""
    model: list[str] = []
    window: int | None = None
    without: list[str] = []
    answers: str = "claims"
    batch_seconds: float = 0.0
    record: str = ""
    tied: bool = False

    @property
    def chances(self) -> dict[str, float]:
        """Fault -> probability."""
        return {name: float(chance) for name, _, chance in (text.partition("=") for text in self.fault)}


def parsed(arguments: Sequence[str] | None) -> Options:
    """Options from arguments; of the process where those are None."""
    return Options(**vars(parser().parse_args(arguments)))


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="server.py",
        description="A stub of OpenAI's and Anthropic's servers. Prints its port, then serves until it is stopped.",
        epilog="Faults: an HTTP status, or " + "; ".join(f"{name}: {meaning}" for name, meaning in NAMES.items()) + ".",
    )
    add = made.add_argument
    add("--port", type=int, default=0, help="0: a free one")
    add("--latency", type=float, default=0.0, help="seconds from the arrival of a call to its reply")
    add("--jitter", type=float, default=0.0, help="share by which the latency varies up and down")
    add("--fault", action="append", default=[], metavar="NAME=CHANCE", help="may be given several times")
    add("--script", default="", help="faults of the first calls to arrive, as in 429,ok,500")
    add("--seed", type=int, default=1, help="of the faults, which depend on it, the body and how often that came")
    add("--retry-after", default="", help="the header's value with statuses 429, 503 and 529")
    add("--rpm", type=int, help="requests a minute; beyond those, 429 with Retry-After")
    add("--tpm", type=int, help="prompt and completion tokens a minute")
    add("--burst", type=float, default=1.0, help="seconds of --rpm and --tpm that may be spent at once")
    add("--room", type=int, help="calls side by side; beyond those, 429 without Retry-After")
    add("--key", default="", help="the only key that is accepted; any where not given")
    add("--model", action="append", default=[], help="a model that there is; any where none is given")
    add("--window", type=int, help="prompt tokens that fit; longer prompts are refused")
    add("--without", action="append", default=[], help="json_schema, json_object or response_format: not supported")
    add("--answers", choices=("claims", "split", "none"), default="claims", help="of a sentence: it, its clauses, none")
    add("--batch-seconds", type=float, default=0.0, help="time that a batch takes")
    add("--record", default="", help="JSONL file to which path, headers and body of each request are added")
    add("--tied", action="store_true", help="end when standard input ends")
    return made
