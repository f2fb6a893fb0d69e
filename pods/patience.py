"""What the front does with a request while the API is away: one table of methods and paths.

The figures come from how a stock runner reacts. GitLab Runner 17.8 does not obey `Retry-After`: a last PATCH that gets
503 is tried ten times in 96 s, then the job's result is dropped; an upload six times in 19.5 s, then the job fails.
With the port closed it is 67 s and 4 s. So what would be lost is held until the API is back.
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
    answers; 0: not at all. `answer`: seconds of silence of the API that are borne. `repeatable`: sending it twice does
    no harm. `worth`: when there is no more place, the oldest of the least worth gives way.
    """

    name: str
    methods: frozenset[str]
    path: re.Pattern[str]
    retry_after: int
    hold: float
    answer: float
    repeatable: bool = False
    worth: int = 0


JOB = r"/api/v4/jobs/[^/]+"
POLL = ("poll", "POST", r"/api/v4/jobs/request", 0)
"""Never held: it gets its 503 at once, whatever else there is place for."""
HELD_CALLS = (
    # From here on: what is lost with them, from everything to next to nothing.
    ("update", "PUT", JOB, 5),  # the result of a job; some runners send it once
    ("upload", "POST", rf"{JOB}/artifacts", 4),  # what the job made; a runner tries for 20 s
    ("log", "PATCH", rf"{JOB}/trace", 3),  # the last one, and with it the result; a runner tries for 96 s
    ("download", "GET HEAD", r"/api/v4/.+/artifacts(/.*)?", 2),  # a job that has not begun fails; it can be retried
    ("git refs", "GET", r"/.+\.git/info/refs", 1),  # the same, and people, who see what happened
    ("git fetch", "POST", r"/.+\.git/git-upload-pack", 1),
    ("git push", "POST", r"/.+\.git/git-receive-pack", 1),
)
REPEATABLE = frozenset({"update", "log", "upload", "git fetch"})
"""The API takes the same result, the same file and the same piece of log twice without harm."""


class PatienceTable:
    """The table in force for one settings object."""

    def __init__(self, settings: Settings) -> None:
        """Fill in the figures."""
        limits = settings.front
        retry_after = {"update": limits.retry_put, "upload": limits.retry_upload}
        response = {"poll": settings.times.long_poll + limits.poll_margin}

        def row(name: str, methods: str, path: str, worth: int) -> Patience:
            return Patience(
                name=name,
                methods=frozenset(methods.split()),
                path=re.compile(path),
                retry_after=retry_after.get(name, limits.retry_poll),
                hold=limits.hold if worth else 0.0,
                answer=response.get(name, limits.answer),
                repeatable=name in REPEATABLE,
                worth=worth,
            )

        self._rows = tuple(row(*call) for call in (POLL, *HELD_CALLS))
        self._other = row("other", "", "", 0)

    def of(self, method: str, path: str) -> Patience:
        """The row for a request; `path` is raw, without the query."""
        for row in self._rows:
            if method in row.methods and row.path.fullmatch(path):
                return row
        return self._other
