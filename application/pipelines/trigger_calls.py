"""Pipelines started by whoever shows a token: a trigger's, or that of a running job of any project.

A trigger's pipeline is its owner's, a job's that of the job's user: what they may do now counts, not what they might
when the token was made. Such pipelines ignore `[skip ci]`. Source: docs/reference/pipelines.md, "Pipeline sources";
GitLab's trigger API.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from application.access import ProjectAccess, access_to, caller_from
from application.bridges.hierarchy import hierarchy_of, root_of
from application.jobs.calls_of_other_pods import JobOfPod, caller_of
from application.jobs.job_access import claims_for, holder, require_running
from application.jobs.job_callers import user_of
from application.pipelines.creation import create_pipeline
from application.pipelines.refs import find_ref
from application.services import Services
from auth.job_token import Scope
from auth.permissions import Action, Caller
from auth.secret_token import digest
from domain.errors import Forbidden, Invalid, NotFound, Unauthenticated
from domain.pipelines.bridges import DOWNSTREAM, TEXT_OF, Ancestor, refusal
from git.repository import Repository
from models.repositories.accounts import accounts
from models.repositories.pipelines import cross_pod, pipelines
from models.repositories.pipelines.jobs import get as job_row
from models.repositories.pipelines.pipelines import PipelineRequest
from models.repositories.projects import projects, triggers
from models.rows.projects import ProjectRow

TRIGGER: Final = "trigger"
"""Source of a pipeline that a trigger token has started."""
PAYLOAD: Final = "TRIGGER_PAYLOAD"
NO_RIGHT: Final = "Insufficient permissions to create a new pipeline"
NO_RIGHT_ON_REF: Final = (
    "You do not have sufficient permission to run a pipeline on '{ref}'. Please select a different branch or contact "
    "your administrator for assistance."
)


@dataclass(frozen=True, slots=True)
class TriggerCall:
    """What a call wants. `payload` is the text that jobs find in the file `$TRIGGER_PAYLOAD`.

    `of_job` says that the token is a job's; a job of another pod shows none to this one.
    """

    token: str
    ref: str
    variables: Mapping[str, str]
    inputs: Mapping[str, Any]
    payload: str
    of_job: bool
    elsewhere: JobOfPod | None = None


@dataclass(frozen=True, slots=True)
class Bearer:
    """Who a token stands for, in the project that is to run: what is known of the pipeline so far."""

    access: ProjectAccess
    source: str
    more: Mapping[str, Any]
    trigger_id: int | None = None


async def start(services: Services, reference: str, call: TriggerCall) -> tuple[int, ProjectRow]:
    """Make the pipeline; its id and the row of its project.

    Raises `NotFound` for a token that opens nothing here, `Forbidden` for what is no job token, `JobNotRunning`,
    `Invalid` with what is wrong otherwise.
    """
    async with services.database.read() as connection:
        project = await projects.find(connection, reference)
    # A token opens nothing in a project that is not there: found in as much time as where it is another's.
    key = 0 if project is None else project.id
    if call.elsewhere is not None:
        bearer = await _job_of_pod(services, key, call.elsewhere)
    else:
        bearer = await (_job if call.of_job else _trigger)(services, key, call.token)
    try:
        bearer.access.require(Action.RUN)
    except (Forbidden, Unauthenticated) as error:
        raise Invalid(NO_RIGHT) from error
    request, repository = await _request(services, bearer, call)
    pipeline_id = await create_pipeline(services, request, repository)
    if bearer.trigger_id is not None:
        async with services.database.write() as connection:
            await triggers.note_use(connection, bearer.trigger_id, services.clock())
    return pipeline_id, bearer.access.row


async def _request(services: Services, bearer: Bearer, call: TriggerCall) -> tuple[PipelineRequest, Repository]:
    try:
        repository = services.repositories.get(bearer.access.row.id)
    except NotFound as error:
        raise Invalid("Reference not found") from error
    ref, tag, sha = await find_ref(repository, call.ref)
    try:
        bearer.access.require_run(ref, tag=tag)
    except Forbidden as error:
        raise Invalid(NO_RIGHT_ON_REF.format(ref=ref)) from error
    given = [{"key": key, "value": value} for key, value in call.variables.items()]
    payload = {"key": PAYLOAD, "value": call.payload, "variable_type": "file"}
    request = PipelineRequest(
        project_id=bearer.access.row.id,
        user_id=bearer.access.caller.user_id,
        ref=ref,
        sha=sha,
        source=bearer.source,
        tag=tag,
        variables=(*given, payload),
        inputs=call.inputs,
    )
    return replace(request, **bearer.more), repository


async def _trigger(services: Services, project_id: int, token: str) -> Bearer:
    """The owner of a trigger of this project, who must still be there and see it. Raises `NotFound`."""
    async with services.database.read() as connection:
        row = await triggers.by_token(connection, project_id, digest(token), services.clock())
        owner = None if row is None else await accounts.get(connection, row.owner_id)
    if row is None or owner is None or owner.state != accounts.ACTIVE:
        raise NotFound("Not Found")
    access = await _access(services, caller_from(owner), project_id)
    return Bearer(access, TRIGGER, {"origin": {"trigger_token": row.short_token}}, row.id)


async def _job(services: Services, project_id: int, token: str) -> Bearer:
    """The user of a running job of a project that this one lets in.

    Raises `Forbidden`, `JobNotRunning`, `NotFound`; `Invalid` for a loop of pipelines.
    """
    claims = claims_for(services, token, Scope.TRIGGER)
    async with services.database.read() as connection:
        require_running(await holder(connection, claims))
        job = await job_row(connection, claims.job_id, claims.project_id)
        upstream = await pipelines.get(connection, job.pipeline_id)
        above, size = await hierarchy_of(services, connection, upstream)
    try:
        caller = await user_of(services, claims)
    except Unauthenticated as error:
        raise NotFound("Not Found") from error
    access = await _access(services, caller, project_id)
    _require_no_loop(above, size)
    more = {
        "upstream_id": upstream.id,
        "upstream_project_id": upstream.project_id,
        "root_id": root_of(upstream),
        "origin": {"upstream_job_id": job.id},
    }
    return Bearer(access, DOWNSTREAM, more)


async def _job_of_pod(services: Services, project_id: int, calling: JobOfPod) -> Bearer:
    """The account here of the user of a job of another pod. Raises `NotFound`; `Invalid` for a loop of pipelines.

    What has led to its pipeline is kept, so that the limits hold for what comes of this one, too.
    """
    job = calling.job
    access = await _access(services, await caller_of(services, calling), project_id)
    _require_no_loop(job.ancestors, job.hierarchy)
    origin = {
        "upstream_job_id": job.id,
        "upstream_pipeline_id": job.pipeline_id,
        "upstream_project_id": job.project_id,
        cross_pod.ANCESTORS: [asdict(ancestor) for ancestor in job.ancestors],
        cross_pod.HIERARCHY: job.hierarchy,
    }
    return Bearer(access, DOWNSTREAM, {"origin": origin})


def _require_no_loop(above: Sequence[Ancestor], size: int) -> None:
    reason = refusal(child=False, depth=0, pipelines=size, above=above)
    if reason:
        raise Invalid(TEXT_OF[reason])


async def _access(services: Services, caller: Caller, project_id: int) -> ProjectAccess:
    """The project as somebody may use it now. Raises `NotFound`: whether it exists is not told to who may not see."""
    try:
        return await access_to(services, caller, project_id)
    except (NotFound, Forbidden) as error:
        raise NotFound("Not Found") from error
