from __future__ import annotations

from pathlib import Path

import pytest

from ragauge.errors import BadData, MissingExtra
from ragauge.judges.nli.hub import config_of, content_hash, place_of
from ragauge.run.specs import judge_of


def test_a_folder_is_pinned_by_its_content(tmp_path: Path) -> None:
    """The revision of a folder changes with its weights and settings, not with its notes or its name."""
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        (folder / "config.json").write_text("{}", encoding="utf-8")
        (folder / "model.safetensors").write_bytes(b"weights")
    (other / "README.md").write_text("notes", encoding="utf-8")

    assert place_of(str(one), None).revision == content_hash(other)
    (other / "model.safetensors").write_bytes(b"others")
    assert content_hash(one) != content_hash(other)


def test_files_of_a_folder(tmp_path: Path) -> None:
    """Settings are read where they are there, and a file that is no JSON is named."""
    place = place_of(str(tmp_path), None)
    (tmp_path / "config.json").write_text("{]", encoding="utf-8")

    assert config_of(place, "tokenizer_config.json") == {}
    assert place.name == tmp_path.name
    with pytest.raises(BadData, match=r"config\.json.*must be JSON"):
        config_of(place)


@pytest.mark.parametrize("model", ["./absent", "/absent/folder", "~/absent", "a/b/c"])
def test_a_folder_that_is_absent(model: str) -> None:
    """What looks like a folder is not looked for on the hub."""
    with pytest.raises(BadData, match="there is no such folder"):
        place_of(model, None)


def test_nothing_is_fetched_offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With HF_HUB_OFFLINE a model that is not in the cache ends in an error that names it, and no call is made."""
    pytest.importorskip("huggingface_hub")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(BadData, match=r"hf/nobody/nothing: .*check the name"):
        place_of("nobody/nothing", None)


@pytest.mark.parametrize("library", ["torch", "transformers"])
def test_without_torch(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without torch or transformers the error gives the command that installs them."""
    monkeypatch.setattr("ragauge.judges.nli.hf.find_spec", lambda name: None if name == library else object())
    with pytest.raises(MissingExtra, match=r"hf/a/b by torch .*pip install 'ragauge\[hf\]'"):
        judge_of("hf/a/b")
