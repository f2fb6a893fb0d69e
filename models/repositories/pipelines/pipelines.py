"""Pipelines: created whole in one transaction, and read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Select, bindparam, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.config.plan import JobPlan, Plan
from domain.environments.places import Place, places_of, settled
from domain.errors import NotFound
from domain.messages import PipelineFacts
from domain.pipelines.bridges import MIRROR
from domain.pipelines.status import Status
from domain.sealed_documents import Change, seal_reason, seal_reasons, seal_variables
from models.columns import table_of
from models.repositories.environments import environments
from models.repositories.hooks import webhook_events
from models.repositories.pipelines import configurations, outbox, redundant, resource_groups
from models.repositories.pipelines.compiled import plan_document, reasons_document, why_document
from models.repositories.pipelines.job_rows import job
from models.repositories.pipelines.warnings import PIPELINE, STAGE
from models.repositories.queue import demands
from models.rows.pipelines import PipelineRow, StageRow
from models.tables.pipelines import Pipeline, Stage
from models.tables.projects import Project
from models.typed_rows import all_of, first_of, one_of

pipeline = table_of(Pipeline)
stage = table_of(Stage)
project = table_of(Project)

_OWNER: Final = select(project.c.id, project.c.organisation_id, project.c.timeout, project.c.watched).where(
    project.c.id == bindparam("b_project")
)


@dataclass(frozen=True, slots=True)
class _Owner:
    """A project, as far as its new pipelines have to do with it."""

    id: int
    organisation_id: int
    timeout: int
    watched: int


@dataclass(frozen=True, slots=True)
class PipelineRequest:
    """What starts a pipeline. `user_id` is always the authenticated caller.

    One that a bridge triggers names it: `bridge_id` is the job, `upstream_id` its pipeline (`upstream_project_id` that
    one's project), `root_id` the first pipeline of the hierarchy, `depth` how many child pipelines deep it is.
    `variables` have `key` and `value`, `raw` where the value is not to be expanded, `variable_type` where
    it is `file`.

    `ref_protected` is what the ref is now (`models.repositories.projects.protected_refs`).
    `head` is the commit that the ref points to just before the pipeline is written, empty if nobody looked: what runs
    for it is never redundant.

    `origin` is what more is known of the event (`domain.pipelines.origin`); `config_source` where the configuration
    came from. One for a merge request, and every child of such a one, has `merge_request_id`, the facts of it (the
    fields of `domain.variables.predefined.MergeRequestFacts`) and the head of its source branch. `ref_protected` is
    kept then as it is given. `open_merge_requests` are those of a branch, as `group/project!7`.
    """

    project_id: int
    user_id: int
    ref: str
    sha: str
    source: str
    tag: bool = False
    before_sha: str = "0" * 40
    commit: Mapping[str, str] = field(default_factory=dict)
    variables: tuple[Mapping[str, Any], ...] = ()
    inputs: Mapping[str, Any] = field(default_factory=dict)
    bridge_id: int | None = None
    upstream_id: int | None = None
    upstream_project_id: int | None = None
    root_id: int | None = None
    depth: int = 0
    head: str = ""
    ref_protected: bool = False
    schedule_description: str = ""
    origin: Mapping[str, Any] = field(default_factory=dict)
    config_source: str = ""
    merge_request_id: int | None = None
    source_sha: str = ""
    merge_request: Mapping[str, Any] = field(default_factory=dict)
    open_merge_requests: tuple[str, ...] = ()


async def create(
    connection: AsyncConnection,
    request: PipelineRequest,
    plan: Plan,
    now: datetime,
    places: Sequence[Place] | None = None,
    *,
    seal: Change,
) -> int:
    """Write pipeline, stages, jobs (`created`) and the outbox row that starts the workflow; give back the id.

    `places` are those of the plan's jobs, in order; without them they are made from the plan alone. Environments and
    resource groups that are new are made too. `seal` is for what is secret of variables and reasons.
    """
    places = places_of(plan) if places is None else places
    owner = one_of(_Owner, await connection.execute(_OWNER, {"b_project": request.project_id}))
    protected = request.ref_protected
    pipeline_id = await _insert_pipeline(
        connection,
        request,
        Status.CREATED,
        now,
        seal,
        name=plan.name,
        reasons=seal_reasons(reasons_document(plan), seal),
        auto_cancel=asdict(plan.auto_cancel),
    )
    rows = [
        {"pipeline_id": pipeline_id, "position": position, "name": name, "status": Status.CREATED}
        for position, name in enumerate(plan.stages)
    ]
    stage_ids = list(
        (await connection.execute(insert(stage).returning(stage.c.id, sort_by_parameter_order=True), rows)).scalars()
    )
    jobs = [
        _job_row(request, pipeline_id, stage_ids, plan.stages.index(item.stage), position, item, owner.timeout, now)
        for position, item in enumerate(settled(item, place) for item, place in zip(plan.jobs, places, strict=True))
    ]
    await _put_in_places(connection, request.project_id, jobs, places, now)
    demand_ids = await demands.ensure(connection, owner, (row["tags"] for row in jobs), protected=protected)
    for row in jobs:
        row["demand_id"] = demand_ids[demands.tag_key(row["tags"])]
        row["why"] = seal_reason(row["why"], seal)
    await connection.execute(insert(job), jobs)
    await connection.execute(update(job).where(job.c.pipeline_id == pipeline_id).values(first_id=job.c.id))
    await configurations.put(connection, pipeline_id, plan.merged)
    await outbox.put(connection, outbox.START, pipeline_id, now)
    await redundant.tell(connection, pipeline_id, now, head=request.head)
    await webhook_events.pipeline_made(connection, pipeline_id, owner.watched, Status.CREATED, now)
    return pipeline_id


async def _put_in_places(
    connection: AsyncConnection, project_id: int, jobs: Sequence[dict[str, Any]], places: Sequence[Place], now: datetime
) -> None:
    """Write the environment and the resource group into the rows of new jobs: two queries, whatever their number."""
    environment_ids = await environments.ensure(connection, project_id, places, now)
    keys = {place.resource_group for place in places if place.resource_group}
    group_ids = await resource_groups.ensure(connection, project_id, keys, now)
    for row, place in zip(jobs, places, strict=True):
        row["environment_id"] = environment_ids.get(place.environment)
        row["environment_action"] = place.action
        row["resource_group_id"] = group_ids.get(place.resource_group)


async def create_ended(
    connection: AsyncConnection,
    request: PipelineRequest,
    status: Status,
    now: datetime,
    *,
    seal: Change,
    reason: str = "",
    errors: str = "",
    why: str = "",
) -> int:
    """Write a pipeline without jobs: it could not be made, or was not wanted, which `why` tells people.

    No workflow is started for it. `seal` is for the values of its variables.
    """
    told = {"failure_reason": reason, "yaml_errors": errors, "status_reason": why}
    pipeline_id = await _insert_pipeline(connection, request, status, now, seal, finished_at=now, **told)
    watched = await webhook_events.watched(connection, request.project_id)
    await webhook_events.pipeline_made(connection, pipeline_id, watched, status, now)
    return pipeline_id


async def _insert_pipeline(
    connection: AsyncConnection, request: PipelineRequest, status: Status, now: datetime, seal: Change, **values: Any
) -> int:
    iid = await connection.execute(
        update(project)
        .where(project.c.id == request.project_id)
        .values(pipeline_count=project.c.pipeline_count + 1)
        .returning(project.c.pipeline_count)
    )
    statement = insert(pipeline).values(
        iid=iid.scalar_one(),
        project_id=request.project_id,
        user_id=request.user_id,
        ref=request.ref,
        tag=request.tag,
        sha=request.sha,
        before_sha=request.before_sha,
        source=request.source,
        status=status,
        commit=dict(request.commit),
        variables=seal_variables(request.variables, seal),
        name=values.pop("name", ""),
        ref_protected=request.ref_protected,
        reasons=values.pop("reasons", {}),
        auto_cancel=values.pop("auto_cancel", {}),
        yaml_errors=values.pop("yaml_errors", ""),
        failure_reason=values.pop("failure_reason", ""),
        status_reason=values.pop("status_reason", ""),
        schedule_description=request.schedule_description,
        origin=dict(request.origin),
        config_source=request.config_source,
        bridge_id=request.bridge_id,
        upstream_id=request.upstream_id,
        upstream_project_id=request.upstream_project_id,
        root_id=request.root_id,
        depth=request.depth,
        merge_request_id=request.merge_request_id,
        source_sha=request.source_sha,
        merge_request=dict(request.merge_request),
        open_merge_requests=list(request.open_merge_requests),
        run=0,
        tick=0,
        created_at=now,
        updated_at=now,
        **values,
    )
    made: int = (await connection.execute(statement.returning(pipeline.c.id))).scalar_one()
    return made


def _job_row(
    request: PipelineRequest,
    pipeline_id: int,
    stage_ids: Sequence[int],
    stage_position: int,
    position: int,
    item: JobPlan,
    timeout: int,
    now: datetime,
) -> dict[str, Any]:
    return {
        "pipeline_id": pipeline_id,
        "stage_id": stage_ids[stage_position],
        "project_id": request.project_id,
        "user_id": request.user_id,
        "name": item.name,
        "position": position,
        "stage_position": stage_position,
        "stage_name": item.stage,
        "attempt": 1,
        "retried": False,
        "status": Status.CREATED,
        "when": item.when,
        "allow_failure": item.allow_failure,
        "needs": None if item.needs is None else [need.job for need in item.needs],
        "retry": item.retry,
        "auto_retry": True,
        "enqueue": False,
        "start_in": item.start_in,
        "plan": plan_document(item),
        "why": why_document(item.why),
        "variables": [],
        "tags": list(item.tags),
        "timeout": item.timeout or timeout,
        "exit_codes_allowed": list(item.allow_failure_exit_codes),
        "hand_out": 0,
        "system_id": "",
        "cancel_gracefully": False,
        "folded": True,
        "failure_reason": "",
        "log_incomplete": False,
        "interruptible": bool(item.interruptible),
        "room": "",
        "bridge": is_bridge(item),
        "strategy": strategy_of(item),
        "created_at": now,
    }


def is_bridge(item: JobPlan) -> bool:
    """Whether a job runs on the server: it triggers a pipeline, or takes over the status of one."""
    return item.trigger is not None or any(need.pipeline and not need.job for need in item.foreign_needs)


def strategy_of(item: JobPlan) -> str:
    """How a bridge follows its downstream pipeline; one that triggers none mirrors the one that it names."""
    if item.trigger is not None:
        return item.trigger.strategy
    return MIRROR if is_bridge(item) else ""


async def get(connection: AsyncConnection, pipeline_id: int, project_id: int | None = None) -> PipelineRow:
    """One pipeline. Raises `NotFound`, also when it is another project's."""
    statement = select(*PIPELINE).where(pipeline.c.id == pipeline_id)
    if project_id is not None:
        statement = statement.where(pipeline.c.project_id == project_id)
    row = first_of(PipelineRow, await connection.execute(statement))
    if row is None:
        raise NotFound(f"Pipeline {pipeline_id} Not Found")
    return row


async def by_ids(connection: AsyncConnection, ids: Iterable[int]) -> Sequence[PipelineRow]:
    """Pipelines by id."""
    return all_of(PipelineRow, await connection.execute(select(*PIPELINE).where(pipeline.c.id.in_(list(ids)))))


def of_project(project_id: int, filters: Mapping[str, Any]) -> Select[Any]:
    """Statement for the pipelines of a project, newest first; `filters` are equalities on columns."""
    statement = select(*PIPELINE).where(pipeline.c.project_id == project_id).order_by(pipeline.c.id.desc())
    for name, value in filters.items():
        statement = statement.where(pipeline.c[name] == value)
    return statement


async def stages_of(connection: AsyncConnection, pipeline_id: int) -> Sequence[StageRow]:
    """The stages of a pipeline, in order."""
    statement = select(*STAGE).where(stage.c.pipeline_id == pipeline_id).order_by(stage.c.position)
    return all_of(StageRow, await connection.execute(statement))


@dataclass(frozen=True, slots=True)
class _FactsRow:
    """A pipeline with the full path of its project."""

    id: int
    ref: str
    sha: str
    source: str
    status: str
    commit: Mapping[str, Any]
    full_path: str


async def facts_of(connection: AsyncConnection, pipeline_ids: Iterable[int]) -> dict[int, PipelineFacts]:
    """What Temporal shows of these pipelines."""
    statement = (
        select(
            pipeline.c.id,
            pipeline.c.ref,
            pipeline.c.sha,
            pipeline.c.source,
            pipeline.c.status,
            pipeline.c.commit,
            project.c.full_path,
        )
        .join(project, project.c.id == pipeline.c.project_id)
        .where(pipeline.c.id.in_(list(pipeline_ids)))
    )
    return {
        row.id: PipelineFacts(
            pipeline_id=row.id,
            project=row.full_path,
            ref=row.ref,
            source=row.source,
            status=row.status,
            sha=row.sha,
            title=row.commit.get("title", ""),
        )
        for row in all_of(_FactsRow, await connection.execute(statement))
    }
