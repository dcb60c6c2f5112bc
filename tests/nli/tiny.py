"""Tiny models of each family, trained on the spot, in folders such as the hub has them. Needs torch."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
import transformers
from tests.nli.tokens import bert_tokenizer, t5_tokenizer
from tests.nli.weather import example

from ragauge.judges.nli.judge import Family, ModelCard, PairTokenizer
from ragauge.judges.nli.models import (
    class_logits,
)
from ragauge.types import Label

_BATCH = 32

Made = Callable[[Path], Any]


def _bert(labels: tuple[str, ...], **more: Any) -> Any:
    config = transformers.BertConfig(
        vocab_size=bert_tokenizer().get_vocab_size(),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=64,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        id2label=dict(enumerate(labels)),
        label2id={name: at for at, name in enumerate(labels)},
        pad_token_id=0,
        **more,
    )
    return transformers.BertForSequenceClassification(config)


def _t5(**more: Any) -> Any:
    return transformers.T5Config(
        vocab_size=t5_tokenizer().get_vocab_size(),
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        feed_forward_proj="gated-gelu",
        dropout_rate=0.0,
        tie_word_embeddings=False,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
        **more,
    )


def _trained(network: Any, say: Callable[..., Any], card: ModelCard, tokenizer: Any, steps: int) -> None:
    """Train a model on the weather."""
    pair_tokenizer, chance = PairTokenizer(tokenizer, card), random.Random(0)
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3)
    network.train()
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = 3e-3 * min(1.0, 2 * (1 - step / steps))
        drawn = [example(chance) for _ in range(_BATCH)]
        reply = say(
            network, *_tensors(pair_tokenizer, card, [(premise, hypothesis) for premise, hypothesis, _ in drawn])
        )
        loss = torch.nn.functional.cross_entropy(reply, torch.tensor([_class(card, label) for *_, label in drawn]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    network.eval()


def _class(card: ModelCard, label: Label) -> int:
    if label in card.labels:
        return card.labels.index(label)
    return card.labels.index(Label.NOT_ENTAILED)


def _tensors(pair_tokenizer: PairTokenizer, card: ModelCard, pairs: list[tuple[str, str]]) -> list[Any]:
    read = pair_tokenizer.encode(pairs)
    longest = max(len(each.ids) for each in read)

    def padded(rows: list[list[int]], fill: int) -> Any:
        return torch.tensor([[*row, *[fill] * (longest - len(row))] for row in rows])

    ids = padded([list(each.ids) for each in read], card.pad)
    mask = padded([[1] * len(each.ids) for each in read], 0)
    types = padded([list(each.type_ids) for each in read], 0)
    return [ids, mask, types] if card.type_ids else [ids, mask]


def _card(family: Family, labels: tuple[Label, ...], **more: Any) -> ModelCard:
    return ModelCard("tiny", "0", family, labels, 64, **more)


TWO = (Label.NOT_ENTAILED, Label.ENTAILED)
THREE = (Label.CONTRADICTED, Label.NEUTRAL, Label.ENTAILED)


def classifier(folder: Path) -> None:
    """A cross-encoder of three classes."""
    _save_bert(folder, ("Contradiction", "NEUTRAL", "entailment"), _card("classifier", THREE, type_ids=True))


def two_classes(folder: Path) -> None:
    """A cross-encoder of two classes, the first of which is support."""
    card = _card("classifier", (Label.ENTAILED, Label.NOT_ENTAILED), type_ids=True)
    _save_bert(folder, ("entailment", "not_entailment"), card)


def minicheck(folder: Path) -> None:
    """A classifier of MiniCheck's kind: one text, classes without names."""
    _save_bert(folder, ("LABEL_0", "LABEL_1"), _card("minicheck", TWO, end="[SEP]", type_ids=True))


def _save_bert(folder: Path, names: tuple[str, ...], card: ModelCard) -> None:
    torch.manual_seed(0)
    model, tokenizer = _bert(names), bert_tokenizer()
    _trained(model, partial(class_logits, family="classifier"), card, tokenizer, steps=900)
    model.save_pretrained(folder)
    _save_tokenizer(tokenizer, folder, "[SEP]")


def true(folder: Path) -> None:
    """A model that writes 1 or 0, asked as TRUE is."""
    _save_writer(folder, _card("true", TWO))


def minicheck_t5(folder: Path) -> None:
    """A model that writes 1 or 0, asked as MiniCheck's Flan-T5 is."""
    _save_writer(folder, _card("minicheck-t5", TWO, end="</s>"))


def _save_writer(folder: Path, card: ModelCard) -> None:
    torch.manual_seed(0)
    model, tokenizer = transformers.T5ForConditionalGeneration(_t5()), t5_tokenizer()
    digits = [tokenizer.encode(digit, add_special_tokens=False).ids[0] for digit in "01"]
    say = partial(class_logits, family="true", digits=digits)
    _trained(model, say, card, tokenizer, steps=450)
    model.save_pretrained(folder)
    _save_tokenizer(tokenizer, folder, "</s>")


def hhem(folder: Path) -> None:
    """HHEM's kind: the weights under its names, its settings as it has them, and the tokenizer in another folder."""
    from safetensors.torch import save_file

    torch.manual_seed(0)
    model, tokenizer = transformers.T5ForTokenClassification(_t5(num_labels=2)), t5_tokenizer()
    _trained(model, partial(class_logits, family="hhem"), _card("hhem", TWO), tokenizer, steps=450)
    foundation = folder / "foundation"
    foundation.mkdir(parents=True)
    _save_tokenizer(tokenizer, foundation, "</s>")
    _t5().save_pretrained(foundation)
    weights = {f"t5.{name}": value for name, value in model.state_dict().items() if "embed_tokens" not in name}
    save_file({name: value.contiguous() for name, value in weights.items()}, folder / "model.safetensors")
    reply = {"architectures": ["HHEMv2ForSequenceClassification"], "model_type": "HHEMv2Config"}
    (folder / "config.json").write_text(json.dumps({**reply, "foundation": str(foundation)}), encoding="utf-8")


def _save_tokenizer(tokenizer: Any, folder: Path, end: str) -> None:
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": end}), encoding="utf-8")


#: Every family by the name of its folder, from which TRUE and MiniCheck are known.
FAMILIES: dict[str, Made] = {
    "cross-encoder": classifier,
    "two-classes": two_classes,
    "hhem": hhem,
    "true-nli": true,
    "minicheck-bert": minicheck,
    "minicheck-flan-t5": minicheck_t5,
}
