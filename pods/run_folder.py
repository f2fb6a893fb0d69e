"""What a home folder knows of its processes: `run/<name>.json`, `run/supervisor.lock` and `logs/<name>.log`."""

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Self

from domain.errors import Refused
from files import durable
from files.locks import is_taken
from files.process_start import start_noted_in_seconds
from pods.process import Identity, find_marked, is_marked

SUPERVISOR = "supervisor"
LOG_LIMIT = 10 * 1024 * 1024
"""A log that is longer is put aside; the one before it is dropped."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A process that was started: who it is, the command it was started by, how often it had to be started again.

    `is_left`: `perdure down` left it to hold callers for a restart. `children` are those of a supervisor by name.
    """

    name: str
    pid: int
    start: str
    create_time: float
    argv: tuple[str, ...]
    restarts: int = 0
    is_left: bool = False
    children: tuple[str, ...] = ()

    @property
    def identity(self) -> Identity:
        """The process it speaks of."""
        return Identity(self.pid, self.start, self.create_time)

    @classmethod
    def of(
        cls, name: str, identity: Identity, argv: tuple[str, ...], restarts: int = 0, children: tuple[str, ...] = ()
    ) -> Self:
        """The record of a process that has just been found."""
        pid, start, create_time = identity.pid, identity.start, identity.create_time
        return cls(name, pid, start, create_time, argv, restarts=restarts, children=children)


def _close_to_others(home: Path) -> None:
    """It holds keys and databases; one of somebody else is their care."""
    if home.stat().st_uid == os.getuid() and home.stat().st_mode & 0o077:
        home.chmod(0o700)


class RunFolder:
    """The `run` and `logs` folders of one home."""

    def __init__(self, home: Path) -> None:
        """Make both folders."""
        self.home = home.resolve()
        self.run = self.home / "run"
        self.logs = self.home / "logs"
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        _close_to_others(self.home)
        self.run.mkdir(exist_ok=True)
        self.logs.mkdir(exist_ok=True)

    def mark(self, name: str) -> str:
        """What `pods.process.MARK` is set to in the environment of child `name`."""
        return f"{self.home}:{name}"

    def read(self, name: str) -> RunRecord | None:
        """The record of `name`; None if there is none or it cannot be read."""
        try:
            data = json.loads((self.run / f"{name}.json").read_text())
            pid, create_time = int(data["pid"]), float(data["create_time"])
            # A start is not in records of earlier versions.
            start = str(data["start"]) if "start" in data else start_noted_in_seconds(pid, create_time)
            return RunRecord(
                name=str(data["name"]),
                pid=pid,
                start=start,
                create_time=create_time,
                argv=tuple(str(word) for word in data["argv"]),
                restarts=int(data["restarts"]),
                is_left=bool(data.get("is_left", False)),
                children=tuple(str(child) for child in data.get("children", ())),
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def living(self, name: str, argv: tuple[str, ...]) -> RunRecord | None:
        """The process of child `name` that runs now, None if none does.

        One without a record is found by its mark: its supervisor was killed between start and record, or the disk had
        no room for it.
        """
        record, mark = self.read(name), self.mark(name)
        if record is not None and is_marked(record.identity, mark):
            return record
        prefix = self.leaving(name)
        known = {other.pid for other in self.all() if other.name.startswith(prefix)}
        found = find_marked(mark, argv, known)
        return None if found is None else RunRecord.of(name, found, argv)

    def write(self, record: RunRecord) -> None:
        """Replace the record of a process as a whole; raises OSError."""
        durable.replace(self.run / f"{record.name}.json", (json.dumps(asdict(record)) + "\n").encode())

    def leaving(self, name: str) -> str:
        """What begins the names of the records of those that left their socket to the `name` of now."""
        return f"{name}-"

    def all(self) -> list[RunRecord]:
        """Every record, whether its process lives or not."""
        records = [self.read(path.stem) for path in sorted(self.run.glob("*.json"))]
        return [record for record in records if record]

    def forget(self, name: str) -> None:
        """Remove a record."""
        (self.run / f"{name}.json").unlink(missing_ok=True)

    def log_path(self, name: str) -> Path:
        """Where the output of `name` goes."""
        return self.logs / f"{name}.log"

    def open_log(self, name: str) -> IO[bytes]:
        """The log of `name`, open for appending; a long one is put aside as `<name>.log.1` first."""
        path = self.log_path(name)
        if path.exists() and path.stat().st_size > LOG_LIMIT:
            path.replace(path.with_suffix(".log.1"))
        return path.open("ab")

    def trim_log(self, name: str) -> bool:
        """Put a long log aside while its process writes; whether that was needed. Raises OSError.

        The process keeps the file that it has: what is in it is copied, then it is cut. It writes at the end wherever
        that is (`open_log`), so only what comes between the two is lost.
        """
        path = self.log_path(name)
        if not path.exists() or path.stat().st_size <= LOG_LIMIT:
            return False
        shutil.copyfile(path, path.with_suffix(".log.1"))
        os.truncate(path, 0)
        return True

    def log_tail(self, name: str, lines: int = 15) -> str:
        """The last lines of a log, for an error message."""
        try:
            with self.log_path(name).open("rb") as log:
                log.seek(max(0, log.seek(0, os.SEEK_END) - 64 * 1024))
                text = log.read().decode(errors="replace")
        except OSError:
            return ""
        return "\n".join(text.splitlines()[-lines:])

    @contextlib.contextmanager
    def sole_supervisor(self) -> Iterator[None]:
        """Be the only supervisor of this home; raises Refused if there is one. The lock ends with the process."""
        with (self.run / f"{SUPERVISOR}.lock").open("ab") as lock:
            if not is_taken(lock.fileno()):
                raise Refused(
                    f"A supervisor of {self.home} is running already. See `perdure status`; `perdure down` stops it."
                )
            yield

    @contextlib.contextmanager
    def one_at_a_time(self, task: str) -> Iterator[None]:
        """Wait until no other process does `task` in this home, and keep others from it."""
        with (self.run / f"{task}.lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
