"""The folder of a batch: its settings, its models, and the ledger of what was asked in which request."""

from __future__ import annotations

import os
import shlex
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from pkgutil import get_data
from secrets import token_hex
from typing import NamedTuple

import msgspec

from ragauge.errors import BadData, BadParameter, RagaugeError, UsageError
from ragauge.host import user_secret
from ragauge.judges.base import Judge, JudgeRouter, adapted
from ragauge.judges.llm.judge import LLMJudge
from ragauge.judges.llm.pricing import Price, batch_factor
from ragauge.judges.llm.prompts import PackingPolicy
from ragauge.judges.llm.providers import LLMSpec, parse_llm_spec, protect_keys
from ragauge.judges.llm.transport.batches import LIMITS
from ragauge.judges.llm.transport.protocols import ServerFeatures, initial_features
from ragauge.questions import Question, judgment_key
from ragauge.readers.conversations import Per
from ragauge.run.prepare import RunRequest
from ragauge.run.specs import check_shared, load_judge
from ragauge.store import Store, is_url
from ragauge.store.texts import pack, unpack
from ragauge.types import Failure, Identity
from ragauge.version import VERSION


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
    per: Per | None = None
    corpus: str | None = None

    @property
    def judges(self) -> dict[str, str]:
        """The specs by kind; "*" is every kind that is not named."""
        return self.judge if isinstance(self.judge, dict) else {"*": self.judge}

    def request(self, router: JudgeRouter, store: Store) -> RunRequest:
        """The run, asking these judges and with this open store."""
        return RunRequest(**{**msgspec.structs.asdict(self), "judge": router, "store": store})

    def command(self) -> str:
        """The `ragauge run` that gives the scores."""
        pairs = [
            ("-m", self.metrics),
            *(("-j", spec if kind == "*" else f"{kind}={spec}") for kind, spec in self.judges.items()),
            *(("--map", f"{field}={column}") for field, column in self.map.items()),
            ("--group", self.group),
            ("--limit", self.limit),
            ("--per", self.per),
            ("--corpus", self.corpus and _shown(self.corpus)),
            ("--skip-bad-rows", "" if self.skip_bad_rows else None),
            ("--labels", self.labels and _shown(self.labels)),
            ("--store", _shown(self.store)),
        ]
        words = [str(word) for pair in pairs if pair[1] is not None for word in pair if word != ""]
        return shlex.join(["ragauge", "run", _shown(self.data), *words])

    def difference(self, other: BatchSettings) -> str:
        """The first setting that differs, for people; "" where all are equal."""
        pairs = ((name, getattr(self, name), getattr(other, name)) for name in self.__struct_fields__)
        return next((f"{name} ({mine!r}, not {others!r})" for name, mine, others in pairs if mine != others), "")


def _shown(path: str) -> str:
    """A path as short as it can be said from here."""
    here = Path.cwd()
    return str(Path(path).relative_to(here)) if Path(path).is_relative_to(here) else path


class BatchMember(NamedTuple):
    """A model that is asked in a batch as the judge of a run would ask it.

    identity, policy: of that judge. price: of its tokens in a batch; None where that is not known.
    """

    spec: str
    asked: LLMSpec
    identity: Identity
    policy: PackingPolicy
    price: Price | None

    def keys(self, questions: Iterable[Question]) -> list[str]:
        """The keys of its judgments of these questions."""
        return [judgment_key(question, self.identity) for question in questions]


def member_router(specs: Mapping[str, str]) -> tuple[dict[str, Judge], dict[str, BatchMember]]:
    """The judges by kind that answer at once, and the models by kind that are asked in a batch.

    Raises BadParameter where there is no model to ask, or where a judge would ask one by itself.
    """
    members = {kind: member for kind, spec in specs.items() if (member := member_of(spec))}
    if not members:
        raise BadParameter(f"no judge of {', '.join(specs.values())} can be asked in a batch; name a PROVIDER/MODEL")
    return {kind: load_judge(spec) for kind, spec in specs.items() if kind not in members}, members


def member_of(spec: str) -> BatchMember | None:
    """The model of a spec; None where the judge is none, and answers at once."""
    judge = adapted(load_judge(spec))
    if isinstance(judge, LLMJudge) and not spec.startswith("python:"):
        asked = parse_llm_spec(spec)
        if asked.provider.protocol not in LIMITS:
            raise BadParameter(f"{spec} cannot be asked in a batch; judge with it in a run")
        share = 1.0 if asked.provider.local else batch_factor(judge.identity.name)
        price = judge.price.times(share) if judge.price and share is not None else None
        return BatchMember(spec, asked, judge.identity, judge.policy, price)
    if judge.members:
        raise BadParameter(f"{spec} is made of judges; batch each of them by itself, then run {spec}: it asks nothing")
    if isinstance(judge, LLMJudge):
        raise BadParameter(f"{spec} cannot be asked in a batch; judge with it in a run, or name a provider/model")
    return None


#: Seconds that a command waits for another one that works on the same folder.
PATIENCE = 10.0

#: How often a question is asked before it is given up.
MAX_ROUNDS = 3

#: Failures that are final where a question was asked alone.
_FINAL = frozenset({"too_long", "content_filter", "refused"})

_encode = msgspec.json.Encoder().encode
_decode_questions = msgspec.json.Decoder(tuple[Question, ...]).decode
_decode_failure = msgspec.json.Decoder(Failure | None).decode


class QuestionStatus(NamedTuple):
    """The status of a question that was asked in a batch.

    waiting: no result has come yet. tries: how many replies did not answer it. failure: why the last did not. alone:
    whether that reply was to this question alone.
    """

    waiting: bool
    tries: int
    failure: Failure | None
    alone: bool

    @property
    def given_up(self) -> bool:
        """Whether it is not worth asking again as it is."""
        final = self.alone and self.failure is not None and self.failure.reason in _FINAL
        return not self.waiting and (final or self.tries >= MAX_ROUNDS)


class LedgerFile(NamedTuple):
    """A file of requests of one model.

    requests: how many. upload, batch: what the provider calls it, "" where it is not sent. since: when sending it
    began, in UTC. ended: its batch is over and fetched. waiting: how many requests have no result.
    """

    name: str
    wave: int
    spec: str
    requests: int
    upload: str
    batch: str
    since: str
    ended: bool
    waiting: int

    @property
    def under_way(self) -> bool:
        """Whether its provider works on it, as far as is known."""
        return bool(self.batch) and not self.ended

    @property
    def untouched(self) -> bool:
        """Whether it may be sent: no result has come for any of it, and it was not sent before."""
        return not self.batch and not self.ended and self.waiting == self.requests


class LedgerEntry(NamedTuple):
    """A request as it was exported. waiting: no result came. replied: a reply came, good or bad."""

    id: str
    spec: str
    form: str
    questions: tuple[Question, ...]
    waiting: bool
    replied: bool


class Ledger:
    """One SQLite file. What a `writing` block changes is kept as a whole when it ends, or not at all."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._explained():
            self._db = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
            if not self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                with self.writing():
                    for statement in filter(str.strip, (get_data(__name__, "ledger.sql") or b"").decode().split(";")):
                        self._db.execute(statement)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Changes are made inside; nobody else makes any meanwhile."""
        with self._explained():
            self._db.execute("BEGIN IMMEDIATE")
            with self._db:
                yield

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            busy = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
            fix = "another command works on this folder; wait for it to end" if busy else "export into a new folder"
            raise RagaugeError(f"{self._path}: {error}; {fix}") from error

    def fact(self, name: str) -> bytes | None:
        """What is kept under a name."""
        row = self._db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return row[0].encode() if row else None

    def state(self, name: str, value: bytes) -> None:
        """Keep a value under a name."""
        self._db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value.decode()))

    def add_file(self, name: str, wave: int, spec: str) -> None:
        """Add a file, to which requests are added next."""
        self._db.execute("INSERT INTO files (name, wave, spec) VALUES (?, ?, ?)", (name, wave, spec))

    def add(self, entry: LedgerEntry, file: str, keys: Iterable[str]) -> None:
        """Add a request whose questions have these keys; one that was lost is waited for again."""
        stated = pack(_encode(entry.questions))
        self._db.execute(
            "INSERT INTO requests (id, file, spec, form, questions) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET file = excluded.file, form = excluded.form, waiting = 1",
            (entry.id, file, entry.spec, entry.form, stated),
        )
        self._db.execute("UPDATE files SET requests = requests + 1 WHERE name = ?", (file,))
        self._db.executemany(
            "INSERT INTO questions VALUES (?, ?, 1, 0, 'null', 0)"
            " ON CONFLICT (key) DO UPDATE SET request = excluded.request, waiting = 1",
            [(key, entry.id) for key in keys],
        )

    def entry(self, id: str) -> LedgerEntry | None:
        """The request of that id."""
        sql = "SELECT spec, form, questions, waiting, replied FROM requests WHERE id = ?"
        row = self._db.execute(sql, (id,)).fetchone()
        if row is None:
            return None
        spec, form, questions, waiting, replied = row
        return LedgerEntry(id, spec, form, _decode_questions(unpack(questions)), bool(waiting), bool(replied))

    def standing(self, key: str) -> QuestionStatus | None:
        """How a question stands; None where it was not asked, or is answered."""
        sql = "SELECT waiting, tries, failure, alone FROM questions WHERE key = ?"
        row = self._db.execute(sql, (key,)).fetchone()
        return QuestionStatus(bool(row[0]), row[1], _decode_failure(row[2]), bool(row[3])) if row else None

    def settle(self, entry: LedgerEntry, answered: Iterable[str], failed: Mapping[str, Failure], replied: bool) -> None:
        """A result came: the keys of the questions that it answers, and of those that it does not.

        replied: whether it was a reply, in place of which no other is taken.
        """
        self._db.execute("UPDATE requests SET waiting = 0, replied = replied OR ? WHERE id = ?", (replied, entry.id))
        self._db.executemany("DELETE FROM questions WHERE key = ?", [(key,) for key in answered])
        self._db.executemany(
            "UPDATE questions SET waiting = 0, tries = tries + 1, failure = ?, alone = ? WHERE key = ? AND request = ?",
            [(_encode(failure).decode(), len(entry.questions) == 1, key, entry.id) for key, failure in failed.items()],
        )

    def release(self, id: str) -> None:
        """No reply came, and none will: let the questions of a request be asked again."""
        self._db.execute("UPDATE requests SET waiting = 0 WHERE id = ?", (id,))
        self._db.execute("UPDATE questions SET waiting = 0 WHERE request = ?", (id,))

    def release_waiting(self, file: str) -> int:
        """Release the requests of a file that have no result, and return their number."""
        waiting = self._db.execute("SELECT id FROM requests WHERE file = ? AND waiting", (file,)).fetchall()
        for (id,) in waiting:
            self.release(id)
        return len(waiting)

    def files(self) -> list[LedgerFile]:
        """All files in the order in which they were exported."""
        rows = self._db.execute(
            "SELECT name, wave, spec, requests, upload, batch, since, ended,"
            " (SELECT count(*) FROM requests WHERE file = name AND waiting) FROM files ORDER BY rowid"
        )
        return [LedgerFile(*row) for row in rows]

    def begin_sending(self, file: LedgerFile, upload: str, now: str) -> None:
        """A file is about to become a batch; whether it did is not known until `sent`.

        Raises RagaugeError where it is not any more as it was read.
        """
        sql = "UPDATE files SET upload = ?, since = ? WHERE name = ? AND since = ? AND batch = ''"
        if not self._db.execute(sql, (upload, now, file.name, file.since)).rowcount:
            raise RagaugeError(f"{file.name} is being sent by another command; look at the status when that has ended")

    def check_sending(self, file: LedgerFile, upload: str, now: str) -> None:
        """Raise RagaugeError where another command has begun to send the file since `now`."""
        self.begin_sending(file._replace(since=now), upload, now)

    def sent(self, name: str, batch: str) -> None:
        """It has become a batch."""
        self._db.execute("UPDATE files SET batch = ? WHERE name = ?", (batch, name))

    def unsent(self, name: str) -> None:
        """What was taken for its batch is another one."""
        self._db.execute("UPDATE files SET batch = '', since = '', upload = '' WHERE name = ?", (name,))

    def end(self, name: str) -> None:
        """Its batch is over, and what came of it is imported."""
        self._db.execute("UPDATE files SET ended = 1 WHERE name = ?", (name,))


LEDGER = "batch.db"


class Manifest(msgspec.Struct, frozen=True):
    """The purpose of a folder. token: marks its calls. identities: of the judges, by kind. mark: see `_mark`."""

    settings: BatchSettings
    identities: dict[str, Identity]
    version: str
    token: str
    mark: str = ""


def _mark(settings: BatchSettings) -> str:
    """What nobody else can put to settings, so that their user knows them; "" where no secret can be kept."""
    secret = user_secret()
    return blake2b(msgspec.json.encode(settings), key=secret, digest_size=16).hexdigest() if secret else ""


def _check_trusted(path: Path, manifest: Manifest, allow_hosts: Collection[str]) -> None:
    """Raise BadData where a folder that somebody else made would run code, or send anything to a server of theirs."""
    settings = manifest.settings
    if manifest.mark and manifest.mark == _mark(settings):
        return
    for judge in settings.judges.values():
        check_shared(judge, str(path), allow_hosts)
    if is_url(settings.store):
        raise BadData(f"{path}: its answers go to a database, and it was not made by you; export into a new folder")


class Folder:
    """An open folder; a context manager, or to be closed by `close`.

    settings: of the run. live: the judges that answer at once, by kind. by_kind, members: the models that are asked, by
    kind and by spec. token: in the ids of calls.
    """

    def __init__(self, path: Path, ledger: Ledger, manifest: Manifest) -> None:
        self.path, self.ledger = path, ledger
        self.settings, self.token = manifest.settings, manifest.token
        protect_keys(os.environ)
        self.live, self.by_kind = member_router(manifest.settings.judges)
        self.members = {member.spec: member for member in self.by_kind.values()}
        for kind, member in self.by_kind.items():
            _check_exported(member, manifest.identities[kind], manifest.version)

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
        identities = {kind: member.identity for kind, member in member_router(settings.judges)[1].items()}
        names = [entry.name for entry in path.iterdir()] if path.is_dir() else [""] * path.exists()
        if names and not any(name.startswith(LEDGER) for name in names):  # which an export that was killed leaves
            raise UsageError(f"{path} holds other things; name a folder that is empty or not there yet")
        path.mkdir(parents=True, exist_ok=True)
        part = path / f"{LEDGER}.part"
        part.unlink(missing_ok=True)
        with closing(Ledger(part)) as ledger, ledger.writing():
            manifest = Manifest(settings, identities, VERSION, token_hex(6), _mark(settings))
            ledger.state("manifest", msgspec.json.encode(manifest))
        part.replace(path / LEDGER)
        return cls.open(path)

    @classmethod
    def open(cls, path: Path, allow_hosts: Collection[str] = ()) -> Folder:
        """The batch in a folder.

        allow_hosts: hosts to which one that another user made may send prompts and keys. Raises UsageError where there
        is none, BadData where it was made by another user, and would run code or use another host.
        """
        if not (path / LEDGER).exists():
            raise UsageError(f"{path} holds no batch; make one with: ragauge batch export DATA -j JUDGE -o {path}")
        with ExitStack() as opened:
            ledger = opened.enter_context(closing(Ledger(path / LEDGER)))
            manifest = msgspec.json.decode(ledger.fact("manifest") or b"", type=Manifest)
            _check_trusted(path, manifest, allow_hosts)
            folder = cls(path, ledger, manifest)
            opened.pop_all()
            return folder

    def close(self) -> None:
        """Close the ledger."""
        self.ledger.close()

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def form(self, spec: str) -> ServerFeatures:
        """The form of requests that a model's server is known to understand."""
        with suppress(msgspec.MsgspecError):
            return msgspec.json.decode(self.ledger.fact(f"form {spec}") or b"", type=ServerFeatures)
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


def _check_exported(member: BatchMember, identity: Identity, version: str) -> None:
    """Raise UsageError where the model would now be asked otherwise than as the folder was made."""
    if identity == member.identity:
        return
    names = ", ".join(sorted({name for name, _ in set(member.identity.settings) ^ set(identity.settings)}))
    now = f"{member.spec} is not what it was when the batch was exported by ragauge {version}: {names} differ"
    raise UsageError(f"{now}; restore that, or export into another folder")
