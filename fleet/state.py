"""What a killed runner must still know: one small file for every job between acceptance and confirmed result.

The file is written before the script starts and again, with the verdict, before the final update is sent. So the next
start can tell a job whose script was cut off from one that ended without the server having heard of it.
"""

import fcntl
import json
import logging
import os
import shutil
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from domain.errors import Refused
from files import durable
from files.process_start import start_noted_in_seconds
from fleet.verdict import Verdict

LOG = logging.getLogger(__name__)

ROOM = 1024 * 1024
"""Bytes on the disk of the state folder without which no job is taken: it could not be kept."""


@dataclass(frozen=True, slots=True)
class RunningSteps:
    """What a runner that was killed needs to go on with a job whose steps go on without it.

    `document` is the job as it was handed out, `slot` and `short_token` say where it runs, `log_size` how long its log
    was before its steps. `began_at` is in seconds since the epoch. `is_begun` once the step runner has taken them.
    """

    document: Mapping[str, Any]
    short_token: str
    slot: int
    log_size: int
    began_at: float
    is_begun: bool = False


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A job this runner is responsible for.

    `phase` is `running` or `finished`; only the latter has a verdict. `group` is the process group of the script that
    was started last and `group_start` the `process_start` of its leader, empty before the first.
    `mark` is the value of the environment variable that every process of the job carries.
    """

    job_id: int
    token: str
    url: str
    log: str
    mark: str
    phase: str = "running"
    group: int = 0
    group_start: str = ""
    verdict: Verdict | None = None
    steps: RunningSteps | None = None

    @property
    def goes_on(self) -> bool:
        """Whether the next start goes on with it; all others are over."""
        return self.steps is not None and self.verdict is None


class JobStore:
    """The files `<state dir>/jobs/<id>.json`; the state folder belongs to one process at a time."""

    def __init__(self, state_dir: Path) -> None:
        """Nothing is touched before `lock`."""
        self.jobs = state_dir / "jobs"
        self.logs = state_dir / "logs"
        self._lock_file = state_dir / "lock"
        self._lock_fd = -1

    def lock(self) -> None:
        """Take the folder; raises Refused when another process has it. A killed process frees it by dying."""
        for folder in (self.jobs, self.logs):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(self._lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            raise Refused(
                f"{self._lock_file.parent} is in use by another runner process; stop that one first"
            ) from None
        self._lock_fd = fd

    def unlock(self) -> None:
        """Give the folder back."""
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
            self._lock_fd = -1

    def has_room(self) -> bool:
        """Whether there is room for a job that is taken."""
        return shutil.disk_usage(self.jobs).free >= ROOM

    def log_file(self, job_id: int, url: str, token: str) -> Path:
        """Where the log of a new job goes."""
        return self.logs / f"{self._stem(job_id, url, token)}.log"

    def save(self, record: JobRecord, *, sync: bool = True) -> None:
        """Write the record so that it survives the death of this process, with `sync` also that of the machine."""
        file = self.jobs / f"{Path(record.log).stem}.json"
        durable.replace(file, json.dumps(asdict(record)).encode(), sync=sync)

    def remove(self, record: JobRecord) -> None:
        """Forget a job: its result is confirmed, or the server does not want it."""
        (self.jobs / f"{Path(record.log).stem}.json").unlink(missing_ok=True)

    def load(self) -> list[JobRecord]:
        """All records; a file that cannot be read is reported and left for a human."""
        records = []
        for file in sorted(self.jobs.glob("*.json")):
            try:
                records.append(_read(json.loads(file.read_bytes())))
            except (ValueError, TypeError, OSError) as error:
                LOG.error("state file %s cannot be read (%s); look at it and delete it", file, error)  # noqa: TRY400
        return records

    def _stem(self, job_id: int, url: str, token: str) -> str:
        """`<id>`, or `<id>-<hash>` while an older hand-out of the same id, or one of another server, is still here."""
        if not (self.jobs / f"{job_id}.json").exists():
            return str(job_id)
        return f"{job_id}-{zlib.crc32(f'{url} {token}'.encode()):08x}"


def finished(record: JobRecord, verdict: Verdict) -> JobRecord:
    """The record of a job whose scripts have all ended."""
    return replace(record, phase="finished", group=0, group_start="", verdict=verdict, steps=None)


def _read(data: dict[str, Any]) -> JobRecord:
    if "group_started" in data:  # of an earlier version
        data["group_start"] = start_noted_in_seconds(data.get("group", 0), data.pop("group_started"))
    verdict, steps = data.pop("verdict", None), data.pop("steps", None)
    return JobRecord(
        **data, verdict=Verdict(**verdict) if verdict else None, steps=RunningSteps(**steps) if steps else None
    )
