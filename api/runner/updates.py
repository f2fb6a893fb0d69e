"""`PUT /jobs/:id`: acceptance, heartbeat and verdict (docs/reference/runner-protocol.md, "Job updates").

The verdict, the frozen log and the outbox row are one transaction; then comes the 200.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

from fastapi import Request, Response
from sqlalchemy.ext.asyncio import AsyncConnection

from api.runner.body import json_limit, json_object, number, text
from api.runner.job_access import holder_now, job_token
from api.runner.trace_interval import TRACE_INTERVAL, trace_interval
from api.services import Services
from application.jobs.job_access import claims_for, held, holder, in_grace, require_running
from application.releases.job_release import EXIT_CODE, JobRelease, prepare_job_release, record_release
from auth.job_token import MAKES_RELEASE, JobClaims, Scope
from domain.errors import Invalid, Refused, TraceMismatch
from domain.pipelines.status import COMPLETE, Status
from domain.pipelines.verdict import SCRIPT_FAILURE, known_reason
from models.notifications import OUTBOX, TRACES, pipeline_topic, project_topic, trace_topic
from models.repositories.logs import traces
from models.repositories.pipelines import verdicts
from models.repositories.queue import held_jobs
from models.repositories.queue.held_jobs import HeldJob

_FINAL: Final = {"success": Status.SUCCESS, "failed": Status.FAILED}
_MAX_GENERATIONS: Final = 3
"""A runner whose 412 was lost asks again before it has sent a byte: it hears 412 again, but not for ever."""
_MAX_EXIT_CODE: Final = 2**31 - 1
"""What the column holds; no operating system has more."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a runner says of the end of a job."""

    status: Status
    reason: str
    exit_code: int | None
    checksum: str
    size: int | None

    @classmethod
    def read(cls, body: dict[str, Any]) -> "Report":
        """Take what is there; an absent exit code of a failed script means that there was none."""
        output = body.get("output")
        output = output if isinstance(output, dict) else {}
        status = _FINAL[body["state"]]
        return cls(
            status,
            known_reason(text(body, "failure_reason")) if status is Status.FAILED else "",
            number(body, "exit_code", _MAX_EXIT_CODE),
            text(output, "checksum") or text(body, "checksum"),
            number(output, "bytesize"),
        )


async def update_job(job_id: int, request: Request, services: Services) -> Response:
    """Take a runner's word on a job."""
    body = await json_object(request, json_limit(services.settings.sizes))
    claims = claims_for(services, job_token(request, text(body, "token")), Scope.UPDATE, job_id)
    state = text(body, "state")
    if state == "running":
        return await _alive(services, claims)
    if state == "pending":
        return await _prepares(services, claims)
    if state not in _FINAL:
        raise Invalid(f"Bad request: state {state!r} is none of pending, running, success, failed.")
    return await _end(services, claims, Report.read(body))


async def _alive(services: Services, claims: JobClaims) -> Response:
    row = await holder_now(services, claims)
    require_running(row)
    if not await services.calls.renew(row):
        async with services.database.write() as connection:
            row = await held(connection, claims)
    return _answer(services, row)


async def _prepares(services: Services, claims: JobClaims) -> Response:
    """The first phase of a runner that commits itself in two: the hand-out waits on until it says `running`."""
    async with services.database.write() as connection:
        row = await holder(connection, claims, writes=True)
        require_running(row)
        if not await held_jobs.prolong(connection, row):
            raise Refused(f"Conflict: job {row.id} was taken up already; go on with state running.")
    return _answer(services, row)


def _answer(services: Services, row: HeldJob) -> Response:
    headers = {"Job-Status": row.status, TRACE_INTERVAL: str(trace_interval(services, row))}
    return Response(b"200", 200, headers, media_type="application/json")


async def _end(services: Services, claims: JobClaims, report: Report) -> Response:
    release = await prepare_job_release(services, claims) if report.status is Status.SUCCESS else None
    async with services.database.write() as connection:
        row = await holder(connection, claims, writes=True)
        if _repeats(row, report, claims) and in_grace(services, row):
            return Response(b"200", 200, media_type="application/json")
        require_running(row)
        complete = await _log_is_right(connection, row, report)
        if complete is not None:
            report = await _with_release(connection, row, report, release, services)
            await _record(connection, row, report, services, log_incomplete=not complete)
    if complete is None:
        await _wake_readers(services, row)
        raise TraceMismatch(f"Precondition Failed: the log of job {row.id} differs; send it again from byte 0.")
    services.metrics.reported(report.status)
    await services.notifications.notify(OUTBOX)
    await services.notifications.notify(TRACES)
    deployed = [project_topic(row.project_id)] if row.environment_action else []
    await services.notifications.show(pipeline_topic(row.pipeline_id), *deployed)
    await _wake_readers(services, row)
    return Response(b"200", 200, media_type="application/json")


async def _wake_readers(services: Services, row: HeldJob) -> None:
    """Let those who follow the log look: it ended, or begins anew."""
    if traces.is_watched(row):
        await services.notifications.show(trace_topic(row.id))


def _repeats(row: HeldJob, report: Report, claims: JobClaims) -> bool:
    """A verdict that is already recorded: the response to it was lost. A success may have failed by its release."""
    known = {report.status, Status.CANCELED}
    if MAKES_RELEASE in claims.scopes and row.failure_reason == SCRIPT_FAILURE:
        known.add(Status.FAILED)
    return row.status in COMPLETE and row.status in known


async def _with_release(
    connection: AsyncConnection, row: HeldJob, report: Report, release: JobRelease | None, services: Services
) -> Report:
    """The verdict, which is a failure if the job cannot make its release. One that is being canceled makes none."""
    if release is None or row.status != Status.RUNNING:
        return report
    if await record_release(connection, release, row, services.clock()):
        return report
    return replace(report, status=Status.FAILED, reason=SCRIPT_FAILURE, exit_code=EXIT_CODE)


async def _log_is_right(connection: AsyncConnection, row: HeldJob, report: Report) -> bool | None:
    """True: the log is what the runner sent. False: it is not, even after a second try. None: ask for it again."""
    same_size = report.size is None or report.size == row.size
    same_crc = not report.checksum or report.checksum == f"crc32:{row.crc:08x}"
    if same_size and same_crc:
        return True
    if not row.resent or (row.size == 0 and row.generation < _MAX_GENERATIONS):
        await held_jobs.renew(connection, row)
        await traces.restart(connection, row.id)
        return None
    await traces.settle(connection, [row.id])
    return False


async def _record(
    connection: AsyncConnection, row: HeldJob, report: Report, services: Services, *, log_incomplete: bool
) -> None:
    if log_incomplete:
        await verdicts.note_incomplete_log(connection, row.id)
    await verdicts.end_jobs(
        connection,
        [row.id],
        report.status,
        services.clock(),
        reason=report.reason,
        exit_code=report.exit_code,
        hand_out=row.hand_out,
        queued=False,
        vouched=True,
        linger=services.settings.times.bell_linger,
    )
