"""The folder of a batch: its settings, its models, its ledger; beside them the files that are sent and received."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from secrets import token_hex
from types import TracebackType

import msgspec

from ragauge.errors import UsageError
from ragauge.judges.base import Judge, JudgeRouter
from ragauge.judges.llm.deferred import DeferredJudge, RequestBook
from ragauge.judges.llm.transport.protocols import ServerFeatures, initial_features
from ragauge.run.batch.ledger import Ledger
from ragauge.run.batch.settings import BatchSettings, Member, bench
from ragauge.types import Identity
from ragauge.version import VERSION

LEDGER = "batch.db"

#: Where the questions stand that were given up, each with the reason and the reply that did not answer it.
UNANSWERED = "unanswered.jsonl"


class Manifest(msgspec.Struct, frozen=True):
    """What a folder is for. token: tells its calls from those of other folders. identities: of the judges, by kind."""

    settings: BatchSettings
    identities: dict[str, Identity]
    version: str
    token: str


class Folder:
    """An open folder; a context manager, or to be closed by `close`.

    settings: of the run. members: the models that are asked, by spec. token: in the ids of calls.
    """

    def __init__(self, path: Path, ledger: Ledger, manifest: Manifest) -> None:
        self.path, self.ledger = path, ledger
        self.settings, self.token = manifest.settings, manifest.token
        self._live, self._members = bench(manifest.settings.judges)
        self.members = {member.spec: member for member in self._members.values()}
        for kind, member in self._members.items():
            _check_same(member, manifest.identities[kind], manifest.version)

    @classmethod
    def make(cls, path: Path, settings: BatchSettings) -> Folder:
        """The folder for these settings, made where there is none, or where nothing was exported into it yet.

        Raises UsageError where it holds a batch with other settings, or other files.
        """
        if _is_used(path):
            folder = cls.open(path)
            if difference := folder.settings.difference(settings):
                folder.close()
                raise UsageError(f"{path} holds a batch with another {difference}; export into another folder")
            return folder
        identities = {kind: member.identity for kind, member in bench(settings.judges)[1].items()}
        if path.exists() and not _is_free(path):
            raise UsageError(f"{path} holds other things; name a folder that is empty or not there yet")
        path.mkdir(parents=True, exist_ok=True)
        _begin(path, Manifest(settings, identities, VERSION, token_hex(6)))
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> Folder:
        """The batch in a folder. Raises UsageError where there is none."""
        if not (path / LEDGER).exists():
            raise UsageError(f"{path} holds no batch; make one with: ragauge batch export DATA -j JUDGE -o {path}")
        ledger = Ledger(path / LEDGER)
        try:
            return cls(path, ledger, msgspec.json.decode(ledger.fact("manifest") or b"", type=Manifest))
        except BaseException:
            ledger.close()
            raise

    def close(self) -> None:
        """Close the ledger."""
        self.ledger.close()

    def __enter__(self) -> Folder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def bench(self, book: RequestBook) -> JudgeRouter:
        """The judges of the run, those that are models in place of which `book` is written."""
        deferred = {spec: DeferredJudge(member.identity, member.asked, book) for spec, member in self.members.items()}
        judges: Mapping[str, Judge] = {kind: deferred[member.spec] for kind, member in self._members.items()}
        return JudgeRouter({kind: judges.get(kind) or self._live[kind] for kind in self.settings.judges})

    def form(self, spec: str) -> ServerFeatures:
        """The form of requests that a model's server is known to understand."""
        stated = self.ledger.fact(f"form {spec}")
        if stated is not None:
            with suppress(msgspec.MsgspecError):
                return msgspec.json.decode(stated, type=ServerFeatures)
        return initial_features(*self.members[spec].asked)

    def learn(self, spec: str, form: ServerFeatures) -> None:
        """From now on requests have this form."""
        self.ledger.state(f"form {spec}", msgspec.json.encode(form))


def _is_used(path: Path) -> bool:
    """Whether something was exported into a folder."""
    if not (path / LEDGER).exists():
        return False
    with closing(Ledger(path / LEDGER)) as ledger:
        return bool(ledger.files())


def _is_free(path: Path) -> bool:
    """Whether a folder is empty, or was left by an export that was killed."""
    names = [one.name for one in path.iterdir()] if path.is_dir() else [""]
    return not names or any(name.startswith(LEDGER) for name in names)


def _begin(path: Path, manifest: Manifest) -> None:
    """Make the ledger of a folder, with what the folder is for."""
    part = path / f"{LEDGER}.part"
    part.unlink(missing_ok=True)
    with closing(Ledger(part)) as ledger, ledger.writing():
        ledger.state("manifest", msgspec.json.encode(manifest))
    part.replace(path / LEDGER)


def _check_same(member: Member, identity: Identity, version: str) -> None:
    """Raise UsageError where a model would now be asked otherwise than when the folder was made."""
    if member.identity == identity:
        return
    now, then = dict(member.identity.settings), dict(identity.settings)
    names = ", ".join(sorted(name for name in {*now, *then} if now.get(name) != then.get(name)))
    raise UsageError(
        f"{member.spec} is not what it was when the batch was exported by ragauge {version}: {names} differ; restore "
        "that (an environment variable, the version of ragauge), or export into another folder"
    )
