"""What the front does with a request while the API is away: one table of methods and paths.

The figures come from how a stock runner reacts (reference: reliability, section 1.1): it repeats a call that got 503
after `Retry-After` seconds, but drops the job's result when its connection is refused.
"""

import re
from dataclasses import dataclass

from settings import Settings

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing, so that a request may be sent twice (RFC 9110, 9.2.1)."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How one kind of request is treated.

    `retry_after`: seconds that a 503 asks the client to wait. `hold`: seconds for which it is held until the API
    answers. `answer`: seconds of silence of the API that are borne. `repeatable`: sending it twice does no harm.
    """

    name: str
    methods: frozenset[str]
    path: re.Pattern[str]
    retry_after: int
    hold: float
    answer: float
    repeatable: bool = False


JOB = r"/api/v4/jobs/[^/]+"
RUNNER_CALLS = (
    ("poll", "POST", r"/api/v4/jobs/request"),
    ("log", "PATCH", rf"{JOB}/trace"),
    ("update", "PUT", JOB),
    ("upload", "POST", rf"{JOB}/artifacts"),
)
HELD_CALLS = (
    ("download", "GET HEAD", r"/api/v4/.+/artifacts(/.*)?"),
    ("git refs", "GET", r"/.+\.git/info/refs"),
    ("git fetch", "POST", r"/.+\.git/git-upload-pack"),
    ("git push", "POST", r"/.+\.git/git-receive-pack"),
)
REPEATABLE = frozenset({"git fetch"})


class PatienceTable:
    """The table in force for one settings object."""

    def __init__(self, settings: Settings) -> None:
        """Fill in the figures."""
        limits = settings.front
        retry_after = {"update": limits.retry_put, "upload": limits.retry_upload}
        answer = {"poll": settings.times.long_poll + limits.poll_margin}

        def row(name: str, methods: str, path: str, hold: float) -> Patience:
            return Patience(
                name=name,
                methods=frozenset(methods.split()),
                path=re.compile(path),
                retry_after=retry_after.get(name, limits.retry_poll),
                hold=hold,
                answer=answer.get(name, limits.answer),
                repeatable=name in REPEATABLE,
            )

        self._rows = tuple(row(*call, 0.0) for call in RUNNER_CALLS) + tuple(
            row(*call, limits.hold) for call in HELD_CALLS
        )
        self._other = row("other", "", "", 0.0)

    def of(self, method: str, path: str) -> Patience:
        """The row for a request; `path` is raw, without the query."""
        for row in self._rows:
            if method in row.methods and row.path.fullmatch(path):
                return row
        return self._other
