"""What a message says: the facts of what happened, read for those who may read the project."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeAlias

from application.access import ProjectAccess
from application.jobs import explaining
from application.merge_requests.addresses import page_of
from application.services import Services
from auth.permissions import NOBODY, REPORTER
from domain.errors import NotFound
from domain.notifications import words
from domain.notifications.content import Content, FailedJob, Person
from domain.notifications.integrations import Ref
from domain.notifications.occasions import DEPLOYMENTS, MERGE_REQUESTS, PIPELINES, Occasion
from domain.notifications.words import Place, ToldDeployment, ToldMergeRequest, ToldPipeline
from domain.projects.protection import Protection
from models.repositories.merge_requests import merge_requests
from models.repositories.notifications import told_facts
from models.repositories.pipelines import jobs, pipelines
from models.repositories.projects import projects, protected_refs, relations
from models.rows.accounts import UserRow
from models.rows.notifications import NoticeRow
from models.rows.pipelines import ListedJobRow, PipelineRow
from models.rows.projects import ProjectRow

Gathered: TypeAlias = tuple[Content, Ref]


async def gather(services: Services, notice: NoticeRow) -> tuple[ProjectRow, Content, Ref]:
    """The project of a notice, what is to be said, and the ref it is about. Raises `NotFound` where that is gone."""
    kind = Occasion(notice.kind)
    async with services.database.read() as connection:
        project = await projects.find(connection, notice.project_id)
        if project is None:
            raise NotFound("The project is gone.")
        protection = await protected_refs.of_project(connection, project.id)
    content, ref = await _BY_KIND[kind](services, project, notice)
    protected = protection.protects(ref.name, tag=ref.tag)
    is_default = ref.name == project.default_branch and not ref.tag
    return project, content, Ref(ref.name, ref.tag, is_default, protected)


def place_of(services: Services, project: ProjectRow) -> Place:
    """A project as messages name it."""
    return Place(project.full_path, f"{services.settings.url}/{project.full_path}")


def person_of(services: Services, row: UserRow | None) -> Person:
    """Somebody as messages name them."""
    if row is None:
        return Person("somebody who is gone")
    return Person(row.name, row.username, f"{services.settings.url}/{row.username}")


async def _pipeline(services: Services, project: ProjectRow, notice: NoticeRow) -> Gathered:
    failed_ids = notice.facts.get("failed", [])
    async with services.database.read() as connection:
        row = await pipelines.get(connection, notice.pipeline_id or 0, project.id)
        people = await relations.users(connection, [row.user_id])
        found = await jobs.by_ids(connection, failed_ids)
    place = place_of(services, project)
    failed = [found[job_id] for job_id in failed_ids if job_id in found]
    told = ToldPipeline(
        number=row.id,
        ref=row.ref,
        tag=row.tag,
        sha=row.source_sha or row.sha,
        commit_title=row.commit.get("title", ""),
        url=f"{place.url}/-/pipelines/{row.id}",
        commit_url=f"{place.url}/-/commit/{row.source_sha or row.sha}",
        user=person_of(services, people.get(row.user_id)),
        seconds=notice.facts.get("seconds"),
        failed=await _failed(services, project, row, failed),
        failed_count=notice.facts.get("failed_count", len(failed)),
        reason=_reason_of(row),
    )
    return words.of_pipeline(Occasion(notice.kind), place, told), Ref(row.ref, row.tag)


def _reason_of(row: PipelineRow) -> str:
    """Why a pipeline is as it is where no job says so."""
    return f"Its configuration is not valid: {row.yaml_errors}" if row.yaml_errors else row.status_reason


async def _failed(
    services: Services, project: ProjectRow, pipeline: PipelineRow, rows: list[ListedJobRow]
) -> list[FailedJob]:
    """Failed jobs with what anybody who reads the project may know of why."""
    reader = ProjectAccess(project, NOBODY, REPORTER, Protection())
    why = await explaining.of_jobs(services, reader, pipeline, rows)
    page = place_of(services, project).url
    return [FailedJob(row.name, row.stage_name, why[row.id].text, f"{page}/-/jobs/{row.id}") for row in rows]


async def _deployment(services: Services, project: ProjectRow, notice: NoticeRow) -> Gathered:
    if notice.job_id is None:
        return await _reported_deployment(services, project, notice)
    async with services.database.read() as connection:
        row = await told_facts.deploying_job(connection, notice.job_id)
        if row is None:
            raise NotFound("The job is gone.")
        people = await relations.users(connection, [row.user_id])
        pipeline = await pipelines.get(connection, row.pipeline_id, project.id)
        listed = await jobs.by_ids(connection, [row.id])
    place, kind = place_of(services, project), Occasion(notice.kind)
    failed = [*listed.values()] if kind is Occasion.DEPLOYMENT_FAILED else []
    why = await _failed(services, project, pipeline, failed)
    told = ToldDeployment(
        environment=row.environment or "an environment that is gone",
        environment_url=f"{place.url}/-/environments/{row.environment_id}" if row.environment_id else "",
        ref=row.ref,
        sha=row.sha,
        url=f"{place.url}/-/jobs/{row.id}",
        job=row.name,
        user=person_of(services, people.get(row.user_id)),
        why=why[0].why if why else "",
    )
    return words.of_deployment(kind, place, told), Ref(row.ref, row.tag)


async def _reported_deployment(services: Services, project: ProjectRow, notice: NoticeRow) -> Gathered:
    """One that no job made: all of it was noted."""
    facts, place = notice.facts, place_of(services, project)
    if "environment" not in facts:
        raise NotFound("The job is gone.")
    async with services.database.read() as connection:
        people = await relations.users(connection, [notice.user_id])
    page = f"{place.url}/-/environments/{facts['environment_id']}"
    told = ToldDeployment(
        environment=facts["environment"],
        environment_url=page,
        ref=facts["ref"],
        sha=facts["sha"],
        url=page,
        job="",
        user=person_of(services, people.get(notice.user_id or 0)),
    )
    return words.of_deployment(Occasion(notice.kind), place, told), Ref(facts["ref"], facts["tag"])


async def _merge_request(services: Services, project: ProjectRow, notice: NoticeRow) -> Gathered:
    async with services.database.read() as connection:
        row = await merge_requests.get(connection, notice.merge_request_id or 0)
        if row is None:
            raise NotFound("The merge request is gone.")
        people = await relations.users(connection, [row.author_id, notice.user_id])
    actor = None if notice.user_id is None else person_of(services, people.get(notice.user_id))
    told = ToldMergeRequest(
        iid=row.iid,
        title=notice.facts.get("title", row.title),
        source_branch=row.source_branch,
        target_branch=row.target_branch,
        url=page_of(row, project.full_path, services.settings.url),
        author=person_of(services, people.get(row.author_id)),
        actor=actor,
        why=notice.facts.get("why", ""),
    )
    return words.of_merge_request(Occasion(notice.kind), place_of(services, project), told), Ref(row.target_branch)


_BY_KIND: Final[Mapping[Occasion, Callable[[Services, ProjectRow, NoticeRow], Awaitable[Gathered]]]] = {
    **dict.fromkeys(PIPELINES, _pipeline),
    **dict.fromkeys(DEPLOYMENTS, _deployment),
    **dict.fromkeys(MERGE_REQUESTS, _merge_request),
}
