"""What has happened in a pipeline, by whom and when, newest first: what its rows and answered commands say."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from fastapi import Request
from fastapi.responses import Response

from api.deps import ServicesDep
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.live_parts import Fragment
from api.pages.frame.templates import fragment
from api.pages.pipelines.head import address_of, head_of
from api.pages.pipelines.tab import PER_PAGE, follow, pages, show
from api.pages.projects.home import Number
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id
from application.access import ProjectAccess
from domain.pipelines.shown_status import shown_job
from domain.runners.named_runner import named
from domain.why.explanation import sentence
from models.repositories.pipelines import happenings, jobs
from models.repositories.pipelines.happenings import CommandRow, Happening
from models.repositories.projects import relations
from models.rows.accounts import UserRow
from models.rows.pipelines import ListedJobRow
from models.rows.runners import RunnerRow

COMMANDS: Final[Mapping[str, str]] = {
    "cancel_pipeline": "asked to cancel the pipeline",
    "retry_pipeline": "asked to retry the pipeline",
    "auto_cancel": "A newer commit asked to cancel what it may",
    "cancel_job": "asked to cancel",
    "retry_job": "retried",
    "play_job": "played",
    "unschedule_job": "stopped the delay of",
    "revive_bridge": "The downstream pipeline runs again, and so does",
    "mirror_downstream": "The downstream pipeline changed the state of",
}
"""What answered commands did; those with a capital letter were nobody's."""

router = RouteList(prefix=f"{PREFIX}/-/pipelines/{{pipeline_id}}/history")


@dataclass(frozen=True, slots=True)
class Told:
    """One line: who (empty: the pipeline by itself), what, which job, and what else is known."""

    at: datetime
    who: str
    text: str
    job: ListedJobRow | None = None
    detail: str = ""
    symbol: str = "created"


@dataclass(frozen=True, slots=True)
class _Known:
    """What the lines of a page are about."""

    jobs: Mapping[int, ListedJobRow]
    users: Mapping[int, UserRow]
    runners: Mapping[int, RunnerRow]
    commands: Mapping[str, CommandRow]


async def draw(services: Services, project: ProjectAccess, pipeline_id: int, number: int) -> Fragment:
    """A page of what has happened so far. Raises `NotFound`."""
    project, head = await head_of(services, project, pipeline_id)
    async with services.database.read() as connection:
        rows, total = await happenings.page_of(connection, pipeline_id, number, PER_PAGE)
        keys = [row.key for row in rows if row.key is not None]
        commands = await happenings.commands(connection, pipeline_id, keys)
        about = {row.job_id for row in rows if row.job_id is not None}
        about |= {command.answer["job_id"] for command in commands.values() if command.answer.get("job_id")}
        known_jobs = await jobs.by_ids(connection, about)
        people = {command.caller_id for command in commands.values()}
        users = await relations.users(connection, people | {job.user_id for job in known_jobs.values()})
        runners = await relations.runners(connection, (job.runner_id for job in known_jobs.values()))
    known = _Known(known_jobs, users, runners, commands)
    lines = [told(row, known) for row in rows]
    return fragment(
        "pipelines/_history.html",
        project=project.row,
        head=head,
        address=address_of(project, pipeline_id),
        tab="history",
        lines=[_made(line, row, head) for line, row in zip(lines, rows, strict=True)],
        total=total,
        number=number,
        last=pages(total),
    )


def told(row: Happening, known: _Known) -> Told:
    """One thing that happened, in words."""
    if row.kind == "command":
        return _command(row, known)
    job = known.jobs.get(row.job_id) if row.job_id is not None else None
    if job is None:
        return Told(row.at, "", _OF_PIPELINE.get(row.kind, row.kind))
    user = known.users.get(job.user_id)
    who = "" if user is None else user.username
    if row.kind == "job.created_at":
        by = "somebody unknown, in Temporal," if job.unknown_caller else ""
        return Told(row.at, "", f"Attempt {job.attempt} was made{f' for {by}' if by else ''}", job, f"as {who}")
    if row.kind == "job.started_at":
        runner = known.runners.get(job.runner_id) if job.runner_id is not None else None
        by = named(runner.id, runner.description) if runner is not None else ""
        return Told(row.at, "", "Started", job, f"by {by}" if by else "", "running")
    if row.kind == "job.finished_at":
        shown = shown_job(job)
        reason = job.failure_reason.replace("_", " ")
        code = f", exit code {job.exit_code}" if job.exit_code is not None else ""
        return Told(
            row.at, "", sentence(shown.label).removesuffix("."), job, f"{reason}{code}".strip(", "), shown.group
        )
    return Told(
        row.at, "", _OF_JOB.get(row.kind, row.kind), job, symbol="pending" if "queued" in row.kind else "canceled"
    )


_OF_PIPELINE: Final = {
    "pipeline.created_at": "The pipeline was made",
    "pipeline.started_at": "The pipeline began to run",
    "pipeline.finished_at": "The pipeline ended",
}
_OF_JOB: Final = {
    "job.queued_at": "Queued",
    "job.canceling_at": "The runner was asked to stop",
    "job.erased_at": "Log and artifacts were erased",
}


def _made(line: Told, row: Happening, head: Any) -> Told:
    """What the pipeline's own rows say more."""
    if row.kind == "pipeline.created_at":
        return Told(line.at, head.user.username, "made the pipeline", detail=head.row.source.replace("_", " "))
    if row.kind == "pipeline.finished_at":
        return Told(
            line.at, "", "The pipeline ended", None, head.row.status_reason or head.shown.label, head.shown.group
        )
    return line


def _command(row: Happening, known: _Known) -> Told:
    """Who asked for what; callers of commands that came by hand in Temporal are unknown."""
    command = known.commands.get(row.key or "")
    if command is None:
        return Told(row.at, "", "A command was answered")
    name = str(command.answer.get("name", ""))
    words = COMMANDS.get(name, f"asked for {name}")
    job = known.jobs.get(command.answer.get("job_id") or 0)
    refused = str(command.answer.get("refused") or "")
    detail = f"refused: {refused}" if refused else ""
    if words[0].isupper():
        return Told(row.at, "", words, job, detail)
    user = known.users.get(command.caller_id) if command.caller_id is not None else None
    who = "Somebody unknown (a signal by hand in Temporal)" if user is None else user.username
    return Told(row.at, who, words, job, detail, "manual")


@router.get("")
async def history_page(
    request: Request, pipeline_id: Id, services: ServicesDep, project: PageProjectDep, page: Number = 1
) -> Response:
    """What has happened."""
    live = await draw(services, project, pipeline_id, page)
    return await show(request, project, pipeline_id, "history", live)


@router.get("/events")
async def history_events(
    request: Request, pipeline_id: Id, services: ServicesDep, project: PageProjectDep, page: Number = 1
) -> Response:
    """Changes of that page."""
    return await follow(request, services, project, pipeline_id, lambda: draw(services, project, pipeline_id, page))
