"""What the server's answers to a runner mean.

Source: docs/reference/runner-protocol.md, "Job request", "Job updates", "Log upload".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

MAX_INTERVAL = 900.0
"""The longest pause between log updates that a server may set, in seconds."""

ENDED = frozenset({"canceled", "failed"})
"""Values of `Job-Status` after which nothing of the job may go on."""


class Answer(Enum):
    """What to do next after an update or a piece of log."""

    ACCEPTED = auto()
    INCOMPLETE = auto()
    """Taken, but the server wants to be asked again (202 on an update)."""
    MISMATCH = auto()
    """The stored log differs: send all of it again (412)."""
    WRONG_OFFSET = auto()
    """The piece does not start where the stored log ends (416)."""
    ABORT = auto()
    """The job is not ours any more: stop everything, say nothing more."""
    NOT_FOUND = auto()
    FAILED = auto()


@dataclass(frozen=True, slots=True)
class JobReply:
    """An answer about a job. `offset` is the stored log's size in bytes, `interval` the wished pause in seconds."""

    answer: Answer
    status: int
    job_status: str = ""
    offset: int = 0
    interval: float | None = None

    @property
    def canceling(self) -> bool:
        """Whether the script shall be stopped while `after_script` and uploads still run."""
        return self.job_status == "canceling"


@dataclass(frozen=True, slots=True)
class JobAnswer:
    """The answer to a request for a job: a `payload` or none, and the queue value to send with the next request."""

    status: int
    payload: Mapping[str, Any] | None = None
    last_update: str = ""


@dataclass(frozen=True, slots=True)
class Registration:
    """What the server says of a runner token."""

    id: int
    token: str


UPDATE_ANSWERS = {200: Answer.ACCEPTED, 202: Answer.INCOMPLETE, 404: Answer.ABORT, 412: Answer.MISMATCH}
TRACE_ANSWERS = {202: Answer.ACCEPTED, 404: Answer.NOT_FOUND, 416: Answer.WRONG_OFFSET}


def read_update(status: int, headers: Mapping[str, str], final: bool) -> JobReply:
    """Read the answer to PUT.

    A final update that was taken counts as taken whatever `Job-Status` says: the job's status has then just become
    what we sent.
    """
    taken = final and status in (200, 202)
    ended = status == 403 or headers.get("Job-Status", "") in ENDED
    answer = Answer.ABORT if ended and not taken else UPDATE_ANSWERS.get(status, Answer.FAILED)
    return _reply(answer, status, headers)


def read_patch(status: int, headers: Mapping[str, str]) -> JobReply:
    """Read the answer to PATCH; 200 and 204 count as failures like in the stock runner."""
    ended = status == 403 or headers.get("Job-Status", "") in ENDED
    answer = Answer.ABORT if ended else TRACE_ANSWERS.get(status, Answer.FAILED)
    return _reply(answer, status, headers)


def _reply(answer: Answer, status: int, headers: Mapping[str, str]) -> JobReply:
    return JobReply(answer, status, headers.get("Job-Status", ""), _range_end(headers), _interval(headers))


def _range_end(headers: Mapping[str, str]) -> int:
    """The number after the dash of `Range: 0-N`, which is the next offset; 0 when malformed."""
    end = headers.get("Range", "").rpartition("-")[2].strip()
    return int(end) if end.isascii() and end.isdigit() else 0


def _interval(headers: Mapping[str, str]) -> float | None:
    text = headers.get("X-GitLab-Trace-Update-Interval", "").strip()
    if not (text.isascii() and text.isdigit()) or int(text) == 0:
        return None
    return min(MAX_INTERVAL, float(text))
