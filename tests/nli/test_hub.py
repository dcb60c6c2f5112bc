from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.nli.hub import COMMIT, hub

from ragauge.errors import BadData, BadParameter, MissingExtra
from ragauge.judges.nli.judge import NliJudge
from ragauge.judges.nli.models import NliOptions, NliSpec, TorchModel, content_hash, locate_model
from ragauge.run.specs import load_judge


def test_a_folder_is_pinned_by_its_content(tmp_path: Path) -> None:
    """The revision of a folder changes with its weights and settings, not with its notes or its name."""
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        (folder / "config.json").write_text("{}", encoding="utf-8")
        (folder / "model.safetensors").write_bytes(b"weights")
    (other / "README.md").write_text("notes", encoding="utf-8")

    assert locate_model(str(one), None).revision == content_hash(other)
    (other / "model.safetensors").write_bytes(b"others")
    assert content_hash(one) != content_hash(other)


def test_a_folder_has_no_revisions(tmp_path: Path) -> None:
    """A revision of a folder is refused, since what is there is what is read."""
    with pytest.raises(BadParameter, match="revision=abc, but a folder has no revisions"):
        locate_model(str(tmp_path), "abc")


def test_a_folder_without_a_configuration(tmp_path: Path) -> None:
    """A folder has the name of itself; one whose configuration is missing or no JSON is named."""
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    assert locate_model(str(tmp_path), None).name == tmp_path.name
    (tmp_path / "config.json").write_text("{]", encoding="utf-8")
    with pytest.raises(BadData, match="malformed"):
        locate_model(str(tmp_path), None)
    (tmp_path / "config.json").unlink()
    with pytest.raises(BadData, match=r"config\.json"):
        locate_model(str(tmp_path), None)


def test_a_tokenizer_from_elsewhere_is_pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """HHEM reads with another model's tokenizer: another one there, under the same name, makes another judge."""
    monkeypatch.setattr(
        "ragauge.judges.nli.models.load_tokenizer",
        lambda place: SimpleNamespace(backend_tokenizer=None, model_max_length=512),
    )
    folder, foundation = tmp_path / "hhem", tmp_path / "flan"
    folder.mkdir()
    foundation.mkdir()
    config = {"architectures": ["HHEMv2ForSequenceClassification"], "foundation": str(foundation)}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    identities = []
    for tokens in ("one", "other", "one"):
        (foundation / "tokenizer.json").write_text(json.dumps(tokens), encoding="utf-8")
        (foundation / "config.json").write_text("{}", encoding="utf-8")
        card = TorchModel(NliSpec("hf/hhem", str(folder), NliOptions(device="cpu"))).card
        assert card.tokenizer == f"flan@{content_hash(foundation)}"
        identities.append(NliJudge("hf/hhem", card, lambda: pytest.fail("no model is opened")).identity)
    assert identities[0] == identities[2] != identities[1]


@pytest.mark.parametrize("model", ["./absent", "/absent/folder", "~/absent", "a/b/c"])
def test_a_folder_that_is_absent(model: str) -> None:
    """What looks like a folder is not looked for on the hub."""
    with pytest.raises(BadData, match="there is no such folder"):
        locate_model(model, None)


def test_nothing_is_fetched_offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With HF_HUB_OFFLINE a model that is not in the cache ends in an error that names it, and no call is made."""
    pytest.importorskip("transformers")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(BadData, match=r"hf/nobody/nothing: .*check the name"):
        locate_model("nobody/nothing", None)


def test_settings_are_downloaded_once(tmp_path: Path) -> None:
    """Of a model on the hub the configuration is downloaded to the cache, and then read there; its weights are not."""
    pytest.importorskip("transformers")
    files = {"config.json": b'{"model_type": "bert"}', "vocab.txt": b"words", "model.safetensors": b"weights"}
    script = (
        "from ragauge.judges.nli.models import locate_model\n"
        "place = locate_model('org/nli', None)\n"
        "print(place.name, place.revision, dict(place.pinned), place.config['model_type'])"
    )
    with hub("org/nli", files) as (address, downloaded):
        for offline in ("0", "1"):
            environment = {**os.environ, "HF_ENDPOINT": address, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": offline}
            done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
            assert done.stdout == f"org/nli {COMMIT} {{'revision': '{COMMIT}'}} bert\n", done.stderr
            assert done.stderr == ""
        assert downloaded == ["config.json"]


@pytest.mark.parametrize("library", ["torch", "transformers"])
def test_without_torch(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without torch or transformers the error gives the command that installs them."""
    monkeypatch.setattr("ragauge.judges.nli.models.find_spec", lambda name: None if name == library else object())
    with pytest.raises(MissingExtra, match=r"hf/a/b by torch .*pip install 'ragauge\[hf\]'"):
        load_judge("hf/a/b")
