"""The decisions judge and a server that others wrote: `transformers serve` with a tiny random model."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from ragauge.judges.base import checked
from ragauge.judges.llm.decisions import decisions_judge
from ragauge.questions import TOPICAL_MATCH, Classify, Decompose, Entail, Question, Rate, Relevant
from ragauge.testing import PLAIN
from ragauge.types import Answer, Failure, Grade, Verdict

pytestmark = pytest.mark.slow

#: A Python that has transformers with its server; this one, unless the variable names another.
PYTHON = os.environ.get("RAGAUGE_TRANSFORMERS_PYTHON", sys.executable)
WANTED = "import accelerate, fastapi, openai, pydantic, torch, transformers.decision, uvicorn"
INSTALL = (
    f"{PYTHON} has no server of transformers; install it with: pip install 'transformers[serving]>=5.23', or set "
    "RAGAUGE_TRANSFORMERS_PYTHON to a Python that has it"
)

#: Makes a model in the folder named: two layers of random weights, and a tokenizer of bytes with the words yes and no.
MAKE = r"""
import sys
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

pieces = ["<s>", "</s>", "<unk>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
bytewise = Tokenizer(models.BPE({piece: id for id, piece in enumerate(pieces)}, [], unk_token="<unk>"))
bytewise.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
bytewise.decoder = decoders.ByteLevel()
marks = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
tokenizer = PreTrainedTokenizerFast(tokenizer_object=bytewise, **marks)
tokenizer.add_tokens(["Yes", "No"])
tokenizer.chat_template = "{% for message in messages %}{{ message['content'] }}\n{% endfor %}"
torch.manual_seed(0)
shape = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2)
model = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer) + 8, max_position_embeddings=8192, **shape))
model.save_pretrained(sys.argv[1])
tokenizer.save_pretrained(sys.argv[1])
"""

SERVE = "from transformers.cli.transformers import main; main()"
ENVIRONMENT = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A judge's spec for a model that is served; the server is a process that ends with the tests."""
    if subprocess.run([PYTHON, "-c", WANTED], env=ENVIRONMENT, capture_output=True).returncode:
        pytest.skip(INSTALL)
    folder = tmp_path_factory.mktemp("served")
    model, log = folder / "model", folder / "log"
    subprocess.run([PYTHON, "-c", MAKE, str(model)], env=ENVIRONMENT, check=True, timeout=120)
    command = [PYTHON, "-c", SERVE, "serve", "--device", "cpu", "--host", "127.0.0.1", "--port", "0"]
    with (
        log.open("wb") as written,
        subprocess.Popen(command, env=ENVIRONMENT, stdout=written, stderr=written) as server,
    ):
        try:
            yield f"vllm/{model}?base_url={_address(server, log)}&timeout=120"
        finally:
            server.terminate()


def _address(server: subprocess.Popen[bytes], log: Path) -> str:
    """The base URL that the server says it listens at."""
    until = time.monotonic() + 120
    while time.monotonic() < until and server.poll() is None:
        found = re.search(r"running on (http://\S+:\d+)", log.read_text(errors="replace"))
        if found:
            return f"{found[1]}/v1"
        time.sleep(0.1)
    raise AssertionError(f"transformers serve did not start: {log.read_text(errors='replace')[-2000:]}")


def ask(spec: str, questions: Sequence[Question]) -> list[Answer | Failure]:
    """What the model says."""
    return asyncio.run(decisions_judge(spec).answer(questions))


def test_plain_questions_are_answered(spec: str) -> None:
    """The server takes asks of every kind, and each answer fits its question and has a probability or a grade."""
    questions = [question for question in PLAIN if not isinstance(question, Decompose)]
    answers = ask(spec, questions)
    for question, answer in zip(questions, answers, strict=True):
        assert checked(question, answer) is answer
        assert isinstance(answer, Grade) if isinstance(question, Rate) else isinstance(answer, Verdict)
        if isinstance(answer, Verdict):
            assert 0 < (answer.probability or 0) < 1
            assert all(0 < (chunk.probability or 0) < 1 for chunk in answer.chunks)
    assert ask(spec, questions) == answers


@pytest.mark.parametrize(
    "text", ["", " \n\t", "e\u0301 \u202eabc\u202c \U0001f600 \u6f22\u5b57 \x00", '"}\n<|mark|></s>']
)
def test_odd_texts_are_answered(spec: str, text: str) -> None:
    """Empty texts, many scripts, control characters and what looks like the server's own marks are taken as text."""
    questions: list[Question] = [
        Entail((text, "one"), text, text),
        Relevant(text, text, text),
        Classify(text, "toxic"),
        Rate(TOPICAL_MATCH, (("query", text), ("response", text))),
    ]
    answers = ask(spec, questions)
    assert not [answer for answer in answers if isinstance(answer, Failure)]


def test_more_questions_than_one_request_may_carry(spec: str) -> None:
    """A hundred asks go in requests that the server takes, and each is answered."""
    answers = ask(spec, [Relevant("When was it built?", f"It was built in {1900 + n}.") for n in range(100)])
    assert {type(answer) for answer in answers} == {Verdict}
