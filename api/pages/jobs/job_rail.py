"""What stands beside the log of a job: all that it has to do with, as far as the caller may know it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy.ext.asyncio import AsyncConnection

from api.services import Services
from api.v4.jobs.artifact_access import may_read
from application.access import ProjectAccess
from application.jobs import variable_names
from application.pipelines.sealed_values import reason_shown
from domain.pipelines.shown_status import Shown, shown_job
from domain.variables.named_variables import NamedVariable
from models.repositories.artifacts import artifacts, reports
from models.repositories.artifacts.reports import TestsRow
from models.repositories.environments import deployment_listings, environments
from models.repositories.paging import slice_of
from models.repositories.pipelines import job_details, resource_groups
from models.rows.artifacts import ArtifactRow
from models.rows.environments import DeploymentRow, EnvironmentRow
from models.rows.pipelines import JobRow, ListedJobRow, PipelineRow

_WEB: Final = ("https://", "http://")
WAITERS: Final = 5
"""So many jobs that wait for a resource group are named."""


@dataclass(frozen=True, slots=True)
class NeededJob:
    """A job that this one waits for; `row` is None where it is not there. `takes`: whether its files come along."""

    name: str
    row: ListedJobRow | None
    takes: bool
    archive: ArtifactRow | None


@dataclass(frozen=True, slots=True)
class Needs:
    """What a job waits for: `jobs` by name, or all of the stages before, counted by status, with `of_stages`.

    `foreign` are needs of other projects or pipelines, in words.
    """

    jobs: Sequence[NeededJob]
    earlier: Mapping[Shown, int]
    of_stages: bool
    foreign: Sequence[str]


@dataclass(frozen=True, slots=True)
class Group:
    """The resource group of a job: who holds its slot, the next that wait, and how many do in all."""

    key: str
    mode: str
    holder: ListedJobRow | None
    waiting: Sequence[ListedJobRow]
    total: int


@dataclass(frozen=True, slots=True)
class Rail:
    """The whole rail. `variables` is None for who may not run the job."""

    archive: ArtifactRow | None
    is_gone: bool
    files: Sequence[ArtifactRow]
    needs: Needs
    variables: Sequence[NamedVariable] | None
    why: Mapping[str, Any]
    tests: TestsRow | None
    environment: EnvironmentRow | None
    deployment: DeploymentRow | None
    group: Group | None

    @property
    def environment_link(self) -> str:
        """Where the environment is to be seen; empty unless that is an address of the web."""
        address = self.environment.external_url if self.environment else ""
        return address if address.startswith(_WEB) else ""


async def rail_of(services: Services, project: ProjectAccess, row: JobRow, pipeline: PipelineRow) -> Rail:
    """Read all of it."""
    may_run = project.may_run(pipeline)
    async with services.database.read() as connection:
        known = await artifacts.find(connection, row.id, artifacts.ARCHIVE)
        archive = await artifacts.available(connection, row.id, artifacts.ARCHIVE)
        files = [
            item
            for item in await artifacts.of_jobs(connection, [row.id])
            if item.file_type != artifacts.ARCHIVE and may_read(project, item.access)
        ]
        environment = None
        if row.environment_id is not None:
            environment = (await environments.by_ids(connection, [row.environment_id])).get(row.environment_id)
        return Rail(
            archive=archive if archive is not None and may_read(project, archive.access) else None,
            is_gone=known is not None and archive is None,
            files=files,
            needs=await _needs(connection, row, project),
            variables=await variable_names.of_job(connection, row, pipeline) if may_run else None,
            why=reason_shown(services.sealer, row.why, may_run=may_run),
            tests=await reports.summary_of_job(connection, row.id),
            environment=environment,
            deployment=await deployment_listings.of_job(connection, row.id) if environment else None,
            group=await _group(connection, row),
        )


async def _needs(connection: AsyncConnection, row: JobRow, project: ProjectAccess) -> Needs:
    planned, dependencies = row.plan.get("needs"), row.plan.get("dependencies")
    foreign = [_foreign(one) for one in row.plan.get("foreign_needs", ())]
    names = [need["job"] for need in planned] if planned is not None else list(dependencies or ())
    found = {job.name: job for job in await job_details.named(connection, row.pipeline_id, names)}
    archives = {
        item.job_id: item
        for item in await artifacts.of_jobs(connection, [job.id for job in found.values()])
        if item.file_type == artifacts.ARCHIVE and may_read(project, item.access)
    }
    takes = {need["job"]: need.get("artifacts", True) for need in planned or ()}
    if dependencies is not None:
        takes = {name: name in dependencies for name in names}
    jobs = [
        NeededJob(name, job, takes.get(name, True), None if job is None else archives.get(job.id))
        for name, job in ((name, found.get(name)) for name in names[: job_details.MAX_NEEDS])
    ]
    of_stages = planned is None
    tallies = await job_details.earlier(connection, row.pipeline_id, row.stage_position) if of_stages else ()
    earlier: Counter[Shown] = Counter()
    for tally in tallies:
        earlier[shown_job(tally)] += tally.number
    return Needs(jobs, earlier, of_stages, foreign)


def _foreign(need: Mapping[str, Any]) -> str:
    """A need of another project or pipeline in words."""
    job, project, ref = (str(need.get(name) or "") for name in ("job", "project", "ref"))
    where = project or f"pipeline {need.get('pipeline') or ''}".strip()
    return f"{job or 'the status'} of {where}{f' at {ref}' if ref else ''}"


async def _group(connection: AsyncConnection, row: JobRow) -> Group | None:
    if row.resource_group_id is None:
        return None
    group = await job_details.group_of(connection, row.resource_group_id)
    if group is None:
        return None
    holder = await slice_of(connection, resource_groups.current(group), 1, 1)
    waiting = await slice_of(connection, resource_groups.upcoming(group), 1, WAITERS)
    return Group(group.key, group.process_mode, next(iter(holder.rows), None), waiting.rows, waiting.total or 0)
