"""Deployments as people look at them: each with its job, its commit and what the caller may do with it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from application.access import ProjectAccess
from application.services import Services
from domain.pipelines.operations import RETRIABLE
from domain.pipelines.status import COMPLETE, Status
from models.repositories.environments import deploy_permissions, deployment_listings
from models.repositories.pipelines import jobs
from models.repositories.projects import relations
from models.rows.accounts import UserRow
from models.rows.environments import DeploymentRow, EnvironmentRow
from models.rows.pipelines import ListedJobRow, PipelineRow


class Step(StrEnum):
    """What may be done with a deployment: its job runs again, or now."""

    NOTHING = ""
    REDEPLOY = "redeploy"
    ROLL_BACK = "roll back"
    RETRY = "retry"
    PLAY = "play"


OPERATIONS: Final[Mapping[Step, str]] = {
    Step.REDEPLOY: "retry_job",
    Step.ROLL_BACK: "retry_job",
    Step.RETRY: "retry_job",
}
"""The operation on the job that each is, as in GitLab; one that waits for somebody is played on its own page."""


@dataclass(frozen=True, slots=True)
class Deployed:
    """A deployment. One that somebody reports has neither job nor pipeline. `is_current`: it is what is there now."""

    row: DeploymentRow
    user: UserRow | None
    job: ListedJobRow | None
    pipeline: PipelineRow | None
    title: str
    is_current: bool
    step: Step

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return Status(self.row.status) in COMPLETE


@dataclass(frozen=True, slots=True)
class Waiting:
    """A job that deploys when somebody plays it, or when its time has come; `may_play` tells of the caller."""

    job: ListedJobRow
    pipeline: PipelineRow
    may_play: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """What is on an environment: the last success, and the newest deployment if that is another one.

    `waiting` is a job newer than what is there. `refusal` says why the caller may not deploy to it, where it is
    `protected` from them.
    """

    environment: EnvironmentRow
    current: Deployed | None
    newest: Deployed | None
    waiting: Waiting | None
    protected: bool
    refusal: str


async def standing_of(
    services: Services, project: ProjectAccess, rows: Sequence[EnvironmentRow]
) -> Mapping[int, Standing]:
    """What is on these environments of a project, by id, in as many queries for all that are not protected."""
    ids = [row.id for row in rows]
    async with services.database.read() as connection:
        current = await deployment_listings.latest_successful(connection, ids) if ids else {}
        newest = await deployment_listings.newest(connection, ids) if ids else {}
        guarded = await deploy_permissions.guarded(connection, rows, project.caller.user_id)
        asked = await deployment_listings.waiting_jobs(connection, ids) if ids else {}
    waiting = await _waiting(services, project, asked, current)
    wanted = {row.id: row for row in (*current.values(), *newest.values())}
    shown = {one.row.id: one for one in await shown_to(services, project, list(wanted.values()), current)}
    found = {}
    for row in rows:
        last, latest = current.get(row.id), newest.get(row.id)
        other = latest if latest is not None and (last is None or latest.id != last.id) else None
        found[row.id] = Standing(
            row,
            None if last is None else shown[last.id],
            None if other is None else shown[other.id],
            waiting.get(row.id),
            row.id in guarded,
            guarded.get(row.id, ""),
        )
    return found


async def _waiting(
    services: Services, project: ProjectAccess, asked: Mapping[int, int], current: Mapping[int, DeploymentRow]
) -> Mapping[int, Waiting]:
    """The jobs that wait, by environment, without those that are older than what is there: nobody waits for them."""
    if not asked:
        return {}
    async with services.database.read() as connection:
        found = await jobs.by_ids(connection, asked.values())
        around = await relations.of_jobs(
            connection, list(found.values()), services.settings.times.ticks_until_unresponsive
        )
        refused = await deploy_permissions.refusals_of_jobs(connection, found, project.caller.user_id)
    waiting: dict[int, Waiting] = {}
    for environment_id, job_id in asked.items():
        job, last = found[job_id], current.get(environment_id)
        if last is None or job.created_at > last.created_at:
            pipeline = around.pipelines[job.pipeline_id]
            waiting[environment_id] = Waiting(job, pipeline, project.may_run(pipeline) and job_id not in refused)
    return waiting


async def shown_to(
    services: Services,
    project: ProjectAccess,
    rows: Sequence[DeploymentRow],
    current: Mapping[int, DeploymentRow],
) -> list[Deployed]:
    """Deployments with all that belongs to them; `current` are the last successes by environment."""
    async with services.database.read() as connection:
        people = await relations.users(connection, (row.user_id for row in rows))
        found = await jobs.by_ids(connection, (row.job_id for row in rows if row.job_id is not None))
        around = await relations.of_jobs(
            connection, list(found.values()), services.settings.times.ticks_until_unresponsive
        )
        guarded = await deploy_permissions.refusals_of_jobs(connection, found, project.caller.user_id)
    may_run = {key: project.may_run(pipeline) for key, pipeline in around.pipelines.items()}
    shown = []
    for row in rows:
        job = None if row.job_id is None else found.get(row.job_id)
        pipeline = None if job is None else around.pipelines[job.pipeline_id]
        last = current.get(row.environment_id)
        allowed = job is not None and may_run[job.pipeline_id] and job.id not in guarded
        shown.append(
            Deployed(
                row=row,
                user=people.get(row.user_id),
                job=job,
                pipeline=pipeline,
                title=str(pipeline.commit.get("title", "")) if pipeline is not None else "",
                is_current=last is not None and last.id == row.id,
                step=step_of(job, row, last) if job is not None and allowed else Step.NOTHING,
            )
        )
    return shown


def step_of(job: ListedJobRow, row: DeploymentRow, current: DeploymentRow | None) -> Step:
    """What may be done with a deployment; nothing with one whose job has run again: that one has its own."""
    status = Status(job.status)
    if job.retried:
        return Step.NOTHING
    if status in _PLAYABLE:
        return Step.PLAY
    if status not in RETRIABLE:
        return Step.NOTHING
    if status is not Status.SUCCESS:
        return Step.RETRY
    return Step.REDEPLOY if current is None or row.id >= current.id else Step.ROLL_BACK


_PLAYABLE: Final[Collection[Status]] = frozenset({Status.MANUAL, Status.SCHEDULED})
