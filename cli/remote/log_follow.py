"""Following a log while it grows: over restarts of the server it goes on at the byte where it was."""

import json
from collections.abc import Iterator
from typing import Any, Final

from cli.remote.invocation import Invocation
from cli.remote.outage import Deadline, Outage
from cli.remote.printed_log import Differs, PrintedLog
from cli.remote.server_events import Event, events
from domain.errors import Unavailable
from domain.pipelines.status import COMPLETE

_SILENCE: Final = 45.0
"""Seconds without a sign of life after which a connection counts as broken; the server gives one each 15 s."""
_PAUSE: Final = 0.3
"""Seconds before a stream that the server ended is opened again."""

Part = tuple[int, str]
"""A byte offset and the text that begins there."""


class LogFollower:
    """One log."""

    def __init__(self, call: Invocation, job_id: int, deadline: Deadline, patience: float, begin: int = 0) -> None:
        """Follow from byte `begin` on."""
        self._call = call
        self._route = f"{call.home}/jobs/{job_id}"
        self._job_id = job_id
        self._deadline = deadline
        self._outage = Outage(call.out, patience)
        self._printed = PrintedLog.starting_at(begin)
        self._place = f"0-{begin}" if begin else ""
        self._ended = False

    def parts(self) -> Iterator[Part]:
        """New text as it comes, until the log ends. Raises `TimedOut`, `Unavailable` and what else a server answers."""
        while not self._ended:
            self._deadline.check()
            try:
                yield from self._stream()
            except Unavailable as error:
                self._outage.wait(error, self._deadline)
            except Differs:
                self._call.out.words("The runner sent another log than before; here it is from its beginning.")
                self._printed, self._place = PrintedLog(), f"{self._place.partition('-')[0]}-0"
            else:
                if not self._ended and self._is_over():
                    return
                self._deadline.sleep(0 if self._ended else _PAUSE)

    def job(self) -> dict[str, Any]:
        """The job as it is now; a server that is away is waited for."""
        while True:
            try:
                with self._call.naming(f"job {self._job_id}", "perdure job list"):
                    job: dict[str, Any] = self._call.api.get(self._route)
            except Unavailable as error:
                self._outage.wait(error, self._deadline)
            else:
                self._outage.answered()
                return job

    def _stream(self) -> Iterator[Part]:
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": self._place} if self._place else {})
        silence = min(_SILENCE, max(0.1, self._deadline.left))
        with self._call.api.stream(f"{self._route}/trace/live", headers, silence=silence) as response:
            self._outage.answered()
            for event in events(response.iter_raw()):
                self._deadline.check()
                yield from self._news(event)
                if self._ended or (not event.kind and self._is_over()):
                    return

    def _news(self, event: Event) -> Iterator[Part]:
        self._place = event.id or self._place
        match event.kind:
            case "log":
                data = json.loads(event.data)
                before = max(self._printed.offset, data["offset"])
                text = self._printed.feed(data["offset"], data["text"], int(event.id.partition("-")[2]))
                if text:
                    yield before, text
            case "reset":
                self._printed.reset()
            case "end":
                if not self._printed.complete:
                    raise Differs
                self._ended = True

    def _is_over(self) -> bool:
        """Whether the job has ended without ever having had a log: nobody says then that it ends."""
        job = self.job()
        return job["status"] in COMPLETE and not job["started_at"]
