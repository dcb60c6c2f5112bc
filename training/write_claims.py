"""Let a language model write claims about passages of the training pairs.

    python training/write_claims.py PAIRS OUT --server http://127.0.0.1:8080 [--minutes 60]

SERVER: one that speaks OpenAI's protocol for chats, such as llama.cpp's. The claims in training/written.jsonl.gz are
from Qwen2.5-Coder-1.5B-Instruct in four bits (Apache-2.0; Hui et al. 2024, arXiv:2409.12186), some eighty a minute on
two cores. Of each passage two ways: with the passage before it, as statements or a summary in the model's own words;
and, of every second, with its title or first words alone, so that what the model says is plausible and seldom what the
passage says. OUT has a line for each answer and is added to; what it has is not asked again.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import hashlib
import json
import random
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp

from ragauge.judges.embedded.lexical.passages import passage

SOURCES = frozenset("boolq curriculum/drop curriculum/ester curriculum/control".split())
SHORTEST, LONGEST = 50, 150  # words of a passage
SEED, SIDE_BY_SIDE, TOKENS, LEAST = 11, 16, 130, 4
ASKED = {
    "statements": "You are given a passage. Write four statements that it supports, one a line, without numbering. "
    "Each is a full sentence that can be understood alone. Say it in your own words, not the passage's: change the "
    "wording and the order, and join facts of different sentences.",
    "summary": "You are given a passage. Sum it up in three sentences for somebody who asks about it, one a line, "
    "without numbering. Use your own words and other sentence structures than the passage; each sentence can be "
    "understood alone.",
    "unseen": "You are given the title or first words of an article. Write four statements of fact that the rest of "
    "the article may make, one a line, without numbering. Each is a full sentence that can be understood alone, with "
    "the names, dates or numbers it needs.",
}
_NUMBERING = re.compile(r"\s*(?:\d+[.)]|[-*•])\s+")


class Job(NamedTuple):
    """What is asked: the passage's key, one of ASKED, and the text that is shown."""

    premise: str
    kind: str
    shown: str


def main() -> None:
    """Ask until all is asked or the time is over."""
    options = argparse.ArgumentParser()
    options.add_argument("pairs", type=Path)
    options.add_argument("out", type=Path)
    options.add_argument("--server", required=True)
    options.add_argument("--minutes", type=float, default=60)
    given = options.parse_args()
    known = {(line["premise"], line["kind"]) for line in answers(given.out)} if given.out.exists() else set()
    waiting = [job for job in jobs(passages(given.pairs)) if (job.premise, job.kind) not in known]
    asyncio.run(write(waiting, given.out, given.server, time.monotonic() + 60 * given.minutes))


def answers(file: Path) -> Iterator[dict[str, Any]]:
    """The lines of OUT."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def key(premise: str) -> str:
    """What a passage is called in OUT."""
    return hashlib.sha256(premise.encode()).hexdigest()[:12]


def passages(pairs: Path) -> list[str]:
    """The passages, in a drawn order."""
    with gzip.open(pairs, "rt", encoding="utf-8") as lines:
        found = {plain(row["premise"], row["source"]) for row in map(json.loads, lines) if row["source"] in SOURCES}
    fit = sorted(text for text in found if SHORTEST < len(text.split()) < LONGEST)
    random.Random(SEED).shuffle(fit)
    return fit


def plain(premise: str, source: str) -> str:
    """A premise without the question that ESTER puts below it."""
    return (premise.rpartition("\n")[0] or premise if source == "curriculum/ester" else premise).strip()


def jobs(texts: list[str]) -> Iterator[Job]:
    """What is asked of each passage."""
    for at, text in enumerate(texts):
        yield Job(key(text), "statements" if at % 2 else "summary", text)
        if at % 2:
            title, found, _ = text[:80].partition(" -- ")
            yield Job(key(text), "unseen", title if found else text.partition(". ")[0][:160])


async def write(waiting: list[Job], out: Path, server: str, until: float) -> None:
    """Ask, several at a time, and write what is said."""
    room, timeout = asyncio.Semaphore(SIDE_BY_SIDE), aiohttp.ClientTimeout(total=600)
    with gzip.open(out, "at", encoding="utf-8") as lines:
        async with aiohttp.ClientSession(timeout=timeout) as session:

            async def one(job: Job) -> None:
                async with room:
                    if time.monotonic() < until:
                        claims = await ask(session, server, job)
                        lines.write(json.dumps({"premise": job.premise, "kind": job.kind, "claims": claims}) + "\n")

            await asyncio.gather(*map(one, waiting))


async def ask(session: aiohttp.ClientSession, server: str, job: Job) -> list[str]:
    """The claims that the model writes for a job."""
    messages = [{"role": "system", "content": ASKED[job.kind]}, {"role": "user", "content": job.shown}]
    body = {"messages": messages, "max_tokens": TOKENS, "temperature": 0.8, "top_p": 0.95, "seed": 7}
    async with session.post(f"{server}/v1/chat/completions", json=body) as reply:
        [choice] = (await reply.json())["choices"]
    return claims_of(choice["message"]["content"], whole=choice["finish_reason"] == "stop")


def claims_of(text: str, *, whole: bool) -> list[str]:
    """The sentences of an answer, each once; where it was cut off, without the last."""
    said = [one.text for line in text.splitlines() for one in passage(_NUMBERING.sub("", line, count=1)).sentences]
    kept = said if whole else said[:-1]
    return list(dict.fromkeys(one for one in kept if len(one.split()) >= LEAST and one[-1] in ".!"))


if __name__ == "__main__":
    main()
