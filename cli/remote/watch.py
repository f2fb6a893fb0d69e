"""Following a pipeline until it ends or waits for a person, whatever happens to server and network meanwhile."""

import sys
import time
from types import TracebackType
from typing import Any, Final, Self

from cli.exit_codes import ExitCode
from cli.follow import Follower, follower
from cli.output import Output
from cli.remote.documents import CHANGE, document
from cli.remote.invocation import Invocation
from cli.remote.outage import Deadline, Outage
from cli.remote.pipeline_jobs import details_of
from cli.states import of_pipeline
from domain.errors import Unavailable
from domain.pipelines.status import COMPLETE

_SHORTEST: Final = 0.5
_MAX_PAUSE: Final = 10.0
"""Seconds between two looks."""
_SHARE: Final = 5
"""A look that took long is followed by a pause of so many times as long: many watch one server."""


def watch(call: Invocation, pipeline_id: int, *, timeout: float | None, patience: float) -> ExitCode:
    """Show a pipeline while it goes on by itself; OK if it succeeded. Raises `TimedOut`, `Unavailable`, `NotFound`."""
    deadline = Deadline(timeout, f"Pipeline {pipeline_id}")
    outage = Outage(call.out, patience)
    with _shown(call.out) as show:
        while True:
            begun = time.monotonic()
            try:
                pipeline = details_of(call, pipeline_id)
            except Unavailable as error:
                outage.wait(error, deadline)
                continue
            outage.answered()
            show.update(pipeline)
            if pipeline["status"] in COMPLETE or _is_held(pipeline):
                break
            pause = (time.monotonic() - begun) * _SHARE
            deadline.sleep(min(_MAX_PAUSE, max(_SHORTEST, pause)))
    call.out.words(f"Pipeline {pipeline_id}: {of_pipeline(pipeline).label}  {pipeline['web_url']}")
    return _verdict(call, pipeline)


def _is_held(pipeline: dict[str, Any]) -> bool:
    """Whether all that is left waits for a person; a delayed job starts by itself."""
    return pipeline["status"] == "manual" and all(job["status"] != "scheduled" for job in pipeline["jobs"])


def _verdict(call: Invocation, pipeline: dict[str, Any]) -> ExitCode:
    if pipeline["status"] == "success":
        return ExitCode.OK
    if pipeline["status"] == "manual":
        _tell_of_manual(call, pipeline)
        return ExitCode.WAITS
    for job in pipeline["jobs"]:
        if job["status"] == "failed" and not job["allow_failure"]:
            call.out.words(f"{job['name']} failed ({job['failure_reason']}): `perdure job log {job['id']}`")
    return ExitCode.FAILED


def _tell_of_manual(call: Invocation, pipeline: dict[str, Any]) -> None:
    waiting = [job for job in pipeline["jobs"] if job["status"] == "manual" and not job["allow_failure"]]
    for job in waiting:
        call.out.words(f"The pipeline waits for a person to start {job['name']}: `perdure job play {job['id']}`")


def _shown(out: Output) -> Follower:
    if out.as_json:
        return _Changes(out)
    return follower(quiet=False, no_color=out.no_color, lines=sys.stdout)


class _Changes:
    """A JSON document for each change of a state."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._seen: dict[tuple[str, int], str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Everything is written already."""

    def update(self, pipeline: dict[str, Any]) -> None:
        for job in pipeline["jobs"]:
            self._tell("job", job, pipeline["id"])
        self._tell("pipeline", {**pipeline, "name": None}, pipeline["id"])

    def _tell(self, kind: str, thing: dict[str, Any], pipeline_id: int) -> None:
        if self._seen.get((kind, thing["id"])) == thing["status"]:
            return
        self._seen[kind, thing["id"]] = thing["status"]
        self._out.document(document(CHANGE, {**thing, "kind": kind, "pipeline_id": pipeline_id}))
