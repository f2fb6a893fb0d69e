"""`release` of a job: the server makes it when the runner reports success, so that no image has to bring a client.

The tag is made before the verdict, the row of the release is written in the verdict's transaction. Both may be
repeated: a runner that had no answer sends its verdict again. What can never do fails the job, as in a release client;
while a part of the server is away the verdict is not taken, and comes again. Source: docs/reference/ci-yaml.md,
"Release".
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy.ext.asyncio import AsyncConnection

from application.access import access_to, caller_from
from application.jobs.filled_text import filled_text
from application.jobs.foreign_dependencies import asks_beyond, foreign_dependencies, with_dotenv
from application.jobs.job_access import holder
from application.jobs.variables import job_variables
from application.pipelines.sealed_values import with_opened_variables
from application.releases.releasing import NewRelease, moment_of, prepare_release
from application.services import Services
from auth.job_token import MAKES_RELEASE, JobClaims
from domain.errors import Invalid, PerdureError, StorageFull, Unavailable
from domain.pipelines.status import Status
from domain.variables.job_variables import JobVariable
from git.repository import Repository
from models.repositories.artifacts import releases
from models.repositories.logs import traces
from models.repositories.queue import hand_outs
from models.repositories.queue.hand_outs import HandOut
from models.repositories.queue.held_jobs import HeldJob
from models.repositories.runners import runners
from models.rows.runners import RunnerRow

EXIT_CODE: Final = 1
"""How a release client ends that cannot make its release."""
_MASKED: Final = "[MASKED]"
"""Stands for the job's token, which no release may show."""


@dataclass(frozen=True, slots=True)
class JobRelease:
    """The release of a job that has succeeded: the row to be written, or why there can be none."""

    values: Mapping[str, Any]
    fault: str = ""


async def prepare_job_release(services: Services, claims: JobClaims) -> JobRelease | None:
    """What the success of a job releases, with its tag made; None for nothing, also for a job that does not run.

    Raises `Unavailable`, `StorageFull`.
    """
    if MAKES_RELEASE not in claims.scopes:
        return None
    async with services.database.read() as connection:
        if (await holder(connection, claims)).status != Status.RUNNING:
            return None
        found = (await hand_outs.read(connection, [claims.job_id]))[claims.job_id]
        around = with_opened_variables(services.sealer, found)
        row = around.job
        runner = await runners.get(connection, row.runner_id) if row.runner_id is not None else None
        if runner is not None and asks_beyond(around):
            variables = job_variables(around, runner, _MASKED, services.settings)
            around = with_dotenv(around, await foreign_dependencies(connection, services, around, variables))
    try:
        values = await _prepared(services, around, runner)
    except (Unavailable, StorageFull):
        raise
    except PerdureError as error:
        return JobRelease({}, str(error))
    return JobRelease({**values, "job_id": row.id})


async def _prepared(services: Services, around: HandOut, runner: RunnerRow | None) -> dict[str, Any]:
    if runner is None:
        raise Invalid("The runner of the job was removed while it ran; run the job again.")
    caller = caller_from(around.user)
    access = await access_to(services, caller, around.project.id)
    repository = services.repositories.get(around.project.id)
    variables = job_variables(around, runner, _MASKED, services.settings)
    new = _filled(around.job.plan["release"], variables, around.pipeline.sha)
    described = await _description(repository, around.pipeline.sha, new.description)
    return await prepare_release(services, access, around.user, repository, replace(new, description=described))


def _filled(document: Mapping[str, Any], variables: Iterable[JobVariable], sha: str) -> NewRelease:
    known = tuple(variables)

    def text(name: str) -> str:
        return filled_text(document.get(name) or "", known).strip()

    links = (document.get("assets") or {}).get("links", ())
    return NewRelease(
        tag=text("tag_name"),
        name=text("name"),
        description=text("description"),
        ref=text("ref") or sha,
        tag_message=text("tag_message"),
        milestones=tuple(filled_text(title, known).strip() for title in document.get("milestones") or ()),
        released_at=moment_of(text("released_at")),
        links=tuple({key: filled_text(value, known).strip() for key, value in link.items()} for link in links),
    )


async def _description(repository: Repository, sha: str, text: str) -> str:
    """The text, or the content of the file that it names at the commit. Raises `Invalid`, `TooLarge`."""
    path = text.removeprefix("./")
    try:
        content = await repository.read_file(sha, path) if path and "\n" not in path else None
    except Invalid:  # it is no path
        return text
    if content is None:
        return text
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise Invalid(f"description names the file {path}, which is not UTF-8 text (byte {error.start}).") from error


async def record_release(connection: AsyncConnection, release: JobRelease, row: HeldJob, now: datetime) -> bool:
    """Write the release of a job that is about to succeed; false if there can be none: its log says why."""
    fault = release.fault
    if not fault and not await releases.add(connection, now, **release.values):
        tag = release.values["tag"]
        known = await releases.find(connection, row.project_id, tag)
        if known is None or not await releases.is_of_job(connection, known, row.id):
            fault = f"Release {tag} already exists; delete it, or release another tag."
    if fault:
        await traces.add_words(connection, row.id, f"ERROR: Job failed: the release could not be made. {fault}")
    return not fault
