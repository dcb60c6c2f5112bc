"""Where a model is: in a folder, or on the hub, of which what is fetched stays in the cache."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from ragauge.errors import BadData, BadParameter, MissingExtra

_CONTENT = frozenset({".safetensors", ".bin", ".onnx", ".data", ".json", ".model", ".txt"})


class Place(NamedTuple):
    """Where a model's files are. origin: the folder, or the name on the hub. revision: what pins its content."""

    origin: str
    revision: str
    local: bool

    @property
    def name(self) -> str:
        """The name on the hub, or that of the folder."""
        return Path(self.origin).resolve().name if self.local else self.origin

    @property
    def pinned(self) -> dict[str, str]:
        """What transformers takes to load just this revision."""
        return {} if self.local else {"revision": self.revision}

    def file(self, name: str) -> Path | None:
        """One file of it, fetched where it is not here yet; None where it has no such file."""
        if self.local:
            path = Path(self.origin) / name
            return path if path.is_file() else None
        return fetched(self.origin, name, self.revision)


def place_of(model: str, revision: str | None) -> Place:
    """The place of a folder or of a model on the hub, of the latter at the commit that `revision` stands for now.

    Where HF_HUB_OFFLINE is set, nothing is fetched, and the commit is that in the cache. Raises BadData where there is
    no such model, BadParameter for a revision of a folder.
    """
    if Path(model).expanduser().is_dir():
        if revision is not None:
            raise BadParameter(
                f"hf/{model}: revision={revision}, but a folder has no revisions: the one that is there is read; leave "
                "the option out, or name the model as the hub does"
            )
        folder = Path(model).expanduser()
        return Place(str(folder), content_hash(folder), local=True)
    if model.startswith((".", "/", "~")) or model.count("/") > 1:
        raise BadData(f"hf/{model}: there is no such folder; give one that holds a model, or a name on the hub")
    config = fetched(model, "config.json", revision)
    if config is None:
        raise BadData(f"hf/{model}: the model has no config.json; it must be one for transformers")
    return Place(model, config.parent.name, local=False)


def config_of(place: Place, name: str = "config.json") -> Mapping[str, Any]:
    """What a file of settings says; nothing where there is none. Raises BadData where it is not JSON."""
    path = place.file(name)
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path else {}
    except (ValueError, RecursionError) as error:
        raise BadData(f"{path}: {error}; it must be JSON") from error
    return found if isinstance(found, dict) else {}


def fetched(model: str, name: str, revision: str | None) -> Path | None:
    """A file from the hub or its cache; None where the model has no such file.

    Raises BadData where the hub does not know the model, or cannot be reached and the cache has nothing.
    """
    if find_spec("huggingface_hub") is None:
        raise MissingExtra(f"hf/{model}", "hf")
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    try:
        return Path(hf_hub_download(model, name, revision=revision))
    except LocalEntryNotFoundError as error:
        if _known_absent(model, name, revision):
            return None
        raise _unreachable(model, error) from error
    except EntryNotFoundError:
        return None
    except Exception as error:  # the hub's errors have no root of their own
        raise _unreachable(model, error) from error


def _known_absent(model: str, name: str, revision: str | None) -> bool:
    """Whether the cache holds the model, or knows of the file that there is none."""
    from huggingface_hub import try_to_load_from_cache

    config = try_to_load_from_cache(model, "config.json", revision=revision)
    return (
        name != "config.json"
        and isinstance(config, str)
        and not isinstance(try_to_load_from_cache(model, name, revision=revision), str)
    )


def _unreachable(model: str, error: Exception) -> BadData:
    first = str(error).strip().partition("\n")[0]
    return BadData(
        f"hf/{model}: {type(error).__name__}: {first}; check the name, or give a folder that holds the model, as in "
        "hf/./folder (HF_TOKEN opens models that ask for consent)"
    )


def content_hash(folder: Path) -> str:
    """A hash of the files that make a model what it is, its weights among them (16 hex digits)."""
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.suffix in _CONTENT and path.is_file():
            with path.open("rb") as file:
                digest.update(path.name.encode() + b"\0" + hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]
